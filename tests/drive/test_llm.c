#include "drive/llm/llm.h"

#include "tests/net/peer.h"

TEST_MAIN

#define KEY "sk-very-secret-0123456789"

struct end {
	struct llm_call *call;
	unsigned times;
	struct ov_err err;
	struct buf text;
	int64_t tokens_in, tokens_out;
	int tries;
};

static void on_done(void *user, const struct llm_answer *a)
{
	struct end *e = user;

	e->times++;
	e->call = NULL;
	e->err = *a->err;
	buf_clear(&e->text);
	buf_adds(&e->text, a->text);
	e->tokens_in = a->tokens_in;
	e->tokens_out = a->tokens_out;
	e->tries = a->tries;
	assert_null(strstr(e->err.msg, KEY));
}

static struct llm_options options(struct world *w, enum llm_api api)
{
	static char url[100];

	snprintf(url, sizeof(url), "http://127.0.0.1:%u", (unsigned)w->port);
	return (struct llm_options){
		.api = api,
		.url = url,
		.model = "model-x",
		.key = KEY,
		.key_name = "THE_VARIABLE",
		.max_tokens = 100,
		.timeout_ms = 30000,
		.backoff_ms = 1,
	};
}

static void ask(struct world *w, const struct llm_options *o, struct end *e)
{
	struct ov_err err = { 0 };

	if (llm_ask(w->loop, w->http, o,
			    &(struct llm_question){ STR("Answer in JSON."), STR("Plan \"it\".\n") },
			    on_done, e, &e->call, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(e->times, 0);
}

/* Answers the request that has come, on a connection of its own. */
static void answer_with(struct world *w, const char *status, const char *headers, const char *body)
{
	struct buf b = BUF_INIT;

	UNTIL(w->loop, asked(w, "\"messages\":"));
	UNTIL(w->loop, asked(w, "}]}"));
	buf_addf(&b, "HTTP/1.1 %s\r\n%sConnection: close\r\nContent-Length: %zu\r\n\r\n%s", status,
			headers, strlen(body), body);
	answer(w, buf_cstr(&b));
	buf_done(&b);
	hang_up(w);
}

#define ANTHROPIC_OK                                                                         \
	"{\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\"},{\"type\":\"text\","      \
	"\"text\":\"{}\"},{\"type\":\"text\",\"text\":\" \"}],\"stop_reason\":\"end_turn\"," \
	"\"usage\":{\"input_tokens\":12,\"output_tokens\":34}}"
#define OPENAI_OK                                                                 \
	"{\"choices\":[{\"message\":{\"role\":\"assistant\",\"content\":\"{}\"}," \
	"\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":6}}"

TEST(anthropic_is_asked_over_its_messages_api)
{
	struct world w;
	struct end e = { 0 };
	struct llm_options o;

	world_open(&w);
	o = options(&w, LLM_ANTHROPIC);
	ask(&w, &o, &e);
	UNTIL(w.loop, asked(&w, "}]}"));
	assert_true(str_starts(buf_str(&w.peer->in), STR("POST /v1/messages HTTP/1.1\r\n")));
	assert_true(client_has(w.peer, "x-api-key: " KEY "\r\n", 1));
	assert_true(client_has(w.peer, "anthropic-version: 2023-06-01\r\n", 1));
	assert_true(client_has(w.peer, "Content-Type: application/json\r\n", 1));
	assert_true(client_has(w.peer,
			"{\"model\":\"model-x\",\"max_tokens\":100,\"system\":\"Answer in JSON.\","
			"\"messages\":[{\"role\":\"user\",\"content\":\"Plan \\\"it\\\".\\n\"}]}",
			1));
	answer_with(&w, "200 OK", "", ANTHROPIC_OK);
	UNTIL(w.loop, e.times);
	assert_int_equal(e.err.code, 0);
	assert_string_equal(buf_cstr(&e.text), "{} ");
	assert_int_equal(e.tokens_in, 12);
	assert_int_equal(e.tokens_out, 34);
	assert_int_equal(e.tries, 1);
	buf_done(&e.text);
	world_close(&w);
}

TEST(openai_is_asked_for_a_chat_completion)
{
	struct world w;
	struct end e = { 0 };
	struct llm_options o;

	world_open(&w);
	o = options(&w, LLM_OPENAI);
	ask(&w, &o, &e);
	UNTIL(w.loop, asked(&w, "}]}"));
	assert_true(str_starts(buf_str(&w.peer->in),
			STR("POST /v1/chat/completions HTTP/1.1\r\n")));
	assert_true(client_has(w.peer, "Authorization: Bearer " KEY "\r\n", 1));
	assert_true(client_has(w.peer,
			"\"messages\":[{\"role\":\"system\",\"content\":\"Answer in JSON.\"},"
			"{\"role\":\"user\"",
			1));
	answer_with(&w, "200 OK", "", OPENAI_OK);
	UNTIL(w.loop, e.times);
	assert_int_equal(e.err.code, 0);
	assert_string_equal(buf_cstr(&e.text), "{}");
	assert_int_equal(e.tokens_in, 5);
	assert_int_equal(e.tokens_out, 6);
	buf_done(&e.text);
	world_close(&w);
}

