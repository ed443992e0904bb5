#include "tests/test.h"

#include <stdio.h>

#include "core/life/ladder.h"
#include "core/life/liveness.h"
#include "core/model/silence.h"
#include "core/state/habit.h"
#include "core/state/snapshot.h"
#include "tests/unit/core_fixture.h"

/* ---- the book of one run ---- */

static const value *told(struct fixture *f, const struct silence_book *b, size_t i)
{
	return value_item(silence_told(&f->arena, b), i);
}

TEST(silences_are_counted_by_what_the_run_did)
{
	struct silence_book b = { 0 };
	struct fixture f;

	fixture_init(&f);
	assert_null(silence_told(&f.arena, &b));
	silence_hear(&b, 0, ACTIVITY_STARTING, STR(""));
	silence_hear(&b, 10 * OV_SECOND, ACTIVITY_TOOL, STR("pytest"));
	silence_hear(&b, 250 * OV_SECOND, ACTIVITY_THINKING, STR("ignored"));
	silence_hear(&b, 260 * OV_SECOND, ACTIVITY_APART, STR(""));
	silence_hear(&b, 9999 * OV_SECOND, ACTIVITY_THINKING, STR(""));
	assert_int_equal(value_count(silence_told(&f.arena, &b)), 3);
	assert_true(str_is(value_str_at(told(&f, &b, 0), "activity"), "starting"));
	assert_true(str_is(value_str_at(told(&f, &b, 1), "tool"), "pytest"));
	assert_int_equal(value_int_at(value_at(told(&f, &b, 1), "counts"), "240"), 1);
	assert_true(str_is(value_str_at(told(&f, &b, 2), "activity"), "thinking"));
	assert_int_equal(value_int_at(value_at(told(&f, &b, 2), "counts"), "60"), 1);
	fixture_done(&f);
}

TEST(a_silence_in_which_somebody_had_a_say_does_not_count)
{
	struct silence_book b = { 0 };

	silence_hear(&b, 0, ACTIVITY_THINKING, STR(""));
	silence_spoil(&b);
	silence_hear(&b, OV_HOUR, ACTIVITY_THINKING, STR(""));
	assert_int_equal(b.n, 0);
	silence_hear(&b, OV_HOUR + OV_SECOND, ACTIVITY_THINKING, STR(""));
	assert_int_equal(b.n, 1);
	assert_int_equal(b.rows[0].n, 1);
}

TEST(an_agent_that_says_nothing_is_at_work_when_its_processes_are)
{
	struct silence_book b = { 0 };

	silence_hear(&b, 0, ACTIVITY_UNSAID, STR(""));
	silence_work(&b);
	silence_hear(&b, OV_HOUR, ACTIVITY_THINKING, STR(""));
	/* One that says what it does is believed. */
	silence_work(&b);
	silence_hear(&b, 2 * OV_HOUR, ACTIVITY_UNSAID, STR(""));
	silence_hear(&b, 2 * OV_HOUR + 1, ACTIVITY_UNSAID, STR(""));
	assert_int_equal(b.n, 3);
	assert_int_equal(b.rows[0].activity, ACTIVITY_WORK);
	assert_int_equal(b.rows[1].activity, ACTIVITY_THINKING);
	assert_int_equal(b.rows[2].activity, ACTIVITY_UNSAID);
}

TEST(a_run_keeps_its_longest_silences_and_few_names)
{
	struct silence_book b = { 0 };
	ov_time at = 0;
	char name[200];

	silence_hear(&b, 0, ACTIVITY_THINKING, STR(""));
	for (int i = 1; i <= 100; i++)
		silence_hear(&b, at += i * OV_MINUTE, ACTIVITY_THINKING, STR(""));
	assert_int_equal(b.rows[0].n, SILENCE_SAMPLES);
	assert_int_equal(b.rows[0].longest[SILENCE_SAMPLES - 1], silence_bucket(100 * OV_MINUTE));
	assert_int_equal(b.rows[0].longest[0], silence_bucket(91 * OV_MINUTE));
	memset(name, 'x', sizeof(name));
	for (int i = 0; i < 100; i++) {
		name[0] = (char)('!' + i % 90);
		silence_hear(&b, ++at, ACTIVITY_TOOL, (str){ name, sizeof(name) });
	}
	assert_int_equal(b.n, SILENCE_ROWS);
	assert_int_equal(strlen(b.rows[1].tool), SILENCE_TOOL);
}

