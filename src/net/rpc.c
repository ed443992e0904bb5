#include "net/rpc_impl.h"

#include "base/str.h"
#include "data/message/jsonrpc.h"
#include "data/value/json.h"

/* Deeper than any operation's parameters; keeps recursion over them harmless. */
enum { RPC_MAX_DEPTH = 64 };

/* It lives in its own arena. */
static void rpc_pending_free(struct rpc_pending *p)
{
	struct arena a = p->arena;

	arena_done(&a);
}

/* The id of something that is no proper request, so that its sender can tell which one. */
static const value *rpc_guess_id(const value *doc)
{
	const value *id = value_at(doc, "id");

	return id && (id->kind == V_STR || id->kind == V_INT) ? id : NULL;
}

static int rpc_pending_parse(struct rpc_pending *p, str text, size_t max, struct buf *reply)
{
	struct json_limits limits = { .max_bytes = max, .max_depth = RPC_MAX_DEPTH };
	struct ov_err err = { 0 };
	struct rpc_msg msg;
	value *doc;
	int rpc_code = RPC_INVALID_REQUEST;
	int r = json_parse(&p->arena, arena_str(&p->arena, text), &limits, &doc, &err);

	if (r < 0) {
		rpc_write_protocol_error(reply, NULL, RPC_PARSE_ERROR, str_from(err.msg));
		return r;
	}
	r = rpc_parse(doc, &msg, &rpc_code, &err);
	if (r < 0) {
		rpc_write_protocol_error(reply, rpc_guess_id(doc), rpc_code, str_from(err.msg));
		return r;
	}
	if (msg.kind != RPC_REQUEST && msg.kind != RPC_NOTIFICATION) {
		rpc_write_protocol_error(reply, NULL, RPC_INVALID_REQUEST,
				STR("an answer to nothing: this side only takes requests"));
		return OV_EINVALID;
	}
	p->id = msg.id;
	p->call.method = msg.method;
	p->call.params = msg.params;
	p->call.notification = msg.kind == RPC_NOTIFICATION;
	return 0;
}

struct rpc_pending *rpc_pending_read(str text, size_t max, struct buf *reply)
{
	struct arena a = ARENA_INIT;
	struct rpc_pending *p = arena_new(&a, struct rpc_pending);

	p->arena = a;
	p->call.arena = &p->arena;
	list_init(&p->link);
	if (rpc_pending_parse(p, text, max, reply) < 0) {
		rpc_pending_free(p);
		return NULL;
	}
	return p;
}

void rpc_pending_write(const struct rpc_pending *p, const value *result, const struct ov_err *err,
		size_t room, struct buf *out)
{
	static const value null_value = { .kind = V_NULL };
	struct ov_err too_large = { 0 };
	size_t before = out->n;
	size_t n;

	if (err)
		rpc_write_error(out, p->id, err);
	else
		rpc_write_result(out, p->id, result ? result : &null_value);
	n = out->n - before;
	if (n <= room)
		return;
	out->n = before;
	ov_fail(&too_large, OV_ELIMIT,
			"the answer has %zu bytes and %zu can be queued: ask for less, or read "
			"faster",
			n, room);
	rpc_write_error(out, p->id, &too_large);
}

static void rpc_call_answer(struct rpc_call *call, const value *result, const struct ov_err *err)
{
	struct rpc_pending *p = list_entry(call, struct rpc_pending, call);

	if (p->answered)
		p->answered(p, result, err);
	rpc_pending_free(p);
}

void rpc_call_result(struct rpc_call *call, const value *result)
{
	rpc_call_answer(call, result, NULL);
}

void rpc_call_error(struct rpc_call *call, const struct ov_err *err)
{
	rpc_call_answer(call, NULL, err);
}
