#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/wait.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"
#include "sys/loop/loop.h"
#include "sys/proc/proc.h"
#include "tests/pidfd.h"
#include "tests/test.h"

/* Enough for anything that is bound to happen; only a broken loop gets there. */
enum { MANY_STEPS = 10000, STEP_US = 1000000, DEADLINE_US = 60000000 };

/* A mark is one letter in the order of the callbacks. */
struct marker {
	struct buf *trace;
	char mark;
	struct loop_source *src;
	struct loop *loop;
};

static void mark(void *user)
{
	struct marker *m = user;

	buf_addc(m->trace, m->mark);
}

static void mark_and_free(void *user)
{
	struct marker *m = user;

	buf_addc(m->trace, m->mark);
	m->src = loop_source_free(m->src);
}

static void mark_and_quit(void *user)
{
	struct marker *m = user;

	buf_addc(m->trace, m->mark);
	loop_quit(m->loop, 7);
}

static struct loop *make_loop(void)
{
	struct loop *l = NULL;

	assert_int_equal(loop_new(&l, NULL), 0);
	return l;
}

static void step_until(struct loop *l, const struct buf *trace, size_t n)
{
	uint64_t start = clock_mono_us();

	while (trace->n < n && clock_mono_us() - start < DEADLINE_US)
		loop_step(l, STEP_US);
	assert_true(trace->n >= n);
}

/* Runs what is ready now. */
static void settle(struct loop *l)
{
	for (int i = 0; i < 20; i++)
		loop_step(l, 0);
}

TEST(timers_fire_in_order_even_when_the_loop_is_late)
{
	struct loop *l = make_loop();
	struct buf trace = BUF_INIT;
	struct marker m[6];
	static const int ms[6] = { 5, 3, 1, 3, 4, 2 };
	ov_time past = clock_wall() - 1000;

	/* All of them are due before the first iteration. */
	for (int i = 0; i < 6; i++) {
		m[i] = (struct marker){ &trace, (char)('a' + i), NULL, l };
		m[i].src = loop_timer(l, mark, &m[i]);
		loop_timer_at(m[i].src, past + ms[i]);
	}
	step_until(l, &trace, 6);
	assert_string_equal(buf_cstr(&trace), "cfbdea");
	for (int i = 0; i < 6; i++)
		loop_source_free(m[i].src);
	loop_free(l);
	buf_done(&trace);
}

TEST(timers_are_never_early_and_can_be_moved_and_stopped)
{
	struct loop *l = make_loop();
	struct buf trace = BUF_INIT;
	struct marker a = { &trace, 'a', NULL, l }, b = { &trace, 'b', NULL, l };
	uint64_t start;

	a.src = loop_timer(l, mark, &a);
	b.src = loop_timer(l, mark, &b);
	loop_timer_in(a.src, 3600 * 1000);
	loop_timer_in(b.src, 1);
	loop_timer_off(b.src);
	start = clock_mono_us();
	loop_timer_in(a.src, 20);
	step_until(l, &trace, 1);
	assert_true(clock_mono_us() >= start + 20000);
	assert_true(loop_mono_us(l) >= start + 20000);
	settle(l);
	assert_string_equal(buf_cstr(&trace), "a"); /* once, and b not at all */
	loop_timer_in(a.src, INT64_MAX);
	loop_timer_in(b.src, 0);
	step_until(l, &trace, 2);
	assert_string_equal(buf_cstr(&trace), "ab");
	loop_source_free(a.src);
	loop_source_free(b.src);
	loop_free(l);
	buf_done(&trace);
}

TEST(wall_clock_timers_fire_at_their_time_and_at_once_when_it_is_past)
{
	struct loop *l = make_loop();
	struct buf trace = BUF_INIT;
	struct marker a = { &trace, 'a', NULL, l }, b = { &trace, 'b', NULL, l };
	ov_time at = clock_wall() + 20;

	a.src = loop_timer(l, mark, &a);
	b.src = loop_timer(l, mark, &b);
	loop_timer_at(a.src, at);
	loop_timer_at(b.src, 1);
	step_until(l, &trace, 2);
	assert_string_equal(buf_cstr(&trace), "ba");
	assert_true(loop_now(l) >= at);
	loop_timer_at(a.src, OV_TIME_MAX);
	settle(l);
	assert_int_equal(trace.n, 2);
	loop_source_free(a.src);
	loop_source_free(b.src);
	loop_free(l);
	buf_done(&trace);
}

