/* Looking back: which event was the last at a moment, and how a goal stood then. */
#include "app/ops/ops.h"
#include "app/store/fold.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/moment.h"
#include "base/str.h"
#include "core/view/view.h"
#include "sys/host/clock.h"
#include "sys/host/rand.h"

int op_moment(struct op_ctx *cx, const char *what, str text, ov_time *ret, struct ov_err *err)
{
	struct moment_clock clock = { cx->now, clock_utc_offset };

	if (moment_parse(text, MOMENT_PAST, &clock, ret))
		return 0;
	return ov_fail(err, OV_EINVALID, "%s: \"" STR_FMT "\" is not a time such as %s", what,
			STR_ARG(text), MOMENT_FORMS);
}

/* Times in the log grow, but for a clock that was put back: one step per bit of its length. */
int op_seq_at(struct store *s, uint64_t head, ov_time at, uint64_t *ret, struct ov_err *err)
{
	uint64_t last = 0, beyond = head + 1;

	while (beyond - last > 1) {
		_cleanup_(arena_done) struct arena a = ARENA_INIT;
		uint64_t middle = last + (beyond - last) / 2;
		struct store_record *rec;
		size_t n;
		int r = store_read(s, middle - 1, 1, &a, &rec, &n, err);

		if (r < 0)
			return r;
		if (n && rec->at <= at)
			last = MAX(rec->seq, middle);
		else
			beyond = middle;
	}
	*ret = last;
	return 0;
}

static int state_at(struct store *s, ov_time at, struct state **ret, struct ov_err *err)
{
	uint8_t hash[SHA256_LEN];
	uint64_t head, seq = 0, snapshot;
	int r = store_head(s, &head, hash, err);

	if (r == 0)
		r = op_seq_at(s, head, at, &seq, err);
	return r == 0 ? fold_store(s, rand_u64(), seq, ret, &snapshot, err) : r;
}

static int goal_then(struct op_ctx *cx, const struct state *s, str goal, ov_time at, value **ret,
		struct ov_err *err)
{
	struct goal *g;
	value *v;
	int r = state_find_goal(s, goal, &g, err);

	if (r < 0)
		return ov_wrap(err, r, "as of " STR_FMT, STR_ARG(time_format(cx->arena, at)));
	v = value_object(cx->arena);
	value_put(cx->arena, v, "at", value_time(cx->arena, at));
	value_put(cx->arena, v, "seq", value_int(cx->arena, (int64_t)s->seq));
	value_put(cx->arena, v, "seq_at", value_time(cx->arena, s->at));
	value_put(cx->arena, v, "goal", view_goal(cx->arena, s, g));
	value_put(cx->arena, v, "plan", view_plan(cx->arena, s, g));
	*ret = value_copy(cx->arena, v); /* the state goes */
	return 0;
}

int op_goal_history(struct op_ctx *cx, const struct pr_goal_history *p, value **ret,
		struct ov_err *err)
{
	struct store *store = NULL;
	struct state *s = NULL;
	ov_time at;
	int r = op_moment(cx, "at", p->at, &at, err);

	if (r == 0)
		r = store_open(str_from(cx->daemon->store_url), STORE_READ_ONLY, &store, err);
	if (r == 0)
		r = state_at(store, at, &s, err);
	if (r == 0)
		r = goal_then(cx, s, p->goal, at, ret, err);
	state_free(s);
	store_close(store);
	return r;
}
