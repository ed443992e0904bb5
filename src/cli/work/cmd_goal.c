#include "base/buf.h"
#include "base/str.h"
#include "cli/out/say.h"
#include "cli/out/unchecked.h"
#include "cli/work/goal.h"
#include "cli/work/oversight.h"
#include "cli/work/plan_file.h"
#include "cli/work/work.h"
#include "core/capacity/budget.h"
#include "core/op/params.h"
#include "data/value/json.h"

struct census {
	size_t phases, tasks, subtasks;
	struct buf ready; /* as many ids as can be shown */
};

enum { READY_SHOWN = 400 };

/* Counts the nodes and names the leaves that nothing is in the way of. */
static void count_nodes(const value *nodes, int depth, struct census *t)
{
	for (size_t i = 0; i < value_count(nodes) && depth < 8; i++) {
		const value *n = value_item(nodes, i);

		*(depth == 0 ? &t->phases : depth == 1 ? &t->tasks : &t->subtasks) += 1;
		/* Also what was begun meanwhile: nothing was in its way. */
		if (value_count(value_at(n, "children")) == 0 && !value_bool_at(n, "waits") &&
				t->ready.n < READY_SHOWN)
			buf_addf(&t->ready, "%s" STR_FMT, t->ready.n ? ", " : "",
					STR_ARG(value_str_at(n, "id")));
		count_nodes(value_at(n, "children"), depth + 1, t);
	}
}

static str plural(struct cli *c, size_t n, const char *noun)
{
	return arena_printf(c->arena, "%zu %s%s", n, noun, n == 1 ? "" : "s");
}

static void tell_plan(struct cli *c, str goal)
{
	struct census t = { .ready = BUF_INIT };
	struct ov_err err = { 0 };
	const value *plan;

	if (client_call(&c->client, OP_plan_show, OP_ASK(c->arena, plan_show, .goal = goal), &plan,
			    &err) != 0)
		return;
	count_nodes(value_at(plan, "phases"), 0, &t);
	out_f(&c->out, STR_FMT ", " STR_FMT ", " STR_FMT ". Ready now: " STR_FMT "\n",
			STR_ARG(plural(c, t.phases, "phase")), STR_ARG(plural(c, t.tasks, "task")),
			STR_ARG(plural(c, t.subtasks, "subtask")),
			STR_ARG(out_short(&c->out, t.ready.n ? buf_str(&t.ready) : STR("none"),
					200)));
	tell_unchecked(&c->out, plan);
	buf_done(&t.ready);
}

int cmd_goal_create(struct cli *c, struct ov_err *err)
{
	const value *res, *plan;
	bool done, planned;
	value *params;
	int r = cli_params(c, &params, err);

	if (r == 0 && cli_has(c, "plan")) {
		r = plan_load(c, cli_flag(c, "plan"), &plan, err);
		if (r == 0)
			value_put(c->arena, params, "plan", value_share(plan));
	}
	if (r != 0)
		return r;
	r = cli_ask(c, params, &res, &done, err);
	if (r != 0 || done)
		return r;
	say(&c->out, res, "{goal:id*bold} created.\n");
	plan_print_warnings(c, value_at(res, "warnings"));
	planned = cli_has(c, "plan") || value_int_at(res, "plan_version") > 0;
	if (value_bool_at(res, "planning")) {
		r = planner_await(c, value_str_at(res, "goal"), &planned, err);
		if (r != 0)
			return r;
	}
	if (planned)
		tell_plan(c, value_str_at(res, "goal"));
	say(&c->out, res,
			planned ? "Next  overseer plan show {goal:id}      overseer status "
				  "--watch\n"
				: "It has no plan yet.\nNext  overseer plan apply --goal {goal:id} "
				  "FILE\n");
	return 0;
}

str goal_status_word(const value *g)
{
	str status = value_str_at(g, "status"), health = value_str_at(g, "health");

	return str_is(status, "paused") && str_is(health, "aborted") ? health : status;
}

static const struct column goal_columns[] = {
	{ "{progress.done:n}/{progress.leaves:n}", .right = true },
	{ "{created_at:age}", .style = S_DIM, .right = true },
	{ .text = "{title:80}" },
};

void show_goal_list(struct cli *c, const value *res)
{
	struct ids ids = { .partial = cli_has(c, "status") || cli_has(c, "tag") };
	struct out *o = &c->out;
	const value *goals = value_at(res, "goals");

	ids.partial |= value_int_at(res, "archived") > 0;
	for (size_t i = 0; i < value_count(goals); i++)
		ids_add(&ids, value_str_at(value_item(goals, i), "id"));
	for (size_t i = 0; i < value_count(goals); i++) {
		const value *g = value_item(goals, i);
		str word = goal_status_word(g), health = value_str_at(g, "health");

		cell(o, S_BOLD, ids_short(&ids, value_str_at(g, "id")));
		cell(o, status_style(word), word);
		cell(o, status_style(health), str_eq(word, health) ? STR("-") : health);
		say_row(o, g, goal_columns);
	}
	table_end(o, "");
	ids_done(&ids);
	if (value_count(goals) == 0)
		out_f(o,
				"No goals%s.\nNext  overseer goal create --title \"...\" [--plan "
				"plan.json]\n",
				ids.partial ? " fit" : "");
	say(o, res,
			"[{?archived}and {archived:n} archived: overseer goal list --status "
			"archived\n]");
}

static void list_risks(struct out *o, const value *risks)
{
	for (size_t i = 0; i < value_count(risks); i++)
		say_field(o, value_item(risks, i), i ? "" : "Risks",
				"{risk}[{?impact}; impact: {impact}][{?mitigation}; against it: "
				"{mitigation}]");
}

