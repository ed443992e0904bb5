#include "core/explain/explain_state.h"

#include <stdarg.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/duration.h"
#include "base/map.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/capacity/accept_queue.h"
#include "core/capacity/lane.h"
#include "core/explain/explain.h"
#include "core/life/ladder.h"
#include "core/life/liveness.h"
#include "core/life/session.h"
#include "core/life/update.h"
#include "core/text/last_lines.h"
#include "core/tick/conflict.h"
#include "core/view/view.h"
#include "core/view/waiting.h"

enum { SHOWN = 300 }; /* bytes of a report */

void explain_show(const struct explain *x, value *evidence, ov_time at, const char *fmt, ...)
{
	value *v = value_object(x->arena);
	va_list ap;

	va_start(ap, fmt);
	value_put(x->arena, v, "at", value_time(x->arena, at));
	value_put(x->arena, v, "text", value_str(x->arena, arena_vprintf(x->arena, fmt, ap)));
	va_end(ap);
	value_push(x->arena, evidence, v);
}

value *explain_answer(const struct explain *x, str id, const char *noun, str title,
		const char *status, ov_time since)
{
	struct arena *a = x->arena;
	value *v = value_object(a);

	value_put(a, v, "id", value_str(a, id));
	value_put(a, v, "noun", value_cstr(a, noun));
	value_put(a, v, "title", value_str(a, title));
	value_put(a, v, "status", value_cstr(a, status));
	value_put(a, v, "state", value_cstr(a, status));
	value_put(a, v, "since", value_time(a, since));
	return v;
}

void explain_command(const struct explain *x, value *next, const char *command, str id)
{
	value_push(x->arena, next,
			value_strf(x->arena, "overseer %s " STR_FMT, command, STR_ARG(id)));
}

static const struct observation *observed(const struct explain *x, str run_id)
{
	return x->observations ? map_get(x->observations, run_id) : NULL;
}

/* ---- recovery: which backoff, which rung, and what after that ---- */

bool explain_recovering(const struct node *n)
{
	return n->stall.open && n->assignment && n->assignment->status == AS_STALLED;
}

/* What is left of the ladder after the next rung; what cannot help now is not promised. */
static str rungs_after(const struct explain *x, const struct assignment *as, enum rung next)
{
	struct world w = { x->state, x->policy };
	str list = STR("");

	for (int r = (int)next + 1; r < RUNG_COUNT; r++) {
		if (as->node->stall.rungs[r] || (r != RUNG_NUDGE && r < (int)as->recovery_policy) ||
				rung_hindrance(&w, as, (enum rung)r, 3))
			continue;
		list = arena_printf(x->arena, STR_FMT "%s%s", STR_ARG(list), list.n ? ", " : "",
				r == RUNG_ESCALATE ? "ask you" : status_name(&rungs, r));
	}
	return list;
}

static str recovery_now(const struct explain *x, const struct assignment *as, value *v)
{
	struct world w = { x->state, x->policy };
	const struct node *n = as->node;
	struct rung_choice c = rung_next(x->arena, &w, as, observed(x, as->run_id), x->now);
	const char *rung = status_name(&rungs, (int)c.rung);
	str after, wait, what;

	if (x->state->outage_since)
		return STR("so many runs fell silent at once that none is touched: an outage of "
			   "ours is "
			   "suspected");
	if (c.nothing)
		return STR("everything was tried, and a person was asked");
	wait = c.due_at > x->now ? arena_printf(x->arena, "backoff for another " STR_FMT ", then ",
						   STR_ARG(duration_format_short(x->arena,
								   c.due_at - x->now)))
				 : STR("now due: ");
	what = c.rung == RUNG_ESCALATE ? STR("ask you")
			: c.rung == RUNG_NUDGE
			? arena_printf(x->arena, "nudge %d of %lld", n->stall.rungs[RUNG_NUDGE] + 1,
					  (long long)x->policy->max_nudges)
			: str_from(rung);
	after = rungs_after(x, as, c.rung);
	value_put(x->arena, v, "backoff_until", value_time(x->arena, c.due_at));
	value_put(x->arena, v, "next_rung", value_cstr(x->arena, rung));
	return arena_printf(x->arena, STR_FMT STR_FMT "%s" STR_FMT "%s" STR_FMT, STR_ARG(wait),
			STR_ARG(what), c.skip ? ", which is skipped: " : "",
			STR_ARG(c.skip ? c.why : STR("")), after.n ? "; after that: " : "",
			STR_ARG(after));
}

