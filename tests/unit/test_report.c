#include "tests/test.h"

#include "base/duration.h"
#include "cli/report/report_layout.h"
#include "cli/report/report_page.h"
#include "cli/report/report_svg.h"
#include "core/report/report.h"
#include "core/report/report_tuning.h"
#include "tests/unit/core_fixture.h"

static const struct report_style utc = { 0 };

static const char doc_text[] =
		("{'at': '2026-11-15T12:00:00.000Z', 'goal': {'id': 'goal_1', 'title': 'A <b> | "
		 "`x` *y*', "
		 "'status': 'paused', 'health': 'critical', 'status_reason': 'stuck\\n# not a "
		 "heading', "
		 "'created_at': '2026-11-15T10:00:00.000Z', 'ended_at': null, 'leaves': 4, "
		 "'leaves_done': 1, 'leaves_cancelled': 0, 'leaves_blocked': 1, "
		 "'progress_centi': 2500}, "
		 "'tasks': {'total': 4, 'by': {'todo': 2, 'accepted': 1, 'split': 0, 'cancelled': "
		 "1}, 'rows': "
		 "[{'node': 'T1', 'name': 'a|b', 'became': 'accepted', 'at': "
		 "'2026-11-15T11:00:00.000Z', 'commit': '0123456789abcdef', 'reason': 'accepted "
		 "as 0', "
		 "'accepted': 3, 'reverted': 2, 'reopened': 1}]}, "
		 "'usage': {'iterations': {'used': 3, 'estimate': 4, 'limit': 12}, "
		 "'cost_microusd': {'used': 1500000, 'estimate': 2000000, 'limit': 'unlimited'}}, "
		 "'progress': [{'at': '2026-11-15T10:00:00.000Z', 'progress_centi': 0, 'done': 0}, "
		 "{'at': '2026-11-15T11:00:00.000Z', 'progress_centi': 2500, 'done': 1}], "
		 "'spending': [{'at': '2026-11-15T10:00:00.000Z', 'cost_microusd': 0, 'tokens': "
		 "0}, "
		 "{'at': '2026-11-15T11:00:00.000Z', 'cost_microusd': 1500000, 'tokens': 900}], "
		 "'iterations': {'total': 60, 'failed': 2, 'rows': [{'number': 3, 'node': 'T1', "
		 "'at': '2026-11-15T11:00:00.000Z', 'agent': 'a', 'failed': true, "
		 "'failure_class': 'check', 'error': 'E1 </td>\\nmore', 'tests': 'failing', "
		 "'tests_passed': 1, 'tests_failed': 2, 'coverage_format': 'lcov', "
		 "'coverage_centi': 8149, 'completion_source': 'reported', 'completion_centi': "
		 "1250, "
		 "'duration_ms': 61000, 'cost_microusd': 500000, 'tokens': 300}]}, "
		 "'detections': {'total': 1, 'by_level': {'log': 0, 'redirect': 1}, 'verdicts': "
		 "{'helpful': "
		 "0, 'unhelpful': 1, 'unknown': 0, 'open': 0}, 'rows': "
		 "[{'id': 'd', "
		 "'at': '2026-11-15T11:30:00.000Z', 'node': 'T1', 'iteration': 3, 'type': 'stuck', "
		 "'severity': 'high', 'message': '3 times \\\"E1\\\"', 'level': 'redirect', "
		 "'did': 'told it', 'effectiveness': 'unhelpful', 'because': 'again', "
		 "'false_positive': true}]}, "
		 "'changes': {'total': 0, 'rows': []}, 'notices': {'total': 0, 'rows': []}, "
		 "'inbox': {'total': 0, 'rows': []}, "
		 "'next': [{'text': 'do it', 'command': 'overseer goal resume goal_1'}]}");

