#include "net/rpchttp.h"

#include "net/rpc_impl.h"

/*
 * The client takes the answer at its own pace and holds one at a time: this bounds mistakes only.
 */
enum { MAX_ANSWER = 64 * 1024 * 1024 };

static void rpchttp_answered(struct rpc_pending *p, const value *result, const struct ov_err *err)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	struct http_req *req = p->transport;

	if (p->call.notification) {
		http_answer(req, 204, NULL, (str){ 0 });
		return;
	}
	rpc_pending_write(p, result, err, MAX_ANSWER, &out);
	http_answer(req, 200, "application/json", buf_str(&out));
}

void rpchttp_handle(struct http_req *req, const struct rpc_who *who, rpc_call_fn *fn, void *user)
{
	_cleanup_(buf_done) struct buf reply = BUF_INIT;
	struct rpc_pending *p = rpc_pending_read(req->body, req->route->max_body, &reply);

	if (!p) {
		http_answer(req, 200, "application/json", buf_str(&reply));
		return;
	}
	p->call.via = RPC_VIA_HTTP;
	p->call.who = *who;
	p->answered = rpchttp_answered;
	p->transport = req;
	fn(user, &p->call);
}
