#include "data/message/jsonrpc.h"

#include "base/str.h"
#include "data/value/json.h"

static bool is_id(const value *id)
{
	return id && (id->kind == V_STR || id->kind == V_INT);
}

/* Each checks its part and fills it in; the result is 0 or the JSON-RPC code to answer. */
static int parse_call(const value *doc, struct rpc_msg *m, struct ov_err *err)
{
	const value *method = value_at(doc, "method"), *params = value_at(doc, "params");

	if (method->kind != V_STR || method->s.n == 0) {
		ov_fail(err, OV_EINVALID, "method: expected a name, got %s",
				value_kind_name(method->kind));
		return RPC_INVALID_REQUEST;
	}
	if (value_at(doc, "result") || value_at(doc, "error")) {
		ov_fail(err, OV_EINVALID, "a message is either a request or a response, not both");
		return RPC_INVALID_REQUEST;
	}
	if (m->id && !is_id(m->id)) {
		ov_fail(err, OV_EINVALID, "id: expected string or integer, got %s",
				value_kind_name(m->id->kind));
		return RPC_INVALID_REQUEST;
	}
	/* Some peers write the absence of parameters as null. */
	if (params && params->kind == V_NULL)
		params = NULL;
	if (params && params->kind != V_OBJECT) {
		ov_fail(err, OV_EINVALID, "params: expected object, got %s%s",
				value_kind_name(params->kind),
				params->kind == V_ARRAY ? " (parameters are passed by name)" : "");
		return RPC_INVALID_PARAMS;
	}
	m->kind = m->id ? RPC_REQUEST : RPC_NOTIFICATION;
	m->method = method->s;
	m->params = params;
	return 0;
}

static int parse_error(const value *error, struct rpc_msg *m, struct ov_err *err)
{
	if (error->kind != V_OBJECT) {
		ov_fail(err, OV_EINVALID, "error: expected object, got %s",
				value_kind_name(error->kind));
		return RPC_INVALID_REQUEST;
	}
	if (value_need_int(error, STR("error"), "code", &m->error_code, err) < 0 ||
			value_need_str(error, STR("error"), "message", &m->error_message, err) < 0)
		return RPC_INVALID_REQUEST;
	m->kind = RPC_ERROR;
	m->error_data = value_at(error, "data");
	return 0;
}

static int parse_response(const value *doc, struct rpc_msg *m, struct ov_err *err)
{
	const value *error = value_at(doc, "error");

	m->result = value_at(doc, "result");
	if (!m->result == !error) {
		ov_fail(err, OV_EINVALID,
				m->result ? "a response has either a result or an error, not both"
					  : "a message needs a method, a result or an error");
		return RPC_INVALID_REQUEST;
	}
	/* Only an error can answer a request whose id was not understood. */
	if (!is_id(m->id) && !(error && m->id && m->id->kind == V_NULL)) {
		ov_fail(err, OV_EINVALID, "id: expected string or integer, got %s",
				m->id ? value_kind_name(m->id->kind) : "nothing");
		return RPC_INVALID_REQUEST;
	}
	if (error)
		return parse_error(error, m, err);
	m->kind = RPC_RESULT;
	return 0;
}

int rpc_parse(const value *doc, struct rpc_msg *ret, int *ret_rpc_code, struct ov_err *err)
{
	struct rpc_msg m = { .id = value_at(doc, "id") };
	int rpc_code = RPC_INVALID_REQUEST;

	if (doc->kind != V_OBJECT)
		ov_fail(err, OV_EINVALID, "a message is an object, got %s%s",
				value_kind_name(doc->kind),
				doc->kind == V_ARRAY ? " (batches are not accepted: send one "
						       "message each)"
						     : "");
	else if (!str_is(value_str_at(doc, "jsonrpc"), "2.0"))
		ov_fail(err, OV_EINVALID, "jsonrpc: expected \"2.0\"");
	else if (value_at(doc, "method"))
		rpc_code = parse_call(doc, &m, err);
	else
		rpc_code = parse_response(doc, &m, err);
	if (rpc_code) {
		*ret_rpc_code = rpc_code;
		return OV_EINVALID;
	}
	*ret = m;
	return 0;
}

static void jsonrpc_begin(struct buf *out)
{
	buf_adds(out, STR("{\"jsonrpc\":\"2.0\""));
}

static void add_id(struct buf *out, const value *id)
{
	buf_adds(out, STR(",\"id\":"));
	if (id)
		json_write(out, id);
	else
		buf_adds(out, STR("null"));
}

static void add_call(struct buf *out, str method, const value *params)
{
	buf_adds(out, STR(",\"method\":"));
	json_write_string(out, method);
	if (params) {
		buf_adds(out, STR(",\"params\":"));
		json_write(out, params);
	}
	buf_addc(out, '}');
}

void rpc_write_request(struct buf *out, const value *id, str method, const value *params)
{
	jsonrpc_begin(out);
	add_id(out, id);
	add_call(out, method, params);
}

void rpc_write_notification(struct buf *out, str method, const value *params)
{
	jsonrpc_begin(out);
	add_call(out, method, params);
}

void rpc_write_result(struct buf *out, const value *id, const value *result)
{
	jsonrpc_begin(out);
	add_id(out, id);
	buf_adds(out, STR(",\"result\":"));
	if (result)
		json_write(out, result);
	else
		buf_adds(out, STR("null"));
	buf_addc(out, '}');
}

void rpc_write_error(struct buf *out, const value *id, const struct ov_err *e)
{
	const struct ov_code_info *info = ov_code_info(e->code ? e->code : OV_EINTERNAL);

	jsonrpc_begin(out);
	add_id(out, id);
	buf_addf(out, ",\"error\":{\"code\":%d,\"message\":", info->rpc_code);
	json_write_string(out, str_from(e->msg));
	buf_addf(out, ",\"data\":{\"code\":\"%s\"", info->name);
	if (e->next[0]) {
		buf_adds(out, STR(",\"next\":"));
		json_write_string(out, str_from(e->next));
	}
	buf_adds(out, STR("}}}"));
}

void rpc_write_protocol_error(struct buf *out, const value *id, int rpc_code, str message)
{
	jsonrpc_begin(out);
	add_id(out, id);
	buf_addf(out, ",\"error\":{\"code\":%d,\"message\":", rpc_code);
	json_write_string(out, message);
	buf_adds(out, STR("}}"));
}

static int code_of(const struct rpc_msg *m)
{
	int code = ov_code_from_name(value_str_at(m->error_data, "code"));

	if (code < 0 && code != OV_EINTERNAL)
		return code;
	switch (m->error_code) {
	case RPC_PARSE_ERROR:
	case RPC_INVALID_REQUEST:
	case RPC_INVALID_PARAMS: return OV_EINVALID;
	case RPC_METHOD_NOT_FOUND: return OV_ENOTFOUND;
	default: break;
	}
	code = ov_code_from_rpc(m->error_code);
	return code < 0 ? code : OV_EINTERNAL;
}

void rpc_to_err(const struct rpc_msg *m, struct ov_err *ret)
{
	str next = value_str_at(m->error_data, "next");

	ov_fail(ret, code_of(m), STR_FMT, STR_ARG(m->error_message));
	if (next.n)
		(void)ov_next(ret, STR_FMT, STR_ARG(next));
}
