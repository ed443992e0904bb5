/* harvest: whatever state an agent leaves, its work ends up as commits on its branch. */
#include <string.h>

#include "base/err.h"
#include "tests/git/fixture.h"

TEST(committed_work)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	a = harvest(&f, e.base);
	assert_int_equal(a.commits, 0);
	assert_int_equal(a.files_changed, 0);
	assert_string_equal(a.head, e.base);
	sh(&f,
			"cd \"$W\"; echo 1 >1; echo 2 >2; git add -A; git commit -qm one; git mv "
			"src/one moved; git commit -qm two");
	a = harvest(&f, e.base);
	assert_int_equal(a.commits, 2);
	assert_int_equal(a.files_changed, 4); /* a move is two paths */
	assert_false(a.leftovers);
	assert_string_equal(a.rescue_ref, "");
	assert_string_equal(a.head, sh(&f, "git rev-parse overseer/w1/a"));
	assert_string_equal(a.tree, sh(&f, "git rev-parse 'overseer/w1/a^{tree}'"));
	assert_string_equal(a.base, e.base);
	fixture_close(&f);
}

/* Of all that the branch has, what came since the run began. */
TEST(what_a_run_touched)
{
	struct fixture f;
	struct answer e, a, b;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	sh(&f, "cd \"$W\"; echo 1 >1; echo 2 >2");
	a = harvest(&f, e.base);
	assert_string_equal(a.touched, "1\n2\n");
	strcpy(f.since, a.head);
	b = harvest(&f, e.base);
	assert_string_equal(b.files, "1\n2\n");
	assert_string_equal(b.touched, "");
	/* What is as it was before everything was touched, too. */
	sh(&f, "cd \"$W\"; rm 1; echo 3 >3");
	b = harvest(&f, e.base);
	assert_string_equal(b.files, "2\n3\n");
	assert_string_equal(b.touched, "1\n3\n");
	/* Rebased: what others did to the target is not the run's. */
	sh(&f, "echo x >other; git add other; git commit -qm other");
	sh(&f,
			"cd \"$W\"; echo 4 >4; git add 4; git commit -qm four; git rebase -q main; "
			"git reset "
			"-q --soft main; git commit -qm all");
	strcpy(f.since, b.head);
	a = harvest(&f, sh(&f, "git rev-parse main"));
	assert_string_equal(a.files, "2\n3\n4\n");
	assert_string_equal(a.touched, "4\n");
	/* A commit that is not there any more. */
	strcpy(f.since, "0123456789012345678901234567890123456789");
	a = harvest(&f, sh(&f, "git rev-parse main"));
	assert_string_equal(a.touched, "2\n3\n4\n");
	fixture_close(&f);
}

/* Whoever runs git there afterwards must not end up in the user's checkout, which is above it. */
TEST(a_link_that_is_gone_is_written_again)
{
	static const char *const losses[] = { "rm .git", "echo nonsense >.git",
		"echo 'gitdir: /nowhere' >.git", "rm .git; ln -s ../../../.git .git" };
	struct fixture f;
	struct answer e, a;

	for (size_t i = 0; i < ARRAY_LEN(losses); i++) {
		fixture_open(&f);
		e = ensure(&f, "overseer/w1/a");
		sh(&f, "cd \"$W\"; echo 1 >1; %s", losses[i]);
		a = harvest(&f, e.base);
		assert_string_equal(a.files, "1\n");
		assert_true(a.leftovers);
		assert_string_equal(sh(&f, "cd \"$W\"; git rev-parse HEAD"), a.head);
		assert_sh(&f, "overseer/w1/a", "cd \"$W\"; git symbolic-ref --short HEAD");
		fixture_close(&f);
	}
}

TEST(leftovers_are_rescued_then_committed)
{
	struct fixture f;
	struct answer e, a, b;

	fixture_open(&f);
	/* Hooks and signing of the user's would refuse. */
	sh(&f,
			"git config commit.gpgSign true; printf '#!/bin/sh\\nexit 1\\n' "
			">.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit");
	e = ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; echo n >new; rm src/one; printf x >tool; chmod +x tool; ln -s "
			"a l; echo s >'sp ace'; echo i >x.o;"
			"echo st >st; git add st; touch ../../git/w1/.git/index.lock; cp "
			"-a . ../../../../before");
	a = harvest(&f, e.base);
	assert_true(a.leftovers);
	assert_string_equal(a.rescue_ref, "refs/overseer/rescue/harvest");
	assert_int_equal(a.commits, 1);
	assert_int_equal(a.files_changed, 6);
	assert_string_equal(a.leftover_files, "l\nnew\nsp ace\nsrc/one\nst\ntool\n");
	assert_int_equal(a.lines_added, 5);
	assert_int_equal(a.lines_removed, 1);
	assert_same_content(&f, "overseer/w1/a", "../before");
	assert_same_content(&f, a.rescue_ref, "../before");
	assert_sh(&f, "Leftovers of w1", "git log -1 --format=%%s overseer/w1/a");
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	/* Repeated, as after a crash: the same answer. */
	fixture_reopen(&f);
	b = harvest(&f, e.base);
	assert_string_equal(a.head, b.head);
	assert_true(b.leftovers);
	assert_string_equal(b.leftover_files, a.leftover_files);
	assert_string_equal(b.rescue_ref, a.rescue_ref);
	assert_int_equal(b.commits, 1);
	fixture_close(&f);
}

