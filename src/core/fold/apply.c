#include "core/fold/apply.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/capacity/auto_mode.h"
#include "core/fold/apply_impl.h"
#include "core/model/limits.h"
#include "core/state/usage.h"

int ev_missing(const struct event *e, const char *noun, str id, struct ov_err *err)
{
	return ov_fail(err, OV_EINVALID, "event %llu (%s): there is no %s \"" STR_FMT "\"",
			(unsigned long long)e->seq, event_name(e->kind), noun, STR_ARG(id));
}

/* Reads from/to of a status event and checks them against the table and the present status. */
int ev_move(const struct event *e, const struct status_table *t, str what, int now,
		struct ev_move m, int *ret_to, struct ov_err *err)
{
	if (m.from != now)
		return ov_fail(err, OV_EINVALID,
				"event %llu: %s " STR_FMT " goes from \"%s\" to \"%s\", but it is "
				"%s",
				(unsigned long long)e->seq, t->noun, STR_ARG(what),
				status_name(t, m.from), status_name(t, m.to), status_name(t, now));
	*ret_to = m.to;
	return m.from == m.to ? 0 : status_check(t, what, m.from, m.to, m.override, err);
}

APPLY(daemon_stopped)
{
	return 0;
}

APPLY(daemon_failed)
{
	record_set_str(&s->failing, d->instance);
	return 0;
}

APPLY(daemon_started)
{
	record_set_str(&s->failing, STR(""));
	if (d->target.n)
		record_set_str(&s->target, d->target);
	if (d->boot.n) {
		record_set_str(&s->clock.boot, d->boot);
		s->clock.set_ms = d->clock_set_ms;
		s->clock.slept_ms = d->clock_slept_ms;
	}
	return 0;
}

/* What ids are made into keys and branch names with. */
bool id_valid(str id)
{
	return id.n > 0 && id.n <= LIMIT_ID;
}

/* Takes over what is there of what was said of it. */
static bool define_goal(struct goal *g, const struct event *e)
{
	const struct shape shape = event_shape(e->kind);

	return shape_to_record(&shape, e->is, &goal_record, g);
}

APPLY(goal_created)
{
	struct goal *g;

	if (!id_valid(e->goal))
		return ev_missing(e, "such id", e->goal, err);
	if (state_goal(s, e->goal))
		return ov_fail(err, OV_EINVALID, "event %llu: goal " STR_FMT " exists already",
				(unsigned long long)e->seq, STR_ARG(e->goal));
	g = mem_zalloc(1, sizeof(*g));
	record_set_str(&g->id, e->goal);
	record_set_str(&g->owner, e->actor);
	if (!define_goal(g, e)) {
		record_done(&goal_record, g);
		mem_free(g);
		return ev_missing(e, "such resource", e->goal, err);
	}
	g->status = GOAL_ACTIVE;
	g->created_at = g->updated_at = e->at;
	state_add_goal(s, g);
	return 0;
}

APPLY(goal_status)
{
	struct goal *g = state_goal(s, e->goal);
	int to, r, health;

	if (!g)
		return ev_missing(e, "goal", e->goal, err);
	r = ev_move(e, &goal_statuses, g->id, (int)g->status,
			(struct ev_move){ (int)d->from, (int)d->to, d->override }, &to, err);
	if (r < 0)
		return r;
	g->status = (enum goal_status)to;
	health = status_parse(&goal_healths, d->health);
	if (health < 0)
		health = to == GOAL_PAUSED ? HEALTH_PAUSED : HEALTH_HEALTHY;
	g->health = (enum goal_health)health;
	g->freezes = to == GOAL_PAUSED && d->freezes;
	g->reopened = to == GOAL_ACTIVE && d->override;
	g->updated_at = e->at;
	if (to == GOAL_COMPLETED || to == GOAL_CANCELLED)
		g->ended_at = e->at;
	/*
	 * What was asked about its budget was settled by its end: whoever opens it again is
	 * asked anew.
	 */
	if (to == GOAL_ACTIVE && g->ended_at) {
		g->budget_level = BUDGET_FINE;
		g->ended_at = 0;
	}
	if (to == GOAL_ARCHIVED)
		g->archived_seq = (int64_t)e->seq;
	record_set_str(&g->status_reason, d->reason);
	state_index_goal(s, g);
	return 0;
}

APPLY(goal_updated)
{
	struct goal *g = state_goal(s, e->goal);

	if (!g || !define_goal(g, e))
		return ev_missing(e, g ? "such resource" : "goal", e->goal, err);
	g->updated_at = e->at;
	return 0;
}

