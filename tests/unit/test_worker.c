/* Workers of all kinds: every command in every status, who serves whom, and how each ends. */
#include "tests/test.h"

#include "base/vec.h"
#include "core/capacity/free_worker.h"
#include "core/view/view.h"
#include "core/work/standing.h"
#include "tests/unit/core_fixture.h"

static struct worker *worker_of(struct fixture *f, const char *name)
{
	return state_worker(f->state, str_from(name));
}

static void begin(struct fixture *f)
{
	fixture_init(f);
	f->policy.review = REVIEW_ALWAYS;
	submit(f, "worker.add", json(f, "{'worker': 'w'}"));
}

static void give_task(struct fixture *f)
{
	submit(f, "worker.start", json(f, "{'worker': 'w', 'task': 'Do it\\nwell'}"));
	settle(f);
}

static void set_status(struct fixture *f, enum worker_status to)
{
	struct worker *w = worker_of(f, "w");
	struct event e = { .kind = EV_WORKER_STATUS,
		.at = f->now,
		.actor = STR("overseer"),
		.data = json(f, "{'worker': 'w', 'from': '%s', 'to': '%s', 'reason': 'r'}",
				status_name(&worker_statuses, (int)w->status),
				status_name(&worker_statuses, (int)to)) };

	assert_int_equal(append(f, &e, NULL), 0);
}

/* The worker w in each status, as it comes about. */
static void bring_worker(struct fixture *f, enum worker_status status)
{
	begin(f);
	if (status != WORKER_IDLE && status != WORKER_OFFLINE)
		give_task(f);
	switch (status) {
	case WORKER_IDLE:
	case WORKER_WORKING: break;
	case WORKER_NEEDS_REVIEW: bring_to(f, "t1", STAGE_REVIEW); break;
	case WORKER_REVIEWING:
		bring_to(f, "t1", STAGE_REVIEW);
		submit(f, "worker.review", json(f, "{'worker': 'w'}"));
		break;
	case WORKER_REJECTED:
		bring_to(f, "t1", STAGE_REVIEW);
		submit(f, "worker.reject", json(f, "{'worker': 'w', 'reason': 'no'}"));
		break;
	case WORKER_REBASING:
		bring_to(f, "t1", STAGE_REVIEW);
		submit(f, "worker.accept", json(f, "{'worker': 'w'}"));
		settle(f);
		break;
	case WORKER_NO_CHANGES:
	case WORKER_ERROR: set_status(f, status); break;
	case WORKER_OFFLINE: set_status(f, status); break;
	case WORKER_STATUS_COUNT: break;
	}
	assert_int_equal(worker_of(f, "w")->status, status);
}

#define TO(s) (1 + (int)(s))
#define NO 0
/* What the worker is right after the command, or that it is refused. */
static const struct {
	const char *command, *params;
	int to[WORKER_STATUS_COUNT];
} product[] = {
	{ "worker.start", "'task': 'x'", { [WORKER_IDLE] = TO(WORKER_IDLE) } },
	/* While it is being accepted there is no run that could be told. */
	{ "worker.message", "'text': 'x'",
			{ [WORKER_WORKING] = TO(WORKER_WORKING),
					[WORKER_REJECTED] = TO(WORKER_REJECTED) } },
	{ "worker.review", "'reason': 'r'",
			{ [WORKER_NEEDS_REVIEW] = TO(WORKER_REVIEWING),
					[WORKER_REVIEWING] = TO(WORKER_REVIEWING) } },
	{ "worker.accept", "'reason': 'r'",
			{ [WORKER_NEEDS_REVIEW] = TO(WORKER_NEEDS_REVIEW),
					[WORKER_REVIEWING] = TO(WORKER_NEEDS_REVIEW) } },
	{ "worker.reject", "'reason': 'r'",
			{ [WORKER_NEEDS_REVIEW] = TO(WORKER_REJECTED),
					[WORKER_REVIEWING] = TO(WORKER_REJECTED) } },
	{ "worker.rebase", "'reason': 'r'",
			{ [WORKER_NEEDS_REVIEW] = TO(WORKER_REBASING),
					[WORKER_REVIEWING] = TO(WORKER_REBASING) } },
	{ "worker.pick", "'reason': 'r'",
			{ [WORKER_WORKING] = TO(WORKER_WORKING),
					[WORKER_NEEDS_REVIEW] = TO(WORKER_NEEDS_REVIEW),
					[WORKER_REVIEWING] = TO(WORKER_REVIEWING),
					[WORKER_REJECTED] = TO(WORKER_REJECTED),
					[WORKER_NO_CHANGES] = TO(WORKER_NO_CHANGES),
					[WORKER_ERROR] = TO(WORKER_ERROR) } },
/* What has not begun lets go at once; a step under way ends first. */
#define ANY(idle)                                                                             \
	[WORKER_OFFLINE] = TO(WORKER_OFFLINE), [WORKER_IDLE] = TO(WORKER_IDLE),               \
	[WORKER_WORKING] = TO(WORKER_WORKING), [WORKER_NEEDS_REVIEW] = TO(idle),              \
	[WORKER_REVIEWING] = TO(idle), [WORKER_REJECTED] = TO(idle),                          \
	[WORKER_REBASING] = TO(WORKER_REBASING), [WORKER_NO_CHANGES] = TO(WORKER_NO_CHANGES), \
	[WORKER_ERROR] = TO(WORKER_ERROR)
	{ "worker.reset", "'reason': 'r'", { ANY(WORKER_IDLE) } },
	{ "worker.nuke", "'reason': 'r'", { ANY(WORKER_IDLE) } },
};

