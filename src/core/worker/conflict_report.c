/*
 * What the radar found: a conflict that is new is recorded and told to both agents, once; one that
 * no longer comes, or whose work is over, is taken back.
 */
#include "base/arena.h"
#include "base/str.h"
#include "core/decide/dispatch.h"
#include "core/decide/emit.h"
#include "core/model/limits.h"
#include "core/prompt/prompt.h"
#include "core/tick/conflict.h"
#include "core/work/work.h"
#include "core/worker/worker.h"
#include "data/id/sha256.h"

/* One pair that was looked at, in the order in which the state keeps it. */
struct sight {
	str a, b;
	struct texts files; /* none: they would not conflict */
};

static bool is_under_way(const struct decide_ctx *cx, str id)
{
	const struct assignment *as = state_assignment(cx->state, id);

	return as && as->live && as->node && !assignment_is_final(as);
}

static bool read_sight(const struct decide_ctx *cx, const struct pt_pair *x, struct sight *ret)
{
	bool swap = x->b.n && str_cmp(x->a, x->b) > 0;

	*ret = (struct sight){ swap ? x->b : x->a, swap ? x->a : x->b, x->files };
	return !str_eq(x->a, x->b) && is_under_way(cx, ret->a) &&
			(!x->b.n || is_under_way(cx, ret->b));
}

static struct texts some_files(struct decide_ctx *cx, struct texts files)
{
	struct texts some = { arena_array(cx->arena, str, files.n),
		MIN(files.n, (size_t)RADAR_FILES) };

	for (size_t i = 0; i < some.n; i++)
		some.p[i] = str_sub(files.p[i], 0, LIMIT_NAME);
	return some;
}

static bool same_files(const struct conflict *c, struct texts files)
{
	if (c->files.n != files.n)
		return false;
	for (size_t i = 0; i < files.n; i++)
		if (!str_eq(c->files.p[i], files.p[i]))
			return false;
	return true;
}

static struct subject about_first(const struct decide_ctx *cx, str a)
{
	const struct assignment *as = state_assignment(cx->state, a);

	return as ? about_assignment(as) : (struct subject){ 0 };
}

/* The same words were said to it before: it knows. */
static bool was_told(const struct assignment *as, str hash)
{
	for (size_t i = 0; i < as->dispatches.n; i++)
		if (str_eq(as->dispatches.p[i]->instruction_hash, hash))
			return true;
	return false;
}

/* This batch sends it something already: a run is told one thing at a time. */
static bool is_being_told(const struct decide_ctx *cx, const struct assignment *as)
{
	for (size_t i = 0; i < cx->out->n; i++)
		if (cx->out->p[i]->kind == EV_EFFECT_INTENDED &&
				str_eq(cx->out->p[i]->assignment, as->id))
			return true;
	return false;
}

/*
 * A run that hears while it works is told now. Any other is told by its next instruction, if it has
 * one while the conflict lasts: no run is ended or begun for it.
 */
static void conflict_report_tell(struct decide_ctx *cx, const struct conflict *c, str id)
{
	const struct assignment *as = state_assignment(cx->state, id);
	str text;

	if (!as || run_deaf(cx, as->node) || is_being_told(cx, as))
		return;
	text = conflict_words(cx->arena, cx->state, c, as, cx->policy->target_branch);
	if (!was_told(as, sha256_hex(cx->arena, text)))
		dispatch_send(cx, as, "conflict", text, STR(""));
}

static void predicted(struct decide_ctx *cx, const struct sight *x)
{
	struct texts files = some_files(cx, x->files);
	const struct conflict *known = state_conflict(cx->state, x->a, x->b);
	struct conflict c = { .a = x->a, .b = x->b, .files = { files.p, files.n } };
	struct ev_conflict_predicted *e;

	if (known && same_files(known, files))
		return;
	e = emit_conflict_predicted(cx, about_first(cx, x->a));
	e->a = x->a;
	e->b = x->b;
	MAYBE_SET(e, files, files);
	if (known)
		return;
	conflict_report_tell(cx, &c, c.a);
	conflict_report_tell(cx, &c, c.b);
}

/* By this very report, which may name a pair twice. */
static bool is_cleared(const struct decide_ctx *cx, const struct conflict *c)
{
	for (size_t i = 0; i < cx->out->n; i++) {
		const struct event *e = cx->out->p[i];

		if (e->kind == EV_CONFLICT_CLEARED && str_eq(as_conflict_cleared(e)->a, c->a) &&
				str_eq(as_conflict_cleared(e)->b, c->b))
			return true;
	}
	return false;
}

static void clear(struct decide_ctx *cx, const struct conflict *c, const char *reason)
{
	struct ev_conflict_cleared *e;

	if (is_cleared(cx, c))
		return;
	e = emit_conflict_cleared(cx, about_first(cx, c->a));
	e->a = c->a;
	e->b = c->b;
	e->reason = str_from(reason);
}

int decide_conflict_report(struct decide_ctx *cx, const struct msg_conflict_report *p,
		value **ret_result, struct ov_err *err)
{
	const struct pt_pair *pairs = parts_from(cx->arena, PART_pair, p->pairs);
	struct sight x;

	(void)ret_result, (void)err;
	for (size_t i = 0; i < cx->state->conflicts.n; i++) {
		const struct conflict *c = cx->state->conflicts.p[i];

		if (!is_under_way(cx, c->a) || (c->b.n && !is_under_way(cx, c->b)))
			clear(cx, c, "the work is over");
	}
	for (size_t i = 0; i < value_count(p->pairs); i++) {
		const struct conflict *c;

		if (!read_sight(cx, &pairs[i], &x))
			continue;
		c = state_conflict(cx->state, x.a, x.b);
		if (x.files.n)
			predicted(cx, &x);
		else if (c)
			clear(cx, c, "the branches would merge now");
	}
	return 0;
}
