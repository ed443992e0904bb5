#pragma once
/*
 * What tokens cost, from the [prices] of the configuration, for agents that do not say it
 * themselves. Pure integers: millionths of a dollar per million tokens. What no price is known for
 * has no cost that could be told; nothing is guessed.
 */
#include "agent/fact/fact.h"
#include "base/ov.h"

enum { PRICE_UNKNOWN = -1 };

struct price {
	str model; /* with a "*" at its end: every model whose name begins so */
	int64_t input, output, cache_read, cache_write; /* or PRICE_UNKNOWN */
};

struct prices {
	const struct price *p;
	size_t n;
};

/* The price of the model: its own, else that of the longest beginning; NULL: none is set. */
const struct price *price_find(const struct prices *prices, str model);
/*
 * In millionths of a dollar, rounded to the nearest; COST_UNKNOWN when the model, or a kind of
 * token that was used, has no price.
 */
int64_t price_of(const struct prices *prices, str model, const struct usage *u);
