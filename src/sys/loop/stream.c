#include "sys/loop/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "sys/file/file.h"
#include "sys/loop/loop.h"

enum { PIECE = 64 * 1024 };

struct stream {
	struct loop *loop;
	int fd;
	struct loop_source *io, *later; /* later: failed() or drained() is due */
	const struct stream_ops *ops;
	void *user;
	struct buf queue;
	size_t sent; /* bytes at the head of the queue that are gone already */
	size_t max_queued;
	struct ov_err broken; /* .code is 0 while it is whole */
	bool socket, can_read, paused, closed;
	unsigned busy; /* callbacks under way: freeing waits for them */
};

size_t stream_queued(const struct stream *s)
{
	return s->queue.n - s->sent;
}

static void stream_release(struct stream *s)
{
	if (s->closed && !s->busy)
		mem_free(s);
}

static void stream_rearm(struct stream *s)
{
	unsigned events = 0;

	if (s->closed)
		return;
	if (!s->broken.code && s->can_read && !s->paused)
		events |= LOOP_READ;
	if (!s->broken.code && stream_queued(s) > 0)
		events |= LOOP_WRITE;
	loop_io_set(s->io, events);
}

/* ---- what the owner is told ---- */

static void on_later(void *user)
{
	struct stream *s = user;

	s->later = loop_source_free(s->later);
	s->busy++;
	if (s->broken.code)
		s->ops->failed(s->user, &s->broken);
	else if (s->ops->drained && stream_queued(s) == 0)
		s->ops->drained(s->user);
	s->busy--;
	stream_release(s);
}

static void tell_later(struct stream *s)
{
	if (!s->later)
		s->later = loop_defer(s->loop, on_later, s);
}

static void stream_break(struct stream *s)
{
	buf_done(&s->queue);
	s->sent = 0;
	stream_rearm(s);
	tell_later(s);
}

static void stream_break_errno(struct stream *s, int errnum, const char *what)
{
	if (errnum == EPIPE || errnum == ECONNRESET)
		ov_fail(&s->broken, OV_EIO, "%s: the other side is gone", what);
	else
		ov_fail_errno(&s->broken, errnum, "%s", what);
	stream_break(s);
}

/* ---- writing ---- */

/* As write(2), but without SIGPIPE where that can be had; for pipes the loop has it ignored. */
static ssize_t send_some(struct stream *s, const char *p, size_t n)
{
	ssize_t w;

	do {
		w = s->socket ? send(s->fd, p, n, MSG_NOSIGNAL) : write(s->fd, p, n);
	} while (w < 0 && errno == EINTR);
	return w;
}

static void queue_consume(struct stream *s, size_t n)
{
	s->sent += n;
	if (s->sent == s->queue.n) {
		/* A burst's memory is given back; a small buffer is kept for the next message. */
		if (s->queue.cap > PIECE)
			buf_done(&s->queue);
		buf_clear(&s->queue);
		s->sent = 0;
	} else if (s->sent > s->queue.n / 2) {
		buf_consume(&s->queue, s->sent);
		s->sent = 0;
	}
}

static void stream_flush(struct stream *s)
{
	ssize_t n = send_some(s, s->queue.p + s->sent, stream_queued(s));

	if (n < 0 && errno == EAGAIN)
		return;
	if (n < 0) {
		stream_break_errno(s, errno, "send");
		return;
	}
	queue_consume(s, (size_t)n);
	stream_rearm(s);
	if (stream_queued(s) == 0 && s->ops->drained)
		tell_later(s);
}

bool stream_write(struct stream *s, str bytes)
{
	assert(!s->closed);
	if (s->broken.code)
		return false;
	if (bytes.n == 0)
		return true;
	/* Most messages fit into the socket's buffer: no trip through the loop. */
	if (stream_queued(s) == 0) {
		ssize_t n = send_some(s, bytes.p, bytes.n);

		if (n < 0 && errno != EAGAIN) {
			stream_break_errno(s, errno, "send");
			return false;
		}
		if (n > 0) {
			bytes.p += n;
			bytes.n -= (size_t)n;
		}
	}
	if (bytes.n > s->max_queued || stream_queued(s) > s->max_queued - bytes.n) {
		ov_fail(&s->broken, OV_ELIMIT, "send: more than %zu bytes wait for a slow reader",
				s->max_queued);
		stream_break(s);
		return false;
	}
	buf_adds(&s->queue, bytes);
	stream_rearm(s);
	return true;
}

/* ---- reading ---- */

static void stream_read(struct stream *s)
{
	char piece[PIECE];
	ssize_t n = s->socket ? recv(s->fd, piece, sizeof(piece), 0)
			      : read(s->fd, piece, sizeof(piece));

	if (n > 0) {
		s->ops->data(s->user, (str){ piece, (size_t)n });
	} else if (n == 0) {
		s->can_read = false;
		stream_rearm(s);
		s->ops->eof(s->user);
	} else if (errno != EAGAIN && errno != EINTR) {
		stream_break_errno(s, errno, "receive");
	}
}

static void on_io(void *user, int fd _unused_, unsigned events)
{
	struct stream *s = user;

	s->busy++;
	if ((events & LOOP_WRITE) && stream_queued(s) > 0)
		stream_flush(s);
	if ((events & LOOP_READ) && !s->broken.code && s->can_read && !s->paused)
		stream_read(s);
	s->busy--;
	stream_release(s);
}

void stream_pause(struct stream *s, bool paused)
{
	s->paused = paused;
	stream_rearm(s);
}

/* ---- life ---- */

static int check_fd(int fd, bool *ret_socket, bool *ret_can_read, struct ov_err *err)
{
	struct stat st;
	int flags;

	if (fstat(fd, &st) < 0)
		return ov_fail_errno(err, errno, "stream");
	if (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
		return ov_fail(err, OV_EINVALID, "stream: a file is no stream");
	flags = fcntl(fd, F_GETFL);
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
			fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
		return ov_fail_errno(err, errno, "stream");
	*ret_socket = S_ISSOCK(st.st_mode);
	*ret_can_read = (flags & O_ACCMODE) != O_WRONLY;
	return 0;
}

int stream_open(struct loop *l, int fd, const struct stream_ops *ops, void *user, size_t max_queued,
		struct stream **ret, struct ov_err *err)
{
	struct stream *s;
	bool is_socket = false, can_read = false;
	int r;

	assert(ops->data && ops->eof && ops->failed);
	r = check_fd(fd, &is_socket, &can_read, err);
	if (r < 0) {
		fd_closep(&fd);
		return r;
	}
	s = mem_zalloc(1, sizeof(*s));
	s->loop = l;
	s->fd = fd;
	s->ops = ops;
	s->user = user;
	s->max_queued = max_queued;
	s->socket = is_socket;
	s->can_read = can_read;
	s->io = loop_io(l, fd, can_read ? LOOP_READ : 0, on_io, s);
	*ret = s;
	return 0;
}

int stream_fd(const struct stream *s)
{
	return s->fd;
}

void stream_close(struct stream *s)
{
	if (!s || s->closed)
		return;
	s->closed = true;
	s->io = loop_source_free(s->io);
	s->later = loop_source_free(s->later);
	fd_closep(&s->fd);
	buf_done(&s->queue);
	stream_release(s);
}
