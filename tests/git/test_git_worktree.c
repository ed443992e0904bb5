/* ensure and remove: fresh, repeated, after others, after damage; opening repositories. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "sys/loop/loop.h"
#include "tests/git/fixture.h"

TEST(open_excludes_once)
{
	struct fixture f;

	fixture_open(&f);
	fixture_reopen(&f);
	assert_sh(&f, "1", "grep -cx /.overseer/ .git/info/exclude");
	ensure(&f, "overseer/w1/a");
	assert_sh(&f, "", "git status --porcelain");
	fixture_close(&f);
}

TEST(open_refuses_what_is_no_checkout)
{
	struct fixture f;
	struct git *g = NULL;
	struct ov_err err;

	fixture_open(&f);
	sh(&f, "git clone -q --bare . ../bare");
	assert_int_equal(git_open(f.loop, f.dir, &g, &err), OV_ESTATE);
	assert_non_null(strstr(err.msg, "not a git repository"));
	assert_int_equal(git_open(f.loop, sh(&f, "realpath ../bare"), &g, &err), OV_ESTATE);
	assert_null(g);
	fixture_close(&f);
}

TEST(fresh_then_repeated)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	a = ensure(&f, "overseer/w1/a");
	assert_string_equal(a.base, sh(&f, "git rev-parse main"));
	assert_string_equal(a.rescue_ref, "");
	assert_sh(&f, "overseer/w1/a", "git -C \"$W\" branch --show-current");
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");

	/* Work has begun; the target moves on; the same call again leaves all of it alone. */
	sh(&f,
			"cd \"$W\"; echo x >new; git add new; git commit -qm work; echo y "
			">untracked; echo z >>src/one");
	sh(&f, "echo t >t; git add t; git commit -qm third");
	fixture_reopen(&f);
	a = ensure(&f, "overseer/w1/a");
	assert_string_equal(a.base, sh(&f, "git rev-parse main~1"));
	assert_string_equal(a.rescue_ref, "");
	assert_sh(&f, " M src/one\n?? untracked", "git -C \"$W\" status --porcelain");
	assert_sh(&f, "work", "git -C \"$W\" log -1 --format=%%s");
	fixture_close(&f);
}

TEST(other_branch_rescues_commits_index_and_files)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; echo x >new; git add new; git commit -qm work; echo s >staged; "
			"git add staged;"
			"echo u >untracked; rm src/one; echo o >build.o");
	sh(&f, "cp -a \"$W\" ../before");
	a = ensure(&f, "overseer/w1/b");
	assert_string_equal(a.rescue_ref, "refs/overseer/rescue/ensure");
	assert_string_equal(a.base, sh(&f, "git rev-parse main"));
	assert_same_content(&f, a.rescue_ref, "../before");
	assert_sh(&f, "work", "git log -1 --format=%%s '%s^1'", a.rescue_ref);
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	assert_sh(&f, "overseer/w1/b", "git -C \"$W\" branch --show-current");
	assert_sh(&f, sh(&f, "git rev-parse main"), "git -C \"$W\" rev-parse HEAD");
	/* Ignored files stay. */
	assert_sh(&f, "o", "cat \"$W/build.o\"");
	fixture_close(&f);
}

/* The next one goes on where another left off, in another worktree, while the target moved on. */
TEST(handed_over)
{
	struct fixture f;
	struct answer a;
	char left[72];

	fixture_open(&f);
	a = ensure(&f, "overseer/w1/a-1");
	sh(&f, "cd \"$W\"; echo x >begun; git add begun; git commit -qm begun; echo y >more");
	a = harvest(&f, a.base);
	snprintf(left, sizeof(left), "%s", a.head);
	sh(&f, "echo t >t; git add t; git commit -qm third");
	/*
	 * Its worker does something else meanwhile; then it is removed: what was left
	 * stays reachable.
	 */
	ensure(&f, "overseer/w1/b-1");
	remove_tree(&f);
	sh(&f, "git reflog expire --expire=now --all; git gc -q --prune=now");
	start_ensure_at(&f, "overseer/w1/a-2", left, "refs/overseer/rescue/x", &a);
	finish(&f, &a);
	assert_int_equal(a.r, 0);
	assert_string_equal(a.base, sh(&f, "git rev-parse main~1"));
	assert_sh(&f, left, "git -C \"$W\" rev-parse HEAD");
	assert_sh(&f, "x", "cat \"$W\"/begun");
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	/* The work of both counts, and both come to the target. */
	sh(&f, "cd \"$W\"; echo z >ended");
	a = harvest(&f, a.base);
	assert_int_equal(a.files_changed, 3);
	accept_key(&f, "overseer/w1/a-2", "D_1");
	assert_sh(&f, "begun ended more", "git show --name-only --format= main | xargs");
	fixture_close(&f);
}

