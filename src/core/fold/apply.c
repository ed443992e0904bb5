#include "core/fold/apply.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/capacity/auto_mode.h"
#include "core/fold/apply_impl.h"
#include "core/model/limits.h"
#include "core/state/usage.h"

str ev_text(const struct event *e, const char *key)
{
	return value_str_at(e->data, key);
}

int64_t ev_num(const struct event *e, const char *key)
{
	return value_int_at(e->data, key);
}

int ev_missing(const struct event *e, const char *noun, str id, struct ov_err *err)
{
	return ov_fail(err, OV_EINVALID, "event %llu (%s): there is no %s \"" STR_FMT "\"",
			(unsigned long long)e->seq, event_info(e->kind).name, noun, STR_ARG(id));
}

/* Reads from/to of a status event and checks them against the table and the present status. */
int ev_move(const struct event *e, const struct status_table *t, str what, int now, int *ret_to,
		struct ov_err *err)
{
	int from = status_parse(t, ev_text(e, "from")), to = status_parse(t, ev_text(e, "to"));

	if (from != now || to < 0)
		return ov_fail(err, OV_EINVALID,
				"event %llu: %s " STR_FMT " goes from \"" STR_FMT "\" to \"" STR_FMT
				"\", but it is %s",
				(unsigned long long)e->seq, t->noun, STR_ARG(what),
				STR_ARG(ev_text(e, "from")), STR_ARG(ev_text(e, "to")),
				status_name(t, now));
	*ret_to = to;
	return from == to
			? 0
			: status_check(t, what, from, to, value_bool_at(e->data, "override"), err);
}

static int apply_nothing(struct state *s, const struct event *e, struct ov_err *err)
{
	(void)s, (void)e, (void)err;
	return 0;
}

static int apply_daemon_failed(struct state *s, const struct event *e, struct ov_err *err)
{
	(void)err;
	record_set_str(&s->failing, ev_text(e, "instance"));
	return 0;
}

static int apply_daemon_started(struct state *s, const struct event *e, struct ov_err *err)
{
	(void)err;
	record_set_str(&s->failing, STR(""));
	if (ev_text(e, "target").n)
		record_set_str(&s->target, ev_text(e, "target"));
	if (ev_text(e, "boot").n) {
		record_set_str(&s->clock.boot, ev_text(e, "boot"));
		s->clock.set_ms = ev_num(e, "clock_set_ms");
		s->clock.slept_ms = ev_num(e, "clock_slept_ms");
	}
	return 0;
}

/* What ids are made into keys and branch names with. */
bool id_valid(str id)
{
	return id.n > 0 && id.n <= LIMIT_ID;
}

/* Takes over the members that are there. */
static bool define_goal(struct goal *g, const value *data)
{
	const struct {
		const char *key;
		str *field;
	} texts[] = { { "title", &g->title }, { "problem_statement", &g->problem_statement },
		{ "owner", &g->owner }, { "repo_context", &g->repo_context },
		{ "standing", &g->standing } };
	const struct {
		const char *key;
		struct strs *field;
	} lists[] = { { "success_criteria", &g->success_criteria }, { "non_goals", &g->non_goals },
		{ "constraints", &g->constraints }, { "assumptions", &g->assumptions },
		{ "stakeholders", &g->stakeholders }, { "tags", &g->tags } };
	const struct {
		const char *key;
		int64_t *field;
	} amounts[] = { { "estimate", g->estimate }, { "budget", g->budget } };

	for (size_t i = 0; i < ARRAY_LEN(amounts); i++)
		if (value_at(data, amounts[i].key) &&
				!record_read_amounts(&resources, amounts[i].field,
						value_at(data, amounts[i].key)))
			return false;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		if (value_at(data, texts[i].key))
			record_set_str(texts[i].field, value_str_at(data, texts[i].key));
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		if (value_at(data, lists[i].key))
			record_set_strs(lists[i].field, value_at(data, lists[i].key));
	if (value_at(data, "oversight"))
		record_set_json(&g->oversight, value_at(data, "oversight"));
	if (value_at(data, "risks"))
		record_set_json(&g->risks, value_at(data, "risks"));
	if (value_at(data, "priority"))
		g->priority = value_int_at(data, "priority");
	return true;
}

