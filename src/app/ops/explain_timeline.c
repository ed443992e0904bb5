/*
 * The timeline of a run at hand: what was done about its silence, as the log has it, and what comes
 * next at which time if nothing more is heard of it.
 */
#include "app/ops/explain_impl.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "core/event/event.h"
#include "core/explain/explain_state.h"
#include "core/life/timeline.h"
#include "core/state/habit.h"

enum { PAST_MOST = 40 };

static value *past(struct arena *a, ov_time at, const char *step, str text)
{
	value *v = value_object(a);

	value_put(a, v, "step", value_cstr(a, step));
	value_put(a, v, "at", value_time(a, at));
	value_put(a, v, "text", value_str(a, text));
	value_put(a, v, "state", value_cstr(a, "done"));
	return v;
}

static value *past_rung(struct arena *a, const struct policy *p, const struct event *e)
{
	const struct ev_episode_rung *is = as_episode_rung(e);
	str which = STR("");
	value *v;

	if (is->rung == RUNG_NUDGE && !is->skipped)
		which = arena_printf(a, " %lld of %lld", (long long)is->count,
				(long long)p->max_nudges);
	v = past(a, e->at, moment_name(moment_of_rung(is->rung)),
			arena_printf(a, "%s%s" STR_FMT ": " STR_FMT, is->skipped ? "no " : "",
					moment_name(moment_of_rung(is->rung)), STR_ARG(which),
					STR_ARG(is->reason)));
	value_put(a, v, "skipped", value_bool(a, is->skipped));
	return v;
}

static value *past_question(struct arena *a, const struct event *e)
{
	int ask = status_parse(&ask_kinds, as_escalation_opened(e)->kind);

	if (ask == ASK_PERMISSION)
		return past(a, e->at, moment_name(MOMENT_ASK), STR("ask: you were asked (inbox)"));
	if (ask == ASK_MUTE)
		return past(a, e->at, moment_name(MOMENT_MUTE),
				STR("mute: you were asked (inbox)"));
	return NULL;
}

static value *past_move(struct arena *a, const struct event *e)
{
	const struct ev_assignment_moved *is = as_assignment_moved(e);

	if (is->from == is->to)
		return NULL;
	if (is->to == AS_STALLED)
		return past(a, e->at, "stall",
				arena_printf(a, "stalled: " STR_FMT, STR_ARG(is->reason)));
	return is->from == AS_STALLED && is->to == AS_ACTIVE ? past(a, e->at, "life", is->reason)
							     : NULL;
}

/* What the event says about the silence of a run, or NULL. */
static value *past_of(struct arena *a, const struct policy *p, const struct event *e)
{
	switch (e->kind) {
	case EV_EPISODE_RUNG: return past_rung(a, p, e);
	case EV_ESCALATION_OPENED: return past_question(a, e);
	case EV_RUN_STARTED: return past(a, e->at, "start", STR("the run started"));
	case EV_ASSIGNMENT_MOVED: return past_move(a, e);
	default: return NULL;
	}
}

/* From the first step of the stall that is not over, or from when the run began. */
static bool is_of_now(const struct assignment *as, const struct event *e)
{
	const struct node *n = as->node;
	ov_time since = as->run->started_at;

	if (n->stall.open)
		since = MIN(since, n->stall.at);
	return str_eq(e->assignment, as->id) && e->at >= since;
}

static int put_past(struct op_ctx *cx, const struct assignment *as, value *list, struct ov_err *err)
{
	const struct node *n = as->node;

	for (size_t i = 0; i < n->history.n; i++) {
		struct event e;
		int r = op_read_event(cx, n->history.p[i], &e, err);
		value *v;

		if (r < 0)
			return r;
		v = is_of_now(as, &e) ? past_of(cx->arena, &cx->config->policy, &e) : NULL;
		if (v && value_count(list) < PAST_MOST)
			value_push(cx->arena, list, v);
	}
	return 0;
}

/* Why it is asked when it is: what the silence that it is in is measured by. */
static str stall_text(struct arena *a, const struct moment *m, const struct habit *usual)
{
	str text = moment_text(a, m);

	return usual ? arena_printf(a, STR_FMT "; " STR_FMT, STR_ARG(text),
				       STR_ARG(habit_words(a, usual)))
		     : text;
}

static void put_future(const struct explain *x, const struct assignment *as, value *list)
{
	struct world w = { x->state, x->policy };
	const struct observation *o = x->observations ? map_get(x->observations, as->run_id) : NULL;
	struct timeline t = timeline_of_run(x->arena, &w, as, o, x->now);
	const value *moments = timeline_view(x->arena, &t, true);
	const struct habit *usual = habit_silent(as, o);
	bool next = false;

	for (size_t i = 0; i < t.n; i++) {
		value *v = moments->array.items[i];

		if (i == 0 && t.p[i].kind == MOMENT_STALL)
			value_put(x->arena, v, "text",
					value_str(x->arena, stall_text(x->arena, &t.p[i], usual)));
		/* What is left out is left out when its turn comes, and takes no time. */
		value_put(x->arena, v, "state",
				value_cstr(x->arena, next || t.p[i].skipped ? "later" : "next"));
		next |= !t.p[i].skipped;
		value_push(x->arena, list, v);
	}
}

int explain_put_timeline(struct op_ctx *cx, const struct explain *x, const struct assignment *as,
		value *v, struct ov_err *err)
{
	value *list = value_array(cx->arena);
	int r = 0;

	if (as && as->node && as->run && as->run->status == RUN_RUNNING) {
		r = put_past(cx, as, list, err);
		put_future(x, as, list);
	}
	value_put(cx->arena, v, "timeline", list);
	return r;
}

int op_config_timeline(struct op_ctx *cx, const struct pr_config_timeline *p, value **ret,
		struct ov_err *err)
{
	const struct policy *policy = &cx->config->policy;
	str name = p->agent;
	const struct policy_agent *agent = name.n ? policy_agent(policy, name) : NULL;

	if (name.n && !agent) {
		ov_fail(err, OV_ENOTFOUND, STR_FMT,
				STR_ARG(policy_no_agent(cx->arena, policy, name)));
		return ov_next(err, "overseer agent list");
	}
	*ret = timeline_config_view(cx->arena, &(struct world){ cx->state, policy }, agent);
	return 0;
}
