/*
 * The daemon ends in the middle of a call: after every number of turns of the loop the handle is
 * closed (which kills what is running), opened again, and the call repeated. In the end it must be
 * as if nothing had happened: one commit on the target, nothing lost. With OV_SOAK every number of
 * turns is tried, with OV_FULL every ninth, otherwise every 27th.
 */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/loop/loop.h"
#include "tests/git/fixture.h"

#define BRANCH "overseer/w1/a"

/* Turns the loop n times; true when the call ended before that. */
static bool turn(struct fixture *f, struct answer *a, int n)
{
	for (int i = 0; i < n && !a->done; i++)
		assert_true(loop_step(f->loop, 60 * 1000 * 1000));
	return a->done;
}

static int stride(void)
{
	return getenv("OV_SOAK") ? 1 : getenv("OV_FULL") ? 9 : 54;
}

/* Nothing of the agent's is lost, wherever the worktree stands. */
static void check_kept(struct fixture *f, int n)
{
	if (sh_status(f, "git log --all --format=%%s | grep -qx agent") != 0)
		fail_msg("after %d turns: the agent's commit is lost", n);
}

static bool cut_rebase(int n, bool in_the_way)
{
	struct fixture f;
	struct answer a;
	bool whole;

	fixture_open_live(&f);
	ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; echo w >work; git rm -q src/two; git add work; git commit -qm "
			"agent; cd \"$R\"; mkdir t; for i in 1 2 3; do echo $i >t/$i; done; echo x "
			">>src/one; git add -A; git commit -qm theirs");
	if (in_the_way)
		sh(&f, "mkdir \"$W/t\"; echo mine >\"$W/t/2\"");
	start_rebase(&f, BRANCH, "D_1", "", &a);
	whole = turn(&f, &a, n);
	fixture_reopen(&f);
	check_kept(&f, n);
	start_rebase(&f, BRANCH, "D_1", "", &a);
	finish(&f, &a);
	if (a.r < 0)
		fail_msg("after %d turns: %s", n, a.msg);
	if (a.outcome != GIT_OK)
		fail_msg("after %d turns: outcome %d: %s", n, (int)a.outcome, a.detail);
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	assert_sh(&f, a.commit, "git -C \"$W\" rev-parse HEAD");
	assert_sh(&f, BRANCH, "git -C \"$W\" branch --show-current");
	assert_sh(&f, "D\tsrc/two\nA\twork", "git diff --name-status main %s", a.commit);
	sh(&f, "git log --format=%%s refs/overseer/rescue/D_1 | grep -qx agent");
	if (in_the_way)
		sh(&f,
				"git rev-list --objects refs/overseer/rescue/D_1 | grep -q $(echo "
				"mine | git hash-object --stdin)");
	assert_sh(&f, "", "find .git -name 'overseer-*' -a ! -name overseer-worktree");
	assert_sh(&f, "theirs", "git log -1 --format=%%s main");
	fixture_close(&f);
	return whole;
}

TEST(rebase_cut_at_every_turn)
{
	int n = 1;

	while (!cut_rebase(n, false))
		n += stride();
	assert_true(n > 15);
	for (n = 1; !cut_rebase(n, true);)
		n += stride();
	assert_true(n > 15);
}

/* The user goes to the target after n turns; true when that was after the end. */
static bool switch_at(int n)
{
	struct fixture f;
	struct answer a, b;
	bool whole;

	fixture_open_live(&f);
	ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; echo w >work; git rm -q src/two; git add work; git commit -qm "
			"agent; cd "
			"\"$R\"; git switch -qc mine; echo m >m; git add m; git commit -qm mine");
	a = rebase(&f, BRANCH, "D_1");
	start_advance(&f, a.commit, "D_1", "", &b);
	whole = turn(&f, &b, n);
	sh(&f, "git switch -q main; echo draft >>src/one");
	finish(&f, &b);
	if (b.r < 0 || (b.outcome != GIT_OK && b.outcome != GIT_DIRTY))
		fail_msg("after %d turns: outcome %d: %s", n, (int)b.outcome, b.msg);
	/* His draft, and nothing else, is uncommitted. */
	if (strcmp(sh(&f, "git status --porcelain"), "M src/one") != 0 &&
			strcmp(sh(&f, "git status --porcelain"), " M src/one") != 0)
		fail_msg("after %d turns: %s", n, sh(&f, "git status --porcelain"));
	assert_sh(&f, "mine", "git log -1 --format=%%s mine");
	fixture_close(&f);
	return whole;
}

