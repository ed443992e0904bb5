#include "tests/test.h"

#include "base/str.h"
#include "core/policy/price.h"

static const struct price table[] = {
	{ STR("gpt-*"), 1000000, 2000000, PRICE_UNKNOWN, PRICE_UNKNOWN },
	{ STR("gpt-5*"), 1250000, 10000000, 125000, PRICE_UNKNOWN },
	{ STR("gpt-5.1"), 3, 0, 0, 0 },
	{ STR("free"), 0, 0, 0, 0 },
	{ STR("dear"), (int64_t)1000000 * 1000000, 0, 0, 0 },
};
static const struct prices prices = { table, ARRAY_LEN(table) };

TEST(the_longest_name_decides)
{
	static const struct {
		const char *model;
		int at; /* -1: none */
	} cases[] = {
		{ "gpt-4", 0 },
		{ "gpt-", 0 },
		{ "gpt-5", 1 },
		{ "gpt-5.2-codex", 1 },
		{ "gpt-5.1", 2 }, /* all of it, though the other one is as long */
		{ "gpt-5.1-mini", 1 },
		{ "gpt", -1 },
		{ "freed", -1 },
		{ "", -1 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct price *p = price_find(&prices, str_from(cases[i].model));

		assert_ptr_equal(p, cases[i].at < 0 ? NULL : &table[cases[i].at]);
	}
}

TEST(a_star_alone_is_for_all)
{
	static const struct price all[] = { { STR("*"), 1000000, 0, 0, 0 },
		{ STR("a*"), 2000000, 0, 0, 0 } };
	const struct prices p = { all, 2 };
	const struct usage u = { .input = 5 };

	assert_int_equal(price_of(&p, STR("b"), &u), 5);
	assert_int_equal(price_of(&p, STR(""), &u), 5);
	assert_int_equal(price_of(&p, STR("abc"), &u), 10);
}

TEST(costs)
{
	static const struct {
		const char *model;
		struct usage u;
		int64_t cost;
	} cases[] = {
		{ "gpt-5", { 1000, 100, 2000, 0, false }, 1250 + 1000 + 250 },
		{ "gpt-5", { 0, 0, 0, 0, false }, 0 },
		{ "gpt-5", { 1, 0, 0, 1, false }, COST_UNKNOWN }, /* nobody said what that costs */
		{ "gpt-4", { 1, 1, 0, 0, false }, 3 },
		{ "gpt-4", { 1, 1, 1, 0, false }, COST_UNKNOWN },
		{ "who", { 1, 1, 0, 0, false }, COST_UNKNOWN },
		{ "who", { 0, 0, 0, 0, false }, COST_UNKNOWN },
		{ "free", { 1000000, 1000000, 1000000, 1000000, false }, 0 },
		{ "gpt-5.1", { 166666, 0, 0, 0, false }, 0 }, /* 0.499998 */
		{ "gpt-5.1", { 166667, 0, 0, 0, false }, 1 },
		{ "gpt-5.1", { -5, 0, 0, 0, false }, 0 },
		{ "dear", { INT64_MAX, 0, 0, 0, false }, INT64_MAX },
		{ "dear", { INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, false }, INT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(price_of(&prices, str_from(cases[i].model), &cases[i].u),
				cases[i].cost);
}

TEST(no_prices_at_all)
{
	const struct prices none = { 0 };

	assert_int_equal(price_of(&none, STR("gpt-5"), &(struct usage){ .input = 1 }),
			COST_UNKNOWN);
}

TEST_MAIN
