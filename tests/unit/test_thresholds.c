#include "tests/test.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/config/config.h"
#include "core/model/model.h"
#include "core/policy/policy.h"
#include "data/value/json.h"

static int merge(struct oversight *o, const char *json, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *doc;

	assert_int_equal(json_parse(&a, str_from(json), NULL, &doc, NULL), 0);
	return oversight_merge(o, doc, err);
}

TEST(presets_are_as_documented)
{
	static const struct {
		int64_t same, critical, window, gain, cycles, churn, similarity, creep, iterations,
				cost, burn_critical, coverage;
		enum level low, high;
	} want[PRESET_COUNT] = {
		[PRESET_DEFAULT] = { 3, 5, 5, 200, 2, 800, 500, 1500, 2000, 2000, 2500, 1000,
				LEVEL_LOG, LEVEL_WARN },
		[PRESET_STRICT] = { 2, 5, 3, 200, 2, 800, 500, 1500, 1500, 1500, 2500, 500,
				LEVEL_LOG, LEVEL_WARN },
		[PRESET_RELAXED] = { 5, 8, 8, 200, 2, 800, 300, 1500, 3000, 3000, 4000, 1000,
				LEVEL_LOG, LEVEL_WARN },
		[PRESET_CI] = { 3, 5, 3, 200, 2, 800, 500, 1500, 2000, 2000, 2500, 100, LEVEL_ABORT,
				LEVEL_ABORT },
	};

	for (int i = 0; i < PRESET_COUNT; i++) {
		struct oversight o;

		oversight_preset(&o, (enum preset)i);
		assert_int_equal(o.t.same_error_count, want[i].same);
		assert_int_equal(o.t.critical_error_count, want[i].critical);
		assert_int_equal(o.t.no_progress_iterations, want[i].window);
		assert_int_equal(o.t.min_gain_centi, want[i].gain);
		assert_int_equal(o.t.undo_redo_cycles, want[i].cycles);
		assert_int_equal(o.t.file_churn_milli, want[i].churn);
		assert_int_equal(o.t.objective_similarity_milli, want[i].similarity);
		assert_int_equal(o.t.scope_creep_milli, want[i].creep);
		assert_int_equal(o.t.iteration_milli, want[i].iterations);
		assert_int_equal(o.t.wall_milli, want[i].iterations);
		assert_int_equal(o.t.cost_milli, want[i].cost);
		assert_int_equal(o.t.burn_critical_milli, want[i].burn_critical);
		assert_int_equal(o.t.coverage_drop_centi, want[i].coverage);
		assert_true(o.t.test_pass_to_fail);
		assert_int_equal(o.pause, PAUSE_AUTO);
		assert_int_equal(o.levels[DETECT_REGRESSION][SEVERITY_LOW], want[i].low);
		assert_int_equal(o.levels[DETECT_REGRESSION][SEVERITY_HIGH], want[i].high);
		assert_int_equal(o.levels[DETECT_REGRESSION][SEVERITY_CRITICAL], LEVEL_ABORT);
		assert_int_equal(o.levels[DETECT_BURN][SEVERITY_CRITICAL], LEVEL_ABORT);
		assert_int_equal(o.levels[DETECT_BURN][SEVERITY_HIGH], LEVEL_WARN);
		assert_int_equal(o.levels[DETECT_STUCK][SEVERITY_HIGH], LEVEL_REDIRECT);
		assert_int_equal(o.levels[DETECT_STUCK][SEVERITY_CRITICAL], LEVEL_PAUSE);
		assert_int_equal(o.levels[DETECT_OSCILLATION][SEVERITY_HIGH], LEVEL_REDIRECT);
		assert_int_equal(o.levels[DETECT_DEVIATION][SEVERITY_MEDIUM], LEVEL_WARN);
		assert_int_equal(o.levels[DETECT_SCOPE_CREEP][SEVERITY_MEDIUM], LEVEL_WARN);
	}
}