static int apply_goal_created(struct state *s, const struct event *e, struct ov_err *err)
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
	record_set_str(&g->origin_session, ev_text(e, "origin_session"));
	record_set_json(&g->origin_context, value_at(e->data, "origin_context"));
	if (!define_goal(g, e->data)) {
		record_done(&goal_record, g);
		mem_free(g);
		return ev_missing(e, "such resource", e->goal, err);
	}
	g->status = GOAL_ACTIVE;
	g->created_at = g->updated_at = e->at;
	state_add_goal(s, g);
	return 0;
}

static int apply_goal_status(struct state *s, const struct event *e, struct ov_err *err)
{
	struct goal *g = state_goal(s, e->goal);
	int to, r, health;

	if (!g)
		return ev_missing(e, "goal", e->goal, err);
	r = ev_move(e, &goal_statuses, g->id, (int)g->status, &to, err);
	if (r < 0)
		return r;
	g->status = (enum goal_status)to;
	health = status_parse(&goal_healths, ev_text(e, "health"));
	if (health < 0)
		health = to == GOAL_PAUSED ? HEALTH_PAUSED : HEALTH_HEALTHY;
	g->health = (enum goal_health)health;
	g->freezes = to == GOAL_PAUSED && value_bool_at(e->data, "freezes");
	g->reopened = to == GOAL_ACTIVE && value_bool_at(e->data, "override");
	g->updated_at = e->at;
	if (to == GOAL_COMPLETED || to == GOAL_CANCELLED)
		g->ended_at = e->at;
	/* What was asked about its budget was settled by its end: whoever opens it again is asked anew. */
	if (to == GOAL_ACTIVE && g->ended_at) {
		g->budget_level = BUDGET_FINE;
		g->ended_at = 0;
	}
	if (to == GOAL_ARCHIVED)
		g->archived_seq = (int64_t)e->seq;
	record_set_str(&g->status_reason, ev_text(e, "reason"));
	state_index_goal(s, g);
	return 0;
}

static int apply_goal_updated(struct state *s, const struct event *e, struct ov_err *err)
{
	struct goal *g = state_goal(s, e->goal);

	if (!g || !define_goal(g, e->data))
		return ev_missing(e, g ? "such resource" : "goal", e->goal, err);
	g->updated_at = e->at;
	return 0;
}

static int apply_goal_spent(struct state *s, const struct event *e, struct ov_err *err)
{
	struct goal *g = state_goal(s, e->goal);
	int64_t amounts[RESOURCE_COUNT] = { 0 };
	struct usage_unknown unknown;

	if (!g || !record_read_amounts(&resources, amounts, value_at(e->data, "amounts")))
		return ev_missing(e, g ? "such resource" : "goal", e->goal, err);
	unknown = usage_unknown(e->data, amounts);
	for (int i = 0; i < RESOURCE_COUNT; i++)
		g->spent[i] += amounts[i];
	if (g->automatic)
		window_add(&s->automatic.window, e->at, amounts, unknown.unpriced, unknown.untold);
	usage_fold(s, e, amounts);
	return 0;
}

/* Logs of any age say which resource it was, and of how much. */
static void note_spent_limit(struct goal *g, const struct event *e)
{
	int resource = status_parse(&resources, ev_text(e, "resource"));

	memset(g->spent_limit, 0, sizeof(g->spent_limit));
	if (resource >= 0)
		g->spent_limit[resource] = ev_num(e, "limit");
}

