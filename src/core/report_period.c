/* What happened since a moment, counted: for whoever comes back to it. */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "core/report.h"

/* A node in this period. */
struct node_note {
	bool rejected, conflict; /* and not accepted since */
	int rung;                /* the last one that was taken in its stall; -1: none */
};

struct report_period {
	struct arena arena;
	ov_time since, people_at;
	struct map nodes;
	int64_t people, runs, accepted, unchecked, rejected, fixed, conflicts, resolved, stalls;
	int64_t recovered[RUNG_COUNT], by_itself, completed, reverted;
	int64_t starts, crashes, detections, interventions[LEVEL_COUNT];
	int64_t cost, tokens;
	ov_time crashed_at;
	bool up; /* a daemon was started in this period and has not stopped by itself since */
};

struct report_period *report_period_new(ov_time since)
{
	struct report_period *r = mem_zalloc(1, sizeof(*r));

	r->since = since;
	map_init(&r->nodes, 0);
	return r;
}

struct report_period *report_period_free(struct report_period *r)
{
	if (!r)
		return NULL;
	map_done(&r->nodes);
	arena_done(&r->arena);
	mem_free(r);
	return NULL;
}

static struct node_note *node_note(struct report_period *r, const struct event *e)
{
	str key = arena_printf(&r->arena, STR_FMT "/" STR_FMT, STR_ARG(e->goal), STR_ARG(e->node));
	struct node_note *n = map_get(&r->nodes, key);

	if (!n) {
		n = arena_new(&r->arena, struct node_note);
		n->rung = -1;
		map_put(&r->nodes, key, n);
	}
	return n;
}

static void on_run_ended(struct report_period *r, const struct event *e)
{
	(void)e;
	r->runs++;
}

static void on_accepted(struct report_period *r, const struct event *e)
{
	struct node_note *n = node_note(r, e);

	r->accepted++;
	r->unchecked += str_is(value_str_at(e->data, "checked_by"), "nothing");
	r->fixed += n->rejected;
	r->resolved += n->conflict;
	n->rejected = n->conflict = false;
}

static void on_reverted(struct report_period *r, const struct event *e)
{
	(void)e;
	r->reverted++;
}

static void on_verified(struct report_period *r, const struct event *e)
{
	if (!str_is(value_str_at(e->data, "verdict"), "failed"))
		return;
	r->rejected++;
	node_note(r, e)->rejected = true;
}

static void on_failed(struct report_period *r, const struct event *e)
{
	if (!str_is(value_str_at(e->data, "cause"), status_name(&causes, CAUSE_CONFLICT)))
		return;
	r->conflicts++;
	node_note(r, e)->conflict = true;
}

static void on_stall(struct report_period *r, const struct event *e)
{
	r->stalls++;
	node_note(r, e)->rung = -1;
}

static void on_rung(struct report_period *r, const struct event *e)
{
	int rung = status_parse(&rungs, value_str_at(e->data, "rung"));

	if (rung >= 0 && !value_bool_at(e->data, "skipped"))
		node_note(r, e)->rung = rung;
}

static void on_stall_over(struct report_period *r, const struct event *e)
{
	struct node_note *n = node_note(r, e);

	if (n->rung >= 0)
		r->recovered[n->rung]++;
	else
		r->by_itself++;
	n->rung = -1;
}

static void on_started(struct report_period *r, const struct event *e)
{
	r->starts++;
	if (r->up) { /* the one before did not say that it ended */
		r->crashes++;
		r->crashed_at = e->at;
	}
	r->up = true;
}

static void on_stopped(struct report_period *r, const struct event *e)
{
	(void)e;
	r->up = false;
}

static void on_goal_status(struct report_period *r, const struct event *e)
{
	r->completed += str_is(value_str_at(e->data, "to"), "completed");
}

static void on_spent(struct report_period *r, const struct event *e)
{
	const value *amounts = value_at(e->data, "amounts");

	r->cost += value_int_at(amounts, status_name(&resources, RES_COST_MICROUSD));
	r->tokens += value_int_at(amounts, status_name(&resources, RES_TOKENS));
}

