/* `overseer auto`: switching auto mode of a daemon that runs on and off, and what it does. */
#include "base/arena.h"
#include "base/str.h"
#include "cli/call/command.h"
#include "cli/out/cost.h"
#include "cli/work/worker.h"
#include "core/capacity/auto_mode.h"
#include "core/capacity/budget.h"
#include "data/value/value.h"

static void show_budget(struct out *o, const value *budget)
{
	const value *all = value_at(budget, "last_24h");
	str room = value_str_at(budget, "room_at");

	for (int i = 0; i < RESOURCE_COUNT; i++) {
		const value *one = value_at(all, status_name(&resources, i)),
			    *limit = value_at(one, "limit");

		bool partly = (i == RES_TOKENS && tokens_partly(budget)) ||
				(i == RES_COST_MICROUSD && cost_partly(budget));

		out_field(o, i ? "" : "Last 24 h",
				(partly ? budget_least_text : budget_text)(o->arena,
						(enum resource)i, value_int_at(one, "used"),
						value_int_or(limit, -1)));
	}
	if (room.n)
		out_field(o, "Room at", out_near(o, room));
}

static void show_tasks(struct out *o, const value *res)
{
	const value *tasks = value_at(res, "tasks"), *pool = value_at(res, "pool");
	str ask_at = value_str_at(pool, "ask_at"), answer = value_str_at(pool, "answer"),
	    trouble = value_str_at(pool, "trouble");

	out_field(o, "Tasks",
			arena_printf(o->arena,
					"%lld running, %lld waiting, %lld done, %lld blocked",
					(long long)value_int_at(tasks, "running"),
					(long long)value_int_at(tasks, "waiting"),
					(long long)value_int_at(tasks, "done"),
					(long long)value_int_at(tasks, "blocked")));
	out_field(o, "Failed",
			arena_printf(o->arena, "%lld in a row (pauses at %lld)",
					(long long)value_int_at(res, "failures_in_a_row"),
					(long long)value_int_at(res, "max_failures_in_a_row")));
	if (answer.n)
		out_field(o, "Pool",
				arena_printf(o->arena,
						"last answer: " STR_FMT "%s" STR_FMT "%s" STR_FMT,
						STR_ARG(answer), trouble.n ? ": " : "",
						STR_ARG(trouble),
						ask_at.n ? ", asked again at " : "",
						STR_ARG(ask_at.n ? out_clock(o, ask_at)
								 : STR(""))));
	if (value_int_at(pool, "same_task_in_a_row") >= SAME_TASKS_TOLD)
		out_field(o, answer.n ? "" : "Pool",
				arena_printf(o->arena,
						"the pool gave the same task %lld times in a row",
						(long long)value_int_at(pool,
								"same_task_in_a_row")));
}

void show_auto_get(struct cli *c, const value *res)
{
	struct out *o = &c->out;
	str waits = value_str_at(res, "waits"), why = value_str_at(res, "stop_reason");

	if (value_bool_at(res, "interrupted"))
		auto_was_on(o, res);
	else
		out_f(o, "Auto mode is %s%s" STR_FMT "\n", value_bool_at(res, "on") ? "on" : "off",
				value_bool_at(res, "on") || !why.n ? "" : ": ",
				STR_ARG(value_bool_at(res, "on") ? STR("") : why));
	if (waits.n)
		out_field(o, "Waits", waits);
	show_tasks(o, res);
	show_budget(o, value_at(res, "budget"));
	table_end(o, "");
	if (value_at(res, "paused") && value_int_at(value_at(res, "paused"), "entry"))
		out_f(o, "Next  overseer inbox show %lld\n",
				(long long)value_int_at(value_at(res, "paused"), "entry"));
	else if (!value_bool_at(res, "on"))
		out_f(o, "Next  overseer auto start\n");
}

void show_auto_start(struct cli *c, const value *res)
{
	show_auto_get(c, res);
}

void show_auto_stop(struct cli *c, const value *res)
{
	show_auto_get(c, res);
}
