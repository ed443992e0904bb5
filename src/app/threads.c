#include "app/threads.h"

#include <stdlib.h>

#include "agent/stream.h"
#include "app/log.h"
#include "app/sessions.h"
#include "app/transcript.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/beneath.h"
#include "sys/follow.h"
#include "sys/loop.h"

enum {
	ID_BYTES = 36, /* of a UUID */
	TURN_MAX = 256 << 10,
	LOOK_MS = 500, /* for a file that is not there yet */
	LOOKS = 20,
};

struct thread {
	struct threads *of;
	char id[ID_BYTES + 1];
	bool own;    /* the session itself: only its model is wanted */
	bool closed; /* no more of it is read */
	struct stream *stream;
	struct follow *follow; /* NULL: it is not there yet */
	struct usage used;     /* so far, as it says */
};

struct threads {
	struct loop *loop;
	struct arena strings;
	const char *dir;
	const struct agent_format *format;
	struct sessions sessions;
	fact_fn *fn;
	void *user;
	struct thread list[THREADS_MAX];
	size_t n;
	bool calls, too_many;
	uint64_t seen;
	struct loop_source *looks;
	int looks_left;

	/* At the end. */
	struct loop_source *turn;
	void (*done)(void *user);
	void *done_user;
};

/* ---- what one of them says ---- */

static void close_file(struct thread *t)
{
	t->closed = true;
	follow_close(t->follow);
	t->follow = NULL;
}

/* A total as what it adds; nothing is ever taken back. */
static struct usage added(struct thread *t, struct usage total)
{
	struct usage d = usage_minus(total, t->used);

	d.input = MAX(d.input, 0);
	d.output = MAX(d.output, 0);
	d.cache_read = MAX(d.cache_read, 0);
	d.cache_write = MAX(d.cache_write, 0);
	d.untrue = total.untrue;
	if (!total.untrue)
		t->used = usage_plus(t->used, d);
	return d;
}

static void on_fact(void *user, const struct fact *told)
{
	struct thread *t = user;
	struct fact f = *told;

	if (t->own) {
		if (f.kind != FACT_MODEL || (f.at && f.at < t->of->sessions.since))
			return;
		t->of->fn(t->of->user, &f);
		t->closed = true;
		return;
	}
	if (f.kind == FACT_MODEL || f.kind == FACT_CONTEXT)
		return;
	if (f.kind == FACT_USAGE && f.usage_total)
		f.usage = added(t, f.usage);
	/* Of an earlier run of the session. */
	if (f.at && f.at < t->of->sessions.since)
		return;
	f.usage_total = false;
	if (f.kind == FACT_THREAD) {
		threads_fact(t->of, &f);
		return;
	}
	/* Hooks tell of its calls, but not how each of them ends. */
	if (!t->of->calls && f.kind != FACT_USAGE && f.kind != FACT_MESSAGE &&
			f.kind != FACT_TOOL_ENDED)
		return;
	f.child = true;
	f.thread = str_from(t->id);
	t->of->fn(t->of->user, &f);
}

static void on_bytes(void *user, str bytes, uint64_t at)
{
	struct thread *t = user;
	struct threads *of = t->of;

	of->seen += bytes.n;
	if (of->seen > TRANSCRIPT_MAX) {
		log_warn("%s: its sub-agents wrote more than %d bytes: the rest is not read",
				of->dir, TRANSCRIPT_MAX);
		for (size_t i = 0; i < of->n; i++)
			close_file(&of->list[i]);
		return;
	}
	stream_bytes(t->stream, bytes, at);
	if (t->closed)
		close_file(t);
}

/* ---- finding their files ---- */

/* Hexadecimal digits and hyphens, so that it is no pattern. */
static bool is_id(str id)
{
	for (size_t i = 0; i < id.n; i++)
		if (!strchr("0123456789abcdef-", id.p[i]) || !id.p[i])
			return false;
	return id.n == ID_BYTES;
}

/* When it was made, by its first 48 bits. */
static ov_time id_time(const char *id)
{
	char digits[13] = { 0 };

	memcpy(digits, id, 8);
	memcpy(digits + 8, id + 9, 4);
	return (ov_time)strtoull(digits, NULL, 16);
}

struct finding {
	struct arena *a;
	str name;
};

static void on_found(void *user, const struct beneath_file *f)
{
	struct finding *found = user;

	found->name = arena_str(found->a, f->path);
}

