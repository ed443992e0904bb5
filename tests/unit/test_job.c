#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"
#include "sys/host/rand.h"
#include "sys/loop/job.h"
#include "sys/loop/loop.h"
#include "tests/pidfd.h"
#include "tests/test.h"

struct outcome {
	struct loop *loop;
	struct job_result r; /* out and err point into the bufs */
	struct buf out, err;
	int calls;
	struct job *job;
};

static void on_done(void *user, const struct job_result *r)
{
	struct outcome *o = user;

	o->r = *r;
	buf_adds(&o->out, r->out);
	buf_adds(&o->err, r->err);
	o->r.out = buf_str(&o->out);
	o->r.err = buf_str(&o->err);
	o->calls++;
	/* Harmless in here. */
	job_abandon(o->job);
	loop_quit(o->loop, 0);
}

static void outcome_init(struct outcome *o)
{
	*o = (struct outcome){ 0 };
	assert_int_equal(loop_new(&o->loop, NULL), 0);
}

static void outcome_done(struct outcome *o)
{
	loop_free(o->loop);
	buf_done(&o->out);
	buf_done(&o->err);
}

static void start(struct outcome *o, const struct job_spec *spec)
{
	outcome_init(o);
	assert_int_equal(job_start(o->loop, spec, on_done, o, &o->job, NULL), 0);
}

static void run(struct outcome *o, const struct job_spec *spec)
{
	start(o, spec);
	loop_run(o->loop);
	assert_int_equal(o->calls, 1);
}

#define SH(script) ((const char *const[]){ "/bin/sh", "-c", script, NULL })

static int count_fds(void)
{
	struct arena a = ARENA_INIT;
	str *names;
	size_t n = 0;

	assert_int_equal(dir_list(&a, "/proc/self/fd", 1000, &names, &n, NULL), 0);
	arena_done(&a);
	return (int)n;
}

TEST(output_and_exit_are_reported)
{
	SKIP_WITHOUT_PIDFDS();
	struct job_spec spec = JOB_SPEC_INIT;
	struct outcome o;
	int before = count_fds();

	spec.proc.argv = SH("echo out; echo err >&2; exit 3");
	run(&o, &spec);
	assert_int_equal(o.r.exit.code, 3);
	assert_string_equal(buf_cstr(&o.out), "out\n");
	assert_string_equal(buf_cstr(&o.err), "err\n");
	assert_false(o.r.out_cut || o.r.err_cut || o.r.timed_out);
	outcome_done(&o);
	assert_int_equal(count_fds(), before);
}

TEST(a_job_that_cannot_start_calls_nothing)
{
	SKIP_WITHOUT_PIDFDS();
	struct job_spec spec = JOB_SPEC_INIT;
	struct outcome o;
	struct ov_err err;
	int before = count_fds();

	outcome_init(&o);
	spec.proc.argv = (const char *const[]){ "no-such-program-here", NULL };
	spec.input = STR("x");
	assert_int_equal(job_start(o.loop, &spec, on_done, &o, &o.job, &err), OV_ENOTFOUND);
	assert_null(o.job);
	assert_int_equal(o.calls, 0);
	outcome_done(&o);
	assert_int_equal(count_fds(), before);
}

TEST(output_beyond_the_bound_is_cut_at_the_end_or_at_the_start)
{
	SKIP_WITHOUT_PIDFDS();
	struct job_spec spec = JOB_SPEC_INIT;
	struct outcome o;

	spec.proc.argv = SH("seq 1 200000; echo short >&2");
	spec.max_output = 1000;
	run(&o, &spec);
	assert_int_equal(o.r.out.n, 1000);
	assert_true(o.r.out_cut);
	assert_false(o.r.err_cut);
	assert_true(str_starts(o.r.out, STR("1\n2\n3\n")));
	assert_string_equal(buf_cstr(&o.err), "short\n");
	outcome_done(&o);
	spec.keep_tail = true;
	run(&o, &spec);
	assert_int_equal(o.r.out.n, 1000);
	assert_true(o.r.out_cut);
	assert_true(str_ends(o.r.out, STR("199999\n200000\n")));
	assert_false(o.r.err_cut);
	outcome_done(&o);
	spec.proc.argv = SH("printf 0123456789");
	spec.max_output = 10;
	run(&o, &spec);
	assert_string_equal(buf_cstr(&o.out), "0123456789");
	assert_false(o.r.out_cut);
	outcome_done(&o);
}

