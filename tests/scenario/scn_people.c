/* What people, agents' own words and planners do in a scenario: commands, reports, answers. */
#include "tests/test.h"

#include "core/plan/plan_make.h"
#include "tests/scenario/scn.h"

static void put_text(struct scn *s, value *params, const char *key, str text)
{
	value_put(&s->f.arena, params, key, value_str(&s->f.arena, arena_str(&s->f.arena, text)));
}

static void command(struct scn *s, const char *name, value *params)
{
	if (!command_find(str_from(name)))
		scn_fail(s, "there is no command %s", name);
	world_submit(s, name, params);
}

static str reason_in(const struct args *a)
{
	return a->v[a->n - 1].quoted ? a->v[a->n - 1].s : STR("a person says so");
}

struct given_goal *scn_goal(struct scn *s, str name)
{
	for (size_t i = 0; i < s->goals.n; i++)
		if (str_eq(s->goals.p[i].name, name))
			return &s->goals.p[i];
	scn_fail(s, "no goal is called " STR_FMT, STR_ARG(name));
}

static const char *verb(struct scn *s, str word)
{
	static const char *const verbs[][2] = { { "pauses", "pause" }, { "resumes", "resume" },
		{ "cancels", "cancel" }, { "reopens", "reopen" }, { "archives", "archive" },
		{ "reruns", "rerun" }, { "nudges", "nudge" }, { "reassigns", "reassign" } };

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (str_is(word, verbs[i][0]))
			return verbs[i][1];
	scn_fail(s, "people do no such thing");
}

static void does_to_goal(struct scn *s, const struct args *a)
{
	value *p = value_object(&s->f.arena);

	put_text(s, p, "goal", scn_goal(s, a->v[1].s)->id);
	put_text(s, p, "reason", reason_in(a));
	command(s, arena_printf(&s->f.arena, "goal.%s", verb(s, a->v[0].s)).p, p);
}

static void raises_budget(struct scn *s, const struct args *a)
{
	static const char *const names[][2] = { { "runs", "iterations" }, { "tokens", "tokens" },
		{ "microusd", "cost_microusd" }, { "ms", "wall_ms" } };
	size_t k = 0;
	value *p;

	while (!str_is(a->v[2].s, names[k][0]))
		k++;
	p = json(&s->f, "{'budget': {'%s': " STR_FMT "}}", names[k][1], STR_ARG(a->v[1].s));

	put_text(s, p, "goal", scn_goal(s, a->v[0].s)->id);
	put_text(s, p, "reason", STR("it is worth it"));
	command(s, "goal.update", p);
}

static value *node_params(struct scn *s, const struct args *a, size_t i)
{
	value *p = value_object(&s->f.arena);

	put_text(s, p, "node", scn_node(s, a->v[i].s)->key);
	put_text(s, p, "reason", reason_in(a));
	return p;
}

static void does_to_node(struct scn *s, const struct args *a)
{
	command(s, arena_printf(&s->f.arena, "work.%s", verb(s, a->v[0].s)).p,
			node_params(s, a, 1));
}

static void reassigns_to(struct scn *s, const struct args *a)
{
	value *p = node_params(s, a, 0);

	put_text(s, p, "agent", a->v[1].s);
	command(s, "work.reassign", p);
}

static void scope(struct scn *s, const struct args *a, size_t node, const char *key, str tools)
{
	value *p = node_params(s, a, node), *list = value_array(&s->f.arena);
	size_t n;
	const str *words = scn_list(s, tools, &n);

	for (size_t i = 0; i < n; i++)
		value_push(&s->f.arena, list, value_str(&s->f.arena, words[i]));
	value_put(&s->f.arena, p, key, list);
	command(s, "work.scope", p);
}

static void narrows(struct scn *s, const struct args *a)
{
	scope(s, a, 0, "allow", a->v[1].s);
}

