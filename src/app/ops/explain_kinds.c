/*
 * Explaining what is neither goal nor task: entries, workers, notices, agents; and ids that
 * nobody knows.
 */
#include "app/ops/explain_impl.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/explain/explain_state.h"

enum { NAMES_MAX = 20000 }; /* that are compared with one that nobody knows */

static int no_facts(struct op_ctx *cx, value *v)
{
	value_put(cx->arena, v, "facts", value_array(cx->arena));
	return 0;
}

static int facts_of_node(struct op_ctx *cx, const struct node *n, const struct fact_filter *f,
		value *v, struct ov_err *err)
{
	return n ? explain_node_facts(cx, n, f, v, err) : no_facts(cx, v);
}

/* "#12", or the number alone: a shell takes what follows a # for a comment. */
static int find_entry(struct op_ctx *cx, const struct explain *x, str id, value **ret,
		struct ov_err *err)
{
	str digits = str_starts(id, STR("#")) ? str_sub(id, 1, id.n) : id;
	const struct escalation *e;
	int64_t number;

	if (!str_to_i64(digits, &number))
		return ov_fail(err, OV_ENOTFOUND, "\"" STR_FMT "\" is not the number of an entry",
				STR_ARG(id));
	e = state_escalation(cx->state, number);
	if (!e)
		return ov_fail(err, OV_ENOTFOUND, "there is no #%lld in the inbox",
				(long long)number);
	*ret = explain_entry(x, e);
	return facts_of_node(cx,
			e->node_id.n ? state_node(cx->state, e->goal_id, e->node_id) : NULL,
			&(struct fact_filter){ 0 }, *ret, err);
}

static int find_worker(struct op_ctx *cx, const struct explain *x, str id, value **ret,
		struct ov_err *err)
{
	const struct worker *w = state_worker(cx->state, id);
	const struct assignment *as;

	if (!w)
		return ov_fail(err, OV_ENOTFOUND, "there is no worker \"" STR_FMT "\"",
				STR_ARG(id));
	*ret = explain_worker(x, w);
	as = w->assignment_id.n ? state_assignment(cx->state, w->assignment_id) : NULL;
	return facts_of_node(cx, as ? as->node : NULL,
			&(struct fact_filter){ .assignment = w->assignment_id }, *ret, err);
}

static int find_notice(struct op_ctx *cx, const struct explain *x, str id, value **ret,
		struct ov_err *err)
{
	struct notice *n;
	int r = state_find_notice(cx->state, id, &n, err);

	if (r < 0)
		return r;
	*ret = explain_notice(x, n);
	return no_facts(cx, *ret);
}

/* With the facts about the run that showed that it cannot work. */
static int find_agent(struct op_ctx *cx, const struct explain *x, str id, value **ret,
		struct ov_err *err)
{
	const struct policy_agent *p = policy_agent(&cx->config->policy, id);
	const struct lane *l = p ? state_lane(cx->state, id) : NULL;
	const struct run *run = l && l->run_id.n ? state_run(cx->state, l->run_id) : NULL;

	if (!p)
		return ov_fail(err, OV_ENOTFOUND, "there is no agent \"" STR_FMT "\"", STR_ARG(id));
	*ret = explain_agent(x, p);
	return facts_of_node(cx, run ? state_node(cx->state, run->goal_id, run->node_id) : NULL,
			&(struct fact_filter){ .run = l ? l->run_id : STR(""),
					.assignment = run ? run->assignment_id : STR("") },
			*ret, err);
}

/* ---- ids that nobody knows ---- */

struct names {
	struct arena *a;
	VEC(const char *) list;
};

static void add_name(struct names *n, str name)
{
	if (name.n && n->list.n < NAMES_MAX)
		vec_push(&n->list, arena_cstr(n->a, name));
}

static void name_nodes(struct names *n, const struct op_ctx *cx)
{
	for (size_t g = 0; g < cx->state->goals.n; g++)
		for (size_t i = 0; i < cx->state->goals.p[g]->nodes.n; i++) {
			add_name(n, cx->state->goals.p[g]->nodes.p[i]->id);
			add_name(n, cx->state->goals.p[g]->nodes.p[i]->key);
		}
}

static void name_goals(struct names *n, const struct op_ctx *cx)
{
	for (size_t i = 0; i < cx->state->goals.n; i++)
		add_name(n, cx->state->goals.p[i]->id);
}

