/* Waiting for a goal's plan, as somebody who just created the goal sees it. */
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "cli/call/command.h"
#include "cli/out/say.h"
#include "cli/work/work.h"
#include "core/op/params.h"
#include "sys/host/clock.h"

#include <unistd.h>

static int ask_goal(struct cli *c, str goal, const value **ret, struct ov_err *err)
{
	return client_ask(&c->client, OP_goal_show, OP_ASK(c->arena, goal_show, .goal = goal),
			c->timeout_ms, ret, err);
}

/* True when this event says that the planner is through with the goal. */
static bool is_over(const value *e, str goal)
{
	return str_eq(value_str_at(e, "goal"), goal) &&
			str_is(value_str_at(e, "type"), "effect.ended");
}

/* Until the planner is through; CLIENT_SIGNAL when the person does not want to wait. */
static int await(struct cli *c, str goal, struct ov_err *err)
{
	struct arena a = ARENA_INIT;
	const value *e;
	int r;

	do {
		arena_reset(&a);
		r = client_next_event(&c->client, &a, -1, &e, err);
	} while (r == CLIENT_EVENT && !is_over(e, goal));
	arena_done(&a);
	return r;
}

static void tell_begin(struct cli *c)
{
	const value *status;

	if (client_ask(&c->client, OP_status_get, value_object(c->arena), c->timeout_ms, &status,
			    NULL) != 0)
		return;
	say(&c->out, status, "Planning with {planner.model_ref} ...");
}

static void tell_end(struct cli *c, const value *g, int64_t ms)
{
	const value *made = value_at(g, "planner"), *asks = value_at(g, "escalations");
	size_t tries = value_count(value_at(made, "attempts"));

	out_f(&c->out, " " STR_FMT, STR_ARG(duration_format_short(c->arena, ms)));
	if (tries > 1)
		out_f(&c->out, ", %zu repair%s", tries - 1, tries == 2 ? "" : "s");
	say(&c->out, made, "[{?template_id} (template {template_id})]\n");
	for (size_t i = 0; i < value_count(asks); i++)
		out_lines(&c->out, "", value_str_at(value_item(asks, i), "question"));
}

int planner_await(struct cli *c, str goal, bool *ret_planned, struct ov_err *err)
{
	uint64_t since = clock_mono_us();
	const value *g, *ignored;
	int r;

	/* First follow, then look: nothing can happen in between unseen. */
	r = client_ask(&c->client, OP_events_follow, value_object(c->arena), c->timeout_ms,
			&ignored, err);
	if (r == 0)
		r = ask_goal(c, goal, &g, err);
	if (r == 0 && value_bool_at(g, "planning")) {
		tell_begin(c);
		r = out_flush(&c->out, STDOUT_FILENO, err);
		if (r == 0)
			r = client_catch_signals(&c->client, err);
		if (r == 0)
			r = await(c, goal, err);
		if (r == CLIENT_SIGNAL) {
			out_f(&c->out, "\nIt goes on without you.\n");
			return 130;
		}
		if (r == CLIENT_EVENT)
			r = ask_goal(c, goal, &g, err);
		if (r == 0)
			tell_end(c, g, (int64_t)((clock_mono_us() - since) / 1000));
	}
	if (r == 0)
		*ret_planned = value_int_at(g, "plan_version") > 0;
	return r;
}
