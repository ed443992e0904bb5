/* Plans: the first one, and every later one as a diff against the nodes that are there. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/capacity/accept_queue.h"
#include "core/decide/ask.h"
#include "core/decide/emit.h"
#include "core/decide/move.h"
#include "core/goal/goal.h"
#include "core/model/limits.h"
#include "core/plan/plan_diff.h"
#include "core/plan/plan_make.h"
#include "core/plan/plan_members.h"
#include "core/plan/plan_replan.h"
#include "core/state/state.h"
#include "data/value/json.h"

/* One plan on its way to become the goal's. */
struct adoption {
	const struct goal *g;
	int64_t version;
	str reason;
	value *plan; /* the effective document */
	value *warnings;
	struct plan_diff diff;
};

/* In the answer: texts must outlive the report. */
static value *warnings_of(struct decide_ctx *cx, const struct plan_report *r)
{
	return value_copy(cx->arena, plan_problems_view(cx->arena, r->warnings.p, r->warnings.n));
}

int plan_refuse(struct decide_ctx *cx, const value *plan, value **ret_warnings, struct ov_err *err)
{
	struct plan_rules rules = PLAN_RULES_WRITTEN;
	struct plan_report report;
	int r;

	rules.policy = cx->policy;
	plan_check(cx->arena, plan, &rules, &report);
	r = plan_report_error(&report, err);
	*ret_warnings = warnings_of(cx, &report);
	plan_report_done(&report);
	return r;
}

static value *summary(struct arena *a, const struct plan_diff *d)
{
	value *v = value_object(a);

	value_put(a, v, "added", plan_diff_ids(a, d, PLAN_ADDED));
	value_put(a, v, "changed", plan_diff_ids(a, d, PLAN_CHANGED));
	value_put(a, v, "removed", plan_diff_ids(a, d, PLAN_REMOVED));
	value_put(a, v, "kept", value_int(a, (int64_t)d->counts[PLAN_KEPT]));
	return v;
}

static void emit_applied(struct decide_ctx *cx, str goal, const struct adoption *ad,
		const char *source)
{
	struct ev_plan_applied *e = emit_plan_applied(cx, (struct subject){ .goal = goal });

	e->version = ad->version;
	e->reason = ad->reason;
	e->source = str_from(source);
	e->summary = value_copy(cx->arena, summary(cx->arena, &ad->diff));
	e->plan = value_copy(cx->arena, ad->plan);
}

void plan_emit_first(struct decide_ctx *cx, str goal, const value *plan, str reason,
		const char *source)
{
	struct goal none = { 0 };
	struct adoption ad = { .version = 1, .reason = reason };

	ad.plan = plan_effective(cx->arena, &none, plan, 1);
	ad.diff = plan_diff(cx->arena, NULL, ad.plan);
	emit_applied(cx, goal, &ad, source);
}

/* A node without parts so far that gets some: they take its work over. */
static const struct node *split_node(const struct decide_ctx *cx, const struct adoption *ad,
		const struct plan_change *c)
{
	const struct node *n;

	if (c->kind != PLAN_KEPT && c->kind != PLAN_CHANGED)
		return NULL;
	n = state_node(cx->state, ad->g->id, c->id);
	return n && node_is_leaf(n) && value_count(plan_children(c->doc, (int)c->tier)) ? n : NULL;
}

/* Whom the plan takes the work away from; NULL when it does not. */
static const struct node *loses_work(const struct decide_ctx *cx, const struct adoption *ad,
		const struct plan_change *c)
{
	return c->kind == PLAN_REMOVED ? state_node(cx->state, ad->g->id, c->id)
				       : split_node(cx, ad, c);
}

/* What is on its way to the target branch cannot be called back. */
static int check_accepting(const struct decide_ctx *cx, const struct adoption *ad,
		struct ov_err *err)
{
	for (size_t i = 0; i < ad->diff.n; i++) {
		const struct node *n = loses_work(cx, ad, &ad->diff.p[i]);

		if (!n || !accept_is_committed(n->assignment))
			continue;
		ov_fail(err, OV_ESTATE,
				"node " STR_FMT " is being accepted right now and the plan would "
				"%s it; try again when that is over",
				STR_ARG(n->id),
				ad->diff.p[i].kind == PLAN_REMOVED ? "remove" : "split");
		return ov_next(err, "overseer explain " STR_FMT, STR_ARG(n->key));
	}
	return 0;
}