static const char markdown[] =
		("# A \\<b\\> \\| \\`x\\` \\*y\\*\n\n**paused**, health **critical**\n\n"
		 "Goal goal_1, created 2026-11-15 10:00; as of 2026-11-15 12:00. stuck # not a "
		 "heading\n"
		 "\n## Where it stands\n\n"
		 "- 1 of 4 tasks done, 1 blocked, 0 cancelled: 25.0 %\n"
		 "- 3 of 12 runs; expected: 4\n"
		 "- $1.50, unlimited; expected: $2.00\n"
		 "- 60 iterations, 2 of them failed\n"
		 "- 1 detection, answered by: 1 redirect. Helpful: 0, unhelpful: 1, unknown: 0, "
		 "still open: 0.\n"
		 "\n## What is next\n\n- do it `overseer goal resume goal_1`\n"
		 "\n## Tasks\n\n2 todo, 1 cancelled, 1 accepted\n\nThe newest 1 of 4.\n\n"
		 "| task | name | became | when | commit | notes |\n|---|---|---|---|---|---|\n"
		 "| T1 | a\\|b | accepted | 2026-11-15 11:00 | 0123456789ab | taken back 2 times; "
		 "reopened 1 time; accepted as 0 |\n"
		 "\n## Progress\n\n| when | | progress |\n|---|---|---:|\n"
		 "| 2026-11-15 10:00 | `------------------------------` | 0.0 % |\n"
		 "| 2026-11-15 11:00 | `#######-----------------------` | 25.0 % |\n"
		 "\n## Spending\n\n| when | | cost |\n|---|---|---:|\n"
		 "| 2026-11-15 10:00 | `------------------------------` | $0.00 |\n"
		 "| 2026-11-15 11:00 | `##############################` | $1.50 |\n"
		 "\n## Detections and interventions\n\n"
		 "| when | where | iteration | found | severity | answer | what was done | did it "
		 "help "
		 "|\n|---|---|---:|---|---|---|---|---|\n"
		 "| 2026-11-15 11:30 | T1 | 3 | 3 times \"E1\" | high | redirect | told it "
		 "| "
		 "unhelpful (false positive): again |\n"
		 "\n## Iterations\n\nThe newest 1 of 60.\n\n"
		 "| # | task | when | agent | result | tests | coverage | complete | tokens | cost "
		 "| "
		 "took |\n|---:|---|---|---|---|---|---:|---:|---:|---:|---:|\n"
		 "| 3 | T1 | 2026-11-15 11:00 | a | check: E1 \\</td\\> | 1/3 | 81.5 % | "
		 "12.5 % reported | 300 | $0.50 | 1m1s |\n");

static const struct report_goal_doc *doc(struct fixture *f)
{
	return shape_fill(&f->arena, report_goal_doc_shape(), json(f, "%s", doc_text));
}

TEST(markdown_says_it_and_means_nothing_else)
{
	_cleanup_(fixture_done) struct fixture f;
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	fixture_init(&f);
	report_markdown(&b, doc(&f), &utc);
	assert_string_equal(buf_cstr(&b), markdown);
}

static const char svg[] = ("<svg viewBox=\"0 0 860 186\" role=\"img\" "
			   "aria-label=\"Progress in percent over time\">\n");

TEST(a_chart_has_its_steps_where_they_belong)
{
	_cleanup_(fixture_done) struct fixture f;
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	str text;

	fixture_init(&f);
	report_svg(&b, CHART_PROGRESS, doc(&f), &utc);
	text = buf_str(&b);
	assert_true(str_starts(text, str_from(svg)));
	/* Half of the way at 11:00; a quarter of the height. */
	assert_true(str_contains(text,
			STR("<path class=\"line\" d=\"M76 162H76V162H460V124H844\"/>")));
	assert_true(str_contains(text, STR(">10:00</text>")));
	assert_true(str_contains(text, STR(">12:00</text>")));
	assert_true(str_ends(text, STR("</svg>\n")));
}

/* Times are those of the reader. */
TEST(times_are_local)
{
	_cleanup_(fixture_done) struct fixture f;
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	fixture_init(&f);
	report_markdown(&b, doc(&f), &(struct report_style){ 3600 * 1000 });
	assert_true(str_contains(buf_str(&b),
			STR("created 2026-11-15 11:00; as of 2026-11-15 13:00")));
}

