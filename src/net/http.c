#include "net/http.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/str.h"
#include "base/utf8.h"
#include "net/curl_impl.h"
#include "sys/loop/loop.h"

/*
 * Traps of libcurl that shape this file:
 * - Its callbacks must not call into the multi handle: what a body callback cancels is only marked,
 *   and ends when libcurl has returned.
 * - Giving up a request whose name is being resolved waits for the resolver's thread, for as long
 *   as that takes, unless CURLOPT_QUICK_EXIT is set.
 * - Its error texts repeat parts of the URL, and bytes of the peer: they are cleaned.
 */

enum {
	CONNECT_MS = 10 * 1000,
	TOTAL_MS = 120 * 1000,
	MAX_RESPONSE = 1024 * 1024,
	IDLE_CONNECTIONS = 4,
};

struct http_client {
	struct loop *loop;
	struct curl_api curl;
	CURLM *multi;
	struct loop_source *timer;
	struct list calls;
	bool inside; /* libcurl, or a callback */
};

struct http_call {
	struct http_client *client;
	struct list link;
	CURL *easy;
	struct curl_slist *headers;
	struct buf request, answer;
	char *what; /* "POST https://example.com/path" */
	int64_t total_ms;
	size_t max_response, received;
	http_body_fn *piece;
	http_done_fn *done;
	void *user;
	bool cancelled, too_large, ended_by_piece;
	char detail[CURL_ERROR_SIZE];
};

/* ---- the loop's side ---- */

static void call_free(struct http_call *call)
{
	const struct curl_api *curl = &call->client->curl;

	if (call->easy) {
		curl->multi_remove_handle(call->client->multi, call->easy);
		curl->easy_cleanup(call->easy);
	}
	curl->slist_free_all(call->headers);
	list_remove(&call->link);
	buf_done(&call->request);
	buf_done(&call->answer);
	mem_free(call->what);
	mem_free(call);
}

/* What libcurl says of a failure, and which of our codes that is. */
static int code_of(CURLcode c)
{
	switch (c) {
	case CURLE_OPERATION_TIMEDOUT:
	case CURLE_COULDNT_CONNECT:
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_RESOLVE_PROXY: return OV_EUNAVAILABLE;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_ISSUER_ERROR:
	case CURLE_SSL_CACERT_BADFILE: return OV_EUNAUTHORIZED;
	case CURLE_URL_MALFORMAT: return OV_EINVALID;
	default: return OV_EIO;
	}
}

static int explain(const struct http_call *call, CURLcode c, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const char *why = call->detail[0] ? call->detail : call->client->curl.easy_strerror(c);

	if (call->too_large)
		return ov_fail(err, OV_ELIMIT, "%s: the answer has more than %zu bytes", call->what,
				call->max_response);
	if (call->ended_by_piece)
		return ov_fail(err, OV_ESTATE, "%s: the rest of the answer was not wanted",
				call->what);
	return ov_fail(err, code_of(c), "%s: " STR_FMT, call->what,
			STR_ARG(utf8_clean(&a, str_from(why))));
}

static void call_report(struct http_call *call, CURLcode c)
{
	struct ov_err err = { 0 };
	struct http_result r = { .err = &err, .body = buf_str(&call->answer), .call = call };
	const struct curl_api *curl = &call->client->curl;
	long status = 0;

	curl->easy_getinfo(call->easy, CURLINFO_RESPONSE_CODE, &status);
	r.status = (int)status;
	if (c != CURLE_OK)
		explain(call, c, &err);
	/* Out of the multi handle first: the callback may start another request on it. */
	curl->multi_remove_handle(call->client->multi, call->easy);
	call->done(call->user, &r);
	call_free(call);
}

static void report_ended(struct http_client *c)
{
	CURLMsg *m;
	int left;

	while ((m = c->curl.multi_info_read(c->multi, &left))) {
		struct http_call *call;
		CURLcode result = m->data.result;

		assert(m->msg == CURLMSG_DONE);
		c->curl.easy_getinfo(m->easy_handle, CURLINFO_PRIVATE, &call);
		call_report(call, result);
	}
}

static void drive(struct http_client *c, curl_socket_t fd, int events)
{
	int running;

	assert(!c->inside);
	c->inside = true;
	c->curl.multi_socket_action(c->multi, fd, events, &running);
	c->inside = false;
	list_each (it, &c->calls)
		if (list_entry(it, struct http_call, link)->cancelled)
			call_free(list_entry(it, struct http_call, link));
	report_ended(c);
}