static void on_detection(struct report_period *r, const struct event *e)
{
	(void)e;
	r->detections++;
}

static void on_intervention(struct report_period *r, const struct event *e)
{
	int level = status_parse(&levels, value_str_at(e->data, "level"));

	if (level >= 0)
		r->interventions[level]++;
}

typedef void add_fn(struct report_period *r, const struct event *e);

static add_fn *const adders[EVENT_KIND_COUNT] = {
	[EV_DAEMON_STARTED] = on_started,
	[EV_DAEMON_STOPPED] = on_stopped,
	[EV_GOAL_STATUS] = on_goal_status,
	[EV_GOAL_SPENT] = on_spent,
	[EV_NODE_ACCEPTED] = on_accepted,
	[EV_NODE_REVERTED] = on_reverted,
	[EV_NODE_FAILED] = on_failed,
	[EV_RUN_ENDED] = on_run_ended,
	[EV_RUN_VERIFIED] = on_verified,
	[EV_EPISODE_OPENED] = on_stall,
	[EV_EPISODE_RUNG] = on_rung,
	[EV_EPISODE_CLOSED] = on_stall_over,
	[EV_DETECTION_MADE] = on_detection,
	[EV_INTERVENTION_APPLIED] = on_intervention,
};

/* All: whoever did something was there. */
bool report_period_wants(str kind)
{
	(void)kind;
	return true;
}

void report_period_add(struct report_period *r, const struct event *e)
{
	if (str_starts(e->actor, STR("human"))) {
		r->people++;
		r->people_at = e->at;
	}
	if (adders[e->kind])
		adders[e->kind](r, e);
}

static value *waiting_view(struct arena *a, const struct state *s)
{
	value *list = value_array(a);

	for (size_t i = 0; i < s->escalations.n; i++)
		if (s->escalations.p[i]->status == ESC_OPEN)
			value_push(a, list, value_int(a, s->escalations.p[i]->number));
	return list;
}

value *report_period_view(struct arena *a, const struct report_period *r, const struct state *s,
		ov_time now)
{
	const struct {
		const char *key;
		int64_t n;
	} figures[] = { { "period_ms", now - r->since },
		{ "unattended_ms", now - MAX(r->since, r->people_at) }, { "people", r->people },
		{ "runs", r->runs }, { "accepted", r->accepted },
		{ "accepted_unchecked", r->unchecked }, { "rejected", r->rejected },
		{ "fixed_on_retry", r->fixed }, { "conflicts", r->conflicts },
		{ "conflicts_resolved", r->resolved }, { "reverted", r->reverted },
		{ "goals_completed", r->completed }, { "stalls", r->stalls },
		{ "stalls_over_by_themselves", r->by_itself }, { "daemon_starts", r->starts },
		{ "daemon_crashes", r->crashes }, { "detections", r->detections },
		{ "cost_microusd", r->cost }, { "tokens", r->tokens } };
	value *v = value_object(a), *recovered = value_object(a), *answered = value_object(a);

	value_put(a, v, "since", value_time(a, r->since));
	value_put(a, v, "at", value_time(a, now));
	for (size_t i = 0; i < ARRAY_LEN(figures); i++)
		value_put(a, v, figures[i].key, value_int(a, figures[i].n));
	value_put(a, v, "people_at", value_time(a, r->people_at));
	value_put(a, v, "crashed_at", value_time(a, r->crashed_at));
	for (int i = 0; i < RUNG_COUNT; i++)
		value_put(a, recovered, status_name(&rungs, i), value_int(a, r->recovered[i]));
	value_put(a, v, "stalls_recovered_by", recovered);
	for (int i = LEVEL_LOG; i < LEVEL_COUNT; i++)
		value_put(a, answered, status_name(&levels, i), value_int(a, r->interventions[i]));
	value_put(a, v, "interventions", answered);
	value_put(a, v, "waiting", waiting_view(a, s));
	return v;
}
