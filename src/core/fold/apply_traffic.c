/*
 * The fold of what passes between Overseer, agents and people: dispatches, handoffs,
 * escalations, lanes.
 */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/capacity/accept_queue.h"
#include "core/fold/apply_impl.h"
#include "core/inbox/inbox.h"
#include "core/model/limits.h"
#include "data/value/json.h"

APPLY(escalation_opened)
{
	struct run *run = state_run(s, e->run);
	struct escalation *esc;

	if (d->escalation < s->next_escalation)
		return ov_fail(err, OV_EINVALID, "event %llu: escalation %lld exists already",
				(unsigned long long)e->seq, (long long)d->escalation);
	esc = mem_zalloc(1, sizeof(*esc));
	esc->number = d->escalation;
	record_set_str(&esc->goal_id, e->goal);
	record_set_str(&esc->node_id, e->node);
	record_set_str(&esc->kind, d->kind);
	record_set_str(&esc->question, d->question);
	record_set_str(&esc->assignment_id, e->assignment);
	record_set_strs(&esc->options, d->options.p, d->options.n);
	record_set_str(&esc->default_answer, d->default_answer);
	esc->expires_at = d->expires_at_ms;
	esc->notify_at = d->notify_at_ms;
	esc->episode = d->episode;
	record_set_str(&esc->detection, d->detection);
	record_set_str(&esc->fingerprint, d->fingerprint);
	esc->opened_at = e->at;
	state_add_escalation(s, esc);
	/* One of these at a time per run. */
	if (run && esc->ask == ASK_OVERDUE)
		run->overdue = true;
	if (run && esc->ask == ASK_MUTE)
		run->mute_at = e->at;
	if (run && esc->ask == ASK_PERMISSION)
		run->asked_at = e->at;
	return 0;
}

/* From now on its silence is its own again. */
static void permission_closed(struct state *s, const struct escalation *esc, ov_time at)
{
	struct assignment *as = state_assignment(s, esc->assignment_id);

	if (as && as->run && as->run->asked_at)
		as->run->asked_at = at;
}

/* Whatever was said: while the run goes on it is asked about again. */
static void overdue_answered(struct state *s, const struct escalation *esc, ov_time at)
{
	struct assignment *as = state_assignment(s, esc->assignment_id);

	if (!as || !as->run || !as->run->overdue)
		return;
	as->run->overdue = false;
	as->run->patience_from = at;
}

/* A person looked at it: what kept the change from being taken back is counted anew. */
static void post_answered(struct state *s, const struct escalation *esc)
{
	struct node *n = state_node(s, esc->goal_id, esc->node_id);

	if (n)
		n->work.failures[CAUSE_DIRTY] = n->work.failures[CAUSE_MOVED] = 0;
}

APPLY(escalation_closed)
{
	for (size_t i = 0; i < s->escalations.n; i++) {
		struct escalation *esc = s->escalations.p[i];

		if (esc->number != d->escalation || esc->status != ESC_OPEN ||
				d->status == ESC_OPEN)
			continue;
		esc->status = d->status;
		record_set_str(&esc->answer, d->answer);
		record_set_str(&esc->answered_by, e->actor);
		record_set_str(&esc->reason, d->reason);
		esc->closed_at = e->at;
		if (esc->ask == ASK_OVERDUE)
			overdue_answered(s, esc, e->at);
		if (esc->ask == ASK_PERMISSION)
			permission_closed(s, esc, e->at);
		if (esc->ask == ASK_POST && esc->status == ESC_ANSWERED)
			post_answered(s, esc);
		state_prune_escalations(s);
		return 0;
	}
	return ev_missing(e, "open escalation", STR("with that number"), err);
}

APPLY(escalation_reminded)
{
	struct escalation *esc = state_escalation(s, d->escalation);

	if (!esc || esc->status != ESC_OPEN)
		return ev_missing(e, "open escalation", STR("with that number"), err);
	esc->reminders = d->count;
	esc->reminded_at = e->at;
	return 0;
}

/* What people said and no agent has taken yet, without one entry, and with another. */
static void keep_said(struct node *n, str without, str run, const struct ev_dispatch_intended *with)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *old = NULL, *list = value_array(&a), *entry;

	if (n->told.said.n)
		(void)json_parse(&a, n->told.said, NULL, &old, NULL);
	for (size_t i = 0; i < value_count(old); i++)
		if (!str_eq(value_str_at(value_item(old, i), "dispatch"), without))
			value_push(&a, list, value_copy(&a, value_item(old, i)));
	if (with) {
		entry = value_object(&a);
		value_put(&a, entry, "dispatch", value_str(&a, with->dispatch));
		value_put(&a, entry, "run", value_str(&a, run));
		value_put(&a, entry, "text", value_str(&a, with->say));
		value_push(&a, list, entry);
	}
	if (value_count(list))
		record_set_json(&n->told.said, list);
	else
		record_set_str(&n->told.said, STR(""));
}

