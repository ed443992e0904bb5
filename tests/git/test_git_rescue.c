/* rescue: what is under the ref is what was in the folder, and the folder is not touched. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "tests/git/fixture.h"

/* Everything that a folder can hold and git can keep. */
static const char everything[] =
		"echo new >new; echo changed >>src/one; rm src/two; git mv .gitignore ignore-list;"
		"head -c 100000 /dev/urandom >binary; printf '#!/bin/sh\\n' >tool; chmod +x tool; "
		"ln -s src/one link; ln -s nowhere dangling;"
		"echo s >'with space'; echo n >\"$(printf 'new\\nline')\"; echo u >\"$(printf "
		"'gr\\303\\274n')\"; echo q >'quo\"te';"
		"mkdir -p a/b/c; echo d >a/b/c/deep; : >empty; echo dash >-dash; echo colon "
		">':(top)x'; printf 'no newline' >nn;"
		"printf 'a\\r\\nb\\r\\n' >crlf; echo staged >st; git add st; echo differs >st";

static void check_untouched(struct fixture *f, const char *before_index, const char *before_status)
{
	char *index = strdup(before_index), *status = strdup(before_status);

	assert_sh(f, index, "sha256sum <.overseer/git/w1/.git/index");
	assert_sh(f, status,
			"GIT_OPTIONAL_LOCKS=0 git -C \"$W\" status --porcelain -z | sha256sum");
	assert_sh(f, "", "find .git -name 'overseer-rescue-*'");
	free(index);
	free(status);
}

TEST(everything_is_kept_and_nothing_touched)
{
	struct fixture f;
	struct answer a, b;
	char index[80], status[80];

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f, "cd \"$W\"; %s", everything);
	sh(&f, "cp -a \"$W\" ../before; git -C \"$W\" status >/dev/null");
	strcpy(index, sh(&f, "sha256sum <.overseer/git/w1/.git/index"));
	strcpy(status,
			sh(&f,
					"GIT_OPTIONAL_LOCKS=0 git -C \"$W\" status --porcelain -z "
					"| sha256sum"));
	a = rescue(&f, f.tree, "refs/overseer/rescue/r");
	assert_string_equal(a.rescue_ref, "refs/overseer/rescue/r");
	assert_string_equal(a.commit, sh(&f, "git rev-parse refs/overseer/rescue/r"));
	assert_same_content(&f, a.commit, "../before");
	check_untouched(&f, index, status);
	/* The index differed from the folder: it is the second parent. */
	assert_sh(&f, "staged", "git show %s^2:st", a.commit);
	assert_sh(&f, "A rescue", "git log -1 --format=%%B %s", a.commit);
	/* The same again is the same. */
	b = rescue(&f, f.tree, "refs/overseer/rescue/r");
	assert_string_equal(a.commit, b.commit);
	/* More, to the same ref, loses nothing. */
	sh(&f, "rm \"$W/new\"");
	b = rescue(&f, f.tree, "refs/overseer/rescue/r");
	assert_string_not_equal(a.commit, b.commit);
	sh(&f, "git merge-base --is-ancestor %s %s", a.commit, b.commit);
	fixture_close(&f);
}

TEST(conflicts_are_kept)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f,
			"echo main >src/one; git commit -qam theirs; cd \"$W\"; echo mine "
			">src/one; git commit -qam mine;"
			"git fetch -q \"$R\" +main:main; git merge main || true; cp -a \"$W\" "
			"../../../../before");
	a = rescue(&f, f.tree, "refs/overseer/rescue/r");
	assert_same_content(&f, a.commit, "../before");
	sh(&f, "git -C \"$W\" status | grep -q 'both modified'");
	sh(&f, "git merge-base --is-ancestor main %s", a.commit); /* MERGE_HEAD is a parent */
	fixture_close(&f);
}

TEST(ignored_files_if_wanted)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	git_keep_ignored(f.git, INT64_MAX);
	sh(&f,
			"cd \"$W\"; mkdir out; echo o >out/a.o; git init -q deep.o; echo n "
			">deep.o/n");
	a = rescue(&f, f.tree, "refs/overseer/rescue/1");
	assert_sh(&f, "o", "git show refs/overseer/rescue/1:out/a.o");
	assert_sh(&f, "0", "git ls-tree -r refs/overseer/rescue/1 | grep -c deep || :");
	a = harvest(&f, sh(&f, "git rev-parse main"));
	assert_int_equal(a.files_changed, 0);
	/* A removal takes them away, and so keeps them first. */
	sh(&f, "rm -rf \"$W/deep.o\"");
	a = remove_tree(&f);
	assert_sh(&f, "o", "git show %s:out/a.o", a.rescue_ref);
	git_keep_ignored(f.git, 0);
	ensure(&f, "overseer/w1/b");
	sh(&f, "echo o >\"$W/b.o\"");
	a = rescue(&f, f.tree, "refs/overseer/rescue/3");
	assert_string_equal(a.commit, "");
	fixture_close(&f);
}

