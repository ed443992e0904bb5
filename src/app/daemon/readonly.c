#include <stdio.h>
#include <unistd.h>

#include "app/daemon/daemon_impl.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/model/limits.h"
#include "data/message/jsonrpc.h"
#include "data/value/json.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"
#include "sys/host/rand.h"

/* The first line of stdin. */
static int read_request(struct buf *in, struct ov_err *err)
{
	char piece[65536];
	ssize_t n;

	while ((n = read(STDIN_FILENO, piece, sizeof(piece))) > 0) {
		buf_add(in, piece, (size_t)n);
		if (memchr(piece, '\n', (size_t)n))
			return 0;
		if (in->n > LIMIT_REQUEST_BYTES)
			return ov_fail(err, OV_ELIMIT, "the request has more than %d bytes",
					LIMIT_REQUEST_BYTES);
	}
	return in->n ? 0 : ov_fail(err, OV_EINVALID, "no request on standard input");
}

/*
 * Asked by whoever wants to know why there is no daemon. A bad configuration may be just that: it
 * is told, and the rest as well.
 */
static bool is_about_daemon(const struct op *op)
{
	enum op_id id = op_id(op);

	return id == OP_status_get || id == OP_explain_get || id == OP_inbox_list ||
			id == OP_events_list;
}

/*
 * A bad configuration does not keep anybody from looking after the store. Of one that others could
 * have written nothing is used, nor of what else lies there; only the doctor says what is wrong.
 */
static bool is_told(const struct op *op, int problem)
{
	if (problem == OV_EUNAUTHORIZED)
		return op_id(op) == OP_doctor_run;
	return op->kind == OP_CHILD || is_about_daemon(op);
}

static int load_config(struct op_daemon *self, const struct op *op, struct arena *a,
		struct config **ret, struct ov_err *err)
{
	struct ov_err found = { 0 };
	int r = daemon_load_config(&(struct config_source){ self->dir, "", NULL }, ret, &found);

	if (r < 0 && is_told(op, r)) {
		self->config_problem = arena_cstr(a, str_from(found.msg));
		r = config_parse(STR(""), ret, err);
	} else if (r < 0 && err) {
		*err = found;
	}
	if (r < 0)
		return r;
	self->store_url = (*ret)->store_url.n
			? arena_cstr(a, (*ret)->store_url)
			: arena_cstr(a, arena_printf(a, "sqlite:%s/store.db", self->dir));
	return 0;
}

/* What is configured can be told before the first daemon has made a store. */
static bool is_about_config(const struct op *op)
{
	enum op_id id = op_id(op);

	return id == OP_agent_list || id == OP_agent_show || id == OP_config_show;
}

static int open_store(const struct op_daemon *self, const struct op *op, struct safe_store *ret,
		struct ov_err *err)
{
	int r = safe_store_open(self->store_url, rand_u64(), ret, err);

	if (r != OV_ENOTFOUND)
		return r;
	if (is_about_config(op))
		return safe_store_open("mem:", rand_u64(), ret, err);
	return ov_next(err, "overseer up");
}

static int answer(struct arena *a, const struct readonly_options *o, const struct rpc_msg *req,
		value **ret, struct ov_err *err)
{
	struct op_daemon self = { .dir = o->dir,
		.repo = o->repo,
		.shim = o->shim,
		.instance = "",
		.read_only = true };
	struct op_ctx cx = { .arena = a, .daemon = &self, .now = clock_wall() };
	struct config *config = NULL;
	struct safe_store s = { 0 };
	const struct op *op = NULL;
	int r;

	self.config_file = path_join(a, o->dir, "config.toml");
	r = op_find(req->method, req->params, &op, err);
	if (r == 0 && op->kind != OP_READ && !(op->kind == OP_CHILD && o->may_write)) {
		ov_fail(err, OV_EUNAVAILABLE, "%s needs the daemon, which is not running",
				op->name);
		r = ov_next(err, "overseer up");
	}
	if (r == 0)
		r = load_config(&self, op, a, &config, err);
	if (r == 0 && op->kind == OP_READ)
		r = open_store(&self, op, &s, err);
	cx.state = s.state;
	cx.store = s.store;
	self.safe = s.safe.on ? &s.safe : NULL;
	cx.config = config;
	if (r == 0)
		r = op_handler(op)(&cx, req->params, ret, err);
	if (r == 0)
		*ret = value_copy(a, *ret);
	safe_store_done(&s);
	config_free(config);
	return r;
}

int readonly_run(const struct readonly_options *o)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	_cleanup_(buf_done) struct buf in = BUF_INIT, out = BUF_INIT;
	struct rpc_msg req = { 0 };
	struct ov_err err = { 0 };
	value *doc, *result = NULL;
	int rpc_code, r;

	r = read_request(&in, &err);
	if (r == 0)
		r = json_parse(&a, str_trim(buf_str(&in)), NULL, &doc, &err);
	if (r == 0)
		r = rpc_parse(doc, &req, &rpc_code, &err);
	if (r == 0)
		r = answer(&a, o, &req, &result, &err);
	if (r < 0)
		rpc_write_error(&out, req.id, &err);
	else
		rpc_write_result(&out, req.id, result);
	buf_addc(&out, '\n');
	if (fwrite(out.p, 1, out.n, stdout) != out.n || fflush(stdout) != 0)
		return ov_code_info(OV_EIO)->exit_status;
	return r < 0 ? ov_code_info(r)->exit_status : 0;
}