/* One key changes one value, whatever way it is written. */
TEST(merges_deeply)
{
	struct oversight o, whole;

	oversight_preset(&o, PRESET_DEFAULT);
	whole = o;
	assert_int_equal(merge(&o, "{\"stuck\":{\"same_error_count\":2}}", NULL), 0);
	whole.t.same_error_count = 2;
	assert_memory_equal(&o, &whole, sizeof(o));
	assert_int_equal(merge(&o,
					 "{\"deviation\":{\"objectiveSimilarity\":0.35},"
					 "\"regression\":{\"testPassToFail\":false,"
					 "\"coverageDropPercent\":2.5},\"pause\":\"node\","
					 "\"levels\":{\"resourceBurnCritical\":\"pause\"}}",
					 NULL),
			0);
	whole.t.objective_similarity_milli = 350;
	whole.t.test_pass_to_fail = false;
	whole.t.coverage_drop_centi = 250;
	whole.pause = PAUSE_NODE;
	whole.levels[DETECT_BURN][SEVERITY_CRITICAL] = LEVEL_PAUSE;
	assert_memory_equal(&o, &whole, sizeof(o));
	assert_int_equal(oversight_set(&o, STR("resource.cost_multiplier=1.25"), NULL), 0);
	assert_int_equal(oversight_set(&o, STR("levels.stuck_high=abort"), NULL), 0);
	whole.t.cost_milli = 1250;
	whole.levels[DETECT_STUCK][SEVERITY_HIGH] = LEVEL_ABORT;
	assert_memory_equal(&o, &whole, sizeof(o));
	/* A preset stands for all values, before those beside it; who is paused is none of it. */
	assert_int_equal(merge(&o, "{\"stuck\":{\"sameErrorCount\":4},\"preset\":\"relaxed\"}",
					 NULL),
			0);
	oversight_preset(&whole, PRESET_RELAXED);
	whole.t.same_error_count = 4;
	whole.pause = PAUSE_NODE;
	assert_memory_equal(&o, &whole, sizeof(o));
}

TEST(refuses_what_it_does_not_know)
{
	static const struct {
		const char *json, *message;
	} cases[] = {
		{ "[]", "expected object, found array" },
		{ "{\"stuk\":{}}", "stuk: unknown (did you mean \"stuck\"?)" },
		{ "{\"stuck\":3}", "stuck: expected object, found integer" },
		{ "{\"stuck\":{\"same_eror_count\":3}}",
				"stuck.same_eror_count: unknown (did you mean "
				"\"same_error_count\"?)" },
		{ "{\"stuck\":{\"same_error_count\":\"3\"}}",
				"stuck.same_error_count: expected integer, found string" },
		{ "{\"stuck\":{\"same_error_count\":2.5}}",
				"stuck.same_error_count: expected integer, found number" },
		{ "{\"stuck\":{\"same_error_count\":1}}",
				"stuck.same_error_count: 1 is out of range: 2 to 16" },
		{ "{\"deviation\":{\"objective_similarity\":1.5}}",
				"deviation.objective_similarity: 1.5 is out of range: 0 to 1" },
		{ "{\"regression\":{\"test_pass_to_fail\":1}}",
				"regression.test_pass_to_fail: expected boolean, found integer" },
		{ "{\"levels\":{\"stuck_high\":\"shout\"}}",
				"levels.stuck_high: \"shout\" is not one of: none, log, warn, "
				"redirect, pause, abort" },
		{ "{\"levels\":{\"stuck_low\":\"log\"}}", "levels.stuck_low: unknown" },
		{ "{\"preset\":\"mild\"}",
				"preset: \"mild\" is not one of: default, strict, relaxed, ci" },
		{ "{\"pause\":true}", "pause: expected string, found boolean" },
		{ "{\"stuck\":{\"same_error_count\":2},\"pause\":\"all\"}",
				"pause: \"all\" is not one of: auto, goal, node" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct oversight o, before;
		struct ov_err err;

		oversight_preset(&o, PRESET_DEFAULT);
		before = o;
		assert_int_equal(merge(&o, cases[i].json, &err), OV_EINVALID);
		assert_string_equal(err.msg, cases[i].message);
		assert_memory_equal(&o, &before, sizeof(o));
	}
}

TEST(assignments)
{
	static const struct {
		const char *text, *message; /* NULL: it is fine */
	} cases[] = {
		{ "stuck.same_error_count=2", NULL },
		{ "stuck.sameErrorCount=2", NULL },
		{ "preset=ci", NULL },
		{ "pause=node", NULL },
		{ "regression.test_pass_to_fail=false", NULL },
		{ "stuck.same_error_count",
				"stuck.same_error_count: write KEY=VALUE, for example "
				"stuck.same_error_count=2" },
		{ "stuck.same_error_count=many",
				"stuck.same_error_count: expected integer, found string" },
		{ "stuck=2", "stuck: expected object, found integer" },
		{ "=2", ": unknown" },
		{ "", ": write KEY=VALUE, for example stuck.same_error_count=2" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct oversight o;
		struct ov_err err = { 0 };

		oversight_preset(&o, PRESET_DEFAULT);
		assert_int_equal(oversight_set(&o, str_from(cases[i].text), &err),
				cases[i].message ? OV_EINVALID : 0);
		assert_string_equal(err.msg, cases[i].message ? cases[i].message : "");
	}
}

/* What is shown can be read again; nearer words win. */
TEST(view_and_layers)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct policy p = { 0 };
	struct goal g = { .oversight = str_from("{\"stuck\":{\"same_error_count\":4},"
						"\"regression\":{\"coverage_drop_percent\":3}}") };
	struct node n = { .watch.settings = str_from("{\"stuck\":{\"sameErrorCount\":6}}") };
	struct oversight o, again;

	oversight_preset(&p.oversight, PRESET_STRICT);
	oversight_for(&p, &g, &n, &o);
	assert_int_equal(o.t.same_error_count, 6);
	assert_int_equal(o.t.coverage_drop_centi, 300);
	assert_int_equal(o.t.cost_milli, 1500);
	oversight_preset(&again, PRESET_DEFAULT);
	assert_int_equal(oversight_merge(&again, oversight_view(&a, &o), NULL), 0);
	assert_memory_equal(&again, &o, sizeof(o));
	oversight_for(&p, NULL, NULL, &o);
	assert_memory_equal(&o, &p.oversight, sizeof(o));
}

/* What the file leaves out is as the preset says, and is shown so. */
TEST(configured)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct config *c = NULL;
	struct oversight want;
	const value *view;

	assert_int_equal(config_parse(STR("[oversight]\npreset = \"strict\"\npause = \"node\"\n"
					  "stuck.same_error_count = 4\n"
					  "deviation.objective_similarity = 0.25\n"
					  "resource.cost_multiplier = 3\n"
					  "levels.resource_burn_critical = \"pause\"\n"),
					 &c, NULL),
			0);
	oversight_preset(&want, PRESET_STRICT);
	want.pause = PAUSE_NODE;
	want.t.same_error_count = 4;
	want.t.objective_similarity_milli = 250;
	want.t.cost_milli = 3000;
	want.levels[DETECT_BURN][SEVERITY_CRITICAL] = LEVEL_PAUSE;
	assert_memory_equal(&c->policy.oversight, &want, sizeof(want));
	view = config_view(&a, c);
	assert_string_equal(
			arena_cstr(&a,
					json_text(&a,
							value_at(value_at(view,
										 "oversight.stuck."
										 "no_progress_"
										 "iterations"),
									"value"))),
			"3");
	assert_string_equal(
			arena_cstr(&a,
					json_text(&a,
							value_at(value_at(view,
										 "oversight.stuck."
										 "no_progress_"
										 "iterations"),
									"default"))),
			"5");
	config_free(c);
}

