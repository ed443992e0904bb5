#include "core/plan/plan_make.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/model/limits.h"
#include "core/plan/plan_members.h"
#include "data/value/json.h"

#define IN_NODE(path) offsetof(struct node, path)

/* Everything that a document says about a node, but for its id, its place and its children. */
const struct plan_member plan_members[] = {
	{ "name", F_TEXT, IN_NODE(def.name) },
	{ "objective", F_TEXT, IN_NODE(def.objective) },
	{ "outcome", F_TEXT, IN_NODE(def.outcome) },
	{ "acceptance", F_LIST, IN_NODE(def.acceptance) },
	{ "deps", F_LIST, IN_NODE(def.deps) },
	{ "definitionOfDone", F_TEXT, IN_NODE(def.definition_of_done) },
	{ "scopePaths", F_LIST, IN_NODE(def.scope_paths) },
	{ "effort", F_TEXT, IN_NODE(def.effort) },
	{ "risk", F_TEXT, IN_NODE(def.risk) },
	{ "requiredTools", F_LIST, IN_NODE(def.required_tools) },
	{ "toolsAllow", F_LIST, IN_NODE(def.tools_allow) },
	{ "toolsDeny", F_LIST, IN_NODE(def.tools_deny) },
	{ "suggestedAgent", F_TEXT, IN_NODE(def.suggested_agent) },
	{ "role", F_TEXT, IN_NODE(def.role) },
	{ "checkCommand", F_TEXT, IN_NODE(def.check_command) },
	{ "verification", F_JSON, IN_NODE(def.verification) },
	{ "oversight", F_JSON, IN_NODE(watch.settings) },
	{ "priority", F_NUM, IN_NODE(def.priority) },
	{ "sequential", F_FLAG, IN_NODE(def.sequential) },
};
const size_t plan_members_n = ARRAY_LEN(plan_members);

str plan_id(const value *node)
{
	return value_str_at(node, "id");
}

bool plan_is_sequential(const value *doc)
{
	return value_bool_at(doc, "sequential");
}

const value *plan_goal(const value *doc)
{
	return value_at(doc, "goal");
}

const value *plan_children(const value *doc, int tier)
{
	static const char *const keys[] = { "phases", "tasks", "subtasks" };
	const value *list = tier < TIER_SUBTASK ? value_at(doc, keys[tier + 1]) : NULL;

	return list && list->kind == V_ARRAY ? list : NULL;
}

bool plan_member_empty(const value *v)
{
	return !v || v->kind == V_NULL || (v->kind == V_BOOL && !v->b) ||
			(v->kind == V_STR && v->s.n == 0) ||
			(v->kind == V_ARRAY && v->array.n == 0);
}

static value *member_value(struct arena *a, const struct plan_member *m, const struct node *n)
{
	const void *at = (const char *)n + m->offset;
	value *v = NULL;

	switch (m->type) {
	case F_TEXT: return value_str(a, *(const str *)at);
	case F_LIST: return strs_to_value(a, at);
	case F_FLAG: return value_bool(a, *(const bool *)at);
	case F_NUM: return *(const int64_t *)at ? value_int(a, *(const int64_t *)at) : NULL;
	case F_JSON: (void)json_parse(a, *(const str *)at, NULL, &v, NULL); return v;
	default: return NULL;
	}
}

value *plan_node_document(struct arena *a, const struct node *n)
{
	value *doc = value_object(a);

	value_put(a, doc, "id", value_str(a, n->id));
	for (size_t i = 0; i < plan_members_n; i++) {
		value *v = member_value(a, &plan_members[i], n);

		if (!plan_member_empty(v))
			value_put(a, doc, plan_members[i].key, v);
	}
	return doc;
}

static value *node_tree(struct arena *a, const struct node *n)
{
	static const char *const keys[] = { "tasks", "subtasks" };
	value *doc = plan_node_document(a, n), *list = value_array(a);

	for (size_t i = 0; i < n->children.n; i++)
		value_push(a, list, node_tree(a, n->children.p[i]));
	if (n->children.n && n->def.tier < TIER_SUBTASK)
		value_put(a, doc, keys[n->def.tier], list);
	return doc;
}

value *plan_document(struct arena *a, const struct goal *g)
{
	value *doc = value_object(a), *phases = value_array(a);

	for (size_t i = 0; i < g->nodes.n; i++)
		if (!g->nodes.p[i]->def.removed_in && !g->nodes.p[i]->parent)
			value_push(a, phases, node_tree(a, g->nodes.p[i]));
	if (g->plan_version)
		value_put(a, doc, "planVersion", value_int(a, g->plan_version));
	if (g->sequential)
		value_put(a, doc, "sequential", value_bool(a, true));
	value_put(a, doc, "phases", phases);
	return doc;
}

/* What the goal asks to see; without criteria of its own, that what it asks for is there. */
static value *fallback_acceptance(struct arena *a, const struct goal *g)
{
	value *list = value_array(a);

	for (size_t i = 0; i < g->success_criteria.n; i++)
		if (str_trim(g->success_criteria.p[i]).n)
			value_push(a, list,
					value_str(a,
							utf8_truncate(g->success_criteria.p[i],
									LIMIT_NOTE)));
	if (value_count(list) == 0) {
		value_push(a, list,
				value_strf(a, "What the goal \"" STR_FMT "\" asks for is done.",
						STR_ARG(g->title)));
		value_push(a, list, value_cstr(a, "The repository's own checks pass."));
	}
	return list;
}

/*
 * Cut to what a plan takes: a text grows when what stands for a secret in it is longer than
 * that was.
 */
value *plan_fallback(struct arena *a, const struct goal *g)
{
	str name = utf8_truncate(g->title, LIMIT_NAME);
	value *doc = value_object(a), *phases = value_array(a), *phase = value_object(a),
	      *tasks = value_array(a), *task = value_object(a);

	value_put(a, task, "id", value_cstr(a, "T1.1"));
	value_put(a, task, "name", value_str(a, name));
	if (g->problem_statement.n)
		value_put(a, task, "objective",
				value_str(a, utf8_truncate(g->problem_statement, LIMIT_TEXT)));
	value_put(a, task, "acceptance", fallback_acceptance(a, g));
	value_push(a, tasks, task);
	value_put(a, phase, "id", value_cstr(a, "P1"));
	value_put(a, phase, "name", value_str(a, name));
	value_put(a, phase, "tasks", tasks);
	value_push(a, phases, phase);
	value_put(a, doc, "phases", phases);
	return doc;
}
