/* Who may say what in a plan: people nearly everything, a model only what describes the work. */
#include "tests/test.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/plan/plan_members.h"
#include "core/prompt/planner.h"
#include "data/value/json.h"
#include "tests/unit/core_fixture.h"

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

/*
 * What the design lets a model say. A key that is in neither list fails the test until
 * somebody decides.
 */
static const char *const for_models[] = { "planVersion", "goal", "phases", "tasks", "subtasks",
	"id", "name", "objective", "outcome", "acceptance", "deps", "scopePaths", "effort", "risk",
	"requiredTools", "definitionOfDone", "role", /* and within goal: */ "title",
	"successCriteria", "constraints" };
static const char *const for_people[] = { "sequential", "toolsAllow", "toolsDeny", "suggestedAgent",
	"checkCommand", "verification", "oversight", "priority" };

static bool listed(const char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], name) == 0)
			return true;
	return false;
}

TEST(every_key_is_decided_about)
{
	for (size_t i = 0; i < plan_keys_n; i++) {
		const char *name = plan_keys[i].name;
		bool model = listed(for_models, ARRAY_LEN(for_models), name),
		     people = listed(for_people, ARRAY_LEN(for_people), name);

		if (model == people || model != plan_keys[i].model)
			fail_msg("may a model say \"%s\"?", name);
	}
	assert_int_equal(plan_keys_n, ARRAY_LEN(for_models) + ARRAY_LEN(for_people));
}

/* Whatever a node has from a document is a key of the table. */
TEST(every_member_is_a_key)
{
	for (size_t i = 0; i < plan_members_n; i++) {
		bool found = false;

		for (size_t k = 0; k < plan_keys_n; k++)
			found |= strcmp(plan_keys[k].name, plan_members[i].key) == 0;
		assert_true(found);
	}
}

/* Something good for the key, whatever it is. */
static value *sample(struct arena *a, const struct plan_key *key)
{
	switch (key->want) {
	case WANT_ID: return value_cstr(a, "X9");
	case WANT_RISK: return value_cstr(a, "low");
	case WANT_ROLE: return value_cstr(a, "tester");
	case WANT_TEXTS: return parse(a, strcmp(key->name, "deps") == 0 ? "['Q1']" : "['x']");
	case WANT_TOOLS: return parse(a, "['edit']");
	case WANT_PATHS: return parse(a, "['src/a']");
	case WANT_PRIORITY:
	case WANT_VERSION: return value_int(a, 1);
	case WANT_BOOL: return value_bool(a, true);
	case WANT_OBJECT: return parse(a, "{}");
	case WANT_CONTRACT: return parse(a, "{'tests': ['x']}");
	case WANT_OVERSIGHT: return parse(a, "{'levels': {'stuckCritical': 'none'}}");
	case WANT_NODES:
		return parse(a,
				strcmp(key->name, "phases") == 0
						? "[{'id':'P8','name':'n','tasks':[{'id':'T8',"
						  "'name':'n','acceptance':['x']}]}]"
						: "[{'id':'T7','name':'n','acceptance':['x']}]");
	default: return value_cstr(a, "text");
	}
}

#define Q1 "{'id':'Q1','name':'q','acceptance':['x']}"
#define CREATE                                                                       \
	"{'goal':{'title':'t'},'phases':[{'id':'P1','name':'n','tasks':[{'id':'T1'," \
	"'name':'n','acceptance':['x'],'subtasks':[{'id':'S1','name':'n',"           \
	"'acceptance':['x']}]}]},{'id':'P2','name':'n','tasks':[" Q1 "]}]}"
#define SPLIT "{'subtasks':[" Q1 ",{'id':'2','name':'n','acceptance':['x']}]}"
#define DIAGNOSE "{'actions':[{'type':'nudge','message':'go on'}]}"

/* The object of an answer at which keys of that place stand. */
static value *place(const value *doc, unsigned where)
{
	const value *phase = value_item(value_at(doc, "phases"), 0), *task;

	if (where == PLAN_AT_TOP)
		return (value *)doc;
	if (where == PLAN_AT_GOAL)
		return (value *)value_at(doc, "goal");
	if (where == 1u << TIER_PHASE)
		return (value *)phase;
	task = value_item(value_at(phase, "tasks"), 0);
	return (value *)(where == 1u << TIER_TASK ? task
						  : value_item(value_at(task, "subtasks"), 0));
}

