/*
 * Answers of a model, checked by purpose: a whole plan, the parts of one node, or what to do about
 * a stall. Nothing that a model wrote is run by a shell of ours, and what a person said about the
 * node (its agent, its priority, how it is watched, what it may touch) holds for the parts that a
 * model makes of it.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/oversight/iteration.h"
#include "core/plan/plan_members.h"
#include "core/prompt/planner.h"

struct check {
	struct arena *arena;
	const struct planner_task *task;
	value *problems;
};

static void problem(const struct check *k, const char *fmt, ...) _printf_(2, 3);

static void problem(const struct check *k, const char *fmt, ...)
{
	va_list ap;
	str text;

	va_start(ap, fmt);
	text = arena_vprintf(k->arena, fmt, ap);
	va_end(ap);
	value_push(k->arena, k->problems, value_str(k->arena, utf8_clean(k->arena, text)));
}

/* ---- create ---- */

/* Every problem of a plan document, with paths that begin after `prefix`. */
static void check_document(const struct check *k, const value *doc,
		const struct plan_limits *limits, str prefix)
{
	const struct plan_rules rules = { .limits = *limits,
		.model = true,
		.roles = k->task->roles };
	struct plan_report report;

	plan_check(k->arena, doc, &rules, &report);
	for (size_t i = 0; i < report.problems.n; i++) {
		str path = report.problems.p[i].path;

		if (str_starts(path, prefix))
			path = str_sub(path, prefix.n, SIZE_MAX);
		problem(k, STR_FMT "%s" STR_FMT, STR_ARG(path), path.n ? ": " : "",
				STR_ARG(report.problems.p[i].text));
	}
	plan_report_done(&report);
}

static const value *check_create(const struct check *k, const value *answer)
{
	check_document(k, answer, &k->task->limits, STR(""));
	return answer;
}

/* ---- split ---- */

/* Where a node is in a plan document: its task, and its place among the subtasks if it is one. */
struct place {
	const value *task, *node;
	size_t phase, at_task, at_subtask;
	bool subtask;
};

static bool place_of(const value *plan, str id, struct place *ret)
{
	const value *phases = value_at(plan, "phases");

	for (size_t i = 0; i < value_count(phases); i++) {
		const value *tasks = value_at(value_item(phases, i), "tasks");

		for (size_t j = 0; j < value_count(tasks); j++) {
			const value *task = value_item(tasks, j),
				    *subtasks = value_at(task, "subtasks");

			*ret = (struct place){ .task = task,
				.node = task,
				.phase = i,
				.at_task = j };
			if (str_eq(value_str_at(task, "id"), id))
				return true;
			for (size_t s = 0; s < value_count(subtasks); s++) {
				ret->node = value_item(subtasks, s);
				ret->at_subtask = s;
				ret->subtask = true;
				if (str_eq(value_str_at(ret->node, "id"), id))
					return true;
			}
		}
	}
	return false;
}

int64_t planner_split_room(const struct planner_task *t)
{
	struct place p;

	if (!place_of(t->plan, value_str_at(t->node, "id"), &p))
		return 0;
	/* A task that has subtasks is not itself worked on; a subtask makes way for its parts. */
	if (!p.subtask)
		return value_count(value_at(p.task, "subtasks")) ? 0 : t->limits.max_subtasks;
	return t->limits.max_subtasks - (int64_t)value_count(value_at(p.task, "subtasks")) + 1;
}

static bool holds(const value *list, str s)
{
	for (size_t i = 0; i < value_count(list); i++)
		if (str_eq(value_str_or(value_item(list, i), STR("")), s))
			return true;
	return false;
}

/* Ids that the goal never used, for as many parts: S1.2.4, S1.2.5 ... beneath T1.2. */
static value *fresh_ids(const struct check *k, const struct place *p, size_t n)
{
	struct arena *a = k->arena;
	str base = value_str_at(p->task, "id");
	value *ids = value_array(a);

	if (str_starts(base, STR("T")))
		base = arena_printf(a, "S" STR_FMT, STR_ARG(str_sub(base, 1, SIZE_MAX)));
	for (int i = 1; value_count(ids) < n; i++) {
		str id = arena_printf(a, STR_FMT ".%d", STR_ARG(base), i);

		if (!holds(k->task->used_ids, id))
			value_push(a, ids, value_str(a, id));
	}
	return ids;
}

static void add_new(struct arena *a, value *list, const value *text)
{
	if (!holds(list, value_str_or(text, STR(""))))
		value_push(a, list, value_copy(a, text));
}

