/* Who moved the target branch: what is ours or a person's is only noted, the rest is told. */
#include "tests/test.h"

#include <stdio.h>

#include "core/capacity/accept_queue.h"
#include "core/inbox/inbox.h"
#include "core/state/snapshot.h"
#include "tests/unit/core_fixture.h"

TEST_MAIN

static struct assignment *as_of(struct fixture *f)
{
	return node_of(f, "T1")->assignment;
}

/* A run is live, and the target is known to be at "a". */
static void begin(struct fixture *f)
{
	fixture_init(f);
	f->policy.target_branch = STR("main");
	create_goal(f, flat_plan(f, 1), "normal");
	settle(f);
	bring_to(f, "T1", STAGE_RUNNING);
	submit(f, "target.report", json(f, "{'target': 'main', 'from': '', 'to': 'a'}"));
}

static void move(struct fixture *f, const char *from, const char *to, const char *how,
		const char *commits)
{
	submit(f, "target.report",
			json(f,
					"{'target': 'main', 'from': '%s', 'to': '%s', 'how': '%s', "
					"'commits': [%s], 'lost': 0}",
					from, to, how, commits));
	check_invariants(f->state, &f->policy);
}

static str how(struct fixture *f)
{
	return value_str_at(last_event(f, EV_TARGET_MOVED)->data, "how");
}

static size_t open_entries(const struct fixture *f)
{
	size_t n = 0;

	for (size_t i = 0; i < f->state->escalations.n; i++)
		n += str_is(f->state->escalations.p[i]->kind, "target_moved") &&
				f->state->escalations.p[i]->status == ESC_OPEN;
	return n;
}

TEST(found_first)
{
	struct fixture f;

	begin(&f);
	assert_true(str_is(how(&f), "found"));
	assert_true(str_is(f.state->target_head, "a"));
	assert_int_equal(open_entries(&f), 0);
	fixture_done(&f);
}

TEST(people_are_not_reported)
{
	static const char *const words[] = { "person", "remote", "unrecorded" };
	struct fixture f;

	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		begin(&f);
		move(&f, "a", "b", words[i], "");
		assert_true(str_is(how(&f), words[i]));
		assert_true(str_is(f.state->target_head, "b"));
		assert_int_equal(open_entries(&f), 0);
		fixture_done(&f);
	}
}

TEST(nobody_knows)
{
	struct fixture f;
	const struct escalation *x;

	begin(&f);
	move(&f, "a", "b", "odd",
			"{'commit': 'b', 'author': 'An Agent', 'subject': 'Sneak in', "
			"'accept_key': '', 'revert_key': ''}");
	assert_true(str_is(how(&f), "unknown"));
	assert_int_equal(open_entries(&f), 1);
	x = f.state->escalations.p[f.state->escalations.n - 1];
	assert_true(str_contains(x->question, STR("\"Sneak in\" by An Agent")));
	assert_true(str_contains(x->question, as_of(&f)->run_id));
	assert_true(str_contains(x->question, STR("git update-ref refs/heads/main a b")));
	/* There again: by whom does not matter. */
	move(&f, "b", "a", "unknown", "");
	assert_true(str_is(how(&f), "back"));
	assert_int_equal(open_entries(&f), 0);
	assert_int_equal(f.state->target_before.n, 0);
	fixture_done(&f);
}

/* One entry, which says what was found last, and puts back all of it. */
TEST(one_entry)
{
	struct fixture f;
	char from[8], to[8];

	begin(&f);
	for (int i = 0; i < 10; i++) {
		snprintf(from, sizeof(from), i ? "c%d" : "a", i);
		snprintf(to, sizeof(to), "c%d", i + 1);
		move(&f, from, to, "unknown", "");
	}
	assert_int_equal(open_entries(&f), 1);
	assert_true(str_is(f.state->target_head, "c10"));
	assert_true(str_is(f.state->target_before, "a"));
	assert_true(str_contains(f.state->escalations.p[0]->question,
			STR("git update-ref refs/heads/main a c10")));
	/* What came on top is to stay: from there on, only what comes later is put back. */
	move(&f, "c10", "d", "person", "");
	assert_int_equal(f.state->target_before.n, 0);
	move(&f, "d", "e", "unknown", "");
	assert_true(str_contains(f.state->escalations.p[0]->question,
			STR("git update-ref refs/heads/main d e")));
	assert_int_equal(open_entries(&f), 1);
	fixture_done(&f);
}

