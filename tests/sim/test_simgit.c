/* The model of git: every rule that drive/git/git.h states about worktrees. */
#include "tests/sim/simgit_fixture.h"

TEST(the_whole_way)
{
	struct model m;
	struct simgit_accepted ac;
	uint32_t f1, left;
	str base;

	model_open(&m);
	assert_int_equal(ensure(&m, BRANCH), 0);
	base = m.res.base;
	assert_int_equal(base.n, 40);
	assert_str(m.res.rescue_ref, "");
	assert_str(simgit_head(m.g, STR(TREE)), BRANCH);
	write_file(&m, "f1");
	commit(&m);
	write_file(&m, "left");
	f1 = in_tree(&m, TREE, "f1");
	left = in_tree(&m, TREE, "left");
	assert_int_equal(harvest(&m, base), 0);
	assert_true(m.res.leftovers);
	assert_int_equal(m.res.commits, 2);
	assert_int_equal(m.res.files_changed, 2);
	assert_str(m.res.files[0], "f1");
	assert_str(m.res.files[1], "left");
	assert_str(m.res.rescue_ref, RESCUE);
	assert_int_equal(accepted(&m, "A_1"), 0);
	assert_int_equal(m.res.outcome, GIT_OK);
	assert_str(m.res.rescue_ref, "refs/overseer/accepted/A_1");
	assert_int_equal(at(&m, "refs/heads/main", "f1"), f1);
	assert_int_equal(in_tree(&m, REPO, "left"), left);
	assert_true(simgit_clean(m.g, STR(REPO)));
	assert_true(simgit_clean(m.g, STR(TREE)));
	assert_int_equal(accepted(&m, "A_1"), 0);
	assert_int_equal(m.res.outcome, GIT_ALREADY);
	simgit_accepted(m.g, STR("A_1"), &m.arena, &ac);
	assert_int_equal(ac.count, 1);
	assert_int_equal(ac.change_n, 2);
	assert_str(ac.change[1].path, "left");
	assert_int_equal(ac.change[1].after, left);
	assert_str(ac.change[1].run, "R_1");
	assert_true(ac.whole);
	/* The next use has nothing to rescue, and the old branch has nothing left to say. */
	assert_int_equal(ensure(&m, "overseer/w1/b"), 0);
	assert_str(m.res.rescue_ref, "");
	assert_false(simgit_ref(m.g, STR("refs/heads/" BRANCH)));
	model_close(&m);
}

/* ensure */

TEST(ensure_repeated_leaves_the_work_alone)
{
	struct model m;
	str base;

	model_open(&m);
	ensure(&m, BRANCH);
	base = m.res.base;
	write_file(&m, "new");
	assert_int_equal(simgit_user_write(m.g, STR("f3")), 0);
	assert_int_equal(simgit_user_commit(m.g), 0);
	assert_int_equal(ensure(&m, BRANCH), 0);
	assert_true(str_eq(m.res.base, base));
	assert_str(m.res.rescue_ref, "");
	assert_true(in_tree(&m, TREE, "new") != 0);
	/* In the middle of a rebase of its branch, too. */
	write_file(&m, "f3");
	simgit_agent_rebase(m.g, STR(TREE), STR("main"), STR("R_1"), SIMGIT_UNFINISHED);
	assert_str(simgit_head(m.g, STR(TREE)), "");
	assert_int_equal(ensure(&m, BRANCH), 0);
	assert_str(simgit_head(m.g, STR(TREE)), "");
	model_close(&m);
}

TEST(ensure_rescues_commits_index_and_files)
{
	struct model m;
	uint32_t work, staged, over, loose;

	model_open(&m);
	ensure(&m, BRANCH);
	write_file(&m, "work");
	commit(&m);
	work = in_tree(&m, TREE, "work");
	write_file(&m, "staged");
	assert_int_equal(simgit_agent_stage(m.g, STR(TREE)), 0);
	staged = in_tree(&m, TREE, "staged");
	write_file(&m, "staged");
	over = in_tree(&m, TREE, "staged");
	write_file(&m, "loose");
	loose = in_tree(&m, TREE, "loose");
	assert_int_equal(simgit_agent_lock(m.g, STR(TREE)), 0);
	assert_int_equal(ensure(&m, "overseer/w1/b"), 0);
	assert_str(m.res.rescue_ref, RESCUE);
	assert_int_equal(at(&m, RESCUE, "work"), work);
	assert_int_equal(at(&m, RESCUE, "staged"), over);
	assert_int_equal(at(&m, RESCUE, "loose"), loose);
	assert_true(simgit_clean(m.g, STR(TREE)));
	assert_int_equal(in_tree(&m, TREE, "work"), 0);
	assert_true(simgit_ref(m.g, STR("refs/heads/" BRANCH)));
	/* The index alone had this: without the ref it would be lost. */
	assert_true(simgit_kept(m.g, NULL));
	assert_true(staged != over);
	model_close(&m);
}