static struct planner_task task_for(struct arena *a, enum planner_purpose purpose)
{
	return (struct planner_task){
		.purpose = purpose,
		.limits = PLAN_LIMITS_DEFAULT,
		.roles = parse(a, "['writer','tester']"),
		.max_repairs = 1,
		.prompt = *template_find(str_from(planner_template_id(purpose))),
		.repair = *template_find(str_from(planner_template_id(PLANNER_PURPOSES))),
		.goal_title = STR("Rate limiting"),
		.node = parse(a, "{'id':'T1'}"),
		.plan = parse(a,
				"{'phases':[{'id':'P1','name':'n','tasks':[{'id':'T1','name':'n',"
				"'acceptance':['x']}]}]}"),
		.used_ids = parse(a, "['P1','T1']"),
		.allowed = parse(a, "['nudge','escalate']"),
	};
}

/* What becomes of the answer: accepted, or the problems. */
static bool accepted(struct arena *a, const struct planner_task *t, const value *answer,
		str *ret_problems)
{
	struct ov_err err = { 0 };
	struct planner p;

	if (planner_init(&p, a, t, &err) < 0)
		fail_msg("%s", err.msg);
	if (planner_answer(&p, json_text(a, answer), 0, 0) == PLANNER_ACCEPT)
		return true;
	*ret_problems = planner_last_errors(&p);
	/* It is asked to leave that out, and given up when it does not. */
	assert_true(str_contains(p.prompt, *ret_problems));
	assert_int_equal(planner_answer(&p, json_text(a, answer), 0, 0), PLANNER_GIVE_UP);
	return false;
}

static void check_key(const struct plan_key *key, enum planner_purpose purpose, unsigned where)
{
	static const char *const answers[] = { CREATE, SPLIT, DIAGNOSE };
	struct arena a = ARENA_INIT;
	struct planner_task t = task_for(&a, purpose);
	value *answer = parse(&a, answers[purpose]), *at = answer;
	str problems = STR("");
	bool model = key->model, ok;

	if (purpose == PLANNER_CREATE)
		at = place(answer, where);
	else if (purpose == PLANNER_SPLIT && where != PLAN_AT_TOP)
		at = (value *)value_item(value_at(answer, "subtasks"), 1);
	else if (purpose == PLANNER_DIAGNOSE && where != PLAN_AT_TOP)
		at = (value *)value_item(value_at(answer, "actions"), 0);
	/* A diagnosis has keys of its own, and none of a plan's. */
	model &= purpose == PLANNER_CREATE ||
			(purpose == PLANNER_SPLIT && where == 1u << TIER_SUBTASK);
	value_put(&a, at, key->name, sample(&a, key));
	ok = accepted(&a, &t, answer, &problems);
	if (ok != model)
		fail_msg("%s: \"%s\" is %s: %s", planner_template_id(purpose), key->name,
				ok ? "accepted" : "refused", arena_cstr(&a, problems));
	if (!ok && !str_contains(problems, str_from(key->name)))
		fail_msg("%s: the problem does not name \"%s\": %s", planner_template_id(purpose),
				key->name, arena_cstr(&a, problems));
	arena_done(&a);
}

TEST(a_model_says_only_what_it_may)
{
	for (size_t i = 0; i < plan_keys_n; i++) {
		const struct plan_key *key = &plan_keys[i];

		for (unsigned where = 1; where <= PLAN_AT_GOAL; where <<= 1)
			if (key->where & where)
				check_key(key, PLANNER_CREATE, where);
		if (key->where & 1u << TIER_SUBTASK)
			check_key(key, PLANNER_SPLIT, 1u << TIER_SUBTASK);
		if (strcmp(key->name, "subtasks") != 0)
			check_key(key, PLANNER_SPLIT, PLAN_AT_TOP);
		check_key(key, PLANNER_DIAGNOSE, PLAN_AT_TOP);
		check_key(key, PLANNER_DIAGNOSE, 1u << TIER_TASK);
	}
}

