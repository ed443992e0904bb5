#include "net/httpd_impl.h"

#include "base/alloc.h"
#include "base/str.h"
#include "data/value/json.h"

enum { STREAM_BLOCK = 16 * 1024 };

struct http_stream {
	struct http_pause pause;
	const struct http_stream_ops *ops;
	void *user;
};

static struct http_pending *pending_of(struct http_req *req)
{
	return list_entry(req, struct http_pending, req);
}

static struct http_pending *pending_new(struct httpd *h, struct MHD_Connection *mhd)
{
	struct http_pending *p = mem_zalloc(1, sizeof(*p));

	p->pause.h = h;
	p->pause.mhd = mhd;
	list_init(&p->pause.link);
	p->refs = 1;
	p->req.arena = &p->arena;
	return p;
}

static void pending_unref(struct http_pending *p)
{
	assert(p->refs > 0);
	if (--p->refs > 0)
		return;
	if (p->response)
		MHD_destroy_response(p->response);
	buf_done(&p->body);
	arena_done(&p->arena);
	mem_free(p);
}

static void pending_refuse(struct http_pending *p, unsigned status)
{
	p->refused = status;
	buf_done(&p->body);
}

static const char *header_of(struct http_pending *p, const char *name)
{
	return p->pause.mhd ? MHD_lookup_connection_value(p->pause.mhd, MHD_HEADER_KIND, name)
			    : NULL;
}

static void set_common_headers(struct http_pending *p, struct MHD_Response *r)
{
	const char *csp = p->req.route ? p->req.route->csp : NULL;

	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Cache-Control", "no-store");
	MHD_add_response_header(r, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(r, "Content-Security-Policy",
			csp ? csp : "default-src 'none'; frame-ancestors 'none'");
	if (p->refused == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(r, "WWW-Authenticate", "Bearer");
	if (p->refused == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, "Allow", p->allow);
}

static struct MHD_Response *make_response(struct http_pending *p, const char *content_type,
		str body)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(body.n, (void *)(uintptr_t)body.p,
			MHD_RESPMEM_MUST_COPY);

	assert(r); /* only memory can fail here */
	if (content_type)
		MHD_add_response_header(r, "Content-Type", content_type);
	set_common_headers(p, r);
	return r;
}

static enum MHD_Result pending_queue(struct http_pending *p)
{
	enum MHD_Result ok;

	if (p->stream)
		p->stream->pause.mhd = p->pause.mhd;
	ok = MHD_queue_response(p->pause.mhd, p->status, p->response);
	MHD_destroy_response(TAKE_PTR(p->response));
	return ok;
}

static str error_body(struct arena *a, const struct ov_err *err)
{
	value *doc = value_object(a);
	value *e = value_object(a);

	value_put(a, doc, "error", e);
	value_put(a, e, "code", value_cstr(a, ov_code_info(err->code)->name));
	value_put(a, e, "message", value_cstr(a, err->msg));
	if (err->next[0])
		value_put(a, e, "next", value_cstr(a, err->next));
	return json_text(a, doc);
}

static enum MHD_Result queue_refusal(struct http_pending *p)
{
	p->status = p->refused;
	p->response = make_response(p, "application/json", error_body(&p->arena, &p->why));
	return pending_queue(p);
}

static void refuse_body(struct http_pending *p)
{
	ov_fail(&p->why, OV_ELIMIT, "the body may have at most %zu bytes", p->req.route->max_body);
	pending_refuse(p, MHD_HTTP_CONTENT_TOO_LARGE);
}

/* What the headers alone can tell. */
static void check_headers(struct http_pending *p, const char *url, const char *method)
{
	const char *length = header_of(p, MHD_HTTP_HEADER_CONTENT_LENGTH);
	uint64_t n = 0;
	unsigned r;

	p->req.method = arena_str(&p->arena, str_from(method));
	p->req.path = arena_str(&p->arena, str_from(url));
	r = http_check_host(p->pause.h->port, header_of(p, MHD_HTTP_HEADER_HOST),
			header_of(p, MHD_HTTP_HEADER_ORIGIN), &p->why);
	if (!r)
		r = http_check_route(&p->pause.h->options, p->req.method, p->req.path,
				&p->req.route, p->allow, sizeof(p->allow), &p->why);
	if (!r && !(p->req.route->flags & HTTPD_OPEN))
		r = http_check_token(p->pause.h->options.token,
				header_of(p, MHD_HTTP_HEADER_AUTHORIZATION), &p->why);
	if (r)
		pending_refuse(p, r);
	else if (length && str_to_u64(str_from(length), &n) && n > p->req.route->max_body)
		refuse_body(p);
}

/*
 * A refusal waits for the end of a small body: closing a socket with unread bytes makes the kernel
 * reset the connection, and the client may never see the reason. A client that asks first, or
 * threatens with more than we care to discard, is told at once.
 */
static bool refuse_at_once(struct http_pending *p)
{
	const char *length = header_of(p, MHD_HTTP_HEADER_CONTENT_LENGTH);
	uint64_t n = 0;

	return p->refused &&
			(header_of(p, MHD_HTTP_HEADER_EXPECT) ||
					(length &&
							(!str_to_u64(str_from(length), &n) ||
									n > HTTP_DISCARD_MAX)));
}

static enum MHD_Result take_body(struct http_pending *p, const char *data, size_t n)
{
	size_t max = p->req.route ? p->req.route->max_body : 0;

	p->received += n;
	if (!p->refused && p->received > max)
		refuse_body(p);
	if (p->refused)
		return p->received > max + HTTP_DISCARD_MAX ? MHD_NO : MHD_YES;
	buf_add(&p->body, data, n);
	return MHD_YES;
}

static enum MHD_Result hand_over(struct http_pending *p)
{
	p->handed = true;
	p->pause.h->pending++;
	p->refs++;
	p->req.body = buf_str(&p->body);
	p->req.route->handler(p->pause.h->options.user, &p->req);
	if (p->response)
		return pending_queue(p);
	http_pause(&p->pause);
	return MHD_YES;
}

enum MHD_Result http_on_request(void *cls, struct MHD_Connection *mhd, const char *url,
		const char *method, const char *version _unused_, const char *data, size_t *size,
		void **state)
{
	struct http_pending *p = *state;

	if (!p) {
		*state = p = pending_new(cls, mhd);
		check_headers(p, url, method);
		return refuse_at_once(p) ? queue_refusal(p) : MHD_YES;
	}
	if (*size > 0) {
		size_t n = *size;

		*size = 0;
		return take_body(p, data, n);
	}
	if (p->response)
		return pending_queue(p);
	http_conn_arrived(mhd);
	if (p->refused)
		return queue_refusal(p);
	/* Resumed without an answer: only while the server is being closed. */
	return p->handed ? MHD_NO : hand_over(p);
}

void http_on_completed(void *cls _unused_, struct MHD_Connection *mhd, void **state,
		enum MHD_RequestTerminationCode why _unused_)
{
	struct http_pending *p = *state;

	if (!p)
		return;
	*state = NULL;
	p->pause.mhd = NULL;
	if (p->handed && !p->stream)
		p->pause.h->pending--;
	http_conn_wait(mhd);
	pending_unref(p);
}

struct http_link *http_link(struct http_req *req)
{
	struct http_pending *p = pending_of(req);

	return p->pause.mhd ? http_conn_link(p->pause.mhd) : NULL;
}

str http_query(struct http_req *req, const char *name)
{
	struct http_pending *p = pending_of(req);

	if (!p->pause.mhd)
		return (str){ 0 };
	return str_from(MHD_lookup_connection_value(p->pause.mhd, MHD_GET_ARGUMENT_KIND, name));
}

str http_header(struct http_req *req, const char *name)
{
	return str_from(header_of(pending_of(req), name));
}

/* The response goes out now if the handler still runs, else when the connection is resumed. */
static void httpd_req_answer(struct http_pending *p, unsigned status, struct MHD_Response *response)
{
	assert(!p->response);
	p->status = status;
	p->response = response;
	http_resume(&p->pause);
	pending_unref(p);
}

void http_answer(struct http_req *req, unsigned status, const char *content_type, str body)
{
	struct http_pending *p = pending_of(req);

	httpd_req_answer(p, status, make_response(p, content_type, body));
}

void http_answer_json(struct http_req *req, unsigned status, const value *v)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;

	json_write(&out, v);
	http_answer(req, status, "application/json", buf_str(&out));
}