TEST(a_source_can_be_freed_in_its_own_callback)
{
	struct loop *l = make_loop();
	struct buf trace = BUF_INIT;
	struct marker t = { &trace, 't', NULL, l }, d = { &trace, 'd', NULL, l };
	struct marker a = { &trace, 'a', NULL, l };

	t.src = loop_timer(l, mark_and_free, &t);
	loop_timer_in(t.src, 0);
	d.src = loop_defer(l, mark_and_free, &d);
	a.src = loop_after(l, mark_and_free, &a);
	step_until(l, &trace, 3);
	settle(l);
	assert_int_equal(trace.n, 3);
	assert_null(t.src);
	assert_null(d.src);
	assert_null(a.src);
	loop_free(l);
	buf_done(&trace);
}

static void read_byte(void *user, int fd, unsigned events)
{
	struct marker *m = user;
	char c = 0;

	assert_true(events & LOOP_READ);
	assert_int_equal(read(fd, &c, 1), 1);
	buf_addc(m->trace, m->mark);
}

/* Eight fds become ready together; what the callbacks and the hooks leave behind. */
static void run_batch(struct loop *l, struct buf *trace)
{
	struct marker io[8];
	int fds[8][2];

	buf_clear(trace);
	for (int i = 0; i < 8; i++) {
		io[i] = (struct marker){ trace, 'x', NULL, l };
		assert_int_equal(pipe(fds[i]), 0);
		io[i].src = loop_io(l, fds[i][0], LOOP_READ, read_byte, &io[i]);
		assert_int_equal(write(fds[i][1], "!", 1), 1);
	}
	step_until(l, trace, 10);
	settle(l);
	for (int i = 0; i < 8; i++) {
		loop_source_free(io[i].src);
		close(fds[i][0]);
		close(fds[i][1]);
	}
}

TEST(after_hooks_run_once_per_batch_in_order)
{
	struct loop *l = make_loop();
	struct buf trace = BUF_INIT;
	struct marker a1 = { &trace, '1', NULL, l }, a2 = { &trace, '2', NULL, l };
	bool whole = false;

	a1.src = loop_after(l, mark, &a1);
	a2.src = loop_after(l, mark, &a2);
	/* On a busy machine the time of a batch may run out in its middle: then once more. */
	for (int i = 0; i < 100 && !whole; i++) {
		run_batch(l, &trace);
		assert_true(str_ends(buf_str(&trace), STR("x12")));
		assert_false(str_contains(buf_str(&trace), STR("1x")));
		whole = str_is(buf_str(&trace), "xxxxxxxx12");
	}
	assert_true(whole);
	loop_source_free(a1.src);
	loop_source_free(a2.src);
	loop_free(l);
	buf_done(&trace);
}

TEST(after_hooks_run_for_a_lone_timer_and_not_for_themselves)
{
	struct loop *l = make_loop();
	struct buf trace = BUF_INIT;
	struct marker t = { &trace, 't', NULL, l }, a = { &trace, 'a', NULL, l };

	a.src = loop_after(l, mark, &a);
	settle(l);
	assert_int_equal(trace.n, 0); /* nothing happened, nothing is committed */
	t.src = loop_timer(l, mark, &t);
	loop_timer_in(t.src, 0);
	step_until(l, &trace, 2);
	settle(l);
	assert_string_equal(buf_cstr(&trace), "ta");
	loop_source_free(t.src);
	loop_source_free(a.src);
	loop_free(l);
	buf_done(&trace);
}

struct flood {
	struct loop *loop;
	struct loop_source *src;
	unsigned called, commits, longest;
};