static void takes_away(struct scn *s, const struct args *a)
{
	scope(s, a, 1, "deny", a->v[0].s);
}

/* A new config.toml is read. */
static void configures(struct scn *s, const struct args *a)
{
	for (size_t i = 0; i < s->f.policy.agents_n; i++) {
		struct tool_scope *x = &s->agents[i].scope;

		if (!str_eq(s->agents[i].name, a->v[0].s))
			continue;
		*x = (struct tool_scope){ 0 };
		if (!str_is(a->v[1].s, "all"))
			x->allow = scn_list(s, a->v[1].s, &x->allow_n);
		return;
	}
	scn_fail(s, "no agent is called " STR_FMT, STR_ARG(a->v[0].s));
}

static void update_work(struct scn *s, const struct args *a, const char *status)
{
	value *p = node_params(s, a, 0);

	put_text(s, p, "status", str_from(status));
	command(s, "work.update", p);
}

static void declares_done(struct scn *s, const struct args *a)
{
	update_work(s, a, "done");
}

static void blocks(struct scn *s, const struct args *a)
{
	update_work(s, a, "blocked");
}

static void unblocks(struct scn *s, const struct args *a)
{
	update_work(s, a, "queued");
}

static void say_to(struct scn *s, const struct args *a, bool now)
{
	value *p = value_object(&s->f.arena);
	const struct node *n = scn_node(s, a->v[0].s);

	put_text(s, p, "node", n->id);
	put_text(s, p, "goal", n->goal->id);
	put_text(s, p, "message", a->v[1].s);
	value_put(&s->f.arena, p, "now", value_bool(&s->f.arena, now));
	command(s, "work.nudge", p);
}

static void says(struct scn *s, const struct args *a)
{
	say_to(s, a, false);
}

static void says_now(struct scn *s, const struct args *a)
{
	say_to(s, a, true);
}

static void stops_run(struct scn *s, const struct args *a)
{
	const struct assignment *as = scn_node(s, a->v[0].s)->assignment;
	value *p = value_object(&s->f.arena);

	put_text(s, p, "run", as ? as->run_id : STR("none"));
	put_text(s, p, "reason", reason_in(a));
	command(s, "run.stop", p);
}

/* Workers are named as the core names them: pool-1, or as the person added them. */
static void does_to_worker(struct scn *s, const struct args *a)
{
	static const char *const verbs[][2] = { { "adds", "add" }, { "resets", "reset" },
		{ "removes", "nuke" } };
	value *p = value_object(&s->f.arena);
	size_t i = 0;

	while (!str_is(a->v[0].s, verbs[i][0]))
		i++;
	put_text(s, p, "worker", a->v[1].s);
	if (i)
		put_text(s, p, "reason", reason_in(a));
	command(s, arena_printf(&s->f.arena, "worker.%s", verbs[i][1]).p, p);
}

static value *number_params(struct scn *s, const struct args *a)
{
	value *p = value_object(&s->f.arena);
	int64_t number = 0;

	(void)str_to_i64(a->v[0].s, &number);
	value_put(&s->f.arena, p, "number", value_int(&s->f.arena, number));
	return p;
}

static void answers(struct scn *s, const struct args *a)
{
	value *p = number_params(s, a);

	put_text(s, p, "answer", a->v[1].s);
	command(s, "inbox.answer", p);
}

static void dismisses(struct scn *s, const struct args *a)
{
	value *p = number_params(s, a);

	put_text(s, p, "reason", reason_in(a));
	command(s, "inbox.dismiss", p);
}

/* Each report stands further on in what the run wrote, unless it is the same one read again. */
static void report(struct scn *s, str run, const value *update, bool again)
{
	value *p = value_object(&s->f.arena);

	s->reports += !again;
	put_text(s, p, "run", run);
	put_text(s, p, "identity", arena_printf(&s->f.arena, "report-%d", s->reports));
	value_put(&s->f.arena, p, "offset", value_int(&s->f.arena, 100 * s->reports));
	value_put(&s->f.arena, p, "update", value_copy(&s->f.arena, update));
	if (!again)
		s->last_report = update;
	command(s, "run.report", p);
}

