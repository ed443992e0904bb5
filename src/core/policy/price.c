#include "core/policy/price.h"

#include "base/str.h"

#define MILLION 1000000

/*
 * How much of the name the entry decides by: all of it counts more than any beginning; -1: it
 * does not.
 */
static int64_t match(const struct price *p, str model)
{
	str head;

	if (str_eq(p->model, model))
		return INT64_MAX;
	if (!str_ends(p->model, STR("*")))
		return -1;
	head = str_sub(p->model, 0, p->model.n - 1);
	return str_starts(model, head) ? (int64_t)head.n : -1;
}

const struct price *price_find(const struct prices *prices, str model)
{
	const struct price *best = NULL;
	int64_t most = -1;

	for (size_t i = 0; i < prices->n; i++) {
		int64_t n = match(&prices->p[i], model);

		if (n > most) {
			most = n;
			best = &prices->p[i];
		}
	}
	return best;
}

int64_t price_of(const struct prices *prices, str model, const struct usage *u)
{
	const struct price *p = price_find(prices, model);
	const int64_t tokens[] = { u->input, u->output, u->cache_read, u->cache_write };
	__int128 sum = MILLION / 2;

	if (!p)
		return COST_UNKNOWN;
	for (size_t i = 0; i < ARRAY_LEN(tokens); i++) {
		int64_t price = ((const int64_t[]){ p->input, p->output, p->cache_read,
				p->cache_write })[i];

		if (tokens[i] <= 0)
			continue;
		if (price < 0)
			return COST_UNKNOWN;
		sum += (__int128)tokens[i] * price; /* prices are below 2^40, so four fit */
	}
	sum /= MILLION;
	return sum > INT64_MAX ? INT64_MAX : (int64_t)sum;
}
