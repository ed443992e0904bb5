/*
 * rebase and advance, one after the other: one commit on the target, once; what the user has
 * uncommitted untouched.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
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
			"w2 >>work; echo changed >>src/one;"
			"git commit -qam 'agent two'");
}

static void check_once(struct fixture *f, const char *key)
{
	assert_sh(f, "1", "git log --format=%%B main | grep -cx 'Overseer-Accept: %s'", key);
	assert_sh(f, "w1\nw2", "git show main:work");
}

TEST(squash_onto_an_unmoved_target)
{
	struct fixture f;
	struct answer a;
	char before[64];

	work(&f);
	strcpy(before, sh(&f, "git rev-parse main"));
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	assert_string_equal(a.commit, sh(&f, "git rev-parse main"));
	assert_sh(&f, before, "git rev-parse main^");
	assert_sh(&f, "Do the task\n\nAnd say why.\n\nOverseer-Accept: D_1",
			"git log -1 --format=%%B main");
	assert_sh(&f, "User", "git log -1 --format=%%an main");
	check_once(&f, "D_1");
	/* The user's checkout followed, and so did the branch. */
	assert_sh(&f, "", "git status --porcelain");
	assert_sh(&f, "w1\nw2", "cat work");
	assert_sh(&f, a.commit, "git rev-parse " BRANCH);
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	assert_sh(&f, BRANCH, "git -C \"$W\" branch --show-current");
	/* The agent's own commits are kept. */
	assert_string_equal(a.rescue_ref, "refs/overseer/accepted/D_1");
	assert_sh(&f, "agent two\nagent one", "git log --format=%%s main..%s", a.rescue_ref);

	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_ALREADY);
	assert_string_equal(a.commit, sh(&f, "git rev-parse main"));
	/* The next use of the worktree has nothing to rescue. */
	a = ensure(&f, "overseer/w1/b");
	assert_string_equal(a.rescue_ref, "");
	assert_sh(&f, "", "git for-each-ref refs/overseer/rescue");
	fixture_close(&f);
}

TEST(rebase_over_a_moved_target)
{
	struct fixture f;
	struct answer a;

	work(&f);
	sh(&f, "echo other >other; echo t >>src/two; git add -A; git commit -qm theirs");
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	check_once(&f, "D_1");
	assert_sh(&f, "other", "cat other");
	assert_sh(&f, "theirs", "git log -1 --format=%%s main^");
	assert_sh(&f, "", "git status --porcelain");
	fixture_close(&f);
}

TEST(branch_that_merged_the_target)
{
	struct fixture f;
	struct answer a;

	work(&f);
	/* A conflict that the agent resolved in a merge does not come back. */
	sh(&f,
			"echo theirs >>src/one; git commit -qam theirs; cd \"$W\"; git fetch -q "
			"\"$R\" +main:main; git merge main "
			"|| true; echo both >src/one;"
			"git commit -qam merged; cd \"$R\"; echo later >later; git add later; git "
			"commit -qm later");
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	assert_sh(&f, "both", "cat src/one");
	assert_sh(&f, "1",
			"git rev-list --count --min-parents=2 main | grep -qx 0; git rev-list "
			"--count main~1..main");
	fixture_close(&f);
}

TEST(conflict_leaves_everything_as_it_was)
{
	struct fixture f;
	struct answer a;
	char head[64];

	work(&f);
	sh(&f,
			"echo theirs >>src/one; printf 'x' >work; git add -A; git commit -qm "
			"theirs; cp -a \"$W\" ../before");
	strcpy(head, sh(&f, "git -C \"$W\" rev-parse HEAD"));
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_CONFLICT);
	assert_string_equal(a.detail, "src/one\nwork");
	sh(&f, "diff -r ../before \"$W\"");
	assert_sh(&f, head, "git -C \"$W\" rev-parse HEAD");
	assert_sh(&f, "theirs", "git log -1 --format=%%s main");
	assert_sh(&f, "On branch " BRANCH "\nnothing to commit, working tree clean",
			"LC_ALL=C git -C \"$W\" status");
	/* The agent resolves it; then it goes through. */
	sh(&f,
			"cd \"$W\"; git fetch -q \"$R\" +main:main; git merge main || true; git "
			"checkout -q --ours .; git add -A; "
			"git commit -qm resolved");
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	check_once(&f, "D_1");
	fixture_close(&f);
}

