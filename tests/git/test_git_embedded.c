/*
 * Repositories that an agent made inside its worktree, and links to such in its commits: no part of
 * the work, refused where a commit has one, and never lost. The base's own submodules
 * are respected.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "tests/git/fixture.h"

#define BRANCH "overseer/w1/a"

/*
 * A clone with a file, a program, a link and a name with a newline, and a commit that is
 * nowhere else.
 */
#define CLONE                                                                                      \
	"git init -q lib; echo 1 >lib/f; git -C lib add f; git -C lib -c user.name=a -c "          \
	"user.email=b commit -qm inner; printf 'crlf\\r\\n' >lib/f; printf '* text=auto filter=x " \
	"working-tree-encoding=UTF-16\\n' >lib/.gitattributes; echo '#!' >lib/run; chmod +x "      \
	"lib/run; ln -s f lib/link; mkdir 'lib/d e'; echo n >\"lib/d e/$(printf 'a\\n\"b')\"; "    \
	"git -C lib config filter.x.clean 'touch ../../../../ran; cat'; git -C lib config "        \
	"filter.x.required true; "

/* All of it is under the ref as ordinary files, byte by byte, and nothing of it ran. */
static void assert_rescued(struct fixture *f, const char *ref)
{
	assert_string_not_equal(ref, "");
	assert_sh(f, "63726c660d0a", "git show %s:lib/f | od -An -tx1 | tr -d ' \\n'", ref);
	assert_sh(f, "100755", "git ls-tree %s lib/run | cut -d' ' -f1", ref);
	assert_sh(f, "f", "git show %s:lib/link", ref);
	assert_sh(f, "120000", "git ls-tree %s lib/link | cut -d' ' -f1", ref);
	assert_sh(f, "n", "git show %s:\"lib/d e/$(printf 'a\\n\"b')\"", ref);
	assert_sh(f, "0", "git ls-tree -r %s | grep -c '160000.*lib\\|\\.git/' || :", ref);
	assert_sh(f, "", "find \"$R/..\" -name ran");
}

TEST(left_uncommitted_is_left_out)
{
	struct fixture f;
	struct answer e, a, again;

	fixture_open(&f);
	e = ensure(&f, BRANCH);
	sh(&f, "cd \"$W\"; echo w >work; " CLONE);
	a = harvest(&f, e.base);
	assert_string_equal(a.refused, "");
	assert_string_equal(a.files, "work\n");
	assert_non_null(strstr(a.detail, "\"lib\""));
	assert_rescued(&f, a.rescue_ref);
	/* Who works there goes on with it. */
	assert_sh(&f, "inner", "git -C \"$W/lib\" log -1 --format=%%s");
	/* The same again is the same: a call that was cut off. */
	again = harvest(&f, e.base);
	assert_string_equal(again.head, a.head);
	assert_rescued(&f, again.rescue_ref);
	fixture_close(&f);
}

/* Nothing else was done: it is kept, and there is no work. */
TEST(alone_it_is_no_work)
{
	struct fixture f;
	struct answer e, a;
	char commit[72];

	fixture_open(&f);
	e = ensure(&f, BRANCH);
	sh(&f, "cd \"$W\"; " CLONE);
	a = harvest(&f, e.base);
	assert_int_equal(a.files_changed, 0);
	assert_false(a.leftovers);
	assert_rescued(&f, a.rescue_ref);
	snprintf(commit, sizeof(commit), "%s", sh(&f, "git rev-parse %s", a.rescue_ref));
	a = harvest(&f, e.base);
	assert_string_equal(sh(&f, "git rev-parse %s", a.rescue_ref), commit);
	fixture_close(&f);
}

TEST(staged_is_left_out_too)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, BRANCH);
	sh(&f, "cd \"$W\"; echo w >work; " CLONE "git add -A");
	a = harvest(&f, e.base);
	assert_string_equal(a.refused, "");
	assert_string_equal(a.files, "work\n");
	assert_rescued(&f, a.rescue_ref);
	fixture_close(&f);
}

