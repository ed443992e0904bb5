/*
 * The fold of what workers, patrols, auto mode and the radar tell besides the pipeline of an
 * assignment, which is in apply_run.c.
 */
#include "base/alloc.h"
#include "base/err.h"
#include "base/str.h"
#include "core/capacity/auto_mode.h"
#include "core/fold/apply_impl.h"

int apply_node_reverted(struct state *s, const struct event *e, struct ov_err *err)
{
	struct node *n = state_node(s, e->goal, e->node);

	if (!n)
		return ev_missing(e, "node", e->node, err);
	record_set_str(&n->commit, STR(""));
	record_set_str(&n->handover, ev_text(e, "handover"));
	record_set_str(&n->feedback, ev_text(e, "feedback"));
	n->reverts++;
	return 0;
}

int apply_worker_wanted(struct state *s, const struct event *e, struct ov_err *err)
{
	struct worker *w = state_worker(s, ev_text(e, "worker"));

	if (!w)
		return ev_missing(e, "worker", ev_text(e, "worker"), err);
	record_set_str(&w->wanted, ev_text(e, "wanted"));
	return 0;
}

/* Its history is in the log; a later worker of the same name is another one. */
int apply_worker_removed(struct state *s, const struct event *e, struct ov_err *err)
{
	struct worker *w = state_worker(s, ev_text(e, "worker"));

	if (!w || w->effect || w->assignment_id.n)
		return ev_missing(e, "worker at rest", ev_text(e, "worker"), err);
	state_remove_worker(s, w);
	return 0;
}

int apply_patrol_found(struct state *s, const struct event *e, struct ov_err *err)
{
	struct worker *w = state_worker(s, ev_text(e, "worker"));
	int fact = status_parse(&patrol_facts, ev_text(e, "finding"));

	if (fact < 0)
		return ev_missing(e, "such finding", ev_text(e, "finding"), err);
	if (w) {
		w->repairs[fact] = (int32_t)ev_num(e, "count");
		w->repaired_at = e->at;
	}
	return 0;
}

int apply_target_moved(struct state *s, const struct event *e, struct ov_err *err)
{
	str to = ev_text(e, "to");

	(void)err;
	/* There again, or something came on top that is to stay: then nothing is to be put back. */
	if (!str_eq(s->target_branch, ev_text(e, "target")) || str_eq(to, s->target_before) ||
			!ev_num(e, "escalation"))
		record_set_str(&s->target_before, STR(""));
	else if (!s->target_before.n)
		record_set_str(&s->target_before, ev_text(e, "from"));
	record_set_str(&s->target_branch, ev_text(e, "target"));
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

int apply_auto_started(struct state *s, const struct event *e, struct ov_err *err)
{
	struct auto_mode *m = &s->automatic;

	(void)err;
	m->on = true;
	m->failed = m->interrupted = false;
	m->concurrency = ev_num(e, "concurrency");
	m->since = e->at;
	m->stopped_at = m->ask_at = 0;
	m->empty = m->failures = 0;
	if (value_bool_at(e->data, "recount"))
		m->failed_in_a_row = 0;
	record_set_str(&m->instance, ev_text(e, "instance"));
	record_set_str(&m->stop_reason, STR(""));
	return 0;
}

int apply_auto_stopped(struct state *s, const struct event *e, struct ov_err *err)
{
	struct auto_mode *m = &s->automatic;

	(void)err;
	m->on = false;
	m->failed = value_bool_at(e->data, "failed");
	m->interrupted = value_bool_at(e->data, "interrupted");
	m->stopped_at = e->at;
	record_set_str(&m->stop_reason, ev_text(e, "reason"));
	return 0;
}

int apply_auto_pool(struct state *s, const struct event *e, struct ov_err *err)
{
	struct auto_mode *m = &s->automatic;
	str answer = ev_text(e, "answer");
	struct escalation *x = state_escalation(s, ev_num(e, "escalation"));
	/* The same task again, or one that cannot be taken: there is nothing new to do either. */
	bool repeated = str_is(answer, "repeated") || str_is(answer, "refused");

	(void)err;
	if (repeated && x)
		x->repeats++;
	record_set_str(&m->answer, answer);
	record_set_str(&m->trouble, ev_text(e, "trouble"));
	m->answered_at = e->at;
	m->empty = repeated || str_is(answer, "none") ? m->empty + 1 : 0;
	m->failures = str_is(answer, "failed") ? m->failures + 1 : 0;
	m->errors += str_is(answer, "failed");
	m->ask_at = ev_num(e, "ask_at_ms");
	return 0;
}

int apply_auto_paused(struct state *s, const struct event *e, struct ov_err *err)
{
	struct auto_mode *m = &s->automatic;

	(void)err;
	record_set_str(&m->pause_cause, ev_text(e, "cause"));
	record_set_str(&m->pause_reason, ev_text(e, "reason"));
	m->pause_entry = ev_num(e, "escalation");
	m->paused_at = e->at;
	return 0;
}

/* A person had a say: what failed before does not count any more. */
int apply_auto_resumed(struct state *s, const struct event *e, struct ov_err *err)
{
	struct auto_mode *m = &s->automatic;

	(void)err;
	if (value_bool_at(e->data, "recount") || str_is(m->pause_cause, PAUSE_FAILURES))
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

void streak_failed(struct state *s, const struct node *n, const struct event *e)
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
	record_set_str(&k->detail, ev_text(e, "detail"));
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

int apply_conflict_predicted(struct state *s, const struct event *e, struct ov_err *err)
{
	struct conflict *c = state_conflict(s, ev_text(e, "a"), ev_text(e, "b"));

	if (!state_assignment(s, ev_text(e, "a")))
		return ev_missing(e, "assignment", ev_text(e, "a"), err);
	if (!c) {
		c = mem_zalloc(1, sizeof(*c));
		record_set_str(&c->a, ev_text(e, "a"));
		record_set_str(&c->b, ev_text(e, "b"));
		c->at = e->at;
		state_add_conflict(s, c);
	}
	record_set_strs(&c->files, value_at(e->data, "files"));
	return 0;
}

int apply_conflict_cleared(struct state *s, const struct event *e, struct ov_err *err)
{
	struct conflict *c = state_conflict(s, ev_text(e, "a"), ev_text(e, "b"));

	if (!c)
		return ev_missing(e, "conflict foreseen for", ev_text(e, "a"), err);
	state_remove_conflict(s, c);
	return 0;
}
