/*
 * The fold of what workers, patrols, auto mode and the radar tell besides the pipeline of an
 * assignment, which is in apply_run.c.
 */
#include "base/alloc.h"
#include "base/err.h"
#include "base/str.h"
#include "core/capacity/auto_mode.h"
#include "core/fold/apply_impl.h"

APPLY(node_reverted)
{
	struct node *n = state_node(s, e->goal, e->node);

	if (!n)
		return ev_missing(e, "node", e->node, err);
	record_set_str(&n->work.commit, STR(""));
	record_set_str(&n->next.handover, d->handover);
	record_set_str(&n->next.feedback, d->feedback);
	n->work.reverts++;
	return 0;
}

APPLY(worker_wanted)
{
	struct worker *w = state_worker(s, d->worker);

	if (!w)
		return ev_missing(e, "worker", d->worker, err);
	record_set_str(&w->wanted, d->wanted);
	return 0;
}

/* Its history is in the log; a later worker of the same name is another one. */
APPLY(worker_removed)
{
	struct worker *w = state_worker(s, d->worker);

	if (!w || w->effect || w->assignment_id.n)
		return ev_missing(e, "worker at rest", d->worker, err);
	state_remove_worker(s, w);
	return 0;
}

APPLY(patrol_found)
{
	struct worker *w = state_worker(s, d->worker);
	int fact = status_parse(&patrol_facts, d->finding);

	if (fact < 0)
		return ev_missing(e, "such finding", d->finding, err);
	if (w) {
		w->repairs[fact] = (int32_t)d->count;
		w->repaired_at = e->at;
	}
	return 0;
}

APPLY(target_moved)
{
	str to = d->to;

	/* There again, or something came on top that is to stay: then nothing is to be put back. */
	if (!str_eq(s->target_branch, d->target) || str_eq(to, s->target_before) || !d->escalation)
		record_set_str(&s->target_before, STR(""));
	else if (!s->target_before.n)
		record_set_str(&s->target_before, d->from);
	record_set_str(&s->target_branch, d->target);
	record_set_str(&s->target_head, to);
	s->target_seen_at = e->at;
	return 0;
}

/* A task that a person reopens is not completed any more. */
void auto_count_task(struct state *s, const struct node *n, enum node_status to, str block)
{
	if (!str_is(n->goal->standing, STANDING_AUTO))
		return;
	s->automatic.completed += (to == NODE_DONE) - (n->status == NODE_DONE);
	if (to == NODE_DONE)
		s->automatic.failed_in_a_row = 0;
	s->automatic.errors += to == NODE_BLOCKED && n->status != NODE_BLOCKED &&
			(str_is(block, "failed") || str_is(block, "budget"));
}

APPLY(auto_started)
{
	struct auto_mode *m = &s->automatic;

	m->on = true;
	m->failed = m->interrupted = false;
	m->concurrency = d->concurrency;
	m->since = e->at;
	m->stopped_at = m->ask_at = 0;
	m->empty = m->failures = 0;
	if (d->recount)
		m->failed_in_a_row = 0;
	record_set_str(&m->instance, d->instance);
	record_set_str(&m->stop_reason, STR(""));
	return 0;
}

APPLY(auto_stopped)
{
	struct auto_mode *m = &s->automatic;

	m->on = false;
	m->failed = d->failed;
	m->interrupted = d->interrupted;
	m->stopped_at = e->at;
	record_set_str(&m->stop_reason, d->reason);
	return 0;
}

APPLY(auto_pool)
{
	struct auto_mode *m = &s->automatic;
	str answer = d->answer;
	struct escalation *x = state_escalation(s, d->escalation);
	/* The same task again, or one that cannot be taken: there is nothing new to do either. */
	bool repeated = str_is(answer, "repeated") || str_is(answer, "refused");

	if (repeated && x)
		x->repeats++;
	record_set_str(&m->answer, answer);
	record_set_str(&m->trouble, d->trouble);
	m->answered_at = e->at;
	m->empty = repeated || str_is(answer, "none") ? m->empty + 1 : 0;
	m->failures = str_is(answer, "failed") ? m->failures + 1 : 0;
	m->errors += str_is(answer, "failed");
	m->ask_at = d->ask_at_ms;
	return 0;
}

APPLY(auto_paused)
{
	struct auto_mode *m = &s->automatic;

	record_set_str(&m->pause_cause, d->cause);
	record_set_str(&m->pause_reason, d->reason);
	m->pause_entry = d->escalation;
	m->paused_at = e->at;
	return 0;
}

/* A person had a say: what failed before does not count any more. */
APPLY(auto_resumed)
{
	struct auto_mode *m = &s->automatic;

	if (d->recount || str_is(m->pause_cause, PAUSE_FAILURES))
		m->failed_in_a_row = 0;
	record_set_str(&m->pause_cause, STR(""));
	record_set_str(&m->pause_reason, STR(""));
	m->pause_entry = 0;
	m->empty = m->failures = 0;
	m->paused_at = m->ask_at = 0;
	return 0;
}

static struct streak *streak_of(const struct state *s, str agent)
{
	for (size_t i = 0; i < s->streaks.n; i++)
		if (str_eq(s->streaks.p[i]->agent, agent))
			return s->streaks.p[i];
	return NULL;
}

void streak_failed(struct state *s, const struct node *n, const struct event *e, str detail)
{
	const struct assignment *as = state_assignment(s, e->assignment);
	struct streak *k = as ? streak_of(s, as->agent) : NULL;

	if (!as)
		return;
	if (!k) {
		k = mem_zalloc(1, sizeof(*k));
		record_set_str(&k->agent, as->agent);
		record_set_str(&k->node, n->key);
		k->since = e->at;
		vec_push(&s->streaks, k);
	}
	k->failures++;
	k->several |= !str_eq(k->node, n->key);
	record_set_str(&k->detail, detail);
}

void streak_ends(struct state *s, str agent)
{
	for (size_t i = 0; i < s->streaks.n; i++)
		if (str_eq(s->streaks.p[i]->agent, agent)) {
			record_done(&streak_record, s->streaks.p[i]);
			mem_free(s->streaks.p[i]);
			vec_remove(&s->streaks, i);
			return;
		}
}

APPLY(conflict_predicted)
{
	struct conflict *c = state_conflict(s, d->a, d->b);

	if (!state_assignment(s, d->a))
		return ev_missing(e, "assignment", d->a, err);
	if (!c) {
		c = mem_zalloc(1, sizeof(*c));
		record_set_str(&c->a, d->a);
		record_set_str(&c->b, d->b);
		c->at = e->at;
		state_add_conflict(s, c);
	}
	record_set_strs(&c->files, d->files.p, d->files.n);
	return 0;
}

APPLY(conflict_cleared)
{
	struct conflict *c = state_conflict(s, d->a, d->b);

	if (!c)
		return ev_missing(e, "conflict foreseen for", d->a, err);
	state_remove_conflict(s, c);
	return 0;
}
