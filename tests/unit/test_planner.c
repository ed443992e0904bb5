#include "tests/test.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/prompt/planner.h"
#include "data/id/sha256.h"
#include "data/value/json.h"

TEST_MAIN

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

static str quoted(struct arena *a, const char *text)
{
	return json_text(a, parse(a, text));
}

static struct planner_task task_for(enum planner_purpose purpose)
{
	return (struct planner_task){
		.purpose = purpose,
		.limits = PLAN_LIMITS_DEFAULT,
		.max_repairs = 2,
		.prompt = *template_find(str_from(planner_template_id(purpose))),
		.repair = *template_find(str_from(planner_template_id(PLANNER_PURPOSES))),
		.goal_title = STR("Rate limiting"),
		.problem_statement = STR("Too many requests."),
		.repo_context = STR("branch main"),
	};
}

static bool has(str s, const char *needle)
{
	return str_contains(s, str_from(needle));
}

#define GOOD                                                              \
	"{'phases':[{'id':'P1','name':'All','tasks':[{'id':'T1.1','name'" \
	":'It','acceptance':['it works']}]}]}"

/* ---- templates ---- */

TEST(every_purpose_has_a_template_that_fills)
{
	for (int i = 0; i < PLANNER_PURPOSES; i++) {
		struct arena a = ARENA_INIT;
		struct planner_task t = task_for((enum planner_purpose)i);
		struct planner p;
		struct ov_err err = { 0 };

		t.plan = parse(&a, GOOD);
		t.node = parse(&a, "{'id':'T1.1','name':'It'}");
		t.allowed = parse(&a, "['nudge','escalate']");
		t.evidence = STR("silent for 17m");
		if (planner_init(&p, &a, &t, &err) < 0)
			fail_msg("%s", err.msg);
		assert_true(has(p.prompt, "Rate limiting"));
		assert_true(i == PLANNER_CREATE || has(p.prompt, "silent for 17m"));
		assert_true(i != PLANNER_DIAGNOSE || has(p.prompt, "one of: nudge, escalate."));
		arena_done(&a);
	}
}

TEST(what_is_put_in_is_never_expanded_again)
{
	struct arena a = ARENA_INIT;
	struct template t = { "x", STR("{a}-{b}-{a}") };
	struct template_var vars[] = { { "a", STR("{b}{unknown}") }, { "b", STR("B") } };
	str out;

	assert_int_equal(template_fill(&a, &t, vars, 2, &out, NULL), 0);
	assert_string_equal(out.p, "{b}{unknown}-B-{b}{unknown}");
	arena_done(&a);
}

TEST(only_a_name_in_braces_is_a_placeholder)
{
	static const char *const plain[] = { "{}", "{", "}", "{ a }", "{\"a\": 1}", "{a", "{a b}",
		"{1}", "{{", "a{", "" };
	struct arena a = ARENA_INIT;
	struct template_var vars[] = { { "a", STR("A") } };
	str out;

	for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
		struct template t = { "x", str_from(plain[i]) };

		assert_int_equal(template_fill(&a, &t, vars, 1, &out, NULL), 0);
		assert_true(str_is(out, plain[i]));
	}
	arena_done(&a);
}

TEST(an_unknown_placeholder_is_an_error_with_the_nearest)
{
	struct arena a = ARENA_INIT;
	struct planner_task t = task_for(PLANNER_CREATE);
	struct planner p;
	struct ov_err err = { 0 };

	t.prompt = (struct template){ "plan.v1", STR("Goal: {goalTitel}") };
	assert_int_equal(planner_init(&p, &a, &t, &err), OV_EINVALID);
	assert_string_equal(err.msg,
			"template plan.v1: unknown placeholder {goalTitel} (did you mean "
			"{goalTitle}?)");
	/* The repair prompt is looked at before it is needed. */
	t = task_for(PLANNER_CREATE);
	t.repair = (struct template){ "repair.v1", STR("{goalTitle}") };
	assert_int_equal(planner_init(&p, &a, &t, &err), OV_EINVALID);
	arena_done(&a);
}

/* ---- answers ---- */

