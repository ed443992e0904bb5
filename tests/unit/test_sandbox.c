#include "agent/sandbox.h"

#include "base/arena.h"
#include "base/str.h"
#include "tests/test.h"

static const char *const command[] = { "agent", "--prompt", "x y", NULL };

static struct sandbox_ask ask_default(void)
{
	return (struct sandbox_ask){
		.bwrap = "/usr/bin/bwrap",
		.argv = command,
		.worktree = "/r/.overseer/worktrees/w",
		.run_dir = "/r/.overseer/runs/R_1",
		.store = "/r/.overseer",
		.git_dir = "/r/.git/worktrees/w",
		.git_common_dir = "/r/.git",
		.branch = "refs/heads/overseer/w/T1",
		.home = "/u",
		.private_home = "/r/.overseer/home/A_1/home",
		.tmp = "/r/.overseer/home/A_1/tmp",
		.network = true,
	};
}

/* Where words stand one after another, from `from` on; -1: nowhere. */
static int find(const char *const *argv, int from, const char *a, const char *b, const char *c)
{
	for (int i = from; argv[i]; i++)
		if (strcmp(argv[i], a) == 0 &&
				(!b || (argv[i + 1] && strcmp(argv[i + 1], b) == 0)) &&
				(!c || (argv[i + 1] && argv[i + 2] && strcmp(argv[i + 2], c) == 0)))
			return i;
	return -1;
}

static int mount(const char *const *argv, const char *option, const char *path)
{
	return find(argv, 0, option, path, path);
}

TEST(what_is_hidden_comes_before_what_is_shown_in_it)
{
	struct arena a = ARENA_INIT;
	struct sandbox_ask ask = ask_default();
	const char *const *v = sandbox_argv(&a, &ask);
	int root = mount(v, "--ro-bind", "/"), store = find(v, 0, "--tmpfs", "/r/.overseer", NULL);
	int home = find(v, 0, "--bind", "/r/.overseer/home/A_1/home", "/u");
	int work = mount(v, "--bind", ask.worktree), common = mount(v, "--ro-bind", "/r/.git");
	int run = mount(v, "--ro-bind", ask.run_dir);

	assert_string_equal(v[0], "/usr/bin/bwrap");
	assert_true(root > 0 && root < home && home < store && store < work && work < common);
	assert_true(store < run);
	assert_true(common < mount(v, "--bind", "/r/.git/objects"));
	assert_true(common < mount(v, "--bind", "/r/.git/refs/heads/overseer/w"));
	assert_true(common < mount(v, "--bind", "/r/.git/logs/refs/heads/overseer/w"));
	assert_true(mount(v, "--bind", "/r/.git/worktrees/w") <
			mount(v, "--ro-bind", "/r/.git/worktrees/w/commondir"));
	assert_true(work < mount(v, "--ro-bind", "/r/.overseer/worktrees/w/.git"));
	assert_true(run < mount(v, "--bind-try", "/r/.overseer/runs/R_1/hooks"));
	assert_true(mount(v, "--bind-try", "/r/.overseer/runs/R_1/hooks") <
			mount(v, "--ro-bind-try", "/r/.overseer/runs/R_1/hooks/scope.json"));
	arena_done(&a);
}

TEST(the_command_comes_last_and_whole)
{
	struct arena a = ARENA_INIT;
	struct sandbox_ask ask = ask_default();
	const char *const *v = sandbox_argv(&a, &ask);
	int end = find(v, 0, "--", "agent", "--prompt");

	assert_true(end > 0);
	assert_string_equal(v[end + 3], "x y");
	assert_null(v[end + 4]);
	assert_true(find(v, 0, "--new-session", NULL, NULL) > 0);
	assert_true(find(v, 0, "--die-with-parent", NULL, NULL) > 0);
	assert_true(find(v, 0, "--cap-drop", "ALL", NULL) > 0);
	arena_done(&a);
}

TEST(network_home_and_further_paths_are_as_asked)
{
	static const char *const readable[] = { "/u/bin", NULL };
	const str writable[] = { STR_INIT("/cache") };
	struct arena a = ARENA_INIT;
	struct sandbox_ask ask = ask_default();
	const char *const *v = sandbox_argv(&a, &ask);

	assert_int_equal(find(v, 0, "--unshare-net", NULL, NULL), -1);
	ask.network = false;
	ask.private_home = NULL;
	ask.home_writable = sandbox_home_writable(STR("claude"));
	ask.readable = readable;
	ask.writable = writable;
	ask.writable_n = 1;
	v = sandbox_argv(&a, &ask);
	assert_true(find(v, 0, "--unshare-net", NULL, NULL) > 0);
	assert_int_equal(find(v, 0, "--bind", "/r/.overseer/home/A_1/home", NULL), -1);
	assert_true(mount(v, "--ro-bind", "/u") < mount(v, "--bind-try", "/u/.claude"));
	assert_true(mount(v, "--ro-bind-try", "/u/bin") > 0);
	assert_true(mount(v, "--bind", "/cache") > 0);
	assert_null(sandbox_home_writable(STR("raw"))[0]);
	arena_done(&a);
}

/* No branch is worth all the others. */
TEST(only_the_folder_of_a_branch_is_given_away)
{
	static const char *const branches[] = { NULL, "", "refs/heads/main", "refs/tags/x/y",
		"main", "refs/heads/../../x/y", "refs/heads/" };
	struct arena a = ARENA_INIT;

	for (size_t i = 0; i < ARRAY_LEN(branches); i++) {
		struct sandbox_ask ask = ask_default();
		const char *folders[4];

		ask.branch = branches[i];
		assert_int_equal(sandbox_git_folders(&a, &ask, folders, 4), 2);
		assert_string_equal(folders[0], "/r/.git/objects");
		assert_string_equal(folders[1], "/r/.git/worktrees/w");
	}
	arena_done(&a);
}

TEST(without_a_repository_nothing_of_git_is_mounted)
{
	struct arena a = ARENA_INIT;
	struct sandbox_ask ask = ask_default();
	const char *const *v;

	ask.git_dir = ask.git_common_dir = NULL;
	v = sandbox_argv(&a, &ask);
	assert_int_equal(mount(v, "--ro-bind", "/r/.overseer/worktrees/w/.git"), -1);
	assert_int_equal(mount(v, "--ro-bind", "/r/.git"), -1);
	arena_done(&a);
}

TEST_MAIN
