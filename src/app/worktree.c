#include "app/worktree.h"

#include "base/arena.h"
#include "base/str.h"
#include "sys/file.h"

enum { LINE_MAX_BYTES = 8192 };

const char *worktree_admin(struct arena *a, str path)
{
	str line;

	if (file_read(a, path_join(a, arena_cstr(a, path), ".git"), LINE_MAX_BYTES, &line, NULL) <
					0 ||
			!str_starts(line, STR("gitdir: ")))
		return NULL;
	return arena_cstr(a, str_trim(str_sub(line, strlen("gitdir: "), line.n)));
}

const char *worktree_common(struct arena *a, const char *admin)
{
	str line;

	if (file_read(a, path_join(a, admin, "commondir"), LINE_MAX_BYTES, &line, NULL) < 0)
		return admin;
	line = str_trim(line);
	if (line.n && line.p[0] == '/')
		return arena_cstr(a, line);
	return path_join(a, admin, arena_cstr(a, line));
}
