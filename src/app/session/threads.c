#include "app/session/threads.h"

#include <stdio.h>
#include <stdlib.h>

#include "agent/read/stream.h"
#include "app/log/log.h"
#include "app/session/sessions.h"
#include "app/session/transcript.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/beneath.h"
#include "sys/file/file.h"
#include "sys/loop/follow.h"
#include "sys/loop/loop.h"

enum {
	ID_BYTES = 36, /* of a UUID */
	TURN_MAX = 256 << 10,
	LOOK_MS = 500,  /* for a file that is not there yet */
	LOOKS = 20,     /* after the last one was named */
	DAY_BYTES = 10, /* 2026/11/17 */
	DAYS = 3,       /* in which the file of one may lie */
};

/* A look for the files that are missing, as far as it has come. */
struct look {
	bool on;
	char days[DAYS * THREADS_MAX][DAY_BYTES + 1]; /* folders to be read */
	size_t days_n, day;
	DIR *dir; /* the one before `day`; NULL: it is through */
	size_t left;
};

struct thread {
	struct threads *of;
	char id[ID_BYTES + 1];
	bool own;    /* the session itself: only its model is wanted */
	bool closed; /* no more of it is read */
	bool tried;  /* in this look */
	struct agent_stream *stream;
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
	bool again; /* somebody was named who was not looked for yet */
	struct look look;
	size_t entries_left;
	bool told_full;

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

static void threads_on_fact(void *user, const struct fact *told)
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

/* Where one lies: a folder named by the day on which it began, in some zone. */
static void add_day(struct look *k, ov_time at)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str date = time_format(&a, at);
	char day[DAY_BYTES + 1];

	if (date.n < DAY_BYTES)
		return;
	snprintf(day, sizeof(day), "%.4s/%.2s/%.2s", date.p, date.p + 5, date.p + 8);
	for (size_t i = 0; i < k->days_n; i++)
		if (!strcmp(k->days[i], day))
			return;
	memcpy(k->days[k->days_n++], day, sizeof(day));
}

static bool is_missing(const struct thread *t)
{
	return !t->closed && !t->follow;
}

static bool any_missing(const struct threads *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (is_missing(&t->list[i]))
			return true;
	return false;
}

static void look_end(struct look *k)
{
	if (k->dir)
		closedir(k->dir);
	*k = (struct look){ 0 };
}

/* The likely days first: others may be full. */
static void look_begin(struct threads *t)
{
	static const int days[DAYS] = { 0, -1, 1 };
	struct look *k = &t->look;

	look_end(k);
	t->again = false;
	k->on = true;
	k->left = THREADS_LOOK;
	for (size_t d = 0; d < DAYS; d++)
		for (size_t i = 0; i < t->n; i++)
			if (is_missing(&t->list[i]))
				add_day(k, id_time(t->list[i].id) + days[d] * OV_DAY);
	for (size_t i = 0; i < t->n; i++)
		t->list[i].tried = false;
}

static void open_file(struct thread *t, str name)
{
	struct threads *of = t->of;
	struct sessions s = of->sessions;
	struct ov_err err = { 0 };
	int fd = -1, r;

	t->tried = true;
	s.session = str_from(t->id);
	r = sessions_open(&s, name, &fd, &err);
	if (r == 0)
		r = follow_open_fd(of->loop, fd, 0, on_bytes, t, &t->follow, &err);
	if (r < 0 && r != OV_ENOTFOUND) {
		log_warn("%s: the session of a sub-agent is not read: %s", of->dir, err.msg);
		t->closed = true;
	}
}

