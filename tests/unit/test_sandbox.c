#include "agent/launch/sandbox.h"

#include "agent/launch/home.h"
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
		.git_dir = "/r/.overseer/git/w/.git",
		.git_common_dir = "/r/.git",
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

/* Further parts of the store, in the order in which they are given. */
TEST(more_of_the_store_is_shown)
{
	const struct sandbox_mount more[] = {
		{ SANDBOX_READ, "/r/.overseer/git/w/own", "/r/.overseer/git/w/own" },
		{ SANDBOX_WRITE, "/r/.overseer/git/w/own/tmp", "/r/.overseer/git/w/own/tmp" },
	};
	struct arena a = ARENA_INIT;
	struct sandbox_ask ask = ask_default();
	const char *const *v;
	int store, read, write;

	ask.more = more;
	ask.more_n = ARRAY_LEN(more);
	v = sandbox_build(&a, &ask).argv;
	store = find(v, 0, "--tmpfs", "/r/.overseer", NULL);
	read = mount(v, "--ro-bind-try", more[0].path);
	write = mount(v, "--bind-try", more[1].path);
	assert_true(store > 0 && store < read && read < write);
	arena_done(&a);
}

TEST(what_is_hidden_comes_before_what_is_shown_in_it)
{
	struct arena a = ARENA_INIT;
	struct sandbox_ask ask = ask_default();
	const char *const *v = sandbox_build(&a, &ask).argv;
	int root = mount(v, "--ro-bind", "/"), store = find(v, 0, "--tmpfs", "/r/.overseer", NULL);
	int home = find(v, 0, "--bind", "/r/.overseer/home/A_1/home", "/u");
	int work = mount(v, "--bind", ask.worktree), common = mount(v, "--ro-bind", "/r/.git");
	int run = mount(v, "--ro-bind", ask.run_dir);

	assert_string_equal(v[0], "/usr/bin/bwrap");
	assert_true(root > 0 && root < home && home < store && store < work && work < common);
	assert_true(store < run);
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
	const char *const *v = sandbox_build(&a, &ask).argv;
	int end = find(v, 0, "--", "agent", "--prompt");

	assert_true(end > 0);
	assert_string_equal(v[end + 3], "x y");
	assert_null(v[end + 4]);
	assert_true(find(v, 0, "--new-session", NULL, NULL) > 0);
	assert_true(find(v, 0, "--die-with-parent", NULL, NULL) > 0);
	assert_true(find(v, 0, "--cap-drop", "ALL", NULL) > 0);
	/* A program that the kernel runs for a crash would run outside. */
	assert_true(find(v, 0, "--proc", "/proc", NULL) < mount(v, "--ro-bind-try", "/proc/sys"));
	arena_done(&a);
}

TEST(network_home_and_further_paths_are_as_asked)
{
	static const char *const readable[] = { "/u/bin", NULL };
	static const struct sandbox_mount shown[] = {
		{ SANDBOX_READ, "/u/.config", "/u/.config" },
		{ SANDBOX_WRITE, "/u/.claude", "/r/.overseer/home/A_1/state/.claude" },
		{ SANDBOX_LINK, "/u/work", "/data/work" },
		{ SANDBOX_EMPTY, "/u/.docker/run", NULL },
		{ SANDBOX_BLANK, "/u/.gnupg/S.gpg-agent", NULL },
	};
	const str writable[] = { STR("/cache") };
	struct arena a = ARENA_INIT;
	struct sandbox_ask ask = ask_default();
	const char *const *v = sandbox_build(&a, &ask).argv;

	assert_int_equal(find(v, 0, "--unshare-net", NULL, NULL), -1);
	ask.network = false;
	ask.private_home = NULL;
	ask.shown = shown;
	ask.shown_n = ARRAY_LEN(shown);
	ask.readable = readable;
	ask.writable = writable;
	ask.writable_n = 1;
	v = sandbox_build(&a, &ask).argv;
	assert_true(find(v, 0, "--unshare-net", NULL, NULL) > 0);
	assert_int_equal(find(v, 0, "--bind", "/r/.overseer/home/A_1/home", NULL), -1);
	assert_true(find(v, 0, "--tmpfs", "/u", NULL) > 0);
	assert_true(find(v, 0, "--tmpfs", "/u", NULL) < mount(v, "--ro-bind-try", "/u/.config"));
	assert_true(mount(v, "--ro-bind-try", "/u/.config") <
			find(v, 0, "--bind-try", shown[1].from, "/u/.claude"));
	assert_true(find(v, 0, "--symlink", "/data/work", "/u/work") > 0);
	assert_true(find(v, 0, "--tmpfs", "/u/.docker/run", NULL) > 0);
	assert_true(find(v, 0, "--ro-bind", "/dev/null", "/u/.gnupg/S.gpg-agent") > 0);
	assert_true(mount(v, "--ro-bind-try", "/u/bin") > 0);
	assert_true(mount(v, "--bind-try", "/cache") > find(v, 0, "--tmpfs", "/u", NULL));
	/* Whatever is configured, the store stays hidden and the repository's folder read-only. */
	assert_true(mount(v, "--bind-try", "/cache") < find(v, 0, "--tmpfs", "/r/.overseer", NULL));
	assert_true(mount(v, "--bind-try", "/cache") < mount(v, "--ro-bind", "/r/.git"));
	arena_done(&a);
}

