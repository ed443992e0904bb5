/*
 * Large files that an agent or a filter of ours added become the repository's: copied to where no
 * agent can write, hashed, and renamed to their place if they are what their names say. The copying
 * and hashing is done by children; what an agent prepared is looked at without following a link,
 * and within bounds.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "data/id/sha256.h"
#include "drive/git/git_aside.h"
#include "drive/git/git_call.h"
#include "drive/git/git_confine.h"
#include "drive/git/git_lfs.h"
#include "drive/worktree/git_add.h"
#include "drive/worktree/git_tree_steps.h"
#include "sys/file/file.h"

#define INCOMING "lfs-in"

/* Of an agent; more than that is put aside. */
enum { ENTRIES_MAX = 10 * 1000, LEVELS = 2 };
static const off_t bytes_max = (off_t)256 << 30;

struct gathering {
	struct git_call *c;
	const char *storage;
	size_t seen, found;
	off_t bytes;
	bool bounded, too_much;
};

/* Beside the storage's own folders: git-lfs removes what it finds in its temporary one. */
static const char *outgoing(struct git_call *c)
{
	return arena_printf(&c->arena, "%s/overseer-%.16s", git_lfs_storage(c),
			sha256_hex(&c->arena, str_from(c->own)).p)
			.p;
}

static void sweep(struct git_call *c, const char *dir)
{
	str *names = NULL;
	size_t n = 0;

	(void)dir_list(&c->arena, dir, SIZE_MAX, &names, &n, NULL);
	for (size_t i = 0; i < n; i++)
		unlink(path_join(&c->arena, dir, arena_cstr(&c->arena, names[i])));
	rmdir(dir);
}

/*
 * Gives a file a name in our own folder, so that nothing can take its place any more. Its content
 * can still be changed.
 */
static int gather_one(struct gathering *g, int dir, const char *name, struct ov_err *err)
{
	struct git_call *c = g->c;
	_cleanup_(fd_closep) int fd = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	const char *to = path_join(&c->arena, c->own,
			arena_printf(&c->arena, INCOMING "/%s", name).p);
	struct stat st, there;
	char from[32];

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
			lstat(git_lfs_path(c, g->storage, name), &there) == 0)
		return 0;
	if (g->bounded && git_is_oversize(&st)) {
		g->too_much = true;
		return 0;
	}
	g->bytes += MIN(st.st_size, bytes_max);
	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW) < 0)
		return errno == EMLINK || errno == EPERM || errno == EEXIST || errno == ENOENT
				? 0
				: ov_fail_errno(err, errno, "make %s", to);
	g->found++;
	if (!(st.st_mode & S_IRUSR) && chmod(to, 0600) < 0)
		unlink(to);
	return 0;
}

static int gather(struct gathering *g, int fd, int level, struct ov_err *err)
{
	DIR *d = fdopendir(fd);
	struct dirent *e;
	int r = 0;

	if (!d)
		close(fd);
	while (d && r == 0 && !g->too_much && (e = readdir(d))) {
		int below;

		g->too_much = g->bounded && (++g->seen > ENTRIES_MAX || g->bytes > bytes_max);
		if (!git_lfs_name_valid(e->d_name, level < LEVELS ? 2 : GIT_LFS_NAME))
			continue;
		if (level == LEVELS) {
			r = gather_one(g, dirfd(d), e->d_name, err);
			continue;
		}
		below = openat(dirfd(d), e->d_name,
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below >= 0)
			r = gather(g, below, level + 1, err);
	}
	if (d)
		closedir(d);
	return r;
}

static int take_from(struct git_call *c, const char *dir, bool agents, struct ov_err *err)
{
	struct gathering g = { .c = c, .bounded = agents };
	const char *in = path_join(&c->arena, c->own, INCOMING);
	int fd, r;

	if (!dir || file_open_beneath(dir, "lfs/objects", O_RDONLY | O_DIRECTORY, &fd, NULL) < 0)
		return GIT_LEAVE;
	g.storage = git_lfs_storage(c);
	sweep(c, in);
	sweep(c, outgoing(c));
	r = dir_make(in, 0700, err);
	if (r < 0)
		close(fd);
	else
		r = gather(&g, fd, 0, err);
	if (r == 0 && g.too_much)
		r = git_move_aside(c, path_join(&c->arena, dir, "lfs"), err);
	if (r < 0 || !g.found || g.too_much) {
		sweep(c, in);
		return r < 0 ? r : GIT_LEAVE;
	}
	return GIT_NEXT;
}