TEST(misconfigured)
{
	static const struct {
		const char *toml, *message;
	} cases[] = {
		{ "oversight.preset = \"mild\"",
				"oversight.preset: \"mild\" is not one of: \"default\", "
				"\"strict\", "
				"\"relaxed\", \"ci\"" },
		{ "oversight.stuck.same_error_count = 1",
				"oversight.stuck.same_error_count: 1 is out of range: 2 to 16" },
		{ "oversight.stuck.min_gain = 100.5",
				"oversight.stuck.min_gain: 100.5 is out of range: 0 to 100" },
		{ "oversight.stuck.min_gain = nan",
				"oversight.stuck.min_gain: nan is out of range: 0 to 100" },
		{ "oversight.resource.cost_multiplier = \"2\"",
				"oversight.resource.cost_multiplier: expected a number, found "
				"string" },
		{ "oversight.levels.stuck_low = \"log\"", "oversight.levels.stuck_low: unknown" },
		{ "oversight.stuck.sameErrorCount = 3",
				"oversight.stuck.sameErrorCount: unknown (did you mean "
				"\"same_error_count\"?)" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct config *c = NULL;
		struct ov_err err;

		assert_int_equal(config_parse(str_from(cases[i].toml), &c, &err), OV_EINVALID);
		assert_string_equal(err.msg, cases[i].message);
	}
}

/* What a goal says grows key by key, under the names of the configuration. */
TEST(joins)
{
	static const struct {
		const char *old, *patch, *want;
	} cases[] = {
		{ "", "{\"stuck\":{\"sameErrorCount\":2}}",
				"{\"stuck\":{\"same_error_count\":2}}" },
		{ "{\"stuck\":{\"same_error_count\":2}}", "{\"stuck\":{\"min_gain\":1.5}}",
				"{\"stuck\":{\"same_error_count\":2,\"min_gain\":1.5}}" },
		{ "{\"stuck\":{\"same_error_count\":2},\"pause\":\"node\"}",
				"{\"stuck\":{\"same_error_count\":null},\"preset\":\"ci\"}",
				"{\"pause\":\"node\",\"preset\":\"ci\"}" },
		{ "{\"pause\":\"node\"}", "{\"pause\":null}", "{}" },
		{ "{\"pause\":\"node\"}", "{\"pause\":\"all\"}", NULL },
		{ "", "{\"stuck\":{\"foo\":null}}", NULL },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(arena_done) struct arena a = ARENA_INIT;
		value *patch, *all;

		assert_int_equal(json_parse(&a, str_from(cases[i].patch), NULL, &patch, NULL), 0);
		assert_int_equal(oversight_join(&a, str_from(cases[i].old), patch, &all, NULL),
				cases[i].want ? 0 : OV_EINVALID);
		if (cases[i].want)
			assert_string_equal(arena_cstr(&a, json_text(&a, all)), cases[i].want);
	}
}

TEST_MAIN