/* ---- what is known of the last instruction ---- */

static str dispatch_words(const struct explain *x, const struct dispatch *d)
{
	static const char *const words[2][DISPATCH_RESULT_COUNT] = {
		{
				[RESULT_PENDING] = "is being handed over",
				[RESULT_ACCEPTED] = ("was handed over; the agent has not "
						     "acknowledged it yet"),
				[RESULT_OK] = "was acknowledged",
				[RESULT_TIMEOUT] = "was handed over, but not answered in time",
				[RESULT_ERROR] = "could not be handed over",
		},
		{
				[RESULT_PENDING] = "is being started with",
				[RESULT_ACCEPTED] = "was accepted: the agent was started with it",
				[RESULT_OK] = "was carried out: its run ended well",
				[RESULT_TIMEOUT] = "was not answered in time",
				[RESULT_ERROR] =
						"failed: its run did not start or did not end well",
		}
	};

	return arena_printf(x->arena, "%s%s" STR_FMT, words[d->mode != MODE_SEND][d->result],
			d->notes.n ? ": " : "", STR_ARG(d->notes));
}

static void put_dispatch(const struct explain *x, value *v, value *evidence,
		const struct assignment *as)
{
	const struct dispatch *d;

	value_put(x->arena, v, "last_dispatch", value_null(x->arena));
	if (!as || !as->dispatches.n)
		return;
	d = as->dispatches.p[as->dispatches.n - 1];
	value_put(x->arena, v, "last_dispatch", record_to_value(x->arena, &dispatch_record, d));
	explain_show(x, evidence, d->at,
			"last instruction: " STR_FMT " (" STR_FMT "), sent %lldx; it " STR_FMT,
			STR_ARG(d->id), STR_ARG(d->purpose), (long long)d->sends,
			STR_ARG(dispatch_words(x, d)));
}

/* ---- what shows that it goes on, or not ---- */

static void life_evidence(const struct explain *x, const struct assignment *as, value *evidence)
{
	const struct observation *o = observed(x, as->run_id);
	struct liveness l = liveness_judge(x->policy, as, o, x->now);
	const value *signals = liveness_evidence(x->arena, o, &l, x->now);

	explain_show(x, evidence, 0, "run " STR_FMT " is alive%s%s%s" STR_FMT, STR_ARG(as->run_id),
			o && o->tool_in_flight ? ", a tool is in flight" : "",
			o && o->retrying ? ", but only tries again" : "",
			o && o->waiting_for.n ? ", waits for " : "",
			STR_ARG(o ? o->waiting_for : STR("")));
	for (size_t i = 0; i < value_count(signals); i++)
		explain_show(x, evidence, 0, STR_FMT,
				STR_ARG(value_str_or(value_item(signals, i), STR(""))));
	if (l.due_at != OV_TIME_MAX && l.due_at > x->now)
		explain_show(x, evidence, 0, "the next sign of life is due in " STR_FMT,
				STR_ARG(duration_format_short(x->arena, l.due_at - x->now)));
}

