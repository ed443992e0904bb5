#include "drive/run_link.h"

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
#include "shim/proto.h"
#include "sys/file.h"
#include "sys/stream.h"

enum { QUEUE_MAX = RUN_QUEUED_MAX + RUN_SEND_MAX, REPLY_MAX = 256 };

struct run_link {
	struct loop *loop;
	const char *dir;
	bool ready;
	struct buf waiting; /* before the shim is ready */
	struct stream *stream;
	struct buf reply; /* a part of a line */
	struct ov_err failure;
};

struct run_link *run_link_new(struct loop *l, const char *dir)
{
	struct run_link *k = mem_zalloc(1, sizeof(*k));

	k->loop = l;
	k->dir = dir;
	k->waiting = k->reply = BUF_INIT;
	return k;
}

static void hang_up(struct run_link *k)
{
	stream_close(k->stream);
	k->stream = NULL;
	buf_done(&k->reply);
}

void run_link_close(struct run_link *k)
{
	hang_up(k);
	buf_done(&k->waiting);
	mem_free(k);
}

/* ---- answers ---- */

static void on_data(void *user, str bytes)
{
	struct run_link *k = user;
	str line;

	if (k->reply.n + bytes.n > REPLY_MAX + 65536) {
		ov_fail(&k->failure, OV_EIO, "the run's shim talks nonsense");
		hang_up(k);
		return;
	}
	buf_adds(&k->reply, bytes);
	for (size_t end; (end = str_find_byte(buf_str(&k->reply), '\n')) < k->reply.n;
			buf_consume(&k->reply, end + 1)) {
		line = str_sub(buf_str(&k->reply), 0, MIN(end, (size_t)REPLY_MAX));
		if (str_starts(line, STR("error ")))
			ov_fail(&k->failure, OV_ESTATE, STR_FMT, STR_ARG(str_sub(line, 6, line.n)));
	}
}

static void on_eof(void *user)
{
	hang_up(user);
}

static void on_failed(void *user, const struct ov_err *err)
{
	struct run_link *k = user;

	k->failure = *err;
	hang_up(k);
}

/* ---- requests ---- */

/* Through /proc, because a socket's path is at most 107 bytes and the folder's may be longer. */
static int dial(struct run_link *k, struct ov_err *err)
{
	static const struct stream_ops ops = { .data = on_data,
		.eof = on_eof,
		.failed = on_failed };
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	_cleanup_(fd_closep)
	int dir = open(k->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(fd_closep)
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

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
	if (k->ready)
		return;
	k->ready = true;
	if (k->waiting.n)
		transmit(k, buf_str(&k->waiting), &k->failure);
	buf_done(&k->waiting);
}

int run_link_request(struct run_link *k, str requests, struct ov_err *err)
{
	if (k->failure.code) {
		int r = ov_fail(err, k->failure.code, "%s", k->failure.msg);

		k->failure.code = 0;
		return r;
	}
	if (k->ready)
		return transmit(k, requests, err);
	if (k->waiting.n + requests.n > QUEUE_MAX)
		return ov_fail(err, OV_ELIMIT, "the run's shim has not come up yet");
	buf_adds(&k->waiting, requests);
	return 0;
}
