#include "core/life/ladder.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/capacity/budget.h"
#include "core/life/liveness.h"
#include "core/life/session.h"
#include "core/policy/quiet_hours.h"
#include "core/state/habit.h"
#include "data/id/sha256.h"
#include "data/value/json.h"

static ov_time doubling(ov_time base, ov_time max, int64_t n)
{
	ov_time wait = base;

	while (--n > 0 && wait < max)
		wait *= 2;
	return MIN(wait, max);
}

ov_time recovery_backoff(const struct policy *p, int64_t n)
{
	return doubling(p->backoff_base, p->backoff_max, n);
}

ov_time limit_backoff(const struct policy *p, int64_t n)
{
	return doubling(p->limit_base, p->limit_max, n);
}

static bool has_run(const struct assignment *as)
{
	return as->stage == STAGE_RUNNING && as->run && as->run->status == RUN_RUNNING;
}

static bool takes_input(const struct policy *p, str name)
{
	const struct policy_agent *agent = policy_agent(p, name);

	return agent && agent->input;
}

bool nudge_resumes(const struct world *w, const struct assignment *as)
{
	return !takes_input(w->policy, as->agent) && session_resumes(w->policy, as);
}

const struct dispatch *dispatch_in_doubt(const struct assignment *as)
{
	const struct dispatch *d = as->dispatches.n ? as->dispatches.p[as->dispatches.n - 1] : NULL;

	return d && d->mode == MODE_SEND && str_eq(d->run_id, as->run_id) && d->result != RESULT_OK
			? d
			: NULL;
}

static const char *input_hindrance(const struct climb *c)
{
	if (!c->running)
		return "there is no run to ask";
	return c->input ? NULL : "the agent takes no input while it runs";
}

static const char *end_hindrance(const struct climb *c)
{
	return c->running && c->quiet < 2 ? "only one signal says that the run is silent" : NULL;
}

static bool nudge_ends_run(const struct climb *c)
{
	return c->running && !c->input && c->resumes;
}

/* Whoever takes no input is asked by a new run of its session, for which this one has to end. */
static const char *nudge_hindrance(const struct climb *c)
{
	return nudge_ends_run(c) ? end_hindrance(c) : input_hindrance(c);
}

static const char *resend_hindrance(const struct climb *c)
{
	const char *why = input_hindrance(c);

	return why ? why : c->in_doubt ? NULL : "its delivery is not in doubt";
}

static const char *replan_hindrance(const struct climb *c)
{
	return c->no_replan;
}

static const struct {
	const char *(*hindrance)(const struct climb *c);
	const char *why;
} ladder[RUNG_COUNT] = {
	[RUNG_NUDGE] = { nudge_hindrance, "it is asked for its status" },
	[RUNG_RESEND] = { resend_hindrance, "nobody knows whether the last request arrived" },
	[RUNG_REPLAN] = { replan_hindrance, "the planner is asked to split the node" },
	[RUNG_REASSIGN] = { end_hindrance, "another session takes over what there is" },
	[RUNG_ESCALATE] = { NULL, "nothing else helped" },
};

const char *climb_hindrance(const struct climb *c, enum rung rung)
{
	return ladder[rung].hindrance ? ladder[rung].hindrance(c) : NULL;
}

const char *rung_hindrance(const struct world *w, const struct assignment *as, enum rung rung,
		int quiet)
{
	struct climb c = climb_of(w, as, NULL);

	c.quiet = quiet;
	return climb_hindrance(&c, rung);
}

int64_t rung_cap(const struct policy *p, enum rung rung)
{
	return rung == RUNG_NUDGE ? p->max_nudges : 1;
}

/* When its run was last asked for its status, or told something by a person; 0: not yet. */
static ov_time asked_at(const struct assignment *as)
{
	for (size_t i = as->dispatches.n; i-- > 0;) {
		const struct dispatch *d = as->dispatches.p[i];

		if (str_eq(d->run_id, as->run_id) &&
				(str_is(d->purpose, "nudge") || str_is(d->purpose, "message")))
			return d->at;
	}
	return 0;
}

/* As long as asking takes: nudge after nudge, and the wait for an answer to the last. */
static ov_time patience(const struct policy *p)
{
	ov_time sum = 0;

	for (int64_t n = 1; n < p->max_nudges; n++)
		sum += MAX(recovery_backoff(p, n), p->min_resend_interval);
	return p->max_nudges ? sum + recovery_backoff(p, p->max_nudges) : 0;
}

