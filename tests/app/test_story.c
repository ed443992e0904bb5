/* The daemon's story: which failures there were, what was done, and when it was healthy again. */
#include "tests/test.h"

#include "app/vital/daemon_story.h"
#include "base/arena.h"
#include "base/str.h"

TEST_MAIN

struct told {
	struct arena arena;
	struct story story;
	uint64_t seq;
};

static void begin(struct told *t)
{
	*t = (struct told){ .arena = ARENA_INIT };
	story_init(&t->story, &t->arena);
}

static void end(struct told *t)
{
	story_done(&t->story);
	arena_done(&t->arena);
}

static struct event *event(struct told *t, enum event_kind kind, ov_time at, const char *instance)
{
	struct event *e = arena_new(&t->arena, struct event);

	e->seq = ++t->seq;
	e->kind = kind;
	e->at = at;
	e->data = value_object(&t->arena);
	value_put(&t->arena, e->data, "instance", value_cstr(&t->arena, instance));
	return e;
}

static void daemon_event(struct told *t, enum event_kind kind, ov_time at, const char *instance)
{
	struct event *e = event(t, kind, at, instance);

	value_put(&t->arena, e->data, "cause", value_cstr(&t->arena, "store"));
	value_put(&t->arena, e->data, "text", value_cstr(&t->arena, "the store is lost"));
	event_fill(&t->arena, e);
	story_take(&t->story, e);
}

/* Recorded later than it was. */
static void acted(struct told *t, const char *act, ov_time at, const char *instance,
		const char *failure)
{
	struct event *e = event(t, EV_WATCH_ACTED, at + 50000, instance);

	value_put(&t->arena, e->data, "act", value_cstr(&t->arena, act));
	value_put(&t->arena, e->data, "at_ms", value_int(&t->arena, at));
	if (failure)
		value_put(&t->arena, e->data, "failure", value_cstr(&t->arena, failure));
	event_fill(&t->arena, e);
	story_take(&t->story, e);
}

static void is_failure(const value *list, size_t i, const char *cause, int64_t recovery,
		size_t done)
{
	const value *f = value_item(list, i);

	assert_true(str_is(value_str_at(f, "cause"), cause));
	assert_int_equal(value_int_or(value_at(f, "recovery_ms"), -1), recovery);
	assert_int_equal(value_count(value_at(f, "done")), done);
}

TEST(an_end_by_request_is_no_failure)
{
	struct told t;

	begin(&t);
	daemon_event(&t, EV_DAEMON_STARTED, 1000, "a");
	daemon_event(&t, EV_DAEMON_STOPPED, 2000, "a");
	acted(&t, "waiting", 2100, "a", NULL);
	daemon_event(&t, EV_DAEMON_STARTED, 3000, "b");
	acted(&t, "adopted", 3100, "b", NULL);
	acted(&t, "healthy", 3200, "b", NULL);
	assert_int_equal(value_count(story_failures(&t.story)), 0);
	assert_int_equal(value_count(t.story.facts), 6);
	end(&t);
}

TEST(failures_in_a_row_recover_together)
{
	struct told t;
	value *list;

	begin(&t);
	daemon_event(&t, EV_DAEMON_STARTED, 1000, "a");
	acted(&t, "failed", 2000, "a", "died");
	acted(&t, "started", 2100, "", NULL);
	acted(&t, "failed", 8000, "", "unregistered");
	acted(&t, "remediating", 8100, "", NULL);
	acted(&t, "remediated", 9000, "", NULL);
	acted(&t, "started", 9100, "", NULL);
	daemon_event(&t, EV_DAEMON_STARTED, 9500, "b");
	acted(&t, "healthy", 10000, "b", NULL);
	/* What comes later is none of it. */
	acted(&t, "degraded", 11000, "b", NULL);
	list = story_failures(&t.story);
	assert_int_equal(value_count(list), 2);
	is_failure(list, 0, "died", 8000, 1);
	is_failure(list, 1, "unregistered", 2000, 4);
	end(&t);
}

/* The daemon said why it ends, and the watchdog saw it end. */
TEST(what_both_saw_is_one_failure)
{
	struct told t;
	value *list;

	begin(&t);
	daemon_event(&t, EV_DAEMON_STARTED, 1000, "a");
	daemon_event(&t, EV_DAEMON_FAILED, 2000, "a");
	daemon_event(&t, EV_DAEMON_STOPPED, 2500, "a");
	acted(&t, "failed", 2600, "a", "health");
	acted(&t, "started", 2700, "", NULL);
	daemon_event(&t, EV_DAEMON_STARTED, 3000, "b");
	list = story_failures(&t.story);
	assert_int_equal(value_count(list), 1);
	is_failure(list, 0, "store", 1000, 3);
	/* The fact says the end of it, too. */
	assert_true(str_ends(value_str_at(value_item(t.story.facts, 1), "text"),
			STR("healthy again after 1s")));
	end(&t);
}

TEST(what_nobody_saw_and_what_lasts)
{
	struct told t;
	value *list;

	begin(&t);
	daemon_event(&t, EV_DAEMON_STARTED, 1000, "a");
	daemon_event(&t, EV_DAEMON_STARTED, 5000, "b");
	acted(&t, "failed", 6000, "b", "heartbeat");
	acted(&t, "terminated", 7000, "b", NULL);
	acted(&t, "gave_up", 7100, "", NULL);
	list = story_failures(&t.story);
	assert_int_equal(value_count(list), 2);
	is_failure(list, 0, "vanished", 0, 1);
	is_failure(list, 1, "heartbeat", -1, 2);
	end(&t);
}