static int apply_goal_budget(struct state *s, const struct event *e, struct ov_err *err)
{
	struct goal *g = state_goal(s, e->goal);
	int level = status_parse(&budget_levels, ev_text(e, "level"));

	if (!g || level < 0)
		return ev_missing(e, g ? "such level" : "goal", e->goal, err);
	g->budget_level = (enum budget_level)level;
	if (level == BUDGET_SPENT)
		note_spent_limit(g, e);
	if (g->status == GOAL_ACTIVE)
		g->health = goal_health_due(g);
	g->updated_at = e->at;
	return 0;
}

static int apply_plan_generated(struct state *s, const struct event *e, struct ov_err *err)
{
	struct goal *g = state_goal(s, e->goal);

	if (!g)
		return ev_missing(e, "goal", e->goal, err);
	/* What was asked in vain later on does not hide where the plan came from. */
	if (!g->plan_version || (ev_text(e, "raw").n && !str_is(ev_text(e, "purpose"), "diagnose")))
		g->planned_seq = (int64_t)e->seq;
	return 0;
}

static int apply_node_status(struct state *s, const struct event *e, struct ov_err *err)
{
	struct node *n = state_node(s, e->goal, e->node);
	int to, r, block;
	bool given_up;

	if (!n || !node_is_leaf(n))
		return ev_missing(e, "node without children", e->node, err);
	r = ev_move(e, &node_statuses, n->id, (int)n->status, &to, err);
	if (r < 0)
		return r;
	/* A reopened node starts afresh: old failures do not count against it. */
	if (n->status == NODE_DONE || n->status == NODE_BLOCKED)
		memset(n->failures, 0, sizeof(n->failures));
	/* Nor does what was said and answered: that is in the result. */
	if (n->status == NODE_DONE) {
		record_set_str(&n->reported_status, STR(""));
		record_set_str(&n->answer, STR(""));
		record_set_str(&n->words, STR(""));
		record_set_str(&n->said, STR(""));
	}
	auto_count_task(s, n, (enum node_status)to, ev_text(e, "block"));
	given_up = task_was_given_up(n);
	if (n->status == NODE_BLOCKED && to != NODE_BLOCKED && n->block == BLOCK_BUDGET)
		memcpy(n->spent_before, n->spent, sizeof(n->spent));
	n->status = (enum node_status)to;
	n->updated_at = e->at;
	if (to == NODE_QUEUED)
		n->queued_at = e->at;
	if (to == NODE_IN_PROGRESS && !n->started_at)
		n->started_at = e->at;
	n->ended_at = node_is_final(n) ? e->at : 0;
	if (node_is_final(n)) {
		node_drop_iterations(n);
		record_set_str(&n->guidance, STR(""));
		n->alarm = SEVERITY_NONE;
	}
	n->goal->reopened = false;
	record_set_str(&n->status_reason, ev_text(e, "reason"));
	if (value_bool_at(e->data, "words"))
		record_set_str(&n->words, ev_text(e, "reason"));
	block = status_parse(&block_kinds, ev_text(e, "block"));
	n->block = block < 0 ? BLOCK_NONE : (enum block_kind)block;
	n->blocked_until = ev_num(e, "blocked_until_ms");
	record_set_str(&n->blocked_by, ev_text(e, "blocked_by"));
	record_set_str(&n->unblock_when, ev_text(e, "unblock_when"));
	if (value_bool_at(e->data, "recount"))
		s->automatic.failed_in_a_row = 0;
	s->automatic.failed_in_a_row += !given_up && task_was_given_up(n);
	state_roll_up(s, n);
	return 0;
}

static int apply_node_failed(struct state *s, const struct event *e, struct ov_err *err)
{
	struct node *n = state_node(s, e->goal, e->node);
	int cause = status_parse(&causes, ev_text(e, "cause"));

	if (!n || cause < 0)
		return ev_missing(e, "node or cause", n ? ev_text(e, "cause") : e->node, err);
	n->failures[cause] = (int32_t)ev_num(e, "count");
	n->updated_at = e->at;
	if (cause_is_of_work((enum cause)cause))
		run_judged(s, e, (enum cause)cause, ev_text(e, "detail"));
	if (cause == CAUSE_POST && n->goal->automatic)
		s->automatic.errors++;
	if (!n->goal->automatic && (cause == CAUSE_START || cause_is_of_work((enum cause)cause)))
		streak_failed(s, n, e);
	return 0;
}

