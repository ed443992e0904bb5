/*
 * Work that changes for which files a filter of the user's runs does not get to the target branch,
 * unless that is git-lfs. Our git runs such a filter only for what the base names (git_programs.c),
 * and the user's checkout would run it for the rest: what is stored would differ from what should
 * be, such as plain text in place of a secret. Where a rule is taken away, that is so for the files
 * that the next work adds.
 */
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/gitrules/git_programs.h"
#include "drive/gitrules/git_settings.h"

enum { LISTED_MAX = 16 << 20 };

static int list_build(struct git_call *c, str from, str to)
{
	if (!c->own || !from.n || str_eq(from, to) || !git_own_line(c, GIT_FILTERS).n)
		return GIT_LEAVE;
	return git_attributes_list(c, from.p, to.p);
}

struct rule {
	str pattern, token, filter; /* of the user's; empty: none */
	bool free; /* of the base's: nothing changes for such a filter without it */
};

struct rules {
	struct rule *p;
	size_t n;
};

static struct rules rules_of(struct git_call *c, str text, str names)
{
	struct rules ret = { 0 };
	struct rule one;

	for (size_t i = 0; i < text.n; i++)
		ret.n += text.p[i] == '\n';
	ret.p = arena_array(&c->arena, struct rule, ret.n + 1);
	ret.n = 0;
	while (git_attributes_next(&text, &one.pattern, &one.token)) {
		str filter = { 0 };
		bool named = git_filter_named(names, one.token, &filter);

		/* Behind the last line nothing is left. */
		if (one.pattern.n)
			ret.p[ret.n++] = (struct rule){ one.pattern, one.token,
				named ? filter : (str){ 0 }, false };
	}
	return ret;
}

/*
 * The last of the first n rules about a filter of the user's to which this one is an exception;
 * or NULL.
 */
static const struct rule *exception_to(const struct rules *all, size_t n, const struct rule *rule,
		bool (*meet)(str pattern, str other))
{
	while (n-- > 0)
		if (all->p[n].filter.n && meet(rule->pattern, all->p[n].pattern))
			return &all->p[n];
	return NULL;
}

static bool same(const struct rule *a, const struct rule *b)
{
	return str_eq(a->pattern, b->pattern) && str_eq(a->token, b->token);
}

enum difference { DIFF_NONE, DIFF_RULE, DIFF_EXCEPTION, DIFF_NO_RULE, DIFF_NO_EXCEPTION };

struct finding {
	enum difference what;
	struct rule rule;
	str filter;
};

static struct finding lacking(const struct rules *before, size_t at)
{
	const struct rule *rule = &before->p[at];

	if (rule->filter.n)
		return (struct finding){ DIFF_NO_RULE, *rule, rule->filter };
	return (struct finding){ DIFF_NO_EXCEPTION, *rule,
		exception_to(before, at, rule, git_attributes_meet)->filter };
}

/*
 * A rule of the work's that is none of the base's from `at` on. An agent may add rules for git-lfs:
 * such a rule counts as an exception only if it leaves nothing of the other.
 */
static struct finding added(const struct rules *before, size_t at, size_t stop,
		const struct rule *rule)
{
	bool lfs = str_is(rule->token, "filter=lfs");
	const struct rule *to;

	for (size_t i = at; rule->filter.n && i < before->n; i++)
		if (same(&before->p[i], rule))
			return lacking(before, stop);
	if (rule->filter.n)
		return (struct finding){ DIFF_RULE, *rule, rule->filter };
	to = exception_to(before, at, rule, lfs ? git_attributes_cover : git_attributes_meet);
	if (to)
		return (struct finding){ DIFF_EXCEPTION, *rule, to->filter };
	return (struct finding){ 0 };
}

/* Those of the base have to be there in their order; further ones may not change what they say. */
static struct finding differ(struct rules *before, const struct rules *after)
{
	struct finding found = { 0 };
	size_t at = 0, stop;

	for (size_t i = 0; i < before->n; i++)
		before->p[i].free = !before->p[i].filter.n &&
				!exception_to(before, i, &before->p[i], git_attributes_meet);
	for (size_t i = 0; i < after->n && found.what == DIFF_NONE; i++) {
		for (stop = at; stop < before->n && before->p[stop].free;)
			if (same(&before->p[stop], &after->p[i]))
				break;
			else
				stop++;
		if (stop < before->n && same(&before->p[stop], &after->p[i]))
			at = stop + 1;
		else
			found = added(before, at, stop, &after->p[i]);
	}
	while (found.what == DIFF_NONE && at < before->n && before->p[at].free)
		at++;
	return found.what == DIFF_NONE && at < before->n ? lacking(before, at) : found;
}

/* In which file it is: with the ones up to that it is there. */
static const struct git_attributes *file_of(struct git_call *c, const struct git_attributes *files,
		size_t n, const struct rule *rule)
{
	str line = arena_printf(&c->arena, STR_FMT " " STR_FMT "\n", STR_ARG(rule->pattern),
			STR_ARG(rule->token));

	for (size_t i = 1; i + 1 < n; i++) {
		struct git_attributes some[] = { files[0], files[1], files[i], files[n - 1] };

		if (i == 1)
			some[2].text = STR("");
		if (str_contains(git_attributes_rules(&c->arena, some, ARRAY_LEN(some), "filter",
						 NULL),
				    line))
			return &files[i];
	}
	return NULL;
}

