/* What trees of processes use: real children that burn, sleep, write and end. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "base/err.h"
#include "sys/host/clock.h"
#include "sys/proc/proc_usage.h"
#include "tests/pidfd.h"
#include "tests/test.h"

enum { LONG_US = 60 * 1000 * 1000 };

static struct proc start(const char *script)
{
	const char *const argv[] = { "/bin/sh", "-c", script, NULL };
	struct proc_spec spec = PROC_SPEC_INIT;
	struct proc p;

	SKIP_WITHOUT_PIDFDS();
	spec.argv = argv;
	assert_int_equal(proc_spawn(&spec, &p, NULL), 0);
	return p;
}

static void stop(struct proc *p)
{
	struct proc_exit e;

	/* Its group: the shell's children too. */
	kill(-p->pid, SIGKILL);
	assert_true(proc_ended(p, LONG_US / 1000));
	assert_int_equal(proc_reap(p, &e, NULL), 0);
	proc_done(p);
}

static struct proc_usage usage_since(const struct proc *p, uint64_t since_boot_us)
{
	struct proc_table *t;
	struct proc_usage u;

	assert_int_equal(proc_table_new(&t, NULL), 0);
	assert_int_equal(proc_table_usage(t, p, since_boot_us, &u, NULL), 0);
	assert_int_equal(u.at_us, proc_table_at_us(t));
	proc_table_free(t);
	return u;
}

static struct proc_usage usage(const struct proc *p)
{
	return usage_since(p, 0);
}

/* Samples until the condition on `u` holds, for at most a minute. */
#define SAMPLE_UNTIL(p, u, condition)                                           \
	do {                                                                    \
		uint64_t _end = clock_mono_us() + LONG_US;                      \
		while (u = usage(p), !(condition)) {                            \
			if (clock_mono_us() > _end)                             \
				fail_msg("waited in vain for: %s", #condition); \
			poll(NULL, 0, 5);                                       \
		}                                                               \
	} while (0)

TEST(a_child_deep_down_that_burns_is_seen)
{
	struct proc p = start("sh -c 'sh -c \"ulimit -t 60; while :; do :; done\" & wait' & wait");
	struct proc_usage u;

	SAMPLE_UNTIL(&p, u, u.processes >= 3 && u.cpu_ms >= 100);
	assert_true(u.at_us > 0);
	stop(&p);
}

TEST(one_that_sleeps_uses_nothing)
{
	struct proc p = start("sleep 1000 & echo $! >/dev/null; wait");
	uint64_t end = clock_mono_us() + LONG_US;
	struct proc_usage u, v;

	SAMPLE_UNTIL(&p, u, u.processes == 2);
	/* Its program may still be read from the disk: it sleeps once nothing more is read. */
	do {
		u = usage(&p);
		poll(NULL, 0, 50);
		v = usage(&p);
	} while (v.io_bytes != u.io_bytes && clock_mono_us() < end);
	/* A while later, by the clock: there is nothing to wait for. */
	u = usage(&p);
	poll(NULL, 0, 200);
	v = usage(&p);
	/* The shell may just have been on its way to sleep. */
	assert_in_range(v.cpu_ms - u.cpu_ms, 0, 20);
	assert_in_range(v.io_bytes - u.io_bytes, 0, 4096);
	stop(&p);
}

TEST(bytes_written_and_read_are_counted_also_of_children_that_ended)
{
	struct proc p = start("dd if=/dev/zero of=/dev/null bs=65536 count=32 2>/dev/null; read x "
			      "</dev/zero & sleep 1000");
	struct proc_usage u;

	SAMPLE_UNTIL(&p, u, u.io_bytes >= 2 * 32 * 65536);
	stop(&p);
}

TEST(cpu_time_of_children_that_ended_is_kept)
{
	struct proc p = start("i=0; sh -c 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'; "
			      "exec sleep 1000");
	struct proc_usage u, last = { 0 };

	do {
		u = usage(&p);
		assert_true(u.cpu_ms + 20 >= last.cpu_ms);
		last = u;
		poll(NULL, 0, 2);
	} while (u.cpu_ms < 20 || u.processes > 1);
	stop(&p);
}

TEST(those_that_began_since_are_counted_apart)
{
	struct proc p = start("(ulimit -t 60; while :; do :; done) & wait");
	struct proc_usage u, v;
	uint64_t before = (uint64_t)(clock_wall() - 60000 - clock_offsets().set_ms) * 1000;
	uint64_t after = (uint64_t)(clock_wall() + 60000 - clock_offsets().set_ms) * 1000;

	SAMPLE_UNTIL(&p, u, u.processes == 2 && u.old_cpu_ms >= 100);
	assert_int_equal(u.young, 0);
	assert_int_equal(u.young_io_bytes, 0);
	/* All but the root, whenever it began. */
	v = usage_since(&p, before);
	assert_int_equal(v.young, 1);
	assert_in_range(v.old_cpu_ms, 0, 50);
	assert_true(v.cpu_ms >= u.cpu_ms);
	v = usage_since(&p, after);
	assert_int_equal(v.young, 0);
	assert_true(v.old_cpu_ms >= u.old_cpu_ms);
	stop(&p);
}

TEST(one_that_is_gone_is_not_found)
{
	struct proc p = start("exit 0");
	struct proc_table *t;
	struct proc_usage u;
	struct proc_exit e;
	struct ov_err err = { 0 };

	assert_int_equal(proc_table_new(&t, NULL), 0);
	assert_true(proc_ended(&p, LONG_US / 1000));
	assert_int_equal(proc_table_usage(t, &p, 0, &u, &err), OV_ENOTFOUND);
	assert_non_null(strstr(err.msg, "has ended"));
	assert_int_equal(proc_reap(&p, &e, NULL), 0);
	assert_int_equal(proc_table_usage(t, &p, 0, &u, NULL), OV_ENOTFOUND);
	proc_done(&p);
	/* One that began after the table was made. */
	p = start("exec sleep 1000");
	assert_int_equal(proc_table_usage(t, &p, 0, &u, NULL), OV_ENOTFOUND);
	proc_table_free(t);
	stop(&p);
}

TEST(strangers_are_not_counted)
{
	struct proc burning = start("ulimit -t 60; while :; do :; done"),
		    p = start("exec sleep 1000");
	struct proc_usage u;

	SAMPLE_UNTIL(&burning, u, u.cpu_ms >= 100);
	u = usage(&p);
	assert_in_range(u.cpu_ms, 0, 50);
	assert_int_equal(u.processes, 1);
	stop(&burning);
	stop(&p);
}

TEST_MAIN
