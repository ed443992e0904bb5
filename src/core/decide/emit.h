#pragma once
/* What the decide_*.c files share: emitting events, and the steps of the pipeline. Private to core. */
#include "core/decide/ask.h"
#include "core/decide/decide.h"

enum { PRIORITY_NORMAL = 3 };

struct subject {
	str goal, node, assignment, run;
};

struct subject about_goal(const struct goal *g);
struct subject about_node(const struct node *n);
struct subject about_assignment(const struct assignment *as); /* with its newest run */

struct event *emit(struct decide_ctx *cx, enum event_kind kind, struct subject s);
void ev_str(struct decide_ctx *cx, struct event *e, const char *key, str s);
void ev_note(struct decide_ctx *cx, struct event *e, const char *key,
		str s); /* cut to LIMIT_NOTE */
void ev_cstr(struct decide_ctx *cx, struct event *e, const char *key, const char *s);
void ev_int(struct decide_ctx *cx, struct event *e, const char *key, int64_t i);
void ev_flag(struct decide_ctx *cx, struct event *e, const char *key,
		bool b); /* left out when false */
/* The last step of every decision: takes secrets out of the events from `from` on. */
void events_seal(struct decide_ctx *cx, size_t from);
/*
 * The step before it: adds the handoffs of whatever came to an end by the events from `from` on.
 * Every decision passes here, so nothing ends without one.
 */
void handoffs_write(struct decide_ctx *cx, size_t from);
/* The node's own command, else the repository's; empty: there is nothing to check. */
str check_command(const struct decide_ctx *cx, const struct node *n);
/* A new id: prefix and a ULID from now and the context's entropy. */
str make_id(struct decide_ctx *cx, const char *prefix);

/* Status changes; each does nothing (NULL) when the thing already has that status. */
struct event *node_to(struct decide_ctx *cx, const struct node *n, enum node_status to, str reason);
/* Says why, by what, and until when if it unblocks itself (0: it does not). */
void node_block_as(struct decide_ctx *cx, const struct node *n, enum block_kind kind, str reason,
		str by, str unblock_when, ov_time until);
/* It stays blocked as it is; this one answers for it from now on. */
void node_blocked_by(struct decide_ctx *cx, const struct node *n, str by);
/* Ends the node's stall, if there is one. */
void episode_close(struct decide_ctx *cx, const struct node *n, str reason);
/* The same, and nobody needs to answer what was asked about it. */
void episode_end(struct decide_ctx *cx, const struct node *n, str reason);
/* Ends a run that has done its work; what it made is judged. */
void run_finish(struct decide_ctx *cx, const struct assignment *as, str reason);
/* With the health that its budget gives it; the result names goal and status. */
void goal_to(struct decide_ctx *cx, const struct goal *g, enum goal_status to, str reason,
		bool by_override, value **ret_result);
void worker_to(struct decide_ctx *cx, const struct worker *w, enum worker_status to, str reason);
void assignment_move(struct decide_ctx *cx, const struct assignment *as, enum as_status to,
		enum stage stage, str reason);
/* The outcome of an effect is known. */
void emit_effect_ended(struct decide_ctx *cx, const struct effect *fx, str outcome, str detail);
struct event *effect_intend(struct decide_ctx *cx, enum effect_kind kind, str id, struct subject s);

/* 0, or why a text from outside cannot be taken: too long, or with a NUL byte. */
int text_check(str what, str s, size_t max, struct ov_err *err);
/* Ends what an assignment is doing because its node was settled without it. */
void assignment_wind_down(struct decide_ctx *cx, const struct assignment *as, enum as_status to,
		str reason);
/* Its node is blocked for a while: it keeps its worker and worktree, without a slot. */
void assignment_keep_worker(struct decide_ctx *cx, const struct assignment *as, str reason);
/* It does so no longer, and its node stays blocked. */
void assignment_give_back(struct decide_ctx *cx, const struct assignment *as, str reason);
/* The node is unblocked: true if its assignment kept its worker and continues there. */
bool assignment_resume(struct decide_ctx *cx, const struct node *n, str reason);

/*
 * Commits to sending an instruction to the assignment's run, which must be live and without an open
 * effect. The nonce is added to the text; the hash that is returned leaves it out. say: a person's
 * words in it, or empty.
 */
str dispatch_send(struct decide_ctx *cx, const struct assignment *as, const char *purpose, str text,
		str say);
/* Says what became of a dispatch; nothing when it is not known or that is known already. */
void dispatch_settle(struct decide_ctx *cx, str dispatch, enum dispatch_result result, str notes);
/* The stall has come to its last rung: a person was asked. */
bool ladder_is_over(const struct node *n);
/* Its run used up all attempts: from here on the ladder decides. */
void ladder_begin(struct decide_ctx *cx, const struct assignment *as, str reason);
/* The run ended because the agent is out of quota or logged out; false when it did not. */
bool run_was_limited(struct decide_ctx *cx, const struct assignment *as);
/* The same of a run that is just ending, from the data of its run.ended. */
bool end_is_limit(const struct policy *p, const struct assignment *as, const value *ended);
/* A person says that the agent that this asked about is logged in: what waited for it goes on. */
void login_answered(struct decide_ctx *cx, const struct escalation *x);
/* A person does not believe a limit that lasts long: the agent is used again. */
void limit_lifted(struct decide_ctx *cx, const struct escalation *x);
/* The same of an agent that failed again and again: it is given work again. */
void failing_answered(struct decide_ctx *cx, const struct escalation *x);
/* The tick saw that it did: it is given no more until a person says so. */
void tick_agent_failing(struct decide_ctx *cx, const struct decision *d);
void tick_agent_absorb(struct decide_ctx *cx, const struct decision *d);
/* A person says that the silent runs really hang: each is treated as a stall of its own. */
void outage_denied(struct decide_ctx *cx);
/* The agent can be used again, if it had to wait. */
void lane_clear(struct decide_ctx *cx, str agent, str reason);
/* An effect of kind send or plan has ended. */
struct outcome;
void plan_ended(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o);
void send_ended(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o);
/* For a goal that this batch creates without a plan: the planner is asked, or its own words are its plan. */
enum plan_begun { PLAN_NOBODY, PLAN_ASKED_FOR, PLAN_MADE };
enum plan_begun plan_begin(struct decide_ctx *cx, const struct event *created);
/* Something moves: the due date moves with it, and progress ends the stall. */
void note_life(struct decide_ctx *cx, const struct assignment *as, ov_time at, enum life_sign sign);
/* The tool scope as a member of an event; left out when nothing is narrowed. */
void ev_scope(struct decide_ctx *cx, struct event *e, const struct tool_scope *s);
/* The tools that it may use cannot be had: nobody begins (as: goes on), and a person is asked. */
void scope_refused(struct decide_ctx *cx, const struct node *n, const struct assignment *as,
		const struct ov_err *err);