static void work_evidence(const struct explain *x, const struct run *r, value *evidence)
{
	if (r->status != RUN_ENDED)
		return;
	explain_show(x, evidence, r->ended_at,
			"run " STR_FMT " ended: %lld file%s changed in %lld commit%s",
			STR_ARG(r->id), (long long)r->files_changed,
			r->files_changed == 1 ? "" : "s", (long long)r->commits,
			r->commits == 1 ? "" : "s");
	if (r->trouble != TROUBLE_NONE)
		explain_show(x, evidence, 0, "its trouble: %s%s" STR_FMT, trouble_name(r->trouble),
				r->message.n ? ", " : "",
				STR_ARG(utf8_truncate(r->message, SHOWN)));
	if (r->verification == VERIFY_PASSED || r->verification == VERIFY_FAILED)
		explain_show(x, evidence, 0, "our check %s: " STR_FMT,
				status_name(&verifications, (int)r->verification),
				STR_ARG(utf8_truncate(r->verification_detail, SHOWN)));
	else if (r->verification == VERIFY_REFUSED)
		explain_show(x, evidence, 0, "its work was refused, not checked: " STR_FMT,
				STR_ARG(utf8_truncate(r->verification_detail, SHOWN)));
	else if (r->verification == VERIFY_SKIPPED)
		explain_show(x, evidence, 0, "not checked: " STR_FMT,
				STR_ARG(utf8_truncate(r->verification_detail, SHOWN)));
	if (r->leftover_files.n)
		explain_show(x, evidence, 0,
				"files left uncommitted that are in its work: %zu, the first "
				"is " STR_FMT,
				r->leftover_files.n,
				STR_ARG(utf8_truncate(r->leftover_files.p[0], SHOWN)));
}

/* A cancelled task holds nobody back: this may be why the task has started. */
static void cancelled_evidence(const struct explain *x, const struct node *n, value *evidence)
{
	for (const struct node *at = n; at; at = at->parent)
		for (size_t i = 0; i < at->def.deps.n; i++) {
			const struct node *d = state_node(x->state, n->goal->id, at->def.deps.p[i]);

			if (d && d->status == NODE_CANCELLED)
				explain_show(x, evidence, d->ended_at,
						STR_FMT
						" depends on " STR_FMT
						", which was cancelled: it does not wait for it",
						STR_ARG(at->id), STR_ARG(d->id));
		}
}

static void node_evidence(const struct explain *x, const struct node *n, value *evidence)
{
	struct update report = update_stored(x->arena, n->report.merged);

	cancelled_evidence(x, n, evidence);
	if (report.doc)
		explain_show(x, evidence, n->report.at, "reported: " STR_FMT " " STR_FMT,
				STR_ARG(n->report.status),
				STR_ARG(utf8_truncate(report.summary, SHOWN)));
	if (n->told.said.n)
		explain_show(x, evidence, 0, "said by a person, and not taken yet: " STR_FMT,
				STR_ARG(utf8_truncate(said_text(x->arena, n), SHOWN)));
	if (n->work.commit.n)
		explain_show(x, evidence, 0, "accepted as commit " STR_FMT "%s",
				STR_ARG(n->work.commit), accept_words(n->work.checked_by));
	if (n->next.handover.n)
		explain_show(x, evidence, 0, "left to go on from: commit " STR_FMT,
				STR_ARG(n->next.handover));
	if (n->handoff)
		explain_show(x, evidence, n->handoff->created_at, "a handoff was written");
}

static void assignment_evidence(const struct explain *x, const struct assignment *as, value *v,
		value *evidence)
{
	const struct lane *lane = as ? state_lane(x->state, as->agent) : NULL;
	struct loop_seen loop;

	if (as && as->stage != STAGE_NONE && loop_seen(x->arena, x->state, as, &loop))
		explain_show(x, evidence, loop.found->at, "run " STR_FMT " %s in a loop: " STR_FMT,
				STR_ARG(loop.found->run_id), loop.live ? "goes" : "went",
				STR_ARG(loop.text));
	if (as && as->run && as->run->status == RUN_RUNNING)
		life_evidence(x, as, evidence);
	else if (as && as->run)
		work_evidence(x, as->run, evidence);
	for (size_t i = 0; as && i < x->state->conflicts.n; i++) {
		str line = conflict_line(x->arena, x->state, x->state->conflicts.p[i], as);

		if (line.n)
			explain_show(x, evidence, x->state->conflicts.p[i]->at, STR_FMT,
					STR_ARG(line));
	}
	put_dispatch(x, v, evidence, as);
	if (lane) {
		str how = lane_how(x->arena, lane);
		bool more = !str_eq(how, lane->detail);

		explain_show(x, evidence, lane->since,
				"agent " STR_FMT " is %s: " STR_FMT "%s" STR_FMT,
				STR_ARG(lane->agent), lane_rules[lane->kind].state,
				STR_ARG(lane->detail), more ? "; known by " : "",
				STR_ARG(more ? how : STR("")));
	}
}