TEST(handed_over_what_is_accepted_or_gone)
{
	struct fixture f;
	struct answer a;
	char accepted[72];

	fixture_open(&f);
	snprintf(accepted, sizeof(accepted), "%s", sh(&f, "git rev-parse main~1"));
	start_ensure_at(&f, "overseer/w1/a", accepted, "refs/overseer/rescue/x", &a);
	finish(&f, &a);
	assert_int_equal(a.r, 0);
	assert_string_equal(a.base, sh(&f, "git rev-parse main"));
	assert_string_equal(a.detail, "");
	start_ensure_at(&f, "overseer/w1/b", "0123456789012345678901234567890123456789",
			"refs/overseer/rescue/x", &a);
	finish(&f, &a);
	assert_int_equal(a.r, 0);
	assert_string_equal(a.base, sh(&f, "git rev-parse main"));
	assert_non_null(strstr(a.detail, "cannot be read"));
	assert_sh(&f, sh(&f, "git rev-parse main"), "git -C \"$W\" rev-parse HEAD");
	start_ensure_at(&f, "overseer/w1/c", "main", "refs/overseer/rescue/x", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_EINVALID);
	fixture_close(&f);
}

TEST(accepted_branch_goes_without_rescue)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	a = ensure(&f, "overseer/w1/b");
	assert_string_equal(a.rescue_ref, "");
	assert_sh(&f, "overseer/w1/b",
			"git for-each-ref --format='%%(refname:short)' refs/heads/overseer");
	assert_sh(&f, "", "git for-each-ref refs/overseer");
	fixture_close(&f);
}

TEST(stale_branch_with_commits_is_rescued)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	sh(&f,
			"git checkout -q -b overseer/w1/a; echo x >x; git add x; git commit -qm "
			"stale; git checkout -q main");
	a = ensure(&f, "overseer/w1/a");
	assert_string_equal(a.rescue_ref, "refs/overseer/rescue/ensure");
	assert_sh(&f, "stale", "git log -1 --format=%%s %s", a.rescue_ref);
	assert_sh(&f, sh(&f, "git rev-parse main"), "git rev-parse overseer/w1/a");
	fixture_close(&f);
}

TEST(stale_branch_and_dirty_worktree_share_the_ref)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f,
			"echo u >\"$W/untracked\"; git branch overseer/w1/b; git checkout -q "
			"overseer/w1/b; echo x >x;"
			"git add x; git commit -qm stale; git checkout -q main");
	a = ensure(&f, "overseer/w1/b");
	assert_sh(&f, "u", "git show %s:untracked", a.rescue_ref);
	sh(&f, "git log --format=%%s %s | grep -qx stale", a.rescue_ref);
	fixture_close(&f);
}

TEST(branch_held_elsewhere_is_refused)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	sh(&f,
			"git checkout -q -b overseer/w1/a; git checkout -q main; git worktree add "
			"-q ../other overseer/w1/a");
	start_ensure(&f, "overseer/w1/a", "refs/overseer/rescue/x", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_ECONFLICT);
	assert_non_null(strstr(a.msg, "other"));
	fixture_close(&f);
}

