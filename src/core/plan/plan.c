#include "core/plan/plan.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/model/limits.h"
#include "core/plan/plan_members.h"
#include "core/policy/policy.h"
#include "core/state/state.h"

/*
 * More than so many problems help nobody; and finding the nearest name for each would take long, so
 * that is given up after so many comparisons.
 */
enum { MAX_PROBLEMS = 200, MAX_COMPARED = 100000 };

static void add_problem(struct plan_report *r, struct arena *a, str path, const char *fmt,
		va_list ap) _printf_(4, 0);
static void add_problem(struct plan_report *r, struct arena *a, str path, const char *fmt,
		va_list ap)
{
	struct plan_problem p = { .path = path };

	if (r->problems.n >= MAX_PROBLEMS)
		return;
	p.text = arena_vprintf(a, fmt, ap);
	vec_push(&r->problems, p);
}

void plan_problem(struct plan_report *r, struct arena *a, str path, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_problem(r, a, path, fmt, ap);
	va_end(ap);
}

void plan_check_problem(struct plan_checking *c, str path, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_problem(c->r, c->a, path, fmt, ap);
	va_end(ap);
}

static void check_node(struct plan_checking *c, str path, enum node_tier tier, int parent,
		const value *doc);

/*
 * The last of the nodes so far follows the one before it, and waits for it where they are in order.
 */
static void link_sibling(struct plan_checking *c, int self, int parent, int before, bool ordered)
{
	struct plan_node *nodes = c->r->nodes.p;

	if (before >= 0)
		nodes[before].next = self;
	else if (parent >= 0)
		nodes[parent].first = self;
	if (ordered && before >= 0) {
		nodes[self].before = before;
		c->r->sequential = true;
	}
}

static void check_nodes(struct plan_checking *c, str path, enum node_tier tier, int parent,
		const value *of, int64_t max)
{
	const value *array = plan_children(of, (int)tier - 1);
	bool ordered = plan_is_sequential(of);
	int before = -1;

	if (!array)
		return;
	if (array->array.n > (size_t)max)
		plan_check_problem(c, path, "%zu %ss, at most %lld are allowed", array->array.n,
				status_name(&node_tiers, tier), (long long)max);
	if (array->array.n == 0 && tier != TIER_SUBTASK)
		plan_check_problem(c, path, "must not be empty");
	for (size_t i = 0; i < MIN(array->array.n, (size_t)max); i++) {
		int self = (int)c->r->nodes.n;

		check_node(c, plan_path_item(c, path, i), tier, parent, array->array.items[i]);
		if (c->r->nodes.n == (size_t)self)
			continue;
		link_sibling(c, self, parent, before, ordered);
		before = self;
	}
}

static void check_node(struct plan_checking *c, str path, enum node_tier tier, int parent,
		const value *doc)
{
	struct plan_node n = { .path = path,
		.tier = tier,
		.parent = parent,
		.before = -1,
		.first = -1,
		.next = -1,
		.doc = doc };
	int self = (int)c->r->nodes.n;
	const value *deps;

	if (!plan_want_kind(c, path, doc, V_OBJECT))
		return;
	if (c->r->nodes.n == LIMIT_NODES) {
		c->too_many = true;
		return;
	}
	deps = value_at(doc, "deps");
	n.id = plan_id(doc);
	n.deps = deps && deps->kind == V_ARRAY ? deps : NULL;
	vec_push(&c->r->nodes, n);
	plan_check_members(c, path, 1u << tier, doc);
	if (tier == TIER_PHASE) {
		c->r->phases++;
		check_nodes(c, plan_path(c, path, "tasks"), TIER_TASK, self, doc,
				c->rules->limits.max_tasks);
	} else if (tier == TIER_TASK) {
		c->r->tasks++;
		check_nodes(c, plan_path(c, path, "subtasks"), TIER_SUBTASK, self, doc,
				c->rules->limits.max_subtasks);
	} else {
		c->r->subtasks++;
	}
}

int plan_node_index(const struct plan_checking *c, str id)
{
	return (int)(intptr_t)map_get(&c->by_id, id) - 1;
}

