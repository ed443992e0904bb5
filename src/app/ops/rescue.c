/*
 * Operations on what was rescued: listing, showing, making a branch of it, and letting old ones go.
 */
#include "app/store/rescue.h"
#include "app/ops/ops.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "data/message/vital.h"
#include "drive/git/git_ask.h"

enum {
	LISTED = 50,
	LISTED_MAX = 1000,
	COMMITS_SHOWN = 50,
	STAT_MAX = 64 * 1024,
	PATCH_MAX = 512 * 1024,
	SHORT_ID = 8,
};

static void put_rescue_text(struct op_ctx *cx, value *v, const char *key, str s)
{
	value_put(cx->arena, v, key, value_str(cx->arena, s));
}

static value *rescue_row(struct op_ctx *cx, const struct rescue *x)
{
	struct arena *a = cx->arena;
	value *v = value_object(a);

	put_rescue_text(cx, v, "ref", x->ref);
	put_rescue_text(cx, v, "id", x->id);
	put_rescue_text(cx, v, "commit", x->commit);
	value_put(a, v, "at", value_time(a, x->at));
	put_rescue_text(cx, v, "worker", x->worker);
	put_rescue_text(cx, v, "goal", x->goal);
	put_rescue_text(cx, v, "node", x->node);
	put_rescue_text(cx, v, "assignment", x->assignment);
	put_rescue_text(cx, v, "run", x->run);
	put_rescue_text(cx, v, "why", x->why.n ? x->why : x->subject);
	value_put(a, v, "needed", value_bool(a, x->needed));
	return v;
}

/*
 * Where what was rescued parts from the target. When all of its commits are there, the commit
 * before it: what it changed is still worth a look.
 */
static str base_of(struct op_ctx *cx, const struct rescue *x)
{
	const char *commit = arena_cstr(cx->arena, x->commit);
	const char *target = arena_cstr(cx->arena,
			cx->config->policy.target_branch.n ? cx->config->policy.target_branch
							   : STR("HEAD"));
	const char *parent = arena_printf(cx->arena, "%s^", commit).p;
	str base = STR(""), out;

	if (rescue_git(cx, STAT_MAX, &out, NULL, "merge-base", target, commit, NULL) == 0)
		base = str_trim(out);
	if ((!base.n || str_eq(base, x->commit)) &&
			rescue_git(cx, STAT_MAX, &out, NULL, "rev-parse", "--verify", "-q", parent,
					NULL) == 0)
		base = str_trim(out);
	return base.n ? base : x->commit;
}

/* How many commits and files; what git cannot say is left out. */
static void put_what(struct op_ctx *cx, value *v, const struct rescue *x, str base)
{
	struct arena *a = cx->arena;
	const char *range =
			arena_printf(a, STR_FMT ".." STR_FMT, STR_ARG(base), STR_ARG(x->commit)).p;
	int64_t commits = 0, files = 0;
	str out, line;

	if (rescue_git(cx, STAT_MAX, &out, NULL, "rev-list", "--count", range, "--", NULL) == 0 &&
			str_to_i64(str_trim(out), &commits))
		value_put(a, v, "commits", value_int(a, commits));
	if (rescue_git(cx, GIT_ASK_MAX, &out, NULL, "diff", "--no-ext-diff", "--name-only", "-z",
			    range, "--", NULL) < 0)
		return;
	while (str_split(&out, '\0', &line))
		files += line.n > 0;
	value_put(a, v, "files", value_int(a, files));
}

int op_rescue_list(struct op_ctx *cx, const struct pr_rescue_list *p, value **ret,
		struct ov_err *err)
{
	int64_t limit = p->has_limit ? p->limit : LISTED;
	str worker = p->worker, node = p->node;
	struct rescues all;
	value *v = value_object(cx->arena), *list = value_array(cx->arena), *row;
	int64_t matching = 0;
	int r = rescues_read(cx, &all, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < all.n; i++) {
		const struct rescue *x = &all.list[i];
		str key = arena_printf(cx->arena, STR_FMT "/" STR_FMT, STR_ARG(x->goal),
				STR_ARG(x->node));

		if (x->unchanged || (worker.n && !str_eq(worker, x->worker)) ||
				(node.n && !str_eq(node, x->node) && !str_eq(node, key)))
			continue;
		if (matching++ >= limit)
			continue;
		row = rescue_row(cx, x);
		put_what(cx, row, x, base_of(cx, x));
		value_push(cx->arena, list, row);
	}
	value_put(cx->arena, v, "rescued", list);
	value_put(cx->arena, v, "matching", value_int(cx->arena, matching));
	value_put(cx->arena, v, "all", value_int(cx->arena, (int64_t)all.n));
	if (all.problem)
		put_rescue_text(cx, v, "problem", str_from(all.problem));
	*ret = v;
	return 0;
}

static int find_one(struct op_ctx *cx, str id, const struct rescue **ret, struct ov_err *err)
{
	struct rescues all;
	int r = rescues_read(cx, &all, err);

	return r < 0 ? r : rescues_find(&all, id, ret, err);
}

/* The commits that nobody else keeps, newest first. */
static int put_commits(struct op_ctx *cx, value *v, const char *range, struct ov_err *err)
{
	const char *count = arena_printf(cx->arena, "--max-count=%d", COMMITS_SHOWN).p;
	value *list = value_array(cx->arena);
	str out, line;
	int r = rescue_git(cx, STAT_MAX, &out, err, "log", count, "--format=%h %s", range, "--",
			NULL);

	if (r < 0)
		return r;
	while (str_split(&out, '\n', &line))
		if (line.n)
			value_push(cx->arena, list,
					value_str(cx->arena, utf8_clean(cx->arena, line)));
	value_put(cx->arena, v, "log", list);
	return 0;
}