/* The smallest first, by name where they are equal, and none beyond the size. */
TEST(ignored_files_up_to_a_size)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; mkdir out; head -c 400 /dev/zero >out/c.o; head -c 400 "
			"/dev/zero "
			">out/b.o; head -c 300 /dev/zero >'*.o'; head -c 9000 /dev/zero >a.o; git "
			"init "
			"-q deep.o; echo n >deep.o/n; echo w >work; ln -s work link.o");
	git_keep_ignored(f.git, 800);
	a = rescue(&f, f.tree, "refs/overseer/rescue/1");
	assert_sh(&f, "*.o\nlink.o\nout/b.o\nsrc/one\nsrc/two\nwork",
			"git ls-tree -r --name-only refs/overseer/rescue/1 | grep -v "
			"'^.gitignore'");
	assert_non_null(strstr(a.detail, "2 of 5 ignored files were not rescued"));
	/* What is harvested has none of them. */
	a = harvest(&f, e.base);
	assert_string_equal(a.files, "work\n");
	assert_sh(&f, "400", "git cat-file -s %s:out/b.o", a.rescue_ref);
	/* The others stay, as all do by default. */
	a = ensure(&f, "overseer/w1/b");
	assert_sh(&f, "9000", "cat \"$W/a.o\" | wc -c");
	assert_sh(&f, "400", "cat \"$W/out/c.o\" | wc -c");
	/* And go with the worktree, but for what is another repository. */
	sh(&f, "rm -rf \"$W/deep.o\"");
	a = remove_tree(&f);
	assert_sh(&f, "300", "git cat-file -s %s:'*.o'", a.rescue_ref);
	assert_non_null(strstr(a.detail, "2 of 5"));
	assert_int_equal(sh_status(&f, "test -e \"$W.aside-1\""), 1);
	/* Nothing fits, and nothing else is there: no ref. */
	ensure(&f, "overseer/w1/c");
	sh(&f, "head -c 801 /dev/zero >\"$W/a.o\"");
	a = rescue(&f, f.tree, "refs/overseer/rescue/2");
	assert_string_equal(a.rescue_ref, "");
	fixture_close(&f);
}

static void assert_no_refs(struct fixture *f)
{
	assert_sh(f, "", "git for-each-ref refs/overseer");
}

/* What changed nothing against its base is no work: no ref, by whatever call. */
TEST(no_ref_for_work_that_changed_nothing)
{
	struct fixture f;
	struct answer a;
	char base[80];

	fixture_open(&f);
	snprintf(base, sizeof(base), "%s", sh(&f, "git rev-parse main"));
	ensure(&f, "overseer/w1/a");
	a = rescue(&f, f.tree, "refs/overseer/rescue/r");
	assert_string_equal(a.commit, "");
	assert_string_equal(a.rescue_ref, "");
	/* Nor when it is away from its branch, or its files were changed and changed back. */
	sh(&f,
			"cd \"$W\" && git checkout -q --detach && echo x >>src/one && git checkout "
			"-q "
			"src/one");
	a = rescue_since(&f, f.tree, base, "refs/overseer/rescue/r");
	assert_string_equal(a.commit, "");
	harvest(&f, base);
	restore(&f, "refs/overseer/rescue/r");
	assert_no_refs(&f);
	ensure(&f, "overseer/w1/b");
	remove_tree(&f);
	assert_no_refs(&f);
	fixture_close(&f);
}

/* Commits since the base are work, whatever else has them; so is what is only staged. */
TEST(a_ref_for_work_since_its_base)
{
	struct fixture f;
	struct answer a;
	char base[80], head[80];

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	snprintf(base, sizeof(base), "%s", sh(&f, "git rev-parse main"));
	sh(&f, "cd \"$W\" && echo n >n && git add n && git commit -qm n && git branch also");
	a = rescue_since(&f, f.tree, base, "refs/overseer/rescue/1");
	assert_sh(&f, a.commit, "git -C \"$W\" rev-parse also");
	snprintf(head, sizeof(head), "%s", a.commit);
	sh(&f, "cd \"$W\" && echo s >n && git add n && git show HEAD:n >n");
	a = rescue_since(&f, f.tree, head, "refs/overseer/rescue/2");
	assert_sh(&f, "s", "git show %s^2:n", a.commit);
	fixture_close(&f);
}