/* In one second, with the same files and parent, only the words tell the two commits apart. */
TEST(rescue_and_harvest_are_two_commits)
{
	struct fixture f;
	struct answer e, a, b;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	sh(&f, "echo n >\"$W/new\"");
	a = harvest(&f, e.base);
	assert_sh(&f, "Leftovers of w1", "git log -1 --format=%%s overseer/w1/a");
	assert_string_not_equal(sh(&f, "git log -1 --format=%%s %s", a.rescue_ref),
			"Leftovers of w1");
	b = harvest(&f, e.base);
	assert_true(b.leftovers);
	assert_string_equal(b.rescue_ref, a.rescue_ref);
	fixture_close(&f);
}

TEST(other_branch_and_detached_head)
{
	struct fixture f;
	struct answer e, a;
	char old[64];

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; git checkout -q -b feature; echo f >f; git add f; git commit "
			"-qm feature; echo u >u");
	a = harvest(&f, e.base);
	assert_int_equal(a.commits, 2);
	assert_true(a.leftovers);
	assert_sh(&f, "overseer/w1/a", "git -C \"$W\" branch --show-current");
	/* The agent's own branch is as it was, and nobody else's. */
	assert_sh(&f, "feature", "git -C \"$W\" log -1 --format=%%s feature");
	assert_int_equal(sh_status(&f, "git rev-parse -q --verify feature"), 1);
	assert_sh(&f, "Leftovers of w1\nfeature", "git log --format=%%s %s..overseer/w1/a", e.base);

	/* Away from the branch's own commits: those are rescued before the branch moves. */
	strcpy(old, sh(&f, "git rev-parse overseer/w1/a"));
	sh(&f,
			"git update-ref -d refs/overseer/rescue/harvest; cd \"$W\"; git checkout "
			"-q --detach main; echo d >d; git add d;"
			"git commit -qm detached");
	a = harvest(&f, e.base);
	assert_int_equal(a.commits, 1);
	assert_string_equal(a.rescue_ref, "refs/overseer/rescue/harvest");
	sh(&f, "git merge-base --is-ancestor %s refs/overseer/rescue/harvest", old);
	assert_sh(&f, "detached", "git log -1 --format=%%s overseer/w1/a");
	assert_sh(&f, "overseer/w1/a", "git -C \"$W\" branch --show-current");
	fixture_close(&f);
}

TEST(unborn_head_keeps_the_history)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; git checkout -q --orphan own; git rm -q --cached src/two; rm "
			"src/two; echo o >o");
	a = harvest(&f, e.base);
	assert_int_equal(a.commits, 1);
	assert_int_equal(a.files_changed, 2);
	sh(&f, "git merge-base --is-ancestor main overseer/w1/a");
	fixture_close(&f);
}

TEST(unfinished_rebase_and_merge_are_rescued_and_aborted)
{
	static const char *const scripts[] = { "git rebase main || true", "git merge main || true",
		"git cherry-pick main || true", "git bisect start HEAD HEAD~1" };

	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		struct fixture f;
		struct answer e, a;

		fixture_open(&f);
		e = ensure(&f, "overseer/w1/a");
		sh(&f,
				"echo theirs >src/one; git commit -qam theirs; cd \"$W\"; git "
				"fetch -q "
				"\"$R\" +main:main; echo mine >src/one; git commit -qam mine; echo "
				"half >untracked; %s; cp -a . ../../../../before",
				scripts[i]);
		a = harvest(&f, e.base);
		assert_same_content(&f, a.rescue_ref, "../before"); /* with the conflict's marks */
		assert_sh(&f, "mine", "git show overseer/w1/a:src/one");
		assert_sh(&f, "half", "git show overseer/w1/a:untracked");
		assert_int_equal(a.commits, 2);
		assert_sh(&f, "On branch overseer/w1/a\nnothing to commit, working tree clean",
				"LC_ALL=C git -C \"$W\" status");
		fixture_close(&f);
	}
}