int op_rescue_show(struct op_ctx *cx, const struct pr_rescue_show *p, value **ret,
		struct ov_err *err)
{
	const struct rescue *x;
	struct git_answer got;
	const char *range,
			*patch[] = { "diff", "--no-ext-diff", "--no-textconv", NULL, "--", NULL };
	str base, out;
	value *v;
	int r = find_one(cx, p->id, &x, err);

	if (r < 0)
		return r;
	base = base_of(cx, x);
	range = arena_printf(cx->arena, STR_FMT ".." STR_FMT, STR_ARG(base), STR_ARG(x->commit)).p;
	v = rescue_row(cx, x);
	put_rescue_text(cx, v, "base", base);
	put_what(cx, v, x, base);
	r = put_commits(cx, v, range, err);
	if (r == 0)
		r = rescue_git(cx, STAT_MAX, &out, err, "diff", "--no-ext-diff", "--stat=100",
				range, "--", NULL);
	if (r < 0)
		return r;
	put_rescue_text(cx, v, "stat", utf8_clean(cx->arena, out));
	patch[3] = range;
	r = git_ask(cx->arena, cx->daemon->repo, patch, PATCH_MAX, &got, err);
	if (r < 0)
		return r;
	put_rescue_text(cx, v, "patch", utf8_clean(cx->arena, got.out));
	value_put(cx->arena, v, "cut", value_bool(cx->arena, got.cut));
	*ret = v;
	return 0;
}

/* "rescue/pool-1-4kq9x2ab": the end of the id, which is its random part. */
static str default_branch(struct op_ctx *cx, const struct rescue *x)
{
	bool whole = x->id.n <= SHORT_ID || str_starts(x->id, STR(VITAL_REMEDIATION));
	str tail = str_sub(x->id, whole ? 0 : x->id.n - SHORT_ID, x->id.n);
	char *low = arena_cstr(cx->arena, tail);

	for (char *p = low; *p; p++)
		*p = (char)(*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p);
	return arena_printf(cx->arena, "rescue/" STR_FMT "%s%s", STR_ARG(x->worker),
			x->worker.n ? "-" : "", low);
}

int op_rescue_restore(struct op_ctx *cx, const struct pr_rescue_restore *p, value **ret,
		struct ov_err *err)
{
	str branch = p->branch, out, old = STR("");
	const struct rescue *x;
	struct ov_err said = { 0 };
	const char *ref, *commit;
	value *v = value_object(cx->arena);
	int r = find_one(cx, p->id, &x, err);

	if (r < 0)
		return r;
	if (!branch.n)
		branch = default_branch(cx, x);
	commit = arena_cstr(cx->arena, x->commit);
	ref = arena_printf(cx->arena, "refs/heads/" STR_FMT, STR_ARG(branch)).p;
	if (branch.p[0] == '-' ||
			rescue_git(cx, STAT_MAX, &out, &said, "check-ref-format", ref, NULL) < 0)
		return ov_fail(err, OV_EINVALID, "\"" STR_FMT "\" is no name for a branch",
				STR_ARG(branch));
	if (rescue_git(cx, STAT_MAX, &out, &said, "rev-parse", "--verify", "-q", ref, NULL) == 0)
		old = str_trim(out);
	if (old.n && !str_eq(old, x->commit)) {
		ov_fail(err, OV_ECONFLICT, "branch " STR_FMT " exists and is something else",
				STR_ARG(branch));
		return ov_next(err, "overseer rescue restore " STR_FMT " --branch NAME",
				STR_ARG(x->id));
	}
	/* The empty old value: it must not exist. */
	if (!old.n)
		r = rescue_git(cx, STAT_MAX, &out, err, "update-ref", "-m", "overseer: restore",
				ref, commit, "", NULL);
	if (r < 0)
		return r;
	put_rescue_text(cx, v, "branch", branch);
	put_rescue_text(cx, v, "commit", x->commit);
	put_rescue_text(cx, v, "ref", x->ref);
	*ret = v;
	return 0;
}

/* With its old value, so that what was added to it meanwhile is not lost. */
static int drop(struct op_ctx *cx, const struct rescue *x, struct ov_err *err)
{
	str out;

	return rescue_git(cx, STAT_MAX, &out, err, "update-ref", "--no-deref", "-d",
			arena_cstr(cx->arena, x->ref), arena_cstr(cx->arena, x->commit), NULL);
}

int op_rescue_prune(struct op_ctx *cx, const struct pr_rescue_prune *p, value **ret,
		struct ov_err *err)
{
	bool dry_run = p->dry_run;
	value *v = value_object(cx->arena), *list = value_array(cx->arena);
	const struct rescue **old = NULL;
	struct ov_err failed = { 0 };
	int64_t removed = 0, left = 0;
	struct rescues all;
	size_t n = 0;
	int r = rescues_read(cx, &all, err);

	if (r == 0)
		r = rescues_droppable(&all, &old, &n, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		if (!dry_run && drop(cx, old[i], &failed) < 0) {
			left++;
			continue;
		}
		removed++;
		if (value_count(list) < LISTED_MAX)
			value_push(cx->arena, list, rescue_row(cx, old[i]));
	}
	value_put(cx->arena, v, "removed", value_int(cx->arena, removed));
	value_put(cx->arena, v, "kept", value_int(cx->arena, (int64_t)all.n - removed));
	value_put(cx->arena, v, "failed", value_int(cx->arena, left));
	put_rescue_text(cx, v, "reason", arena_str(cx->arena, str_from(failed.msg)));
	value_put(cx->arena, v, "dry_run", value_bool(cx->arena, dry_run));
	value_put(cx->arena, v, "rescued", list);
	*ret = v;
	return 0;
}
