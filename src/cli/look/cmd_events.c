#include <unistd.h>

#include "base/str.h"
#include "cli/call/command.h"
#include "core/op/params.h"

static void event_row(struct cli *c, const value *e, const struct ids *goals)
{
	struct out *o = &c->out;
	str node = value_str_at(e, "node"), goal = value_str_at(e, "goal");

	cell_right(o, S_DIM, arena_printf(o->arena, "%lld", (long long)value_int_at(e, "seq")));
	cell(o, S_DIM, out_clock(o, value_str_at(e, "at")));
	cell(o, S_BOLD, node.n ? node : goal.n ? ids_short(goals, goal) : STR("-"));
	cell(o, S_PLAIN, out_prose(o, value_str_at(e, "text")));
	row_end(o);
}

/* The filters, with ids as events carry them: whole. */
struct filter {
	str goal, node, type;
};

static int resolve_filter(struct cli *c, struct filter *ret, struct ov_err *err)
{
	bool of_goal = cli_has(c, "goal");
	str goal = of_goal ? cli_flag(c, "goal") : STR("");
	const value *res;
	int r;

	*ret = (struct filter){ .type = cli_flag(c, "type") };
	if (cli_has(c, "node")) {
		r = client_ask(&c->client, OP_work_show,
				OP_ASK(c->arena, work_show, .has_goal = of_goal, .goal = goal,
						.has_node = true, .node = cli_flag(c, "node")),
				c->timeout_ms, &res, err);
		if (r == 0)
			*ret = (struct filter){ value_str_at(res, "goal"), value_str_at(res, "id"),
				ret->type };
		return r;
	}
	if (!of_goal)
		return 0;
	r = client_ask(&c->client, OP_goal_show,
			OP_ASK(c->arena, goal_show, .has_goal = true, .goal = goal), c->timeout_ms,
			&res, err);
	if (r == 0)
		ret->goal = value_str_at(res, "id");
	return r;
}

static bool events_wanted(const struct filter *f, const value *e)
{
	str type = value_str_at(e, "type");
	bool begins = str_ends(f->type, STR(".")) && str_starts(type, f->type);

	return (!f->goal.n || str_eq(f->goal, value_str_at(e, "goal"))) &&
			(!f->node.n || str_eq(f->node, value_str_at(e, "node"))) &&
			(!f->type.n || begins || str_eq(f->type, type));
}

static void print_event(struct cli *c, const value *e)
{
	if (c->json) {
		out_json(&c->out, e);
	} else {
		/* One by one: the widths of what is still to come are not known. */
		str node = value_str_at(e, "node");

		out_f(&c->out, "%6lld  ", (long long)value_int_at(e, "seq"));
		out_styled(&c->out, S_DIM, out_clock(&c->out, value_str_at(e, "at")));
		out_f(&c->out, "  %-10s  ",
				arena_cstr(c->out.arena,
						out_clean(&c->out, node.n ? node : STR("-"))));
		out_text(&c->out, out_prose(&c->out, value_str_at(e, "text")));
		out_f(&c->out, "\n");
	}
}

static int follow_loop(struct cli *c, const struct filter *f, int64_t after, struct ov_err *err)
{
	struct arena *whole = c->arena, a = ARENA_INIT;
	int r = 0;

	c->out.arena = &a;
	while (r >= 0) {
		const value *e;

		arena_reset(&a);
		r = client_next_event(&c->client, &a, -1, &e, err);
		if (r != CLIENT_EVENT)
			break;
		if (value_int_at(e, "seq") <= after || !events_wanted(f, e))
			continue;
		print_event(c, e);
		r = out_flush(&c->out, STDOUT_FILENO, err);
	}
	c->out.arena = whole;
	arena_done(&a);
	return r == CLIENT_SIGNAL ? client_signal_status(&c->client) : r;
}

/* Prints what the log holds, page by page up to its head; *ret_after is the last event read. */
static int print_stored(struct cli *c, int64_t *ret_after, struct ov_err *err)
{
	int64_t after = -1, head = 0;
	value *params;
	int r = cli_params(c, &params, err);

	while (r == 0 && after < head) {
		const value *res, *list;
		int64_t next;

		r = client_ask(&c->client, OP_events_list, params, c->timeout_ms, &res, err);
		if (r != 0)
			return r;
		list = value_at(res, "events");
		for (size_t i = 0; i < value_count(list); i++)
			print_event(c, value_item(list, i));
		r = out_flush(&c->out, STDOUT_FILENO, err);
		if (r < 0)
			return r;
		head = value_int_at(res, "head");
		next = value_at(res, "next_after") ? value_int_at(res, "next_after") : head;
		if (next <= after)
			break;
		after = next;
		value_put(c->arena, params, "after", value_int(c->arena, after));
	}
	*ret_after = after;
	return r;
}

/* The newest events, then what comes, without a gap between the two. */
static int follow(struct cli *c, struct ov_err *err)
{
	struct filter f = { 0 };
	const value *res;
	int64_t after = 0;
	int r = cli_store(c, err);

	if (r == 0)
		r = client_connect(&c->client, err);
	if (r == 0)
		r = client_follow_signals(&c->client, err);
	if (r == 0)
		r = resolve_filter(c, &f, err);
	if (r == 0)
		r = print_stored(c, &after, err);
	if (r == 0)
		r = client_ask(&c->client, OP_events_follow,
				OP_ASK(c->arena, events_follow, .has_after = true, .after = after),
				c->timeout_ms, &res, err);
	if (r != 0)
		return r == CLIENT_SIGNAL ? client_signal_status(&c->client) : r;
	return follow_loop(c, &f, after, err);
}

int cmd_events_list(struct cli *c, struct ov_err *err)
{
	struct ids goals = { 0 };
	const value *res, *list;
	value *params;
	bool done;
	int r;

	if (cli_has(c, "follow"))
		return follow(c, err);
	r = cli_params(c, &params, err);
	if (r == 0)
		r = cli_ask(c, params, &res, &done, err);
	if (r != 0 || done)
		return r;
	list = value_at(res, "events");
	for (size_t i = 0; i < value_count(list); i++)
		ids_add(&goals, value_str_at(value_item(list, i), "goal"));
	for (size_t i = 0; i < value_count(list); i++)
		event_row(c, value_item(list, i), &goals);
	table_end(&c->out, "");
	ids_done(&goals);
	if (value_count(list) == 0)
		out_f(&c->out, "No events.\n");
	else if (value_int_at(res, "next_after") < value_int_at(res, "head"))
		out_f(&c->out, "There is more.\nNext  overseer events --after %lld\n",
				(long long)value_int_at(res, "next_after"));
	return 0;
}