TEST(committed_is_refused)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, BRANCH);
	sh(&f, "cd \"$W\"; echo w >work; " CLONE "git add -A; git commit -qm work");
	a = harvest(&f, e.base);
	assert_non_null(strstr(a.refused, "\"lib\""));
	assert_non_null(strstr(a.refused, "link to another repository"));
	assert_non_null(strstr(a.refused, "without their .git folder"));
	assert_rescued(&f, a.rescue_ref);
	assert_sh(&f, "w", "git show " BRANCH ":work");
	/* Taken out, it is as any other work. */
	sh(&f, "cd \"$W\"; git rm -q -r --cached lib; git commit -qm out");
	a = harvest(&f, e.base);
	assert_string_equal(a.refused, "");
	assert_string_equal(a.files, "work\n");
	/* So it is with its files in its place. */
	sh(&f, "cd \"$W\"; rm -rf lib/.git lib/.gitattributes; git add -A; git commit -qm files");
	a = harvest(&f, e.base);
	assert_string_equal(a.refused, "");
	assert_string_equal(a.detail, "");
	assert_int_equal(a.files_changed, 5);
	fixture_close(&f);
}

/* What .gitmodules says makes no link invisible. */
TEST(committed_and_hidden_is_refused)
{
	struct fixture f;
	struct answer e, a;
	char before[72], commit[72];

	fixture_open(&f);
	sh(&f,
			"printf '[submodule \"x\"]\\n\\tpath = lib\\n\\turl = ../x\\n\\tignore = "
			"all\\n' >.gitmodules; git add -A; git commit -qm modules; git config "
			"submodule.x.ignore all; git config diff.ignoreSubmodules all");
	fixture_reopen(&f);
	e = ensure(&f, BRANCH);
	sh(&f, "cd \"$W\"; echo w >work; " CLONE "git add -A; git commit -qm work");
	assert_sh(&f, "160000", "git -C \"$W\" ls-tree HEAD lib | cut -c1-6");
	a = harvest(&f, e.base);
	assert_non_null(strstr(a.refused, "\"lib\""));
	assert_rescued(&f, a.rescue_ref);
	snprintf(before, sizeof(before), "%s", sh(&f, "git rev-parse main"));
	snprintf(commit, sizeof(commit), "%s",
			sh(&f, "git commit-tree -p main -m 'x\n\nOverseer-Accept: K1' %s^{tree}",
					a.head));
	a = advance(&f, commit, "K1");
	assert_int_equal(a.outcome, GIT_REFUSED);
	assert_non_null(strstr(a.detail, "\"lib\""));
	assert_sh(&f, before, "git rev-parse main");
	fixture_close(&f);
}

/* A name of a commit where files are: git would not see these. */
TEST(a_link_over_files_hides_none)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; mkdir folder; echo w >folder/work; git update-index --add "
			"--cacheinfo 160000,$(git rev-parse HEAD),folder; git commit -qm link");
	a = harvest(&f, e.base);
	assert_non_null(strstr(a.refused, "\"folder\""));
	assert_sh(&f, "w", "git show %s:folder/work", a.rescue_ref);
	a = ensure(&f, "overseer/w1/b");
	assert_sh(&f, "w", "cat \"$W.aside-1/folder/work\"");
	assert_sh(&f, "",
			"git -C \"$W\" status --porcelain; cd \"$W\"; ls -d folder 2>/dev/null || "
			":");
	fixture_close(&f);
}

