#include "app/store/rescue.h"

#include <stdarg.h>
#include <stdlib.h>

#include "app/store/safe_mode.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/capacity/retention.h"
#include "core/event/event.h"
#include "core/export/rescue_owner.h"
#include "data/id/ulid.h"
#include "data/message/vital.h"
#include "drive/git/git_ask.h"
#include "sys/host/rand.h"

enum { PAGE = 4096, ARGS_MAX = 16, WORDS_MAX = 700 };

int rescue_git(struct op_ctx *cx, size_t max, str *ret, struct ov_err *err, ...)
{
	const char *args[ARGS_MAX], *arg;
	struct git_answer got;
	size_t n = 0;
	va_list ap;
	int r;

	va_start(ap, err);
	while ((arg = va_arg(ap, const char *))) {
		assert(n + 1 < ARGS_MAX);
		args[n++] = arg;
	}
	va_end(ap);
	args[n] = NULL;
	r = git_ask(cx->arena, cx->daemon->repo, args, max, &got, err);
	if (r < 0)
		return r;
	if (got.code != 0)
		return ov_fail(err, OV_EIO, "git %s: " STR_FMT, args[0],
				STR_ARG(utf8_truncate(str_trim(got.err), WORDS_MAX)));
	*ret = got.out;
	return 0;
}

/* ---- whose they are, by the log ---- */

static int learn_owners(struct store *s, uint64_t until, struct rescue_owners *owners,
		struct ov_err *err)
{
	uint64_t after = 0;
	size_t n = 1;
	int r = 0;

	while (r == 0 && n > 0 && after < until) {
		_cleanup_(arena_done) struct arena a = ARENA_INIT;
		struct store_record *recs;
		struct event e;

		r = store_read(s, after, PAGE, &a, &recs, &n, err);
		for (size_t i = 0; r == 0 && i < n; i++) {
			after = recs[i].seq;
			if (after > until || !rescue_owners_wants(recs[i].kind))
				continue;
			r = event_decode(&a, recs[i].seq, recs[i].at, recs[i].kind, recs[i].body,
					&e, err);
			if (r == 0)
				rescue_owners_add(owners, &e);
		}
	}
	return r;
}

static void take_owner(struct arena *a, struct rescue *x, const struct rescue_owners *owners)
{
	struct rescue_owner o;

	if (!rescue_owners_find(owners, x->id, x->commit, &o))
		return;
	x->goal = arena_str(a, o.goal);
	x->node = arena_str(a, o.node);
	x->assignment = arena_str(a, o.assignment);
	x->run = arena_str(a, o.run);
	x->base = arena_str(a, o.base);
	x->why = str_from(o.why);
	x->at = MAX(x->at, o.at);
	x->unchanged = x->base.n && str_eq(x->base, x->commit);
}

/* ---- what somebody goes on from ---- */

static int mark_containing(const struct rescues *r, str commit, struct ov_err *err)
{
	const char *contains = arena_printf(r->cx->arena, "--contains=" STR_FMT, STR_ARG(commit)).p;
	str out, line;
	/* A commit that is gone is kept by none of them. */
	int got = rescue_git(r->cx, GIT_ASK_MAX, &out, err, "for-each-ref", "--format=%(refname)",
			contains, RESCUE_PREFIX, NULL);

	if (got < 0)
		return got == OV_EIO ? 0 : got;
	while (str_split(&out, '\n', &line))
		for (size_t i = 0; i < r->n; i++)
			r->list[i].needed |= str_eq(r->list[i].ref, line);
	return 0;
}

/*
 * All that an assignment under way may fall back on, and the commits that the next one begins with.
 */
static int mark_needed(const struct rescues *r, const struct state *s, struct ov_err *err)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct node *n = state_node(s, r->list[i].goal, r->list[i].node);

		r->list[i].needed = n && n->assignment;
	}
	for (size_t g = 0; g < s->goals.n; g++)
		for (size_t i = 0; i < s->goals.p[g]->nodes.n; i++) {
			const struct node *n = s->goals.p[g]->nodes.p[i];
			int got = n->next.handover.n && !node_is_final(n)
					? mark_containing(r, n->next.handover, err)
					: 0;

			if (got < 0)
				return got;
		}
	return 0;
}