TEST(resolved_merge_is_concluded)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	sh(&f,
			"echo theirs >src/one; git commit -qam theirs; cd \"$W\"; echo mine "
			">src/one; git commit -qam mine;"
			"git fetch -q \"$R\" +main:main; git merge main || true; echo both "
			">src/one; git "
			"add src/one");
	a = harvest(&f, e.base);
	assert_true(a.leftovers);
	assert_sh(&f, "both", "git show overseer/w1/a:src/one");
	sh(&f, "git merge-base --is-ancestor main overseer/w1/a");
	fixture_close(&f);
}

/* By amending, resetting and rebasing; and once, however often it is harvested. */
TEST(commits_left_behind_are_rescued)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; c() { git add -A; git commit -qm \"$1\"; git rev-parse HEAD "
			">>../../../../made; }; echo 1 >1; c one; echo 2 >1; git commit -qam two "
			"--amend; git rev-parse HEAD >>../../../../made; echo 3 >3; c three; git "
			"reset -q --hard HEAD~1; (cd \"$R\"; echo m >m; git add m; git commit -qm "
			"m); git rebase -q main");
	a = harvest(&f, e.base);
	assert_string_equal(a.rescue_ref, "refs/overseer/rescue/harvest");
	assert_false(a.leftovers);
	assert_sh(&f, "0",
			"for c in $(cat ../made); do git for-each-ref --contains $c | grep -q . || "
			"echo "
			"$c; done | wc -l");
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	sh(&f, "cp .git/refs/overseer/rescue/harvest ../was");
	harvest(&f, a.base);
	assert_sh(&f, "", "diff .git/refs/overseer/rescue/harvest ../was");
	fixture_close(&f);
}

/*
 * What an earlier harvest put on the branch, and the agent then goes back behind: by one
 * commit, too.
 */
TEST(commits_of_an_earlier_harvest_are_rescued)
{
	static const char *const back[] = {
		"git reset -q --hard HEAD~1",
		"git checkout -q --detach HEAD~1",
		"git reset -q --hard HEAD~1; echo other >other",
	};
	struct fixture f;
	struct answer e, a;
	char head[72];

	for (size_t i = 0; i < ARRAY_LEN(back); i++) {
		fixture_open(&f);
		e = ensure(&f, "overseer/w1/a");
		sh(&f, "cd \"$W\"; echo 1 >1; git add 1; git commit -qm one");
		strcpy(head, harvest(&f, e.base).head);
		sh(&f, "cd \"$W\"; %s", back[i]);
		a = harvest(&f, e.base);
		assert_string_equal(a.rescue_ref, "refs/overseer/rescue/harvest");
		sh(&f, "git merge-base --is-ancestor %s %s", head, a.rescue_ref);
		assert_sh(&f, e.base, "git rev-parse overseer/w1/a%s", a.leftovers ? "~1" : "");
		fixture_close(&f);
	}
}

/* Also where there is nothing else to do: the agent's next git would be stopped by it. */
TEST(locks_that_a_killed_git_left_go)
{
	static const char *const lock[] = { "index", "HEAD", "refs/heads/overseer/w1/a" };
	struct fixture f;
	struct answer e;

	for (size_t i = 0; i < ARRAY_LEN(lock); i++) {
		fixture_open(&f);
		e = ensure(&f, "overseer/w1/a");
		sh(&f,
				"cd \"$W\"; echo 1 >1; git add 1; git commit -qm one; : "
				">../../git/w1/.git/%s.lock",
				lock[i]);
		assert_false(harvest(&f, e.base).leftovers);
		sh(&f, "cd \"$W\"; echo 2 >2; git add 2; git commit -qm two");
		fixture_close(&f);
	}
}

/* As ours leaves them: beside the copies of indexes that a harvest works with. */
TEST(locks_of_copies_go)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	sh(&f, "cd \"$W\"; git init -q lib; echo n >lib/n; echo s >staged; git add staged");
	sh(&f,
			"rm \"$W/staged\"; cd .overseer/git/w1/own; for i in agent embedded; do : "
			">index-$i.lock; done");
	a = harvest(&f, e.base);
	assert_true(a.rescue_ref[0]);
	assert_sh(&f, "n", "git show %s:lib/n", a.rescue_ref);
	sh(&f, "git log --format=%%H %s | while read c; do git show $c:staged && exit; done",
			a.rescue_ref);
	assert_sh(&f, "", "ls .overseer/git/w1/own | grep -e 'index-.*lock' || :");
	fixture_close(&f);
}

