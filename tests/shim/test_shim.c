/* The shim alone, as a program: what it does to its folder, its agent and its socket. */
#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "tests/shim/place.h"
#include "tests/skip.h"

/* Options that differ from the usual. */
struct
try {
	const char *cwd, *max_output, *grace_ms, *id;
};

#define TRY(...) (&(struct try){ __VA_ARGS__ })

static void place_with_dir(struct place *p)
{
	place_init(p);
	assert_int_equal(mkdir(p->dir, 0700), 0);
	setenv("W", p->root, 1);
}

static pid_t shim_spawn_argv(struct place *p, const struct try *t, const char *const *agent)
{
	const char *argv[32] = { shim_path(), "--dir", p->dir, "--id", t->id ? t->id : "run_1",
		"--cwd", t->cwd ? t->cwd : p->root, "--max-output",
		t->max_output ? t->max_output : "1048576", "--stop-grace",
		t->grace_ms ? t->grace_ms : "20000", "--" };
	size_t n = 12;
	pid_t pid;

	for (; *agent; agent++)
		argv[n++] = *agent;
	assert_int_equal(posix_spawn(&pid, shim_path(), NULL, NULL, (char **)argv, environ), 0);
	return pid;
}

static pid_t shim_spawn(struct place *p, const struct try *t, const char *script)
{
	return shim_spawn_argv(p, t, (const char *[]){ "sh", "-c", script, NULL });
}

static int shim_wait(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static int shim_run(struct place *p, const struct try *t, const char *script)
{
	return shim_wait(shim_spawn(p, t, script));
}

/* Whether the exit record holds this piece of JSON. */
static bool record_has(struct place *p, const char *piece)
{
	return str_contains(slurp(p, run_path(p, RUN_EXIT)), str_from(piece));
}

static int dial(struct place *p)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), dir;

	WAIT_FOR(exists(run_path(p, RUN_STARTED)));
	dir = open(p->dir, O_PATH | O_CLOEXEC);
	snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/" RUN_SOCKET, dir);
	assert_int_equal(connect(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	close(dir);
	return fd;
}

/* Sends, and reads answers up to n lines or the end. */
static str ask(struct place *p, int fd, str request, int lines)
{
	struct buf b = BUF_INIT;
	str s;
	char c;

	assert_int_equal(send(fd, request.p, request.n, MSG_NOSIGNAL), (ssize_t)request.n);
	while (lines > 0 && recv(fd, &c, 1, 0) == 1) {
		buf_addc(&b, c);
		lines -= c == '\n';
	}
	s = arena_str(&p->a, buf_str(&b));
	buf_done(&b);
	return s;
}

#define assert_text(s_, literal) assert_string_equal((s_).p, literal)

TEST(output_is_kept_byte_for_byte)
{
	struct place p;
	struct buf want = BUF_INIT;
	str got;

	place_with_dir(&p);
	for (int i = 0; i < 300000; i++)
		buf_addc(&want, (char)(i * 7 + i / 251));
	spit(place_path(&p, "bytes"), buf_str(&want));
	assert_int_equal(shim_run(&p, TRY(), "cat $W/bytes; echo after >&2"), 0);
	buf_adds(&want, STR("after\n"));
	got = slurp(&p, run_path(&p, RUN_OUTPUT));
	assert_int_equal(got.n, want.n);
	assert_memory_equal(got.p, want.p, want.n);
	assert_true(record_has(&p, "\"started\":true,\"exit_code\":0,\"signal\":0"));
	assert_true(record_has(&p, "\"output_bytes\":300006,\"dropped_bytes\":0,\"swept\":0"));
	assert_true(record_has(&p, "\"id\":\"run_1\""));
	buf_done(&want);
	place_done(&p);
}

TEST(output_over_the_bound_is_dropped_and_counted)
{
	struct place p;

	place_with_dir(&p);
	assert_int_equal(shim_run(&p, TRY(.max_output = "1000"),
					 "head -c 500000 /dev/zero; echo end"),
			0);
	assert_int_equal(slurp(&p, run_path(&p, RUN_OUTPUT)).n, 1000);
	assert_true(record_has(&p, "\"output_bytes\":1000,\"dropped_bytes\":499004"));
	place_done(&p);
}

TEST(a_bound_of_nothing_keeps_nothing)
{
	struct place p;

	place_with_dir(&p);
	assert_int_equal(shim_run(&p, TRY(.max_output = "0"), "echo hello"), 0);
	assert_true(record_has(&p, "\"output_bytes\":0,\"dropped_bytes\":6"));
	place_done(&p);
}

TEST(files_are_private)
{
	static const char *const names[] = { RUN_LOCK, RUN_STARTED, RUN_OUTPUT, RUN_EXIT };
	struct place p;
	struct stat st;
	mode_t mask = umask(0);

	place_with_dir(&p);
	/* The agent keeps the umask of whoever asked for it. */
	assert_int_equal(shim_run(&p, TRY(), "stat -c %a $W/run/socket; umask"), 0);
	umask(mask);
	assert_text(slurp(&p, run_path(&p, RUN_OUTPUT)), "600\n0000\n");
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		assert_int_equal(stat(run_path(&p, names[i]), &st), 0);
		assert_int_equal(st.st_mode & 07777, 0600);
	}
	assert_false(exists(run_path(&p, RUN_SOCKET)));
	place_done(&p);
}