TEST(ensure_goes_on_from_a_start)
{
	struct model m;
	uint32_t work;
	str left, base;

	model_open(&m);
	ensure(&m, BRANCH);
	base = m.res.base;
	write_file(&m, "work");
	work = in_tree(&m, TREE, "work");
	harvest(&m, base);
	left = m.res.head;
	simgit_user_write(m.g, STR("f5"));
	simgit_user_commit(m.g);
	assert_int_equal(ensure_at(&m, "/repo/.overseer/worktrees/w2", "overseer/w2/a", left), 0);
	assert_true(str_eq(m.res.base, base));
	assert_int_equal(in_tree(&m, "/repo/.overseer/worktrees/w2", "work"), work);
	/* On the target already, or unknown: as none. */
	assert_int_equal(ensure_at(&m, "/repo/w3", "overseer/w3/a", base), 0);
	assert_false(str_eq(m.res.base, base));
	assert_str(m.res.detail, "");
	assert_int_equal(ensure_at(&m, "/repo/w4", "overseer/w4/a",
					 STR("0123456789012345678901234567890123456789")),
			0);
	assert_true(str_contains(m.res.detail, STR("cannot be read")));
	/* A relative path is one in the repository. */
	assert_int_equal(ensure_at(&m, "w4", "overseer/w4/a", (str){ 0 }), 0);
	model_close(&m);
}

TEST(ensure_refuses)
{
	struct model m;

	model_open(&m);
	assert_int_equal(ensure(&m, "--force"), OV_EINVALID);
	assert_int_equal(ensure(&m, "main"), OV_EINVALID);
	assert_int_equal(ensure_at(&m, TREE, BRANCH, STR("main")), OV_EINVALID);
	assert_int_equal(ensure_at(&m, REPO, BRANCH, (str){ 0 }), OV_EINVALID);
	assert_int_equal(ensure(&m, BRANCH), 0);
	/* The user has it. */
	assert_int_equal(simgit_user_branch(m.g, STR("overseer/w2/a")), 0);
	assert_int_equal(ensure_at(&m, "/repo/w2", "overseer/w2/a", (str){ 0 }), OV_ECONFLICT);
	assert_int_equal(simgit_user_switch(m.g, STR("main")), 0);
	assert_int_equal(simgit_user_rename(m.g, STR("main"), STR("trunk")), 0);
	assert_int_equal(ensure(&m, "overseer/w1/b"), OV_ENOTFOUND);
	assert_int_equal(accepted(&m, "A_1"), OV_ENOTFOUND);
	assert_int_equal(simgit_user_rename(m.g, STR("trunk"), STR("main")), 0);
	assert_int_equal(ensure(&m, "overseer/w1/b"), 0);
	model_close(&m);
}

TEST(ensure_after_the_folder_vanished)
{
	struct model m;
	uint32_t work, staged;

	model_open(&m);
	ensure(&m, BRANCH);
	write_file(&m, "work");
	commit(&m);
	work = in_tree(&m, TREE, "work");
	write_file(&m, "staged");
	simgit_agent_stage(m.g, STR(TREE));
	staged = in_tree(&m, TREE, "staged");
	assert_int_equal(simgit_agent_vanish(m.g, STR(TREE)), 0);
	assert_int_equal(harvest(&m, (str){ 0 }), OV_ENOTFOUND);
	assert_int_equal(ensure(&m, "overseer/w1/b"), 0);
	assert_int_equal(at(&m, RESCUE, "work"), work);
	assert_int_equal(at(&m, RESCUE, "staged"), staged);
	assert_true(simgit_clean(m.g, STR(TREE)));
	model_close(&m);
}

/* harvest */