/* ---- reading them ---- */

/* "refs/overseer/rescue/WORKER/ID", "refs/overseer/accepted/KEY" */
static void take_name(struct rescue *x)
{
	str rest = str_sub(x->ref, strlen(RESCUE_PREFIX), x->ref.n), part, before = STR("");

	while (str_split(&rest, '/', &part)) {
		before = x->id;
		x->id = part;
	}
	if (str_starts(x->ref, STR(RESCUE_PREFIX "rescue/")) && !str_is(before, "rescue"))
		x->worker = before;
}

/* What somebody mended in: "remediation_20261115T185901Z", and "_dir" where there were two. */
static void take_remediation(struct arena *a, struct rescue *x)
{
	str time;

	if (!str_starts(x->id, STR(VITAL_REMEDIATION)))
		return;
	x->why = STR("the checkout, before the daemon was mended");
	time = str_sub(x->id, strlen(VITAL_REMEDIATION), strlen("20261115T185901Z"));
	if (time.n == strlen("20261115T185901Z"))
		(void)time_parse(arena_printf(a, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", time.p,
						 time.p + 4, time.p + 6, time.p + 9, time.p + 11,
						 time.p + 13),
				&x->at);
}

/*
 * The id tells when it was made, or the log; where neither does, the commit. Its date is its
 * maker's word, so that it counts only up to now.
 */
static ov_time made_at(const struct rescue *x, ov_time committed, ov_time now)
{
	str id = str_sub(x->id, 0, str_find_byte(x->id, '.'));
	ov_time at = ulid_time(str_sub(id, id.n > ULID_LEN ? id.n - ULID_LEN : 0, ULID_LEN));

	return MAX(at, MIN(committed, now));
}

static int by_age(const void *x, const void *y)
{
	const struct rescue *a = x, *b = y;

	if (a->at != b->at)
		return a->at > b->at ? -1 : 1;
	return -str_cmp(a->ref, b->ref);
}

static void sort_by_age(struct rescues *r)
{
	if (r->n)
		qsort(r->list, r->n, sizeof(*r->list), by_age);
}

static int read_refs(struct rescues *r, struct ov_err *err)
{
	struct op_ctx *cx = r->cx;
	str out, line, rest;
	size_t cap = 0;
	int got = rescue_git(cx, GIT_ASK_MAX, &out, err, "for-each-ref",
			"--format=%(refname)%00%(objectname)%00%(committerdate:unix)%00%(subject)",
			RESCUE_PREFIX, NULL);

	if (got < 0)
		return got;
	for (rest = out; str_split(&rest, '\n', &line);)
		cap++;
	r->list = arena_array(cx->arena, struct rescue, cap);
	for (rest = out; str_split(&rest, '\n', &line);) {
		struct rescue *x = &r->list[r->n];
		int64_t seconds = 0;
		str when;

		if (!str_split(&line, '\0', &x->ref) || !str_split(&line, '\0', &x->commit) ||
				!str_split(&line, '\0', &when) ||
				str_starts(x->ref, STR(REMOTE_PREFIX)))
			continue;
		(void)str_to_i64(when, &seconds);
		x->subject = utf8_clean(cx->arena, line);
		take_name(x);
		take_remediation(cx->arena, x);
		x->at = x->at ? x->at : made_at(x, seconds * OV_SECOND, cx->now);
		r->n++;
	}
	sort_by_age(r);
	return 0;
}