TEST(damaged_index)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f, "echo u >\"$W/untracked\"; rm .overseer/git/w1/.git/index; cp -a \"$W\" ../before");
	a = rescue(&f, f.tree, "refs/overseer/rescue/r");
	assert_same_content(&f, a.commit, "../before");
	fixture_close(&f);
}

/*
 * An edit in the second of the checkout that leaves the size as it was: only the time of the index
 * itself tells git that it has to read the file.
 */
TEST(edit_that_only_the_time_of_the_index_gives_away)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	sh(&f, "git config core.trustctime false");
	ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; t=2020-01-01T00:00:00Z; touch -d $t src/one; git update-index "
			"-q "
			"--refresh; echo two >src/one; touch -d $t src/one "
			"\"$R\"/.overseer/git/w1/.git/index; test \"$(GIT_OPTIONAL_LOCKS=0 git "
			"status "
			"--porcelain)\" = ' M src/one'");
	a = rescue(&f, f.tree, "refs/overseer/rescue/r");
	assert_sh(&f, "two", "git show %s:src/one", a.commit);
	fixture_close(&f);
}

TEST(no_identity_hooks_that_fail_and_signing)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	sh(&f,
			"git config --unset user.name; git config --unset user.email; git config "
			"commit.gpgSign true;"
			"git config user.useConfigOnly true; git config core.safecrlf true; git "
			"config core.autocrlf input;"
			"for h in pre-commit commit-msg post-checkout reference-transaction; do "
			"printf '#!/bin/sh\\nexit 1\\n' >.git/hooks/$h;"
			"chmod +x .git/hooks/$h; done");
	ensure(&f, "overseer/w1/a");
	sh(&f, "printf 'u\\n' >\"$W/untracked\"");
	a = rescue(&f, f.tree, "refs/overseer/rescue/r");
	assert_sh(&f, "Overseer <overseer@localhost>", "git log -1 --format='%%an <%%ae>' %s",
			a.commit);
	fixture_close(&f);
}

TEST(restore_rescues_then_cleans)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	a = restore(&f, "refs/overseer/rescue/clean");
	assert_string_equal(a.rescue_ref, "");
	sh(&f, "cd \"$W\" && %s; cd .. && cp -a \"$W\" \"$R/../before\"", everything);
	a = restore(&f, "refs/overseer/rescue/r");
	assert_string_equal(a.rescue_ref, "refs/overseer/rescue/r");
	assert_same_content(&f, a.rescue_ref, "../before");
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	assert_sh(&f, "overseer/w1/a", "git -C \"$W\" branch --show-current");
	fixture_close(&f);
}

/*
 * The agent's git folder is made anew, so what only that knew is kept; of a clean one that is all.
 */
TEST(restore_rescues_commits_left_behind)
{
	static const char *const state[] = { "echo u >new", ": >../../git/w1/.git/index.lock",
		"git init -q nested" };
	struct fixture f;
	struct answer a;
	char head[72];

	for (size_t i = 0; i < ARRAY_LEN(state); i++) {
		fixture_open(&f);
		ensure(&f, "overseer/w1/a");
		strcpy(head,
				sh(&f,
						"cd \"$W\"; echo 1 >1; git add 1; git commit -qm "
						"one; git rev-parse HEAD"));
		sh(&f, "cd \"$W\"; git checkout -q --detach HEAD~1; %s", state[i]);
		a = restore(&f, "refs/overseer/rescue/r");
		assert_string_equal(a.rescue_ref, "refs/overseer/rescue/r");
		sh(&f, "git merge-base --is-ancestor %s %s", head, a.rescue_ref);
		assert_sh(&f, "", "git -C \"$W\" status --porcelain");
		assert_sh(&f, "overseer/w1/a", "git -C \"$W\" branch --show-current");
		fixture_close(&f);
	}
}

TEST(restore_keeps_what_was_ignored)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f, "cd \"$W\"; echo '*.dat' >>.gitignore; echo precious >results.dat; echo u >new");
	a = restore(&f, "refs/overseer/rescue/r");
	assert_sh(&f, "precious", "git show %s:results.dat", a.rescue_ref);
	sh(&f, "git show %s^2:new >/dev/null || git show %s:new >/dev/null", a.rescue_ref,
			a.rescue_ref);
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	fixture_close(&f);
}

/*
 * A check command that was killed leaves its lock; the user's own checkout is nobody's to restore.
 */
TEST(restore_after_a_killed_git_and_of_the_checkout)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f, "echo u >\"$W/untracked\"; touch .overseer/git/w1/.git/index.lock");
	a = restore(&f, "refs/overseer/rescue/r");
	assert_sh(&f, "u", "git show %s:untracked", a.rescue_ref);
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");

	sh(&f, "echo d >>src/one");
	snprintf(f.tree, sizeof(f.tree), "%s", f.repo);
	start_restore(&f, "refs/overseer/rescue/r", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_EINVALID);
	assert_sh(&f, " M src/one", "git status --porcelain");
	fixture_close(&f);
}

