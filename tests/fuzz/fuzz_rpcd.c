/*
 * The first byte is the size of the pieces, the rest what a client sends: every line becomes a call
 * or an error to answer, and every answer is one line of JSON that fits into its room.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/str.h"
#include "base/utf8.h"
#include "data/message/jsonrpc.h"
#include "data/message/ndjson.h"
#include "data/value/json.h"
#include "net/rpc_impl.h"

enum { MAX_LINE = 4096, ROOM = 1024 };

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_answer(struct buf *out, const value *id)
{
	struct arena a = ARENA_INIT;
	struct rpc_msg m;
	int rpc_code;
	value *v;

	check(str_find_byte(buf_str(out), '\n') == out->n);
	check(json_parse(&a, buf_str(out), NULL, &v, NULL) == 0);
	check(rpc_parse(v, &m, &rpc_code, NULL) == 0);
	check(m.kind == RPC_RESULT || m.kind == RPC_ERROR);
	check(!id || value_equal(id, m.id));
	arena_done(&a);
	buf_clear(out);
}

static void answered(struct rpc_pending *p, const value *result, const struct ov_err *err)
{
	struct buf *out = p->transport;

	if (p->call.notification)
		return;
	rpc_pending_write(p, result, err, ROOM, out);
	check_answer(out, p->id);
}

static void handle(str line, struct buf *out)
{
	struct rpc_pending *p = rpc_pending_read(line, MAX_LINE, out);
	struct ov_err err = { 0 };

	if (!p) {
		check_answer(out, NULL);
		return;
	}
	check(p->call.notification == !p->id);
	check(out->n == 0);
	p->transport = out;
	p->answered = answered;
	if (p->call.method.n % 2) {
		ov_fail(&err, OV_ENOTFOUND, "no " STR_FMT,
				STR_ARG(utf8_truncate(p->call.method, 100)));
		rpc_call_error(&p->call, &err);
	} else {
		rpc_call_result(&p->call, p->call.params);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf out = BUF_INIT;
	struct ndjson d;
	size_t piece;
	str line;
	int r = 0;

	if (size < 1)
		return 0;
	piece = data[0] ? data[0] : 1;
	ndjson_init(&d, MAX_LINE);
	for (size_t at = 1; at < size && r >= 0; at += piece) {
		ndjson_feed(&d, data + at, MIN(piece, size - at));
		while ((r = ndjson_next(&d, &line, NULL)) == 1)
			handle(line, &out);
	}
	if (r == 0)
		handle(ndjson_rest(&d), &out);
	ndjson_done(&d);
	buf_done(&out);
	return 0;
}
