#include "tests/test.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/model/limits.h"
#include "core/plan/plan.h"
#include "core/policy/policy.h"
#include "data/value/json.h"

static value *parse(struct arena *a, const char *text)
{
	char *copy = arena_cstr(a, str_from(text));
	struct ov_err err = { 0 };
	value *v;

	for (char *p = copy; *p; p++)
		*p = *p == '\'' ? '"' : *p;
	if (json_parse(a, str_from(copy), NULL, &v, &err) < 0)
		fail_msg("%s: %s", err.msg, text);
	return v;
}

/* "path: text\n" for each problem. */
static str problems_of(struct arena *a, const value *doc)
{
	struct plan_limits limits = PLAN_LIMITS_DEFAULT;
	struct plan_report report;
	struct buf b = BUF_INIT;
	str s;

	plan_check(a, doc, &(struct plan_rules){ .limits = limits }, &report);
	for (size_t i = 0; i < report.problems.n; i++)
		buf_addf(&b, STR_FMT ": " STR_FMT "\n", STR_ARG(report.problems.p[i].path),
				STR_ARG(report.problems.p[i].text));
	s = arena_str(a, buf_str(&b));
	buf_done(&b);
	plan_report_done(&report);
	return s;
}

#define ACC "'acceptance': ['ok']"
#define TASK(id, more) "{'id': '" id "', 'name': 'n', " ACC more "}"
#define PHASE(id, tasks, more) "{'id': '" id "', 'name': 'n', 'tasks': [" tasks "]" more "}"
#define PLAN(phases) "{'phases': [" phases "]}"
#define ONE(task) PLAN(PHASE("P1", task, ""))

TEST(valid)
{
	static const char *const plans[] = {
		ONE(TASK("T1", "")),
		"{'planVersion': 1, 'goal': {'title': 't', 'successCriteria': ['s'], "
		"'constraints': "
		"['c']}, 'phases': [" PHASE("P1", TASK("T1", ""), "") "]}",
		ONE(TASK("T1",
				", 'objective': 'o', 'outcome': '', 'definitionOfDone': 'd', "
				"'deps': [], "
				"'scopePaths': ['src'], 'effort': 'S', 'risk': 'low', "
				"'requiredTools': "
				"['git'], 'suggestedAgent': 'a', 'role': 'r', 'checkCommand': "
				"'true', "
				"'priority': 5, 'sequential': true, 'subtasks': []")),
		"{'sequential': true, 'phases': [" PHASE("P1", TASK("T1", ""),
				", 'sequential': false") "]}",
		/* forwards, to a phase, to a task with subtasks, between subtasks of two tasks */
		ONE(TASK("T1", ", 'deps': ['T2']") "," TASK("T2", "")),
		PLAN(PHASE("P1", TASK("T1", ""), "") "," PHASE("P2", TASK("T2", ""),
				", 'deps': ['P1']")),
		PLAN(PHASE("P1", TASK("T1", ", 'deps': ['P2']"), "") "," PHASE("P2", TASK("T2", ""),
				"")),
		ONE(TASK("T1", ", 'subtasks': [" TASK("S1", "") "]") "," TASK("T2",
				", 'deps': ['T1'], 'subtasks': [" TASK("S2",
						", 'deps': ['S1']") "]")),
		/* twice the same dependency is no harm; a diamond is no cycle */
		ONE(TASK("T1", "") "," TASK("T2", ", 'deps': ['T1', 'T1']") "," TASK("T3",
				", 'deps': ['T1']") "," TASK("T4", ", 'deps': ['T2', 'T3']")),
		ONE(TASK("a.b-c_D9", "")),
	};

	for (size_t i = 0; i < ARRAY_LEN(plans); i++) {
		struct arena a = ARENA_INIT;
		str found = problems_of(&a, parse(&a, plans[i]));

		if (found.n)
			fail_msg("%s\n%s", plans[i], found.p);
		arena_done(&a);
	}
}

