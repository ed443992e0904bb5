#include "net/httpd_impl.h"

#include "base/alloc.h"
#include "sys/file/file.h"
#include "sys/loop/loop.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	CONNECTION_MEMORY = 32 * 1024, /* headers of a request; more is answered 431 */
	LISTEN_BACKLOG = SOMAXCONN,    /* a burst that is dropped costs its clients a second */
};

/* MHD may have more to do without any descriptor becoming ready: it says so by its timeout. */
static void httpd_run(struct httpd *h)
{
	MHD_UNSIGNED_LONG_LONG ms;

	h->again = false;
	MHD_run(h->mhd);
	if (h->again)
		loop_timer_in(h->timer, 0);
	else if (MHD_get_timeout(h->mhd, &ms) == MHD_YES)
		loop_timer_in(h->timer, ms > INT32_MAX ? INT32_MAX : (int64_t)ms);
	else
		loop_timer_off(h->timer);
}

static void httpd_ready(void *user, int fd _unused_, unsigned events _unused_)
{
	httpd_run(user);
}

static void httpd_timeout(void *user)
{
	httpd_run(user);
}

/*
 * Neither a resumed connection nor the end of one shows in MHD's epoll fd; the latter matters when
 * MHD had stopped listening, at its limit or for lack of descriptors.
 */
static void httpd_run_again(struct httpd *h)
{
	h->again = true;
	loop_timer_in(h->timer, 0);
}

void http_pause(struct http_pause *p)
{
	list_append(&p->h->suspended, &p->link);
	MHD_suspend_connection(p->mhd);
}

void http_resume(struct http_pause *p)
{
	if (list_empty(&p->link))
		return;
	list_remove(&p->link);
	MHD_resume_connection(p->mhd);
	httpd_run_again(p->h);
}

static void deadline_arm(struct httpd *h)
{
	uint64_t now = loop_mono_us(h->loop);
	struct http_conn *first;

	if (list_empty(&h->waiting)) {
		loop_timer_off(h->deadline);
		return;
	}
	first = list_entry(h->waiting.next, struct http_conn, link);
	loop_timer_in(h->deadline,
			first->due_us <= now ? 0 : (int64_t)((first->due_us - now) / 1000 + 1));
}

/* MHD's own timeout starts anew with every byte; this one does not, against very slow senders. */
static void deadline_passed(void *user)
{
	struct httpd *h = user;
	uint64_t now = loop_mono_us(h->loop);

	while (!list_empty(&h->waiting)) {
		struct http_conn *c = list_entry(h->waiting.next, struct http_conn, link);

		if (c->due_us > now)
			break;
		list_remove(&c->link);
		shutdown(c->fd, SHUT_RDWR);
	}
	deadline_arm(h);
}

static void conn_wait(struct http_conn *c)
{
	bool first = list_empty(&c->h->waiting);

	list_remove(&c->link);
	c->due_us = loop_mono_us(c->h->loop) + (uint64_t)c->h->options.request_ms * 1000;
	list_append(&c->h->waiting, &c->link);
	if (first)
		deadline_arm(c->h);
}

static void conn_arrived(struct http_conn *c)
{
	bool first = c->h->waiting.next == &c->link;

	list_remove(&c->link);
	if (first)
		deadline_arm(c->h);
}

static struct http_conn *conn_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd,
			MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

void http_conn_wait(struct MHD_Connection *mhd)
{
	struct http_conn *c = conn_of(mhd);

	if (c)
		conn_wait(c);
}

void http_conn_arrived(struct MHD_Connection *mhd)
{
	struct http_conn *c = conn_of(mhd);

	if (c)
		conn_arrived(c);
}

/* Asked for when it is wanted: most connections are never asked about. */
struct http_link *http_conn_link(struct MHD_Connection *mhd)
{
	struct http_conn *c = conn_of(mhd);
	socklen_t n = sizeof(c->to.client), k = sizeof(c->to.server);

	if (!c)
		return NULL;
	if (!c->to.client.sin_port &&
			(getpeername(c->fd, (struct sockaddr *)&c->to.client, &n) < 0 ||
					getsockname(c->fd, (struct sockaddr *)&c->to.server, &k) <
							0))
		return NULL;
	return &c->to;
}

static void on_connection(void *cls, struct MHD_Connection *mhd, void **context,
		enum MHD_ConnectionNotificationCode what)
{
	struct httpd *h = cls;
	struct http_conn *c = *context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *info = MHD_get_connection_info(mhd,
				MHD_CONNECTION_INFO_CONNECTION_FD);

		c = mem_zalloc(1, sizeof(*c));
		c->h = h;
		c->fd = info->connect_fd;
		list_init(&c->link);
		h->conn_count++;
		conn_wait(c);
		*context = c;
	} else if (c) {
		conn_arrived(c);
		h->conn_count--;
		httpd_run_again(h);
		mem_free(c->to.note);
		mem_free(c);
		*context = NULL;
	}
}

