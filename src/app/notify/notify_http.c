/* Requests of the channels that speak HTTP, and what their answers mean. */
#include "app/notify/notify_impl.h"

#include "base/str.h"
#include "base/utf8.h"
#include "data/value/json.h"
#include "sys/loop/loop.h"

/* The longest answer is a page of issues, each as long as its service lets it be. */
enum { RESPONSE_MAX = 16 * 1024 * 1024, SAID_BYTES = 200, RETRY_AFTER_MAX_S = 24 * 60 * 60 };

/* Only the host: the rest of an address may be a secret. */
static str host_of(const char *url)
{
	str s = str_from(url), host;

	s = str_sub(s, str_find(s, STR("://")) + 3, SIZE_MAX);
	if (!str_split(&s, '/', &host))
		return STR("it");
	return str_sub(host, 0, str_find_byte(host, '?'));
}

static void on_answer(void *user, const struct http_result *r)
{
	struct notify_job *j = user;

	j->call = NULL;
	if (r->err->code)
		notify_failed(j, r->err->code == OV_EINVALID ? NOTIFY_NEVER : NOTIFY_RETRY, "%s",
				r->err->msg);
	else
		j->answered(j, r);
}

void notify_request(struct notify_job *j, const struct http_request *rq, notify_answer_fn *then)
{
	struct notifier *n = j->n;
	uint64_t now = loop_mono_us(n->o.loop);
	struct http_request full = *rq;
	struct ov_err err = { 0 };
	int r = 0;

	if (now >= j->deadline_us) {
		notify_failed(j, NOTIFY_RETRY, STR_FMT " did not answer within %lld ms",
				STR_ARG(host_of(rq->url)), (long long)j->ch.timeout);
		return;
	}
	full.total_ms = MAX((int64_t)((j->deadline_us - now) / 1000), 1);
	full.connect_ms = full.total_ms;
	full.max_response = RESPONSE_MAX;
	j->answered = then;
	if (!n->http)
		r = http_client_new(n->o.loop, &n->http, &err);
	if (r == 0)
		r = http_start(n->http, &full, on_answer, j, &j->call, &err);
	if (r < 0)
		notify_failed(j, r == OV_EINVALID ? NOTIFY_NEVER : NOTIFY_RETRY, "%s", err.msg);
}

/* What the other side says for itself: a message in JSON, or a word. */
static str said(struct notify_job *j, const struct http_result *r)
{
	struct arena *a = &j->arena;
	struct json_limits limits = { .max_bytes = 64 * 1024, .max_depth = 16 };
	value *doc;
	str s = str_trim(r->body);

	if (str_starts(s, STR("<")))
		return STR(""); /* a page for browsers */
	if (json_parse(a, arena_str(a, s), &limits, &doc, NULL) == 0)
		s = value_str_at(doc, "message");
	return notify_line(a, utf8_clean(a, s), SAID_BYTES);
}

/* A refusal that is only for now; GitHub says so with a 403, too. */
static bool only_now(const struct http_result *r)
{
	if (r->status == 408 || r->status == 425 || r->status == 429 || r->status >= 500)
		return true;
	return r->status == 403 &&
			(http_result_header(r, "retry-after").n ||
					str_is(http_result_header(r, "x-ratelimit-remaining"),
							"0"));
}

static const char *advice(const struct notify_job *j, int status)
{
	if (status == 401 || status == 403)
		return j->secrets[0].text.n ? " (is the token right, and may it do that?)" : "";
	if (status == 404)
		return j->ch.repo.n ? " (are url and repo right, and may the token see them?)" : "";
	if (status >= 300 && status < 400)
		return " (it has moved: put its new address into the configuration)";
	return "";
}

void notify_refused(struct notify_job *j, const struct http_result *r)
{
	str words = said(j, r);
	uint64_t s;

	/* Seconds; a date is not worth the trouble. */
	if (only_now(r) && str_to_u64(http_result_header(r, "retry-after"), &s))
		j->outcome.retry_after = (ov_time)MIN(s, RETRY_AFTER_MAX_S) * OV_SECOND;
	notify_failed(j, only_now(r) ? NOTIFY_RETRY : NOTIFY_NEVER,
			"\"" STR_FMT "\" was refused with status %d%s" STR_FMT "%s",
			STR_ARG(j->ch.name), r->status, words.n ? ": " : "", STR_ARG(words),
			advice(j, r->status));
}

bool notify_accepted(struct notify_job *j, const struct http_result *r)
{
	if (r->status >= 200 && r->status < 300)
		return true;
	notify_refused(j, r);
	return false;
}
