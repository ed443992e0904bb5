/* The fold of what passes between Overseer, agents and people: dispatches, handoffs, escalations, lanes. */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/capacity/accept_queue.h"
#include "core/fold/apply_impl.h"
#include "core/model/limits.h"
#include "data/value/json.h"

int apply_escalation_opened(struct state *s, const struct event *e, struct ov_err *err)
{
	struct run *run = state_run(s, e->run);
	struct escalation *esc;

	if (ev_num(e, "escalation") < s->next_escalation)
		return ov_fail(err, OV_EINVALID, "event %llu: escalation %lld exists already",
				(unsigned long long)e->seq, (long long)ev_num(e, "escalation"));
	esc = mem_zalloc(1, sizeof(*esc));
	esc->number = ev_num(e, "escalation");
	record_set_str(&esc->goal_id, e->goal);
	record_set_str(&esc->node_id, e->node);
	record_set_str(&esc->kind, ev_text(e, "kind"));
	record_set_str(&esc->question, ev_text(e, "question"));
	record_set_str(&esc->assignment_id, e->assignment);
	record_set_strs(&esc->options, value_at(e->data, "options"));
	record_set_str(&esc->default_answer, ev_text(e, "default_answer"));
	esc->expires_at = ev_num(e, "expires_at_ms");
	esc->notify_at = ev_num(e, "notify_at_ms");
	esc->episode = ev_num(e, "episode");
	record_set_str(&esc->detection, ev_text(e, "detection"));
	record_set_str(&esc->fingerprint, ev_text(e, "fingerprint"));
	esc->opened_at = e->at;
	state_add_escalation(s, esc);
	/* One of these at a time per run. */
	if (run && str_is(esc->kind, "overdue"))
		run->overdue = true;
	if (run && str_is(esc->kind, "mute"))
		run->mute_at = e->at;
	if (run && str_is(esc->kind, ASK_PERMISSION))
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
		n->failures[CAUSE_DIRTY] = n->failures[CAUSE_MOVED] = 0;
}

int apply_escalation_closed(struct state *s, const struct event *e, struct ov_err *err)
{
	int status = status_parse(&esc_statuses, ev_text(e, "status"));

	for (size_t i = 0; i < s->escalations.n; i++) {
		struct escalation *esc = s->escalations.p[i];

		if (esc->number != ev_num(e, "escalation") || esc->status != ESC_OPEN ||
				status <= ESC_OPEN)
			continue;
		esc->status = (enum esc_status)status;
		record_set_str(&esc->answer, ev_text(e, "answer"));
		record_set_str(&esc->answered_by, e->actor);
		record_set_str(&esc->reason, ev_text(e, "reason"));
		esc->closed_at = e->at;
		if (str_is(esc->kind, "overdue"))
			overdue_answered(s, esc, e->at);
		if (str_is(esc->kind, ASK_PERMISSION))
			permission_closed(s, esc, e->at);
		if (str_is(esc->kind, ASK_POST) && esc->status == ESC_ANSWERED)
			post_answered(s, esc);
		state_prune_escalations(s);
		return 0;
	}
	return ev_missing(e, "open escalation", STR("with that number"), err);
}

int apply_escalation_reminded(struct state *s, const struct event *e, struct ov_err *err)
{
	struct escalation *esc = state_escalation(s, ev_num(e, "escalation"));

	if (!esc || esc->status != ESC_OPEN)
		return ev_missing(e, "open escalation", STR("with that number"), err);
	esc->reminders = ev_num(e, "count");
	esc->reminded_at = e->at;
	return 0;
}

/* What people said and no agent has taken yet, without one entry, and with another. */
static void keep_said(struct node *n, str without, const struct event *with)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	value *old = NULL, *list = value_array(&a), *entry;

	if (n->said.n)
		(void)json_parse(&a, n->said, NULL, &old, NULL);
	for (size_t i = 0; i < value_count(old); i++)
		if (!str_eq(value_str_at(value_item(old, i), "dispatch"), without))
			value_push(&a, list, value_copy(&a, value_item(old, i)));
	if (with) {
		entry = value_object(&a);
		value_put(&a, entry, "dispatch", value_str(&a, ev_text(with, "dispatch")));
		value_put(&a, entry, "run", value_str(&a, with->run));
		value_put(&a, entry, "text", value_str(&a, ev_text(with, "say")));
		value_push(&a, list, entry);
	}
	if (value_count(list))
		record_set_json(&n->said, list);
	else
		record_set_str(&n->said, STR(""));
}

