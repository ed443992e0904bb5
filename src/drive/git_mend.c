/*
 * What agents damage in a worktree of ours so that git refuses to work there is made anew from what is
 * known: the link to the repository, HEAD, the index. The folder's files and all commits stay as they
 * are. A worktree is ours when ensure left its note there; nothing else is ever touched.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "drive/git_call.h"
#include "drive/git_steps.h"
#include "sys/file.h"

enum { HEAD_BYTES = 8192 };

static bool same_folder(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

bool git_link_is_right(struct git_call *c, const char *link)
{
	str line, before = STR("gitdir: ");

	return file_read(&c->arena, link, HEAD_BYTES, &line, NULL) == 0 &&
			str_starts(line, before) &&
			same_folder(arena_cstr(&c->arena,
						    str_trim(str_sub(line, before.n, line.n))),
					c->admin);
}

static bool head_is_right(struct git_call *c)
{
	str line = str_trim(git_admin_line(c, "HEAD"));

	/* Whatever the agent called its branches. */
	return (str_starts(line, STR("ref: refs/")) && line.n > 10) || git_oid_valid(line);
}

void git_mend_head(struct git_call *c)
{
	str branch, target, line;

	git_note_read(c, &branch, &target);
	if (!branch.n || head_is_right(c))
		return;
	/* If it cannot be written, git says so in a moment. */
	line = arena_printf(&c->arena, "ref: refs/heads/" STR_FMT "\n", STR_ARG(branch));
	(void)file_write_atomic(path_join(&c->arena, c->admin, "HEAD"), line, 0644, NULL);
}

bool git_index_aside(struct git_call *c, const struct git_out *o)
{
	str branch, target;

	if (c->index_aside || !c->admin ||
			!(str_contains(o->err, STR("index file corrupt")) ||
					str_contains(o->err, STR("index file smaller"))))
		return false;
	git_note_read(c, &branch, &target);
	c->index_aside = branch.n &&
			rename(path_join(&c->arena, c->admin, "index"),
					path_join(&c->arena, c->admin, "index.damaged")) == 0;
	return c->index_aside;
}