TEST(harvest_finds_its_branch_again)
{
	struct model m;
	uint32_t old;
	str base;

	model_open(&m);
	ensure(&m, BRANCH);
	base = m.res.base;
	assert_int_equal(simgit_agent_checkout(m.g, STR(TREE), STR("feature")), 0);
	write_file(&m, "f1");
	commit(&m);
	write_file(&m, "left");
	assert_int_equal(harvest(&m, base), 0);
	assert_int_equal(m.res.commits, 2);
	assert_str(simgit_head(m.g, STR(TREE)), BRANCH);
	assert_int_equal(at(&m, "refs/heads/feature", "left"), 0);
	/* Away from the branch's own commits: those are rescued before the branch moves. */
	old = in_tree(&m, TREE, "left");
	assert_int_equal(simgit_agent_leave(m.g, STR(TREE), STR("main")), 0);
	write_file(&m, "d");
	commit(&m);
	assert_int_equal(harvest(&m, base), 0);
	assert_int_equal(m.res.commits, 1);
	assert_str(m.res.rescue_ref, RESCUE);
	assert_int_equal(at(&m, RESCUE, "left"), 0); /* behind the ref, not at its top */
	assert_str(simgit_head(m.g, STR(TREE)), BRANCH);
	assert_int_equal(in_tree(&m, TREE, "left"), 0);
	assert_true(old != 0);
	model_close(&m);
}

TEST(harvest_ends_what_is_unfinished)
{
	for (int merge = 0; merge < 2; merge++) {
		struct model m;
		uint32_t mine, half;
		str base;

		model_open(&m);
		ensure(&m, BRANCH);
		base = m.res.base;
		write_file(&m, "f1");
		mine = in_tree(&m, TREE, "f1");
		simgit_user_write(m.g, STR("f1"));
		simgit_user_commit(m.g);
		if (merge)
			simgit_agent_merge(m.g, STR(TREE), STR("main"), STR("R_1"),
					SIMGIT_UNFINISHED);
		else
			simgit_agent_rebase(m.g, STR(TREE), STR("main"), STR("R_1"),
					SIMGIT_UNFINISHED);
		write_file(&m, "half");
		half = in_tree(&m, TREE, "half");
		assert_true(in_tree(&m, TREE, "f1") != mine);
		assert_int_equal(harvest(&m, base), 0);
		assert_int_equal(at(&m, "refs/heads/" BRANCH, "f1"), mine);
		assert_int_equal(at(&m, "refs/heads/" BRANCH, "half"), half);
		assert_true(at(&m, RESCUE, "f1") != mine); /* with the conflict's marks */
		assert_int_equal(m.res.commits, 2);
		assert_true(simgit_clean(m.g, STR(TREE)));
		model_close(&m);
	}
}

TEST(harvest_concludes_a_resolved_merge)
{
	struct model m;
	uint32_t both;
	str base;

	model_open(&m);
	ensure(&m, BRANCH);
	base = m.res.base;
	write_file(&m, "f1");
	simgit_user_write(m.g, STR("f1"));
	simgit_user_commit(m.g);
	simgit_agent_merge(m.g, STR(TREE), STR("main"), STR("R_1"), SIMGIT_RESOLVED);
	both = in_tree(&m, TREE, "f1");
	assert_int_equal(harvest(&m, base), 0);
	assert_true(m.res.leftovers);
	assert_int_equal(at(&m, "refs/heads/" BRANCH, "f1"), both);
	assert_int_equal(accepted(&m, "A_1"), 0);
	assert_int_equal(m.res.outcome, GIT_OK);
	assert_int_equal(at(&m, "refs/heads/main", "f1"), both);
	model_close(&m);
}

TEST(harvest_with_a_base_that_is_no_ancestor)
{
	struct model m;
	str base;

	model_open(&m);
	ensure(&m, BRANCH);
	base = m.res.base;
	assert_int_equal(simgit_agent_reset(m.g, STR(TREE)), 0);
	write_file(&m, "x");
	commit(&m);
	assert_int_equal(harvest(&m, base), 0);
	assert_false(str_eq(m.res.base, base));
	assert_int_equal(m.res.commits, 1);
	assert_int_equal(m.res.files_changed, 1);
	assert_int_equal(harvest(&m, STR("0123456789012345678901234567890123456789")), 0);
	assert_int_equal(m.res.commits, 1);
	assert_int_equal(harvest(&m, STR("main")), OV_EINVALID);
	model_close(&m);
}