TEST(buckets_hold_what_they_say)
{
	int32_t counts[SILENCE_BUCKETS] = { 0 };

	assert_int_equal(silence_bucket(0), 0);
	assert_int_equal(silence_bucket(60 * OV_SECOND), 0);
	assert_int_equal(silence_bucket(60 * OV_SECOND + 1), 1);
	assert_int_equal(silence_bucket(30 * OV_DAY), SILENCE_BUCKETS - 1);
	assert_int_equal(silence_within(counts, 995), 0);
	counts[0] = 199;
	counts[8] = 1;
	assert_int_equal(silence_within(counts, 995), 60 * OV_SECOND);
	counts[8] = 2;
	assert_int_equal(silence_within(counts, 995), 240 * OV_SECOND);
}

/* ---- what is learned ---- */

static void teach(struct fixture *f, const char *activity, const char *tool, const char *bucket,
		int n)
{
	struct event e = { .kind = EV_SILENCE_LEARNED, .at = f->now, .actor = STR("overseer") };

	e.data = json(f,
			"{'agent': 'a', 'silences': [{'activity': '%s', 'tool': '%s', 'counts': "
			"{'%s': %d}}]}",
			activity, tool, bucket, n);
	assert_int_equal(append(f, &e, NULL), 0);
}

static void teach_often(struct fixture *f, const char *activity, const char *tool,
		const char *bucket, int runs)
{
	for (int i = 0; i < runs; i++)
		teach(f, activity, tool, bucket, SILENCE_SAMPLES);
}

/* A run of T1 that was heard just now. */
static struct assignment *running(struct fixture *f)
{
	struct assignment *as;

	fixture_init(f);
	f->policy.idle_after = 15 * OV_MINUTE;
	f->policy.mute_after = OV_HOUR;
	create_goal(f, flat_plan(f, 1), NULL);
	settle(f);
	bring_to(f, "T1", STAGE_RUNNING);
	as = node_of(f, "T1")->assignment;
	observe(f, as->node)->output_at = f->now;
	observe(f, as->node)->doing = ACTIVITY_THINKING;
	return as;
}

static ov_time idle_of(struct fixture *f, const struct assignment *as)
{
	return habit_idle(&f->policy, as, observe(f, as->node));
}

static ov_time mute_of(struct fixture *f, const struct assignment *as)
{
	return habit_mute(&f->policy, as, observe(f, as->node));
}

/* However short they all are: what is shorter than the first bucket is not told apart. */
TEST(nobody_is_asked_sooner_than_the_shortest_bucket_says)
{
	struct fixture f;
	struct assignment *as = running(&f);

	teach_often(&f, "thinking", "", silence_ends.names[0], 100);
	assert_int_equal(idle_of(&f, as), 135 * OV_SECOND);
	assert_int_equal(habit_least(&f.policy, as), 135 * OV_SECOND);
	fixture_done(&f);
}

TEST(a_habit_needs_fifty_silences_of_five_runs)
{
	struct fixture f;
	struct assignment *as = running(&f);

	teach_often(&f, "thinking", "", "60", 4);
	for (int i = 0; i < 10; i++)
		assert_int_equal(idle_of(&f, as), 15 * OV_MINUTE);
	teach(&f, "thinking", "", "60", 9);
	assert_int_equal(idle_of(&f, as), 15 * OV_MINUTE); /* 49 */
	teach(&f, "thinking", "", "60", 1);
	assert_int_equal(idle_of(&f, as), 135 * OV_SECOND);
	fixture_done(&f);
}

/* An event that says more than a run may is not believed, and one run does not teach alone. */
TEST(one_run_teaches_ten_silences_at_most)
{
	struct fixture f;
	struct assignment *as = running(&f);

	for (int i = 0; i < 4; i++)
		teach(&f, "thinking", "", "60", 1000);
	assert_int_equal(idle_of(&f, as), 15 * OV_MINUTE);
	teach(&f, "thinking", "", "60", 1000);
	assert_int_equal(as->habits->rows.p[0]->counts[0], 50);
	fixture_done(&f);
}

TEST(what_is_old_counts_less_and_less)
{
	struct fixture f;
	struct assignment *as = running(&f);

	teach_often(&f, "thinking", "", "480", 1);
	teach_often(&f, "thinking", "", "60", 99);
	assert_int_equal(silence_count(as->habits->rows.p[0]->counts), 500);
	assert_int_equal(idle_of(&f, as), 18 * OV_MINUTE);
	teach_often(&f, "thinking", "", "60", 100);
	assert_int_equal(idle_of(&f, as), 135 * OV_SECOND);
	fixture_done(&f);
}

