#include "app/agent.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file.h"

const struct config_agent *agent_find(const struct config *c, str name)
{
	for (size_t i = 0; i < c->agents_n; i++)
		if (str_eq(c->agents[i].name, name))
			return &c->agents[i];
	return NULL;
}

/* Replaces each {name} of one argument; an argument is never split, whatever the prompt contains. */
static char *substitute(struct arena *a, str arg, str prompt, const char *prompt_file)
{
	const struct {
		str name, value;
	} names[] = { { STR("{prompt}"), prompt },
		{ STR("{prompt_file}"), str_from(prompt_file) } };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		size_t at = str_find(arg, names[i].name);

		/* Looks only before the inserted text, so that a prompt that holds "{prompt}" stays text. */
		if (at < arg.n)
			return arena_cstr(a,
					arena_printf(a, STR_FMT STR_FMT STR_FMT, (int)at, arg.p,
							STR_ARG(names[i].value),
							STR_ARG(str_sub(arg, at + names[i].name.n,
									arg.n))));
	}
	return arena_cstr(a, arg);
}

struct env_list {
	struct arena *a;
	const char **p;
	size_t n;
};

static void env_add(struct env_list *l, str name, str val)
{
	l->p[l->n++] = arena_cstr(l->a,
			arena_printf(l->a, STR_FMT "=" STR_FMT, STR_ARG(name), STR_ARG(val)));
}

static const char *const *environment(struct arena *a, const struct driver_ask *ask,
		const char *prompt_file)
{
	const struct config_agent *agent = ask->agent;
	const struct {
		const char *name;
		str value;
	} own[] = {
		{ "OVERSEER_GOAL", ask->goal_id },
		{ "OVERSEER_NODE", ask->node_id },
		{ "OVERSEER_ASSIGNMENT", ask->assignment_id },
		{ "OVERSEER_ATTEMPT", arena_printf(a, "%lld", (long long)ask->attempt) },
		{ "OVERSEER_WORKTREE", str_from(ask->worktree) },
		{ "OVERSEER_PROMPT_FILE", str_from(prompt_file) },
	};
	struct env_list l = { .a = a };

	l.p = arena_array(a, const char *, agent->env_pass_n + agent->env_n + ARRAY_LEN(own) + 1);
	for (size_t i = 0; i < agent->env_pass_n; i++) {
		const char *v = getenv(arena_cstr(a, agent->env_pass[i]));

		if (v)
			env_add(&l, agent->env_pass[i], str_from(v));
	}
	for (size_t i = 0; i < agent->env_n; i++)
		env_add(&l, agent->env[i].name, agent->env[i].value);
	for (size_t i = 0; i < ARRAY_LEN(own); i++)
		env_add(&l, str_from(own[i].name), own[i].value);
	return l.p;
}

int agent_prepare(struct arena *a, const struct driver_ask *ask, struct agent_launch *ret,
		struct ov_err *err)
{
	const struct config_agent *agent = ask->agent;
	const char *prompt_file = path_join(a, ask->dir, "instruction");
	const char **argv;
	int r = dir_make(ask->dir, 0700, err);

	if (r == 0)
		r = file_write_atomic(prompt_file, ask->prompt, 0600, err);
	if (r < 0)
		return ov_wrap(err, r, "writing the instruction");
	argv = arena_array(a, const char *, agent->command_n + 1);
	for (size_t i = 0; i < agent->command_n; i++)
		argv[i] = substitute(a, agent->command[i], ask->prompt, prompt_file);
	*ret = (struct agent_launch){
		.argv = argv,
		.env = environment(a, ask, prompt_file),
		.cwd = ask->worktree,
		.input = agent->input == INPUT_STDIN               ? (str){ 0 }
				: agent->prompt_by == PROMPT_STDIN ? ask->prompt
								   : STR(""),
	};
	return 0;
}