static int check_goal(const struct goal *g, struct ov_err *err)
{
	if (g->standing.n) {
		ov_fail(err, OV_ESTATE,
				"goal " STR_FMT
				" holds tasks that were added one by one; it has no plan",
				STR_ARG(g->id));
		return ov_next(err, "overseer goal create --title TEXT --plan FILE");
	}
	if (g->status == GOAL_ACTIVE || g->status == GOAL_PAUSED)
		return 0;
	ov_fail(err, OV_ESTATE,
			"goal " STR_FMT
			" is %s; a plan can be applied while it is active or paused",
			STR_ARG(g->id), status_name(&goal_statuses, (int)g->status));
	if (g->status != GOAL_COMPLETED)
		return OV_ESTATE;
	return ov_next(err, "overseer goal reopen " STR_FMT " --reason TEXT", STR_ARG(g->id));
}

/*
 * A whole plan of a model's is judged as one, here again: whoever asked it may be mistaken. A split
 * is the goal's own plan with parts of a model's, which were judged when it answered.
 */
static struct plan_rules rules_for(struct decide_ctx *cx, const char *source)
{
	if (strcmp(source, "planner") != 0) {
		struct plan_rules written = PLAN_RULES_WRITTEN;

		written.policy = cx->policy;
		return written;
	}
	return (struct plan_rules){ .limits = cx->policy->plan,
		.model = true,
		.roles = policy_role_names(cx->arena, cx->policy) };
}

/* The log keeps every version whole: it must fit into one event, also with all that is finished. */
static int check_size(const struct adoption *ad, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	json_write(&text, ad->plan);
	if (text.n <= LIMIT_PLAN_STORED)
		return 0;
	return ov_fail(err, OV_ELIMIT,
			"the plan of goal " STR_FMT
			" would have %zu bytes with its finished nodes, at most %d are allowed; "
			"create a new goal for the rest",
			STR_ARG(ad->g->id), text.n, LIMIT_PLAN_STORED);
}

static int prepare(struct decide_ctx *cx, struct adoption *ad, const value *plan,
		const char *source, struct ov_err *err)
{
	struct plan_rules rules = rules_for(cx, source);
	struct plan_report report;
	int r = check_goal(ad->g, err);

	if (r < 0)
		return r;
	plan_check_replan(cx->arena, cx->state, ad->g, plan, &rules, &report);
	r = plan_report_error(&report, err);
	ad->warnings = warnings_of(cx, &report);
	plan_report_done(&report);
	if (r < 0)
		return r;
	ad->plan = plan_effective(cx->arena, ad->g, plan, ad->version);
	ad->diff = plan_diff(cx->arena, plan_document(cx->arena, ad->g), ad->plan);
	if (ad->g->nodes.n + ad->diff.counts[PLAN_ADDED] > LIMIT_NODES)
		return ov_fail(err, OV_ELIMIT,
				"goal " STR_FMT " would have had %zu nodes in all its plans, at "
				"most %d are allowed; begin a new goal for what is left",
				STR_ARG(ad->g->id), ad->g->nodes.n + ad->diff.counts[PLAN_ADDED],
				LIMIT_NODES);
	r = check_size(ad, err);
	return r < 0 ? r : check_accepting(cx, ad, err);
}

static bool changes_nothing(struct decide_ctx *cx, const struct adoption *ad)
{
	return ad->g->plan_version && ad->diff.was_sequential == ad->diff.is_sequential &&
			value_equal(value_at(plan_document(cx->arena, ad->g), "phases"),
					value_at(ad->plan, "phases"));
}

/*
 * The nodes that are out of the plan are cancelled, parents too; whoever works for them is
 * wound down.
 */
