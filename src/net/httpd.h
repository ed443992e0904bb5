#pragma once
/*
 * An HTTP/1.1 server on the loopback interface, inside the loop (libmicrohttpd without threads).
 * Before a handler sees a request, it was checked: Host and Origin are ours (against DNS rebinding
 * and foreign pages), the route exists, the bearer token is right, the body is within its bound.
 * A request belongs to its handler until it is answered, exactly once, now or later; answering
 * frees it and its arena. A client that vanished meanwhile swallows the answer.
 * The server owns its socket and connections; the route table and the token are copied or must
 * live as long as the server, as said below.
 */
#include "base/err.h"
#include "base/ov.h"
#include "data/value/value.h"

#include <netinet/in.h>
#include <sys/types.h>

struct httpd;
struct http_req;
struct http_stream;
struct loop;

enum httpd_flags {
	HTTPD_OPEN = 1, /* no token asked for */
};

typedef void http_fn(void *user, struct http_req *req);

struct httpd_route {
	const char *method; /* "GET" also answers HEAD */
	const char *path;   /* exact; a final "*" matches any rest */
	unsigned flags;
	size_t max_body; /* 0: a body is refused */
	http_fn *handler;
	const char *csp; /* Content-Security-Policy; NULL: default-src 'none' */
};

struct httpd_options {
	uint16_t port;                    /* 0: any free one */
	str token;                        /* copied; must not be empty if any route asks for it */
	const struct httpd_route *routes; /* lives as long as the server; first match wins */
	size_t route_count;
	void *user;               /* for the handlers */
	unsigned max_connections; /* 0: 128 */
	unsigned idle_s;          /* closes a silent connection; 0: 30 */
	int64_t request_ms;       /* a whole request has to arrive within; 0: 60 s */
};

int httpd_open(struct loop *l, const struct httpd_options *o, struct httpd **ret,
		struct ov_err *err);
/* Ends all connections; requests that are still to be answered stay valid. Not from a handler. */
void httpd_close(struct httpd *h);
uint16_t httpd_port(const struct httpd *h);
size_t httpd_connections(const struct httpd *h);
/* Requests that are not answered or whose answer is not sent; streams do not count. */
size_t httpd_pending(const struct httpd *h);

/* To be read only. */
struct http_req {
	struct arena *arena; /* the request's own */
	str method, path;    /* path is decoded and without the query */
	str body;
	const struct httpd_route *route;
};

/* The connection that a request came by. */
struct http_link {
	struct sockaddr_in client, server; /* as the kernel has them */
	void *note; /* the handlers' own, NULL at first; freed with the connection (mem_free) */
};
/* NULL once the client has vanished. */
struct http_link *http_link(struct http_req *req);

/* Decoded query parameter or header (any case); the absent string when there is none. */
str http_query(struct http_req *req, const char *name);
str http_header(struct http_req *req, const char *name);

/* Each answers and frees the request. */
void http_answer(struct http_req *req, unsigned status, const char *content_type, str body);
void http_answer_json(struct http_req *req, unsigned status, const value *v);
/* The status of the error's code and {"error": {"code", "message", "next"}}. */
void http_answer_err(struct http_req *req, const struct ov_err *err);

/*
 * An answer without an end, pulled by the client's pace. pull fills at most max bytes and returns
 * their number, 0 for nothing now (http_stream_wake asks again), or -1 for the end. closed runs
 * once when the stream is over for whatever reason; the stream is invalid afterwards.
 */
struct http_stream_ops {
	ssize_t (*pull)(void *user, char *p, size_t max);
	void (*closed)(void *user);
};

/*
 * Answers 200 and frees the request. NULL (and closed is not called) if the client is gone already.
 */
struct http_stream *http_answer_stream(struct http_req *req, const char *content_type,
		const struct http_stream_ops *ops, void *user);
void http_stream_wake(struct http_stream *s);