APPLY(goal_spent)
{
	struct goal *g = state_goal(s, e->goal);
	int64_t amounts[RESOURCE_COUNT] = { 0 };
	struct usage_unknown unknown;

	if (!g || !record_read_amounts(&resources, amounts, d->amounts))
		return ev_missing(e, g ? "such resource" : "goal", e->goal, err);
	unknown = usage_unknown(d, amounts);
	for (int i = 0; i < RESOURCE_COUNT; i++)
		g->spent[i] += amounts[i];
	if (g->automatic)
		window_add(&s->automatic.window, e->at, amounts, unknown.unpriced, unknown.untold);
	usage_fold(s, e, amounts);
	return 0;
}

/* Logs of any age say which resource it was, and of how much. */
static void note_spent_limit(struct goal *g, const struct ev_goal_budget *d)
{
	int resource = status_parse(&resources, d->resource);

	memset(g->spent_limit, 0, sizeof(g->spent_limit));
	if (resource >= 0)
		g->spent_limit[resource] = d->limit;
}

APPLY(goal_budget)
{
	struct goal *g = state_goal(s, e->goal);

	if (!g)
		return ev_missing(e, "goal", e->goal, err);
	g->budget_level = d->level;
	if (d->level == BUDGET_SPENT)
		note_spent_limit(g, d);
	if (g->status == GOAL_ACTIVE)
		g->health = goal_health_due(g);
	g->updated_at = e->at;
	return 0;
}

APPLY(plan_generated)
{
	struct goal *g = state_goal(s, e->goal);

	if (!g)
		return ev_missing(e, "goal", e->goal, err);
	/* What was asked in vain later on does not hide where the plan came from. */
	if (!g->plan_version || (d->raw.n && !str_is(d->purpose, "diagnose")))
		g->planned_seq = (int64_t)e->seq;
	return 0;
}

APPLY(node_status)
{
	struct node *n = state_node(s, e->goal, e->node);
	int to, r, block;
	bool given_up;

	if (!n || !node_is_leaf(n))
		return ev_missing(e, "node without children", e->node, err);
	r = ev_move(e, &node_statuses, n->id, (int)n->status,
			(struct ev_move){ (int)d->from, (int)d->to, d->override }, &to, err);
	if (r < 0)
		return r;
	/* A reopened node starts afresh: old failures do not count against it. */
	if (n->status == NODE_DONE || n->status == NODE_BLOCKED)
		memset(n->work.failures, 0, sizeof(n->work.failures));
	/* Nor does what was said and answered: that is in the result. */
	if (n->status == NODE_DONE) {
		record_set_str(&n->report.status, STR(""));
		record_set_str(&n->told.answer, STR(""));
		record_set_str(&n->told.words, STR(""));
		record_set_str(&n->told.said, STR(""));
	}
	auto_count_task(s, n, (enum node_status)to, d->block);
	given_up = task_was_given_up(n);
	if (n->status == NODE_BLOCKED && to != NODE_BLOCKED && n->block.kind == BLOCK_BUDGET)
		memcpy(n->spend.used_before, n->spend.used, sizeof(n->spend.used));
	n->status = (enum node_status)to;
	n->updated_at = e->at;
	if (to == NODE_QUEUED)
		n->queued_at = e->at;
	if (to == NODE_IN_PROGRESS && !n->started_at)
		n->started_at = e->at;
	n->ended_at = node_is_final(n) ? e->at : 0;
	if (node_is_final(n)) {
		node_drop_iterations(n);
		record_set_str(&n->watch.guidance, STR(""));
		n->watch.alarm = SEVERITY_NONE;
	}
	n->goal->reopened = false;
	record_set_str(&n->status_reason, d->reason);
	if (d->words)
		record_set_str(&n->told.words, d->reason);
	block = status_parse(&block_kinds, d->block);
	n->block.kind = block < 0 ? BLOCK_NONE : (enum block_kind)block;
	n->block.until = d->blocked_until_ms;
	record_set_str(&n->block.by, d->blocked_by);
	record_set_str(&n->block.when, d->unblock_when);
	if (d->recount)
		s->automatic.failed_in_a_row = 0;
	s->automatic.failed_in_a_row += !given_up && task_was_given_up(n);
	state_roll_up(s, n);
	return 0;
}

