/*
 * What cannot be rescued is not touched: whatever would have reset, removed, committed or cleaned a
 * worktree fails, says so, and leaves branch, index and files as they were; once there is room to
 * keep things, the same call goes through.
 */
#include <string.h>

#include "base/err.h"
#include "tests/git/fixture.h"

/* Work of every kind: commits, staged, changed, new. */
static const char work[] = "echo one >done; git add done; git commit -qm agent; echo s >staged; "
			   "git add staged; echo c >>src/one; echo n >new";

/* Branch, HEAD, index and every file of the worktree. */
static const char look[] = "cd \"$W\" && { git symbolic-ref HEAD; git rev-parse HEAD; git ls-files "
			   "-s; find . -type f "
			   "! -name .git -exec sha256sum {} + | sort; git for-each-ref refs/heads; "
			   "} | sha256sum";

struct obstacle {
	const char *name, *build, *remove;
};

static const struct obstacle obstacles[] = {
	{ "no ref can be written", "rm -rf .git/refs/overseer; : >.git/refs/overseer",
			"rm .git/refs/overseer" },
	/*
	 * As with a full disk or a read-only one, which root would not notice: no folder can
	 * be made.
	 */
	{ "no object can be written",
			"git repack -adkq; rm -rf .git/objects/[0-9a-f][0-9a-f]; cd .git/objects; "
			"for a in 0 1 2 3 4 5 6 7 8 9 a b c d e f; do for b in 0 1 2 3 4 5 6 7 8 9 "
			"a b c d e f; do : >$a$b; done; done",
			"rm .git/objects/[0-9a-f][0-9a-f]" },
};

static void do_reset(struct fixture *f, struct answer *a)
{
	start_ensure(f, "overseer/w1/next", "refs/overseer/rescue/w1/x", a);
}

static void do_remove(struct fixture *f, struct answer *a)
{
	start_remove(f, "refs/overseer/rescue/w1/x", a);
}

static void do_harvest(struct fixture *f, struct answer *a)
{
	start_harvest(f, sh(f, "git rev-parse main"), "refs/overseer/rescue/w1/x", a);
}

static void do_restore(struct fixture *f, struct answer *a)
{
	start_restore(f, "refs/overseer/rescue/w1/x", a);
}

static void try_with(const struct obstacle *o, void (*act)(struct fixture *f, struct answer *a))
{
	struct fixture f;
	struct answer a;
	char before[80];

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f, "cd \"$W\"; %s", work);
	sh(&f, "%s", o->build);
	strcpy(before, sh(&f, "%s", look));
	act(&f, &a);
	finish(&f, &a);
	if (a.r >= 0)
		fail_msg("%s, and yet it was done", o->name);
	assert_true(strlen(a.msg) > 10);
	assert_sh(&f, before, "%s", look);

	sh(&f, "%s", o->remove);
	act(&f, &a);
	finish(&f, &a);
	assert_int_equal(a.r, 0);
	/* All of it is kept. */
	sh(&f, "git show %s:new >/dev/null; git show %s:staged; git show %s:src/one | grep -qx c",
			a.rescue_ref, a.rescue_ref, a.rescue_ref);
	sh(&f, "git log --format=%%s %s | grep -qx agent", a.rescue_ref);
	fixture_close(&f);
}

#define UNKEPT(what, act)                                         \
	TEST(what)                                                \
	{                                                         \
		for (size_t i = 0; i < ARRAY_LEN(obstacles); i++) \
			try_with(&obstacles[i], act);             \
	}

UNKEPT(reset_needs_a_rescue, do_reset)
UNKEPT(removal_needs_a_rescue, do_remove)
UNKEPT(harvest_needs_a_rescue, do_harvest)
UNKEPT(restore_needs_a_rescue, do_restore)

TEST_MAIN