TEST(nothing_of_a_text_is_markup)
{
	static const struct {
		str in, out;
	} cases[] = {
		{ STR("a<script>&\"'"), STR("a&#60;script&#62;&#38;&#34;&#39;") },
		{ STR("\x1b[31m\x01"), STR("\xef\xbf\xbd[31m\xef\xbf\xbd") },
		{ STR("\xff\xfe"), STR("\xef\xbf\xbd\xef\xbf\xbd") },
		{ STR("\xe2\x80\xae"
		      "abc"),
				STR("\xef\xbf\xbd"
				    "abc") },
		{ STR("\xef\xbf\xbe"), STR("\xef\xbf\xbd") }, /* not a character */
		{ STR("gr\xc3\xbc\xc3\x9f\n\t"), STR("gr\xc3\xbc\xc3\x9f\n\t") },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		_cleanup_(buf_done) struct buf b = BUF_INIT;

		report_escape(&b, cases[i].in);
		assert_true(str_eq(buf_str(&b), cases[i].out));
	}
}

TEST(html_has_no_text_of_others_unescaped)
{
	_cleanup_(fixture_done) struct fixture f;
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	fixture_init(&f);
	report_html(&b, doc(&f), &utc);
	assert_false(str_contains(buf_str(&b), STR("<b>")));
	assert_true(str_contains(buf_str(&b), STR("<title>A &#60;b&#62; | `x` *y*</title>")));
	assert_true(str_contains(buf_str(&b), STR("E1 &#60;/td&#62;")));
	assert_false(str_contains(buf_str(&b), STR("<script")));
	assert_true(str_ends(buf_str(&b), STR("</body>\n</html>\n")));
}

/* ---- the folds ---- */

static struct event event(struct fixture *f, enum event_kind kind, ov_time at, const char *goal,
		const char *node, value *data)
{
	struct event e = { .kind = kind,
		.at = at,
		.actor = STR("overseer"),
		.goal = str_from(goal),
		.node = str_from(node),
		.run = STR("R1"),
		.data = data };

	f->now = MAX(f->now, at);
	event_fill(&f->arena, &e);
	return e;
}

static void detectors_event(struct fixture *f, struct report_detectors *r, enum event_kind kind,
		const char *node, value *data)
{
	struct event e = event(f, kind, 1000, "g", node, data);

	report_detectors_add(r, &e);
}

static void found(struct fixture *f, struct report_detectors *r, const char *id, const char *type,
		const char *severity, const char *level, int iteration)
{
	detectors_event(f, r, EV_DETECTION_MADE, "T1",
			json(f,
					"{'detection': {'id': '%s', 'type': '%s', 'severity': "
					"'%s', "
					"'iteration': %d}}",
					id, type, severity, iteration));
	detectors_event(f, r, EV_INTERVENTION_APPLIED, "T1",
			json(f, "{'detection': '%s', 'level': '%s'}", id, level));
}

static void judged(struct fixture *f, struct report_detectors *r, const char *id,
		const char *verdict, bool false_positive)
{
	detectors_event(f, r, EV_DETECTION_JUDGED, "T1",
			json(f,
					"{'detection': '%s', 'effectiveness': '%s', 'because': "
					"'x', "
					"'false_positive': %s}",
					id, verdict, false_positive ? "true" : "false"));
}

static void iteration(struct fixture *f, struct report_detectors *r, int number, const char *tree)
{
	detectors_event(f, r, EV_ITERATION_RECORDED, "T1",
			json(f, "{'iteration': {'number': %d, 'tree': '%s'}}", number, tree));
}

static const value *row_of(const value *doc, const char *type)
{
	const value *rows = value_at(doc, "detectors");

	for (size_t i = 0; i < value_count(rows); i++)
		if (str_is(value_str_at(value_item(rows, i), "type"), type))
			return value_item(rows, i);
	fail_msg("no row of %s", type);
	return NULL;
}

/* Who reads a document as a struct has all of it. */
static void assert_comes_back(struct fixture *f, const struct shape *s, const value *doc)
{
	assert_true(value_equal(shape_data(&f->arena, s, shape_fill(&f->arena, s, doc)), doc));
}

