#include "tests/test.h"

#include <string.h>

#include "base/arena.h"
#include "base/str.h"
#include "data/message/jsonrpc.h"
#include "data/value/json.h"

static value *parsed(struct arena *a, str text)
{
	struct ov_err e = { 0 };
	value *v = NULL;

	if (json_parse(a, text, NULL, &v, &e) < 0)
		fail_msg(STR_FMT ": %s", STR_ARG(text), e.msg);
	return v;
}

TEST(accepted)
{
	static const struct {
		const char *text;
		enum rpc_kind kind;
	} cases[] = {
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"goal.create\",\"params\":{\"a\":1}}",
				RPC_REQUEST },
		{ "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"m\"}", RPC_REQUEST },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":null}", RPC_REQUEST },
		{ "{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"extra\":0}", RPC_NOTIFICATION },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":null}", RPC_RESULT },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-1,\"message\":\"no\"}}",
				RPC_ERROR },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-1,\"message\":\"no\","
		  "\"data\":[]}}",
				RPC_ERROR },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena a = ARENA_INIT;
		struct ov_err e = { 0 };
		struct rpc_msg m;
		int rpc_code = 0;

		if (rpc_parse(parsed(&a, str_from(cases[i].text)), &m, &rpc_code, &e) < 0)
			fail_msg("%s: %s", cases[i].text, e.msg);
		assert_int_equal(m.kind, cases[i].kind);
		assert_int_equal(rpc_code, 0);
		if (m.kind == RPC_REQUEST || m.kind == RPC_NOTIFICATION)
			assert_true(m.method.n > 0);
		if (m.kind == RPC_RESULT)
			assert_non_null(m.result);
		if (m.kind == RPC_ERROR)
			assert_true(str_is(m.error_message, "no") && m.error_code == -1);
		assert_int_equal(m.id == NULL, m.kind == RPC_NOTIFICATION);
		arena_done(&a);
	}
}

TEST(refused)
{
	static const struct {
		const char *text;
		int rpc_code;
		const char *message;
	} cases[] = {
		{ "[]", RPC_INVALID_REQUEST,
				"a message is an object, got array (batches are not accepted: send "
				"one message each)" },
		{ "1", RPC_INVALID_REQUEST, "a message is an object, got integer" },
		{ "{\"id\":1,\"method\":\"m\"}", RPC_INVALID_REQUEST, "jsonrpc: expected \"2.0\"" },
		{ "{\"jsonrpc\":2.0,\"id\":1,\"method\":\"m\"}", RPC_INVALID_REQUEST,
				"jsonrpc: expected \"2.0\"" },
		{ "{\"jsonrpc\":\"2.0\"}", RPC_INVALID_REQUEST,
				"a message needs a method, a result or an error" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", RPC_INVALID_REQUEST,
				"method: expected a name, got integer" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\"}", RPC_INVALID_REQUEST,
				"method: expected a name, got string" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}", RPC_INVALID_REQUEST,
				"id: expected string or integer, got null" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"m\"}", RPC_INVALID_REQUEST,
				"id: expected string or integer, got number" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":[1]}",
				RPC_INVALID_PARAMS,
				"params: expected object, got array (parameters are passed by "
				"name)" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":1}",
				RPC_INVALID_PARAMS, "params: expected object, got integer" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"result\":1}",
				RPC_INVALID_REQUEST,
				"a message is either a request or a response, not both" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":{}}", RPC_INVALID_REQUEST,
				"a response has either a result or an error, not both" },
		{ "{\"jsonrpc\":\"2.0\",\"result\":1}", RPC_INVALID_REQUEST,
				"id: expected string or integer, got nothing" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":1}", RPC_INVALID_REQUEST,
				"id: expected string or integer, got null" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":\"x\"}", RPC_INVALID_REQUEST,
				"error: expected object, got string" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"message\":\"x\"}}",
				RPC_INVALID_REQUEST, "error.code: missing (integer expected)" },
		{ "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1}}", RPC_INVALID_REQUEST,
				"error.message: missing (string expected)" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena a = ARENA_INIT;
		struct rpc_msg m = { .error_code = 99 };
		struct ov_err e = { 0 };
		int rpc_code = 0;

		assert_int_equal(rpc_parse(parsed(&a, str_from(cases[i].text)), &m, &rpc_code, &e),
				OV_EINVALID);
		assert_string_equal(e.msg, cases[i].message);
		assert_int_equal(rpc_code, cases[i].rpc_code);
		assert_int_equal(m.error_code, 99); /* untouched */
		arena_done(&a);
	}
}

