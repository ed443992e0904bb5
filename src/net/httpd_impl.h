#pragma once
/*
 * Inside net only: how the HTTP server's files share their objects. A pending request is held by
 * two parties, libmicrohttpd (until the request is over) and the handler (until it answered); the
 * last one out frees it.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "net/httpd.h"

#include <microhttpd.h>

enum {
	/*
	 * So much of a body that we do not want is read, so that the client gets to read
	 * our answer.
	 */
	HTTP_DISCARD_MAX = 1024 * 1024,
};

struct httpd {
	struct loop *loop;
	struct httpd_options options; /* token is our own copy */
	struct MHD_Daemon *mhd;
	uint16_t port;
	struct loop_source *ready;    /* MHD's epoll fd */
	struct loop_source *timer;    /* MHD's next timeout */
	struct loop_source *deadline; /* the first of waiting */
	struct list waiting;          /* struct http_conn that owe us a request, oldest first */
	struct list suspended;        /* struct http_pause */
	size_t conn_count, pending;
	bool again; /* MHD has to run once more */
};

/* One TCP connection. */
struct http_conn {
	struct httpd *h;
	struct list link;
	uint64_t due_us;
	int fd;
	struct http_link to;
};

/* A connection that waits for us. MHD must not be stopped before all of them are resumed. */
struct http_pause {
	struct httpd *h;
	struct MHD_Connection *mhd; /* NULL once the connection is gone */
	struct list link;           /* in httpd.suspended while it is */
};

struct http_pending {
	struct http_req req;
	struct arena arena;
	struct http_pause pause;
	unsigned refs;
	struct buf body;
	uint64_t received;
	unsigned refused; /* status, or 0 */
	struct ov_err why;
	char allow[64]; /* methods, for a 405 */
	unsigned status;
	struct MHD_Response *response;
	struct http_stream *stream; /* in the response, not owned */
	bool handed;                /* the handler has or had it */
};

void http_pause(struct http_pause *p);
void http_resume(struct http_pause *p);

/* The deadline for the next whole request starts or ends. */
void http_conn_wait(struct MHD_Connection *mhd);
void http_conn_arrived(struct MHD_Connection *mhd);
struct http_link *http_conn_link(struct MHD_Connection *mhd);

/* MHD's callbacks, cls is the server. */
enum MHD_Result http_on_request(void *cls, struct MHD_Connection *mhd, const char *url,
		const char *method, const char *version, const char *data, size_t *size,
		void **state);
void http_on_completed(void *cls, struct MHD_Connection *mhd, void **state,
		enum MHD_RequestTerminationCode why);

/* Checks (httpd_check.c): 0 or the HTTP status of the refusal, with the reason in err. */
unsigned http_check_host(uint16_t port, const char *host, const char *origin, struct ov_err *err);
unsigned http_check_token(str token, const char *authorization, struct ov_err *err);
/* Finds the route; for a 405, ret_allow lists the methods. */
unsigned http_check_route(const struct httpd_options *o, str method, str path,
		const struct httpd_route **ret, char *ret_allow, size_t allow_size,
		struct ov_err *err);
