/* [prices."MODEL"]: what a million tokens of a model cost, where its agent does not say it. */
#include "base/str.h"
#include "core/config/config_impl.h"
#include "core/model/limits.h"

enum { MAX_PRICES = 1000 };
#define DOLLARS ((int64_t)1000 * 1000)
#define AT(member) .offset = offsetof(struct price, member)

static const struct option options[] = {
	{ "input_usd_per_mtok", OPT_USD, 0, DOLLARS *DOLLARS, NULL,
			"What a million tokens of input cost that were not cached, in dollars.",
			AT(input) },
	{ "output_usd_per_mtok", OPT_USD, 0, DOLLARS *DOLLARS, NULL,
			"What a million tokens of output cost.", AT(output) },
	{ "cache_read_usd_per_mtok", OPT_USD, 0, DOLLARS *DOLLARS, NULL,
			"What a million tokens of input cost that were read from the cache; where "
			"it is left out, the cost of a run that used some is unknown.",
			AT(cache_read), .optional = true },
	{ "cache_write_usd_per_mtok", OPT_USD, 0, DOLLARS *DOLLARS, NULL,
			"What a million tokens of input cost that were written to the cache; the "
			"same.",
			AT(cache_write), .optional = true },
};

struct options config_price_options(void)
{
	return (struct options){ options, ARRAY_LEN(options) };
}

/* A star stands for the rest of a name, so only at its end. */
static bool model_valid(str s)
{
	return s.n > 0 && s.n <= LIMIT_NAME && str_find_byte(s, '*') >= s.n - 1 &&
			str_find_byte(s, '\0') == s.n;
}

static void read_price(struct config_reader *r, const struct member *m, struct price *price)
{
	struct arena *a = &r->c->arena;
	str path = arena_printf(a, "prices.\"" STR_FMT "\"", STR_ARG(m->key));

	*price = (struct price){ m->key, PRICE_UNKNOWN, PRICE_UNKNOWN, PRICE_UNKNOWN,
		PRICE_UNKNOWN };
	if (!model_valid(m->key))
		config_problem(r, path,
				"a model's name has 1 to %d bytes, with \"*\" only at its end",
				LIMIT_NAME);
	if (!config_want(r, path, m->value, V_OBJECT))
		return;
	config_read_section(r, path, m->value, config_price_options(), price);
}

void config_read_prices(struct config_reader *r, const value *v)
{
	struct price *prices;

	if (!v || !config_want(r, STR("prices"), v, V_OBJECT))
		return;
	if (v->object.n > MAX_PRICES) {
		config_problem(r, STR("prices"), "%zu models, at most %d are allowed", v->object.n,
				MAX_PRICES);
		return;
	}
	prices = arena_array(&r->c->arena, struct price, v->object.n + 1);
	for (size_t i = 0; i < v->object.n; i++)
		read_price(r, &v->object.members[i], &prices[i]);
	r->c->prices = (struct prices){ prices, v->object.n };
}