TEST(unfinished_operations_end)
{
	static const char *const scripts[] = {
		"git rebase side || true",
		"git merge side || true",
		"git cherry-pick side || true",
		"git cherry-pick side~1 side || true",
		"git rebase -i --exec false HEAD~1 || true",
		"git revert --no-commit HEAD || true; git revert HEAD~1 || true",
		"git bisect start; git bisect bad HEAD; git bisect good HEAD~1 || true",
		"git format-patch -q -1 side --stdout >../p.patch; git am ../p.patch || true",
	};

	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
		struct fixture f;
		struct answer a;

		fixture_open(&f);
		sh(&f,
				"git checkout -q -b side; echo s >other; git add other; git commit "
				"-qm s0;"
				"echo side >src/one; git commit -qam side; git checkout -q main");
		ensure(&f, "overseer/w1/a");
		sh(&f, "cd \"$W\"; echo mine >src/one; git commit -qam mine; echo u >untracked; %s",
				scripts[i]);
		sh(&f, "cp -a \"$W\" ../before");
		a = ensure(&f, "overseer/w1/b");
		assert_string_equal(a.rescue_ref, "refs/overseer/rescue/ensure");
		assert_same_content(&f, a.rescue_ref, "../before");
		sh(&f, "git log --format=%%s %s | grep -qx mine", a.rescue_ref);
		assert_sh(&f, "On branch overseer/w1/b\nnothing to commit, working tree clean",
				"LC_ALL=C git -C \"$W\" status");
		fixture_close(&f);
	}
}

TEST(detached_and_unborn_heads)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; git checkout -q --detach; echo d >d; git add d; git commit -qm "
			"detached");
	a = ensure(&f, "overseer/w1/b");
	assert_sh(&f, "detached", "git log -1 --format=%%s %s", a.rescue_ref);

	sh(&f, "cd \"$W\"; git checkout -q --orphan own; echo o >o; git add o");
	a = ensure(&f, "overseer/w1/c");
	assert_sh(&f, "o", "git show %s:o", a.rescue_ref);
	sh(&f, "git log --format=%%s %s | grep -qx detached",
			a.rescue_ref); /* the earlier rescue is in it */
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	fixture_close(&f);
}

TEST(vanished_folder)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; echo c >c; git add c; git commit -qm work; echo s >staged; git "
			"add staged; rm -rf \"$W\"");
	a = ensure(&f, "overseer/w1/b");
	assert_sh(&f, "s", "git show %s:staged", a.rescue_ref);
	assert_sh(&f, "c", "git show %s:c", a.rescue_ref);
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");

	/* Nothing was in this one. */
	sh(&f, "git update-ref -d %s; rm -rf \"$W\"", a.rescue_ref);
	a = ensure(&f, "overseer/w1/b");
	assert_string_equal(a.rescue_ref, "");
	assert_sh(&f, "overseer/w1/b", "git -C \"$W\" branch --show-current");
	fixture_close(&f);
}

TEST(broken_links_are_mended)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f, "echo u >\"$W/untracked\"; rm \"$W/.git\"");
	a = ensure(&f, "overseer/w1/a");
	assert_sh(&f, "?? untracked", "git -C \"$W\" status --porcelain");

	/* An agent made a repository of its own over ours. */
	sh(&f,
			"cd \"$W\"; rm .git; git init -q; git add -A; git -c user.name=a -c "
			"user.email=b commit -qm own");
	a = ensure(&f, "overseer/w1/b");
	assert_sh(&f, "u", "git show %s:untracked", a.rescue_ref);
	assert_non_null(strstr(a.detail, ".aside-1"));
	assert_sh(&f, "own", "git --git-dir=\"$W.aside-1\" log -1 --format=%%s");
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	fixture_close(&f);
}

TEST(moved_repository_is_repaired)
{
	struct fixture f;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f, "echo s >\"$W/staged\"; git -C \"$W\" add staged; cd ..; mv 'a repo' 'b repo'");
	snprintf(f.repo, sizeof(f.repo), "%s/b repo", f.dir);
	snprintf(f.tree, sizeof(f.tree), "%s/.overseer/worktrees/w1", f.repo);
	fixture_reopen(&f);
	ensure(&f, "overseer/w1/a");
	assert_sh(&f, "A  staged", "git -C \"$W\" status --porcelain");
	fixture_close(&f);
}

