#include "net/rpcd.h"

#include "base/alloc.h"
#include "base/str.h"
#include "base/vec.h"
#include "data/message/jsonrpc.h"
#include "data/message/ndjson.h"
#include "net/admit.h"
#include "net/rpc_impl.h"
#include "net/unixsock_impl.h"
#include "sys/loop/loop.h"
#include "sys/loop/stream.h"
#include "sys/proc/peer.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	ACCEPTS_AT_ONCE =
			16, /* so that a flood of connections does not starve those that are open */
	ACCEPT_RETRY_MS = 100,
	BIG_BYTES = 256 * 1024, /* an answer whose memory is not kept for the next one */
};

struct rpcd {
	struct loop *loop;
	const struct rpcd_ops *ops;
	void *user;
	struct rpcd_limits limits;
	struct unixsock sock;
	struct loop_source *accepting;
	struct loop_source *accept_retry; /* out of descriptors: try again a little later */
	struct list conns;
	size_t conn_count, pending;
	struct buf out; /* scratch for one answer */
	bool draining;
};

struct rpc_watch {
	void (*fn)(void *user);
	void *user;
};

struct rpc_conn {
	struct rpcd *d;
	struct list link;
	struct stream *stream;
	struct ndjson in;
	uid_t uid;
	int pid; /* 0: not seen */
	struct rpc_who who;
	struct list calls; /* struct rpc_pending, unanswered */
	size_t pending;
	VEC(struct rpc_watch) watches;
	struct loop_source *kick; /* armed when an answer may have made room */
	bool big;                 /* it was given big answers */
	bool eof;                 /* nothing more will come */
	bool gone;                /* nobody will read either */
	bool exhausted;           /* nothing of what came is left to be handled */
	bool closing;             /* framing lost: read no more, send what is queued */
	bool stalled;             /* waits for an answer to read on or to close */
};

static void conn_close(struct rpc_conn *c)
{
	struct rpcd *d = c->d;

	list_remove(&c->link);
	d->conn_count--;
	d->pending -= c->pending;
	list_each (it, &c->calls) {
		struct rpc_pending *p = list_entry(it, struct rpc_pending, link);

		p->answered = NULL;
		p->call.conn = NULL;
		list_remove(&p->link);
	}
	stream_close(TAKE_PTR(c->stream));
	loop_source_free(c->kick);
	for (size_t i = 0; i < c->watches.n; i++)
		c->watches.p[i].fn(c->watches.p[i].user);
	vec_done(&c->watches);
	ndjson_done(&c->in);
	/*
	 * Not after each answer: who asks again gets the same memory, and new pages cost as much
	 * as it.
	 */
	if (c->big)
		mem_trim();
	mem_free(c);
}

static bool conn_send(struct rpc_conn *c, struct buf *line)
{
	bool ok;

	buf_addc(line, '\n');
	ok = stream_write(c->stream, buf_str(line));
	if (line->cap > BIG_BYTES) {
		c->big = true;
		buf_done(line);
	}
	buf_clear(line);
	return ok;
}

/* Reading waits for the answers that are owed and for the client to take those that were given. */
static bool conn_blocked(const struct rpc_conn *c)
{
	return c->closing || c->d->draining || c->pending >= c->d->limits.max_pending ||
			stream_queued(c->stream) > c->d->limits.max_queued / 4;
}

static bool conn_finished(const struct rpc_conn *c)
{
	bool settled = c->pending == 0 && stream_queued(c->stream) == 0;

	if (c->closing)
		return settled;
	if (!c->exhausted)
		return false;
	return c->gone || (settled && c->watches.n == 0);
}

static void conn_pump(struct rpc_conn *c);

static void conn_kicked(void *user)
{
	struct rpc_conn *c = user;

	c->kick = loop_source_free(c->kick);
	conn_pump(c);
}

/*
 * Answers are given from anywhere, also from inside the call: what they make possible (reading on,
 * closing) happens from the loop, so that nobody is called back or freed under his own feet.
 */
static void conn_kick(struct rpc_conn *c)
{
	if (c->stalled && !c->kick)
		c->kick = loop_defer(c->d->loop, conn_kicked, c);
}

/* How long a line may be that is sent now, without its newline. */
static size_t conn_room(const struct rpc_conn *c)
{
	size_t taken = stream_queued(c->stream) + 1;

	return c->d->limits.max_queued - MIN(taken, c->d->limits.max_queued);
}

static void conn_answered(struct rpc_pending *p, const value *result, const struct ov_err *err)
{
	struct rpc_conn *c = p->transport;

	list_remove(&p->link);
	c->pending--;
	c->d->pending--;
	if (!p->call.notification) {
		rpc_pending_write(p, result, err, conn_room(c), &c->d->out);
		conn_send(c, &c->d->out);
	}
	conn_kick(c);
}

