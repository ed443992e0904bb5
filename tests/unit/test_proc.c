#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "sys/host/rand.h"
#include "sys/proc/proc.h"
#include "tests/pidfd.h"
#include "tests/skip.h"
#include "tests/test.h"

enum { LONG_MS = 60000 };

static struct proc_exit finish(struct proc *p)
{
	struct proc_exit e = { 0 };

	assert_true(proc_ended(p, LONG_MS));
	assert_int_equal(proc_reap(p, &e, NULL), 0);
	proc_done(p);
	return e;
}

static struct proc_exit run(const char *const *argv)
{
	struct proc_spec spec = PROC_SPEC_INIT;
	struct proc p;

	spec.argv = argv;
	assert_int_equal(proc_spawn(&spec, &p, NULL), 0);
	return finish(&p);
}

#define SH(script) ((const char *const[]){ "/bin/sh", "-c", script, NULL })

/* What a script prints. */
static struct buf output_of(struct proc_spec *spec)
{
	struct buf b = BUF_INIT;
	struct proc p;
	int fds[2];
	ssize_t n;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	spec->out = fds[1];
	assert_int_equal(proc_spawn(spec, &p, NULL), 0);
	close(fds[1]);
	do {
		buf_reserve(&b, 4096);
		n = read(fds[0], b.p + b.n, 4096);
		if (n > 0)
			b.n += (size_t)n;
	} while (n > 0);
	b.p[b.n] = '\0';
	close(fds[0]);
	finish(&p);
	return b;
}

TEST(exit_codes_and_signals_are_told_apart)
{
	SKIP_WITHOUT_PIDFDS();
	struct proc_exit e;

	e = run(SH("exit 0"));
	assert_int_equal(e.code, 0);
	assert_int_equal(e.signal, 0);
	e = run(SH("exit 255"));
	assert_int_equal(e.code, 255);
	e = run(SH("kill -9 $$"));
	assert_int_equal(e.code, -1);
	assert_int_equal(e.signal, SIGKILL);
}

TEST(a_missing_program_is_named)
{
	SKIP_WITHOUT_PIDFDS();
	struct proc_spec spec = PROC_SPEC_INIT;
	struct proc p = { -5, -5 };
	struct ov_err err;

	spec.argv = (const char *const[]){ "no-such-program-here", NULL };
	assert_int_equal(proc_spawn(&spec, &p, &err), OV_ENOTFOUND);
	assert_non_null(strstr(err.msg, "no-such-program-here"));
	assert_int_equal(p.pid, -5);
	spec.argv = (const char *const[]){ "/no/such/program", NULL };
	assert_int_equal(proc_spawn(&spec, &p, &err), OV_ENOTFOUND);
	assert_non_null(strstr(err.msg, "/no/such/program"));
	spec.argv = (const char *const[]){ "", NULL };
	assert_int_equal(proc_spawn(&spec, &p, &err), OV_EINVALID);
	spec.argv = (const char *const[]){ "true", NULL };
	spec.cwd = "/no/such/folder";
	assert_int_equal(proc_spawn(&spec, &p, &err), OV_ENOTFOUND);
	assert_non_null(strstr(err.msg, "/no/such/folder"));
	spec.cwd = "/etc/passwd";
	assert_int_equal(proc_spawn(&spec, &p, &err), OV_EINVALID);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* and no child is left behind */
	assert_int_equal(errno, ECHILD);
}

