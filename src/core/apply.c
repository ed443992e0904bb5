#include "core/apply.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/limits.h"
#include "data/json.h"

static str text(const struct event *e, const char *key)
{
	return value_str_at(e->data, key);
}

static int64_t num(const struct event *e, const char *key)
{
	return value_int_at(e->data, key);
}

static int missing(const struct event *e, const char *noun, str id, struct ov_err *err)
{
	return ov_fail(err, OV_EINVALID, "event %llu (%s): there is no %s \"" STR_FMT "\"",
			(unsigned long long)e->seq, event_info(e->kind).name, noun, STR_ARG(id));
}

/* Reads from/to of a status event and checks them against the table and the present status. */
static int read_move(const struct event *e, const struct status_table *t, str what, int now,
		int *ret_to, struct ov_err *err)
{
	int from = status_parse(t, text(e, "from")), to = status_parse(t, text(e, "to"));

	if (from != now || to < 0)
		return ov_fail(err, OV_EINVALID,
				"event %llu: %s " STR_FMT " goes from \"" STR_FMT "\" to \"" STR_FMT
				"\", but it is %s",
				(unsigned long long)e->seq, t->noun, STR_ARG(what),
				STR_ARG(text(e, "from")), STR_ARG(text(e, "to")),
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

/* What ids are made into keys and branch names with. */
static bool id_valid(str id)
{
	return id.n > 0 && id.n <= LIMIT_ID;
}

static int apply_goal_created(struct state *s, const struct event *e, struct ov_err *err)
{
	struct goal *g;

	if (!id_valid(e->goal))
		return missing(e, "such id", e->goal, err);
	if (state_goal(s, e->goal))
		return ov_fail(err, OV_EINVALID, "event %llu: goal " STR_FMT " exists already",
				(unsigned long long)e->seq, STR_ARG(e->goal));
	g = mem_zalloc(1, sizeof(*g));
	record_set_str(&g->id, e->goal);
	record_set_str(&g->owner, e->actor);
	record_set_str(&g->title, text(e, "title"));
	record_set_str(&g->problem_statement, text(e, "problem_statement"));
	record_set_strs(&g->success_criteria, value_at(e->data, "success_criteria"));
	record_set_strs(&g->non_goals, value_at(e->data, "non_goals"));
	record_set_strs(&g->constraints, value_at(e->data, "constraints"));
	record_set_strs(&g->tags, value_at(e->data, "tags"));
	g->priority = num(e, "priority");
	g->status = GOAL_ACTIVE;
	g->created_at = g->updated_at = e->at;
	state_add_goal(s, g);
	return 0;
}

static int apply_goal_status(struct state *s, const struct event *e, struct ov_err *err)
{
	struct goal *g = state_goal(s, e->goal);
	int to, r;

	if (!g)
		return missing(e, "goal", e->goal, err);
	r = read_move(e, &goal_statuses, g->id, (int)g->status, &to, err);
	if (r < 0)
		return r;
	g->status = (enum goal_status)to;
	g->health = to == GOAL_PAUSED ? HEALTH_PAUSED : HEALTH_HEALTHY;
	g->updated_at = e->at;
	g->ended_at = to == GOAL_COMPLETED || to == GOAL_CANCELLED ? e->at : g->ended_at;
	record_set_str(&g->status_reason, text(e, "reason"));
	state_index_goal(s, g);
	return 0;
}

static void set_json(str *field, const value *v)
{
	_cleanup_(buf_done)
	struct buf out = BUF_INIT;

	if (v)
		json_write_canonical(&out, v);
	record_set_str(field, buf_str(&out));
}

static void add_plan_node(struct state *s, struct goal *g, const value *doc, enum node_tier tier,
		str parent, ov_time at)
{
	struct node *n = mem_zalloc(1, sizeof(*n));

	record_set_str(&n->id, value_str_at(doc, "id"));
	record_set_str(&n->parent_id, parent);
	n->tier = tier;
	record_set_str(&n->name, value_str_at(doc, "name"));
	record_set_str(&n->objective, value_str_at(doc, "objective"));
	record_set_str(&n->outcome, value_str_at(doc, "outcome"));
	record_set_str(&n->definition_of_done, value_str_at(doc, "definitionOfDone"));
	record_set_str(&n->suggested_agent, value_str_at(doc, "suggestedAgent"));
	record_set_str(&n->role, value_str_at(doc, "role"));
	record_set_str(&n->check_command, value_str_at(doc, "checkCommand"));
	record_set_str(&n->effort, value_str_at(doc, "effort"));
	record_set_str(&n->risk, value_str_at(doc, "risk"));
	record_set_strs(&n->acceptance, value_at(doc, "acceptance"));
	record_set_strs(&n->deps, value_at(doc, "deps"));
	record_set_strs(&n->scope_paths, value_at(doc, "scopePaths"));
	record_set_strs(&n->required_tools, value_at(doc, "requiredTools"));
	set_json(&n->verification, value_at(doc, "verification"));
	n->priority = value_int_at(doc, "priority");
	n->created_at = n->updated_at = at;
	state_add_node(s, g, n);
}

static void add_children(struct state *s, struct goal *g, const value *list, enum node_tier tier,
		str parent, ov_time at)
{
	for (size_t i = 0; i < value_count(list); i++) {
		const value *doc = value_item(list, i);
		str id = value_str_at(doc, "id");

		add_plan_node(s, g, doc, tier, parent, at);
		if (tier == TIER_PHASE)
			add_children(s, g, value_at(doc, "tasks"), TIER_TASK, id, at);
		else if (tier == TIER_TASK)
			add_children(s, g, value_at(doc, "subtasks"), TIER_SUBTASK, id, at);
	}
}

/* Plans were checked when they were applied; only what the fold itself relies on is checked again. */
static bool plan_ids_valid(const value *list, enum node_tier tier)
{
	for (size_t i = 0; i < value_count(list); i++) {
		const value *doc = value_item(list, i);

		if (!id_valid(value_str_at(doc, "id")))
			return false;
		if (tier == TIER_PHASE && !plan_ids_valid(value_at(doc, "tasks"), TIER_TASK))
			return false;
		if (tier == TIER_TASK && !plan_ids_valid(value_at(doc, "subtasks"), TIER_SUBTASK))
			return false;
	}
	return true;
}

static int apply_plan_applied(struct state *s, const struct event *e, struct ov_err *err)
{
	const value *phases = value_at(value_at(e->data, "plan"), "phases");
	struct goal *g = state_goal(s, e->goal);

	if (!g)
		return missing(e, "goal", e->goal, err);
	if (!plan_ids_valid(phases, TIER_PHASE))
		return missing(e, "id for each node in the plan of", e->goal, err);
	if (num(e, "version") != g->plan_version + 1 || g->plan_version)
		return ov_fail(err, OV_EINVALID,
				"event %llu: plan version %lld does not follow %lld",
				(unsigned long long)e->seq, (long long)num(e, "version"),
				(long long)g->plan_version);
	g->plan_version = num(e, "version");
	g->updated_at = e->at;
	add_children(s, g, phases, TIER_PHASE, STR(""), e->at);
	state_link_nodes(s, g);
	return 0;
}

static int apply_node_status(struct state *s, const struct event *e, struct ov_err *err)
{
	struct node *n = state_node(s, e->goal, e->node);
	int to, r;

	if (!n || !node_is_leaf(n))
		return missing(e, "node without children", e->node, err);
	r = read_move(e, &node_statuses, n->id, (int)n->status, &to, err);
	if (r < 0)
		return r;
	/* A reopened node starts afresh: old failures do not count against it. */
	if (n->status == NODE_DONE || n->status == NODE_BLOCKED)
		memset(n->failures, 0, sizeof(n->failures));
	n->status = (enum node_status)to;
	n->updated_at = e->at;
	if (to == NODE_QUEUED)
		n->queued_at = e->at;
	if (to == NODE_IN_PROGRESS && !n->started_at)
		n->started_at = e->at;
	n->ended_at = node_is_final(n) ? e->at : 0;
	record_set_str(&n->status_reason, text(e, "reason"));
	record_set_str(&n->blocked_by, text(e, "blocked_by"));
	record_set_str(&n->unblock_when, text(e, "unblock_when"));
	state_roll_up(s, n);
	return 0;
}

static int apply_node_failed(struct state *s, const struct event *e, struct ov_err *err)
{
	struct node *n = state_node(s, e->goal, e->node);
	int cause = status_parse(&causes, text(e, "cause"));

	if (!n || cause < 0)
		return missing(e, "node or cause", n ? text(e, "cause") : e->node, err);
	n->failures[cause] = (int32_t)num(e, "count");
	n->updated_at = e->at;
	return 0;
}

static int apply_node_accepted(struct state *s, const struct event *e, struct ov_err *err)
{
	struct node *n = state_node(s, e->goal, e->node);

	if (!n)
		return missing(e, "node", e->node, err);
	record_set_str(&n->commit, text(e, "commit"));
	return 0;
}

static int apply_assignment_created(struct state *s, const struct event *e, struct ov_err *err)
{
	struct node *n = state_node(s, e->goal, e->node);
	struct worker *w = state_worker(s, text(e, "worker"));
	struct assignment *as;

	if (!n || !w)
		return missing(e, n ? "worker" : "node", n ? text(e, "worker") : e->node, err);
	if (n->assignment || num(e, "epoch") <= n->epoch || !id_valid(e->assignment) ||
			state_assignment(s, e->assignment))
		return ov_fail(err, OV_EINVALID,
				"event %llu: node " STR_FMT
				" is assigned already or the epoch is old",
				(unsigned long long)e->seq, STR_ARG(n->key));
	as = mem_zalloc(1, sizeof(*as));
	record_set_str(&as->id, e->assignment);
	record_set_str(&as->goal_id, e->goal);
	record_set_str(&as->node_id, e->node);
	record_set_str(&as->agent, text(e, "agent"));
	record_set_str(&as->worker, text(e, "worker"));
	record_set_str(&as->branch, text(e, "branch"));
	record_set_str(&as->reason, text(e, "reason"));
	as->epoch = n->epoch = num(e, "epoch");
	as->stage = STAGE_WORKSPACE;
	as->created_at = as->updated_at = e->at;
	record_set_str(&w->assignment_id, as->id);
	state_add_assignment(s, as);
	return 0;
}

static int apply_assignment_moved(struct state *s, const struct event *e, struct ov_err *err)
{
	struct assignment *as = state_assignment(s, e->assignment);
	int to, stage = status_parse(&stages, text(e, "stage")), r;
	const value *feedback = value_at(e->data, "feedback");

	if (!as || !as->live || stage < 0)
		return missing(e, "live assignment or stage", e->assignment, err);
	r = read_move(e, &as_statuses, as->id, (int)as->status, &to, err);
	if (r < 0)
		return r;
	as->status = (enum as_status)to;
	as->stage = (enum stage)stage;
	as->not_before = num(e, "not_before_ms");
	as->updated_at = e->at;
	record_set_str(&as->reason, text(e, "reason"));
	if (feedback)
		record_set_str(&as->feedback, feedback->s);
	state_index_assignment(s, as);
	return 0;
}

static int apply_run_created(struct state *s, const struct event *e, struct ov_err *err)
{
	struct assignment *as = state_assignment(s, e->assignment);
	struct run *r;

	if (!as || !as->live || !id_valid(e->run) || state_run(s, e->run))
		return missing(e, "live assignment without that run", e->assignment, err);
	if (as->run)
		state_retire_run(s, as->run);
	r = mem_zalloc(1, sizeof(*r));
	record_set_str(&r->id, e->run);
	record_set_str(&r->goal_id, e->goal);
	record_set_str(&r->node_id, e->node);
	record_set_str(&r->assignment_id, e->assignment);
	record_set_str(&r->dispatch_id, text(e, "dispatch"));
	record_set_str(&r->agent, text(e, "agent"));
	record_set_str(&r->worker, text(e, "worker"));
	record_set_str(&r->instruction_hash, text(e, "instruction_hash"));
	r->attempt = as->attempt = num(e, "attempt");
	r->epoch = num(e, "epoch");
	r->created_at = as->last_dispatch_at = e->at;
	record_set_str(&as->run_id, r->id);
	state_add_run(s, r);
	return 0;
}

static int apply_run_started(struct state *s, const struct event *e, struct ov_err *err)
{
	struct run *r = state_run(s, e->run);

	if (!r)
		return missing(e, "run", e->run, err);
	if (r->status != RUN_STARTING)
		return status_check(&run_statuses, r->id, (int)r->status, RUN_RUNNING, false, err);
	r->status = RUN_RUNNING;
	r->started_at = e->at;
	return 0;
}

static int apply_run_ended(struct state *s, const struct event *e, struct ov_err *err)
{
	struct run *r = state_run(s, e->run);

	if (!r)
		return missing(e, "run", e->run, err);
	if (r->status == RUN_ENDED)
		return status_check(&run_statuses, r->id, RUN_ENDED, RUN_ENDED, false, err);
	r->status = RUN_ENDED;
	r->lost = value_bool_at(e->data, "lost");
	r->exit_code = num(e, "exit_code");
	r->signal = num(e, "signal");
	r->output_bytes = num(e, "output_bytes");
	r->dropped_bytes = num(e, "dropped_bytes");
	r->swept = num(e, "swept");
	r->ended_at = num(e, "ended_at_ms") ? num(e, "ended_at_ms") : e->at;
	record_set_str(&r->message, text(e, "message"));
	return 0;
}

static int apply_run_harvested(struct state *s, const struct event *e, struct ov_err *err)
{
	struct assignment *as = state_assignment(s, e->assignment);
	struct run *r = state_run(s, e->run);

	if (!r || !as)
		return missing(e, "run", e->run, err);
	r->commits = num(e, "commits");
	r->files_changed = num(e, "files_changed");
	r->leftovers = value_bool_at(e->data, "leftovers");
	record_set_str(&r->rescue_ref, text(e, "rescue_ref"));
	record_set_str(&as->head, text(e, "head"));
	record_set_str(&as->tree, text(e, "tree"));
	return 0;
}

static int apply_run_verified(struct state *s, const struct event *e, struct ov_err *err)
{
	struct run *r = state_run(s, e->run);
	int verdict = status_parse(&verifications, text(e, "verdict"));

	if (!r || verdict < 0)
		return missing(e, "run or verdict", e->run, err);
	r->verification = (enum verification)verdict;
	record_set_str(&r->verification_detail, text(e, "detail"));
	return 0;
}

static int apply_worker_created(struct state *s, const struct event *e, struct ov_err *err)
{
	struct worker *w;

	if (!id_valid(text(e, "worker")))
		return missing(e, "such name", text(e, "worker"), err);
	if (state_worker(s, text(e, "worker")))
		return ov_fail(err, OV_EINVALID, "event %llu: worker " STR_FMT " exists already",
				(unsigned long long)e->seq, STR_ARG(text(e, "worker")));
	w = mem_zalloc(1, sizeof(*w));
	record_set_str(&w->name, text(e, "worker"));
	record_set_str(&w->path, text(e, "path"));
	w->pool = value_bool_at(e->data, "pool");
	w->status = WORKER_IDLE;
	w->since = e->at;
	state_add_worker(s, w);
	return 0;
}

static int apply_worker_status(struct state *s, const struct event *e, struct ov_err *err)
{
	struct worker *w = state_worker(s, text(e, "worker"));
	int to, r;

	if (!w)
		return missing(e, "worker", text(e, "worker"), err);
	r = read_move(e, &worker_statuses, w->name, (int)w->status, &to, err);
	if (r < 0)
		return r;
	w->status = (enum worker_status)to;
	w->since = e->at;
	if (to == WORKER_IDLE || to == WORKER_OFFLINE)
		record_set_str(&w->assignment_id, STR(""));
	return 0;
}

static int apply_workspace_ready(struct state *s, const struct event *e, struct ov_err *err)
{
	struct assignment *as = state_assignment(s, e->assignment);

	if (!as)
		return missing(e, "assignment", e->assignment, err);
	record_set_str(&as->base, text(e, "base"));
	return 0;
}

static int apply_effect_intended(struct state *s, const struct event *e, struct ov_err *err)
{
	int kind = status_parse(&effect_kinds, text(e, "kind"));
	struct effect *fx;

	if (kind < 0 || !id_valid(text(e, "effect")) || state_effect(s, text(e, "effect")))
		return missing(e, "new effect of that kind", text(e, "effect"), err);
	fx = mem_zalloc(1, sizeof(*fx));
	record_set_str(&fx->id, text(e, "effect"));
	fx->kind = (enum effect_kind)kind;
	record_set_str(&fx->goal_id, e->goal);
	record_set_str(&fx->node_id, e->node);
	record_set_str(&fx->assignment_id, e->assignment);
	record_set_str(&fx->run_id, e->run);
	fx->created_at = e->at;
	state_add_effect(s, fx);
	return 0;
}

static int apply_effect_ended(struct state *s, const struct event *e, struct ov_err *err)
{
	struct effect *fx = state_effect(s, text(e, "effect"));
	struct run *r;

	if (!fx)
		return missing(e, "open effect", text(e, "effect"), err);
	r = fx->kind == FX_RUN_START ? state_run(s, fx->run_id) : NULL;
	if (r)
		record_set_str(&r->dispatch_result,
				str_is(text(e, "outcome"), "ok") ? STR("accepted") : STR("error"));
	state_remove_effect(s, fx);
	return 0;
}

static int apply_escalation_opened(struct state *s, const struct event *e, struct ov_err *err)
{
	struct escalation *esc;

	if (num(e, "escalation") < s->next_escalation)
		return ov_fail(err, OV_EINVALID, "event %llu: escalation %lld exists already",
				(unsigned long long)e->seq, (long long)num(e, "escalation"));
	esc = mem_zalloc(1, sizeof(*esc));
	esc->number = num(e, "escalation");
	record_set_str(&esc->goal_id, e->goal);
	record_set_str(&esc->node_id, e->node);
	record_set_str(&esc->kind, text(e, "kind"));
	record_set_str(&esc->question, text(e, "question"));
	esc->opened_at = e->at;
	state_add_escalation(s, esc);
	return 0;
}

static int apply_escalation_closed(struct state *s, const struct event *e, struct ov_err *err)
{
	int status = status_parse(&esc_statuses, text(e, "status"));

	for (size_t i = 0; i < s->escalations.n; i++) {
		struct escalation *esc = s->escalations.p[i];

		if (esc->number != num(e, "escalation") || esc->status != ESC_OPEN ||
				status <= ESC_OPEN)
			continue;
		esc->status = (enum esc_status)status;
		record_set_str(&esc->answer, text(e, "answer"));
		esc->closed_at = e->at;
		state_prune_escalations(s);
		return 0;
	}
	return missing(e, "open escalation", STR("with that number"), err);
}

typedef int apply_fn(struct state *s, const struct event *e, struct ov_err *err);

static apply_fn *const table[EVENT_KIND_COUNT] = {
	[EV_DAEMON_STARTED] = apply_nothing,
	[EV_DAEMON_STOPPED] = apply_nothing,
	[EV_GOAL_CREATED] = apply_goal_created,
	[EV_GOAL_STATUS] = apply_goal_status,
	[EV_PLAN_APPLIED] = apply_plan_applied,
	[EV_NODE_STATUS] = apply_node_status,
	[EV_NODE_FAILED] = apply_node_failed,
	[EV_NODE_ACCEPTED] = apply_node_accepted,
	[EV_ASSIGNMENT_CREATED] = apply_assignment_created,
	[EV_ASSIGNMENT_MOVED] = apply_assignment_moved,
	[EV_RUN_CREATED] = apply_run_created,
	[EV_RUN_STARTED] = apply_run_started,
	[EV_RUN_ENDED] = apply_run_ended,
	[EV_RUN_HARVESTED] = apply_run_harvested,
	[EV_RUN_VERIFIED] = apply_run_verified,
	[EV_WORKER_CREATED] = apply_worker_created,
	[EV_WORKER_STATUS] = apply_worker_status,
	[EV_WORKSPACE_READY] = apply_workspace_ready,
	[EV_EFFECT_INTENDED] = apply_effect_intended,
	[EV_EFFECT_ENDED] = apply_effect_ended,
	[EV_ESCALATION_OPENED] = apply_escalation_opened,
	[EV_ESCALATION_CLOSED] = apply_escalation_closed,
};

/* The node remembers the newest events about it, so that explaining it never scans the log. */
static void remember(struct state *s, const struct event *e)
{
	struct node *n = e->node.n ? state_node(s, e->goal, e->node) : NULL;

	if (!n)
		return;
	if (n->history.n == LIMIT_KEPT)
		vec_remove(&n->history, 0);
	vec_push(&n->history, e->seq);
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