TEST(ignored_files_only_if_asked_for)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; echo '*.log' >.gitignore; git add -A; git commit -qm ignore; "
			"echo l >a.log");
	a = rescue(&f, f.tree, "refs/overseer/rescue/without");
	assert_int_equal(sh_status(&f, "git cat-file -e %s:a.log", a.commit), 128);
	git_keep_ignored(f.git, INT64_MAX);
	a = rescue(&f, f.tree, "refs/overseer/rescue/with");
	assert_sh(&f, "l", "git show %s:a.log", a.commit);
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	a = remove_tree(&f);
	assert_sh(&f, "l", "git show %s:a.log", a.rescue_ref);
	fixture_close(&f);
}

TEST(failure_is_told)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	/* A ref below the rescue ref's name is in the way: nothing may be reset then. */
	sh(&f, "echo u >\"$W/untracked\"; git update-ref refs/overseer/rescue/x/y main");
	start_ensure(&f, "overseer/w1/b", "refs/overseer/rescue/x", &a);
	finish(&f, &a);
	assert_int_equal(a.r, OV_EIO);
	assert_non_null(strstr(a.msg, "rescue"));
	assert_sh(&f, "u", "cat \"$W/untracked\"");
	assert_sh(&f, "overseer/w1/a", "git -C \"$W\" branch --show-current");
	fixture_close(&f);
}

/* Branches b1, b2 and so on from HEAD, with a commit and a file each. */
static void many_branches(struct fixture *f, int n)
{
	sh(f,
			"cd \"$W\"; at=$(git rev-parse HEAD); for i in $(seq %d); do printf "
			"'commit "
			"refs/heads/b%%d\\ncommitter a <a@b> 0 +0000\\ndata 2\\nb\\nfrom %%s\\nM "
			"644 "
			"inline f%%d\\ndata 2\\nb\\n' $i $at $i; done | git fast-import --quiet; "
			"echo "
			"u >untracked",
			n);
}

TEST(many_branches_are_rescued)
{
	struct fixture f;
	struct answer e;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	many_branches(&f, 100);
	harvest(&f, e.base);
	remove_tree(&f);
	assert_sh(&f, "100", "git log --all --name-only --format= | grep -c '^f[0-9]'");
	assert_int_equal(sh_status(&f, "test -e \"$W.aside-1\""), 1);
	fixture_close(&f);
}

/* One that lies below another needs no place of its own. */
TEST(a_long_log_leaves_room_for_branches)
{
	struct fixture f;
	struct answer e, h;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	sh(&f,
			"cd \"$W\"; git branch other; for i in $(seq 80); do git commit -q "
			"--allow-empty -m $i; done; git reset -q --hard %s; git checkout -q other; "
			"echo o >o; git add o; git commit -qm other; git checkout -q "
			"overseer/w1/a; echo "
			"u >u",
			e.base);
	h = harvest(&f, e.base);
	assert_sh(&f, "80\nother", "git log --format=%%s %s^@ | grep -x -e 80 -e other | sort",
			h.rescue_ref);
	fixture_close(&f);
}

static void more_than_is_named(int n, bool removed)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, "overseer/w1/a");
	many_branches(&f, n);
	a = removed ? remove_tree(&f) : harvest(&f, e.base);
	assert_non_null(strstr(a.detail, "more branches or commits than a rescue ref keeps"));
	assert_sh(&f, "u", "git show %s:untracked", removed ? a.rescue_ref : a.head);
	sh(&f,
			"export GIT_ALTERNATE_OBJECT_DIRECTORIES=\"$R/.git/objects\"; n=$(git "
			"--git-dir=\"$W.aside-1\" log --branches='b*' --name-only --format= "
			"2>/dev/null | grep -c '^f[0-9]'); test \"$n\" = %d",
			n);
	/* Once; what comes then is as usual. */
	ensure(&f, "overseer/w1/b");
	sh(&f, "test ! -e \"$W.aside-2\"; echo v >\"$W/v\"");
	harvest(&f, e.base);
	sh(&f, "test ! -e \"$W.aside-2\"; test ! -e .overseer/git/w1/kept");
	fixture_close(&f);
}

TEST(more_branches_than_can_be_rescued)
{
	more_than_is_named(450, false);
	more_than_is_named(450, true);
}

TEST(more_branches_than_are_listed)
{
	more_than_is_named(4200, false);
	more_than_is_named(4200, true);
}

TEST_MAIN
