#include "sys/loop/job.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "sys/file/file.h"
#include "sys/loop/loop.h"

enum {
	PIECE = 64 * 1024,
	DEFAULT_MAX_OUTPUT = 1024 * 1024,
	KILL_AFTER_MS = 2000,
	/* How long output may still come from others after the child itself has ended. */
	LINGER_MS = 100,
	/* More than any pipe holds: what the child wrote before its end is read at once. */
	DRAIN_BYTES = 2 * 1024 * 1024,
	ABANDON_MS = 1000,
};

/* One of stdout and stderr. */
struct job_capture {
	struct job *job;
	int fd; /* -1 after the end */
	struct loop_source *io;
	struct buf b;
	bool cut;
};

struct job {
	struct loop *loop;
	struct proc proc;
	struct loop_source *exit_src, *timer, *in_io;
	struct job_capture out, err;
	int in_fd;
	struct buf input;
	size_t written;
	size_t max_output;
	bool keep_tail, ending, exited, timed_out, reported;
	job_done_fn *done;
	void *user;
};

/* ---- output ---- */

static void capture_add(struct job_capture *c, const char *p, size_t n)
{
	size_t max = c->job->max_output, room;

	if (c->job->keep_tail) {
		buf_add(&c->b, p, n);
		/* Cut in big steps, so that each byte is moved a bounded number of times. */
		if (c->b.n > 2 * max + PIECE) {
			buf_consume(&c->b, c->b.n - max);
			c->cut = true;
		}
		return;
	}
	room = max - c->b.n;
	buf_add(&c->b, p, MIN(n, room));
	if (n > room)
		c->cut = true;
}

static str capture_result(struct job_capture *c)
{
	if (c->b.n > c->job->max_output) {
		buf_consume(&c->b, c->b.n - c->job->max_output);
		c->cut = true;
	}
	return buf_str(&c->b);
}

static void capture_close(struct job_capture *c)
{
	c->io = loop_source_free(c->io);
	fd_closep(&c->fd);
}

/* One piece; false when there is nothing more now. */
static bool capture_read(struct job_capture *c)
{
	char piece[PIECE];
	ssize_t n;

	if (c->fd < 0)
		return false;
	n = read(c->fd, piece, sizeof(piece));
	if (n > 0) {
		capture_add(c, piece, (size_t)n);
		return true;
	}
	if (n < 0 && errno == EINTR)
		return true;
	if (n == 0 || errno != EAGAIN)
		capture_close(c);
	return false;
}

static void capture_drain(struct job_capture *c)
{
	for (int i = 0; i < DRAIN_BYTES / PIECE && capture_read(c); i++) {
	}
}

/* ---- input ---- */

static void input_close(struct job *j)
{
	j->in_io = loop_source_free(j->in_io);
	fd_closep(&j->in_fd);
	buf_done(&j->input);
}

static void on_input(void *user, int fd, unsigned events _unused_)
{
	struct job *j = user;
	ssize_t n = write(fd, j->input.p + j->written, j->input.n - j->written);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	/* A child that does not read its input is no error of the job: its exit status tells. */
	if (n < 0 || (j->written += (size_t)n) == j->input.n)
		input_close(j);
}

/* ---- the end ---- */

static void signal_group(struct job *j, int signo)
{
	/* Safe until the leader is reaped: its number cannot be given to anybody else before. */
	kill(-j->proc.pid, signo);
}

static void job_release(struct job *j)
{
	input_close(j);
	capture_close(&j->out);
	capture_close(&j->err);
	j->exit_src = loop_source_free(j->exit_src);
	j->timer = loop_source_free(j->timer);
	proc_done(&j->proc);
}

static void job_job_free(struct job *j)
{
	job_release(j);
	buf_done(&j->out.b);
	buf_done(&j->err.b);
	mem_free(j);
}

static void job_report(struct job *j)
{
	struct job_result r = { .timed_out = j->timed_out };

	if (j->ending)
		signal_group(j, SIGKILL);
	/* Cannot fail: it is our child and it has ended. */
	if (proc_reap(&j->proc, &r.exit, NULL) < 0)
		r.exit = (struct proc_exit){ .code = -1 };
	job_release(j);
	r.out = capture_result(&j->out);
	r.err = capture_result(&j->err);
	r.out_cut = j->out.cut;
	r.err_cut = j->err.cut;
	j->reported = true;
	j->done(j->user, &r);
	job_job_free(j);
}