/* What one answer to a new task leads to; the planner is left for further looks. */
static enum planner_step answered(struct arena *a, const struct planner_task *t, str text,
		struct planner *p)
{
	struct ov_err err = { 0 };

	if (planner_init(p, a, t, &err) < 0)
		fail_msg("%s", err.msg);
	return planner_answer(p, text, 10, 20);
}

TEST(a_good_answer_is_accepted_with_its_provenance)
{
	struct arena a = ARENA_INIT;
	struct planner_task t = task_for(PLANNER_CREATE);
	struct planner p;
	struct out_plan v;

	t.problem_statement = STR("{goalTitle} \x01 text");
	assert_int_equal(answered(&a, &t, quoted(&a, GOOD), &p), PLANNER_ACCEPT);
	v = planner_provenance(&p);
	assert_true(value_equal(p.accepted, parse(&a, GOOD)));
	assert_true(str_eq(v.raw, quoted(&a, GOOD)));
	assert_string_equal(v.template_id.p, "plan.v1");
	assert_true(str_eq(v.template_hash, sha256_hex(&a, t.prompt.text)));
	assert_string_equal(value_str_at(v.inputs, "maxPhases").p, "5");
	assert_true(has(value_str_at(v.inputs, "problemStatement"), "{goalTitle} "));
	assert_int_equal(v.tokens_out, 20);
	assert_int_equal(value_count(v.attempts), 1);
	assert_int_equal(value_count(value_at(value_item(v.attempts, 0), "errors")), 0);
	arena_done(&a);
}

TEST(one_fenced_block_around_everything_is_tolerated_and_nothing_else)
{
	static const struct {
		const char *before, *after;
		bool good;
	} cases[] = {
		{ "", "", true },
		{ " \n\t", " \r\n ", true },
		{ "```json\n", "\n```", true },
		{ "\n```\n", "\n```\n", true },
		{ "```JSON\r\n", "\n```", true },
		{ "Here is the plan:\n```json\n", "\n```", false },
		{ "```json\n", "\n```\nDone!", false },
		{ "```json\n", "", false },
		{ "", "\n```", false },
		{ "```json\n", "```", false },
		{ "```json here\n", "\n```", false },
		{ "```json\n```json\n", "\n```\n```", false },
		{ "sure: ", "", false },
		{ "", " and more", false },
		{ "\xef\xbb\xbf", "", false },
	};
	struct planner_task t = task_for(PLANNER_CREATE);

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena a = ARENA_INIT;
		struct planner p;
		str text = arena_printf(&a, "%s" STR_FMT "%s", cases[i].before,
				STR_ARG(quoted(&a, GOOD)), cases[i].after);

		if (answered(&a, &t, text, &p) != (cases[i].good ? PLANNER_ACCEPT : PLANNER_ASK))
			fail_msg("case %zu", i);
		arena_done(&a);
	}
}

TEST(every_problem_is_in_the_repair_prompt)
{
	struct arena a = ARENA_INIT;
	struct planner_task t = task_for(PLANNER_CREATE);
	struct planner p;
	str bad = quoted(&a,
			"{'phases':[{'id':'P1','name':'All','tasks':[{'id':'T1.1','name':'It'},"
			"{'id':'T1.1','name':'It','acceptance':['x'],'deps':['T9']}]}]}");

	assert_int_equal(answered(&a, &t, bad, &p), PLANNER_ASK);
	assert_true(str_starts(p.prompt, p.first));
	assert_true(has(p.prompt, "Validation errors:\n- "));
	assert_true(has(p.prompt, "acceptance"));
	assert_true(has(p.prompt, "T9"));
	assert_true(has(p.prompt, bad.p));
	/* The second answer is good: accepted, with both attempts kept. */
	assert_int_equal(planner_answer(&p, quoted(&a, GOOD), 1, 2), PLANNER_ACCEPT);
	assert_int_equal(value_count(p.attempts), 2);
	assert_int_equal(p.tokens_in, 11);
	assert_true(value_count(value_at(value_item(p.attempts, 0), "errors")) >= 3);
	arena_done(&a);
}