static void conn_line(struct rpc_conn *c, str line)
{
	struct rpcd *d = c->d;
	struct rpc_pending *p;

	if (str_trim(line).n == 0)
		return;
	p = rpc_pending_read(line, d->limits.max_frame, &d->out);
	if (!p) {
		conn_send(c, &d->out);
		return;
	}
	p->call.via = RPC_VIA_SOCKET;
	p->call.uid = c->uid;
	p->call.who = c->who;
	p->call.conn = c;
	p->answered = conn_answered;
	p->transport = c;
	list_append(&c->calls, &p->link);
	c->pending++;
	d->pending++;
	d->ops->call(d->user, &p->call);
}

static void conn_oversized(struct rpc_conn *c, const struct ov_err *err)
{
	rpc_write_protocol_error(&c->d->out, NULL, RPC_INVALID_REQUEST, str_from(err->msg));
	conn_send(c, &c->d->out);
	c->closing = true;
}

/* One line, or at the end what came without a newline; false when there is none. */
static bool conn_step(struct rpc_conn *c)
{
	struct ov_err err = { 0 };
	str line;
	int r = ndjson_next(&c->in, &line, &err);

	if (r < 0) {
		conn_oversized(c, &err);
		return false;
	}
	if (r == 0) {
		if (!c->eof || c->exhausted)
			return false;
		c->exhausted = true;
		line = ndjson_rest(&c->in);
	}
	conn_line(c, line);
	return r > 0;
}

/* Handles what is there as far as the bounds allow, then closes, waits or reads on. */
static void conn_pump(struct rpc_conn *c)
{
	c->stalled = false; /* answers that are given meanwhile need not call us */
	while (!conn_blocked(c) && conn_step(c))
		;
	if (conn_finished(c)) {
		conn_close(c);
		return;
	}
	c->stalled = conn_blocked(c) || c->eof;
	stream_pause(c->stream, c->stalled);
}

static void conn_data(void *user, str bytes)
{
	struct rpc_conn *c = user;

	if (c->closing)
		return;
	ndjson_feed(&c->in, bytes.p, bytes.n);
	conn_pump(c);
}

static void conn_eof(void *user)
{
	struct rpc_conn *c = user;
	struct pollfd p = { .fd = stream_fd(c->stream) };

	c->eof = true;
	/* A hang-up is both halves: what was sent still counts, but there is nobody to answer. */
	c->gone = poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
	conn_pump(c);
}

/* Broken or too slow: in both cases there is nobody to tell. */
static void conn_failed(void *user, const struct ov_err *err _unused_)
{
	conn_close(user);
}

static void conn_drained(void *user)
{
	conn_pump(user);
}

static const struct stream_ops conn_stream_ops = {
	.data = conn_data,
	.eof = conn_eof,
	.failed = conn_failed,
	.drained = conn_drained,
};

/* The reason goes out in one try: somebody who is not let in gets no buffers of ours. */
static void refuse(int fd, int code, const char *why)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct ov_err err = { 0 };

	ov_fail(&err, code, "%s", why);
	rpc_write_error(&out, NULL, &err);
	buf_addc(&out, '\n');
	(void)!send(fd, out.p, out.n, MSG_NOSIGNAL | MSG_DONTWAIT);
	close(fd);
}

static bool peer_allowed(const struct rpcd *d, const struct peer *peer)
{
	if (d->ops->allow)
		return d->ops->allow(d->user, peer);
	return peer->uid == 0 || peer->uid == geteuid();
}

static struct admit_counts count_conns(const struct rpcd *d, const struct peer *peer)
{
	struct admit_counts n = { .conns = d->conn_count };

	list_each (it, &d->conns) {
		const struct rpc_conn *c = list_entry(it, struct rpc_conn, link);

		n.of_process += c->pid == peer->proc.pid;
		n.of_user += c->uid == peer->uid;
		n.guests += c->who.guest;
	}
	return n;
}

/* Why not; NULL: it may. Who it is, is asked last: that is a walk through its ancestors. */
static const char *check_room(const struct rpcd *d, const struct peer *peer, struct rpc_who *ret)
{
	const struct admit_limits l = { .conns = d->limits.max_conns,
		.per_process = d->limits.max_per_process,
		.per_user = d->limits.max_per_user,
		.guests = d->limits.max_guests,
		.reserved = d->limits.reserved };
	const struct admit_counts n = count_conns(d, peer);
	const char *why = admit_unknown(&l, &n, peer->uid == geteuid());

	if (why)
		return why;
	if (d->ops->accepted)
		d->ops->accepted(d->user, peer, ret);
	return admit_known(&l, &n, ret->guest);
}