static int agent_build(struct git_call *c, struct ov_err *err)
{
	return c->own && !c->linked ? take_from(c, c->admin, true, err) : GIT_LEAVE;
}

static int own_build(struct git_call *c, struct ov_err *err)
{
	return c->own ? take_from(c, c->own, false, err) : GIT_LEAVE;
}

/* A program that is not git, and writes only to the storage. */
static void program(struct git_call *c)
{
	git_run(c, AT_REPO, 0, NULL);
	vec_clear(&c->argv);
	git_confined(c, false, git_lfs_storage(c), NULL);
}

static int copy_build(struct git_call *c, struct ov_err *err)
{
	int r = dir_make(path_join(&c->arena, git_lfs_storage(c), "objects"), 0777, err);

	program(c);
	git_args(c, "cp", "-R", "--no-preserve=mode", "--", path_join(&c->arena, c->own, INCOMING),
			outgoing(c), NULL);
	return r < 0 ? r : GIT_NEXT;
}

static int copy_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	sweep(c, path_join(&c->arena, c->own, INCOMING));
	if (o->code == 0)
		return GIT_NEXT;
	sweep(c, outgoing(c));
	return git_fail(c, o, err);
}

static int hash_build(struct git_call *c, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	str *names;
	size_t n;
	int r = dir_list(&c->arena, outgoing(c), SIZE_MAX, &names, &n, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		buf_addf(&b, STR_FMT "  " STR_FMT "\n", STR_ARG(names[i]), STR_ARG(names[i]));
	program(c);
	git_args(c, "sha256sum", "--check", NULL);
	c->cwd = outgoing(c);
	c->input = arena_str(&c->arena, buf_str(&b));
	return GIT_NEXT;
}

/* "NAME: OK" each, or "NAME: FAILED". */
static int hash_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	const char *storage = git_lfs_storage(c), *from = outgoing(c);
	str rest = o->out, line;
	int r = o->code > 1 ? git_fail(c, o, err) : 0;

	while (r == 0 && str_split(&rest, '\n', &line)) {
		const char *name, *to;

		if (!str_ends(line, STR(": OK")))
			continue;
		name = arena_cstr(&c->arena, str_sub(line, 0, GIT_LFS_NAME));
		to = git_lfs_path(c, storage, name);
		r = dir_make(arena_cstr(&c->arena,
					     str_sub(str_from(to), 0,
							     strlen(to) - GIT_LFS_NAME - 1)),
				0777, err);
		if (r == 0 &&
				renameat2(AT_FDCWD, path_join(&c->arena, from, name), AT_FDCWD, to,
						RENAME_NOREPLACE) < 0 &&
				errno != EEXIST)
			r = ov_fail_errno(err, errno, "make %s", to);
	}
	sweep(c, from);
	return r < 0 ? r : GIT_NEXT;
}

/* Git's own objects are on the disk, too, before a branch names them. */
static int sync_build(struct git_call *c, struct ov_err *err _unused_)
{
	program(c);
	git_args(c, "sync", "-f", git_lfs_storage(c), NULL);
	return GIT_NEXT;
}

static const struct git_step take_steps[] = {
	STEP_RUN("copy large files", copy_build, copy_judge),
	STEP_RUN("check large files", hash_build, hash_judge),
	STEP_RUN("write large files to the disk", sync_build, NULL, .inject = "git-lfs-taken"),
	STEP_END,
};

const struct git_step git_lfs_agent_steps[] = {
	STEP_SUB("take over large files", agent_build, take_steps),
	STEP_END,
};

const struct git_step git_lfs_own_steps[] = {
	STEP_SUB("take over large files", own_build, take_steps),
	STEP_END,
};

/* What a checkout put there the repository has; all that was added is taken over. */
static int clear_build(struct git_call *c, struct ov_err *err _unused_)
{
	const char *objects = c->own ? path_join(&c->arena, git_lfs_objects(c), "objects") : NULL;

	return objects && file_exists(objects) ? git_rm(c, objects) : GIT_SKIP;
}

const struct git_step git_lfs_clear_steps[] = {
	STEP_RUN("remove copies of large files", clear_build, NULL),
	STEP_END,
};
