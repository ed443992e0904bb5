/* What is given before the story begins: policy, agents, goals with their tasks. */
#include "tests/test.h"

#include "agent/table/formats.h"
#include "base/duration.h"
#include "tests/scenario/scn.h"

enum option_kind { OPT_NUM, OPT_DUR, OPT_LIMIT, OPT_FLAG, OPT_TEXT };

#define IN_POLICY(member) offsetof(struct policy, member)
static const struct {
	const char *name;
	enum option_kind kind;
	size_t offset;
} options[] = {
	{ "workers", OPT_NUM, IN_POLICY(workers_max) },
	{ "check", OPT_TEXT, IN_POLICY(check_command) },
	{ "max_attempts", OPT_NUM, IN_POLICY(retry_max_attempts) },
	{ "no_changes_attempts", OPT_NUM, IN_POLICY(no_changes_attempts) },
	{ "conflict_rounds", OPT_NUM, IN_POLICY(conflict_rounds) },
	{ "moved_tries", OPT_NUM, IN_POLICY(moved_tries) },
	{ "dirty_wait", OPT_DUR, IN_POLICY(dirty_wait) },
	{ "dirty_notice", OPT_DUR, IN_POLICY(dirty_notice) },
	{ "max_waiting", OPT_NUM, IN_POLICY(workers_max_waiting) },
	{ "ageing", OPT_DUR, IN_POLICY(ageing) },
	{ "pre_accept", OPT_TEXT, IN_POLICY(accept.pre) },
	{ "post_accept", OPT_TEXT, IN_POLICY(accept.post) },
	{ "idle_after", OPT_DUR, IN_POLICY(idle_after) },
	{ "idle_set", OPT_FLAG, IN_POLICY(idle_set) },
	{ "max_run", OPT_DUR, IN_POLICY(max_run) },
	{ "mute_after", OPT_DUR, IN_POLICY(mute_after) },
	{ "ask_after", OPT_DUR, IN_POLICY(ask_after) },
	{ "done_grace", OPT_DUR, IN_POLICY(done_grace) },
	{ "max_retries", OPT_NUM, IN_POLICY(max_nudges) },
	{ "min_resend", OPT_DUR, IN_POLICY(min_resend_interval) },
	{ "backoff", OPT_DUR, IN_POLICY(backoff_base) },
	{ "backoff_max", OPT_DUR, IN_POLICY(backoff_max) },
	{ "limit_wait_max", OPT_DUR, IN_POLICY(limit_wait_max) },
	{ "remind_after", OPT_DUR, IN_POLICY(remind_after) },
	{ "max_reminders", OPT_NUM, IN_POLICY(max_reminders) },
	{ "default_after", OPT_DUR, IN_POLICY(default_after) },
	{ "planner", OPT_FLAG, IN_POLICY(planner) },
	{ "diagnose", OPT_FLAG, IN_POLICY(diagnose) },
	{ "same_errors", OPT_NUM, IN_POLICY(oversight.t.same_error_count) },
	{ "critical_errors", OPT_NUM, IN_POLICY(oversight.t.critical_error_count) },
	{ "estimate_runs", OPT_NUM, IN_POLICY(estimate[RES_ITERATIONS]) },
	{ "budget_runs", OPT_NUM, IN_POLICY(budget[RES_ITERATIONS]) },
	{ "budget_time", OPT_LIMIT, IN_POLICY(budget[RES_WALL_MS]) },
	{ "budget_tokens", OPT_NUM, IN_POLICY(budget[RES_TOKENS]) },
	{ "budget_microusd", OPT_NUM, IN_POLICY(budget[RES_COST_MICROUSD]) },
};
#undef OPTION