static void check_ids(struct plan_checking *c)
{
	for (size_t i = 0; i < c->r->nodes.n; i++) {
		const struct plan_node *n = &c->r->nodes.p[i];
		int first = plan_node_index(c, n->id);

		if (n->id.n && first < 0)
			map_put(&c->by_id, n->id, (void *)(intptr_t)(i + 1));
		else if (n->id.n)
			plan_check_problem(c, plan_path(c, n->path, "id"),
					"\"" STR_FMT "\" is already the id of " STR_FMT,
					STR_ARG(n->id), STR_ARG(c->r->nodes.p[first].path));
	}
}

static const char *nearest_id(struct plan_checking *c, str id)
{
	if (c->compared > MAX_COMPARED)
		return NULL;
	c->compared += c->r->nodes.n;
	if (!c->ids) {
		c->ids = arena_array(c->a, const char *, c->r->nodes.n + 1);
		for (size_t i = 0; i < c->r->nodes.n; i++)
			c->ids[i] = arena_cstr(c->a, c->r->nodes.p[i].id);
	}
	return str_nearest(id, c->ids, c->r->nodes.n);
}

static void unknown_dep(struct plan_checking *c, str path, str id)
{
	const char *near;

	if (c->r->problems.n >= MAX_PROBLEMS)
		return;
	near = nearest_id(c, id);
	if (near)
		plan_check_problem(c, path,
				"\"" STR_FMT "\" is not a node of this plan (nearest: \"%s\")",
				STR_ARG(id), near);
	else
		plan_check_problem(c, path, "\"" STR_FMT "\" is not a node of this plan",
				STR_ARG(id));
	vec_last(&c->r->problems).elsewhere = true;
}

/*
 * The finished nodes and those that are gone: what a dependency may name besides the
 * document's own.
 */
static bool goal_has_finished(const struct plan_checking *c, str id)
{
	const struct node *n = c->rules->goal ? state_node(c->rules->state, c->rules->goal->id, id)
					      : NULL;

	return n && node_is_final(n);
}

static void check_dep(struct plan_checking *c, const struct plan_node *n, str path, str id)
{
	if (str_eq(id, n->id))
		plan_check_problem(c, path, "%s " STR_FMT " depends on itself",
				status_name(&node_tiers, (int)n->tier), STR_ARG(n->id));
	else if (plan_node_index(c, id) < 0 && !goal_has_finished(c, id))
		unknown_dep(c, path, id);
}

static void check_deps(struct plan_checking *c)
{
	for (size_t i = 0; i < c->r->nodes.n; i++) {
		const struct plan_node *n = &c->r->nodes.p[i];

		for (size_t k = 0; k < value_count(n->deps); k++) {
			const value *d = value_item(n->deps, k);

			if (d->kind == V_STR)
				check_dep(c, n, plan_path_item(c, plan_path(c, n->path, "deps"), k),
						d->s);
		}
	}
}

/* What agents get, and what of it could begin at once. */
static void count_ready(struct plan_report *r)
{
	for (size_t i = 0; i < r->nodes.n; i++) {
		bool waits = false;

		if (r->nodes.p[i].first >= 0)
			continue;
		for (int at = (int)i; at >= 0; at = r->nodes.p[at].parent)
			waits |= r->nodes.p[at].before >= 0 || value_count(r->nodes.p[at].deps);
		r->leaves++;
		r->ready += !waits;
	}
}

/* Tasks whose agent cannot be given work: they would wait for a person at once. */
static void check_agents(struct plan_checking *c)
{
	for (size_t i = 0; c->rules->policy && i < c->r->nodes.n; i++) {
		const struct plan_node *n = &c->r->nodes.p[i];
		str agent = value_str_at(n->doc, "suggestedAgent"), why;

		if (!agent.n || c->r->warnings.n >= MAX_PROBLEMS)
			continue;
		why = policy_no_agent(c->a, c->rules->policy, agent);
		if (why.n)
			vec_push(&c->r->warnings,
					((struct plan_problem){ .path = plan_path(c, n->path,
										"suggestedAgent"),
							.text = arena_printf(c->a,
									STR_FMT
									"; " STR_FMT
									" cannot start until it is",
									STR_ARG(why),
									STR_ARG(n->id)) }));
	}
}

