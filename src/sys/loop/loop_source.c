/* Signals, processes, files, and what is done from the loop: see loop.c. */
#include <errno.h>
#include <signal.h>
#include <sys/inotify.h>

#include "base/err.h"
#include "sys/loop/loop_impl.h"

static int on_signal(sd_event_source *src _unused_, const struct signalfd_siginfo *si,
		void *userdata)
{
	struct loop_source *s = userdata;

	s->loop->callbacks[s->kind]++;
	s->fn.signal(s->user, (int)si->ssi_signo);
	return 0;
}

struct loop_source *loop_signal(struct loop *l, int signo, loop_signal_fn *fn, void *user)
{
	struct loop_source *s = source_new(l, SRC_SIGNAL, user);
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, signo);
	must(sigprocmask(SIG_BLOCK, &set, NULL));
	s->fn.signal = fn;
	must(sd_event_add_signal(l->event, &s->src, signo, on_signal, s));
	must(sd_event_source_set_priority(s->src, LOOP_SIGNAL));
	return s;
}

static int on_pidfd(sd_event_source *src _unused_, int fd _unused_, uint32_t revents _unused_,
		void *userdata)
{
	struct loop_source *s = userdata;

	s->loop->callbacks[s->kind]++;
	s->fn.call(s->user);
	return 0;
}

struct loop_source *loop_pidfd(struct loop *l, int pidfd, loop_fn *fn, void *user)
{
	struct loop_source *s = source_new(l, SRC_PIDFD, user);

	s->fn.call = fn;
	must(sd_event_add_io(l->event, &s->src, pidfd, EPOLLIN, on_pidfd, s));
	must(sd_event_source_set_priority(s->src, LOOP_CHILD));
	must(sd_event_source_set_enabled(s->src, SD_EVENT_ONESHOT));
	return s;
}

static int on_watch(sd_event_source *src _unused_, const struct inotify_event *ev, void *userdata)
{
	struct loop_source *s = userdata;

	s->loop->callbacks[s->kind]++;
	s->fn.watch(s->user, ev->mask, ev->len ? ev->name : NULL);
	return 0;
}

int loop_watch(struct loop *l, int fd, uint32_t mask, loop_watch_fn *fn, void *user,
		struct loop_source **ret, struct ov_err *err)
{
	struct loop_source *s = source_new(l, SRC_WATCH, user);
	int r;

	s->fn.watch = fn;
	r = sd_event_add_inotify_fd(l->event, &s->src, fd, mask, on_watch, s);
	if (r < 0) {
		loop_source_free(s);
		ov_fail_errno(err, -r, "inotify watch");
		if (r != -EMFILE && r != -ENOSPC)
			return OV_EIO;
		return ov_next(err,
				"sysctl fs.inotify.max_user_instances "
				"fs.inotify.max_user_watches");
	}
	must(sd_event_source_set_priority(s->src, LOOP_NORMAL));
	*ret = s;
	return 0;
}

static int on_defer(sd_event_source *src _unused_, void *userdata)
{
	struct loop_source *s = userdata;

	s->loop->callbacks[s->kind]++;
	s->fn.call(s->user);
	return 0;
}

struct loop_source *loop_defer(struct loop *l, loop_fn *fn, void *user)
{
	struct loop_source *s = source_new(l, SRC_DEFER, user);

	s->fn.call = fn;
	must(sd_event_add_defer(l->event, &s->src, on_defer, s));
	must(sd_event_source_set_priority(s->src, LOOP_NORMAL));
	return s;
}
