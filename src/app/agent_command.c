#include "app/agent_command.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/environment.h"
#include "app/sandbox.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/command_env.h"
#include "drive/run.h"

static const str default_pass[] = { STR_INIT("HOME"), STR_INIT("PATH"), STR_INIT("USER"),
	STR_INIT("LANG"), STR_INIT("LC_ALL"), STR_INIT("TMPDIR"), STR_INIT("TERM") };

/* Both streams into one, so that the end of the output is the end of what happened. */
static const char *const *shell(struct arena *a, const char *text)
{
	const char **argv = arena_array(a, const char *, 4);

	argv[0] = "sh";
	argv[1] = "-c";
	argv[2] = arena_printf(a, "exec 2>&1\n%s", text).p;
	return argv;
}

/* What the sandbox itself says goes there, too. It has none of the keys of our session. */
static const char *const *joined(struct arena *a, const char *shim, const char *const *argv)
{
	const char *const before[] = { "sh", "-c", "exec \"$@\" 2>&1", "sh", shim,
		run_without_keys };
	size_t n = 0;
	const char **ret;

	while (argv[n])
		n++;
	ret = arena_array(a, const char *, ARRAY_LEN(before) + n + 1);
	memcpy(ret, before, sizeof(before));
	memcpy(ret + ARRAY_LEN(before), argv, n * sizeof(*argv));
	return ret;
}

static str told(struct arena *a, str agent)
{
	return arena_printf(a,
			"\n(It ran in the sandbox of agent " STR_FMT ". agents." STR_FMT
			".sandbox_writable names more paths that can be written there; "
			"workspace.check_sandbox = \"none\" runs such commands outside of it. See "
			"docs/security.md.)",
			STR_ARG(agent), STR_ARG(agent));
}

int agent_command(struct arena *a, const struct agent_command_ask *ask, struct agent_command *ret,
		struct ov_err *err)
{
	const struct config_agent *found = config_agent(ask->config, ask->agent);
	const struct config_agent gone = { .name = ask->agent,
		.format = STR("raw"),
		.sandbox = ask->config->default_sandbox,
		.network = true,
		.env_pass = default_pass,
		.env_pass_n = ARRAY_LEN(default_pass) };
	struct sandbox_room room = { .agent = found ? found : &gone,
		.store = ask->store,
		.worktree = ask->worktree,
		.git_common = ask->git_common,
		.home = ask->home };
	const char *const *argv = shell(a, ask->text), *const * env;
	int r;

	if (ask->config->check_sandbox == CHECK_NONE) {
		*ret = (struct agent_command){ argv, command_env(a, ask->config, environ, NULL, 0),
			STR("") };
		return 0;
	}
	env = environment_build(a,
			&(struct environment_ask){ .pass = room.agent->env_pass,
					.pass_n = room.agent->env_pass_n,
					.get = getenv,
					.configured = room.agent->env,
					.configured_n = room.agent->env_n });
	r = contain_level(ask->contain, room.agent->sandbox, &room.level, err);
	if (r == 0)
		r = sandbox_enter(a, &room, env, &argv, err);
	if (r < 0)
		return ov_wrap(err, r, "a command on the work of agent \"" STR_FMT "\"",
				STR_ARG(ask->agent));
	*ret = (struct agent_command){ room.level.is == SANDBOX_NONE ? argv
								     : joined(a, ask->shim, argv),
		env, room.level.is == SANDBOX_NONE ? STR("") : told(a, ask->agent) };
	return 0;
}

str agent_command_hint(str fenced, str out)
{
	static const char *const signs[] = { "Read-only file system", "Permission denied" };

	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		if (str_contains(out, str_from(signs[i])))
			return fenced;
	return STR("");
}
