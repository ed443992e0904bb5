/*
 * Names that may not get to the target branch: base/repo_name.h says which, and why. What the target has
 * already and the work does not touch stays as it is; that the work takes one away is fine.
 */
#include "base/repo_name.h"
#include "base/utf8.h"
#include "drive/git_call.h"
#include "drive/git_steps.h"

enum { NAMED = 5, NAME_BYTES = 160 };

static const char *const whose[] = {
	[REPO_NAME_GIT] = "git's own folder",
	[REPO_NAME_OVERSEER] = "Overseer's own folder",
};

bool git_names_any(str list)
{
	str path;

	while (str_split(&list, '\0', &path))
		if (repo_path_of(path) != REPO_NAME_FREE)
			return true;
	return false;
}

/* As a person or an agent can read it in one line. */
static str shown(struct git_call *c, str path)
{
	char *text = arena_cstr(&c->arena, utf8_truncate(utf8_clean(&c->arena, path), NAME_BYTES));

	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return str_from(text);
}

static str reason(struct git_call *c, str list)
{
	str path, names = STR("");
	enum repo_name first = REPO_NAME_FREE;
	size_t n = 0;

	while (str_split(&list, '\0', &path)) {
		enum repo_name x = repo_path_of(path);

		if (x == REPO_NAME_FREE)
			continue;
		first = first ? first : x;
		if (n++ < NAMED)
			names = arena_printf(&c->arena, STR_FMT "%s\"" STR_FMT "\"", STR_ARG(names),
					n > 1 ? ", " : "", STR_ARG(shown(c, path)));
	}
	if (!n)
		return STR("");
	if (n > NAMED)
		names = arena_printf(&c->arena, STR_FMT " and %zu more", STR_ARG(names), n - NAMED);
	return arena_printf(&c->arena,
			"the work contains " STR_FMT ", which is %s or would be on another file "
			"system; no commit may contain that",
			STR_ARG(names), whose[first]);
}

/* What comes or changes between c->base and c->head, or the target and the candidate. */
static int names_build(struct git_call *c, str from, str to, enum git_where where)
{
	return git_run(c, where, GIT_READS, "diff-tree", "-r", "-z", "--no-renames", "--name-only",
			"--diff-filter=d", from.p, to.p, "--", NULL);
}

/* Of a harvest: asked only when its list of paths has such a name, which may be of a removal. */
static int harvest_build(struct git_call *c, struct ov_err *err _unused_)
{
	return c->reserved ? names_build(c, c->base, c->head, AT_ADMIN) : GIT_SKIP;
}

static int harvest_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code != 0)
		return git_fail(c, o, err);
	c->res.refused = reason(c, o->out);
	return GIT_NEXT;
}

const struct git_step git_names_harvest_steps[] = {
	STEP_RUN("look for names that may not be committed", harvest_build, harvest_judge),
	STEP_END,
};

static int move_build(struct git_call *c, struct ov_err *err _unused_)
{
	return names_build(c, c->target_oid, c->commit, AT_REPO);
}

static int move_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code != 0)
		return git_fail(c, o, err);
	c->res.detail = reason(c, o->out);
	if (!c->res.detail.n)
		return GIT_NEXT;
	c->res.outcome = GIT_REFUSED;
	return GIT_FINISH;
}

const struct git_step git_names_move_steps[] = {
	STEP_RUN("look for names that may not be committed", move_build, move_judge),
	STEP_END,
};
