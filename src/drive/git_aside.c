/*
 * Putting aside: what is in the way and cannot be kept by git is renamed, and the call says where it is
 * now. Beside "PATH" that is "PATH.aside-1", or the next number that is free.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "drive/git_aside.h"
#include "drive/git_call.h"
#include "drive/git_steps.h"
#include "drive/git_walk.h"
#include "sys/file.h"

enum { ASIDE_MAX = 10000 };

static int too_many(struct git_call *c, struct ov_err *err)
{
	return ov_fail(err, OV_ELIMIT, "too many folders beside %s were moved aside: remove some",
			c->path);
}

/* What is mounted may be all that there is of it: whoever mounted it has to take it away. */
static int mounted(const char *what, struct ov_err *err)
{
	int r = ov_fail(err, OV_ESTATE, "something is mounted over %s, which cannot be moved aside",
			what);

	ov_next(err, "umount %s", what);
	return r;
}

int git_move_aside(struct git_call *c, const char *what, struct ov_err *err)
{
	for (int i = 1; i < ASIDE_MAX; i++) {
		str to = arena_printf(&c->arena, "%s.aside-%d", c->path, i);

		if (renameat2(AT_FDCWD, what, AT_FDCWD, to.p, RENAME_NOREPLACE) == 0) {
			c->res.detail = arena_printf(&c->arena, "%s was moved to " STR_FMT, what,
					STR_ARG(to));
			return 0;
		}
		if (errno == EBUSY)
			return mounted(what, err);
		if (errno != EEXIST)
			return ov_fail_errno(err, errno, "move %s aside to " STR_FMT, what,
					STR_ARG(to));
	}
	return too_many(c, err);
}

/* One folder for all that this call puts aside. */
static int make_folder(struct git_call *c, struct ov_err *err)
{
	for (int i = 1; !c->aside && i < ASIDE_MAX; i++) {
		const char *one = arena_printf(&c->arena, "%s.aside-%d", c->path, i).p;

		if (mkdir(one, 0700) == 0)
			c->aside = one;
		else if (errno != EEXIST)
			return ov_fail_errno(err, errno, "make %s", one);
	}
	return c->aside ? 0 : too_many(c, err);
}

int git_aside_one(struct git_call *c, int dir, const char *folder, const char *name,
		const char *what, struct ov_err *err)
{
	const char *into;
	int r = make_folder(c, err);

	if (r < 0)
		return r;
	into = folder[0] ? path_join(&c->arena, c->aside, folder) : c->aside;
	r = dir_make(into, 0700, err);
	if (r < 0)
		return r;
	into = path_join(&c->arena, into, name);
	if (renameat2(dir, name, AT_FDCWD, into, RENAME_NOREPLACE) < 0)
		return ov_fail_errno(err, errno, "move %s to %s", name, into);
	c->res.detail = arena_printf(&c->arena, "%s moved to %s", what, c->aside);
	return 0;
}

/* "a/b/" is one entry of its folder. */
int git_aside_path(struct git_call *c, str name, struct ov_err *err)
{
	struct arena *a = &c->arena;
	size_t cut;

	while (name.n > 1 && name.p[name.n - 1] == '/')
		name.n--;
	for (cut = name.n; cut > 0 && name.p[cut - 1] != '/';)
		cut--;
	_cleanup_(fd_closep)
	int fd = git_walk_open(c, arena_cstr(a, str_sub(name, 0, cut ? cut - 1 : 0)));

	if (fd < 0)
		return ov_fail_errno(err, errno, "move " STR_FMT " aside", STR_ARG(name));
	return git_aside_one(c, fd, arena_cstr(a, str_sub(name, 0, cut ? cut - 1 : 0)),
			arena_cstr(a, str_sub(name, cut, name.n)),
			"files that were ignored before were", err);
}