TEST(foreign_folder_is_moved_aside)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	sh(&f, "mkdir -p \"$W\"; echo precious >\"$W/file\"");
	a = ensure(&f, "overseer/w1/a");
	assert_non_null(strstr(a.detail, "w1.aside-1"));
	assert_sh(&f, "precious", "cat \"$W.aside-1/file\"");
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	fixture_close(&f);
}

TEST(half_added_worktree_is_made_again)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd .overseer/git/w1; rm own/branch; echo yes >own/making; rm -rf agent; "
			"rm "
			"\"$W/src/one\"");
	a = ensure(&f, "overseer/w1/a");
	assert_string_equal(a.rescue_ref, "");
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	assert_sh(&f, "overseer/w1/a", "git -C \"$W\" branch --show-current");
	assert_sh(&f, "one", "cat \"$W/src/one\"");
	fixture_close(&f);
}

TEST(stale_locks_of_ours_are_removed)
{
	struct fixture f;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f,
			"touch .overseer/git/w1/.git/index.lock .overseer/git/w1/.git/HEAD.lock; "
			"mkdir -p "
			".git/refs/heads/overseer/w1;"
			"touch .git/refs/heads/overseer/w1/b.lock");
	ensure(&f, "overseer/w1/b");
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	fixture_close(&f);
}

/* By a rule that the task before had made, and that nobody has accepted. */
TEST(what_was_ignored_is_kept)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; echo '*.dat' >>.gitignore; echo precious >results.dat; mkdir "
			"out; echo "
			"d >out/deep.dat; echo o >x.o; echo u >untracked; ln -s results.dat l.dat; "
			"echo s "
			">'sp ace.dat'; chmod +x 'sp ace.dat'; cp -a \"$W\" \"$W.before\"");
	a = ensure(&f, "overseer/w1/b");
	/* All that was there but for what is ignored still, byte by byte. */
	sh(&f, "rm \"$W.before/x.o\"");
	assert_same_content(&f, a.rescue_ref, sh(&f, "echo \"$W.before\""));
	sh(&f,
			"git log --format=%%H %s | while read c; do ! git cat-file -e $c:untracked "
			"2>/dev/null "
			"|| echo kept; done | grep -q kept",
			a.rescue_ref);
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	assert_sh(&f, "o", "cat \"$W/x.o\""); /* still ignored */
	/* More than a ref should hold. */
	sh(&f,
			"cd \"$W\"; echo '*.dat' >>.gitignore; mkdir -p big/er; head -c 70000000 "
			"/dev/zero "
			">big/er/a.dat; echo s >src/small.dat");
	a = ensure(&f, "overseer/w1/c");
	assert_non_null(strstr(a.detail, "were moved to"));
	assert_sh(&f, "70000000", "cat \"$W.aside-1/big/er/a.dat\" | wc -c");
	assert_sh(&f, "s", "cat \"$W.aside-1/src/small.dat\"");
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	fixture_close(&f);
}

/* Ignored files in a folder where the next task has a file: git would remove the folder. */
TEST(what_is_ignored_where_a_file_comes)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; mkdir -p lib/deep.o other; echo i >lib/i.o; echo d "
			">lib/deep.o/d; "
			"git init -q lib/repo.o; echo u >lib/u; echo o >other/i.o; cd \"$R\"; echo "
			"f "
			">lib; git add lib; git commit -qm lib");
	a = ensure(&f, "overseer/w1/b");
	assert_sh(&f, "f", "cat \"$W/lib\"");
	assert_sh(&f, "u", "git show %s:lib/u", a.rescue_ref);
	assert_sh(&f, "i d", "cd \"$W.aside-1\"; echo $(cat lib/i.o lib/deep.o/d)");
	sh(&f, "test -d \"$W.aside-1/lib/repo.o/.git\"");
	assert_non_null(strstr(a.detail, ".aside-1"));
	assert_sh(&f, "o", "cat \"$W/other/i.o\"");
	/* Many at once. */
	sh(&f,
			"cd \"$W\"; for i in $(seq 400); do n=$(printf '%%0200d' $i); mkdir $n; "
			"echo $i "
			">$n/i.o; echo f >\"$R/$n\"; done; cd \"$R\"; git add -A 0*; git commit "
			"-qm "
			"many");
	ensure(&f, "overseer/w1/c");
	assert_sh(&f, "400", "ls \"$W.aside-2\"/0*/i.o | wc -l");
	fixture_close(&f);
}

