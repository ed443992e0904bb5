#include "app/agents/agent.h"

#include <stdlib.h>

#include "agent/launch/environment.h"
#include "agent/launch/launch.h"
#include "agent/read/hook.h"
#include "agent/table/formats.h"
#include "app/sandbox/agent_trust.h"
#include "app/sandbox/sandbox.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "drive/git/git.h"
#include "sys/file/file.h"

static const char *const *environment(struct arena *a, const struct driver_ask *ask,
		const struct launch *launch, const char *prompt_file)
{
	const struct config_agent *agent = ask->agent;
	const struct env_pair own[] = {
		{ STR("OVERSEER_GOAL"), ask->goal_id },
		{ STR("OVERSEER_NODE"), ask->node_id },
		{ STR("OVERSEER_ASSIGNMENT"), ask->assignment_id },
		{ STR("OVERSEER_ATTEMPT"), arena_printf(a, "%lld", (long long)ask->attempt) },
		{ STR("OVERSEER_WORKTREE"), str_from(ask->worktree) },
		{ STR("OVERSEER_PROMPT_FILE"), str_from(prompt_file) },
		{ STR(HOOK_RUN_DIR), str_from(ask->dir) },
	};

	return environment_build(a,
			&(struct environment_ask){
					.pass = agent->env_pass,
					.pass_n = agent->env_pass_n,
					.get = getenv,
					.launch = launch,
					.configured = agent->env,
					.configured_n = agent->env_n,
					.own = own,
					.own_n = ARRAY_LEN(own),
			});
}

/*
 * Where the worktree's own git folder is, and the repository's. What its .git file says is
 * not asked.
 */
static void find_git(struct arena *a, const struct driver_ask *ask, struct launch_ask *how)
{
	const char *dir = git_agent_dir(a, str_from(ask->worktree));

	if (!ask->git_common || !file_exists(dir))
		return;
	how->git_dir = dir;
	how->git_common_dir = ask->git_common;
}

static struct launch_ask how_to(struct arena *a, const struct driver_ask *ask,
		const struct agent_format *format, const char *prompt_file)
{
	const struct config_agent *agent = ask->agent;
	struct launch_ask how = {
		.format = format,
		.command = agent->command,
		.command_n = agent->command_n,
		.model = agent->model,
		.permission_mode = agent->permission_mode,
		.max_turns = agent->max_turns,
		.prompt_by = agent->prompt_by,
		.prompt = ask->prompt,
		.prompt_file = prompt_file,
		.session = ask->session,
		.resume = ask->resume,
		.scope = ask->scope,
		.hook = format->hooks ? ask->overseer : NULL,
		.run_dir = ask->dir,
		.worktree = ask->worktree,
		.keep_input = agent->input == INPUT_STDIN,
		.terminal = str_is(agent->runtime, "tmux"),
	};

	find_git(a, ask, &how);
	return how;
}

static bool is_trusted(struct arena *a, const struct driver_ask *ask, const char *prompt_file)
{
	return agent_trusts(ask->agent->format, environment(a, ask, NULL, prompt_file),
			agent_project(a, ask->git_common));
}

static int write_files(struct arena *a, const struct driver_ask *ask, const struct launch *l,
		struct ov_err *err)
{
	for (size_t i = 0; i < l->files_n; i++) {
		char *path = path_join(a, ask->dir, l->files[i].path);
		char *slash = strrchr(path, '/');
		int r;

		*slash = '\0';
		r = dir_make(path, 0700, err);
		*slash = '/';
		if (r == 0)
			r = file_write_atomic(path, l->files[i].text, 0600, err);
		if (r < 0)
			return ov_wrap(err, r, "writing what the agent reads");
	}
	return 0;
}

int agent_prepare(struct arena *a, const struct driver_ask *ask, struct agent_launch *ret,
		struct ov_err *err)
{
	const struct agent_format *format = format_find(ask->agent->format);
	const char *prompt_file = path_join(a, ask->dir, "instruction");
	const char *const *env;
	struct sandbox_room room = {
		.agent = ask->agent,
		.store = ask->store,
		.worktree = ask->worktree,
		.git_common = ask->git_common,
		.run_dir = ask->dir,
		.overseer = ask->overseer,
		.home = ask->home,
	};
	struct launch_ask how;
	struct launch launch;
	int r = dir_make(ask->dir, 0700, err);

	assert(format);
	if (r == 0)
		r = file_write_atomic(prompt_file, ask->prompt, 0600, err);
	if (r < 0)
		return ov_wrap(err, r, "writing the instruction");
	r = contain_level(ask->contain, ask->agent->sandbox, &room.level, err);
	if (r < 0)
		return ov_wrap(err, r, "agent \"" STR_FMT "\"", STR_ARG(ask->agent->name));
	how = how_to(a, ask, format, prompt_file);
	how.sandboxed = room.level.is != SANDBOX_NONE;
	how.trusted = is_trusted(a, ask, prompt_file);
	r = launch_build(a, &how, &launch, err);
	if (r == 0)
		r = write_files(a, ask, &launch, err);
	if (r < 0)
		return r;
	env = environment(a, ask, &launch, prompt_file);
	room.read_only = launch.read_only;
	r = sandbox_enter(a, &room, env, &launch.argv, err);
	if (r < 0)
		return r;
	*ret = (struct agent_launch){
		.format = format,
		.hooks = format->hooks && ask->overseer,
		.argv = launch.argv,
		.env = env,
		.sandbox = room.level.is,
		.trusted = how.trusted,
		.cwd = ask->worktree,
		.input = launch.input,
		.sessions = sessions_find(a, &room, env),
	};
	ret->sessions.session = ask->session;
	ret->sessions.resumed = ask->resume;
	return 0;
}
