/*
 * Random states of the user's checkout against random changes: whether work goes in is what git's
 * own fast-forward says in a copy; where it does, the two checkouts are equal afterwards, and where
 * it does not, every byte of the user's is as before. The exceptions are what git itself would
 * lose: a new file that is only staged where the work has a file in place of its folder, an
 * untracked link in place of a folder, and what is in a submodule. We wait then. OV_SOAK: more of
 * it. OVERLAP_SEED=n: only that case, told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/str.h"
#include "tests/git/fixture.h"
#include "tests/rng.h"

#define BRANCH "overseer/w1/a"

/* Files, some of which are folders to others. */
static const char *const names[] = { "a", "b", "a/x", "d/x", "d/y", "d", "d/e/z", "n", "n/m", "l" };
enum { NAMES = sizeof(names) / sizeof(names[0]) };

/* In a folder, done to $p; each may fail, and then nothing is done. */
static const char *const base_acts[] = { "put base", "put base", "put base", "ln -s b \"$p\"" };
static const char *const work_acts[] = { "put new", "put new", "put new", "rm -rf \"$p\"",
	"rm -rf \"$p\"; put new", "chmod +x \"$p\"", "rm -rf \"$p\"; ln -s a \"$p\"" };
static const char *const user_acts[] = {
	"put mine",
	"rm -rf \"$p\"",
	"rm -rf \"$p\"; put mine",
	"put mine; git add \"$p\"",
	"put mine; git add -f \"$p\"; put more",
	"git rm -q --cached \"$p\"",
	"git rm -q -f \"$p\"",
	"git mv \"$p\" moved",
	"rm -rf \"$p\"; mkdir -p \"$p\"",
	"mkdir -p \"$p/deep/er\"",
	"chmod +x \"$p\"",
	"touch -d '2001-01-01' \"$p\"",
	"echo \"/$p\" >>.git/info/exclude; put mine",
	"rm -rf \"$p\"; ln -s b \"$p\"",
	"git show " BRANCH ":\"$p\" >../same && put base && cp ../same \"$p\"",
	"git show " BRANCH ":\"$p\" >../same && put base && cp ../same \"$p\" && git add \"$p\"",
	"git add -N \"$p\"",
};

#define PICK(r, list) (list)[rng_below((r), sizeof(list) / sizeof((list)[0]))]

static void add_act(struct buf *b, struct rng *r, const char *act)
{
	buf_addf(b, "p='%s'; { %s; } >/dev/null 2>&1 || true\n", names[rng_below(r, NAMES)], act);
}

static void write_case(struct buf *b, struct rng *r)
{
	static const char *const put = "put() { mkdir -p \"$(dirname \"$p\")\" && [ ! -d \"$p\" ] "
				       "&& echo \"$1 $p\" >\"$p\"; }\n";

	buf_addf(b, "%sgit rm -rq . ; \n", put);
	for (size_t i = 0, n = 2 + rng_below(r, 5); i < n; i++)
		add_act(b, r, PICK(r, base_acts));
	buf_addf(b,
			"git add -A; git commit -qm base --allow-empty; cd \"$W\"; git fetch -q "
			"\"$R\" +main:main; git reset -q "
			"--hard "
			"main\n");
	for (size_t i = 0, n = 1 + rng_below(r, 3); i < n; i++)
		add_act(b, r, PICK(r, work_acts));
	buf_addf(b, "echo w >work; git add -A; git commit -qm work; cd \"$R\"\n");
	for (size_t i = 0, n = rng_below(r, 5); i < n; i++)
		add_act(b, r, PICK(r, user_acts));
}

/* Every file, link and folder of a checkout, and its index. */
static const char *sum(struct fixture *f, const char *folder)
{
	return sh(f,
			"cd '%s'; { find . -path ./.git -prune -o -path ./.overseer -prune -o "
			"-printf '%%y %%m %%P %%l\\n' | LC_ALL=C sort; find . -path ./.git -prune "
			"-o -path ./.overseer -prune -o -type f -print0 | LC_ALL=C sort -z | xargs "
			"-0 -r sha256sum; git ls-files -s; }",
			folder);
}

/*
 * Does git go forward in a copy, without dropping a new file that was staged, or an untracked link?
 */
