/*
 * Logs that are kept come to what they came to when they were kept: tests/golden/README.md.
 *   test_golden check DIR         every log of DIR against its expectation; all kinds occur
 *   test_golden write LOG [whole] the expectation of one log, to stdout; whole: documents in full
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "tests/golden/golden.h"
#include "tests/unit/core_fixture.h"

static const char *const logs[] = { "simulated", "stories", "sparse" };

enum { FIELDS_MAX = 64 };

/* Which kinds occur, and which of their fields. */
struct seen {
	int64_t kinds[EVENT_KIND_COUNT];
	bool fields[EVENT_KIND_COUNT][FIELDS_MAX];
};

static void see(struct seen *seen, const struct event *e)
{
	struct shape info = event_shape(e->kind);

	seen->kinds[e->kind]++;
	for (size_t i = 0; i < info.n; i++)
		seen->fields[e->kind][i] |= value_at(e->data, info.fields[i].name) != NULL;
}

/* How many kinds and fields no log holds. */
static int tell_unseen(const struct seen *seen)
{
	int unseen = 0;

	for (int k = 0; k < EVENT_KIND_COUNT; k++) {
		struct shape info = event_shape((enum event_kind)k);

		if (!seen->kinds[k])
			unseen += printf("no log holds %s\n", info.name) > 0;
		for (size_t i = 0; seen->kinds[k] && i < info.n; i++)
			if (!seen->fields[k][i])
				unseen += printf("no log holds %s of %s\n", info.fields[i].name,
							  info.name) > 0;
	}
	return unseen;
}

static str read_whole(struct arena *a, const char *path)
{
	FILE *f = fopen(path, "r");
	struct buf b = BUF_INIT;
	char chunk[65536];
	size_t n;
	str s;

	if (!f) {
		perror(path);
		exit(1);
	}
	while ((n = fread(chunk, 1, sizeof(chunk), f)) > 0)
		buf_add(&b, chunk, n);
	fclose(f);
	s = arena_str(a, buf_str(&b));
	buf_done(&b);
	return s;
}

/*
 * The expectation of all logs of a file. Exits where a log is refused: nothing is expected of that.
 */
static void expectation(struct buf *out, str lines, bool whole, struct seen *seen)
{
	struct policy policy = fixture_policy();
	struct ov_err err = { 0 };

	while (lines.n) {
		_cleanup_(arena_done) struct arena a = ARENA_INIT;
		struct golden_log l;

		if (golden_read(&a, &lines, &l, out, &err) < 0 || golden_state(out, &l, &err) < 0 ||
				golden_documents(out, &l, &policy, whole, &err) < 0) {
			printf("%s\n", err.msg);
			exit(1);
		}
		for (size_t i = 0; i < l.events.n; i++)
			see(seen, &l.events.p[i]);
		golden_done(&l);
	}
}

/* True when they are the same; else the first line that differs, and the log that it is of. */
static bool compare(const char *name, str want, str got)
{
	str log = STR(""), a = STR(""), b = STR("");
	bool more_a = true, more_b = true;

	for (int line = 1; more_a || more_b; line++) {
		more_a = str_split(&want, '\n', &a);
		more_b = str_split(&got, '\n', &b);
		if (more_a && str_starts(a, STR("== ")))
			log = a;
		if (more_a == more_b && (!more_a || str_eq(a, b)))
			continue;
		printf("%s.expected:%d (" STR_FMT ")\n  expected: " STR_FMT "\n  found:    " STR_FMT
		       "\n  tests/golden/README.md says how to see it whole\n",
				name, line, STR_ARG(log), STR_ARG(more_a ? a : STR("(the end)")),
				STR_ARG(more_b ? b : STR("(the end)")));
		return false;
	}
	return true;
}

static int check(const char *dir)
{
	struct seen seen = { 0 };
	int failed = 0;

	for (size_t i = 0; i < ARRAY_LEN(logs); i++) {
		_cleanup_(arena_done) struct arena a = ARENA_INIT;
		struct buf got = BUF_INIT;
		str log = read_whole(&a, arena_printf(&a, "%s/%s.jsonl", dir, logs[i]).p);
		str want = read_whole(&a, arena_printf(&a, "%s/%s.expected", dir, logs[i]).p);

		expectation(&got, log, false, &seen);
		failed += !compare(logs[i], want, buf_str(&got));
		buf_done(&got);
	}
	failed += tell_unseen(&seen);
	return failed ? 1 : 0;
}

int main(int argc, char **argv)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct buf out = BUF_INIT;
	struct seen seen = { 0 };

	if (argc == 3 && str_is(str_from(argv[1]), "check"))
		return check(argv[2]);
	if (argc < 3 || !str_is(str_from(argv[1]), "write")) {
		fprintf(stderr, "usage: test_golden check DIR | write LOG [whole]\n");
		return 2;
	}
	expectation(&out, read_whole(&a, argv[2]), argc > 3, &seen);
	fwrite(out.p, 1, out.n, stdout);
	buf_done(&out);
	return 0;
}
