#include "tests/test.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/intervene/aftermath.h"
#include "core/prompt/handoff.h"
#include "tests/unit/core_fixture.h"

static const struct thresholds thresholds = {
	.same_error_count = 3,
	.critical_error_count = 5,
	.no_progress_iterations = 5,
	.min_gain_centi = 200,
	.objective_similarity_milli = 500,
	.scope_creep_milli = 1500,
	.coverage_drop_centi = 1000,
};

enum { ROWS = 10, FOUND = 4 };

/* An iteration as a word: the error, a slash, the tree, and marks with a number. */
static struct iteration read_row(str word, int64_t number)
{
	struct iteration it = { .number = number };
	str part;

	assert_true(str_split(&word, '/', &it.signature));
	it.failed = it.signature.n > 0;
	assert_true(str_split(&word, '/', &it.tree));
	while (str_split(&word, '/', &part)) {
		int64_t n = 0;

		(void)str_to_i64(str_sub(part, 1, part.n), &n);
		switch (part.p[0]) {
		case 'P': it.tests = TESTS_PASSING; break;
		case 'F': it.tests = TESTS_FAILING; break;
		case 'g':
			it.completion_source = COMPLETION_REPORTED;
			it.completion_centi = 100 * n;
			break;
		case 'c':
			it.coverage_format = STR("lcov");
			it.coverage_centi = 100 * n;
			break;
		case 's':
			it.has_similarity = true;
			it.similarity_milli = n;
			break;
		case 'i': it.inside = n; break;
		case 'o': it.outside = n; break;
		default: fail_msg("mark %.*s", (int)part.n, part.p);
		}
	}
	return it;
}

struct row {
	enum detector type;
	const char *history; /* the first FOUND led to the detection */
	enum effectiveness verdict;
	const char *because;
};

static struct verdict judge_row(struct arena *a, const struct row *row, bool worse, bool accepted,
		bool ended)
{
	struct iteration *its = arena_array(a, struct iteration, ROWS);
	const struct iteration *list[ROWS];
	struct detection d = { .type = row->type, .node_id = STR("T1"), .iteration = FOUND };
	struct aftermath m = { list, 0, &thresholds, worse, accepted, ended };
	str rest = str_from(row->history), word;

	while (str_split(&rest, ' ', &word)) {
		assert_true(m.n < ROWS);
		its[m.n] = read_row(word, (int64_t)m.n + 1);
		list[m.n] = &its[m.n];
		m.n++;
	}
	return aftermath_judge(a, &d, &m);
}