static const char *no_replan(const struct world *w, const struct assignment *as)
{
	if (as->node->goal->standing.n)
		return "its goal has no plan: tasks are added to it one by one";
	if (!w->policy->planner)
		return NO_PLANNER;
	return goal_held(w->policy, as->node->goal, NULL, w->state->at).n
			? "nothing new may be begun for its goal"
			: NULL;
}

/* When it would have been called stalled had nothing been learned of its agent. */
static ov_time stalled_unlearned(const struct policy *p, const struct assignment *as,
		const struct observation *o)
{
	/* Not every sign of life is recorded as an activity. */
	ov_time silent_since = MAX(as->last_activity_at, o ? sign_seen_at(o) : 0);

	silent_since = MIN(silent_since, as->updated_at);
	return MAX(as->updated_at, silent_since + idle_configured(p, as));
}

struct climb climb_of(const struct world *w, const struct assignment *as,
		const struct observation *o)
{
	const struct node *n = as->node;
	struct climb c = { .policy = w->policy,
		.recovery = as->recovery_policy,
		.recoveries = n->stall.recoveries,
		.episode_at = n->stall.at,
		.recovered_at = n->stall.recovered_at,
		.backoff_until = n->stall.backoff_until,
		.asked_at = MAX(n->stall.sent_at, asked_at(as)),
		.stalled_at = MAX(stalled_unlearned(w->policy, as, o), w->state->outage_over_at),
		.running = has_run(as),
		.input = takes_input(w->policy, as->agent),
		.resumes = session_resumes(w->policy, as),
		.in_doubt = dispatch_in_doubt(as) != NULL,
		.asks_person = o && o->waiting_for.n,
		.quiet = o ? 1 + !o->process_unknown + !o->tree_unknown : 0,
		.no_replan = no_replan(w, as) };

	static_assert(sizeof(c.rungs) == sizeof(n->stall.rungs), "the rungs of a node");
	memcpy(c.rungs, n->stall.rungs, sizeof(c.rungs));
	return c;
}

ov_time person_asked_at(const struct world *w, const struct assignment *as,
		const struct observation *o)
{
	ov_time asked;

	if (!o || !o->waiting_for.n || !w->policy->ask_after)
		return 0;
	asked = as->run->asked_at;
	if (asked && state_asked(w->state, ASK_PERMISSION, as->id))
		return OV_TIME_MAX;
	return o->waiting_since <= asked
			? 0
			: MAX(o->waiting_since, as->run->started_at) + w->policy->ask_after;
}

ov_time mute_told_at(const struct world *w, const struct assignment *as,
		const struct observation *o, ov_time now)
{
	struct voice v = voice_judge(w->policy, as, o, now);
	ov_time outage = w->state->outage_over_at;

	if (v.due_at == OV_TIME_MAX ||
			(as->run->mute_at && state_asked(w->state, ASK_MUTE, as->id)))
		return OV_TIME_MAX;
	/* What it was silent for together with all the others does not count. */
	return outage ? MAX(v.due_at, outage + habit_mute(w->policy, as, o)) : v.due_at;
}

bool climb_ends_run(const struct climb *c, enum rung rung)
{
	return c->running && (rung >= RUNG_REASSIGN || (rung == RUNG_NUDGE && nudge_ends_run(c)));
}

bool rung_ends_run(const struct world *w, const struct assignment *as, enum rung rung)
{
	struct climb c = climb_of(w, as, NULL);

	return climb_ends_run(&c, rung);
}

/*
 * Healthy agents are silent for longer than a stall takes, now and then. So a run is ended only
 * when this very silence has lasted so much longer, also if it cannot be asked, or was asked in a
 * silence before; what it was silent for together with all the others does not count.
 */
static ov_time may_end_at(const struct climb *c)
{
	return c->stalled_at + patience(c->policy);
}

ov_time climb_due(const struct climb *c, enum rung rung, ov_time now)
{
	const struct policy *p = c->policy;
	ov_time at = c->recovered_at ? c->backoff_until : c->episode_at;

	/* The same text again: the larger of backoff and minimum interval. */
	if ((rung == RUNG_NUDGE || rung == RUNG_RESEND) && c->asked_at)
		at = MAX(at, c->asked_at + p->min_resend_interval);
	/*
	 * What was learned of an agent only makes it asked sooner, also when it waits for a person.
	 */
	if (rung > RUNG_RESEND && c->running)
		at = MAX(at, c->stalled_at);
	if (climb_ends_run(c, rung) && !c->asks_person)
		at = MAX(at, may_end_at(c));
	/* Nobody is disturbed in quiet hours; work that goes on by itself may be. */
	return rung == RUNG_NUDGE ? MAX(at, quiet_until(p, MAX(at, now))) : at;
}