TEST(input_larger_than_a_pipe_goes_through_both_ways)
{
	SKIP_WITHOUT_PIDFDS();
	struct job_spec spec = JOB_SPEC_INIT;
	size_t n = 3 * 1024 * 1024 + 5;
	char *bytes = mem_alloc(n);
	struct outcome o;

	rand_bytes(bytes, n);
	spec.proc.argv = (const char *const[]){ "cat", NULL };
	spec.input = (str){ bytes, n };
	spec.max_output = n;
	run(&o, &spec);
	assert_true(str_eq(o.r.out, (str){ bytes, n }));
	assert_false(o.r.out_cut);
	outcome_done(&o);
	/* A child that does not read it does not fail the job. */
	spec.proc.argv = SH("exec <&-; exit 5");
	run(&o, &spec);
	assert_int_equal(o.r.exit.code, 5);
	outcome_done(&o);
	/* Without input, stdin is at its end. */
	spec.input = (str){ 0 };
	spec.proc.argv = SH("wc -c");
	run(&o, &spec);
	assert_true(str_is(str_trim(o.r.out), "0"));
	outcome_done(&o);
	mem_free(bytes);
}

TEST(last_words_are_read_before_the_end)
{
	SKIP_WITHOUT_PIDFDS();
	struct job_spec spec = JOB_SPEC_INIT;

	/* A full pipe at the very moment of death: exit and output are ready together. */
	spec.proc.argv = SH("head -c 65536 /dev/zero | tr '\\0' x; kill -9 $$");
	for (int i = 0; i < 20; i++) {
		struct outcome o;

		run(&o, &spec);
		assert_int_equal(o.r.out.n, 65536);
		assert_int_equal(o.r.exit.signal, SIGKILL);
		outcome_done(&o);
	}
}

TEST(a_background_process_with_the_pipe_does_not_hold_the_job)
{
	SKIP_WITHOUT_PIDFDS();
	struct job_spec spec = JOB_SPEC_INIT;
	struct outcome o;
	int64_t pid = 0;

	spec.proc.argv = SH("sleep 1000 & echo $!; echo last >&2");
	run(&o, &spec);
	assert_int_equal(o.r.exit.code, 0);
	assert_string_equal(buf_cstr(&o.err), "last\n");
	assert_true(str_to_i64(str_trim(o.r.out), &pid));
	/* It was left alone: ending it is ours. */
	assert_int_equal(kill((pid_t)pid, SIGKILL), 0);
	outcome_done(&o);
}

TEST(a_timeout_ends_the_whole_group)
{
	SKIP_WITHOUT_PIDFDS();
	struct job_spec spec = JOB_SPEC_INIT;
	struct outcome o;
	int64_t pid = 0;

	spec.proc.argv = SH("sleep 1000 & echo $!; wait");
	spec.timeout_ms = 300;
	run(&o, &spec);
	assert_true(o.r.timed_out);
	assert_int_equal(o.r.exit.signal, SIGTERM);
	assert_true(str_to_i64(str_trim(o.r.out), &pid));
	for (int i = 0; i < 10000 && proc_start_time((int)pid); i++)
		usleep(1000);
	assert_int_equal(proc_start_time((int)pid), 0);
	outcome_done(&o);
}

TEST(who_ignores_the_polite_signal_is_killed)
{
	SKIP_WITHOUT_PIDFDS();
	struct job_spec spec = JOB_SPEC_INIT;
	struct outcome o;

	spec.proc.argv = SH("trap '' TERM; echo deaf; while :; do sleep 1000; done");
	spec.timeout_ms = 300;
	run(&o, &spec);
	assert_true(o.r.timed_out);
	assert_int_equal(o.r.exit.signal, SIGKILL);
	assert_string_equal(buf_cstr(&o.out), "deaf\n");
	outcome_done(&o);
}

TEST(an_abandoned_job_is_gone_and_silent)
{
	SKIP_WITHOUT_PIDFDS();
	struct job_spec spec = JOB_SPEC_INIT;
	int before = count_fds();
	struct outcome o;

	spec.proc.argv = SH("trap '' TERM; sleep 1000");
	spec.input = STR("unread");
	start(&o, &spec);
	job_abandon(o.job);
	for (int i = 0; i < 10; i++)
		loop_step(o.loop, 0);
	assert_int_equal(o.calls, 0);
	outcome_done(&o);
	assert_int_equal(count_fds(), before);
}

struct crowd {
	struct loop *loop;
	int left, wrong;
};

static void on_crowd(void *user, const struct job_result *r)
{
	struct crowd *c = user;

	if (r->exit.code != 0 || !str_eq(r->out, STR("hello\n")))
		c->wrong++;
	if (--c->left == 0)
		loop_quit(c->loop, 0);
}

TEST(many_jobs_at_once)
{
	SKIP_WITHOUT_PIDFDS();
	struct job_spec spec = JOB_SPEC_INIT;
	struct crowd c = { .left = 100 };

	assert_int_equal(loop_new(&c.loop, NULL), 0);
	spec.proc.argv = (const char *const[]){ "cat", NULL };
	spec.input = STR("hello\n");
	spec.timeout_ms = 100000;
	for (int i = 0; i < 100; i++)
		assert_int_equal(job_start(c.loop, &spec, on_crowd, &c, NULL, NULL), 0);
	loop_run(c.loop);
	assert_int_equal(c.wrong, 0);
	loop_free(c.loop);
}

TEST_MAIN
