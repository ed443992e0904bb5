/* rebase and advance: a candidate that can be checked, then the move of the target, once. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "sys/loop/loop.h"
#include "tests/git/fixture.h"

#define BRANCH "overseer/w1/a"

/* A worktree with two commits of work. */
static void work(struct fixture *f)
{
	fixture_open_live(f);
	ensure(f, BRANCH);
	sh(f,
			"cd \"$W\"; echo w1 >work; git add work; git commit -qm 'agent one'; echo "
			"w2 >>work; echo changed >>src/one; git commit -qam 'agent two'");
}

static void stands_on(struct fixture *f, const char *commit)
{
	assert_sh(f, commit, "git -C \"$W\" rev-parse HEAD");
	assert_sh(f, BRANCH, "git -C \"$W\" branch --show-current");
	assert_sh(f, "", "git -C \"$W\" status --porcelain");
}

TEST(candidate_then_target)
{
	struct fixture f;
	struct answer a, again;
	char head[64], before[64];

	work(&f);
	strcpy(head, sh(&f, "git rev-parse " BRANCH));
	sh(&f, "echo other >other; git add other; git commit -qm theirs");
	strcpy(before, sh(&f, "git rev-parse main"));
	a = rebase(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	assert_string_equal(a.base, before);
	assert_string_equal(a.rescue_ref, "refs/overseer/rescue/D_1");
	stands_on(&f, a.commit);
	assert_sh(&f, before, "git rev-parse %s^", a.commit);
	assert_sh(&f, "Task\n\nOverseer-Accept: D_1", "git log -1 --format=%%B %s", a.commit);
	assert_sh(&f, "other\nw1\nw2", "cat \"$W/other\" \"$W/work\"");
	/* Nobody else has seen anything, and the agent's commits are kept. */
	assert_sh(&f, before, "git rev-parse main");
	assert_sh(&f, head, "git rev-parse %s", a.rescue_ref);
	assert_int_equal(sh_status(&f, "test -e work"), 1);

	/* Repeated, it is the same candidate. */
	again = rebase(&f, BRANCH, "D_1");
	assert_int_equal(again.outcome, GIT_OK);
	assert_string_equal(again.commit, a.commit);
	assert_sh(&f, head, "git rev-parse refs/overseer/rescue/D_1");

	again = advance(&f, a.commit, "D_1");
	assert_int_equal(again.outcome, GIT_OK);
	assert_string_equal(again.commit, a.commit);
	assert_sh(&f, a.commit, "git rev-parse main");
	assert_sh(&f, "w1\nw2", "cat work");
	assert_sh(&f, "", "git status --porcelain");
	again = advance(&f, a.commit, "D_1");
	assert_int_equal(again.outcome, GIT_ALREADY);
	assert_string_equal(again.commit, a.commit);
	again = rebase(&f, BRANCH, "D_1");
	assert_int_equal(again.outcome, GIT_ALREADY);
	assert_string_equal(again.commit, a.commit);
	assert_sh(&f, "Task\ntheirs\nsecond\nfirst", "git log --format=%%s main");
	/* The next use of the worktree has nothing to rescue. */
	again = ensure(&f, "overseer/w1/b");
	assert_string_equal(again.rescue_ref, "");
	fixture_close(&f);
}

/* The gate failed, the agent went on from the candidate; all that was ever there is kept. */
TEST(another_round)
{
	struct fixture f;
	struct answer a, b;

	work(&f);
	a = rebase(&f, BRANCH, "D_1");
	sh(&f,
			"echo t >t; git add t; git commit -qm theirs; cd \"$W\"; echo w3 >>work; "
			"git commit -qam 'agent three'");
	assert_int_equal(advance(&f, a.commit, "D_1").outcome, GIT_MOVED);
	assert_sh(&f, "theirs", "git log -1 --format=%%s main");
	b = rebase(&f, BRANCH, "D_1");
	assert_int_equal(b.outcome, GIT_OK);
	assert_string_not_equal(a.commit, b.commit);
	stands_on(&f, b.commit);
	assert_sh(&f, "agent one\nagent three\nagent two",
			"git log --format=%%s main..refs/overseer/rescue/D_1 | grep agent | sort");
	/* Without a change of its own in between the target moves again. */
	sh(&f, "echo t >>t; git commit -qam 'theirs too'");
	a = rebase(&f, BRANCH, "D_1");
	assert_int_equal(advance(&f, a.commit, "D_1").outcome, GIT_OK);
	assert_sh(&f, "w1\nw2\nw3", "git show main:work");
	assert_sh(&f, "1", "git log --format=%%B main | grep -c Overseer-Accept");
	assert_sh(&f, "agent one\nagent three\nagent two",
			"git log --format=%%s main..refs/overseer/rescue/D_1 | grep agent | sort");
	/* An old candidate is none any more, but its key is there. */
	assert_int_equal(advance(&f, b.commit, "D_1").outcome, GIT_ALREADY);
	assert_string_equal(advance(&f, b.commit, "D_1").commit, a.commit);
	fixture_close(&f);
}

TEST(conflict_and_nothing_change_nothing)
{
	struct fixture f;
	struct answer a;
	char head[64];

	work(&f);
	sh(&f, "echo theirs >>src/one; git commit -qam theirs; cp -a \"$W\" ../before");
	strcpy(head, sh(&f, "git rev-parse " BRANCH));
	a = rebase(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_CONFLICT);
	assert_string_equal(a.detail, "src/one");
	stands_on(&f, head);
	sh(&f, "diff -r ../before \"$W\"");
	assert_sh(&f, "", "git for-each-ref refs/overseer");
	ensure(&f, "overseer/w1/b");
	a = rebase(&f, "overseer/w1/b", "D_2");
	assert_int_equal(a.outcome, GIT_NO_CHANGES);
	fixture_close(&f);
}

TEST(dirty_checkout_and_uncommitted_work)
{
	struct fixture f;
	struct answer a;
	char head[64];

	work(&f);
	strcpy(head, sh(&f, "git rev-parse " BRANCH));
	sh(&f, "echo d >>src/one");
	a = rebase(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_DIRTY);
	stands_on(&f, head);
	sh(&f, "git checkout -q src/one");
	sh(&f, "echo u >>\"$W/src/two\"");
	start_rebase(&f, BRANCH, "D_1", "", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_ESTATE);
	/* A commit that was not harvested. */
	sh(&f,
			"cd \"$W\"; git checkout -q src/two; git checkout -q --detach; git commit "
			"-q "
			"--allow-empty -m late");
	start_rebase(&f, BRANCH, "D_1", "", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_ESTATE);
	sh(&f, "git -C \"$W\" checkout -q " BRANCH);
	a = rebase(&f, BRANCH, "D_1");
	/* The checkout became dirty after the rebase: the advance waits, and touches nothing. */
	sh(&f, "echo d >>src/one");
	assert_int_equal(advance(&f, a.commit, "D_1").outcome, GIT_DIRTY);
	assert_sh(&f, "second", "git log -1 --format=%%s main");
	assert_sh(&f, "M src/one", "git status --porcelain | sed 's/^ //'");
	/* On another branch it does not matter. */
	sh(&f, "git checkout -q -b mine");
	assert_int_equal(advance(&f, a.commit, "D_1").outcome, GIT_OK);
	assert_sh(&f, a.commit, "git rev-parse main");
	fixture_close(&f);
}

/* Who goes on after a conflict sees the target as it is by then, not as it was at the conflict. */
TEST(the_agent_sees_the_target_of_now)
{
	struct fixture f;
	struct answer a, e;

	fixture_open(&f);
	e = ensure(&f, BRANCH);
	sh(&f, "cd \"$W\"; echo mine >>src/one; git commit -qam mine; git branch own");
	harvest(&f, e.base);
	sh(&f, "echo theirs >>src/one; git commit -qam theirs");
	start_rebase(&f, BRANCH, "D_1", "", &a);
	finish(&f, &a);
	assert_int_equal(a.outcome, GIT_CONFLICT);
	sh(&f, "echo more >>src/one; git commit -qam more; git tag late");
	ensure(&f, BRANCH);
	assert_sh(&f, sh(&f, "git rev-parse main"), "git -C \"$W\" rev-parse main");
	assert_sh(&f, "mine", "git -C \"$W\" log -1 --format=%%s own");
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	/* Also where we were cut off after the note, and where the agent has packed its refs. */
	sh(&f,
			"cp .overseer/git/w1/.git/packed-refs ../before; echo and >>src/one; git "
			"commit "
			"-qam and");
	ensure(&f, BRANCH);
	sh(&f, "cp ../before .overseer/git/w1/.git/packed-refs");
	ensure(&f, BRANCH);
	assert_sh(&f, sh(&f, "git rev-parse main"), "git -C \"$W\" rev-parse main");
	sh(&f,
			"git -C \"$W\" pack-refs --all; echo so >>src/one; git commit -qam so; git "
			"branch -f own main~1");
	ensure(&f, BRANCH);
	assert_sh(&f, sh(&f, "git rev-parse main"), "git -C \"$W\" rev-parse main");
	assert_sh(&f, "mine", "git -C \"$W\" log -1 --format=%%s own");
	/* What it did to its own copy stays. */
	sh(&f, "git -C \"$W\" update-ref refs/heads/main own; git -C \"$W\" pack-refs --all");
	sh(&f, "echo most >>src/one; git commit -qam most");
	ensure(&f, BRANCH);
	assert_sh(&f, "mine", "git -C \"$W\" log -1 --format=%%s main");
	fixture_close(&f);
}

/*
 * A merge that stopped at a file which is only new, by HEAD: it is unfinished, and is not
 * swept away.
 */
TEST(conflicts_are_uncommitted_work)
{
	struct fixture f;
	struct answer a, e;

	fixture_open(&f);
	e = ensure(&f, BRANCH);
	sh(&f, "cd \"$W\"; git rm -q src/one; git commit -qm gone");
	harvest(&f, e.base);
	sh(&f,
			"echo more >>src/one; git commit -qam more; cd \"$W\"; git fetch -q \"$R\" "
			"+main:main; ! git merge -q main >/dev/null 2>&1");
	assert_sh(&f, "DU src/one", "git -C \"$W\" status --porcelain");
	start_rebase(&f, BRANCH, "D_1", "", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_ESTATE);
	assert_sh(&f, "DU src/one", "git -C \"$W\" status --porcelain");
	fixture_close(&f);
}

/*
 * What a check built is no part of it; where the target brings a file of that name it is rescued.
 */
TEST(new_files_stay_or_are_rescued)
{
	struct fixture f;
	struct answer a;

	work(&f);
	sh(&f,
			"mkdir \"$W/out\"; echo o >\"$W/out/built\"; echo mine >\"$W/t\"; echo i "
			">\"$W/i.o\"; echo theirs >t; echo j >i.o; git add -f t i.o; git commit "
			"-qm theirs");
	a = rebase(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	assert_sh(&f, a.commit, "git -C \"$W\" rev-parse HEAD");
	assert_sh(&f, "theirs\no\nj", "cd \"$W\"; cat t out/built i.o");
	assert_sh(&f, "?? out/", "git -C \"$W\" status --porcelain");
	assert_sh(&f, "mine", "git show refs/overseer/rescue/D_1:t");
	sh(&f, "git log --format=%%s refs/overseer/rescue/D_1 | grep -qx 'agent two'");
	fixture_close(&f);
}

TEST(lost_folder_and_lost_candidate)
{
	struct fixture f;
	struct answer a;

	work(&f);
	sh(&f, "rm -rf \"$W\"");
	a = rebase(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	assert_sh(&f, a.commit, "git rev-parse " BRANCH);
	assert_int_equal(advance(&f, "0123456789012345678901234567890123456789", "D_1").outcome,
			GIT_MOVED);
	assert_int_equal(advance(&f, a.commit, "D_1").outcome, GIT_OK);
	assert_sh(&f, "w1\nw2", "git show main:work");
	/* Only a candidate can be advanced to. */
	start_advance(&f, sh(&f, "git commit-tree -p main -m x main^{tree}"), "D_2", "", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_EINVALID);
	fixture_close(&f);
}

TEST(history_that_the_agent_rewrote)
{
	struct fixture f;
	struct answer a;

	work(&f);
	/* To an older base, with a merge and an empty commit on it. */
	sh(&f,
			"cd \"$W\"; git reset -q --hard HEAD~3; echo n >new; git add new; git "
			"commit -qm new; git checkout -q -b side HEAD~1; echo s >side; git add "
			"side; git commit -qm side; git checkout -q " BRANCH "; git merge -q -m "
			"merged side; git commit -q --allow-empty -m empty");
	a = rebase(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	assert_sh(&f, "A\tnew\nA\tside", "git diff --name-status main %s", a.commit);
	assert_sh(&f, "empty", "git log -1 --format=%%s %s", a.rescue_ref);
	/* A history of its own cannot be told from somebody else's. */
	sh(&f,
			"cd \"$W\"; git checkout -q --orphan lone; git commit -qm lone; git branch "
			"-f " BRANCH " lone; git checkout -q " BRANCH);
	start_rebase(&f, BRANCH, "D_2", "", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_ESTATE);
	fixture_close(&f);
}

TEST(renamed_target)
{
	struct fixture f;
	struct answer a;

	work(&f);
	sh(&f, "git branch -m main trunk");
	start_rebase(&f, BRANCH, "D_1", "", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_ENOTFOUND);
	assert_non_null(strstr(a.msg, "branch main does not exist"));
	fixture_close(&f);
}

TEST(bad_arguments)
{
	struct fixture f;
	struct answer a;

	work(&f);
	start_rebase(&f, "main", "D_1", "", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_EINVALID);
	start_rebase(&f, BRANCH, "D_1", "-x", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_EINVALID);
	start_rebase(&f, BRANCH, "a b", "", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_EINVALID);
	start_advance(&f, "HEAD", "D_1", "", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_EINVALID);
	fixture_close(&f);
}

/* What comes with the target takes the place of what is ignored here: that is kept first. */
TEST(ignored_files_in_the_way)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; echo w >work; echo mine >x.o; mkdir lib; echo deep >lib/i.o; "
			"cd "
			"\"$R\"; echo theirs >x.o; echo f >lib; git add -f x.o lib; git commit -qm "
			"o");
	harvest(&f, e.base);
	a = rebase(&f, "overseer/w1/a", "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	assert_sh(&f, "theirs f", "cd \"$W\"; echo $(cat x.o lib)");
	assert_sh(&f, "mine", "git show refs/overseer/rescue/D_1:x.o");
	assert_sh(&f, "deep", "cat \"$W.aside-1/lib/i.o\"");
	/* The branch as it was is there, too. */
	assert_sh(&f, "w", "git show refs/overseer/rescue/D_1:work");
	sh(&f, "git merge-base --is-ancestor %s refs/overseer/rescue/D_1", e.base);
	fixture_close(&f);
}

TEST_MAIN
