/* revert, pick and predict. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "sys/loop/loop.h"
#include "tests/git/fixture.h"

#define BRANCH "overseer/w1/a"

TEST(revert_once)
{
	struct fixture f;
	struct answer a, b;
	char bad[64];

	fixture_open(&f);
	strcpy(bad,
			sh(&f,
					"echo bad >bad; echo bad >>src/one; git add -A; git commit "
					"-qm bad; git rev-parse HEAD"));
	sh(&f, "echo later >later; git add later; git commit -qm later");
	a = revert(&f, bad, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	assert_sh(&f, a.commit, "git rev-parse main");
	assert_sh(&f, "Take it back\n\nOverseer-Revert: D_1", "git log -1 --format=%%B");
	assert_sh(&f, "later\nsrc/one\nsrc/two", "ls -d later src/*; test ! -e bad");
	assert_sh(&f, "one", "cat src/one");
	assert_sh(&f, "", "git status --porcelain");
	b = revert(&f, bad, "D_1");
	assert_int_equal(b.outcome, GIT_ALREADY);
	assert_string_equal(b.commit, a.commit);
	/* Another key, but nothing is left to be taken back. */
	assert_int_equal(revert(&f, bad, "D_2").outcome, GIT_ALREADY);
	assert_sh(&f, a.commit, "git rev-parse main");
	fixture_close(&f);
}

TEST(revert_that_cannot_be)
{
	struct fixture f;
	struct answer a;
	char bad[64], side[64];

	fixture_open(&f);
	strcpy(bad, sh(&f, "echo bad >>src/one; git commit -qam bad; git rev-parse HEAD"));
	strcpy(side, sh(&f, "git commit-tree -p HEAD~1 -m side HEAD~1^{tree}"));
	sh(&f, "echo d >>src/one");
	assert_int_equal(revert(&f, bad, "D_1").outcome, GIT_DIRTY);
	sh(&f,
			"git checkout -q src/one; echo d >>src/two; sed -i s/bad/worse/ src/one; "
			"git commit -qm worse src/one");
	a = revert(&f, bad, "D_1");
	assert_int_equal(a.outcome, GIT_CONFLICT);
	assert_string_equal(a.detail, "src/one");
	assert_sh(&f, "worse", "git log -1 --format=%%s main");
	start_revert(&f, side, "D_1", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_ESTATE);
	start_revert(&f, "main", "D_1", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_EINVALID);
	fixture_close(&f);
}

/* All that is there, and nothing of it is touched: not even the lock of a git at work. */
TEST(pick_everything)
{
	struct fixture f;
	struct answer a;
	char sum[80];

	fixture_open(&f);
	ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; echo c >committed; git add committed; git commit -qm agent; "
			"echo s >staged; git add staged; echo u >untracked; echo e >>src/one; echo "
			"i >i.o; cd \"$R\"; echo t >t; git add t; git commit -qm theirs");
	strcpy(sum, sh(&f, "cd \"$W\"; git status --porcelain | sha256sum"));
	git_keep_ignored(f.git, INT64_MAX);
	a = pick(&f, "P_1");
	assert_int_equal(a.outcome, GIT_OK);
	assert_sh(&f, a.commit, "git rev-parse main");
	assert_sh(&f, "Picked\ntheirs\nsecond\nfirst", "git log --format=%%s main");
	assert_sh(&f, "A\tcommitted\nM\tsrc/one\nA\tstaged\nA\tuntracked",
			"git diff --name-status main~1 main");
	assert_sh(&f, "", "git status --porcelain");
	assert_sh(&f, sum, "cd \"$W\"; git status --porcelain | sha256sum");
	assert_string_equal(a.rescue_ref, "refs/overseer/rescue/pick");
	assert_int_equal(pick(&f, "P_1").outcome, GIT_ALREADY);
	assert_int_equal(pick(&f, "P_2").outcome, GIT_NO_CHANGES);
	sh(&f, "touch \"$(git -C \"$W\" rev-parse --git-dir)/index.lock\"; echo m >\"$W/more\"");
	assert_int_equal(pick(&f, "P_3").outcome, GIT_OK);
	sh(&f, "test -e \"$(git -C \"$W\" rev-parse --git-dir)/index.lock\"");
	/* The worker goes on, and what it has beyond that is accepted later. */
	sh(&f, "cd \"$W\"; rm -f \"$(git rev-parse --git-dir)/index.lock\"; echo x >x");
	a = harvest(&f, a.base);
	a = rebase(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	assert_sh(&f, "A\tx", "git diff --name-status main %s", a.commit);
	fixture_close(&f);
}

TEST(pick_that_cannot_be)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, BRANCH);
	sh(&f, "echo mine >\"$W/src/one\"; echo theirs >src/one; git commit -qam theirs");
	a = pick(&f, "P_1");
	assert_int_equal(a.outcome, GIT_CONFLICT);
	assert_string_equal(a.detail, "src/one");
	assert_sh(&f, "mine", "cat \"$W/src/one\"");
	assert_sh(&f, "theirs", "git log -1 --format=%%s main");
	sh(&f,
			"cd \"$W\"; git commit -qam mine; git fetch -q \"$R\" +main:main; git "
			"merge main || true");
	start_pick(&f, "P_1", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_ESTATE);
	fixture_close(&f);
}

TEST(prediction)
{
	struct fixture f;
	struct answer a;
	const char *objects = "git count-objects -v | grep -v size; ls .git/overseer-predict";
	char before[256];

	fixture_open(&f);
	sh(&f,
			"git branch b1; git branch b2; git branch b3; git tag b3 main~1; for b in "
			"1 "
			"2; do git checkout -q b$b; echo $b >>src/one; echo $b >f$b; git add -A; "
			"git commit -qm b$b; done; git checkout -q b3; echo 3 >f3; git add f3; git "
			"commit -qm b3; git checkout -q main; mkdir .git/overseer-predict");
	strcpy(before, sh(&f, "%s", objects));
	a = predict(&f, "b1", "b2");
	assert_int_equal(a.r, 0);
	assert_int_equal(a.outcome, GIT_CONFLICT);
	assert_string_equal(a.detail, "src/one");
	a = predict(&f, "b1", sh(&f, "git rev-parse refs/heads/b3"));
	assert_int_equal(a.r, 0);
	assert_int_equal(a.outcome, GIT_OK);
	/* It leaves nothing behind. */
	assert_sh(&f, before, "%s", objects);
	a = predict(&f, "b1", "nowhere");
	assert_true(a.r < 0);
	a = predict(&f, "b1", "b2..b3");
	assert_int_equal(a.r, OV_EINVALID);
	fixture_close(&f);
}

TEST_MAIN
