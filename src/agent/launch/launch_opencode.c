/*
 * opencode: one `opencode run` per run. Its logs go to its errors, as they alone tell of retries.
 * Its tools are narrowed by OPENCODE_PERMISSION, which comes on top of the user's configuration; so
 * does the plugin that tells of its sub-agents. A title keeps it from asking its model for one,
 * which nobody would hear of.
 */
#include "agent/launch/launch_impl.h"

#include <stdio.h>

#include "agent/launch/opencode_plugin.h"
#include "base/str.h"
#include "data/value/json.h"

/* Everything that edits is one permission: it is given only when all of it is permitted. */
static str permission_of(const struct agent_format *f, str tool)
{
	return tool_matches(f, STR("edit"), tool) ? STR("edit") : tool;
}

static void put_all(struct launcher *l, value *v, bool permitted, const char *word)
{
	const str *names;
	size_t n = tools_list(l->a, l->ask->format, l->ask->scope, permitted, &names);

	for (size_t i = 0; i < n; i++)
		if (!str_is(names[i], "*"))
			value_set(l->a, v, permission_of(l->ask->format, names[i]),
					value_cstr(l->a, word));
}

/* The last that fits counts, so what stands for the others comes first. */
static void add_permissions(struct launcher *l)
{
	value *v = value_object(l->a);

	if (!l->ask->scope)
		return;
	if (!launch_permits(l->ask, TOOLS_MCP)) {
		value_put(l->a, v, "*", value_cstr(l->a, "deny"));
		put_all(l, v, true, "allow");
	}
	put_all(l, v, false, "deny");
	if (value_count(v))
		launch_env(l, "OPENCODE_PERMISSION", arena_cstr(l->a, json_text(l->a, v)));
}

static str file_url(struct arena *a, const char *path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "-._~/";
	char *to = arena_alloc(a, strlen(path) * 3 + 1);
	size_t n = 0;

	for (; *path; path++)
		if (strchr(plain, *path))
			to[n++] = *path;
		else
			n += (size_t)snprintf(to + n, 4, "%%%02X", (unsigned char)*path);
	return arena_printf(a, "file://%.*s", (int)n, to);
}

/* Lists of plugins add up, over all configurations. */
static void add_plugin(struct launcher *l)
{
	value *v = value_object(l->a), *list = value_array(l->a);
	const char *path = arena_printf(l->a, "%s/" OPENCODE_PLUGIN, l->ask->run_dir).p;

	value_push(l->a, list, value_str(l->a, file_url(l->a, path)));
	value_put(l->a, v, "plugin", list);
	launch_file(l, OPENCODE_PLUGIN, str_from(opencode_plugin));
	launch_env(l, "OPENCODE_CONFIG_CONTENT", arena_cstr(l->a, json_text(l->a, v)));
}

/* The run, by the name of its folder. */
static const char *title_of(const char *run_dir)
{
	const char *slash = strrchr(run_dir, '/');

	return slash ? slash + 1 : run_dir;
}

int launch_opencode(struct arena *a, const struct launch_ask *ask, struct launch *ret,
		struct ov_err *err)
{
	struct launcher l;
	str prompt;

	launcher_init(&l, a, ask);
	launch_word(&l, STR("run"));
	launch_word(&l, STR("--format=json"));
	launch_word(&l, STR("--print-logs"));
	launch_word(&l, STR("--log-level=WARN"));
	if (ask->resume)
		launch_wordf(&l, "--session=" STR_FMT, STR_ARG(ask->session));
	else
		launch_wordf(&l, "--title=%s", title_of(ask->run_dir));
	if (ask->model.n)
		launch_wordf(&l, "--model=" STR_FMT, STR_ARG(ask->model));
	if (launch_mode(ask) != ask->format->permission_modes[0])
		launch_word(&l, STR("--auto"));
	add_permissions(&l);
	add_plugin(&l);
	prompt = launch_prompt(&l);
	if (prompt.p) {
		launch_word(&l, STR("--"));
		launch_word(&l, prompt);
	}
	launch_env(&l, "OPENCODE_DISABLE_AUTOUPDATE", "true");
	return launcher_done(&l, ret, err);
}
