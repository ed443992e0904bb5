#pragma once
/*
 * Finds out who is at the other end of a connection, once, and keeps that with it;
 * core/policy/caller decides what follows. A process of a run is known by its control group, its
 * ancestors, its environment; of an HTTP connection, by the control group of its socket or the
 * processes that hold it. A run of another store is known by its sandbox.
 */
#include "core/policy/caller.h"
#include "net/httpd.h"
#include "net/rpc.h"

struct daemon;
struct op;
struct peer;

/* As struct rpcd_ops.accepted wants it: user is the daemon. */
void callers_accepted(void *user, const struct peer *peer, struct rpc_who *ret);
/* Of an HTTP connection: looked for at its first call, and then known. */
const struct rpc_who *callers_http(struct daemon *d, struct http_req *req);
/* Whether this caller may call this; a refusal is written to the log. */
int callers_check(struct daemon *d, const struct op *op, const struct rpc_who *who,
		struct ov_err *err);