TEST(every_command_in_every_status)
{
	for (size_t i = 0; i < ARRAY_LEN(product); i++)
		for (int s = 0; s < WORKER_STATUS_COUNT; s++) {
			const char *name = product[i].command + strlen("worker.");
			struct ov_err err = { 0 };
			struct fixture f;
			int want = product[i].to[s], r;

			bring_worker(&f, (enum worker_status)s);
			r = try_submit(&f, product[i].command,
					json(&f, "{'worker': 'w', %s}", product[i].params), &err);
			if ((r == 0) != (want != NO))
				fail_msg("%s while %s: %s", name, status_name(&worker_statuses, s),
						r ? err.msg : "was allowed");
			if (want) {
				assert_int_equal(worker_of(&f, "w")->status, want - 1);
			} else {
				assert_int_equal(r, OV_ESTATE);
				assert_non_null(strstr(err.msg,
						s == WORKER_REBASING ? "w is "
								     : status_name(&worker_statuses,
										       s)));
				assert_non_null(strstr(err.next, "overseer worker "));
			}
			check_invariants(f.state, &f.policy);
			drain(&f);
			fixture_done(&f);
		}
}

/*
 * Whatever a worker was: reset, it is idle and free; nuked, it is gone; its task is where
 * it belongs.
 */
TEST(the_end_of_each)
{
	for (int nuke = 0; nuke < 2; nuke++)
		for (int s = 0; s < WORKER_STATUS_COUNT; s++) {
			struct fixture f;
			const struct node *n;

			bring_worker(&f, (enum worker_status)s);
			submit(&f, nuke ? "worker.nuke" : "worker.reset",
					json(&f, "{'worker': 'w'}"));
			drain(&f);
			if (nuke) {
				assert_null(worker_of(&f, "w"));
				assert_int_equal(count_events(&f, EV_WORKER_REMOVED), 1);
			} else {
				assert_int_equal(worker_of(&f, "w")->status, WORKER_IDLE);
				assert_true(worker_is_free(worker_of(&f, "w")));
				assert_string_equal(
						arena_cstr(&f.arena,
								value_str_at(last_event(&f, EV_WORKER_WANTED)
												->data,
										"rescue_ref")),
						"r");
			}
			if (s == WORKER_IDLE || s == WORKER_OFFLINE) {
				fixture_done(&f);
				continue;
			}
			n = node_of(&f, "t1");
			assert_int_equal(n->status, NODE_BLOCKED);
			assert_int_equal(n->block.kind, BLOCK_PERSON);
			/* A person says so, and it goes on: once, in the same worker. */
			submit(&f, "work.update",
					json(&f,
							"{'node': 't1', 'status': 'queued', "
							"'reason': 'r'}"));
			drain(&f);
			assert_int_equal(node_of(&f, "t1")->status,
					nuke ? NODE_BLOCKED : NODE_IN_PROGRESS);
			fixture_done(&f);
		}
}

