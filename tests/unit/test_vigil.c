/* Acts of watchdogs: each becomes an event once, and the daemon's own story is kept. */
#include "tests/test.h"

#include "core/explain/explain.h"
#include "core/model/watchdog.h"
#include "core/state/snapshot.h"
#include "core/view/view.h"
#include "tests/unit/core_fixture.h"

TEST_MAIN

static value *act(struct fixture *f, unsigned watch, int64_t n, const char *kind, int64_t at)
{
	return json(f,
			"{'n': %lld, 'act': '%s', 'failure': '%s', 'watch': '%016x', 'instance': "
			"'00000000000000dd', 'text': 'act %lld of %u', 'at_ms': %lld}",
			(long long)n, kind, strcmp(kind, "failed") == 0 ? "died" : "none", watch,
			(long long)n, watch, (long long)at);
}

static void report(struct fixture *f, value **acts, size_t n)
{
	value *params = json(f, "{}"), *list = value_array(&f->arena);

	for (size_t i = 0; i < n; i++)
		value_push(&f->arena, list, acts[i]);
	value_put(&f->arena, params, "acts", list);
	submit(f, "watch.report", params);
}

static void report_one(struct fixture *f, unsigned watch, int64_t n, int64_t at)
{
	value *one = act(f, watch, n, "started", at);

	report(f, &one, 1);
}

static size_t recorded(const struct fixture *f)
{
	return count_events(f, EV_WATCH_ACTED);
}

static void same_after_snapshot(struct fixture *f)
{
	str before = snapshot_of(f, f->state);
	struct state *back = NULL;

	assert_int_equal(snapshot_read(before, 7, &back, NULL), 0);
	assert_true(str_eq(snapshot_of(f, back), before));
	assert_int_equal(back->vigil.history.n, f->state->vigil.history.n);
	assert_int_equal(back->watchers.n, f->state->watchers.n);
	state_free(back);
}

TEST(an_act_is_recorded_once)
{
	struct fixture f;
	value *acts[3];
	const struct event *e;

	fixture_init(&f);
	acts[0] = act(&f, 1, 1, "watching", 1000);
	acts[1] = act(&f, 1, 2, "failed", 2000);
	acts[2] = acts[1]; /* twice in one report */
	report(&f, acts, 3);
	assert_int_equal(recorded(&f), 2);
	e = last_event(&f, EV_WATCH_ACTED);
	assert_int_equal(value_int_at(e->data, "at_ms"), 2000);
	assert_true(str_eq(value_str_at(e->data, "failure"), STR("died")));
	assert_true(str_eq(value_str_at(f.log.p[f.log.n - 2]->data, "failure"), STR("")));
	assert_true(str_eq(explain_event(&f.arena, e), STR("watchdog (died): act 2 of 1")));
	report(&f, acts, 3);
	report_one(&f, 1, 1, 1000);
	assert_int_equal(recorded(&f), 2);
	report_one(&f, 1, 3, 500); /* its clock was set back: the number counts */
	assert_int_equal(recorded(&f), 3);
	same_after_snapshot(&f);
	fixture_done(&f);
}

/* A file that was lost begins at 1 again: another watchdog's acts are other acts. */
TEST(a_new_series_is_recorded)
{
	struct fixture f;

	fixture_init(&f);
	report_one(&f, 1, 700, 1000);
	report_one(&f, 2, 1, 2000);
	report_one(&f, 1, 701, 3000);
	report_one(&f, 2, 1, 2000);
	assert_int_equal(recorded(&f), 3);
	assert_true(str_eq(f.state->watchers.p[1]->instance, STR("0000000000000001")));
	same_after_snapshot(&f);
	fixture_done(&f);
}

TEST(forgotten_watchers_are_not_recorded_anew)
{
	enum { MANY = LIMIT_WATCHERS + 10 };
	struct fixture f;

	fixture_init(&f);
	for (unsigned i = 1; i <= MANY; i++)
		report_one(&f, i, i, 1000 * (int64_t)i);
	assert_int_equal(recorded(&f), MANY);
	assert_int_equal(f.state->watchers.n, LIMIT_WATCHERS);
	assert_int_equal(f.state->vigil.forgotten_n, 10);
	same_after_snapshot(&f);
	for (unsigned i = 1; i <= MANY; i++)
		report_one(&f, i, i, 1000 * (int64_t)i);
	assert_int_equal(recorded(&f), MANY);
	report_one(&f, 5000, 1, 1000 * MANY + 1); /* the file was lost since */
	assert_int_equal(recorded(&f), MANY + 1);
	fixture_done(&f);
}

TEST(what_is_no_act_is_refused)
{
	struct fixture f;
	value *params, *list;

	fixture_init(&f);
	refused(&f, "watch.report",
			json(&f, "{'acts': [{'n': 0, 'act': 'failed', 'watch': '%016x'}]}", 1),
			OV_EINVALID);
	refused(&f, "watch.report",
			json(&f, "{'acts': [{'n': 1, 'act': 'sang', 'watch': '%016x'}]}", 1),
			OV_EINVALID);
	refused(&f, "watch.report", json(&f, "{'acts': [{'n': 1, 'act': 'left', 'watch': 'x'}]}"),
			OV_EINVALID);
	params = json(&f, "{}");
	list = value_array(&f.arena);
	for (int i = 0; i <= LIMIT_ACTS; i++)
		value_push(&f.arena, list, act(&f, 1, i + 1, "healthy", 1));
	value_put(&f.arena, params, "acts", list);
	refused(&f, "watch.report", params, OV_ELIMIT);
	list->array.n--;
	submit(&f, "watch.report", params);
	assert_int_equal(recorded(&f), LIMIT_ACTS);
	fixture_done(&f);
}

TEST(the_daemon_remembers_what_was_about_it)
{
	struct fixture f;

	fixture_init(&f);
	submit(&f, "daemon.start", json(&f, "{'instance': 'i', 'version': 'v'}"));
	create_goal(&f, flat_plan(&f, 1), "normal");
	report_one(&f, 1, 1, 1);
	submit(&f, "daemon.contradicted", json(&f, "{'what': 'w', 'detail': 'd'}"));
	submit(&f, "daemon.stop", json(&f, "{'instance': 'i', 'reason': 'r'}"));
	assert_int_equal(f.state->vigil.history.n, 4);
	assert_int_equal(f.state->vigil.history.p[3], f.state->seq);
	for (int64_t n = 2; n < 300; n++)
		report_one(&f, 1, n, n);
	assert_int_equal(f.state->vigil.history.n, LIMIT_KEPT);
	same_after_snapshot(&f);
	fixture_done(&f);
}