TEST(user_goes_to_the_target_at_every_turn)
{
	int n = 1;

	while (!switch_at(n))
		n++;
	assert_true(n > 5);
}

/*
 * His switch has read where the target is and written the files of that, and points HEAD at the
 * target only after we moved it: no lock is there to be seen, and nobody has the target yet.
 */
TEST(user_is_on_the_way_to_the_target)
{
	struct fixture f;
	struct answer a, b;

	fixture_open_live(&f);
	ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; echo w >work; git add work; git commit -qm agent; cd \"$R\"; "
			"git switch -qc mine; echo m >m; git add m; git commit -qm mine");
	a = rebase(&f, BRANCH, "D_1");
	sh(&f,
			"old=$(git rev-parse main); hook=.git/hooks/post-index-change; "
			"mkdir -p .git/hooks; "
			"printf '#!/bin/sh\nmkdir \"$R/../here\" 2>/dev/null || exit 0\n"
			"for i in $(seq 2000); do [ \"$(git rev-parse main)\" = %%s ] || break; "
			"sleep 0.005; done\nsleep 0.1\n' $old >$hook; chmod +x $hook; "
			"(git switch -q main; touch \"$R/../there\") >/dev/null 2>&1 & "
			"until [ -d \"$R/../here\" ]; do sleep 0.005; done");
	b = (struct answer){ 0 };
	start_advance(&f, a.commit, "D_1", "", &b);
	finish(&f, &b);
	assert_int_equal(b.r, 0);
	assert_int_equal(b.outcome, GIT_OK);
	sh(&f, "until [ -e \"$R/../there\" ]; do sleep 0.005; done");
	assert_sh(&f, "main", "git branch --show-current");
	assert_sh(&f, "", "git status --porcelain");
	fixture_close(&f);
}

/*
 * He went there in the moment in which it moved, and the daemon was killed before it could take him
 * along: the one that makes the call again does.
 */
TEST(user_goes_to_the_target_and_the_daemon_is_killed)
{
	struct fixture f;
	struct answer a, b;

	for (int staged = 0; staged < 2; staged++) {
		fixture_open_live(&f);
		ensure(&f, BRANCH);
		sh(&f,
				"cd \"$W\"; echo w >work; git rm -q src/two; git add work; git "
				"commit "
				"-qm agent; cd \"$R\"; git switch -qc mine");
		a = rebase(&f, BRANCH, "D_1");
		sh(&f, "git switch -q main; echo draft >>src/one");
		if (staged)
			sh(&f, "git add src/one");
		sh(&f, "git update-ref refs/heads/main %s", a.commit);
		start_advance(&f, a.commit, "D_1", "", &b);
		finish(&f, &b);
		assert_int_equal(b.r, 0);
		assert_int_equal(b.outcome, GIT_ALREADY);
		/* What he staged may have been meant so: then it is his. */
		assert_sh(&f, staged ? "M  src/one\nA  src/two\nD  work" : " M src/one",
				"git status --porcelain");
		fixture_close(&f);
	}
}

