/* `overseer auto`: switching auto mode of a daemon that runs on and off, and what it does. */
#include "base/arena.h"
#include "cli/call/command.h"
#include "cli/out/cost.h"
#include "cli/out/say.h"
#include "cli/work/worker.h"
#include "core/capacity/auto_mode.h"
#include "core/capacity/budget.h"
#include "data/value/value.h"

static void show_budget(struct out *o, const value *budget)
{
	const value *all = value_at(budget, "last_24h");

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
	say_field(o, budget, "Room at", "[{room_at:near}]");
}

static void show_tasks(struct out *o, const value *res)
{
	const value *pool = value_at(res, "pool");
	bool answered = value_str_at(pool, "answer").n > 0;

	say_field(o, value_at(res, "tasks"), "Tasks",
			"{running:n} running, {waiting:n} waiting, {done:n} done, {blocked:n} "
			"blocked");
	say_field(o, res, "Failed",
			"{failures_in_a_row:n} in a row (pauses at {max_failures_in_a_row:n})");
	say_field(o, pool, "Pool",
			"[{?answer}last answer: {answer}[{?trouble}: {trouble}]"
			"[{?ask_at}, asked again at {ask_at:clock}]]");
	if (value_int_at(pool, "same_task_in_a_row") >= SAME_TASKS_TOLD)
		say_field(o, pool, answered ? "" : "Pool",
				"the pool gave the same task {same_task_in_a_row:n} times in a "
				"row");
}

void show_auto_get(struct cli *c, const value *res)
{
	struct out *o = &c->out;

	if (value_bool_at(res, "interrupted"))
		auto_was_on(o, res);
	else
		say(o, res, "Auto mode is [{?on}on|off[{?stop_reason}: {stop_reason}]]\n");
	say_field(o, res, "Waits", "{waits}");
	show_tasks(o, res);
	show_budget(o, value_at(res, "budget"));
	table_end(o, "");
	say(o, res,
			"[{?paused.entry}Next  overseer inbox show {paused.entry:n}\n"
			"|[{!on}Next  overseer auto start\n]]");
}

void show_auto_start(struct cli *c, const value *res)
{
	show_auto_get(c, res);
}

void show_auto_stop(struct cli *c, const value *res)
{
	show_auto_get(c, res);
}
