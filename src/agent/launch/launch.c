#include "agent/launch/launch.h"

#include "agent/launch/launch_impl.h"
#include "agent/read/hook.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"

/* An event that an agent does not know is ignored by it. */
const char *const hook_events[] = { "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse",
	"PostToolUseFailure", "PermissionRequest", "PermissionDenied", "Notification", "PreCompact",
	"PostCompact", "Stop", "StopFailure", "SubagentStart", "SubagentStop", "SessionEnd", NULL };

void launcher_init(struct launcher *l, struct arena *a, const struct launch_ask *ask)
{
	*l = (struct launcher){ .a = a,
		.ask = ask,
		.argv_cap = ask->command_n + LAUNCH_WORDS,
		.env = arena_array(a, struct launch_pair, LAUNCH_PAIRS),
		.files = arena_array(a, struct launch_file, LAUNCH_FILES),
		.input = ask->terminal ? (str){ 0 } : STR("") };
	l->argv = arena_array(a, const char *, l->argv_cap + 1);
	for (size_t i = 0; i < ask->command_n; i++)
		launch_word(l, ask->command[i]);
	if (ask->command_n == 0)
		launch_word(l, str_from(ask->format->program));
}

void launch_word(struct launcher *l, str word)
{
	assert(l->argv_n < l->argv_cap);
	l->argv[l->argv_n++] = arena_cstr(l->a, word);
}

void launch_wordf(struct launcher *l, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	launch_word(l, arena_vprintf(l->a, fmt, ap));
	va_end(ap);
}

void launch_env(struct launcher *l, const char *name, const char *val)
{
	assert(l->env_n < LAUNCH_PAIRS);
	l->env[l->env_n++] = (struct launch_pair){ name, val };
}

void launch_file(struct launcher *l, const char *path, str text)
{
	assert(l->files_n < LAUNCH_FILES);
	l->files[l->files_n++] = (struct launch_file){ path, text };
}

static const struct tool_scope everything = { 0 };

void launch_hooks(struct launcher *l)
{
	const struct tool_scope *s = l->ask->scope ? l->ask->scope : &everything;
	value *v = tool_scope_value(l->a, s);

	value_put(l->a, v, "format", value_cstr(l->a, l->ask->format->name));
	launch_file(l, HOOK_SCOPE, json_text(l->a, v));
	launch_env(l, "OVERSEER_RUN_DIR", l->ask->run_dir);
}

str launch_hook_command(struct launcher *l, const char *event)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	buf_add_word(&b, str_from(l->ask->hook));
	buf_addf(&b, " hook %s", event);
	return arena_str(l->a, buf_str(&b));
}

str launch_prompt(struct launcher *l)
{
	const struct launch_ask *ask = l->ask;

	if (ask->prompt_by == PROMPT_ARG)
		return ask->prompt;
	if (ask->prompt_by == PROMPT_FILE)
		return arena_printf(l->a,
				"Your instruction is in the file %s. Read it and do what it says.",
				ask->prompt_file);
	l->input = ask->prompt;
	return (str){ 0 };
}

bool launch_permits(const struct launch_ask *ask, enum tool_class class)
{
	const struct tool_scope *s = ask->scope;
	bool any = false;

	if (!s)
		return true;
	for (const struct tool_name *t = ask->format->tools; t->name; t++) {
		struct tool_scope denied = { .allow = s->deny, .allow_n = s->deny_n };
		str name = str_from(t->name);

		if (t->class != class)
			continue;
		if (s->deny_n && tool_permitted(ask->format, &denied, name))
			return false;
		any |= tool_permitted(ask->format, s, name);
	}
	return any;
}

const char *launch_mode(const struct launch_ask *ask)
{
	const char *const *modes = ask->format->permission_modes;

	for (size_t i = 0; modes && modes[i]; i++)
		if (str_is(ask->permission_mode, modes[i]))
			return modes[i];
	return modes ? modes[0] : NULL;
}

int launcher_done(struct launcher *l, struct launch *ret, struct ov_err *err)
{
	for (size_t i = 0; i < l->argv_n; i++)
		if (strlen(l->argv[i]) > LAUNCH_WORD_MAX) {
			ov_fail(err, OV_ELIMIT,
					"the prompt of %zu bytes is too long for a command line",
					strlen(l->argv[i]));
			return ov_next(err, "prompt = \"stdin\" in config.toml");
		}
	*ret = (struct launch){ .argv = l->argv,
		.env = l->env,
		.env_n = l->env_n,
		.files = l->files,
		.files_n = l->files_n,
		.input = l->input,
		.read_only = l->read_only };
	return 0;
}

int launch_build(struct arena *a, const struct launch_ask *ask, struct launch *ret,
		struct ov_err *err)
{
	if (ask->command_n == 0 && !ask->format->program)
		return ov_fail(err, OV_EINVALID, "an agent of format \"%s\" needs a command",
				ask->format->name);
	return ask->format->launch(a, ask, ret, err);
}