/* The checkout of a killed git is half done: files are written, index and branch are not. */
TEST(half_a_checkout_is_told_from_changes)
{
	struct fixture f;
	struct answer a;

	fixture_open_live(&f);
	ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; echo w >work; git add work; git commit -qm agent; cd \"$R\"; "
			"echo t >t; echo x >>src/one; git add -A; git commit -qm theirs");
	sh(&f,
			"git update-ref refs/overseer/rescue/D_1 " BRANCH "; cd \"$W\"; echo x "
			">>src/one; echo t >t; cd \"$R\"/.overseer/git/w1/own; touch index.lock; "
			"echo candidate >following");
	a = rebase(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	assert_sh(&f, "A\twork", "git diff --name-status main %s", a.commit);
	/* The same without the note is somebody's work, and is not passed over. */
	sh(&f, "echo y >>\"$W/src/one\"");
	start_rebase(&f, BRANCH, "D_1", "", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_ESTATE);
	fixture_close(&f);
}

/* Advance, then revert, each cut off and made again: both happen once. */
static bool cut_advance(int n, bool on_target)
{
	struct fixture f;
	struct answer a, b;
	bool whole;

	fixture_open_live(&f);
	ensure(&f, BRANCH);
	sh(&f,
			"git init -q --bare -b main ../origin.git; git push -q ../origin.git main; "
			"cd \"$W\"; echo w >work; git add work; git commit -qm agent");
	if (!on_target)
		sh(&f, "git checkout -q -b elsewhere");
	a = rebase(&f, BRANCH, "D_1");
	start_advance(&f, a.commit, "D_1", "../origin.git", &b);
	whole = turn(&f, &b, n);
	fixture_reopen(&f);
	start_advance(&f, a.commit, "D_1", "../origin.git", &b);
	finish(&f, &b);
	if (b.r < 0)
		fail_msg("advance after %d turns: %s", n, b.msg);
	if (b.outcome != GIT_OK && b.outcome != GIT_ALREADY)
		fail_msg("advance after %d turns: %d: %s", n, (int)b.outcome, b.detail);
	assert_sh(&f, a.commit, "git rev-parse main");
	assert_sh(&f, a.commit, "git -C ../origin.git rev-parse main");
	assert_sh(&f, "", "git status --porcelain");

	start_revert(&f, a.commit, "D_1", &b);
	whole &= turn(&f, &b, n);
	fixture_reopen(&f);
	start_revert(&f, a.commit, "D_1", &b);
	finish(&f, &b);
	if (b.r < 0)
		fail_msg("revert after %d turns: %s", n, b.msg);
	assert_sh(&f, "Take it back\nTask\nsecond\nfirst", "git log --format=%%s main");
	assert_sh(&f, "", "git diff main~2 main");
	assert_sh(&f, "", "git status --porcelain");
	check_kept(&f, n);
	fixture_close(&f);
	return whole;
}

TEST(advance_and_revert_cut_at_every_turn)
{
	int n = 1;

	while (!cut_advance(n, true))
		n += stride();
	assert_true(n > 15);
	for (n = 1; !cut_advance(n, false);)
		n += stride();
	assert_true(n > 15);
}

static bool cut_pick(int n)
{
	struct fixture f;
	struct answer a;
	bool whole;

	fixture_open_live(&f);
	ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; echo w >work; git add work; git commit -qm agent; echo l "
			">left; cd \"$R\"; echo t >t; git add t; git commit -qm theirs");
	start_pick(&f, "P_1", &a);
	whole = turn(&f, &a, n);
	fixture_reopen(&f);
	start_pick(&f, "P_1", &a);
	finish(&f, &a);
	if (a.r < 0)
		fail_msg("after %d turns: %s", n, a.msg);
	assert_sh(&f, "Picked\ntheirs\nsecond\nfirst", "git log --format=%%s main");
	assert_sh(&f, "l\nw", "cat left work");
	assert_sh(&f, "?? left", "git -C \"$W\" status --porcelain");
	assert_sh(&f, "agent", "git -C \"$W\" log -1 --format=%%s");
	fixture_close(&f);
	return whole;
}

TEST(pick_cut_at_every_turn)
{
	int n = 1;

	while (!cut_pick(n))
		n += stride();
	assert_true(n > 15);
}