/* ---- what to type ---- */

static void add_questions(const struct explain *x, str goal, str node, value *next)
{
	for (size_t i = 0; i < x->state->escalations.n; i++) {
		const struct escalation *e = x->state->escalations.p[i];

		if (e->status == ESC_OPEN && str_eq(e->goal_id, goal) &&
				(!node.n || str_eq(e->node_id, node)))
			value_push(x->arena, next,
					value_strf(x->arena, "overseer inbox show %lld",
							(long long)e->number));
	}
}

/* The way in which it can be asked now; one that would be refused is not named. */
static void add_nudge(const struct explain *x, const struct node *n, value *next)
{
	const struct assignment *as = n->assignment;
	ov_time told = 0;

	if (as->stage != STAGE_RUNNING || as->effect || !as->run || as->run->status != RUN_RUNNING)
		return;
	for (size_t i = 0; i < as->dispatches.n; i++)
		if (as->dispatches.p[i]->mode == MODE_SEND &&
				str_eq(as->dispatches.p[i]->run_id, as->run_id))
			told = as->dispatches.p[i]->at;
	if (session_hears(x->policy, as))
		explain_command(x, next,
				told && x->now < told + x->policy->min_resend_interval
						? "work nudge --force"
						: "work nudge",
				n->key);
	else if (session_resumes(x->policy, as))
		explain_command(x, next, "work nudge --now", n->key);
}

static value *node_next(const struct explain *x, const struct node *n)
{
	const struct assignment *as = newest_assignment(x->state, n);
	value *next = value_array(x->arena);

	add_questions(x, n->goal->id, n->id, next);
	if (as && as->run_id.n)
		explain_command(x, next, "run log --follow", as->run_id);
	if (n->status == NODE_BLOCKED && node_is_leaf(n)) {
		explain_command(x, next, "work unblock --reason TEXT", n->key);
		explain_command(x, next, "work done --reason TEXT", n->key);
	}
	if (explain_recovering(n))
		add_nudge(x, n, next);
	if (explain_recovering(n))
		explain_command(x, next, "work reassign --reason TEXT", n->key);
	if (n->handoff)
		explain_command(x, next, "handoff show", n->key);
	explain_command(x, next, "work show", n->key);
	return next;
}

/* ---- the things themselves ---- */

static struct queue *queue_of(const struct explain *x)
{
	return queue_look(x->arena, &(struct world){ x->state, x->policy }, x->no_capacity, x->now);
}

/* Of these, explain says more than the queue does. */
static bool said_better(const char *state)
{
	static const char *const own[] = { "review", "question", "backoff" };

	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		if (str_is(str_from(state), own[i]))
			return true;
	return false;
}

const struct lane *explain_lane(const struct explain *x, const struct node *n)
{
	const struct assignment *as = n->assignment;
	const struct lane *l = as ? state_lane(x->state, as->agent) : NULL;
	bool waits = n->status == NODE_BLOCKED ? block_is_lane(n->block.kind)
					       : as && as->stage == STAGE_START && !as->effect;

	return waits && node_is_leaf(n) && lane_is_shut(l, x->now) ? l : NULL;
}

str explain_task_now(const struct explain *x, struct queue *q, const struct node *n)
{
	str now = explain_now(x->arena, x->state, n, x->now);
	bool assigned = n->assignment && n->assignment->stage != STAGE_NONE;
	struct loop_seen loop;
	struct queue_reason r;

	if (explain_lane(x, n))
		return lane_text(x->arena, explain_lane(x, n), x->now, x->policy->utc_offset);
	if (assigned && loop_seen(x->arena, x->state, n->assignment, &loop) && loop.live)
		return arena_printf(x->arena, "it goes in a loop: " STR_FMT, STR_ARG(loop.text));
	if (n->status == NODE_BLOCKED || node_is_final(n) || !node_is_leaf(n))
		return now;
	r = queue_reason(q, n);
	if (r.state && assigned)
		return said_better(r.state) ? now : r.why;
	if (assigned || n->status != NODE_QUEUED || n->goal->status != GOAL_ACTIVE)
		return now;
	return r.state ? arena_printf(x->arena, "ready; " STR_FMT, STR_ARG(r.why))
		       : STR("ready; about to be started");
}