TEST(exit_codes_and_signals_are_recorded)
{
	static const struct {
		const char *script, *want;
	} rows[] = {
		{ "exit 0", "\"exit_code\":0,\"signal\":0" },
		{ "exit 255", "\"exit_code\":255,\"signal\":0" },
		{ "kill -SEGV $$", "\"exit_code\":-1,\"signal\":11" },
		{ "kill -KILL $$", "\"exit_code\":-1,\"signal\":9" },
		{ "kill -PIPE $$", "\"exit_code\":-1,\"signal\":13" },
		{ "kill -HUP $$", "\"exit_code\":-1,\"signal\":1" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct place p;

		place_with_dir(&p);
		assert_int_equal(shim_run(&p, TRY(), rows[i].script), 0);
		assert_true(record_has(&p, rows[i].want));
		place_done(&p);
	}
}

TEST(what_cannot_be_executed_is_explained)
{
	struct place p;

	place_with_dir(&p);
	assert_int_equal(shim_wait(shim_spawn_argv(&p, TRY(),
					 (const char *[]){ "ov-no-such-program", NULL })),
			0);
	assert_true(record_has(&p, "\"started\":false,\"exit_code\":-1,\"signal\":0"));
	assert_true(record_has(&p,
			"\"message\":\"cannot execute ov-no-such-program: No such file or "
			"directory\""));
	place_done(&p);

	place_with_dir(&p);
	spit(place_path(&p, "a \"b\"\n"), STR("#!/bin/sh\n"));
	assert_int_equal(shim_wait(shim_spawn_argv(&p, TRY(),
					 (const char *[]){ place_path(&p, "a \"b\"\n"), NULL })),
			0);
	assert_true(record_has(&p, "/a \\\"b\\\"\\u000a: Permission denied\""));
	place_done(&p);

	place_with_dir(&p);
	assert_int_equal(shim_run(&p, TRY(.cwd = "/ov/missing"), "true"), 0);
	assert_true(record_has(&p, "\"started\":false"));
	assert_true(record_has(&p, "cannot enter the working folder /ov/missing: No such file"));
	place_done(&p);
}

TEST(stdin_is_the_prompt_and_the_environment_is_ours)
{
	struct place p;

	place_with_dir(&p);
	spit(run_path(&p, RUN_PROMPT), STR("do\nthis"));
	setenv("OV_SECRET", "s3cret", 1);
	setenv(RUN_ENV, "of-an-outer-run", 1);
	assert_int_equal(shim_run(&p, TRY(), "cat; echo; echo $OV_SECRET $OVERSEER_RUN; pwd"), 0);
	unsetenv("OV_SECRET");
	unsetenv(RUN_ENV);
	assert_text(slurp(&p, run_path(&p, RUN_OUTPUT)),
			arena_printf(&p.a, "do\nthis\ns3cret run_1\n%s\n", p.root).p);
	place_done(&p);
}

/* Fields 5 and 6 of stat are process group and session. */
TEST(the_agent_has_its_own_session_and_only_its_files)
{
	struct place p;
	pid_t group, session, pid;
	str text;

	place_with_dir(&p);
	assert_int_equal(shim_run(&p, TRY(),
					 "echo $$; cut -d' ' -f5,6 /proc/$$/stat; ls /proc/$$/fd"),
			0);
	text = slurp(&p, run_path(&p, RUN_OUTPUT));
	assert_int_equal(sscanf(text.p, "%d %d %d", &pid, &group, &session), 3);
	assert_int_equal(pid, group);
	assert_int_equal(pid, session);
	assert_true(str_ends(text, STR("\n0\n1\n2\n")));
	place_done(&p);
}

/* Signals 32 and 33 are the C library's own: its posix_spawn leaves them ignored in any child. */
TEST(the_agent_minds_all_signals)
{
	static const char *const argv[] = { "grep", "Sig[BI]", "/proc/self/status", NULL };
	unsigned long long blocked, ignored;
	struct place p;

	place_with_dir(&p);
	assert_int_equal(shim_wait(shim_spawn_argv(&p, TRY(), argv)), 0);
	assert_int_equal(sscanf(slurp(&p, run_path(&p, RUN_OUTPUT)).p, "SigBlk: %llx SigIgn: %llx",
					 &blocked, &ignored),
			2);
	assert_int_equal(blocked, 0);
	assert_int_equal(ignored & ~0x180000000ULL, 0);
	place_done(&p);
}

/* More than the shim reads in one go, all written and the writer gone before it reads any. */
TEST(last_words_are_kept)
{
	struct place p;
	pid_t shim, agent;

	place_with_dir(&p);
	shim = shim_spawn(&p, TRY(),
			"exec perl -e 'fcntl(STDOUT, 1031, 1 << 20) or exit 3; kill STOP, getppid; "
			"open F, \">$ENV{W}/up.tmp\"; print F \"$$\\n\"; close F; "
			"rename \"$ENV{W}/up.tmp\", \"$ENV{W}/up\"; "
			"syswrite STDOUT, \"x\" x 500000; syswrite STDOUT, \"end\"'");
	agent = wait_pid(&p, "up");
	WAIT_FOR(gone(agent));
	assert_int_equal(kill(shim, SIGCONT), 0);
	assert_int_equal(shim_wait(shim), 0);
	assert_true(record_has(&p, "\"exit_code\":0"));
	assert_int_equal(slurp(&p, run_path(&p, RUN_OUTPUT)).n, 500003);
	place_done(&p);
}

TEST(descendants_that_fled_are_swept)
{
	struct place p;
	pid_t fled, deep;

	place_with_dir(&p);
	/* Double fork and a session of its own; another that ignores SIGTERM, two levels down. */
	assert_int_equal(shim_run(&p, TRY(.grace_ms = "100"),
					 "(setsid sh -c '" LEAVE_PID(
							 "fled") "exec sleep 1000' &) "
								 "; (setsid sh -c 'trap \"\" TERM; "
								 "setsid sh -c \"echo \\$\\$ "
								 ">$W/deep.tmp; mv $W/deep.tmp "
								 "$W/deep; "
								 "sleep 1000; sleep 1000\"; sleep "
								 "1000' &) ; "
								 "while ! [ -e $W/fled -a -e "
								 "$W/deep ]; do sleep 0.01; done; "
								 "exit 7"),
			0);
	fled = wait_pid(&p, "fled");
	deep = wait_pid(&p, "deep");
	assert_true(gone(fled));
	assert_true(gone(deep));
	assert_true(record_has(&p, "\"exit_code\":7"));
	assert_false(record_has(&p, "\"swept\":0"));
	assert_false(record_has(&p, "\"swept\":1,"));
	place_done(&p);
}

TEST(a_descendant_that_holds_the_output_does_not_delay_the_end)
{
	struct place p;
	int64_t before = now_ms();

	place_with_dir(&p);
	assert_int_equal(shim_run(&p, TRY(), "sleep 1000 & yes & echo last words >&2; exit 4"), 0);
	assert_true(now_ms() - before < 15000);
	assert_true(record_has(&p, "\"exit_code\":4"));
	assert_true(record_has(&p, "\"swept\":2"));
	assert_true(str_contains(slurp(&p, run_path(&p, RUN_OUTPUT)), STR("last words\n")));
	place_done(&p);
}

/* Its own orphans, while it runs, are reaped and are nobody's leftovers. */
TEST(orphans_that_ended_in_time_are_not_counted)
{
	struct place p;

	place_with_dir(&p);
	assert_int_equal(shim_run(&p, TRY(),
					 "(sh -c 'echo x >$W/done' &) ; while ! [ -e $W/done ]; do "
					 "sleep "
					 "0.01; done; while grep -l \"^PPid:.$PPID$\" "
					 "/proc/[0-9]*/status "
					 "2>/dev/null | grep -v -q /$$/; do sleep 0.01; done"),
			0);
	assert_true(record_has(&p, "\"swept\":0"));
	place_done(&p);
}

TEST(stop_asks_first_and_kills_after_the_grace)
{
	struct place p;
	pid_t shim;
	int fd;

	place_with_dir(&p);
	shim = shim_spawn(&p, TRY(),
			"trap 'echo asked; exit 5' TERM; " LEAVE_PID(
					"up") "while :; do sleep 1000 & wait; done");
	wait_pid(&p, "up");
	fd = dial(&p);
	assert_text(ask(&p, fd, STR("stop\n"), 1), "ok\n");
	assert_int_equal(shim_wait(shim), 0);
	assert_true(record_has(&p, "\"exit_code\":5"));
	assert_text(slurp(&p, run_path(&p, RUN_OUTPUT)), "asked\n");
	close(fd);
	place_done(&p);

	place_with_dir(&p);
	shim = shim_spawn(&p, TRY(.grace_ms = "50"),
			"trap '' TERM; " LEAVE_PID("up") "exec sleep 1000");
	wait_pid(&p, "up");
	fd = dial(&p);
	assert_text(ask(&p, fd, STR("stop\nstop\n"), 2), "ok\nok\n");
	assert_int_equal(shim_wait(shim), 0);
	assert_true(record_has(&p, "\"exit_code\":-1,\"signal\":9"));
	assert_true(record_has(&p, "\"swept\":0"));
	close(fd);
	place_done(&p);
}

TEST(sigterm_to_the_shim_stops_even_a_paused_agent)
{
	struct place p;
	pid_t shim, agent;
	int fd;

	place_with_dir(&p);
	shim = shim_spawn(&p, TRY(),
			"trap 'exit 6' TERM; " LEAVE_PID(
					"up") "while :; do sleep 1000 & wait; done");
	agent = wait_pid(&p, "up");
	fd = dial(&p);
	assert_text(ask(&p, fd, STR("signal 19\n"), 1), "ok\n");
	(void)agent;
	assert_int_equal(kill(shim, SIGTERM), 0);
	assert_int_equal(shim_wait(shim), 0);
	assert_true(record_has(&p, "\"exit_code\":6"));
	close(fd);
	place_done(&p);
}

TEST(a_killed_shim_takes_its_agent_along)
{
	struct place p;
	pid_t shim, agent;

	place_with_dir(&p);
	shim = shim_spawn(&p, TRY(), "trap '' TERM HUP INT; " LEAVE_PID("up") "exec sleep 1000");
	agent = wait_pid(&p, "up");
	assert_int_equal(kill(shim, SIGKILL), 0);
	assert_int_equal(shim_wait(shim), -SIGKILL);
	WAIT_FOR(gone(agent));
	assert_false(exists(run_path(&p, RUN_EXIT)));
	assert_int_equal(shim_run(&p, TRY(), "touch $W/again"), RUN_STATUS_STARTED);
	assert_false(exists(place_path(&p, "again")));
	place_done(&p);
}

TEST(a_folder_starts_one_agent)
{
	struct place p;
	pid_t shims[8];
	int owned = 0, started = 0, ran = 0, fd;

	place_with_dir(&p);
	for (size_t i = 0; i < ARRAY_LEN(shims); i++)
		shims[i] = shim_spawn(&p, TRY(), "echo x >>$W/starts; cat");
	WAIT_FOR(slurp(&p, place_path(&p, "starts")).n > 0);
	fd = dial(&p);
	assert_text(ask(&p, fd, STR("close-input\n"), 1), "ok\n");
	for (size_t i = 0; i < ARRAY_LEN(shims); i++) {
		int status = shim_wait(shims[i]);

		owned += status == RUN_STATUS_OWNED;
		started += status == RUN_STATUS_STARTED;
		ran += status == 0;
	}
	assert_int_equal(ran, 1);
	assert_int_equal(owned + started, 7);
	assert_text(slurp(&p, place_path(&p, "starts")), "x\n");
	/* And never again. */
	assert_int_equal(shim_run(&p, TRY(), "echo x >>$W/starts"), RUN_STATUS_STARTED);
	assert_text(slurp(&p, place_path(&p, "starts")), "x\n");
	close(fd);
	place_done(&p);
}

TEST(a_folder_that_is_owned_is_left_alone)
{
	struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct place p;
	int lock;

	place_with_dir(&p);
	lock = open(run_path(&p, RUN_LOCK), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(fcntl(lock, F_OFD_SETLK, &whole), 0);
	assert_int_equal(shim_run(&p, TRY(), "true"), RUN_STATUS_OWNED);
	assert_false(exists(run_path(&p, RUN_SOCKET)));
	assert_false(exists(run_path(&p, RUN_STARTED)));
	/* Nothing was used up. */
	close(lock);
	assert_int_equal(shim_run(&p, TRY(), "true"), 0);
	place_done(&p);
}

TEST(input_and_signals_come_by_the_socket)
{
	struct place p;
	pid_t shim;
	int fd;

	place_with_dir(&p);
	shim = shim_spawn(&p, TRY(),
			"trap 'echo usr1' USR1; read a; echo got $a; " LEAVE_PID("up") "cat");
	fd = dial(&p);
	assert_text(ask(&p, fd, STR("send 6\nhello\n"), 1), "ok\n");
	wait_pid(&p, "up");
	/* A request in pieces, several in one piece, from a second connection. */
	close(fd);
	fd = dial(&p);
	assert_text(ask(&p, fd, STR("se"), 0), "");
	assert_text(ask(&p, fd, STR("nd 4\na\n"), 0), "");
	assert_text(ask(&p, fd, STR("b\nsend 0\nclose-input\nsend 1\nx"), 4),
			"ok\nok\nok\nerror the agent's input is closed\n");
	assert_int_equal(shim_wait(shim), 0);
	assert_text(slurp(&p, run_path(&p, RUN_OUTPUT)), "got hello\na\nb\n");
	close(fd);
	place_done(&p);
}

TEST(what_has_an_id_is_delivered_once)
{
	struct place p;
	pid_t shim;
	int fd;

	place_with_dir(&p);
	shim = shim_spawn(&p, TRY(), "cat");
	fd = dial(&p);
	assert_text(ask(&p, fd, STR("deliver 2 one\na\n"), 1), "ok\n");
	/* Asked again, also by another connection: answered, not written. */
	assert_text(ask(&p, fd, STR("deliver 2 one\na\n"), 1), "ok\n");
	close(fd);
	fd = dial(&p);
	assert_text(ask(&p, fd, STR("deliver 2 one\na\ndeliver 2 two\nb\n"), 2), "ok\nok\n");
	assert_text(ask(&p, fd, STR("deliver 2 \nc\n"), 1), "error a delivery needs a short id\n");
	assert_text(ask(&p, fd, STR("close-input\n"), 1), "ok\n");
	assert_int_equal(shim_wait(shim), 0);
	assert_text(slurp(&p, run_path(&p, RUN_OUTPUT)), "a\nb\n");
	close(fd);

	/* What was refused is not remembered as delivered. */
	place_done(&p);
	place_with_dir(&p);
	shim = shim_spawn(&p, TRY(), "while ! [ -e $W/go ]; do sleep 0.01; done");
	fd = dial(&p);
	assert_text(ask(&p, fd, STR("close-input\n"), 1), "ok\n");
	for (int i = 0; i < 2; i++)
		assert_text(ask(&p, fd, STR("deliver 1 x\nx"), 1),
				"error the agent's input is closed\n");
	/* Half a head is no request. */
	assert_text(ask(&p, fd, STR("deliver 1\n"), 1), "error this is not a request\n");
	spit(place_path(&p, "go"), STR(""));
	assert_int_equal(shim_wait(shim), 0);
	close(fd);
	place_done(&p);
}

TEST(only_the_newest_ids_are_remembered)
{
	struct place p;
	pid_t shim;
	int fd;

	place_with_dir(&p);
	shim = shim_spawn(&p, TRY(), "cat");
	fd = dial(&p);
	for (int i = 0; i <= RUN_IDS_KEPT; i++) {
		str request = arena_printf(&p.a, "deliver 1 id-%d\n%c", i, i ? '.' : 'x');

		assert_text(ask(&p, fd, request, 1), "ok\n");
	}
	assert_text(ask(&p, fd, STR("deliver 1 id-1\n1"), 1), "ok\n");
	assert_text(ask(&p, fd, STR("deliver 1 id-0\n0"), 1), "ok\n");
	assert_text(ask(&p, fd, STR("close-input\n"), 1), "ok\n");
	assert_int_equal(shim_wait(shim), 0);
	assert_int_equal(slurp(&p, run_path(&p, RUN_OUTPUT)).n, RUN_IDS_KEPT + 2);
	close(fd);
	place_done(&p);
}

TEST(input_that_is_not_read_is_bounded_and_blocks_nothing)
{
	struct place p;
	char *piece = calloc(1, RUN_SEND_MAX);
	pid_t shim;
	int fd, sent = 0;
	str reply;

	place_with_dir(&p);
	shim = shim_spawn(&p, TRY(), "while ! [ -e $W/go ]; do sleep 0.01; done; wc -c");
	fd = dial(&p);
	do {
		struct buf b = BUF_INIT;

		buf_addf(&b, "send %d\n", RUN_SEND_MAX);
		buf_add(&b, piece, RUN_SEND_MAX);
		reply = ask(&p, fd, buf_str(&b), 1);
		buf_done(&b);
	} while (str_is(reply, "ok\n") && ++sent < 10);
	assert_text(reply, "error the agent does not read its input\n");
	assert_int_equal(sent, 4);
	assert_text(ask(&p, fd, STR("close-input\n"), 1), "ok\n");
	spit(place_path(&p, "go"), STR(""));
	assert_int_equal(shim_wait(shim), 0);
	assert_text(slurp(&p, run_path(&p, RUN_OUTPUT)), "4194304\n");
	free(piece);
	close(fd);
	place_done(&p);
}

TEST(an_agent_that_closes_its_input_harms_nobody)
{
	struct place p;
	pid_t shim;
	int fd;

	place_with_dir(&p);
	shim = shim_spawn(&p, TRY(),
			"exec </dev/null; " LEAVE_PID("up") "while ! [ -e $W/go ]; do sleep 0.01; "
							    "done; echo fine");
	wait_pid(&p, "up");
	fd = dial(&p);
	assert_text(ask(&p, fd, STR("send 1\nx"), 1), "error the agent has closed its input\n");
	assert_text(ask(&p, fd, STR("send 1\nx"), 1), "error the agent's input is closed\n");
	spit(place_path(&p, "go"), STR(""));
	assert_int_equal(shim_wait(shim), 0);
	assert_text(slurp(&p, run_path(&p, RUN_OUTPUT)), "fine\n");
	close(fd);
	place_done(&p);
}

TEST(junk_on_the_socket_ends_only_its_connection)
{
	static const str junk[] = {
		STR("\n"),
		STR("hello\n"),
		STR("send\n"),
		STR("send -1\n"),
		STR("send 1048577\n"),
		STR("send 99999999999999999999\n"),
		STR("stop now\n"),
		STR("\0\xff\xfe\n"),
		STR("send 1 x\n"),
		STR("deliver\n"),
		STR("deliver 1\n"),
		STR("deliver 1048577 id\n"),
		STR("signalsignalsignalsignalsignalsignalsignalsignalsignalsignalsignal"
		    "signalsignalsignalsignalsignalsignalsignalsignalsignalsignalsignal"),
	};
	static const char refused[] = "error this is not a request\n";
	struct place p;
	int good, idle[20], bad;
	pid_t shim;

	place_with_dir(&p);
	shim = shim_spawn(&p, TRY(), "cat");
	good = dial(&p);
	for (size_t i = 0; i < ARRAY_LEN(junk); i++) {
		bad = dial(&p);
		assert_text(ask(&p, bad, junk[i], 2), refused);
		close(bad);
	}
	assert_text(ask(&p, good, STR("signal 0\nsignal x\nsignal 999\nsignal -9\n"), 4),
			"error not a signal number\nerror not a signal number\n"
			"error not a signal number\nerror not a signal number\n");
	/* Half a request, then away; and more connections than there is room for. */
	bad = dial(&p);
	ask(&p, bad, STR("send 100\nabc"), 0);
	close(bad);
	for (size_t i = 0; i < ARRAY_LEN(idle); i++)
		idle[i] = dial(&p);
	bad = dial(&p);
	assert_text(ask(&p, bad, STR("send 3\nend"), 1), "ok\n");
	assert_text(ask(&p, bad, STR("close-input\n"), 1), "ok\n");
	assert_int_equal(shim_wait(shim), 0);
	assert_text(slurp(&p, run_path(&p, RUN_OUTPUT)), "end");
	for (size_t i = 0; i < ARRAY_LEN(idle); i++)
		close(idle[i]);
	close(bad);
	close(good);
	place_done(&p);
}

TEST(a_folder_with_a_long_path_works)
{
	struct place p;
	char name[201];

	place_init(&p);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	p.dir = place_path(&p, name);
	assert_int_equal(mkdir(p.dir, 0700), 0);
	setenv("W", p.dir, 1);
	assert_int_equal(shim_run(&p, TRY(), "test -S $W/socket && echo there"), 0);
	assert_text(slurp(&p, run_path(&p, RUN_OUTPUT)), "there\n");
	place_done(&p);
}

TEST(bad_options_and_folders_are_refused)
{
	struct place p;
	char *const none[] = { (char *)shim_path(), NULL };
	pid_t pid;

	place_with_dir(&p);
	assert_int_equal(posix_spawn(&pid, shim_path(), NULL, NULL, none, environ), 0);
	assert_int_equal(shim_wait(pid), RUN_STATUS_USAGE);
	assert_int_equal(shim_run(&p, TRY(.cwd = "relative"), "true"), RUN_STATUS_USAGE);
	assert_int_equal(shim_run(&p, TRY(.grace_ms = "-1"), "true"), RUN_STATUS_USAGE);
	assert_int_equal(shim_run(&p, TRY(.id = ""), "true"), RUN_STATUS_USAGE);
	p.dir = place_path(&p, "missing");
	assert_int_equal(shim_run(&p, TRY(), "true"), RUN_STATUS_FAILED);
	place_done(&p);
}

/* A bound on file sizes is the full disk that needs no privilege. */
TEST(output_that_cannot_be_written_is_counted)
{
	struct rlimit old, low = { .rlim_cur = 4096 };
	struct place p;

	place_with_dir(&p);
	getrlimit(RLIMIT_FSIZE, &old);
	low.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &low);
	assert_int_equal(shim_run(&p, TRY(), "head -c 10000 /dev/zero; exit 2"), 0);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_true(record_has(&p, "\"exit_code\":2"));
	assert_true(record_has(&p, "\"output_bytes\":4096,\"dropped_bytes\":5904"));
	place_done(&p);
}

/*
 * User and system time of an idle shim do not grow: it sleeps. Measured in switches, not in time.
 */
TEST(an_idle_shim_does_not_wake_up)
{
	struct place p;
	const char *status;
	pid_t shim;
	str before;
	int fd;

	place_with_dir(&p);
	shim = shim_spawn(&p, TRY(), LEAVE_PID("up") "exec cat");
	wait_pid(&p, "up");
	fd = dial(&p);
	assert_text(ask(&p, fd, STR("send 0\n"), 1), "ok\n");
	status = arena_printf(&p.a, "/proc/%d/status", shim).p;
	/* The first look at what it started is over, and the next a second away. */
	WAIT_FOR(exists(run_path(&p, RUN_DESCENDANTS)));
	WAIT_FOR(str_contains(slurp(&p, status), STR("State:\tS")));
	before = slurp(&p, status);
	poll(NULL, 0, 300); /* the time in which nothing may happen */
	assert_string_equal(strstr(before.p, "voluntary_ctxt"),
			strstr(slurp(&p, status).p, "voluntary_ctxt"));
	assert_text(ask(&p, fd, STR("close-input\n"), 1), "ok\n");
	assert_int_equal(shim_wait(shim), 0);
	close(fd);
	place_done(&p);
}

/* In a mount namespace of our own, which needs privilege; later tests are not disturbed by it. */
TEST(a_full_disk_delays_the_exit_record_but_loses_it_not)
{
	static const char filler[65536];
	struct place p;
	pid_t shim;
	int fd;

	place_with_dir(&p);
	if (unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
			mount("ov", p.dir, "tmpfs", 0, "size=256k,mode=700") < 0) {
		place_done(&p);
		skip_for(NO_MOUNTS);
	}
	spit(run_path(&p, "filler"), (str){ filler, sizeof(filler) });
	shim = shim_spawn(&p, TRY(.max_output = "1000000000"), "head -c 1000000 /dev/zero; exit 9");
	fd = dial(&p);
	WAIT_FOR(str_is(ask(&p, fd, STR("signal 18\n"), 1), "error the agent has ended\n"));
	/* It goes on trying; the status is not lost, and it still answers. */
	assert_false(exists(run_path(&p, RUN_EXIT)));
	assert_int_equal(kill(shim, SIGTERM), 0);
	assert_text(ask(&p, fd, STR("stop\n"), 1), "ok\n");
	assert_int_equal(unlink(run_path(&p, "filler")), 0);
	assert_int_equal(shim_wait(shim), 0);
	assert_true(record_has(&p, "\"exit_code\":9"));
	assert_false(record_has(&p, "\"dropped_bytes\":0"));
	close(fd);
	umount2(p.dir, MNT_DETACH);
	place_done(&p);
}

TEST_MAIN
