#include "tests/test.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "core/life/update_pace.h"
#include "data/value/json.h"
#include "tests/rng.h"

/* One run that writes blocks, and what it is worth in events. */
struct world {
	struct arena a;
	struct update_pace pace;
	int64_t now;
	uint64_t offset; /* as of the last block */
	size_t told, errors;
	value *stored; /* as the state would have merged what was told */
	uint64_t told_offset;
	int told_status;
};

static void begin(struct world *w)
{
	*w = (struct world){ .a = ARENA_INIT, .now = 1000, .told_status = -1 };
	update_pace_init(&w->pace);
}

static void end(struct world *w)
{
	update_pace_done(&w->pace);
	arena_done(&w->a);
}

static void parse(struct world *w, const char *members, struct update_result *ret)
{
	str text = arena_printf(&w->a, "{\"overseerUpdate\": {%s}}", members);
	char *p = arena_cstr(&w->a, text);

	for (size_t i = 0; i < text.n; i++)
		p[i] = p[i] == '\'' ? '"' : p[i];
	update_parse(&w->a, &(struct update_block){ .bytes = { p, text.n }, .offset = w->offset },
			NULL, 0, ret);
}

static void take(struct world *w, bool over)
{
	struct update_told t;

	while (update_pace_next(&w->pace, w->now, over, &t)) {
		struct update u = { .doc = t.doc };
		str status = value_str_at(t.doc, "status");

		assert_true(t.offset > w->told_offset);
		assert_true(t.identity.n > 0);
		w->told_offset = t.offset;
		w->told++;
		if (!t.doc) {
			assert_true(t.error.n > 0);
			w->errors++;
			continue;
		}
		if (status.n)
			w->told_status = status_parse(&node_statuses, status);
		w->stored = update_merge(&w->a, w->stored, &u);
	}
}

static void say(struct world *w, const char *members)
{
	struct update_result r;

	parse(w, members, &r);
	w->offset += 100;
	update_pace_add(&w->pace, &r, arena_printf(&w->a, "at %zu", (size_t)w->offset), w->offset);
	take(w, false);
}

TEST(single_updates_are_told_at_once)
{
	struct world w;

	begin(&w);
	for (int i = 0; i < 100; i++) {
		say(&w, "'status': 'in_progress', 'summary': 'one'");
		assert_int_equal(w.told, i + 1);
		assert_int_equal(update_pace_wait_ms(&w.pace, w.now), -1);
		w.now += UPDATE_EVERY_MS;
	}
	end(&w);
}

/* What fills the log is paid for, however few events it is in. */
TEST(megabytes_of_evidence_are_paced)
{
	struct world w;
	char evidence[4001];

	begin(&w);
	memset(evidence, 'c', sizeof(evidence) - 1);
	evidence[sizeof(evidence) - 1] = '\0';
	for (int i = 0; i < 3600; i++) {
		say(&w,
				arena_printf(&w.a, "'evidence': {'commits': ['%04d%s']}", i,
						evidence + 10)
						.p);
		w.now += UPDATE_EVERY_MS / 10;
	}
	/* Six minutes, and more than a second's worth in each: they are merged meanwhile. */
	assert_int_equal(w.errors, 0);
	assert_in_range(w.told, UPDATE_BURST, 150);
	end(&w);
}

TEST(twelve_thousand_at_once_are_twenty_and_a_last_one)
{
	struct world w;

	begin(&w);
	for (int i = 0; i < 12000; i++)
		say(&w,
				arena_printf(&w.a,
						"'summary': 'step %d', 'evidence': {'commits': "
						"['c%d']}",
						i, i / 100)
						.p);
	assert_int_equal(w.told, UPDATE_BURST);
	assert_int_equal(update_pace_wait_ms(&w.pace, w.now), UPDATE_EVERY_MS);
	w.now += UPDATE_EVERY_MS - 1;
	take(&w, false);
	assert_int_equal(w.told, UPDATE_BURST);
	w.now += 1;
	take(&w, false);
	assert_int_equal(w.told, UPDATE_BURST + 1);
	assert_true(str_eq(value_str_at(w.stored, "summary"), STR("step 11999")));
	assert_int_equal(value_count(value_at(value_at(w.stored, "evidence"), "commits")), 120);
	assert_int_equal(w.told_offset, w.offset);
	end(&w);
}

TEST(an_hour_of_updates_is_an_event_a_second)
{
	struct world w;

	begin(&w);
	for (int i = 0; i < 3600 * 10; i++) {
		say(&w, "'summary': 'again'");
		w.now += 100;
	}
	assert_in_range(w.told, 3600, 3600 + UPDATE_BURST);
	end(&w);
}

TEST(done_does_not_wait_for_the_second)
{
	struct world w;

	begin(&w);
	for (int i = 0; i < 500; i++)
		say(&w, "'status': 'in_progress'");
	assert_int_equal(w.told, UPDATE_BURST);
	say(&w, "'status': 'done', 'summary': 'finished'");
	assert_int_equal(w.told_status, NODE_DONE);
	assert_true(str_eq(value_str_at(w.stored, "summary"), STR("finished")));
	end(&w);
}