TEST(precision_is_of_what_can_be_told)
{
	_cleanup_(fixture_done) struct fixture f;
	struct report_detectors *r = report_detectors_new(STR("g"));
	struct oversight o;
	const value *doc, *row;

	fixture_init(&f);
	oversight_preset(&o, PRESET_DEFAULT);
	for (int i = 0; i < 5; i++)
		found(&f, r, (const char *[]){ "a", "b", "c", "d", "e" }[i], "stuck", "high",
				i < 3 ? "redirect" : "pause", i);
	judged(&f, r, "a", "helpful", false);
	judged(&f, r, "b", "helpful", false);
	judged(&f, r, "c", "helpful", false);
	judged(&f, r, "c", "unhelpful", true); /* a person has the last word */
	judged(&f, r, "d", "unknown", false);
	judged(&f, r, "of another goal", "helpful", false);
	doc = report_detectors_view(&f.arena, r, &o);
	row = row_of(doc, "stuck");
	assert_int_equal(value_int_at(row, "detections"), 5);
	assert_int_equal(value_int_at(row, "helpful"), 2);
	assert_int_equal(value_int_at(row, "unhelpful"), 1);
	assert_int_equal(value_int_at(row, "unknown"), 1);
	assert_int_equal(value_int_at(row, "open"), 1);
	assert_int_equal(value_int_at(row, "false_positives"), 1);
	assert_int_equal(value_int_at(row, "precision_milli"), 666);
	assert_int_equal(value_int_at(value_at(row, "levels"), "redirect"), 3);
	assert_int_equal(value_int_at(value_at(row, "levels"), "pause"), 2);
	assert_int_equal(value_at(row_of(doc, "oscillation"), "precision_milli")->kind, V_NULL);
	assert_comes_back(&f, report_detectors_doc_shape(), doc);
	report_detectors_free(r);
}

static bool has_hint(struct fixture *f, const struct tuning_facts *facts, const char *option)
{
	struct oversight o;
	const value *hints;

	oversight_preset(&o, PRESET_DEFAULT);
	hints = tuning_hints(&f->arena, facts, &o);
	for (size_t i = 0; i < value_count(hints); i++) {
		const value *h = value_item(hints, i);

		/* Every option that is named exists. */
		assert_int_not_equal(value_at(h, "now")->kind, V_NULL);
		if (str_is(value_str_at(h, "option"), option))
			return true;
	}
	return false;
}

TEST(hints_come_when_they_apply)
{
	static const struct {
		struct tuning_facts facts;
		const char *option;
		bool hint;
	} cases[] = {
		{ { .all = 5, .logged = 5 }, "oversight.stuck.same_error_count", true },
		{ { .all = 6, .logged = 5 }, "oversight.stuck.same_error_count", false },
		{ { .all = 4, .logged = 4 }, "oversight.stuck.same_error_count", false },
		{ { .all = 4, .stopped = 4, .stopped_successful = 2 },
				"oversight.stuck.same_error_count", true },
		{ { .all = 4, .stopped = 4, .stopped_successful = 1 },
				"oversight.stuck.same_error_count", false },
		{ { .all = 1, .found = { [DETECT_STUCK] = 1 }, .returns = 2 },
				"oversight.oscillation.undo_redo_cycles", true },
		{ { .all = 2,
				  .found = { [DETECT_STUCK] = 1, [DETECT_OSCILLATION] = 1 },
				  .returns = 2 },
				"oversight.oscillation.undo_redo_cycles", false },
		{ { .all = 3, .found = { [DETECT_BURN] = 3 }, .burn_critical = 2 },
				"oversight.resource.cost_multiplier", true },
		{ { .all = 5, .found = { [DETECT_BURN] = 5 }, .burn_critical = 2 },
				"oversight.resource.cost_multiplier", false },
		{ { .all = 2, .found = { [DETECT_REGRESSION] = 2 }, .regressions_brief = 1 },
				"oversight.regression.coverage_drop_percent", true },
		{ { .all = 3, .found = { [DETECT_REGRESSION] = 3 }, .regressions_brief = 1 },
				"oversight.regression.coverage_drop_percent", false },
	};
	_cleanup_(fixture_done) struct fixture f;

	fixture_init(&f);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(has_hint(&f, &cases[i].facts, cases[i].option), cases[i].hint);
}

