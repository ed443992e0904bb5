#include "core/plan.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "core/limits.h"
#include "core/oversight.h"
#include "core/redact.h"
#include "core/scope.h"

/* What a member of a plan document must be. */
enum want {
	WANT_ID,
	WANT_NAME,
	WANT_TEXT,
	WANT_TEXTS,
	WANT_TOOLS,
	WANT_PATHS,
	WANT_RISK,
	WANT_PRIORITY,
	WANT_OBJECT,
	WANT_OVERSIGHT,
	WANT_NODES
};

struct key_rule {
	const char *name;
	enum want want;
	unsigned tiers;    /* bit per enum node_tier: where it may stand */
	unsigned required; /* where it must stand */
};

#define P (1u << TIER_PHASE)
#define T (1u << TIER_TASK)
#define S (1u << TIER_SUBTASK)

static const struct key_rule key_rules[] = {
	{ "id", WANT_ID, P | T | S, P | T | S },
	{ "name", WANT_NAME, P | T | S, P | T | S },
	{ "objective", WANT_TEXT, P | T | S, 0 },
	{ "outcome", WANT_TEXT, P | T | S, 0 },
	{ "acceptance", WANT_TEXTS, P | T | S, T | S },
	{ "deps", WANT_TEXTS, P | T | S, 0 },
	{ "definitionOfDone", WANT_TEXT, P | T | S, 0 },
	{ "scopePaths", WANT_PATHS, T | S, 0 },
	{ "effort", WANT_TEXT, T | S, 0 },
	{ "risk", WANT_RISK, T | S, 0 },
	{ "requiredTools", WANT_TEXTS, T | S, 0 },
	{ "toolsAllow", WANT_TOOLS, P | T | S, 0 },
	{ "toolsDeny", WANT_TOOLS, P | T | S, 0 },
	{ "suggestedAgent", WANT_NAME, T | S, 0 },
	{ "role", WANT_NAME, T | S, 0 },
	{ "checkCommand", WANT_TEXT, T | S, 0 },
	{ "verification", WANT_OBJECT, T | S, 0 },
	{ "oversight", WANT_OVERSIGHT, T | S, 0 },
	{ "priority", WANT_PRIORITY, T | S, 0 },
	{ "tasks", WANT_NODES, P, P },
	{ "subtasks", WANT_NODES, T, 0 },
};

/* More than these help nobody, and finding the nearest name for each would take long. */
enum { MAX_PROBLEMS = 200 };

struct check {
	struct arena *a;
	const struct plan_limits *limits;
	struct plan_report *r;
	const struct map *known;
	struct map by_id; /* to the index of the first node with that id, plus 1 */
	const char **ids; /* of all nodes, for the nearest; made when first needed */
};

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

static void problem(struct check *c, str path, const char *fmt, ...) _printf_(3, 4);
static void problem(struct check *c, str path, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_problem(c->r, c->a, path, fmt, ap);
	va_end(ap);
}

static str sub_path(struct check *c, str path, const char *key)
{
	return path.n ? arena_printf(c->a, STR_FMT ".%s", STR_ARG(path), key) : str_from(key);
}

static str item_path(struct check *c, str path, size_t i)
{
	return arena_printf(c->a, STR_FMT "[%zu]", STR_ARG(path), i);
}

/* True when v has the kind; otherwise notes the problem. */
static bool want_kind(struct check *c, str path, const value *v, enum value_kind kind)
{
	if (v->kind == kind)
		return true;
	problem(c, path, "expected %s, found %s", value_kind_name(kind), value_kind_name(v->kind));
	return false;
}

static void check_text(struct check *c, str path, const value *v, size_t max, bool may_be_empty)
{
	if (!want_kind(c, path, v, V_STR))
		return;
	if (v->s.n > max)
		problem(c, path, "%zu bytes, at most %zu are allowed", v->s.n, max);
	if (!may_be_empty && str_trim(v->s).n == 0)
		problem(c, path, "must not be empty");
	if (str_find_byte(v->s, '\0') < v->s.n)
		problem(c, path, "must not contain NUL");
}

