/*
 * A wall clock that is set while runs are under way: they are as old as before, and nothing is
 * decided by it.
 */
#include "tests/test.h"

#include "base/duration.h"
#include "core/capacity/budget.h"
#include "core/life/liveness.h"
#include "data/value/json.h"
#include "tests/unit/core_fixture.h"

enum { DAYS = 365 };

static void jump(struct fixture *f, ov_time by)
{
	f->now += by;
	submit(f, "daemon.clock", json(f, "{'by_ms': %lld}", (long long)by));
}

/* One run, an hour old, that has just shown something. */
static void begin(struct fixture *f)
{
	fixture_init(f);
	create_goal(f, flat_plan(f, 1), NULL);
	bring_to(f, "T1", STAGE_RUNNING);
	f->now += OV_HOUR;
	observe(f, node_of(f, "T1"))->output_at = f->now;
	observe(f, node_of(f, "T1"))->looked_at = f->now;
	settle(f);
}

static void forwards_or_back(ov_time by)
{
	struct fixture f;
	const struct goal *g;

	begin(&f);
	g = node_of(&f, "T1")->goal;
	jump(&f, by);
	observe(&f, node_of(&f, "T1"))->looked_at = f.now;
	settle(&f);
	assert_int_equal(node_of(&f, "T1")->assignment->status, AS_ACTIVE);
	assert_int_equal(f.state->escalations.n, 0);
	assert_int_equal(count_events(&f, EV_GOAL_BUDGET), 0);
	assert_int_equal(f.now - node_of(&f, "T1")->assignment->run->started_at, OV_HOUR);
	/* What it used is what it took, whatever its own clock says. */
	submit(&f, "run.end",
			json(&f,
					"{'run': '" STR_FMT
					"', 'exit_code': 0, 'signal': 0, 'ended_at_ms': %lld, "
					"'ran_ms': %lld}",
					STR_ARG(node_of(&f, "T1")->assignment->run_id),
					(long long)(f.now - by), (long long)OV_HOUR));
	assert_int_equal(g->spent[RES_WALL_MS], OV_HOUR);
	drain(&f);
	assert_int_equal(g->status, GOAL_COMPLETED);
	check_invariants(f.state, &f.policy);
	fixture_done(&f);
}

TEST(forwards)
{
	forwards_or_back(DAYS * OV_DAY);
}

TEST(backwards)
{
	forwards_or_back(-DAYS * OV_DAY);
}

/* It does run out of time, but only by time that passed. */
TEST(time_goes_on)
{
	struct fixture f;

	begin(&f);
	jump(&f, DAYS * OV_DAY);
	f.now += f.policy.max_run - OV_HOUR;
	observe(&f, node_of(&f, "T1"))->output_at = f.now;
	observe(&f, node_of(&f, "T1"))->looked_at = f.now;
	settle(&f);
	assert_int_equal(f.state->escalations.n, 1);
	assert_true(str_is(f.state->escalations.p[0]->kind, "overdue"));
	fixture_done(&f);
}

TEST(nothing_moved)
{
	struct fixture f;

	begin(&f);
	jump(&f, 0);
	assert_int_equal(count_events(&f, EV_CLOCK_MOVED), 0);
	fixture_done(&f);
}

/* ---- all moments of the state ---- */

/* What is a moment in the snapshot and does not go along with the clock. */
static const struct {
	const char *in, *key;
	bool back; /* back it does: no wait becomes longer */
} stays[] = {
	{ "runs", "resets_at", true }, /* an agent's limit ends at an hour */
	{ "retired_runs", "resets_at", true },
	{ "lanes", "resets_at", true },
	{ "nodes", "blocked_until", true },   /* and so does what waits for it */
	{ "escalations", "notify_at", true }, /* quiet hours end at an hour */
	{ "escalations", "snoozed_until", true },
	{ "notices", "not_before", true },
	{ "watchers", "at", false }, /* compared with what stands in the watchdog's file */
	{ "vigil", "forgotten_at", false },
	{ "goal", "created_at", false }, /* by which its events are found in the log */
	{ "goal", "ended_at", false },
	{ "nodes", "created_at", false },
};

static ov_time expected(const char *in, const value *record, str key, ov_time by)
{
	/* Nobody said when it resets: a wait, not an hour. */
	if (strcmp(in, "lanes") == 0 && value_bool_at(record, "guessed"))
		return by;
	for (size_t i = 0; i < ARRAY_LEN(stays); i++)
		if (strcmp(in, stays[i].in) == 0 && str_is(key, stays[i].key))
			return stays[i].back && by < 0 ? by : 0;
	return by;
}

/* Which moments were found, "in.key". */
struct seen {
	struct arena arena;
	struct map keys;
	ov_time by;
};