static int apply_node_accepted(struct state *s, const struct event *e, struct ov_err *err)
{
	struct node *n = state_node(s, e->goal, e->node);
	const struct assignment *as = state_assignment(s, e->assignment);
	struct worker *w = as ? state_worker(s, as->worker) : NULL;

	if (!n)
		return ev_missing(e, "node", e->node, err);
	record_set_str(&n->commit, ev_text(e, "commit"));
	record_set_str(&n->checked_by, ev_text(e, "checked_by"));
	record_set_strs(&n->leftover_files, NULL);
	/* What was left for the next one is on the target now. */
	record_set_str(&n->handover, STR(""));
	/* Its worktree was there to the end. */
	if (w && str_eq(w->assignment_id, e->assignment))
		w->repairs[PATROL_NO_WORKTREE] = 0;
	return 0;
}

/* It is taken up by the next assignment, or by nobody. */
static void take_session(struct node *n, struct assignment *as, bool taken)
{
	if (taken) {
		record_set_str(&as->session, n->session);
		record_set_str(&as->session_usage, n->session_usage);
		record_set_str(&as->home, n->session_home);
		/* What is said now is met with it for every run: it never gets more than it had. */
		record_set_str(&as->tools, n->session_tools);
	}
	record_set_str(&n->session, STR(""));
	record_set_str(&n->session_agent, STR(""));
	record_set_str(&n->session_worker, STR(""));
	record_set_str(&n->session_usage, STR(""));
	record_set_str(&n->session_tools, STR(""));
	record_set_str(&n->session_home, STR(""));
}

static void keep_session(struct node *n, const struct assignment *as)
{
	record_set_str(&n->session, as->session);
	record_set_str(&n->session_agent, as->agent);
	record_set_str(&n->session_worker, as->worker);
	record_set_str(&n->session_usage, as->session_usage);
	record_set_str(&n->session_tools, as->tools);
	record_set_str(&n->session_home, as->home.n ? as->home : as->id);
}

static int apply_assignment_created(struct state *s, const struct event *e, struct ov_err *err)
{
	struct node *n = state_node(s, e->goal, e->node);
	struct worker *w = state_worker(s, ev_text(e, "worker"));
	struct assignment *as;
	int policy;

	if (!n || !w)
		return ev_missing(e, n ? "worker" : "node", n ? ev_text(e, "worker") : e->node,
				err);
	if (n->assignment || ev_num(e, "epoch") <= n->epoch || !id_valid(e->assignment) ||
			state_assignment(s, e->assignment))
		return ov_fail(err, OV_EINVALID,
				"event %llu: node " STR_FMT
				" is assigned already or the epoch is old",
				(unsigned long long)e->seq, STR_ARG(n->key));
	as = mem_zalloc(1, sizeof(*as));
	record_set_str(&as->id, e->assignment);
	record_set_str(&as->goal_id, e->goal);
	record_set_str(&as->node_id, e->node);
	record_set_str(&as->agent, ev_text(e, "agent"));
	record_set_str(&as->worker, ev_text(e, "worker"));
	record_set_str(&as->branch, ev_text(e, "branch"));
	record_set_str(&as->reason, ev_text(e, "reason"));
	record_set_str(&as->session_key, ev_text(e, "session_key"));
	record_set_json(&as->tools, value_at(e->data, "tools"));
	policy = status_parse(&rungs, ev_text(e, "recovery_policy"));
	as->recovery_policy = policy < 0 ? RUNG_RESEND : (enum rung)policy;
	record_set_str(&n->wanted_agent, STR(""));
	take_session(n, as, value_bool_at(e->data, "session_taken"));
	as->epoch = n->epoch = ev_num(e, "epoch");
	as->stage = STAGE_WORKSPACE;
	as->created_at = as->updated_at = e->at;
	record_set_str(&as->feedback, n->feedback);
	record_set_str(&n->feedback, STR(""));
	record_set_str(&w->assignment_id, as->id);
	state_add_assignment(s, as);
	return 0;
}