static void check_oversight(struct check *c, str path, const value *v)
{
	struct oversight o;
	struct ov_err err;

	oversight_preset(&o, PRESET_DEFAULT);
	if (oversight_merge(&o, v, &err) < 0)
		problem(c, path, "%s", err.msg);
}

static void check_texts(struct check *c, str path, const value *v)
{
	if (!want_kind(c, path, v, V_ARRAY))
		return;
	if (v->array.n > LIMIT_LIST)
		problem(c, path, "%zu entries, at most %d are allowed", v->array.n, LIMIT_LIST);
	for (size_t i = 0; i < MIN(v->array.n, (size_t)LIMIT_LIST); i++)
		check_text(c, item_path(c, path, i), v->array.items[i], LIMIT_NOTE, false);
}

/* Ids become parts of branch names and paths: letters, digits, dot, dash, underscore. */
static void check_id(struct check *c, str path, const value *v)
{
	if (!want_kind(c, path, v, V_STR))
		return;
	if (v->s.n == 0 || v->s.n > LIMIT_ID)
		problem(c, path, "an id has 1 to %d characters", LIMIT_ID);
	for (size_t i = 0; i < v->s.n; i++) {
		char ch = v->s.p[i];
		bool letter = (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') ||
				(ch >= '0' && ch <= '9');

		if (!letter && !(i > 0 && (ch == '-' || ch == '_' || ch == '.'))) {
			problem(c, path,
					"an id starts with a letter or digit and has only letters, "
					"digits, \".\", \"-\", \"_\"");
			return;
		}
	}
	if (str_contains(v->s, STR("..")) || str_ends(v->s, STR(".")) ||
			str_ends(v->s, STR(".lock")))
		problem(c, path, "an id must not contain \"..\" or end in \".\" or \".lock\"");
	/* An id is never redacted, so it must not be a secret. */
	if (redact_first_kind(v->s))
		problem(c, path, "looks like a secret (%s)", redact_first_kind(v->s)->name);
}

static void check_priority(struct check *c, str path, const value *v)
{
	if (want_kind(c, path, v, V_INT) && (v->i < 1 || v->i > 5))
		problem(c, path, "a priority is 1 (urgent) to 5 (background)");
}

/* Paths are meant beneath the workspace: they can name nothing outside of it. */
static void check_paths(struct check *c, str path, const value *v)
{
	check_texts(c, path, v);
	for (size_t i = 0; i < MIN(value_count(v), (size_t)LIMIT_LIST); i++) {
		str rest = value_str_or(value_item(v, i), STR("")), part;

		if (str_starts(rest, STR("/")))
			problem(c, item_path(c, path, i),
					"must be relative to the repository, not absolute");
		while (str_split(&rest, '/', &part))
			if (str_is(part, "..")) {
				problem(c, item_path(c, path, i), "must not contain \"..\"");
				break;
			}
	}
}

/* Absent, nothing is narrowed; present but empty, somebody meant something that this would not say. */
static void check_tools(struct check *c, str path, const value *v)
{
	struct ov_err err;

	if (scope_list_check(v, &err) < 0)
		problem(c, path, "%s", err.msg);
}

static void check_risk(struct check *c, str path, const value *v)
{
	static const char *const risks[] = { "low", "med", "high" };

	if (!want_kind(c, path, v, V_STR))
		return;
	for (size_t i = 0; i < ARRAY_LEN(risks); i++)
		if (str_is(v->s, risks[i]))
			return;
	problem(c, path, "a risk is low, med or high");
}

static void check_member(struct check *c, str path, const struct key_rule *rule, const value *v)
{
	switch (rule->want) {
	case WANT_ID: check_id(c, path, v); break;
	case WANT_NAME: check_text(c, path, v, LIMIT_NAME, false); break;
	case WANT_TEXT: check_text(c, path, v, LIMIT_TEXT, true); break;
	case WANT_TEXTS: check_texts(c, path, v); break;
	case WANT_TOOLS: check_tools(c, path, v); break;
	case WANT_PATHS: check_paths(c, path, v); break;
	case WANT_RISK: check_risk(c, path, v); break;
	case WANT_PRIORITY: check_priority(c, path, v); break;
	case WANT_OBJECT: want_kind(c, path, v, V_OBJECT); break;
	case WANT_OVERSIGHT: check_oversight(c, path, v); break;
	case WANT_NODES: want_kind(c, path, v, V_ARRAY); break;
	}
}

static const struct key_rule *rule_find(str name, unsigned tier)
{
	for (size_t i = 0; i < ARRAY_LEN(key_rules); i++)
		if ((key_rules[i].tiers & tier) && str_is(name, key_rules[i].name))
			return &key_rules[i];
	return NULL;
}

static void unknown_key(struct check *c, str path, str key, unsigned tier)
{
	const char *names[ARRAY_LEN(key_rules)], *near;
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(key_rules); i++)
		if (key_rules[i].tiers & tier)
			names[n++] = key_rules[i].name;
	near = str_nearest(key, names, n);
	if (near)
		problem(c, path, "unknown key \"" STR_FMT "\" (did you mean \"%s\"?)", STR_ARG(key),
				near);
	else
		problem(c, path, "unknown key \"" STR_FMT "\"", STR_ARG(key));
}