TEST(scripts_that_cannot_run_are_explained)
{
	SKIP_WITHOUT_PIDFDS();
	struct proc_spec spec = PROC_SPEC_INIT;
	char dir[] = "/tmp/ov-proc-XXXXXX", path[64];
	struct ov_err err;
	struct proc p;

	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/script", dir);
	spec.argv = (const char *const[]){ path, NULL };
	assert_int_equal(file_write_atomic(path, STR("#!/no/interpreter\n"), 0700, NULL), 0);
	assert_int_equal(proc_spawn(&spec, &p, &err), OV_ENOTFOUND);
	assert_non_null(strstr(err.msg, "interpreter"));
	assert_int_equal(file_write_atomic(path, STR("echo no first line\n"), 0700, NULL), 0);
	assert_int_equal(proc_spawn(&spec, &p, &err), OV_EIO);
	assert_non_null(strstr(err.msg, "#!"));
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(proc_spawn(&spec, &p, &err), OV_EIO);
	assert_non_null(strstr(err.msg, "Permission denied"));
	/* Looked up in the child's PATH, and not executable there. */
	spec.argv = (const char *const[]){ "script", NULL };
	snprintf(path, sizeof(path), "PATH=.::%s", dir);
	spec.env = (const char *const[]){ path, NULL };
	assert_int_equal(proc_spawn(&spec, &p, &err), OV_EIO);
	assert_non_null(strstr(err.msg, "not executable"));
	snprintf(path, sizeof(path), "%s/script", dir);
	unlink(path);
	rmdir(dir);
}

TEST(environment_and_folder_are_the_childs_own)
{
	SKIP_WITHOUT_PIDFDS();
	struct proc_spec spec = PROC_SPEC_INIT;
	struct buf out;

	spec.argv = (const char *const[]){ "env", NULL };
	spec.env = (const char *const[]){ "ONE=1", "PATH=/usr/bin:/bin", NULL };
	out = output_of(&spec);
	assert_string_equal(buf_cstr(&out), "ONE=1\nPATH=/usr/bin:/bin\n");
	buf_done(&out);
	spec.env = NULL;
	spec.cwd = "/proc";
	spec.argv = SH("pwd -P");
	out = output_of(&spec);
	assert_string_equal(buf_cstr(&out), "/proc\n");
	buf_done(&out);
}

TEST(no_fd_of_ours_reaches_the_child)
{
	SKIP_WITHOUT_PIDFDS();
	struct proc_spec spec = PROC_SPEC_INIT;
	int leaky = open("/etc/passwd", O_RDONLY); /* inherited by accident: not close-on-exec */
	struct buf out;

	assert_true(leaky >= 3);
	spec.argv = SH("ls /proc/$$/fd; readlink /proc/$$/fd/0 /proc/$$/fd/2");
	out = output_of(&spec);
	assert_string_equal(buf_cstr(&out), "0\n1\n2\n/dev/null\n/dev/null\n");
	buf_done(&out);
	close(leaky);
}

TEST(standard_fds_can_be_swapped)
{
	SKIP_WITHOUT_PIDFDS();
	struct proc_spec spec = PROC_SPEC_INIT;
	struct proc p;
	int fds[2], saved = fcntl(0, F_DUPFD_CLOEXEC, 3);
	char text[8] = { 0 };

	/* Our 0 becomes the child's 1, and the child's own 0 is replaced before that. */
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(dup2(fds[1], 0), 0);
	spec.argv = SH("printf out; printf err >&2");
	spec.out = 0;
	assert_int_equal(proc_spawn(&spec, &p, NULL), 0);
	assert_int_equal(dup2(saved, 0), 0);
	close(fds[1]);
	finish(&p);
	assert_int_equal(read(fds[0], text, sizeof(text)), 3);
	assert_string_equal(text, "out");
	close(fds[0]);
	close(saved);
}

/* Fields 5 and 6 of stat: process group and session, as "PID GROUP SESSION". */
#define GROUP_SCRIPT "read -r s </proc/$$/stat; set -- $s; echo $1 $5 $6"

