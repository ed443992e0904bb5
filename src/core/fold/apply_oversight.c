/* The fold of oversight: iterations, detections and how they were answered, health, notices. */
#include "base/alloc.h"
#include "base/err.h"
#include "base/str.h"
#include "core/fold/apply_impl.h"

void run_judged(struct state *s, const struct event *e, enum cause cause, str failure)
{
	struct run *r = state_run(s, e->run);

	if (!r || r->status != RUN_ENDED)
		return;
	r->cause = cause;
	record_set_str(&r->failure, failure);
	r->judged_seq = (int64_t)e->seq;
	state_index_run(s, r);
}

bool cause_is_of_work(enum cause cause)
{
	return cause == CAUSE_RUN || cause == CAUSE_NO_CHANGES || cause == CAUSE_CHECK ||
			cause == CAUSE_GATE || cause == CAUSE_POST;
}

/* A record from an event, which is about what the event is about. */
static void *read_record(const struct record_type *t, size_t size, const value *v,
		struct ov_err *err)
{
	void *record = mem_zalloc(1, size);

	if (record_from_value(t, record, v, err) == 0)
		return record;
	record_done(t, record);
	mem_free(record);
	return NULL;
}

#define READ(type, v) ((struct type *)read_record(&type##_record, sizeof(struct type), v, err))

static void drop(const struct record_type *t, void *record)
{
	record_done(t, record);
	mem_free(record);
}

/* Texts of several detections at once follow each other. */
static void add_guidance(struct node *n, str text)
{
	char *both;
	size_t gap = n->watch.guidance.n ? 2 : 0;

	if (!text.n || n->watch.guidance.n + gap + text.n > LIMIT_NOTE)
		return;
	both = mem_zalloc(n->watch.guidance.n + gap + text.n + 1, 1);
	if (gap) {
		memcpy(both, n->watch.guidance.p, n->watch.guidance.n);
		memcpy(both + n->watch.guidance.n, "\n\n", gap);
	}
	memcpy(both + n->watch.guidance.n + gap, text.p, text.n);
	record_set_str(&n->watch.guidance, (str){ both, n->watch.guidance.n + gap + text.n });
	mem_free(both);
}

/*
 * The run that it was for has come and gone; what was found in that very run while it went on, or
 * when it was judged for the first time, nobody was told yet.
 */
static void guidance_renew(struct node *n, str run)
{
	const struct goal *g = n->goal;

	record_set_str(&n->watch.guidance, STR(""));
	for (size_t i = 0; !node_is_final(n) && i < g->detections.n; i++)
		if (str_eq(g->detections.p[i]->run_id, run))
			add_guidance(n, g->detections.p[i]->text);
}

APPLY(iteration_recorded)
{
	struct node *n = state_node(s, e->goal, e->node);
	struct run *r = state_run(s, e->run);
	struct iteration *it;
	int alarm = status_parse(&severities, d->alarm);

	if (!n || !r)
		return ev_missing(e, n ? "run" : "node", n ? e->run : e->node, err);
	it = READ(iteration, d->iteration);
	if (!it)
		return OV_EINVALID;
	if (it->number < n->watch.iterations_n || it->number > n->watch.iterations_n + 1) {
		drop(&iteration_record, it);
		return ev_missing(e, "such number", e->node, err);
	}
	s->tally.iterations += it->number > n->watch.iterations_n;
	record_set_str(&it->goal_id, e->goal);
	record_set_str(&it->node_id, e->node);
	record_set_str(&it->assignment_id, e->assignment);
	record_set_str(&it->run_id, e->run);
	it->at = e->at;
	n->watch.iterations_n = r->iteration = it->number;
	r->reviewed_seq = (int64_t)e->seq;
	guidance_renew(n, e->run);
	n->watch.alarm = SEVERITY_NONE;
	state_index_run(s, r);
	if (node_is_final(n)) {
		drop(&iteration_record, it);
		return 0;
	}
	if (alarm >= 0)
		n->watch.alarm = (enum severity)alarm;
	state_add_iteration(s, n, it);
	return 0;
}

APPLY(detection_made)
{
	struct goal *g = state_goal(s, e->goal);
	struct node *n = state_node(s, e->goal, e->node);
	struct detection *x;

	if (!g || (e->node.n && !n))
		return ev_missing(e, g ? "node" : "goal", g ? e->node : e->goal, err);
	x = READ(detection, d->detection);
	if (!x)
		return OV_EINVALID;
	if (!id_valid(x->id) || state_detection(g, x->id)) {
		drop(&detection_record, x);
		return ev_missing(e, "new id", e->goal, err);
	}
	record_set_str(&x->goal_id, e->goal);
	record_set_str(&x->node_id, e->node);
	record_set_str(&x->run_id, e->run);
	x->at = e->at;
	s->tally.found[x->severity][x->type]++;
	if (n)
		n->watch.alarm = MAX(n->watch.alarm, x->severity);
	state_add_detection(s, g, x);
	return 0;
}

APPLY(intervention_applied)
{
	struct goal *g = state_goal(s, e->goal);
	struct node *n = state_node(s, e->goal, e->node);
	struct detection *x = g ? state_detection(g, d->detection) : NULL;

	if (!x)
		return ev_missing(e, "such detection", d->detection, err);
	x->level = d->level;
	s->tally.answered[d->level]++;
	record_set_str(&x->reason, d->reason);
	record_set_str(&x->did, d->did);
	record_set_str(&x->text, d->text);
	x->goal_wide = d->goal_wide;
	x->escalation = d->escalation;
	if (n)
		add_guidance(n, d->text);
	return 0;
}