value *explain_node(const struct explain *x, const struct node *n)
{
	const struct assignment *as = newest_assignment(x->state, n);
	value *v = explain_answer(x, n->key, "node", n->def.name,
			      status_name(&node_statuses, (int)n->status), n->updated_at),
	      *evidence = value_array(x->arena);
	str now = explain_task_now(x, queue_of(x), n);

	value_put(x->arena, v, "backoff_until", value_null(x->arena));
	value_put(x->arena, v, "next_rung", value_null(x->arena));
	if (explain_recovering(n)) {
		value_put(x->arena, v, "state", value_cstr(x->arena, "stalled"));
		value_put(x->arena, v, "since", value_time(x->arena, n->assignment->updated_at));
	}
	if (n->stall.open) {
		explain_show(x, evidence, 0, "%s a stall, episode %lld: " STR_FMT,
				explain_recovering(n) ? "in" : "not yet over",
				(long long)n->stall.episode, STR_ARG(n->stall.reason));
	}
	if (explain_recovering(n))
		now = recovery_now(x, n->assignment, v);
	else if (n->assignment && n->assignment->not_before > x->now)
		value_put(x->arena, v, "backoff_until",
				value_time(x->arena, n->assignment->not_before));
	assignment_evidence(x, as, v, evidence);
	node_evidence(x, n, evidence);
	value_put(x->arena, v, "last_lines", value_str(x->arena, node_last_lines(x->state, n)));
	value_put(x->arena, v, "now", value_str(x->arena, now));
	value_put(x->arena, v, "evidence", evidence);
	value_put(x->arena, v, "next", node_next(x, n));
	explain_conclude_node(x, n, now, v);
	return v;
}

value *explain_assignment(const struct explain *x, const struct assignment *as)
{
	struct arena *a = x->arena;
	value *v = explain_answer(x, as->id, "assignment",
			      arena_printf(a, STR_FMT ", epoch %lld, by " STR_FMT,
					      STR_ARG(as->node->key), (long long)as->epoch,
					      STR_ARG(as->agent)),
			      status_name(&as_statuses, (int)as->status), as->updated_at),
	      *evidence = value_array(a);
	str now = as->reason;

	value_put(a, v, "node", value_str(a, as->node->key));
	value_put(a, v, "stage", value_cstr(a, status_name(&stages, (int)as->stage)));
	value_put(a, v, "backoff_until",
			value_time(a, as->not_before > x->now ? as->not_before : 0));
	value_put(a, v, "next_rung", value_null(a));
	if (as->node->assignment == as && explain_recovering(as->node))
		now = arena_printf(a, STR_FMT "; " STR_FMT, STR_ARG(as->reason),
				STR_ARG(recovery_now(x, as, v)));
	else if (as->node->assignment == as)
		now = explain_task_now(x, queue_of(x), as->node);
	else if (as->epoch < as->node->work.epoch)
		now = arena_printf(a, STR_FMT "; epoch %lld has taken over", STR_ARG(as->reason),
				(long long)as->node->work.epoch);
	assignment_evidence(x, as, v, evidence);
	value_put(a, v, "now", value_str(a, now));
	value_put(a, v, "evidence", evidence);
	value_put(a, v, "next", node_next(x, as->node));
	explain_conclude(x, v, now, STR(""));
	return v;
}

