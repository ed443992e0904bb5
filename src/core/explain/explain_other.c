/* Why an entry of the inbox, a worker, a notice or an agent is as it is. */
#include "base/arena.h"
#include "base/duration.h"
#include "base/list.h"
#include "base/str.h"
#include "core/capacity/lane.h"
#include "core/explain/explain_state.h"
#include "core/inbox/inbox.h"
#include "core/text/last_lines.h"
#include "core/view/view.h"

enum { SHOWN_RUNS = 3 };

static void put_rest(const struct explain *x, value *v, str now, value *evidence, value *next)
{
	value_put(x->arena, v, "now", value_str(x->arena, now));
	value_put(x->arena, v, "evidence", evidence);
	value_put(x->arena, v, "next", next);
}

/* ---- entries of the inbox ---- */

value *explain_entry(const struct explain *x, const struct escalation *e)
{
	struct arena *a = x->arena;
	value *view = view_escalation(a, x->state, e, x->now), *evidence = value_array(a),
	      *next = value_array(a);
	const value *commands = value_at(view, "commands");
	bool open = e->status == ESC_OPEN;
	value *v = explain_answer(x, arena_printf(a, "#%lld", (long long)e->number), "entry",
			e->question, status_name(&esc_statuses, (int)e->status),
			open ? e->opened_at : e->closed_at);
	str now = open ? value_str_at(view, "if_unanswered")
		       : arena_printf(a, STR_FMT " by " STR_FMT, STR_ARG(e->answer),
					 STR_ARG(e->answered_by));

	for (size_t i = 0; i < value_count(commands); i++)
		value_push(a, next, value_share(value_item(commands, i)));
	if (e->reminders)
		explain_show(x, evidence, e->reminded_at, "reminded %lldx",
				(long long)e->reminders);
	value_put(a, v, "kind", value_str(a, e->kind));
	value_put(a, v, "node",
			e->node_id.n ? value_strf(a, STR_FMT "/" STR_FMT, STR_ARG(e->goal_id),
						       STR_ARG(e->node_id))
				     : value_null(a));
	value_put(a, v, "last_lines", value_str(a, value_str_at(view, "last_lines")));
	put_rest(x, v, now, evidence, next);
	explain_conclude(x, v, open ? value_str_at(view, "why") : now,
			open ? STR("") : STR("nothing: it is closed"));
	return v;
}

/* ---- workers ---- */

value *explain_worker(const struct explain *x, const struct worker *w)
{
	struct arena *a = x->arena;
	const struct assignment *as = w->assignment_id.n
			? state_assignment(x->state, w->assignment_id)
			: NULL;
	value *v = explain_answer(x, w->name, "worker", w->path,
			      status_name(&worker_statuses, (int)w->status), w->since),
	      *evidence = value_array(a), *next = value_array(a);
	str now = w->reason.n ? w->reason : STR("nothing was given to it yet"), then;

	if (w->status == WORKER_IDLE && w->reason.n)
		now = arena_printf(a, "it has no task; it became free because: " STR_FMT,
				STR_ARG(w->reason));
	if (as && as->node) {
		now = arena_printf(a, STR_FMT " works in it on " STR_FMT " (%s)",
				STR_ARG(as->agent), STR_ARG(as->node->key),
				status_name(&stages, (int)as->stage));
		explain_command(x, next, "explain", as->node->key);
	}
	then = as ? STR("")
			: w->wanted.n
			? arena_printf(a, "the %s that a person asked for", w->wanted.p)
			: w->status == WORKER_IDLE
			? STR("it gets the next task that is ready, by itself")
			: STR("");
	for (int i = 0; i < PATROL_FACT_COUNT; i++)
		if (w->repairs[i])
			explain_show(x, evidence, w->repaired_at,
					"repaired %dx since it last worked", w->repairs[i]);
	explain_command(x, next, "worker show", w->name);
	value_put(a, v, "node", as && as->node ? value_str(a, as->node->key) : value_null(a));
	put_rest(x, v, now, evidence, next);
	explain_conclude(x, v, now, then);
	return v;
}

/* ---- notices ---- */