TEST(statuses_that_change_for_ever_are_bounded_too)
{
	struct world w;

	begin(&w);
	for (int i = 0; i < 10000; i++)
		say(&w, i % 2 ? "'status': 'done'" : "'status': 'in_progress'");
	assert_true(w.told <= UPDATE_BURST + UPDATE_OVERDRAFT);
	take(&w, true);
	assert_int_equal(w.told_status, NODE_DONE);
	end(&w);
}

TEST(blocked_always_goes)
{
	struct world w;

	begin(&w);
	for (int i = 0; i < 10000; i++)
		say(&w, i % 2 ? "'status': 'done'" : "'status': 'in_progress'");
	say(&w, "'status': 'blocked', 'blockers': ['which one?']");
	assert_int_equal(w.told_status, NODE_BLOCKED);
	assert_int_equal(value_count(value_at(w.stored, "blockers")), 1);
	end(&w);
}

TEST(blocked_again_and_again_is_bounded)
{
	struct world w;

	begin(&w);
	for (int i = 0; i < 10000; i++)
		say(&w, i % 2 ? "'status': 'blocked'" : "'status': 'in_progress'");
	assert_true(w.told <= UPDATE_BURST + 2 * UPDATE_OVERDRAFT);
	end(&w);
}

TEST(the_end_of_the_run_waits_for_nothing)
{
	struct world w;

	begin(&w);
	for (int i = 0; i < 100; i++)
		say(&w, "'summary': 'words'");
	say(&w, "'summary': 'last words'");
	take(&w, true);
	assert_true(str_eq(value_str_at(w.stored, "summary"), STR("last words")));
	assert_int_equal(w.told, UPDATE_BURST + 1);
	assert_int_equal(update_pace_wait_ms(&w.pace, w.now), -1);
	end(&w);
}

TEST(a_malformed_block_is_told_after_the_words_before_it)
{
	struct world w;

	begin(&w);
	for (int i = 0; i < 100; i++)
		say(&w, "'summary': 'words'");
	say(&w, "'summary': 'good'");
	say(&w, "'nonsense': 1");
	assert_int_equal(w.errors, 0);
	take(&w, true);
	assert_int_equal(w.errors, 1);
	assert_true(str_eq(value_str_at(w.stored, "summary"), STR("good")));
	assert_int_equal(w.told_offset, w.offset);
	end(&w);
}

TEST(good_words_after_a_malformed_block_make_up_for_it)
{
	struct world w;

	begin(&w);
	for (int i = 0; i < 100; i++)
		say(&w, "'nonsense': 1");
	assert_int_equal(w.errors, UPDATE_BURST);
	say(&w, "'summary': 'good'");
	take(&w, true);
	assert_int_equal(w.errors, UPDATE_BURST);
	assert_true(str_eq(value_str_at(w.stored, "summary"), STR("good")));
	end(&w);
}

TEST(a_clock_that_stands_or_jumps_gives_no_more_than_a_burst)
{
	struct world w;

	begin(&w);
	for (int i = 0; i < 100; i++)
		say(&w, "'summary': 'words'");
	w.now += INT64_C(1) << 50;
	for (int i = 0; i < 100; i++)
		say(&w, "'summary': 'words'");
	w.now -= 5000;
	for (int i = 0; i < 100; i++)
		say(&w, "'summary': 'words'");
	assert_int_equal(w.told, 2 * UPDATE_BURST);
	end(&w);
}

/*
 * However it is cut into events, the same comes of it: also by a daemon that is started in between.
 */
TEST(merging_before_or_in_the_state_is_the_same)
{
	static const char *const words[] = { "'summary': 'a'", "'next': 'b', 'percentComplete': 4",
		"'evidence': {'commits': ['x', 'y']}", "'evidence': {'commits': ['y', 'z']}",
		"'decisions': [{'decision': 'd'}]", "'blockers': []", "'status': 'done'",
		"'status': 'in_progress'", "'openQuestions': ['q']", "'learnings': ['l', 'm']" };

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct rng rng = { seed };
		struct world paced, each;
		struct buf one = BUF_INIT, two = BUF_INIT;

		begin(&paced);
		begin(&each);
		for (int i = 0; i < 60; i++) {
			const char *text = words[rng_below(&rng, ARRAY_LEN(words))];

			say(&paced, text);
			say(&each, text);
			take(&each, true);
			if (rng_below(&rng, 20) == 0)
				paced.now += (int64_t)rng_below(&rng, 3000);
		}
		take(&paced, true);
		assert_int_equal(each.told, 60);
		assert_true(paced.told < 60);
		json_write_canonical(&one, paced.stored);
		json_write_canonical(&two, each.stored);
		assert_true(str_eq(buf_str(&one), buf_str(&two)));
		buf_done(&one);
		buf_done(&two);
		end(&paced);
		end(&each);
	}
}

TEST_MAIN