TEST(nothing_to_accept)
{
	struct fixture f;
	struct answer a;

	fixture_open_live(&f);
	ensure(&f, BRANCH);
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_NO_CHANGES);
	/* The same change came by another way. */
	sh(&f,
			"echo x >x; git add x; git commit -qm x; cd \"$W\"; echo x >x; git add x; "
			"git commit -qm 'also x'");
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_NO_CHANGES);
	assert_sh(&f, "x", "git log -1 --format=%%s main");
	fixture_close(&f);
}

/* Every byte of the checkout and its index, and where HEAD is. */
static const char *checkout_sum(struct fixture *f)
{
	return sh(f,
			"{ find . -path ./.git -prune -o -path ./.overseer -prune -o -type f "
			"-print0 | LC_ALL=C sort -z | xargs -0 sha256sum;"
			"sha256sum .git/index .git/HEAD; } | sha256sum");
}

/* What the user has changed is also what the work changes, or something of his is unfinished. */
TEST(dirty_checkout_is_untouched)
{
	static const char *const dirt[] = { "echo d >>src/one", "echo s >>src/one; git add src/one",
		"rm src/one; mkdir src/one; echo mine >src/one/x", "git mv src/one src/three",
		"git rm -q --cached src/one", "echo s >work; git add work",
		"touch .git/MERGE_HEAD; git rev-parse HEAD >.git/MERGE_HEAD",
		"git rev-parse HEAD >.git/CHERRY_PICK_HEAD", "git rev-parse HEAD >.git/REVERT_HEAD",
		"git bisect start -q", "git bisect start -q; git checkout -q --detach",
		"echo untracked >work", "echo 'work' >>.git/info/exclude; echo secret >work",
		"mkdir work; echo mine >work/x", "touch .git/index.lock" };

	for (size_t i = 0; i < sizeof(dirt) / sizeof(dirt[0]); i++) {
		struct fixture f;
		struct answer a;
		char sum[80], target[64];

		work(&f);
		sh(&f, "%s", dirt[i]);
		strcpy(sum, checkout_sum(&f));
		strcpy(target, sh(&f, "git rev-parse main"));
		a = accept_key(&f, BRANCH, "D_1");
		if (a.outcome != GIT_DIRTY)
			fail_msg("%s: outcome %d", dirt[i], (int)a.outcome);
		assert_true(a.detail[0]);
		assert_string_equal(checkout_sum(&f), sum);
		assert_sh(&f, target, "git rev-parse main");
		/* Cleaned up by its owner, it goes through. */
		sh(&f,
				"rm -rf .git/index.lock .git/MERGE_HEAD .git/CHERRY_PICK_HEAD "
				".git/REVERT_HEAD work; git bisect reset >/dev/null 2>&1 || true; "
				"git "
				"reset -q --hard");
		a = accept_key(&f, BRANCH, "D_1");
		assert_int_equal(a.outcome, GIT_OK);
		check_once(&f, "D_1");
		fixture_close(&f);
	}
}

/* Elsewhere it stays as it is, staged where it was staged, and stops nothing. */
TEST(work_goes_in_beside_uncommitted_changes)
{
	static const char *const dirt[] = { "echo d >>src/two", "echo s >s; git add s",
		"rm src/two", "git mv src/two src/three", "git rm -q src/two",
		"echo u >untracked; mkdir -p d; echo v >d/v", "touch src/one",
		"echo s >s; git add s; echo t >>s; echo u >>src/two; git add -N src/../src/two",
		/* The very same change, staged: git keeps it. */
		"git show " BRANCH ":src/one >src/one; git add src/one" };

	for (size_t i = 0; i < sizeof(dirt) / sizeof(dirt[0]); i++) {
		struct fixture f;
		struct answer a;
		char before[4096];

		work(&f);
		sh(&f, "%s", dirt[i]);
		strcpy(before,
				sh(&f,
						"git status --porcelain -uall | grep -v src/one || "
						"true; cat "
						"src/two s d/v untracked 2>/dev/null || true"));
		a = accept_key(&f, BRANCH, "D_1");
		if (a.outcome != GIT_OK)
			fail_msg("%s: outcome %d: %s", dirt[i], (int)a.outcome, a.detail);
		check_once(&f, "D_1");
		assert_sh(&f, before,
				"git status --porcelain -uall | grep -v src/one || true; cat "
				"src/two s d/v untracked 2>/dev/null || true");
		assert_sh(&f, "w1\nw2", "cat work");
		assert_sh(&f, "", "git diff HEAD -- src/one work");
		fixture_close(&f);
	}
}

