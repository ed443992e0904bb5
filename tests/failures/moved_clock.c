/*
 * Preloaded into a program, moves its wall clock by as many milliseconds as the file OV_CLOCK_FILE
 * says: eight bytes, read afresh at each look, so that a test makes the clock jump by writing them.
 * Eight more say for how long the machine slept: the wall clock and the time since boot go on in
 * that, CLOCK_MONOTONIC does not. A timer that waits for a moment of the wall clock goes along with
 * a jump, as the kernel's do: a thread sets those that are armed again.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { FDS = 256, LOOK_NS = 5000000 };

/* Timers of the wall clock, by their descriptor. */
static struct {
	bool wall, armed;
	int flags;
	struct itimerspec at; /* as the program has it */
} timers[FDS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const _Atomic int64_t *moved_by; /* NULL: not at all */
static bool looking;

__attribute__((constructor)) static void begin(void)
{
	const char *path = getenv("OV_CLOCK_FILE");
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void *p;

	if (fd < 0)
		return;
	p = mmap(NULL, 2 * sizeof(int64_t), PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (p != MAP_FAILED)
		moved_by = p;
}

static int64_t slept_ms(void)
{
	return moved_by ? atomic_load(moved_by + 1) : 0;
}

static int64_t moved_ms(void)
{
	return moved_by ? atomic_load(moved_by) + slept_ms() : 0;
}

static bool is_wall(clockid_t id)
{
	return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE;
}

static void move(struct timespec *ts, int64_t ms)
{
	int64_t ns = ts->tv_nsec + ms % 1000 * 1000000;

	ts->tv_sec += ms / 1000 + (ns < 0 ? -1 : ns / 1000000000);
	ts->tv_nsec = ns < 0 ? ns + 1000000000 : ns % 1000000000;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	long r = syscall(SYS_clock_gettime, id, ts);

	if (r == 0 && is_wall(id))
		move(ts, moved_ms());
	if (r == 0 && id == CLOCK_BOOTTIME)
		move(ts, slept_ms());
	return (int)r;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
	struct timespec ts;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &ts) < 0)
		return -1;
	*tv = (struct timeval){ ts.tv_sec, ts.tv_nsec / 1000 };
	return 0;
}

time_t time(time_t *ret)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_REALTIME, &ts) < 0)
		return (time_t)-1;
	if (ret)
		*ret = ts.tv_sec;
	return ts.tv_sec;
}

static int set(int fd, int flags, const struct itimerspec *at, struct itimerspec *old)
{
	struct itimerspec real = *at;

	if ((flags & TFD_TIMER_ABSTIME) && (at->it_value.tv_sec || at->it_value.tv_nsec)) {
		move(&real.it_value, -moved_ms());
		if (real.it_value.tv_sec < 0)
			real.it_value = (struct timespec){ 0, 1 }; /* long ago */
	}
	return (int)syscall(SYS_timerfd_settime, fd, flags, &real, old);
}

static void *look(void *unused)
{
	int64_t known = moved_ms();

	(void)unused;
	for (;;) {
		nanosleep(&(struct timespec){ 0, LOOK_NS }, NULL);
		if (moved_ms() == known)
			continue;
		known = moved_ms();
		pthread_mutex_lock(&lock);
		for (int fd = 0; fd < FDS; fd++)
			if (timers[fd].wall && timers[fd].armed)
				(void)set(fd, timers[fd].flags, &timers[fd].at, NULL);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

/* A thread that takes no signal: those are for the program. */
static void look_out(void)
{
	pthread_t thread;
	sigset_t all, old;

	if (looking || !moved_by)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	looking = pthread_create(&thread, NULL, look, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

int timerfd_create(clockid_t id, int flags)
{
	int fd = (int)syscall(SYS_timerfd_create, id, flags);

	if (fd < 0 || fd >= FDS)
		return fd;
	pthread_mutex_lock(&lock);
	timers[fd].wall = is_wall(id);
	timers[fd].armed = false;
	if (timers[fd].wall)
		look_out();
	pthread_mutex_unlock(&lock);
	return fd;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *at, struct itimerspec *old)
{
	int r;

	if (fd < 0 || fd >= FDS || !timers[fd].wall)
		return (int)syscall(SYS_timerfd_settime, fd, flags, at, old);
	pthread_mutex_lock(&lock);
	timers[fd].flags = flags;
	timers[fd].at = *at;
	timers[fd].armed = flags & TFD_TIMER_ABSTIME;
	r = set(fd, flags, at, old);
	pthread_mutex_unlock(&lock);
	return r;
}
