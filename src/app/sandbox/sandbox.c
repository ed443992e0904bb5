#include "app/sandbox/sandbox.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "agent/launch/sandbox.h"
#include "app/sandbox/agent_trust.h"
#include "app/sandbox/other_daemons.h"
#include "app/sandbox/sandbox_home.h"
#include "app/sandbox/sandbox_paths.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "drive/git/git.h"
#include "sys/file/file.h"

#define NODE_MODULES "/node_modules/"

/* What the sandbox hides, and a program may be in. home: NULL when it is shown. */
static bool is_hidden(const char *path, const char *home)
{
	return (home && path_below(path, home)) || path_below(path, "/tmp") ||
			path_below(path, "/run");
}

/* With the packages beside it, where it is one of those that need their neighbours. */
static const char *package_of(struct arena *a, const char *real)
{
	str path = str_from(real);
	size_t at = str_find(path, STR(NODE_MODULES));
	const char *slash = strrchr(real, '/');

	if (at < path.n)
		return arena_cstr(a, str_sub(path, 0, at + sizeof(NODE_MODULES) - 2));
	return arena_cstr(a, str_sub(path, 0, (size_t)(slash - real)));
}

/* Programs that the run needs and that lie below what is hidden. */
static const char *const *find_programs(struct arena *a, const char *overseer,
		const char *const *argv, const char *const *env, const char *home)
{
	const char *path = env_value(env, "PATH"), *program, *real, **ret;
	VEC(const char *) list = { 0 };
	str rest = str_from(path ? path : ""), part;

	while (str_split(&rest, ':', &part)) {
		const char *folder = arena_cstr(a, part);

		if (is_hidden(folder, home))
			vec_push(&list, folder);
	}
	program = strchr(argv[0], '/') ? argv[0] : file_in_path(a, path, argv[0]);
	if (program && is_hidden(program, home))
		vec_push(&list, program);
	real = program ? realpath(program, arena_alloc(a, PATH_MAX)) : NULL;
	if (real && is_hidden(real, home))
		vec_push(&list, package_of(a, real));
	if (overseer && is_hidden(overseer, home))
		vec_push(&list, overseer);
	ret = arena_array(a, const char *, list.n + 1);
	for (size_t i = 0; i < list.n; i++)
		ret[i] = list.p[i];
	vec_done(&list);
	return ret;
}

static int make_folders(const struct sandbox_ask *in, struct ov_err *err)
{
	int r = dir_make(in->tmp, 0700, err);

	if (r == 0)
		r = dir_make(in->nothing, 0700, err);
	if (r == 0 && in->private_home)
		r = dir_make(in->private_home, 0700, err);
	return r < 0 ? ov_wrap(err, r, "making the folders of the sandbox") : 0;
}

/* Mounts follow links: of what is mounted in a folder that a run could write, nothing is one. */
static bool has_links(const char *git_dir)
{
	static const char *const names[] = { "config", "commondir", "hooks", "info",
		"objects/info" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		_cleanup_(fd_closep) int fd = -1;

		if (file_open_beneath(git_dir, names[i], O_PATH, &fd, NULL) < 0)
			return true;
	}
	return false;
}

/* Where the worktree's git folder has to be: what its .git file says is not asked. */
static int find_git(struct arena *a, const struct sandbox_room *room, struct sandbox_ask *in,
		struct ov_err *err)
{
	const char *dir = git_agent_dir(a, str_from(room->worktree));

	if (!room->git_common || !file_exists(dir))
		return 0;
	in->git_dir = dir;
	in->git_common_dir = room->git_common;
	if (!has_links(dir))
		return 0;
	ov_fail(err, OV_ESTATE, "%s is not as it was made: a run or a check has changed it", dir);
	return ov_next(err, "overseer worker reset NAME     (keeps the work, and makes it again)");
}

const char *sandbox_home_of(struct arena *a, const char *const *env)
{
	const char *home = env_value(env, "HOME");
	struct stat st;

	if (!home || home[0] != '/' || stat(home, &st) < 0 || !S_ISDIR(st.st_mode))
		return NULL;
	home = realpath(home, arena_alloc(a, PATH_MAX));
	return home && strcmp(home, "/") != 0 ? home : NULL;
}

/* The home: the assignment's own, or the user's as it is shown. */
static int furnish(struct arena *a, const struct sandbox_room *room, const char *own,
		const char *const *env, struct sandbox_ask *in, struct ov_err *err)
{
	struct sandbox_home_ask ask = { .home = in->home,
		.format = room->run_dir ? room->agent->format : STR("raw"),
		.env = env,
		.store = room->store,
		.own = own,
		.worktree = room->worktree,
		.repo = agent_project(a, room->git_common) };
	bool strict = room->level.is == SANDBOX_BWRAP;

	if (strict && !in->home)
		return ov_fail(err, OV_EINVALID,
				"agent \"" STR_FMT "\" has no HOME that a sandbox could hide",
				STR_ARG(room->agent->name));
	if (strict && room->agent->home == HOME_PRIVATE) {
		in->private_home = path_join(a, own, "home");
		return 0;
	}
	return in->home ? sandbox_home(a, &ask, &in->shown, &in->shown_n, err) : 0;
}

const char *sandbox_own(struct arena *a, const struct sandbox_room *room)
{
	return room->own ? room->own
			 : arena_printf(a, "%s/home/" STR_FMT, room->store, STR_ARG(room->home)).p;
}

int sandbox_enter(struct arena *a, const struct sandbox_room *room, const char *const *env,
		const char *const **argv, struct ov_err *err)
{
	const char *own = sandbox_own(a, room);
	struct sandbox_ask in = {
		.bwrap = room->level.bwrap,
		.argv = *argv,
		.worktree = room->worktree,
		.run_dir = room->run_dir,
		.store = room->store,
		.home = sandbox_home_of(a, env),
		.tmp = path_join(a, own, "tmp"),
		.nothing = path_join(a, own, "nothing"),
		.network = room->level.is == SANDBOX_FENCE || room->agent->network,
		.more = room->more,
		.more_n = room->more_n,
		.read_only = room->read_only,
	};
	struct sandbox_guarded guarded = { .store = room->store,
		.git_common = room->git_common,
		.home = in.home,
		.env = env };
	struct sandbox_words words;
	int r;

	if (room->level.is == SANDBOX_NONE)
		return 0;
	r = find_git(a, room, &in, err);
	if (r == 0)
		r = sandbox_writable(a, room->agent, &guarded, &in.writable, &in.writable_n, err);
	if (r == 0)
		r = furnish(a, room, own, env, &in, err);
	if (r == 0)
		r = make_folders(&in, err);
	if (r < 0)
		return r;
	in.hidden_n = others_stores(a, room->store, &in.hidden);
	in.readable = find_programs(a, room->overseer, *argv, env,
			in.private_home ? in.home : NULL);
	words = sandbox_build(a, &in);
	*argv = words.argv;
	return sandbox_clear_places(a, room->store, &words, err);
}
