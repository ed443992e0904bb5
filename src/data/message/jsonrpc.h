#pragma once
/*
 * JSON-RPC 2.0 envelopes. A message is classified and checked on the way in; on the way out our
 * error codes become JSON-RPC codes, with the code's name and the next command in `data`.
 * Batches are refused: the framing already carries many requests.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/ov.h"
#include "data/value/value.h"

enum {
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_METHOD_NOT_FOUND = -32601,
	RPC_INVALID_PARAMS = -32602,
};

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESULT, RPC_ERROR };

struct rpc_msg {
	enum rpc_kind kind;
	const value *id; /* string or integer; NULL in a notification; may be V_NULL in an error */
	str method;
	const value *params; /* object; NULL when absent. Positional parameters are refused */
	const value *result;
	int64_t error_code;
	str error_message;
	const value *error_data;
};

/*
 * Classifies and checks one parsed message. On failure *ret_rpc_code is the JSON-RPC code
 * to answer.
 */
int rpc_parse(const value *doc, struct rpc_msg *ret, int *ret_rpc_code, struct ov_err *err);

/* Each appends one compact JSON document without a newline. id NULL is written as null. */
void rpc_write_request(struct buf *out, const value *id, str method, const value *params);
void rpc_write_notification(struct buf *out, str method, const value *params);
void rpc_write_result(struct buf *out, const value *id, const value *result);
/* {"code", "message", "data": {"code": "E_STATE", "next": "..."}} */
void rpc_write_error(struct buf *out, const value *id, const struct ov_err *e);
void rpc_write_protocol_error(struct buf *out, const value *id, int rpc_code, str message);
/* An RPC_ERROR message back as an ov_err (name in data first, else the number). */
void rpc_to_err(const struct rpc_msg *m, struct ov_err *ret);