/* Since when it waits for its turn, who let it pass, and which commit it is about while it has it. */
static void note_accept(struct assignment *as, enum stage from, const struct event *e)
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
		as->good_at = e->at;
	if (value_at(e->data, "candidate"))
		record_set_str(&as->candidate, ev_text(e, "candidate"));
	else if (!stage_is_accepting(as->stage))
		record_set_str(&as->candidate, STR(""));
	if (value_at(e->data, "base"))
		record_set_str(&as->base, ev_text(e, "base"));
}

static int apply_assignment_moved(struct state *s, const struct event *e, struct ov_err *err)
{
	struct assignment *as = state_assignment(s, e->assignment);
	int to, stage = status_parse(&stages, ev_text(e, "stage")), r;
	const value *feedback = value_at(e->data, "feedback");
	enum stage from;

	if (!as || !as->live || stage < 0)
		return ev_missing(e, "live assignment or stage", e->assignment, err);
	r = ev_move(e, &as_statuses, as->id, (int)as->status, &to, err);
	if (r < 0)
		return r;
	from = as->stage;
	as->status = (enum as_status)to;
	as->stage = (enum stage)stage;
	as->not_before = ev_num(e, "not_before_ms");
	as->waiting = (enum waiting)MAX(status_parse(&waitings, ev_text(e, "waiting")), 0);
	as->waiting_since = ev_num(e, "waiting_since_ms");
	as->stopping = value_bool_at(e->data, "stopping") ||
			(as->stopping &&
					(stage == STAGE_STOP || stage == STAGE_RUNNING ||
							stage == STAGE_HARVEST));
	as->updated_at = e->at;
	record_set_str(&as->reason, ev_text(e, "reason"));
	if (as->run && ev_text(e, "ends_run").n)
		record_set_str(&as->run->ended_by, ev_text(e, "ends_run"));
	if (as->node && value_bool_at(e->data, "session_kept"))
		keep_session(as->node, as);
	if (as->node && value_bool_at(e->data, "anew"))
		memset(as->node->failures, 0, sizeof(as->node->failures));
	if (feedback)
		record_set_str(&as->feedback, feedback->s);
	if (value_at(e->data, "purpose"))
		record_set_str(&as->purpose, ev_text(e, "purpose"));
	note_accept(as, from, e);
	state_index_assignment(s, as);
	return 0;
}

