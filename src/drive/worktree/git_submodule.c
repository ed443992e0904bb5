/*
 * Submodules of a worktree, where somebody has set them up. Their repositories are in the agent's
 * git folder, with configuration that is the agent's, so no git of ours goes into them: where one
 * stands is read as text. One that stands elsewhere than the commit says is work, as a changed file
 * is; after the worktree was moved it would only seem so, and is moved aside. It can be set up
 * anew, and what is in it is not removed.
 */
#include <fcntl.h>

#include "base/buf.h"
#include "drive/git/git_aside.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/worktree/git_embedded.h"
#include "drive/worktree/git_tree_steps.h"
#include "sys/file/file.h"

enum { LINE_BYTES = 8192 };

/* The commit that it stands on, as far as a few small files tell it; empty: it is not set up. */
static str module_head(struct git_call *c, const char *name)
{
	str line, gitdir = STR("gitdir: ");
	const char *dir;

	if (file_read_beneath(&c->arena, c->path, path_join(&c->arena, name, ".git"), LINE_BYTES,
			    &line, NULL) < 0 ||
			!str_starts(line, gitdir))
		return (str){ 0 };
	dir = arena_cstr(&c->arena, str_trim(str_sub(line, gitdir.n, line.n)));
	if (dir[0] != '/')
		dir = path_join(&c->arena, path_join(&c->arena, c->path, name), dir);
	if (file_read_beneath(&c->arena, dir, "HEAD", LINE_BYTES, &line, NULL) < 0)
		return (str){ 0 };
	line = str_trim(line);
	if (!str_starts(line, STR("ref: refs/heads/")))
		return line;
	line = str_sub(line, 5, line.n);
	if (!git_ref_valid(line) ||
			file_read_beneath(&c->arena, dir, arena_cstr(&c->arena, line), LINE_BYTES,
					&line, NULL) < 0)
		return (str){ 0 };
	return str_trim(line);
}

static bool is_set_up(struct git_call *c, const char *name)
{
	_cleanup_(fd_closep) int fd = -1;

	return file_open_beneath(c->path, path_join(&c->arena, name, ".git"), O_PATH, &fd, NULL) ==
			0;
}

static int list(struct git_call *c, str commit)
{
	return git_run(c, AT_ADMIN, GIT_READS, "ls-tree", "-r", "-d", "-z", "--full-tree", commit.p,
			NULL);
}

/* "160000 commit OID\tNAME" */
static bool next_link(struct git_call *c, str *rest, str *ret_oid, const char **ret_name)
{
	str entry, front;

	while (str_split(rest, '\0', &entry)) {
		if (!str_starts(entry, STR("160000 commit ")) || !str_split(&entry, '\t', &front))
			continue;
		*ret_oid = str_sub(front, strlen("160000 commit "), front.n);
		*ret_name = arena_cstr(&c->arena, entry);
		return true;
	}
	return false;
}

static int links_list(struct git_call *c, struct ov_err *err _unused_)
{
	vec_clear(&c->links);
	c->links_n = 0;
	c->inhabited = false;
	if (!c->folder || c->making || !c->head.n ||
			(!c->dirty && !c->leaves && !git_admin_has(c, "modules")))
		return GIT_SKIP;
	return list(c, c->head);
}

/* None of them is gone into: git would use what it finds there. */
static int links_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	str rest = o->out, oid, at;
	const char *name;

	while (next_link(c, &rest, &oid, &name)) {
		vec_push(&c->nested, name);
		c->links_n++;
		if (is_set_up(c, name))
			c->inhabited = true;
		else
			git_embedded_add(c, name); /* files in the place of what it is to hold */
		at = module_head(c, name);
		if (!git_oid_valid(at) || str_eq(at, oid))
			continue;
		vec_push(&c->links, arena_printf(&c->arena, STR_FMT " %s", STR_ARG(at), name).p);
		c->dirty = c->changed = true;
	}
	return GIT_NEXT;
}

const struct git_step git_links_steps[] = {
	STEP_TAKE("find other repositories", links_list, links_take),
	STEP_END,
};

int git_links_build(struct git_call *c)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	if (!c->links.n)
		return GIT_SKIP;
	for (size_t i = 0; i < c->links.n; i++) {
		str name = str_from(c->links.p[i]), oid;

		str_split(&name, ' ', &oid);
		buf_addf(&b, "160000 " STR_FMT "\t" STR_FMT, STR_ARG(oid), STR_ARG(name));
		buf_addc(&b, '\0');
	}
	git_run(c, AT_TREE, 0, "update-index", "-z", "--index-info", NULL);
	c->input = arena_str(&c->arena, buf_str(&b));
	return GIT_NEXT;
}

static int aside_list(struct git_call *c, struct ov_err *err _unused_)
{
	return c->folder && git_admin_has(c, "modules") ? list(c, c->links_of) : GIT_SKIP;
}

static int aside_take(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	str rest = o->out, oid;
	const char *name;

	while (next_link(c, &rest, &oid, &name)) {
		const char *path = path_join(&c->arena, c->path, name);
		int r;

		if (!is_set_up(c, name) || str_eq(module_head(c, name), oid))
			continue;
		r = git_move_aside(c, path, err);
		if (r == 0)
			r = dir_make(path, 0777, err);
		if (r < 0)
			return r;
	}
	return GIT_NEXT;
}

const struct git_step git_submodule_steps[] = {
	STEP_TAKE("put submodules aside", aside_list, aside_take),
	STEP_END,
};
