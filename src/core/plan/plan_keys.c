/*
 * The keys of a plan document: where each may stand, what it must be, and whether a model may
 * use it.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/model/limits.h"
#include "core/plan/plan_members.h"
#include "core/policy/oversight_policy.h"
#include "core/policy/scope.h"
#include "core/state/state.h"
#include "core/text/redact.h"
#include "data/value/json.h"

#define TOP PLAN_AT_TOP
#define GOAL PLAN_AT_GOAL
#define P (1u << TIER_PHASE)
#define T (1u << TIER_TASK)
#define S (1u << TIER_SUBTASK)
/* Who may say it. */
#define PEOPLE false
#define MODEL true

const struct plan_key plan_keys[] = {
	{ "planVersion", WANT_VERSION, TOP, 0, MODEL },
	{ "goal", WANT_OBJECT, TOP, 0, MODEL },
	{ "title", WANT_TITLE, GOAL, 0, MODEL },
	{ "successCriteria", WANT_TEXTS, GOAL, 0, MODEL },
	{ "constraints", WANT_TEXTS, GOAL, 0, MODEL },
	{ "phases", WANT_NODES, TOP, TOP, MODEL },
	{ "sequential", WANT_BOOL, TOP | P | T, 0, PEOPLE },
	{ "id", WANT_ID, P | T | S, P | T | S, MODEL },
	{ "name", WANT_NAME, P | T | S, P | T | S, MODEL },
	{ "objective", WANT_TEXT, P | T | S, 0, MODEL },
	{ "outcome", WANT_TEXT, P | T | S, 0, MODEL },
	{ "acceptance", WANT_TEXTS, P | T | S, T | S, MODEL },
	{ "deps", WANT_TEXTS, P | T | S, 0, MODEL },
	{ "definitionOfDone", WANT_TEXT, P | T | S, 0, MODEL },
	{ "scopePaths", WANT_PATHS, T | S, 0, MODEL },
	{ "effort", WANT_TEXT, T | S, 0, MODEL },
	{ "risk", WANT_RISK, T | S, 0, MODEL },
	{ "requiredTools", WANT_TEXTS, T | S, 0, MODEL },
	{ "toolsAllow", WANT_TOOLS, P | T | S, 0, PEOPLE },
	{ "toolsDeny", WANT_TOOLS, P | T | S, 0, PEOPLE },
	{ "suggestedAgent", WANT_NAME, T | S, 0, PEOPLE },
	{ "role", WANT_ROLE, T | S, 0, MODEL },
	{ "checkCommand", WANT_TEXT, T | S, 0, PEOPLE },
	{ "verification", WANT_CONTRACT, T | S, 0, PEOPLE },
	{ "oversight", WANT_OVERSIGHT, T | S, 0, PEOPLE },
	{ "priority", WANT_PRIORITY, T | S, 0, PEOPLE },
	{ "tasks", WANT_NODES, P, P, MODEL },
	{ "subtasks", WANT_NODES, T, 0, MODEL },
};
const size_t plan_keys_n = ARRAY_LEN(plan_keys);

str plan_path(struct plan_checking *c, str path, const char *key)
{
	return path.n ? arena_printf(c->a, STR_FMT ".%s", STR_ARG(path), key) : str_from(key);
}

str plan_path_item(struct plan_checking *c, str path, size_t i)
{
	return arena_printf(c->a, STR_FMT "[%zu]", STR_ARG(path), i);
}

bool plan_want_kind(struct plan_checking *c, str path, const value *v, enum value_kind kind)
{
	if (v->kind == kind)
		return true;
	plan_check_problem(c, path, "expected %s, found %s", value_kind_name(kind),
			value_kind_name(v->kind));
	return false;
}

static void check_text(struct plan_checking *c, str path, const value *v, size_t max,
		bool may_be_empty)
{
	if (!plan_want_kind(c, path, v, V_STR))
		return;
	if (v->s.n > max)
		plan_check_problem(c, path, "%zu bytes, at most %zu are allowed", v->s.n, max);
	if (!may_be_empty && str_trim(v->s).n == 0)
		plan_check_problem(c, path, "must not be empty");
	if (str_find_byte(v->s, '\0') < v->s.n)
		plan_check_problem(c, path, "must not contain NUL");
}

static void check_oversight(struct plan_checking *c, str path, const value *v)
{
	struct oversight o;
	struct ov_err err;

	oversight_preset(&o, PRESET_DEFAULT);
	if (oversight_merge(&o, v, &err) < 0)
		plan_check_problem(c, path, "%s", err.msg);
}

