/*
 * Random numbers for tests: seeded by the test, so that every run sees the same cases and a
 * failure repeats.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = (r->state += 0x9e3779b97f4a7c15u);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Below n, which must not be 0. */
static inline size_t rng_below(struct rng *r, size_t n)
{
	return (size_t)(rng_next(r) % n);
}

/* Below n, and at most `most`: MIN() would draw twice. */
static inline size_t rng_up_to(struct rng *r, size_t n, size_t most)
{
	size_t x = rng_below(r, n);

	return x < most ? x : most;
}
