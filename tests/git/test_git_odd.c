/*
 * Odd repositories, each through a whole life: a worktree, an agent's work in it (some of it left
 * uncommitted), harvest, rebase over what came meanwhile, the move of the target, the revert, and
 * the removal. What arrives is exactly what the agent made, the user's checkout follows and is
 * clean, and at the end everything is taken back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/loop/loop.h"
#include "tests/git/fixture.h"

#define BRANCH "overseer/w1/a"

struct odd {
	const char *setup;  /* in the user's checkout; what it leaves is committed */
	const char *agent;  /* in the worktree */
	const char *theirs; /* in the user's checkout, after the harvest; likewise committed */
};

static const char *changes(struct fixture *f, const char *from, const char *to)
{
	return sh(f, "git diff-tree -r --no-renames -z %s %s | sha256sum", from, to);
}

static void check_clean(struct fixture *f)
{
	assert_sh(f, "", "git status --porcelain --ignore-submodules=all");
	assert_sh(f, "", "git -C \"$W\" status --porcelain");
}

static void life(const struct odd *o)
{
	struct fixture f;
	struct answer e, h, r, a;
	char made[80];

	fixture_open(&f);
	sh(&f, "%s\ngit add -A; git commit -qm setup --allow-empty --no-verify", o->setup);
	fixture_reopen(&f);
	e = ensure(&f, BRANCH);
	sh(&f, "cd \"$W\"\n%s", o->agent);
	h = harvest(&f, e.base);
	assert_true(h.files_changed > 0);
	if (h.leftovers)
		assert_sh(&f, h.tree, "git rev-parse %s^{tree}", h.rescue_ref);
	strcpy(made, changes(&f, e.base, h.head));
	sh(&f, "%s\ngit add -A; git commit -qm theirs --allow-empty --no-verify", o->theirs);
	r = rebase(&f, BRANCH, "D_1");
	if (r.outcome != GIT_OK)
		fail_msg("outcome %d: %s", (int)r.outcome, r.detail);
	check_clean(&f);
	a = advance(&f, r.commit, "D_1");
	if (a.outcome != GIT_OK)
		fail_msg("outcome %d: %s", (int)a.outcome, a.detail);
	assert_string_equal(changes(&f, "main~1", "main"), made);
	check_clean(&f);
	a = revert(&f, r.commit, "D_1");
	if (a.outcome != GIT_OK)
		fail_msg("outcome %d: %s", (int)a.outcome, a.detail);
	assert_sh(&f, "", "git diff-tree main~2 main");
	check_clean(&f);
	ensure(&f, "overseer/w1/b");
	check_clean(&f);
	remove_tree(&f);
	assert_int_equal(sh_status(&f, "test -e \"$W\""), 1);
	assert_sh(&f, "", "find .git -name '*.lock'");
	fixture_close(&f);
}

TEST(names_and_kinds)
{
	static const struct odd o = {
		"printf x >\"$(printf 'latin-\\351')\"; printf x >\"$(printf 'two\\nlines')\"; ln "
		"-s src/one link; mkdir d; echo f >d/f; echo t >t; printf '#!/bin/sh\\n' >run; "
		"echo a >Case; git config core.bigFileThreshold 100k",
		"printf y >>\"$(printf 'latin-\\351')\"; printf y >>\"$(printf 'two\\nlines')\"; "
		"printf z >\"$(printf 'new \\377\\t\"\\\\\\n')\"; ln -sf src/two link; ln -s "
		"nowhere dangling; rm -r d; echo now-a-file >d; rm t; mkdir t; echo f >t/f; chmod "
		"+x run; echo b >case; git add -A; git commit -qm agent; git commit -q "
		"--allow-empty -m nothing; head -c 3000000 /dev/zero >huge; : >empty; chmod -x "
		"run; chmod +x src/one; echo ' ' >' lead and trail '; echo - >-dash; echo p "
		">':(top)x'",
		"echo o >other; echo two >>src/two",
	};

	life(&o);
}

