#include "app/transcript.h"

#include <sys/stat.h>

#include "agent/stream.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "data/json.h"
#include "sys/file.h"
#include "sys/follow.h"

#define NOTE "transcript.json" /* {"path", "from"} */

enum { NOTE_MAX = 64 << 10 };

struct transcript {
	struct loop *loop;
	struct arena strings;
	const char *dir;
	const char *path; /* NULL: it was not named yet */
	uint64_t from;
	bool resumed;
	struct stream *stream;
	struct follow *follow; /* NULL: it is not there yet */
};

static void on_bytes(void *user, str bytes, uint64_t at)
{
	struct transcript *t = user;

	stream_bytes(t->stream, bytes, at);
}

static void read_note(struct transcript *t)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	value *v;
	str text;

	if (file_read(&a, path_join(&a, t->dir, NOTE), NOTE_MAX, &text, NULL) < 0 ||
			json_parse(&a, text, NULL, &v, NULL) < 0 || !value_str_at(v, "path").n)
		return;
	t->path = arena_cstr(&t->strings, value_str_at(v, "path"));
	t->from = (uint64_t)MAX(value_int_at(v, "from"), (int64_t)0);
}

static void write_note(const struct transcript *t)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	value *v = value_object(&a);

	value_put(&a, v, "path", value_cstr(&a, t->path));
	value_put(&a, v, "from", value_int(&a, (int64_t)t->from));
	/* Without it another daemon would be told of a resumed session all over; nothing worse. */
	(void)file_write_atomic(path_join(&a, t->dir, NOTE), json_text(&a, v), 0600, NULL);
}

static void follow_it(struct transcript *t)
{
	struct stat st;

	if (t->follow || !t->path || stat(t->path, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	(void)follow_open(t->loop, t->path, t->from, on_bytes, t, &t->follow, NULL);
}

struct transcript *transcript_new(struct loop *l, const char *dir,
		const struct agent_format *format, bool resumed, fact_fn *fn, void *user)
{
	struct transcript *t;

	if (!format->transcript)
		return NULL;
	t = mem_zalloc(1, sizeof(*t));
	t->loop = l;
	t->strings = ARENA_SMALL;
	t->dir = arena_cstr(&t->strings, str_from(dir));
	t->resumed = resumed;
	t->stream = stream_new_transcript(format, fn, user);
	read_note(t);
	follow_it(t);
	return t;
}

void transcript_named(struct transcript *t, str path)
{
	struct stat st;

	if (!t)
		return;
	if (!t->path && str_starts(path, STR("/"))) {
		t->path = arena_cstr(&t->strings, path);
		if (t->resumed && stat(t->path, &st) == 0)
			t->from = (uint64_t)st.st_size;
		write_note(t);
	}
	follow_it(t);
}

void transcript_end(struct transcript *t)
{
	if (!t)
		return;
	follow_it(t);
	if (t->follow)
		(void)follow_drain(t->follow, SIZE_MAX, NULL);
	stream_end(t->stream);
}

void transcript_close(struct transcript *t)
{
	if (!t)
		return;
	follow_close(t->follow);
	stream_free(t->stream);
	arena_done(&t->strings);
	mem_free(t);
}
