#pragma once
/*
 * What the operations of the table (core/op/op.h) do. A reading operation is a function of the
 * state and the store; a writing one is a command for the engine; a few (following, waiting,
 * stopping) need the daemon itself. What takes its time on the store's files is done by a process
 * of its own (`overseerd --once`), whether the daemon runs or not: it gets neither state nor store
 * and opens what it needs.
 */
#include "app/call/op_context.h"
#include "base/buf.h"
#include "base/ov.h"
#include "core/op/op.h"
#include "core/policy/caller.h"

typedef int op_read_fn(struct op_ctx *cx, const value *params, value **ret, struct ov_err *err);
/*
 * What answers a reading operation, or one that is a process of its own: op_SYMBOL; NULL
 * for others.
 */
op_read_fn *op_handler(const struct op *op);
/* Why nothing new may be started on this machine now; empty: it may. */
str op_no_capacity(struct op_ctx *cx);
/* The status of that name: -1 when it is empty, an error when there is no such. */
int status_param(const struct status_table *t, str s, int *ret, struct ov_err *err);
/* A moment as people write it: RFC 3339, or how long ago ("2h"). */
int op_moment(struct op_ctx *cx, const char *what, str text, ov_time *ret, struct ov_err *err);
/* The last event at or before a moment; 0 when there is none. */
int op_seq_at(struct store *s, uint64_t head, ov_time at, uint64_t *ret, struct ov_err *err);
/*
 * Adds "now", what the run's agent is doing by its own account, where it speaks a format and lives.
 */
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
