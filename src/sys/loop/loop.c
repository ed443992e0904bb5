#include "sys/loop/loop_impl.h"

#include <errno.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/err.h"

/*
 * Traps of sd-event that shape this file:
 * - An accuracy of 0 means 250 ms, not "exact": every timer states its own.
 * - One source is dispatched per iteration, so what was ready together is a batch of iterations. A
 *   post source would run somewhere in its middle: it is marked with the first dispatch and ties
 *   with what was pending since then (measured: "xx post xxxxxx post" for eight ready fds); at a
 *   lower priority a flood would starve it. So the after-hooks are run here: when nothing more is
 *   ready, or when a batch has become long.
 * - Of sources that became pending in the same iteration the order is undefined: timers would swap
 *   when the loop is late. So the timers of a clock hang in one list in order, behind one sd-event
 *   source that fires the first of them.
 * - sd_event_exit() would drop the last group commit. So quitting is a flag of ours.
 * - A level-triggered EPOLLHUP cannot be masked: a source that asks for nothing is switched off.
 * - Setting up takes file descriptors lazily; what must not fail later is set up in loop_new.
 * - Every iteration asks epoll about everything that is ready, to dispatch one of them: with many
 *   busy descriptors that costs more than the work. So those of loop_io hang in an epoll of ours
 *   behind one source, and what it reports is served from a list before sd-event is asked again.
 */

enum {
	ACCURACY_US = 1000,
	ACCURACY_NOW_US = 1,
	/* The bounds of a batch: no reply waits longer for its commit, whatever else arrives. */
	BATCH_MAX = 256,
	BATCH_US = 5000,
};

struct loop_source *source_new(struct loop *l, enum source_kind kind, void *user)
{
	struct loop_source *s = mem_zalloc(1, sizeof(*s));

	s->loop = l;
	s->kind = kind;
	s->user = user;
	list_init(&s->timer);
	l->n_sources++;
	return s;
}

/* ---- timers ---- */

static void timers_arm(struct timers *t)
{
	struct loop_source *first;
	uint64_t now;

	if (list_empty(&t->armed)) {
		must(sd_event_source_set_enabled(t->src, SD_EVENT_OFF));
		return;
	}
	first = list_entry(t->armed.next, struct loop_source, timer);
	now = t->clock == CLOCK_MONOTONIC ? clock_mono_us() : (uint64_t)clock_wall() * 1000;
	/* What is due already must not wait for the coalescing window. */
	must(sd_event_source_set_time_accuracy(t->src,
			first->due_us <= now ? ACCURACY_NOW_US : ACCURACY_US));
	must(sd_event_source_set_time(t->src, first->due_us));
	must(sd_event_source_set_enabled(t->src, SD_EVENT_ONESHOT));
}

static void timer_remove(struct loop_source *s)
{
	struct timers *t = s->on;
	bool first;

	if (!t)
		return;
	first = t->armed.next == &s->timer;
	list_remove(&s->timer);
	s->on = NULL;
	if (first)
		timers_arm(t);
}

static void timer_insert(struct timers *t, struct loop_source *s, uint64_t due_us)
{
	struct list *before;

	assert(s->kind == SRC_TIMER);
	timer_remove(s);
	s->due_us = due_us;
	s->on = t;
	/* From the end: most timers are set later than those that exist. */
	for (before = t->armed.prev; before != &t->armed; before = before->prev)
		if (list_entry(before, struct loop_source, timer)->due_us <= due_us)
			break;
	list_append(before->next, &s->timer);
	if (t->armed.next == &s->timer)
		timers_arm(t);
}

static int on_time(sd_event_source *src _unused_, uint64_t due _unused_, void *userdata)
{
	struct timers *t = userdata;
	struct loop_source *s;

	if (list_empty(&t->armed))
		return 0;
	s = list_entry(t->armed.next, struct loop_source, timer);
	timer_remove(s);
	s->loop->callbacks[s->at_once ? SRC_DEFER : SRC_TIMER]++;
	s->fn.call(s->user);
	return 0;
}

struct loop_source *loop_timer(struct loop *l, loop_fn *fn, void *user)
{
	struct loop_source *s = source_new(l, SRC_TIMER, user);

	s->fn.call = fn;
	return s;
}

void loop_timer_in(struct loop_source *s, int64_t ms)
{
	/* The real now, not the iteration's: a timeout may come late but never early. */
	uint64_t now = clock_mono_us(), in_us = ms <= 0 ? 0 : (uint64_t)ms * 1000;

	if (ms > INT64_MAX / 1000)
		in_us = INT64_MAX - now;
	s->at_once = ms <= 0;
	timer_insert(&s->loop->mono, s, now + in_us);
}

void loop_timer_at(struct loop_source *s, ov_time at)
{
	uint64_t us = at <= 0 ? 0 : (uint64_t)MIN(at, INT64_MAX / 1000) * 1000;

	s->at_once = false;
	timer_insert(&s->loop->wall, s, us);
}

void loop_timer_off(struct loop_source *s)
{
	timer_remove(s);
}