TEST(line_ends)
{
	static const struct odd o = {
		"printf "
		"'a\\r\\nb\\r\\n' "
		">dos; printf 'a\\nb\\n' >unix; printf '*.bat text eol=crlf\\n*.raw -text\\n' "
		">.gitattributes; printf 'x\\r\\ny\\r\\n' >run.bat; printf 'x\\r\\ny\\n' "
		">mixed.raw; git add -A; git commit -qm files; git config core.autocrlf true; git "
		"config core.safecrlf true; git rm -q --cached -r .; git -c core.safecrlf=false "
		"reset -q --hard",
		"printf 'c\\r\\n' >>dos; printf 'c\\n' >>unix; printf 'z\\r\\n' >>run.bat; git -c "
		"core.safecrlf=false add -A; git commit -qm agent; printf 'z\\r\\n' >>mixed.raw; "
		"printf 'n\\nm\\r\\n' "
		">mixed",
		"printf 'o\\r\\n' >other",
	};

	life(&o);
}

/* The filter is required, and its program is not there. */
TEST(large_file_pointers_without_their_program)
{
	static const struct odd o = {
		"printf '*.bin filter=lfs diff=lfs merge=lfs -text\\n' >.gitattributes; printf "
		"'version https://example.org/spec/v1\\noid "
		"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\\nsize "
		"7\\n' >a.bin; for c in clean smudge; do git config filter.lfs.$c \"git-lfs $c -- "
		"%f\"; done; git config filter.lfs.process 'git-lfs filter-process'; git config "
		"filter.lfs.required true",
		"sed -i s/7/8/ a.bin; echo more >b.bin; echo t >text",
		"echo o >other; echo c >c.bin",
	};
	static const char *const over[] = { "required", "process", "clean", "smudge" };
	char name[64], value[64], bin[64], *path = strdup(getenv("PATH"));

	assert_int_equal(system("d=/tmp/ov-git-bin-$PPID; rm -rf $d; mkdir $d; IFS=:; for p in "
				"$PATH; do "
				"ln -s $p/* $d/ 2>/dev/null; done; rm -f $d/git-lfs"),
			0);
	snprintf(bin, sizeof(bin), "/tmp/ov-git-bin-%d", getpid());
	setenv("PATH", bin, 1);
	/* The test's own commands pass the filter over; ours do not see these variables. */
	for (size_t i = 0; i < ARRAY_LEN(over); i++) {
		snprintf(name, sizeof(name), "GIT_CONFIG_KEY_%zu", i);
		snprintf(value, sizeof(value), "filter.lfs.%s", over[i]);
		setenv(name, value, 1);
		snprintf(name, sizeof(name), "GIT_CONFIG_VALUE_%zu", i);
		setenv(name, i ? "" : "false", 1);
	}
	setenv("GIT_CONFIG_COUNT", "4", 1);
	life(&o);
	unsetenv("GIT_CONFIG_COUNT");
	setenv("PATH", path, 1);
	free(path);
	assert_int_equal(system("rm -rf /tmp/ov-git-bin-$PPID"), 0);
}

/*
 * A gitlink moved by the agent, one moved by others, and a submodule that was set up in
 * the worktree.
 */
TEST(submodules)
{
	static const struct odd o = {
		"for m in one two; do git init -q -b main ../$m; (cd ../$m; git config user.name "
		"S; "
		"git config user.email s@s; echo 1 >f; git add f; git commit -qm 1; echo 2 >f; git "
		"commit -qam 2; git checkout -q HEAD~1); git -c protocol.file.allow=always "
		"submodule --quiet add ../$m sub/$m; done; git -C ../one checkout -q main; git -C "
		"../two checkout -q main; git config protocol.file.allow always",
		"git -c protocol.file.allow=always submodule --quiet update --init; cd sub/one; "
		"git "
		"fetch -q; git checkout -q origin/main; cd ../..; echo w >work",
		"cd sub/two; git fetch -q; git checkout -q origin/main; cd ../..",
	};

	life(&o);
}