static void compare(struct seen *s, const char *in, const value *a, const value *b);

static void compare_member(struct seen *s, const char *in, const value *record, str key,
		const value *a, const value *b)
{
	ov_time was, is = 0;

	/* Of the state itself: that of the event. */
	if (!*in && str_is(key, "at"))
		return;
	if (a->kind == V_STR && time_parse(a->s, &was)) {
		assert_true(b->kind == V_STR && time_parse(b->s, &is));
		if (is - was != expected(in, record, key, s->by))
			fail_msg("%s." STR_FMT " went by %lld ms", in, STR_ARG(key),
					(long long)(is - was));
		map_put(&s->keys, arena_printf(&s->arena, "%s." STR_FMT, in, STR_ARG(key)), s);
	} else if (a->kind == V_ARRAY || a->kind == V_OBJECT) {
		compare(s, arena_cstr(&s->arena, key), a, b);
	}
}

static void compare(struct seen *s, const char *in, const value *a, const value *b)
{
	assert_int_equal(a->kind, b->kind);
	assert_true(value_count(a) <= value_count(b));
	if (a->kind == V_OBJECT)
		for (size_t i = 0; i < a->object.n; i++)
			compare_member(s, in, a, a->object.members[i].key,
					a->object.members[i].value,
					value_get(b, a->object.members[i].key));
	else if (a->kind == V_ARRAY)
		for (size_t i = 0; i < value_count(a); i++)
			if (value_item(a, i)->kind == V_OBJECT)
				compare(s, in, value_item(a, i), value_item(b, i));
}

static value *document(struct fixture *f)
{
	value *doc;

	assert_int_equal(json_parse(&f->arena, snapshot_of(f, f->state), NULL, &doc, NULL), 0);
	return doc;
}

/*
 * A clock that is set moves every moment of the state but those of the table above: whatever is
 * compared with another is as far from it as before. A new moment that is forgotten is found here.
 */
static void all_moments(struct seen *s)
{
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct fixture f;
		struct rng rng = { .state = seed };
		value *before;

		fixture_init(&f);
		fixture_channels(&f);
		for (int i = 0; i < 1500; i++)
			random_step(&f, &rng);
		before = document(&f);
		jump(&f, s->by);
		compare(s, "", before, document(&f));
		check_invariants(f.state, &f.policy);
		fixture_done(&f);
	}
}

static void every_moment(ov_time by)
{
	static const char *const found[] = { "goal.created_at", "nodes.queued_at",
		"nodes.episode_at", "nodes.backoff_until", "live.last_activity_at",
		"live.updated_at", "dispatches.at", "runs.started_at", "runs.created_at",
		"escalations.opened_at", "escalations.closed_at", "lanes.since", "lanes.seen_at",
		"effects.created_at", "workers.since", "notices.created_at", "habits.used_at" };
	struct seen s = { .by = by };

	map_init(&s.keys, 0);
	all_moments(&s);
	for (size_t i = 0; i < ARRAY_LEN(found); i++)
		if (!map_get(&s.keys, str_from(found[i])))
			fail_msg("%s was never there", found[i]);
	map_done(&s.keys);
	arena_done(&s.arena);
}

TEST(every_moment_goes_along)
{
	every_moment(3 * OV_DAY);
	every_moment(-3 * OV_DAY);
}

/* Long ago is never "never". */
TEST(before_1970)
{
	struct fixture f;

	begin(&f);
	jump(&f, -f.now + OV_MINUTE);
	assert_true(node_of(&f, "T1")->assignment->run->started_at > 0);
	check_invariants(f.state, &f.policy);
	fixture_done(&f);
}

/* ---- sleep ---- */

static void sleep_for(struct fixture *f, ov_time slept)
{
	f->now += slept;
	submit(f, "daemon.clock", json(f, "{'slept_ms': %lld}", (long long)slept));
}

static int64_t wall_used(struct fixture *f)
{
	return budget_live_of(f->state, node_of(f, "T1")->goal, &f->observations, f->now)
			.used[RES_WALL_MS];
}

/* A night with the lid closed: no time of the run's, no silence of its. */
TEST(sleeps)
{
	struct fixture f;
	const struct assignment *as;
	const struct observation *o;

	begin(&f);
	as = node_of(&f, "T1")->assignment;
	o = observe(&f, node_of(&f, "T1"));
	f.now += f.policy.idle_after - OV_SECOND;
	sleep_for(&f, 8 * OV_HOUR);
	settle(&f);
	assert_int_equal(as->status, AS_ACTIVE);
	assert_int_equal(wall_used(&f), OV_HOUR + f.policy.idle_after - OV_SECOND);
	assert_int_equal(liveness_judge(&f.policy, as, o, f.now).due_at,
			f.now + f.policy.idle_after);
	assert_int_equal(f.state->escalations.n, 0);
	/* A frozen one is held anyway: not twice. */
	submit(&f, "run.end",
			json(&f,
					"{'run': '" STR_FMT
					"', 'exit_code': 0, 'signal': 0, 'ran_ms': %lld}",
					STR_ARG(as->run_id), (long long)(2 * OV_HOUR)));
	assert_int_equal(node_of(&f, "T1")->goal->spent[RES_WALL_MS], 2 * OV_HOUR);
	fixture_done(&f);
}