static str filters_name_of(struct git_call *c, str dir)
{
	return git_shown(c,
			arena_printf(&c->arena, STR_FMT "%s.gitattributes", STR_ARG(dir),
					dir.n ? "/" : ""));
}

/* That of this folder, of the ones that the commit has. */
static const struct git_attributes *in_folder(const struct git_attributes *files, size_t n, str dir)
{
	for (size_t i = 1; i + 1 < n; i++)
		if (str_eq(files[i].dir, dir))
			return &files[i];
	return NULL;
}

struct sides {
	struct git_attributes *old, *files;
	size_t old_n, n;
};

/* Where the file with the rule is as it was, a macro at the root has changed. */
static str remedy(struct git_call *c, const struct sides *s, str dir, str from)
{
	const struct git_attributes *was = in_folder(s->old, s->old_n, dir),
				    *is = in_folder(s->files, s->n, dir);
	str root = STR("");

	if (was && is && str_eq(was->text, is->text)) {
		dir = root;
		was = in_folder(s->old, s->old_n, root);
	}
	if (!was)
		return arena_printf(&c->arena,
				"Take that rule out of \"" STR_FMT
				"\", which the base does not have, and commit",
				STR_ARG(filters_name_of(c, dir)));
	return arena_printf(&c->arena,
			"Restore the rules of the base (git checkout %.12s -- \"" STR_FMT
			"\") and commit",
			from.p, STR_ARG(filters_name_of(c, dir)));
}

#define ADDED "the work has a new rule in"
#define LACKS "the work lacks a rule, or has it elsewhere, that was in"
#define SECRET "such as plain text in place of what is encrypted"
#define PERSON "Only a person can change such a rule"

static const struct {
	const char *where, *is, *why;
} differences[] = {
	[DIFF_RULE] = { ADDED, "is for",
			"Overseer runs that only for files that the target's own rules name, so "
			"others would be stored without it, " SECRET
			". Such a rule is for a person to add: leave it and the files that need "
			"it out of the work" },
	[DIFF_EXCEPTION] = { ADDED, "is an exception to",
			"Files would be stored without it, " SECRET ". " PERSON },
	[DIFF_NO_RULE] = { LACKS, "was for",
			"New files would be stored without it, " SECRET ". " PERSON },
	[DIFF_NO_EXCEPTION] = { LACKS, "was an exception to",
			"The filter would run for files that were stored without it. " PERSON },
};

static str reason(struct git_call *c, str out, str from, str to)
{
	str names = git_own_text(c, GIT_FILTERS), text, dir = STR("");
	const struct git_attributes *file;
	struct rules before, after;
	struct finding found;
	struct sides s;
	bool cut, base;

	s.old_n = git_attributes_of(c, out, from.p, &s.old);
	s.n = git_attributes_of(c, out, to.p, &s.files);
	text = git_attributes_rules(&c->arena, s.old, s.old_n, "filter", NULL);
	before = rules_of(c, text, names);
	text = git_attributes_rules(&c->arena, s.files, s.n, "filter", &cut);
	if (cut || s.n >= GIT_ATTRIBUTES_FILES + 2 || out.n > LISTED_MAX)
		return STR("the work has more in its .gitattributes than can be looked at for "
			   "filters: take away what it added to them");
	after = rules_of(c, text, names);
	found = differ(&before, &after);
	if (found.what == DIFF_NONE)
		return STR("");
	base = found.what == DIFF_NO_RULE || found.what == DIFF_NO_EXCEPTION;
	file = base ? file_of(c, s.old, s.old_n, &found.rule)
		    : file_of(c, s.files, s.n, &found.rule);
	if (file)
		dir = file->dir;
	return arena_printf(&c->arena,
			"%s \"" STR_FMT "\": " STR_FMT " %s the filter \"" STR_FMT
			"\" of the user's git configuration. %s. " STR_FMT,
			differences[found.what].where, STR_ARG(filters_name_of(c, dir)),
			STR_ARG(git_shown(c, found.rule.pattern)), differences[found.what].is,
			STR_ARG(git_shown(c, found.filter)), differences[found.what].why,
			STR_ARG(remedy(c, &s, dir, from)));
}

/* Of a harvest. */

static int harvest_build(struct git_call *c, struct ov_err *err _unused_)
{
	return c->res.refused.n ? GIT_LEAVE : list_build(c, c->base, c->head);
}

static int harvest_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code > 1)
		return git_fail(c, o, err);
	c->res.refused = reason(c, o->out, c->base, c->head);
	return GIT_NEXT;
}

const struct git_step git_filters_harvest_steps[] = {
	STEP_RUN("look for new rules", harvest_build, harvest_judge),
	STEP_END,
};

/* Of a move of the target. */

static int move_build(struct git_call *c, struct ov_err *err _unused_)
{
	return list_build(c, c->target_oid, c->commit);
}

static int move_judge(struct git_call *c, const struct git_out *o, struct ov_err *err)
{
	if (o->code > 1)
		return git_fail(c, o, err);
	c->res.detail = reason(c, o->out, c->target_oid, c->commit);
	if (!c->res.detail.n)
		return GIT_NEXT;
	c->res.outcome = GIT_REFUSED;
	return GIT_FINISH;
}

const struct git_step git_filters_move_steps[] = {
	STEP_RUN("look for new rules", move_build, move_judge),
	STEP_END,
};
