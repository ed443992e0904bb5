/*
 * Codex: one `codex exec` per run, or an interactive one in a terminal. Everything goes by `-c`,
 * which `exec` and `exec resume` both take, so that a session that goes on is narrowed as it was
 * when it began; nothing in the user's CODEX_HOME or in the worktree is written.
 */
#include "agent/launch/launch_impl.h"
#include "base/buf.h"
#include "base/str.h"
#include "data/value/json.h"

/* What is switched off when nothing of a class is left. */
static const struct {
	enum tool_class class;
	const char *setting;
} switches[] = {
	{ TOOLS_SHELL, "features.shell_tool=false" },
	{ TOOLS_WEB, "web_search=\"disabled\"" },
	{ TOOLS_AGENTS, "features.multi_agent=false" },
	{ TOOLS_READ, "features.view_image=false" },
};

static void setting(struct launcher *l, str text)
{
	launch_word(l, STR("-c"));
	launch_word(l, text);
}

/* A commit writes to the worktree's git folder, which Codex would hold read-only. */
static void add_roots(struct launcher *l)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	if (!l->ask->git_dir)
		return;
	buf_adds(&b, STR("sandbox_workspace_write.writable_roots=["));
	json_write_string(&b, str_from(l->ask->git_dir));
	buf_addc(&b, ']');
	setting(l, arena_str(l->a, buf_str(&b)));
}

static void add_sandbox(struct launcher *l)
{
	const char *const *modes = l->ask->format->permission_modes, *mode = launch_mode(l->ask);

	if (!launch_permits(l->ask, TOOLS_EDIT))
		mode = "read-only";
	/*
	 * Inside of another one, its own cannot be made; what it would have forbidden, that
	 * one forbids.
	 */
	if (l->ask->sandboxed) {
		l->read_only = strcmp(mode, "read-only") == 0;
		mode = "danger-full-access";
	}
	setting(l, STR("approval_policy=\"never\""));
	setting(l, arena_printf(l->a, "sandbox_mode=\"%s\"", mode));
	if (mode == modes[0])
		add_roots(l);
	for (size_t i = 0; i < ARRAY_LEN(switches); i++)
		if (!launch_permits(l->ask, switches[i].class))
			setting(l, str_from(switches[i].setting));
}

/* TOML's texts in double quotes are those of JSON. */
static void add_hook_settings(struct launcher *l)
{
	launch_word(l, STR("--dangerously-bypass-hook-trust"));
	for (size_t i = 0; hook_events[i]; i++) {
		_cleanup_(buf_done) struct buf b = BUF_INIT;

		buf_addf(&b, "hooks.%s=[{hooks=[{type=\"command\",timeout=%d,command=",
				hook_events[i], HOOK_TIMEOUT_S);
		json_write_string(&b, launch_hook_command(l, hook_events[i]));
		buf_adds(&b, STR("}]}]"));
		setting(l, arena_str(l->a, buf_str(&b)));
	}
	launch_hooks(l);
}

static void add_trust(struct launcher *l)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	buf_adds(&b, STR("projects={"));
	json_write_string(&b, str_from(l->ask->worktree));
	buf_adds(&b, STR("={trust_level=\"trusted\"}}"));
	setting(l, arena_str(l->a, buf_str(&b)));
}

/*
 * Whether the folder is trusted, and whether there is a newer version, is not for a dialog to ask.
 */
static void add_no_dialogs(struct launcher *l)
{
	launch_word(l, STR("--no-daemon"));
	setting(l, STR("check_for_update_on_startup=false"));
	add_trust(l);
}

int launch_codex(struct arena *a, const struct launch_ask *ask, struct launch *ret,
		struct ov_err *err)
{
	struct launcher l;
	str prompt;

	launcher_init(&l, a, ask);
	if (!ask->terminal)
		launch_word(&l, STR("exec"));
	if (ask->resume)
		launch_word(&l, STR("resume"));
	if (ask->terminal) {
		add_no_dialogs(&l);
	} else {
		launch_word(&l, STR("--json"));
		launch_word(&l, STR("--skip-git-repo-check"));
		if (ask->trusted)
			add_trust(&l);
	}
	if (ask->model.n)
		launch_wordf(&l, "--model=" STR_FMT, STR_ARG(ask->model));
	add_sandbox(&l);
	if (ask->hook)
		add_hook_settings(&l);
	launch_word(&l, STR("--"));
	if (ask->resume)
		launch_word(&l, ask->session);
	if (!ask->terminal) {
		prompt = launch_prompt(&l);
		launch_word(&l, prompt.p ? prompt : STR("-"));
	}
	return launcher_done(&l, ret, err);
}
