#include "tests/test.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "core/oversight/detect.h"
#include "data/value/json.h"

/*
 * An iteration in short. What is not known is 0, so that a row says only what it is about: see K.
 */
#define NO -1
#define K(x) ((x) + 1)
struct row {
	const char *error, *tree, *files, *tool; /* files: separated by blanks */
	double completion, coverage, similarity;
	int tests; /* 1 passing, 0 failing */
	int inside, outside, failing;
};
#define ROW(...) ((struct row){ __VA_ARGS__ })

enum { MOST = 64 };

struct bench {
	struct arena a;
	struct iteration iterations[MOST];
	const struct iteration *list[MOST];
	const struct sample *samples[MOST];
	struct history h;
	struct oversight o;
	struct found found[DETECTOR_COUNT];
	size_t found_n;
};

static struct strs split(struct bench *b, const char *files)
{
	struct strs s = { .p = arena_array(&b->a, str, 32) };
	str rest = str_from(files), part;

	while (str_split(&rest, ' ', &part))
		if (part.n)
			s.p[s.n++] = part;
	return s;
}

static void fill(struct bench *b, struct iteration *it, const struct row *r, int64_t number)
{
	int tests = r->tests - 1;

	*it = (struct iteration){ .number = number,
		.error = str_from(r->error),
		.signature = str_from(r->error),
		.tree = str_from(r->tree),
		.tool = str_from(r->tool),
		.tool_digest = str_from(r->tool),
		.files = split(b, r->files),
		.tests = tests == NO    ? TESTS_UNKNOWN
				: tests ? TESTS_PASSING
					: TESTS_FAILING,
		.tests_failed = r->failing,
		.coverage_format = r->coverage == 0 ? STR("") : STR("lcov"),
		.coverage_centi = (int64_t)((r->coverage - 1) * 100 + 0.5),
		.completion_source = r->completion == 0 ? COMPLETION_UNKNOWN : COMPLETION_REPORTED,
		.completion_centi = (int64_t)((r->completion - 1) * 100 + 0.5),
		.has_similarity = r->similarity != 0,
		.similarity_milli = (int64_t)((r->similarity - 1) * 1000 + 0.5),
		.inside = r->inside,
		.outside = r->outside };
	sample_prepare(it);
}

static void add(struct bench *b, const struct row *r, int64_t number)
{
	struct iteration *it = &b->iterations[b->h.n];

	assert_true(b->h.n < MOST);
	fill(b, it, r, number);
	b->list[b->h.n] = it;
	b->samples[b->h.n++] = &it->sample;
	b->h.iterations.used = number;
	if (r->completion != 0)
		b->h.completion_centi = it->completion_centi;
}

static struct bench *bench_new(void)
{
	struct bench *b = mem_zalloc(1, sizeof(*b));

	b->h.samples = b->samples;
	b->h.completion_centi = -1;
	oversight_preset(&b->o, PRESET_DEFAULT);
	return b;
}

static void bench_free(struct bench *b)
{
	for (size_t i = 0; i < b->h.n; i++)
		mem_free((void *)b->iterations[i].sample.files);
	arena_done(&b->a);
	mem_free(b);
}

static size_t look(struct bench *b)
{
	b->found_n = detect(&b->h, &b->o.t, b->found);
	return b->found_n;
}

static const struct found *found(struct bench *b, enum detector type)
{
	for (size_t i = 0; i < b->found_n; i++)
		if (b->found[i].type == type)
			return &b->found[i];
	return NULL;
}

static enum severity severity(const struct row *rows, size_t n, enum detector type,
		enum preset preset)
{
	struct bench *b = bench_new();
	const struct found *f;
	enum severity s;

	oversight_preset(&b->o, preset);
	for (size_t i = 0; i < n; i++)
		add(b, &rows[i], (int64_t)i + 1);
	look(b);
	f = found(b, type);
	s = f ? f->severity : SEVERITY_NONE;
	bench_free(b);
	return s;
}

