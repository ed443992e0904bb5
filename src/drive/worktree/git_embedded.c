/*
 * Repositories inside a worktree that its base does not have: an agent cloned or made one there, or
 * committed the mere name of its commit. They are no part of the work, and no git of ours goes into
 * them, since it would use the configuration that it finds there. Their files are kept with each
 * rescue as ordinary files, byte by byte. Their history is in no ref: as soon as the worktree has
 * to be what a commit says, the folders are moved aside as they are.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "data/id/repo_name.h"
#include "drive/git/git_aside.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/worktree/git_embedded.h"
#include "sys/file/file.h"

#define INDEX "index-embedded"

enum { FILES_MAX = 50000, SEEN_MAX = 2 * FILES_MAX, DEPTH_MAX = 64 };

/* Finding them: what is new since the base, and has a folder with something in it. */

static bool is_inhabited(struct git_call *c, const char *name)
{
	_cleanup_(fd_closep) int fd = -1;
	bool any = false;
	DIR *dir;

	if (file_open_beneath(c->path, name, O_RDONLY | O_DIRECTORY, &fd, NULL) < 0)
		return false;
	dir = fdopendir(fd);
	if (!dir)
		return false;
	fd = -1;
	for (const struct dirent *e = readdir(dir); e && !any; e = readdir(dir))
		any = strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(dir);
	return any;
}

void git_embedded_add(struct git_call *c, const char *name)
{
	if (is_inhabited(c, name))
		vec_push(&c->embedded, name);
}

static int find_build(struct git_call *c, struct ov_err *err _unused_)
{
	str base = c->base.n ? c->base : git_own_line(c, GIT_BASE);

	if (!base.n)
		base = c->target_oid;
	if (!c->folder || c->making || !c->head.n || !git_oid_valid(base) || str_eq(c->head, base))
		return GIT_SKIP;
	return git_run(c, AT_REPO, GIT_READS, "diff-tree", "-r", "-z", "--no-renames", "--raw",
			"--ignore-submodules=none", base.p, c->head.p, "--", NULL);
}

/* A base that cannot be read says nothing about what it has. */
static int find_judge(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	struct git_change change;
	str rest = o->out;

	if (o->code != 0)
		return GIT_NEXT;
	while (git_change_next(&rest, &change))
		if (change.new_link)
			git_embedded_add(c, arena_cstr(&c->arena, change.path));
	return GIT_NEXT;
}

const struct git_step git_embedded_find_steps[] = {
	STEP_RUN("find other repositories", find_build, find_judge),
	STEP_END,
};

/* What is in them, as far as a rescue takes it: "100644 PATH" each. */

struct walk {
	struct git_call *c;
	int64_t bytes;
	size_t seen; /* entries of any kind */
	bool too_much;
};

static void walk_folder(struct walk *w, const char *path, int depth);

static void walk_entry(struct walk *w, int dir, const char *path, const char *name, int depth)
{
	struct git_call *c = w->c;
	const char *below, *mode;
	struct stat st;

	w->too_much |= ++w->seen > SEEN_MAX;
	if (w->too_much)
		return;
	below = path_join(&c->arena, path, name);
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	if (S_ISDIR(st.st_mode)) {
		walk_folder(w, below, depth + 1);
		return;
	}
	if (!S_ISREG(st.st_mode) && !S_ISLNK(st.st_mode))
		return;
	mode = S_ISLNK(st.st_mode) ? "120000" : st.st_mode & S_IXUSR ? "100755" : "100644";
	w->bytes += st.st_size;
	if (w->bytes > GIT_RESCUED_MAX || c->inner.n >= FILES_MAX)
		w->too_much = true;
	else
		vec_push(&c->inner, arena_printf(&c->arena, "%s %s", mode, below).p);
}

static void walk_folder(struct walk *w, const char *path, int depth)
{
	_cleanup_(fd_closep) int fd = -1;
	DIR *dir;

	if (depth > DEPTH_MAX ||
			file_open_beneath(w->c->path, path, O_RDONLY | O_DIRECTORY, &fd, NULL) < 0)
		return;
	dir = fdopendir(fd);
	if (!dir)
		return;
	fd = -1;
	for (const struct dirent *e = readdir(dir); e && !w->too_much; e = readdir(dir)) {
		/* Its own git folder is no file of anybody's, and no tree may have one. */
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
				repo_name_of(str_from(e->d_name)) != REPO_NAME_GIT)
			walk_entry(w, dirfd(dir), path, e->d_name, depth);
	}
	closedir(dir);
}

static str without_slash(str name)
{
	while (name.n > 1 && name.p[name.n - 1] == '/')
		name.n--;
	return name;
}

int git_embedded_list(struct git_call *c, struct ov_err *err _unused_)
{
	struct walk w = { .c = c };

	vec_clear(&c->inner);
	c->rescue.whole = (str){ 0 };
	for (size_t i = 0; i < c->embedded.n && !w.too_much; i++)
		walk_folder(&w, arena_cstr(&c->arena, without_slash(str_from(c->embedded.p[i]))),
				0);
	if (w.too_much) {
		vec_clear(&c->inner);
		git_say(c,
				arena_printf(&c->arena,
						"the files of %s%s are too many for a rescue ref",
						c->embedded.p[0],
						c->embedded.n > 1 ? " and others" : ""));
	}
	return GIT_SKIP;
}

/*
 * Keeping them: the tree that is rescued anyway, with these files in it, in an index for
 * the purpose.
 */

static int read_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->inner.n)
		return GIT_LEAVE;
	git_temp_index(c, c->own, INDEX);
	c->changes = (str){ 0 };
	return git_run(c, AT_ADMIN, GIT_TEMP_INDEX, "read-tree",
			c->rescue.tree.n ? c->rescue.tree.p : "--empty", NULL);
}

