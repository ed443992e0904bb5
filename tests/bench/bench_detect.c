/*
 * The detectors alone, in CPU time: calls per second on prepared histories of 10, 100 and 1,000
 * iterations, healthy and with something in them. A history's length must not matter, since only
 * its newest iterations are looked at. Each figure is the best of some rounds.
 * Prints one JSON line per figure; the exit status says whether every budget was kept.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "core/oversight/detect.h"
#include "tests/bench/figure.h"

enum { ROUNDS = 5, CALLS = 200000, FILES = 6 };

struct subject {
	struct arena arena;
	struct iteration *iterations;
	const struct sample **samples;
	struct history history;
};

/* Each touches some files, fails in its own way, and comes on; or all of them are alike. */
static void fill(struct subject *s, struct iteration *it, size_t i, bool bad)
{
	struct strs files = { arena_array(&s->arena, str, FILES), FILES };
	size_t kind = bad ? i % 2 : i;

	for (size_t k = 0; k < FILES; k++)
		files.p[k] = arena_printf(&s->arena, "src/file%zu.c", kind + k);
	*it = (struct iteration){ .number = (int64_t)i + 1,
		.signature = bad ? STR("the same") : arena_printf(&s->arena, "error %zu", i),
		.tree = arena_printf(&s->arena, "tree %zu", kind),
		.tool_digest = arena_printf(&s->arena, "tool %zu", kind),
		.files = files,
		.tests = bad && i % 2 ? TESTS_FAILING : TESTS_PASSING,
		.coverage_format = STR("lcov"),
		.coverage_centi = bad ? 5000 - (int64_t)(i % 2) * 1500 : 8000,
		.completion_source = COMPLETION_REPORTED,
		.completion_centi = bad ? 1000 : (int64_t)(i * 10000 / 1001),
		.has_similarity = true,
		.similarity_milli = bad ? 100 : 800,
		.inside = 4,
		.outside = bad ? 20 : 1 };
	sample_prepare(it);
}

static struct subject *subject_new(size_t n, bool bad)
{
	struct subject *s = mem_zalloc(1, sizeof(*s));

	s->iterations = mem_zalloc(n, sizeof(*s->iterations));
	s->samples = mem_zalloc(n, sizeof(*s->samples));
	for (size_t i = 0; i < n; i++) {
		fill(s, &s->iterations[i], i, bad);
		s->samples[i] = &s->iterations[i].sample;
	}
	s->history = (struct history){ .samples = s->samples,
		.n = n,
		.iterations = { (int64_t)n, bad ? 1 : (int64_t)n },
		.cost_microusd = { 100, 1000 },
		.wall_ms = { 100, 1000 },
		.completion_centi = 5000 };
	return s;
}

static void subject_free(struct subject *s)
{
	for (size_t i = 0; i < s->history.n; i++)
		mem_free((void *)s->iterations[i].sample.files);
	mem_free(s->iterations);
	mem_free(s->samples);
	arena_done(&s->arena);
	mem_free(s);
}

static double calls_per_second(size_t n, bool bad)
{
	struct subject *s = subject_new(n, bad);
	static struct found found[DETECTOR_COUNT];
	struct oversight o;
	double best = 0;

	oversight_preset(&o, PRESET_DEFAULT);
	for (int round = 0; round < ROUNDS; round++) {
		double from = cpu_seconds(), took;
		size_t made = 0;

		for (int i = 0; i < CALLS; i++)
			made += detect(&s->history, &o.t, found);
		took = cpu_seconds() - from;
		if (made != (bad ? (size_t)DETECTOR_COUNT * CALLS : 0)) {
			fprintf(stderr, "bench_detect: %zu things found\n", made);
			exit(2);
		}
		if (took > 0 && CALLS / took > best)
			best = CALLS / took;
	}
	subject_free(s);
	return best;
}

int main(void)
{
	static const size_t sizes[] = { 10, 100, 1000 };
	double rates[2][ARRAY_LEN(sizes)];
	int missed = 0;

	for (size_t bad = 0; bad < 2; bad++)
		for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
			char name[64];

			rates[bad][i] = calls_per_second(sizes[i], bad);
			snprintf(name, sizeof(name), "detect_%s_%zu_per_s",
					bad ? "loops" : "healthy", sizes[i]);
			missed += figure(name, rates[bad][i], "calls/s", FIGURE_AT_LEAST,
					bad ? 0 : 1000000);
		}
	missed += figure("detect_1000_over_10", rates[0][0] / rates[0][2], "ratio", FIGURE_AT_MOST,
			1.5);
	missed += figure("detect_loops_1000_over_10", rates[1][0] / rates[1][2], "ratio",
			FIGURE_AT_MOST, 1.5);
	return missed > 0;
}