static int ask_store(struct rescues *r, struct ov_err *err)
{
	struct op_ctx *cx = r->cx;
	struct safe_store s = { 0 };
	struct rescue_owners *owners = rescue_owners_new(rand_u64());
	int got = safe_store_open(cx->daemon->store_url, rand_u64(), &s, err);

	if (got == 0)
		got = learn_owners(s.store, s.state->seq, owners, err);
	for (size_t i = 0; got == 0 && i < r->n; i++)
		take_owner(cx->arena, &r->list[i], owners);
	sort_by_age(r);
	if (got == 0)
		got = mark_needed(r, s.state, err);
	if (got == 0 && s.safe.on)
		got = ov_fail(err, OV_ESTATE, "the store is damaged: %s", s.safe.reason);
	safe_store_done(&s);
	rescue_owners_free(owners);
	return got;
}

int rescues_read(struct op_ctx *cx, struct rescues *ret, struct ov_err *err)
{
	struct rescues r = { .cx = cx };
	struct ov_err found = { 0 };
	int got = read_refs(&r, err);

	if (got < 0)
		return got;
	if (ask_store(&r, &found) < 0)
		r.problem = arena_cstr(cx->arena, str_from(found.msg));
	*ret = r;
	return 0;
}

/* ---- choosing ---- */

static bool is_exactly(const struct rescue *x, str text)
{
	str name = str_sub(x->ref, strlen(RESCUE_PREFIX), x->ref.n);

	return str_eq(x->ref, text) || str_eq(name, text) || str_eq(x->id, text) ||
			(x->worker.n && str_ends(x->ref, text) && str_starts(text, x->worker) &&
					str_eq(str_sub(name, strlen("rescue/"), name.n), text));
}

int rescues_find(const struct rescues *r, str text, const struct rescue **ret, struct ov_err *err)
{
	const struct rescue *found = NULL;
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++)
		if (is_exactly(&r->list[i], text)) {
			*ret = &r->list[i];
			return 0;
		}
	for (size_t i = 0; text.n && i < r->n; i++)
		if (str_starts(r->list[i].id, text)) {
			found = &r->list[i];
			n++;
		}
	if (n == 1) {
		*ret = found;
		return 0;
	}
	if (n)
		ov_fail(err, OV_ECONFLICT, "%zu rescued states begin with \"" STR_FMT "\"", n,
				STR_ARG(str_sub(text, 0, 100)));
	else
		ov_fail(err, OV_ENOTFOUND, "nothing was rescued as \"" STR_FMT "\"",
				STR_ARG(str_sub(text, 0, 100)));
	return ov_next(err, "overseer rescue list");
}

/*
 * Of one whose node is not known the newest of its worker stays, or of its part of the names. What
 * holds nothing stands for no node: the newest that does is to stay.
 */
static str group_of(struct arena *a, const struct rescue *x)
{
	if (x->unchanged)
		return STR("unchanged");
	if (x->node.n)
		return arena_printf(a, STR_FMT "/" STR_FMT, STR_ARG(x->goal), STR_ARG(x->node));
	return str_sub(x->ref, 0, x->ref.n - x->id.n);
}

int rescues_droppable(const struct rescues *r, const struct rescue ***ret, size_t *ret_n,
		struct ov_err *err)
{
	struct op_ctx *cx = r->cx;
	struct retained *list = arena_array(cx->arena, struct retained, r->n);
	const struct rescue **out = arena_array(cx->arena, const struct rescue *, r->n);
	size_t n = 0;

	if (r->problem)
		return ov_fail(err, OV_ESTATE,
				"nothing is pruned while the store cannot say whose it is: %s",
				r->problem);
	for (size_t i = 0; i < r->n; i++)
		list[i] = (struct retained){ .name = r->list[i].ref,
			.group = group_of(cx->arena, &r->list[i]),
			.at = r->list[i].at,
			.needed = r->list[i].needed };
	/* Both are sorted alike, newest first. */
	retain(list, r->n, cx->now, cx->config->rescue_keep, cx->config->rescue_keep_count);
	for (size_t i = 0; i < r->n; i++) {
		assert(str_eq(list[i].name, r->list[i].ref));
		if (list[i].drop)
			out[n++] = &r->list[i];
	}
	*ret = out;
	*ret_n = n;
	return 0;
}