static const struct row rows[] = {
	/* stuck: what the same error, another one, and none say */
	{ DETECT_STUCK, "e/a e/b e/c e/d", EFFECT_OPEN, "" },
	{ DETECT_STUCK, "e/a e/b e/c e/d e/e", EFFECT_UNHELPFUL, "iteration 5 has the same error" },
	{ DETECT_STUCK, "e/a e/b x/c e/d x/e e/f", EFFECT_UNHELPFUL, "iteration 6 has the same" },
	{ DETECT_STUCK, "e/a e/b e/c e/d /e", EFFECT_HELPFUL, "iteration 5 came without" },
	{ DETECT_STUCK, "e/a e/b e/c e/d x/e", EFFECT_OPEN, "" },
	{ DETECT_STUCK, "e/a e/b e/c e/d x/e/P", EFFECT_HELPFUL, "passes its tests" },
	{ DETECT_STUCK, "e/a e/b e/c e/d/g10 x/e/g11 y/f/g12", EFFECT_HELPFUL,
			"iteration 6 came further" },
	{ DETECT_STUCK, "e/a e/b e/c e/d/g10 x/e/g11", EFFECT_OPEN, "" },
	{ DETECT_STUCK, "e/a e/b e/c e/d x/e y/f z/g", EFFECT_HELPFUL, "third in a row without" },
	/* stuck without an error: nothing changes */
	{ DETECT_STUCK, "/a /a /a /a /a", EFFECT_UNHELPFUL, "left everything as it was" },
	{ DETECT_STUCK, "/a /a /a /a /b", EFFECT_HELPFUL, "changed something" },
	{ DETECT_STUCK, "/a /a /a /a / / /", EFFECT_UNKNOWN, "do not tell" },
	/* oscillation: old trees, new ones */
	{ DETECT_OSCILLATION, "/a /b /a /b /a", EFFECT_UNHELPFUL, "went back" },
	{ DETECT_OSCILLATION, "/a /b /a /b /c", EFFECT_OPEN, "" },
	{ DETECT_OSCILLATION, "/a /b /a /b /c /d", EFFECT_HELPFUL, "second that left something" },
	{ DETECT_OSCILLATION, "/a /b /a /b /c /b", EFFECT_UNHELPFUL, "iteration 6 went back" },
	{ DETECT_OSCILLATION, "/a /b /a /b /c /c /c", EFFECT_UNKNOWN, "do not tell" },
	{ DETECT_OSCILLATION, "/a /b /a /b / / /", EFFECT_UNKNOWN, "do not tell" },
	/* deviation and scope: in range at the threshold, or three times out of it */
	{ DETECT_DEVIATION, "/a /b /c /d /e/s500", EFFECT_HELPFUL, "about the objective" },
	{ DETECT_DEVIATION, "/a /b /c /d /e/s499 /f/s100", EFFECT_OPEN, "" },
	{ DETECT_DEVIATION, "/a /b /c /d /e/s499 /f/s100 /g/s0", EFFECT_UNHELPFUL,
			"something else" },
	{ DETECT_DEVIATION, "/a /b /c /d /e /f /g", EFFECT_UNKNOWN, "do not tell" },
	{ DETECT_SCOPE_CREEP, "/a /b /c /d /e/i2/o2", EFFECT_HELPFUL, "within its scope" },
	{ DETECT_SCOPE_CREEP, "/a /b /c /d /e/i2/o3", EFFECT_OPEN, "" },
	{ DETECT_SCOPE_CREEP, "/a /b /c /d /e/o2 /f/o2 /g/o9", EFFECT_UNHELPFUL, "outside" },
	{ DETECT_SCOPE_CREEP, "/a /b /c /d /e/o1", EFFECT_HELPFUL, "within its scope" },
	/* burn: whether it comes further for what it uses */
	{ DETECT_BURN, "/a /b /c /d/g40 /e/g41 /f/g43", EFFECT_OPEN, "" },
	{ DETECT_BURN, "/a /b /c /d/g40 /e/g41 /f/g43 /g/g46", EFFECT_HELPFUL, "comes further" },
	{ DETECT_BURN, "/a /b /c /d/g40 /e/g41 /f/g42 /g/g43", EFFECT_UNHELPFUL,
			"next to nothing" },
	{ DETECT_BURN, "/a /b /c /d /e /f /g", EFFECT_UNKNOWN, "do not tell" },
	/* regression: of tests, of coverage, of both */
	{ DETECT_REGRESSION, "/a/P /b/P /c/P e/d/F e/e/F", EFFECT_OPEN, "" },
	{ DETECT_REGRESSION, "/a/P /b/P /c/P e/d/F e/e/F /f/P", EFFECT_HELPFUL,
			"passes its tests" },
	{ DETECT_REGRESSION, "/a/c80 /b/c80 /c/c80 /d/c65 /e/c71", EFFECT_HELPFUL,
			"coverage back" },
	{ DETECT_REGRESSION, "/a/c80 /b/c80 /c/c80 /d/c65 /e/c66", EFFECT_OPEN, "" },
	{ DETECT_REGRESSION, "/a/c80 /b/c80 /c/c80 /d/c65 /e/c55", EFFECT_UNHELPFUL, "still more" },
	{ DETECT_REGRESSION, "/a/c80 /b/c80 /c/c80/P /d/c65/P /e/c66/F", EFFECT_UNHELPFUL,
			"fails its tests again" },
	{ DETECT_REGRESSION, "/a/P/c80 /b/P/c80 /c/P/c80 e/d/F/c50 /e/P/c50", EFFECT_HELPFUL,
			"passes its tests" },
	{ DETECT_REGRESSION, "/a/P /b/P /c/P e/d/F e/e/F e/f/F e/g/F", EFFECT_UNKNOWN, "do not" },
};

TEST(what_follows_decides)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct verdict v = judge_row(&a, &rows[i], false, false, false);

		if (v.effectiveness != rows[i].verdict ||
				!str_contains(v.because, str_from(rows[i].because)))
			fail_msg("%s \"%s\": %s, because " STR_FMT,
					status_name(&detectors, (int)rows[i].type), rows[i].history,
					status_name(&effectivenesses, (int)v.effectiveness),
					STR_ARG(v.because));
	}
}

/* Whatever came first in the rows that are still open: an end decides. */
TEST(an_end_decides_what_is_open)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		bool open = row->verdict == EFFECT_OPEN || row->verdict == EFFECT_UNKNOWN;

		assert_int_equal(judge_row(&a, row, false, false, true).effectiveness,
				open ? EFFECT_UNKNOWN : row->verdict);
		assert_int_equal(judge_row(&a, row, false, true, true).effectiveness,
				EFFECT_HELPFUL);
		assert_int_equal(judge_row(&a, row, true, false, false).effectiveness,
				EFFECT_UNHELPFUL);
	}
}