/* How it ended, or what it does. */
static str run_why(const struct explain *x, const struct run *r, str now)
{
	str said = last_line(r->last_lines), how;

	if (r->status != RUN_ENDED)
		return now;
	how = r->lost ? STR("it was lost: nobody saw how it ended")
			: r->signal
			? arena_printf(x->arena, "it ended by signal %lld", (long long)r->signal)
			: arena_printf(x->arena, "it ended with exit status %lld",
					  (long long)r->exit_code);
	if (r->trouble != TROUBLE_NONE)
		how = arena_printf(x->arena, STR_FMT " (%s)", STR_ARG(how),
				trouble_name(r->trouble));
	if (said.n)
		how = arena_printf(x->arena, STR_FMT "; it wrote last: " STR_FMT, STR_ARG(how),
				STR_ARG(said));
	return arena_printf(x->arena, STR_FMT "; " STR_FMT, STR_ARG(how), STR_ARG(now));
}

value *explain_run(const struct explain *x, const struct run *r)
{
	struct arena *a = x->arena;
	const struct assignment *as = state_assignment(x->state, r->assignment_id);
	const struct node *n = state_node(x->state, r->goal_id, r->node_id);
	ov_time since = r->ended_at ? r->ended_at : r->started_at ? r->started_at : r->created_at;
	value *v = explain_answer(x, r->id, "run",
			      arena_printf(a,
					      STR_FMT "/" STR_FMT
						      ", attempt %lld of epoch %lld, by " STR_FMT,
					      STR_ARG(r->goal_id), STR_ARG(r->node_id),
					      (long long)r->attempt, (long long)r->epoch,
					      STR_ARG(r->agent)),
			      status_name(&run_statuses, (int)r->status), since),
	      *evidence = value_array(a), *next = value_array(a);
	str now;

	value_put(a, v, "node",
			value_strf(a, STR_FMT "/" STR_FMT, STR_ARG(r->goal_id),
					STR_ARG(r->node_id)));
	if (as && as->run == r)
		assignment_evidence(x, as, v, evidence);
	else
		work_evidence(x, r, evidence);
	now = n && as && as->run == r && n->assignment == as
			? explain_task_now(x, queue_of(x), n)
			: STR("it is over; others speak for its node now");
	value_put(a, v, "now", value_str(a, now));
	explain_command(x, next, r->status == RUN_ENDED ? "run log" : "run log --follow", r->id);
	if (r->status == RUN_RUNNING)
		explain_command(x, next, "run stop --reason TEXT", r->id);
	if (n)
		explain_command(x, next, "explain", n->key);
	value_put(a, v, "last_lines", value_str(a, r->last_lines));
	value_put(a, v, "evidence", evidence);
	value_put(a, v, "next", next);
	explain_conclude(x, v, run_why(x, r, now), STR(""));
	return v;
}

value *explain_dispatch(const struct explain *x, const struct dispatch *d)
{
	struct arena *a = x->arena;
	value *v = explain_answer(x, d->id, "dispatch",
			      arena_printf(a, STR_FMT " for " STR_FMT "/" STR_FMT,
					      STR_ARG(d->purpose), STR_ARG(d->goal_id),
					      STR_ARG(d->node_id)),
			      status_name(&dispatch_results, (int)d->result),
			      d->acknowledged_at ? d->acknowledged_at : d->at),
	      *evidence = value_array(a), *next = value_array(a);
	str now;

	value_put(a, v, "dispatch", record_to_value(a, &dispatch_record, d));
	explain_show(x, evidence, d->at, "%s to " STR_FMT ", sent %lldx",
			status_name(&dispatch_modes, (int)d->mode), STR_ARG(d->target),
			(long long)d->sends);
	explain_show(x, evidence, 0, "SHA-256 of the instruction: " STR_FMT,
			STR_ARG(d->instruction_hash));
	now = arena_printf(a, "it " STR_FMT, STR_ARG(dispatch_words(x, d)));
	value_put(a, v, "now", value_str(a, now));
	value_put(a, v, "evidence", evidence);
	explain_command(x, next, "explain", d->assignment_id);
	if (d->run_id.n)
		explain_command(x, next, "run log", d->run_id);
	value_put(a, v, "next", next);
	explain_conclude(x, v, now, STR(""));
	return v;
}