TEST(thinking_is_no_measure_for_a_tool_nor_for_one_that_says_nothing)
{
	struct fixture f;
	struct assignment *as = running(&f);
	struct observation *o = observe(&f, as->node);

	teach_often(&f, "thinking", "", "60", 10);
	o->doing = ACTIVITY_TOOL;
	o->tool = STR("make");
	assert_int_equal(mute_of(&f, as), OV_HOUR);
	assert_int_equal(idle_of(&f, as), 15 * OV_MINUTE);
	o->doing = ACTIVITY_UNSAID;
	assert_int_equal(idle_of(&f, as), 15 * OV_MINUTE);
	assert_int_equal(mute_of(&f, as), OV_HOUR);
	teach_often(&f, "unsaid", "", "60", 10);
	assert_int_equal(idle_of(&f, as), 135 * OV_SECOND);
	/* It is at work, and of its work nothing is known. */
	assert_int_equal(mute_of(&f, as), OV_HOUR);
	teach_often(&f, "work", "", "240", 10);
	assert_int_equal(mute_of(&f, as), 9 * OV_MINUTE);
	o->doing = ACTIVITY_APART;
	assert_int_equal(idle_of(&f, as), 15 * OV_MINUTE);
	fixture_done(&f);
}

TEST(another_tool_or_model_is_another_habit)
{
	struct fixture f;
	struct assignment *as = running(&f);
	struct observation *o = observe(&f, as->node);

	teach_often(&f, "tool", "grep", "60", 10);
	o->doing = ACTIVITY_TOOL;
	o->tool = STR("make");
	assert_int_equal(mute_of(&f, as), OV_HOUR);
	o->tool = STR("grep");
	assert_int_equal(mute_of(&f, as), 135 * OV_SECOND);
	record_set_str(&as->run->model, STR("another"));
	assert_int_equal(mute_of(&f, as), OV_HOUR);
	fixture_done(&f);
}

TEST(only_a_default_is_made_longer_and_not_without_end)
{
	struct fixture f;
	struct assignment *as = running(&f);
	struct observation *o = observe(&f, as->node);

	teach_often(&f, "thinking", "", "3840", 10);
	teach_often(&f, "tool", "make", "7680", 10);
	teach_often(&f, "unsaid", "", "7680", 10);
	assert_int_equal(idle_of(&f, as), 30 * OV_MINUTE);
	f.policy.idle_set = true;
	assert_int_equal(idle_of(&f, as), 15 * OV_MINUTE);
	f.policy.idle_set = false;
	as->idle_after = OV_MINUTE;
	assert_int_equal(idle_of(&f, as), OV_MINUTE);
	as->idle_after = 0;
	o->doing = ACTIVITY_TOOL;
	o->tool = STR("make");
	assert_int_equal(mute_of(&f, as), 75 * OV_MINUTE);
	f.policy.mute_set = true;
	assert_int_equal(mute_of(&f, as), OV_HOUR);
	o->doing = ACTIVITY_UNSAID;
	assert_int_equal(idle_of(&f, as), 30 * OV_MINUTE);
	f.policy.idle_set = true;
	assert_int_equal(idle_of(&f, as), 15 * OV_MINUTE);
	f.policy.idle_after = f.policy.mute_after = 0;
	assert_int_equal(idle_of(&f, as), 0);
	assert_int_equal(mute_of(&f, as), 0);
	fixture_done(&f);
}

/* A server that does not answer for a while, in a download of which nothing is written. */
TEST(a_pause_in_work_is_not_measured_by_thought)
{
	struct fixture f;
	struct assignment *as = running(&f);
	struct observation *o = observe(&f, as->node);

	teach_often(&f, "unsaid", "", "60", 10);
	o->doing = ACTIVITY_UNSAID;
	assert_int_equal(idle_of(&f, as), 135 * OV_SECOND);
	o->process_at = o->output_at + OV_SECOND;
	assert_int_equal(idle_of(&f, as), 15 * OV_MINUTE);
	o->output_at = o->process_at;
	assert_int_equal(idle_of(&f, as), 135 * OV_SECOND);
	fixture_done(&f);
}

