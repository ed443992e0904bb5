/* When the daemon owes something: never while its work waits, and always when it should go on. */
#include "tests/test.h"

#include "base/map.h"
#include "core/tick/work_due.h"
#include "tests/unit/core_fixture.h"

#define HARVESTED "'head': 'h', 'tree': 't', 'commits': 1, 'files_changed': 2"

static bool due(struct fixture *f)
{
	struct world w = { f->state, &f->policy };

	return work_due(&f->arena, &w, &f->telemetry, f->now);
}

/* As the daemon does: whatever the tick wants to be looked at is looked at. */
static void look(struct fixture *f)
{
	struct world w = { f->state, &f->policy };
	struct decisions d;

	do {
		settle(f);
		d = reconcile(&f->arena, &w, &f->telemetry, f->now);
		for (size_t i = 0; i < d.looks_n; i++)
			observe(f, state_assignment(f->state, d.looks[i]->assignment_id)->node)
					->looked_at = f->now;
	} while (d.looks_n);
}

static void begin(struct fixture *f, size_t n)
{
	fixture_init(f);
	f->policy.workers_max = 1;
	create_goal(f, flat_plan(f, n), NULL);
}

/*
 * Brings the work to where it waits; returns at which moment it is due again, or 0: never
 * by itself.
 */
typedef ov_time wait_fn(struct fixture *f);

static ov_time wait_no_goal(struct fixture *f)
{
	f->policy.fallback = false;
	submit(f, "goal.create", json(f, "{'title':'no plan'}"));
	submit(f, "goal.cancel",
			json(f, "{'goal':'" STR_FMT "','reason':'x'}",
					STR_ARG(f->state->goals.p[0]->id)));
	return 0;
}

static ov_time wait_workspace(struct fixture *f)
{
	bring_to(f, "T1", STAGE_WORKSPACE);
	return 0;
}

static ov_time wait_agent(struct fixture *f)
{
	bring_to(f, "T1", STAGE_RUNNING);
	return 0;
}

/* Also one that says nothing for hours, as long as it says that it does something. */
static ov_time wait_tool(struct fixture *f)
{
	struct observation *o;

	bring_to(f, "T1", STAGE_RUNNING);
	o = observe(f, node_of(f, "T1"));
	o->output_at = f->now;
	o->tool_in_flight = true;
	f->now += OV_HOUR - 10 * OV_MINUTE;
	look(f);
	return 0;
}

static ov_time wait_person(struct fixture *f)
{
	bring_to(f, "T1", STAGE_RUNNING);
	observe(f, node_of(f, "T1"))->waiting_for = STR("permission to use Bash");
	f->now += f->policy.idle_after + 1;
	look(f);
	assert_int_equal(count_events(f, EV_ESCALATION_OPENED), 1);
	return 0;
}

static ov_time wait_backoff(struct fixture *f)
{
	f->policy.workers_max = 2; /* what waits needs a slot when its time has come */
	bring_to(f, "T1", STAGE_RUNNING);
	run_end(f, "T1", 1);
	settle(f);
	effect_end(f, "T1", FX_HARVEST, "ok", "", HARVESTED);
	settle(f);
	return node_of(f, "T1")->assignment->not_before;
}

static ov_time wait_paused(struct fixture *f)
{
	settle(f);
	submit(f, "goal.pause",
			json(f, "{'goal':'" STR_FMT "'}", STR_ARG(f->state->goals.p[0]->id)));
	settle(f);
	return 0;
}

static ov_time wait_capacity(struct fixture *f)
{
	f->telemetry.no_capacity = STR("memory is short");
	return 0;
}

static ov_time wait_no_agent(struct fixture *f)
{
	f->policy.agents_n = 0;
	return 0;
}

static ov_time wait_not_allowed(struct fixture *f)
{
	static const str only_b[] = { STR("b") };

	f->policy.allow_agents = only_b;
	return 0;
}

static ov_time wait_lane(struct fixture *f)
{
	struct event e = { .kind = EV_AGENT_LIMITED };
	ov_time until = f->now + OV_HOUR;

	e.data = json(f,
			"{'agent':'a','kind':'rate_limited','detail':'','times':1,"
			"'resets_at_ms':%lld}",
			(long long)until);
	assert_int_equal(append(f, &e, NULL), 0);
	return until;
}

static ov_time wait_review(struct fixture *f)
{
	f->policy.review = REVIEW_ALWAYS;
	bring_to(f, "T1", STAGE_REVIEW);
	return 0;
}