static str run_of(struct scn *s, const struct args *a)
{
	const struct node *n = scn_node(s, a->v[0].s);

	if (!n->assignment || !n->assignment->run)
		scn_fail(s, "it has no run that could report");
	return n->assignment->run->id;
}

static value *update_of(struct scn *s, const struct args *a)
{
	value *u = value_object(&s->f.arena), *blockers = value_array(&s->f.arena);
	str status = str_is(a->v[1].s, "progress") ? STR("in_progress") : a->v[1].s;

	put_text(s, u, "status", status);
	if (a->n < 3)
		return u;
	put_text(s, u, "summary", a->v[2].s);
	value_push(&s->f.arena, blockers, value_str(&s->f.arena, a->v[2].s));
	if (str_is(status, "blocked"))
		value_put(&s->f.arena, u, "blockers", blockers);
	return u;
}

static void reports(struct scn *s, const struct args *a)
{
	report(s, run_of(s, a), update_of(s, a), false);
}

static void repeats_report(struct scn *s, const struct args *a)
{
	if (!s->last_report)
		scn_fail(s, "nothing was reported yet");
	report(s, run_of(s, a), s->last_report, true);
}

static void reports_about(struct scn *s, const struct args *a)
{
	value *u = json(&s->f, "{'status': 'done', 'workNodeId': '" STR_FMT "'}",
			STR_ARG(a->v[1].s));

	report(s, run_of(s, a), u, false);
}

static void old_run_reports(struct scn *s, const struct args *a)
{
	const struct node *n = scn_node(s, a->v[0].s);

	list_each (it, &s->f.state->retired_runs) {
		const struct run *r = list_entry(it, struct run, link);

		if (str_eq(r->node_id, n->id) && r->epoch < n->work.epoch) {
			report(s, arena_str(&s->f.arena, r->id), update_of(s, a), false);
			return;
		}
	}
	list_each (it, &s->f.state->runs) {
		const struct run *r = list_entry(it, struct run, link);

		if (str_eq(r->node_id, n->id) && r->epoch < n->work.epoch) {
			report(s, arena_str(&s->f.arena, r->id), update_of(s, a), false);
			return;
		}
	}
	scn_fail(s, "it has no run of an older epoch");
}

static void got_message(struct scn *s, const struct args *a)
{
	const struct assignment *as = scn_node(s, a->v[0].s)->assignment;
	value *p = value_object(&s->f.arena);

	if (!as || !as->dispatches.n)
		scn_fail(s, "nothing was sent to it");
	put_text(s, p, "dispatch", vec_last(&as->dispatches)->id);
	put_text(s, p, "how", STR("its input was read"));
	command(s, "dispatch.ack", p);
}

static value *parts(struct scn *s, str names)
{
	value *list = value_array(&s->f.arena);
	str name;

	while (str_split(&names, ',', &name))
		value_push(&s->f.arena, list,
				json(&s->f,
						"{'id': '" STR_FMT
						"', 'name': 'part', 'acceptance': ['x']}",
						STR_ARG(name)));
	return list;
}

static value *find_in_plan(value *nodes, str id)
{
	static const char *const below[] = { "tasks", "subtasks" };

	for (size_t i = 0; i < value_count(nodes); i++) {
		value *node = (value *)value_item(nodes, i), *found = NULL;

		if (str_eq(value_str_at(node, "id"), id))
			return node;
		for (size_t k = 0; !found && k < ARRAY_LEN(below); k++)
			found = find_in_plan((value *)value_at(node, below[k]), id);
		if (found)
			return found;
	}
	return NULL;
}

