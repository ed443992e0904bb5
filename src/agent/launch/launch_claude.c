/*
 * Claude Code: one `-p` process per run, or an interactive one in a terminal. Options are written
 * with '=', as some of them would take every word that follows. Its hooks come by a settings file
 * of the run, beside the user's own.
 */
#include "agent/launch/launch_impl.h"
#include "base/buf.h"
#include "base/str.h"
#include "data/value/json.h"

#define SETTINGS "claude-settings.json"
#define MCP "mcp__"

/* Never offered: the work of a session that moves to another worktree would not be found. */
static const char *const never[] = { "EnterWorktree", "ExitWorktree" };

static bool is_mcp(str name)
{
	return str_starts(name, STR(MCP));
}

static void add_name(struct buf *b, str name)
{
	if (b->n)
		buf_addc(b, ',');
	buf_adds(b, name);
}

/* Names of tools as one word; all: also the pattern that stands for every server's tools. */
static void add_names(struct buf *b, const str *names, size_t n, bool mcp)
{
	for (size_t i = 0; i < n; i++)
		if (mcp || !is_mcp(names[i]))
			add_name(b, names[i]);
}

/* A scope that names single tools of servers leaves the others to the hook. */
static bool names_mcp(const struct tool_scope *s)
{
	for (size_t i = 0; i < s->allow_n; i++)
		if (is_mcp(s->allow[i]))
			return true;
	return false;
}

static void add_denied(struct launcher *l, const struct tool_scope *s, struct buf *b)
{
	const str *names;
	size_t n;

	if (!s)
		return;
	n = tools_list(l->a, l->ask->format, s, false, &names);
	for (size_t i = 0; i < n; i++)
		if (!str_is(names[i], MCP "*") || !names_mcp(s))
			add_name(b, names[i]);
}

static void add_tools(struct launcher *l)
{
	_cleanup_(buf_done) struct buf offered = BUF_INIT;
	_cleanup_(buf_done) struct buf granted = BUF_INIT;
	_cleanup_(buf_done) struct buf denied = BUF_INIT;
	const struct tool_scope *s = l->ask->scope;
	const char *const *modes = l->ask->format->permission_modes;
	const str *names;
	size_t n = tools_list(l->a, l->ask->format, s, true, &names);

	add_names(&offered, names, n, false);
	if (s && s->allow)
		launch_wordf(l, "--tools=" STR_FMT, STR_ARG(buf_str(&offered)));
	/* Unattended there is nobody to grant anything: what is in the scope is granted. */
	for (size_t i = 0; i < n; i++)
		if (!str_is(names[i], MCP "*"))
			add_name(&granted, names[i]);
	if (launch_mode(l->ask) == modes[0] && granted.n)
		launch_wordf(l, "--allowedTools=" STR_FMT, STR_ARG(buf_str(&granted)));
	for (size_t i = 0; i < ARRAY_LEN(never); i++)
		add_name(&denied, str_from(never[i]));
	add_denied(l, s, &denied);
	launch_wordf(l, "--disallowedTools=" STR_FMT, STR_ARG(buf_str(&denied)));
}

static value *hook_entry(struct launcher *l, const char *event)
{
	struct arena *a = l->a;
	value *command = value_object(a), *hooks = value_array(a), *group = value_object(a),
	      *list = value_array(a);

	value_put(a, command, "type", value_cstr(a, "command"));
	value_put(a, command, "command", value_str(a, launch_hook_command(l, event)));
	value_put(a, command, "timeout", value_int(a, HOOK_TIMEOUT_S));
	value_push(a, hooks, command);
	value_put(a, group, "hooks", hooks);
	value_push(a, list, group);
	return list;
}

static void add_settings(struct launcher *l)
{
	value *v = value_object(l->a), *hooks = value_object(l->a);

	for (size_t i = 0; hook_events[i]; i++)
		value_put(l->a, hooks, hook_events[i], hook_entry(l, hook_events[i]));
	value_put(l->a, v, "hooks", hooks);
	launch_file(l, SETTINGS, json_text(l->a, v));
	launch_wordf(l, "--settings=%s/" SETTINGS, l->ask->run_dir);
	launch_hooks(l);
}

int launch_claude(struct arena *a, const struct launch_ask *ask, struct launch *ret,
		struct ov_err *err)
{
	struct launcher l;
	str prompt;

	launcher_init(&l, a, ask);
	if (!ask->terminal) {
		launch_word(&l, STR("-p"));
		launch_word(&l, STR("--output-format=stream-json"));
		launch_word(&l, STR("--verbose"));
	}
	if (ask->session.n)
		launch_wordf(&l, "%s=" STR_FMT, ask->resume ? "--resume" : "--session-id",
				STR_ARG(ask->session));
	if (ask->model.n)
		launch_wordf(&l, "--model=" STR_FMT, STR_ARG(ask->model));
	launch_wordf(&l, "--permission-mode=%s", launch_mode(ask));
	add_tools(&l);
	if (ask->max_turns && !ask->terminal)
		launch_wordf(&l, "--max-turns=%lld", (long long)ask->max_turns);
	if (ask->hook)
		add_settings(&l);
	prompt = ask->terminal ? (str){ 0 } : launch_prompt(&l);
	if (prompt.p) {
		launch_word(&l, STR("--"));
		launch_word(&l, prompt);
	}
	launch_env(&l, "DISABLE_AUTOUPDATER", "1");
	return launcher_done(&l, ret, err);
}