/* The version that a document shall become; whose later plan it is, only the goal knows. */
static void check_version(struct plan_checking *c, const value *doc)
{
	const value *own = value_at(doc, "planVersion");
	const struct goal *g = c->rules->goal;

	if (c->rules->model || (g && g->plan_version) || !own || own->kind != V_INT || own->i < 2)
		return;
	plan_check_problem(c, STR("planVersion"),
			"%lld, but the first plan of a goal is version 1%s", (long long)own->i,
			g ? "" : " (a later one is checked with --goal ID)");
	vec_last(&c->r->problems).elsewhere = true;
}

static void check_top(struct plan_checking *c, const value *doc)
{
	const value *goal = plan_goal(doc);

	plan_check_members(c, STR(""), PLAN_AT_TOP, doc);
	if (goal && goal->kind == V_OBJECT)
		plan_check_members(c, STR("goal"), PLAN_AT_GOAL, goal);
	check_version(c, doc);
	check_nodes(c, STR("phases"), TIER_PHASE, -1, doc, c->rules->limits.max_phases);
	if (c->too_many)
		plan_check_problem(c, STR("(top)"), "more than %d phases, tasks and subtasks",
				LIMIT_NODES);
}

void plan_check(struct arena *a, const value *doc, const struct plan_rules *rules,
		struct plan_report *ret)
{
	struct plan_checking c = { .a = a, .rules = rules, .r = ret };

	*ret = (struct plan_report){ 0 };
	if (!doc) {
		plan_check_problem(&c, STR("(top)"), "there is no plan");
		return;
	}
	if (!plan_want_kind(&c, STR("(top)"), doc, V_OBJECT))
		return;
	map_init(&c.by_id, 0);
	check_top(&c, doc);
	check_ids(&c);
	check_deps(&c);
	plan_check_cycles(&c);
	check_agents(&c);
	count_ready(ret);
	map_done(&c.by_id);
}

void plan_report_done(struct plan_report *r)
{
	vec_done(&r->problems);
	vec_done(&r->warnings);
	vec_done(&r->nodes);
}

int plan_report_error(const struct plan_report *r, struct ov_err *err)
{
	if (r->problems.n == 0)
		return 0;
	ov_fail(err, OV_EINVALID_PLAN, STR_FMT ": " STR_FMT, STR_ARG(r->problems.p[0].path),
			STR_ARG(r->problems.p[0].text));
	if (r->problems.n > 1)
		ov_wrap(err, OV_EINVALID_PLAN, "%zu problems, the first", r->problems.n);
	return ov_next(err, "overseer plan check FILE");
}

value *plan_problems_view(struct arena *a, const struct plan_problem *p, size_t n)
{
	value *list = value_array(a);

	for (size_t i = 0; i < n; i++) {
		value *v = value_object(a);

		value_put(a, v, "path", value_str(a, p[i].path));
		value_put(a, v, "problem", value_str(a, p[i].text));
		value_push(a, list, v);
	}
	return list;
}

value *plan_report_view(struct arena *a, const struct plan_report *r)
{
	value *v = value_object(a);

	value_put(a, v, "valid", value_bool(a, r->problems.n == 0));
	value_put(a, v, "phases", value_int(a, (int64_t)r->phases));
	value_put(a, v, "tasks", value_int(a, (int64_t)r->tasks));
	value_put(a, v, "subtasks", value_int(a, (int64_t)r->subtasks));
	value_put(a, v, "leaves", value_int(a, (int64_t)r->leaves));
	value_put(a, v, "ready", value_int(a, (int64_t)r->ready));
	value_put(a, v, "problems", plan_problems_view(a, r->problems.p, r->problems.n));
	value_put(a, v, "warnings", plan_problems_view(a, r->warnings.p, r->warnings.n));
	return v;
}