TEST(base_that_is_no_ancestor)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	sh(&f, "cd \"$W\"; git reset -q --hard HEAD~1; echo x >x; git add x; git commit -qm x");
	a = harvest(&f, e.base);
	assert_string_equal(a.base, sh(&f, "git rev-parse main~1"));
	assert_int_equal(a.commits, 1);
	assert_int_equal(a.files_changed, 1);
	a = harvest(&f, "0123456789012345678901234567890123456789");
	assert_int_equal(a.commits, 1);
	fixture_close(&f);
}

TEST(nested_repositories_are_left_out)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	sh(&f, "cd \"$W\"; git init -q nested; echo n >nested/n; echo x >x");
	a = harvest(&f, e.base);
	assert_int_equal(a.files_changed, 1);
	assert_sh(&f, "n", "cat \"$W/nested/n\"");
	/* Only that: nothing to commit. */
	sh(&f, "git update-ref -d refs/overseer/rescue/harvest");
	a = harvest(&f, e.base);
	assert_int_equal(a.commits, 1);
	assert_false(a.leftovers);
	fixture_close(&f);
}

/* What changed is told by name, within bounds; a name that is no text is told as it can be. */
TEST(files_and_commits_are_listed)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	a = ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; echo x >'new file'; git add -A; git commit -qm work; echo y "
			">>src/one; rm src/two");
	a = harvest(&f, a.base);
	assert_string_equal(a.files, "new file\nsrc/one\nsrc/two\n");
	assert_int_equal(a.commit_ids_n, 2);
	assert_string_equal(a.newest, a.head);

	sh(&f, "cd \"$W\"; for i in $(seq 300); do echo $i >n$i; done");
	a = harvest(&f, a.base);
	assert_int_equal(a.files_changed, 303);
	assert_int_equal(a.listed, GIT_LISTED);
	fixture_close(&f);
}

/* What git needs there is overwritten with garbage: nothing of the work is lost by it. */
TEST(damaged_link_head_and_index)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; echo c >committed; git add -A; git commit -qm one; echo l "
			">left; "
			"echo garbage >.git; cd \"$R\"/.overseer/git/w1/.git; echo garbage >HEAD; "
			"head -c 5000 /dev/urandom >index");
	ensure(&f, "overseer/w1/a");
	a = harvest(&f, e.base);
	assert_int_equal(a.commits, 2);
	assert_true(a.leftovers);
	assert_sh(&f, "committed\nleft", "git diff --name-only %s overseer/w1/a", e.base);
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	/* A short one is another error. */
	sh(&f, "echo x >>\"$W\"/left; echo >.overseer/git/w1/.git/index");
	a = harvest(&f, e.base);
	assert_int_equal(a.commits, 3);
	fixture_close(&f);
}

TEST(no_worktree)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	start_harvest(&f, "", "refs/overseer/rescue/x", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_ENOTFOUND);
	fixture_close(&f);
}

/* What git says of a file has its name in it, which can be any words. */
TEST(names_that_sound_like_trouble)
{
	static const char *const names[] = { "No space left", "x: No space left on device",
		"unable to write", "insufficient permission for adding", "Out of memory",
		"it's 'unable to write' x", "Permission denied" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct fixture f;
		struct answer e, a;

		fixture_open(&f);
		e = ensure(&f, "overseer/w1/a");
		sh(&f, "cd \"$W\"; echo p >precious; mkdir \"%s\"; echo x >\"%s/git~1\"", names[i],
				names[i]);
		a = harvest(&f, e.base);
		assert_sh(&f, "p", "git show %s:precious", a.head);
		ensure(&f, "overseer/w1/b");
		sh(&f, "cd \"$W\"; echo q >precious; mkdir \"%s\"; echo x >\"%s/git~1\"", names[i],
				names[i]);
		a = remove_tree(&f);
		assert_sh(&f, "q", "git show %s:precious", a.rescue_ref);
		assert_sh(&f, "2", "cat \"$W\".aside-*/\"%s/git~1\" | wc -l", names[i]);
		fixture_close(&f);
	}
}

/* The same without quotes: git cannot add what became of the file. */
TEST(a_pipe_whose_name_sounds_like_trouble)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	sh(&f,
			"mkdir 'unable to write x'; echo x >'unable to write x/f'; git add -A; git "
			"commit -qm x");
	e = ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; echo p >precious; rm 'unable to write x/f'; mkfifo 'unable to "
			"write "
			"x/f'");
	a = harvest(&f, e.base);
	assert_sh(&f, "p", "git show %s:precious", a.head);
	fixture_close(&f);
}

TEST_MAIN
