#include "drive/llm/llm.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "drive/llm/llm_wire_impl.h"
#include "net/http.h"
#include "sys/loop/job.h"
#include "sys/loop/loop.h"

enum { BACKOFF_MS = 1000, STDERR_BYTES = 300, CONNECT_MS = 10 * 1000 };

struct llm_call {
	struct loop *loop;
	struct http_client *http;
	struct llm_options o; /* its texts live in the arena */
	struct arena arena;
	str body; /* of the request */
	const char *url;
	struct http_call *sending;
	struct job *job;
	struct loop_source *timer;
	int tries;
	int64_t tokens_in, tokens_out;
	llm_done_fn *done;
	void *user;
};

static void call_free(struct llm_call *c)
{
	loop_source_free(c->timer);
	arena_done(&c->arena);
	mem_free(c);
}

void llm_cancel(struct llm_call *c)
{
	if (c->sending)
		http_cancel(c->sending);
	if (c->job)
		job_abandon(c->job);
	call_free(c);
}

static void llm_finish(struct llm_call *c, str text, const struct ov_err *err)
{
	struct llm_answer a = { .err = err,
		.text = text,
		.tokens_in = c->tokens_in,
		.tokens_out = c->tokens_out,
		.tries = c->tries };

	c->done(c->user, &a);
	call_free(c);
}

/* ---- over HTTP ---- */

static void send_request(struct llm_call *c);

static void again(void *user)
{
	send_request(user);
}

static bool worth_another_try(const struct http_result *r)
{
	if (r->err->code)
		return r->err->code == OV_EUNAVAILABLE || r->err->code == OV_EIO;
	return r->status == 408 || r->status == 429 || r->status >= 500;
}

/* How long to wait; negative when the server wants to be left alone for longer than we wait. */
static int64_t wait_for(const struct llm_call *c, const struct http_result *r)
{
	int64_t ms = c->o.backoff_ms ? c->o.backoff_ms : BACKOFF_MS;
	uint64_t s;

	for (int i = 1; i < c->tries; i++)
		ms *= 4;
	/* Seconds; a date is not worth the trouble. */
	if (!r->err->code && str_to_u64(http_result_header(r, "retry-after"), &s)) {
		if (s > LLM_MAX_WAIT_MS / 1000)
			return -1;
		ms = MAX(ms, (int64_t)s * 1000);
	}
	return MIN(ms, LLM_MAX_WAIT_MS);
}

static void llm_on_answer(void *user, const struct http_result *r)
{
	struct llm_call *c = user;
	struct ov_err err = *r->err;
	int64_t in = 0, out = 0, wait = -1;
	str text = STR("");

	c->sending = NULL;
	if (worth_another_try(r) && c->tries < LLM_TRIES)
		wait = wait_for(c, r);
	if (wait >= 0) {
		loop_timer_in(c->timer, wait);
		return;
	}
	if (!err.code && r->status == 200) {
		llm_read(&c->arena, &c->o, r->body, &text, &in, &out, &err);
		c->tokens_in += in;
		c->tokens_out += out;
	} else if (!err.code) {
		llm_refusal(&c->arena, &c->o, r->status, r->body, &err);
	}
	if (err.code && c->tries > 1)
		ov_wrap(&err, err.code, "%d tries", c->tries);
	llm_finish(c, err.code ? STR("") : text, &err);
}

static void send_request(struct llm_call *c)
{
	struct http_field headers[3];
	struct http_request rq = {
		.method = "POST",
		.url = c->url,
		.headers = headers,
		.headers_n = llm_headers(&c->arena, &c->o, headers),
		.body = c->body,
		.connect_ms = MIN(c->o.timeout_ms, CONNECT_MS),
		.total_ms = c->o.timeout_ms,
		.max_response = 2 * LLM_MAX_ANSWER, /* JSON in JSON grows by its escapes */
	};
	struct ov_err err = { 0 };

	c->tries++;
	if (http_start(c->http, &rq, llm_on_answer, c, &c->sending, &err) < 0)
		llm_finish(c, STR(""), &err);
}

/* ---- by a command ---- */

static void on_command(void *user, const struct job_result *r)
{
	struct llm_call *c = user;
	struct ov_err err = { 0 };
	str said = utf8_clean(&c->arena, str_trim(r->err));

	c->job = NULL;
	/* The end of what it complained about tells most. */
	if (said.n > STDERR_BYTES)
		said = utf8_clean(&c->arena, str_sub(said, said.n - STDERR_BYTES, STDERR_BYTES));
	if (r->timed_out)
		ov_fail(&err, OV_EUNAVAILABLE, "planner.command gave no answer within %lld ms",
				(long long)c->o.timeout_ms);
	else if (r->exit.code != 0)
		ov_fail(&err, OV_EIO, "planner.command ended with %s %d%s" STR_FMT,
				r->exit.signal ? "signal" : "exit status",
				r->exit.signal ? r->exit.signal : r->exit.code, said.n ? ": " : "",
				STR_ARG(said));
	else if (r->out_cut)
		ov_fail(&err, OV_ELIMIT, "planner.command wrote more than %d bytes",
				LLM_MAX_ANSWER);
	llm_finish(c, err.code ? STR("") : r->out, &err);
}

static int run_command(struct llm_call *c, str prompt, struct ov_err *err)
{
	const char *argv[] = { "sh", "-c", c->o.command, NULL };
	struct job_spec spec = {
		.proc = PROC_SPEC_INIT,
		.input = prompt,
		.max_output = LLM_MAX_ANSWER,
		.timeout_ms = c->o.timeout_ms,
	};

	spec.proc.argv = argv;
	spec.proc.cwd = c->o.cwd;
	spec.proc.env = c->o.env;
	c->tries++;
	return job_start(c->loop, &spec, on_command, c, &c->job, err);
}

static const char *copied(struct llm_call *c, const char *s)
{
	return s ? arena_cstr(&c->arena, str_from(s)) : NULL;
}

static int llm_begin(struct llm_call *c, str system, str prompt, struct ov_err *err)
{
	struct arena *a = &c->arena;

	if (c->o.api == LLM_COMMAND)
		return run_command(c, prompt, err);
	c->body = llm_request(a, &c->o, system, prompt);
	c->url = arena_printf(a, "%s%s", c->o.url, llm_path(c->o.api)).p;
	/* From the loop, so that also a request that cannot be sent is told from there. */
	loop_timer_in(c->timer, 0);
	return 0;
}

int llm_ask(struct loop *l, struct http_client *http, const struct llm_options *o,
		const struct llm_question *q, llm_done_fn *done, void *user, struct llm_call **ret,
		struct ov_err *err)
{
	struct llm_call *c = mem_zalloc(1, sizeof(*c));
	int r;

	c->loop = l;
	c->http = http;
	c->done = done;
	c->user = user;
	c->o = *o;
	c->o.url = copied(c, o->url);
	c->o.model = copied(c, o->model);
	c->o.key = copied(c, o->key);
	c->o.key_name = copied(c, o->key_name);
	c->o.command = copied(c, o->command);
	c->o.cwd = copied(c, o->cwd);
	c->timer = loop_timer(l, again, c);
	r = llm_begin(c, q->system, q->prompt, err);
	if (r < 0) {
		call_free(c);
		return r;
	}
	*ret = c;
	return 0;
}