TEST(without_a_key_none_is_sent)
{
	struct world w;
	struct end e = { 0 };
	struct llm_options o;

	world_open(&w);
	o = options(&w, LLM_OPENAI);
	o.key = NULL;
	ask(&w, &o, &e);
	UNTIL(w.loop, asked(&w, "}]}"));
	assert_false(client_has(w.peer, "Authorization", 1));
	answer_with(&w, "401 Unauthorized", "", "{}");
	UNTIL(w.loop, e.times);
	assert_int_equal(e.err.code, OV_EUNAUTHORIZED);
	assert_non_null(strstr(e.err.msg, "none was sent; set THE_VARIABLE"));
	buf_done(&e.text);
	world_close(&w);
}

TEST(a_busy_or_broken_server_is_asked_again)
{
	static const char *const troubles[][2] = { { "429 Too Many Requests",
								   "Retry-After: 0\r\n" },
		{ "503 Service Unavailable", "" }, { "529 Overloaded", "" } };
	struct world w;

	world_open(&w);
	for (size_t i = 0; i < ARRAY_LEN(troubles); i++) {
		struct end e = { 0 };
		struct llm_options o = options(&w, LLM_OPENAI);

		ask(&w, &o, &e);
		answer_with(&w, troubles[i][0], troubles[i][1], "busy");
		/* And once it breaks off. */
		UNTIL(w.loop, asked(&w, "}]}"));
		hang_up(&w);
		answer_with(&w, "200 OK", "", OPENAI_OK);
		UNTIL(w.loop, e.times);
		assert_int_equal(e.err.code, 0);
		assert_int_equal(e.tries, 3);
		buf_done(&e.text);
	}
	world_close(&w);
}

TEST(after_three_tries_the_last_trouble_is_told)
{
	struct world w;
	struct end e = { 0 };
	struct llm_options o;

	world_open(&w);
	o = options(&w, LLM_ANTHROPIC);
	ask(&w, &o, &e);
	for (int i = 0; i < LLM_TRIES; i++)
		answer_with(&w, "500 Internal Server Error", "",
				"{\"type\":\"error\",\"error\":{\"message\":\"no luck with " KEY
				" today\"}}");
	UNTIL(w.loop, e.times);
	assert_int_equal(e.err.code, OV_EUNAVAILABLE);
	assert_non_null(strstr(e.err.msg, "3 tries: "));
	assert_non_null(strstr(e.err.msg, "status 500: no luck with [key] today"));
	assert_false(accepted(&w));
	buf_done(&e.text);
	world_close(&w);
}

TEST(a_long_wish_to_be_left_alone_is_respected)
{
	struct world w;
	struct end e = { 0 };
	struct llm_options o;

	world_open(&w);
	o = options(&w, LLM_OPENAI);
	ask(&w, &o, &e);
	answer_with(&w, "429 Too Many Requests", "Retry-After: 3600\r\n",
			"{\"error\":{\"message\":\"quota\"}}");
	UNTIL(w.loop, e.times);
	assert_int_equal(e.err.code, OV_EUNAVAILABLE);
	assert_int_equal(e.tries, 1);
	assert_non_null(strstr(e.err.msg, "status 429: quota"));
	buf_done(&e.text);
	world_close(&w);
}

TEST(a_short_wish_to_be_left_alone_is_waited_for)
{
	struct world w;
	struct end e = { 0 };
	struct llm_options o;
	uint64_t before;

	world_open(&w);
	o = options(&w, LLM_OPENAI);
	ask(&w, &o, &e);
	answer_with(&w, "429 Too Many Requests", "Retry-After: 1\r\n", "");
	before = test_now_ms();
	UNTIL(w.loop, asked(&w, "}]}"));
	assert_true(test_now_ms() - before >= 900);
	answer_with(&w, "200 OK", "", OPENAI_OK);
	UNTIL(w.loop, e.times);
	buf_done(&e.text);
	world_close(&w);
}