/* Fifty runs, and hardly one was at work without a word: one that is stands out. */
TEST(who_is_rarely_busy_in_silence_is_put_before_a_person_sooner)
{
	struct fixture f;
	struct assignment *as = running(&f);
	struct observation *o = observe(&f, as->node);

	o->doing = ACTIVITY_UNSAID;
	teach_often(&f, "unsaid", "", "60", 49);
	assert_int_equal(mute_of(&f, as), OV_HOUR);
	teach_often(&f, "unsaid", "", "60", 1);
	assert_int_equal(mute_of(&f, as), 30 * OV_MINUTE);
	/*
	 * The longest that was ever seen, with its margin, and never more than without
	 * having learned.
	 */
	teach(&f, "work", "", "1142", 1);
	assert_int_equal(mute_of(&f, as), 1142 * OV_SECOND * 9 / 4);
	teach(&f, "work", "", "7680", 1);
	assert_int_equal(mute_of(&f, as), OV_HOUR);
	fixture_done(&f);
}

/* Hostile: names without end. What many runs have shown stays. */
TEST(made_up_tools_do_not_displace_what_is_known)
{
	struct fixture f;
	struct assignment *as = running(&f);

	teach_often(&f, "thinking", "", "60", 10);
	for (int i = 0; i < 500; i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "tool%d", i);
		f.now += OV_MINUTE;
		teach(&f, "tool", name, "60", SILENCE_SAMPLES);
	}
	assert_int_equal(as->habits->rows.n, HABIT_ROWS);
	assert_int_equal(idle_of(&f, as), 135 * OV_SECOND);
	/* The newest are there, the oldest of those that only one run has shown are gone. */
	assert_true(str_is(as->habits->rows.p[HABIT_ROWS - 1]->tool, "tool499"));
	fixture_done(&f);
}

TEST(one_run_adds_few_names)
{
	struct fixture f;
	struct assignment *as = running(&f);
	struct event e = { .kind = EV_SILENCE_LEARNED, .at = f.now, .actor = STR("overseer") };
	value *list = value_array(&f.arena);

	for (int i = 0; i < 16; i++)
		value_push(&f.arena, list,
				json(&f, "{'activity': 'tool', 'tool': 't%d', 'counts': {'60': 1}}",
						i));
	e.data = json(&f, "{'agent': 'a'}");
	value_put(&f.arena, e.data, "silences", list);
	assert_int_equal(append(&f, &e, NULL), 0);
	assert_int_equal(as->habits->rows.n, HABIT_NEW_ROWS);
	fixture_done(&f);
}

TEST(what_is_known_gives_way_only_when_it_was_not_seen_for_long)
{
	struct fixture f;
	struct assignment *as = running(&f);
	char name[32];

	for (int i = 0; i < HABIT_ROWS; i++) {
		(void)snprintf(name, sizeof(name), "tool%d", i);
		teach_often(&f, "tool", name, "60", HABIT_RUNS);
	}
	teach(&f, "tool", "z", "60", 1);
	assert_false(str_is(as->habits->rows.p[HABIT_ROWS - 1]->tool, "z"));
	f.now += HABIT_KEPT;
	teach(&f, "tool", "z", "60", 1);
	assert_int_equal(as->habits->rows.n, HABIT_ROWS);
	assert_true(str_is(as->habits->rows.p[HABIT_ROWS - 1]->tool, "z"));
	fixture_done(&f);
}

/* Two names that differ in a character that is not kept. */
TEST(one_run_does_not_teach_as_many)
{
	struct fixture f;
	struct assignment *as = running(&f);
	struct event e = { .kind = EV_SILENCE_LEARNED, .at = f.now, .actor = STR("overseer") };

	e.data = json(&f,
			"{'agent': 'a', 'silences': [{'activity': 'tool', 'tool': 'x', 'counts': "
			"{'60': "
			"10}}, {'activity': 'tool', 'tool': 'x', 'counts': {'60': 10}}]}");
	assert_int_equal(append(&f, &e, NULL), 0);
	assert_int_equal(as->habits->rows.n, 1);
	assert_int_equal(as->habits->rows.p[0]->runs, 1);
	assert_int_equal(silence_count(as->habits->rows.p[0]->counts), SILENCE_SAMPLES);
	fixture_done(&f);
}

/* How long a shell takes depends on what it is called for. */
TEST(a_shell_is_known_by_its_program)
{
	struct fixture f;
	struct assignment *as = running(&f);
	struct observation *o = observe(&f, as->node);

	teach_often(&f, "tool", "pytest", "240", 10);
	o->doing = ACTIVITY_TOOL;
	o->tool = STR("Bash");
	assert_int_equal(idle_of(&f, as), 15 * OV_MINUTE);
	o->tool_program = STR("pytest");
	assert_int_equal(idle_of(&f, as), 9 * OV_MINUTE);
	o->tool_program = STR("cargo build");
	assert_int_equal(idle_of(&f, as), 15 * OV_MINUTE);
	fixture_done(&f);
}

