/* How runs are held together here, and what of that is missing. */
#include "app/doctor/doctor_impl.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/table/formats.h"
#include "app/sandbox/contain.h"
#include "app/sandbox/sandbox_paths.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "drive/git/git.h"
#include "sys/file/file.h"
#include "sys/host/userns.h"
#include "sys/proc/cgroup.h"

/* Whether a limit can be kept, and whether anybody wants it. */
static void say_limit(struct doctor *d, const char *dir, const char *controller, bool wanted)
{
	if (cgroup_offers(dir, controller)) {
		doctor_say(d, DOCTOR_OK, "limits of %s can be kept", controller);
		return;
	}
	doctor_say(d, wanted ? DOCTOR_WARNING : DOCTOR_OK,
			"limits of %s cannot be kept (no such controller%s)", controller,
			wanted ? ", but an agent has one" : "");
	if (wanted)
		doctor_next(d,
				"run the daemon in a group to which the controller \"%s\" is "
				"delegated",
				controller);
}

void doctor_containment(struct doctor *d)
{
	const struct config *c = d->cx->config;
	bool memory = false, pids = false;
	struct ov_err err = { 0 };
	const char *dir = NULL;

	for (size_t i = 0; i < c->agents_n; i++) {
		memory |= c->agents[i].memory_max_bytes > 0;
		pids |= c->agents[i].pids_max > 0;
	}
	if (!c->cgroups)
		ov_fail(&err, OV_ESTATE, "supervisor.cgroups is false");
	else if (cgroup_find(d->a, &dir, &err) == 0)
		cgroup_probe(dir, &err);
	if (!err.code) {
		doctor_say(d, DOCTOR_OK, "each run gets a control group below %s", dir);
		say_limit(d, dir, "memory", memory);
		say_limit(d, dir, "pids", pids);
		return;
	}
	doctor_say(d, memory || pids ? DOCTOR_WARNING : DOCTOR_OK,
			"no control groups (%s): runs are held together by their shim, and what a "
			"killed shim leaves is found by its environment%s",
			err.msg, memory || pids ? "; limits of agents cannot be kept" : "");
	if (memory || pids)
		doctor_next(d,
				"run the daemon in a delegated group, such as a service with "
				"Delegate=yes");
}

/* How many agents ask for a level. */
static size_t agents_of(const struct config *c, enum sandbox level)
{
	size_t n = 0;

	for (size_t i = 0; i < c->agents_n; i++)
		n += c->agents[i].sandbox == level;
	return n;
}

static void say_sandboxes(struct doctor *d, const struct sandbox_level *level, const char *why)
{
	const struct config *c = d->cx->config;
	size_t autos = agents_of(c, SANDBOX_AUTO), none = agents_of(c, SANDBOX_NONE);
	size_t explicitly = agents_of(c, SANDBOX_FENCE) + agents_of(c, SANDBOX_BWRAP);

	if (level->bwrap) {
		doctor_say(d, none ? DOCTOR_WARNING : DOCTOR_OK,
				"%s works; %zu of %zu agents run in a fence, %zu in bwrap%s",
				level->bwrap, autos + agents_of(c, SANDBOX_FENCE), c->agents_n,
				agents_of(c, SANDBOX_BWRAP),
				none ? ", the others without a sandbox" : "");
		return;
	}
	if (explicitly)
		doctor_say(d, DOCTOR_PROBLEM, "%s: %zu of %zu agents cannot be run%s", why,
				explicitly, c->agents_n,
				autos + none ? ", the others run without a sandbox" : "");
	else
		doctor_say(d, autos ? DOCTOR_WARNING : DOCTOR_OK,
				"agents run without a sandbox: %s", why);
	if (explicitly || autos)
		doctor_next(d, "install the package bubblewrap, or set sandbox = \"none\"");
}