/* The files that overlap are named, and which folder they are in. */
TEST(files_that_overlap_are_named)
{
	struct fixture f;
	struct answer a;

	work(&f);
	sh(&f, "echo d >>src/one; echo e >>src/two; echo u >work");
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_DIRTY);
	assert_string_equal(a.files, "src/one\nwork\n");
	assert_int_equal(a.files_changed, 2);
	fixture_close(&f);
}

TEST(dirty_checkout_on_another_branch_does_not_matter)
{
	struct fixture f;
	struct answer a;
	char sum[80];

	work(&f);
	sh(&f, "git checkout -q -b mine; echo d >>src/two; echo s >s; git add s; echo u >work");
	strcpy(sum, checkout_sum(&f));
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	check_once(&f, "D_1");
	assert_string_equal(checkout_sum(&f), sum);
	fixture_close(&f);
}

TEST(target_in_another_worktree_of_the_users)
{
	struct fixture f;
	struct answer a;

	work(&f);
	sh(&f,
			"git checkout -q -b mine; git worktree add -q '../on main' main; echo d "
			">>'../on main/src/one'");
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_DIRTY);
	sh(&f, "git -C '../on main' checkout -q .");
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	assert_sh(&f, "w1\nw2", "cat '../on main/work'");
	assert_sh(&f, "", "git -C '../on main' status --porcelain");
	fixture_close(&f);
}

TEST(target_being_rebased_by_the_user)
{
	struct fixture f;
	struct answer a;

	work(&f);
	sh(&f,
			"git checkout -q -b side main~1; echo side >src/two; git commit -qam side; "
			"git checkout -q main; git rebase side || true");
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_DIRTY);
	sh(&f, "git rebase --abort");
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	check_once(&f, "D_1");
	fixture_close(&f);
}

TEST(users_configuration_cannot_stop_it)
{
	struct fixture f;
	struct answer a;

	work(&f);
	sh(&f,
			"git config commit.gpgSign true; git config merge.verifySignatures true; "
			"git config merge.ff false;"
			"git config branch.main.mergeOptions '--no-ff --edit'; git config "
			"core.editor false; git config status.showUntrackedFiles no;"
			"git config color.ui always; git config log.showSignature true; git config "
			"merge.autoStash true;"
			"for h in pre-commit pre-merge-commit post-merge commit-msg "
			"reference-transaction post-checkout pre-rebase; do"
			"  printf '#!/bin/sh\\ntouch \"%s/hook-ran\"; exit 1\\n' >.git/hooks/$h; "
			"chmod +x .git/hooks/$h; done",
			f.dir);
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	check_once(&f, "D_1");
	assert_int_equal(sh_status(&f, "test -e ../hook-ran"), 1);
	fixture_close(&f);
}

TEST(author_message_and_keys)
{
	struct fixture f;
	struct answer a = { 0 };

	work(&f);
	start_accept(&f, BRANCH, "two words", "m", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_EINVALID);
	/* A key that is no part of a ref's name, with signs that a pattern would read. */
	start_accept(&f, BRANCH, "a..b:[*]^$",
			"Subject\n\nCo-authored-by: Tool <t@t>\nOverseer-Accept: FAKE", &a);
	finish(&f, &a);
	assert_int_equal(a.r, 0);
	assert_int_equal(a.outcome, GIT_OK);
	assert_sh(&f, "Subject\n\nOverseer-Accept: a..b:[*]^$", "git log -1 --format=%%B main");
	start_accept(&f, BRANCH, "a..b:[*]^$", "Subject", &a);
	finish(&f, &a);
	assert_int_equal(a.outcome, GIT_ALREADY);
	/* A key that is a part of another, or is only spoken of, is not that key. */
	sh(&f,
			"git commit -q --allow-empty -m 'About Overseer-Accept: D_2' -m "
			"'Overseer-Accept: D_2x'");
	sh(&f, "cd \"$W\"; echo z >z; git add z; git commit -qm z");
	a = accept_key(&f, BRANCH, "D_2");
	assert_int_equal(a.outcome, GIT_OK);
	assert_sh(&f, "z", "cat z");
	fixture_close(&f);
}

