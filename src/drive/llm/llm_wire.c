#include "drive/llm/llm_wire_impl.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/utf8.h"
#include "data/value/json.h"
#include "net/http.h"

enum { MESSAGE_BYTES = 300 };

const char *llm_path(enum llm_api api)
{
	return api == LLM_ANTHROPIC ? "/v1/messages" : "/v1/chat/completions";
}

size_t llm_headers(struct arena *a, const struct llm_options *o, struct http_field *ret)
{
	size_t n = 0;

	ret[n++] = (struct http_field){ "Content-Type", "application/json" };
	if (o->api == LLM_ANTHROPIC)
		ret[n++] = (struct http_field){ "anthropic-version", "2023-06-01" };
	if (o->key && o->api == LLM_ANTHROPIC)
		ret[n++] = (struct http_field){ "x-api-key", o->key };
	else if (o->key)
		ret[n++] = (struct http_field){ "Authorization",
			arena_printf(a, "Bearer %s", o->key).p };
	return n;
}

static value *message(struct arena *a, const char *role, str content)
{
	value *m = value_object(a);

	value_put(a, m, "role", value_cstr(a, role));
	value_put(a, m, "content", value_str(a, content));
	return m;
}

str llm_request(struct arena *a, const struct llm_options *o, str system, str prompt)
{
	value *v = value_object(a), *messages = value_array(a);
	const char *max = "max_tokens";

	value_put(a, v, "model", value_cstr(a, o->model));
	/* OpenAI's own newer models refuse the old name, which is the one that others know. */
	if (o->api == LLM_OPENAI && str_starts(str_from(o->url), STR("https://api.openai.com")))
		max = "max_completion_tokens";
	value_put(a, v, max, value_int(a, o->max_tokens));
	if (o->api == LLM_ANTHROPIC)
		value_put(a, v, "system", value_str(a, system));
	else
		value_push(a, messages, message(a, "system", system));
	value_push(a, messages, message(a, "user", prompt));
	value_put(a, v, "messages", messages);
	return json_text(a, v);
}

static int cut_off(const struct llm_options *o, struct ov_err *err)
{
	return ov_fail(err, OV_ELIMIT, "the model's answer was cut off at %lld tokens",
			(long long)o->max_tokens);
}

static int no_text(struct ov_err *err)
{
	return ov_fail(err, OV_EINVALID, "the model gave no text");
}

static int read_anthropic(struct arena *a, const struct llm_options *o, const value *v,
		str *ret_text, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	const value *content = value_at(v, "content");

	for (size_t i = 0; i < value_count(content); i++)
		if (str_is(value_str_at(value_item(content, i), "type"), "text"))
			buf_adds(&text, value_str_at(value_item(content, i), "text"));
	if (str_is(value_str_at(v, "stop_reason"), "max_tokens"))
		return cut_off(o, err);
	if (text.n == 0)
		return no_text(err);
	*ret_text = arena_str(a, buf_str(&text));
	return 0;
}

static int read_openai(const struct llm_options *o, const value *v, str *ret_text,
		struct ov_err *err)
{
	const value *choice = value_item(value_at(v, "choices"), 0);
	str text = value_str_at(value_at(choice, "message"), "content");

	if (str_is(value_str_at(choice, "finish_reason"), "length"))
		return cut_off(o, err);
	if (text.n == 0)
		return no_text(err);
	*ret_text = text;
	return 0;
}

static int64_t tokens(const value *v, const char *key)
{
	int64_t n = value_int_at(value_at(v, "usage"), key);

	/* It is added up and shown; what is no count is none. */
	return n > 0 && n < 1000 * 1000 * 1000 ? n : 0;
}

int llm_read(struct arena *a, const struct llm_options *o, str body, str *ret_text, int64_t *ret_in,
		int64_t *ret_out, struct ov_err *err)
{
	bool anthropic = o->api == LLM_ANTHROPIC;
	value *v;

	if (json_parse(a, body, NULL, &v, NULL) < 0 || v->kind != V_OBJECT)
		return ov_fail(err, OV_EINVALID,
				"what answers at %s is not this API: not a JSON object", o->url);
	*ret_in = tokens(v, anthropic ? "input_tokens" : "prompt_tokens");
	*ret_out = tokens(v, anthropic ? "output_tokens" : "completion_tokens");
	return anthropic ? read_anthropic(a, o, v, ret_text, err)
			 : read_openai(o, v, ret_text, err);
}

/* Servers repeat what they were sent, the key too. */
static str without_key(struct arena *a, str s, const char *key)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	str k = str_from(key);
	size_t at;

	if (k.n == 0)
		return s;
	while ((at = str_find(s, k)) < s.n) {
		buf_add(&out, s.p, at);
		buf_adds(&out, STR("[key]"));
		s = str_sub(s, at + k.n, SIZE_MAX);
	}
	buf_adds(&out, s);
	return arena_str(a, buf_str(&out));
}

int llm_refusal(struct arena *a, const struct llm_options *o, int status, str body,
		struct ov_err *err)
{
	value *v = NULL;
	str text;

	if (status == 401 || status == 403)
		/*
		 * Their messages tend to repeat half of the key; the variable's name says enough.
		 */
		return ov_fail(err, OV_EUNAUTHORIZED, "%s%s refused the key%s%s (status %d)",
				o->url, llm_path(o->api), o->key ? " in " : ": none was sent; set ",
				o->key_name ? o->key_name : "planner.api_key_env", status);
	if (json_parse(a, body, NULL, &v, NULL) == 0)
		text = value_str_at(value_at(v, "error"), "message");
	else
		text = str_trim(body);
	/* Cleaned before it is cut: half a key is too much, too. */
	text = utf8_truncate(utf8_clean(a, without_key(a, text, o->key)), MESSAGE_BYTES);
	return ov_fail(err, status == 429 || status >= 500 ? OV_EUNAVAILABLE : OV_EINVALID,
			"%s%s answered with status %d%s" STR_FMT, o->url, llm_path(o->api), status,
			text.n ? ": " : "", STR_ARG(text));
}