APPLY(node_failed)
{
	struct node *n = state_node(s, e->goal, e->node);
	enum cause cause = d->cause;

	if (!n)
		return ev_missing(e, "node", e->node, err);
	n->work.failures[cause] = (int32_t)d->count;
	n->updated_at = e->at;
	if (cause_is_of_work(cause))
		run_judged(s, e, cause, d->detail);
	if (cause == CAUSE_POST && n->goal->automatic)
		s->automatic.errors++;
	if (!n->goal->automatic && (cause == CAUSE_START || cause_is_of_work(cause)))
		streak_failed(s, n, e, d->detail);
	return 0;
}

APPLY(node_accepted)
{
	struct node *n = state_node(s, e->goal, e->node);
	const struct assignment *as = state_assignment(s, e->assignment);
	struct worker *w = as ? state_worker(s, as->worker) : NULL;

	if (!n)
		return ev_missing(e, "node", e->node, err);
	record_set_str(&n->work.commit, d->commit);
	record_set_str(&n->work.checked_by, d->checked_by);
	record_set_strs(&n->work.leftover_files, NULL, 0);
	/* What was left for the next one is on the target now. */
	record_set_str(&n->next.handover, STR(""));
	/* Its worktree was there to the end. */
	if (w && str_eq(w->assignment_id, e->assignment))
		w->repairs[PATROL_NO_WORKTREE] = 0;
	return 0;
}

/* It is taken up by the next assignment, or by nobody. */
static void take_session(struct node *n, struct assignment *as, bool taken)
{
	if (taken) {
		record_set_str(&as->session, n->session.id);
		record_set_str(&as->session_usage, n->session.usage);
		record_set_str(&as->home, n->session.home);
		/* What is said now is met with it for every run: it never gets more than it had. */
		record_set_str(&as->tools, n->session.tools);
	}
	record_set_str(&n->session.id, STR(""));
	record_set_str(&n->session.agent, STR(""));
	record_set_str(&n->session.worker, STR(""));
	record_set_str(&n->session.usage, STR(""));
	record_set_str(&n->session.tools, STR(""));
	record_set_str(&n->session.home, STR(""));
}

static void keep_session(struct node *n, const struct assignment *as)
{
	record_set_str(&n->session.id, as->session);
	record_set_str(&n->session.agent, as->agent);
	record_set_str(&n->session.worker, as->worker);
	record_set_str(&n->session.usage, as->session_usage);
	record_set_str(&n->session.tools, as->tools);
	record_set_str(&n->session.home, as->home.n ? as->home : as->id);
}

APPLY(assignment_created)
{
	struct node *n = state_node(s, e->goal, e->node);
	struct worker *w = state_worker(s, d->worker);
	struct assignment *as;
	int policy;

	if (!n || !w)
		return ev_missing(e, n ? "worker" : "node", n ? d->worker : e->node, err);
	if (n->assignment || d->epoch <= n->work.epoch || !id_valid(e->assignment) ||
			state_assignment(s, e->assignment))
		return ov_fail(err, OV_EINVALID,
				"event %llu: node " STR_FMT
				" is assigned already or the epoch is old",
				(unsigned long long)e->seq, STR_ARG(n->key));
	as = mem_zalloc(1, sizeof(*as));
	record_set_str(&as->id, e->assignment);
	record_set_str(&as->goal_id, e->goal);
	record_set_str(&as->node_id, e->node);
	record_set_str(&as->agent, d->agent);
	record_set_str(&as->worker, d->worker);
	record_set_str(&as->branch, d->branch);
	record_set_str(&as->reason, d->reason);
	record_set_str(&as->session_key, d->session_key);
	record_set_json(&as->tools, d->tools);
	policy = status_parse(&rungs, d->recovery_policy);
	as->recovery_policy = policy < 0 ? RUNG_RESEND : (enum rung)policy;
	record_set_str(&n->next.agent, STR(""));
	take_session(n, as, d->session_taken);
	as->epoch = n->work.epoch = d->epoch;
	as->stage = STAGE_WORKSPACE;
	as->created_at = as->updated_at = e->at;
	record_set_str(&as->feedback, n->next.feedback);
	record_set_str(&n->next.feedback, STR(""));
	record_set_str(&w->assignment_id, as->id);
	state_add_assignment(s, as);
	return 0;
}

/*
 * Since when it waits for its turn, who let it pass, and which commit it is about while it has it.
 */
