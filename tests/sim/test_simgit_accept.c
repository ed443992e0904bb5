/* The model of git: every rule that drive/git/git.h states about accept; steps that fail. */
#include "tests/sim/simgit_fixture.h"

TEST(accept_over_a_moved_target_and_with_a_conflict)
{
	struct model m;
	struct simgit_accepted ac;

	work(&m);
	simgit_user_write(m.g, STR("f2"));
	simgit_user_commit(m.g);
	assert_int_equal(accepted(&m, "A_1"), 0);
	assert_int_equal(m.res.outcome, GIT_OK);
	ensure(&m, "overseer/w1/b");
	write_file(&m, "f4");
	write_file(&m, "f3");
	harvest(&m, m.res.base);
	simgit_user_write(m.g, STR("f4"));
	simgit_user_delete(m.g, STR("f3"));
	simgit_user_commit(m.g);
	assert_int_equal(accept_of(&m, "overseer/w1/b", "A_2"), 0);
	assert_int_equal(m.res.outcome, GIT_CONFLICT);
	assert_str(m.res.detail, "f3\nf4");
	assert_false(simgit_ref(m.g, STR("refs/overseer/accepted/A_2")));
	/* The agent resolves it, by rebase; then it goes through. */
	assert_int_equal(simgit_agent_rebase(m.g, STR(TREE), STR("main"), STR("R_2"),
					 SIMGIT_FINISHED),
			0);
	assert_int_equal(accept_of(&m, "overseer/w1/b", "A_2"), 0);
	assert_int_equal(m.res.outcome, GIT_OK);
	simgit_accepted(m.g, STR("A_2"), &m.arena, &ac);
	assert_int_equal(ac.count, 1);
	assert_true(ac.whole);
	assert_str(ac.change[1].run, "R_2");
	model_close(&m);
}

TEST(accept_of_nothing)
{
	struct model m;

	model_open(&m);
	ensure(&m, BRANCH);
	assert_int_equal(accepted(&m, "A_1"), 0);
	assert_int_equal(m.res.outcome, GIT_NO_CHANGES);
	assert_int_equal(accept_of(&m, "overseer/none", "A_1"), OV_ENOTFOUND);
	assert_int_equal(accepted(&m, "two words"), OV_EINVALID);
	model_close(&m);
}

enum dirt {
	DIRT_BESIDE,
	DIRT_FILE,
	DIRT_STAGED,
	DIRT_DELETED,
	DIRT_IN_THE_WAY,
	DIRT_LOCK,
	DIRT_REBASE,
	DIRTS
};

TEST(accept_leaves_a_dirty_checkout_alone)
{
	for (int dirt = 0; dirt < DIRTS; dirt++) {
		struct model m;
		uint32_t was;

		work(&m);
		/* What is uncommitted elsewhere stays, and stops nothing. */
		simgit_user_write(m.g, STR("f8"));
		if (dirt == DIRT_BESIDE)
			simgit_user_stage(m.g);
		if (dirt == DIRT_FILE || dirt == DIRT_STAGED)
			simgit_user_write(m.g, STR("f1"));
		if (dirt == DIRT_STAGED)
			simgit_user_stage(m.g);
		if (dirt == DIRT_DELETED) {
			simgit_user_delete(m.g, STR("f1"));
			simgit_user_stage(m.g);
		}
		if (dirt == DIRT_IN_THE_WAY)
			simgit_user_write(m.g, STR("new"));
		if (dirt == DIRT_LOCK)
			simgit_user_lock(m.g);
		if (dirt == DIRT_REBASE) {
			simgit_user_clean(m.g);
			assert_int_equal(simgit_user_rebase(m.g), 0);
		}
		was = in_tree(&m, REPO, "new");
		assert_int_equal(accepted(&m, "A_1"), 0);
		if (dirt == DIRT_BESIDE) {
			assert_int_equal(m.res.outcome, GIT_OK);
			assert_true(in_tree(&m, REPO, "new") != 0);
			check_truths(&m);
			model_close(&m);
			continue;
		}
		if (m.res.outcome != GIT_DIRTY)
			fail_msg("dirt %d: outcome %d", dirt, (int)m.res.outcome);
		assert_true(m.res.detail.n > 0);
		assert_int_equal(in_tree(&m, REPO, "new"), was);
		assert_int_equal(at(&m, "refs/heads/main", "new"), 0);
		check_truths(&m);
		simgit_user_clean(m.g);
		assert_int_equal(accepted(&m, "A_1"), 0);
		assert_int_equal(m.res.outcome, GIT_OK);
		model_close(&m);
	}
}