/* As git reads a name that is in quotes: any byte can be in it. */
static void embedded_add_name(struct buf *b, const char *name)
{
	buf_addc(b, '"');
	for (; *name; name++) {
		unsigned char x = (unsigned char)*name;

		if (x < ' ' || x == '"' || x == '\\' || x >= 127)
			buf_addf(b, "\\%03o", x);
		else
			buf_addc(b, *name);
	}
	buf_adds(b, STR("\"\n"));
}

static bool is_link(const char *entry)
{
	return entry[0] == '1' && entry[1] == '2';
}

/* Without filters of any kind: of the conversions that attributes name none is right for these. */
static int hash_build(struct git_call *c, struct ov_err *err _unused_)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	for (size_t i = 0; i < c->inner.n; i++)
		if (!is_link(c->inner.p[i]))
			embedded_add_name(&b, c->inner.p[i] + 7);
	if (!b.n)
		return GIT_SKIP;
	git_run(c, AT_TREE, 0, "hash-object", "-w", "--no-filters", "--stdin-paths", NULL);
	c->input = arena_str(&c->arena, buf_str(&b));
	return GIT_NEXT;
}

/* They are where they were, and are moved aside as they are: no reason to fail. */
static int embedded_give_up(struct git_call *c, const struct git_out *o)
{
	vec_clear(&c->inner);
	unlink(c->index);
	git_say(c,
			arena_printf(&c->arena, "the files of %s cannot be rescued: " STR_FMT,
					c->embedded.p[0],
					STR_ARG(str_sub(str_trim(o->err), 0, 200))));
	return GIT_LEAVE;
}

static int hash_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	str rest = o->out, oid;

	if (o->code != 0 && git_loosen(c, o))
		return GIT_AGAIN;
	if (o->code != 0)
		return git_could_not_write(o) ? git_fail(c, o, err) : embedded_give_up(c, o);
	for (size_t i = 0; i < c->inner.n; i++) {
		if (is_link(c->inner.p[i]) || !str_split(&rest, '\n', &oid))
			continue;
		buf_adds(&b, str_sub(str_from(c->inner.p[i]), 0, 7));
		buf_addf(&b, STR_FMT "\t%s", STR_ARG(oid), c->inner.p[i] + 7);
		buf_addc(&b, '\0');
	}
	c->changes = arena_str(&c->arena, buf_str(&b));
	return GIT_NEXT;
}

static int files_build(struct git_call *c, struct ov_err *err _unused_)
{
	if (!c->changes.n)
		return GIT_SKIP;
	git_run(c, AT_ADMIN, GIT_TEMP_INDEX, "update-index", "-z", "--index-info", NULL);
	c->input = c->changes;
	return GIT_NEXT;
}

static int links_build(struct git_call *c, struct ov_err *err _unused_)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	for (size_t i = 0; i < c->inner.n; i++)
		if (is_link(c->inner.p[i])) {
			buf_adds(&b, str_from(c->inner.p[i] + 7));
			buf_addc(&b, '\0');
		}
	if (!b.n)
		return GIT_SKIP;
	git_run(c, AT_TREE, GIT_TEMP_INDEX, "update-index", "-z", "--add", "--replace", "--remove",
			"--stdin", NULL);
	c->input = arena_str(&c->arena, buf_str(&b));
	return GIT_NEXT;
}

static int tree_build(struct git_call *c, struct ov_err *err _unused_)
{
	return git_run(c, AT_ADMIN, GIT_TEMP_INDEX, "write-tree", NULL);
}

static int tree_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	c->rescue.whole = git_line(c, o);
	unlink(c->index);
	return GIT_NEXT;
}

const struct git_step git_embedded_keep_steps[] = {
	STEP_RUN("read what is rescued", read_build, NULL),
	STEP_RUN("read the files of other repositories", hash_build, hash_judge),
	STEP_RUN("add the files of other repositories", files_build, NULL),
	STEP_RUN("add the links of other repositories", links_build, NULL),
	STEP_TAKE("write it as a tree", tree_build, tree_take),
	STEP_END,
};

/* Moving them aside, and naming them. */

enum { NAMED = 5 };

str git_embedded_names(struct git_call *c)
{
	str names = STR("");

	for (size_t i = 0; i < c->embedded.n && i < NAMED; i++)
		names = arena_printf(&c->arena, STR_FMT "%s\"" STR_FMT "\"", STR_ARG(names),
				i ? ", " : "",
				STR_ARG(git_shown(c, without_slash(str_from(c->embedded.p[i])))));
	if (c->embedded.n > NAMED)
		names = arena_printf(&c->arena, STR_FMT " and %zu more", STR_ARG(names),
				c->embedded.n - NAMED);
	return names;
}

int git_embedded_aside(struct git_call *c, struct ov_err *err)
{
	const char *to = NULL;
	int r = 0;

	if (!c->embedded.n || !c->folder)
		return GIT_SKIP;
	r = git_aside_make(c, &to, err);
	for (size_t i = 0; r == 0 && i < c->embedded.n; i++) {
		str name = str_from(c->embedded.p[i]);

		r = git_aside_put(c, to, name, err);
		/* A commit names it: an empty folder is what git has in its place. */
		if (r == 0 && !str_ends(name, STR("/")))
			mkdirat(c->tree_fd, c->embedded.p[i], 0777); /* git makes it anyway */
	}
	if (r < 0)
		return r;
	git_say(c,
			arena_printf(&c->arena, STR_FMT " in %s, which no commit has, moved to %s",
					STR_ARG(git_embedded_names(c)), c->path, to));
	vec_clear(&c->embedded);
	c->dirty = true; /* empty folders may be left */
	return GIT_SKIP;
}