static void check_texts(struct plan_checking *c, str path, const value *v)
{
	if (!plan_want_kind(c, path, v, V_ARRAY))
		return;
	if (v->array.n > LIMIT_LIST)
		plan_check_problem(c, path, "%zu entries, at most %d are allowed", v->array.n,
				LIMIT_LIST);
	for (size_t i = 0; i < MIN(v->array.n, (size_t)LIMIT_LIST); i++)
		check_text(c, plan_path_item(c, path, i), v->array.items[i], LIMIT_NOTE, false);
}

/* Ids become parts of branch names and paths: letters, digits, dot, dash, underscore. */
static void check_id(struct plan_checking *c, str path, const value *v)
{
	if (!plan_want_kind(c, path, v, V_STR))
		return;
	if (v->s.n == 0 || v->s.n > LIMIT_ID)
		plan_check_problem(c, path, "an id has 1 to %d characters", LIMIT_ID);
	for (size_t i = 0; i < v->s.n; i++) {
		char ch = v->s.p[i];
		bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
				(ch >= '0' && ch <= '9');

		if (!letter && !(i > 0 && (ch == '-' || ch == '_' || ch == '.'))) {
			plan_check_problem(c, path,
					"an id starts with a letter or digit and has only letters, "
					"digits, \".\", \"-\", \"_\"");
			return;
		}
	}
	if (str_contains(v->s, STR("..")) || str_ends(v->s, STR(".")) ||
			str_ends(v->s, STR(".lock")))
		plan_check_problem(c, path,
				"an id must not contain \"..\" or end in \".\" or \".lock\"");
	/* An id is never redacted, so it must not be a secret. */
	if (redact_first_kind(v->s))
		plan_check_problem(c, path, "looks like a secret (%s)",
				redact_first_kind(v->s)->name);
}

static void check_priority(struct plan_checking *c, str path, const value *v)
{
	if (plan_want_kind(c, path, v, V_INT) && (v->i < 1 || v->i > 5))
		plan_check_problem(c, path, "a priority is 1 (urgent) to 5 (background)");
}

/* Paths are meant beneath the workspace: they can name nothing outside of it. */
static void check_paths(struct plan_checking *c, str path, const value *v)
{
	check_texts(c, path, v);
	for (size_t i = 0; i < MIN(value_count(v), (size_t)LIMIT_LIST); i++) {
		str rest = value_str_or(value_item(v, i), STR("")), part;

		if (str_starts(rest, STR("/")))
			plan_check_problem(c, plan_path_item(c, path, i),
					"must be relative to the repository, not absolute");
		while (str_split(&rest, '/', &part))
			if (str_is(part, "..")) {
				plan_check_problem(c, plan_path_item(c, path, i),
						"must not contain \"..\"");
				break;
			}
	}
}

/*
 * Absent, nothing is narrowed; present but empty, somebody meant something that this would not say.
 */
static void check_tools(struct plan_checking *c, str path, const value *v)
{
	struct ov_err err;

	if (scope_list_check(v, &err) < 0)
		plan_check_problem(c, path, "%s", err.msg);
}

static void check_risk(struct plan_checking *c, str path, const value *v)
{
	static const char *const risks[] = { "low", "med", "high" };

	if (!plan_want_kind(c, path, v, V_STR))
		return;
	for (size_t i = 0; i < ARRAY_LEN(risks); i++)
		if (str_is(v->s, risks[i]))
			return;
	plan_check_problem(c, path, "a risk is low, med or high");
}

/*
 * People may plan for roles that are configured later. A model has to choose among those there are.
 */
static void check_role(struct plan_checking *c, str path, const value *v)
{
	const value *roles = c->rules->roles;

	check_text(c, path, v, LIMIT_NAME, false);
	if (!c->rules->model || v->kind != V_STR)
		return;
	for (size_t i = 0; i < value_count(roles); i++)
		if (str_eq(v->s, value_str_or(value_item(roles, i), STR(""))))
			return;
	plan_check_problem(c, path, "\"" STR_FMT "\" is not a configured role (%s" STR_FMT ")",
			STR_ARG(v->s), value_count(roles) ? "one of " : "there are none",
			STR_ARG(value_count(roles) ? json_text(c->a, roles) : STR("")));
}