TEST(missing_target_and_empty_repository)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	sh(&f, "git branch -m main trunk");
	start_ensure(&f, "overseer/w1/a", "refs/overseer/rescue/x", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_ENOTFOUND);
	sh(&f, "git checkout -q --orphan main; git branch -D trunk");
	start_ensure(&f, "overseer/w1/a", "refs/overseer/rescue/x", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_ESTATE);
	assert_non_null(strstr(a.msg, "no commit yet"));
	assert_int_equal(sh_status(&f, "test -e \"$W\""), 1);
	fixture_close(&f);
}

TEST(bad_arguments_are_refused_from_the_loop)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	start_ensure(&f, "--force", "refs/overseer/rescue/x", &a);
	assert_false(a.done);
	finish(&f, &a);
	assert_int_equal(a.r, OV_EINVALID);
	start_ensure(&f, "main", "refs/overseer/rescue/x", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_EINVALID);
	start_ensure(&f, "overseer/a", "refs/heads/main", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_EINVALID);
	/* The user's own checkout is never ours to reset or remove. */
	snprintf(f.tree, sizeof(f.tree), "%s", f.repo);
	start_ensure(&f, "overseer/a", "refs/overseer/x", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_EINVALID);
	start_remove(&f, "refs/overseer/x", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_EINVALID);
	start_harvest(&f, "", "refs/overseer/x", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_EINVALID);
	start_accept(&f, "overseer/a", "k", "m", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_EINVALID);
	fixture_close(&f);
}

TEST(remove_rescues_and_repeats)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; echo c >c; git add c; git commit -qm work; echo u >untracked; "
			"git branch keep-me");
	a = remove_tree(&f);
	assert_string_equal(a.rescue_ref, "refs/overseer/rescue/remove");
	assert_sh(&f, "u", "git show %s:untracked", a.rescue_ref);
	assert_int_equal(sh_status(&f, "test -e \"$W\""), 1);
	assert_sh(&f, "main", "git for-each-ref --format='%%(refname:short)' refs/heads");
	assert_sh(&f, "work", "git log --format=%%s %s^ -1", a.rescue_ref);
	assert_int_equal(sh_status(&f, "test -e .overseer/git/w1"), 1);
	a = remove_tree(&f);
	assert_string_equal(a.rescue_ref, "");

	/* All on the target: nothing to keep. */
	sh(&f, "git update-ref -d refs/overseer/rescue/remove");
	ensure(&f, "overseer/w1/a");
	a = remove_tree(&f);
	assert_string_equal(a.rescue_ref, "");
	assert_sh(&f, "", "git for-each-ref refs/overseer");
	fixture_close(&f);
}

TEST(calls_on_one_worktree_queue)
{
	struct fixture f;
	struct answer a, b, c;

	fixture_open(&f);
	start_ensure(&f, "overseer/w1/a", "refs/overseer/rescue/x", &a);
	start_ensure(&f, "overseer/w1/b", "refs/overseer/rescue/y", &b);
	start_remove(&f, "refs/overseer/rescue/z", &c);
	finish(&f, &b);
	assert_true(a.done);
	assert_false(c.done);
	finish(&f, &c);
	assert_int_equal(a.r, 0);
	assert_int_equal(b.r, 0);
	assert_int_equal(c.r, 0);
	assert_int_equal(sh_status(&f, "test -e \"$W\""), 1);
	fixture_close(&f);
}

/* Git fails on a worktree that another git is just registering: ours must not meet each other. */
TEST(many_worktrees_at_once)
{
	enum { TREES = 8, ROUNDS = 4 };
	struct fixture f;

	for (int round = 0; round < ROUNDS; round++) {
		struct answer made[TREES] = { 0 };

		fixture_open(&f);
		for (int i = 0; i < TREES; i++) {
			char branch[32], ref[64];

			snprintf(f.tree, sizeof(f.tree), "%s/worktree %d", f.dir, i);
			snprintf(branch, sizeof(branch), "overseer/w%d/t", i);
			snprintf(ref, sizeof(ref), "refs/overseer/rescue/w%d", i);
			start_ensure(&f, branch, ref, &made[i]);
		}
		for (int i = 0; i < TREES; i++) {
			finish(&f, &made[i]);
			assert_string_equal(made[i].msg, "");
			assert_int_equal(made[i].r, 0);
		}
		fixture_close(&f);
	}
}

