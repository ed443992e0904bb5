/*
 * Reading operations about plans: the tree as it stands, its versions, and what is between two
 * of them.
 */
#include "app/ops/ops.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/event/event.h"
#include "core/plan/plan_diff.h"
#include "core/plan/plan_make.h"
#include "core/plan/plan_replan.h"
#include "core/view/view.h"

static int find_planned(struct op_ctx *cx, str goal, struct goal **ret, struct ov_err *err)
{
	int r = state_find_goal(cx->state, goal, ret, err);

	if (r < 0 || (*ret)->plan_version)
		return r;
	ov_fail(err, OV_ENOTFOUND, "goal " STR_FMT " has no plan yet", STR_ARG((*ret)->id));
	return ov_next(err, "overseer plan apply --goal " STR_FMT " FILE", STR_ARG((*ret)->id));
}

/* Open tasks whose work will wait for a person only because nothing checks it. */
static int64_t unchecked(const struct op_ctx *cx, const struct goal *g)
{
	const struct policy *p = &cx->config->policy;
	int64_t n = 0;

	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *x = g->nodes.p[i];

		n += node_is_leaf(x) && !node_is_final(x) && !x->def.removed_in &&
				!policy_checks(p, x);
	}
	return p->unchecked == UNCHECKED_REVIEW && p->review != REVIEW_ALWAYS ? n : 0;
}

int op_plan_show(struct op_ctx *cx, const struct pr_plan_show *p, value **ret, struct ov_err *err)
{
	struct goal *g;
	value *doc;
	int r = find_planned(cx, p->goal, &g, err);

	if (r < 0)
		return r;
	*ret = view_plan(cx->arena, cx->state, g);
	value_put(cx->arena, *ret, "unchecked_waits", value_int(cx->arena, unchecked(cx, g)));
	if (!p->document)
		return 0;
	/*
	 * Meant to be edited and applied: it says what it would become, so a stale one is
	 * found out.
	 */
	doc = plan_document(cx->arena, g);
	value_put(cx->arena, doc, "planVersion", value_int(cx->arena, g->plan_version + 1));
	value_put(cx->arena, *ret, "document", doc);
	return 0;
}

int op_read_event(struct op_ctx *cx, uint64_t seq, struct event *ret, struct ov_err *err)
{
	struct store_record *rec;
	size_t got;
	int r = store_read(cx->store, seq - 1, 1, cx->arena, &rec, &got, err);

	if (r == 0 && (got != 1 || rec->seq != seq))
		r = ov_fail(err, OV_EINTERNAL, "event %llu is not in the log",
				(unsigned long long)seq);
	if (r == 0)
		r = event_decode(cx->arena, rec->seq, rec->at, rec->kind, rec->body, ret, err);
	return r;
}

static value *version_view(struct arena *a, const struct event *e)
{
	static const char *const lists[] = { "added", "changed", "removed", "kept" };
	const struct ev_plan_applied *is = as_plan_applied(e);
	value *v = value_object(a);

	value_put(a, v, "version", value_int(a, is->version));
	value_put(a, v, "at", value_time(a, e->at));
	value_put(a, v, "actor", value_str(a, e->actor));
	value_put(a, v, "source", value_str(a, is->source));
	value_put(a, v, "reason", value_str(a, is->reason));
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		value_put(a, v, lists[i],
				value_at(is->summary, lists[i])
						? value_share(value_at(is->summary, lists[i]))
						: value_null(a));
	value_put(a, v, "seq", value_int(a, (int64_t)e->seq));
	return v;
}

int op_plan_history(struct op_ctx *cx, const struct pr_plan_history *p, value **ret,
		struct ov_err *err)
{
	struct arena *a = cx->arena;
	value *v = value_object(a), *list = value_array(a);
	struct goal *g;
	int r = find_planned(cx, p->goal, &g, err);

	for (size_t i = 0; r == 0 && i < g->plan_seqs.n; i++) {
		struct event e;

		r = op_read_event(cx, g->plan_seqs.p[i], &e, err);
		if (r == 0)
			value_push(a, list, version_view(a, &e));
	}
	if (r < 0)
		return r;
	value_put(a, v, "goal", value_str(a, g->id));
	value_put(a, v, "version", value_int(a, g->plan_version));
	value_put(a, v, "versions", list);
	*ret = v;
	return 0;
}

/* The document of a version; 0 is before there was a plan. */
static int read_version(struct op_ctx *cx, const struct goal *g, int64_t version,
		const value **ret_plan, struct ov_err *err)
{
	int64_t first = g->plan_version - (int64_t)g->plan_seqs.n + 1;
	struct event e;
	int r;

	*ret_plan = NULL;
	if (version == 0)
		return 0;
	if (version > g->plan_version || version < first) {
		ov_fail(err, OV_ENOTFOUND,
				"goal " STR_FMT " has plan versions %lld to %lld, not %lld",
				STR_ARG(g->id), (long long)first, (long long)g->plan_version,
				(long long)version);
		return ov_next(err, "overseer plan history " STR_FMT, STR_ARG(g->id));
	}
	r = op_read_event(cx, g->plan_seqs.p[version - first], &e, err);
	if (r == 0)
		*ret_plan = as_plan_applied(&e)->plan;
	return r;
}

int op_plan_diff(struct op_ctx *cx, const struct pr_plan_diff *p, value **ret, struct ov_err *err)
{
	const value *before, *after;
	struct plan_diff d;
	int64_t v1, v2;
	struct goal *g;
	int r = find_planned(cx, p->goal, &g, err);

	if (r < 0)
		return r;
	v2 = p->has_to ? p->to : g->plan_version;
	v1 = p->has_from ? p->from : MAX(v2 - 1, (int64_t)0);
	r = read_version(cx, g, v1, &before, err);
	if (r == 0)
		r = read_version(cx, g, v2, &after, err);
	if (r < 0)
		return r;
	d = plan_diff(cx->arena, before, after);
	*ret = plan_diff_view(cx->arena, &d);
	value_put(cx->arena, *ret, "goal", value_str(cx->arena, g->id));
	value_put(cx->arena, *ret, "from", value_int(cx->arena, v1));
	value_put(cx->arena, *ret, "to", value_int(cx->arena, v2));
	return 0;
}

/* As plan.apply would judge it, and what that would change; nothing is changed. */
int op_plan_check(struct op_ctx *cx, const struct pr_plan_check *p, value **ret, struct ov_err *err)
{
	const value *doc = p->plan, *own = value_at(doc, "planVersion");
	struct plan_rules rules = PLAN_RULES_WRITTEN;
	struct arena *a = cx->arena;
	struct plan_report report;
	struct plan_diff d;
	struct goal *g;
	int r = state_find_goal(cx->state, p->goal, &g, err);

	if (r < 0)
		return r;
	rules.policy = &cx->config->policy;
	plan_check_replan(a, cx->state, g, doc, &rules, &report);
	if (g->plan_version && own && own->kind == V_INT && own->i > 0 &&
			own->i != g->plan_version + 1)
		plan_problem(&report, a, STR("planVersion"), "%lld, but the next version is %lld",
				(long long)own->i, (long long)g->plan_version + 1);
	*ret = plan_report_view(a, &report);
	value_put(a, *ret, "goal", value_str(a, g->id));
	value_put(a, *ret, "version", value_int(a, g->plan_version));
	if (report.problems.n == 0) {
		d = plan_diff(a, plan_document(a, g),
				plan_effective(a, g, doc, g->plan_version + 1));
		value_put(a, *ret, "diff", plan_diff_view(a, &d));
	}
	plan_report_done(&report);
	return 0;
}