static bool git_would_go(struct fixture *f)
{
	return sh_status(f,
			       "cp -a . ../copy; cd ../copy; git diff --cached --name-only "
			       "--no-renames --diff-filter=A >../staged; git ls-files -o | while "
			       "read -r p; do [ ! -L \"$p\" ] || echo \"$p\"; done >../links; "
			       "git merge -q --ff-only --no-overwrite-ignore " BRANCH
			       " && while read -r p; do git ls-files "
			       "--error-unmatch \"$p\" || exit 1; done <../staged && while "
			       "read -r p; do [ -L \"$p\" ] || exit 1; done <../links") == 0;
}

static void one_case(uint64_t seed, size_t *went, size_t *waited)
{
	struct fixture f;
	struct rng r = { seed };
	struct buf b = BUF_INIT;
	struct answer a;
	char before[16384];
	bool git_would;

	fixture_open_live(&f);
	ensure(&f, BRANCH);
	write_case(&b, &r);
	if (getenv("OVERLAP_SEED"))
		fprintf(stderr, "%s\n", buf_cstr(&b));
	sh(&f, "%s", buf_cstr(&b));
	git_would = git_would_go(&f);
	snprintf(before, sizeof(before), "%s", sum(&f, "."));
	a = rebase(&f, BRANCH, "D_1");
	if (a.outcome != (git_would ? GIT_OK : GIT_DIRTY))
		fail_msg("seed %llu: rebase says %d (%s), git would%s:\n%s",
				(unsigned long long)seed, (int)a.outcome, a.detail,
				git_would ? "" : " not", buf_cstr(&b));
	assert_string_equal(sum(&f, "."), before);
	/* Not believed by the move, which looks again. */
	sh(&f, "git -C \"$W\" checkout -q " BRANCH);
	a = git_would ? advance(&f, a.commit, "D_1") : a;
	if (git_would && a.outcome != GIT_OK)
		fail_msg("seed %llu: advance says %d (%s):\n%s", (unsigned long long)seed,
				(int)a.outcome, a.detail, buf_cstr(&b));
	if (git_would)
		assert_string_equal(sum(&f, "."), sum(&f, "../copy"));
	else
		assert_true(a.files_n > 0);
	++*(git_would ? went : waited);
	buf_done(&b);
	fixture_close(&f);
}

TEST(what_we_decide_is_what_git_would_do)
{
	const char *only = getenv("OVERLAP_SEED");
	size_t went = 0, waited = 0, n = getenv("OV_SOAK") ? 3000 : 60;

	if (only) {
		one_case(strtoull(only, NULL, 10), &went, &waited);
		return;
	}
	for (uint64_t seed = 1; seed <= n; seed++)
		one_case(seed, &went, &waited);
	/* Both happen often, or nothing was tested. */
	assert_true(went > n / 8 && waited > n / 8);
}

/* Unpushed commits and files of a submodule are nowhere else. */
TEST(a_file_in_place_of_a_submodule)
{
	struct fixture f;
	struct answer a;

	fixture_open_live(&f);
	sh(&f,
			"git init -q sub; git -C sub -c user.name=n -c user.email=e commit -qm s "
			"--allow-empty; git add sub 2>/dev/null; git commit -qm sub; echo mine "
			">sub/mine; git -C sub -c user.name=n -c user.email=e commit -qm unpushed "
			"--allow-empty");
	ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; rm -rf sub; git rm -q --cached sub; echo file >sub; git add "
			"sub; "
			"git commit -qm work");
	a = rebase(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_DIRTY);
	assert_string_equal(a.files, "sub/\n");
	assert_sh(&f, "mine", "cat sub/mine");
	assert_sh(&f, "unpushed", "git -C sub log -1 --format=%%s");
	fixture_close(&f);
}

TEST(a_link_in_place_of_a_folder)
{
	struct fixture f;
	struct answer a;

	fixture_open_live(&f);
	ensure(&f, BRANCH);
	sh(&f,
			"cd \"$W\"; echo new >>src/one; git commit -qam work; cd \"$R\"; rm -rf "
			"src; "
			"ln -s /nowhere src");
	a = rebase(&f, BRANCH, "D_1");
	assert_int_equal(a.outcome, GIT_DIRTY);
	assert_string_equal(a.files, "src\n");
	assert_sh(&f, "/nowhere", "readlink src");
	fixture_close(&f);
}

TEST_MAIN