static void conn_open(struct rpcd *d, int fd, const struct peer *peer)
{
	struct rpc_who who = { 0 };
	struct rpc_conn *c;
	const char *why;

	if (!peer_allowed(d, peer)) {
		refuse(fd, OV_EUNAUTHORIZED, "this user may not use this socket");
		return;
	}
	/* Now, since whoever called may have ended when its call is read. */
	why = check_room(d, peer, &who);
	if (why) {
		refuse(fd, OV_ELIMIT, why);
		return;
	}
	c = mem_zalloc(1, sizeof(*c));
	if (stream_open(d->loop, fd, &conn_stream_ops, c, d->limits.max_queued, &c->stream, NULL) <
			0) {
		mem_free(c);
		return;
	}
	c->d = d;
	c->uid = peer->uid;
	c->pid = peer->proc.pid;
	c->who = who;
	ndjson_init(&c->in, d->limits.max_frame);
	list_init(&c->calls);
	list_append(&d->conns, &c->link);
	d->conn_count++;
}

static void conn_accepted(struct rpcd *d, int fd)
{
	struct peer peer;

	if (!peer_of(fd, &peer)) {
		close(fd);
		return;
	}
	conn_open(d, fd, &peer);
	proc_done(&peer.proc);
}

static void accept_some(void *user, int fd, unsigned events _unused_)
{
	struct rpcd *d = user;

	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		int conn = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (conn >= 0) {
			conn_accepted(d, conn);
			continue;
		}
		if (errno == EINTR || errno == ECONNABORTED)
			continue;
		if (errno != EAGAIN) {
			/*
			 * Out of descriptors or memory: the socket stays readable, so look away
			 * for a while.
			 */
			loop_io_set(d->accepting, 0);
			loop_timer_in(d->accept_retry, ACCEPT_RETRY_MS);
		}
		return;
	}
}

static void accept_again(void *user)
{
	struct rpcd *d = user;

	if (!d->draining)
		loop_io_set(d->accepting, LOOP_READ);
}

int rpcd_open(struct loop *l, const char *path, const struct rpcd_ops *ops, void *user,
		const struct rpcd_limits *limits, struct rpcd **ret, struct ov_err *err)
{
	struct unixsock sock;
	struct rpcd *d;
	int r = unixsock_listen(path, &sock, err);

	if (r < 0)
		return r;
	d = mem_zalloc(1, sizeof(*d));
	d->loop = l;
	d->ops = ops;
	d->user = user;
	d->sock = sock;
	if (limits)
		d->limits = *limits;
	if (!d->limits.max_frame)
		d->limits.max_frame = 1024 * 1024;
	if (!d->limits.max_conns)
		d->limits.max_conns = 256;
	if (!d->limits.max_per_process)
		d->limits.max_per_process = d->limits.max_conns;
	if (!d->limits.max_per_user)
		d->limits.max_per_user = d->limits.max_conns;
	if (!d->limits.max_guests)
		d->limits.max_guests = d->limits.max_conns;
	if (!d->limits.max_pending)
		d->limits.max_pending = 64;
	if (!d->limits.max_queued)
		d->limits.max_queued = 4 * 1024 * 1024;
	list_init(&d->conns);
	d->accepting = loop_io(l, sock.fd, LOOP_READ, accept_some, d);
	d->accept_retry = loop_timer(l, accept_again, d);
	*ret = d;
	return 0;
}

bool rpcd_is_reachable(const struct rpcd *d)
{
	return unixsock_is_there(&d->sock);
}

int rpcd_listen_again(struct rpcd *d, struct ov_err *err)
{
	struct unixsock fresh;
	int r = unixsock_listen(d->sock.path, &fresh, err);

	if (r < 0)
		return r;
	/* Whoever waited at the old one for being accepted finds it closed, and comes again. */
	loop_source_free(d->accepting);
	close(d->sock.fd);
	d->sock = fresh;
	d->accepting = loop_io(d->loop, fresh.fd, d->draining ? 0 : LOOP_READ, accept_some, d);
	return 0;
}

void rpcd_close(struct rpcd *d)
{
	if (!d)
		return;
	loop_source_free(d->accepting);
	loop_source_free(d->accept_retry);
	unixsock_close(&d->sock);
	while (!list_empty(&d->conns))
		conn_close(list_entry(d->conns.next, struct rpc_conn, link));
	buf_done(&d->out);
	mem_free(d);
}

void rpcd_drain(struct rpcd *d)
{
	d->draining = true;
	loop_io_set(d->accepting, 0);
	list_each (it, &d->conns)
		stream_pause(list_entry(it, struct rpc_conn, link)->stream, true);
}

size_t rpcd_conns(const struct rpcd *d)
{
	return d->conn_count;
}

size_t rpcd_pending(const struct rpcd *d)
{
	return d->pending;
}

size_t rpcd_queued(const struct rpcd *d)
{
	size_t n = 0;

	list_each (it, &d->conns)
		n += stream_queued(list_entry(it, struct rpc_conn, link)->stream);
	return n;
}

bool rpc_conn_notify(struct rpc_conn *conn, str method, const value *params)
{
	rpc_write_notification(&conn->d->out, method, params);
	return conn_send(conn, &conn->d->out);
}

void rpc_conn_watch(struct rpc_conn *conn, void (*fn)(void *user), void *user)
{
	struct rpc_watch w = { fn, user };

	vec_push(&conn->watches, w);
}