/* The place in the answer of the part with this id of the answer. */
static size_t part_index(const value *parts, str id)
{
	size_t i = 0;

	while (!str_eq(value_str_at(value_item(parts, i), "id"), id))
		i++;
	return i;
}

/*
 * The part that ends with what was asked of the whole, after all the others: the last one for which
 * no other waits. There is one, since there are no cycles.
 */
static size_t final_part(const value *parts)
{
	for (size_t i = value_count(parts); i-- > 0;) {
		bool awaited = false;

		for (size_t k = 0; k < value_count(parts); k++)
			awaited |= holds(value_at(value_item(parts, k), "deps"),
					value_str_at(value_item(parts, i), "id"));
		if (!awaited)
			return i;
	}
	return 0;
}

/* What the node says takes the place of what the part says. */
static void inherit(struct arena *a, value *part, const value *node, const char *key)
{
	const value *v = value_at(node, key);

	if (!plan_member_empty(v))
		value_put(a, part, key, value_copy(a, v));
}

static int risk_rank(const value *node)
{
	static const char *const risks[] = { "low", "med", "high" };

	for (size_t i = 0; i < ARRAY_LEN(risks); i++)
		if (str_is(value_str_at(node, "risk"), risks[i]))
			return (int)i + 1;
	return 0;
}

/*
 * What a person took from a subtask while it was there stays taken from its parts. Such a list of
 * allowed tools is within the plan's own, so it stands for both.
 */
static void narrow_tools(struct arena *a, value *part, const value *narrowed)
{
	const value *deny = value_at(narrowed, "deny"), *own = value_at(part, "toolsDeny");
	value *all = value_array(a);

	if (value_count(value_at(narrowed, "allow")))
		value_put(a, part, "toolsAllow", value_copy(a, value_at(narrowed, "allow")));
	for (size_t i = 0; i < value_count(own); i++)
		add_new(a, all, value_item(own, i));
	for (size_t i = 0; i < value_count(deny); i++)
		add_new(a, all, value_item(deny, i));
	if (value_count(all))
		value_put(a, part, "toolsDeny", all);
}

/* One part as a subtask of the plan: its new id, its deps, and what it takes over from the node. */
static value *make_part(const struct check *k, const struct place *p, const value *parts,
		const value *ids, size_t i)
{
	/* A task's tools hold for its parts anyway; a subtask makes way for them. */
	static const char *const inherited[] = { "suggestedAgent", "role", "priority", "oversight",
		"toolsAllow", "toolsDeny" };
	struct arena *a = k->arena;
	value *part = value_copy(a, value_item(parts, i)), *deps = value_array(a);
	const value *own = value_at(value_item(parts, i), "deps"),
		    *old = p->subtask ? value_at(p->node, "deps") : NULL;
	bool last = i == final_part(parts);

	value_put(a, part, "id", value_copy(a, value_item(ids, i)));
	for (size_t d = 0; d < value_count(old); d++)
		add_new(a, deps, value_item(old, d));
	for (size_t d = 0; d < value_count(own); d++)
		add_new(a, deps, value_item(ids, part_index(parts, value_item(own, d)->s)));
	for (size_t d = 0; last && d < value_count(ids); d++)
		if (d != i)
			add_new(a, deps, value_item(ids, d));
	value_put(a, part, "deps", deps);
	for (size_t m = 0; m < ARRAY_LEN(inherited); m++)
		inherit(a, part, p->node, inherited[m]);
	if (p->subtask)
		narrow_tools(a, part, k->task->narrowed);
	if (last)
		inherit(a, part, p->node, "checkCommand");
	if (!value_count(value_at(part, "scopePaths")))
		inherit(a, part, p->node, "scopePaths");
	if (risk_rank(part) < risk_rank(p->node))
		inherit(a, part, p->node, "risk");
	return part;
}

/* Whoever waited for the node waits for all of its parts. */
static void redirect_deps(struct arena *a, value *node, str id, const value *ids)
{
	static const char *const children[] = { "phases", "tasks", "subtasks" };
	const value *deps = value_at(node, "deps");

	if (holds(deps, id)) {
		value *fresh = value_array(a);

		for (size_t i = 0; i < deps->array.n; i++)
			if (!str_eq(value_str_or(deps->array.items[i], STR("")), id))
				add_new(a, fresh, deps->array.items[i]);
		for (size_t i = 0; i < value_count(ids); i++)
			add_new(a, fresh, value_item(ids, i));
		value_put(a, node, "deps", fresh);
	}
	for (size_t c = 0; c < ARRAY_LEN(children); c++) {
		const value *list = value_at(node, children[c]);

		for (size_t i = 0; i < value_count(list); i++)
			redirect_deps(a, list->array.items[i], id, ids);
	}
}

