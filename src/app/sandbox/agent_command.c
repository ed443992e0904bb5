#include "app/sandbox/agent_command.h"

#include <stdlib.h>
#include <unistd.h>

#include "agent/launch/environment.h"
#include "app/sandbox/sandbox.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/config/command_env.h"
#include "drive/run/run.h"

static const str default_pass[] = { STR("HOME"), STR("PATH"), STR("USER"), STR("LANG"),
	STR("LC_ALL"), STR("TZ"), STR("TMPDIR"), STR("TERM"), STR("GIT_AUTHOR_NAME"),
	STR("GIT_AUTHOR_EMAIL"), STR("GIT_COMMITTER_NAME"), STR("GIT_COMMITTER_EMAIL") };

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
static const char *const *agent_command_joined(struct arena *a, const char *shim,
		const char *const *argv)
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
	*ret = (struct agent_command){ room.level.is == SANDBOX_NONE
				? argv
				: agent_command_joined(a, ask->shim, argv),
		env, room.level.is == SANDBOX_NONE ? STR("") : arena_str(a, ask->agent) };
	return 0;
}

/* What the sandbox does not let a command do, and what a person can do about it. */
enum advice { ADVICE_WRITE, ADVICE_SOCKET, ADVICE_KEYS };

#define HIDES "It hides /run, your /tmp and, in your home, sockets of other programs"

static const struct {
	bool option; /* the text follows "agents.NAME." */
	const char *text;
} advices[] = {
	[ADVICE_WRITE] = { true, "sandbox_writable names more paths that can be written there" },
	[ADVICE_SOCKET] = { false, HIDES ", so also docker's" },
	[ADVICE_KEYS] = { false, HIDES ", so also that of an ssh agent" },
};

/* The first that fits counts: one that is a part of another comes after it. */
static const struct {
	const char *said;
	enum advice advice;
} signs[] = {
	{ "Permission denied (publickey", ADVICE_KEYS },
	{ "Could not open a connection to your authentication agent", ADVICE_KEYS },
	{ "Error connecting to agent", ADVICE_KEYS },
	{ "Cannot connect to the Docker daemon", ADVICE_SOCKET },
	{ "Read-only file system", ADVICE_WRITE },
	{ "read-only file system", ADVICE_WRITE },   /* node: EROFS */
	{ "Device or resource busy", ADVICE_WRITE }, /* git: a file that is mounted */
	{ "unable to open database file", ADVICE_WRITE },
	{ "attempt to write a readonly database", ADVICE_WRITE },
	{ "Permission denied", ADVICE_WRITE },
};

str agent_command_hint(struct arena *a, str agent, str out)
{
	for (size_t i = 0; agent.n && i < ARRAY_LEN(signs); i++) {
		bool option = advices[signs[i].advice].option;

		if (str_contains(out, str_from(signs[i].said)))
			return arena_printf(a,
					"\n(It ran in the sandbox of agent " STR_FMT ". %s" STR_FMT
					"%s%s; workspace.check_sandbox = \"none\" "
					"runs such commands outside of it. See docs/security.md.)",
					STR_ARG(agent), option ? "agents." : "",
					STR_ARG(option ? agent : STR("")), option ? "." : "",
					advices[signs[i].advice].text);
	}
	return STR("");
}