static void set_option(struct scn *s, size_t i, str text)
{
	void *member = (char *)&s->f.policy + options[i].offset;
	int64_t number = 0;
	bool ok = true;

	switch (options[i].kind) {
	case OPT_NUM: ok = str_to_i64(text, &number); break;
	case OPT_LIMIT:
		number = -1;
		ok = str_is(text, "unlimited") || duration_parse(text, &number);
		break;
	case OPT_DUR: ok = duration_parse(text, &number); break;
	case OPT_FLAG:
		*(bool *)member = str_is(text, "yes");
		ok = *(bool *)member || str_is(text, "no");
		break;
	case OPT_TEXT: *(str *)member = arena_str(&s->f.arena, text); break;
	}
	if (!ok)
		scn_fail(s, "\"" STR_FMT "\" is no value of %s", STR_ARG(text), options[i].name);
	if (options[i].kind == OPT_NUM || options[i].kind == OPT_DUR ||
			options[i].kind == OPT_LIMIT)
		*(int64_t *)member = number;
}

static void given_policy(struct scn *s, const struct args *a)
{
	const char *keys[ARRAY_LEN(options)];

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		keys[i] = options[i].name;
	pairs_only(s, a, 0, keys, ARRAY_LEN(keys));
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		str text = pair_value(s, a, 0, options[i].name);

		if (text.n)
			set_option(s, i, text);
	}
}

static int64_t pair_number(struct scn *s, const struct args *a, const char *key, int64_t otherwise)
{
	str text = pair_value(s, a, 1, key);
	int64_t n = otherwise;

	if (text.n && !str_to_i64(text, &n))
		scn_fail(s, "%s is a number", key);
	return n;
}

const str *scn_list(struct scn *s, str list, size_t *ret_n)
{
	str *words = arena_array(&s->f.arena, str, list.n + 1), word;

	for (*ret_n = 0; list.n && str_split(&list, ',', &word); ++*ret_n)
		words[*ret_n] = word;
	return *ret_n ? words : NULL;
}

static void given_agent(struct scn *s, const struct args *a)
{
	static const char *const keys[] = { "concurrency", "input", "rate_limit_exit", "login_exit",
		"recovery", "format", "tools", "tools_deny" };
	struct policy *p = &s->f.policy;
	struct policy_agent *x = &s->agents[p->agents_n];
	str recovery = pair_value(s, a, 1, "recovery");
	str name = pair_value(s, a, 1, "format");
	const struct agent_format *format = name.n ? format_find(name) : NULL;
	int rung = recovery.n ? status_parse(&rungs, recovery) : (int)RUNG_RESEND;

	if (p->agents_n == SCN_AGENTS || rung < 0 || (name.n && !format))
		scn_fail(s, "too many agents, or no such rung or format");
	pairs_only(s, a, 1, keys, ARRAY_LEN(keys));
	*x = (struct policy_agent){
		.name = a->v[0].s,
		.concurrency = pair_number(s, a, "concurrency", 256),
		.input = !str_is(pair_value(s, a, 1, "input"), "none") && !format,
		.format = format,
		.rate_limit_exit = pair_number(s, a, "rate_limit_exit", 0),
		.login_exit = pair_number(s, a, "login_exit", 0),
		.recovery = (enum rung)rung,
	};
	x->scope.allow = scn_list(s, pair_value(s, a, 1, "tools"), &x->scope.allow_n);
	x->scope.deny = scn_list(s, pair_value(s, a, 1, "tools_deny"), &x->scope.deny_n);
	if (p->agents_n++ == 0)
		p->default_agent = x->name;
}

static void given_role(struct scn *s, const struct args *a)
{
	if (s->f.policy.roles_n == SCN_AGENTS)
		scn_fail(s, "too many roles");
	s->roles[s->f.policy.roles_n++] = (struct policy_role){ a->v[0].s, a->v[1].s };
}

static void given_cross(struct scn *s, const struct args *a)
{
	if (s->f.policy.cross_n == SCN_AGENTS)
		scn_fail(s, "too many of these");
	s->cross[s->f.policy.cross_n++] = (struct policy_cross){ a->v[0].s, a->v[1].s };
}

static void given_allowed(struct scn *s, const struct args *a)
{
	str *names = arena_array(&s->f.arena, str, a->n + 1);

	for (size_t i = 0; i < a->n; i++)
		names[i] = a->v[i].s;
	s->f.policy.allow_agents = names;
	s->f.policy.allow_agents_n = a->n;
}

static void given_no_default(struct scn *s, const struct args *a)
{
	(void)a;
	s->f.policy.default_agent = STR("");
}