/* Its longest time is that which it was awake for. */
TEST(sleep_and_maximum)
{
	struct fixture f;

	begin(&f);
	sleep_for(&f, 10 * f.policy.max_run);
	observe(&f, node_of(&f, "T1"))->output_at = f.now;
	settle(&f);
	assert_int_equal(f.state->escalations.n, 0);
	f.now += f.policy.max_run - OV_HOUR;
	observe(&f, node_of(&f, "T1"))->output_at = f.now;
	observe(&f, node_of(&f, "T1"))->looked_at = f.now;
	settle(&f);
	assert_int_equal(f.state->escalations.n, 1);
	assert_true(str_is(f.state->escalations.p[0]->kind, "overdue"));
	fixture_done(&f);
}

/* Asked just before the machine went to sleep: it has its time to answer afterwards. */
TEST(sleep_during_recovery)
{
	struct fixture f;
	struct node *n;
	ov_time left;

	begin(&f);
	n = node_of(&f, "T1");
	for (int i = 0; i < 50 && !n->stall.open; i++) {
		f.now += OV_MINUTE;
		observe(&f, n)->looked_at = f.now;
		settle(&f);
	}
	assert_true(n->stall.open && n->stall.backoff_until > f.now);
	left = n->stall.backoff_until - f.now;
	sleep_for(&f, 8 * OV_HOUR);
	observe(&f, n)->looked_at = f.now;
	settle(&f);
	assert_true(n->stall.open);
	assert_int_equal(n->assignment->status, AS_STALLED);
	assert_int_equal(n->stall.backoff_until - f.now, left);
	assert_int_equal(n->stall.recoveries, 1);
	fixture_done(&f);
}

/* ---- while no daemon was up ---- */

static void start(struct fixture *f, const char *boot, ov_time set, ov_time slept)
{
	submit(f, "daemon.start",
			json(f,
					"{'instance': 'i', 'version': 'v', 'boot': '%s', "
					"'clock_set_ms': %lld, 'clock_slept_ms': %lld}",
					boot, (long long)set, (long long)slept));
}

TEST(between_daemons)
{
	struct fixture f;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	start(&f, "b1", 1000, 0);
	bring_to(&f, "T1", STAGE_RUNNING);
	/* The same boot: both are known. */
	f.now += OV_HOUR + 3 * OV_DAY + OV_MINUTE;
	start(&f, "b1", 1000 + 3 * OV_DAY, OV_MINUTE);
	assert_int_equal(value_int_at(last_event(&f, EV_CLOCK_MOVED)->data, "by_ms"), 3 * OV_DAY);
	assert_int_equal(value_int_at(last_event(&f, EV_MACHINE_SLEPT)->data, "for_ms"), OV_MINUTE);
	assert_true(last_event(&f, EV_CLOCK_MOVED)->seq < last_event(&f, EV_DAEMON_STARTED)->seq);
	assert_int_equal(wall_used(&f), OV_HOUR);
	/* And once: what is told later is counted from there, what is little is nothing. */
	jump(&f, OV_DAY);
	f.now += CLOCK_JUMP_MS / 2;
	start(&f, "b1", 1000 + 4 * OV_DAY + CLOCK_JUMP_MS / 2, OV_MINUTE);
	assert_int_equal(count_events(&f, EV_CLOCK_MOVED), 2);
	assert_int_equal(count_events(&f, EV_MACHINE_SLEPT), 1);
	fixture_done(&f);
}

/* Of two boots nothing can be compared, but time does not run backwards. */
TEST(between_boots)
{
	struct fixture f;
	ov_time before;

	begin(&f);
	start(&f, "b1", 1000, 0);
	before = f.now;
	f.now += 30 * OV_DAY;
	start(&f, "b2", 7, 0);
	assert_int_equal(count_events(&f, EV_CLOCK_MOVED), 0);
	f.now = before;
	start(&f, "b3", 9, 0);
	assert_int_equal(value_int_at(last_event(&f, EV_CLOCK_MOVED)->data, "by_ms"), -30 * OV_DAY);
	fixture_done(&f);
}

TEST_MAIN