int apply_dispatch_intended(struct state *s, const struct event *e, struct ov_err *err)
{
	struct assignment *as = state_assignment(s, e->assignment);
	int mode = status_parse(&dispatch_modes, ev_text(e, "mode"));
	struct dispatch *d;

	if (!as || !as->live || mode < 0)
		return ev_missing(e, "live assignment or mode", e->assignment, err);
	if (!id_valid(ev_text(e, "dispatch")) || state_dispatch(s, ev_text(e, "dispatch")))
		return ev_missing(e, "new dispatch", ev_text(e, "dispatch"), err);
	d = mem_zalloc(1, sizeof(*d));
	record_set_str(&d->id, ev_text(e, "dispatch"));
	record_set_str(&d->goal_id, e->goal);
	record_set_str(&d->node_id, e->node);
	record_set_str(&d->assignment_id, e->assignment);
	record_set_str(&d->run_id, e->run);
	d->mode = (enum dispatch_mode)mode;
	record_set_str(&d->purpose, ev_text(e, "purpose"));
	record_set_str(&d->target, ev_text(e, "target"));
	record_set_str(&d->instruction_hash, ev_text(e, "instruction_hash"));
	record_set_str(&d->nonce, ev_text(e, "nonce"));
	d->sends = 1;
	d->seq = (int64_t)e->seq;
	d->at = as->last_dispatch_at = e->at;
	record_set_str(&as->instruction_hash, d->instruction_hash);
	if (ev_text(e, "say").n && as->node)
		keep_said(as->node, STR(""), e);
	state_add_dispatch(s, d);
	return 0;
}

int apply_dispatch_result(struct state *s, const struct event *e, struct ov_err *err)
{
	struct dispatch *d = state_dispatch(s, ev_text(e, "dispatch"));
	struct node *n = state_node(s, e->goal, e->node);
	int to = status_parse(&dispatch_results, ev_text(e, "result"));

	if (n && value_bool_at(e->data, "taken"))
		keep_said(n, ev_text(e, "dispatch"), NULL);
	/* One that was dropped from the newest is nobody's business any more. */
	if (!d)
		return 0;
	if (to < 0)
		return ev_missing(e, "such result", ev_text(e, "result"), err);
	if (!status_may(&dispatch_results, (int)d->result, to, false))
		return status_check(&dispatch_results, d->id, (int)d->result, to, false, err);
	d->result = (enum dispatch_result)to;
	/* Handed over once more: the least time before the same text again is counted from now. */
	if (to == RESULT_PENDING) {
		d->sends++;
		d->at = e->at;
	}
	if (to == RESULT_OK)
		d->acknowledged_at = e->at;
	record_set_str(&d->notes, ev_text(e, "notes"));
	return 0;
}

int apply_crystallized(struct state *s, const struct event *e, struct ov_err *err)
{
	struct crystallization *c;

	if (!state_goal(s, e->goal) || (e->node.n && !state_node(s, e->goal, e->node)))
		return ev_missing(e, "goal or node", e->node, err);
	c = mem_zalloc(1, sizeof(*c));
	if (record_from_value(&crystallization_record, c, value_at(e->data, "crystallization"),
			    err) < 0 ||
			!str_eq(c->goal_id, e->goal) || !str_eq(c->node_id, e->node)) {
		record_done(&crystallization_record, c);
		mem_free(c);
		return ev_missing(e, "such crystallization", e->node, err);
	}
	state_set_handoff(s, c);
	return 0;
}

int apply_agent_limited(struct state *s, const struct event *e, struct ov_err *err)
{
	struct lane *l = state_lane(s, ev_text(e, "agent"));
	int kind = status_parse(&block_kinds, ev_text(e, "kind")),
	    known_by = status_parse(&fact_signs, ev_text(e, "known_by"));

	if (kind < 0)
		return ev_missing(e, "such kind of block", ev_text(e, "kind"), err);
	if (!l) {
		l = mem_zalloc(1, sizeof(*l));
		record_set_str(&l->agent, ev_text(e, "agent"));
		l->since = e->at;
		state_add_lane(s, l);
	}
	l->kind = (enum block_kind)kind;
	record_set_str(&l->detail, ev_text(e, "detail"));
	l->times = ev_num(e, "times");
	l->resets_at = ev_num(e, "resets_at_ms");
	l->guessed = value_bool_at(e->data, "guessed");
	l->known_by = known_by < 0 ? SIGN_NONE : (enum fact_sign)known_by;
	l->exit_code = ev_num(e, "exit_code");
	record_set_str(&l->run_id, e->run);
	record_set_str(&l->words, ev_text(e, "words"));
	l->seen_at = e->at;
	l->far_until = ev_num(e, "far_until_ms");
	record_set_str(&l->far_by, ev_text(e, "far_by"));
	record_set_str(&l->far_by_too, ev_text(e, "far_by_too"));
	l->probe_at = ev_num(e, "probe_at_ms");
	l->probe_every_ms = ev_num(e, "probe_every_ms");
	return 0;
}

int apply_agent_cleared(struct state *s, const struct event *e, struct ov_err *err)
{
	struct lane *l = state_lane(s, ev_text(e, "agent"));

	if (!l)
		return ev_missing(e, "waiting lane of", ev_text(e, "agent"), err);
	if (l->kind == BLOCK_FAILING)
		streak_ends(s, l->agent);
	state_remove_lane(s, l);
	return 0;
}

int apply_outage_suspected(struct state *s, const struct event *e, struct ov_err *err)
{
	(void)err;
	s->outage_since = e->at;
	return 0;
}

int apply_outage_over(struct state *s, const struct event *e, struct ov_err *err)
{
	(void)err;
	s->outage_since = 0;
	s->outage_over_at = e->at;
	if (ev_num(e, "ignore_until_ms"))
		s->outage_ignored_until = ev_num(e, "ignore_until_ms");
	return 0;
}
