#pragma once
/*
 * An HTTP(S) client inside the loop (libcurl's multi interface): one struct describes a request,
 * one callback ends it. Nothing here blocks: names are resolved by libcurl's own thread, which is
 * not waited for when a request is given up. Servers' certificates are always verified, redirects
 * are never followed (a 3xx is an answer like any other), and the answer is bounded.
 *
 * Proxies: the environment variables https_proxy, all_proxy and no_proxy are honoured as curl(1)
 * does; a request without TLS goes straight to its host, whatever http_proxy says.
 *
 * The client owns its connections and the requests under way; a request is copied when it starts.
 */
#include "base/err.h"
#include "base/ov.h"

struct http_call;
struct http_client;
struct loop;

struct http_field {
	const char *name, *value; /* no line breaks in either */
};

/* A piece of the body as it arrives; false ends the request. May call http_cancel. */
typedef bool http_body_fn(void *user, str bytes);

struct http_request {
	const char *method; /* "GET", "POST", ... */
	const char *url;    /* http or https, without a user name or password in it */
	const struct http_field *headers;
	size_t headers_n;
	str body;            /* sent when not empty */
	int64_t connect_ms;  /* name, connection and TLS; 0: 10 s */
	int64_t total_ms;    /* until the last byte; 0: 2 min */
	size_t max_response; /* bytes of body, in all; 0: 1 MiB */
	http_body_fn *piece; /* may be NULL; with it, the result's body is empty */
};

struct http_result {
	/*
	 * code 0: there is an answer, whatever its status. OV_EUNAVAILABLE: refused, not found or
	 * too late. OV_EIO: broken off. OV_ELIMIT: too large. OV_EUNAUTHORIZED: not who it claims
	 * to be. OV_EINVALID: no such request is possible. OV_ESTATE: ended by `piece`.
	 */
	const struct ov_err *err;
	int status; /* of the answer, or 0 */
	str body;   /* valid during the callback */
	const struct http_call *call;
};

typedef void http_done_fn(void *user, const struct http_result *r);

int http_client_new(struct loop *l, struct http_client **ret, struct ov_err *err);
/* Cancels what is under way. NULL allowed; returns NULL. Not from a callback. */
struct http_client *http_client_free(struct http_client *c);

/*
 * On failure nothing was started and done is never called. Otherwise it is called exactly once,
 * from the loop, never from here, unless the request is cancelled; the call is gone after that.
 */
int http_start(struct http_client *c, const struct http_request *rq, http_done_fn *done, void *user,
		struct http_call **ret, struct ov_err *err);
/* Ends the request; done is not called. */
void http_cancel(struct http_call *call);
/* A header of the answer, the last of that name, during done; empty when there is none. */
str http_result_header(const struct http_result *r, const char *name);
