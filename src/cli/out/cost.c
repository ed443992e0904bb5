#include "cli/out/cost.h"

#include "base/arena.h"

/* "950", "12.3k", "4.1M" */
str tokens_text(struct arena *a, int64_t n)
{
	static const char units[] = " kMGT";
	int64_t tenths = n * 10;
	size_t unit = 0;

	if (n < 1000 || n > INT64_MAX / 10)
		return arena_printf(a, "%lld", (long long)n);
	for (; tenths >= 10 * 1000 && unit + 2 < sizeof(units); unit++)
		tenths /= 1000;
	return arena_printf(a, "%lld.%lld%c", (long long)tenths / 10, (long long)tenths % 10,
			units[unit]);
}

/* "$3.12"; what is less than a cent is not nothing. */
str cost_text(struct arena *a, int64_t microusd)
{
	if (microusd > 0 && microusd < 10000)
		return arena_printf(a, "$%lld.%06lld", (long long)microusd / 1000000,
				(long long)microusd % 1000000);
	return arena_printf(a, "$%lld.%02lld", (long long)microusd / 1000000,
			(long long)microusd % 1000000 / 10000);
}

bool tokens_partly(const value *x)
{
	/* A run under way that tells nothing yet is as unknown as one that never did. */
	return value_int_at(x, "untold_runs") > 0 ||
			(value_int_at(x, "live_runs") > 0 &&
					value_int_at(value_at(x, "live"), "tokens") == 0);
}

bool cost_partly(const value *x)
{
	return tokens_partly(x) || value_int_at(x, "unpriced_runs") > 0 ||
			(value_int_at(x, "live_runs") > 0 &&
					value_int_at(value_at(x, "live"), "cost_microusd") == 0);
}