struct verdict {
	enum severity want;
	size_t n;
	struct row rows[8];
	enum preset preset;
};

static void check(const struct verdict *v, size_t n, enum detector type)
{
	for (size_t i = 0; i < n; i++)
		if (severity(v[i].rows, v[i].n, type, v[i].preset) != v[i].want)
			fail_msg("%s, case %zu: %s instead of %s", status_name(&detectors, type), i,
					status_name(&severities,
							severity(v[i].rows, v[i].n, type,
									v[i].preset)),
					status_name(&severities, v[i].want));
}

#define E(e, c) ROW(.error = e, .completion = K(c))
#define U(tr, to, c) ROW(.tree = tr, .tool = to, .completion = K(c))
#define OK ROW(.tests = 0)

TEST(stuck)
{
	static const struct verdict cases[] = {
		{ SEVERITY_NONE, 2, { E("x", 1), E("x", 1) }, 0 },
		{ SEVERITY_HIGH, 3, { E("x", 1), E("x", 1), E("x", 1) }, 0 },
		{ SEVERITY_HIGH, 4, { E("x", 1), E("x", 1), E("x", 1), E("x", 1) }, 0 },
		{ SEVERITY_CRITICAL, 5, { E("x", 1), E("x", 1), E("x", 1), E("x", 1), E("x", 1) },
				0 },
		/* Nobody knows how far it is: no gain. */
		{ SEVERITY_HIGH, 3, { E("x", NO), E("x", NO), E("x", NO) }, 0 },
		/* Just below 2 points each, just 2, and a loss. */
		{ SEVERITY_HIGH, 3, { E("x", 10), E("x", 12), E("x", 13.9) }, 0 },
		{ SEVERITY_NONE, 3, { E("x", 10), E("x", 12), E("x", 14) }, 0 },
		{ SEVERITY_HIGH, 3, { E("x", 40), E("x", 30), E("x", 20) }, 0 },
		/* Others in between; then they are too far apart. */
		{ SEVERITY_HIGH, 5, { E("x", 1), E("y", 1), E("x", 1), E("z", 1), E("x", 1) }, 0 },
		{ SEVERITY_NONE, 6,
				{ E("x", 1), E("x", 1), E("a", 1), E("b", 1), E("c", 1),
						E("x", 1) },
				0 },
		/* It is over. */
		{ SEVERITY_NONE, 4, { E("x", 1), E("x", 1), E("x", 1), OK }, 0 },
		{ SEVERITY_NONE, 5, { E("a", 1), E("b", 1), E("c", 1), E("d", 1), E("e", 1) }, 0 },
		/* Fewer and fewer tests fail. */
		{ SEVERITY_NONE, 3,
				{ ROW(.error = "x", .tests = K(0), .failing = 9),
						ROW(.error = "x", .tests = K(0), .failing = 5),
						ROW(.error = "x", .tests = K(0), .failing = 2) },
				0 },
		{ SEVERITY_HIGH, 3,
				{ ROW(.error = "x", .tests = K(0), .failing = 5),
						ROW(.error = "x", .tests = K(0), .failing = 2),
						ROW(.error = "x", .tests = K(0), .failing = 5) },
				0 },
		/* Nothing changes. */
		{ SEVERITY_HIGH, 3, { U("t", "c", 1), U("t", "c", 1), U("t", "c", 1) }, 0 },
		{ SEVERITY_NONE, 3, { U("t", "c", 1), U("t", "c", 1), U("t", "d", 1) }, 0 },
		{ SEVERITY_NONE, 3, { U("t", "c", 1), U("t", "c", 1), U("s", "c", 1) }, 0 },
		{ SEVERITY_NONE, 3, { U("t", "", 1), U("t", "", 1), U("t", "", 1) }, 0 },
		/* Presets. */
		{ SEVERITY_HIGH, 2, { E("x", 1), E("x", 1) }, PRESET_STRICT },
		{ SEVERITY_CRITICAL, 5, { E("x", 1), E("x", 1), E("x", 1), E("x", 1), E("x", 1) },
				PRESET_STRICT },
		{ SEVERITY_NONE, 4, { E("x", 1), E("x", 1), E("x", 1), E("x", 1) },
				PRESET_RELAXED },
		{ SEVERITY_HIGH, 5, { E("x", 1), E("x", 1), E("x", 1), E("x", 1), E("x", 1) },
				PRESET_RELAXED },
		{ SEVERITY_NONE, 5, { E("x", 1), E("x", 1), E("a", 1), E("b", 1), E("x", 1) },
				PRESET_CI },
	};

	check(cases, ARRAY_LEN(cases), DETECT_STUCK);
}

