#pragma once
/*
 * What the operations of the table (op/op.h) do. A reading operation is a function of the state and the
 * store; a writing one is a command for the engine; a few (following, waiting, stopping) need the daemon
 * itself. What takes its time on the store's files is done by a process of its own (`overseerd --once`),
 * whether the daemon runs or not: it gets neither state nor store and opens what it needs.
 */
#include "base/buf.h"
#include "base/ov.h"
#include "core/config/config.h"
#include "core/policy/caller.h"
#include "core/state/state.h"
#include "op/op.h"
#include "store/store.h"

struct safe_mode;

/* Who is asked, and what it is: for the answers that speak of the daemon. */
struct op_daemon {
	const char *dir, *repo, *shim, *store_url, *instance, *config_file;
	const char *config_problem; /* without a daemon: config.toml is bad, the defaults are used */
	int pid;
	ov_time started_at;
	int64_t http_port;
	bool read_only;
	const struct safe_mode *safe; /* NULL, or why nothing is written */
	const char *degraded;         /* NULL, or why it cannot do all of its work */
	const char *unfenced;         /* NULL, or why sandbox = "auto" is none */
};

struct op_ctx {
	struct arena *arena;
	const struct state *state;
	struct store *store;
	const struct config *config;
	const struct op_daemon *daemon;
	const struct map *observations; /* as in struct telemetry; NULL: nothing is observed */
	const struct map *accounts; /* run id -> const struct account *; NULL: nobody is heard */
	ov_time now;
};

typedef int op_read_fn(struct op_ctx *cx, const value *params, value **ret, struct ov_err *err);

/* What answers a reading operation, or one that is a process of its own: op_SYMBOL; NULL for others. */
op_read_fn *op_handler(const struct op *op);
#define HANDLER_READ(sym) op_read_fn op_##sym;
#define HANDLER_CHILD(sym) op_read_fn op_##sym;
#define HANDLER_WRITE(sym)
#define HANDLER_DAEMON(sym)
#define HANDLER_NOTHING(sym)
#define OP(sym, needs, ...) HANDLER_##needs(sym)
#include "op/rows.def"
#undef OP
#undef HANDLER_READ
#undef HANDLER_CHILD
/* Why nothing new may be started on this machine now; empty: it may. */
str op_no_capacity(struct op_ctx *cx);
/* The status named by the parameter: -1 when there is none, an error when there is no such. */
int status_param(const struct status_table *t, const value *params, int *ret, struct ov_err *err);
/* A moment as people write it: RFC 3339, or how long ago ("2h"). */
int op_moment(struct op_ctx *cx, const char *what, str text, ov_time *ret, struct ov_err *err);
/* The last event at or before a moment; 0 when there is none. */
int op_seq_at(struct store *s, uint64_t head, ov_time at, uint64_t *ret, struct ov_err *err);
/* Adds "now", what the run's agent is doing by its own account, where it speaks a format and lives. */
void op_put_now(struct op_ctx *cx, value *v, str run_id);
/* docs/events.md */
void events_docs(struct buf *out);

struct event;
/* One event out of the log. */
int op_read_event(struct op_ctx *cx, uint64_t seq, struct event *ret, struct ov_err *err);

/* What each resource comes to, with what is under way: used, live, estimate, limit. */
value *op_goal_usage(struct op_ctx *cx, const struct goal *g);
/* What was used on this day, in all. */
value *op_usage_today(struct op_ctx *cx);
/* Adds what a run under way has used so far, if it is known. */
void op_live_usage(struct op_ctx *cx, value *row, str run);

/* An event of the store that is `user`, as struct portable_source reads them. */
bool export_read_event(void *user, struct arena *a, uint64_t seq, struct event *ret);