TEST(accept_while_the_user_is_elsewhere)
{
	struct model m;
	uint32_t mine;

	work(&m);
	assert_int_equal(simgit_user_branch(m.g, STR("mine")), 0);
	simgit_user_write(m.g, STR("f1"));
	simgit_user_write(m.g, STR("new"));
	mine = in_tree(&m, REPO, "f1");
	assert_int_equal(accepted(&m, "A_1"), 0);
	assert_int_equal(m.res.outcome, GIT_OK);
	assert_int_equal(in_tree(&m, REPO, "f1"), mine);
	assert_int_equal(simgit_user_switch(m.g, STR("main")), OV_ESTATE); /* in the way */
	simgit_user_clean(m.g);
	assert_int_equal(simgit_user_switch(m.g, STR("main")), 0);
	model_close(&m);
}

TEST(accept_needs_a_harvest)
{
	struct model m;

	work(&m);
	write_file(&m, "f5");
	assert_int_equal(accepted(&m, "A_1"), OV_ESTATE);
	harvest(&m, (str){ 0 });
	simgit_agent_checkout(m.g, STR(TREE), (str){ 0 });
	write_file(&m, "f6");
	simgit_agent_commit(m.g, STR(TREE), STR("R_1"));
	assert_int_equal(accepted(&m, "A_1"), OV_ESTATE);
	harvest(&m, (str){ 0 });
	/* A new file that a check left is not in the way, and not accepted. */
	write_file(&m, "built");
	assert_int_equal(accepted(&m, "A_1"), 0);
	assert_int_equal(m.res.outcome, GIT_OK);
	assert_true(in_tree(&m, TREE, "built") != 0);
	assert_int_equal(at(&m, "refs/heads/main", "built"), 0);
	model_close(&m);
}

TEST(accept_from_the_branch_when_the_folder_is_lost)
{
	struct model m;

	work(&m);
	simgit_agent_vanish(m.g, STR(TREE));
	assert_int_equal(accepted(&m, "A_1"), 0);
	assert_int_equal(m.res.outcome, GIT_OK);
	assert_int_equal(removed(&m), 0);
	assert_int_equal(accepted(&m, "A_1"), 0);
	assert_int_equal(m.res.outcome, GIT_ALREADY);
	model_close(&m);
}

struct meanwhile {
	struct simgit *g;
	int when;
	bool dirty;
};

static void user_moves(void *user, int step)
{
	struct meanwhile *mw = user;

	if (step != mw->when)
		return;
	mw->when = -1;
	simgit_user_write(mw->g, mw->dirty ? STR("f1") : STR("f9"));
	if (!mw->dirty)
		simgit_user_commit(mw->g);
}

TEST(target_moves_meanwhile)
{
	for (int dirty = 0; dirty < 2; dirty++) {
		struct model m;
		struct meanwhile mw;

		work(&m);
		mw = (struct meanwhile){ .g = m.g, .when = 1, .dirty = dirty };
		simgit_between(m.g, user_moves, &mw);
		assert_int_equal(accepted(&m, "A_1"), 0);
		assert_int_equal(m.res.outcome, dirty ? GIT_DIRTY : GIT_MOVED);
		simgit_between(m.g, NULL, NULL);
		check_truths(&m);
		simgit_user_clean(m.g);
		assert_int_equal(accepted(&m, "A_1"), 0);
		assert_int_equal(m.res.outcome, GIT_OK);
		model_close(&m);
	}
}

TEST(failure_of_a_step_is_told_and_loses_nothing)
{
	struct model m;

	work(&m);
	write_file(&m, "loose");
	simgit_fail_at(m.g, 0);
	assert_int_equal(ensure(&m, "overseer/w1/b"), OV_EIO);
	assert_true(in_tree(&m, TREE, "loose") != 0);
	assert_int_equal(ensure(&m, "overseer/w1/b"), 0);
	assert_str(m.res.rescue_ref, RESCUE);
	model_close(&m);
}

TEST_MAIN