TEST(it_gives_up_after_as_many_repairs_as_allowed)
{
	struct arena a = ARENA_INIT;
	struct planner_task t = task_for(PLANNER_CREATE);
	struct planner p;

	assert_int_equal(answered(&a, &t, STR("no"), &p), PLANNER_ASK);
	assert_int_equal(planner_answer(&p, STR(""), 0, 0), PLANNER_ASK);
	assert_true(has(p.prompt, "the answer is empty"));
	assert_int_equal(planner_answer(&p, STR("[]"), 0, 0), PLANNER_GIVE_UP);
	assert_true(has(planner_last_errors(&p), "not an object"));
	assert_int_equal(planner_provenance(&p).raw.n, 0);
	t.max_repairs = 0;
	assert_int_equal(answered(&a, &t, STR("no"), &p), PLANNER_GIVE_UP);
	arena_done(&a);
}

TEST(a_flood_of_problems_and_bytes_stays_bounded)
{
	struct arena a = ARENA_INIT;
	struct planner_task t = task_for(PLANNER_CREATE);
	struct planner p;
	value *doc = value_object(&a), *phases = value_array(&a);
	char *junk = arena_zalloc(&a, 300000);
	struct out_plan kept;

	for (int i = 0; i < 2000; i++)
		value_push(&a, phases, value_int(&a, i));
	value_put(&a, doc, "phases", phases);
	t.limits.max_phases = 5000;
	assert_int_equal(answered(&a, &t, json_text(&a, doc), &p), PLANNER_ASK);
	assert_true(has(p.prompt, " more\n"));
	assert_true(p.prompt.n < 100000);
	memset(junk, '\xff', 299999);
	assert_int_equal(planner_answer(&p, (str){ junk, 299999 }, 0, 0), PLANNER_ASK);
	assert_true(p.prompt.n < 3 * PLANNER_PREVIOUS_BYTES + 50000);
	kept = planner_provenance(&p);
	assert_true(json_text(&a,
				    outcome_value(&a, STR("X_1"), FX_PLAN,
						    &(struct outcome){ .plan = &kept }))
					.n < 200000);
	arena_done(&a);
}

TEST(a_model_chooses_no_commands)
{
	struct arena a = ARENA_INIT;
	struct planner_task t = task_for(PLANNER_CREATE);
	struct planner p;

	assert_int_equal(
			answered(&a, &t,
					quoted(&a,
							"{'phases':[{'id':'P1','name':'All','tasks'"
							":[{'id':'T1.1','name':'It','acceptance':["
							"'x'],'checkCommand':'rm -rf /'}]}]}"),
					&p),
			PLANNER_ASK);
	assert_true(has(p.prompt,
			"phases[0].tasks[0]: a planner may not set \"checkCommand\"; leave it "
			"out"));
	arena_done(&a);
}

/* ---- split ---- */

#define PLAN                                                                                    \
	"{'planVersion':3,'phases':[{'id':'P1','name':'A','tasks':["                            \
	"{'id':'T1.1','name':'Leaf','acceptance':['x'],'checkCommand':'make','role':'r'},"      \
	"{'id':'T1.2','name':'Has','acceptance':['x'],'subtasks':["                             \
	"{'id':'S1.2.1','name':'One','acceptance':['x']},"                                      \
	"{'id':'S1.2.2','name':'Two','acceptance':['x'],'deps':['S1.2.1'],'checkCommand':'c'}," \
	"{'id':'S1.2.3','name':'Three','acceptance':['x'],'deps':['S1.2.2','T1.1']}]}]}]}"

static struct planner_task split_of(struct arena *a, const char *node)
{
	struct planner_task t = task_for(PLANNER_SPLIT);
	value *n = value_object(a);

	value_put(a, n, "id", value_cstr(a, node));
	t.node = n;
	t.plan = parse(a, PLAN);
	t.used_ids = parse(a, "['P1','T1.1','T1.2','S1.2.1','S1.2.2','S1.2.3','S1.2.4']");
	return t;
}

#define PARTS                                                                                  \
	"{'subtasks':[{'id':'1','name':'First','acceptance':['a']},{'id':'2','name':'Second'," \
	"'acceptance':['b'],'deps':['1']}]}"

