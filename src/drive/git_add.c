/*
 * Adding: the files of a worktree go into our index, their contents into the repository.
 *
 * Git writes one file per object, and does not wait for the disk (core.fsync). Many files are put into
 * one pack instead, as git does it with large ones: that is a fraction of what is written to the disk, and
 * durable before the command ends. Not for any number: git looks for each object among those before it.
 */
#include "drive/git_add.h"
#include "drive/git_steps.h"

enum { UNENCODED_MAX = 64, PACK_FROM = 1000, PACK_TO = 200 * 1000 };

int git_add_command(struct git_call *c)
{
	/* A file that shrinks meanwhile ends the whole command then: not where the rest has to be kept. */
	bool pack = c->found >= PACK_FROM && c->found <= PACK_TO && !c->partly;

	git_run(c, AT_TREE, 0, NULL);
	if (pack)
		git_args(c, "-c", "core.bigFileThreshold=0", NULL);
	git_args(c, "add", "-A", "--sparse", NULL);
	return GIT_NEXT;
}

/* "failed to encode 'PATH' from X to UTF-8": that file is taken as it is, and the next is tried. */
static bool unencoded(struct git_call *c, const struct git_out *o)
{
	str before = STR("failed to encode '"), path;
	size_t at = str_find(o->err, before), end;

	if (at == o->err.n || c->unencoded.n >= UNENCODED_MAX)
		return false;
	path = str_sub(o->err, at + before.n, o->err.n);
	end = str_find(path, STR("' from "));
	if (end == path.n)
		return false;
	vec_push(&c->unencoded, arena_cstr(&c->arena, str_sub(path, 0, end)));
	return git_own_attributes(c, false, NULL) == 0;
}

int git_add_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	int r;

	if (o->code != 0 && (git_loosen(c, o) || unencoded(c, o)))
		return GIT_AGAIN;
	/* Names, kinds of files and encodings that git does not take: the rest, as it is, byte by byte. */
	if (o->code != 0 && !c->partly) {
		c->partly = true;
		r = git_own_attributes(c, true, err);
		return r < 0 ? r : GIT_AGAIN;
	}
	if (c->partly) {
		r = git_own_attributes(c, false, err);
		if (r < 0)
			return r;
	}
	if (o->code == 0 ||
			(c->partly && !str_contains(o->err, STR("insufficient permission")) &&
					!str_contains(o->err, STR("No space left")) &&
					!str_contains(o->err, STR("unable to write"))))
		return GIT_NEXT;
	return git_fail(c, o, err);
}