#define T(t) ROW(.tree = t)
#define F(f) ROW(.files = f)
#define TF(t, f) ROW(.tree = t, .files = f)

TEST(oscillation)
{
	static const struct verdict cases[] = {
		{ SEVERITY_NONE, 3, { T("a"), T("b"), T("a") }, 0 },
		{ SEVERITY_HIGH, 4, { T("a"), T("b"), T("a"), T("b") }, 0 },
		{ SEVERITY_NONE, 4, { T("a"), T("b"), T("a"), T("c") }, 0 }, /* one revert */
		{ SEVERITY_NONE, 6, { T("a"), T("b"), T("a"), T("a"), T("a"), T("a") }, 0 },
		{ SEVERITY_NONE, 4, { T("a"), T("a"), T("a"), T("a") }, 0 },
		{ SEVERITY_HIGH, 5, { T("a"), T("b"), T("c"), T("a"), T("b") }, 0 },
		{ SEVERITY_HIGH, 6, { T("a"), T("a"), T("b"), T("a"), T("a"), T("b") }, 0 },
		{ SEVERITY_NONE, 6, { T("a"), T("b"), T("c"), T("d"), T("e"), T("f") }, 0 },
		/* Where trees are not known, by files. */
		{ SEVERITY_HIGH, 4, { F("a b"), F("c d"), F("a b"), F("c d") }, 0 },
		{ SEVERITY_NONE, 4, { F("a b"), F("a b"), F("a b"), F("a b") }, 0 },
		{ SEVERITY_NONE, 4, { F("a b"), F("c d"), F("a e"), F("c f") }, 0 },
		{ SEVERITY_HIGH, 4, { F("a b c d e"), F("x"), F("a b c d"), F("x y") },
				0 }, /* 80 % */
		{ SEVERITY_NONE, 4, { F("a b c d"), F("x"), F("a b c"), F("x") }, 0 },
		{ SEVERITY_NONE, 4, { F(""), F(""), F(""), F("") }, 0 },
		/* The files alternate, their content grows. */
		{ SEVERITY_NONE, 4, { TF("1", "a"), TF("2", "b"), TF("3", "a"), TF("4", "b") }, 0 },
		{ SEVERITY_NONE, 4,
				{ ROW(.files = "a", .completion = K(10)),
						ROW(.files = "b", .completion = K(20)),
						ROW(.files = "a", .completion = K(30)),
						ROW(.files = "b", .completion = K(40)) },
				0 },
	};

	check(cases, ARRAY_LEN(cases), DETECT_OSCILLATION);
}

#define S(s) ROW(.similarity = K(s))
#define C(i, o) ROW(.inside = i, .outside = o)

