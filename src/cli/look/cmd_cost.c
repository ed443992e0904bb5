#include "base/str.h"
#include "cli/call/command.h"
#include "cli/out/cost.h"
#include "cli/out/say.h"

#define RUNNING_TEXT                                                                                  \
	"[{?live}{live_runs:n} running[{?live.cost_microusd}, {live.cost_microusd:cost} of it so far" \
	"|[{?live.tokens}, {live.tokens:tokens} tokens of it so far]]]"

/* An amount: "?" where nobody knows, with "+" where it is of some runs only. */
static str known(struct out *o, int64_t amount, str text, bool partly)
{
	if (!partly)
		return text;
	return amount ? arena_printf(o->arena, STR_FMT "+", STR_ARG(text)) : STR("?");
}

static void figures(struct out *o, enum style style, const value *x)
{
	int64_t cost = value_int_at(x, "cost_microusd"), tokens = value_int_at(x, "tokens");
	bool untold = tokens_partly(x), unpriced = cost_partly(x);

	cell_right(o, style, say_text(o, x, "{runs:n}"));
	cell_right(o, style, say_text(o, x, "{wall_ms:took}"));
	cell_right(o, style, known(o, tokens, tokens_text(o->arena, tokens), untold));
	cell_right(o, style, known(o, cost, cost_text(o->arena, cost), unpriced));
	cell(o, S_CYAN, say_text(o, x, RUNNING_TEXT));
	row_end(o);
}

static void cost_head(struct out *o, const value *res)
{
	static const char *const columns[] = { "RUNS", "TIME", "TOKENS", "COST" };
	str by = value_str_at(res, "by");
	char upper[16] = "";

	for (size_t i = 0; i < by.n && i + 1 < sizeof(upper); i++)
		upper[i] = (char)(by.p[i] - 'a' + 'A');
	cell(o, S_DIM, str_from(upper));
	cell(o, S_DIM, STR(""));
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		cell_right(o, S_DIM, str_from(columns[i]));
	cell(o, S_DIM, STR(""));
	row_end(o);
}

/* The key as one would type it. */
static str key_text(struct out *o, const value *res, const value *x)
{
	str key = value_str_at(x, "key"), by = value_str_at(res, "by");

	if (!key.n)
		return str_is(by, "day") || str_is(by, "goal") ? STR("earlier") : STR("unknown");
	return str_is(by, "goal") || str_is(by, "node") ? out_prose(o, key) : key;
}

static void show_table(struct out *o, const value *res)
{
	const value *rows = value_at(res, "rows");

	cost_head(o, res);
	for (size_t i = 0; i < value_count(rows); i++) {
		const value *x = value_item(rows, i);

		cell(o, S_BOLD, key_text(o, res, x));
		cell(o, S_PLAIN, say_text(o, x, "{title:40}"));
		figures(o, S_PLAIN, x);
	}
	cell(o, S_BOLD, STR("total"));
	cell(o, S_PLAIN, STR(""));
	figures(o, S_BOLD, value_at(res, "total"));
	table_end(o, "");
}

/* What is not in the sum is said, and what to do about it. */
static void show_unknown(struct out *o, const value *res)
{
	const value *total = value_at(res, "total"), *models = value_at(res, "unpriced_models");

	if (value_int_at(total, "unpriced_runs")) {
		say(o, total, "{unpriced_runs:#run} without a price: what they cost is not in it; set");
		for (size_t i = 0; i < value_count(models); i++) {
			str model = value_str_or(value_item(models, i), STR(""));

			out_f(o, "%s [prices.\"" STR_FMT "\"]", i ? "," : "",
					STR_ARG(out_clean(o, model.n ? model : STR("MODEL"))));
		}
		out_f(o, " in config.toml\n");
	}
	say(o, total,
			"[{?untold_runs}{untold_runs:#run} of agents that do not tell what they use, or tell "
			"what cannot be true\n]");
}

void show_cost_get(struct cli *c, const value *res)
{
	if (value_count(value_at(res, "rows")) == 0) {
		out_f(&c->out, "Nothing was used%s.\n",
				cli_has(c, "since") ? " since then" : " yet");
		return;
	}
	show_table(&c->out, res);
	show_unknown(&c->out, res);
}
