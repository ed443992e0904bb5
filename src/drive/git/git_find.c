/*
 * What can be seen without a child: where a worktree and its git folders are, what somebody is at
 * in other worktrees, which locks are left over.
 */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/git/git_walk.h"
#include "sys/file/file.h"

/* The path with its parent resolved; the last part may be missing. */
static str path_real(struct arena *a, const char *path)
{
	str s = str_from(path), name;
	size_t cut;
	char *dir, *real;

	while (s.n > 1 && s.p[s.n - 1] == '/')
		s.n--;
	for (cut = s.n; cut > 0 && s.p[cut - 1] != '/';)
		cut--;
	name = str_sub(s, cut, s.n);
	dir = arena_cstr(a, str_sub(s, 0, cut ? cut : s.n));
	real = realpath(dir, NULL);
	if (real) {
		s = arena_printf(a, "%s/" STR_FMT, strcmp(real, "/") == 0 ? "" : real,
				STR_ARG(name));
		free(real); /* from realpath(3), so not ours to mem_free */
	} else {
		s = arena_str(a, s);
	}
	return s;
}

/* The folder that an entry of COMMON/worktrees is for; empty when it cannot be read. */
static str admin_folder(struct arena *a, const char *admin)
{
	str line;

	if (file_read(a, path_join(a, admin, "gitdir"), 8192, &line, NULL) < 0)
		return (str){ 0 };
	line = str_trim(line);
	if (!str_ends(line, STR("/.git")))
		return (str){ 0 };
	line = arena_str(a, str_sub(line, 0, line.n - 5));
	if (line.p[0] != '/')
		line = str_from(path_join(a, admin, line.p));
	return path_real(a, line.p);
}

/* Is c->path the user's checkout? */
static bool git_is_checkout(const struct git_call *c)
{
	struct arena a = ARENA_INIT;
	bool same = str_eq(path_real(&a, c->path), path_real(&a, c->g->repo));

	arena_done(&a);
	return same;
}

static bool is_folder(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* Its entry in the repository, where an earlier version made it as a linked worktree; else NULL. */
static const char *linked_admin(struct git_call *c)
{
	struct arena *a = &c->arena;
	const char *dir = path_join(a, c->g->common, "worktrees");
	str path = path_real(a, c->path), *names = NULL;
	size_t n = 0;

	if (dir_list(a, dir, GIT_MAX_WORKTREES, &names, &n, NULL) < 0)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		const char *admin = path_join(a, dir, arena_cstr(a, names[i]));

		if (is_folder(admin) && str_eq(admin_folder(a, admin), path))
			return admin;
	}
	return NULL;
}

int git_find(struct git_call *c, struct ov_err *err)
{
	c->admin = NULL;
	c->linked = false;
	if (git_is_checkout(c)) {
		c->admin = c->g->git_dir;
		return 0;
	}
	c->room = git_room_path(c);
	c->own = path_join(&c->arena, c->room, "own");
	c->admin = path_join(&c->arena, c->room, GIT_AGENT_DIR);
	if (!is_folder(c->admin)) {
		c->admin = linked_admin(c);
		c->linked = c->admin != NULL;
	}
	return git_room_open_tree(c, err);
}

int git_find_ours(struct git_call *c, struct ov_err *err)
{
	int r = git_find(c, err);

	if (r < 0)
		return r;
	if (!c->own)
		return ov_fail(err, OV_EINVALID,
				"%s is the user's own checkout, not a worktree of ours", c->path);
	git_drop_locks(c);
	return GIT_SKIP;
}

int git_find_required(struct git_call *c, struct ov_err *err)
{
	int r = git_find_ours(c, err);

	if (r < 0)
		return r;
	if (!c->folder && file_exists(c->path) && git_own_line(c, GIT_PLACE).n)
		return ov_fail(err, OV_ENOTFOUND,
				"%s is not the folder that was made as the worktree: a link, a "
				"mount or another folder took its place",
				c->path);
	if (!c->folder)
		return ov_fail(err, OV_ENOTFOUND, "%s is not a worktree of %s", c->path,
				c->g->repo);
	return GIT_SKIP;
}

int git_find_any(struct git_call *c, struct ov_err *err)
{
	int r = git_find_ours(c, err);

	if (r < 0)
		return r;
	if (!c->admin && !c->folder)
		return ov_fail(err, OV_ENOTFOUND, "%s is not a worktree of %s", c->path,
				c->g->repo);
	return GIT_SKIP;
}

static void drop_lock(struct git_call *c, const char *lock)
{
	struct stat st;

	if (lstat(lock, &st) == 0 && S_ISREG(st.st_mode) &&
			(st.st_mtim.tv_sec < c->since.tv_sec ||
					(st.st_mtim.tv_sec == c->since.tv_sec &&
							st.st_mtim.tv_nsec <= c->since.tv_nsec)))
		unlink(lock); /* if that fails, git says so */
}

/*
 * A link in place of a folder or file of ours would lead git elsewhere; it is no work of anybody's.
 */
static void drop_links(struct git_call *c, const char *below, str ref)
{
	str rest = ref, part;
	const char *at = path_join(&c->arena, c->g->common, below);
	struct stat st;

	while (str_split(&rest, '/', &part)) {
		at = path_join(&c->arena, at, arena_cstr(&c->arena, part));
		if (lstat(at, &st) == 0 && S_ISLNK(st.st_mode))
			unlink(at); /* if that fails, git says so */
	}
}

