#include "core/life/timeline.h"

#include "agent/format/format.h"
#include "base/arena.h"
#include "base/duration.h"
#include "core/life/liveness.h"
#include "core/state/habit.h"

static const char *const names[] = {
#define MOMENT_NAME(sym, name) [sym] = (name),
	MOMENTS(MOMENT_NAME)
#undef MOMENT_NAME
};

static const enum moment_kind of_rung[RUNG_COUNT] = {
	[RUNG_NUDGE] = MOMENT_NUDGE,
	[RUNG_RESEND] = MOMENT_RESEND,
	[RUNG_REPLAN] = MOMENT_REPLAN,
	[RUNG_REASSIGN] = MOMENT_REASSIGN,
	[RUNG_ESCALATE] = MOMENT_PERSON,
};

const char *moment_name(enum moment_kind kind)
{
	return names[kind];
}

enum moment_kind moment_of_rung(enum rung rung)
{
	return of_rung[rung];
}

static void add(struct timeline *t, struct moment m)
{
	assert(t->n < TIMELINE_MAX);
	t->p[t->n++] = m;
}

/* The episode begins with the stall, unless an earlier one of its node is not over. */
static void stall(struct timeline *t, struct climb *c, ov_time at, int64_t run, bool open)
{
	add(t, (struct moment){ .kind = MOMENT_STALL, .at = at, .run = run });
	c->stalled_at = at;
	if (open)
		return;
	memset(c->rungs, 0, sizeof(c->rungs));
	c->episode_at = at;
	c->recoveries = 0;
	c->recovered_at = c->backoff_until = 0;
}

/* As the fold does it when the step is taken. */
static void take(struct climb *c, enum rung rung, ov_time at)
{
	bool told = rung == RUNG_NUDGE || rung == RUNG_RESEND;

	c->rungs[rung]++;
	c->recovered_at = at;
	c->backoff_until = at + recovery_backoff(c->policy, ++c->recoveries);
	c->asked_at = told ? at : c->asked_at;
	c->in_doubt = told && c->input;
}

static void skip(struct timeline *t, struct climb *c, enum rung rung, ov_time at, int64_t run)
{
	add(t,
			(struct moment){ .kind = of_rung[rung],
					.at = at,
					.run = run,
					.skipped = climb_hindrance(c, rung) });
	c->rungs[rung] = (int32_t)MAX(rung_cap(c->policy, rung), (int64_t)1);
}

static struct moment step(const struct climb *c, enum rung rung, ov_time at, int64_t run)
{
	return (struct moment){ .kind = of_rung[rung],
		.at = at,
		.run = run,
		.count = c->rungs[rung] + 1,
		.most = rung_cap(c->policy, rung),
		.ends_run = climb_ends_run(c, rung) };
}

static struct timeline timeline_from(const struct timeline_start *s)
{
	struct climb c = s->climb;
	struct timeline t = { 0 };
	ov_time at = s->now;
	bool diagnose = s->diagnose;
	int rung, advised = s->advised;
	int64_t run = 1;

	if (s->stall_at) {
		at = MAX(at, s->stall_at);
		stall(&t, &c, at, run, s->episode_open);
	}
	while ((rung = climb_rung(&c)) != RUNG_COUNT) {
		struct moment m;

		rung = advised >= 0 ? advised : rung;
		advised = -1;
		if (diagnose && rung >= RUNG_REPLAN) {
			at = MAX(at, climb_due(&c, (enum rung)rung, at));
			add(&t, (struct moment){ .kind = MOMENT_DIAGNOSE, .at = at, .run = run });
			diagnose = false;
		}
		if (climb_hindrance(&c, (enum rung)rung)) {
			skip(&t, &c, (enum rung)rung, at, run);
			continue;
		}
		at = MAX(at, climb_due(&c, (enum rung)rung, at));
		m = step(&c, (enum rung)rung, at, run);
		add(&t, m);
		if (rung == RUNG_ESCALATE)
			break;
		take(&c, (enum rung)rung, at);
		if (m.ends_run)
			stall(&t, &c, at += s->idle, ++run, true);
	}
	return t;
}

struct timeline timeline_of_agent(const struct policy *p, const struct policy_agent *agent)
{
	struct policy any_hour = *p;
	struct timeline_start s = {
		.climb = { .policy = &any_hour,
				.recovery = agent->recovery,
				.running = true,
				.input = agent->input,
				.resumes = agent->format && agent->format->resumes,
				.quiet = 3,
				.no_replan = p->planner ? NULL : NO_PLANNER },
		.idle = p->idle_after,
		.stall_at = p->idle_after,
		.diagnose = p->planner && p->diagnose,
		.advised = -1,
	};

	any_hour.quiet_from = any_hour.quiet_to;
	return timeline_from(&s);
}

/* Nothing is done to one that is not at work, is held, or fell silent together with the others. */
static bool is_left_alone(const struct world *w, const struct assignment *as)
{
	return as->stage != STAGE_RUNNING || !as->run || as->run->status != RUN_RUNNING ||
			as->run->frozen || as->stopping || assignment_is_final(as) ||
			as->node->goal->status != GOAL_ACTIVE || w->state->outage_since;
}

/* Once, and nothing else: while they have not answered, or while the run lives. */
static struct timeline only(enum moment_kind kind, ov_time at, ov_time now)
{
	struct timeline t = { 0 };

	if (at != OV_TIME_MAX)
		add(&t, (struct moment){ .kind = kind, .at = MAX(at, now), .run = 1 });
	return t;
}

