/*
 * Runs in a control group of their own, with the kernel's real ones; skipped where none can
 * be made.
 */
#include <sys/wait.h>

#include "sys/proc/cgroup.h"
#include "sys/proc/proc.h"
#include "tests/shim/world.h"

/* The folder below which groups can be made here, or NULL. */
static const char *home(struct arena *a)
{
	const char *dir;

	if (cgroup_find(a, &dir, NULL) < 0 || cgroup_probe(dir, NULL) < 0)
		return NULL;
	return dir;
}

#define NEED_GROUPS(w)                                                     \
	do {                                                               \
		(w)->spec.cgroup = home(&(w)->p.a);                        \
		if (!(w)->spec.cgroup) {                                   \
			world_done(w);                                     \
			print_message("# no control group can be made\n"); \
			skip();                                            \
		}                                                          \
	} while (0)

static const char *group_path(struct world *w)
{
	return arena_printf(&w->p.a, "%s/overseer-%s", w->spec.cgroup, w->spec.id).p;
}

/* Runs off as far as one can: own session, nothing of us in its environment, no parent. */
#define FLEE                                                                                       \
	"(env -i W=$W /usr/bin/setsid /bin/sh -c '" LEAVE_PID("fled") "trap \"\" TERM HUP; while " \
								      ":; do /bin/sleep 1000; "    \
								      "done' &); "

TEST(a_run_is_in_a_group_of_its_own_from_the_beginning)
{
	struct world w;
	struct seen s = { 0 };

	world_init(&w, "grep ^0:: /proc/self/cgroup; setsid grep ^0:: /proc/self/cgroup");
	NEED_GROUPS(&w);
	start(&w, &s);
	finish(&w, &s);
	assert_true(s.end.grouped);
	assert_int_equal(s.end.exit_code, 0);
	assert_non_null(strstr(buf_cstr(&s.out),
			arena_printf(&w.p.a, "/overseer-%s\n0::", w.spec.id).p));
	/* And nothing of it is left. */
	assert_false(exists(group_path(&w)));
	assert_false(exists(run_path(&w.p, RUN_GROUP)));
	seen_done(&s);
	world_done(&w);
}

TEST(who_fled_ends_with_the_run)
{
	struct world w;
	struct seen s = { 0 };
	pid_t fled;

	world_init(&w, FLEE "while ! [ -e $W/fled ]; do sleep 0.01; done; exit 2");
	NEED_GROUPS(&w);
	w.spec.stop_grace_ms = 50;
	start(&w, &s);
	finish(&w, &s);
	fled = wait_pid(&w.p, "fled");
	assert_true(gone(fled));
	assert_int_equal(s.end.exit_code, 2);
	assert_true(s.end.swept >= 1);
	assert_false(exists(group_path(&w)));
	seen_done(&s);
	world_done(&w);
}

/* The sweep by environment cannot find it; the group can. */
TEST(who_fled_ends_when_the_shim_is_killed)
{
	struct world w;
	struct seen s = { 0 };
	pid_t fled, agent;

	world_init(&w, FLEE LEAVE_PID("up") "while :; do sleep 1000; done");
	NEED_GROUPS(&w);
	start(&w, &s);
	agent = wait_pid(&w.p, "up");
	fled = wait_pid(&w.p, "fled");
	assert_int_equal(kill(shim_pid(&w), SIGKILL), 0);
	finish(&w, &s);
	assert_true(s.end.lost);
	assert_true(s.end.grouped);
	assert_true(gone(agent));
	assert_true(gone(fled));
	assert_false(exists(group_path(&w)));
	seen_done(&s);
	world_done(&w);
}

/* The shim has written down that it is there. */
static bool is_written_down(struct world *w, pid_t pid)
{
	return str_contains(slurp(&w->p, run_path(&w->p, RUN_DESCENDANTS)),
			arena_printf(&w->p.a, "\n%d ", (int)pid));
}

