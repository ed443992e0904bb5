#include "app/sandbox/agent_trust.h"

#include <limits.h>
#include <stdlib.h>

#include "agent/launch/home.h"
#include "app/sandbox/sandbox_home.h"
#include "base/arena.h"
#include "sys/file/file.h"

enum { FILE_MAX = 64 << 20 };

const char *agent_project(struct arena *a, const char *git_common)
{
	char *path = git_common ? realpath(git_common, arena_alloc(a, PATH_MAX)) : NULL;
	char *slash = path ? strrchr(path, '/') : NULL;

	if (slash && slash > path && strcmp(slash, "/.git") == 0)
		*slash = '\0';
	return path;
}

static bool says_so(struct arena *a, const struct home_folder *f, const char *const *env,
		const char *project)
{
	const char *named = f->env ? env_value(env, f->env) : NULL, *home = env_value(env, "HOME");
	const char *dir = named ? named : home;
	str text;

	return dir && dir[0] == '/' &&
			file_read(a, path_join(a, dir, f->known[named ? 0 : 1]), FILE_MAX, &text,
					NULL) == 0 &&
			f->trusted(text, project);
}

bool agent_trusts(str format, const char *const *env, const char *project)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	size_t n;
	const struct home_folder *list = home_folders(format, &n);

	for (size_t i = 0; project && i < n; i++)
		if (list[i].trusted && says_so(&a, &list[i], env, project))
			return true;
	return false;
}