value *explain_notice(const struct explain *x, const struct notice *n)
{
	struct arena *a = x->arena;
	struct world w = { x->state, x->policy };
	value *view = view_notice(a, &w, n, x->now), *evidence = value_array(a),
	      *next = value_array(a);
	bool waits = n->status == NOTICE_WAITING;
	value *v = explain_answer(x, n->id, "notice", n->subject,
			status_name(&notice_statuses, (int)n->status),
			n->settled_at ? n->settled_at : n->created_at);
	str why = waits ? value_str_at(view, "why") : n->error, now;

	now = arena_printf(a, "by channel " STR_FMT ", %lld attempt%s%s" STR_FMT,
			STR_ARG(n->channel), (long long)n->attempts, n->attempts == 1 ? "" : "s",
			why.n ? ": " : "", STR_ARG(why));
	if (n->error.n)
		explain_show(x, evidence, 0, "the last attempt failed: " STR_FMT,
				STR_ARG(n->error));
	if (n->escalation)
		value_push(a, next,
				value_strf(a, "overseer inbox show %lld",
						(long long)n->escalation));
	if (n->status == NOTICE_FAILED)
		explain_command(x, next, "notice retry", n->id);
	value_push(a, next, value_cstr(a, "overseer notice list --all"));
	put_rest(x, v, now, evidence, next);
	explain_conclude(x, v, now,
			waits && value_str_at(view, "due_at").n
					? arena_printf(a, "it is tried again by itself at " STR_FMT,
							  STR_ARG(value_str_at(view, "due_at")))
					: n->status == NOTICE_FAILED
					? STR("")
					: STR("nothing: it is settled"));
	return v;
}

/* ---- agents ---- */

static int64_t at_work(const struct explain *x, str agent)
{
	int64_t n = 0;

	list_each (it, &x->state->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		n += as->stage != STAGE_NONE && str_eq(as->agent, agent);
	}
	return n;
}

/* The newest of its runs that failed, the newest first. */
static void failed_runs(const struct explain *x, str agent, value *evidence)
{
	const struct list *lists[] = { &x->state->runs, &x->state->retired_runs };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		for (const struct list *it = lists[i]->prev; it != lists[i]; it = it->prev) {
			const struct run *r = list_entry(it, const struct run, link);

			if (!str_eq(r->agent, agent) || !r->last_lines.n || n == SHOWN_RUNS)
				continue;
			explain_show(x, evidence, r->ended_at,
					"run " STR_FMT " (" STR_FMT ") failed: " STR_FMT,
					STR_ARG(r->id), STR_ARG(r->node_id),
					STR_ARG(last_line(r->last_lines)));
			n++;
		}
}

static str lane_now(const struct explain *x, const struct lane *l)
{
	const struct lane_rule *rule = &lane_rules[l->kind];
	str how = lane_how(x->arena, l);
	str why = l->detail.n ? l->detail : str_from(rule->state ? rule->state : "");

	/* Where several runs told it, they are the reason, too. */
	if (str_eq(how, why))
		return why;
	return arena_printf(x->arena, STR_FMT "; known by " STR_FMT, STR_ARG(why),
			STR_ARG(how.n ? how : STR("an earlier version")));
}

static str lane_then(const struct explain *x, const struct lane *l)
{
	const struct lane_rule *rule = &lane_rules[l->kind];

	if (!l->resets_at)
		return arena_printf(x->arena, "it is given work again when %s",
				rule->ends ? rule->ends : "a person says so");
	return arena_printf(x->arena,
			"%s at " STR_FMT ", in " STR_FMT ", and work starts by itself",
			l->guessed ? "it is tried again" : "it is free again",
			STR_ARG(time_format_near(x->arena, l->resets_at, x->now,
					x->policy->utc_offset)),
			STR_ARG(duration_format_short(x->arena, l->resets_at - x->now)));
}

static str run_last_lines(const struct state *s, str run_id)
{
	const struct run *r = run_id.n ? state_run(s, run_id) : NULL;

	return r ? r->last_lines : STR("");
}

value *explain_agent(const struct explain *x, const struct policy_agent *p)
{
	struct arena *a = x->arena;
	struct world w = { x->state, x->policy };
	const struct lane *l = state_lane(x->state, p->name);
	bool shut = lane_is_shut(l, x->now);
	int64_t busy = at_work(x, p->name);
	const char *state = shut && lane_rules[l->kind].state ? lane_rules[l->kind].state
			: shut                                ? "waiting"
			: busy                                ? "working"
							      : "ready";
	value *v = explain_answer(x, p->name, "agent",
			      p->format ? str_from(p->format->title) : STR("an agent"), state,
			      shut ? l->since : 0),
	      *evidence = value_array(a), *next = value_array(a);
	str now = arena_printf(a, "%lld of %lld at work", (long long)busy,
			(long long)p->concurrency);

	if (shut)
		now = lane_now(x, l);
	failed_runs(x, p->name, evidence);
	if (shut && l->run_id.n)
		explain_command(x, next, "run log", l->run_id);
	explain_command(x, next, "agent test", p->name);
	value_push(a, next, value_cstr(a, "overseer agent list"));
	value_put(a, v, "limit", view_lane(a, &w, l, x->now));
	value_put(a, v, "last_lines",
			value_str(a, shut ? run_last_lines(x->state, l->run_id) : STR("")));
	put_rest(x, v, now, evidence, next);
	explain_conclude(x, v, now,
			shut ? lane_then(x, l) : STR("it gets the next task that is ready for it"));
	return v;
}