TEST(each_rule)
{
	static const struct {
		const char *plan, *problems; /* all of them */
	} cases[] = {
		{ "5", "(top): expected object, found integer\n" },
		{ "[]", "(top): expected object, found array\n" },
		{ "{}", "(top): \"phases\" is missing\n" },
		{ "{'phases': []}", "phases: must not be empty\n" },
		{ "{'phases': {}}", "phases: expected array, found object\n" },
		{ "{'phases': [3]}", "phases[0]: expected object, found integer\n" },
		{ PLAN(PHASE("P1", "", "")), "phases[0].tasks: must not be empty\n" },
		{ PLAN("{'id': 'P1', 'name': 'n'}"), "phases[0]: \"tasks\" is missing\n" },
		{ "{'planVersion': 0, 'phases': [" PHASE("P1", TASK("T1", ""), "") "]}",
				"planVersion: expected a whole number from 1 on\n" },
		{ "{'planVersion': 7, 'phases': [" PHASE("P1", TASK("T1", ""), "") "]}",
				"planVersion: 7, but the first plan of a goal is version 1 (a "
				"later "
				"one is checked with --goal ID)\n" },
		{ "{'planVersion': '1', 'phases': [" PHASE("P1", TASK("T1", ""), "") "]}",
				"planVersion: expected a whole number from 1 on\n" },
		{ "{'goal': 1, 'phases': [" PHASE("P1", TASK("T1", ""), "") "]}",
				"goal: expected object, found integer\n" },
		{ "{'goal': {'title': ' '}, 'phases': [" PHASE("P1", TASK("T1", ""), "") "]}",
				"goal.title: must not be empty\n" },
		{ ONE("{'id': 'T1', 'name': 'n'}"),
				"phases[0].tasks[0]: \"acceptance\" is missing\n" },
		{ ONE("{'id': 'T1', 'name': 'n', 'acceptance': []}"),
				"phases[0].tasks[0].acceptance: must not be empty\n" },
		{ ONE("{'id': 'T1', 'name': 'n', 'acceptance': ['']}"),
				"phases[0].tasks[0].acceptance[0]: must not be empty\n" },
		{ ONE("{'id': 'T1', 'name': 'n', 'acceptance': 'x'}"),
				"phases[0].tasks[0].acceptance: expected array, found string\n" },
		{ ONE("{'id': 'T1', 'name': '', " ACC "}"),
				"phases[0].tasks[0].name: must not be empty\n" },
		{ ONE("{'id': 'T1', " ACC "}"), "phases[0].tasks[0]: \"name\" is missing\n" },
		{ ONE("{'name': 'n', " ACC "}"), "phases[0].tasks[0]: \"id\" is missing\n" },
		{ ONE(TASK("", "")), "phases[0].tasks[0].id: an id has 1 to 64 characters\n" },
		{ ONE(TASK("a/b", "")),
				"phases[0].tasks[0].id: an id starts with a letter or digit and "
				"has only letters, digits, \".\", \"-\", \"_\"\n" },
		{ ONE(TASK("-x", "")),
				"phases[0].tasks[0].id: an id starts with a letter or digit and "
				"has only letters, digits, \".\", \"-\", \"_\"\n" },
		{ ONE(TASK("a..b", "")),
				"phases[0].tasks[0].id: an id must not contain \"..\" or end in "
				"\".\" or "
				"\".lock\"\n" },
		{ ONE(TASK("a.lock", "")),
				"phases[0].tasks[0].id: an id must not contain \"..\" or end in "
				"\".\" or "
				"\".lock\"\n" },
		{ ONE(TASK("T1", ", 'priority': 0")),
				"phases[0].tasks[0].priority: a priority is 1 (urgent) to 5 "
				"(background)\n" },
		{ ONE(TASK("T1", ", 'priority': 6")),
				"phases[0].tasks[0].priority: a priority is 1 (urgent) to 5 "
				"(background)\n" },
		{ ONE(TASK("T1", ", 'priority': 'high'")),
				"phases[0].tasks[0].priority: expected integer, found string\n" },
		{ ONE(TASK("T1", ", 'risk': 'medium'")),
				"phases[0].tasks[0].risk: a risk is low, med or high\n" },
		{ ONE(TASK("T1", ", 'risk': 1")),
				"phases[0].tasks[0].risk: expected string, found integer\n" },
		{ ONE(TASK("T1", ", 'scopePaths': ['a/b', '/etc', '../x', 'a/../b', 'a..b', '']")),
				"phases[0].tasks[0].scopePaths[5]: must not be empty\n"
				"phases[0].tasks[0].scopePaths[1]: must be relative to the "
				"repository, not absolute\n"
				"phases[0].tasks[0].scopePaths[2]: must not contain \"..\"\n"
				"phases[0].tasks[0].scopePaths[3]: must not contain \"..\"\n" },
		{ ONE(TASK("T1", ", 'scopePaths': 'src'")),
				"phases[0].tasks[0].scopePaths: expected array, found string\n" },
		{ ONE(TASK("T1", ", 'verification': []")),
				"phases[0].tasks[0].verification: verification contracts are not "
				"supported yet; remove \"verification\" from T1, or give it a "
				"\"checkCommand\" instead\n" },
		{ ONE(TASK("T1", ", 'sequential': 1")),
				"phases[0].tasks[0].sequential: expected boolean, found "
				"integer\n" },
		{ ONE(TASK("T1", ", 'subtasks': [" TASK("S1", ", 'sequential': true") "]")),
				"phases[0].tasks[0].subtasks[0]: unknown key \"sequential\"\n" },
		{ ONE(TASK("T1", ", 'subtasks': 1")),
				"phases[0].tasks[0].subtasks: expected array, found integer\n" },
		{ ONE(TASK("T1", ", 'checkCommand': 'a\\u0000b'")),
				"phases[0].tasks[0].checkCommand: must not contain NUL\n" },
		{ ONE(TASK("T1", ", 'acceptence': []")),
				"phases[0].tasks[0]: unknown key \"acceptence\" (did you mean "
				"\"acceptance\"?)\n" },
		{ ONE(TASK("T1", ", 'zzzzzz': 1")),
				"phases[0].tasks[0]: unknown key \"zzzzzz\"\n" },
		/* keys have their tier */
		{ PLAN(PHASE("P1", TASK("T1", ""), ", 'priority': 1")),
				"phases[0]: unknown key \"priority\"\n" },
		{ ONE(TASK("T1", ", 'subtasks': [" TASK("S1", ", 'subtasks': []") "]")),
				"phases[0].tasks[0].subtasks[0]: unknown key \"subtasks\"\n" },
		{ ONE(TASK("T1", ", 'deps': ['T9']")),
				"phases[0].tasks[0].deps[0]: \"T9\" is not a node of this plan "
				"(nearest: "
				"\"T1\")\n" },
		{ ONE(TASK("T1.9", ", 'deps': ['T1.8']")),
				"phases[0].tasks[0].deps[0]: \"T1.8\" is not a node of this plan "
				"(nearest: "
				"\"T1.9\")\n" },
		{ ONE(TASK("T1", ", 'deps': ['nowhere-near']")),
				"phases[0].tasks[0].deps[0]: \"nowhere-near\" is not a node of "
				"this plan\n" },
		{ ONE(TASK("T1", ", 'deps': [1]")),
				"phases[0].tasks[0].deps[0]: expected string, found integer\n" },
		{ ONE(TASK("T1", "") "," TASK("T1", "")),
				"phases[0].tasks[1].id: \"T1\" is already the id of "
				"phases[0].tasks[0]\n" },
		{ PLAN(PHASE("P1", TASK("P1", ""), "")),
				"phases[0].tasks[0].id: \"P1\" is already the id of phases[0]\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena a = ARENA_INIT;
		str found = problems_of(&a, parse(&a, cases[i].plan));

		if (!str_is(found, cases[i].problems))
			fail_msg("%s\nfound: %s\nwanted: %s", cases[i].plan, found.p,
					cases[i].problems);
		arena_done(&a);
	}
}

/* A task that nobody can take is told when the plan is given; the plan is valid all the same. */
TEST(agents_that_are_not_configured)
{
	struct policy_agent agents[] = { { .name = STR("claude") }, { .name = STR("codex") } };
	str all = STR("*");
	struct policy policy = { .agents = agents,
		.agents_n = ARRAY_LEN(agents),
		.allow_agents = &all,
		.allow_agents_n = 1 };
	struct plan_rules rules = { .limits = PLAN_LIMITS_DEFAULT, .policy = &policy };
	struct arena a = ARENA_INIT;
	struct plan_report report;

	plan_check(&a,
			parse(&a,
					ONE(TASK("T1", ", 'suggestedAgent': 'codx'") "," TASK("T2",
							", 'suggestedAgent': 'codex'"))),
			&rules, &report);
	assert_int_equal(report.problems.n, 0);
	assert_int_equal(report.warnings.n, 1);
	assert_string_equal(report.warnings.p[0].path.p, "phases[0].tasks[0].suggestedAgent");
	assert_string_equal(report.warnings.p[0].text.p,
			"agent \"codx\" is not configured; configured: claude, codex; T1 cannot "
			"start "
			"until it is");
	plan_report_done(&report);
	assert_string_equal(policy_no_agent(&a, &policy, STR("")).p,
			"no default agent is set (defaults.agent); configured: claude, codex");
	policy.agents_n = 0;
	assert_string_equal(policy_no_agent(&a, &policy, STR("")).p,
			"no agent is configured ([agents.NAME])");
	assert_int_equal(policy_no_default(&a, &policy).n, 0);
	arena_done(&a);
}

TEST(cycles)
{
	static const struct {
		const char *plan, *problems;
	} cases[] = {
		{ ONE(TASK("T1", ", 'deps': ['T1']")),
				"phases[0].tasks[0].deps[0]: task T1 depends on itself\n" },
		{ ONE(TASK("T1", ", 'deps': ['T2']") "," TASK("T2", ", 'deps': ['T1']")),
				"T1 -> T2 -> T1: dependency cycle\n" },
		{ ONE(TASK("T1", ", 'deps': ['T2']") "," TASK("T2",
				  ", 'deps': ['T3']") "," TASK("T3", ", 'deps': ['T1']")),
				"T1 -> T2 -> T3 -> T1: dependency cycle\n" },
		/* on one's own parent, and on one's own child */
		{ ONE(TASK("T1", ", 'deps': ['P1']")), "P1 -> T1 -> P1: dependency cycle\n" },
		{ PLAN(PHASE("P1", TASK("T1", ""), ", 'deps': ['T1']")),
				"P1 -> T1 -> P1: dependency cycle\n" },
		/* on one's grandparent */
		{ ONE(TASK("T1", ", 'subtasks': [" TASK("S1", ", 'deps': ['P1']") "]")),
				"P1 -> T1 -> S1 -> P1: dependency cycle\n" },
		/* through the parents of both */
		{ PLAN(PHASE("P1", TASK("T1", ""), ", 'deps': ['P2']") "," PHASE("P2",
				  TASK("T2", ", 'deps': ['T1']"), "")),
				"P1 -> P2 -> T2 -> T1 -> P1: dependency cycle\n" },
		/* against an order that is said otherwise */
		{ PLAN(PHASE("P1", TASK("T1", ", 'deps': ['T2']") "," TASK("T2", ""),
				  ", 'sequential': true")),
				"T1 -> T2 -> T1: dependency cycle: T2 waits for T1 because P1 is "
				"\"sequential\"\n" },
		{ "{'sequential': true, 'phases': [" PHASE("P1", TASK("T1", ", 'deps': ['T2']"),
				  "") "," PHASE("P2", TASK("T2", ""), "") "]}",
				"P1 -> T1 -> T2 -> P2 -> P1: dependency cycle: P2 waits for P1 "
				"because the plan is \"sequential\"\n" },
		{ ONE(TASK("T1",
				  ", 'sequential': true, 'subtasks': [" TASK("S1",
						  ", 'deps': ['S3']") "," TASK("S2",
						  "") "," TASK("S3", "") "]")),
				"S1 -> S3 -> S2 -> S1: dependency cycle: S3 waits for S2 because "
				"T1 is \"sequential\"\n" },
		/* two of them */
		{ ONE(TASK("T1", ", 'deps': ['T1']") "," TASK("T2", ", 'deps': ['T2']")),
				"phases[0].tasks[0].deps[0]: task T1 depends on itself\n"
				"phases[0].tasks[1].deps[0]: task T2 depends on itself\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena a = ARENA_INIT;
		str found = problems_of(&a, parse(&a, cases[i].plan));

		if (!str_is(found, cases[i].problems))
			fail_msg("%s\nfound: %s\nwanted: %s", cases[i].plan, found.p,
					cases[i].problems);
		arena_done(&a);
	}
}

/* As a user sees it: three mistakes, told in one go. */
TEST(all_at_once)
{
	struct arena a = ARENA_INIT;
	value *doc = parse(&a,
			PLAN(PHASE("P1", TASK("T1.9", "") "," TASK("T1.2", ", 'deps': ['T2.1']"),
					"") "," PHASE("P2",
					TASK("T2.1", ", 'deps': ['T9.9', 'T1.2']") "," TASK("T2.2",
							"") "," TASK("T2.3",
							", 'acceptence': ['x']"),
					"")));
	struct plan_limits limits = PLAN_LIMITS_DEFAULT;
	struct plan_report report;
	struct ov_err err = { 0 };
	value *v;

	assert_string_equal(problems_of(&a, doc).p,
			"phases[1].tasks[2]: unknown key \"acceptence\" (did you mean "
			"\"acceptance\"?)\n"
			"phases[1].tasks[0].deps[0]: \"T9.9\" is not a node of this plan (nearest: "
			"\"T1.9\")\n"
			"T1.2 -> T2.1 -> T1.2: dependency cycle\n");
	plan_check(&a, doc, &(struct plan_rules){ .limits = limits }, &report);
	assert_int_equal(plan_report_error(&report, &err), OV_EINVALID_PLAN);
	assert_non_null(strstr(err.msg, "3 problems, the first: phases[1].tasks[2]"));
	assert_true(err.next[0]);
	v = plan_report_view(&a, &report);
	assert_false(value_bool_at(v, "valid"));
	assert_int_equal(value_count(value_at(v, "problems")), 3);
	assert_int_equal(value_int_at(v, "phases"), 2);
	assert_int_equal(value_int_at(v, "tasks"), 5);
	plan_report_done(&report);
	arena_done(&a);
}

static value *big_plan(struct arena *a, int phases, int tasks, int subtasks)
{
	value *doc = value_object(a), *list = value_array(a);

	value_put(a, doc, "phases", list);
	for (int p = 1; p <= phases; p++) {
		value *phase = value_object(a), *ts = value_array(a);

		value_put(a, phase, "id", value_strf(a, "P%d", p));
		value_put(a, phase, "name", value_cstr(a, "phase"));
		value_put(a, phase, "tasks", ts);
		value_push(a, list, phase);
		for (int t = 1; t <= tasks; t++) {
			value *task = parse(a, "{'name': 'task', 'acceptance': ['x']}"),
			      *ss = value_array(a);

			value_put(a, task, "id", value_strf(a, "T%d.%d", p, t));
			value_put(a, task, "subtasks", ss);
			value_push(a, ts, task);
			for (int s = 1; s <= subtasks; s++) {
				value *sub = parse(a, "{'name': 'sub', 'acceptance': ['x']}");

				value_put(a, sub, "id", value_strf(a, "S%d.%d.%d", p, t, s));
				value_push(a, ss, sub);
			}
		}
	}
	return doc;
}

TEST(limits)
{
	struct arena a = ARENA_INIT;
	struct plan_limits limits = PLAN_LIMITS_DEFAULT;
	struct plan_report report;

	plan_check(&a, big_plan(&a, 5, 7, 7), &(struct plan_rules){ .limits = limits }, &report);
	assert_int_equal(report.problems.n, 0);
	assert_int_equal(report.phases, 5);
	assert_int_equal(report.tasks, 35);
	assert_int_equal(report.subtasks, 245);
	assert_int_equal(report.nodes.n, 285);
	for (size_t i = 0; i < report.nodes.n; i++)
		assert_true(report.nodes.p[i].parent < (int)i);
	plan_report_done(&report);
	assert_string_equal(problems_of(&a, big_plan(&a, 6, 1, 1)).p,
			"phases: 6 phases, at most 5 are allowed\n");
	assert_string_equal(problems_of(&a, big_plan(&a, 1, 8, 1)).p,
			"phases[0].tasks: 8 tasks, at most 7 are allowed\n");
	assert_string_equal(problems_of(&a, big_plan(&a, 1, 1, 8)).p,
			"phases[0].tasks[0].subtasks: 8 subtasks, at most 7 are allowed\n");
	arena_done(&a);
}

/* People may write more than a planner may; all tiers together have a bound of their own. */
TEST(limits_of_written_plans)
{
	struct arena a = ARENA_INIT;
	struct plan_report report;

	plan_check(&a, big_plan(&a, 49, 200, 0), &PLAN_RULES_WRITTEN, &report);
	assert_int_equal(report.problems.n, 0);
	assert_int_equal(report.nodes.n, 49 + 49 * 200);
	assert_int_equal(report.ready, 49 * 200);
	plan_report_done(&report);
	plan_check(&a, big_plan(&a, 50, 4, 50), &PLAN_RULES_WRITTEN, &report);
	assert_int_equal(report.problems.n, 1);
	assert_string_equal(report.problems.p[0].text.p,
			"more than 10000 phases, tasks and subtasks");
	assert_int_equal(report.nodes.n, LIMIT_NODES);
	plan_report_done(&report);
	plan_check(&a, big_plan(&a, 51, 1, 51), &PLAN_RULES_WRITTEN, &report);
	assert_string_equal(report.problems.p[0].text.p, "51 phases, at most 50 are allowed");
	assert_string_equal(report.problems.p[1].text.p, "51 subtasks, at most 50 are allowed");
	plan_report_done(&report);
	plan_check(&a, big_plan(&a, 1, 201, 1), &PLAN_RULES_WRITTEN, &report);
	assert_string_equal(report.problems.p[0].text.p, "201 tasks, at most 200 are allowed");
	plan_report_done(&report);
	arena_done(&a);
}

TEST(what_can_start_at_once)
{
	static const struct {
		const char *plan;
		size_t ready, leaves;
	} cases[] = {
		{ ONE(TASK("T1", "") "," TASK("T2", "")), 2, 2 },
		{ ONE(TASK("T1", "") "," TASK("T2", ", 'deps': ['T1']")), 1, 2 },
		{ PLAN(PHASE("P1", TASK("T1", "") "," TASK("T2", ""), ", 'sequential': true")), 1,
				2 },
		/* Phases alone make nobody wait. */
		{ PLAN(PHASE("P1", TASK("T1", ""), "") "," PHASE("P2", TASK("T2", ""), "")), 2, 2 },
		{ "{'sequential': true, 'phases': [" PHASE("P1", TASK("T1", "") "," TASK("T2", ""),
				  "") "," PHASE("P2", TASK("T3", "") "," TASK("T4", ""), "") "]}",
				2, 4 },
		{ ONE(TASK("T1",
				  ", 'sequential': true, 'subtasks': [" TASK("S1",
						  "") "," TASK("S2", "") "]") "," TASK("T2", "")),
				2, 3 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena a = ARENA_INIT;
		struct plan_report report;

		plan_check(&a, parse(&a, cases[i].plan), &PLAN_RULES_WRITTEN, &report);
		assert_int_equal(report.problems.n, 0);
		assert_int_equal(report.ready, cases[i].ready);
		assert_int_equal(report.leaves, cases[i].leaves);
		plan_report_done(&report);
		arena_done(&a);
	}
}

TEST(texts_are_bounded)
{
	static const struct {
		const char *key;
		size_t max;
	} cases[] = { { "name", LIMIT_NAME }, { "objective", LIMIT_TEXT }, { "role", LIMIT_NAME },
		{ "checkCommand", LIMIT_TEXT }, { "id", LIMIT_ID } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (size_t over = 0; over < 2; over++) {
			struct arena a = ARENA_INIT;
			value *doc = parse(&a, ONE(TASK("T1", "")));
			value *task = (value *)value_item(
					value_at(value_item(value_at(doc, "phases"), 0), "tasks"),
					0);
			struct buf text = BUF_INIT;

			while (text.n < cases[i].max + over)
				buf_addc(&text, 'x');
			value_put(&a, task, cases[i].key, value_str(&a, buf_str(&text)));
			assert_int_equal(problems_of(&a, doc).n > 0, over);
			buf_done(&text);
			arena_done(&a);
		}
}

/*
 * The largest that any configuration allows, with as many dependencies as fit: quick all the same.
 */
TEST(large_and_wrong)
{
	struct arena a = ARENA_INIT;
	value *doc = big_plan(&a, 10, 20, 20), *phases = (value *)value_at(doc, "phases");
	struct plan_limits limits = { 10, 20, 20 };
	struct plan_report report;

	for (size_t p = 0; p < 10; p++)
		for (size_t t = 0; t < 20; t++) {
			const value *task = value_item(value_at(value_item(phases, p), "tasks"), t);
			const value *subtasks = value_at(task, "subtasks");

			for (size_t s = 0; s < 20; s++) {
				value *deps = value_array(&a);

				for (int d = 0; d < LIMIT_LIST; d++)
					value_push(&a, deps,
							value_strf(&a, "X%zu.%zu.%d", p, t, d));
				value_put(&a, (value *)value_item(subtasks, s), "deps", deps);
			}
		}
	plan_check(&a, doc, &(struct plan_rules){ .limits = limits }, &report);
	assert_int_equal(report.problems.n, 200);
	assert_true(a.used < 64 << 20);
	plan_report_done(&report);
	arena_done(&a);
}

/*
 * A chain through all nodes of a large plan, closed at its end: found, without
 * overflowing anything.
 */
TEST(long_cycle)
{
	enum { MANY = LIMIT_NODES - 2 };
	struct arena a = ARENA_INIT;
	value *doc = big_plan(&a, 1, 1, MANY);
	struct plan_limits limits = { 1, 1, MANY };
	const value *subtasks = value_at(
			value_item(value_at(value_item(value_at(doc, "phases"), 0), "tasks"), 0),
			"subtasks");
	struct plan_report report;

	for (int s = 0; s < MANY; s++) {
		value *deps = value_array(&a);

		value_push(&a, deps, value_strf(&a, "S1.1.%d", (s + 1) % MANY + 1));
		value_put(&a, (value *)value_item(subtasks, (size_t)s), "deps", deps);
	}
	plan_check(&a, doc, &(struct plan_rules){ .limits = limits }, &report);
	assert_int_equal(report.problems.n, 1);
	assert_true(str_starts(report.problems.p[0].path, STR("S1.1.1 -> S1.1.2 -> ")));
	assert_true(str_ends(report.problems.p[0].path, STR("S1.1.9998 -> S1.1.1")));
	plan_report_done(&report);
	arena_done(&a);
}

/* The deepest way that there is: every node waits for the one before it. */
TEST(long_sequence)
{
	struct arena a = ARENA_INIT;
	value *doc = big_plan(&a, 49, 200, 0);
	const value *phases = value_at(doc, "phases");
	struct plan_report report;

	value_put(&a, doc, "sequential", value_bool(&a, true));
	for (size_t i = 0; i < value_count(phases); i++)
		value_put(&a, (value *)value_item(phases, i), "sequential", value_bool(&a, true));
	plan_check(&a, doc, &PLAN_RULES_WRITTEN, &report);
	assert_int_equal(report.problems.n, 0);
	assert_int_equal(report.ready, 1);
	plan_report_done(&report);
	arena_done(&a);
}

TEST(no_document)
{
	struct arena a = ARENA_INIT;

	assert_string_equal(problems_of(&a, NULL).p, "(top): there is no plan\n");
	arena_done(&a);
}

TEST_MAIN