TEST(deviation_and_creep)
{
	static const struct verdict words[] = {
		{ SEVERITY_NONE, 1, { S(0.1) }, 0 },
		{ SEVERITY_MEDIUM, 2, { S(0.1), S(0.2) }, 0 },
		{ SEVERITY_MEDIUM, 3, { S(0.1), S(0.9), S(0.2) }, 0 },
		/* at the threshold is not below */
		{ SEVERITY_NONE, 3, { S(0.1), S(0.5), S(0.5) }, 0 },
		{ SEVERITY_NONE, 4, { S(0.1), S(0.9), S(0.9), S(0.1) }, 0 },
		{ SEVERITY_NONE, 3, { S(NO), S(NO), S(NO) }, 0 },
		{ SEVERITY_NONE, 2, { S(0.4), S(0.4) }, PRESET_RELAXED },
	}, files[] = {
		{ SEVERITY_NONE, 1, { C(1, 9) }, 0 },
		{ SEVERITY_MEDIUM, 2, { C(1, 2), C(1, 1) }, 0 },
		{ SEVERITY_NONE, 2, { C(2, 1), C(2, 4) }, 0 },
		{ SEVERITY_MEDIUM, 2, { C(0, 1), C(0, 1) }, 0 },
		{ SEVERITY_NONE, 2, { C(1, 9), C(3, 0) }, 0 }, /* it is back */
		{ SEVERITY_NONE, 2, { C(0, 0), C(0, 0) }, 0 },
	};

	check(words, ARRAY_LEN(words), DETECT_DEVIATION);
	check(files, ARRAY_LEN(files), DETECT_SCOPE_CREEP);
}

#define P(t) ROW(.tests = K(t))
#define V(c) ROW(.coverage = K(c))
#define PV(t, c) ROW(.tests = K(t), .coverage = K(c))

TEST(regression)
{
	static const struct verdict cases[] = {
		{ SEVERITY_NONE, 1, { P(0) }, 0 },
		{ SEVERITY_HIGH, 2, { P(1), P(0) }, 0 },
		{ SEVERITY_NONE, 2, { P(0), P(0) }, 0 },
		{ SEVERITY_NONE, 2, { P(0), P(1) }, 0 },
		{ SEVERITY_HIGH, 3, { P(1), P(NO), P(0) }, 0 },
		{ SEVERITY_LOW, 3, { P(1), P(0), P(1) }, 0 },
		{ SEVERITY_CRITICAL, 4, { P(1), P(0), P(1), P(0) }, 0 },
		{ SEVERITY_LOW, 5, { P(1), P(0), P(1), P(0), P(1) }, 0 },
		{ SEVERITY_NONE, 6, { P(1), P(0), P(0), P(0), P(0), P(0) }, 0 }, /* long ago */
		{ SEVERITY_HIGH, 2, { V(85), V(75) }, 0 },
		{ SEVERITY_NONE, 2, { V(85), V(75.1) }, 0 },
		{ SEVERITY_NONE, 4, { V(85), V(83), V(85), V(84) }, 0 },
		{ SEVERITY_HIGH, 3, { V(85), V(80), V(75) }, 0 }, /* in small steps */
		{ SEVERITY_HIGH, 2, { V(85), V(0) }, 0 },
		{ SEVERITY_CRITICAL, 3, { V(85), V(70), V(55) }, 0 },
		{ SEVERITY_LOW, 3, { V(85), V(70), V(84) }, 0 },
		{ SEVERITY_CRITICAL, 2, { PV(1, 85), PV(0, 72.5) }, 0 },
		{ SEVERITY_HIGH, 2, { V(85), V(80) }, PRESET_STRICT },
		{ SEVERITY_HIGH, 2, { V(85), V(84) }, PRESET_CI },
	};

	check(cases, ARRAY_LEN(cases), DETECT_REGRESSION);
}

