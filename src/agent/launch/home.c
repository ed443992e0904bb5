#include "agent/launch/home.h"

#include "agent/launch/project.h"
#include "base/str.h"

#define LIST(...) ((const char *const[]){ __VA_ARGS__, NULL })
#define NOTHING ((const char *const[]){ NULL })

/*
 * Snapshots of the shell are run by every session of the user's, and a file of ide/ leads into his
 * editor. Of ~/.claude.json, which also names servers of MCP and is replaced by rename, each run
 * has a copy.
 */
static const struct home_folder claude[] = {
	{ .env = "CLAUDE_CONFIG_DIR",
			.path = ".claude",
			.sessions = "projects",
			.shared = LIST("projects/", ".credentials.json"),
			.own = LIST("backups", "cache", "daemon*", "debug", "downloads",
					"file-history", "history.jsonl", "ide", "jobs",
					"paste-cache", "plans", "session-env", "sessions",
					"shell-snapshots", "stats-cache.json", "statsig", "tasks",
					"teams", "telemetry", "todos", "uploads", "*.lock"),
			.copy = LIST(".claude.json"),
			.adapt = project_claude_share,
			.known = { ".claude.json", ".claude.json" },
			.trusted = project_claude_trusted },
};

/* Its databases are made again from the transcripts. */
static const struct home_folder codex[] = {
	{ .env = "CODEX_HOME",
			.path = ".codex",
			.sessions = "sessions",
			.shared = LIST("sessions/", "archived_sessions/", "auth.json"),
			.own = LIST("*.sqlite*", "*.lock", ".sandbox*", ".tmp", "cache",
					"history.jsonl", "log", "models_cache.json", "packages",
					"session_index.jsonl", "shell_snapshots",
					"thread-writer-locks", "tmp", "version.json"),
			.known = { "config.toml", ".codex/config.toml" },
			.trusted = project_codex_trusted },
};

/* tmp/bin has programs that each session runs, so that its sessions are the assignment's own. */
static const struct home_folder gemini[] = {
	{ .env = "GEMINI_CLI_HOME",
			.sub = ".gemini",
			.path = ".gemini",
			.shared = LIST("oauth_creds.json", "google_accounts.json",
					"mcp-oauth-tokens.json", "mcp-oauth-tokens-v2.json"),
			.own = LIST("history", "projects.json*", "state.json", "tmp", "*.lock") },
};

/* Its database cannot be shared file by file. */
static const struct home_folder opencode[] = {
	{ .env = "XDG_DATA_HOME",
			.sub = "opencode",
			.path = ".local/share/opencode",
			.shared = LIST("auth.json", "mcp-auth.json"),
			.own = LIST("*.db*", "storage", "log", "snapshot", "project", "tool-output",
					"worktree", "repos") },
	{ .env = "XDG_STATE_HOME",
			.sub = "opencode",
			.path = ".local/state/opencode",
			.shared = NOTHING,
			.own = LIST("*") },
	{ .env = "XDG_CONFIG_HOME",
			.sub = "opencode",
			.path = ".config/opencode",
			.shared = NOTHING,
			.own = NOTHING },
};

static const struct {
	const char *format;
	const struct home_folder *list;
	size_t n;
} rows[] = {
	{ "claude", claude, ARRAY_LEN(claude) },
	{ "codex", codex, ARRAY_LEN(codex) },
	{ "gemini", gemini, ARRAY_LEN(gemini) },
	{ "opencode", opencode, ARRAY_LEN(opencode) },
};

/*
 * Nothing of a cache that can be written is the user's: what was put there would be built or run
 * outside one day. What is not known to be made by such tools can be read.
 */
#define CACHE(variable, where, ...)               \
	((struct home_folder){ .env = variable,   \
			.path = where,            \
			.shared = NOTHING,        \
			.own = LIST(__VA_ARGS__), \
			.cache = true })
static const struct home_folder caches[] = {
	CACHE("XDG_CACHE_HOME", ".cache", "bazel*", "black", "ccache", "clangd", "composer",
			"coursier", "deno", "fontconfig", "go-build", "golangci-lint", "gopls",
			"helm", "matplotlib", "mypy*", "node", "node-gyp", "opencode", "pip",
			"pip-tools", "pnpm", "pre-commit", "pylint", "pypoetry", "ruff", "sccache",
			"typescript", "uv", "vcpkg", "yarn", "zig"),
	CACHE("CARGO_HOME", ".cargo", "registry", "git", "advisory-db*", ".package-cache*",
			".global-cache*"),
	CACHE("GOPATH", "go", "pkg"),
	CACHE(NULL, ".npm", "*"),
	CACHE(NULL, ".ccache", "*"),
	CACHE(NULL, ".m2", "repository", "wrapper"),
	CACHE("GRADLE_USER_HOME", ".gradle", "caches", "daemon", "native", "notifications",
			"workers", "wrapper", "kotlin-profile", ".tmp", "jdks"),
	CACHE(NULL, ".nuget", "*"),
	CACHE(NULL, ".yarn", "berry", "cache", "global"),
	CACHE(NULL, ".bun", "install"),
};

const char *const home_hidden[] = { ".colima", ".docker/desktop", ".docker/run", ".emacs.d/server",
	".lima", ".local/share/containers/podman/machine", ".local/share/jupyter/runtime", ".rd",
	NULL };
const char *const home_sockets[] = { ".gnupg", ".ssh", ".ssh/control", ".ssh/sockets", ".config",
	".local/share", ".local/state", NULL };
const char *const home_keys[] = { ".ICEauthority", ".Xauthority", NULL };

const struct home_folder *home_folders(str format, size_t *ret_n)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (str_is(format, rows[i].format)) {
			*ret_n = rows[i].n;
			return rows[i].list;
		}
	*ret_n = 0;
	return NULL;
}

const struct home_folder *home_caches(size_t *ret_n)
{
	*ret_n = ARRAY_LEN(caches);
	return caches;
}

static bool fits(const char *pattern, str name)
{
	str p = str_from(pattern);
	bool first = str_starts(p, STR("*")), last = p.n > 1 && str_ends(p, STR("*"));
	str middle = str_sub(p, first, p.n - first - last);

	if (first && last)
		return str_contains(name, middle);
	if (first)
		return str_ends(name, middle);
	return last ? str_starts(name, middle) : str_eq(name, middle);
}

static bool home_is_one_of(const char *const *list, str name)
{
	for (; list && *list; list++) {
		str one = str_from(*list);

		if (str_eq(name, str_ends(one, STR("/")) ? str_sub(one, 0, one.n - 1) : one))
			return true;
	}
	return false;
}

enum home_way home_entry(const struct home_folder *f, str name)
{
	if (home_is_one_of(f->shared, name))
		return HOME_SHARE;
	if (home_is_one_of(f->copy, name))
		return HOME_OWN;
	for (size_t i = 0; f->own[i]; i++)
		if (fits(f->own[i], name))
			return HOME_OWN;
	return HOME_READ;
}