static void check_members(struct check *c, str path, enum node_tier tier, const value *doc)
{
	unsigned bit = 1u << tier;

	for (size_t i = 0; i < doc->object.n; i++) {
		const struct member *m = &doc->object.members[i];
		const struct key_rule *rule = rule_find(m->key, bit);

		if (rule)
			check_member(c, sub_path(c, path, rule->name), rule, m->value);
		else
			unknown_key(c, path, m->key, bit);
	}
	for (size_t i = 0; i < ARRAY_LEN(key_rules); i++) {
		const struct key_rule *rule = &key_rules[i];
		const value *v = value_at(doc, rule->name);

		if (!(rule->required & bit))
			continue;
		if (!v)
			problem(c, path, "\"%s\" is missing", rule->name);
		else if (rule->want == WANT_TEXTS && v->kind == V_ARRAY && v->array.n == 0)
			problem(c, sub_path(c, path, rule->name), "must not be empty");
	}
}

static void check_node(struct check *c, str path, enum node_tier tier, int parent,
		const value *doc);

static void check_nodes(struct check *c, str path, enum node_tier tier, int parent,
		const value *array, int64_t max)
{
	if (!array || array->kind != V_ARRAY)
		return;
	if (array->array.n > (size_t)max)
		problem(c, path, "%zu %ss, at most %lld are allowed", array->array.n,
				status_name(&node_tiers, tier), (long long)max);
	if (array->array.n == 0 && tier != TIER_SUBTASK)
		problem(c, path, "must not be empty");
	for (size_t i = 0; i < MIN(array->array.n, (size_t)max); i++)
		check_node(c, item_path(c, path, i), tier, parent, array->array.items[i]);
}

static void check_node(struct check *c, str path, enum node_tier tier, int parent, const value *doc)
{
	struct plan_node n = { .path = path, .tier = tier, .parent = parent, .doc = doc };
	int self = (int)c->r->nodes.n;
	const value *deps;

	if (!want_kind(c, path, doc, V_OBJECT))
		return;
	deps = value_at(doc, "deps");
	n.id = value_str_at(doc, "id");
	n.deps = deps && deps->kind == V_ARRAY ? deps : NULL;
	vec_push(&c->r->nodes, n);
	check_members(c, path, tier, doc);
	if (tier == TIER_PHASE) {
		c->r->phases++;
		check_nodes(c, sub_path(c, path, "tasks"), TIER_TASK, self, value_at(doc, "tasks"),
				c->limits->max_tasks);
	} else if (tier == TIER_TASK) {
		c->r->tasks++;
		check_nodes(c, sub_path(c, path, "subtasks"), TIER_SUBTASK, self,
				value_at(doc, "subtasks"), c->limits->max_subtasks);
	} else {
		c->r->subtasks++;
	}
}

/* The first node with that id, or -1. */
static int node_index(const struct check *c, str id)
{
	return (int)(intptr_t)map_get(&c->by_id, id) - 1;
}