void git_drop_ref_lock(struct git_call *c, str ref)
{
	drop_links(c, ".", ref);
	drop_links(c, "logs", ref);
	drop_lock(c, arena_printf(&c->arena, "%s/" STR_FMT ".lock", c->g->common, STR_ARG(ref)).p);
}

void git_drop_damaged_ref(struct git_call *c, str ref)
{
	const char *at = arena_printf(&c->arena, "%s/" STR_FMT, c->g->common, STR_ARG(ref)).p;
	struct stat st;

	if (lstat(at, &st) == 0 && !S_ISDIR(st.st_mode))
		unlink(at); /* if that fails, git says so */
}

/*
 * Left by a git of ours that was killed: the folder and the refs are ours alone, and no child of an
 * earlier daemon lives, so a lock that is older than this call is nobody's. What the agent's git
 * left in its own folder goes with that folder.
 */
void git_drop_locks(struct git_call *c)
{
	struct arena *a = &c->arena;

	drop_lock(c, path_join(a, c->own, "index.lock"));
	drop_lock(c, path_join(a, c->own, "HEAD.lock"));
	if (c->branch.n)
		git_drop_ref_lock(c, arena_printf(a, "refs/heads/" STR_FMT, STR_ARG(c->branch)));
	if (c->rescue_ref.n)
		git_drop_ref_lock(c, c->rescue_ref);
}

void git_temp_index(struct git_call *c, const char *folder, const char *name)
{
	c->index = path_join(&c->arena, folder, name);
	unlink(c->index);
	drop_lock(c, arena_printf(&c->arena, "%s.lock", c->index).p);
}

static int loosen(const char *path, const struct stat *st, int kind, struct FTW *ftw _unused_)
{
	mode_t want = kind == FTW_D || kind == FTW_DNR ? S_IRWXU : S_IRUSR;

	/* A file with other names may be somebody else's. */
	if (kind == FTW_F && st->st_nlink > 1)
		return 0;
	if (kind != FTW_SL && kind != FTW_NS && (st->st_mode & want) != want)
		chmod(path, (st->st_mode | want) & 07777); /* if that fails, git says so */
	return 0;
}

bool git_loosen(struct git_call *c, const struct git_out *o)
{
	if (c->loosened || !c->own || !git_says(o, STR("Permission denied")))
		return false;
	c->loosened = true;
	if (c->folder)
		(void)git_open_closed(c); /* nftw does not enter what it only opens */
	if (c->folder)
		nftw(c->path, loosen, 64, FTW_PHYS);
	nftw(c->room, loosen, 64, FTW_PHYS); /* also what was the agent's folder until now */
	return true;
}

/* Files that name a branch while something is done to it: by its full name, or its short one. */
static const struct {
	const char *file, *what;
	bool full;
} busy_files[] = {
	{ "rebase-merge/head-name", "rebased", true },
	{ "rebase-apply/head-name", "rebased", true },
	{ "BISECT_START", "bisected", false },
};

static const char *admin_busy(struct git_call *c, const char *admin, str branch)
{
	str full = arena_printf(&c->arena, "refs/heads/" STR_FMT, STR_ARG(branch)), s;

	for (size_t i = 0; i < ARRAY_LEN(busy_files); i++)
		if (file_read(&c->arena, path_join(&c->arena, admin, busy_files[i].file), 8192, &s,
				    NULL) == 0 &&
				str_eq(str_trim(s), busy_files[i].full ? full : branch))
			return busy_files[i].what;
	return NULL;
}

const char *git_branch_busy(struct git_call *c, str branch)
{
	struct arena *a = &c->arena;
	const char *dir = path_join(a, c->g->common, "worktrees");
	const char *what = admin_busy(c, c->g->common, branch);
	str *names = NULL;
	size_t n = 0;

	if (what || dir_list(a, dir, GIT_MAX_WORKTREES, &names, &n, NULL) < 0)
		return what;
	for (size_t i = 0; i < n && !what; i++)
		what = admin_busy(c, path_join(a, dir, arena_cstr(a, names[i])), branch);
	return what;
}

str git_admin_of(struct git_call *c, const char *folder)
{
	struct arena *a = &c->arena;
	str line = { 0 }, prefix = STR("gitdir: ");
	const char *link = path_join(a, folder, ".git");
	struct stat st;

	if (strcmp(folder, c->g->repo) == 0)
		return str_from(c->g->git_dir);
	if (lstat(link, &st) < 0 || !S_ISREG(st.st_mode) ||
			file_read(a, link, 8192, &line, NULL) < 0)
		return str_from(link);
	line = str_trim(line);
	if (!str_starts(line, prefix))
		return str_from(link);
	line = arena_str(a, str_sub(line, prefix.n, line.n));
	return line.p[0] == '/' ? line : str_from(path_join(a, folder, line.p));
}

void git_holder_admin(struct git_call *c)
{
	c->res.checkout = str_from(c->holder);
	c->res.admin = git_admin_of(c, c->holder);
}

str git_target_ref(struct git_call *c)
{
	return arena_printf(&c->arena, "refs/heads/" STR_FMT, STR_ARG(c->target));
}
