/*
 * One turn: sleep until something happens or the deadline comes, and say to the machine what it
 * was. Healthy, nothing but the deadline wakes it.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/host/clock.h"
#include "watch/guard/guard_impl.h"

enum { ASK_MS = 500 }; /* how often files are looked at where the kernel does not tell */

int64_t watch_mono_ms(void)
{
	return (int64_t)(clock_mono_us() / 1000);
}

int loop_open(struct guard *w, struct ov_err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a full quota is an error of write, not our end */
	signal(SIGHUP, SIG_IGN);  /* a terminal that is closed does not end what it watches over */
	w->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (w->signals < 0)
		return ov_fail_errno(err, errno, "watch signals");
	return 0;
}

static void read_signals(struct guard *w)
{
	struct signalfd_siginfo info;

	while (read(w->signals, &info, sizeof(info)) == sizeof(info)) {
		enum watch_event e = w->asked ? WE_AGAIN : WE_INTERRUPT;

		w->asked = true;
		watch_handle(w, e);
	}
}

static bool has_come(const struct guard *w)
{
	return w->due_ms >= 0 && watch_mono_ms() >= w->due_ms;
}

void loop_turn(struct guard *w)
{
	enum { SIGNALS, COMMAND, DAEMON, REMEDY, NOTIFY, COUNT };
	struct watched_daemon *d = &w->daemon;
	struct pollfd p[COUNT] = {
		[SIGNALS] = { w->signals, POLLIN, 0 },
		[COMMAND] = { d->command_ended ? -1 : d->command.pidfd, POLLIN, 0 },
		[DAEMON] = { d->proc.pidfd, POLLIN, 0 },
		[REMEDY] = { w->mending.proc.pidfd, POLLIN, 0 },
		[NOTIFY] = { w->vitals.notify, POLLIN, 0 },
	};
	int64_t wait = w->due_ms >= 0 ? MAX(w->due_ms - watch_mono_ms(), (int64_t)0) : -1;
	bool asks = !w->vitals.told;

	if (asks)
		wait = wait < 0 ? ASK_MS : MIN(wait, (int64_t)ASK_MS);
	if (poll(p, COUNT, (int)MIN(wait, (int64_t)OV_DAY)) < 0)
		return;
	if (p[SIGNALS].revents) {
		read_signals(w);
	} else if (p[DAEMON].revents || (p[COMMAND].revents && d->proc.pidfd < 0)) {
		guard_ended(w);
	} else if (p[COMMAND].revents) {
		d->command_ended = true; /* reaped with the daemon that it left */
	} else if (p[REMEDY].revents) {
		watch_handle(w, WE_MENDED);
	} else {
		if (p[NOTIFY].revents)
			guard_heard(w, vitals_hear(&w->vitals));
		if (asks && !w->queue_n) {
			(void)vitals_watch(&w->vitals, NULL);
			guard_heard(w, (struct vitals_news){ true, true });
		}
		/* A last look, in case that the kernel has not told of a registration. */
		if (!w->queue_n && has_come(w) && w->state == WS_STARTING)
			guard_heard(w, (struct vitals_news){ .registration = true });
		if (!w->queue_n && has_come(w))
			watch_post(w, WE_DEADLINE);
	}
}