static void check_ids(struct check *c)
{
	for (size_t i = 0; i < c->r->nodes.n; i++) {
		const struct plan_node *n = &c->r->nodes.p[i];
		int first = node_index(c, n->id);

		if (n->id.n && first < 0)
			map_put(&c->by_id, n->id, (void *)(intptr_t)(i + 1));
		else if (n->id.n)
			problem(c, sub_path(c, n->path, "id"),
					"\"" STR_FMT "\" is already the id of " STR_FMT,
					STR_ARG(n->id), STR_ARG(c->r->nodes.p[first].path));
	}
}

static void unknown_dep(struct check *c, str path, str id)
{
	const char *near;

	if (c->r->problems.n >= MAX_PROBLEMS)
		return;
	if (!c->ids) {
		c->ids = arena_array(c->a, const char *, c->r->nodes.n + 1);
		for (size_t i = 0; i < c->r->nodes.n; i++)
			c->ids[i] = arena_cstr(c->a, c->r->nodes.p[i].id);
	}
	near = str_nearest(id, c->ids, c->r->nodes.n);
	if (near)
		problem(c, path, "\"" STR_FMT "\" is not a node of this plan (nearest: \"%s\")",
				STR_ARG(id), near);
	else
		problem(c, path, "\"" STR_FMT "\" is not a node of this plan", STR_ARG(id));
	vec_last(&c->r->problems).elsewhere = true;
}

static void check_deps(struct check *c)
{
	for (size_t i = 0; i < c->r->nodes.n; i++) {
		const struct plan_node *n = &c->r->nodes.p[i];

		for (size_t k = 0; k < value_count(n->deps); k++) {
			const value *d = value_item(n->deps, k);

			if (d->kind == V_STR && node_index(c, d->s) < 0 &&
					!(c->known && map_get(c->known, d->s)))
				unknown_dep(c, item_path(c, sub_path(c, n->path, "deps"), k), d->s);
		}
	}
}

/*
 * Each node has two moments: it may start, and it is done. What must come before what:
 * done(n) after start(n); start(child) after start(parent); done(parent) after done(child);
 * start(n) after done(d) for every dependency d. A cycle among these can never be worked off.
 */
struct search {
	struct check *c;
	unsigned char *colour; /* 0 new, 1 on the path, 2 finished; per moment */
	int *path;
	size_t depth;
	bool found;
};

static void visit(struct search *s, int moment);

/* The chain of nodes from the first visit of `moment` to now, without repeating neighbours. */
static void report_cycle(struct search *s, int moment)
{
	_cleanup_(buf_done)
	struct buf text = BUF_INIT;
	int last = -1, first = moment / 2;
	size_t i = 0;

	while (s->path[i] != moment)
		i++;
	for (; i < s->depth; i++) {
		int node = s->path[i] / 2;

		if (node != last)
			buf_addf(&text, "%s" STR_FMT, text.n ? " -> " : "",
					STR_ARG(s->c->r->nodes.p[node].id));
		last = node;
	}
	if (last != first || !str_contains(buf_str(&text), STR("->")))
		buf_addf(&text, " -> " STR_FMT, STR_ARG(s->c->r->nodes.p[first].id));
	problem(s->c, arena_str(s->c->a, buf_str(&text)), "dependency cycle");
	s->found = true;
}

static void follow_edge(struct search *s, int moment)
{
	if (s->found)
		return;
	if (s->colour[moment] == 1)
		report_cycle(s, moment);
	else if (s->colour[moment] == 0)
		visit(s, moment);
}

static void visit(struct search *s, int moment)
{
	const struct plan_report *r = s->c->r;
	int n = moment / 2;
	bool done = moment % 2;

	s->colour[moment] = 1;
	s->path[s->depth++] = moment;
	if (done) {
		follow_edge(s, 2 * n);
		for (size_t i = 0; i < r->nodes.n; i++)
			if (r->nodes.p[i].parent == n)
				follow_edge(s, 2 * (int)i + 1);
	} else {
		if (r->nodes.p[n].parent >= 0)
			follow_edge(s, 2 * r->nodes.p[n].parent);
		for (size_t k = 0; k < value_count(r->nodes.p[n].deps); k++) {
			int d = node_index(s->c,
					value_str_or(value_item(r->nodes.p[n].deps, k), STR("")));

			if (d >= 0)
				follow_edge(s, 2 * d + 1);
		}
	}
	s->depth--;
	s->colour[moment] = 2;
}