/* ---- what comes of it ---- */

TEST(a_run_is_asked_by_what_is_usual_for_it)
{
	struct fixture f;
	struct assignment *as = running(&f);
	struct observation *o = observe(&f, as->node);
	const struct event *e;
	struct climb climb;

	teach_often(&f, "thinking", "", "120", 10);
	f.now += 2 * OV_MINUTE;
	settle(&f);
	o->looked_at = f.now;
	f.now += 150 * OV_SECOND;
	settle(&f);
	assert_int_equal(as->status, AS_ACTIVE);
	o->looked_at = f.now;
	settle(&f);
	assert_int_equal(as->status, AS_STALLED);
	e = last_event(&f, EV_EPISODE_OPENED);
	assert_true(str_is(value_str_at(e->data, "reason"),
			"no sign of life for 4m30s; 99.5 % of the silences of this agent between "
			"two "
			"calls end within 2m"));
	/* But it is not ended sooner than without: 15 minutes, and as long as asking takes. */
	climb = climb_of(&(struct world){ f.state, &f.policy }, as, o);
	assert_int_equal(climb.stalled_at, as->last_activity_at + 15 * OV_MINUTE);
	assert_true(climb_due(&climb, RUNG_REASSIGN, f.now) > climb.stalled_at);
	assert_int_equal(climb_due(&climb, RUNG_REPLAN, f.now), climb.stalled_at);
	/* By all that was seen of it, though not every sign is recorded. */
	o->process_at = as->last_activity_at + 7 * OV_SECOND;
	climb = climb_of(&(struct world){ f.state, &f.policy }, as, o);
	assert_int_equal(climb.stalled_at, o->process_at + 15 * OV_MINUTE);
	/* But what a process does to try again is no life. */
	o->retrying = true;
	climb = climb_of(&(struct world){ f.state, &f.policy }, as, o);
	assert_int_equal(climb.stalled_at, as->last_activity_at + 15 * OV_MINUTE);
	/* Nor when it says that it waits for a person, and so is not asked at all. */
	climb.asks_person = true;
	assert_true(climb_due(&climb, RUNG_REASSIGN, f.now) >= climb.stalled_at);
	assert_true(str_is(value_str_at(last_event(&f, EV_EPISODE_RUNG)->data, "rung"), "nudge"));
	fixture_done(&f);
}

TEST(a_tool_beyond_what_is_usual_is_put_before_a_person)
{
	struct fixture f;
	struct assignment *as = running(&f);
	struct observation *o = observe(&f, as->node);
	ov_time heard = f.now;
	const struct event *e;

	teach_often(&f, "tool", "pytest", "240", 10);
	o->doing = ACTIVITY_TOOL;
	o->tool_in_flight = true;
	o->tool = STR("pytest");
	for (; f.now < heard + 9 * OV_MINUTE; f.now += OV_MINUTE) {
		settle(&f);
		o->looked_at = f.now;
		assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 0);
	}
	settle(&f);
	o->looked_at = f.now;
	settle(&f);
	e = last_event(&f, EV_ESCALATION_OPENED);
	assert_non_null(e);
	assert_true(str_find(value_str_at(e->data, "question"),
				    STR("for 9m; 99.5 % of this agent's `pytest` calls answer "
					"within "
					"4m")) < value_str_at(e->data, "question").n);
	assert_int_equal(as->status, AS_ACTIVE);
	/* It speaks, and falls silent again: nobody is told of the same twice. */
	heard = o->output_at = f.now;
	for (; f.now < heard + 50 * OV_MINUTE; f.now += OV_MINUTE) {
		settle(&f);
		o->looked_at = f.now;
	}
	assert_int_equal(count_events(&f, EV_ESCALATION_OPENED), 1);
	fixture_done(&f);
}

static void end_with(struct fixture *f, int exit_code)
{
	submit(f, "run.end",
			json(f,
					"{'run': '" STR_FMT "', 'exit_code': %d, 'signal': 0, "
					"'silences': [{'activity': 'thinking', 'counts': {'60': "
					"3}}]}",
					STR_ARG(node_of(f, "T1")->assignment->run_id), exit_code));
}

