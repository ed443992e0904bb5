/*
 * Logs of configured commands: what an entry looks like, rotation, and a log that cannot
 * be written.
 */
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/log/journal.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "sys/file/file.h"

struct site {
	struct arena arena;
	char dir[64];
	struct journal *j;
};

static void site_init(struct site *s)
{
	*s = (struct site){ .arena = ARENA_INIT, .dir = "/tmp/overseer-test-journal-XXXXXX" };
	assert_non_null(mkdtemp(s->dir));
	s->j = journal_new(path_join(&s->arena, s->dir, "logs"));
}

static void site_done(struct site *s)
{
	str rm = arena_printf(&s->arena, "rm -rf '%s'", s->dir);

	journal_free(s->j);
	assert_int_equal(system(rm.p), 0); /* NOLINT(cert-env33-c): a folder of our own */
	arena_done(&s->arena);
}

static str log_path(struct site *s, const char *name)
{
	return arena_printf(&s->arena, "%s/logs/%s", s->dir, name);
}

static str content(struct site *s, const char *name)
{
	str text;

	assert_int_equal(file_read(&s->arena, log_path(s, name).p, 64 << 20, &text, NULL), 0);
	return text;
}

TEST(an_entry_has_time_worker_and_output)
{
	struct site s;
	str text, line;

	site_init(&s);
	journal_write(s.j, "task_pool", STR("auto-1"), STR("exit 0"),
			STR("one\n2026-01-01T00:00:00Z auto-9 a fake entry\n\nthree"));
	journal_write(s.j, "task_pool", STR(""), STR("two\nlines"), STR(""));
	text = content(&s, "task_pool.log");
	assert_true(str_split(&text, '\n', &line));
	assert_true(str_ends(line, STR(" auto-1 exit 0")));
	assert_true(str_starts(line, STR("20")));
	assert_true(str_split(&text, '\n', &line) && str_is(line, "  one"));
	assert_true(str_split(&text, '\n', &line) &&
			str_is(line, "  2026-01-01T00:00:00Z auto-9 a fake entry"));
	assert_true(str_split(&text, '\n', &line) && str_is(line, "  "));
	assert_true(str_split(&text, '\n', &line) && str_is(line, "  three"));
	assert_true(str_split(&text, '\n', &line) && str_ends(line, STR(" - two lines")));
	assert_int_equal(text.n, 0);
	site_done(&s);
}

TEST(what_programs_write_is_made_readable_and_without_secrets)
{
	struct site s;
	str text;

	site_init(&s);
	journal_write(s.j, "x", STR("w"), STR("exit 1"),
			STR("\x1b[31mred\xff\r\ntoken ghp_0123456789abcdefghijklmnopqrstuvwxyz\n"));
	text = content(&s, "x.log");
	assert_true(str_contains(text, STR("  ")));
	assert_true(str_find_byte(text, '\x1b') == text.n && str_find_byte(text, '\r') == text.n);
	assert_false(str_contains(text, STR("ghp_0123")));
	site_done(&s);
}

TEST(a_long_log_is_rotated_and_the_oldest_goes)
{
	struct site s;
	size_t n = JOURNAL_BYTES;
	char *big = mem_alloc(n);
	struct stat st;

	site_init(&s);
	memset(big, 'x', n);
	for (int i = 0; i <= JOURNAL_KEPT + 1; i++)
		journal_write(s.j, "big", STR("w"), arena_printf(&s.arena, "entry %d", i),
				(str){ big, n });
	assert_true(str_contains(content(&s, "big.log"), STR("entry 5")));
	assert_true(str_contains(content(&s, "big.log.1"), STR("entry 4")));
	assert_true(str_contains(content(&s, "big.log.4"), STR("entry 1")));
	assert_int_equal(stat(log_path(&s, "big.log.5").p, &st), -1);
	mem_free(big);
	site_done(&s);
}

TEST(a_log_that_cannot_be_written_stops_nothing)
{
	struct site s;

	site_init(&s);
	assert_int_equal(file_write_atomic(path_join(&s.arena, s.dir, "logs"), STR("a file"), 0600,
					 NULL),
			0);
	journal_write(s.j, "x", STR("w"), STR("exit 0"), STR("text"));
	assert_int_equal(file_remove(path_join(&s.arena, s.dir, "logs"), NULL), 0);
	journal_write(s.j, "x", STR("w"), STR("exit 0"), STR("later"));
	assert_true(str_contains(content(&s, "x.log"), STR("later")));
	site_done(&s);
}

TEST_MAIN