/* ---- after-hooks ---- */

static void run_after(struct loop *l)
{
	size_t kept = 0;

	l->batch = 0;
	l->in_after = true;
	for (size_t i = 0; i < l->after.n; i++)
		if (l->after.p[i])
			l->after.p[i]->fn.call(l->after.p[i]->user);
	l->in_after = false;
	for (size_t i = 0; i < l->after.n; i++)
		if (l->after.p[i])
			l->after.p[kept++] = l->after.p[i];
	l->after.n = kept;
}

struct loop_source *loop_after(struct loop *l, loop_fn *fn, void *user)
{
	struct loop_source *s = source_new(l, SRC_AFTER, user);

	s->fn.call = fn;
	vec_push(&l->after, s);
	return s;
}

static void after_remove(struct loop *l, struct loop_source *s)
{
	size_t i = 0;

	while (l->after.p[i] != s)
		i++;
	if (l->in_after)
		l->after.p[i] = NULL;
	else
		vec_remove(&l->after, i);
}

/* ---- descriptors ---- */

static uint32_t epoll_from(unsigned events)
{
	return (events & LOOP_READ ? EPOLLIN : 0u) | (events & LOOP_WRITE ? EPOLLOUT : 0u);
}

static void io_dispatch(struct loop_source *s, uint32_t revents)
{
	unsigned events = 0;

	if (revents & EPOLLIN)
		events |= LOOP_READ;
	if (revents & EPOLLOUT)
		events |= LOOP_WRITE;
	/* What was asked for may have changed since this was reported. */
	events &= s->events;
	if (revents & (EPOLLHUP | EPOLLERR))
		events |= LOOP_HANGUP | s->events;
	s->loop->callbacks[s->kind]++;
	s->fn.io(s->user, s->fd, events);
}

/* Serves one descriptor that was reported; false when none is left. */
static bool io_next(struct loop *l)
{
	while (l->ready_at < l->ready_n) {
		struct epoll_event *e = &l->ready[l->ready_at++];
		struct loop_source *s = e->data.ptr;

		if (!s || !s->events ||
				!(e->events & (epoll_from(s->events) | EPOLLHUP | EPOLLERR)))
			continue;
		io_dispatch(s, e->events);
		return true;
	}
	return false;
}

static int on_io_ready(sd_event_source *src _unused_, int fd, uint32_t revents _unused_,
		void *userdata)
{
	struct loop *l = userdata;
	int n;

	/* Who was reported first is served first, also over the end of a batch: nobody starves. */
	if (io_next(l))
		return 0;
	n = epoll_wait(fd, l->ready, LOOP_READY_MAX, 0);
	assert(n >= 0 || errno == EINTR);
	l->ready_n = MAX(n, 0);
	l->ready_at = 0;
	(void)io_next(l);
	return 0;
}

/*
 * The kernel knows a source only while it asks for something: else a hang-up would be told
 * for ever.
 */
static void io_register(struct loop_source *s, unsigned before, unsigned events)
{
	struct epoll_event e = { .events = epoll_from(events), .data.ptr = s };
	int op = !before ? EPOLL_CTL_ADD : events ? EPOLL_CTL_MOD : EPOLL_CTL_DEL;

	s->events = events;
	if (before == events)
		return;
	/* closed before its source was freed: gone by itself */
	if (epoll_ctl(s->loop->io_epoll, op, s->fd, &e) < 0)
		assert(op == EPOLL_CTL_DEL);
}

struct loop_source *loop_io(struct loop *l, int fd, unsigned events, loop_io_fn *fn, void *user)
{
	struct loop_source *s = source_new(l, SRC_IO, user);

	s->fn.io = fn;
	s->fd = fd;
	io_register(s, 0, events);
	return s;
}

void loop_io_set(struct loop_source *s, unsigned events)
{
	assert(s->kind == SRC_IO);
	io_register(s, s->events, events);
}

static void io_remove(struct loop_source *s)
{
	struct loop *l = s->loop;

	io_register(s, s->events, 0);
	for (int i = l->ready_at; i < l->ready_n; i++)
		if (l->ready[i].data.ptr == s)
			l->ready[i].data.ptr = NULL;
}

/* ---- the loop ---- */

static int timers_init(struct timers *t, struct loop *l, clockid_t clock)
{
	int r;

	t->clock = clock;
	list_init(&t->armed);
	r = sd_event_add_time(l->event, &t->src, clock, UINT64_MAX, ACCURACY_US, on_time, t);
	if (r < 0)
		return r;
	return sd_event_source_set_enabled(t->src, SD_EVENT_OFF);
}

static int loop_init(struct loop *l)
{
	int r = sd_event_new(&l->event);

	if (r < 0)
		return r;
	r = timers_init(&l->mono, l, CLOCK_MONOTONIC);
	if (r < 0)
		return r;
	r = timers_init(&l->wall, l, CLOCK_REALTIME);
	if (r < 0)
		return r;
	l->io_epoll = epoll_create1(EPOLL_CLOEXEC);
	if (l->io_epoll < 0)
		return -errno;
	return sd_event_add_io(l->event, &l->io_src, l->io_epoll, EPOLLIN, on_io_ready, l);
}

