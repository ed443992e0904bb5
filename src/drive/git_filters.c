/*
 * Work that changes for which files a filter of the user's runs does not get to the target branch, unless that is
 * git-lfs. Our git runs such a filter only for what the base names (git_programs.c), and the user's checkout
 * would run it for the rest: what is stored would differ from what should be, such as plain text in place of
 * a secret. A rule that is taken away is fine; files that the base names are filtered until the target has none.
 */
#include "drive/git_call.h"
#include "drive/git_programs.h"
#include "drive/git_steps.h"

enum { LISTED_MAX = 16 << 20 };

static int list_build(struct git_call *c, str from, str to)
{
	if (!c->own || !from.n || str_eq(from, to) || !git_own_line(c, GIT_FILTERS).n)
		return GIT_LEAVE;
	return git_attributes_list(c, from.p, to.p);
}

struct rule {
	str pattern, token, filter; /* of the user's; empty: none */
};

static bool next_rule(str *rules, str names, struct rule *ret)
{
	*ret = (struct rule){ 0 };
	if (!git_attributes_next(rules, &ret->pattern, &ret->token))
		return false;
	if (!git_filter_named(names, ret->token, &ret->filter))
		ret->filter = (str){ 0 };
	return true;
}

/*
 * Goes on behind that rule. Rules that name the user's filters may be passed over: to leave these out makes
 * none run. The others may be exceptions to one that came before: that is *ret_lost.
 */
static bool pass_to(str *rules, str names, const struct rule *want, str *filter,
		struct rule *ret_lost)
{
	str rest = *rules, of = *filter;
	struct rule rule;

	*ret_lost = (struct rule){ 0 };
	while (next_rule(&rest, names, &rule)) {
		bool exception = !rule.filter.n && of.n;

		of = rule.filter.n ? rule.filter : of;
		if (want && str_eq(rule.pattern, want->pattern) &&
				str_eq(rule.token, want->token)) {
			if (ret_lost->pattern.n)
				return false;
			*filter = of;
			*rules = rest;
			return true;
		}
		if (exception && !ret_lost->pattern.n)
			*ret_lost = (struct rule){ rule.pattern, rule.token, of };
	}
	if (want)
		*ret_lost = (struct rule){ 0 };
	return false;
}

/* A rule of `after` by which such a filter runs for more than by `before`, or one that it lacks. */
static bool differ(str before, str after, str names, struct rule *ret)
{
	str filter = { 0 };
	struct rule rule;

	while (next_rule(&after, names, &rule)) {
		bool found = pass_to(&before, names, &rule, &filter, ret);

		if (rule.filter.n && !found) {
			if (!ret->pattern.n)
				*ret = rule;
			return true;
		}
	}
	pass_to(&before, names, NULL, &filter, ret);
	return ret->pattern.n;
}

/* In which file it is: with the ones up to that it is there. */
static str file_of(struct git_call *c, const struct git_attributes *files, size_t n,
		const struct rule *rule)
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
			return arena_printf(&c->arena, STR_FMT "%s.gitattributes",
					STR_ARG(files[i].dir), files[i].dir.n ? "/" : "");
	}
	return STR(".gitattributes");
}

static str reason(struct git_call *c, str out, str from, str to)
{
	static const char why[] =
			"Overseer runs that only for files that the target's own rules name, so "
			"others would be stored without it, such as plain text in place of what "
			"is encrypted. Leave the rules about it as they were, and files that need "
			"a new one out of the work: such a rule is for a person to add";
	str names = git_own_text(c, GIT_FILTERS), before, after;
	struct git_attributes *old, *files;
	size_t old_n = git_attributes_of(c, out, from.p, &old),
	       n = git_attributes_of(c, out, to.p, &files);
	struct rule rule;
	bool cut;

	before = git_attributes_rules(&c->arena, old, old_n, "filter", NULL);
	after = git_attributes_rules(&c->arena, files, n, "filter", &cut);
	if (cut || n >= GIT_ATTRIBUTES_FILES + 2 || out.n > LISTED_MAX)
		return STR("the work has more in its .gitattributes than can be looked at for "
			   "filters: take away what it added to them");
	if (!differ(before, after, names, &rule))
		return STR("");
	if (git_filter_named(names, rule.token, &rule.filter))
		return arena_printf(&c->arena,
				"the work has a new rule in \"" STR_FMT "\": " STR_FMT
				" is for the filter \"" STR_FMT
				"\" of the user's git configuration. %s",
				STR_ARG(git_shown(c, file_of(c, files, n, &rule))),
				STR_ARG(git_shown(c, rule.pattern)),
				STR_ARG(git_shown(c, rule.filter)), why);
	return arena_printf(&c->arena,
			"the work lacks a rule that was in \"" STR_FMT "\", or has it elsewhere: "
			"for " STR_FMT " it made an exception to the filter \"" STR_FMT
			"\" of the user's git configuration. %s",
			STR_ARG(git_shown(c, file_of(c, old, old_n, &rule))),
			STR_ARG(git_shown(c, rule.pattern)), STR_ARG(git_shown(c, rule.filter)),
			why);
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