/* The goal's node with the id, or NULL. */
static const struct node *present_node(const struct plan_checking *c, str id)
{
	return c->rules->goal ? state_node(c->rules->state, c->rules->goal->id, id) : NULL;
}

/* Nothing would look at it. Nodes that have one from before may keep it, as it is. */
static void check_contract(struct plan_checking *c, str path, const value *doc, const value *v)
{
	str id = plan_id(doc);
	const struct node *n = present_node(c, id);
	size_t before = c->r->problems.n;
	value *has;

	if (n && n->def.verification.n &&
			json_parse(c->a, n->def.verification, NULL, &has, NULL) == 0 &&
			value_equal(has, v))
		return;
	plan_check_problem(c, path,
			"verification contracts are not supported yet; remove \"verification\" "
			"from " STR_FMT ", or give it a \"checkCommand\" instead",
			STR_ARG(id.n ? id : STR("it")));
	if (c->r->problems.n > before)
		vec_last(&c->r->problems).elsewhere = true;
}

static void check_member(struct plan_checking *c, str path, const struct plan_key *key,
		const value *doc, const value *v)
{
	switch (key->want) {
	case WANT_ID: check_id(c, path, v); break;
	case WANT_NAME: check_text(c, path, v, LIMIT_NAME, false); break;
	case WANT_TITLE: check_text(c, path, v, LIMIT_TITLE, false); break;
	case WANT_TEXT: check_text(c, path, v, LIMIT_TEXT, true); break;
	case WANT_TEXTS: check_texts(c, path, v); break;
	case WANT_TOOLS: check_tools(c, path, v); break;
	case WANT_PATHS: check_paths(c, path, v); break;
	case WANT_RISK: check_risk(c, path, v); break;
	case WANT_ROLE: check_role(c, path, v); break;
	case WANT_PRIORITY: check_priority(c, path, v); break;
	case WANT_VERSION:
		if (v->kind != V_INT || v->i < 1)
			plan_check_problem(c, path, "expected a whole number from 1 on");
		break;
	case WANT_BOOL: plan_want_kind(c, path, v, V_BOOL); break;
	case WANT_OBJECT: plan_want_kind(c, path, v, V_OBJECT); break;
	case WANT_CONTRACT: check_contract(c, path, doc, v); break;
	case WANT_OVERSIGHT: check_oversight(c, path, v); break;
	case WANT_NODES: plan_want_kind(c, path, v, V_ARRAY); break;
	}
}

static const struct plan_key *key_find(str name, unsigned where)
{
	for (size_t i = 0; i < plan_keys_n; i++)
		if ((plan_keys[i].where & where) && str_is(name, plan_keys[i].name))
			return &plan_keys[i];
	return NULL;
}

static void unknown_key(struct plan_checking *c, str path, str key, unsigned where)
{
	const char *names[ARRAY_LEN(plan_keys)], *near;
	size_t n = 0;

	for (size_t i = 0; i < plan_keys_n; i++)
		if ((plan_keys[i].where & where) && (plan_keys[i].model || !c->rules->model))
			names[n++] = plan_keys[i].name;
	near = str_nearest(key, names, n);
	if (near)
		plan_check_problem(c, path, "unknown key \"" STR_FMT "\" (did you mean \"%s\"?)",
				STR_ARG(key), near);
	else
		plan_check_problem(c, path, "unknown key \"" STR_FMT "\"", STR_ARG(key));
}

void plan_check_members(struct plan_checking *c, str path, unsigned where, const value *doc)
{
	str shown = path.n ? path : STR("(top)");

	for (size_t i = 0; i < doc->object.n; i++) {
		const struct member *m = &doc->object.members[i];
		const struct plan_key *key = key_find(m->key, where);

		if (!key)
			unknown_key(c, shown, m->key, where);
		else if (c->rules->model && !key->model)
			plan_check_problem(c, shown, "a planner may not set \"%s\"; leave it out",
					key->name);
		else
			check_member(c, plan_path(c, path, key->name), key, doc, m->value);
	}
	for (size_t i = 0; i < plan_keys_n; i++) {
		const struct plan_key *key = &plan_keys[i];
		const value *v = value_at(doc, key->name);

		if (!(key->required & where))
			continue;
		if (!v)
			plan_check_problem(c, shown, "\"%s\" is missing", key->name);
		else if (key->want == WANT_TEXTS && v->kind == V_ARRAY && v->array.n == 0)
			plan_check_problem(c, plan_path(c, path, key->name), "must not be empty");
	}
}