struct timeline timeline_of_run(struct arena *a, const struct world *w, const struct assignment *as,
		const struct observation *o, ov_time now)
{
	struct liveness l;
	struct timeline_start s = { .now = now };
	ov_time asked;

	if (is_left_alone(w, as))
		return (struct timeline){ 0 };
	asked = as->status == AS_STALLED ? 0 : person_asked_at(w, as, o);
	if (asked)
		return only(MOMENT_ASK, asked, now);
	l = liveness_judge(w->policy, as, o, now);
	if (as->status != AS_STALLED && l.due_at == OV_TIME_MAX)
		return (struct timeline){ 0 };
	if (l.due_at != OV_TIME_MAX && lives_unheard(o, now))
		return only(MOMENT_MUTE, mute_told_at(w, as, o, now), now);
	s.climb = climb_of(w, as, o);
	/* the looks that are still to come may tell what the last one could not */
	s.climb.quiet = 3;
	s.idle = as->idle_after ? as->idle_after : w->policy->idle_after;
	s.stall_at = as->status == AS_STALLED ? 0 : l.due_at;
	s.episode_open = as->node->stall.open;
	s.diagnose = rung_may_diagnose(w, as->node);
	s.advised = rung_advised(a, w->policy, as->node);
	return timeline_from(&s);
}

/* ---- for people ---- */

static const char *ended(const struct moment *m)
{
	return m->ends_run ? "its run is ended, and " : "";
}

static str nudge_text(struct arena *a, const struct moment *m)
{
	return arena_printf(a, "nudge %lld of %lld: %s%s", (long long)m->count, (long long)m->most,
			ended(m),
			m->ends_run ? "a new run of its session is asked for its status"
				    : "it is asked for its status");
}

str moment_text(struct arena *a, const struct moment *m)
{
	if (m->skipped)
		return arena_printf(a, "no %s: %s", moment_name(m->kind), m->skipped);
	switch (m->kind) {
	case MOMENT_ASK:
		return STR("ask: it waits for a person, and you are asked (inbox); its run is "
			   "kept");
	case MOMENT_MUTE:
		return STR("mute: it is busy and shows nothing of it, and you are asked (inbox); "
			   "its run is left alone");
	case MOMENT_STALL: return STR("stalled: no sign of life");
	case MOMENT_NUDGE: return nudge_text(a, m);
	case MOMENT_RESEND:
		return STR("resend: the request is sent again, unless the agent confirmed it");
	case MOMENT_DIAGNOSE: return STR("diagnose: the planner is asked what would help");
	case MOMENT_REPLAN: return STR("replan: the planner is asked to split the task");
	case MOMENT_REASSIGN:
		return arena_printf(a, "reassign: %sa new session takes over its work", ended(m));
	case MOMENT_PERSON: return arena_printf(a, "person: %syou are asked (inbox)", ended(m));
	case MOMENT_KIND_COUNT: break;
	}
	return STR("");
}

static value *moment_view(struct arena *a, const struct moment *m, bool absolute)
{
	value *v = value_object(a);

	value_put(a, v, "step", value_cstr(a, moment_name(m->kind)));
	if (absolute)
		value_put(a, v, "at", value_time(a, m->at));
	else
		value_put(a, v, "after_ms", value_int(a, m->at));
	value_put(a, v, "run", value_int(a, m->run));
	if (m->kind == MOMENT_NUDGE && !m->skipped) {
		value_put(a, v, "count", value_int(a, m->count));
		value_put(a, v, "of", value_int(a, m->most));
	}
	value_put(a, v, "ends_run", value_bool(a, m->ends_run));
	value_put(a, v, "skipped", value_bool(a, m->skipped));
	value_put(a, v, "text", value_str(a, moment_text(a, m)));
	return v;
}

value *timeline_view(struct arena *a, const struct timeline *t, bool absolute)
{
	value *list = value_array(a);

	for (size_t i = 0; i < t->n; i++)
		value_push(a, list, moment_view(a, &t->p[i], absolute));
	return list;
}

static value *agent_view(struct arena *a, const struct world *w, const struct policy_agent *agent)
{
	struct timeline t = timeline_of_agent(w->policy, agent);
	value *v = value_object(a);

	value_put(a, v, "agent", value_str(a, agent->name));
	value_put(a, v, "timeline", timeline_view(a, &t, false));
	value_put(a, v, "usual", habits_view(a, w->state, w->policy, agent->name));
	return v;
}

value *timeline_config_view(struct arena *a, const struct world *w,
		const struct policy_agent *agent)
{
	const struct policy *p = w->policy;
	value *v = value_object(a), *agents = value_array(a);

	value_put(a, v, "idle_after_ms", value_int(a, p->idle_after));
	value_put(a, v, "idle_after_set", value_bool(a, p->idle_set));
	value_put(a, v, "ask_after_ms", value_int(a, p->ask_after));
	value_put(a, v, "min_resend_interval_ms", value_int(a, p->min_resend_interval));
	value_put(a, v, "backoff_base_ms", value_int(a, p->backoff_base));
	value_put(a, v, "backoff_max_ms", value_int(a, p->backoff_max));
	value_put(a, v, "mute_after_ms", value_int(a, p->mute_after));
	value_put(a, v, "max_run_ms", value_int(a, p->max_run));
	for (size_t i = 0; i < p->agents_n; i++)
		if (!agent || agent == &p->agents[i])
			value_push(a, agents, agent_view(a, w, &p->agents[i]));
	value_put(a, v, "agents", agents);
	return v;
}