static void closing(void *user, int r, const struct git_result *res, const struct ov_err *err)
{
	struct fixture *f = user;

	assert_int_equal(r, 0);
	assert_non_null(res);
	assert_null(err);
	git_close(f->git);
	f->git = NULL;
}

TEST(the_callback_may_close)
{
	struct fixture f;
	struct answer a;
	struct ov_err err;

	fixture_open(&f);
	git_ensure(f.git,
			&(struct git_ensure){ .path = str_from(f.tree),
					.branch = STR("overseer/w1/a"),
					.target = STR("main"),
					.rescue_ref = STR("refs/overseer/x") },
			closing, &f);
	start_ensure(&f, "overseer/w1/b", "refs/overseer/rescue/x",
			&a); /* waits, and is forgotten */
	while (f.git)
		assert_true(loop_step(f.loop, 60 * 1000 * 1000));
	assert_false(a.done);
	assert_int_equal(git_open(f.loop, f.repo, &f.git, &err), 0);
	assert_sh(&f, "overseer/w1/a", "git -C \"$W\" branch --show-current");
	fixture_close(&f);
}

/*
 * A person's link to another disk is fine; one that an agent made meanwhile leads to
 * somebody's folder.
 */
TEST(the_folder_of_worktrees_becomes_a_link)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	sh(&f, "mkdir -p ../disk .overseer; ln -s ../../disk .overseer/worktrees");
	ensure(&f, "overseer/w1/a");
	assert_sh(&f, "w1", "ls ../disk");
	sh(&f, "mkdir ../mine; cd .overseer; rm worktrees; ln -s ../../mine worktrees");
	start_ensure(&f, "overseer/w1/b", "refs/overseer/rescue/x", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_ESTATE);
	assert_sh(&f, "", "ls ../mine");
	fixture_close(&f);
}

/* Whatever a sandbox hides of the user's home. */
TEST(settings_of_the_user_are_the_agents)
{
	struct fixture f;

	fixture_open(&f);
	sh(&f,
			"git config --unset user.name; git config --unset user.email; mkdir "
			"../hooks; "
			"printf '#!/bin/sh\\necho no >&2; exit 1\\n' >../hooks/pre-commit; chmod "
			"+x "
			"../hooks/pre-commit");
	sh(&f,
			"cat >>\"$HOME/.gitconfig\" <<E\n[user]\n\tname = Ann \\\\\"B\n\temail = "
			"ann@example.org\n[core]\n\thooksPath = $PWD/../hooks\n[commit]\n\tgpgSign "
			"= "
			"true\n[gpg]\n\tprogram = false\nE");
	ensure(&f, "overseer/w1/a");
	sh(&f, "rm \"$HOME/.gitconfig\"; cd \"$W\"; echo 1 >new; git add new; ! git commit -qm 1");
	sh(&f, "git -C \"$W\" commit -qnm 1");
	assert_sh(&f, "Ann \"B <ann@example.org> N",
			"git -C \"$W\" log -1 --format='%%an <%%ae> %%G?'");
	fixture_close(&f);
}

/* Tools that look at all files of a checkout stop at a link to nothing. */
TEST(no_links_to_nothing)
{
	struct fixture f;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	assert_sh(&f, "", "find . -xtype l");
	sh(&f, "echo '*.x text' >.git/info/attributes");
	ensure(&f, "overseer/w1/next");
	assert_sh(&f, "f.x: text: set", "git -C \"$W\" check-attr text f.x");
	sh(&f, "rm .git/info/attributes");
	ensure(&f, "overseer/w1/last");
	assert_sh(&f, "", "find . -xtype l");
	fixture_close(&f);
}

TEST_MAIN