TEST(already_is_found_behind_later_work)
{
	struct fixture f;
	struct answer a;

	work(&f);
	accept_key(&f, BRANCH, "D_1");
	sh(&f,
			"echo l >l; git add l; git commit -qm later; cd \"$W\"; git fetch -q "
			"\"$R\" +main:main; git merge -q main");
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_ALREADY);
	/* Also when the worktree and its branch are gone. */
	remove_tree(&f);
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_ALREADY);
	start_accept(&f, BRANCH, "D_9", "m", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_ENOTFOUND);
	fixture_close(&f);
}

/* An agent that goes on after the accept, from what came later, does not bring it there twice. */
TEST(already_is_found_before_what_the_branch_has_merged)
{
	struct fixture f;
	struct answer a;
	char once[64];

	work(&f);
	a = accept_key(&f, BRANCH, "D_1");
	strcpy(once, a.commit);
	sh(&f,
			"echo l >l; git add l; git commit -qm later; cd \"$W\"; git fetch -q "
			"\"$R\" +main:main; git merge -q main; "
			"echo more >more; git add more; git commit -qm more");
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_ALREADY);
	assert_string_equal(a.commit, once);
	check_once(&f, "D_1");
	assert_sh(&f, "more", "git log -1 --format=%%s " BRANCH);
	fixture_close(&f);
}

TEST(unharvested_worktree_is_refused)
{
	struct fixture f;
	struct answer a;

	work(&f);
	sh(&f, "echo u >>\"$W/src/two\"");
	start_accept(&f, BRANCH, "D_1", "m", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_ESTATE);
	sh(&f, "cd \"$W\"; git checkout -q src/two; echo u >new; git add new");
	start_accept(&f, BRANCH, "D_1", "m", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_ESTATE);
	sh(&f,
			"cd \"$W\"; git rm -qf new; git checkout -q --detach; git commit -q "
			"--allow-empty -m late");
	start_accept(&f, BRANCH, "D_1", "m", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_ESTATE);
	assert_sh(&f, "second", "git log -1 --format=%%s main");
	fixture_close(&f);
}

TEST(what_a_check_built_is_not_in_the_way)
{
	struct fixture f;
	struct answer a;

	work(&f);
	sh(&f, "mkdir \"$W/out\"; echo o >\"$W/out/a.o\"");
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	check_once(&f, "D_1");
	assert_sh(&f, "0", "git ls-tree -r --name-only main | grep -c out/ || :");
	assert_sh(&f, "o", "cat \"$W/out/a.o\"");
	fixture_close(&f);
}

TEST(nested_repository_does_not_stop_it)
{
	struct fixture f;
	struct answer a;

	work(&f);
	sh(&f, "git init -q \"$W/nested\"; echo n >\"$W/nested/n\"");
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	check_once(&f, "D_1");
	assert_sh(&f, "n", "cat \"$W/nested/n\"");
	assert_int_equal(sh_status(&f, "test -e nested"), 1);
	fixture_close(&f);
}

TEST(lost_folder_is_accepted_from_the_branch)
{
	struct fixture f;
	struct answer a;

	work(&f);
	sh(&f, "rm -rf \"$W\"");
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	check_once(&f, "D_1");
	fixture_close(&f);
}

/* Two workers at once: each call waits for the one before it, and both arrive. */
TEST(two_accepts_at_once)
{
	struct fixture f;
	struct answer a, b;
	char path[256];

	work(&f);
	strcpy(path, f.tree);
	strcat(f.tree, "2");
	ensure(&f, "overseer/w2/a");
	sh(&f, "cd \"$W\"; echo 2 >two; git add two; git commit -qm two");
	start_accept(&f, "overseer/w2/a", "D_2", "Two", &b);
	strcpy(f.tree, path);
	start_accept(&f, BRANCH, "D_1", "One", &a);
	finish(&f, &a);
	finish(&f, &b);
	/* Both were rebased onto the same head; the second has to be rebased again. */
	assert_int_equal(b.outcome, GIT_OK);
	assert_int_equal(a.outcome, GIT_MOVED);
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	assert_sh(&f, "Do the task\nTwo\nsecond\nfirst", "git log --format=%%s main");
	assert_sh(&f, "", "git status --porcelain");
	fixture_close(&f);
}