/*
 * Neither its group nor its environment tells of it any more: what was seen of it while its
 * shim lived does.
 */
TEST(who_moved_to_another_group_ends_when_the_shim_is_killed)
{
	struct world w;
	struct seen s = { 0 };
	const char *elsewhere;
	pid_t fled, agent;

	world_init(&w, FLEE LEAVE_PID("up") "while :; do sleep 1000; done");
	NEED_GROUPS(&w);
	elsewhere = arena_printf(&w.p.a, "%s/ov-elsewhere-%s", w.spec.cgroup, w.spec.id).p;
	assert_int_equal(mkdir(elsewhere, 0755), 0);
	start(&w, &s);
	agent = wait_pid(&w.p, "up");
	fled = wait_pid(&w.p, "fled");
	spit(arena_printf(&w.p.a, "%s/cgroup.procs", elsewhere).p,
			arena_printf(&w.p.a, "%d", (int)fled));
	STEP_UNTIL(&w, is_written_down(&w, fled));
	assert_int_equal(kill(shim_pid(&w), SIGKILL), 0);
	finish(&w, &s);
	assert_true(s.end.lost);
	assert_true(gone(agent));
	assert_true(gone(fled));
	assert_false(exists(group_path(&w)));
	assert_int_equal(rmdir(elsewhere), 0);
	seen_done(&s);
	world_done(&w);
}

TEST(without_a_group_who_cleared_its_environment_ends_too)
{
	struct world w;
	struct seen s = { 0 };
	pid_t fled;

	world_init(&w, FLEE LEAVE_PID("up") "while :; do sleep 1000; done");
	start(&w, &s);
	wait_pid(&w.p, "up");
	fled = wait_pid(&w.p, "fled");
	STEP_UNTIL(&w, is_written_down(&w, fled));
	assert_int_equal(kill(shim_pid(&w), SIGKILL), 0);
	finish(&w, &s);
	assert_true(s.end.lost);
	assert_true(gone(fled));
	seen_done(&s);
	world_done(&w);
}

static pid_t bystander(const char *run)
{
	pid_t pid = fork();

	if (pid == 0) {
		const char *const env[] = { run, NULL };
		const char *const argv[] = { "sleep", "1000", NULL };

		execvpe("sleep", (char **)argv, (char **)env);
		_exit(1);
	}
	assert_true(pid > 0);
	return pid;
}

/*
 * Whatever stands in the record: who began before the run, is no longer who it was, or is another
 * run's, lives on.
 */
