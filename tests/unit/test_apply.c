#include "tests/test.h"

#include "base/vec.h"
#include "core/model/limits.h"
#include "core/view/view.h"
#include "data/value/json.h"
#include "tests/unit/core_fixture.h"

/* A log of one goal with one node that is running and one that waits, and an open escalation. */
static void begin(struct fixture *f)
{
	value *plan;

	fixture_init(f);
	f->policy.workers_max = 1;
	plan = flat_plan(f, 3);
	value_put(&f->arena,
			(value *)value_item(value_at(value_item(value_at(plan, "phases"), 0),
							    "tasks"),
					2),
			"suggestedAgent", value_cstr(&f->arena, "ghost"));
	create_goal(f, plan, NULL);
	bring_to(f, "T1", STAGE_RUNNING);
}

/*
 * Events that do not fit. In the envelope, G, A and R stand for ids that exist; "-" for one that
 * does not.
 */
static const struct {
	enum event_kind kind;
	const char *about; /* goal node assignment run */
	const char *data, *says;
} nonsense[] = {
	{ EV_GOAL_CREATED, "G", "'title': 't', 'priority': 3", "exists already" },
	{ EV_GOAL_STATUS, "-", "'from': 'active', 'to': 'paused', 'reason': ''", "no goal" },
	{ EV_GOAL_STATUS, "G", "'from': 'paused', 'to': 'active', 'reason': ''",
			"but it is active" },
	{ EV_GOAL_STATUS, "G", "'from': 'active', 'to': 'archived', 'reason': ''", "can become" },
	{ EV_GOAL_STATUS, "G", "'from': 'active', 'to': 'nowhere', 'reason': ''", "nowhere" },
	{ EV_PLAN_APPLIED, "-", "'version': 1, 'plan': {}", "no goal" },
	{ EV_PLAN_APPLIED, "G", "'version': 1, 'plan': {}", "does not follow" },
	{ EV_PLAN_APPLIED, "G", "'version': 3, 'plan': {}", "does not follow" },
	{ EV_PLAN_APPLIED, "G", "'version': 2, 'plan': {}", "no node" },
	{ EV_PLAN_APPLIED, "G", "'version': 2, 'plan': {'phases': [{'id': ''}]}", "id of its own" },
	{ EV_PLAN_APPLIED, "G",
			"'version': 2, 'plan': {'phases': [{'id': 'P1', 'tasks': [{'id': 'P1'}]}]}",
			"id of its own" },
	{ EV_NODE_STATUS, "G -", "'from': 'todo', 'to': 'queued', 'reason': ''", "no node" },
	{ EV_NODE_STATUS, "G P1", "'from': 'in_progress', 'to': 'done', 'reason': ''",
			"without children" },
	{ EV_NODE_STATUS, "G T1", "'from': 'todo', 'to': 'queued', 'reason': ''", "in_progress" },
	{ EV_NODE_STATUS, "G T2", "'from': 'queued', 'to': 'done', 'reason': ''", "can become" },
	{ EV_NODE_FAILED, "G -", "'cause': 'run', 'count': 1, 'detail': ''", "no node" },
	{ EV_NODE_FAILED, "G T1", "'cause': 'fate', 'count': 1, 'detail': ''", "fate" },
	{ EV_NODE_ACCEPTED, "G -", "'commit': 'c', 'target': 't'", "no node" },
	{ EV_ASSIGNMENT_CREATED, "G T1 A_x",
			"'agent': 'a', 'worker': 'pool-1', 'branch': 'b', 'epoch': 2, 'reason': ''",
			"assigned already" },
	{ EV_ASSIGNMENT_CREATED, "G T2 A",
			"'agent': 'a', 'worker': 'pool-1', 'branch': 'b', 'epoch': 1, 'reason': ''",
			"assigned already" },
	{ EV_ASSIGNMENT_CREATED, "G T2 A_x",
			"'agent': 'a', 'worker': 'pool-1', 'branch': 'b', 'epoch': 0, 'reason': ''",
			"epoch is old" },
	{ EV_ASSIGNMENT_CREATED, "G T2 A_x",
			"'agent': 'a', 'worker': 'nobody', 'branch': 'b', 'epoch': 1, 'reason': ''",
			"no worker" },
	{ EV_ASSIGNMENT_MOVED, "G T1 -",
			"'from': 'active', 'to': 'done', 'stage': 'none', 'reason': ''",
			"assignment" },
	{ EV_ASSIGNMENT_MOVED, "G T1 A",
			"'from': 'active', 'to': 'done', 'stage': 'limbo', 'reason': ''", "stage" },
	{ EV_ASSIGNMENT_MOVED, "G T1 A",
			"'from': 'queued', 'to': 'done', 'stage': 'none', 'reason': ''",
			"is active" },
	{ EV_RUN_CREATED, "G T1 A R",
			"'dispatch': 'd', 'agent': 'a', 'worker': 'w', 'attempt': 2, 'epoch': 1, "
			"'instruction_hash': ''",
			"without that run" },
	{ EV_RUN_STARTED, "G T1 A R", "", "cannot become running" },
	{ EV_RUN_STARTED, "G T1 A -", "", "no run" },
	{ EV_RUN_ENDED, "G T1 A -", "'exit_code': 0, 'signal': 0", "no run" },
	{ EV_RUN_HARVESTED, "G T1 A -", "'head': '', 'tree': '', 'commits': 0, 'files_changed': 0",
			"no run" },
	{ EV_RUN_CONTINUED, "G T1 A -", "'trouble': 'max_turns', 'reason': ''", "no run" },
	{ EV_RUN_VERIFIED, "G T1 A R", "'verdict': 'maybe', 'detail': ''", "verdict" },
	{ EV_WORKER_CREATED, "", "'worker': 'pool-1', 'path': 'p'", "exists already" },
	{ EV_WORKER_STATUS, "", "'worker': 'pool-9', 'from': 'idle', 'to': 'working', 'reason': ''",
			"no worker" },
	{ EV_WORKER_STATUS, "",
			"'worker': 'pool-1', 'from': 'working', 'to': 'rejected', 'reason': ''",
			"can become" },
	{ EV_WORKSPACE_READY, "G T1 -", "'worker': 'pool-1', 'base': 'b'", "no assignment" },
	{ EV_EFFECT_INTENDED, "G T1 A", "'effect': 'X_1', 'kind': 'magic'", "effect" },
	{ EV_EFFECT_ENDED, "G T1 A", "'effect': 'X_none', 'kind': 'check', 'outcome': 'ok'",
			"no open effect" },
	{ EV_ESCALATION_OPENED, "G T1", "'escalation': 1, 'kind': 'k', 'question': 'q'",
			"exists already" },
	{ EV_ESCALATION_CLOSED, "G T1", "'escalation': 7, 'status': 'answered', 'answer': ''",
			"escalation" },
	{ EV_ESCALATION_CLOSED, "G T1", "'escalation': 1, 'status': 'open', 'answer': ''",
			"escalation" },
	{ EV_ESCALATION_CLOSED, "G T1", "'escalation': 1, 'status': 'bored', 'answer': ''",
			"escalation" },
};

