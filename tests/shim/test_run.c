/*
 * The daemon's side of runs, with the real shim and real agents: start, follow, adopt, stop, end.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include "sys/file/file.h"
#include "tests/shim/world.h"

TEST(a_run_from_start_to_end)
{
	struct world w;
	struct seen s = { 0 };
	struct stat st;
	int64_t before;

	world_init(&w, "cat; echo $W $OVERSEER_RUN; env | wc -l; exit 3");
	w.spec.input = STR("the prompt\n");
	before = (int64_t)time(NULL) * 1000;
	start(&w, &s);
	finish(&w, &s);
	assert_false(s.end.lost);
	assert_true(s.end.started);
	assert_int_equal(s.end.exit_code, 3);
	assert_int_equal(s.end.signal, 0);
	assert_int_equal(s.end.output_bytes, s.out.n);
	assert_int_equal(s.end.dropped_bytes, 0);
	assert_true(s.end.started_at >= before && s.end.ended_at >= s.end.started_at);
	assert_string_equal(s.message, "");
	/* PATH, W, OVERSEER_RUN and the shell's own PWD; nothing of ours. */
	assert_out(&s, arena_printf(&w.p.a, "the prompt\n%s %s\n4\n", w.p.root, w.spec.id).p);
	assert_int_equal(stat(w.p.dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(stat(run_path(&w.p, RUN_PROMPT), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	seen_done(&s);
	world_done(&w);
}

TEST(all_output_comes_before_the_end)
{
	struct world w;
	struct seen s = { 0 };

	world_init(&w, "head -c 700000 /dev/zero; printf end");
	start(&w, &s);
	finish(&w, &s);
	assert_int_equal(s.out.n, 700003);
	assert_memory_equal(s.out.p + 700000, "end", 3);
	seen_done(&s);
	world_done(&w);
}

TEST(output_over_the_bound_is_reported_as_dropped)
{
	struct world w;
	struct seen s = { 0 };

	world_init(&w, "head -c 5000 /dev/zero");
	w.spec.max_output_bytes = 100;
	start(&w, &s);
	finish(&w, &s);
	assert_int_equal(s.out.n, 100);
	assert_int_equal(s.end.output_bytes, 100);
	assert_int_equal(s.end.dropped_bytes, 4900);
	seen_done(&s);
	world_done(&w);
}

TEST(an_agent_that_cannot_be_executed_ends_with_the_reason)
{
	struct world w;
	struct seen s = { 0 };

	world_init(&w, "");
	w.argv[0] = "ov-no-such-program";
	start(&w, &s);
	finish(&w, &s);
	assert_false(s.end.started);
	assert_false(s.end.lost);
	assert_string_equal(s.message,
			"cannot execute ov-no-such-program: No such file or directory");
	seen_done(&s);
	world_done(&w);
}

TEST(a_start_that_cannot_be_tried_is_an_error)
{
	struct world w;
	struct seen s = { 0 };

	world_init(&w, "");
	w.spec.shim = "/ov/missing/overseer-run";
	assert_true(run_start(w.loop, &w.spec, 0, &ops, &s, &s.run, &w.err) < 0);
	assert_non_null(strstr(w.err.msg, "/ov/missing/overseer-run"));
	assert_null(s.run);
	w.spec.shim = shim_path();
	w.spec.cwd = "somewhere";
	assert_int_equal(run_start(w.loop, &w.spec, 0, &ops, &s, &s.run, &w.err), OV_EINVALID);
	w.spec.cwd = w.p.root;
	w.spec.dir = "/proc/ov/run";
	assert_true(run_start(w.loop, &w.spec, 0, &ops, &s, &s.run, &w.err) < 0);
	/* None of this has used the folder up. */
	w.spec.dir = w.p.dir;
	start(&w, &s);
	finish(&w, &s);
	assert_int_equal(s.end.exit_code, 0);
	world_done(&w);
}

TEST(a_shim_that_fails_early_says_why)
{
	struct world w;
	struct seen s = { 0 };

	world_init(&w, "true");
	assert_int_equal(mkdir(w.p.dir, 0700), 0);
	assert_int_equal(mkdir(run_path(&w.p, RUN_LOCK), 0700), 0);
	start(&w, &s);
	finish(&w, &s);
	assert_false(s.end.started);
	assert_false(s.end.lost);
	assert_string_equal(s.message, "cannot open the lock file: Is a directory");
	assert_false(exists(run_path(&w.p, RUN_STARTED)));
	world_done(&w);
}

TEST(a_killed_shim_is_seen_and_nothing_runs_on)
{
	struct world w;
	struct seen s = { 0 }, again = { 0 };
	pid_t agent, fled;

	world_init(&w,
			"(setsid sh -c '" LEAVE_PID(
					"fled") "trap \"\" TERM HUP; while :; do sleep 1000; done' "
						"&) ; "
						"echo hello; " LEAVE_PID("up") "while :; do sleep "
									       "1000; done");
	start(&w, &s);
	agent = wait_pid(&w.p, "up");
	fled = wait_pid(&w.p, "fled");
	STEP_UNTIL(&w, s.out.n == 6);
	assert_int_equal(kill(shim_pid(&w), SIGKILL), 0);
	finish(&w, &s);
	assert_true(s.end.lost);
	assert_true(s.end.started);
	assert_int_equal(s.end.exit_code, -1);
	assert_true(s.end.swept >= 1);
	assert_int_equal(s.end.output_bytes, 6);
	assert_true(s.end.started_at > 0 && s.end.ended_at >= s.end.started_at);
	assert_non_null(strstr(s.message, "without an exit record"));
	assert_true(gone(agent));
	assert_true(gone(fled));
	/* It stays lost: neither a start nor an adoption runs it again. */
	start(&w, &again);
	finish(&w, &again);
	assert_true(again.end.lost);
	assert_out(&again, "hello\n");
	seen_done(&s);
	seen_done(&again);
	world_done(&w);
}

TEST(a_run_goes_on_without_us_and_is_found_again)
{
	struct world w;
	struct seen s = { 0 }, later = { 0 };

	world_init(&w, "echo one; while ! [ -e $W/go ]; do sleep 0.01; done; echo two; exit 8");
	start(&w, &s);
	STEP_UNTIL(&w, s.out.n == 4);
	run_close(s.run);
	loop_free(w.loop);
	assert_int_equal(loop_new(&w.loop, NULL), 0);
	later.from = 4;
	assert_int_equal(adopt(&w, &later), 0);
	spit(place_path(&w.p, "go"), STR(""));
	finish(&w, &later);
	assert_out(&later, "two\n");
	assert_int_equal(later.end.exit_code, 8);
	assert_int_equal(s.ends, 0);
	seen_done(&s);
	seen_done(&later);
	world_done(&w);
}

/* A daemon of its own process, killed once it has seen the first line. */
static void start_in_a_daemon_that_dies(struct world *w)
{
	pid_t daemon = fork();
	int status;

	assert_true(daemon >= 0);
	if (daemon == 0) {
		struct seen s = { 0 };
		struct loop *l;

		/* No assertion here: it would run the rest of the tests in the wrong process. */
		if (loop_new(&l, NULL) < 0 || run_start(l, &w->spec, 0, &ops, &s, &s.run, NULL) < 0)
			_exit(1);
		while (s.out.n == 0)
			loop_step(l, 50000);
		kill(getpid(), SIGKILL);
	}
	assert_int_equal(waitpid(daemon, &status, 0), daemon);
	assert_true(WIFSIGNALED(status));
}

TEST(a_killed_daemon_loses_neither_output_nor_status)
{
	struct world w;
	struct seen s = { 0 };

	world_init(&w, "echo one; while ! [ -e $W/go ]; do sleep 0.01; done; echo two; exit 9");
	start_in_a_daemon_that_dies(&w);
	assert_int_equal(adopt(&w, &s), 0);
	STEP_UNTIL(&w, s.out.n == 4);
	spit(place_path(&w.p, "go"), STR(""));
	finish(&w, &s);
	assert_out(&s, "one\ntwo\n");
	assert_false(s.end.lost);
	assert_int_equal(s.end.exit_code, 9);
	seen_done(&s);
	world_done(&w);
}

TEST(a_run_that_ends_while_no_daemon_lives_is_told_later)
{
	struct world w;
	struct seen s = { 0 };

	world_init(&w, "echo one; while ! [ -e $W/go ]; do sleep 0.01; done; echo two; kill -9 $$");
	start_in_a_daemon_that_dies(&w);
	spit(place_path(&w.p, "go"), STR(""));
	WAIT_FOR(exists(run_path(&w.p, RUN_EXIT)));
	s.from = 4;
	assert_int_equal(adopt(&w, &s), 0);
	assert_int_equal(s.ends + s.pieces, 0); /* from the loop, not from inside the call */
	finish(&w, &s);
	assert_out(&s, "two\n");
	assert_int_equal(s.end.signal, 9);
	assert_int_equal(s.end.output_bytes, 8);
	seen_done(&s);
	world_done(&w);
}

TEST(an_adopted_shim_that_is_killed_is_lost)
{
	struct world w;
	struct seen s = { 0 };
	pid_t agent;

	world_init(&w, LEAVE_PID("up") "echo up; while :; do sleep 1000; done");
	start_in_a_daemon_that_dies(&w);
	assert_int_equal(adopt(&w, &s), 0);
	agent = wait_pid(&w.p, "up");
	assert_int_equal(kill(shim_pid(&w), SIGKILL), 0);
	finish(&w, &s);
	assert_true(s.end.lost);
	assert_true(gone(agent));
	assert_out(&s, "up\n");
	seen_done(&s);
	world_done(&w);
}

TEST(two_starts_run_one_agent)
{
	struct world w;
	struct seen s[4] = { 0 }, late = { 0 };

	world_init(&w,
			"echo x >>$W/starts; echo hello; while ! [ -e $W/go ]; do sleep 0.01; "
			"done; exit 2");
	for (size_t i = 0; i < ARRAY_LEN(s); i++)
		start(&w, &s[i]);
	for (size_t i = 0; i < ARRAY_LEN(s); i++)
		STEP_UNTIL(&w, s[i].out.n == 6);
	start(&w, &late);
	STEP_UNTIL(&w, late.out.n == 6);
	spit(place_path(&w.p, "go"), STR(""));
	finish(&w, &late);
	for (size_t i = 0; i < ARRAY_LEN(s); i++) {
		finish(&w, &s[i]);
		assert_out(&s[i], "hello\n");
		assert_int_equal(s[i].end.exit_code, 2);
		assert_false(s[i].end.lost);
		seen_done(&s[i]);
	}
	assert_string_equal(slurp(&w.p, place_path(&w.p, "starts")).p, "x\n");
	seen_done(&late);
	world_done(&w);
}

TEST(a_start_after_the_end_tells_the_recorded_end)
{
	struct world w;
	struct seen s = { 0 }, again = { 0 };

	world_init(&w, "echo x >>$W/starts; echo hello; exit 2");
	start(&w, &s);
	finish(&w, &s);
	start(&w, &again);
	assert_int_equal(again.ends + again.pieces, 0);
	finish(&w, &again);
	assert_int_equal(again.end.exit_code, 2);
	assert_int_equal(again.end.started_at, s.end.started_at);
	assert_out(&again, "hello\n");
	assert_string_equal(slurp(&w.p, place_path(&w.p, "starts")).p, "x\n");
	seen_done(&s);
	seen_done(&again);
	world_done(&w);
}

TEST(a_folder_without_a_start_is_not_found)
{
	struct world w;
	struct seen s = { 0 };

	world_init(&w, "exit 1");
	assert_int_equal(adopt(&w, &s), OV_ENOTFOUND);
	assert_int_equal(mkdir(w.p.dir, 0700), 0);
	assert_int_equal(adopt(&w, &s), OV_ENOTFOUND);
	/* A shim that died between the lock and the start. */
	spit(run_path(&w.p, RUN_PROMPT), STR("x"));
	spit(run_path(&w.p, RUN_LOCK), STR("    999999                    1\n"));
	spit(run_path(&w.p, RUN_SOCKET), STR(""));
	assert_int_equal(adopt(&w, &s), OV_ENOTFOUND);
	assert_null(s.run);
	start(&w, &s);
	finish(&w, &s);
	assert_int_equal(s.end.exit_code, 1);
	seen_done(&s);
	world_done(&w);
}

TEST(an_owner_that_is_just_coming_up_is_waited_for)
{
	struct world w;
	struct seen s = { 0 };
	int lock = -1;

	world_init(&w, "true");
	assert_int_equal(mkdir(w.p.dir, 0700), 0);
	assert_int_equal(lock_take(run_path(&w.p, RUN_LOCK), &lock, NULL), 0);
	assert_int_equal(adopt(&w, &s), 0);
	for (int i = 0; i < 5; i++)
		loop_step(w.loop, 50000);
	assert_int_equal(s.ends, 0);
	/* It dies before it has started anything. */
	close(lock);
	finish(&w, &s);
	assert_false(s.end.started);
	assert_false(s.end.lost);
	assert_int_equal(adopt(&w, &s), OV_ENOTFOUND);
	world_done(&w);
}

TEST(a_record_that_cannot_be_understood_is_a_lost_run)
{
	static const char *const rows[] = {
		"",
		"{}",
		"not json",
		"{\"id\":\"other\",\"started\":true,\"exit_code\":0,\"signal\":0,\"started_at\":1,"
		"\"ended_at\":2,\"output_bytes\":0,\"dropped_bytes\":0,\"swept\":0,\"message\":"
		"\"\"}",
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		struct seen s = { 0 };

		world_init(&w, "");
		assert_int_equal(mkdir(w.p.dir, 0700), 0);
		spit(run_path(&w.p, RUN_STARTED), STR("5\n"));
		spit(run_path(&w.p, RUN_EXIT), str_from(rows[i]));
		assert_int_equal(adopt(&w, &s), 0);
		finish(&w, &s);
		assert_true(s.end.lost);
		assert_int_equal(s.end.started_at, 5);
		assert_non_null(strstr(s.message, "exit record cannot be read"));
		world_done(&w);
	}
}

/* The agent may write into the folder: only the lock says whether the run lives. */
TEST(a_forged_record_does_not_end_a_live_run)
{
	struct world w;
	struct seen s = { 0 };

	world_init(&w,
			"printf '{\"id\":\"%s\",\"started\":true,\"exit_code\":0,\"signal\":0,"
			"\"started_at\":1,\"ended_at\":2,\"output_bytes\":0,\"dropped_bytes\":0,"
			"\"swept\":0,\"message\":\"\"}' $OVERSEER_RUN >$W/run/exit.json; "
			"echo up; while ! [ -e $W/go ]; do sleep 0.01; done; exit 5");
	start_in_a_daemon_that_dies(&w);
	assert_true(exists(run_path(&w.p, RUN_EXIT)));
	assert_int_equal(adopt(&w, &s), 0);
	STEP_UNTIL(&w, s.out.n == 3);
	for (int i = 0; i < 5; i++)
		loop_step(w.loop, 10000);
	assert_int_equal(s.ends, 0);
	spit(place_path(&w.p, "go"), STR(""));
	finish(&w, &s);
	assert_int_equal(s.end.exit_code, 5);
	seen_done(&s);
	world_done(&w);
}

TEST(more_input_than_there_is_room_for_is_refused_whole)
{
	struct world w;
	struct seen s = { 0 };
	struct buf big = BUF_INIT;

	world_init(&w, "wc -c");
	w.spec.input = (str){ 0 };
	start(&w, &s);
	buf_reserve(&big, 6 << 20);
	memset(big.p, 'x', 6 << 20);
	big.n = 6 << 20;
	assert_int_equal(run_send(s.run, buf_str(&big), &w.err), OV_ELIMIT);
	assert_int_equal(run_send(s.run, STR("abc"), NULL), 0);
	assert_int_equal(run_close_input(s.run, NULL), 0);
	finish(&w, &s);
	assert_out(&s, "3\n");
	buf_done(&big);
	seen_done(&s);
	world_done(&w);
}

TEST(stop_reaches_a_run_at_any_moment)
{
	struct world w;
	struct seen s = { 0 };

	/* Before the shim is up. */
	world_init(&w, "while :; do sleep 1000; done");
	start(&w, &s);
	assert_int_equal(run_stop(s.run, NULL), 0);
	finish(&w, &s);
	assert_int_equal(s.end.signal, SIGTERM);
	world_done(&w);

	/* In the middle, deaf to SIGTERM. */
	s = (struct seen){ 0 };
	world_init(&w, "trap '' TERM; " LEAVE_PID("up") "while :; do sleep 1000; done");
	w.spec.stop_grace_ms = 30;
	start(&w, &s);
	wait_pid(&w.p, "up");
	assert_int_equal(run_stop(s.run, NULL), 0);
	assert_int_equal(run_stop(s.run, NULL), 0);
	STEP_UNTIL(&w, s.ends);
	assert_int_equal(s.end.signal, SIGKILL);
	/* And after the end there is nothing to stop. */
	assert_int_equal(run_stop(s.run, &w.err), OV_ESTATE);
	assert_int_equal(run_signal(s.run, SIGUSR1, &w.err), OV_ESTATE);
	assert_int_equal(run_send(s.run, STR("x"), &w.err), OV_ESTATE);
	run_close(s.run);
	world_done(&w);

	/* By a daemon that did not start it. */
	s = (struct seen){ 0 };
	world_init(&w, "trap 'exit 4' TERM; echo up; while :; do sleep 1000 & wait; done");
	start_in_a_daemon_that_dies(&w);
	assert_int_equal(adopt(&w, &s), 0);
	assert_int_equal(run_stop(s.run, NULL), 0);
	finish(&w, &s);
	assert_int_equal(s.end.exit_code, 4);
	seen_done(&s);
	world_done(&w);
}

TEST(input_and_signals_reach_the_agent)
{
	struct world w;
	struct seen s = { 0 };
	struct buf big = BUF_INIT;
	int r;

	world_init(&w,
			"trap 'echo winch; got=1' WINCH; read a; echo $a; while ! [ $got ]; do "
			"sleep 0.01; done; read b; echo $b; wc -c");
	w.spec.input = (str){ 0 };
	start(&w, &s);
	/* Before the shim listens: kept until it does. */
	assert_int_equal(run_send(s.run, STR("hel"), NULL), 0);
	assert_int_equal(run_send(s.run, STR("lo\n"), NULL), 0);
	STEP_UNTIL(&w, s.out.n == 6);
	assert_int_equal(run_signal(s.run, SIGWINCH, NULL), 0);
	assert_int_equal(run_send(s.run, STR("b\n"), NULL), 0);
	STEP_UNTIL(&w, strstr(buf_cstr(&s.out), "b\n"));
	/* More than one request holds. */
	for (int i = 0; i < 2500000; i++)
		buf_addc(&big, 'x');
	assert_int_equal(run_send(s.run, buf_str(&big), NULL), 0);
	assert_int_equal(run_close_input(s.run, NULL), 0);
	finish(&w, &s);
	assert_out(&s, "hello\nwinch\nb\n2500000\n");
	seen_done(&s);
	world_done(&w);

	/* What the shim refused is the next call's error. */
	s = (struct seen){ 0 };
	world_init(&w, "while ! [ -e $W/go ]; do sleep 0.01; done");
	start(&w, &s);
	assert_int_equal(run_send(s.run, STR("x"), NULL), 0);
	STEP_UNTIL(&w, (r = run_signal(s.run, SIGCONT, &w.err)) < 0);
	assert_int_equal(r, OV_ESTATE);
	assert_string_equal(w.err.msg, "the agent's input is closed");
	assert_int_equal(run_signal(s.run, SIGCONT, NULL), 0);
	spit(place_path(&w.p, "go"), STR(""));
	finish(&w, &s);
	buf_done(&big);
	world_done(&w);
}

struct delivered {
	int calls, r;
	char msg[1024];
};

static void on_delivered(void *user, int r, const struct ov_err *err)
{
	struct delivered *d = user;

	d->calls++;
	d->r = r;
	snprintf(d->msg, sizeof(d->msg), "%s", err ? err->msg : "");
}

TEST(a_delivery_is_told_to_be_taken_and_reaches_the_agent_once)
{
	struct delivered first = { 0 }, again = { 0 }, second = { 0 }, late = { 0 };
	struct world w;
	struct seen s = { 0 };

	world_init(&w, "cat");
	w.spec.input = (str){ 0 };
	start(&w, &s);
	/* Before the shim listens. */
	assert_int_equal(run_deliver(s.run, STR("d1"), STR("one\n"), on_delivered, &first, NULL),
			0);
	STEP_UNTIL(&w, first.calls);
	assert_int_equal(first.r, 0);
	/* A daemon that did not hear the answer asks again. */
	run_close(s.run);
	seen_done(&s);
	s = (struct seen){ 0 };
	assert_int_equal(adopt(&w, &s), 0);
	assert_int_equal(run_deliver(s.run, STR("d1"), STR("one\n"), on_delivered, &again, NULL),
			0);
	assert_int_equal(run_deliver(s.run, STR("d2"), STR("two\n"), on_delivered, &second, NULL),
			0);
	STEP_UNTIL(&w, second.calls);
	assert_int_equal(again.calls, 1);
	assert_int_equal(again.r, 0);
	assert_int_equal(second.r, 0);
	assert_int_equal(run_close_input(s.run, NULL), 0);
	/* Refused, and told so; errors of others are not mixed in. */
	assert_int_equal(run_deliver(s.run, STR("d3"), STR("x"), on_delivered, &late, NULL), 0);
	STEP_UNTIL(&w, s.ends > 0);
	assert_out(&s, "one\ntwo\n");
	assert_int_equal(run_deliver(s.run, STR("d4"), STR("x"), on_delivered, &late, &w.err),
			OV_ESTATE);
	/* Told at the latest by the end of the handle. */
	run_close(s.run);
	assert_int_equal(late.calls, 1);
	assert_true(late.r == OV_ESTATE || late.r == OV_EUNAVAILABLE);
	seen_done(&s);
	world_done(&w);
}

TEST(a_delivery_that_nobody_answers_is_unknown)
{
	struct delivered d = { 0 };
	struct world w;
	struct seen s = { 0 };
	struct buf big = BUF_INIT;

	world_init(&w, "while ! [ -e $W/go ]; do sleep 0.01; done");
	start(&w, &s);
	/* An agent with a prompt has no input to deliver to. */
	assert_int_equal(run_deliver(s.run, STR("d1"), STR("x"), on_delivered, &d, NULL), 0);
	STEP_UNTIL(&w, d.calls);
	assert_int_equal(d.r, OV_ESTATE);
	assert_string_equal(d.msg, "the agent's input is closed");
	/* Nothing of it is left for the next request. */
	assert_int_equal(run_signal(s.run, SIGCONT, NULL), 0);
	for (int i = 0; i <= RUN_SEND_MAX; i++)
		buf_addc(&big, 'x');
	assert_int_equal(run_deliver(s.run, STR("d2"), buf_str(&big), on_delivered, &d, &w.err),
			OV_ELIMIT);
	/* We let go before the answer is there. */
	assert_int_equal(run_deliver(s.run, STR("d3"), STR("x"), on_delivered, &d, NULL), 0);
	assert_int_equal(d.calls, 1);
	run_close(s.run);
	assert_int_equal(d.calls, 2);
	assert_int_equal(d.r, OV_EUNAVAILABLE);
	spit(place_path(&w.p, "go"), STR(""));
	WAIT_FOR(exists(run_path(&w.p, RUN_EXIT)));
	buf_done(&big);
	seen_done(&s);
	world_done(&w);
}

TEST(a_handle_may_be_closed_inside_its_callbacks)
{
	struct world w;
	struct seen s = { .close_on_output = true };

	world_init(&w, "echo one; while ! [ -e $W/go ]; do sleep 0.01; done; echo two");
	start(&w, &s);
	STEP_UNTIL(&w, s.pieces);
	assert_null(s.run);
	spit(place_path(&w.p, "go"), STR(""));
	WAIT_FOR(exists(run_path(&w.p, RUN_EXIT)));
	seen_done(&s);
	/* In the output that is delivered just before the end. */
	s = (struct seen){ .close_on_output = true };
	assert_int_equal(adopt(&w, &s), 0);
	STEP_UNTIL(&w, s.pieces);
	assert_int_equal(s.ends, 0);
	seen_done(&s);
	/* In the end itself. */
	s = (struct seen){ .close_on_end = true };
	assert_int_equal(adopt(&w, &s), 0);
	STEP_UNTIL(&w, s.ends);
	assert_null(s.run);
	assert_out(&s, "one\ntwo\n");
	seen_done(&s);
	world_done(&w); /* would find a source that is left */
}

TEST(many_runs_at_once)
{
	enum { N = 64 };
	struct world w;
	struct seen *s = calloc(N, sizeof(*s));
	size_t ended = 0;

	world_init(&w,
			"echo $OVERSEER_RUN; (setsid sleep 1000 &); while ! [ -e $W/go ]; do sleep "
			"0.05; done; exit 6");
	for (size_t i = 0; i < N; i++) {
		w.spec.dir = arena_printf(&w.p.a, "%s/run%zu", w.p.root, i).p;
		w.spec.id = arena_printf(&w.p.a, "%s_%zu", w.p.root + 5, i).p;
		start(&w, &s[i]);
	}
	for (size_t i = 0; i < N; i++)
		STEP_UNTIL(&w, s[i].out.n > 0);
	spit(place_path(&w.p, "go"), STR(""));
	for (size_t i = 0; i < N; i++) {
		finish(&w, &s[i]);
		assert_out(&s[i], arena_printf(&w.p.a, "%s_%zu\n", w.p.root + 5, i).p);
		assert_int_equal(s[i].end.exit_code, 6);
		assert_int_equal(s[i].end.swept, 1);
		ended++;
		seen_done(&s[i]);
	}
	assert_int_equal(ended, N);
	free(s);
	world_done(&w);
}

TEST_MAIN