static void on_io(void *user, int fd, unsigned events)
{
	int e = 0;

	e |= events & LOOP_READ ? CURL_CSELECT_IN : 0;
	e |= events & LOOP_WRITE ? CURL_CSELECT_OUT : 0;
	e |= events & LOOP_HANGUP ? CURL_CSELECT_ERR : 0;
	drive(user, fd, e);
}

static void on_timer(void *user)
{
	drive(user, CURL_SOCKET_TIMEOUT, 0);
}

/* ---- libcurl's side ---- */

static int want_socket(CURL *easy _unused_, curl_socket_t fd, int what, void *user, void *socket)
{
	struct http_client *c = user;
	struct loop_source *s = socket;
	unsigned events = (what & CURL_POLL_IN ? LOOP_READ : 0u) |
			(what & CURL_POLL_OUT ? LOOP_WRITE : 0u);

	if (what == CURL_POLL_REMOVE) {
		loop_source_free(s);
		c->curl.multi_assign(c->multi, fd, NULL);
	} else if (s) {
		loop_io_set(s, events);
	} else {
		c->curl.multi_assign(c->multi, fd, loop_io(c->loop, fd, events, on_io, c));
	}
	return 0;
}

static int want_timer(CURLM *multi _unused_, long ms, void *user)
{
	struct http_client *c = user;

	if (ms < 0)
		loop_timer_off(c->timer);
	else
		loop_timer_in(c->timer, ms);
	return 0;
}

/* Anything but n ends the transfer. */
static size_t on_body(char *p, size_t size, size_t n, void *user)
{
	struct http_call *call = user;

	n *= size;
	if (n > call->max_response - call->received) {
		call->too_large = true;
		return 0;
	}
	call->received += n;
	if (!call->piece) {
		buf_add(&call->answer, p, n);
		return n;
	}
	if (!call->piece(call->user, (str){ p, n }))
		call->ended_by_piece = true;
	return call->cancelled || call->ended_by_piece ? 0 : n;
}

/* ---- starting ---- */

static bool is_method(const char *s)
{
	for (const char *p = s; *p; p++)
		if (*p < 'A' || *p > 'Z')
			return false;
	return *s;
}

static bool has_break(const char *s)
{
	return strpbrk(s, "\r\n") != NULL;
}

/* Also checks what libcurl would take in another sense than we mean. */
static int describe(struct http_call *call, const struct http_request *rq, struct ov_err *err)
{
	str url = str_from(rq->url), rest, host;
	size_t scheme = str_find(url, STR("://"));

	if (!is_method(rq->method))
		return ov_fail(err, OV_EINVALID, "\"%s\" is not an HTTP method", rq->method);
	if (!str_starts(url, STR("http://")) && !str_starts(url, STR("https://")))
		return ov_fail(err, OV_EINVALID, "the URL does not begin with http:// or https://");
	rest = str_sub(url, scheme + 3, SIZE_MAX);
	host = rest;
	for (size_t i = 0; i < rest.n; i++)
		if (strchr("/?#", rest.p[i])) {
			host = str_sub(rest, 0, i);
			break;
		}
	if (host.n == 0 || str_find_byte(host, '@') < host.n)
		return ov_fail(err, OV_EINVALID,
				"a URL needs a host, without a user name or password before it");
	/* A query may hold what is nobody's business: texts about the request go without. */
	url = str_sub(url, 0, str_find_byte(url, '?'));
	call->what = mem_alloc(strlen(rq->method) + url.n + 2);
	memcpy(stpcpy(stpcpy(call->what, rq->method), " "), url.p, url.n);
	call->what[strlen(rq->method) + 1 + url.n] = '\0';
	return 0;
}

static int add_header(struct http_call *call, const char *name, const char *value,
		struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct curl_slist *more;

	if (!*name || has_break(name) || has_break(value))
		return ov_fail(err, OV_EINVALID, "header \"%s\" is empty or has a line break",
				has_break(name) ? "?" : name);
	/* "Name:" would remove a header and "Name;" sends an empty one. */
	more = call->client->curl.slist_append(call->headers,
			arena_printf(&a, *value ? "%s: %s" : "%s;%s", name, value).p);
	assert(more);
	call->headers = more;
	return 0;
}

