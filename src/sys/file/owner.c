#include "sys/file/owner.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"

/* "alice (uid 1000)", or "uid 1000" where nobody has a name for it. */
static str user_text(struct arena *a, uid_t uid)
{
	const struct passwd *p = getpwuid(uid);

	return p ? arena_printf(a, "%s (uid %u)", p->pw_name, (unsigned)uid)
		 : arena_printf(a, "uid %u", (unsigned)uid);
}

static bool is_callers(uid_t uid)
{
	const char *sudo = getenv("SUDO_UID");
	int64_t from;

	if (uid == geteuid())
		return true;
	return geteuid() == 0 && sudo && str_to_i64(str_from(sudo), &from) && from > 0 &&
			from == (int64_t)uid;
}

/*
 * The owner's own group by the usual scheme: it has the owner's name, is the owner's first group,
 * and lists nobody else. A group such as "users", which is the first one of many, lists none
 * of them.
 */
static bool is_private_group(uid_t uid, gid_t gid)
{
	const struct passwd *p = getpwuid(uid);
	const struct group *g;
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const char *name;

	if (!p || p->pw_gid != gid)
		return false;
	name = arena_cstr(&a, str_from(p->pw_name));
	g = getgrgid(gid);
	if (!g || strcmp(g->gr_name, name) != 0)
		return false;
	for (char **m = g->gr_mem; *m; m++)
		if (strcmp(*m, name) != 0)
			return false;
	return true;
}

/* Who else may write to it; NULL: nobody. */
static const char *other_writer(const char *path, const struct stat *st)
{
	if (st->st_mode & S_IWOTH)
		return "every user";
	if (!(st->st_mode & S_IWGRP))
		return NULL;
	/* With an access list these bits are its mask, and the list may name anybody. */
	if (getxattr(path, "system.posix_acl_access", NULL, 0) > 0)
		return "users named by its access list";
	return is_private_group(st->st_uid, st->st_gid) ? NULL : "other users of its group";
}

static bool belongs_to(const char *path, uid_t uid)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_uid == uid;
}

/*
 * Somebody works with it: what is around it is theirs too, or a daemon of theirs has used it. To
 * take it away from them would break that.
 */
static bool is_in_use(struct arena *a, const char *path, uid_t uid)
{
	return belongs_to(path_join(a, path, ".."), uid) ||
			belongs_to(path_join(a, path, "daemon.json"), uid);
}

static int next_for(struct arena *a, const char *path, uid_t uid, struct ov_err *err)
{
	const struct passwd *p = getpwuid(uid);

	if (!is_in_use(a, path, uid))
		return ov_next(err, "sudo chown -R $(id -un) %s     if you trust its config.toml",
				path);
	if (p)
		return ov_next(err, "sudo -u %s overseer COMMAND     it is in use by that user",
				p->pw_name);
	return ov_next(err, "sudo -u '#%u' overseer COMMAND     it is in use by that user",
			(unsigned)uid);
}

static int owner_check(const char *path, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const char *writer;
	struct stat st;

	if (stat(path, &st) < 0)
		return errno == ENOENT ? 0 : ov_fail_errno(err, errno, "%s", path);
	if (!is_callers(st.st_uid)) {
		ov_fail(err, OV_EUNAUTHORIZED,
				"%s belongs to " STR_FMT ", not to " STR_FMT
				": the commands that this store names would run as you",
				path, STR_ARG(user_text(&a, st.st_uid)),
				STR_ARG(user_text(&a, geteuid())));
		return next_for(&a, path, st.st_uid, err);
	}
	writer = other_writer(path, &st);
	if (!writer)
		return 0;
	ov_fail(err, OV_EUNAUTHORIZED,
			"%s can be written by %s: the commands that this store names would run as "
			"you",
			path, writer);
	return ov_next(err, "chmod go-w %s", path);
}

int owner_check_store(const char *dir, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	int r = owner_check(dir, err);

	return r == 0 ? owner_check(path_join(&a, dir, "config.toml"), err) : r;
}