/* ---- looks at one that says nothing of itself ---- */

static size_t looks_of(struct fixture *f)
{
	struct world w = { f->state, &f->policy };

	return reconcile(&f->arena, &w, &f->telemetry, f->now).looks_n;
}

/*
 * Lets it be silent for so long, with a look whenever one is asked for; when they were, in seconds.
 */
static str silent_for(struct fixture *f, struct observation *o, ov_time lasts)
{
	struct buf b = BUF_INIT;
	ov_time end = o->output_at + lasts;
	str said;

	for (; f->now <= end; f->now += OV_SECOND) {
		settle(f);
		if (!looks_of(f))
			continue;
		buf_addf(&b, "%lld ", (long long)((f->now - o->output_at) / OV_SECOND));
		o->looked_at = f->now;
	}
	said = arena_str(&f->arena, buf_str(&b));
	buf_done(&b);
	return said;
}

/* Else what it is at work on for ten minutes would be taken for ten minutes of thought. */
TEST(one_that_says_nothing_is_looked_at_as_its_silence_doubles)
{
	struct fixture f;
	struct assignment *as = running(&f);
	struct observation *o = observe(&f, as->node);
	static const enum activity others[] = { ACTIVITY_THINKING, ACTIVITY_STARTING,
		ACTIVITY_TOOL };

	for (size_t i = 0; i < ARRAY_LEN(others); i++) {
		o->doing = others[i];
		o->output_at = f.now;
		assert_true(str_is(silent_for(&f, o, 7 * OV_MINUTE), ""));
	}
	o->doing = ACTIVITY_UNSAID;
	f.now += 20 * OV_SECOND - f.now % (15 * OV_SECOND);
	o->output_at = f.now;
	/* Together with others: four times a minute at most. And half-way, as all are. */
	assert_true(str_is(silent_for(&f, o, 14 * OV_MINUTE), "70 130 250 450 490 "));
	/* Once it was seen at work, that is known. */
	f.now += 15 * OV_SECOND - f.now % (15 * OV_SECOND);
	o->output_at = f.now;
	assert_true(str_is(silent_for(&f, o, 3 * OV_MINUTE), "60 120 "));
	o->process_at = o->looked_at;
	assert_int_equal(liveness_probe(as, o, f.now), OV_TIME_MAX);
	o->process_at = 0;
	assert_int_equal(liveness_probe(as, o, f.now), o->output_at + 4 * OV_MINUTE);
	as->node->stall.open = true;
	assert_int_equal(liveness_probe(as, o, f.now), OV_TIME_MAX);
	as->node->stall.open = false;
	fixture_done(&f);
}

TEST(a_run_teaches_when_it_ended_well)
{
	struct fixture f;
	struct assignment *as = running(&f);

	end_with(&f, 0);
	assert_int_equal(count_events(&f, EV_SILENCE_LEARNED), 1);
	assert_int_equal(as->habits->rows.p[0]->counts[0], 3);
	fixture_done(&f);
	running(&f);
	end_with(&f, 1);
	assert_int_equal(count_events(&f, EV_SILENCE_LEARNED), 0);
	fixture_done(&f);
	as = running(&f);
	as->stopping = true;
	end_with(&f, 0);
	assert_int_equal(count_events(&f, EV_SILENCE_LEARNED), 0);
	fixture_done(&f);
}

TEST(habits_survive_a_snapshot)
{
	struct fixture f;
	struct assignment *as = running(&f);
	struct state *again;
	value *v;

	teach_often(&f, "tool", "pytest", "240", 10);
	v = habits_view(&f.arena, f.state, &f.policy, STR("a"));
	assert_int_equal(value_count(v), 1);
	assert_int_equal(value_int_at(value_item(v, 0), "samples"), 100);
	assert_int_equal(value_int_at(value_item(v, 0), "within_ms"), 4 * OV_MINUTE);
	assert_int_equal(value_int_at(value_item(v, 0), "asked_after_ms"), 9 * OV_MINUTE);
	assert_int_equal(value_count(habits_view(&f.arena, f.state, &f.policy, STR("b"))), 0);
	assert_int_equal(snapshot_read(snapshot_of(&f, f.state), 1, &again, NULL), 0);
	assert_true(str_eq(snapshot_of(&f, again), snapshot_of(&f, f.state)));
	assert_int_equal(state_assignment(again, as->id)->habits->least, 9 * OV_MINUTE);
	state_free(again);
	fixture_done(&f);
}

TEST_MAIN