static void flood_again(void *user)
{
	struct flood *f = user;

	loop_source_free(f->src);
	f->src = loop_defer(f->loop, flood_again, f);
	f->called++;
}

static void flood_commit(void *user)
{
	struct flood *f = user;

	f->longest = MAX(f->longest, f->called);
	f->called = 0;
	f->commits++;
}

TEST(a_flood_does_not_hold_the_after_hooks_up)
{
	struct flood f = { .loop = make_loop() };
	struct loop_source *after = loop_after(f.loop, flood_commit, &f);

	f.src = loop_defer(f.loop, flood_again, &f);
	for (int i = 0; i < MANY_STEPS; i++)
		loop_step(f.loop, -1);
	assert_true(f.commits > 1);
	assert_true(f.longest <= 256);
	loop_source_free(f.src);
	loop_source_free(after);
	loop_free(f.loop);
}

TEST(callbacks_are_counted_by_their_cause)
{
	struct loop *l = make_loop();
	struct buf trace = BUF_INIT;
	struct marker a = { &trace, 'a', NULL, l }, b = { &trace, 'b', NULL, l },
		      c = { &trace, 'c', NULL, l };

	a.src = loop_defer(l, mark, &a);
	b.src = loop_timer(l, mark, &b);
	c.src = loop_timer(l, mark, &c);
	loop_timer_in(b.src, 0);
	loop_timer_in(c.src, 1);
	while (trace.n < 3)
		loop_step(l, -1);
	assert_int_equal(loop_callbacks(l, LOOP_DEFERRED), 2);
	assert_int_equal(loop_callbacks(l, LOOP_TIMER), 1);
	assert_int_equal(loop_callbacks(l, LOOP_IO), 0);
	assert_int_equal(loop_callbacks(l, LOOP_EXIT), 0);
	loop_source_free(a.src);
	loop_source_free(b.src);
	loop_source_free(c.src);
	loop_free(l);
	buf_done(&trace);
}

TEST(quitting_runs_the_after_hooks_a_last_time)
{
	struct loop *l = make_loop();
	struct buf trace = BUF_INIT;
	struct marker q = { &trace, 'q', NULL, l }, a = { &trace, 'a', NULL, l };

	a.src = loop_after(l, mark, &a);
	q.src = loop_defer(l, mark_and_quit, &q);
	assert_int_equal(loop_run(l), 7);
	assert_string_equal(buf_cstr(&trace), "qa");
	assert_false(loop_step(l, -1));
	assert_int_equal(trace.n, 2);
	assert_true(loop_iterations(l) > 0);
	loop_source_free(q.src);
	loop_source_free(a.src);
	loop_free(l);
	buf_done(&trace);
}

static void on_signal(void *user, int signo)
{
	struct marker *m = user;

	assert_int_equal(signo, SIGUSR1);
	buf_addc(m->trace, m->mark);
}

TEST(signals_come_before_other_work)
{
	struct loop *l = make_loop();
	struct buf trace = BUF_INIT;
	struct marker s = { &trace, 's', NULL, l }, d = { &trace, 'd', NULL, l };

	d.src = loop_defer(l, mark, &d);
	s.src = loop_signal(l, SIGUSR1, on_signal, &s);
	raise(SIGUSR1);
	step_until(l, &trace, 2);
	assert_string_equal(buf_cstr(&trace), "sd");
	loop_source_free(s.src);
	loop_source_free(d.src);
	loop_free(l);
	buf_done(&trace);
}

/* Descriptors that are always ready, more than the loop takes up at a time. */
enum { CROWD = 100 };

struct crowd {
	struct loop *loop;
	int pipe[2];
	struct member {
		struct crowd *all;
		struct loop_source *src;
		int fd, served;
	} members[CROWD];
	int signals;
};

static void crowd_open(struct crowd *c, loop_io_fn *fn)
{
	*c = (struct crowd){ .loop = make_loop() };
	assert_int_equal(pipe2(c->pipe, O_CLOEXEC), 0);
	assert_int_equal(write(c->pipe[1], "x", 1), 1);
	for (int i = 0; i < CROWD; i++) {
		struct member *m = &c->members[i];

		m->all = c;
		m->fd = fcntl(c->pipe[0], F_DUPFD_CLOEXEC, 0);
		assert_true(m->fd >= 0);
		m->src = loop_io(c->loop, m->fd, LOOP_READ, fn, m);
	}
}