/* The target moves after the squash: seen by the check of its old value. */
TEST(target_moves_meanwhile)
{
	struct fixture f;
	struct answer a;

	for (int on_target = 0; on_target < 2; on_target++) {
		bool moved = false;

		work(&f);
		if (!on_target)
			sh(&f, "git checkout -q -b elsewhere");
		start_accept(&f, BRANCH, "D_1", "m", &a);
		while (!a.done) {
			assert_true(loop_step(f.loop, 60000000));
			/* The commits are kept before the target is moved: move it first. */
			if (!moved && !a.done &&
					sh_status(&f,
							"git rev-parse -q --verify "
							"refs/overseer/accepted/D_1") == 0) {
				sh(&f,
						"git update-ref refs/heads/main $(git commit-tree "
						"-p main -m raced main^{tree})");
				moved = true;
			}
		}
		assert_true(moved);
		assert_int_equal(a.r, 0);
		if (a.outcome != GIT_MOVED && a.outcome != GIT_DIRTY)
			fail_msg("outcome %d", (int)a.outcome);
		assert_sh(&f, "raced", "git log -1 --format=%%s main");
		a = accept_key(&f, BRANCH, "D_1");
		assert_int_equal(a.outcome, GIT_OK);
		check_once(&f, "D_1");
		sh(&f, "git log --format=%%s main | grep -qx raced");
		fixture_close(&f);
	}
}

/* The user commits after git has written the checkout, and before it moves the branch there. */
static void work_raced(struct fixture *f)
{
	work(f);
	sh(f,
			"printf '#!/bin/sh\\ncat; test -d .git && test ! -e ../raced || exit 0; "
			"echo >../raced; git update-ref refs/heads/main "
			"$(git commit-tree -p main -m raced main^{tree})\\n' >../race; chmod +x "
			"../race;"
			"git config filter.race.smudge \"%s/race\"; "
			"echo 'work filter=race' >.git/info/attributes",
			f->dir);
}

TEST(user_commits_while_the_checkout_follows)
{
	struct fixture f;
	struct answer a;

	work_raced(&f);
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.r, 0);
	assert_int_equal(a.outcome, GIT_MOVED);
	assert_sh(&f, "raced", "git log -1 --format=%%s main");
	/* Nothing of it is left there, as if the user had put it there. */
	assert_sh(&f, "", "git status --porcelain");
	assert_int_equal(sh_status(&f, "test -e work"), 1);
	a = accept_key(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	check_once(&f, "D_1");
	assert_sh(&f, "", "git status --porcelain");
	fixture_close(&f);
}

/*
 * The same by `git commit FILE`, which writes the index as it was before; or the user changes
 * a file, too.
 */
TEST(user_commits_with_an_older_index)
{
	struct fixture f;
	struct answer a;

	for (int changed = 0; changed < 2; changed++) {
		bool written = false;

		work_raced(&f);
		start_accept(&f, BRANCH, "D_1", "m", &a);
		while (!a.done) {
			assert_true(loop_step(f.loop, 60000000));
			if (written || a.done ||
					sh_status(&f,
							"test -e ../raced -a ! -e .git/index.lock "
							"&& "
							"git ls-files --error-unmatch work") != 0)
				continue;
			sh(&f, "git read-tree HEAD%s", changed ? "; echo mine >>work" : "");
			written = true;
		}
		assert_true(written);
		assert_int_equal(a.outcome, GIT_MOVED);
		assert_sh(&f, changed ? " M src/one\n?? work" : "", "git status --porcelain");
		assert_sh(&f, "", "find .git -name '*.overseer*'");
		if (changed)
			sh(&f, "grep -qx mine work; rm work; git checkout -q src/one");
		a = accept_key(&f, BRANCH, "D_1");
		assert_int_equal(a.outcome, GIT_OK);
		assert_sh(&f, "", "git status --porcelain");
		fixture_close(&f);
	}
}

TEST_MAIN
