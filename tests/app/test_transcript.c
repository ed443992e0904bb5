#include "app/session/transcript.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "agent/table/formats.h"
#include "base/duration.h"
#include "sys/host/clock.h"
#include "tests/app/session_files.h"

#define SESSION "0d9f7a12-0000-4000-8000-000000000001"
#define LINE                                                                                  \
	"{\"type\":\"assistant\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":" \
	"\"text\",\"text\":\"said\"}]}}\n"

static size_t said;

static void on_fact(void *user, const struct fact *f)
{
	(void)user;
	said += f->kind == FACT_MESSAGE;
}

/* A run's folder and a home with the folder of Claude's sessions. */
static void begin(bool resumed)
{
	said = 0;
	sessions_begin("projects", "home/projects/x", STR(SESSION), resumed);
}

static void end(struct transcript *t)
{
	transcript_close(t);
	sessions_end();
}

static struct transcript *named(const char *name)
{
	struct transcript *t = transcript_new(loop, at("run"), format_find(STR("claude")), on_fact,
			NULL);

	transcript_named(t, str_from(name));
	return t;
}

/* How much of a transcript is told to its end. */
static size_t told(struct transcript *t)
{
	transcript_end(t, on_done, NULL);
	run_to_end();
	return said;
}

static void fill(const char *name, str piece, size_t times)
{
	FILE *f = fopen(at(name), "we");

	assert_non_null(f);
	for (size_t i = 0; i < times; i++)
		assert_int_equal(fwrite(piece.p, 1, piece.n, f), piece.n);
	assert_int_equal(fclose(f), 0);
}

TEST(what_the_run_says_is_told)
{
	struct transcript *t;

	begin(false);
	/* It is named before it is there. */
	t = named(at("elsewhere/projects/x/" SESSION ".jsonl"));
	put("home/projects/x/" SESSION ".jsonl", STR(LINE LINE));
	transcript_named(t, STR(""));
	assert_int_equal(told(t), 2);
	end(t);
}