/* Of the pool: done anew by whoever is free, and only once at a time. */
TEST(a_task_of_the_pool_goes_on_elsewhere)
{
	struct fixture f;
	const struct node *n;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	submit(&f, "worker.nuke", json(&f, "{'all': true}"));
	n = node_of(&f, "T1");
	assert_int_equal(n->status, NODE_QUEUED);
	settle(&f);
	/* Its run is being stopped: nobody begins before that is over. */
	assert_int_equal(count_events(&f, EV_ASSIGNMENT_CREATED), 1);
	drain(&f);
	assert_int_equal(node_of(&f, "T1")->status, NODE_DONE);
	assert_int_equal(count_events(&f, EV_NODE_ACCEPTED), 1);
	assert_int_equal(f.state->workers.n, 1);
	fixture_done(&f);
}

/*
 * What could not be rescued is left alone: the worker is in error, a person is told, and may
 * try again.
 */
TEST(a_failed_reset_is_told)
{
	struct fixture f;
	const struct effect *fx;

	begin(&f);
	submit(&f, "worker.reset", json(&f, "{'worker': 'w'}"));
	settle(&f);
	fx = worker_of(&f, "w")->effect;
	assert_non_null(fx);
	assert_int_equal(fx->kind, FX_WORKER);
	refused(&f, "worker.start", json(&f, "{'worker': 'w', 'task': 'x'}"), OV_ESTATE);
	submit(&f, "effect.end",
			json(&f,
					"{'effect': '" STR_FMT
					"', 'outcome': 'error', 'detail': 'disk full'}",
					STR_ARG(fx->id)));
	settle(&f);
	assert_int_equal(worker_of(&f, "w")->status, WORKER_ERROR);
	assert_int_equal(worker_of(&f, "w")->wanted.n, 0);
	assert_true(str_is(state_escalation(f.state, 1)->kind, "worker"));
	assert_int_equal(state_escalation(f.state, 1)->status, ESC_OPEN);
	submit(&f, "worker.reset", json(&f, "{'worker': 'w'}"));
	drain(&f);
	assert_int_equal(worker_of(&f, "w")->status, WORKER_IDLE);
	assert_int_equal(state_escalation(f.state, 1)->status, ESC_DISMISSED);
	fixture_done(&f);
}

/* A change that is on the target branch is brought to its end first. */
TEST(a_wish_waits_for_an_accept)
{
	struct fixture f;

	fixture_init(&f);
	submit(&f, "worker.add", json(&f, "{'worker': 'w'}"));
	give_task(&f);
	bring_to(&f, "t1", STAGE_ACCEPT);
	settle(&f);
	submit(&f, "worker.reset", json(&f, "{'worker': 'w'}"));
	assert_int_equal(node_of(&f, "t1")->status, NODE_IN_PROGRESS);
	drain(&f);
	assert_int_equal(node_of(&f, "t1")->status, NODE_DONE);
	assert_int_equal(worker_of(&f, "w")->status, WORKER_IDLE);
	assert_int_equal(count_events(&f, EV_WORKER_WANTED), 2);
	fixture_done(&f);
}

/* Asked for while it is being reset: it is removed after that. */
TEST(a_greater_wish_takes_over)
{
	struct fixture f;

	begin(&f);
	submit(&f, "worker.reset", json(&f, "{'worker': 'w'}"));
	settle(&f);
	submit(&f, "worker.nuke", json(&f, "{'worker': 'w'}"));
	drain(&f);
	assert_null(worker_of(&f, "w"));
	fixture_done(&f);
}

/* Ordinary goals use the pool and workers of people that are not excluded, beside each other. */
TEST(who_serves_whom)
{
	struct fixture f;

	fixture_init(&f);
	f.policy.workers_max = 1;
	submit(&f, "worker.add", json(&f, "{'worker': 'mine', 'excluded': true}"));
	submit(&f, "worker.add", json(&f, "{'worker': 'yours'}"));
	create_goal(&f, flat_plan(&f, 4), NULL);
	settle(&f);
	assert_int_equal(worker_of(&f, "mine")->status, WORKER_IDLE);
	assert_int_equal(worker_of(&f, "yours")->status, WORKER_WORKING);
	assert_int_equal(worker_of(&f, "pool-1")->status, WORKER_WORKING);
	assert_int_equal(f.state->workers.n, 3);
	drain(&f);
	assert_int_equal(count_events(&f, EV_NODE_ACCEPTED), 4);
	fixture_done(&f);
}

