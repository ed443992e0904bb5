#pragma once
/*
 * Errors: a code from the one table that socket, HTTP, MCP and exit statuses share, and a message
 * that grows context on its way up ("plan apply: phases[0]: unknown key"). A fallible function
 * returns 0 or one of these (negative) codes and fills the ov_err it was given; NULL is allowed.
 * `next` tells a person what to type next, where there is something to say.
 */
#include "base/ov.h"

/* code, name, JSON-RPC code, HTTP status, exit status */
#define OV_CODES(X)                                           \
	X(OV_EINVALID, "E_INVALID", -32001, 400, 2)           \
	X(OV_EINVALID_PLAN, "E_INVALID_PLAN", -32002, 400, 2) \
	X(OV_ENOTFOUND, "E_NOT_FOUND", -32003, 404, 3)        \
	X(OV_ECONFLICT, "E_CONFLICT", -32004, 409, 4)         \
	X(OV_ESTATE, "E_STATE", -32005, 409, 4)               \
	X(OV_EUNAUTHORIZED, "E_UNAUTHORIZED", -32006, 403, 5) \
	X(OV_EFENCED, "E_FENCED", -32007, 409, 5)             \
	X(OV_ELIMIT, "E_LIMIT", -32008, 413, 6)               \
	X(OV_EUNAVAILABLE, "E_UNAVAILABLE", -32009, 503, 7)   \
	X(OV_EIO, "E_IO", -32010, 500, 8)                     \
	X(OV_EINTERNAL, "E_INTERNAL", -32011, 500, 70)

#define OV_CODE_INDEX(code, name, rpc, http, exit) code##_INDEX,
enum ov_code_index { OV_OK_INDEX, OV_CODES(OV_CODE_INDEX) OV_CODE_COUNT };
#undef OV_CODE_INDEX

#define OV_CODE_ENUM(code, name, rpc, http, exit) code = -(int)code##_INDEX,
enum ov_code { OV_CODES(OV_CODE_ENUM) };
#undef OV_CODE_ENUM

struct ov_code_info {
	const char *name;
	int rpc_code, http_status, exit_status;
};

struct ov_err {
	int code;       /* 0 or enum ov_code */
	char msg[1024]; /* cut with "..." when longer */
	char next[256]; /* a command to type, or empty */
};

/* The row of a code; an unknown code gives the row of OV_EINTERNAL. */
const struct ov_code_info *ov_code_info(int code) _pure_;
/* The code with this name or this JSON-RPC code; OV_EINTERNAL when there is none. */
int ov_code_from_name(str name) _pure_;
int ov_code_from_rpc(int64_t rpc_code) _pure_;

/* Sets code and message, returns the code: `return ov_fail(err, OV_EIO, "...")`. */
int ov_fail(struct ov_err *err, int code, const char *fmt, ...) _printf_(3, 4);
/* As ov_fail with OV_EIO, followed by what errno says. */
int ov_fail_errno(struct ov_err *err, int errnum, const char *fmt, ...) _printf_(3, 4);
/* Puts "context: " before the message and returns code. */
int ov_wrap(struct ov_err *err, int code, const char *fmt, ...) _printf_(3, 4);
/*
 * Sets the hint what to type next; returns the error's code, or OV_EINTERNAL where err is NULL. It
 * is the last thing said of a failure and what is returned for it, "ov_fail(err, ...); return
 * ov_next(err, ...);", or (void)ov_next(...) where nobody returns it.
 */
int ov_next(struct ov_err *err, const char *fmt, ...) _printf_(2, 3);