value *scn_planner_answer(struct scn *s, const struct job *j)
{
	const struct effect *fx = state_effect(s->f.state, j->id);
	const struct goal *g = state_goal(s->f.state, fx->goal_id);
	value *data = json(&s->f,
			      "{'model_ref': 'test', 'template_id': 'plan.v1', "
			      "'template_hash': 'h'}"),
	      *plan, *into;

	if (!j->how.parts.n)
		return data;
	plan = g->plan_version ? plan_document(&s->f.arena, g)
			       : json(&s->f, "{'phases': [{'id': 'P1', 'name': 'phase'}]}");
	into = find_in_plan((value *)value_at(plan, "phases"), j->node.n ? j->node : STR("P1"));
	if (!into)
		scn_fail(s, "what shall be split is not in the plan");
	value_put(&s->f.arena, into, j->node.n ? "subtasks" : "tasks", parts(s, j->how.parts));
	value_put(&s->f.arena, data, "plan", plan);
	value_put(&s->f.arena, data, "plan_version", value_int(&s->f.arena, g->plan_version));
	return data;
}

static void planner_splits(struct scn *s, const struct args *a)
{
	vec_push(&s->twists,
			((struct twist){ .kind = FX_PLAN,
					.node = arena_str(&s->f.arena, scn_node(s, a->v[0].s)->id),
					.parts = a->v[1].s }));
}

static void planner_plans(struct scn *s, const struct args *a)
{
	vec_push(&s->twists, ((struct twist){ .kind = FX_PLAN, .parts = a->v[0].s }));
}

static void planner_fails(struct scn *s, const struct args *a)
{
	vec_push(&s->twists,
			((struct twist){ .kind = FX_PLAN,
					.outcome = "error",
					.detail = a->n ? a->v[0].s : STR("no answer") }));
}

const struct rule people_rules[] = {
	{ "person pauses|resumes|cancels|reopens|archives goal NAME TEXT?", does_to_goal,
			"and why" },
	{ "person gives goal NAME NUM runs|tokens|microusd|ms", raises_budget, "a new budget" },
	{ "person cancels|reopens|reruns|nudges|reassigns NODE TEXT?", does_to_node, "and why" },
	{ "person reassigns NODE to NAME TEXT?", reassigns_to, "and why" },
	{ "person narrows NODE to NAME TEXT?", narrows, "tools that it may use from now on" },
	{ "person takes NAME from NODE TEXT?", takes_away, "tools that it may not use any more" },
	{ "configuration lets NAME use NAME", configures,
			"an agent, and its tools: read,edit or all" },
	{ "person declares NODE done TEXT?", declares_done, "and why" },
	{ "person blocks NODE TEXT?", blocks, "and why" },
	{ "person unblocks NODE TEXT?", unblocks, "and why" },
	{ "person stops the run of NODE TEXT?", stops_run, "and why" },
	{ "person tells NODE TEXT", says, "when it can be told" },
	{ "person tells NODE TEXT now", says_now, "for which its run is ended" },
	{ "person adds|resets|removes worker NAME TEXT?", does_to_worker, "and why" },
	{ "person answers NUM TEXT", answers, "the question with this number" },
	{ "person dismisses NUM TEXT?", dismisses, "the question with this number" },
	{ "NODE reports progress|done|blocked TEXT?", reports,
			"a structured update, with its words" },
	{ "NODE repeats its report", repeats_report, "the same block is read again" },
	{ "NODE reports about NODE", reports_about, "an update that names another node" },
	{ "old run of NODE reports progress|done|blocked TEXT?", old_run_reports,
			"a run of an older epoch" },
	{ "NODE gets the message", got_message, "it was seen to read its input" },
	{ "planner for NODE splits it into NAME", planner_splits, "the next answer: S1,S2" },
	{ "planner plans NAME", planner_plans, "the next answer for a goal without a plan: T1,T2" },
	{ "planner fails TEXT?", planner_fails, "the next answer" },
};
const size_t people_rules_n = ARRAY_LEN(people_rules);