static bool cut_harvest(int n)
{
	struct fixture f;
	struct answer e, a;
	bool whole;

	fixture_open_live(&f);
	e = ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; echo w >work; git add work; git commit -qm agent; git checkout "
			"-q --detach; echo l >left; rm src/one;"
			"echo s >s; git add s; cp -a . ../../../../before");
	start_harvest(&f, e.base, "refs/overseer/rescue/h", &a);
	whole = turn(&f, &a, n);
	fixture_reopen(&f);
	start_harvest(&f, e.base, "refs/overseer/rescue/h", &a);
	finish(&f, &a);
	if (a.r < 0)
		fail_msg("after %d turns: %s", n, a.msg);
	assert_int_equal(a.commits, 2);
	assert_true(a.leftovers);
	assert_same_content(&f, BRANCH, "../before");
	assert_same_content(&f, "refs/overseer/rescue/h", "../before");
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	assert_sh(&f, "", "find .git -name 'overseer-rescue-*' -o -name '*.lock'");
	fixture_close(&f);
	return whole;
}

TEST(harvest_cut_at_every_turn)
{
	int n = 1;

	while (!cut_harvest(n))
		n += stride();
	assert_true(n > 15);
}

static bool cut_ensure(int n)
{
	struct fixture f;
	struct answer a;
	bool whole;

	fixture_open_live(&f);
	ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; echo w >work; git add work; git commit -qm agent; echo l "
			">left; rm src/one; cp -a . ../../../../before");
	start_ensure(&f, "overseer/w1/b", "refs/overseer/rescue/e", &a);
	whole = turn(&f, &a, n);
	fixture_reopen(&f);
	start_ensure(&f, "overseer/w1/b", "refs/overseer/rescue/e", &a);
	finish(&f, &a);
	if (a.r < 0)
		fail_msg("after %d turns: %s", n, a.msg);
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	assert_sh(&f, sh(&f, "git rev-parse main"), "git -C \"$W\" rev-parse HEAD");
	assert_sh(&f, "overseer/w1/b", "git -C \"$W\" branch --show-current");
	/* What was there is reachable from the ref, at its top or behind a later rescue. */
	sh(&f,
			"want=$(git -C ../before --git-dir=\"$R/.git\" --work-tree=. hash-object "
			"left);"
			"git rev-list --objects refs/overseer/rescue/e | grep -q $want; git log "
			"--format=%%s refs/overseer/rescue/e | grep -qx agent");
	fixture_close(&f);
	return whole;
}

TEST(ensure_cut_at_every_turn)
{
	int n = 1;

	while (!cut_ensure(n))
		n += stride();
	assert_true(n > 15);
}

/* A repository inside: its harvest, then the next task. */
static bool cut_embedded(int n)
{
	struct fixture f;
	struct answer e, a;
	bool whole, whole2;

	fixture_open_live(&f);
	e = ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; echo l >left; git init -q lib; echo n >lib/n; git -C lib add "
			"n; git "
			"-C lib -c user.name=a -c user.email=b commit -qm inner");
	start_harvest(&f, e.base, "refs/overseer/rescue/h", &a);
	whole = turn(&f, &a, n);
	fixture_reopen(&f);
	start_harvest(&f, e.base, "refs/overseer/rescue/h", &a);
	finish(&f, &a);
	if (a.r < 0 || !a.leftovers || strcmp(a.files, "left\n") != 0)
		fail_msg("harvest after %d turns: %s%s", n, a.files, a.msg);
	assert_sh(&f, "n l", "echo $(git show %s:lib/n %s:left)", a.rescue_ref, a.rescue_ref);
	start_ensure(&f, "overseer/w1/b", "refs/overseer/rescue/e", &a);
	whole2 = turn(&f, &a, n);
	fixture_reopen(&f);
	start_ensure(&f, "overseer/w1/b", "refs/overseer/rescue/e", &a);
	finish(&f, &a);
	if (a.r < 0)
		fail_msg("ensure after %d turns: %s", n, a.msg);
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	assert_sh(&f, "inner", "git -C \"$W.aside-1/lib\" log -1 --format=%%s");
	sh(&f, "test ! -e \"$W.aside-2\"; test ! -e .overseer/git/w1/own/index-embedded");
	fixture_close(&f);
	return whole && whole2;
}