static void show_usage(struct out *o, const value *usage)
{
	for (int i = 0; i < RESOURCE_COUNT; i++) {
		const value *one = value_at(usage, status_name(&resources, i)),
			    *limit = value_at(one, "limit");
		str used;

		if (!limit)
			continue;
		cell(o, S_DIM, i ? STR("") : STR("Used"));
		used = budget_text(o->arena, (enum resource)i, value_int_at(one, "used"),
				value_int_or(limit, -1));
		if (value_int_at(one, "live"))
			used = arena_printf(o->arena, STR_FMT " (" STR_FMT " of it by what runs)",
					STR_ARG(used),
					STR_ARG(budget_amount(o->arena, (enum resource)i,
							value_int_at(one, "live"))));
		cell(o, S_PLAIN, used);
		row_end(o);
	}
}

static void show_origin(struct out *o, const value *g)
{
	say_field(o, g, "Asked by", "{origin_session}");
	if (value_count(value_at(g, "origin_context")))
		out_field(o, "Reply to", json_text(o->arena, value_at(g, "origin_context")));
	say_field(o, g, "Repository", "{repo_context}");
	say_field(o, g, "Planned", "[{?planner}by {planner.model_ref} with {planner.template_id}]");
}

static void show_state(struct out *o, const value *g)
{
	const value *p = value_at(g, "progress");
	static const char *const priorities[] = { "", "urgent", "high", "normal", "low",
		"background" };
	int64_t priority = value_int_at(g, "priority");
	str word = goal_status_word(g), health = value_str_at(g, "health");

	cell(o, S_DIM, STR("Status"));
	cell_f(o, status_style(word), STR_FMT "%s" STR_FMT STR_FMT, STR_ARG(word),
			str_eq(word, health) ? "" : ", ",
			STR_ARG(str_eq(word, health) ? STR("") : health),
			STR_ARG(say_text(o, g, "[{?status_reason}: {status_reason}]")));
	row_end(o);
	cell(o, S_DIM, STR("Progress"));
	cell_f(o, S_PLAIN, STR_FMT "  " STR_FMT,
			STR_ARG(out_bar(o, value_int_at(p, "done"), value_int_at(p, "leaves"), 10)),
			STR_ARG(say_text(o, p,
					"{done:n} of {leaves:n} done, {blocked:n} blocked, "
					"{cancelled:n} cancelled")));
	row_end(o);
	cell(o, S_DIM, STR("Created"));
	cell_f(o, S_PLAIN, STR_FMT ", priority %s, " STR_FMT,
			STR_ARG(say_text(o, g, "{created_at:age} ago by {owner}")),
			priority > 0 && priority < (int64_t)ARRAY_LEN(priorities)
					? priorities[priority]
					: "?",
			STR_ARG(say_text(o, g, "plan version {plan_version:n}")));
	row_end(o);
}

static void show_oversight(struct out *o, const value *said)
{
	for (size_t i = 0; i < value_count(said); i++) {
		const struct member *m = &said->object.members[i];
		bool group = m->value->kind == V_OBJECT;

		for (size_t k = 0; k < (group ? m->value->object.n : 1); k++) {
			const struct member *x = group ? &m->value->object.members[k] : m;

			cell(o, S_DIM, i || k ? STR("") : STR("Oversight"));
			cell_f(o, S_PLAIN, STR_FMT "%s" STR_FMT " = " STR_FMT,
					STR_ARG(group ? m->key : STR("")), group ? "." : "",
					STR_ARG(x->key), STR_ARG(json_text(o->arena, x->value)));
			row_end(o);
		}
	}
}

static const struct shown_field goal_lists[] = {
	{ "Success", "success_criteria", true },
	{ "Keep", "constraints", true },
	{ "Not asked", "non_goals", true },
	{ "Assumed", "assumptions", true },
	{ "Stakeholders", "stakeholders", true },
};

/* The record of a goal, for people. */
static void goal_show_record(struct out *o, const value *g)
{
	show_state(o, g);
	show_usage(o, value_at(g, "usage"));
	say_fields(o, g, goal_lists);
	list_risks(o, value_at(g, "risks"));
	show_oversight(o, value_at(g, "oversight"));
	out_fields(o, "Tags", value_at(g, "tags"));
	show_origin(o, g);
	table_end(o, "");
	if (value_str_at(g, "problem_statement").n) {
		out_f(o, "\n");
		out_lines(o, "  ", value_str_at(g, "problem_statement"));
	}
}

void show_goal_show(struct cli *c, const value *g)
{
	const value *asks = value_at(g, "escalations");
	struct out *o = &c->out;

	say(o, g, "{id*bold}  {title}\n");
	goal_show_record(o, g);
	show_detections(o, value_at(g, "detections"), 5);
	for (size_t i = 0; i < value_count(asks); i++) {
		say(o, value_item(asks, i), "\nNeeds you (#{number:n}): ");
		out_lines(o, "", value_str_at(value_item(asks, i), "question"));
	}
	say(o, g,
			"Next  [{?escalations}overseer inbox      ]overseer plan show {id:id}      "
			"overseer explain {id:id}\n");
}

void show_goal_history(struct cli *c, const value *res)
{
	struct out *o = &c->out;

	say(o, res,
			"{goal.id*bold}  {goal.title}\n"
			"As it was at {at:clock}, after event {seq:n} ({seq_at:clock}).\n");
	goal_show_record(o, value_at(res, "goal"));
	out_f(o, "\n");
	plan_tree_rows(c, value_at(value_at(res, "plan"), "phases"), STR(""), 0);
	table_end(o, "");
}