static str real_id(str word, str real, const char *stands)
{
	return str_is(word, stands) ? real : word;
}

TEST(nonsense_is_refused_and_changes_nothing)
{
	struct fixture f;
	str before;

	begin(&f);
	before = snapshot_of(&f, f.state);
	for (size_t i = 0; i < ARRAY_LEN(nonsense); i++) {
		const struct assignment *as = node_of(&f, "T1")->assignment;
		struct event e = { .kind = nonsense[i].kind, .actor = STR("x") };
		str rest = str_from(nonsense[i].about), word;
		struct ov_err err = { 0 };
		ov_time at = f.state->at;

		if (str_split(&rest, ' ', &word))
			e.goal = real_id(word, as->goal_id, "G");
		if (str_split(&rest, ' ', &word))
			e.node = word;
		if (str_split(&rest, ' ', &word))
			e.assignment = real_id(word, as->id, "A");
		if (str_split(&rest, ' ', &word))
			e.run = real_id(word, as->run_id, "R");
		e.data = json(&f, "{%s}", nonsense[i].data);
		e.at = f.now + 1000;
		if (append(&f, &e, &err) == 0 || !strstr(err.msg, nonsense[i].says))
			fail_msg("%s {%s}: %s", event_name(e.kind), nonsense[i].data, err.msg);
		assert_int_equal(f.state->at, at);
		assert_true(str_eq(snapshot_of(&f, f.state), before));
	}
	fixture_done(&f);
}

TEST(sequence_has_no_gap)
{
	struct fixture f;
	struct event e = { .kind = EV_DAEMON_STOPPED };

	begin(&f);
	e.data = json(&f, "{'instance': 'i', 'reason': 'r'}");
	e.seq = f.state->seq;
	assert_int_equal(apply(f.state, &e, NULL), OV_EINVALID);
	e.seq = f.state->seq + 2;
	assert_int_equal(apply(f.state, &e, NULL), OV_EINVALID);
	e.seq = f.state->seq + 1;
	assert_int_equal(apply(f.state, &e, NULL), 0);
	fixture_done(&f);
}

/*
 * Logs in which events were lost, doubled or swapped: each event is taken or refused whole, the
 * indexes stay sound, and nothing crashes.
 */