static void set_limits(const struct http_call *call, const struct http_request *rq)
{
	const struct curl_api *curl = &call->client->curl;
	CURL *e = call->easy;

	curl->easy_setopt(e, CURLOPT_CONNECTTIMEOUT_MS,
			(long)(rq->connect_ms ? rq->connect_ms : CONNECT_MS));
	curl->easy_setopt(e, CURLOPT_TIMEOUT_MS, (long)call->total_ms);
	curl->easy_setopt(e, CURLOPT_FOLLOWLOCATION, 0L);
	curl->easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
	curl->easy_setopt(e, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl->easy_setopt(e, CURLOPT_SSL_VERIFYPEER, 1L);
	curl->easy_setopt(e, CURLOPT_SSL_VERIFYHOST, 2L);
	curl->easy_setopt(e, CURLOPT_NOSIGNAL, 1L);
	curl->easy_setopt(e, CURLOPT_QUICK_EXIT, 1L);
	if (str_starts(str_from(rq->url), STR("http://")))
		curl->easy_setopt(e, CURLOPT_PROXY, "");
}

static void set_request(struct http_call *call, const struct http_request *rq)
{
	const struct curl_api *curl = &call->client->curl;
	CURL *e = call->easy;

	curl->easy_setopt(e, CURLOPT_URL, rq->url);
	curl->easy_setopt(e, CURLOPT_CUSTOMREQUEST, rq->method);
	curl->easy_setopt(e, CURLOPT_NOBODY, (long)(strcmp(rq->method, "HEAD") == 0));
	curl->easy_setopt(e, CURLOPT_HTTPHEADER, call->headers);
	if (call->request.n) {
		curl->easy_setopt(e, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)call->request.n);
		curl->easy_setopt(e, CURLOPT_POSTFIELDS, call->request.p);
	}
	curl->easy_setopt(e, CURLOPT_WRITEFUNCTION, on_body);
	curl->easy_setopt(e, CURLOPT_WRITEDATA, call);
	curl->easy_setopt(e, CURLOPT_ERRORBUFFER, call->detail);
	curl->easy_setopt(e, CURLOPT_PRIVATE, call);
}

int http_start(struct http_client *c, const struct http_request *rq, http_done_fn *done, void *user,
		struct http_call **ret, struct ov_err *err)
{
	struct http_call *call = mem_zalloc(1, sizeof(*call));
	int r;

	call->client = c;
	call->done = done;
	call->user = user;
	call->piece = rq->piece;
	call->total_ms = rq->total_ms ? rq->total_ms : TOTAL_MS;
	call->max_response = rq->max_response ? rq->max_response : MAX_RESPONSE;
	list_append(&c->calls, &call->link);
	r = describe(call, rq, err);
	/* The wait for "100 Continue" would cost a second with servers that do not know it. */
	call->headers = c->curl.slist_append(NULL, "Expect:");
	for (size_t i = 0; r == 0 && i < rq->headers_n; i++)
		r = add_header(call, rq->headers[i].name, rq->headers[i].value, err);
	if (r < 0) {
		call_free(call);
		return r;
	}
	call->easy = c->curl.easy_init();
	assert(call->easy);
	buf_adds(&call->request, rq->body);
	set_limits(call, rq);
	set_request(call, rq);
	assert(c->curl.multi_add_handle(c->multi, call->easy) == CURLM_OK);
	if (ret)
		*ret = call;
	return 0;
}

void http_cancel(struct http_call *call)
{
	if (call->client->inside)
		call->cancelled = true;
	else
		call_free(call);
}

str http_result_header(const struct http_result *r, const char *name)
{
	struct curl_header *h;

	if (r->call->client->curl.easy_header(r->call->easy, name, 0, CURLH_HEADER, -1, &h) !=
			CURLHE_OK)
		return STR("");
	return str_from(h->value);
}

int http_client_new(struct loop *l, struct http_client **ret, struct ov_err *err)
{
	struct curl_api curl;
	struct http_client *c;
	int r = curl_api_load(&curl, err);

	if (r < 0)
		return r;
	if (curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return ov_fail(err, OV_EINTERNAL, "libcurl cannot be initialised");
	c = mem_zalloc(1, sizeof(*c));
	c->loop = l;
	c->curl = curl;
	list_init(&c->calls);
	c->timer = loop_timer(l, on_timer, c);
	c->multi = curl.multi_init();
	assert(c->multi);
	curl.multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
	curl.multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
	curl.multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, want_timer);
	curl.multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
	curl.multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, (long)IDLE_CONNECTIONS);
	*ret = c;
	return 0;
}

struct http_client *http_client_free(struct http_client *c)
{
	if (!c)
		return NULL;
	assert(!c->inside);
	list_each (it, &c->calls)
		call_free(list_entry(it, struct http_call, link));
	c->curl.multi_cleanup(c->multi);
	loop_source_free(c->timer);
	c->curl.global_cleanup();
	mem_free(c);
	return NULL;
}
