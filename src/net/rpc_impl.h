#pragma once
/*
 * Inside net only: the life of a call between a transport and whoever answers it. A transport reads
 * a message into a pending call, fills in where it came from and hands it out; the answer comes
 * back through `answered`, which belongs to the transport, and then the call is freed.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "net/rpc.h"

struct rpc_pending;

/* err NULL: a result. Runs once; a transport that goes away first sets `answered` to NULL. */
typedef void rpc_answered_fn(struct rpc_pending *p, const value *result, const struct ov_err *err);

struct rpc_pending {
	struct rpc_call call;
	struct arena arena;
	const value *id; /* NULL in a notification */
	rpc_answered_fn *answered;
	void *transport;
	struct list link; /* the transport's */
};

/*
 * Reads one request or notification; text is copied. NULL when it is none, and then the answer to
 * send back is appended to *reply.
 */
struct rpc_pending *rpc_pending_read(str text, size_t max, struct buf *reply);
/* Appends the answer; one of more than room bytes is replaced by an error that says so. */
void rpc_pending_write(const struct rpc_pending *p, const value *result, const struct ov_err *err,
		size_t room, struct buf *out);
