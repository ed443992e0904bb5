/* `config timeline`: what is done about a silent run, and after how long. */
#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "cli/call/command.h"

static str span(struct out *o, const value *v, const char *key)
{
	return duration_format_short(o->arena, value_int_at(v, key));
}

static const char *const usual_heads[] = { "ASKED AFTER", "WHILE", "MODEL", "SEEN", "USUAL" };

static bool timeline_head(struct out *o)
{
	for (size_t i = 0; i < ARRAY_LEN(usual_heads); i++)
		cell(o, S_DIM, str_from(usual_heads[i]));
	row_end(o);
	return true;
}

/* What was learned, as far as it decides; the rest is counted. */
static void show_usual(struct out *o, const value *list)
{
	long long few = 0;
	bool headed = false;

	for (size_t i = 0; i < value_count(list); i++) {
		const value *row = value_item(list, i);
		str tool = value_str_at(row, "tool"), model = value_str_at(row, "model");

		if (!value_at(row, "asked_after_ms")) {
			few++;
			continue;
		}
		if (!headed)
			headed = timeline_head(o);
		cell_right(o, S_PLAIN, span(o, row, "asked_after_ms"));
		cell(o, S_PLAIN, tool.n ? tool : value_str_at(row, "activity"));
		cell(o, S_DIM, model.n ? model : STR("-"));
		cell_f(o, S_DIM, "%lld in %lld runs", (long long)value_int_at(row, "samples"),
				(long long)value_int_at(row, "runs"));
		cell(o, S_PLAIN, value_str_at(row, "text"));
		row_end(o);
	}
	table_end(o, "  ");
	if (few)
		out_f(o, "  Of %lld more activities too little is known yet.\n", few);
}

static void show_agent(struct out *o, const value *agent)
{
	const value *list = value_at(agent, "timeline");

	out_styled(o, S_BOLD, value_str_at(agent, "agent"));
	out_f(o, "\n");
	for (size_t i = 0; i < value_count(list); i++) {
		const value *m = value_item(list, i);
		bool skipped = value_bool_at(m, "skipped");

		cell_right(o, S_PLAIN, skipped ? STR("-") : span(o, m, "after_ms"));
		cell_f(o, S_DIM, "run %lld", (long long)value_int_at(m, "run"));
		cell(o, skipped ? S_DIM : S_PLAIN, value_str_at(m, "text"));
		row_end(o);
	}
	table_end(o, "  ");
	show_usual(o, value_at(agent, "usual"));
}

static void show_rules(struct out *o, const value *res)
{
	bool set = value_bool_at(res, "idle_after_set");

	out_f(o,
			"Times since the last sign of life, if nothing more is heard; a step that "
			"ends a run\nstarts the next one at once, which is silent too.\n");
	out_f(o,
			"idle_after is " STR_FMT
			" (%s); wait before the same request again " STR_FMT
			",\nbetween steps " STR_FMT " to " STR_FMT ".\n",
			STR_ARG(span(o, res, "idle_after_ms")), set ? "set" : "default",
			STR_ARG(span(o, res, "min_resend_interval_ms")),
			STR_ARG(span(o, res, "backoff_base_ms")),
			STR_ARG(span(o, res, "backoff_max_ms")));
	if (value_int_at(res, "ask_after_ms"))
		out_f(o,
				"A run that waits for a person's permission opens an inbox entry "
				"after " STR_FMT ", and is\nkept (ask_after).\n",
				STR_ARG(span(o, res, "ask_after_ms")));
	else
		out_f(o,
				"A run that waits for a person's permission counts as silent "
				"(ask_after is 0s).\n");
	if (value_int_at(res, "mute_after_ms"))
		out_f(o,
				"A run that is busy but writes nothing and changes no file "
				"for " STR_FMT " opens an inbox\nentry (mute_after).\n",
				STR_ARG(span(o, res, "mute_after_ms")));
	out_f(o, "A run that takes longer than " STR_FMT " opens an inbox entry (max_run).\n",
			STR_ARG(span(o, res, "max_run_ms")));
}

void show_config_timeline(struct cli *c, const value *res)
{
	const value *agents;

	agents = value_at(res, "agents");
	for (size_t i = 0; i < value_count(agents); i++)
		show_agent(&c->out, value_item(agents, i));
	if (!value_count(agents))
		out_f(&c->out, "No agent is configured.  Next: overseer init\n");
	show_rules(&c->out, res);
}