static const value *split_plan(const struct check *k, const struct place *p, const value *parts)
{
	struct arena *a = k->arena;
	value *plan = value_copy(a, k->task->plan), *list = value_array(a), *task;
	const value *ids = fresh_ids(k, p, value_count(parts)), *old;

	if (p->subtask)
		redirect_deps(a, plan, value_str_at(p->node, "id"), ids);
	task = value_at(value_at(plan, "phases")->array.items[p->phase], "tasks")
			       ->array.items[p->at_task];
	/* The copies, in which the deps are redirected already. */
	old = value_at(task, "subtasks");
	for (size_t i = 0; i < value_count(old); i++)
		if (i != p->at_subtask)
			value_push(a, list, old->array.items[i]);
		else
			for (size_t n = 0; n < value_count(parts); n++)
				value_push(a, list, make_part(k, p, parts, ids, n));
	for (size_t n = 0; value_count(old) == 0 && n < value_count(parts); n++)
		value_push(a, list, make_part(k, p, parts, ids, n));
	value_put(a, task, "subtasks", list);
	return plan;
}

/* Parts may narrow where the node may write, never widen it. */
static void check_part_scopes(const struct check *k, const struct place *p, const value *parts)
{
	const value *own = value_at(p->node, "scopePaths");
	struct strs scope = { arena_array(k->arena, str, value_count(own) + 1), value_count(own) };

	for (size_t i = 0; i < scope.n; i++)
		scope.p[i] = value_str_or(value_item(own, i), STR(""));
	for (size_t i = 0; scope.n && i < value_count(parts); i++) {
		const value *paths = value_at(value_item(parts, i), "scopePaths");

		for (size_t n = 0; n < value_count(paths); n++) {
			str path = value_item(paths, n)->s;

			if (str_starts(path, STR("./")))
				path = str_sub(path, 2, SIZE_MAX);
			if (!path_in_scope(&scope, path))
				problem(k,
						"subtasks[%zu].scopePaths[%zu]: outside of the "
						"node's own scopePaths",
						i, n);
		}
	}
}

/* In a sequential task each part waits for the one before it. */
static void check_part_order(const struct check *k, const value *parts)
{
	for (size_t i = 0; i < value_count(parts); i++) {
		const value *deps = value_at(value_item(parts, i), "deps");

		for (size_t n = 0; n < value_count(deps); n++)
			if (part_index(parts, value_item(deps, n)->s) > i)
				problem(k,
						"subtasks[%zu].deps[%zu]: names a later subtask; "
						"they are done in the order in which they stand",
						i, n);
	}
}

static const value *check_split(const struct check *k, const value *answer)
{
	static const char *const known[] = { "subtasks" };
	struct plan_limits limits = { 1, 1, planner_split_room(k->task) };
	struct arena *a = k->arena;
	const value *parts;
	value *doc = value_object(a), *phases = value_array(a), *phase = value_object(a),
	      *tasks = value_array(a), *task = value_object(a), *acceptance = value_array(a);
	struct ov_err err = { 0 };
	struct place p;

	if (value_only_keys(answer, STR(""), known, 1, &err) < 0 ||
			value_need_array(answer, STR(""), "subtasks", &parts, &err) < 0) {
		problem(k, "%s", err.msg);
		return NULL;
	}
	if (value_count(parts) < 2)
		problem(k, "subtasks: at least 2 are needed");
	/* The parts in a plan of their own: all that is said about plans holds for them. */
	value_push(a, acceptance, value_cstr(a, "done"));
	value_put(a, task, "id", value_cstr(a, "T0.0"));
	value_put(a, task, "name", value_cstr(a, "split"));
	value_put(a, task, "acceptance", acceptance);
	value_put(a, task, "subtasks", value_copy(a, parts));
	value_push(a, tasks, task);
	value_put(a, phase, "id", value_cstr(a, "P0"));
	value_put(a, phase, "name", value_cstr(a, "split"));
	value_put(a, phase, "tasks", tasks);
	value_push(a, phases, phase);
	value_put(a, doc, "phases", phases);
	check_document(k, doc, &limits, STR("phases[0].tasks[0]."));
	for (size_t i = 0; i < value_count(parts); i++)
		if (holds(value_at(value_item(parts, i), "deps"), STR("T0.0")) ||
				holds(value_at(value_item(parts, i), "deps"), STR("P0")))
			problem(k, "subtasks[%zu].deps: not a node of this answer", i);
	if (value_count(k->problems) ||
			!place_of(k->task->plan, value_str_at(k->task->node, "id"), &p))
		return NULL;
	check_part_scopes(k, &p, parts);
	if (value_bool_at(p.task, "sequential"))
		check_part_order(k, parts);
	return value_count(k->problems) ? NULL : split_plan(k, &p, parts);
}

