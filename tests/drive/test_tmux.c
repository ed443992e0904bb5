/* Against the real tmux, with a server of its own per test. */
#include "drive/tmux/tmux.h"

#include "base/err.h"
#include "drive/tmux/tmux_wire.h"
#include "sys/file/file.h"
#include "sys/loop/loop.h"
#include "tests/shim/place.h"

TEST_MAIN

struct heard {
	int times, r;
	char text[64 << 10];
	char why[1024];
};

struct world {
	struct place p;
	struct loop *loop;
	struct tmux *tmux;
	str session;
	struct heard heard;
};

static void on_done(void *user, int r, str text, const struct ov_err *err)
{
	struct heard *h = user;

	h->times++;
	h->r = r;
	snprintf(h->text, sizeof(h->text), STR_FMT, STR_ARG(text));
	snprintf(h->why, sizeof(h->why), "%s", err->msg);
}

#define UNTIL(w, cond)                                                                          \
	do {                                                                                    \
		for (int i_ = 0; !(cond); i_++) {                                               \
			if (i_ > 3000)                                                          \
				fail_msg("waited in vain for: %s (%s)", #cond, (w)->heard.why); \
			loop_step((w)->loop, 10000);                                            \
		}                                                                               \
	} while (0)

#define ASKED(w, call)                                       \
	do {                                                 \
		int before_ = (w)->heard.times;              \
		call;                                        \
		assert_int_equal((w)->heard.times, before_); \
		UNTIL(w, (w)->heard.times > before_);        \
	} while (0)

static void world_open(struct world *w, const char *program)
{
	struct tmux_options o = { .program = program };

	memset(w, 0, sizeof(*w));
	place_init(&w->p);
	assert_int_equal(loop_new(&w->loop, NULL), 0);
	o.store = o.tmp = w->p.root;
	w->tmux = tmux_new(w->loop, &o);
	w->session = tmux_session_name(&w->p.a, w->tmux, STR("worker"));
}

static void world_close(struct world *w)
{
	tmux_free(w->tmux);
	assert_null(loop_free(w->loop));
	place_done(&w->p);
}

/* A program in the session: what it reads is shown by bytes, after it said what it can. */
static const char shows[] =
		"import os,sys,tty\n"
		"tty.setraw(0)\n"
		"os.write(1, b'\\x1b[?2004hready ' + os.environb.get(b'A', b'') + b'\\r\\n')\n"
		"seen = b''\n"
		"while not seen.endswith(b'q'):\n"
		"  seen += os.read(0, 65536)\n"
		"  open(sys.argv[1], 'wb').write(seen)\n";

static void open_session(struct world *w, const char *mark)
{
	const char *to = arena_printf(&w->p.a, "%s/seen", w->p.root).p;
	const char *const argv[] = { "python3", "-c", shows, to, NULL };
	const char *const env[] = { "A=one\ntwo $HOME \"#{x}\" \\ ~ \xc3\xa9", "B=2", NULL };
	struct tmux_session s = { .name = w->session,
		.argv = argv,
		.env = env,
		.cwd = w->p.root,
		.width = 100,
		.height = 30,
		.mark = str_from(mark) };

	ASKED(w, tmux_open_session(w->tmux, &s, on_done, &w->heard));
}

static str seen(struct world *w)
{
	str s = STR("");

	(void)file_read(&w->p.a, arena_printf(&w->p.a, "%s/seen", w->p.root).p, 8 << 20, &s, NULL);
	return s;
}

static void until_shown(struct world *w, const char *text)
{
	for (int i = 0; i < 3000; i++) {
		ASKED(w, tmux_capture(w->tmux, w->session, 0, on_done, &w->heard));
		assert_int_equal(w->heard.r, 0);
		if (strstr(w->heard.text, text))
			return;
		poll(NULL, 0, 2);
	}
	fail_msg("never shown: %s", text);
}

static void until_seen(struct world *w, str end)
{
	WAIT_FOR(str_ends(seen(w), end));
}

static bool server_gone(struct world *w)
{
	const char *command = arena_printf(&w->p.a, "tmux -S %s list-sessions >/dev/null 2>&1",
			tmux_names(&w->p.a, w->p.root, w->p.root).socket)
					      .p;

	loop_step(w->loop, 20000);
	return system(command) != 0;
}

TEST(a_session_is_pasted_to_and_looked_at)
{
	struct world w;

	world_open(&w, NULL);
	open_session(&w, "run1");
	assert_int_equal(w.heard.r, 0);
	assert_true(atoi(w.heard.text) > 1);
	until_shown(&w, "ready one");
	assert_non_null(strstr(w.heard.text, "two $HOME \"#{x}\" \\ ~ \xc3\xa9"));
	ASKED(&w,
			tmux_paste(w.tmux, w.session,
					STR("Do it;\n\x1b[201~ 'now' $x \xe2\x82\xac"), on_done,
					&w.heard));
	assert_int_equal(w.heard.r, 0);
	ASKED(&w, tmux_press(w.tmux, w.session, "Enter", on_done, &w.heard));
	until_seen(&w, STR("\r"));
	assert_true(str_is(seen(&w), "\x1b[200~Do it;\n[201~ 'now' $x \xe2\x82\xac\x1b[201~\r"));
	ASKED(&w, tmux_press(w.tmux, w.session, "q", on_done, &w.heard));
	/* Its only program has ended, and so has the session. */
	for (int i = 0; i < 3000 && w.heard.r == 0; i++)
		ASKED(&w, tmux_capture(w.tmux, w.session, 0, on_done, &w.heard));
	assert_int_equal(w.heard.r, OV_ENOTFOUND);
	UNTIL(&w, server_gone(&w));
	world_close(&w);
}

TEST(a_long_text_arrives_whole)
{
	enum { LINES = 20000 };
	struct buf b = BUF_INIT;
	struct world w;

	world_open(&w, NULL);
	tmux_hold(w.tmux);
	open_session(&w, "run1");
	until_shown(&w, "ready");
	for (int i = 0; i < LINES; i++)
		buf_addf(&b, "%d \xc3\xa9\"\\$\n", i);
	ASKED(&w, tmux_paste(w.tmux, w.session, buf_str(&b), on_done, &w.heard));
	assert_int_equal(w.heard.r, 0);
	until_seen(&w, STR("\x1b[201~"));
	assert_int_equal(seen(&w).n, b.n + 12);
	assert_memory_equal(seen(&w).p + 6, b.p, b.n);
	ASKED(&w, tmux_end_session(w.tmux, w.session, on_done, &w.heard));
	assert_int_equal(w.heard.r, 0);
	tmux_release(w.tmux);
	UNTIL(&w, server_gone(&w));
	buf_done(&b);
	world_close(&w);
}

TEST(a_session_is_found_again_by_its_mark)
{
	struct world w;
	str pid;

	world_open(&w, NULL);
	tmux_hold(w.tmux);
	open_session(&w, "run1");
	pid = arena_str(&w.p.a, str_from(w.heard.text));
	open_session(&w, "run1");
	assert_int_equal(w.heard.r, 0);
	assert_string_equal(w.heard.text, pid.p);
	open_session(&w, "run2");
	assert_int_equal(w.heard.r, OV_ECONFLICT);
	ASKED(&w, tmux_end_session(w.tmux, w.session, on_done, &w.heard));
	ASKED(&w, tmux_end_session(w.tmux, w.session, on_done, &w.heard));
	assert_int_equal(w.heard.r, OV_ENOTFOUND);
	tmux_release(w.tmux);
	world_close(&w);
}

/* Sessions outlive us: another one of the same store finds them. */
TEST(another_daemon_finds_the_sessions)
{
	struct tmux_options o = { 0 };
	struct world w;

	world_open(&w, NULL);
	open_session(&w, "run1");
	until_shown(&w, "ready");
	tmux_free(w.tmux);
	o.store = o.tmp = w.p.root;
	w.tmux = tmux_new(w.loop, &o);
	until_shown(&w, "ready");
	ASKED(&w, tmux_end_session(w.tmux, w.session, on_done, &w.heard));
	assert_int_equal(w.heard.r, 0);
	UNTIL(&w, server_gone(&w));
	world_close(&w);
}

TEST(a_server_that_was_killed_has_no_sessions)
{
	struct world w;

	world_open(&w, NULL);
	tmux_hold(w.tmux);
	open_session(&w, "run1");
	assert_int_equal(system(arena_printf(&w.p.a, "tmux -S %s kill-server",
					 tmux_names(&w.p.a, w.p.root, w.p.root).socket)
							 .p),
			0);
	/* Of the broken connection it is not known; of the next one it is. */
	do {
		ASKED(&w, tmux_capture(w.tmux, w.session, 0, on_done, &w.heard));
	} while (w.heard.r == OV_EUNAVAILABLE);
	assert_int_equal(w.heard.r, OV_ENOTFOUND);
	tmux_release(w.tmux);
	world_close(&w);
}

TEST(without_tmux_it_says_so)
{
	struct world w;

	world_open(&w, "no-such-tmux");
	ASKED(&w, tmux_capture(w.tmux, w.session, 0, on_done, &w.heard));
	assert_int_equal(w.heard.r, OV_ENOTFOUND);
	assert_non_null(strstr(w.heard.why, "no-such-tmux"));
	world_close(&w);
	world_open(&w, "false");
	ASKED(&w, tmux_capture(w.tmux, w.session, 0, on_done, &w.heard));
	assert_int_equal(w.heard.r, OV_EUNAVAILABLE);
	world_close(&w);
}

TEST(who_does_not_wait_any_more_is_not_told)
{
	struct world w;
	struct heard other = { 0 };

	world_open(&w, NULL);
	tmux_capture(w.tmux, w.session, 0, on_done, &other);
	tmux_forget(w.tmux, &other);
	ASKED(&w, tmux_capture(w.tmux, w.session, 0, on_done, &w.heard));
	assert_int_equal(other.times, 0);
	UNTIL(&w, server_gone(&w));
	world_close(&w);
}