/* The ladder only goes up: whoever has asked a person does not split the node afterwards. */
static int highest_taken(const struct climb *c)
{
	int rung = RUNG_COUNT - 1;

	while (rung > 0 && c->rungs[rung] == 0)
		rung--;
	return rung;
}

int climb_rung(const struct climb *c)
{
	int rung = highest_taken(c);

	while (rung < RUNG_COUNT &&
			(c->rungs[rung] >= rung_cap(c->policy, (enum rung)rung) ||
					(rung != RUNG_NUDGE && rung < (int)c->recovery)))
		rung++;
	/* One that waits for a person already is not asked for its status first. */
	if (rung < RUNG_ESCALATE && c->asks_person)
		rung = c->rungs[RUNG_ESCALATE] ? RUNG_COUNT : RUNG_ESCALATE;
	return rung;
}

int rung_advised(struct arena *a, const struct policy *p, const struct node *n)
{
	value *advice;
	int rung;

	if (!n->stall.advice.n || json_parse(a, n->stall.advice, NULL, &advice, NULL) < 0)
		return -1;
	rung = status_parse(&rungs, value_str_at(advice, "type"));
	return rung >= 0 && n->stall.rungs[rung] < rung_cap(p, (enum rung)rung) ? rung : -1;
}

/* What a model would be told: once per episode, and never twice about the same. */
static str diagnosis_of(struct arena *a, const struct node *n)
{
	str seen = sha256_hex(a,
			arena_printf(a, STR_FMT "\n" STR_FMT, STR_ARG(n->stall.reason),
					STR_ARG(n->report.merged)));

	return arena_printf(a, "%lld:" STR_FMT, (long long)n->stall.episode, STR_ARG(seen));
}

bool rung_may_diagnose(const struct world *w, const struct node *n)
{
	int64_t episode = -1;

	if (!w->policy->planner || !w->policy->diagnose || n->stall.advice.n ||
			goal_held(w->policy, n->goal, NULL, w->state->at).n)
		return false;
	(void)str_to_i64(str_sub(n->stall.diagnosed, 0, str_find_byte(n->stall.diagnosed, ':')),
			&episode);
	return !n->stall.open || episode != n->stall.episode;
}

static bool wants_diagnosis(struct arena *a, const struct world *w, const struct node *n, int rung,
		str *ret)
{
	str now, last = n->stall.diagnosed;
	size_t colon = str_find_byte(last, ':');

	if (!w->policy->planner || !w->policy->diagnose || rung < RUNG_REPLAN ||
			n->stall.advice.n || goal_held(w->policy, n->goal, NULL, w->state->at).n)
		return false;
	now = diagnosis_of(a, n);
	if (last.n &&
			(str_starts(now, str_sub(last, 0, colon + 1)) ||
					str_ends(now, str_sub(last, colon, last.n))))
		return false;
	*ret = now;
	return true;
}

struct rung_choice rung_next(struct arena *a, const struct world *w, const struct assignment *as,
		const struct observation *o, ov_time now)
{
	const struct node *n = as->node;
	struct climb climb = climb_of(w, as, o);
	struct rung_choice c = { .quiet = climb.quiet };
	int rung = climb_rung(&climb);
	const char *hindrance;

	if (o)
		c.waiting_for = o->waiting_for;
	/* Whatever the planner answers decides how it goes on. */
	if (rung == RUNG_COUNT || (n->goal->effect && str_eq(n->goal->effect->node_id, n->id))) {
		c.nothing = true;
		return c;
	}
	c.diagnose = wants_diagnosis(a, w, n, rung, &c.diagnosis);
	if (rung_advised(a, w->policy, n) >= 0)
		rung = rung_advised(a, w->policy, n);
	/* The planner does one thing at a time for a goal. */
	c.nothing = n->goal->effect && (c.diagnose || rung == RUNG_REPLAN);
	c.rung = (enum rung)rung;
	c.due_at = climb_due(&climb, c.rung, now);
	hindrance = climb_hindrance(&climb, c.rung);
	c.skip = !c.diagnose && hindrance;
	c.why = str_from(c.skip ? hindrance : ladder[rung].why);
	if (c.diagnose)
		c.why = STR("the planner is asked what would help");
	return c;
}