static void crowd_close(struct crowd *c)
{
	for (int i = 0; i < CROWD; i++) {
		loop_source_free(c->members[i].src);
		close(c->members[i].fd);
	}
	close(c->pipe[0]);
	close(c->pipe[1]);
	loop_free(c->loop);
}

static void serve(void *user, int fd, unsigned events)
{
	struct member *m = user;

	assert_int_equal(fd, m->fd);
	assert_int_equal(events, LOOP_READ);
	m->served++;
}

TEST(everybody_is_served_before_anybody_is_twice)
{
	struct crowd c;

	crowd_open(&c, serve);
	for (int round = 1; round <= 20; round++) {
		for (int i = 0; i < CROWD; i++)
			loop_step(c.loop, -1);
		for (int i = 0; i < CROWD; i++)
			assert_true(c.members[i].served >= round - 1 &&
					c.members[i].served <= round + 1);
	}
	crowd_close(&c);
}

static void silence_the_rest(void *user, int fd, unsigned events)
{
	struct member *m = user;
	struct crowd *c = m->all;

	serve(user, fd, events);
	for (int i = 0; i < CROWD; i++) {
		if (&c->members[i] == m)
			continue;
		if (i % 2)
			c->members[i].src = loop_source_free(c->members[i].src);
		else
			loop_io_set(c->members[i].src, i % 4 ? 0 : LOOP_WRITE);
	}
}

TEST(what_was_reported_counts_only_while_it_is_asked_for)
{
	struct crowd c;
	int served = 0;

	crowd_open(&c, silence_the_rest);
	loop_step(c.loop, -1);
	for (int i = 0; i < CROWD; i++)
		served += c.members[i].served;
	assert_int_equal(served, 1);
	for (int i = 0; i < CROWD; i++)
		if (c.members[i].served)
			loop_io_set(c.members[i].src, 0);
	settle(c.loop);
	for (int i = 0; i < CROWD; i++)
		assert_true(c.members[i].served <= 1);
	crowd_close(&c);
}

static void count_signal(void *user, int signo)
{
	((struct crowd *)user)->signals += signo == SIGUSR1;
}

TEST(busy_descriptors_do_not_hold_signals_up)
{
	struct loop_source *signal_src;
	struct crowd c;

	crowd_open(&c, serve);
	signal_src = loop_signal(c.loop, SIGUSR1, count_signal, &c);
	for (int i = 0; i < 10; i++)
		loop_step(c.loop, -1);
	raise(SIGUSR1);
	for (int i = 0; i < 65; i++)
		loop_step(c.loop, -1);
	assert_int_equal(c.signals, 1);
	loop_source_free(signal_src);
	crowd_close(&c);
}

TEST(a_pidfd_tells_of_the_end_once)
{
	SKIP_WITHOUT_PIDFDS();

	struct loop *l = make_loop();
	struct buf trace = BUF_INIT;
	struct marker m = { &trace, 'p', NULL, l };
	const char *argv[] = { "true", NULL };
	struct proc_spec spec = PROC_SPEC_INIT;
	struct proc p;
	struct proc_exit ended;

	spec.argv = argv;
	assert_int_equal(proc_spawn(&spec, &p, NULL), 0);
	m.src = loop_pidfd(l, p.pidfd, mark, &m);
	step_until(l, &trace, 1);
	settle(l);
	assert_int_equal(trace.n, 1);
	assert_int_equal(proc_reap(&p, &ended, NULL), 0);
	assert_int_equal(ended.code, 0);
	loop_source_free(m.src);
	proc_done(&p);
	loop_free(l);
	buf_done(&trace);
}

static void on_hangup(void *user, int fd _unused_, unsigned events)
{
	struct marker *m = user;

	buf_addc(m->trace, (char)('0' + events));
	loop_io_set(m->src, 0);
}

