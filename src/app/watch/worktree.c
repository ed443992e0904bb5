#include "app/watch/worktree.h"

#include <sys/stat.h>

#include "base/arena.h"
#include "base/str.h"
#include "drive/git/git.h"
#include "sys/file/file.h"

enum { LINE_MAX_BYTES = 8192 };

bool worktree_is_whole(str path)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const char *gitdir;
	struct stat at, ours;
	str line;

	if (file_read_beneath(&a, arena_cstr(&a, path), ".git", LINE_MAX_BYTES, &line, NULL) < 0 ||
			!str_starts(line, STR("gitdir: ")))
		return false;
	gitdir = arena_cstr(&a, str_trim(str_sub(line, strlen("gitdir: "), line.n)));
	/* An earlier version made linked worktrees; the next harvest makes them as they are now. */
	if (lstat(git_agent_dir(&a, path), &ours) < 0)
		return gitdir[0] == '/' && file_exists(gitdir);
	if (gitdir[0] != '/')
		gitdir = path_join(&a, arena_cstr(&a, path), gitdir);
	return stat(gitdir, &at) == 0 && at.st_dev == ours.st_dev && at.st_ino == ours.st_ino;
}