TEST(a_model_names_only_configured_roles)
{
	struct arena a = ARENA_INIT;
	struct planner_task t = task_for(&a, PLANNER_CREATE);
	value *answer = parse(&a, CREATE);
	str problems = STR("");

	value_put(&a, place(answer, 1u << TIER_TASK), "role", value_cstr(&a, "root"));
	assert_false(accepted(&a, &t, answer, &problems));
	assert_true(str_contains(problems,
			STR("phases[0].tasks[0].role: \"root\" is not a configured role (one of "
			    "[\"writer\",\"tester\"])")));
	t.roles = NULL;
	assert_false(accepted(&a, &t, answer, &problems));
	assert_true(str_contains(problems, STR("there are none")));
	arena_done(&a);
}

static const value *split_first(struct arena *a, const char *node, const char *narrowed,
		const char *parts)
{
	struct planner_task t = task_for(a, PLANNER_SPLIT);
	struct planner p;

	t.plan = parse(a,
			"{'phases':[{'id':'P1','name':'n','tasks':[{'id':'T1','name':'n',"
			"'acceptance':['x'],'subtasks':[]}]}]}");
	value_push(a,
			(value *)value_at(place(t.plan, 1u << TIER_PHASE), "tasks")
					->array.items[0]
					->object.members[3]
					.value,
			parse(a, node));
	t.node = parse(a, "{'id':'S1'}");
	t.narrowed = narrowed ? parse(a, narrowed) : NULL;
	assert_int_equal(planner_init(&p, a, &t, NULL), 0);
	if (planner_answer(&p, json_text(a, parse(a, parts)), 0, 0) != PLANNER_ACCEPT) {
		return value_str(a, planner_last_errors(&p));
	}
	return value_at(value_item(value_at(value_item(value_at(p.accepted, "phases"), 0), "tasks"),
					0),
			"subtasks");
}

/* The parts that a model makes of a node have what a person said about the node. */
TEST(a_split_keeps_what_people_said)
{
	static const char node[] =
			"{'id':'S1','name':'n','acceptance':['x'],'suggestedAgent':'b','role':"
			"'writer','priority':2,'risk':'high','toolsAllow':['edit'],'toolsDeny':['"
			"web'],"
			"'oversight':{'stuck':{'sameErrorCount':2}},'scopePaths':['src']}";
	static const char *const kept[] = { "suggestedAgent", "role", "priority", "risk",
		"toolsAllow", "toolsDeny", "oversight" };
	struct arena a = ARENA_INIT;
	const value *parts = split_first(&a, node, NULL,
				    "{'subtasks':[{'id':'1','name':'n','acceptance':['x'],'risk':'"
				    "low','role':"
				    "'tester','scopePaths':['./src/"
				    "a']},{'id':'2','name':'n','acceptance':['x']"
				    "}]}"),
		    *was = parse(&a, node);

	assert_int_equal(value_count(parts), 2);
	for (size_t i = 0; i < 2; i++)
		for (size_t k = 0; k < ARRAY_LEN(kept); k++)
			if (!value_equal(value_at(was, kept[k]),
					    value_at(value_item(parts, i), kept[k])))
				fail_msg("part %zu: %s", i, kept[k]);
	assert_string_equal(json_text(&a, value_at(value_item(parts, 0), "scopePaths")).p,
			"[\"./src/a\"]");
	assert_string_equal(json_text(&a, value_at(value_item(parts, 1), "scopePaths")).p,
			"[\"src\"]");
	/* Where it may write gets no wider. */
	parts = split_first(&a, node, NULL,
			"{'subtasks':[{'id':'1','name':'n','acceptance':['x'],'scopePaths':['src',"
			"'srcx']},{'id':'2','name':'n','acceptance':['x']}]}");
	assert_string_equal(value_str_or(parts, STR("")).p,
			"- subtasks[0].scopePaths[1]: outside of the node's own scopePaths");
	arena_done(&a);
}

TEST(a_split_gives_back_no_tool)
{
	struct arena a = ARENA_INIT;
	const value *parts = split_first(&a,
			"{'id':'S1','name':'n','acceptance':['x'],'toolsAllow':['edit','read'],"
			"'toolsDeny':['web']}",
			"{'allow':['read'],'deny':['shell','web']}", SPLIT);

	assert_int_equal(value_count(parts), 2);
	for (size_t i = 0; i < 2; i++) {
		assert_string_equal(json_text(&a, value_at(value_item(parts, i), "toolsAllow")).p,
				"[\"read\"]");
		assert_string_equal(json_text(&a, value_at(value_item(parts, i), "toolsDeny")).p,
				"[\"web\",\"shell\"]");
	}
	arena_done(&a);
}

