/*
 * Putting a part of a worktree aside: into a new folder beside it, under the same name. Nothing
 * that is moved so is lost, whatever git thinks of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "drive/git/git_aside.h"
#include "drive/git/git_call.h"
#include "sys/file/file.h"

enum { FOLDERS_MAX = 10000 };

void git_say(struct git_call *c, str words)
{
	c->res.detail = c->res.detail.n ? arena_printf(&c->arena, STR_FMT "; " STR_FMT,
							  STR_ARG(c->res.detail), STR_ARG(words))
					: words;
}

int git_aside_make(struct git_call *c, const char **ret, struct ov_err *err)
{
	for (int i = 1; i < FOLDERS_MAX; i++) {
		const char *one = arena_printf(&c->arena, "%s.aside-%d", c->path, i).p;

		if (mkdir(one, 0700) == 0) {
			*ret = one;
			return 0;
		}
		if (errno != EEXIST)
			return ov_fail_errno(err, errno, "make %s", one);
	}
	return ov_fail(err, OV_ELIMIT, "too many folders beside %s were moved aside: remove some",
			c->path);
}

int git_aside_put(struct git_call *c, const char *to, str name, struct ov_err *err)
{
	_cleanup_(fd_closep) int parent = -1;
	struct arena *a = &c->arena;
	const char *base, *slash;
	char *into, *end;
	int r = 0;

	while (name.n > 1 && name.p[name.n - 1] == '/')
		name.n--;
	base = arena_cstr(a, name);
	into = path_join(a, to, base);
	end = strrchr(into, '/');
	*end = '\0';
	r = dir_make(into, 0700, err);
	*end = '/';
	slash = strrchr(base, '/');
	/* No part of the name is a link to elsewhere. */
	if (r == 0 && slash)
		r = file_open_beneath(c->path,
				arena_cstr(a, str_sub(name, 0, (size_t)(slash - base))),
				O_PATH | O_DIRECTORY, &parent, err);
	if (r == 0 &&
			renameat2(slash ? parent : c->tree_fd, slash ? slash + 1 : base, AT_FDCWD,
					into, RENAME_NOREPLACE) < 0)
		r = ov_fail_errno(err, errno, "move " STR_FMT " to %s", STR_ARG(name), into);
	return r;
}

/* What is mounted may be all that there is of it: whoever mounted it has to take it away. */
static int mounted(const char *what, struct ov_err *err)
{
	ov_fail(err, OV_ESTATE, "something is mounted over %s, which cannot be moved aside", what);
	return ov_next(err, "umount %s", what);
}

int git_move_aside(struct git_call *c, const char *what, struct ov_err *err)
{
	for (int i = 1; i < FOLDERS_MAX; i++) {
		str to = arena_printf(&c->arena, "%s.aside-%d", c->path, i);

		if (renameat2(AT_FDCWD, what, AT_FDCWD, to.p, RENAME_NOREPLACE) == 0) {
			git_say(c,
					arena_printf(&c->arena, "%s was moved to " STR_FMT, what,
							STR_ARG(to)));
			return 0;
		}
		if (errno == EBUSY)
			return mounted(what, err);
		if (errno != EEXIST)
			return ov_fail_errno(err, errno, "move %s aside to " STR_FMT, what,
					STR_ARG(to));
	}
	return ov_fail(err, OV_ELIMIT, "too many folders beside %s were moved aside: remove some",
			c->path);
}

/* One folder for all of a kind that this call puts aside, and said once. */
static int make_folder(struct git_call *c, const char *what, struct ov_err *err)
{
	int r = c->aside ? 0 : git_aside_make(c, &c->aside, err);
	str words;

	if (r < 0)
		return r;
	words = arena_printf(&c->arena, "%s moved to %s", what, c->aside);
	if (!str_contains(c->res.detail, words))
		git_say(c, words);
	return 0;
}

int git_aside_one(struct git_call *c, int dir, const char *folder, const char *name,
		const char *what, struct ov_err *err)
{
	const char *into;
	int r = make_folder(c, what, err);

	if (r < 0)
		return r;
	into = folder[0] ? path_join(&c->arena, c->aside, folder) : c->aside;
	r = dir_make(into, 0700, err);
	if (r < 0)
		return r;
	into = path_join(&c->arena, into, name);
	if (renameat2(dir, name, AT_FDCWD, into, RENAME_NOREPLACE) < 0)
		return ov_fail_errno(err, errno, "move %s to %s", name, into);
	return 0;
}

int git_aside_path(struct git_call *c, str name, struct ov_err *err)
{
	int r = make_folder(c, "files that were ignored before were", err);

	return r < 0 ? r : git_aside_put(c, c->aside, name, err);
}