TEST(a_subtask_is_split_among_its_siblings)
{
	struct arena a = ARENA_INIT;
	struct planner_task t = split_of(&a, "S1.2.2");
	struct planner p;

	assert_int_equal(answered(&a, &t, quoted(&a, PARTS), &p), PLANNER_ACCEPT);
	assert_string_equal(json_text(&a, p.accepted).p,
			json_text(&a,
					parse(&a,
							"{'planVersion':3,'phases':[{'id':'P1','"
							"name':'A','tasks':["
							"{'id':'T1.1','name':'Leaf','acceptance':['"
							"x'],"
							"'checkCommand':'make','role':'r'},"
							"{'id':'T1.2','name':'Has','acceptance':['"
							"x'],'subtasks':["
							"{'id':'S1.2.1','name':'One','acceptance':["
							"'x']},"
							"{'id':'S1.2.5','name':'First','acceptance'"
							":['a'],'deps':["
							"'S1.2.1']},{'id':'S1.2.6','name':'Second',"
							"'acceptance':["
							"'b'],'deps':['S1.2.1','S1.2.5'],'"
							"checkCommand':'c'},"
							"{'id':'S1.2.3','name':'Three','acceptance'"
							":['x'],'deps':["
							"'T1.1','S1.2.5','S1.2.6']}]}]}]}"))
					.p);
	assert_true(str_eq(p.raw, quoted(&a, PARTS)));
	arena_done(&a);
}

TEST(a_task_gets_subtasks)
{
	struct arena a = ARENA_INIT;
	struct planner_task t = split_of(&a, "T1.1");
	struct planner p;
	const value *task;

	/* The first one waits for the second: it ends the whole, so the check is its own. */
	assert_int_equal(
			answered(&a, &t,
					quoted(&a,
							"{'subtasks':[{'id':'1','name':'F',"
							"'acceptance':['a'],'deps':['2']},{'id':'2'"
							",'name':'S','acceptance':['b']}]}"),
					&p),
			PLANNER_ACCEPT);
	task = value_item(value_at(value_item(value_at(p.accepted, "phases"), 0), "tasks"), 0);
	assert_string_equal(json_text(&a, value_at(task, "subtasks")).p,
			quoted(&a,
					"[{'id':'S1.1.1','name':'F','acceptance':['a'],'deps':["
					"'S1.1.2'],'role':'r','checkCommand':'make'},{'id':"
					"'S1.1.2','name':'S','acceptance':['b'],'deps':[],'role':"
					"'r'}]")
					.p);
	arena_done(&a);
}

TEST(a_split_is_checked_as_a_plan_is)
{
	static const struct {
		const char *answer, *problem;
	} cases[] = {
		{ "{'phases':[]}", "phases" },
		{ "{'subtasks':{}}", "subtasks" },
		{ "{'subtasks':[{'id':'1','name':'F','acceptance':['a']}]}",
				"subtasks: at least 2" },
		{ "{'subtasks':[{'id':'1','name':'F','acceptance':['a']},{'id':'1','name':'F',"
		  "'acceptance':['a']}]}",
				"subtasks[1]" },
		{ "{'subtasks':[{'id':'1','name':'F','acceptance':['a']},{'id':'2','name':'F',"
		  "'acceptance':['a'],'deps':['S1.2.1']}]}",
				"subtasks[1].deps[0]" },
		{ "{'subtasks':[{'id':'1','name':'F','acceptance':['a']},{'id':'2','name':'F',"
		  "'acceptance':['a'],'deps':['T0.0']}]}",
				"subtasks[1].deps" },
		{ "{'subtasks':[{'id':'1','name':'F'},{'id':'2','name':'F','acceptance':['a'],"
		  "'budget':1}]}",
				"budget" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena a = ARENA_INIT;
		struct planner_task t = split_of(&a, "S1.2.2");
		struct planner p;

		assert_int_equal(answered(&a, &t, quoted(&a, cases[i].answer), &p), PLANNER_ASK);
		if (!has(planner_last_errors(&p), cases[i].problem))
			fail_msg("case %zu: " STR_FMT, i, STR_ARG(planner_last_errors(&p)));
		arena_done(&a);
	}
}

TEST(a_node_without_room_or_with_children_is_not_split)
{
	static const char *const nodes[] = { "T1.2", "P1", "S9.9.9", "S1.2.2" };
	struct arena a = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(nodes); i++) {
		struct planner_task t = split_of(&a, nodes[i]);
		struct planner p;

		t.limits.max_subtasks = 3;
		assert_int_equal(planner_init(&p, &a, &t, NULL), OV_ESTATE);
	}
	arena_done(&a);
}