/* The next task begins with what the base has; a file of that name loses nothing. */
TEST(the_next_task_begins_without_it)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; " CLONE
			"mkdir deep; git init -q deep/empty; cd \"$R\"; echo file >lib; "
			"git add lib; git commit -qm lib");
	a = ensure(&f, "overseer/w1/b");
	assert_rescued(&f, a.rescue_ref);
	assert_non_null(strstr(a.detail, "\"lib\""));
	assert_non_null(strstr(a.detail, "\"deep/empty\""));
	assert_non_null(strstr(a.detail, ".aside-1"));
	assert_sh(&f, "file", "cat \"$W/lib\"");
	assert_sh(&f, "inner", "git -C \"$W.aside-1/lib\" log -1 --format=%%s");
	sh(&f, "test -d \"$W.aside-1/deep/empty/.git\"; test ! -e \"$W/deep\"");
	assert_sh(&f, "", "git -C \"$W\" status --porcelain");
	remove_tree(&f);
	assert_int_equal(sh_status(&f, "test -e \"$W.aside-2\""), 1);
	fixture_close(&f);
}

/* A check sees what the commit has. */
TEST(a_check_runs_without_it)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, BRANCH);
	sh(&f, "cd \"$W\"; echo w >work; rm src/one; " CLONE "mv lib src/one; git init -q lib");
	a = harvest(&f, e.base);
	assert_string_equal(a.refused, "");
	assert_string_equal(a.files, "work\n");
	assert_sh(&f, "63726c660d0a", "git show %s:src/one/f | od -An -tx1 | tr -d ' \\n'",
			a.rescue_ref);
	a = restore(&f, "refs/overseer/rescue/x");
	assert_non_null(strstr(a.detail, "\"src/one\""));
	assert_sh(&f, "inner", "git -C \"$W.aside-1/src/one\" log -1 --format=%%s");
	assert_sh(&f, "",
			"git -C \"$W\" status --porcelain; cd \"$W\"; ls -d lib 2>/dev/null || :");
	fixture_close(&f);
}

TEST(too_large_is_moved_aside_as_it_is)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, BRANCH);
	sh(&f, "cd \"$W\"; echo w >work; git init -q lib; head -c 70000000 /dev/zero >lib/big");
	a = harvest(&f, e.base);
	assert_non_null(strstr(a.detail, "too many for a rescue ref"));
	assert_sh(&f, "w", "git show %s:work", a.rescue_ref);
	assert_int_equal(sh_status(&f, "git cat-file -e %s:lib 2>/dev/null", a.rescue_ref), 128);
	a = remove_tree(&f);
	assert_sh(&f, "70000000", "cat \"$W.aside-1/lib/big\" | wc -c");
	fixture_close(&f);
}

/* Of the base: another commit of it is work, and files in its place are kept. */
TEST(the_bases_own_are_respected)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	sh(&f,
			"git init -q -b main ../one; (cd ../one; git config user.name S; git "
			"config user.email s@s; echo 1 >f; git add f; git commit -qm 1); git "
			"config --global protocol.file.allow always; git submodule --quiet add "
			"../one sub; git commit -qm sub; cd ../one; echo 2 >f; git commit -qam 2");
	e = ensure(&f, BRANCH);
	sh(&f, "cd \"$W\"; echo w >work");
	a = harvest(&f, e.base);
	assert_string_equal(a.refused, "");
	assert_string_equal(a.detail, "");
	assert_string_equal(a.files, "work\n");
	/* As the user's setup command does it; what its own git leaves in there is its own. */
	sh(&f,
			"cd \"$W\"; git submodule --quiet update --init; cd sub; git checkout -q "
			"origin/main; "
			"echo own >untracked");
	a = harvest(&f, e.base);
	assert_string_equal(a.refused, "");
	assert_string_equal(a.files, "sub\nwork\n");
	assert_sh(&f, "160000", "git ls-tree %s sub | cut -c1-6", a.rescue_ref);
	a = restore(&f, "refs/overseer/rescue/x");
	assert_sh(&f, "own", "cat \"$W/sub/untracked\"");
	a = accept_key(&f, BRANCH, "K1");
	assert_int_equal(a.outcome, GIT_OK);
	assert_sh(&f, sh(&f, "git -C ../one rev-parse main"), "git rev-parse main:sub");
	fixture_close(&f);
}

