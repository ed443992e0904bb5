#include "app/session/transcript.h"

#include <sys/stat.h>

#include "agent/read/stream.h"
#include "app/log/log.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "sys/file/file.h"
#include "sys/loop/follow.h"
#include "sys/loop/loop.h"

#define NOTE "transcript.json" /* {"name", "from", "old"} */

enum {
	NOTE_MAX = 64 << 10,
	TURN_MAX = 256 << 10, /* in one turn of the loop */
	/* of a resumed session that is read again, for what the run said already */
	BACK_MAX = 1 << 20,
	LOOK_MS = 500, /* for a file that is not there yet */
	LOOKS = 20,
};

struct transcript {
	struct loop *loop;
	struct arena strings;
	const char *dir;
	struct sessions sessions;
	str name; /* beneath their folder; empty: it was not named yet */
	uint64_t from, seen;
	uint64_t old; /* up to here it was written when it was named: by earlier runs, too */
	fact_fn *fn;
	void *fn_user;
	struct loop_source *looks;
	int looks_left;
	bool refused; /* it is none of the run's, or too long: no more of it is read */
	struct agent_stream *stream;
	struct follow *follow; /* NULL: it is not there yet */

	/* At the end. */
	struct loop_source *turn;
	uint64_t upto; /* what is written later is nobody's last word */
	void (*done)(void *user);
	void *user;
};

static void on_bytes(void *user, str bytes, uint64_t at)
{
	struct transcript *t = user;

	t->seen += bytes.n;
	if (t->seen <= TRANSCRIPT_MAX) {
		stream_bytes(t->stream, bytes, at);
		return;
	}
	log_warn("%s: the transcript has more than %d bytes: the rest of it is not read", t->dir,
			TRANSCRIPT_MAX);
	t->refused = true;
	follow_close(t->follow);
	t->follow = NULL;
}

/* A run says something as soon as it resumes a session, maybe before we heard that it has. */
static void transcript_on_fact(void *user, const struct fact *f)
{
	struct transcript *t = user;

	if (f->offset > t->old || (f->at && f->at >= t->sessions.since))
		t->fn(t->fn_user, f);
}

static void read_note(struct transcript *t)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *v;
	str text;

	if (file_read(&a, path_join(&a, t->dir, NOTE), NOTE_MAX, &text, NULL) < 0 ||
			json_parse(&a, text, NULL, &v, NULL) < 0)
		return;
	t->name = arena_str(&t->strings, value_str_at(v, "name"));
	t->from = (uint64_t)MAX(value_int_at(v, "from"), (int64_t)0);
	t->old = (uint64_t)MAX(value_int_at(v, "old"), (int64_t)0);
}

static void write_note(const struct transcript *t)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *v = value_object(&a);

	value_put(&a, v, "name", value_str(&a, t->name));
	value_put(&a, v, "from", value_int(&a, (int64_t)t->from));
	value_put(&a, v, "old", value_int(&a, (int64_t)t->old));
	/* Without it another daemon would be told of a resumed session all over; nothing worse. */
	(void)file_write_atomic(path_join(&a, t->dir, NOTE), json_text(&a, v), 0600, NULL);
}

/* first: it has just been named, so that what a resumed session has said is over. */
static void follow_it(struct transcript *t, bool first)
{
	struct ov_err err = { 0 };
	struct stat st;
	int fd = -1, r;

	if (t->follow || t->refused || !t->name.n)
		return;
	r = sessions_open(&t->sessions, t->name, &fd, &err);
	if (r == 0 && first && t->sessions.resumed && fstat(fd, &st) == 0) {
		t->old = (uint64_t)st.st_size;
		t->from = t->old - MIN(t->old, (uint64_t)BACK_MAX);
	}
	if (r == 0)
		r = follow_open_fd(t->loop, fd, t->from, on_bytes, t, &t->follow, &err);
	if (r == OV_ENOTFOUND && t->looks_left-- > 0)
		loop_timer_in(t->looks, LOOK_MS);
	if (r == 0 || r == OV_ENOTFOUND)
		return;
	log_warn("%s: the transcript is not read: %s", t->dir, err.msg);
	t->refused = true;
}

static void on_look(void *user)
{
	follow_it(user, false);
}

struct transcript *transcript_new(struct loop *l, const char *dir,
		const struct agent_format *format, fact_fn *fn, void *user)
{
	struct transcript *t;

	if (!format->transcript)
		return NULL;
	t = mem_zalloc(1, sizeof(*t));
	t->loop = l;
	t->strings = ARENA_SMALL;
	t->dir = arena_cstr(&t->strings, str_from(dir));
	t->sessions = sessions_kept(&t->strings, dir);
	t->fn = fn;
	t->fn_user = user;
	t->stream = stream_new_transcript(format, transcript_on_fact, t);
	t->looks = loop_timer(l, on_look, t);
	t->looks_left = LOOKS;
	read_note(t);
	follow_it(t, false);
	return t;
}

void transcript_named(struct transcript *t, str path)
{
	bool first;

	if (!t)
		return;
	first = !t->name.n && path.n && !t->refused;
	if (first) {
		t->name = arena_str(&t->strings, sessions_name(&t->sessions, path));
		t->refused = !t->name.n;
		if (t->refused)
			log_warn("%s: the transcript is not read: it is not where the agent keeps "
				 "its sessions",
					t->dir);
	}
	/* It may be made only now, and nothing else may tell of it for long. */
	t->looks_left = LOOKS;
	follow_it(t, first);
	if (first)
		write_note(t);
}

/* A piece at a time, so that others are served in between. */
static void drain(void *user)
{
	struct transcript *t = user;

	t->turn = loop_source_free(t->turn);
	if (t->follow && follow_drain(t->follow, TURN_MAX, NULL) == OV_ELIMIT && t->follow &&
			follow_offset(t->follow) < t->upto) {
		t->turn = loop_defer(t->loop, drain, t);
		return;
	}
	stream_end(t->stream);
	t->done(t->user);
}

void transcript_end(struct transcript *t, void (*done)(void *user), void *user)
{
	if (!t) {
		done(user);
		return;
	}
	t->looks_left = 0;
	loop_timer_off(t->looks);
	follow_it(t, false);
	t->upto = t->follow ? follow_size(t->follow) : 0;
	t->done = done;
	t->user = user;
	drain(t);
}

void transcript_close(struct transcript *t)
{
	if (!t)
		return;
	loop_source_free(t->turn);
	loop_source_free(t->looks);
	follow_close(t->follow);
	stream_free(t->stream);
	arena_done(&t->strings);
	mem_free(t);
}