void http_answer_err(struct http_req *req, const struct ov_err *err)
{
	http_answer(req, (unsigned)ov_code_info(err->code)->http_status, "application/json",
			error_body(req->arena, err));
}

static ssize_t stream_pull(void *cls, uint64_t pos _unused_, char *p, size_t max)
{
	struct http_stream *s = cls;
	ssize_t n = s->ops->pull(s->user, p, max);

	if (n < 0)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (n == 0)
		http_pause(&s->pause);
	return n;
}

static void stream_over(void *cls)
{
	struct http_stream *s = cls;

	list_remove(&s->pause.link);
	s->ops->closed(s->user);
	mem_free(s);
}

struct http_stream *http_answer_stream(struct http_req *req, const char *content_type,
		const struct http_stream_ops *ops, void *user)
{
	struct http_pending *p = pending_of(req);
	struct http_stream *s;
	struct MHD_Response *r;

	if (!p->pause.mhd) {
		pending_unref(p);
		return NULL;
	}
	s = mem_zalloc(1, sizeof(*s));
	s->pause.h = p->pause.h;
	s->ops = ops;
	s->user = user;
	list_init(&s->pause.link);
	r = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, stream_pull, s,
			stream_over);
	assert(r);
	MHD_add_response_header(r, "Content-Type", content_type);
	set_common_headers(p, r);
	p->stream = s;
	p->pause.h->pending--;
	httpd_req_answer(p, MHD_HTTP_OK, r);
	return s;
}

void http_stream_wake(struct http_stream *s)
{
	http_resume(&s->pause);
}