TEST(files_in_the_place_of_a_submodule)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	sh(&f,
			"git init -q -b main ../one; (cd ../one; git config user.name S; git "
			"config user.email s@s; echo 1 >f; git add f; git commit -qm 1); git "
			"config --global protocol.file.allow always; git submodule --quiet add "
			"../one sub; git commit -qm sub");
	ensure(&f, BRANCH);
	sh(&f, "cd \"$W\"; echo w >sub/work");
	a = remove_tree(&f);
	assert_sh(&f, "w", "git show %s:sub/work", a.rescue_ref);
	assert_sh(&f, "w", "cat \"$W.aside-1/sub/work\"");
	fixture_close(&f);
}

/*
 * Another worktree of the agent's own repository: its commits are named by its entry there alone.
 */
#define LINKED                                                                                    \
	"git worktree add -q --detach wt HEAD; cd wt; echo v1 >f; git add f; git commit -qm v1; " \
	"echo v2 >f; git commit -qam v2; echo v3 >f; git commit -qam v3; git reset -q --hard "    \
	"HEAD~1; echo staged >s; git add s; rm s; echo loose >l; cd ..; "

static void assert_linked_kept(struct fixture *f, const char *ref)
{
	assert_string_not_equal(ref, "");
	assert_sh(f, "v1\nv2\nv3", "git log --format=%%s %s --not main | grep '^v' | LC_ALL=C sort",
			ref);
	assert_sh(f, "v1", "git show \"$(git log --format=%%H --grep='^v1$' %s)\":f", ref);
	assert_sh(f, "v2\nloose", "git show %s:wt/f %s:wt/l", ref, ref);
}

TEST(linked_worktree_of_the_agents)
{
	struct fixture f;
	struct answer e, a;

	fixture_open(&f);
	e = ensure(&f, BRANCH);
	sh(&f, "cd \"$W\"; " LINKED "echo ok >ok.txt");
	a = harvest(&f, e.base);
	assert_string_equal(a.files, "ok.txt\n");
	assert_linked_kept(&f, a.rescue_ref);
	/* Who works there goes on with it. */
	assert_sh(&f, "v2", "git -C \"$W/wt\" log -1 --format=%%s");
	sh(&f, "cd \"$W/wt\"; git add -A; git commit -qm v4");
	a = ensure(&f, "overseer/w1/b");
	assert_sh(&f, "v4", "git log --format=%%s %s --not main | grep '^v4'", a.rescue_ref);
	assert_non_null(strstr(a.detail, ".aside-1"));
	assert_sh(&f, "loose", "cat \"$W.aside-1/wt/l\"; test ! -e \"$W/wt\"");
	assert_sh(&f, "", "git -C \"$W\" status --porcelain; git -C \"$W\" worktree prune");
	fixture_close(&f);
}

TEST(linked_worktree_goes_with_its_repository)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, BRANCH);
	sh(&f, "cd \"$W\"; " LINKED);
	a = remove_tree(&f);
	assert_linked_kept(&f, a.rescue_ref);
	assert_sh(&f, "loose", "cat \"$W.aside-1/wt/l\"");
	fixture_close(&f);
}

/* Elsewhere, or on a branch of its own: what its entry names is kept all the same. */
TEST(linked_worktree_outside)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; git worktree add -q --detach \"$R/../out\" HEAD; cd "
			"\"$R/../out\"; "
			"echo 1 >f; git add f; git commit -qm v1; cd \"$W\"; p=$(git rev-parse "
			"--absolute-git-dir)/worktrees; ln -s \"$R/.git\" \"$p/link\"; mkfifo "
			"\"$p/pipe\"; "
			"mkdir \"$p/empty\"; mkfifo \"$p/empty/HEAD\"");
	a = remove_tree(&f);
	assert_sh(&f, "v1", "git log --format=%%s %s --not main | grep '^v'", a.rescue_ref);
	assert_sh(&f, "1", "cat \"$R/../out/f\"");
	fixture_close(&f);
}

TEST_MAIN