TEST(hooks_and_configuration)
{
	static const struct odd o = {
		"mkdir hooks; for h in pre-commit commit-msg post-commit post-checkout post-merge "
		"pre-merge-commit reference-transaction post-rewrite pre-push; do printf "
		"'#!/bin/sh\\ntouch ../ran; exit 1\\n' >hooks/$h; chmod +x hooks/$h; cp hooks/$h "
		".git/hooks/; done; git config core.hooksPath hooks; git config commit.gpgSign "
		"true; git config merge.ff false; git config core.fsync all; git config "
		"status.showUntrackedFiles no; git config diff.noprefix true; git config "
		"diff.external false; git config core.quotePath false; git config "
		"merge.renames false; git config log.showSignature true; git config core.pager "
		"false; git config alias.status '!false'",
		"echo w >work; echo x >>src/one",
		"git() { command git -c core.hooksPath=/dev/null -c commit.gpgSign=false \"$@\"; "
		"}; "
		"echo o >other",
	};
	struct odd gentle = o;
	char setup[4096];

	snprintf(setup, sizeof(setup),
			"%s; git() { command git -c core.hooksPath=/dev/null -c "
			"commit.gpgSign=false \"$@\"; }",
			o.setup);
	gentle.setup = setup;
	life(&gentle);
}

/* As somebody who is not allowed everything: root is, so it gives that up first. */
TEST(read_only_files_and_folders)
{
	static const struct odd o = {
		"mkdir -p ro/deep; echo 1 >ro/one; echo 2 >ro/deep/two",
		"git rm -q ro/one; mkdir made; echo m >made/m; git add -A; git commit -qm agent; "
		"echo 3 >>ro/deep/two; echo s >secret; chmod 0 secret; chmod -w ro/deep/two "
		"ro/deep ro made made/m src src/one",
		"echo o >ro/three; echo x >>src/two; git rm -q ro/deep/two; mkdir made; echo x "
		">made/x; git add -A; git commit -qm x; echo 4 >ro/four; git checkout -q HEAD~1 -- "
		"ro/deep/two",
	};

	prctl(PR_CAPBSET_DROP, 1 /* CAP_DAC_OVERRIDE */, 0, 0, 0);
	life(&o);
}

/* The agent renamed its branch, went elsewhere, and left things unfinished; the user is nowhere. */
TEST(renamed_detached_and_unfinished)
{
	static const struct odd o = {
		"git checkout -q --detach",
		"echo w >work; git add work; git commit -qm agent; git branch -m renamed; git "
		"checkout -q --detach; mkdir \"$(git rev-parse --git-dir)/rebase-merge\"; touch "
		"\"$(git rev-parse --git-dir)/index.lock\"; echo l >left",
		"git checkout -q main",
	};
	static const struct odd detached = { "git checkout -q --detach; git branch -f main",
		"echo w >work; git checkout -q -b mine; git add work; git commit -qm agent; git "
		"branch -D " BRANCH,
		"git branch -f main" };

	life(&o);
	life(&detached);
}

/* Somebody has the target checked out twice: which of the two is to follow? */
TEST(target_checked_out_twice)
{
	struct fixture f;
	struct answer a;

	fixture_open_live(&f);
	ensure(&f, BRANCH);
	sh(&f,
			"git worktree add -q -f ../second main; cd \"$W\"; echo w >work; git add "
			"work; git commit -qm agent");
	a = rebase(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_DIRTY);
	assert_non_null(strstr(a.detail, "checked out twice"));
	sh(&f, "git worktree remove ../second");
	a = rebase(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_OK);
	fixture_close(&f);
}

/* What a submodule holds that is nowhere else is not removed with the worktree. */
TEST(submodules_are_not_lost)
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
	sh(&f, "cd \"$W\"; git submodule --quiet update --init; cd sub; echo new >new");
	a = remove_tree(&f);
	assert_non_null(strstr(a.detail, "was moved to"));
	assert_sh(&f, "new", "cat \"$W\".aside-1/sub/new");
	ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; git submodule --quiet update --init; cd sub; git config "
			"user.name A; git config user.email a@a; echo new >new; git add new; git "
			"commit -qm deep");
	remove_tree(&f);
	sh(&f, "git --git-dir=\"$W\".aside-4/sub --work-tree=. log --format=%%s | grep -qx deep");
	fixture_close(&f);
}

TEST_MAIN
