/* Whose work a rescue ref holds: that of who was in the worktree, not of who comes next. */
#include "tests/test.h"

#include "core/export/rescue_owner.h"
#include "tests/unit/core_fixture.h"

struct told {
	enum event_kind kind;
	const char *node, *assignment, *run, *data;
};

static struct rescue_owners *learn(struct fixture *f, const struct told *list, size_t n)
{
	struct rescue_owners *o = rescue_owners_new(1);

	for (size_t i = 0; i < n; i++) {
		struct event e = { .kind = list[i].kind,
			.at = (ov_time)i + 1,
			.goal = STR("g"),
			.node = str_from(list[i].node),
			.assignment = str_from(list[i].assignment),
			.run = str_from(list[i].run),
			.data = json(f, "%s", list[i].data) };

		event_fill(&f->arena, &e);
		if (rescue_owners_wants(str_from(event_name(e.kind))))
			rescue_owners_add(o, &e);
	}
	return o;
}

static struct rescue_owner check_at(const struct rescue_owners *o, const char *id,
		const char *commit, const char *node, const char *assignment, const char *run)
{
	struct rescue_owner x;

	assert_true(rescue_owners_find(o, str_from(id), str_from(commit), &x));
	if (!str_is(x.node, node) || !str_is(x.assignment, assignment) || !str_is(x.run, run))
		fail_msg("%s: " STR_FMT " " STR_FMT " " STR_FMT, id, STR_ARG(x.node),
				STR_ARG(x.assignment), STR_ARG(x.run));
	return x;
}

static struct rescue_owner check(const struct rescue_owners *o, const char *id, const char *node,
		const char *assignment, const char *run)
{
	return check_at(o, id, "c", node, assignment, run);
}

#define AS(node, id, worker) \
	((struct told){ EV_ASSIGNMENT_CREATED, node, id, "", "{'worker': '" worker "'}" })
#define READY(node, id, base) \
	((struct told){ EV_WORKSPACE_READY, node, id, "", "{'base': '" base "'}" })
#define RUN(node, id, run) ((struct told){ EV_RUN_CREATED, node, id, run, "{}" })
#define EFFECT(node, id, run, effect, kind)                \
	((struct told){ EV_EFFECT_INTENDED, node, id, run, \
			"{'effect': '" effect "', 'kind': '" kind "'}" })
#define WORKER(effect, purpose)                         \
	((struct told){ EV_EFFECT_INTENDED, "", "", "", \
			"{'effect': '" effect           \
			"', 'kind': 'worker', 'worker': 'w', 'purpose': '" purpose "'}" })

TEST(what_lies_in_a_worktree_is_of_who_was_there)
{
	static const struct told list[] = {
		AS("T1", "A_1", "w"),
		EFFECT("T1", "A_1", "", "X_first", "workspace"),
		READY("T1", "A_1", "b1"),
		RUN("T1", "A_1", "R_1"),
		EFFECT("T1", "A_1", "R_1", "X_stop", "run_stop"),
		AS("T2", "A_2", "w"),
		EFFECT("T2", "A_2", "", "X_next", "workspace"),
		/* That one failed: what is there is still the first one's. */
		EFFECT("T2", "A_2", "", "X_again", "workspace"),
		READY("T2", "A_2", "b2"),
		RUN("T2", "A_2", "R_2"),
		WORKER("X_pick", "pick"),
		WORKER("X_reset", "reset"),
		{ EV_EFFECT_ENDED, "", "", "",
				"{'effect': 'X_reset', 'kind': 'worker', 'outcome': 'ok'}" },
		AS("T3", "A_3", "w"),
		EFFECT("T3", "A_3", "", "X_empty", "workspace"),
	};
	_cleanup_(fixture_done) struct fixture f;
	struct rescue_owners *o;
	struct rescue_owner none;

	fixture_init(&f);
	o = learn(&f, list, ARRAY_LEN(list));
	check(o, "X_first", "", "", "");
	assert_true(str_is(check(o, "X_stop", "T1", "A_1", "R_1").base, "b1"));
	check(o, "R_1", "T1", "A_1", "R_1");
	assert_true(str_is(check(o, "X_next", "T1", "A_1", "R_1").base, "b1"));
	check(o, "X_again", "T1", "A_1", "R_1");
	check(o, "X_pick", "T2", "A_2", "R_2");
	check(o, "X_reset", "T2", "A_2", "R_2");
	check(o, "X_empty", "", "", "");
	check(o, "A_2", "T2", "A_2", "R_2");
	check(o, "A_2.3", "T2", "A_2", "R_2"); /* accepted again, after reverts */
	assert_false(rescue_owners_find(o, STR("X_unknown"), STR("c"), &none));
	rescue_owners_free(o);
}

/* The next assignment of a node begins with what its last run left, maybe in another worktree. */
TEST(work_that_is_handed_on_keeps_its_run)
{
	static const struct told list[] = {
		AS("T1", "A_1", "w"),
		READY("T1", "A_1", "b"),
		RUN("T1", "A_1", "R_1"),
		AS("T1", "A_2", "v"),
		READY("T1", "A_2", "b"),
		EFFECT("T1", "A_2", "", "X_stop", "check"),
		RUN("T1", "A_2", "R_2"),
		AS("T2", "A_3", "v"),
		EFFECT("T2", "A_3", "", "X_next", "workspace"),
		AS("T3", "A_4", "w"),
		EFFECT("T3", "A_4", "", "X_other", "workspace"),
	};
	_cleanup_(fixture_done) struct fixture f;
	struct rescue_owners *o;

	fixture_init(&f);
	o = learn(&f, list, ARRAY_LEN(list));
	check(o, "X_stop", "T1", "A_2", "R_1");
	check(o, "X_next", "T1", "A_2", "R_2");
	check(o, "X_other", "T1", "A_1", "R_1");
	rescue_owners_free(o);
}

/*
 * A worktree was being made ready for T1, which failed; what is found there is what T1 goes
 * on from.
 */
TEST(a_commit_is_of_the_run_that_made_it)
{
	static const struct told list[] = {
		AS("T1", "A_1", "w"),
		READY("T1", "A_1", "b"),
		RUN("T1", "A_1", "R_1"),
		{ EV_RUN_HARVESTED, "T1", "A_1", "R_1", "{'head': 'h1', 'commits': 2}" },
		RUN("T1", "A_1", "R_2"),
		{ EV_RUN_HARVESTED, "T1", "A_1", "R_2", "{'head': 'h1', 'commits': 2}" },
		AS("T2", "A_2", "w"),
		READY("T2", "A_2", "b"),
		RUN("T2", "A_2", "R_3"),
		{ EV_RUN_HARVESTED, "T2", "A_2", "R_3", "{'head': 'b', 'commits': 0}" },
		AS("T1", "A_3", "w"),
		EFFECT("T1", "A_3", "", "X_failed", "workspace"),
		AS("T3", "A_4", "w"),
		EFFECT("T3", "A_4", "", "X_next", "workspace"),
	};
	_cleanup_(fixture_done) struct fixture f;
	struct rescue_owners *o;

	fixture_init(&f);
	o = learn(&f, list, ARRAY_LEN(list));
	assert_string_equal(check_at(o, "X_next", "h1", "T1", "A_1", "R_1").why,
			"what was in the worktree before its next use");
	check_at(o, "X_next", "b", "T2", "A_2", "R_3");
	check_at(o, "stray", "h1", "T1", "A_1", "R_1");
	rescue_owners_free(o);
}

TEST_MAIN