TEST(nobody_else_is_ended_for_a_lost_run)
{
	struct world w;
	struct seen s = { 0 };
	pid_t before = bystander(NULL), other, reused;
	char boot[37];

	world_init(&w, LEAVE_PID("up") "while :; do sleep 1000; done");
	/* The start time counts hundredths of a second. */
	usleep(30 * 1000);
	start(&w, &s);
	wait_pid(&w.p, "up");
	other = bystander("OVERSEER_RUN=R_OTHER");
	reused = bystander(NULL);
	STEP_UNTIL(&w, exists(run_path(&w.p, RUN_DESCENDANTS)));
	kill(shim_pid(&w), SIGSTOP); /* so that it writes nothing more */
	proc_boot_id(boot);
	spit(run_path(&w.p, RUN_DESCENDANTS),
			arena_printf(&w.p.a, "%s\n%d %llu\n%d %llu\n%d %llu\n1 1\nnonsense\n", boot,
					(int)before, (unsigned long long)proc_start_time(before),
					(int)other, (unsigned long long)proc_start_time(other),
					(int)reused,
					(unsigned long long)proc_start_time(reused) + 1));
	assert_int_equal(kill(shim_pid(&w), SIGKILL), 0);
	finish(&w, &s);
	assert_true(s.end.lost);
	for (size_t i = 0; i < 3; i++) {
		pid_t pid = i == 0 ? before : i == 1 ? other : reused;

		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
		assert_int_equal(kill(pid, SIGKILL), 0);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	seen_done(&s);
	world_done(&w);
}

TEST(a_record_of_another_boot_names_nobody)
{
	struct world w;
	struct seen s = { 0 };
	pid_t other;

	world_init(&w, LEAVE_PID("up") "while :; do sleep 1000; done");
	start(&w, &s);
	wait_pid(&w.p, "up");
	other = bystander(NULL);
	STEP_UNTIL(&w, exists(run_path(&w.p, RUN_DESCENDANTS)));
	kill(shim_pid(&w), SIGSTOP);
	spit(run_path(&w.p, RUN_DESCENDANTS),
			arena_printf(&w.p.a, "00000000-0000-0000-0000-000000000000\n%d %llu\n",
					(int)other, (unsigned long long)proc_start_time(other)));
	assert_int_equal(kill(shim_pid(&w), SIGKILL), 0);
	finish(&w, &s);
	assert_int_equal(waitpid(other, NULL, WNOHANG), 0);
	assert_int_equal(kill(other, SIGKILL), 0);
	assert_int_equal(waitpid(other, NULL, 0), other);
	seen_done(&s);
	world_done(&w);
}

/* Without a group, as it was: who keeps the environment is found in whatever session. */
TEST(without_a_group_the_sweep_finds_other_sessions)
{
	struct world w;
	struct seen s = { 0 };
	pid_t fled;

	world_init(&w,
			"(setsid sh -c '" LEAVE_PID("fled") "exec sleep 1000' &); " LEAVE_PID(
					"up") "while :; do sleep 1000; done");
	start(&w, &s);
	wait_pid(&w.p, "up");
	fled = wait_pid(&w.p, "fled");
	assert_int_equal(kill(shim_pid(&w), SIGKILL), 0);
	finish(&w, &s);
	assert_true(s.end.lost);
	assert_false(s.end.grouped);
	assert_true(gone(fled));
	seen_done(&s);
	world_done(&w);
}

/* Somebody who is not below the shim at all, and groups inside the group. */
TEST(strangers_and_inner_groups_end_too)
{
	struct world w;
	struct seen s = { 0 };
	const char *inner;
	pid_t stranger;
	int fd;

	world_init(&w, LEAVE_PID("up") "while ! [ -e $W/go ]; do sleep 0.01; done; exit 5");
	NEED_GROUPS(&w);
	w.spec.stop_grace_ms = 50;
	start(&w, &s);
	wait_pid(&w.p, "up");
	inner = arena_printf(&w.p.a, "%s/inner", group_path(&w)).p;
	assert_int_equal(mkdir(inner, 0700), 0);
	stranger = fork();
	assert_true(stranger >= 0);
	if (stranger == 0)
		for (;;)
			pause();
	fd = open(arena_printf(&w.p.a, "%s/cgroup.procs", inner).p, O_WRONLY | O_CLOEXEC);
	assert_true(dprintf(fd, "%d\n", (int)stranger) > 0);
	close(fd);
	spit(place_path(&w.p, "go"), STR(""));
	finish(&w, &s);
	assert_int_equal(s.end.exit_code, 5);
	assert_true(gone(stranger));
	assert_int_equal(waitpid(stranger, NULL, 0), stranger);
	assert_false(exists(group_path(&w)));
	seen_done(&s);
	world_done(&w);
}

static bool is_frozen(struct world *w)
{
	return strstr(slurp(&w->p, arena_printf(&w->p.a, "%s/cgroup.events", group_path(w)).p).p,
			       "frozen 1") != NULL;
}

TEST(a_run_is_frozen_and_goes_on)
{
	struct world w;
	struct seen s = { 0 };

	world_init(&w,
			LEAVE_PID("up") "while ! [ -e $W/go ]; do sleep 0.01; done; echo on; "
					"while :; do sleep 1000; done");
	NEED_GROUPS(&w);
	start(&w, &s);
	wait_pid(&w.p, "up");
	assert_int_equal(run_freeze(s.run, true, NULL, NULL, NULL), 0);
	STEP_UNTIL(&w, is_frozen(&w));
	spit(place_path(&w.p, "go"), STR(""));
	for (int i = 0; i < 10; i++)
		loop_step(w.loop, 5000);
	assert_int_equal(s.out.n, 0);
	assert_int_equal(run_freeze(s.run, false, NULL, NULL, NULL), 0);
	STEP_UNTIL(&w, s.out.n == 3);
	/* A frozen one hears that it is to stop. */
	assert_int_equal(run_freeze(s.run, true, NULL, NULL, NULL), 0);
	STEP_UNTIL(&w, is_frozen(&w));
	assert_int_equal(run_stop(s.run, NULL), 0);
	finish(&w, &s);
	assert_int_equal(s.end.signal, SIGTERM);
	seen_done(&s);
	world_done(&w);
}

TEST(without_a_group_freezing_is_refused)
{
	struct world w;
	struct seen s = { 0 };

	world_init(&w, "while ! [ -e $W/go ]; do sleep 0.01; done");
	start(&w, &s);
	assert_int_equal(run_freeze(s.run, true, NULL, NULL, NULL), 0);
	STEP_UNTIL(&w, run_freeze(s.run, true, NULL, NULL, &w.err) < 0);
	assert_non_null(strstr(w.err.msg, "no control group"));
	spit(place_path(&w.p, "go"), STR(""));
	finish(&w, &s);
	seen_done(&s);
	world_done(&w);
}

/*
 * A folder that is no group stands in for controllers that are not here; the run goes on
 * without it.
 */
TEST(limits_are_written_and_a_false_group_is_done_without)
{
	static const char *const files[] = { "cgroup.events", "cgroup.kill", "cgroup.procs",
		"memory.max", "pids.max" };
	struct world w;
	struct seen s = { 0 };

	world_init(&w, "echo ran");
	w.spec.cgroup = w.p.root;
	w.spec.memory_max_bytes = 123456789;
	w.spec.pids_max = 77;
	assert_int_equal(mkdir(group_path(&w), 0700), 0);
	for (size_t i = 0; i < ARRAY_LEN(files); i++)
		spit(arena_printf(&w.p.a, "%s/%s", group_path(&w), files[i]).p, STR(""));
	start(&w, &s);
	finish(&w, &s);
	assert_out(&s, "ran\n");
	assert_false(s.end.grouped);
	assert_string_equal(slurp(&w.p, arena_printf(&w.p.a, "%s/memory.max", group_path(&w)).p).p,
			"123456789");
	assert_string_equal(slurp(&w.p, arena_printf(&w.p.a, "%s/pids.max", group_path(&w)).p).p,
			"77");
	seen_done(&s);
	world_done(&w);
}

/* A file of the run's folder, which the agent can write: only its own group may be named there. */
TEST(no_other_group_is_ended_for_a_lost_run)
{
	struct world w, other;
	struct seen s = { 0 }, t = { 0 };
	pid_t agent;

	world_init(&w, LEAVE_PID("up") "while ! [ -e $W/go ]; do sleep 0.01; done; exit 9");
	NEED_GROUPS(&w);
	start(&w, &s);
	wait_pid(&w.p, "up");
	world_init(&other, LEAVE_PID("up") "while :; do sleep 1000; done");
	start(&other, &t);
	agent = wait_pid(&other.p, "up");
	spit(run_path(&other.p, RUN_GROUP), str_from(group_path(&w)));
	assert_int_equal(kill(shim_pid(&other), SIGKILL), 0);
	finish(&other, &t);
	assert_true(gone(agent));
	spit(place_path(&w.p, "go"), STR(""));
	finish(&w, &s);
	assert_int_equal(s.end.exit_code, 9);
	world_done(&other);
	world_done(&w);
}

TEST_MAIN
