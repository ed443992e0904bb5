#pragma once
/*
 * JSON-RPC over HTTP: turns a POST into the same struct rpc_call that the Unix socket gives, so
 * that operations are written once. The HTTP status is 200 for every well-formed JSON-RPC answer,
 * 204 for a notification.
 */
#include "net/httpd.h"
#include "net/rpc.h"

/*
 * Takes the request over; calls fn(user, call) at most once, before it returns. who becomes
 * the call's.
 */
void rpchttp_handle(struct http_req *req, const struct rpc_who *who, rpc_call_fn *fn, void *user);