/* ---- diagnose ---- */

static const struct {
	const char *name;
	bool needs_message, asks; /* asks: has a question and options instead of a message */
} actions[] = { { "nudge", true, false }, { "resend", false, false }, { "replan", false, false },
	{ "reassign", false, false }, { "escalate", false, true } };

static void planner_check_text(const struct check *k, const value *v, size_t i, const char *key,
		bool needed, size_t max)
{
	if (!v && needed)
		problem(k, "actions[%zu]: \"%s\" is missing", i, key);
	else if (v && v->kind != V_STR)
		problem(k, "actions[%zu].%s: not a text", i, key);
	else if (v && str_trim(v->s).n == 0)
		problem(k, "actions[%zu].%s: is empty", i, key);
	else if (v && v->s.n > max)
		problem(k, "actions[%zu].%s: %zu bytes, at most %zu are allowed", i, key, v->s.n,
				max);
	else if (v && str_find_byte(v->s, '\0') < v->s.n)
		problem(k, "actions[%zu].%s: contains a NUL byte", i, key);
}

static void check_options(const struct check *k, const value *v, size_t i)
{
	if (!v)
		return;
	if (v->kind != V_ARRAY || v->array.n > PLANNER_MAX_OPTIONS) {
		problem(k, "actions[%zu].options: not an array of at most %d texts", i,
				PLANNER_MAX_OPTIONS);
		return;
	}
	for (size_t o = 0; o < v->array.n; o++)
		planner_check_text(k, v->array.items[o], i, "options", true, PLANNER_OPTION_BYTES);
}

static void check_action(const struct check *k, const value *v, size_t i)
{
	static const char *const says[] = { "type", "message" },
				 *const asks[] = { "type", "question", "options" };
	str path = arena_printf(k->arena, "actions[%zu]", i), type = value_str_at(v, "type");
	struct ov_err err = { 0 };
	size_t t = 0;

	if (v->kind != V_OBJECT) {
		problem(k, STR_FMT ": not an object", STR_ARG(path));
		return;
	}
	while (t < ARRAY_LEN(actions) && !str_is(type, actions[t].name))
		t++;
	if (t == ARRAY_LEN(actions) || !holds(k->task->allowed, type)) {
		problem(k, STR_FMT ".type: \"" STR_FMT "\" is not among the allowed types",
				STR_ARG(path), STR_ARG(utf8_truncate(type, 50)));
		return;
	}
	if (value_only_keys(v, path, actions[t].asks ? asks : says,
			    actions[t].asks ? ARRAY_LEN(asks) : ARRAY_LEN(says), &err) < 0)
		problem(k, "%s", err.msg);
	if (actions[t].asks) {
		planner_check_text(k, value_at(v, "question"), i, "question", true,
				PLANNER_MESSAGE_BYTES);
		check_options(k, value_at(v, "options"), i);
	} else {
		planner_check_text(k, value_at(v, "message"), i, "message",
				actions[t].needs_message, PLANNER_MESSAGE_BYTES);
	}
}

static const value *check_diagnose(const struct check *k, const value *answer)
{
	static const char *const known[] = { "actions" };
	struct ov_err err = { 0 };
	const value *list;

	if (value_only_keys(answer, STR(""), known, 1, &err) < 0 ||
			value_need_array(answer, STR(""), "actions", &list, &err) < 0) {
		problem(k, "%s", err.msg);
		return NULL;
	}
	if (list->array.n == 0 || list->array.n > PLANNER_MAX_ACTIONS)
		problem(k, "actions: %zu entries, 1 to %d are allowed", list->array.n,
				PLANNER_MAX_ACTIONS);
	for (size_t i = 0; i < list->array.n && i < PLANNER_MAX_ACTIONS; i++)
		check_action(k, list->array.items[i], i);
	return answer;
}

void planner_check(struct arena *a, const struct planner_task *t, const value *answer,
		value *problems, const value **ret)
{
	static const value *(*const checks[])(const struct check *, const value *) = {
		[PLANNER_CREATE] = check_create,
		[PLANNER_SPLIT] = check_split,
		[PLANNER_DIAGNOSE] = check_diagnose,
	};
	struct check k = { a, t, problems };
	const value *good;

	if (answer->kind != V_OBJECT) {
		problem(&k, "the answer is not an object but %s", value_kind_name(answer->kind));
		return;
	}
	good = checks[t->purpose](&k, answer);
	if (value_count(problems) == 0)
		*ret = good;
}