/* Also of what it starts at once; our own limit is as before. */
TEST(the_memory_of_a_child_is_bounded_from_its_start)
{
	SKIP_WITHOUT_PIDFDS();
	struct proc_spec spec = PROC_SPEC_INIT;
	struct rlimit before, after;
	char kib[32];

	assert_int_equal(getrlimit(RLIMIT_DATA, &before), 0);
	spec.argv = SH("sh -c 'ulimit -S -d'");
	/* Sanitizers map terabytes, which count. */
	spec.memory_max = getenv("OV_SANITIZED") ? (uint64_t)1 << 46 : (uint64_t)3 << 30;
	snprintf(kib, sizeof(kib), "%llu\n", (unsigned long long)spec.memory_max / 1024);
	for (int i = 0; i < 50; i++) {
		struct buf out = output_of(&spec);

		assert_string_equal(buf_cstr(&out), kib);
		buf_done(&out);
	}
	assert_int_equal(getrlimit(RLIMIT_DATA, &after), 0);
	assert_true(after.rlim_cur == before.rlim_cur && after.rlim_max == before.rlim_max);
}

TEST(group_and_session_are_new)
{
	SKIP_WITHOUT_PIDFDS();
	struct proc_spec spec = PROC_SPEC_INIT;
	int pid, group, session;
	struct buf out;

	spec.argv = SH(GROUP_SCRIPT);
	out = output_of(&spec);
	assert_int_equal(sscanf(buf_cstr(&out), "%d %d %d", &pid, &group, &session), 3);
	assert_int_equal(group, pid);
	assert_int_equal(session, getsid(0));
	buf_done(&out);
	spec.new_session = true;
	out = output_of(&spec);
	assert_int_equal(sscanf(buf_cstr(&out), "%d %d %d", &pid, &group, &session), 3);
	assert_int_equal(group, pid);
	assert_int_equal(session, pid);
	buf_done(&out);
}

TEST(signals_are_reset_in_the_child)
{
	SKIP_WITHOUT_PIDFDS();
	struct proc_spec spec = PROC_SPEC_INIT;
	unsigned long long blocked, ignored;
	sigset_t set, old;
	struct buf out;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, &old);
	signal(SIGHUP, SIG_IGN);
	/* grep reads its own: the shell would report its own changes. */
	spec.argv = (const char *const[]){ "grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status",
		NULL };
	out = output_of(&spec);
	assert_int_equal(sscanf(buf_cstr(&out), "SigBlk: %llx SigIgn: %llx", &blocked, &ignored),
			2);
	assert_int_equal(blocked, 0);
	/* The C library ignores two signals of its own, 32 and 33, in every child. */
	assert_int_equal(ignored & ~0x180000000ULL, 0);
	buf_done(&out);
	signal(SIGHUP, SIG_DFL);
	sigprocmask(SIG_SETMASK, &old, NULL);
}

TEST(a_process_that_ended_takes_no_signal)
{
	SKIP_WITHOUT_PIDFDS();
	struct proc_spec spec = PROC_SPEC_INIT;
	struct proc_exit e;
	struct ov_err err;
	struct proc p;

	spec.argv = (const char *const[]){ "sleep", "1000", NULL };
	assert_int_equal(proc_spawn(&spec, &p, NULL), 0);
	assert_int_equal(proc_reap(&p, &e, &err), OV_ESTATE);
	assert_false(proc_ended(&p, 0));
	assert_int_equal(proc_signal(&p, SIGTERM, NULL), 0);
	assert_true(proc_ended(&p, LONG_MS));
	assert_int_equal(proc_signal(&p, SIGTERM, &err), OV_ENOTFOUND); /* a zombie */
	assert_int_equal(proc_start_time(p.pid), 0);
	assert_int_equal(proc_reap(&p, &e, NULL), 0);
	assert_int_equal(e.signal, SIGTERM);
	assert_int_equal(proc_signal(&p, SIGTERM, &err), OV_ENOTFOUND);
	assert_int_equal(proc_reap(&p, &e, &err), OV_ENOTFOUND);
	proc_done(&p);
}