APPLY(dispatch_intended)
{
	struct assignment *as = state_assignment(s, e->assignment);
	int mode = status_parse(&dispatch_modes, d->mode);
	struct dispatch *sent;

	if (!as || !as->live || mode < 0)
		return ev_missing(e, "live assignment or mode", e->assignment, err);
	if (!id_valid(d->dispatch) || state_dispatch(s, d->dispatch))
		return ev_missing(e, "new dispatch", d->dispatch, err);
	sent = mem_zalloc(1, sizeof(*sent));
	record_set_str(&sent->id, d->dispatch);
	record_set_str(&sent->goal_id, e->goal);
	record_set_str(&sent->node_id, e->node);
	record_set_str(&sent->assignment_id, e->assignment);
	record_set_str(&sent->run_id, e->run);
	sent->mode = (enum dispatch_mode)mode;
	record_set_str(&sent->purpose, d->purpose);
	record_set_str(&sent->target, d->target);
	record_set_str(&sent->instruction_hash, d->instruction_hash);
	record_set_str(&sent->nonce, d->nonce);
	sent->sends = 1;
	sent->seq = (int64_t)e->seq;
	sent->at = as->last_dispatch_at = e->at;
	record_set_str(&as->instruction_hash, d->instruction_hash);
	if (d->say.n && as->node)
		keep_said(as->node, STR(""), e->run, d);
	state_add_dispatch(s, sent);
	return 0;
}

APPLY(dispatch_result)
{
	struct dispatch *sent = state_dispatch(s, d->dispatch);
	struct node *n = state_node(s, e->goal, e->node);
	int to = status_parse(&dispatch_results, d->result);

	if (n && d->taken)
		keep_said(n, d->dispatch, STR(""), NULL);
	/* One that was dropped from the newest is nobody's business any more. */
	if (!sent)
		return 0;
	if (to < 0)
		return ev_missing(e, "such result", d->result, err);
	if (!status_may(&dispatch_results, (int)sent->result, to, false))
		return status_check(&dispatch_results, sent->id, (int)sent->result, to, false, err);
	sent->result = (enum dispatch_result)to;
	/* Handed over once more: the least time before the same text again is counted from now. */
	if (to == RESULT_PENDING) {
		sent->sends++;
		sent->at = e->at;
	}
	if (to == RESULT_OK)
		sent->acknowledged_at = e->at;
	record_set_str(&sent->notes, d->notes);
	return 0;
}

APPLY(crystallized)
{
	struct crystallization *c;

	if (!state_goal(s, e->goal) || (e->node.n && !state_node(s, e->goal, e->node)))
		return ev_missing(e, "goal or node", e->node, err);
	c = mem_zalloc(1, sizeof(*c));
	if (record_from_value(&crystallization_record, c, d->crystallization, err) < 0 ||
			!str_eq(c->goal_id, e->goal) || !str_eq(c->node_id, e->node)) {
		record_done(&crystallization_record, c);
		mem_free(c);
		return ev_missing(e, "such crystallization", e->node, err);
	}
	state_set_handoff(s, c);
	return 0;
}

APPLY(agent_limited)
{
	struct lane *l = state_lane(s, d->agent);
	int kind = status_parse(&block_kinds, d->kind),
	    known_by = status_parse(&fact_signs, d->known_by);

	if (kind < 0)
		return ev_missing(e, "such kind of block", d->kind, err);
	if (!l) {
		l = mem_zalloc(1, sizeof(*l));
		record_set_str(&l->agent, d->agent);
		l->since = e->at;
		state_add_lane(s, l);
	}
	l->kind = (enum block_kind)kind;
	record_set_str(&l->detail, d->detail);
	l->times = d->times;
	l->resets_at = d->resets_at_ms;
	l->guessed = d->guessed;
	l->known_by = known_by < 0 ? SIGN_NONE : (enum fact_sign)known_by;
	l->exit_code = d->exit_code;
	record_set_str(&l->run_id, e->run);
	record_set_str(&l->words, d->words);
	l->seen_at = e->at;
	l->far_until = d->far_until_ms;
	record_set_str(&l->far_by, d->far_by);
	record_set_str(&l->far_by_too, d->far_by_too);
	l->probe_at = d->probe_at_ms;
	l->probe_every_ms = d->probe_every_ms;
	return 0;
}

APPLY(agent_cleared)
{
	struct lane *l = state_lane(s, d->agent);

	if (!l)
		return ev_missing(e, "waiting lane of", d->agent, err);
	if (l->kind == BLOCK_FAILING)
		streak_ends(s, l->agent);
	state_remove_lane(s, l);
	return 0;
}

APPLY(outage_suspected)
{
	s->outage_since = e->at;
	return 0;
}

APPLY(outage_over)
{
	s->outage_since = 0;
	s->outage_over_at = e->at;
	if (d->ignore_until_ms)
		s->outage_ignored_until = d->ignore_until_ms;
	return 0;
}