TEST(written_messages_are_read_back)
{
	struct arena a = ARENA_INIT;
	struct buf b = BUF_INIT;
	struct rpc_msg m;
	value *params = value_object(&a);
	int rpc_code;

	value_put(&a, params, "k", value_cstr(&a, "v\n"));
	rpc_write_request(&b, value_int(&a, 5), STR("work.update"), params);
	assert_string_equal(b.p,
			"{\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"work.update\",\"params\":{"
			"\"k\":\"v\\n\"}}");
	assert_int_equal(rpc_parse(parsed(&a, buf_str(&b)), &m, &rpc_code, NULL), 0);
	assert_true(m.kind == RPC_REQUEST && m.id->i == 5 && value_equal(m.params, params));

	buf_clear(&b);
	rpc_write_notification(&b, STR("a\"b"), NULL);
	assert_string_equal(b.p, "{\"jsonrpc\":\"2.0\",\"method\":\"a\\\"b\"}");

	buf_clear(&b);
	rpc_write_result(&b, value_cstr(&a, "id"), NULL);
	assert_string_equal(b.p, "{\"jsonrpc\":\"2.0\",\"id\":\"id\",\"result\":null}");
	assert_int_equal(rpc_parse(parsed(&a, buf_str(&b)), &m, &rpc_code, NULL), 0);
	assert_true(m.kind == RPC_RESULT && m.result->kind == V_NULL);

	buf_clear(&b);
	rpc_write_protocol_error(&b, NULL, RPC_PARSE_ERROR, STR("bad"));
	assert_string_equal(b.p,
			"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":"
			"\"bad\"}}");
	buf_done(&b);
	arena_done(&a);
}

TEST(errors_survive_the_trip)
{
	for (int code = -1; code > -OV_CODE_COUNT; code--) {
		struct ov_err e = { 0 }, back = { 0 };
		struct arena a = ARENA_INIT;
		struct buf b = BUF_INIT;
		struct rpc_msg m;
		int rpc_code;

		ov_fail(&e, code, "what went \"wrong\": %d", code);
		if (code % 2)
			ov_next(&e, "overseer goal show %d", code);
		rpc_write_error(&b, value_int(&a, 1), &e);
		assert_int_equal(rpc_parse(parsed(&a, buf_str(&b)), &m, &rpc_code, NULL), 0);
		assert_int_equal(m.error_code, ov_code_info(code)->rpc_code);
		rpc_to_err(&m, &back);
		assert_int_equal(back.code, code);
		assert_string_equal(back.msg, e.msg);
		assert_string_equal(back.next, e.next);
		buf_done(&b);
		arena_done(&a);
	}
}

TEST(foreign_errors_get_a_code)
{
	static const struct {
		int64_t rpc;
		const char *data;
		int code;
	} cases[] = {
		{ RPC_PARSE_ERROR, "null", OV_EINVALID },
		{ RPC_INVALID_REQUEST, "null", OV_EINVALID },
		{ RPC_METHOD_NOT_FOUND, "null", OV_ENOTFOUND },
		{ RPC_INVALID_PARAMS, "\"text\"", OV_EINVALID },
		{ -32005, "null", OV_ESTATE },
		{ -32603, "null", OV_EINTERNAL },
		{ 0, "{\"code\":\"OK\"}", OV_EINTERNAL }, /* an error is never success */
		{ 7, "{\"code\":\"E_LIMIT\"}", OV_ELIMIT },
		{ -32005, "{\"code\":\"E_NEW\"}", OV_ESTATE },
		{ INT64_MIN, "{\"code\":3}", OV_EINTERNAL },
	};
	struct arena a = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct rpc_msg m = { .kind = RPC_ERROR,
			.error_code = cases[i].rpc,
			.error_message = STR("m"),
			.error_data = parsed(&a, str_from(cases[i].data)) };
		struct ov_err e = { 0 };

		rpc_to_err(&m, &e);
		assert_int_equal(e.code, cases[i].code);
		assert_string_equal(e.msg, "m");
	}
	arena_done(&a);
}

TEST_MAIN
