#pragma once
/*
 * The daemon as seen from the command line: finds the store's folder, connects to the socket that
 * daemon.json names, sends one request and waits for its answer, with a bound on time and size.
 * While the daemon is down, what only reads is answered by `overseerd --read-only`. A struct client
 * owns its connection; answers live in the arena of the call.
 */
#include "base/ov.h"
#include "base/vec.h"
#include "core/op/op.h"
#include "data/message/ndjson.h"
#include "data/value/value.h"

struct client {
	struct arena *arena;
	const char *dir;    /* the store's folder, absolute */
	int64_t timeout_ms; /* for one answer */
	int fd;             /* -1: not connected */
	int signal_fd;      /* watched too when >= 0: see client_catch_signals */
	int out_fd;         /* as well: a wait ends when nobody reads it any more */
	bool unread;        /* that was so */
	int64_t next_id;
	int peer_pid;   /* who listens on the socket, as the kernel says; 0: unknown */
	bool read_only; /* an answer came from the store, without a daemon */
	struct ndjson lines;
	VEC(str) events; /* notifications that came while an answer was awaited; owned lines */
	size_t events_taken;
};

void client_init(struct client *c, struct arena *a);
void client_done(struct client *c);

/*
 * The store's folder: `given` (--dir), else $OVERSEER_DIR, else .overseer in the working folder or
 * one above it. A folder that has a .overseer stands for that one. OV_ENOTFOUND names `init`.
 */
int store_find(struct arena *a, const char *given, const char **ret, struct ov_err *err);
/*
 * In the sandbox of a run the store is an empty folder: OV_ESTATE. A daemon that is started there
 * would be a second one that nobody sees.
 */
int store_shown(struct arena *a, const char *dir, struct ov_err *err);

/* OV_EUNAVAILABLE when no daemon listens. */
int client_connect(struct client *c, struct ov_err *err);
/* One answer from the connected daemon. */
int client_ask(struct client *c, enum op_id op, const value *params, int64_t timeout_ms,
		const value **ret, struct ov_err *err);
/* The same; connects if need be. Never what is stored, however it may be asked. */
int client_ask_daemon(struct client *c, enum op_id op, const value *params, const value **ret,
		struct ov_err *err);
/* Connects if need be; what reads is answered from the store while the daemon is down. */
int client_call(struct client *c, enum op_id op, const value *params, const value **ret,
		struct ov_err *err);

/* From now on SIGINT and SIGTERM end a wait with CLIENT_SIGNAL instead of the program. */
enum { CLIENT_TIMEOUT = 0, CLIENT_EVENT = 1, CLIENT_SIGNAL = 2 };
int client_catch_signals(struct client *c, struct ov_err *err);
/* The same, for what has nothing to do once nobody reads standard output any more (`| head`). */
int client_follow_signals(struct client *c, struct ov_err *err);
/* The exit status after CLIENT_SIGNAL: nothing is wrong when the reader had enough. */
int client_signal_status(const struct client *c);
/*
 * Waits for a notification "event" after events.follow: CLIENT_EVENT and the event in `a`,
 * CLIENT_TIMEOUT after timeout_ms (-1: never), CLIENT_SIGNAL, or a negative code.
 */
int client_next_event(struct client *c, struct arena *a, int timeout_ms, const value **ret,
		struct ov_err *err);
