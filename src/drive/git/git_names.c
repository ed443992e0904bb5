/*
 * What may not get to the target branch: names that data/id/repo_name.h knows, and why; and links
 * to other repositories that the base does not have. What the target has already and the work does
 * not touch stays as it is, a submodule of it may move to another commit, and whatever is taken
 * away is fine.
 */
#include "base/utf8.h"
#include "data/id/repo_name.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"

enum { NAMED = 5, NAME_BYTES = 160 };

/* ":100644 160000 OID OID T\0PATH\0" */
bool git_change_next(str *rest, struct git_change *ret)
{
	str entry, link = STR("160000"), after = *rest;

	if (!rest->n || rest->p[0] != ':' || !str_split(&after, '\0', &entry) ||
			!str_split(&after, '\0', &ret->path) || entry.n < strlen(":100644 100644 "))
		return false;
	ret->gone = entry.p[entry.n - 1] == 'D';
	ret->new_link = str_eq(str_sub(entry, 8, link.n), link) &&
			!str_eq(str_sub(entry, 1, link.n), link);
	*rest = after;
	return true;
}

/* As a person or an agent can read it in one line. */
str git_shown(struct git_call *c, str path)
{
	char *text = arena_cstr(&c->arena, utf8_truncate(utf8_clean(&c->arena, path), NAME_BYTES));

	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return str_from(text);
}

enum bad { BAD_NOT, BAD_GIT, BAD_OVERSEER, BAD_LINK };

static const struct {
	const char *what, *why;
} reasons[] = {
	[BAD_GIT] = { "",
			"is git's own folder or would be on another file system; no commit may "
			"contain that" },
	[BAD_OVERSEER] = { "",
			"is Overseer's own folder or would be on another file system; no commit "
			"may contain that" },
	[BAD_LINK] = { "a link to another repository at ",
			"is in none of the commits that the work began with. It is only the name "
			"of a commit, without its files: commit the files without their .git "
			"folder, or leave them out. Only a person may add a submodule" },
};

static enum bad judged(const struct git_change *change)
{
	if (change->gone)
		return BAD_NOT;
	switch (repo_path_of(change->path)) {
	case REPO_NAME_GIT: return BAD_GIT;
	case REPO_NAME_OVERSEER: return BAD_OVERSEER;
	case REPO_NAME_FREE: break;
	}
	return change->new_link ? BAD_LINK : BAD_NOT;
}

/* Of what is wrong first, all names; the rest is told when that is gone. */
str git_names_reason(struct git_call *c, str raw)
{
	struct git_change change;
	str names = STR("");
	enum bad first = BAD_NOT;
	size_t n = 0;

	while (git_change_next(&raw, &change)) {
		enum bad x = judged(&change);

		if (x == BAD_NOT || (first != BAD_NOT && (x == BAD_LINK) != (first == BAD_LINK)))
			continue;
		first = first ? first : x;
		if (n++ < NAMED)
			names = arena_printf(&c->arena, STR_FMT "%s\"" STR_FMT "\"", STR_ARG(names),
					n > 1 ? ", " : "", STR_ARG(git_shown(c, change.path)));
	}
	if (!n)
		return STR("");
	if (n > NAMED)
		names = arena_printf(&c->arena, STR_FMT " and %zu more", STR_ARG(names), n - NAMED);
	return arena_printf(&c->arena, "the work contains %s" STR_FMT ", which %s" GIT_REMOVE_PATHS,
			reasons[first].what, STR_ARG(names), reasons[first].why);
}

static int move_build(struct git_call *c, struct ov_err *err _unused_)
{
	return git_run(c, AT_REPO, GIT_READS, "diff-tree", "-r", "-z", "--no-renames", "--raw",
			"--ignore-submodules=none", c->target_oid.p, c->commit.p, "--", NULL);
}

static int move_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	c->res.detail = git_names_reason(c, o->out);
	if (!c->res.detail.n)
		return GIT_NEXT;
	c->res.outcome = GIT_REFUSED;
	return GIT_FINISH;
}

const struct git_step git_names_move_steps[] = {
	STEP_TAKE("look for names that may not be committed", move_build, move_take),
	STEP_END,
};