static ov_time wait_dirty(struct fixture *f)
{
	bring_to(f, "T1", STAGE_REBASE);
	effect_end(f, "T1", FX_REBASE, "dirty", "a.c", "");
	settle(f);
	return node_of(f, "T1")->assignment->not_before;
}

static ov_time wait_blocked(struct fixture *f)
{
	settle(f);
	submit(f, "work.update", json(f, "{'node':'T1','status':'blocked','reason':'x'}"));
	submit(f, "work.update", json(f, "{'node':'T2','status':'blocked','reason':'x'}"));
	return 0;
}

static ov_time wait_budget(struct fixture *f)
{
	f->policy.budget[RES_ITERATIONS] = 1;
	bring_to(f, "T1", STAGE_RUNNING);
	run_end(f, "T1", 1);
	settle(f);
	effect_end(f, "T1", FX_HARVEST, "ok", "", HARVESTED);
	f->now += OV_DAY;
	return 0;
}

static ov_time wait_pool(struct fixture *f)
{
	str id;

	f->policy.auto_mode = true;
	f->policy.auto_agent = f->policy.default_agent;
	f->policy.auto_concurrency = 1;
	f->policy.pool_wait = f->policy.pool_wait_max = 10 * OV_SECOND;
	submit(f, "goal.cancel",
			json(f, "{'goal':'" STR_FMT "','reason':'x'}",
					STR_ARG(f->state->goals.p[0]->id)));
	submit(f, "auto.start", json(f, "{'instance':'I_1'}"));
	settle(f);
	id = arena_str(&f->arena, f->state->pool->id);
	submit(f, "effect.end",
			json(f, "{'effect':'" STR_FMT "','outcome':'none','detail':'','data':{}}",
					STR_ARG(id)));
	settle(f);
	return f->now + f->policy.pool_wait;
}

static ov_time wait_outage(struct fixture *f)
{
	f->policy.workers_max = 8;
	drain(f);
	create_goal(f, flat_plan(f, 6), NULL);
	for (char id[3] = "T1"; id[1] <= '6'; id[1]++) {
		bring_to(f, id, STAGE_RUNNING);
		observe(f, node_of(f, id))->output_at = f->now;
	}
	f->now += OV_HOUR;
	look(f);
	assert_true(f->state->outage_since);
	return 0;
}

/*
 * However long it waits, nothing is due before its moment has come, and something is when it has.
 */
TEST(waiting)
{
	static const struct {
		const char *name;
		wait_fn *wait;
	} waits[] = {
		{ "nothing to do", wait_no_goal },
		{ "an effect under way", wait_workspace },
		{ "an agent at work", wait_agent },
		{ "a tool in flight", wait_tool },
		{ "a permission", wait_person },
		{ "the next attempt", wait_backoff },
		{ "a paused goal", wait_paused },
		{ "no capacity", wait_capacity },
		{ "no agent is configured", wait_no_agent },
		{ "the agent is not allowed", wait_not_allowed },
		{ "the agent's limit", wait_lane },
		{ "a review", wait_review },
		{ "a checkout with changes", wait_dirty },
		{ "a blocked node", wait_blocked },
		{ "a budget that is spent", wait_budget },
		{ "a pool without tasks", wait_pool },
		{ "an outage", wait_outage },
	};

	for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
		struct fixture f;
		ov_time until;

		begin(&f, 2);
		assert_true(due(&f)); /* a node that nobody has taken up */
		until = waits[i].wait(&f);
		settle(&f);
		if (due(&f))
			fail_msg("%s: due at once", waits[i].name);
		f.now = until ? until - 1 : f.now + 5 * OV_MINUTE;
		if (due(&f))
			fail_msg("%s: due though it still waits", waits[i].name);
		f.now = until;
		if (until && !due(&f))
			fail_msg("%s: not due when its time has come", waits[i].name);
		fixture_done(&f);
	}
}

/* Silence is looked into, then answered: each step is due until it is taken. */
TEST(silent_run)
{
	struct fixture f;

	begin(&f, 1);
	bring_to(&f, "T1", STAGE_RUNNING);
	observe(&f, node_of(&f, "T1"))->output_at = f.now;
	f.now += f.policy.idle_after / 2 + 1;
	assert_true(due(&f)); /* somebody has to look */
	look(&f);
	assert_false(due(&f));
	f.now += f.policy.idle_after;
	assert_true(due(&f));
	look(&f);
	assert_int_equal(count_events(&f, EV_EPISODE_OPENED), 1);
	assert_false(due(&f));
	fixture_done(&f);
}

