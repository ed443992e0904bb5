/*
 * Reports are folds of the log of their own: they are made by a process of their own, which reads
 * the store page by page, so that a long log keeps nobody waiting.
 */
#include "core/report/report.h"
#include "app/ops/ops.h"
#include "app/store/fold.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/event/event.h"
#include "sys/host/rand.h"

enum { PAGE = 1000 };

struct reading {
	struct store *store;
	struct state *state;
	uint64_t head;
};

static int open_log(struct op_ctx *cx, struct reading *ret, struct ov_err *err)
{
	uint64_t snapshot;
	int r = store_open(str_from(cx->daemon->store_url), STORE_READ_ONLY, &ret->store, err);

	if (r == 0)
		r = fold_store(ret->store, rand_u64(), UINT64_MAX, &ret->state, &snapshot, err);
	if (r == 0)
		ret->head = ret->state->seq;
	return r;
}

static void close_log(struct reading *l)
{
	state_free(l->state);
	store_close(l->store);
}

typedef bool wants_fn(str kind);
typedef void add_fn(void *report, const struct event *e);

/* Events after `after` and up to the head of the state; the state and the report agree. */
static int read_log(struct reading *l, uint64_t after, wants_fn *wants, add_fn *add, void *report,
		struct ov_err *err)
{
	size_t n = 1;

	while (n > 0 && after < l->head) {
		_cleanup_(arena_done) struct arena page = ARENA_INIT;
		struct store_record *recs;
		int r = store_read(l->store, after, PAGE, &page, &recs, &n, err);

		for (size_t i = 0; r == 0 && i < n && recs[i].seq <= l->head; i++) {
			struct event e;

			if (!wants(recs[i].kind))
				continue;
			r = event_decode(&page, recs[i].seq, recs[i].at, recs[i].kind, recs[i].body,
					&e, err);
			if (r == 0)
				add(report, &e);
		}
		if (r < 0)
			return r;
		if (n)
			after = recs[n - 1].seq;
	}
	return 0;
}

static void add_goal(void *report, const struct event *e)
{
	report_goal_add(report, e);
}

static void add_detectors(void *report, const struct event *e)
{
	report_detectors_add(report, e);
}

static void add_period(void *report, const struct event *e)
{
	report_period_add(report, e);
}

static int goal_report(struct op_ctx *cx, struct reading *l, const struct goal *g, value **ret,
		struct ov_err *err)
{
	struct op_ctx with_state = *cx;
	struct report_goal *report = report_goal_new(g->id);
	uint64_t from = 0;
	int r;

	with_state.state = l->state;
	r = op_seq_at(l->store, l->head, g->created_at - 1, &from, err);
	if (r == 0)
		r = read_log(l, from, report_goal_wants, add_goal, report, err);
	/* The clock was set back since: times do not tell where it began. */
	if (r == 0 && from && !report_goal_begun(report)) {
		report_goal_free(report);
		report = report_goal_new(g->id);
		r = read_log(l, 0, report_goal_wants, add_goal, report, err);
	}
	if (r == 0)
		*ret = report_goal_view(cx->arena, report, l->state, op_goal_usage(&with_state, g),
				cx->now);
	report_goal_free(report);
	return r;
}

static int detectors_report(struct op_ctx *cx, struct reading *l, const struct goal *g, value **ret,
		struct ov_err *err)
{
	struct report_detectors *report = report_detectors_new(g ? g->id : STR(""));
	struct oversight o;
	int r = read_log(l, 0, report_detectors_wants, add_detectors, report, err);

	if (r == 0) {
		oversight_for(&cx->config->policy, g, NULL, &o);
		*ret = report_detectors_view(cx->arena, report, &o);
		value_put(cx->arena, *ret, "goal",
				g ? value_str(cx->arena, arena_str(cx->arena, g->id))
				  : value_null(cx->arena));
	}
	report_detectors_free(report);
	return r;
}

/* What a page of the log says of the time before a period. */
struct before {
	ov_time since;
	uint64_t from;   /* the period begins after this event */
	bool known, up;  /* what the last event about a daemon before that said */
	bool all_before; /* nothing on the page is of the period */
};