static int64_t minutes_of(struct scn *s, str text)
{
	ov_time at;

	if (!time_of_day(text, &at) || at >= OV_DAY)
		scn_fail(s, "a time of the day is wanted");
	return at / OV_MINUTE;
}

static void given_quiet(struct scn *s, const struct args *a)
{
	s->f.policy.quiet_from = minutes_of(s, a->v[0].s);
	s->f.policy.quiet_to = minutes_of(s, a->v[1].s);
}

static void given_start(struct scn *s, const struct args *a)
{
	s->base += -(s->base % OV_DAY) + minutes_of(s, a->v[0].s) * OV_MINUTE;
}

static void given_goal(struct scn *s, const struct args *a)
{
	static const char *const keys[] = { "priority", "at", "plan", "budget_runs" };
	struct given_goal g = { .name = a->v[0].s };
	str at = pair_value(s, a, 1, "at");

	pairs_only(s, a, 1, keys, ARRAY_LEN(keys));
	if (at.n && !time_of_day(at, &g.at))
		scn_fail(s, "a goal is created at a time");
	g.priority = pair_value(s, a, 1, "priority");
	g.params = json(&s->f, "{'title': '" STR_FMT "'}", STR_ARG(g.name));
	if (g.priority.n)
		value_put(&s->f.arena, g.params, "priority", value_str(&s->f.arena, g.priority));
	if (pair_value(s, a, 1, "budget_runs").n)
		value_put(&s->f.arena, g.params, "budget",
				json(&s->f, "{'iterations': " STR_FMT "}",
						STR_ARG(pair_value(s, a, 1, "budget_runs"))));
	if (!str_is(pair_value(s, a, 1, "plan"), "later"))
		g.plan = json(&s->f, "{'phases': []}");
	vec_push(&s->goals, g);
}

/* The last item of the list under a key of the object; NULL when there is none. */
static value *last_of(const value *object, const char *key)
{
	const value *list = value_at(object, key);

	return value_count(list) ? (value *)value_item(list, value_count(list) - 1) : NULL;
}

static struct given_goal *current_goal(struct scn *s)
{
	if (s->goals.n == 0 || !vec_last(&s->goals).plan)
		scn_fail(s, "a goal comes first");
	return &vec_last(&s->goals);
}

static void push_to(struct scn *s, value *object, const char *key, value *item)
{
	if (!value_at(object, key))
		value_put(&s->f.arena, object, key, value_array(&s->f.arena));
	value_push(&s->f.arena, (value *)value_at(object, key), item);
}

/* Everything after the id: "after A,B", then pairs. */
static void put_properties(struct scn *s, value *node, const struct args *a, size_t from)
{
	static const char *const keys[] = { "after", "agent", "role", "check", "priority", "tools",
		"tools_deny" };
	static const char *const as[] = { NULL, "suggestedAgent", "role", "checkCommand", NULL,
		NULL, NULL };
	static const char *const lists[][2] = { { "after", "deps" }, { "tools", "toolsAllow" },
		{ "tools_deny", "toolsDeny" } };
	int64_t priority;

	pairs_only(s, a, from, keys, ARRAY_LEN(keys));
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		str list = pair_value(s, a, from, lists[i][0]), item;

		while (str_split(&list, ',', &item))
			push_to(s, node, lists[i][1], value_str(&s->f.arena, item));
	}
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		str text = pair_value(s, a, from, keys[i]);

		if (as[i] && text.n)
			value_put(&s->f.arena, node, as[i], value_str(&s->f.arena, text));
	}
	if (str_to_i64(pair_value(s, a, from, "priority"), &priority))
		value_put(&s->f.arena, node, "priority", value_int(&s->f.arena, priority));
}

static void given_phase(struct scn *s, const struct args *a)
{
	value *phase = json(&s->f, "{'id': '" STR_FMT "', 'name': 'phase', 'tasks': []}",
			STR_ARG(a->v[0].s));

	put_properties(s, phase, a, 1);
	push_to(s, current_goal(s)->plan, "phases", phase);
}

static value *work(struct scn *s, const struct args *a)
{
	value *node = json(&s->f,
			"{'id': '" STR_FMT "', 'name': 'work " STR_FMT "', 'acceptance': ['x']}",
			STR_ARG(a->v[0].s), STR_ARG(a->v[0].s));

	put_properties(s, node, a, 1);
	return node;
}

