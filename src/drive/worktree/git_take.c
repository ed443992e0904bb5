/*
 * Taking over: the commits that an agent made, in its own git folder, become the repository's. They
 * are read there by a git of ours, packed, and unpacked into the repository as what comes from a
 * stranger is: each object is checked, and that all that it names is there. What cannot be read is
 * not taken; the folder is then put aside, and the files of the worktree are what is left to go by.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "drive/git/git_aside.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/worktree/git_tree_steps.h"
#include "sys/file/file.h"

#define PACK "taken"

/*
 * Above these a pack stays one; below, its objects become files of their own, as `git fetch`
 * does it.
 */
enum { UNPACK_MAX = 4 << 20, UNPACK_OBJECTS = 100, NAMES_MAX = 250 * 1000, PROBE = 1 << 20 };
/* Folders of objects, and what lies in them. */
enum { OBJECTS_DEPTH = 2, OBJECTS_MAX = 4 << 20 };

/* Of a call that was cut off. */
static void sweep(struct git_call *c)
{
	str *names;
	size_t n;

	if (dir_list(&c->arena, c->own, GIT_MAX_WORKTREES, &names, &n, NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (str_starts(names[i], STR(PACK "-")))
			unlink(path_join(&c->arena, c->own, arena_cstr(&c->arena, names[i])));
}

/*
 * Of a folder without which git reads nothing, and of those in it. Too many to look at count
 * as one.
 */
static bool has_links(int at, const char *name, int depth, size_t *left)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;
	bool found = false;
	struct stat st;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return fd >= 0 || errno == ELOOP || errno == ENOTDIR;
	}
	while (!found && (e = readdir(d))) {
		int type = e->d_type;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		if (type == DT_UNKNOWN && fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			type = IFTODT(st.st_mode);
		found = type == DT_LNK || (*left)-- == 0 ||
				(type == DT_DIR && depth > 1 &&
						has_links(fd, e->d_name, depth - 1, left));
	}
	closedir(d);
	return found;
}

/*
 * Through a link in the place of its objects git would read those of a repository that the agent
 * could not read itself, and give them to it. Its folder is kept, and what counts are the files.
 */
static int refuse_links(struct git_call *c, struct ov_err *err)
{
	size_t left = OBJECTS_MAX;
	int r;

	if (!has_links(AT_FDCWD, path_join(&c->arena, c->admin, "objects"), OBJECTS_DEPTH, &left))
		return GIT_SKIP;
	r = git_move_aside(c, c->admin, err);
	if (r < 0)
		return r;
	c->res.detail = arena_printf(&c->arena, STR_FMT ", since there are links among its objects",
			STR_ARG(c->res.detail));
	c->admin = NULL;
	return GIT_LEAVE;
}

static int take_begin(struct git_call *c, struct ov_err *err)
{
	if (!c->wanted.n || !git_admin_has(c, "objects"))
		return GIT_LEAVE;
	sweep(c);
	c->pack = (str){ 0 };
	return refuse_links(c, err);
}

static int there_build(struct git_call *c, struct ov_err *err _unused_)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	if (c->pack.n)
		return GIT_SKIP;
	for (size_t i = 0; i < c->wanted.n; i++)
		buf_addf(&b, "%s\n", c->wanted.p[i]);
	git_run(c, AT_ADMIN, GIT_READS | GIT_AGENTS, "cat-file",
			"--batch-check=%(objectname) %(objecttype)", NULL);
	c->input = arena_str(&c->arena, buf_str(&b));
	return GIT_NEXT;
}

static int there_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	str rest = o->out, line, oid;

	vec_clear(&c->wanted);
	while (str_split(&rest, '\n', &line))
		if (str_split(&line, ' ', &oid) && git_oid_valid(oid) &&
				(str_is(line, "commit") || str_is(line, "tree")))
			vec_push(&c->wanted, arena_cstr(&c->arena, oid));
	return c->wanted.n ? GIT_NEXT : GIT_LEAVE;
}

static int pack_build(struct git_call *c, struct ov_err *err _unused_)
{
	const str known[] = { c->target_oid, c->branch_oid, c->rescue_oid };
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	for (size_t i = 0; i < c->wanted.n; i++)
		buf_addf(&b, "%s\n", c->wanted.p[i]);
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (known[i].n)
			buf_addf(&b, "^" STR_FMT "\n", STR_ARG(known[i]));
	/* Mostly it is unpacked at once; a large one that stays is made durable then. */
	git_run(c, AT_ADMIN, GIT_AGENTS, "-c", "core.fsync=none", "pack-objects", "-q", "--revs",
			"--delta-base-offset", path_join(&c->arena, c->own, PACK), NULL);
	c->input = arena_str(&c->arena, buf_str(&b));
	return GIT_NEXT;
}

static const char *pack_file(struct git_call *c, const char *kind)
{
	return arena_printf(&c->arena, "%s/" PACK "-" STR_FMT ".%s", c->own, STR_ARG(c->pack), kind)
			.p;
}

/*
 * A history that cannot be read: its folder is kept, and what counts are the files. But not where
 * it is we who cannot write: then nothing is done.
 */
static int put_aside(struct git_call *c, str why, struct ov_err *err)
{
	char *block = arena_zalloc(&c->arena, PROBE);
	int r = git_own_note(c, "probe", (str){ block, PROBE }, err);

	unlink(path_join(&c->arena, c->own, "probe"));
	if (r == 0)
		r = git_move_aside(c, c->admin, err);
	if (r < 0)
		return r;
	c->res.detail = arena_printf(&c->arena, STR_FMT ", since " STR_FMT, STR_ARG(c->res.detail),
			STR_ARG(why));
	c->admin = NULL;
	return GIT_LEAVE;
}