TEST(without_a_repository_nothing_of_git_is_mounted)
{
	struct arena a = ARENA_INIT;
	struct sandbox_ask ask = ask_default();
	const char *const *v;

	ask.git_dir = ask.git_common_dir = NULL;
	v = sandbox_build(&a, &ask).argv;
	assert_int_equal(mount(v, "--ro-bind", "/r/.overseer/worktrees/w/.git"), -1);
	assert_int_equal(mount(v, "--ro-bind", "/r/.git"), -1);
	arena_done(&a);
}

/* The repository is not written to at all; what makes git run programs is not either. */
TEST(a_git_folder_of_the_worktrees_own_is_writable_but_for_its_settings)
{
	static const char *const held[] = { "config", "commondir", "hooks", "info",
		"objects/info" };
	struct arena a = ARENA_INIT;
	struct sandbox_ask ask = ask_default();
	const char *const *v;
	int common, own;

	v = sandbox_build(&a, &ask).argv;
	common = mount(v, "--ro-bind", "/r/.git");
	own = mount(v, "--bind", ask.git_dir);
	assert_true(common > 0 && common < own);
	assert_true(find(v, 0, "--tmpfs", "/r/.overseer", NULL) < own);
	for (size_t i = 0; i < ARRAY_LEN(held); i++)
		assert_true(own <
				mount(v, "--ro-bind",
						arena_printf(&a, "%s/%s", ask.git_dir, held[i]).p));
	for (int i = 0; v[i]; i++)
		assert_false(strcmp(v[i], "--bind") == 0 &&
				strncmp(v[i + 1], "/r/.git", strlen("/r/.git")) == 0);
	assert_true(mount(v, "--ro-bind", "/r/.overseer/worktrees/w/.git") > 0);
	arena_done(&a);
}

TEST(what_may_not_be_changed_is_read_only)
{
	struct arena a = ARENA_INIT;
	struct sandbox_ask ask = ask_default();
	const char *const *v;

	ask.read_only = true;
	v = sandbox_build(&a, &ask).argv;
	assert_int_equal(mount(v, "--bind", ask.worktree), -1);
	assert_int_equal(mount(v, "--bind", ask.git_dir), -1);
	assert_true(mount(v, "--ro-bind", ask.worktree) > 0);
	arena_done(&a);
}

TEST(a_command_has_no_folder_of_a_run)
{
	struct arena a = ARENA_INIT;
	struct sandbox_ask ask = ask_default();
	const char *const *v;

	ask.run_dir = NULL;
	v = sandbox_build(&a, &ask).argv;
	for (int i = 0; v[i]; i++)
		assert_null(strstr(v[i], "/runs/"));
	arena_done(&a);
}

static enum home_way way(const char *format, const char *name)
{
	size_t n;
	const struct home_folder *f = home_folders(str_from(format), &n);

	assert_true(n > 0);
	return home_entry(f, str_from(name));
}

/* What makes an agent run a program is never writable, known or not; logins and transcripts are. */
TEST(settings_in_an_agents_folder_are_read_only)
{
	static const char *const read[][2] = { { "claude", "settings.json" },
		{ "claude", "plugins" }, { "claude", "settings.local.json" }, { "claude", "hooks" },
		{ "claude", "agents" }, { "claude", "CLAUDE.md" }, { "claude", "local" },
		{ "claude", "statusline.sh" }, { "codex", "config.toml" },
		{ "codex", "hooks.json" }, { "codex", "AGENTS.md" }, { "codex", "skills" },
		{ "codex", "plugins" }, { "gemini", "settings.json" }, { "gemini", "extensions" },
		{ "gemini", "GEMINI.md" }, { "gemini", "commands" }, { "opencode", "bin" },
		{ "opencode", "unheard-of" } };
	static const char *const shared[][2] = { { "claude", "projects" },
		{ "claude", ".credentials.json" }, { "codex", "auth.json" },
		{ "codex", "sessions" }, { "gemini", "oauth_creds.json" },
		{ "opencode", "auth.json" } };
	static const char *const own[][2] = { { "claude", "shell-snapshots" }, { "claude", "ide" },
		{ "claude", ".claude.json" }, { "codex", "state_5.sqlite-wal" },
		{ "codex", "shell_snapshots" }, { "gemini", "tmp" },
		{ "opencode", "opencode.db-shm" } };
	size_t n;

	for (size_t i = 0; i < ARRAY_LEN(read); i++)
		assert_int_equal(way(read[i][0], read[i][1]), HOME_READ);
	for (size_t i = 0; i < ARRAY_LEN(shared); i++)
		assert_int_equal(way(shared[i][0], shared[i][1]), HOME_SHARE);
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		assert_int_equal(way(own[i][0], own[i][1]), HOME_OWN);
	assert_null(home_folders(STR("raw"), &n));
	assert_int_equal(n, 0);
}