static void signals_init(void)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, plain = { .sa_handler = SIG_DFL };
	sigset_t chld;

	/* An inherited "ignored" would make the kernel reap children behind our back. */
	sigaction(SIGCHLD, &plain, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);
}

int loop_new(struct loop **ret, struct ov_err *err)
{
	struct loop *l = mem_zalloc(1, sizeof(*l));
	int r;

	l->io_epoll = -1;
	list_init(&l->mono.armed);
	list_init(&l->wall.armed);
	r = loop_init(l);
	if (r < 0) {
		loop_free(l);
		return ov_fail_errno(err, -r, "event loop");
	}
	signals_init();
	*ret = l;
	return 0;
}

struct loop *loop_free(struct loop *l)
{
	if (!l)
		return NULL;
	assert(l->n_sources == 0);
	sd_event_source_disable_unref(l->mono.src);
	sd_event_source_disable_unref(l->wall.src);
	sd_event_source_disable_unref(l->io_src);
	sd_event_unref(l->event);
	if (l->io_epoll >= 0)
		close(l->io_epoll);
	vec_done(&l->after);
	mem_free(l);
	return NULL;
}

/* Whether the batch of callbacks under way is to be closed by the after-hooks. */
static bool batch_full(const struct loop *l)
{
	return l->quit || l->batch >= BATCH_MAX || loop_mono_us(l) - l->batch_since_us >= BATCH_US;
}

/* As sd_event_run, with the hook between looking at the clocks and calling whoever is due. */
static int look_around(struct loop *l, uint64_t wait_us)
{
	int r = sd_event_prepare(l->event);

	if (r == 0)
		r = sd_event_wait(l->event, wait_us);
	if (r >= 0 && l->on_time && l->on_time(l->on_time_user) && l->batch++ == 0)
		l->batch_since_us = loop_mono_us(l);
	if (r <= 0)
		return r;
	r = sd_event_dispatch(l->event);
	return r < 0 ? r : 1;
}

bool loop_step(struct loop *l, int64_t timeout_us)
{
	uint64_t wait_us = timeout_us < 0 ? UINT64_MAX : (uint64_t)timeout_us;
	int r;

	if (l->quit)
		return false;
	/*
	 * While a batch is open only what is ready now may join it; a new one begins with a
	 * look around.
	 */
	if (l->batch && io_next(l))
		r = 1;
	else
		r = look_around(l, l->batch || l->ready_at < l->ready_n ? 0 : wait_us);
	must(r);
	if (r == 0)
		l->ready_n = 0; /* whatever was reported is over */
	if (r > 0 && l->batch++ == 0)
		l->batch_since_us = loop_mono_us(l);
	if (l->batch && (r == 0 || batch_full(l)))
		run_after(l);
	return !l->quit;
}

int loop_run(struct loop *l)
{
	while (loop_step(l, -1)) {
	}
	return l->code;
}

void loop_quit(struct loop *l, int code)
{
	l->quit = true;
	l->code = code;
}

ov_time loop_now(const struct loop *l)
{
	uint64_t us = 0;

	must(sd_event_now(l->event, CLOCK_REALTIME, &us));
	return (ov_time)(us / 1000);
}

struct clock_offsets loop_clocks(const struct loop *l)
{
	uint64_t wall = 0, boot = 0, mono = 0;

	must(sd_event_now(l->event, CLOCK_REALTIME, &wall));
	must(sd_event_now(l->event, CLOCK_BOOTTIME, &boot));
	must(sd_event_now(l->event, CLOCK_MONOTONIC, &mono));
	return (struct clock_offsets){ (int64_t)(wall / 1000) - (int64_t)(boot / 1000),
		(int64_t)(boot / 1000) - (int64_t)(mono / 1000) };
}

void loop_on_time(struct loop *l, bool (*fn)(void *user), void *user)
{
	l->on_time = fn;
	l->on_time_user = user;
}

uint64_t loop_mono_us(const struct loop *l)
{
	uint64_t us = 0;

	must(sd_event_now(l->event, CLOCK_MONOTONIC, &us));
	return us;
}

uint64_t loop_iterations(const struct loop *l)
{
	uint64_t n = 0;

	must(sd_event_get_iteration(l->event, &n));
	return n;
}

uint64_t loop_callbacks(const struct loop *l, enum loop_cause cause)
{
	return l->callbacks[cause];
}

struct loop_source *loop_source_free(struct loop_source *s)
{
	if (!s)
		return NULL;
	timer_remove(s);
	if (s->kind == SRC_AFTER)
		after_remove(s->loop, s);
	if (s->kind == SRC_IO)
		io_remove(s);
	/* Disabling first: while its callback runs sd-event itself holds a reference. */
	sd_event_source_disable_unref(s->src);
	s->loop->n_sources--;
	mem_free(s);
	return NULL;
}