/* The facts of hints, from the log: brief regressions, and trees that come back. */
TEST(hints_are_made_of_the_log)
{
	_cleanup_(fixture_done) struct fixture f;
	struct report_detectors *r = report_detectors_new(STR(""));
	struct oversight o;
	const value *hints;

	fixture_init(&f);
	oversight_preset(&o, PRESET_DEFAULT);
	iteration(&f, r, 1, "a");
	iteration(&f, r, 2, "b");
	iteration(&f, r, 3, "a");
	iteration(&f, r, 4, "b");
	found(&f, r, "s", "stuck", "high", "redirect", 4);
	found(&f, r, "x", "regression", "high", "warn", 4);
	found(&f, r, "y", "regression", "high", "warn", 4);
	iteration(&f, r, 5, "c");
	judged(&f, r, "x", "helpful", false);
	hints = value_at(report_detectors_view(&f.arena, r, &o), "hints");
	assert_int_equal(value_count(hints), 2);
	assert_string_equal(arena_cstr(&f.arena, value_str_at(value_item(hints, 0), "option")),
			"oversight.oscillation.undo_redo_cycles");
	assert_string_equal(arena_cstr(&f.arena, value_str_at(value_item(hints, 1), "option")),
			"oversight.regression.coverage_drop_percent");
	report_detectors_free(r);
}

TEST(a_goal_is_told_from_its_log)
{
	_cleanup_(fixture_done) struct fixture f;
	struct report_goal *r;
	const value *doc, *curve;
	str goal;

	fixture_init(&f);
	goal = create_goal(&f, flat_plan(&f, 2), "normal");
	r = report_goal_new(goal);
	drain(&f);
	for (size_t i = 0; i < f.log.n; i++)
		if (report_goal_wants(str_from(event_name(f.log.p[i]->kind))))
			report_goal_add(r, f.log.p[i]);
	doc = report_goal_view(&f.arena, r, f.state, NULL, f.now);
	assert_string_equal(arena_cstr(&f.arena, value_str_at(value_at(doc, "goal"), "status")),
			"completed");
	curve = value_at(doc, "progress");
	assert_int_equal(value_int_at(value_item(curve, 0), "progress_centi"), 0);
	assert_int_equal(value_int_at(value_item(curve, value_count(curve) - 1), "progress_centi"),
			10000);
	assert_int_equal(value_int_at(value_at(doc, "iterations"), "total"),
			(int64_t)count_events(&f, EV_ITERATION_RECORDED));
	assert_true(value_int_at(value_at(doc, "iterations"), "total") >= 2);
	assert_comes_back(&f, report_goal_doc_shape(), doc);
	report_goal_free(r);
}

/* However long it gets: the newest rows, and curves that end where they are. */
TEST(a_report_is_bounded)
{
	_cleanup_(fixture_done) struct fixture f;
	struct report_goal *r;
	const value *doc, *curve, *its;
	str goal;

	fixture_init(&f);
	goal = create_goal(&f, flat_plan(&f, 1), "normal");
	r = report_goal_new(goal);
	for (int i = 1; i <= 3000; i++) {
		struct event e = { .kind = EV_ITERATION_RECORDED,
			.at = 1000 * i,
			.goal = goal,
			.node = STR("T1"),
			.actor = STR("overseer") };
		_cleanup_(arena_done) struct arena a = ARENA_INIT;

		e.run = arena_printf(&a, "R%d", i);
		e.data = json(&f,
				"{'iteration': {'number': %d, 'completion_source': 'reported', "
				"'completion_centi': %d}}",
				i, i);
		event_fill(&f.arena, &e);
		report_goal_add(r, &e);
		e.kind = EV_GOAL_SPENT;
		e.data = json(&f, "{'amounts': {'cost_microusd': 10}}");
		event_fill(&f.arena, &e);
		report_goal_add(r, &e);
	}
	doc = report_goal_view(&f.arena, r, f.state, NULL, f.now);
	its = value_at(doc, "iterations");
	assert_int_equal(value_int_at(its, "total"), 3000);
	assert_int_equal(value_count(value_at(its, "rows")), 50);
	assert_int_equal(value_int_at(value_item(value_at(its, "rows"), 49), "number"), 3000);
	curve = value_at(doc, "spending");
	assert_in_range(value_count(curve), 100, 400);
	assert_int_equal(value_int_at(value_item(curve, value_count(curve) - 1), "cost_microusd"),
			30000);
	/*
	 * What agents say of themselves is no progress; and a curve that lacks its beginning
	 * still ends.
	 */
	curve = value_at(doc, "progress");
	assert_int_equal(value_count(curve), 1);
	assert_int_equal(value_int_at(value_item(curve, 0), "progress_centi"), 0);
	report_goal_free(r);
}