/* The decisions of a tick about recovery and about those who wait. */
void tick_recover(struct decide_ctx *cx, const struct decision *d);

/* What came of an effect, as the executor reports it. */
struct outcome {
	const struct assignment *as; /* NULL for what is about a goal */
	bool ok;
	str outcome, detail;
	const value *data;
};

/* 0, or OV_EINVALID_PLAN: the document could be no goal's plan. */
int plan_refuse(struct decide_ctx *cx, const value *plan, value **ret_warnings, struct ov_err *err);
/* The first plan, checked before, of a goal that this batch creates. */
void plan_emit_first(struct decide_ctx *cx, str goal, const value *plan, str reason,
		const char *source);
/*
 * Makes a document the goal's plan: checks it, and emits plan.applied with the effective document
 * and, for a replan, what follows for the nodes that it removes or splits. source is file, planner,
 * fallback or replan. A document that changes nothing emits nothing. The episodes and escalations of
 * those nodes are closed, too: emit no other event about their status, stall or assignments in the
 * same batch after the rung that led here.
 */
int plan_adopt(struct decide_ctx *cx, const struct goal *g, const value *plan, str reason,
		const char *source, struct ov_err *err);

/* What a person's word does to a node; the caller knows that its status allows it. */
void work_done(struct decide_ctx *cx, const struct node *n, str reason);
void work_cancel(struct decide_ctx *cx, const struct node *n, str reason);
/* The event, for what else is to be said in it. */
struct event *work_unblock(struct decide_ctx *cx, const struct node *n, str reason);
void work_block(struct decide_ctx *cx, const struct node *n, enum block_kind kind, str reason,
		str unblock_when);
/* Stops the live run so that a new one follows; what a person says about it is told to that one. */
void work_rerun(struct decide_ctx *cx, const struct node *n, str reason);
/* A person settled the matter: what stalled, and what was asked about it, is over. */
void work_settled(struct decide_ctx *cx, const struct node *n, str reason);
/* The reason of somebody who gave none. */
str asked_by(struct decide_ctx *cx);
/* Can be told something now? NULL, or why not. */
const char *run_deaf(const struct decide_ctx *cx, const struct node *n);

/* One command about one node, its parameters read and checked: verb as in `overseer work VERB`. */
struct work {
	struct node *n;
	str reason;
};
int work_read(struct decide_ctx *cx, const value *params, const char *verb, bool reason_needed,
		struct work *ret, struct ov_err *err);
/* 0, or OV_ESTATE: this cannot be done to a node that is what it is; says what can. */
int work_check(struct decide_ctx *cx, const char *verb, const struct node *n, struct ov_err *err);
/* 0, or why the agent cannot be given work; says which can. */
int agent_check(struct decide_ctx *cx, str agent, struct ov_err *err);
/* 0, or OV_ESTATE: it has children, so that nothing can be done about it itself. */
int leaf_check(const struct node *n, struct ov_err *err);
/* 0, or OV_ESTATE: its change is on the way to the target branch right now. */
int accept_check(const struct node *n, struct ov_err *err);
value *work_result(struct decide_ctx *cx, const struct node *n, enum node_status status);
/* Adds what follows when the task becomes that, before it does: "released", "unmerged". */
void work_consequences(struct decide_ctx *cx, const struct node *n, enum node_status to,
		value *ret);
/* Adds that it stays blocked, and nobody is asked about it any more: "left_blocked". */
void work_left_blocked(struct decide_ctx *cx, const struct node *n, value *ret);
decide_fn decide_goal_update, decide_goal_pause, decide_goal_resume, decide_goal_cancel,
		decide_goal_reopen, decide_goal_archive;
decide_fn decide_goal_create, decide_planner_health, decide_plan_apply, decide_work_update,
		decide_work_cancel, decide_work_reopen, decide_work_reassign, decide_work_rerun,
		decide_work_nudge, decide_work_scope, decide_run_stop, decide_queue_retry,
		decide_queue_drop, decide_inbox_answer, decide_inbox_approve, decide_inbox_deny,
		decide_inbox_snooze, decide_inbox_dismiss, decide_effect_end, decide_run_session,
		decide_run_end, decide_run_report, decide_dispatch_ack, decide_daemon_start,
		decide_daemon_stop, decide_daemon_fail, decide_daemon_clock, decide_radar_report,
		decide_checkout_report, decide_target_report, decide_daemon_contradicted,
		decide_watch_report, decide_run_frozen;