static void given_task(struct scn *s, const struct args *a)
{
	struct given_goal *g = current_goal(s);

	if (!last_of(g->plan, "phases"))
		push_to(s, g->plan, "phases", json(&s->f, "{'id': 'P1', 'name': 'phase'}"));
	push_to(s, last_of(g->plan, "phases"), "tasks", work(s, a));
}

static void given_subtask(struct scn *s, const struct args *a)
{
	value *phase = last_of(current_goal(s)->plan, "phases");
	value *task = phase ? last_of(phase, "tasks") : NULL;

	if (!task)
		scn_fail(s, "a subtask comes after its task");
	push_to(s, task, "subtasks", work(s, a));
}

static void given_ignore(struct scn *s, const struct args *a)
{
	for (size_t i = 0; i < a->n; i++) {
		if (!fact_known(a->v[i].s))
			scn_fail(s, "\"" STR_FMT "\" is nothing that can be expected",
					STR_ARG(a->v[i].s));
		vec_push(&s->ignored, a->v[i]);
	}
}

const struct rule given_rules[] = {
	{ "policy ...", given_policy, "options: name=value" },
	{ "agent NAME ...", given_agent,
			"concurrency=2 input=none rate_limit_exit=75 login_exit=77 "
			"recovery=replan format=claude tools=read,edit tools_deny=web" },
	{ "role NAME is agent NAME", given_role, "who does work of this role" },
	{ "work may go from NAME to NAME", given_cross, "another agent may take it over" },
	{ "allowed agents ...", given_allowed, "only these are given work" },
	{ "no default agent", given_no_default, "work needs an agent of its own" },
	{ "quiet from TIME to TIME", given_quiet, "nobody is disturbed then" },
	{ "the day begins at TIME", given_start, "what 00:00 of the scenario is on the clock" },
	{ "goal NAME ...", given_goal, "priority=high at=01:00 budget_runs=5 plan=later" },
	{ "phase NODE ...", given_phase, "after=P1" },
	{ "task NODE ...", given_task,
			"after=T1,T2 agent=codex role=r check=make priority=1 tools=read,edit" },
	{ "subtask NODE ...", given_subtask, "of the last task; as task" },
	{ "ignore ...", given_ignore, "facts that need not be expected" },
};
const size_t given_rules_n = ARRAY_LEN(given_rules);

void given_default(struct scn *s)
{
	static const str all[] = { STR("*") };
	struct policy *p = &s->f.policy;

	p->allow_agents = all;
	p->allow_agents_n = ARRAY_LEN(all);
	p->agents = s->agents;
	p->roles = s->roles;
	p->cross = s->cross;
	p->agents_n = p->roles_n = p->cross_n = 0;
	p->default_agent = STR("");
}

void given_create(struct scn *s, struct given_goal *g)
{
	if (g->plan)
		value_put(&s->f.arena, g->params, "plan", g->plan);
	g->id = arena_str(&s->f.arena,
			value_str_at(submit(&s->f, "goal.create", g->params), "goal"));
	g->created = true;
}

static bool plan_knows(const value *nodes, str word)
{
	static const char *const below[] = { "phases", "tasks", "subtasks" };

	for (size_t i = 0; i < value_count(nodes); i++) {
		const value *node = value_item(nodes, i);

		if (str_eq(value_str_at(node, "id"), word))
			return true;
		for (size_t k = 0; k < ARRAY_LEN(below); k++)
			if (plan_knows(value_at(node, below[k]), word))
				return true;
	}
	return false;
}

bool given_knows(const struct scn *s, str word)
{
	for (size_t i = 0; i < s->f.policy.agents_n; i++)
		if (str_eq(s->agents[i].name, word))
			return true;
	for (size_t i = 0; i < s->goals.n; i++) {
		const struct given_goal *g = &s->goals.p[i];

		if (str_eq(g->name, word) || plan_knows(value_at(g->plan, "phases"), word) ||
				(g->created && state_node(s->f.state, g->id, word)))
			return true;
	}
	return false;
}