TEST(embedded_cut_at_every_turn)
{
	int n = 1;

	while (!cut_embedded(n))
		n += stride();
	assert_true(n > 15);
}

static bool cut_fresh_and_remove(int n)
{
	struct fixture f;
	struct answer a;
	bool whole, whole2;

	fixture_open_live(&f);
	start_ensure(&f, BRANCH, "refs/overseer/rescue/e", &a);
	whole = turn(&f, &a, n);
	fixture_reopen(&f);
	start_ensure(&f, BRANCH, "refs/overseer/rescue/e", &a);
	finish(&f, &a);
	if (a.r < 0)
		fail_msg("ensure after %d turns: %s", n, a.msg);
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	assert_sh(&f, BRANCH, "git -C \"$W\" branch --show-current");
	assert_sh(&f, "", "git for-each-ref refs/overseer");
	assert_sh(&f, "w1", "ls .overseer/worktrees");

	sh(&f, "cd \"$W\"; echo w >work; git add work; git commit -qm agent; echo l >left");
	start_remove(&f, "refs/overseer/rescue/r", &a);
	whole2 = turn(&f, &a, n);
	fixture_reopen(&f);
	start_remove(&f, "refs/overseer/rescue/r", &a);
	finish(&f, &a);
	if (a.r < 0)
		fail_msg("remove after %d turns: %s", n, a.msg);
	sh(&f, "git log --format=%%s refs/overseer/rescue/r | grep -qx agent");
	sh(&f,
			"git rev-list --objects refs/overseer/rescue/r | grep -q $(echo l | git "
			"hash-object --stdin)");
	assert_int_equal(sh_status(&f, "test -e \"$W\""), 1);
	assert_sh(&f, "main", "git for-each-ref --format='%%(refname:short)' refs/heads");
	fixture_close(&f);
	return whole && whole2;
}

TEST(fresh_worktree_and_removal_cut_at_every_turn)
{
	int n = 1;

	while (!cut_fresh_and_remove(n))
		n += stride();
	assert_true(n > 15);
}

/* A daemon that was killed leaves its git at work: the next one waits for it, not for its lock. */
TEST(child_of_an_earlier_daemon_is_waited_for)
{
	struct fixture f;
	struct answer a;
	char mark[300];
	int hold[2], status;
	pid_t pid;

	fixture_open_live(&f);
	ensure(&f, BRANCH);
	fixture_reopen(&f);
	snprintf(mark, sizeof(mark), "OVERSEER_GIT_PATH=%s", f.tree);
	assert_int_equal(pipe(hold), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(hold[0], STDIN_FILENO);
		close(hold[0]);
		close(hold[1]);
		execle("/bin/cat", "cat", NULL, (char *[]){ mark, NULL });
		_exit(127);
	}
	close(hold[0]);
	while (strcmp(sh(&f, "cat /proc/%d/comm", (int)pid), "cat") != 0)
		;
	start_ensure(&f, "overseer/w1/b", "refs/overseer/rescue/e", &a);
	for (int i = 0; i < 10; i++)
		assert_true(loop_step(f.loop, 60 * 1000 * 1000));
	assert_false(a.done);
	assert_sh(&f, BRANCH, "git -C \"$W\" branch --show-current");
	close(hold[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	finish(&f, &a);
	assert_int_equal(a.r, 0);
	assert_sh(&f, "overseer/w1/b", "git -C \"$W\" branch --show-current");
	fixture_close(&f);
}

TEST_MAIN