static apply_fn *const table[EVENT_KIND_COUNT] = {
	[EV_DAEMON_STARTED] = apply_daemon_started,
	[EV_DAEMON_STOPPED] = apply_nothing,
	[EV_DAEMON_FAILED] = apply_daemon_failed,
	[EV_WATCH_ACTED] = apply_watch_acted,
	[EV_CLOCK_MOVED] = apply_clock_moved,
	[EV_MACHINE_SLEPT] = apply_machine_slept,
	[EV_GOAL_CREATED] = apply_goal_created,
	[EV_GOAL_UPDATED] = apply_goal_updated,
	[EV_GOAL_SPENT] = apply_goal_spent,
	[EV_GOAL_BUDGET] = apply_goal_budget,
	[EV_GOAL_STATUS] = apply_goal_status,
	[EV_PLAN_APPLIED] = apply_plan_applied,
	[EV_PLAN_GENERATED] = apply_plan_generated,
	[EV_NODE_STATUS] = apply_node_status,
	[EV_NODE_FAILED] = apply_node_failed,
	[EV_NODE_ACCEPTED] = apply_node_accepted,
	[EV_NODE_REPORTED] = apply_node_reported,
	[EV_NODE_WANTED] = apply_node_wanted,
	[EV_NODE_ANSWERED] = apply_node_answered,
	[EV_NODE_SCOPED] = apply_node_scoped,
	[EV_EPISODE_OPENED] = apply_episode_opened,
	[EV_EPISODE_RUNG] = apply_episode_rung,
	[EV_EPISODE_ADVISED] = apply_episode_advised,
	[EV_EPISODE_CLOSED] = apply_episode_closed,
	[EV_CRYSTALLIZED] = apply_crystallized,
	[EV_ASSIGNMENT_CREATED] = apply_assignment_created,
	[EV_ASSIGNMENT_MOVED] = apply_assignment_moved,
	[EV_ASSIGNMENT_ACTIVITY] = apply_assignment_activity,
	[EV_DISPATCH_INTENDED] = apply_dispatch_intended,
	[EV_DISPATCH_RESULT] = apply_dispatch_result,
	[EV_RUN_CREATED] = apply_run_created,
	[EV_RUN_STARTED] = apply_run_started,
	[EV_RUN_SESSION] = apply_run_session,
	[EV_RUN_ENDED] = apply_run_ended,
	[EV_RUN_HARVESTED] = apply_run_harvested,
	[EV_RUN_CONTINUED] = apply_run_continued,
	[EV_RUN_VERIFIED] = apply_run_verified,
	[EV_WORKER_CREATED] = apply_worker_created,
	[EV_NODE_ADDED] = apply_node_added,
	[EV_NODE_REVERTED] = apply_node_reverted,
	[EV_WORKER_WANTED] = apply_worker_wanted,
	[EV_WORKER_REMOVED] = apply_worker_removed,
	[EV_PATROL_FOUND] = apply_patrol_found,
	[EV_TARGET_MOVED] = apply_target_moved,
	[EV_AUTO_STARTED] = apply_auto_started,
	[EV_AUTO_STOPPED] = apply_auto_stopped,
	[EV_AUTO_POOL] = apply_auto_pool,
	[EV_AUTO_PAUSED] = apply_auto_paused,
	[EV_AUTO_RESUMED] = apply_auto_resumed,
	[EV_CONFLICT_PREDICTED] = apply_conflict_predicted,
	[EV_CONFLICT_CLEARED] = apply_conflict_cleared,
	[EV_WORKER_STATUS] = apply_worker_status,
	[EV_WORKSPACE_READY] = apply_workspace_ready,
	[EV_EFFECT_INTENDED] = apply_effect_intended,
	[EV_EFFECT_ENDED] = apply_effect_ended,
	[EV_ESCALATION_OPENED] = apply_escalation_opened,
	[EV_ESCALATION_REMINDED] = apply_escalation_reminded,
	[EV_ESCALATION_CLOSED] = apply_escalation_closed,
	[EV_ESCALATION_SNOOZED] = apply_escalation_snoozed,
	[EV_ESCALATION_RAISED] = apply_escalation_raised,
	[EV_ITERATION_RECORDED] = apply_iteration_recorded,
	[EV_DETECTION_MADE] = apply_detection_made,
	[EV_INTERVENTION_APPLIED] = apply_intervention_applied,
	[EV_DETECTION_JUDGED] = apply_detection_judged,
	[EV_OVERSIGHT_RENEWED] = apply_oversight_renewed,
	[EV_GOAL_HEALTH] = apply_goal_health,
	[EV_RUN_FROZEN] = apply_run_frozen,
	[EV_NOTICE_OPENED] = apply_notice_opened,
	[EV_NOTICE_TRIED] = apply_notice_tried,
	[EV_NOTICE_WITHDRAWN] = apply_notice_withdrawn,
	[EV_NOTICE_RETRIED] = apply_notice_retried,
	[EV_AGENT_LIMITED] = apply_agent_limited,
	[EV_SILENCE_LEARNED] = apply_silence_learned,
	[EV_AGENT_CLEARED] = apply_agent_cleared,
	[EV_OUTAGE_SUSPECTED] = apply_outage_suspected,
	[EV_OUTAGE_OVER] = apply_outage_over,
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
	case EV_ESCALATION_OPENED: return str_is(ev_text(e, "kind"), "internal");
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