static void take_work_away(struct decide_ctx *cx, const struct adoption *ad)
{
	for (size_t i = 0; i < ad->diff.n; i++) {
		const struct node *n = loses_work(cx, ad, &ad->diff.p[i]);
		bool removed = ad->diff.p[i].kind == PLAN_REMOVED;
		str why;

		if (!n)
			continue;
		why = arena_printf(cx->arena, "%s by plan version %lld: " STR_FMT,
				removed ? "removed" : "split", (long long)ad->version,
				STR_ARG(ad->reason));
		if (removed)
			node_to(cx, n, NODE_CANCELLED, why);
		if (n->assignment)
			assignment_wind_down(cx, n->assignment, AS_CANCELLED, why);
		episode_close(cx, n, why);
		close_escalations(cx, n, ESC_ANSWERED, why);
	}
}

static int adopt(struct decide_ctx *cx, struct adoption *ad, const value *plan, const char *source,
		struct ov_err *err)
{
	int r = prepare(cx, ad, plan, source, err);

	if (r < 0)
		return r;
	if (changes_nothing(cx, ad)) {
		ad->version = ad->g->plan_version;
		return 0;
	}
	emit_applied(cx, ad->g->id, ad, source);
	take_work_away(cx, ad);
	return 0;
}

int plan_adopt(struct decide_ctx *cx, const struct goal *g, const value *plan, str reason,
		const char *source, struct ov_err *err)
{
	struct adoption ad = { .g = g, .version = g->plan_version + 1, .reason = reason };

	return adopt(cx, &ad, plan, source, err);
}

/* Somebody replanned meanwhile: what the caller has seen is not what there is. */
static int check_version(const struct goal *g, const struct pr_plan_apply *p, struct ov_err *err)
{
	const value *own = value_at(p->plan, "planVersion");
	int r = 0;

	if (p->has_version && p->version != g->plan_version)
		r = ov_fail(err, OV_ECONFLICT,
				"you have seen plan version %lld of goal " STR_FMT
				", but it is at version %lld",
				(long long)p->version, STR_ARG(g->id), (long long)g->plan_version);
	else if (g->plan_version && own && own->kind == V_INT && own->i != g->plan_version + 1)
		r = ov_fail(err, OV_ECONFLICT,
				"the document says planVersion %lld, but the plan of goal " STR_FMT
				" is at version %lld and the next is %lld",
				(long long)own->i, STR_ARG(g->id), (long long)g->plan_version,
				(long long)g->plan_version + 1);
	if (r == 0 || !g->plan_version)
		return r;
	return ov_next(err,
			"overseer plan diff " STR_FMT
			" %lld, then --version %lld (planVersion may be left out)",
			STR_ARG(g->id),
			(long long)MIN(MAX(p->has_version ? p->version : 1, 1), g->plan_version),
			(long long)g->plan_version);
}

int decide_plan_apply(struct decide_ctx *cx, const struct pr_plan_apply *p, value **ret_result,
		struct ov_err *err)
{
	str reason = str_trim(p->reason);
	struct adoption ad = { 0 };
	struct arena *a = cx->arena;
	struct goal *g;
	value *v;
	int r;

	r = state_find_goal(cx->state, p->goal, &g, err);
	if (r == 0 && (reason.n > LIMIT_NOTE || str_find_byte(reason, '\0') < reason.n))
		r = ov_fail(err, OV_EINVALID, "a reason has at most %d bytes and no NUL",
				LIMIT_NOTE);
	if (r == 0)
		r = check_version(g, p, err);
	if (r < 0)
		return r;
	if (!reason.n)
		reason = g->plan_version ? STR("replanned") : STR("the first plan");
	ad = (struct adoption){ .g = g, .version = g->plan_version + 1, .reason = reason };
	r = adopt(cx, &ad, p->plan, "file", err);
	if (r < 0)
		return r;
	v = *ret_result = value_object(a);
	value_put(a, v, "goal", value_str(a, arena_str(a, g->id)));
	value_put(a, v, "version", value_int(a, ad.version));
	value_put(a, v, "added", value_copy(a, plan_diff_ids(a, &ad.diff, PLAN_ADDED)));
	value_put(a, v, "changed", value_copy(a, plan_diff_ids(a, &ad.diff, PLAN_CHANGED)));
	value_put(a, v, "removed", value_copy(a, plan_diff_ids(a, &ad.diff, PLAN_REMOVED)));
	value_put(a, v, "kept", value_copy(a, plan_diff_ids(a, &ad.diff, PLAN_KEPT)));
	value_put(a, v, "warnings", ad.warnings);
	return 0;
}