APPLY(detection_judged)
{
	struct goal *g = state_goal(s, e->goal);
	struct detection *x = g ? state_detection(g, d->detection) : NULL;

	if (!g)
		return ev_missing(e, "goal", e->goal, err);
	/* One that was dropped from the newest is judged in the log alone. */
	if (!x)
		return 0;
	x->effectiveness = d->effectiveness;
	record_set_str(&x->judged_because, d->because);
	x->false_positive = d->false_positive;
	x->judged_at = e->at;
	return 0;
}

static void renew(struct node *n)
{
	n->watch.round++;
	n->watch.round_from = n->watch.iterations_n;
	n->watch.alarm = SEVERITY_NONE;
}

APPLY(oversight_renewed)
{
	struct goal *g = state_goal(s, e->goal);
	struct node *n = state_node(s, e->goal, e->node);

	if (!g || (e->node.n && !n))
		return ev_missing(e, "goal or node", e->goal, err);
	if (n) {
		renew(n);
		return 0;
	}
	g->round++;
	memcpy(g->round_spent, g->spent, sizeof(g->round_spent));
	for (size_t i = 0; i < g->nodes.n; i++)
		renew(g->nodes.p[i]);
	return 0;
}

APPLY(goal_health)
{
	struct goal *g = state_goal(s, e->goal);

	if (!g)
		return ev_missing(e, "goal", e->goal, err);
	g->health = d->to;
	g->updated_at = e->at;
	return 0;
}

APPLY(run_frozen)
{
	struct run *r = state_run(s, e->run);
	struct assignment *as = state_assignment(s, e->assignment);
	bool frozen = d->frozen;

	if (!r)
		return ev_missing(e, "run", e->run, err);
	if (r->status == RUN_ENDED || r->frozen == frozen)
		return 0;
	r->frozen = frozen;
	if (frozen) {
		r->frozen_at = e->at;
		return 0;
	}
	r->frozen_ms += MAX(e->at - r->frozen_at, (ov_time)0);
	r->frozen_at = 0;
	/* Nothing could be heard of it meanwhile: patience begins anew. */
	r->patience_from = e->at;
	if (as && as->run == r) {
		as->last_activity_at = e->at;
		as->expected_at = 0;
	}
	return 0;
}

static struct escalation *open_escalation(struct state *s, int64_t number)
{
	struct escalation *x = state_escalation(s, number);

	return x && x->status == ESC_OPEN ? x : NULL;
}

APPLY(escalation_snoozed)
{
	struct escalation *x = open_escalation(s, d->escalation);

	if (!x)
		return ev_missing(e, "open escalation", STR("with that number"), err);
	x->snoozed_until = d->until_ms;
	return 0;
}

APPLY(escalation_raised)
{
	struct escalation *x = open_escalation(s, d->escalation);

	if (!x)
		return ev_missing(e, "open escalation", STR("with that number"), err);
	x->snoozed_until = 0;
	x->raised_at = e->at;
	record_set_str(&x->question, d->question);
	if (!d->fingerprint.n)
		return 0;
	/* It is another question now, and people are reminded of it anew. */
	record_set_str(&x->fingerprint, d->fingerprint);
	record_set_str(&x->detection, d->detection);
	x->raised++;
	x->reminders = 0;
	return 0;
}

APPLY(notice_opened)
{
	struct notice *x = READ(notice, d->notice);

	if (!x)
		return OV_EINVALID;
	if (!id_valid(x->id) || state_notice(s, x->id)) {
		drop(&notice_record, x);
		return ev_missing(e, "new id", e->goal, err);
	}
	record_set_str(&x->goal_id, e->goal);
	record_set_str(&x->node_id, e->node);
	x->created_at = e->at;
	x->settled_at = x->status == NOTICE_WAITING ? 0 : e->at;
	state_add_notice(s, x);
	state_prune_notices(s, e->at);
	return 0;
}

/* The notice that the event is about, if it may come to be that. */
static struct notice *notice_to(struct state *s, const struct event *e, str id, int to,
		bool by_person, struct ov_err *err)
{
	struct notice *x = state_notice(s, id);

	if (!x || to < 0) {
		ev_missing(e, "notice or status", id, err);
		return NULL;
	}
	if (to != (int)x->status &&
			status_check(&notice_statuses, x->id, (int)x->status, to, by_person, err) <
					0)
		return NULL;
	x->status = (enum notice_status)to;
	x->settled_at = to == NOTICE_WAITING ? 0 : e->at;
	return x;
}

APPLY(notice_tried)
{
	int to = status_parse(&notice_statuses, d->status);
	struct notice *x = notice_to(s, e, d->notice, to, false, err);

	if (!x)
		return OV_EINVALID;
	x->attempts = d->attempts;
	record_set_str(&x->ref, d->ref);
	record_set_str(&x->error, d->error);
	x->not_before = d->not_before_ms;
	state_prune_notices(s, e->at);
	return 0;
}

APPLY(notice_withdrawn)
{
	struct notice *x = notice_to(s, e, d->notice, NOTICE_WITHDRAWN, false, err);

	if (!x)
		return OV_EINVALID;
	state_prune_notices(s, e->at);
	return 0;
}

APPLY(notice_retried)
{
	struct notice *x = notice_to(s, e, d->notice, NOTICE_WAITING, true, err);

	if (!x)
		return OV_EINVALID;
	x->attempts = 0;
	x->not_before = e->at;
	return 0;
}