TEST(identity_is_pid_and_start_time)
{
	SKIP_WITHOUT_PIDFDS();
	struct proc_spec spec = PROC_SPEC_INIT;
	struct proc p, again = { 0, -1 };
	char boot[37];
	uint64_t start;

	proc_boot_id(boot);
	assert_int_equal(strlen(boot), 36);
	assert_int_equal(boot[8], '-');
	assert_true(proc_start_time(getpid()) > 0);
	assert_int_equal(proc_start_time(0), 0);
	assert_int_equal(proc_start_time(-1), 0);
	spec.argv = (const char *const[]){ "sleep", "1000", NULL };
	assert_int_equal(proc_spawn(&spec, &p, NULL), 0);
	start = proc_start_time(p.pid);
	assert_true(start >= proc_start_time(getpid()));
	assert_int_equal(proc_open(p.pid, start + 1, &again, NULL), OV_ENOTFOUND);
	assert_int_equal(proc_open(p.pid, 0, &again, NULL), OV_ENOTFOUND);
	assert_int_equal(proc_open(-1, start, &again, NULL), OV_ENOTFOUND);
	assert_int_equal(again.pidfd, -1);
	assert_int_equal(proc_open(p.pid, start, &again, NULL), 0);
	assert_int_equal(proc_signal(&again, SIGKILL, NULL), 0);
	assert_true(proc_ended(&again, LONG_MS));
	proc_done(&again);
	assert_int_equal(proc_open(p.pid, start, &again, NULL), OV_ENOTFOUND); /* a zombie */
	assert_int_equal(finish(&p).signal, SIGKILL);
}

static int count_fds(void)
{
	struct arena a = ARENA_INIT;
	str *names;
	size_t n = 0;

	assert_int_equal(dir_list(&a, "/proc/self/fd", 1000, &names, &n, NULL), 0);
	arena_done(&a);
	return (int)n;
}

TEST(without_fds_nothing_is_started_and_nothing_leaks)
{
	SKIP_WITHOUT_PIDFDS();
	struct proc_spec spec = PROC_SPEC_INIT;
	struct rlimit old, tight;
	struct proc p;
	int before = count_fds(), next;

	spec.argv = (const char *const[]){ "/bin/true", NULL };
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	next = open("/", O_PATH | O_CLOEXEC);
	close(next);
	tight = old;
	tight.rlim_cur = (rlim_t)next;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	assert_int_equal(proc_spawn(&spec, &p, NULL), OV_EIO);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(run(spec.argv).code, 0);
	assert_int_equal(count_fds(), before);
}

/* Starts a tree of processes with MARK=value: some in sessions of their own, parents gone. */
static void start_family(const char *entry, int members)
{
	struct proc_spec spec = PROC_SPEC_INIT;
	char script[256];
	struct buf out;

	snprintf(script, sizeof(script),
			"i=0; while [ $i -lt %d ]; do setsid sh -c 'sleep 1000 & sleep 1001' "
			"</dev/null "
			">/dev/null 2>&1 & i=$((i+1)); done; echo up",
			members);
	spec.argv = SH(script);
	spec.env = (const char *const[]){ "PATH=/usr/bin:/bin", entry, NULL };
	out = output_of(&spec);
	assert_string_equal(buf_cstr(&out), "up\n");
	buf_done(&out);
}

/*
 * Shells that start a new child whenever one dies: killing them one by one would let the last child
 * go. Everybody holds the pipe, so its end proves that nobody is left.
 */
TEST(a_sweep_ends_those_who_start_others_again)
{
	SKIP_WITHOUT_PIDFDS();
	enum { ROUNDS = 20, SHELLS = 4, PATIENCE_MS = 30000 };
	struct ov_err err;

	for (int round = 0; round < ROUNDS; round++) {
		struct proc_spec spec = PROC_SPEC_INIT;
		struct proc shells[SHELLS];
		char value[32], entry[64], text[64];
		struct pollfd fd = { .events = POLLIN };
		size_t killed;
		int ends[2];

		snprintf(value, sizeof(value), "%llx", (unsigned long long)rand_u64());
		snprintf(entry, sizeof(entry), "OV_TEST_MARK=%s", value);
		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		spec.argv = (const char *const[]){ "/bin/sh", "-c",
			"echo x; while :; do /bin/sleep 1000; done", NULL };
		spec.env = (const char *const[]){ entry, NULL };
		spec.out = ends[1];
		for (int i = 0; i < SHELLS; i++)
			assert_int_equal(proc_spawn(&spec, &shells[i], NULL), 0);
		close(ends[1]);
		fd.fd = ends[0];
		assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
		assert_int_equal(proc_sweep_env(STR("OV_TEST_MARK"), str_from(value), &killed,
						 &err),
				0);
		do
			assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
		while (read(ends[0], text, sizeof(text)) > 0);
		close(ends[0]);
		for (int i = 0; i < SHELLS; i++)
			finish(&shells[i]);
	}
}