TEST(what_will_not_get_better_is_not_tried_again)
{
	static const struct {
		const char *status, *body;
		int code;
		const char *text;
	} cases[] = {
		{ "400 Bad Request", "{\"error\":{\"message\":\"no such model\"}}", OV_EINVALID,
				"status 400: no such model" },
		{ "404 Not Found", "<html>nothing here", OV_EINVALID, "status 404: <html>nothing" },
		{ "302 Found", "", OV_EINVALID, "status 302" },
		{ "401 Unauthorized", "{\"error\":{\"message\":\"bad key sk-ver***\"}}",
				OV_EUNAUTHORIZED, "refused the key in THE_VARIABLE (status 401)" },
		{ "403 Forbidden", KEY, OV_EUNAUTHORIZED, "THE_VARIABLE" },
		{ "200 OK", "not json", OV_EINVALID, "not this API" },
		{ "200 OK", "[]", OV_EINVALID, "not this API" },
		{ "200 OK", "{}", OV_EINVALID, "no text" },
		{ "200 OK", "{\"choices\":[{\"message\":{\"content\":null}}]}", OV_EINVALID,
				"no text" },
		{ "200 OK",
				"{\"choices\":[{\"message\":{\"content\":\"{\"},\"finish_reason\":"
				"\"length\"}]}",
				OV_ELIMIT, "cut off at 100 tokens" },
	};
	struct world w;

	world_open(&w);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct end e = { 0 };
		struct llm_options o = options(&w, LLM_OPENAI);

		ask(&w, &o, &e);
		answer_with(&w, cases[i].status, "", cases[i].body);
		UNTIL(w.loop, e.times);
		assert_int_equal(e.err.code, cases[i].code);
		if (!strstr(e.err.msg, cases[i].text))
			fail_msg("case %zu: %s", i, e.err.msg);
		assert_null(strstr(e.err.msg, "sk-ver"));
		assert_int_equal(e.tries, 1);
		buf_done(&e.text);
	}
	world_close(&w);
}

TEST(an_answer_of_anthropic_that_is_cut_off_is_told)
{
	struct world w;
	struct end e = { 0 };
	struct llm_options o;

	world_open(&w);
	o = options(&w, LLM_ANTHROPIC);
	ask(&w, &o, &e);
	answer_with(&w, "200 OK", "",
			"{\"content\":[{\"type\":\"text\",\"text\":\"{\"}],\"stop_reason\":"
			"\"max_tokens\",\"usage\":{\"input_tokens\":7,\"output_tokens\":100}}");
	UNTIL(w.loop, e.times);
	assert_int_equal(e.err.code, OV_ELIMIT);
	assert_int_equal(e.tokens_out, 100);
	buf_done(&e.text);
	world_close(&w);
}

TEST(a_question_can_be_cancelled_at_any_point)
{
	struct world w;
	struct end e = { 0 };
	struct llm_options o;

	world_open(&w);
	o = options(&w, LLM_OPENAI);
	ask(&w, &o, &e); /* before anything was sent */
	llm_cancel(e.call);
	ask(&w, &o, &e); /* while the server thinks */
	UNTIL(w.loop, asked(&w, "}]}"));
	llm_cancel(e.call);
	hang_up(&w);
	o.backoff_ms = 60000;
	ask(&w, &o, &e); /* while we wait for the next try */
	answer_with(&w, "503 Service Unavailable", "", "");
	assert_true(idle_iterations(w.loop) <= 2);
	llm_cancel(e.call);
	o = (struct llm_options){ .api = LLM_COMMAND, .command = "exec sleep 1000" };
	ask(&w, &o, &e);
	llm_cancel(e.call);
	assert_int_equal(e.times, 0);
	world_close(&w);
}

TEST(a_command_answers_from_standard_input)
{
	struct world w;
	struct end e = { 0 };
	struct llm_options o = { .api = LLM_COMMAND, .timeout_ms = 30000, .cwd = "/" };

	world_open(&w);
	o.command = "cat; pwd; echo noise >&2";
	ask(&w, &o, &e);
	UNTIL(w.loop, e.times);
	assert_int_equal(e.err.code, 0);
	assert_string_equal(buf_cstr(&e.text), "Plan \"it\".\n/\n");
	buf_done(&e.text);
	world_close(&w);
}

TEST(a_command_that_fails_says_why)
{
	static const struct {
		const char *command;
		int64_t timeout_ms;
		int code;
		const char *text;
	} cases[] = {
		{ "echo out of ideas >&2; exit 3", 30000, OV_EIO, "exit status 3: out of ideas" },
		{ "kill -9 $$", 30000, OV_EIO, "signal 9" },
		{ "exec sleep 1000", 50, OV_EUNAVAILABLE, "within 50 ms" },
		{ "head -c 2000000 /dev/zero", 30000, OV_ELIMIT, "more than 1048576 bytes" },
		{ "/no/such/program", 30000, OV_EIO, "exit status 127" },
	};
	struct world w;

	world_open(&w);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct end e = { 0 };
		struct llm_options o = { .api = LLM_COMMAND,
			.timeout_ms = cases[i].timeout_ms,
			.command = cases[i].command };

		ask(&w, &o, &e);
		UNTIL(w.loop, e.times);
		assert_int_equal(e.err.code, cases[i].code);
		if (!strstr(e.err.msg, cases[i].text))
			fail_msg("case %zu: %s", i, e.err.msg);
		buf_done(&e.text);
	}
	world_close(&w);
}