TEST(damaged_logs)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct rng rng = { seed };
		struct fixture f;
		struct state *s = state_new(seed);

		fixture_init(&f);
		for (int i = 0; i < 150; i++)
			random_step(&f, &rng);
		for (size_t i = 0; i < f.log.n; i++) {
			size_t pick = rng_below(&rng, 10) ? i : rng_below(&rng, f.log.n);
			struct event e = *f.log.p[pick];

			if (rng_below(&rng, 20) == 0)
				continue;
			e.seq = s->seq + 1;
			if (rng_below(&rng, 50) == 0) {
				str before = snapshot_of(&f, s);

				if (apply(s, &e, NULL) < 0)
					assert_true(str_eq(before, snapshot_of(&f, s)));
			} else {
				(void)apply(s, &e, NULL);
			}
		}
		state_free(s);
		fixture_done(&f);
	}
}

TEST(roll_up)
{
	/* children's statuses -> the parent's */
	static const struct {
		const char *first, *second, *parent;
	} cases[] = {
		{ "todo", "todo", "todo" },
		{ "queued", "todo", "queued" },
		{ "in_progress", "todo", "in_progress" },
		{ "done", "todo", "in_progress" },
		{ "done", "queued", "in_progress" },
		{ "done", "done", "done" },
		{ "cancelled", "cancelled", "cancelled" },
		{ "done", "cancelled", "done" },
		{ "blocked", "todo", "blocked" },
		{ "blocked", "done", "blocked" },
		{ "blocked", "queued", "queued" },
		{ "cancelled", "todo", "todo" },
		{ "blocked", "in_progress", "in_progress" },
	};
	/* a legal way to each status from todo */
	static const struct {
		const char *to, *by;
	} ways[] = { { "todo", "" }, { "queued", "queued" }, { "blocked", "blocked" },
		{ "cancelled", "cancelled" }, { "in_progress", "queued in_progress" },
		{ "done", "queued in_progress done" } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		for (int flip = 0; flip < 2; flip++) {
			struct fixture f;
			const char *const want[] = { flip ? cases[i].second : cases[i].first,
				flip ? cases[i].first : cases[i].second };
			static const char *const ids[] = { "T1", "T2" };

			fixture_init(&f);
			create_goal(&f, flat_plan(&f, 2), NULL);
			for (int k = 0; k < 2; k++)
				for (size_t w = 0; w < ARRAY_LEN(ways); w++) {
					str rest = str_from(ways[w].by), word;

					if (strcmp(ways[w].to, want[k]) != 0)
						continue;
					while (rest.n && str_split(&rest, ' ', &word)) {
						const struct node *n = node_of(&f, ids[k]);
						struct event e = { .kind = EV_NODE_STATUS,
							.goal = n->goal->id,
							.node = n->id };

						e.data = json(&f,
								"{'from': '%s', 'to': '" STR_FMT
								"', 'reason': 'r'}",
								status_name(&node_statuses,
										(int)n->status),
								STR_ARG(word));
						assert_int_equal(append(&f, &e, NULL), 0);
					}
				}
			assert_string_equal(status_name(&node_statuses,
							    (int)node_of(&f, "P1")->status),
					cases[i].parent);
			fixture_done(&f);
		}
}

/* A node's history is the newest events about it; explaining it never reads the whole log. */
TEST(history)
{
	struct fixture f;
	const struct node *n;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	n = node_of(&f, "T1");
	for (int i = 0; i < 150; i++) {
		submit(&f, "work.update",
				json(&f, "{'node': 'T1', 'status': 'blocked', 'reason': 'r'}"));
		submit(&f, "work.update",
				json(&f, "{'node': 'T1', 'status': 'queued', 'reason': 'r'}"));
	}
	assert_int_equal(n->history.n, LIMIT_KEPT);
	assert_int_equal(vec_last(&n->history), f.state->seq);
	for (size_t i = 1; i < n->history.n; i++)
		assert_true(n->history.p[i - 1] < n->history.p[i]);
	fixture_done(&f);
}

/* Closed escalations are kept as long as they are new, open ones for ever. */
TEST(escalations_are_bounded)
{
	struct fixture f;
	size_t n = LIMIT_KEPT + 50;

	begin(&f);
	for (size_t i = 0; i < n; i++) {
		struct event e = { .kind = EV_ESCALATION_OPENED,
			.goal = f.state->goals.p[0]->id,
			.node = STR("T1") };

		e.data = json(&f, "{'escalation': %lld, 'kind': 'k', 'question': 'q'}",
				(long long)f.state->next_escalation);
		assert_int_equal(append(&f, &e, NULL), 0);
	}
	assert_int_equal(f.state->escalations.n, n + 1);
	submit(&f, "work.update", json(&f, "{'node': 'T1', 'status': 'done', 'reason': 'r'}"));
	assert_int_equal(f.state->escalations.n, LIMIT_KEPT + 1);
	assert_int_equal(f.state->escalations.p[0]->number, 1); /* T3's is open still */
	assert_int_equal(vec_last(&f.state->escalations)->number, (int64_t)n + 1);
	fixture_done(&f);
}

TEST(find)
{
	struct fixture f;
	struct ov_err err = { 0 };
	struct goal *g;
	struct node *n;
	struct run *r;
	str first, second, run;

	begin(&f);
	first = f.state->goals.p[0]->id;
	run = arena_str(&f.arena, node_of(&f, "T1")->assignment->run_id);
	assert_int_equal(state_find_goal(f.state, STR("goal_"), &g, &err), 0);
	second = create_goal(&f, flat_plan(&f, 2), NULL);
	assert_int_equal(state_find_goal(f.state, first, &g, &err), 0);
	assert_true(str_eq(g->id, first));
	assert_int_equal(state_find_goal(f.state, STR("goal_"), &g, &err), OV_ECONFLICT);
	assert_non_null(strstr(err.msg, "fits 2 goals"));
	assert_int_equal(state_find_goal(f.state, STR(""), &g, &err), OV_ENOTFOUND);
	assert_int_equal(state_find_goal(f.state, STR("x"), &g, &err), OV_ENOTFOUND);
	assert_string_equal(err.next, "overseer goal list");
	assert_int_equal(state_find_node(f.state, STR(""), STR("T3"), &n, &err), 0);
	assert_true(str_eq(n->goal->id, first));
	assert_int_equal(state_find_node(f.state, STR(""), STR("T1"), &n, &err), OV_ECONFLICT);
	assert_int_equal(state_find_node(f.state, second, STR("T1"), &n, &err), 0);
	assert_true(str_eq(n->goal->id, second));
	assert_int_equal(state_find_node(f.state, STR(""),
					 arena_printf(&f.arena, STR_FMT "/T1", STR_ARG(first)), &n,
					 &err),
			0);
	assert_true(str_eq(n->goal->id, first));
	assert_int_equal(state_find_node(f.state, STR(""), STR("/T1"), &n, &err), OV_ECONFLICT);
	assert_int_equal(state_find_node(f.state, STR(""), STR("T9"), &n, &err), OV_ENOTFOUND);
	assert_int_equal(state_find_node(f.state, second, STR("T3"), &n, &err), OV_ENOTFOUND);
	assert_int_equal(state_find_run(f.state, str_sub(run, 0, 6), &r, &err), 0);
	assert_true(str_eq(r->id, run));
	assert_int_equal(state_find_run(f.state, STR("R_x"), &r, &err), OV_ENOTFOUND);
	fixture_done(&f);
}

/* Among goals that are over and one that is open, reading commands mean the open one. */
TEST(find_prefers_open_goals)
{
	struct fixture f;
	struct ov_err err;
	struct node *n;
	str first, last;

	fixture_init(&f);
	first = arena_str(&f.arena, create_goal(&f, flat_plan(&f, 1), NULL));
	create_goal(&f, flat_plan(&f, 1), NULL);
	drain(&f);
	assert_int_equal(state_find_node_to_read(f.state, STR(""), STR("T1"), &n, &err),
			OV_ECONFLICT);
	last = arena_str(&f.arena, create_goal(&f, flat_plan(&f, 1), NULL));
	assert_int_equal(state_find_node_to_read(f.state, STR(""), STR("T1"), &n, &err), 0);
	assert_ptr_equal(n, node_of(&f, "T1"));
	/* A change of the wrong one cannot be taken back: its goal has to be said. */
	assert_int_equal(state_find_node(f.state, STR(""), STR("T1"), &n, &err), OV_ECONFLICT);
	assert_non_null(strstr(err.msg, "3 goals have a task \"T1\": "));
	assert_non_null(strstr(err.msg, arena_cstr(&f.arena, first)));
	assert_non_null(strstr(err.msg, "/T1 ("));
	assert_string_equal(err.next,
			arena_cstr(&f.arena,
					arena_printf(&f.arena, "overseer explain " STR_FMT "/T1",
							STR_ARG(last))));
	create_goal(&f, flat_plan(&f, 1), NULL);
	assert_int_equal(state_find_node_to_read(f.state, STR(""), STR("T1"), &n, &err),
			OV_ECONFLICT);
	fixture_done(&f);
}

/* As many as can be told are; the message is never cut in the middle of what to do. */
TEST(find_tells_only_some_of_many)
{
	struct fixture f;
	struct ov_err err;
	struct node *n;

	fixture_init(&f);
	for (int i = 0; i < 9; i++)
		create_goal(&f, flat_plan(&f, 1), NULL);
	assert_int_equal(state_find_node(f.state, STR(""), STR("T1"), &n, &err), OV_ECONFLICT);
	assert_non_null(strstr(err.msg, " and 5 more. Write GOAL/T1 or add --goal"));
	fixture_done(&f);
}

TEST_MAIN