static void check_cycles(struct check *c)
{
	size_t moments = 2 * c->r->nodes.n;
	struct search s = { .c = c };

	s.colour = arena_array(c->a, unsigned char, moments + 1);
	s.path = arena_array(c->a, int, moments + 1);
	for (size_t i = 0; i < moments; i++) {
		if (s.colour[i] == 0) {
			s.depth = 0;
			s.found = false;
			visit(&s, (int)i);
			/* What was left on the path belongs to the reported cycle. */
			for (size_t k = 0; s.found && k < moments; k++)
				s.colour[k] = s.colour[k] == 1 ? 2 : s.colour[k];
		}
	}
}

static void check_top(struct check *c, const value *doc)
{
	static const char *const keys[] = { "planVersion", "goal", "phases" };
	static const char *const goal_keys[] = { "title", "successCriteria", "constraints" };
	const value *version = value_at(doc, "planVersion"), *goal = value_at(doc, "goal");
	struct ov_err err = { 0 };

	if (value_only_keys(doc, STR(""), keys, ARRAY_LEN(keys), &err) < 0)
		problem(c, STR("(top)"), "%s", err.msg);
	if (version && (version->kind != V_INT || version->i < 1))
		problem(c, STR("planVersion"), "expected a whole number from 1 on");
	if (goal && want_kind(c, STR("goal"), goal, V_OBJECT)) {
		if (value_only_keys(goal, STR("goal"), goal_keys, ARRAY_LEN(goal_keys), &err) < 0)
			problem(c, STR("goal"), "%s", err.msg);
		if (value_at(goal, "title"))
			check_text(c, STR("goal.title"), value_at(goal, "title"), LIMIT_TITLE,
					false);
		for (size_t i = 1; i < ARRAY_LEN(goal_keys); i++)
			if (value_at(goal, goal_keys[i]))
				check_texts(c, sub_path(c, STR("goal"), goal_keys[i]),
						value_at(goal, goal_keys[i]));
	}
	if (!value_at(doc, "phases"))
		problem(c, STR("(top)"), "\"phases\" is missing");
	else if (want_kind(c, STR("phases"), value_at(doc, "phases"), V_ARRAY))
		check_nodes(c, STR("phases"), TIER_PHASE, -1, value_at(doc, "phases"),
				c->limits->max_phases);
}

void plan_check_with(struct arena *a, const value *doc, const struct plan_limits *limits,
		const struct map *known, struct plan_report *ret)
{
	struct check c = { .a = a, .limits = limits, .r = ret, .known = known };

	*ret = (struct plan_report){ 0 };
	if (!doc) {
		problem(&c, STR("(top)"), "there is no plan");
		return;
	}
	if (!want_kind(&c, STR("(top)"), doc, V_OBJECT))
		return;
	map_init(&c.by_id, 0);
	check_top(&c, doc);
	check_ids(&c);
	check_deps(&c);
	check_cycles(&c);
	map_done(&c.by_id);
}

void plan_check(struct arena *a, const value *doc, const struct plan_limits *limits,
		struct plan_report *ret)
{
	plan_check_with(a, doc, limits, NULL, ret);
}

void plan_report_done(struct plan_report *r)
{
	vec_done(&r->problems);
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
	ov_next(err, "overseer plan check FILE");
	return OV_EINVALID_PLAN;
}

value *plan_report_view(struct arena *a, const struct plan_report *r)
{
	value *v = value_object(a), *list = value_array(a);

	for (size_t i = 0; i < r->problems.n; i++) {
		value *p = value_object(a);

		value_put(a, p, "path", value_str(a, r->problems.p[i].path));
		value_put(a, p, "problem", value_str(a, r->problems.p[i].text));
		value_push(a, list, p);
	}
	value_put(a, v, "valid", value_bool(a, r->problems.n == 0));
	value_put(a, v, "phases", value_int(a, (int64_t)r->phases));
	value_put(a, v, "tasks", value_int(a, (int64_t)r->tasks));
	value_put(a, v, "subtasks", value_int(a, (int64_t)r->subtasks));
	value_put(a, v, "problems", list);
	return v;
}