static int listen_loopback(uint16_t port, int *ret_fd, uint16_t *ret_port, struct ov_err *err)
{
	struct sockaddr_in addr = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t n = sizeof(addr);
	_cleanup_(fd_closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			0);

	if (fd < 0)
		return ov_fail_errno(err, errno, "socket");
	/* A port of our own that is still in TIME_WAIT does not count as taken. */
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int)) < 0)
		return ov_fail_errno(err, errno, "setsockopt");
	if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0 ||
			listen(fd, LISTEN_BACKLOG) < 0) {
		if (errno != EADDRINUSE)
			return ov_fail_errno(err, errno, "listen on 127.0.0.1:%u", (unsigned)port);
		ov_fail(err, OV_ECONFLICT, "port %u of 127.0.0.1 is taken", (unsigned)port);
		return ov_next(err, "set http.port to another port, or to 0 for any free one");
	}
	if (getsockname(fd, (struct sockaddr *)&addr, &n) < 0)
		return ov_fail_errno(err, errno, "getsockname");
	*ret_port = ntohs(addr.sin_port);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

static struct MHD_Daemon *start_mhd(struct httpd *h, int fd)
{
	/* No error log: libraries do not write to our stderr. */
	return MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, h->port, NULL, NULL,
			http_on_request, h, MHD_OPTION_LISTEN_SOCKET, fd,
			MHD_OPTION_CONNECTION_LIMIT, h->options.max_connections,
			MHD_OPTION_CONNECTION_TIMEOUT, h->options.idle_s,
			MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
			MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED,
			http_on_completed, h, MHD_OPTION_NOTIFY_CONNECTION, on_connection, h,
			MHD_OPTION_END);
}

static bool needs_token(const struct httpd_options *o)
{
	for (size_t i = 0; i < o->route_count; i++)
		if (!(o->routes[i].flags & HTTPD_OPEN))
			return true;
	return false;
}

static struct httpd *httpd_new(struct loop *l, const struct httpd_options *o, uint16_t port)
{
	struct httpd *h = mem_zalloc(1, sizeof(*h));

	h->loop = l;
	h->port = port;
	h->options = *o;
	h->options.token = (str){ mem_dup(o->token.p ? o->token.p : "", o->token.n), o->token.n };
	if (!h->options.max_connections)
		h->options.max_connections = 128;
	if (!h->options.idle_s)
		h->options.idle_s = 30;
	if (!h->options.request_ms)
		h->options.request_ms = 60 * OV_SECOND;
	list_init(&h->waiting);
	list_init(&h->suspended);
	h->timer = loop_timer(l, httpd_timeout, h);
	h->deadline = loop_timer(l, deadline_passed, h);
	return h;
}

static void httpd_free(struct httpd *h)
{
	loop_source_free(h->ready);
	loop_source_free(h->timer);
	loop_source_free(h->deadline);
	mem_free((char *)h->options.token.p);
	mem_free(h);
}

int httpd_open(struct loop *l, const struct httpd_options *o, struct httpd **ret,
		struct ov_err *err)
{
	const union MHD_DaemonInfo *info;
	struct httpd *h;
	uint16_t port = 0;
	int fd = -1;
	int r;

	if (o->token.n == 0 && needs_token(o))
		return ov_fail(err, OV_EINVALID, "the HTTP server needs a token");
	r = listen_loopback(o->port, &fd, &port, err);
	if (r < 0)
		return r;
	h = httpd_new(l, o, port);
	h->mhd = start_mhd(h, fd);
	if (!h->mhd) {
		/* MHD took the socket over and closed it. */
		httpd_free(h);
		return ov_fail(err, OV_EIO, "cannot start the HTTP server on port %u",
				(unsigned)port);
	}
	info = MHD_get_daemon_info(h->mhd, MHD_DAEMON_INFO_EPOLL_FD);
	assert(info && info->epoll_fd >= 0);
	h->ready = loop_io(l, info->epoll_fd, LOOP_READ, httpd_ready, h);
	*ret = h;
	return 0;
}

void httpd_close(struct httpd *h)
{
	if (!h)
		return;
	/* MHD aborts the program if it is stopped with suspended connections. */
	list_each (it, &h->suspended)
		http_resume(list_entry(it, struct http_pause, link));
	MHD_stop_daemon(h->mhd);
	assert(h->conn_count == 0);
	httpd_free(h);
}

uint16_t httpd_port(const struct httpd *h)
{
	return h->port;
}

size_t httpd_pending(const struct httpd *h)
{
	return h->pending;
}

size_t httpd_connections(const struct httpd *h)
{
	return h->conn_count;
}