static void look_back(struct before *b, const struct store_record *recs, size_t n)
{
	uint64_t until = b->from;
	bool known = false, up = false;

	b->all_before = true;
	for (size_t i = 0; i < n && recs[i].seq <= until && b->all_before; i++) {
		bool started = str_is(recs[i].kind, "daemon.started");

		if (recs[i].at >= b->since) {
			b->all_before = false;
			b->from = recs[i].seq - 1;
		} else if (started || str_is(recs[i].kind, "daemon.stopped")) {
			known = true;
			up = started;
		}
	}
	/* A page that is read later is older. */
	if (!b->all_before || !b->known) {
		b->known = known;
		b->up = up;
	}
}

/* The last event before a moment, as far as times grow: up to where the clock was set. */
static int seq_before(struct reading *l, ov_time since, uint64_t *ret, struct ov_err *err)
{
	const struct seqs *history = &l->state->vigil.history; /* knows when the clock was set */
	int r = op_seq_at(l->store, l->head, since - 1, ret, err);

	for (size_t i = 0; r == 0 && i < history->n; i++) {
		_cleanup_(arena_done) struct arena a = ARENA_INIT;
		struct store_record *rec;
		uint64_t found = *ret;
		size_t n;

		r = store_read(l->store, history->p[i] - 1, 1, &a, &rec, &n, err);
		if (r == 0 && n && str_is(rec->kind, "clock.moved") && rec->seq > 1)
			r = op_seq_at(l->store, rec->seq - 1, since - 1, &found, err);
		*ret = MIN(*ret, found);
	}
	return r;
}

/*
 * Where a period begins, and whether a daemon was up then. Times may go back where the clock was
 * set: events of before the period are among those that follow.
 */
static int find_begin(struct reading *l, struct before *b, struct ov_err *err)
{
	uint64_t end;
	int r = seq_before(l, b->since, &b->from, err);

	for (end = b->from; r == 0 && end > 0;) {
		_cleanup_(arena_done) struct arena page = ARENA_INIT;
		uint64_t start = end > PAGE ? end - PAGE : 0;
		struct store_record *recs;
		size_t n;

		r = store_read(l->store, start, end - start, &page, &recs, &n, err);
		if (r == 0)
			look_back(b, recs, n);
		if (r < 0 || (b->all_before && b->known))
			break;
		end = start;
	}
	return r;
}

static int period_report(struct op_ctx *cx, struct reading *l, ov_time since, value **ret,
		struct ov_err *err)
{
	struct report_period *report = report_period_new(since);
	struct before begin = { .since = since };
	int r = find_begin(l, &begin, err);

	if (r == 0 && begin.up)
		report_period_up(report);
	if (r == 0)
		r = read_log(l, begin.from, report_period_wants, add_period, report, err);
	if (r == 0)
		*ret = value_copy(cx->arena,
				report_period_view(cx->arena, report, l->state, &cx->config->policy,
						cx->now));
	report_period_free(report);
	return r;
}

int op_report_goal(struct op_ctx *cx, const struct pr_report_goal *p, value **ret,
		struct ov_err *err)
{
	struct reading l = { 0 };
	struct goal *g;
	int r = open_log(cx, &l, err);

	if (r == 0)
		r = state_find_goal(l.state, p->goal, &g, err);
	if (r == 0)
		r = goal_report(cx, &l, g, ret, err);
	close_log(&l);
	return r;
}

int op_report_detectors(struct op_ctx *cx, const struct pr_report_detectors *p, value **ret,
		struct ov_err *err)
{
	struct reading l = { 0 };
	struct goal *g = NULL;
	int r = open_log(cx, &l, err);

	if (r == 0 && p->goal.n)
		r = state_find_goal(l.state, p->goal, &g, err);
	if (r == 0)
		r = detectors_report(cx, &l, g, ret, err);
	close_log(&l);
	return r;
}

int op_report_period(struct op_ctx *cx, const struct pr_report_period *p, value **ret,
		struct ov_err *err)
{
	struct reading l = { 0 };
	ov_time since;
	int r = op_moment(cx, "since", p->since, &since, err);

	if (r == 0)
		r = open_log(cx, &l, err);
	if (r == 0)
		r = period_report(cx, &l, since, ret, err);
	close_log(&l);
	return r;
}
