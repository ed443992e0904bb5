/* The options of [agents.NAME]. */
#include "core/config/config_impl.h"

#include "agent/fact/said_limit.h"
#include "agent/table/formats.h"
#include "core/model/limits.h"
#include "core/policy/scope.h"

#define KIB ((int64_t)1024)
#define MIB (1024 * KIB)
#define TIB (1024 * 1024 * MIB)

static const char *const runtimes[] = { "exec", "tmux", NULL };
static const char *const prompts[] = { "stdin", "arg", "file", NULL }; /* enum prompt_by */
static const char *const inputs[] = { "none", "stdin", NULL };         /* enum agent_input */
const char *const sandbox_names[] = { "auto", "fence", "bwrap", "none", "",
	NULL };                                                   /* enum sandbox */
static const char *const homes[] = { "private", "shared", NULL }; /* enum sandbox_home */
static const char *const tiers[] = { "low", "medium", "high", NULL };
static const char *const recoveries[] = { "resend", "replan", "reassign", "escalate", NULL };

#define AT(member) .offset = offsetof(struct config_agent, member)
#define LIST_AT(member) AT(member), .count_offset = offsetof(struct config_agent, member##_n)

static const struct option agent_options[] = {
	{ "runtime", OPT_WORD, 0, 0, "\"exec\"",
			"How the agent is run: exec is one process per run; tmux is an "
			"interactive one in a terminal that people can attach to (raw, claude and "
			"codex).",
			runtimes, AT(runtime) },
	{ "format", OPT_WORD, 0, 0, "\"raw\"",
			"Which agent it is, and so how it is started and heard: raw is any command "
			"and any text.",
			agent_format_names, AT(format) },
	{ "command", OPT_COMMAND, 0, 0, NULL,
			"Of raw, where it must be given: a text is run by sh -c, with the prompt "
			"(or the name of its file) as \"$1\"; a list is the command and its "
			"arguments, in which {prompt} and {prompt_file} are replaced. Of others: a "
			"list, to which our options are appended; left out, it is the format's "
			"name.",
			LIST_AT(command), .optional = true },
	{ "model", OPT_STR, 0, LIMIT_NAME, "\"\"",
			"The model, as the agent calls it; empty: the agent's own choice.",
			AT(model) },
	{ "permission_mode", OPT_STR, 0, LIMIT_NAME, "\"\"",
			"What the agent may do without asking, in its own words; empty: what lets "
			"it work unattended in its worktree (claude: acceptEdits with all tools of "
			"its scope granted; codex: workspace-write; gemini: yolo; opencode: "
			"default).",
			AT(permission_mode) },
	{ "max_turns", OPT_INT, 0, 100000, "0",
			"The most turns of one run, where the agent can be told so (claude); 0: no "
			"limit.",
			AT(max_turns) },
	{ "prompt", OPT_CHOICE, 0, 0, "\"stdin\"",
			"How the agent gets its prompt: on standard input, as an argument, or in "
			"a file.",
			prompts, AT(prompt_by) },
	{ "env", OPT_ENV, 0, 0, "{}", "Variables set in the agent's environment.", LIST_AT(env) },
	{ "env_pass", OPT_NAMES, 0, 0,
			"[\"HOME\", \"PATH\", \"USER\", \"LANG\", \"LC_ALL\", \"TZ\", \"TMPDIR\", "
			"\"TERM\", \"GIT_AUTHOR_NAME\", \"GIT_AUTHOR_EMAIL\", "
			"\"GIT_COMMITTER_NAME\", \"GIT_COMMITTER_EMAIL\"]",
			"Names of the variables that are handed on from the daemon's environment; "
			"nothing else of it is. Unless this is given, those that the format needs "
			"are added, such as ANTHROPIC_API_KEY or CODEX_HOME.",
			LIST_AT(env_pass) },
	{ "concurrency", OPT_INT, 1, 256, "256", "The most nodes that it works on at a time.",
			AT(concurrency) },
	{ "sandbox", OPT_CHOICE, 0, 0, "\"\"",
			"What its runs can reach (docs/security.md). auto: fence where bubblewrap "
			"works, otherwise none. fence: can read everything except the store, other "
			"worktrees and sockets; can write only the worktree, the agent's own state "
			"and caches of the fence. bwrap: as fence, with a private home and, if you "
			"like, no network. none: no sandbox. Empty: defaults.sandbox.",
			sandbox_names, AT(sandbox) },
	{ "home", OPT_CHOICE, 0, 0, "\"private\"",
			"With sandbox = \"bwrap\". private: each assignment has its own home. "
			"shared: your home, read-only as in a fence.",
			homes, AT(home) },
	{ "network", OPT_BOOL, 0, 0, "true",
			"With sandbox = \"bwrap\": false disables the network.", AT(network) },
	{ "sandbox_writable", OPT_TEXTS, 0, LIMIT_NOTE, "[]",
			"With a sandbox: further writable paths, such as a cache. Not the "
			"repository, your home, or a folder around them.",
			LIST_AT(sandbox_writable) },
	{ "memory_max", OPT_BYTES, 0, 1024 * TIB, "\"0\"",
			"The most memory that all processes of a run may use together, where runs "
			"get control groups with that controller (`overseer doctor` says); \"0\": "
			"no limit.",
			AT(memory_max_bytes) },
	{ "pids_max", OPT_INT, 0, 4194304, "0",
			"The most processes and threads of a run, likewise; 0: no limit.",
			AT(pids_max) },
	{ "input", OPT_CHOICE, 0, 0, "\"none\"",
			"How it gets further instructions while it runs: not at all, or as lines "
			"on "
			"standard input.",
			inputs, AT(input) },
	{ "rate_limit_exit", OPT_INT, 0, 255, "75",
			"The exit code that says that its quota is used up; 0: none does.",
			AT(rate_limit_exit) },
	{ "login_exit", OPT_INT, 0, 255, "77",
			"The exit code that says that it is not logged in; 0: none does.",
			AT(login_exit) },
	{ "limit_patterns", OPT_TEXTS, 0, SAID_PATTERN_BYTES, "[]",
			"Further texts that say that its quota is used up, in the last lines of a "
			"run that failed: anywhere in a line, in any case, \"*\" for any "
			"characters. "
			"For raw agents a table of usual messages counts as well.",
			LIST_AT(limit_patterns) },
	{ "login_patterns", OPT_TEXTS, 0, SAID_PATTERN_BYTES, "[]",
			"Likewise, texts that say that it is not logged in.",
			LIST_AT(login_patterns) },
	{ "recovery", OPT_CHOICE, 0, 0, "\"resend\"",
			"The first rung of the ladder once nudges did not help.", recoveries,
			AT(recovery) },
	{ "description", OPT_STR, 0, LIMIT_TITLE, "\"\"", "What it is good for, in a line.",
			AT(description) },
	{ "capabilities", OPT_TEXTS, 0, LIMIT_ID, "[]",
			"What it can do, as tags such as \"rust\" or \"review\".",
			LIST_AT(capabilities) },
	{ "cost_tier", OPT_WORD, 0, 0, "\"medium\"", "What its work costs, roughly.", tiers,
			AT(cost_tier) },
	{ "tools", OPT_TEXTS, 0, SCOPE_ENTRY, NULL,
			"The tools that it may use, by the agent's own names (a \"*\" at the end "
			"stands for the rest) or by class: read, edit, shell, web, agents, mcp. "
			"Left out: all.",
			.optional = true, LIST_AT(tools) },
	{ "tools_deny", OPT_TEXTS, 0, SCOPE_ENTRY, NULL,
			"The tools that it may not use, whatever else allows them.",
			.optional = true, LIST_AT(tools_deny) },
};

struct options config_agent_options(void)
{
	return (struct options){ agent_options, ARRAY_LEN(agent_options) };
}