TEST(harvest_leaves_nested_repositories_out)
{
	struct model m;

	model_open(&m);
	ensure(&m, BRANCH);
	assert_int_equal(simgit_agent_nested(m.g, STR(TREE), STR("R_1")), 0);
	assert_int_equal(harvest(&m, m.res.base), 0);
	assert_false(m.res.leftovers);
	assert_int_equal(m.res.files_changed, 0);
	assert_true(m.res.rescue_ref.n > 0);
	/* The next use begins without it. */
	assert_int_equal(ensure(&m, "overseer/w1/b"), 0);
	assert_true(str_contains(m.res.detail, STR(".aside-1")));
	assert_int_equal(removed(&m), 0);
	assert_false(str_contains(m.res.detail, STR("aside")));
	model_close(&m);
}

/* restore, remove, fingerprint */

TEST(restore_rescues_then_cleans)
{
	struct model m;
	uint32_t left;

	model_open(&m);
	assert_int_equal(restore(&m), OV_ENOTFOUND);
	ensure(&m, BRANCH);
	assert_int_equal(restore(&m), 0);
	assert_str(m.res.rescue_ref, "");
	write_file(&m, "left");
	left = in_tree(&m, TREE, "left");
	simgit_agent_delete(m.g, STR(TREE), STR("f1"));
	simgit_agent_lock(m.g, STR(TREE));
	assert_int_equal(restore(&m), 0);
	assert_str(m.res.rescue_ref, RESCUE);
	assert_int_equal(at(&m, RESCUE, "left"), left);
	assert_int_equal(at(&m, RESCUE, "f1"), 0);
	assert_true(in_tree(&m, TREE, "f1") != 0);
	assert_true(simgit_clean(m.g, STR(TREE)));
	assert_str(simgit_head(m.g, STR(TREE)), BRANCH);
	assert_int_equal(simgit_restore(m.g, STR(REPO), STR(RESCUE), SIMGIT_ALL, &m.arena, &m.res,
					 &m.err),
			OV_EINVALID);
	model_close(&m);
}

TEST(remove_rescues_what_no_other_ref_keeps)
{
	struct model m;
	uint32_t work;

	model_open(&m);
	ensure(&m, BRANCH);
	write_file(&m, "work");
	work = in_tree(&m, TREE, "work");
	commit(&m);
	assert_int_equal(removed(&m), 0);
	assert_str(m.res.rescue_ref, RESCUE);
	assert_int_equal(at(&m, RESCUE, "work"), work);
	assert_false(simgit_ref(m.g, STR("refs/heads/" BRANCH)));
	assert_int_equal(removed(&m), 0);
	assert_str(m.res.rescue_ref, "");
	/* A branch of the agent's own, or a rescue ref, keeps it too. */
	ensure(&m, BRANCH);
	simgit_agent_checkout(m.g, STR(TREE), STR("own"));
	write_file(&m, "more");
	commit(&m);
	assert_int_equal(removed(&m), 0);
	assert_str(m.res.rescue_ref, "");
	assert_true(simgit_ref(m.g, STR("refs/heads/own")));
	model_close(&m);
}

TEST(fingerprint_tells_every_change)
{
	struct model m;
	str last = { 0 };

	model_open(&m);
	assert_int_equal(simgit_fingerprint(m.g, STR(TREE), SIMGIT_ALL, &m.arena, &m.res, &m.err),
			OV_ENOTFOUND);
	ensure(&m, BRANCH);
	for (int i = 0; i < 7; i++) {
		for (int again = 0; again < 2; again++) {
			assert_int_equal(simgit_fingerprint(m.g, STR(TREE), SIMGIT_ALL, &m.arena,
							 &m.res, &m.err),
					0);
			assert_int_equal(m.res.fingerprint.n, 64);
			assert_int_equal(str_eq(m.res.fingerprint, last), again);
			last = m.res.fingerprint;
		}
		if (i == 0 || i == 1)
			write_file(&m, "f1");
		else if (i == 2)
			simgit_agent_stage(m.g, STR(TREE));
		else if (i == 3)
			commit(&m);
		else if (i == 4)
			simgit_agent_delete(m.g, STR(TREE), STR("f2"));
		else
			simgit_agent_checkout(m.g, STR(TREE), i == 5 ? STR("own") : (str){ 0 });
	}
	model_close(&m);
}

TEST_MAIN