static int take_give_up(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	str words = str_sub(str_trim(o->err), 0, 500);

	return put_aside(c, arena_printf(&c->arena, "git cannot read it: " STR_FMT, STR_ARG(words)),
			err);
}

static int packed(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	c->pack = git_line(c, o);
	if (!c->pack.n)
		return GIT_LEAVE; /* there is nothing new in it */
	return git_oid_valid(c->pack) ? GIT_NEXT
				      : ov_fail(err, OV_EIO, "git pack-objects gave no name");
}

/* Mostly all that is named is there. */
static int first_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	return o->code == 0 ? packed(c, o, err) : GIT_NEXT;
}

/* Otherwise only what is. */
static int second_build(struct git_call *c, struct ov_err *err)
{
	return c->pack.n ? GIT_SKIP : pack_build(c, err);
}

static int second_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code != 0)
		return git_loosen(c, o) ? GIT_AGAIN : take_give_up(c, o, err);
	return packed(c, o, err);
}

/*
 * A few objects can name any number of files, by trees that are in each other many times. Whoever
 * reads such a commit has to take as much memory, and time.
 */
static int names_build(struct git_call *c, struct ov_err *err _unused_)
{
	str from = c->branch_oid.n ? c->branch_oid : c->target_oid;
	bool wanted = false;

	for (size_t i = 0; i < c->wanted.n; i++)
		wanted |= str_is(c->head_name, c->wanted.p[i]);
	if (!wanted || !from.n)
		return GIT_SKIP;
	return git_run(c, AT_ADMIN, GIT_READS | GIT_AGENTS | GIT_COUNTS, "diff-tree", "-r", "-z",
			"--no-renames", "--name-only", "--ignore-submodules=none", from.p,
			c->head_name.p, "--", NULL);
}

static int names_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	size_t n = 0;
	int r;

	for (size_t i = 0; i < o->out.n; i++)
		n += o->out.p[i] == '\0';
	if (!o->cut && n <= NAMES_MAX && !git_lacked_memory(o))
		return GIT_NEXT;
	sweep(c);
	r = put_aside(c,
			arena_printf(&c->arena,
					"commit %.12s changes more files than the %d that are "
					"taken over",
					c->head_name.p, NAMES_MAX),
			err);
	if (r >= 0)
		c->res.refused = c->res.detail;
	return r;
}

/* Its bytes, or the number of objects, which its third word says. */
static bool is_large(const char *pack)
{
	_cleanup_(fd_closep) int fd = file_open(pack, O_RDONLY, 0);
	unsigned char n[4];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || pread(fd, n, sizeof(n), 8) != sizeof(n))
		return false;
	return st.st_size > UNPACK_MAX || n[0] || n[1] || n[2] * 256 + n[3] > UNPACK_OBJECTS;
}

static int sync_build(struct git_call *c, struct ov_err *err _unused_)
{
	const char *pack = pack_file(c, "pack");

	if (!is_large(pack))
		return GIT_SKIP;
	git_run(c, AT_ADMIN, 0, NULL);
	vec_clear(&c->argv);
	git_args(c, "sync", pack, NULL);
	return GIT_NEXT;
}

static int unpack_build(struct git_call *c, struct ov_err *err)
{
	const char *pack = pack_file(c, "pack");
	int r;

	if (!file_exists(pack))
		return ov_fail(err, OV_EIO, "git made no pack");
	if (is_large(pack))
		return git_run(c, AT_REPO, 0, "index-pack", "--strict", pack, NULL);
	git_run(c, AT_REPO, 0, "unpack-objects", "-q", "--strict", NULL);
	r = file_read(&c->arena, pack, UNPACK_MAX, &c->input, err);
	return r < 0 ? r : GIT_NEXT;
}

static int move_pack(struct git_call *c, const char *kind, struct ov_err *err)
{
	const char *from = pack_file(c, kind);
	const char *to = arena_printf(&c->arena, "%s/objects/pack/pack-" STR_FMT ".%s",
			c->g->common, STR_ARG(c->pack), kind)
					 .p;
	int r;

	if (rename(from, to) == 0)
		return 0;
	if (errno != EXDEV)
		return ov_fail_errno(err, errno, "move %s to %s", from, to);
	r = file_copy(from, to, 0444, err);
	return r == OV_ECONFLICT ? 0 : r;
}

static int unpack_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	int r = 0;

	if (o->code != 0)
		/* One of the objects is not as it has to be; else it could not be written. */
		r = git_says(o, STR("fsck error")) ? take_give_up(c, o, err) : git_fail(c, o, err);
	else if (is_large(pack_file(c, "pack"))) {
		r = dir_make(path_join(&c->arena, c->g->common, "objects/pack"), 0755, err);
		if (r == 0)
			r = move_pack(c, "pack", err);
		if (r == 0)
			r = move_pack(c, "idx", err);
	}
	unlink(pack_file(c, "pack"));
	unlink(pack_file(c, "idx"));
	unlink(pack_file(c, "rev"));
	return r < 0 ? r : GIT_NEXT;
}

const struct git_step git_take_steps[] = {
	STEP_RUN("take over what was committed", take_begin, NULL),
	STEP_RUN("pack what was committed", pack_build, first_judge),
	STEP_TAKE("look at what was committed", there_build, there_take),
	STEP_RUN("pack what was committed", second_build, second_judge),
	STEP_RUN("count what was committed", names_build, names_judge),
	STEP_RUN("make durable what was committed", sync_build, NULL),
	STEP_RUN("take over what was committed", unpack_build, unpack_judge, .inject = "git-taken"),
	STEP_END,
};
