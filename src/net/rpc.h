#pragma once
/*
 * One JSON-RPC call that waits for its answer, whatever brought it: a line on the Unix socket
 * (net/rpcd.h) or a POST (net/rpchttp.h). A call belongs to whoever was given it until it is
 * answered, exactly once, now or later; answering frees it together with its arena. A caller that
 * vanished meanwhile swallows the answer, so nobody has to ask.
 */
#include "base/err.h"
#include "base/ov.h"
#include "data/value/value.h"

#include <sys/types.h>

struct rpc_conn;

enum rpc_via { RPC_VIA_SOCKET, RPC_VIA_HTTP };

/*
 * What the owner of the server found out about the other end of a connection; net only keeps
 * it with it.
 */
struct rpc_who {
	unsigned kind, why;
	bool guest; /* no person: all guests together get only some of the connections */
	char name[64];
};

/* To be read only. */
struct rpc_call {
	struct arena *arena; /* the call's own: build the result in it */
	str method;
	const value *params; /* an object, or NULL */
	enum rpc_via via;
	uid_t uid;             /* RPC_VIA_SOCKET only, as the kernel says */
	struct rpc_who who;    /* of its connection */
	struct rpc_conn *conn; /* NULL over HTTP, and once the connection is gone */
	bool notification;     /* nobody waits: the answer is dropped, but has to be given */
};

typedef void rpc_call_fn(void *user, struct rpc_call *call);

/* Both free the call; the value may live in its arena. NULL is answered as null. */
void rpc_call_result(struct rpc_call *call, const value *result);
void rpc_call_error(struct rpc_call *call, const struct ov_err *err);

/*
 * Queues a notification (for followers of events); false when the connection's queue is full, and
 * then the connection is closed from the loop. The connection is valid until its watchers ran.
 */
bool rpc_conn_notify(struct rpc_conn *conn, str method, const value *params);
/*
 * fn(user) once when the connection is gone; conn is invalid afterwards. Keeps a half-closed
 * one open.
 */
void rpc_conn_watch(struct rpc_conn *conn, void (*fn)(void *user), void *user);
