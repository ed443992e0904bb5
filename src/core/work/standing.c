#include "core/work/standing.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/decide/emit.h"
#include "core/model/limits.h"
#include "core/text/redact.h"

#define TASKS "tasks" /* the phase that they are in: plans have tasks in phases */

static const struct standing_kind {
	const char *kind, *title;
} kinds[] = {
	{ STANDING_AUTO, "Tasks of the pool" },
	{ STANDING_MANUAL, "Tasks given to workers" },
};

static const struct standing_kind *find_kind(const char *kind)
{
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		if (str_is(str_from(kinds[i].kind), kind))
			return &kinds[i];
	assert(false);
	return NULL;
}

static struct ev_node_added *add_node(struct decide_ctx *cx, str goal, str node,
		enum node_tier tier, value *definition, str reason)
{
	struct ev_node_added *e = emit_node_added(cx,
			(struct subject){ .goal = goal, .node = node });

	e->tier = str_from(status_name(&node_tiers, (int)tier));
	e->definition = definition;
	e->reason = reason;
	return e;
}

/* What a person allowed the goal before it holds for the one that follows it. */
static void inherit_budget(struct decide_ctx *cx, struct ev_goal_created *e, const char *kind)
{
	value *v = value_object(cx->arena);

	for (size_t i = cx->state->goals.n; i-- > 0;) {
		const struct goal *g = cx->state->goals.p[i];

		if (!str_is(g->standing, kind) || !g->automatic)
			continue;
		for (int r = 0; r < RESOURCE_COUNT; r++)
			if (g->budget[r])
				value_put(cx->arena, v, status_name(&resources, r),
						value_int(cx->arena, g->budget[r]));
		break;
	}
	if (value_count(v))
		e->budget = v;
}

static str begin_goal(struct decide_ctx *cx, const char *kind, str reason)
{
	const struct standing_kind *k = find_kind(kind);
	str id = make_id(cx, "goal_");
	struct ev_goal_created *e = emit_goal_created(cx, (struct subject){ .goal = id });
	value *phase = value_object(cx->arena);

	e->title = str_from(k->title);
	e->priority = PRIORITY_NORMAL;
	e->standing = str_from(kind);
	inherit_budget(cx, e, kind);
	value_put(cx->arena, phase, "name", value_cstr(cx->arena, "Tasks"));
	add_node(cx, id, STR(TASKS), TIER_PHASE, phase, reason);
	return id;
}

/* The text as it is; its first line that says something is its name. */
static value *definition(struct decide_ctx *cx, const struct standing_task *task)
{
	str text = task->text;
	value *v = value_object(cx->arena);
	str rest = str_trim(text), name = STR("");

	while (!name.n && str_split(&rest, '\n', &name))
		name = str_trim(name);
	/* Half of a secret is not recognised any more: they go before it is cut. */
	name = utf8_truncate(redact(cx->arena, name), LIMIT_TITLE);
	value_put(cx->arena, v, "name", value_str(cx->arena, arena_str(cx->arena, name)));
	value_put(cx->arena, v, "objective",
			value_str(cx->arena, arena_str(cx->arena, str_trim(text))));
	if (task->agent.n)
		value_put(cx->arena, v, "suggestedAgent",
				value_str(cx->arena, arena_str(cx->arena, task->agent)));
	return v;
}

str standing_add(struct decide_ctx *cx, const char *kind, const struct standing_task *task)
{
	const struct goal *g = state_standing(cx->state, kind);
	/* The phase is one of its nodes, so the first task is the first. */
	str node = arena_printf(cx->arena, "t%zu", g ? g->nodes.n : 1);
	str goal = g ? g->id : begin_goal(cx, kind, task->reason);
	struct ev_node_added *e;

	assert(utf8_valid(task->text) && task->text.n <= LIMIT_TEXT);
	e = add_node(cx, goal, node, TIER_TASK, definition(cx, task), task->reason);
	e->parent = STR(TASKS);
	e->worker = task->worker;
	e->claim = task->claim;
	return arena_printf(cx->arena, STR_FMT "/" STR_FMT, STR_ARG(goal), STR_ARG(node));
}