/* rollout-TIME-ID.jsonl; whatever else a run calls its files is told by its end. */
static void look_at(struct threads *t, const char *day, const struct dirent *e)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const str begin = STR("rollout-"), end = STR(".jsonl");
	str name = str_from(e->d_name), id;

	if ((e->d_type != DT_REG && e->d_type != DT_UNKNOWN) ||
			name.n <= begin.n + ID_BYTES + end.n || !str_ends(name, end) ||
			!str_starts(name, begin))
		return;
	id = str_sub(name, name.n - end.n - ID_BYTES, ID_BYTES);
	if (id.p[-1] != '-')
		return;
	for (size_t i = 0; i < t->n; i++) {
		struct thread *one = &t->list[i];

		if (is_missing(one) && !one->tried && str_is(id, one->id)) {
			open_file(one, arena_printf(&a, "%s/%s", day, e->d_name));
			return;
		}
	}
}

/* The next name, of whatever folder it is; an opened folder counts as one. False: there is none. */
static bool look_next(struct threads *t)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct look *k = &t->look;
	const struct dirent *e;

	if (k->dir) {
		e = readdir(k->dir);
		if (e) {
			look_at(t, k->days[k->day - 1], e);
			return true;
		}
		closedir(k->dir);
		k->dir = NULL;
	}
	if (k->day == k->days_n)
		return false;
	k->dir = beneath_opendir(t->sessions.root,
			path_join(&a, t->sessions.below, k->days[k->day++]));
	return true;
}

/* Said once where it may not any more. */
static bool may_look(struct threads *t)
{
	if (t->look.left && t->entries_left)
		return true;
	if (!t->told_full)
		log_warn("%s: there are too many files where its sub-agents have theirs: not all "
			 "are found",
				t->dir);
	t->told_full = true;
	return false;
}

/*
 * A piece of a look, or of the one after it if somebody was named meanwhile. False: it is through.
 */
static bool look_piece(struct threads *t)
{
	struct look *k = &t->look;

	if (!k->on && t->again)
		look_begin(t);
	for (int i = 0; k->on && i < THREADS_PIECE; i++) {
		if (any_missing(t) && may_look(t) && look_next(t)) {
			k->left--;
			t->entries_left--;
		} else {
			look_end(k);
		}
	}
	return k->on || t->again;
}

static void on_look(void *user)
{
	struct threads *t = user;

	if (look_piece(t)) {
		loop_timer_in(t->looks, 0);
	} else if (any_missing(t) && t->entries_left && t->looks_left-- > 0) {
		t->again = true;
		loop_timer_in(t->looks, LOOK_MS);
	}
}

static void threads_begin(struct threads *t, str id, bool own)
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
	one->stream = stream_new_thread(t->format, threads_on_fact, one);
	t->looks_left = LOOKS;
	t->again = true;
	if (!t->done)
		loop_timer_in(t->looks, 0);
}

void threads_fact(struct threads *t, const struct fact *f)
{
	if (!t)
		return;
	if (f->kind == FACT_THREAD)
		threads_begin(t, f->thread, false);
	else if (f->kind == FACT_READY && !f->child && !f->model.n)
		threads_begin(t, f->session, true);
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
	t->entries_left = THREADS_ENTRIES;
	t->looks = loop_timer(l, on_look, t);
	return t;
}

/* A piece of each at a time, so that others are served in between; they may name new ones. */
static void drain(void *user)
{
	struct threads *t = user;
	bool more;

	t->turn = loop_source_free(t->turn);
	more = look_piece(t);
	for (size_t i = 0; i < t->n && !more; i++)
		more = t->list[i].follow &&
				follow_drain(t->list[i].follow, TURN_MAX, NULL) == OV_ELIMIT;
	if (more || t->again) {
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
	/* A new look, since files may have come behind the one that is on; and one at least. */
	look_end(&t->look);
	t->again = true;
	t->entries_left = MAX(t->entries_left, (size_t)THREADS_LOOK);
	drain(t);
}

void threads_close(struct threads *t)
{
	if (!t)
		return;
	loop_source_free(t->turn);
	loop_source_free(t->looks);
	look_end(&t->look);
	for (size_t i = 0; i < t->n; i++) {
		follow_close(t->list[i].follow);
		stream_free(t->list[i].stream);
	}
	arena_done(&t->strings);
	mem_free(t);
}