/* A cache that the user's own tools read is none that an agent may fill. */
TEST(no_cache_is_shared_with_the_user)
{
	size_t n;
	const struct home_folder *f = home_caches(&n);

	for (size_t i = 0; i < n; i++) {
		assert_null(f[i].shared[0]);
		assert_true(f[i].cache);
	}
	assert_int_equal(home_entry(&f[0], STR("p10k-instant-prompt-u.zsh")), HOME_READ);
	assert_int_equal(home_entry(&f[0], STR("pip")), HOME_OWN);
}

TEST_MAIN

/* ---- folders that are hidden, and places in folders that can be written ---- */

static const char *const others[] = { "/srv/p/.overseer", "/tmp/q/.overseer", "/u/w/.overseer" };

/* How often something is mounted there. */
static int count(const char *const *argv, const char *path)
{
	int n = 0;

	for (int i = 2; argv[i]; i++)
		n += strcmp(argv[i], path) == 0 && strcmp(argv[i - 2], "--ro-bind-try") == 0 &&
				str_ends(str_from(argv[i - 1]), STR("/empty"));
	return n;
}

TEST(other_stores_are_hidden_under_each_name)
{
	static const struct sandbox_mount shown[] = {
		{ SANDBOX_READ, "/u/w", "/u/w" },
		{ SANDBOX_WRITE, "/u/.cache", "/r/.overseer/cache/.cache" },
		{ SANDBOX_READ, "/u/.cache/link", "/srv/p" },
		{ SANDBOX_READ, "/u/.cache/link2", "/srv" },
	};
	struct arena a = ARENA_INIT;
	struct sandbox_ask ask = ask_default();
	const char *const *v;

	ask.private_home = NULL;
	ask.shown = shown;
	ask.shown_n = ARRAY_LEN(shown);
	ask.hidden = others;
	ask.hidden_n = ARRAY_LEN(others);
	ask.nothing = "/empty";
	v = sandbox_build(&a, &ask).argv;
	assert_int_equal(count(v, "/srv/p/.overseer"), 1);
	assert_int_equal(count(v, "/u/.cache/link/.overseer"), 1);
	assert_int_equal(count(v, "/u/.cache/link2/p/.overseer"), 1);
	assert_int_equal(count(v, "/u/w/.overseer"), 1);
	/* Nothing of /tmp is shown, so that no place for it is made in the agent's own. */
	assert_int_equal(count(v, "/tmp/q/.overseer"), 0);
	assert_true(find(v, 0, "--ro-bind-try", "/srv/p/.overseer/../../../empty",
				    "/srv/p/.overseer") > 0);
	arena_done(&a);
}

TEST(what_is_not_shown_is_not_hidden)
{
	const str writable[] = { STR("/tmp/q") };
	struct arena a = ARENA_INIT;
	struct sandbox_ask ask = ask_default();
	const char *const *v;

	ask.hidden = others;
	ask.hidden_n = ARRAY_LEN(others);
	ask.nothing = "/empty";
	v = sandbox_build(&a, &ask).argv;
	assert_int_equal(count(v, "/u/w/.overseer"), 0);
	ask.writable = writable;
	ask.writable_n = 1;
	v = sandbox_build(&a, &ask).argv;
	assert_int_equal(count(v, "/tmp/q/.overseer"), 1);
	arena_done(&a);
}

static bool has_place(const struct sandbox_words *w, const char *folder, const char *name)
{
	for (size_t i = 0; i < w->places_n; i++)
		if (strcmp(w->places[i].folder, folder) == 0 &&
				strcmp(w->places[i].name, name) == 0)
			return true;
	return false;
}

TEST(places_in_folders_that_can_be_written_are_named)
{
	static const char *const readable[] = { "/tmp/a/agent", "/usr/bin/x", "/u/.local/bin",
		NULL };
	struct arena a = ARENA_INIT;
	struct sandbox_ask ask = ask_default();
	struct sandbox_words w;

	ask.readable = readable;
	w = sandbox_build(&a, &ask);
	assert_true(has_place(&w, ask.tmp, "a/agent"));
	assert_true(has_place(&w, ask.private_home, ".local/bin"));
	assert_true(has_place(&w, ask.worktree, ".git"));
	assert_true(has_place(&w, ask.git_dir, "objects"));
	assert_true(has_place(&w, "/r/.overseer/git/w/.git/objects", "info"));
	assert_false(has_place(&w, "/", "usr/bin/x"));
	arena_done(&a);
}
