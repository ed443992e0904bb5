#include "watch/remedy/quick.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"
#include "sys/proc/proc.h"

enum { OUT, ERR, PROC, STOP, WATCHED };

struct running {
	const struct quick *q;
	struct proc proc;
	struct pollfd p[WATCHED];
	struct buf text[2];
	bool cut;
};

static void running_done(struct running *x)
{
	for (int i = OUT; i <= ERR; i++) {
		fd_closep(&x->p[i].fd);
		buf_done(&x->text[i]);
	}
	proc_done(&x->proc);
}

/* What is there now; closes it at its end. */
static void quick_take(struct running *x, int which)
{
	char piece[8192];
	ssize_t n;

	while ((n = read(x->p[which].fd, piece, sizeof(piece))) > 0) {
		size_t room = x->q->max - MIN(x->q->max, x->text[which].n);

		buf_add(&x->text[which], piece, MIN(room, (size_t)n));
		x->cut |= (size_t)n > room;
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR))
		fd_closep(&x->p[which].fd);
}

static int quick_start(struct running *x, struct ov_err *err)
{
	struct proc_spec spec = PROC_SPEC_INIT;
	int out[2] = { -1, -1 }, errors[2] = { -1, -1 }, r = 0;

	if (pipe2(out, O_CLOEXEC) < 0 || pipe2(errors, O_CLOEXEC) < 0)
		r = ov_fail_errno(err, errno, "starting %s", x->q->argv[0]);
	x->p[OUT] = (struct pollfd){ out[0], POLLIN, 0 };
	x->p[ERR] = (struct pollfd){ errors[0], POLLIN, 0 };
	spec.argv = x->q->argv;
	spec.env = x->q->env;
	spec.cwd = x->q->cwd;
	spec.out = out[1];
	spec.err = errors[1];
	if (r == 0)
		r = proc_spawn(&spec, &x->proc, err);
	fd_closep(&out[1]);
	fd_closep(&errors[1]);
	if (r < 0)
		return r;
	/* Ours alone: the command's ends are other descriptions. */
	(void)fcntl(out[0], F_SETFL, O_NONBLOCK);
	(void)fcntl(errors[0], F_SETFL, O_NONBLOCK);
	x->p[PROC] = (struct pollfd){ x->proc.pidfd, POLLIN, 0 };
	x->p[STOP] = (struct pollfd){ x->q->stop_fd, POLLIN, 0 };
	return 0;
}

/* To its end, and not to that of its output: what it left behind may hold that open. */
static int attend(struct running *x, struct ov_err *err)
{
	uint64_t deadline = clock_mono_us() + (uint64_t)x->q->timeout_ms * 1000;

	for (;;) {
		uint64_t now = clock_mono_us();
		int n = poll(x->p, WATCHED,
				now < deadline ? (int)((deadline - now) / 1000) + 1 : 0);

		if (n < 0 && errno != EINTR)
			return ov_fail_errno(err, errno, "waiting for %s", x->q->argv[0]);
		for (int i = OUT; n > 0 && i <= ERR; i++)
			if (x->p[i].revents)
				quick_take(x, i);
		if (n > 0 && x->p[PROC].revents)
			return 0;
		if (n > 0 && x->p[STOP].revents)
			return ov_fail(err, OV_ESTATE, "it was ended before %s had", x->q->argv[0]);
		if (n == 0)
			return ov_fail(err, OV_EUNAVAILABLE, "%s did not end within %d s",
					x->q->argv[0], x->q->timeout_ms / 1000);
	}
}

int quick_run(struct arena *a, const struct quick *q, struct quick_end *ret, struct ov_err *err)
{
	_cleanup_(running_done) struct running x = { .q = q,
		.proc.pidfd = -1,
		.p = { { .fd = -1 }, { .fd = -1 }, { .fd = -1 }, { .fd = -1 } } };
	struct proc_exit end;
	int r = quick_start(&x, err), reaped;

	if (r < 0)
		return r;
	r = attend(&x, err);
	if (r < 0) {
		(void)kill(-x.proc.pid, SIGKILL);
		(void)proc_ended(&x.proc, -1);
	}
	reaped = proc_reap(&x.proc, &end, r < 0 ? NULL : err);
	if (r < 0 || reaped < 0)
		return r < 0 ? r : reaped;
	for (int i = OUT; i <= ERR; i++)
		if (x.p[i].fd >= 0)
			quick_take(&x, i);
	*ret = (struct quick_end){ .status = end.signal ? 128 + end.signal : end.code,
		.out = arena_str(a, buf_str(&x.text[OUT])),
		.err = arena_str(a, buf_str(&x.text[ERR])),
		.cut = x.cut };
	return 0;
}
