#pragma once
/*
 * The operations: one table of everything that can be asked of Overseer, with its parameters, who may
 * call it and what it does. Socket, HTTP, `--read-only` and docs/operations.md walk this table. A
 * reading operation is a function of the state and the store; a writing one is a command for the
 * engine; a few (following, waiting, stopping) need the daemon itself. What takes its time on the
 * store's files is done by a process of its own (`overseerd --once`), whether the daemon runs or not:
 * it gets neither state nor store and opens what it needs.
 */
#include "base/buf.h"
#include "base/ov.h"
#include "core/config/config.h"
#include "core/policy/caller.h"
#include "core/state/state.h"
#include "store/store.h"

struct safe_mode;

enum op_kind { OP_READ, OP_WRITE, OP_DAEMON, OP_CHILD };
enum param_type { PARAM_TEXT, PARAM_INT, PARAM_BOOL, PARAM_TEXTS, PARAM_OBJECT, PARAM_OBJECTS };

struct op_param {
	const char *name;
	enum param_type type;
	bool required;
	const char *help;
	size_t max; /* bytes of a text, entries of a list, greatest integer; 0: as everywhere */
};

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

struct op {
	const char *name;
	enum op_kind kind;
	unsigned callers; /* who may call it (core/policy/caller.h) */
	const char *help;
	const struct op_param *params;
	size_t params_n;
	op_read_fn *read; /* OP_READ and OP_CHILD only */
};

extern const struct op op_table[];
extern const size_t op_table_n;

/* The compiled table. */
struct ops;

struct ops *ops_new(void);
struct ops *ops_free(struct ops *o); /* returns NULL */
/*
 * The operation with this name or alias ("overseer.goal.create", "overseer.status"), and its
 * parameters checked; NULL params are an empty object. OV_ENOTFOUND names the nearest operation.
 */
int ops_find(const struct ops *o, str name, const value *params, const struct op **ret,
		struct ov_err *err);
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
/* docs/operations.md and docs/events.md */
void ops_docs(struct buf *out);
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

op_read_fn op_goal_history;
op_read_fn op_status, op_goal_list, op_goal_show, op_plan_check, op_plan_diff, op_plan_history,
		op_plan_show, op_work_list, op_work_show, op_run_list, op_run_show, op_run_log,
		op_events_list, op_explain, op_config_show, op_config_timeline, op_cost_get;
op_read_fn op_store_verify, op_store_backup, op_doctor_run, op_store_export, op_store_import;
/* An event of the store that is `user`, as struct portable_source reads them. */
bool export_read_event(void *user, struct arena *a, uint64_t seq, struct event *ret);
op_read_fn op_agent_list, op_agent_show, op_worker_list, op_worker_show, op_auto_get;
op_read_fn op_notice_list, op_notice_show;
op_read_fn op_iteration_list, op_detection_list;
op_read_fn op_inbox_list, op_inbox_show, op_queue_list, op_handoff_show;
op_read_fn op_escalation_test;
op_read_fn op_report_goal, op_report_detectors, op_report_period;
op_read_fn op_rescue_list, op_rescue_show, op_rescue_restore, op_rescue_prune;