/* What is refused when a run is started. */
static void say_unsafe(struct doctor *d, const struct config_agent *agent)
{
	const char *home = getenv("HOME");
	struct sandbox_guarded guarded = { .store = d->dir,
		.git_common = path_join(d->a, d->repo, ".git"),
		.home = home ? realpath(home, arena_alloc(d->a, PATH_MAX)) : NULL,
		.env = (const char *const *)environ };
	struct ov_err err = { 0 };
	const str *paths;
	size_t n;

	if (agent->sandbox == SANDBOX_NONE ||
			sandbox_writable(d->a, agent, &guarded, &paths, &n, &err) == 0)
		return;
	doctor_say(d, DOCTOR_PROBLEM, "%s", err.msg);
	doctor_next(d, "%s", err.next);
}

/* It is left out of the sandbox, so that what needs it fails there. */
static void say_writable(struct doctor *d)
{
	const struct config *c = d->cx->config;

	for (size_t i = 0; i < c->agents_n; i++) {
		say_unsafe(d, &c->agents[i]);
		for (size_t k = 0; k < c->agents[i].sandbox_writable_n; k++) {
			str path = c->agents[i].sandbox_writable[k];

			if (!file_exists(arena_cstr(d->a, path)))
				doctor_say(d, DOCTOR_WARNING,
						"agents." STR_FMT ".sandbox_writable: " STR_FMT
						" does not exist, so it is left out",
						STR_ARG(c->agents[i].name), STR_ARG(path));
		}
	}
}

/*
 * Agents whose tools run in a sandbox that they make themselves, where no sandbox of ours is
 * around them.
 */
static void say_boxes(struct doctor *d, const struct sandbox_level *level)
{
	const struct config *c = d->cx->config;
	int why = 0;

	for (size_t i = 0; i < c->agents_n; i++) {
		const struct config_agent *x = &c->agents[i];
		const struct agent_format *f = format_find(x->format);
		const char *mode = f ? f->unboxed_mode : NULL;

		if (!mode || str_is(x->permission_mode, mode) ||
				(level->bwrap && x->sandbox != SANDBOX_NONE))
			continue;
		if (!why && (why = userns_try()) == 0)
			return;
		doctor_say(d, DOCTOR_PROBLEM,
				"agent " STR_FMT " can run no command: %s makes a sandbox for them "
				"that needs user namespaces, which are forbidden here (%s)",
				STR_ARG(x->name), f->title, strerror(why));
		doctor_next(d,
				"allow user namespaces, or, where this machine itself is the "
				"fence, set agents." STR_FMT ".permission_mode = \"%s\"",
				STR_ARG(x->name), mode);
	}
}

/* Our own git, on what agents wrote; fenced: a sandbox can be made. */
static void say_git(struct doctor *d, bool fenced)
{
	const char *shim = d->cx->daemon->shim, *filters = "";
	struct ov_err err;

	if (d->cx->config->default_sandbox == SANDBOX_NONE || !shim)
		return;
	if (fenced)
		filters = "; its filters and merge drivers run in a sandbox";
	if (git_confine_works(shim, &err) == 0)
		doctor_say(d, DOCTOR_OK, "git%s confined to a run's folders%s",
				fenced ? " is" : " and its filters are", filters);
	else
		doctor_say(d, DOCTOR_WARNING,
				"git is not confined where it reads what agents wrote: %s%s",
				err.msg, filters);
}

void doctor_sandbox(struct doctor *d)
{
	const struct config *c = d->cx->config;
	struct contain *k = contain_new(c);
	struct sandbox_level level;
	struct ov_err why = { 0 };

	(void)contain_level(k, SANDBOX_AUTO, &level, &why);
	say_sandboxes(d, &level, why.msg);
	say_writable(d);
	say_boxes(d, &level);
	say_git(d, level.is != SANDBOX_NONE);
	if (c->check_sandbox == CHECK_NONE) {
		doctor_say(d, DOCTOR_WARNING,
				"setup, check and pre-accept commands run what agents wrote "
				"outside of any sandbox (workspace.check_sandbox = \"none\")");
		doctor_next(d, "remove workspace.check_sandbox from config.toml");
	}
	contain_free(k);
}