static void note_accept(struct assignment *as, enum stage from, ov_time at,
		const struct ev_assignment_moved *d)
{
	if (from == STAGE_REVIEW && as->stage == STAGE_REBASE)
		record_set_str(&as->approved_by, STR("review"));
	else if (from == STAGE_GATE && as->stage == STAGE_ACCEPT)
		record_set_str(&as->approved_by, STR("pre_accept"));
	else if (!stage_is_good(as->stage) || as->stage == STAGE_REVIEW)
		record_set_str(&as->approved_by, STR(""));
	if (!stage_is_good(as->stage))
		as->good_at = 0;
	else if (!as->good_at)
		as->good_at = at;
	if (d->has_candidate)
		record_set_str(&as->candidate, d->candidate);
	else if (!stage_is_accepting(as->stage))
		record_set_str(&as->candidate, STR(""));
	if (d->has_base)
		record_set_str(&as->base, d->base);
}

APPLY(assignment_moved)
{
	struct assignment *as = state_assignment(s, e->assignment);
	enum stage from, stage = d->stage;
	int to, r;

	if (!as || !as->live)
		return ev_missing(e, "live assignment", e->assignment, err);
	r = ev_move(e, &as_statuses, as->id, (int)as->status,
			(struct ev_move){ (int)d->from, (int)d->to, false }, &to, err);
	if (r < 0)
		return r;
	from = as->stage;
	as->status = (enum as_status)to;
	as->stage = stage;
	as->not_before = d->not_before_ms;
	as->waiting = (enum waiting)MAX(status_parse(&waitings, d->waiting), 0);
	as->waiting_since = d->waiting_since_ms;
	as->stopping = d->stopping ||
			(as->stopping &&
					(stage == STAGE_STOP || stage == STAGE_RUNNING ||
							stage == STAGE_HARVEST));
	as->updated_at = e->at;
	record_set_str(&as->reason, d->reason);
	if (as->run && d->ends_run.n)
		record_set_str(&as->run->ended_by, d->ends_run);
	if (as->node && d->session_kept)
		keep_session(as->node, as);
	if (as->node && d->anew)
		memset(as->node->work.failures, 0, sizeof(as->node->work.failures));
	if (d->has_feedback)
		record_set_str(&as->feedback, d->feedback);
	if (d->has_purpose)
		record_set_str(&as->purpose, d->purpose);
	note_accept(as, from, e->at, d);
	state_index_assignment(s, as);
	return 0;
}

/* One function per kind, which is given what the event holds as that kind's struct. */
#define EVENT(sym, type, name, help)                                                       \
	static int fold_##type(struct state *s, const struct event *e, struct ov_err *err) \
	{                                                                                  \
		return apply_##type(s, e, e->is, err);                                     \
	}
#include "core/event/kinds.def"

static int (*const table[EVENT_KIND_COUNT])(struct state *s, const struct event *e,
		struct ov_err *err) = {
#define EVENT(sym, type, name, help) [sym] = fold_##type,
#include "core/event/kinds.def"
};

/* What the daemon itself, its watchdog, or a bug of ours did. */
static bool is_about_daemon(const struct event *e)
{
	switch (e->kind) {
	case EV_DAEMON_STARTED:
	case EV_DAEMON_STOPPED:
	case EV_DAEMON_FAILED:
	case EV_CLOCK_MOVED:
	case EV_MACHINE_SLEPT:
	case EV_WATCH_ACTED: return true;
	case EV_ESCALATION_OPENED:
		return status_parse(&ask_kinds, as_escalation_opened(e)->kind) == ASK_INTERNAL;
	default: return false;
	}
}

/*
 * The node remembers the newest events about it, and so does the daemon, so that explaining them
 * never scans the log.
 */
static void remember(struct state *s, const struct event *e)
{
	struct node *n = e->node.n ? state_node(s, e->goal, e->node) : NULL;

	if (n)
		seqs_keep(&n->history, e->seq);
	if (is_about_daemon(e))
		seqs_keep(&s->vigil.history, e->seq);
}

int apply(struct state *s, const struct event *e, struct ov_err *err)
{
	ov_time before = s->at;
	int r;

	if (e->seq != s->seq + 1)
		return ov_fail(err, OV_EINVALID, "event %llu does not follow %llu",
				(unsigned long long)e->seq, (unsigned long long)s->seq);
	s->at = e->at;
	r = table[e->kind](s, e, err);
	if (r < 0) {
		s->at = before;
		return r;
	}
	s->seq = e->seq;
	remember(s, e);
	return 0;
}