/* Of the whole goal there are no iterations: its end says all. */
TEST(a_goal_is_judged_by_its_end)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct detection d = { .type = DETECT_BURN, .iteration = 9 };
	struct aftermath m = { 0 };

	assert_int_equal(aftermath_judge(&a, &d, &m).effectiveness, EFFECT_OPEN);
	m.ended = true;
	assert_int_equal(aftermath_judge(&a, &d, &m).effectiveness, EFFECT_UNKNOWN);
	m.accepted = true;
	assert_int_equal(aftermath_judge(&a, &d, &m).effectiveness, EFFECT_HELPFUL);
}

/* ---- in the core ---- */

static void find_one(struct fixture *f, str goal, const char *node, const char *type, int iteration)
{
	struct event e = { .kind = EV_DETECTION_MADE,
		.actor = STR("overseer"),
		.goal = goal,
		.node = str_from(node),
		.data = json(f,
				"{'detection': {'id': 'D_%s_%d', 'type': '%s', 'severity': 'high', "
				"'message': 'm', 'fingerprint': '%d', 'iteration': %d}}",
				type, iteration, type, iteration, iteration) };

	assert_int_equal(append(f, &e, NULL), 0);
	e.kind = EV_INTERVENTION_APPLIED;
	e.data = json(f, "{'detection': 'D_%s_%d', 'level': 'redirect', 'reason': 'r', 'did': 'd'}",
			type, iteration);
	assert_int_equal(append(f, &e, NULL), 0);
}

static str verdict_on(struct fixture *f, const char *id)
{
	for (size_t i = f->log.n; i-- > 0;)
		if (f->log.p[i]->kind == EV_DETECTION_JUDGED &&
				str_is(value_str_at(f->log.p[i]->data, "detection"), id))
			return value_str_at(f->log.p[i]->data, "effectiveness");
	return STR("");
}

/*
 * Accepted work judges what was open about it, and the handoffs say what helped: few lines of it.
 */
TEST(what_helped_is_handed_on)
{
	_cleanup_(fixture_done) struct fixture f;
	const struct goal *g;
	str goal;

	fixture_init(&f);
	goal = create_goal(&f, flat_plan(&f, 1), "normal");
	settle(&f);
	bring_to(&f, "T1", STAGE_ACCEPT);
	for (int i = 1; i <= HANDOFF_OVERSIGHT + 3; i++)
		find_one(&f, goal, "T1", "stuck", i);
	find_one(&f, goal, "", "resource_burn", 1);
	accept_node(&f, "T1");
	assert_true(str_is(verdict_on(&f, "D_stuck_1"), "helpful"));
	assert_int_equal(node_of(&f, "T1")->handoff->oversight.n, HANDOFF_OVERSIGHT);
	assert_true(str_eq(node_of(&f, "T1")->handoff->oversight.p[0],
			STR("oversight: stuck (high) at iteration 8, answered by redirect, helped: "
			    "the "
			    "work was accepted after it")));
	settle(&f);
	g = state_goal(f.state, goal);
	assert_int_equal(g->status, GOAL_COMPLETED);
	assert_true(str_is(verdict_on(&f, "D_resource_burn_1"), "helpful"));
	assert_int_equal(count_events(&f, EV_DETECTION_JUDGED), HANDOFF_OVERSIGHT + 4);
	assert_int_equal(g->handoff->oversight.n, HANDOFF_OVERSIGHT);
	assert_true(str_starts(g->handoff->oversight.p[0], STR("oversight: resource_burn (high)")));
	assert_true(str_contains(handoff_text(&f.arena, node_of(&f, "T1")->handoff, STR("")),
			STR("> oversight: stuck (high) at iteration 8")));
}

/* What ends without having shown anything stays unknown, and nothing is said of it. */
TEST(what_is_cancelled_tells_nothing)
{
	_cleanup_(fixture_done) struct fixture f;
	str goal;

	fixture_init(&f);
	goal = create_goal(&f, flat_plan(&f, 2), "normal");
	settle(&f);
	bring_to(&f, "T1", STAGE_RUNNING);
	find_one(&f, goal, "T1", "oscillation", 1);
	find_one(&f, goal, "T2", "stuck", 1);
	submit(&f, "work.cancel", json(&f, "{'node': 'T1', 'reason': 'no longer wanted'}"));
	assert_true(str_is(verdict_on(&f, "D_oscillation_1"), "unknown"));
	assert_true(str_is(verdict_on(&f, "D_stuck_1"), ""));
	submit(&f, "work.update",
			json(&f, "{'node': 'T2', 'status': 'done', 'reason': 'by hand'}"));
	assert_true(str_is(verdict_on(&f, "D_stuck_1"), "unknown"));
	assert_int_equal(node_of(&f, "T2")->handoff->oversight.n, 0);
}

TEST_MAIN