/* ---- diagnose ---- */

TEST(a_diagnosis_is_limited_to_the_ladder)
{
	static const struct {
		const char *answer, *problem; /* NULL: accepted */
	} cases[] = {
		{ "{'actions':[{'type':'nudge','message':'What blocks you?'}]}", NULL },
		{ "{'actions':[{'type':'escalate','question':'A or B?','options':['A','B']},"
		  "{'type':'replan'}]}",
				NULL },
		{ "{'actions':[]}", "1 to 3" },
		{ "{'actions':[{'type':'replan'},{'type':'replan'},{'type':'replan'},"
		  "{'type':'replan'}]}",
				"4 entries" },
		{ "{'actions':[{'type':'nudge'}]}", "\"message\" is missing" },
		{ "{'actions':[{'type':'escalate','message':'x'}]}", "\"question\" is missing" },
		{ "{'actions':[{'type':'kill'}]}", "\"kill\" is not among" },
		{ "{'actions':[{'type':'reassign'}]}", "\"reassign\" is not among" },
		{ "{'actions':[{'type':7}]}", "not among" },
		{ "{'actions':['nudge']}", "not an object" },
		{ "{'actions':[{'type':'nudge','message':'x','command':'rm'}]}", "command" },
		{ "{'actions':[{'type':'nudge','message':[]}]}", "not a text" },
		{ "{'actions':[{'type':'nudge','message':'  '}]}", "is empty" },
		{ "{'actions':[{'type':'escalate','question':'q','options':'A'}]}", "options" },
		{ "{'actions':[{'type':'escalate','question':'q','options':[1]}]}", "not a text" },
		{ "{'actions':[{'type':'replan'}],'budget':9}", "budget" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena a = ARENA_INIT;
		struct planner_task t = task_for(PLANNER_DIAGNOSE);
		struct planner p;
		enum planner_step step;

		t.node = parse(&a, "{'id':'T1.1'}");
		t.allowed = parse(&a, "['nudge','replan','escalate']");
		step = answered(&a, &t, quoted(&a, cases[i].answer), &p);
		assert_int_equal(step, cases[i].problem ? PLANNER_ASK : PLANNER_ACCEPT);
		if (cases[i].problem && !has(planner_last_errors(&p), cases[i].problem))
			fail_msg("case %zu: " STR_FMT, i, STR_ARG(planner_last_errors(&p)));
		arena_done(&a);
	}
}

TEST(a_long_message_is_refused)
{
	struct arena a = ARENA_INIT;
	struct planner_task t = task_for(PLANNER_DIAGNOSE);
	struct planner p;
	char text[PLANNER_MESSAGE_BYTES + 2] = { 0 };

	t.allowed = parse(&a, "['nudge']");
	t.node = parse(&a, "{}");
	memset(text, 'x', PLANNER_MESSAGE_BYTES + 1);
	assert_int_equal(answered(&a, &t,
					 arena_printf(&a,
							 "{\"actions\":[{\"type\":\"nudge\","
							 "\"message\":\"%s\"}]}",
							 text),
					 &p),
			PLANNER_ASK);
	assert_true(has(planner_last_errors(&p), "at most 2000"));
	arena_done(&a);
}

TEST(purposes_have_names)
{
	static const char *const names[PLANNER_PURPOSES] = { "create", "split", "diagnose" };
	enum planner_purpose p;

	for (int i = 0; i < PLANNER_PURPOSES; i++) {
		assert_true(planner_purpose_from(str_from(names[i]), &p));
		assert_int_equal(p, i);
	}
	assert_false(planner_purpose_from(STR("repair"), &p));
}