static void period_event(struct fixture *f, struct report_period *r, str goal, enum event_kind kind,
		const char *actor, const char *data)
{
	struct event e = event(f, kind, f->now + 1000, arena_cstr(&f->arena, goal), "T1",
			json(f, "%s", data));

	e.actor = str_from(actor);
	report_period_add(r, &e);
}

TEST(a_period_is_counted)
{
	static const struct {
		enum event_kind kind;
		const char *actor, *data;
	} events[] = {
		{ EV_DAEMON_STARTED, "overseer", "{'instance': 'i'}" },
		{ EV_NODE_STATUS, "human:a", "{'to': 'queued'}" },
		{ EV_RUN_ENDED, "overseer", "{}" },
		{ EV_RUN_VERIFIED, "overseer", "{'verdict': 'failed'}" },
		{ EV_RUN_ENDED, "overseer", "{}" },
		{ EV_RUN_VERIFIED, "overseer", "{'verdict': 'passed'}" },
		{ EV_NODE_FAILED, "overseer", "{'cause': 'conflict'}" },
		{ EV_NODE_ACCEPTED, "overseer", "{}" },
		{ EV_EPISODE_OPENED, "overseer", "{}" },
		{ EV_EPISODE_RUNG, "overseer", "{'rung': 'nudge'}" },
		{ EV_EPISODE_RUNG, "overseer", "{'rung': 'replan', 'skipped': true}" },
		{ EV_EPISODE_CLOSED, "overseer", "{}" },
		{ EV_DAEMON_STARTED, "overseer", "{'instance': 'j'}" },
		{ EV_DAEMON_STOPPED, "overseer", "{}" },
		{ EV_DAEMON_STARTED, "overseer", "{'instance': 'k'}" },
		{ EV_GOAL_SPENT, "overseer", "{'amounts': {'cost_microusd': 7, 'tokens': 5}}" },
		{ EV_INTERVENTION_APPLIED, "overseer", "{'level': 'warn'}" },
	};
	static const struct {
		const char *key;
		int64_t n;
	} expected[] = { { "runs", 2 }, { "accepted", 1 }, { "rejected", 1 },
		{ "fixed_on_retry", 1 }, { "conflicts", 1 }, { "conflicts_resolved", 1 },
		{ "stalls", 1 }, { "stalls_over_by_themselves", 0 }, { "daemon_starts", 3 },
		{ "daemon_crashes", 1 }, { "cost_microusd", 7 }, { "tokens", 5 }, { "people", 1 },
		{ "period_ms", 17000 }, { "unattended_ms", 15000 } };
	_cleanup_(fixture_done) struct fixture f;
	struct report_period *r;
	const value *doc;
	str goal;

	fixture_init(&f);
	f.policy.budget[RES_COST_MICROUSD] = 100;
	goal = create_goal(&f, flat_plan(&f, 1), "normal");
	drain(&f);
	r = report_period_new(f.now);
	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		period_event(&f, r, goal, events[i].kind, events[i].actor, events[i].data);
	doc = report_period_view(&f.arena, r, f.state, &f.policy, f.now);
	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		if (value_int_at(doc, expected[i].key) != expected[i].n)
			fail_msg("%s: %lld", expected[i].key,
					(long long)value_int_at(doc, expected[i].key));
	assert_int_equal(value_int_at(value_at(doc, "stalls_recovered_by"), "nudge"), 1);
	assert_int_equal(value_int_at(value_at(doc, "interventions"), "warn"), 1);
	assert_int_equal(value_int_at(doc, "budget_microusd"), 100);
	assert_comes_back(&f, report_period_doc_shape(), doc);
	report_period_free(r);
}

TEST_MAIN
