#include "app/sandbox.h"

#include <limits.h>
#include <stdlib.h>

#include "agent/sandbox.h"
#include "app/contain.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "sys/file.h"

#define NODE_MODULES "/node_modules/"

static const char *env_value(const char *const *env, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; env[i]; i++)
		if (strncmp(env[i], name, n) == 0 && env[i][n] == '=')
			return env[i] + n + 1;
	return NULL;
}

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && path[n] == '/';
}

/* What the sandbox hides, and a program may be in. */
static bool is_hidden(const char *path, const char *home)
{
	return is_below(path, home) || is_below(path, "/tmp") || is_below(path, "/run");
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
static const char *const *find_programs(struct arena *a, const struct driver_ask *ask,
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
	if (ask->overseer && is_hidden(ask->overseer, home))
		vec_push(&list, ask->overseer);
	ret = arena_array(a, const char *, list.n + 1);
	for (size_t i = 0; i < list.n; i++)
		ret[i] = list.p[i];
	vec_done(&list);
	return ret;
}

static const char *branch_of(struct arena *a, const char *git_dir)
{
	str text;

	if (!git_dir || file_read(a, path_join(a, git_dir, "HEAD"), PATH_MAX, &text, NULL) < 0 ||
			!str_starts(text, STR("ref: ")))
		return NULL;
	return arena_cstr(a, str_trim(str_sub(text, 5, text.n)));
}

static int make_folders(struct arena *a, const struct sandbox_ask *in, struct ov_err *err)
{
	const char *folders[4];
	size_t n = sandbox_git_folders(a, in, folders, ARRAY_LEN(folders));
	int r = dir_make(in->tmp, 0700, err);

	if (r == 0 && in->private_home)
		r = dir_make(in->private_home, 0700, err);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = dir_make(folders[i], 0777, err);
	if (r == 0 && n) {
		r = file_create_atomic(path_join(a, in->git_dir, "config.worktree"), STR(""), 0644,
				err);
		r = r == OV_ECONFLICT ? 0 : r;
	}
	return r < 0 ? ov_wrap(err, r, "making the folders of the sandbox") : 0;
}

int sandbox_enter(struct arena *a, const struct driver_ask *ask, const struct launch_ask *how,
		const char *const *env, const char *const **argv, struct ov_err *err)
{
	const char *home = env_value(env, "HOME");
	const char *own = arena_printf(a, "%s/home/" STR_FMT, ask->store, STR_ARG(ask->home)).p;
	struct sandbox_ask in = {
		.argv = *argv,
		.worktree = ask->worktree,
		.run_dir = ask->dir,
		.store = ask->store,
		.git_dir = how->git_dir,
		.git_common_dir = how->git_common_dir,
		.branch = branch_of(a, how->git_dir),
		.home = home,
		.tmp = path_join(a, own, "tmp"),
		.home_writable = sandbox_home_writable(ask->agent->format),
		.writable = ask->agent->sandbox_writable,
		.writable_n = ask->agent->sandbox_writable_n,
		.network = ask->agent->network,
	};
	int r = contain_sandbox(ask->contain, &in.bwrap, err);

	if (r < 0)
		return ov_wrap(err, r, "agent \"" STR_FMT "\"", STR_ARG(ask->agent->name));
	if (!home || home[0] != '/' || strcmp(home, "/") == 0)
		return ov_fail(err, OV_EINVALID,
				"agent \"" STR_FMT "\" has no HOME that a sandbox could hide",
				STR_ARG(ask->agent->name));
	if (ask->agent->home == HOME_PRIVATE)
		in.private_home = path_join(a, own, "home");
	in.readable = find_programs(a, ask, *argv, env, home);
	r = make_folders(a, &in, err);
	if (r == 0)
		*argv = sandbox_argv(a, &in);
	return r;
}
