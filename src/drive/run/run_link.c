#include "drive/run/run_link.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "shim/proto.h"
#include "sys/file/file.h"
#include "sys/loop/loop.h"
#include "sys/loop/stream.h"

enum { QUEUE_MAX = RUN_QUEUED_MAX + RUN_SEND_MAX, REPLY_MAX = 256, ANSWER_MS = 30 * 1000 };

/* Requests of one call that have not all been answered. */
struct question {
	size_t left;
	run_link_fn *fn;
	void *user;
	struct ov_err refused; /* the first refusal */
};

struct run_link {
	struct loop *loop;
	const char *dir;
	bool ready;
	struct buf waiting; /* before the shim is ready */
	struct stream *stream;
	struct buf reply;             /* a part of a line */
	struct ov_err failure;        /* for the next request */
	VEC(struct question) asked;   /* oldest first */
	struct loop_source *patience; /* armed while something is asked */
	bool telling;
};

static void out_of_patience(void *user);

struct run_link *run_link_new(struct loop *l, const char *dir)
{
	struct run_link *k = mem_zalloc(1, sizeof(*k));

	k->loop = l;
	k->dir = dir;
	k->waiting = k->reply = BUF_INIT;
	k->patience = loop_timer(l, out_of_patience, k);
	return k;
}

/* ---- answers ---- */

static void run_link_tell(struct run_link *k, const struct question *q, const struct ov_err *err)
{
	if (!q->fn) {
		if (err)
			k->failure = *err;
		return;
	}
	k->telling = true;
	q->fn(q->user, err ? err->code : 0, err);
	k->telling = false;
}

/* The line is gone, and with it every answer that is still out. */
static void hang_up(struct run_link *k, const struct ov_err *why)
{
	struct ov_err unknown = *why;
	VEC(struct question) lost = { 0 };

	unknown.code = OV_EUNAVAILABLE;
	loop_timer_off(k->patience);
	stream_close(k->stream);
	k->stream = NULL;
	buf_done(&k->reply);
	buf_done(&k->waiting);
	lost.p = k->asked.p;
	lost.n = k->asked.n;
	memset(&k->asked, 0, sizeof(k->asked));
	for (size_t i = 0; i < lost.n; i++)
		run_link_tell(k, &lost.p[i], &unknown);
	vec_done(&lost);
}

void run_link_close(struct run_link *k)
{
	struct ov_err err = { 0 };

	assert(!k->telling);
	ov_fail(&err, OV_EUNAVAILABLE, "the line to the run was closed before it answered");
	hang_up(k, &err);
	loop_source_free(k->patience);
	vec_done(&k->asked);
	mem_free(k);
}

static void out_of_patience(void *user)
{
	struct ov_err err = { 0 };

	ov_fail(&err, OV_EUNAVAILABLE, "the run's shim did not answer in %d seconds",
			ANSWER_MS / 1000);
	hang_up(user, &err);
}

static void take_answer(struct run_link *k, str line)
{
	struct question *q = &k->asked.p[0], done;

	if (str_starts(line, STR("error ")) && q->refused.code == 0)
		ov_fail(&q->refused, OV_ESTATE, STR_FMT, STR_ARG(str_sub(line, 6, line.n)));
	if (--q->left > 0)
		return;
	done = *q;
	vec_remove(&k->asked, 0);
	if (k->asked.n)
		loop_timer_in(k->patience, ANSWER_MS);
	else
		loop_timer_off(k->patience);
	run_link_tell(k, &done, done.refused.code ? &done.refused : NULL);
}

static void on_data(void *user, str bytes)
{
	struct run_link *k = user;
	struct ov_err err = { 0 };

	buf_adds(&k->reply, bytes);
	for (size_t end; (end = str_find_byte(buf_str(&k->reply), '\n')) < k->reply.n &&
			k->asked.n;) {
		_cleanup_(buf_done) struct buf line = BUF_INIT;

		/* Copied: whoever is told may ask again, and find the line broken. */
		buf_add(&line, k->reply.p, MIN(end, (size_t)REPLY_MAX));
		buf_consume(&k->reply, end + 1);
		take_answer(k, buf_str(&line));
	}
	/* An answer to nothing, or one without an end. */
	if (k->reply.n > REPLY_MAX || (k->reply.n && !k->asked.n)) {
		ov_fail(&err, OV_EIO, "the run's shim talks nonsense");
		hang_up(k, &err);
	}
}

static void on_eof(void *user)
{
	struct ov_err err = { 0 };

	ov_fail(&err, OV_EIO, "the run's shim hung up");
	hang_up(user, &err);
}

static void on_failed(void *user, const struct ov_err *err)
{
	struct run_link *k = user;

	k->failure = *err;
	hang_up(k, err);
}

/* ---- requests ---- */

/* Through /proc, because a socket's path is at most 107 bytes and the folder's may be longer. */
static int dial(struct run_link *k, struct ov_err *err)
{
	static const struct stream_ops ops = { .data = on_data,
		.eof = on_eof,
		.failed = on_failed };
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	_cleanup_(fd_closep) int dir = open(k->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(fd_closep) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0);

	if (dir < 0 || fd < 0)
		return ov_fail_errno(err, errno, "%s", k->dir);
	snprintf(at.sun_path, sizeof(at.sun_path), "/proc/self/fd/%d/" RUN_SOCKET, dir);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0)
		return ov_fail(err, OV_EUNAVAILABLE, "the shim of %s does not answer: %s", k->dir,
				strerror(errno));
	return stream_open(k->loop, TAKE_FD(fd), &ops, k, QUEUE_MAX, &k->stream, err);
}

static int transmit(struct run_link *k, str requests, struct ov_err *err)
{
	int r = k->stream ? 0 : dial(k, err);

	if (r < 0)
		return r;
	/* Asked first, because a stream that is over its bound drops what it had accepted. */
	if (stream_queued(k->stream) + requests.n > QUEUE_MAX)
		return ov_fail(err, OV_ELIMIT, "the run's shim does not read its requests");
	if (!stream_write(k->stream, requests))
		return ov_fail(err, OV_EIO, "the line to the run's shim is broken");
	return 0;
}

void run_link_ready(struct run_link *k)
{
	struct ov_err err = { 0 };

	if (k->ready)
		return;
	k->ready = true;
	if (k->waiting.n && transmit(k, buf_str(&k->waiting), &err) < 0)
		hang_up(k, &err);
	buf_done(&k->waiting);
}

static void expect(struct run_link *k, size_t n, run_link_fn *fn, void *user)
{
	if (!k->asked.n)
		loop_timer_in(k->patience, ANSWER_MS);
	vec_push(&k->asked, ((struct question){ .left = n, .fn = fn, .user = user }));
}

int run_link_request(struct run_link *k, str requests, size_t n, run_link_fn *fn, void *user,
		struct ov_err *err)
{
	int r = 0;

	/* Who is told of its own request need not hear of an earlier one. */
	if (k->failure.code && !fn) {
		r = ov_fail(err, k->failure.code, "%s", k->failure.msg);
		k->failure.code = 0;
		return r;
	}
	if (k->ready)
		r = transmit(k, requests, err);
	else if (k->waiting.n + requests.n > QUEUE_MAX)
		r = ov_fail(err, OV_ELIMIT, "the run's shim has not come up yet");
	else
		buf_adds(&k->waiting, requests);
	if (r == 0 && n)
		expect(k, n, fn, user);
	return r;
}
