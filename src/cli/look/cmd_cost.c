#include "base/duration.h"
#include "base/str.h"
#include "cli/call/command.h"
#include "cli/out/cost.h"

static str running_text(struct out *o, const value *x)
{
	const value *live = value_at(x, "live");
	str text;

	if (!live)
		return STR("");
	text = arena_printf(o->arena, "%lld running", (long long)value_int_at(x, "live_runs"));
	if (value_int_at(live, "cost_microusd"))
		text = arena_printf(o->arena, STR_FMT ", " STR_FMT " of it so far", STR_ARG(text),
				STR_ARG(cost_text(o->arena, value_int_at(live, "cost_microusd"))));
	else if (value_int_at(live, "tokens"))
		text = arena_printf(o->arena, STR_FMT ", " STR_FMT " tokens of it so far",
				STR_ARG(text),
				STR_ARG(tokens_text(o->arena, value_int_at(live, "tokens"))));
	return text;
}

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

	cell_right(o, style, arena_printf(o->arena, "%lld", (long long)value_int_at(x, "runs")));
	cell_right(o, style, duration_format_short(o->arena, value_int_at(x, "wall_ms")));
	cell_right(o, style, known(o, tokens, tokens_text(o->arena, tokens), untold));
	cell_right(o, style, known(o, cost, cost_text(o->arena, cost), unpriced));
	cell(o, S_CYAN, running_text(o, x));
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
		cell(o, S_PLAIN, out_short(o, value_str_at(x, "title"), 40));
		figures(o, S_PLAIN, x);
	}
	cell(o, S_BOLD, STR("total"));
	cell(o, S_PLAIN, STR(""));
	figures(o, S_BOLD, value_at(res, "total"));
	table_end(o, "");
}

static const char *runs_word(int64_t n)
{
	return n == 1 ? "run" : "runs";
}

/* What is not in the sum is said, and what to do about it. */
static void show_unknown(struct out *o, const value *res)
{
	const value *total = value_at(res, "total"), *models = value_at(res, "unpriced_models");
	int64_t unpriced = value_int_at(total, "unpriced_runs"),
		untold = value_int_at(total, "untold_runs");

	if (unpriced) {
		out_f(o, "%lld %s without a price: what they cost is not in it; set",
				(long long)unpriced, runs_word(unpriced));
		for (size_t i = 0; i < value_count(models); i++) {
			str model = value_str_or(value_item(models, i), STR(""));

			out_f(o, "%s [prices.\"" STR_FMT "\"]", i ? "," : "",
					STR_ARG(out_clean(o, model.n ? model : STR("MODEL"))));
		}
		out_f(o, " in config.toml\n");
	}
	if (untold)
		out_f(o,
				"%lld %s of agents that do not tell what they use, or tell what "
				"cannot be true\n",
				(long long)untold, runs_word(untold));
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
