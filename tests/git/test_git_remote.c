/* The remote: fast-forwarded from before a rebase, pushed to after an advance; it asks nobody. */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "sys/loop/loop.h"
#include "tests/git/fixture.h"

#define BRANCH "overseer/w1/a"

/* A worktree with work, and a remote "origin" with one commit more than main. */
static void work(struct fixture *f)
{
	fixture_open_live(f);
	ensure(f, BRANCH);
	sh(f,
			"git init -q --bare -b main ../origin.git; git remote add origin "
			"../origin.git; git push -q origin main; git clone -q ../origin.git "
			"../clone; cd ../clone; git config user.name O; git config user.email o@o; "
			"echo r >r; git add r; git commit -qm remote; git push -q; cd \"$W\"; echo "
			"w >work; git add work; git commit -qm agent");
}

static struct answer rebase_from(struct fixture *f, const char *remote)
{
	struct answer a;

	start_rebase(f, BRANCH, "D_1", remote, &a);
	finish(f, &a);
	return a;
}

TEST(forwarded_then_pushed)
{
	struct fixture f;
	struct answer a, b;

	work(&f);
	a = rebase_from(&f, "origin");
	assert_int_equal(a.r, 0);
	assert_int_equal(a.outcome, GIT_OK);
	/* The user's checkout followed; their remote branches are theirs. */
	assert_sh(&f, "r", "cat r");
	assert_sh(&f, "", "git status --porcelain");
	assert_sh(&f, "second", "git log -1 --format=%%s origin/main");
	assert_int_equal(sh_status(&f, "test -e .git/FETCH_HEAD"), 1);
	assert_sh(&f, "Task\nremote\nsecond\nfirst", "git log --format=%%s %s", a.commit);
	start_advance(&f, a.commit, "D_1", "origin", &b);
	finish(&f, &b);
	assert_int_equal(b.r, 0);
	assert_int_equal(b.outcome, GIT_OK);
	assert_string_equal(b.detail, "");
	assert_sh(&f, a.commit, "git -C ../origin.git rev-parse main");
	/* Nothing new there; and a remote that lacks the branch has nothing to bring. */
	assert_int_equal(rebase_from(&f, "origin").outcome, GIT_ALREADY);
	sh(&f, "git init -q --bare ../empty.git");
	ensure(&f, "overseer/w1/b");
	sh(&f, "cd \"$W\"; echo b >b; git add b; git commit -qm b");
	start_rebase(&f, "overseer/w1/b", "D_2", "../empty.git", &a);
	finish(&f, &a);
	assert_int_equal(a.outcome, GIT_OK);
	fixture_close(&f);
}

TEST(gone_apart_and_out_of_reach)
{
	struct fixture f;
	struct answer a;
	char head[64], candidate[72];

	work(&f);
	strcpy(head, sh(&f, "git rev-parse " BRANCH));
	sh(&f, "echo l >l; git add l; git commit -qm local");
	a = rebase_from(&f, "origin");
	assert_int_equal(a.r, OV_ECONFLICT);
	assert_non_null(strstr(a.msg, "have gone apart: 1 commits here and 1 there"));
	assert_sh(&f, "local", "git log -1 --format=%%s main");
	assert_sh(&f, head, "git rev-parse " BRANCH);
	a = rebase_from(&f, "../no such place");
	assert_int_equal(a.r, OV_EUNAVAILABLE);
	/* The user's own merge settles it. */
	sh(&f, "git pull -q --no-rebase --no-edit origin main");
	a = rebase_from(&f, "origin");
	assert_int_equal(a.outcome, GIT_OK);
	/* A push that fails takes nothing back. */
	sh(&f, "mv ../origin.git ../elsewhere.git");
	strcpy(candidate, a.commit);
	start_advance(&f, candidate, "D_1", "origin", &a);
	finish(&f, &a);
	assert_int_equal(a.r, 0);
	assert_int_equal(a.outcome, GIT_OK);
	assert_non_null(strstr(a.detail, "could not be pushed to origin"));
	assert_sh(&f, "Task", "git log -1 --format=%%s main");
	/* Made again after a crash, it is pushed. */
	sh(&f, "mv ../elsewhere.git ../origin.git");
	start_advance(&f, sh(&f, "git rev-parse main"), "D_1", "origin", &a);
	finish(&f, &a);
	assert_int_equal(a.outcome, GIT_ALREADY);
	assert_sh(&f, "Task", "git -C ../origin.git log -1 --format=%%s main");
	fixture_close(&f);
}

TEST(dirty_checkout_is_not_forwarded)
{
	struct fixture f;

	work(&f);
	/* A file in the way of what the remote brings; another is in nobody's. */
	sh(&f, "echo d >>src/two; echo mine >r");
	assert_int_equal(rebase_from(&f, "origin").outcome, GIT_DIRTY);
	assert_sh(&f, "mine", "cat r");
	assert_sh(&f, "second", "git log -1 --format=%%s main");
	sh(&f, "rm r");
	assert_int_equal(rebase_from(&f, "origin").outcome, GIT_OK);
	assert_sh(&f, "M src/two", "git status --porcelain | sed 's/^ //'");
	fixture_close(&f);
}

/* ssh is called so that it does not ask, unless the user has a way of their own. */
TEST(asks_nobody)
{
	struct fixture f;
	struct answer a;

	work(&f);
	sh(&f,
			"mkdir ../bin; printf '#!/bin/sh\\necho \"$0 $*\" >>\"%s/asked\"; exit "
			"255\\n' >../bin/ssh; chmod +x ../bin/ssh; cp ../bin/ssh ../bin/own",
			f.dir);
	setenv("PATH", sh(&f, "echo \"$PWD/../bin:$PATH\""), 1);
	fixture_reopen(&f);
	a = rebase_from(&f, "ssh://localhost/nowhere");
	assert_int_equal(a.r, OV_EUNAVAILABLE);
	sh(&f, "grep -q BatchMode=yes ../asked; rm ../asked");
	sh(&f, "git config core.sshCommand '\"%s/bin/own\" -4'", f.dir);
	a = rebase_from(&f, "ssh://localhost/nowhere");
	assert_int_equal(a.r, OV_EUNAVAILABLE);
	sh(&f, "grep -q 'bin/own.*-4' ../asked");
	fixture_close(&f);
}

TEST_MAIN