TEST(a_hangup_comes_with_what_was_asked_for_and_never_spins)
{
	struct loop *l = make_loop();
	struct buf trace = BUF_INIT;
	struct marker m = { &trace, 'h', NULL, l };
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	m.src = loop_io(l, fds[0], LOOP_READ, on_hangup, &m);
	close(fds[1]);
	step_until(l, &trace, 1);
	settle(l);
	assert_int_equal(trace.n, 1);
	assert_int_equal(trace.p[0], '0' + (LOOP_READ | LOOP_HANGUP));
	loop_io_set(m.src, LOOP_READ);
	step_until(l, &trace, 2);
	loop_source_free(m.src);
	close(fds[0]);
	loop_free(l);
	buf_done(&trace);
}

static void on_watch(void *user, uint32_t mask, const char *name)
{
	struct marker *m = user;

	if ((mask & IN_CREATE) && name)
		buf_addf(m->trace, "%s ", name);
}

TEST(a_watched_directory_tells_names)
{
	struct loop *l = make_loop();
	struct buf trace = BUF_INIT;
	struct marker m = { &trace, 'w', NULL, l };
	char dir[] = "/tmp/ov-loop-XXXXXX", path[64];
	int fd;

	assert_non_null(mkdtemp(dir));
	fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(loop_watch(l, fd, IN_CREATE, on_watch, &m, &m.src, NULL), 0);
	close(fd);
	snprintf(path, sizeof(path), "%s/new", dir);
	assert_int_equal(file_create_atomic(path, STR("x"), 0600, NULL), 0);
	for (int i = 0; i < MANY_STEPS && !strstr(buf_cstr(&trace), "new "); i++)
		loop_step(l, STEP_US);
	assert_non_null(strstr(buf_cstr(&trace), "new "));
	loop_source_free(m.src);
	unlink(path);
	rmdir(dir);
	loop_free(l);
	buf_done(&trace);
}

TEST(the_time_stands_still_within_an_iteration)
{
	struct loop *l = make_loop();
	struct buf trace = BUF_INIT;
	struct marker d = { &trace, 'd', NULL, l };
	uint64_t mono, until;
	ov_time wall;

	d.src = loop_defer(l, mark, &d);
	step_until(l, &trace, 1);
	mono = loop_mono_us(l);
	wall = loop_now(l);
	until = clock_mono_us() + 3000;
	while (clock_mono_us() < until) {
	}
	assert_int_equal(loop_mono_us(l), mono);
	assert_int_equal(loop_now(l), wall);
	assert_true(clock_wall() > wall);
	loop_source_free(d.src);
	loop_free(l);
	buf_done(&trace);
}

static bool look_at_time(void *user)
{
	struct marker *m = user;

	buf_addc(m->trace, 't');
	return m->mark == 'd' && !m->src;
}

/* Whoever is called by the loop is called by a time that was looked at. */
TEST(the_time_is_looked_at_before_anything_else)
{
	struct loop *l = make_loop();
	struct buf trace = BUF_INIT;
	struct marker due = { &trace, 'd', NULL, l }, after = { &trace, 'a', NULL, l };
	struct loop_source *hook = loop_after(l, mark, &after);
	struct clock_offsets now, again = clock_offsets();

	loop_on_time(l, look_at_time, &due);
	due.src = loop_defer(l, mark_and_free, &due);
	assert_true(loop_step(l, STEP_US));
	assert_true(str_starts(buf_str(&trace), STR("td")));
	/* It has something to do itself, and there is nobody else: the after-hooks are for it. */
	buf_clear(&trace);
	assert_true(loop_step(l, 0));
	assert_true(str_starts(buf_str(&trace), STR("ta")));
	now = loop_clocks(l);
	assert_in_range(now.set_ms - again.set_ms + 5000, 0, 10000);
	assert_in_range(now.slept_ms - again.slept_ms + 5000, 0, 10000);
	loop_source_free(hook);
	loop_free(l);
	buf_done(&trace);
}

TEST_MAIN