TEST(of_a_resumed_session_what_is_new)
{
	struct transcript *t;
	int fd;

	begin(true);
	put("home/projects/x/" SESSION ".jsonl", STR(LINE LINE));
	t = named(at("home/projects/x/" SESSION ".jsonl"));
	fd = open(at("home/projects/x/" SESSION ".jsonl"), O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(write(fd, LINE, sizeof(LINE) - 1), sizeof(LINE) - 1);
	close(fd);
	transcript_close(t);
	/* The same for another daemon, whatever it is told. */
	t = named(at("home/projects/x/other.jsonl"));
	assert_int_equal(told(t), 1);
	end(t);
}

/*
 * What it said between its start and the moment at which it was named is its own; all before
 * is not.
 */
TEST(of_a_resumed_session_what_was_said_before_it_was_named)
{
	static const char own[] = "home/projects/x/" SESSION ".jsonl";
	str before, since;
	struct transcript *t;

	begin(true);
	before = time_format(&a, clock_file() - OV_MINUTE);
	since = time_format(&a, clock_file() + OV_SECOND);
	put(own,
			arena_printf(&a,
					"%s{\"timestamp\":\"" STR_FMT
					"\",%s{\"timestamp\":\"" STR_FMT "\",%s",
					LINE, STR_ARG(before), &LINE[1], STR_ARG(since), &LINE[1]));
	t = named(at(own));
	loop_step(loop, 0);
	transcript_close(t);
	assert_int_equal(said, 1);
	/* Another daemon reads the same again. */
	said = 0;
	t = named(at(own));
	assert_int_equal(told(t), 1);
	end(t);
}

/*
 * A long session is not read from its beginning; the line in the middle of which it begins is none.
 */
TEST(of_a_long_session_only_the_end_is_read_again)
{
	static const char own[] = "home/projects/x/" SESSION ".jsonl";
	str line;
	struct transcript *t;

	begin(true);
	line = arena_printf(&a, "{\"timestamp\":\"" STR_FMT "\",%s",
			STR_ARG(time_format(&a, clock_file() + OV_SECOND)), &LINE[1]);
	fill(own, line, (2 << 20) / line.n);
	t = named(at(own));
	assert_in_range(told(t), (1 << 20) / line.n - 1, (1 << 20) / line.n);
	end(t);
}

/* Nobody has to say so again. */
TEST(a_file_that_is_made_later_is_found)
{
	struct transcript *t;

	begin(false);
	t = named(at("home/projects/x/" SESSION ".jsonl"));
	put("home/projects/x/" SESSION ".jsonl", STR(LINE));
	while (!said)
		loop_step(loop, 1000000);
	end(t);
}

TEST(files_that_are_none_of_the_runs)
{
	static const char own[] = "home/projects/x/" SESSION ".jsonl";
	static const struct {
		const char *what, *named;
	} cases[] = {
		{ "outside", "secret-" SESSION ".jsonl" },
		{ "above", "home/projects/../../secret-" SESSION ".jsonl" },
		{ "another session", "home/projects/x/other.jsonl" },
		{ "a link", own },
		{ "a folder that is a link", "home/projects/y/" SESSION ".jsonl" },
		{ "a second name", own },
		{ "a pipe", own },
		{ "an older file", own },
		{ "the id after the end", "home/projects/x/other.jsonl" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *what = cases[i].what;
		struct transcript *t;

		begin(false);
		put("secret-" SESSION ".jsonl", STR(LINE));
		put("home/projects/x/other.jsonl", STR(LINE));
		if (!strcmp(what, "a link"))
			assert_int_equal(symlink(at("secret-" SESSION ".jsonl"), at(own)), 0);
		if (!strcmp(what, "a folder that is a link"))
			assert_int_equal(symlink(root, at("home/projects/y")), 0);
		if (!strcmp(what, "a folder that is a link"))
			put(SESSION ".jsonl", STR(LINE));
		if (!strcmp(what, "a second name"))
			assert_int_equal(link(at("secret-" SESSION ".jsonl"), at(own)), 0);
		if (!strcmp(what, "a pipe"))
			assert_int_equal(mkfifo(at(own), 0600), 0);
		if (!strcmp(what, "an older file")) {
			struct sessions later = sessions_kept(&a, at("run"));

			put(own, STR(LINE));
			later.since += 60 * OV_SECOND;
			assert_int_equal(unlink(at("run/sessions.json")), 0);
			assert_int_equal(sessions_keep(&a, at("run"), &later, NULL), 0);
		}
		t = transcript_new(loop, at("run"), format_find(STR("claude")), on_fact, NULL);
		if (!strcmp(what, "the id after the end")) {
			str path = arena_printf(&a, "%s/%s.%s", root, cases[i].named, SESSION);

			((char *)path.p)[strlen(root) + 1 + strlen(cases[i].named)] = '\0';
			transcript_named(t, path);
		} else {
			transcript_named(t, str_from(at(cases[i].named)));
		}
		if (told(t))
			fail_msg("%s was read", what);
		end(t);
	}
}

TEST(without_a_folder_of_sessions_nothing_is_read)
{
	struct transcript *t;

	begin(false);
	put("home/projects/x/" SESSION ".jsonl", STR(LINE));
	assert_int_equal(unlink(at("run/sessions.json")), 0);
	t = named(at("home/projects/x/" SESSION ".jsonl"));
	assert_int_equal(told(t), 0);
	end(t);
}

/* Others are served in between, however much there is at the end. */
TEST(many_last_words_take_many_turns)
{
	enum { LINES = 20000 };
	struct transcript *t;
	int turns = 0;

	begin(false);
	t = named(at("home/projects/x/" SESSION ".jsonl"));
	fill("home/projects/x/" SESSION ".jsonl", STR(LINE), LINES);
	transcript_end(t, on_done, NULL);
	for (size_t before = 0; !over; before = said, turns++) {
		/* A piece of ours, and one of the follower's. */
		assert_true((said - before) * (sizeof(LINE) - 1) <= (512 << 10));
		loop_step(loop, 1000000);
	}
	assert_int_equal(said, LINES);
	assert_true(turns > 3);
	end(t);
}

TEST(more_than_the_bound_is_not_read)
{
	static char piece[1 << 20];
	struct transcript *t;
	FILE *f;

	begin(false);
	memset(piece, 'x', sizeof(piece));
	fill("home/projects/x/" SESSION ".jsonl", STR(LINE), 1);
	f = fopen(at("home/projects/x/" SESSION ".jsonl"), "ae");
	assert_non_null(f);
	for (size_t i = 0; i <= TRANSCRIPT_MAX / sizeof(piece); i++)
		assert_int_equal(fwrite(piece, 1, sizeof(piece), f), sizeof(piece));
	fputs("\n" LINE, f);
	assert_int_equal(fclose(f), 0);
	t = named(at("home/projects/x/" SESSION ".jsonl"));
	assert_int_equal(told(t), 1);
	end(t);
}

TEST_MAIN