enum { CHAIN_SECONDS = 40 };

/* This program as one of a chain, each of which forks and ends at once, in a session of its own. */
__attribute__((constructor)) static void be_a_chain(void)
{
	time_t end = time(NULL) + CHAIN_SECONDS;

	if (!getenv("OV_TEST_CHAIN"))
		return;
	while (time(NULL) < end) {
		if (fork())
			_exit(0);
		setsid();
	}
	_exit(0);
}

/*
 * Starts chains, and reaps whoever ends of them: in a container nobody else may do so, and the
 * numbers of processes run out. Returns when all have begun: a sweep before that is rightly sure
 * of nobody.
 */
static pid_t nursery(const struct proc_spec *spec, int n)
{
	int begun[2];
	char all = 0;
	pid_t pid;

	assert_int_equal(pipe2(begun, O_CLOEXEC), 0);
	pid = fork();
	if (pid) {
		close(begun[1]);
		assert_int_equal(read(begun[0], &all, 1), 1);
		close(begun[0]);
		return pid;
	}
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	for (int i = 0; i < n; i++) {
		struct proc p;

		if (proc_spawn(spec, &p, NULL) < 0)
			_exit(1);
	}
	/* Not before: who is reaped at once cannot be watched, and is no start. */
	signal(SIGCHLD, SIG_IGN);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	close(spec->out);
	if (write(begun[1], &all, 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

/*
 * One may be missed; it is not said then that nobody is left. They hold the pipe, as above, for
 * longer than is waited for its end, and end by themselves some day.
 */
TEST(a_sweep_that_is_sure_has_left_nobody)
{
	SKIP_WITHOUT_PIDFDS();
	enum { CHAINS = 8, BYSTANDERS = 200, PATIENCE_MS = CHAIN_SECONDS * 1000 / 2 };
	struct proc_spec spec = PROC_SPEC_INIT;
	pid_t bystanders[BYSTANDERS], reaper;
	struct pollfd fd = { .events = POLLIN };
	char value[32], entry[64];
	bool sure = false;
	size_t killed, all = 0;
	int ends[2];

	snprintf(value, sizeof(value), "%llx", (unsigned long long)rand_u64());
	snprintf(entry, sizeof(entry), "OV_TEST_MARK=%s", value);
	/* Looking at all of them takes longer than one of a chain lives. */
	for (int i = 0; i < BYSTANDERS; i++) {
		bystanders[i] = fork();
		while (bystanders[i] == 0)
			pause();
		assert_true(bystanders[i] > 0);
	}
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	spec.argv = (const char *const[]){ "/proc/self/exe", NULL };
	spec.env = (const char *const[]){ "OV_TEST_CHAIN=1", entry, NULL };
	spec.out = ends[1];
	reaper = nursery(&spec, CHAINS);
	assert_true(reaper > 0);
	close(ends[1]);
	fd.fd = ends[0];
	/* Whoever was killed lets go of it in its own time. */
	while (poll(&fd, 1, sure ? PATIENCE_MS : 0) == 0) {
		assert_false(sure);
		assert_int_equal(proc_sweep_known(STR("OV_TEST_MARK"), str_from(value), NULL, 0,
						 &killed, &sure, NULL),
				0);
		all += killed;
	}
	assert_true(all >= CHAINS);
	close(ends[0]);
	kill(reaper, SIGKILL);
	waitpid(reaper, NULL, 0);
	for (int i = 0; i < BYSTANDERS; i++) {
		kill(bystanders[i], SIGKILL);
		waitpid(bystanders[i], NULL, 0);
	}
}

/* Between a program's start and its first instruction its environment shows nothing. */
TEST(a_process_is_found_right_after_its_start)
{
	const char *argv[] = { "sleep", "100", NULL };
	char entry[80], value[60];
	struct ov_err err;

	SKIP_WITHOUT_PIDFDS();
	for (int i = 0; i < 40; i++) {
		struct proc_spec spec = PROC_SPEC_INIT;
		struct proc_exit ex;
		bool found = false;
		struct proc p;

		snprintf(value, sizeof(value), "find-%d-%d", (int)getpid(), i);
		snprintf(entry, sizeof(entry), "OV_TEST_MARK=%s", value);
		spec.argv = argv;
		spec.env = (const char *[]){ "PATH=/usr/bin:/bin", entry, NULL };
		assert_int_equal(proc_spawn(&spec, &p, &err), 0);
		assert_int_equal(proc_find_env(STR("OV_TEST_MARK"), str_from(value), &found, &err),
				0);
		assert_true(found);
		assert_int_equal(proc_signal(&p, SIGKILL, &err), 0);
		assert_true(proc_ended(&p, 10000));
		assert_int_equal(proc_reap(&p, &ex, &err), 0);
		assert_int_equal(proc_find_env(STR("OV_TEST_MARK"), str_from(value), &found, &err),
				0);
		assert_false(found);
		proc_done(&p);
	}
}

/*
 * Process 2 of a container is nobody special: on a machine it is the parent of the
 * kernel's threads.
 */
TEST(a_process_is_found_by_the_second_one_of_a_container)
{
	SKIP_WITHOUT_PIDFDS();
	if (system("unshare -Urpf --mount-proc true 2>/dev/null") != 0)
		skip_for(NO_MOUNTS);
	assert_int_equal(system("self=$(readlink -f /proc/$PPID/exe) unshare -Urpf --mount-proc sh "
				"-c "
				"'\"$self\" a_process_is_found_right* >&2; exit $?'"),
			0);
}

TEST(a_sweep_ends_all_descendants_and_nobody_else)
{
	SKIP_WITHOUT_PIDFDS();
	struct proc_spec spec = PROC_SPEC_INIT;
	char value[32], entry[64], other[64];
	struct ov_err err;
	struct proc bystander;
	size_t killed = 99;

	snprintf(value, sizeof(value), "%llx", (unsigned long long)rand_u64());
	snprintf(entry, sizeof(entry), "OV_TEST_MARK=%s", value);
	snprintf(other, sizeof(other), "OV_TEST_MARK=%sx", value);
	spec.argv = (const char *const[]){ "/bin/sleep", "1000", NULL };
	spec.env = (const char *const[]){ other, NULL };
	assert_int_equal(proc_spawn(&spec, &bystander, NULL), 0);
	assert_int_equal(proc_sweep_env(STR("OV_TEST_MARK"), str_from(value), &killed, &err), 0);
	assert_int_equal(killed, 0);
	start_family(entry, 3);
	assert_int_equal(proc_sweep_env(STR("OV_TEST_MARK"), str_from(value), &killed, &err), 0);
	/* Each of 3 is a shell with 2 sleepers; it may be killed before it has started them. */
	assert_in_range(killed, 3, 9);
	assert_int_equal(proc_sweep_env(STR("OV_TEST_MARK"), str_from(value), &killed, &err), 0);
	assert_int_equal(killed, 0);
	assert_false(proc_ended(&bystander, 0));
	assert_int_equal(proc_signal(&bystander, SIGKILL, NULL), 0);
	finish(&bystander);
}

TEST_MAIN