static void name_runs(struct names *n, const struct op_ctx *cx)
{
	const struct list *lists[] = { &cx->state->runs, &cx->state->retired_runs };

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		list_each (it, lists[i])
			add_name(n, list_entry(it, struct run, link)->id);
}

static void name_assignments(struct names *n, const struct op_ctx *cx)
{
	const struct list *lists[] = { &cx->state->live, &cx->state->finished };

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		list_each (it, lists[i])
			add_name(n, list_entry(it, struct assignment, link)->id);
}

static void name_entries(struct names *n, const struct op_ctx *cx)
{
	for (size_t i = 0; i < cx->state->escalations.n; i++)
		add_name(n,
				arena_printf(n->a, "#%lld",
						(long long)cx->state->escalations.p[i]->number));
}

static void name_workers(struct names *n, const struct op_ctx *cx)
{
	for (size_t i = 0; i < cx->state->workers.n; i++)
		add_name(n, cx->state->workers.p[i]->name);
}

static void name_notices(struct names *n, const struct op_ctx *cx)
{
	for (size_t i = 0; i < cx->state->notices.n; i++)
		add_name(n, cx->state->notices.p[i]->id);
}

static void name_agents(struct names *n, const struct op_ctx *cx)
{
	for (size_t i = 0; i < cx->config->agents_n; i++)
		add_name(n, cx->config->agents[i].name);
}

static void name_daemon(struct names *n, const struct op_ctx *cx _unused_)
{
	add_name(n, STR("daemon"));
}

/* Everything that can be explained, in the order in which an id is looked for. */
static const struct kind {
	const char *what;   /* for people, with an example */
	const char *prefix; /* of its ids; NULL: they are names */
	int (*find)(struct op_ctx *cx, const struct explain *x, str id, value **ret,
			struct ov_err *err); /* NULL: by op_explain itself */
	void (*names)(struct names *n, const struct op_ctx *cx);
} kinds[] = {
	{ "tasks (T1.2, GOAL/T1.2)", NULL, NULL, name_nodes },
	{ "goals (goal_...)", NULL, NULL, name_goals },
	{ "runs (R_...)", NULL, NULL, name_runs },
	{ "assignments (A_...)", NULL, NULL, name_assignments },
	{ "dispatches (D_...)", NULL, NULL, NULL },
	{ "notices (N_...)", "N_", find_notice, name_notices },
	{ "inbox entries (#1)", "#", find_entry, name_entries },
	{ "workers (pool-1)", NULL, find_worker, name_workers },
	{ "agents", NULL, find_agent, name_agents },
	{ "daemon", NULL, NULL, name_daemon },
};

int explain_unknown(struct op_ctx *cx, str id, int r, struct ov_err *err)
{
	struct names names = { .a = cx->arena };
	str what = STR(""), said = arena_str(cx->arena, str_from(err ? err->msg : ""));
	const char *near;

	if (r != OV_ENOTFOUND)
		return r;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (kinds[i].names)
			kinds[i].names(&names, cx);
		what = arena_printf(cx->arena, STR_FMT "%s%s", STR_ARG(what), i ? ", " : "",
				kinds[i].what);
	}
	near = str_nearest(id, names.list.p, names.list.n);
	vec_done(&names.list);
	ov_fail(err, OV_ENOTFOUND, STR_FMT "%s%s%s; explain knows: " STR_FMT, STR_ARG(said),
			near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "",
			STR_ARG(what));
	if (!near)
		return ov_next(err, "overseer status");
	return ov_next(err, "overseer explain %s%s%s", near[0] == '#' ? "'" : "", near,
			near[0] == '#' ? "'" : "");
}

int explain_by_kind(struct op_ctx *cx, const struct explain *x, str id, value **ret,
		struct ov_err *err)
{
	struct ov_err first = *err;
	int64_t number;

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const struct kind *k = &kinds[i];
		int r;

		if (!k->find || (k->prefix && !str_starts(id, str_from(k->prefix))))
			continue;
		r = k->find(cx, x, id, ret, err);
		/* A prefix settles what was meant. */
		if (r != OV_ENOTFOUND || k->prefix)
			return r;
	}
	if (str_to_i64(id, &number))
		return find_entry(cx, x, id, ret, err);
	*err = first;
	return OV_ENOTFOUND;
}
