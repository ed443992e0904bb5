#pragma once
/*
 * A JSON-RPC server on a Unix socket: one message per line, answers in any order (by id). The
 * server owns its socket file and its connections; calls belong to whoever is answering them
 * (net/rpc.h) and outlive both their connection and the server. Everything is bounded: frames,
 * connections, unanswered calls (then we stop reading), queued output (then we hang up).
 * A line that is no JSON is answered and skipped; an oversized one is answered and ends the
 * connection, since the framing is lost. Empty lines are ignored. A last line without a newline
 * counts, so that `printf … | nc -NU` works; a half-closed client still gets its answers.
 */
#include "net/rpc.h"

struct loop;
struct peer;
struct rpcd;

struct rpcd_ops {
	rpc_call_fn *call;
	/* Lets a peer in; NULL: only our own user and root. */
	bool (*allow)(void *user, const struct peer *peer);
	/*
	 * A connection was accepted: who is it? Once for each that may come in whoever it is,
	 * before anything is read; may be NULL.
	 */
	void (*accepted)(void *user, const struct peer *peer, struct rpc_who *ret);
};

/* 0 gives the default. */
struct rpcd_limits {
	size_t max_frame; /* 1 MiB */
	size_t max_conns; /* 256 */
	/* As net/admit.h says; max_conns each, and none is reserved. */
	size_t max_per_process, max_per_user, max_guests, reserved;
	size_t max_pending; /* 64 unanswered calls per connection */
	size_t max_queued;  /* 4 MiB of output per connection */
};

/*
 * Listens on path (mode 0600). A socket file that nobody listens on is replaced; one that somebody
 * listens on is OV_ECONFLICT, anything else that is there is left alone. The caller makes sure by a
 * lock that no two servers start at once. ops live as long as the server; limits may be NULL.
 */
int rpcd_open(struct loop *l, const char *path, const struct rpcd_ops *ops, void *user,
		const struct rpcd_limits *limits, struct rpcd **ret, struct ov_err *err);
/* Its socket file is there, and is its own. */
bool rpcd_is_reachable(const struct rpcd *d);
/*
 * Listens anew on its path, where the socket file was removed or replaced; what is there is treated
 * as by rpcd_open. Connections stay. On failure everything is as before.
 */
int rpcd_listen_again(struct rpcd *d, struct ov_err *err);
/* Removes the socket file, ends all connections (watchers run). NULL allowed; not from ops. */
void rpcd_close(struct rpcd *d);
/* Stops accepting and reading, so that what is under way can be answered before rpcd_close. */
void rpcd_drain(struct rpcd *d);
size_t rpcd_conns(const struct rpcd *d);
/* Calls that are not answered, and bytes that are not sent: 0 and 0 is the end of a drain. */
size_t rpcd_pending(const struct rpcd *d);
size_t rpcd_queued(const struct rpcd *d);