static void job_on_output(void *user, int fd _unused_, unsigned events _unused_)
{
	struct job_capture *c = user;
	struct job *j = c->job;

	capture_read(c);
	if (j->exited && j->out.fd < 0 && j->err.fd < 0)
		job_report(j);
}

static void on_exit_seen(void *user)
{
	struct job *j = user;

	j->exited = true;
	input_close(j);
	/* The exit is served before the pipes: read the last words first. */
	capture_drain(&j->out);
	capture_drain(&j->err);
	if (j->out.fd < 0 && j->err.fd < 0)
		job_report(j);
	else
		loop_timer_in(j->timer, LINGER_MS);
}

static void job_end(struct job *j)
{
	if (j->ending || j->exited)
		return;
	j->ending = true;
	signal_group(j, SIGTERM);
	signal_group(j, SIGCONT); /* a stopped process sees no SIGTERM */
	loop_timer_in(j->timer, KILL_AFTER_MS);
}

/* The timeout, then the grace after SIGTERM, or the end of the wait for others' output. */
static void job_on_timer(void *user)
{
	struct job *j = user;

	if (j->exited) {
		job_report(j);
	} else if (j->ending) {
		signal_group(j, SIGKILL);
	} else {
		j->timed_out = true;
		job_end(j);
	}
}

int job_pid(const struct job *j)
{
	return j->exited ? 0 : j->proc.pid;
}

void job_abandon(struct job *j)
{
	struct proc_exit ignored;

	if (j->reported)
		return;
	signal_group(j, SIGKILL);
	if (proc_ended(&j->proc, ABANDON_MS))
		(void)proc_reap(&j->proc, &ignored, NULL);
	job_job_free(j);
}

/* ---- starting ---- */

struct pipes {
	int in[2], out[2], err[2]; /* as of pipe(2) */
};

static void pipes_done(struct pipes *p)
{
	int *all[] = { p->in, p->out, p->err };

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		fd_closep(&all[i][0]);
		fd_closep(&all[i][1]);
	}
}

/* Our end does not block; the child's does, since programs do not expect otherwise. */
static int pipe_make(int fds[2], int ours)
{
	if (pipe2(fds, O_CLOEXEC) < 0 || fcntl(fds[ours], F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	return 0;
}

static int pipes_make(struct pipes *p, bool input)
{
	int r = pipe_make(p->out, 0);

	if (r == 0)
		r = pipe_make(p->err, 0);
	if (r == 0 && input)
		r = pipe_make(p->in, 1);
	return r;
}

static void capture_start(struct job_capture *c, struct job *j, int fd)
{
	c->job = j;
	c->fd = fd;
	c->io = loop_io(j->loop, fd, LOOP_READ, job_on_output, c);
}

static struct job *job_new(struct loop *l, const struct job_spec *spec, struct pipes *p,
		struct proc proc)
{
	struct job *j = mem_zalloc(1, sizeof(*j));

	j->loop = l;
	j->proc = proc;
	j->max_output = spec->max_output ? spec->max_output : DEFAULT_MAX_OUTPUT;
	j->keep_tail = spec->keep_tail;
	capture_start(&j->out, j, TAKE_FD(p->out[0]));
	capture_start(&j->err, j, TAKE_FD(p->err[0]));
	j->in_fd = TAKE_FD(p->in[1]);
	if (j->in_fd >= 0) {
		buf_adds(&j->input, spec->input);
		j->in_io = loop_io(l, j->in_fd, LOOP_WRITE, on_input, j);
	}
	j->exit_src = loop_pidfd(l, proc.pidfd, on_exit_seen, j);
	j->timer = loop_timer(l, job_on_timer, j);
	if (spec->timeout_ms > 0)
		loop_timer_in(j->timer, spec->timeout_ms);
	return j;
}

int job_start(struct loop *l, const struct job_spec *spec, job_done_fn *done, void *user,
		struct job **ret, struct ov_err *err)
{
	_cleanup_(pipes_done) struct pipes p = { { -1, -1 }, { -1, -1 }, { -1, -1 } };
	struct proc_spec ps = spec->proc;
	struct proc proc;
	struct job *j;
	int r = pipes_make(&p, spec->input.n > 0);

	if (r < 0)
		return ov_fail_errno(err, -r, "pipes for %s", ps.argv[0]);
	ps.in = p.in[0];
	ps.out = p.out[1];
	ps.err = p.err[1];
	r = proc_spawn(&ps, &proc, err);
	if (r < 0)
		return r;
	j = job_new(l, spec, &p, proc);
	j->done = done;
	j->user = user;
	if (ret)
		*ret = j;
	return 0;
}