TEST(burn)
{
	static const struct {
		struct consumption iterations, cost, wall;
		int64_t completion;
		enum severity want;
		enum resource resource;
		enum level level;
	} cases[] = {
		{ { 19, 10 }, { 0, 0 }, { 0, 0 }, -1, SEVERITY_NONE, 0, 0 },
		{ { 20, 10 }, { 0, 0 }, { 0, 0 }, -1, SEVERITY_HIGH, RES_ITERATIONS, LEVEL_WARN },
		{ { 22, 10 }, { 0, 0 }, { 0, 0 }, 4500, SEVERITY_HIGH, RES_ITERATIONS, LEVEL_WARN },
		{ { 25, 10 }, { 0, 0 }, { 0, 0 }, 4500, SEVERITY_CRITICAL, RES_ITERATIONS,
				LEVEL_ABORT },
		{ { 25, 10 }, { 0, 0 }, { 0, 0 }, 9000, SEVERITY_CRITICAL, RES_ITERATIONS,
				LEVEL_PAUSE },
		{ { 25, 0 }, { 0, 0 }, { 0, 0 }, -1, SEVERITY_NONE, 0, 0 },
		{ { 20, 10 }, { 30, 10 }, { 25, 10 }, -1, SEVERITY_CRITICAL, RES_COST_MICROUSD,
				LEVEL_ABORT },
		{ { 1, 10 }, { 1, 10 }, { 23, 10 }, -1, SEVERITY_HIGH, RES_WALL_MS, LEVEL_WARN },
		{ { INT64_MAX, 1 }, { 0, 0 }, { 0, 0 }, -1, SEVERITY_CRITICAL, RES_ITERATIONS,
				LEVEL_ABORT },
		{ { INT64_MAX, INT64_MAX / 2 }, { 0, 0 }, { 0, 0 }, -1, SEVERITY_HIGH,
				RES_ITERATIONS, LEVEL_WARN },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct bench *b = bench_new();

		b->h.iterations = cases[i].iterations;
		b->h.cost_microusd = cases[i].cost;
		b->h.wall_ms = cases[i].wall;
		b->h.completion_centi = cases[i].completion;
		assert_int_equal(look(b), cases[i].want != SEVERITY_NONE);
		if (b->found_n) {
			assert_int_equal(b->found[0].severity, cases[i].want);
			assert_int_equal(b->found[0].resource, cases[i].resource);
			assert_int_equal(detection_level(&b->o, &b->h, &b->found[0]),
					cases[i].level);
		}
		bench_free(b);
	}
}

static struct detection_words describe(struct bench *b, enum detector type, enum level *ret_level)
{
	struct detect_context cx = { .history = &b->h,
		.iterations = b->list,
		.objective = STR("Fix authentication tests"),
		.subject = STR("g/T1") };
	struct detection_words w;
	const struct found *f;

	look(b);
	f = found(b, type);
	assert_non_null(f);
	*ret_level = detection_level(&b->o, &b->h, f);
	detection_describe(&b->a, &cx, f, *ret_level, &w);
	return w;
}

static void assert_words(struct bench *b, str got, const char *want)
{
	assert_string_equal(arena_cstr(&b->a, got), want);
}

/* The first example: four equal errors. */
TEST(words_of_stuck)
{
	static const struct row rows[] = { ROW(.completion = K(8)),
		E("Missing null check in validateInput()", 9),
		E("Missing null check in validateInput()", 10),
		E("Missing null check in validateInput()", 11),
		E("Missing null check in validateInput()", 12) };
	struct bench *b = bench_new();
	str blocker = STR("Unhandled null pointer");
	struct detection_words w;
	enum level level;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		add(b, &rows[i], (int64_t)i + 1);
	b->iterations[4].blockers = (struct strs){ &blocker, 1 };
	w = describe(b, DETECT_STUCK, &level);
	assert_int_equal(level, LEVEL_REDIRECT);
	assert_words(b, w.message, "Loop stuck: Same error repeated 4 times with minimal progress");
	assert_words(b, json_text(&b->a, w.evidence),
			"{\"repeatedError\":\"Missing null check in validateInput()\","
			"\"occurrences\":4,\"avgProgressRate\":1,"
			"\"recentBlockers\":[\"Unhandled null pointer\"]}");
	assert_words(b, w.reason, "Loop stuck - forcing strategy change");
	assert_words(b, w.guidance,
			"OVERRIDE: Change approach immediately.\n"
			"The current method is not working. You have hit \"Missing null check in "
			"validateInput()\" 4 times.\n"
			"Try a completely different solution strategy.");
	assert_int_equal(w.recommendations_n, 4);
	assert_string_equal(w.recommendations[0], "Change approach or strategy");
	bench_free(b);
}

