#include "drive/tmux/tmux_wire.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "tests/test.h"

TEST_MAIN

static struct tmux_said one(struct tmux_wire *w)
{
	struct tmux_said s = { 0 };

	assert_int_equal(tmux_wire_next(w, &s, NULL), 1);
	return s;
}

static void none(struct tmux_wire *w)
{
	struct tmux_said s;

	assert_int_equal(tmux_wire_next(w, &s, NULL), 0);
}

#define IS(s, literal) assert_true(str_is((s).text, literal))

TEST(answers_come_as_blocks)
{
	struct tmux_wire w;
	struct tmux_said s;

	tmux_wire_init(&w);
	tmux_wire_feed(&w,
			STR("%begin 1 260 0\n%end 1 260 0\n%sessions-changed\n%begin 2 3 "
			    "1\none\n"));
	s = one(&w);
	assert_int_equal(s.kind, TMUX_DONE);
	assert_false(s.ours);
	s = one(&w);
	assert_int_equal(s.kind, TMUX_NOTICE);
	IS(s, "sessions-changed");
	none(&w);
	tmux_wire_feed(&w,
			STR("two\n%end 2 3 1\n%begin 2 4 1\nwhy not\n%error 2 4 1\n%exit too "
			    "bad\n"));
	s = one(&w);
	assert_int_equal(s.kind, TMUX_DONE);
	assert_true(s.ours);
	IS(s, "one\ntwo");
	s = one(&w);
	assert_int_equal(s.kind, TMUX_REFUSED);
	IS(s, "why not");
	s = one(&w);
	assert_int_equal(s.kind, TMUX_EXIT);
	IS(s, "too bad");
	none(&w);
	tmux_wire_done(&w);
}

/* A screen that shows the protocol itself is still a screen. */
TEST(only_its_own_numbers_end_a_block)
{
	struct tmux_wire w;
	struct tmux_said s;

	tmux_wire_init(&w);
	tmux_wire_feed(&w,
			STR("%begin 7 9 1\n%end 7 8 1\n%begin 7 10 1\n%exit\n%endless\n%error\n"
			    "%end 7 9 1\n"));
	s = one(&w);
	assert_int_equal(s.kind, TMUX_DONE);
	IS(s, "%end 7 8 1\n%begin 7 10 1\n%exit\n%endless\n%error");
	none(&w);
	tmux_wire_done(&w);
}

TEST(what_is_too_long_is_cut)
{
	static char line[64 << 10];
	struct tmux_wire w;
	struct tmux_said s;

	memset(line, 'x', sizeof(line));
	line[sizeof(line) - 1] = '\n';
	tmux_wire_init(&w);
	tmux_wire_feed(&w, STR("%begin 1 2 1\n"));
	for (size_t n = 0; n < 2 * (size_t)TMUX_BLOCK_MAX; n += sizeof(line)) {
		tmux_wire_feed(&w, (str){ line, sizeof(line) });
		none(&w);
	}
	tmux_wire_feed(&w, STR("%end 1 2 1\n%begin 1 3 1\n%end 1 3 1\n"));
	s = one(&w);
	assert_true(s.cut);
	assert_true(s.text.n <= TMUX_BLOCK_MAX && s.text.n > TMUX_BLOCK_MAX / 2);
	s = one(&w);
	assert_false(s.cut);
	IS(s, "");
	tmux_wire_done(&w);
}

TEST(a_line_without_end_breaks_it)
{
	static char piece[64 << 10];
	struct tmux_wire w;
	struct tmux_said s;
	int r = 0;

	memset(piece, 'y', sizeof(piece));
	tmux_wire_init(&w);
	for (int i = 0; i < 20 && r == 0; i++) {
		tmux_wire_feed(&w, (str){ piece, sizeof(piece) });
		r = tmux_wire_next(&w, &s, NULL);
	}
	assert_int_equal(r, OV_ELIMIT);
	tmux_wire_done(&w);
}

TEST(words_are_quoted)
{
	struct buf b = BUF_INIT;

	tmux_add_word(&b, STR("set-buffer"));
	tmux_add_word(&b, STR(""));
	tmux_add_word(&b, STR("a\n\"b\"\\$HOME~;'c' #{x}\x1b\x7f\xc3\xa9"));
	assert_string_equal(buf_cstr(&b),
			"\"set-buffer\" \"\" "
			"\"a\\012\\042b\\042\\134\\044HOME\\176;'c' #{x}\\033\\177\xc3\xa9\"");
	buf_done(&b);
}

TEST(nothing_ends_a_paste)
{
	struct arena a = ARENA_INIT;
	str s = tmux_clean(&a,
			STR("a\x1b[201~b\r\nc\rd\te\x07\x03\xc2\x9b"
			    "201~\xff\xc3\xa9\x7f\n"));

	assert_true(str_is(s, "a[201~b\nc\nd\te201~\xef\xbf\xbd\xc3\xa9\n"));
	assert_true(str_is(tmux_clean(&a, STR("")), ""));
	arena_done(&a);
}
