/*
 * Any document: refused with a code to answer, or classified so that writing it reads back alike.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/str.h"
#include "data/message/jsonrpc.h"
#include "data/value/json.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void write_again(struct buf *out, const struct rpc_msg *m)
{
	struct ov_err e = { 0 };

	switch (m->kind) {
	case RPC_REQUEST: rpc_write_request(out, m->id, m->method, m->params); break;
	case RPC_NOTIFICATION: rpc_write_notification(out, m->method, m->params); break;
	case RPC_RESULT: rpc_write_result(out, m->id, m->result); break;
	case RPC_ERROR:
		rpc_to_err(m, &e);
		check(e.code < 0);
		rpc_write_error(out, m->id, &e);
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = ARENA_INIT;
	struct buf out = BUF_INIT;
	struct rpc_msg m, again;
	struct ov_err e = { 0 };
	int rpc_code = 0;
	value *v;

	if (json_parse(&a, (str){ (const char *)data, size }, NULL, &v, NULL) == 0) {
		if (rpc_parse(v, &m, &rpc_code, &e) == 0) {
			write_again(&out, &m);
			check(json_parse(&a, buf_str(&out), NULL, &v, NULL) == 0);
			check(rpc_parse(v, &again, &rpc_code, NULL) == 0);
			check(again.kind == m.kind && str_eq(again.method, m.method));
			check(!m.id == !again.id && (!m.id || value_equal(m.id, again.id)));
			check(!m.params == !again.params &&
					(!m.params || value_equal(m.params, again.params)));
		} else {
			check(rpc_code == RPC_INVALID_REQUEST || rpc_code == RPC_INVALID_PARAMS);
			check(e.msg[0]);
		}
	}
	buf_done(&out);
	arena_done(&a);
	return 0;
}