/* The decision does not rely on whoever asked the model. */
TEST(a_plan_that_says_more_is_not_applied)
{
	struct fixture f;
	struct goal *g;

	fixture_init(&f);
	f.policy.planner = f.policy.fallback = true;
	submit(&f, "goal.create", json(&f, "{'title': 'the goal'}"));
	g = vec_last(&f.state->goals);
	submit(&f, "effect.end",
			json(&f,
					"{'effect':'" STR_FMT "','outcome':'ok','detail':'',"
					"'data':{'purpose':'create','model_ref':'m','plan_version':"
					"0,"
					"'plan':{'phases':[{'id':'P1','name':'n','tasks':[{'id':'"
					"T1',"
					"'name':'n','acceptance':['x'],'oversight':{'levels':{"
					"'stuckCritical':'none'}}}]}]}}}",
					STR_ARG(g->effect->id)));
	assert_true(str_is(g->plan_source, "fallback"));
	assert_int_equal(node_of(&f, "T1.1")->watch.settings.n, 0);
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
	fixture_done(&f);
}

/* ---- contracts ---- */

#define WITH(id, contract)                                                               \
	"{'phases': [{'id': 'P1', 'name': 'n', 'tasks': [{'id': '" id "', 'name': 'n', " \
	"'acceptance': ['x'], 'verification': " contract "}]}]}"

TEST(new_contracts_are_refused_and_old_ones_stay)
{
	struct fixture f;
	struct event e = { .kind = EV_PLAN_APPLIED };
	struct ov_err err = { 0 };
	const char *why;
	value *p;

	fixture_init(&f);
	p = json(&f, "{'title': 'new'}");
	value_put(&f.arena, p, "plan", json(&f, WITH("T1", "{'tests': ['x']}")));
	why = refused(&f, "goal.create", p, OV_EINVALID_PLAN);
	assert_non_null(strstr(why,
			"phases[0].tasks[0].verification: verification contracts are not supported "
			"yet; remove \"verification\" from T1, or give it a \"checkCommand\" "
			"instead"));
	/* A log of another time has one. */
	submit(&f, "goal.create", json(&f, "{'title': 'old', 'no_plan': true}"));
	e.goal = vec_last(&f.state->goals)->id;
	e.data = json(&f,
			"{'version': 1, 'reason': 'given', 'source': 'file', 'summary': {}, "
			"'plan': " WITH("T1", "{'tests': ['x']}") "}");
	assert_int_equal(append(&f, &e, &err), 0);
	assert_true(str_is(node_of(&f, "T1")->def.verification, "{\"tests\":[\"x\"]}"));
	/*
	 * It may stay as it is, and may be left out; it may not be changed, or be given to another.
	 */
	p = json(&f, "{'goal': '" STR_FMT "'}", STR_ARG(e.goal));
	value_put(&f.arena, p, "plan", json(&f, WITH("T1", "{'tests': ['y']}")));
	assert_non_null(strstr(refused(&f, "plan.apply", p, OV_EINVALID_PLAN), "not supported"));
	value_put(&f.arena, p, "plan", json(&f, WITH("T2", "{'tests': ['x']}")));
	assert_non_null(strstr(refused(&f, "plan.apply", p, OV_EINVALID_PLAN), "not supported"));
	value_put(&f.arena, p, "plan", json(&f, WITH("T1", "{'tests': ['x']}")));
	submit(&f, "plan.apply", p);
	assert_int_equal(vec_last(&f.state->goals)->plan_version, 1);
	value_put(&f.arena, p, "plan",
			json(&f,
					"{'phases': [{'id': 'P1', 'name': 'n', 'tasks': [{'id': "
					"'T1', "
					"'name': 'n', 'acceptance': ['x']}]}]}"));
	submit(&f, "plan.apply", p);
	assert_int_equal(node_of(&f, "T1")->def.verification.n, 0);
	fixture_done(&f);
}
