/* One post to an address: a webhook of anybody's, signed, or a chat's. */
#include "app/notify/notify_impl.h"

#include "data/id/hmac.h"
#include "data/value/json.h"

static void web_answered(struct notify_job *j, const struct http_result *r)
{
	if (notify_accepted(j, r))
		notify_sent(j, STR(""));
}

static str body_of(struct notify_job *j)
{
	struct arena *a = &j->arena;

	switch (j->ch.type) {
	case CHANNEL_SLACK: return json_text(a, slack_document(a, &j->m));
	case CHANNEL_DISCORD: return json_text(a, discord_document(a, &j->m));
	default: return json_text(a, notify_document(a, &j->m));
	}
}

void web_begin(struct notify_job *j)
{
	struct arena *a = &j->arena;
	struct http_field headers[4] = { { "Content-Type", "application/json" },
		{ "User-Agent", "overseer" }, { "X-Overseer-Delivery", arena_cstr(a, j->m.id) } };
	struct http_request rq = { .method = "POST", .headers = headers, .headers_n = 3 };
	str url, secret = STR("");
	struct ov_err err = { 0 };
	int r = notify_url(j, &url, &err);

	if (r == 0)
		r = notify_secret(j, "secret", j->ch.secret_file, j->ch.secret_env, &secret, &err);
	if (r < 0) {
		notify_failed(j, NOTIFY_NEVER, "%s", err.msg);
		return;
	}
	j->secrets[0].text = secret;
	rq.url = arena_cstr(a, url);
	rq.body = body_of(j);
	if (secret.n)
		headers[rq.headers_n++] = (struct http_field){ "X-Overseer-Signature-256",
			arena_printf(a, "sha256=" STR_FMT,
					STR_ARG(hmac_sha256_hex(a, secret, rq.body)))
					.p };
	notify_request(j, &rq, web_answered);
}