/* It lies in a folder named by the day on which it began, in some zone. */
static str find_file(struct arena *a, const struct threads *t, const char *id)
{
	size_t prefix = strlen(t->sessions.below) + 1;

	for (int day = -1; day <= 1; day++) {
		str date = time_format(a, id_time(id) + day * OV_DAY);
		struct finding found = { .a = a };

		if (date.n < 10)
			continue;
		(void)beneath_find(t->sessions.root,
				arena_printf(a, "%s/%.4s/%.2s/%.2s/rollout-*-%s.jsonl",
						t->sessions.below, date.p, date.p + 5, date.p + 8,
						id),
				on_found, &found, NULL);
		if (found.name.n > prefix)
			return str_sub(found.name, prefix, found.name.n);
	}
	return STR("");
}

static void open_file(struct thread *t)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	struct threads *of = t->of;
	struct sessions s = of->sessions;
	struct ov_err err = { 0 };
	str name;
	int fd = -1, r;

	if (t->closed || t->follow)
		return;
	name = find_file(&a, of, t->id);
	if (!name.n)
		return;
	s.session = str_from(t->id);
	r = sessions_open(&s, name, &fd, &err);
	if (r == 0)
		r = follow_open_fd(of->loop, fd, 0, on_bytes, t, &t->follow, &err);
	if (r < 0 && r != OV_ENOTFOUND) {
		log_warn("%s: the session of a sub-agent is not read: %s", of->dir, err.msg);
		t->closed = true;
	}
}

static bool look(struct threads *t)
{
	bool missing = false;

	for (size_t i = 0; i < t->n; i++) {
		open_file(&t->list[i]);
		missing |= !t->list[i].closed && !t->list[i].follow;
	}
	return missing;
}

static void on_look(void *user)
{
	struct threads *t = user;

	if (look(t) && t->looks_left-- > 0)
		loop_timer_in(t->looks, LOOK_MS);
}

static void begin(struct threads *t, str id, bool own)
{
	struct thread *one;

	if (!t->sessions.root || !is_id(id))
		return;
	for (size_t i = 0; i < t->n; i++)
		if (str_is(id, t->list[i].id))
			return;
	if (t->n == THREADS_MAX) {
		if (!t->too_many)
			log_warn("%s: of more than %d sub-agents the files are not read", t->dir,
					THREADS_MAX);
		t->too_many = true;
		return;
	}
	one = &t->list[t->n++];
	*one = (struct thread){ .of = t, .own = own };
	memcpy(one->id, id.p, ID_BYTES);
	one->stream = stream_new_thread(t->format, on_fact, one);
	t->looks_left = LOOKS;
	loop_timer_in(t->looks, 0);
}

void threads_fact(struct threads *t, const struct fact *f)
{
	if (!t)
		return;
	if (f->kind == FACT_THREAD)
		begin(t, f->thread, false);
	else if (f->kind == FACT_READY && !f->child && !f->model.n)
		begin(t, f->session, true);
}

/* ---- life cycle ---- */

struct threads *threads_new(struct loop *l, const char *dir, const struct agent_format *format,
		bool calls, fact_fn *fn, void *user)
{
	struct threads *t;

	if (!format->thread)
		return NULL;
	t = mem_zalloc(1, sizeof(*t));
	t->loop = l;
	t->strings = ARENA_SMALL;
	t->dir = arena_cstr(&t->strings, str_from(dir));
	t->sessions = sessions_kept(&t->strings, dir);
	t->format = format;
	t->calls = calls;
	t->fn = fn;
	t->user = user;
	t->looks = loop_timer(l, on_look, t);
	return t;
}

/* A piece of each at a time, so that others are served in between; they may name new ones. */
static void drain(void *user)
{
	struct threads *t = user;
	bool more = false;

	t->turn = loop_source_free(t->turn);
	(void)look(t);
	for (size_t i = 0; i < t->n && !more; i++) {
		size_t before = t->n;

		more = t->list[i].follow &&
				follow_drain(t->list[i].follow, TURN_MAX, NULL) == OV_ELIMIT;
		more |= t->n > before;
	}
	if (more) {
		t->turn = loop_defer(t->loop, drain, t);
		return;
	}
	for (size_t i = 0; i < t->n; i++)
		close_file(&t->list[i]);
	t->done(t->done_user);
}

void threads_end(struct threads *t, void (*done)(void *user), void *user)
{
	if (!t) {
		done(user);
		return;
	}
	loop_timer_off(t->looks);
	t->done = done;
	t->done_user = user;
	drain(t);
}

void threads_close(struct threads *t)
{
	if (!t)
		return;
	loop_source_free(t->turn);
	loop_source_free(t->looks);
	for (size_t i = 0; i < t->n; i++) {
		follow_close(t->list[i].follow);
		stream_free(t->list[i].stream);
	}
	arena_done(&t->strings);
	mem_free(t);
}