/* The second: 22 and 25 iterations of 10. */
TEST(words_of_burn)
{
	struct bench *b = bench_new();
	struct row row = ROW(.completion = K(45));
	struct detection_words w;
	enum level level;

	add(b, &row, 22);
	b->h.iterations.estimate = 10;
	w = describe(b, DETECT_BURN, &level);
	assert_int_equal(level, LEVEL_WARN);
	assert_words(b, w.message, "Resource burn: Used 22/10 iterations (220% of budget)");
	assert_words(b, json_text(&b->a, w.evidence),
			"{\"estimatedIterations\":10,\"actualIterations\":22,"
			"\"iterationRatio\":2.2,\"completionPercent\":45,\"efficiency\":2.04}");
	assert_words(b, w.guidance,
			"OVERSEER WARNING: Resource burn: Used 22/10 iterations (220% of "
			"budget)\n\n"
			"Recommended actions:\n"
			"1. Consider aborting if little progress made\n"
			"2. Analyze why estimates were incorrect\n"
			"3. Break remaining work into smaller tasks\n"
			"4. Request human decision on continuation\n\n"
			"You have used far more than was expected. Finish what is needed, and "
			"nothing else.");
	b->h.iterations.used = 25;
	w = describe(b, DETECT_BURN, &level);
	assert_int_equal(level, LEVEL_ABORT);
	assert_words(b, w.abort_reason, "Resource burn: Used 25/10 iterations (250% of budget)");
	b->h.completion_centi = 6000;
	w = describe(b, DETECT_BURN, &level);
	assert_string_equal(w.recommendations[0], "Increase iteration budget if task is viable");
	bench_free(b);
}

/* The third: tests passed, and coverage was higher. */
TEST(words_of_regression)
{
	static const struct row rows[] = { PV(1, 85), PV(0, 72.5) };
	struct bench *b = bench_new();
	struct detection_words w;
	enum level level;

	add(b, &rows[0], 7);
	add(b, &rows[1], 8);
	w = describe(b, DETECT_REGRESSION, &level);
	assert_int_equal(level, LEVEL_ABORT);
	assert_words(b, w.message, "Regression detected: 2 quality regressions");
	assert_words(b, json_text(&b->a, w.evidence),
			"{\"regressions\":[{\"iteration\":8,"
			"\"message\":\"Tests went from passing to failing\"},"
			"{\"iteration\":8,\"message\":\"Coverage dropped 12.5%\","
			"\"from\":85,\"to\":72.5}]}");
	assert_words(b, w.reason, "Critical test regression - aborting to prevent further damage");
	assert_words(b, w.abort_reason, "Tests passing → failing, coverage dropped 12.5%");
	assert_words(b, w.guidance, "");
	bench_free(b);
}