/* That a run lives is noted when there is a tick; nobody waits for the note. */
TEST(life_is_not_owed)
{
	struct fixture f;
	struct world w;

	begin(&f, 1);
	bring_to(&f, "T1", STAGE_RUNNING);
	f.now += f.policy.idle_after;
	observe(&f, node_of(&f, "T1"))->output_at = f.now;
	w = (struct world){ f.state, &f.policy };
	assert_int_equal(reconcile(&f.arena, &w, &f.telemetry, f.now).n, 1);
	assert_false(due(&f));
	fixture_done(&f);
}

/* An effect may take all the time that its commands have; then somebody has forgotten it. */
TEST(late_effect)
{
	struct fixture f;

	begin(&f, 1);
	f.policy.effect_longest = 2 * OV_HOUR;
	bring_to(&f, "T1", STAGE_WORKSPACE);
	f.now += 3 * OV_HOUR;
	assert_false(due(&f));
	f.now++;
	assert_true(due(&f));
	/* A clock that was put back says nothing about it. */
	f.now -= OV_DAY;
	assert_false(due(&f));
	fixture_done(&f);
}

/* What is held is not decided, so it is not owed. */
TEST(held)
{
	struct fixture f;
	struct world w;
	struct decisions d;
	struct map held;

	begin(&f, 1);
	w = (struct world){ f.state, &f.policy };
	map_init(&held, 1);
	d = reconcile(&f.arena, &w, &f.telemetry, f.now);
	assert_int_equal(d.n, 1);
	map_put(&held, decision_key(&f.arena, &d.p[0]), &f);
	assert_true(due(&f));
	f.telemetry.held = &held;
	assert_false(due(&f));
	f.telemetry.held = NULL;
	map_done(&held);
	fixture_done(&f);
}

TEST(movement)
{
	static const enum event_kind none[] = { EV_DAEMON_STARTED, EV_DAEMON_STOPPED,
		EV_DAEMON_FAILED, EV_WATCH_ACTED, EV_CLOCK_MOVED, EV_MACHINE_SLEPT,
		EV_ESCALATION_REMINDED, EV_OUTAGE_SUSPECTED, EV_TARGET_MOVED };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		assert_false(event_is_movement(none[i]));
	for (int i = 0; i < EVENT_KIND_COUNT; i++)
		n += event_is_movement((enum event_kind)i);
	assert_int_equal(n, EVENT_KIND_COUNT - ARRAY_LEN(none));
}

/* Every fact of every run makes another number; the order of the map does not. */
TEST(mark)
{
	struct observation one = { .output_at = 1 }, two = { .output_at = 2 };
	struct map a, b;
	uint64_t before;

	assert_int_equal(observations_mark(NULL), 0);
	map_init(&a, 1);
	map_init(&b, 77);
	map_put(&a, STR("r1"), &one);
	map_put(&a, STR("r2"), &two);
	map_put(&b, STR("r2"), &two);
	map_put(&b, STR("r1"), &one);
	assert_int_equal(observations_mark(&a), observations_mark(&b));
#define CHANGES(field, to)                                    \
	do {                                                  \
		before = observations_mark(&a);               \
		one.field = (to);                             \
		assert_true(observations_mark(&a) != before); \
	} while (0)
	CHANGES(output_at, 5);
	CHANGES(looked_at, 5);
	CHANGES(process_at, 5);
	CHANGES(tree_at, 5);
	CHANGES(tokens, 5);
	CHANGES(cost_microusd, 5);
	CHANGES(tool_in_flight, true);
	CHANGES(tool_since, 5);
	CHANGES(compacting, true);
	CHANGES(retrying, true);
	CHANGES(retrying_since, 5);
	CHANGES(waiting_for, STR("Bash"));
	CHANGES(waiting_since, 7);
#undef CHANGES
	map_remove(&a, STR("r2"));
	before = observations_mark(&a);
	map_put(&a, STR("r3"), &two);
	assert_true(observations_mark(&a) != before);
	map_done(&a);
	map_done(&b);
}

/*
 * The promise behind the watchdog's rule: whatever happens, a daemon that ticks is never long due
 * without movement. One that has ticked and looked until nothing is left to do owes nothing.
 */
TEST(never_due_after_a_tick)
{
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct rng rng = { seed };
		struct fixture f;

		fixture_init(&f);
		f.policy.effect_longest = 400 * OV_DAY; /* of effects that nobody ends */
		for (int step = 0; step < 150; step++) {
			size_t before;

			random_step(&f, &rng);
			if (rng_below(&rng, 8))
				continue;
			before = f.log.n;
			if (due(&f)) {
				look(&f);
				assert_true(f.log.n > before || !due(&f));
			}
			assert_false(due(&f));
		}
		fixture_done(&f);
	}
}

TEST_MAIN
