/* `config timeline`: what is done about a silent run, and after how long. */
#include "base/arena.h"
#include "base/str.h"
#include "cli/call/command.h"
#include "cli/out/say.h"

static const char *const usual_heads[] = { "ASKED AFTER", "WHILE", "MODEL", "SEEN", "USUAL" };

static bool timeline_head(struct out *o)
{
	for (size_t i = 0; i < ARRAY_LEN(usual_heads); i++)
		cell(o, S_DIM, str_from(usual_heads[i]));
	row_end(o);
	return true;
}

static const struct column usual_columns[] = {
	{ "{asked_after_ms:took}", .right = true },
	{ .text = "[{tool}|{activity}]" },
	{ "{model|-}", .style = S_DIM },
	{ "{samples:n} in {runs:n} runs", .style = S_DIM },
	{ .text = "{text}" },
};

/* What was learned, as far as it decides; the rest is counted. */
static void show_usual(struct out *o, const value *list)
{
	long long few = 0;
	bool headed = false;

	for (size_t i = 0; i < value_count(list); i++) {
		const value *row = value_item(list, i);

		if (!value_at(row, "asked_after_ms")) {
			few++;
			continue;
		}
		if (!headed)
			headed = timeline_head(o);
		say_row(o, row, usual_columns);
	}
	table_end(o, "  ");
	if (few)
		out_f(o, "  Of %lld more activities too little is known yet.\n", few);
}

static void step_cell(struct out *o, const value *m)
{
	cell(o, value_bool_at(m, "skipped") ? S_DIM : S_PLAIN, value_str_at(m, "text"));
}

static const struct column step_columns[] = {
	{ "[{?skipped}-|{after_ms:took}]", .right = true },
	{ "run {run:n}", .style = S_DIM },
	{ .own = step_cell },
};

static void show_agent(struct out *o, const value *agent)
{
	say(o, agent, "{agent*bold}\n");
	say_table(o, value_at(agent, "timeline"), step_columns, "  ");
	show_usual(o, value_at(agent, "usual"));
}

static void show_rules(struct out *o, const value *res)
{
	say(o, res,
			"Times since the last sign of life, if nothing more is heard; a step that ends a run\n"
			"starts the next one at once, which is silent too.\n");
	say(o, res,
			"idle_after is {idle_after_ms:took} ([{?idle_after_set}set|default]); wait before the "
			"same request again {min_resend_interval_ms:took},\n"
			"between steps {backoff_base_ms:took} to {backoff_max_ms:took}.\n");
	say(o, res,
			"A run that waits for a person's permission "
			"[{?ask_after_ms}opens an inbox entry after {ask_after_ms:took}, and is\nkept (ask_after)."
			"|counts as silent (ask_after is 0s).]\n");
	say(o, res,
			"[{?mute_after_ms}A run that is busy but writes nothing and changes no file for "
			"{mute_after_ms:took} opens an inbox\nentry (mute_after).\n]");
	say(o, res, "A run that takes longer than {max_run_ms:took} opens an inbox entry (max_run).\n");
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
