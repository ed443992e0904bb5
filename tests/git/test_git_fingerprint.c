/* fingerprint: another one after every change that an agent makes, the same without one. */
#include <string.h>

#include "base/err.h"
#include "tests/git/fixture.h"

/* Whether the worktree looks other than at the last call. */
static bool changed(struct fixture *f, char last[static 72])
{
	struct answer a = fingerprint(f);
	bool other;

	assert_int_equal(a.r, 0);
	assert_int_equal(strlen(a.fingerprint), 64);
	other = strcmp(last, a.fingerprint) != 0;
	memcpy(last, a.fingerprint, sizeof(a.fingerprint));
	return other;
}

static const struct {
	const char *what, *script;
	bool seen;
} steps[] = {
	{ "the first edit", "echo x >>src/one", true },
	{ "the same file again", "echo y >>src/one", true },
	{ "nothing", "true", false },
	{ "as long as before", "cp src/one ../one; tr x z <../one >src/one", true },
	{ "a new file", "echo new >new", true },
	{ "the new file again", "echo more >>new", true },
	{ "one in a new folder", "mkdir -p a/b; echo d >a/b/deep", true },
	{ "and again", "echo e >>a/b/deep", true },
	{ "staged", "git add new", false },
	{ "a commit", "git commit -qm one", true },
	{ "a commit of nothing", "git commit -q --allow-empty -m two", true },
	{ "removed", "rm src/two", true },
	{ "reading", "git status >/dev/null; git log >/dev/null; cat new", false },
	{ "a mode", "chmod +x new", true },
	{ "a link", "ln -s nowhere dangling", true },
	{ "a name with a newline", "echo n >\"$(printf 'new\\nline')\"", true },
	{ "and again", "echo m >>\"$(printf 'new\\nline')\"", true },
	{ "another branch at the same commit", "git switch -q -c other", true },
	{ "a conflict",
			"git stash -qu; git switch -q -c p; echo p >src/one; git commit -qam p; "
			"git switch -q other; echo q >src/one; git commit -qam q; ! git merge -q p "
			">/dev/null",
			true },
	{ "its resolution", "echo r >src/one", true },
};

TEST(every_change_is_seen_and_nothing_else)
{
	struct fixture f;
	char last[72] = "";

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	assert_true(changed(&f, last));
	assert_false(changed(&f, last));
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		sh(&f, "cd \"$W\"; %s", steps[i].script);
		if (changed(&f, last) != steps[i].seen)
			fail_msg("%s: %s", steps[i].what,
					steps[i].seen ? "was not seen" : "was taken for a change");
		assert_false(changed(&f, last));
	}
	fixture_close(&f);
}

TEST(ignored_files_are_no_work)
{
	struct fixture f;
	char last[72] = "";

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	sh(&f, "cd \"$W\"; echo '*.log' >>.gitignore; git add -A; git commit -qm ignore");
	assert_true(changed(&f, last));
	sh(&f, "cd \"$W\"; echo l >build.log");
	assert_false(changed(&f, last));
	fixture_close(&f);
}

TEST(the_agent_is_not_disturbed)
{
	struct fixture f;
	char last[72] = "", index[80], times[80];

	fixture_open(&f);
	ensure(&f, "overseer/w1/a");
	/* The index is stale, and another git holds its lock. */
	sh(&f,
			"cd \"$W\"; touch -d '2001-01-01' src/one; echo n >new; : "
			">\"$R\"/.overseer/git/w1/.git/index.lock");
	strcpy(index, sh(&f, "sha256sum <.overseer/git/w1/.git/index"));
	strcpy(times, sh(&f, "cd \"$W\"; find . -printf '%%p %%s %%T@\\n' | sha256sum"));
	assert_true(changed(&f, last));
	assert_sh(&f, index, "sha256sum <.overseer/git/w1/.git/index");
	assert_sh(&f, times, "cd \"$W\"; find . -printf '%%p %%s %%T@\\n' | sha256sum");
	assert_int_equal(sh_status(&f, "test -e .overseer/git/w1/.git/index.lock"), 0);
	fixture_close(&f);
}

TEST(what_cannot_be_read_is_an_error)
{
	struct fixture f;
	struct answer a;

	fixture_open(&f);
	a = fingerprint(&f);
	assert_int_equal(a.r, OV_ENOTFOUND);
	ensure(&f, "overseer/w1/a");
	/* An index of the agent's is not read; ours is. */
	sh(&f, "printf junk >.overseer/git/w1/.git/index");
	a = fingerprint(&f);
	assert_int_equal(a.r, 0);
	sh(&f, "printf junk >.overseer/git/w1/own/index");
	a = fingerprint(&f);
	assert_int_equal(a.r, OV_EIO);
	fixture_close(&f);
}

TEST_MAIN
