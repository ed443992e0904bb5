/*
 * The sandbox for filters and merge drivers that git runs on a worktree. They may be what its agent
 * wrote, so it is that agent's; where the agent has none by its own choice, or is not known, that
 * of the defaults.
 */
#include "app/exec/executor_impl.h"

#include <libgen.h>
#include <unistd.h>

#include "agent/launch/sandbox.h"
#include "app/engine/engine.h"
#include "app/sandbox/contain.h"
#include "app/sandbox/sandbox.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/state/state.h"
#include "drive/git/git.h"
#include "sys/file/file.h"

/* Who works there; NULL: nobody, or it is no worker's. */
static const struct config_agent *agent_at(const struct executor *x, struct arena *a, str path)
{
	const struct state *s = engine_state(x->engine);
	const struct worker *w = state_worker(s, str_from(basename(arena_cstr(a, path))));
	const struct assignment *as = w && w->assignment_id.n
			? state_assignment(s, w->assignment_id)
			: NULL;

	return as ? config_agent(x->o.config, as->agent) : NULL;
}

/*
 * Of git's folders all is to be read, whatever is configured, and a little of ours to be written.
 */
static void add_mounts(const struct executor *x, struct arena *a,
		const struct git_programs_ask *ask, struct sandbox_room *room)
{
	const char *const readable[] = { git_common_dir(x->git),
		path_join(a, ask->worktree, ".git"), ask->readable };
	struct sandbox_mount *more;
	size_t n = 0;

	while (ask->writable[n])
		n++;
	more = arena_array(a, struct sandbox_mount, ARRAY_LEN(readable) + n);
	for (size_t i = 0; i < ARRAY_LEN(readable); i++)
		more[room->more_n++] = (struct sandbox_mount){ SANDBOX_READ, readable[i],
			readable[i] };
	for (size_t i = 0; i < n; i++)
		more[room->more_n++] = (struct sandbox_mount){ SANDBOX_WRITE, ask->writable[i],
			ask->writable[i] };
	room->more = more;
}

int executor_programs(void *user, struct arena *a, const struct git_programs_ask *ask,
		const char *const **ret, struct ov_err *err)
{
	const struct executor *x = user;
	const struct config *c = x->o.config;
	const struct config_agent unknown = { .name = STR("default"),
		.format = STR("raw"),
		.sandbox = c->default_sandbox },
				  *agent = agent_at(x, a, str_from(ask->worktree));
	struct sandbox_room room = { .agent = agent ? agent : &unknown,
		.store = x->o.dir,
		.worktree = ask->worktree,
		.own = ask->own };
	const char *const *argv = ask->argv;
	int r = contain_level(x->contain, room.agent->sandbox, &room.level, err);

	if (r == 0 && room.level.is == SANDBOX_NONE)
		r = contain_level(x->contain, c->default_sandbox, &room.level, err);
	*ret = NULL;
	if (r < 0 || room.level.is == SANDBOX_NONE)
		return r;
	add_mounts(x, a, ask, &room);
	r = sandbox_enter(a, &room, (const char *const *)environ, &argv, err);
	if (r == 0)
		*ret = argv;
	return r;
}