/* A look that was overtaken says nothing. */
TEST(stale)
{
	struct fixture f;
	size_t n;

	begin(&f);
	move(&f, "a", "b", "person", "");
	n = count_events(&f, EV_TARGET_MOVED);
	move(&f, "a", "c", "unknown", "");
	move(&f, "a", "b", "unknown", "");
	move(&f, "b", "b", "unknown", "");
	submit(&f, "target.report", json(&f, "{'target': '', 'from': 'b', 'to': 'c'}"));
	assert_int_equal(count_events(&f, EV_TARGET_MOVED), n);
	assert_int_equal(open_entries(&f), 0);
	fixture_done(&f);
}

/* No agent was there that could have done it. */
TEST(no_run_was_live)
{
	struct fixture f;

	begin(&f);
	submit(&f, "run.end",
			json(&f, "{'run': '" STR_FMT "', 'exit_code': 0}",
					STR_ARG(as_of(&f)->run_id)));
	f.now += OV_MINUTE;
	move(&f, "a", "b", "person", "");
	f.now += OV_MINUTE;
	move(&f, "b", "c", "unknown", "");
	assert_true(str_is(how(&f), "unknown"));
	assert_int_equal(open_entries(&f), 0);
	fixture_done(&f);
}

/* The commit that the queue made is ours; one that only has its key is not. */
TEST(ours)
{
	static const struct {
		const char *commit;
		const char *how;
	} cases[] = { { "K", "ours" }, { "forged", "unknown" } };
	struct fixture f;
	char commit[200];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		begin(&f);
		bring_to(&f, "T1", STAGE_REBASE);
		effect_end(&f, "T1", FX_REBASE, "ok", "", "'commit': 'K', 'base': 'a'");
		snprintf(commit, sizeof(commit), "{'commit': '%s', 'accept_key': '" STR_FMT "'}",
				cases[i].commit, STR_ARG(as_of(&f)->id));
		move(&f, "a", cases[i].commit, "unknown", commit);
		assert_true(str_is(how(&f), cases[i].how));
		fixture_done(&f);
	}
}

/* What a step of ours left there needs no look. */
TEST(left_by_a_step)
{
	struct fixture f;

	begin(&f);
	bring_to(&f, "T1", STAGE_ACCEPT);
	effect_end(&f, "T1", FX_ACCEPT, "ok", "",
			"'commit': 'K', 'target': 'main', 'target_head': 'K'");
	assert_true(str_is(how(&f), "ours"));
	assert_true(str_is(f.state->target_head, "K"));
	fixture_done(&f);
}

TEST(work_that_waits_says_so)
{
	struct fixture f;

	begin(&f);
	bring_to(&f, "T1", STAGE_REBASE);
	move(&f, "a", "b", "unknown", "");
	assert_int_equal(open_entries(&f), 1);
	effect_end(&f, "T1", FX_REBASE, "dirty", "", "'files': ['x.c'], 'files_changed': 1");
	assert_true(str_contains(as_of(&f)->reason, STR("moved by neither Overseer nor your")));
	assert_false(str_contains(as_of(&f)->reason, STR("uncommitted")));
	fixture_done(&f);
}

TEST(in_snapshots)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	struct state *s;
	struct fixture f;

	begin(&f);
	move(&f, "a", "b", "unknown", "");
	snapshot_write(&b, f.state);
	assert_int_equal(snapshot_read(buf_str(&b), 0, &s, NULL), 0);
	assert_true(str_is(s->target_branch, "main"));
	assert_true(str_is(s->target_head, "b"));
	assert_true(str_is(s->target_before, "a"));
	assert_int_equal(s->target_seen_at, f.state->target_seen_at);
	state_free(s);
	fixture_done(&f);
}