TEST(words_of_the_others)
{
	static const struct row back[] = { TF("1", "a b"), TF("2", "c"), TF("1", "a b"),
		TF("2", "c") };
	static const struct row away[] = { ROW(.similarity = K(0.3), .files = "README.md"),
		ROW(.similarity = K(0.4), .inside = 1, .outside = 3, .files = "x"),
		ROW(.similarity = K(0.3), .inside = 0, .outside = 2, .files = "y z") };
	struct bench *b = bench_new();
	struct detection_words w;
	enum level level;

	for (size_t i = 0; i < ARRAY_LEN(back); i++)
		add(b, &back[i], (int64_t)i + 1);
	w = describe(b, DETECT_OSCILLATION, &level);
	assert_words(b, w.message, "Oscillation detected: 2 undo/redo cycles");
	assert_words(b, json_text(&b->a, w.evidence),
			"{\"undoRedoCycles\":2,\"recentFileChanges\":[[\"c\"],[\"a\",\"b\"],"
			"[\"c\"]],\"treeHash\":\"2\"}");
	assert_words(b, w.guidance,
			"OVERRIDE: Stop alternating between approaches.\n"
			"Analyze which approach is better and commit to it.\n"
			"No more back-and-forth changes.");
	bench_free(b);
	b = bench_new();
	for (size_t i = 0; i < ARRAY_LEN(away); i++)
		add(b, &away[i], (int64_t)i + 1);
	w = describe(b, DETECT_DEVIATION, &level);
	assert_words(b, json_text(&b->a, w.evidence),
			"{\"originalObjective\":\"Fix authentication "
			"tests\",\"deviationExamples\":["
			"{\"iteration\":1,\"similarity\":0.3,\"artifacts\":[\"README.md\"]},"
			"{\"iteration\":2,\"similarity\":0.4,\"artifacts\":[\"x\"]},"
			"{\"iteration\":3,\"similarity\":0.3,\"artifacts\":[\"y\",\"z\"]}],"
			"\"averageSimilarity\":0.333}");
	w = describe(b, DETECT_SCOPE_CREEP, &level);
	assert_words(b, w.message, "Scope creep: 5 files touched outside of the scope, 1 inside");
	assert_words(b, json_text(&b->a, w.evidence),
			"{\"filesInScope\":1,\"filesOutsideScope\":5,\"scopeCreepRatio\":5,"
			"\"recentFiles\":[\"y\",\"z\"]}");
	bench_free(b);
}

/* The fingerprint of every iteration of a loop, where there is something; "" where not. */
static str fingerprint(struct bench *b, enum detector type)
{
	struct detect_context cx = { .history = &b->h, .iterations = b->list, .subject = STR("s") };
	struct detection_words w;
	const struct found *f;

	look(b);
	f = found(b, type);
	if (!f)
		return STR("");
	detection_describe(&b->a, &cx, f, LEVEL_LOG, &w);
	return w.fingerprint;
}

/* As long as it is the same thing, it has the same fingerprint; another thing has another. */
TEST(fingerprints)
{
	static const struct row loop[] = { TF("1", "a"), TF("2", "b"), TF("3", "c") };
	static const struct row stuck[] = { E("x", NO), E("y", NO) };
	struct bench *b = bench_new();
	str first = STR(""), other;

	for (int i = 0; i < 40; i++) {
		str now;

		add(b, &loop[i % 3], i + 1);
		now = fingerprint(b, DETECT_OSCILLATION);
		assert_true(!first.n || str_eq(first, now));
		first = now;
	}
	assert_int_equal(first.n, 64);
	bench_free(b);
	b = bench_new();
	for (int i = 0; i < 6; i++)
		add(b, &stuck[i / 3], i + 1);
	b->h.n = 3;
	first = fingerprint(b, DETECT_STUCK);
	b->h.n = 6;
	other = fingerprint(b, DETECT_STUCK);
	assert_true(first.n && other.n && !str_eq(first, other));
	bench_free(b);
}

/* A regression that was answered is not a new one because it is less new. */
TEST(fingerprint_of_a_regression_slides)
{
	static const struct row rows[] = { PV(1, 85), PV(0, 85), PV(0, 70), PV(0, 70), PV(0, 70),
		PV(0, 70) };
	struct bench *b = bench_new();
	str at[6];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		add(b, &rows[i], (int64_t)i + 1);
		at[i] = fingerprint(b, DETECT_REGRESSION);
	}
	assert_true(at[1].n && at[2].n && !str_eq(at[1], at[2]));
	assert_true(str_eq(at[2], at[3]) && str_eq(at[3], at[4]) && str_eq(at[4], at[5]));
	bench_free(b);
}

TEST(an_empty_history_says_nothing)
{
	struct bench *b = bench_new();

	assert_int_equal(look(b), 0);
	bench_free(b);
}

TEST_MAIN