/* Those of auto mode get their tasks from the pool, whatever they do at the moment. */
TEST(auto_workers_are_refused)
{
	struct fixture f;
	struct event e = { .kind = EV_WORKER_CREATED, .actor = STR("overseer") };

	fixture_init(&f);
	e.at = f.now;
	e.data = json(&f, "{'worker': 'auto-1', 'path': 'worktrees/auto-1', 'kind': 'auto'}");
	assert_int_equal(append(&f, &e, NULL), 0);
	assert_non_null(strstr(refused(&f, "worker.start",
					       json(&f, "{'worker': 'auto-1', 'task': 'x'}"),
					       OV_ESTATE),
			"gets its tasks from the pool"));
	/* Nor does an ordinary goal use it. */
	create_goal(&f, flat_plan(&f, 3), NULL);
	settle(&f);
	assert_int_equal(worker_of(&f, "auto-1")->status, WORKER_IDLE);
	submit(&f, "worker.nuke", json(&f, "{'worker': 'auto-1'}"));
	drain(&f);
	assert_null(worker_of(&f, "auto-1"));
	fixture_done(&f);
}

TEST(names)
{
	static const struct {
		const char *params;
		int code;
		const char *words;
	} bad[] = {
		{ "'worker': ''", OV_EINVALID, "1 to 32 letters" },
		{ "'worker': '../up'", OV_EINVALID, "1 to 32 letters" },
		{ "'worker': '-x'", OV_EINVALID, "1 to 32 letters" },
		{ "'worker': 'a.lock'", OV_EINVALID, "1 to 32 letters" },
		{ "'worker': 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", OV_EINVALID, "1 to 32 letters" },
		{ "'worker': 'pool-9'", OV_EINVALID, "made on demand" },
		{ "'worker': 'auto-1'", OV_EINVALID, "made on demand" },
		{ "'worker': 'w'", OV_ECONFLICT, "already" },
		{ "'worker': 'v', 'agent': 'nobody'", OV_EINVALID, "not configured" },
	};
	struct fixture f;

	begin(&f);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_non_null(strstr(refused(&f, "worker.add", json(&f, "{%s}", bad[i].params),
						       bad[i].code),
				bad[i].words));
	submit(&f, "worker.add", json(&f, "{'worker': 'A_b-9', 'agent': 'b'}"));
	submit(&f, "worker.start", json(&f, "{'worker': 'A_b-9', 'task': 'x'}"));
	settle(&f);
	assert_true(str_is(state_assignment(f.state, worker_of(&f, "A_b-9")->assignment_id)->agent,
			"b"));
	assert_non_null(strstr(refused(&f, "worker.start",
					       json(&f, "{'worker': 'ww', 'task': 'x'}"),
					       OV_ENOTFOUND),
			"did you mean \"w\"?"));
	fixture_done(&f);
}

/* One task at a time, also before the first one has begun. */
TEST(a_second_task_is_refused)
{
	struct fixture f;

	begin(&f);
	submit(&f, "worker.start", json(&f, "{'worker': 'w', 'task': 'one'}"));
	assert_non_null(strstr(refused(&f, "worker.start",
					       json(&f, "{'worker': 'w', 'task': 'two'}"),
					       OV_ESTATE),
			"has a task already: one"));
	/* Removed before it began: nobody else may do it, and a person is told what would help. */
	submit(&f, "worker.nuke", json(&f, "{'worker': 'w'}"));
	drain(&f);
	assert_int_equal(node_of(&f, "t1")->status, NODE_BLOCKED);
	submit(&f, "worker.add", json(&f, "{'worker': 'w'}"));
	submit(&f, "work.update", json(&f, "{'node': 't1', 'status': 'queued', 'reason': 'r'}"));
	settle(&f);
	assert_int_equal(worker_of(&f, "w")->status, WORKER_WORKING);
	fixture_done(&f);
}

/* The number of one that was removed is used again, not that of another. */
TEST(numbers_of_the_pool)
{
	struct fixture f;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 3), NULL);
	settle(&f);
	assert_non_null(worker_of(&f, "pool-2"));
	submit(&f, "worker.nuke", json(&f, "{'worker': 'pool-1'}"));
	drain(&f);
	assert_int_equal(count_events(&f, EV_NODE_ACCEPTED), 3);
	assert_true(f.state->workers.n <= 2);
	check_invariants(f.state, &f.policy);
	fixture_done(&f);
}

TEST_MAIN
