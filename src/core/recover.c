#include "core/recover.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/budget.h"
#include "core/prompt.h"
#include "core/session.h"
#include "data/json.h"

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

static const char *input_hindrance(const struct world *w, const struct assignment *as)
{
	if (!has_run(as))
		return "there is no run to ask";
	return takes_input(w->policy, as->agent) ? NULL : "the agent takes no input while it runs";
}

static const char *end_hindrance(const struct assignment *as, int quiet)
{
	return has_run(as) && quiet < 2 ? "only one signal says that the run is silent" : NULL;
}

/* Whoever takes no input is asked by a new run of its session, for which this one has to end. */
static const char *nudge_hindrance(const struct world *w, const struct assignment *as, int quiet)
{
	if (has_run(as) && nudge_resumes(w, as))
		return end_hindrance(as, quiet);
	return input_hindrance(w, as);
}

static const char *resend_hindrance(const struct world *w, const struct assignment *as, int quiet)
{
	const char *why = input_hindrance(w, as);

	(void)quiet;
	return why ? why : dispatch_in_doubt(as) ? NULL : "its delivery is not in doubt";
}

static const char *replan_hindrance(const struct world *w, const struct assignment *as, int quiet)
{
	(void)quiet;
	if (as->node->goal->standing.n)
		return "its goal has no plan: tasks are added to it one by one";
	if (!w->policy->planner)
		return "no planner is configured";
	return goal_held(w->policy, as->node->goal, NULL, w->state->at).n
			? "nothing new may be begun for its goal"
			: NULL;
}

static const char *reassign_hindrance(const struct world *w, const struct assignment *as, int quiet)
{
	(void)w;
	return end_hindrance(as, quiet);
}

static const struct {
	const char *(*hindrance)(const struct world *w, const struct assignment *as, int quiet);
	const char *why;
} ladder[RUNG_COUNT] = {
	[RUNG_NUDGE] = { nudge_hindrance, "it is asked for its status" },
	[RUNG_RESEND] = { resend_hindrance, "nobody knows whether the last request arrived" },
	[RUNG_REPLAN] = { replan_hindrance, "the planner is asked to split the node" },
	[RUNG_REASSIGN] = { reassign_hindrance, "another session takes over what there is" },
	[RUNG_ESCALATE] = { NULL, "nothing else helped" },
};

const char *rung_hindrance(const struct world *w, const struct assignment *as, enum rung rung,
		int quiet)
{
	return ladder[rung].hindrance ? ladder[rung].hindrance(w, as, quiet) : NULL;
}

int64_t rung_cap(const struct policy *p, enum rung rung)
{
	return rung == RUNG_NUDGE ? p->max_nudges : 1;
}

static bool left_out(const struct assignment *as, enum rung rung)
{
	return rung != RUNG_NUDGE && rung < as->recovery_policy;
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

/*
 * Healthy agents are silent for longer than a stall takes, now and then. So a run is ended only when
 * this very silence has lasted so much longer, also if it cannot be asked, or was asked in a silence
 * before; what it was silent for together with all the others does not count.
 */
static ov_time may_end_at(const struct world *w, const struct assignment *as)
{
	return MAX(as->updated_at, w->state->outage_over_at) + patience(w->policy);
}

bool rung_ends_run(const struct world *w, const struct assignment *as, enum rung rung)
{
	return has_run(as) &&
			(rung >= RUNG_REASSIGN || (rung == RUNG_NUDGE && nudge_resumes(w, as)));
}

static ov_time due_at(const struct world *w, const struct assignment *as,
		const struct observation *o, enum rung rung, ov_time now)
{
	const struct policy *p = w->policy;
	const struct node *n = as->node;
	ov_time at = n->recovered_at ? n->backoff_until : n->episode_at,
		asked = MAX(n->sent_at, asked_at(as));

	/* The same text again: the larger of backoff and minimum interval. */
	if ((rung == RUNG_NUDGE || rung == RUNG_RESEND) && asked)
		at = MAX(at, asked + p->min_resend_interval);
	if (rung_ends_run(w, as, rung) && !(o && o->waiting_for.n))
		at = MAX(at, may_end_at(w, as));
	/* Nobody is disturbed in quiet hours; work that goes on by itself may be. */
	return rung == RUNG_NUDGE ? MAX(at, quiet_until(p, MAX(at, now))) : at;
}

/* The ladder only goes up: whoever has asked a person does not split the node afterwards. */
static int highest_taken(const struct node *n)
{
	int rung = RUNG_COUNT - 1;

	while (rung > 0 && n->rungs[rung] == 0)
		rung--;
	return rung;
}

/* Which rung a model advised; -1: none, or one that was taken as often as it may be. */
static int advised(struct arena *a, const struct policy *p, const struct node *n)
{
	value *advice;
	int rung;

	if (!n->advice.n || json_parse(a, n->advice, NULL, &advice, NULL) < 0)
		return -1;
	rung = status_parse(&rungs, value_str_at(advice, "type"));
	return rung >= 0 && n->rungs[rung] < rung_cap(p, (enum rung)rung) ? rung : -1;
}

/* What a model would be told: once per episode, and never twice about the same. */
static str diagnosis_of(struct arena *a, const struct node *n)
{
	str seen = prompt_hash(a,
			arena_printf(a, STR_FMT "\n" STR_FMT, STR_ARG(n->episode_reason),
					STR_ARG(n->report)));

	return arena_printf(a, "%lld:" STR_FMT, (long long)n->episode, STR_ARG(seen));
}

static bool wants_diagnosis(struct arena *a, const struct world *w, const struct node *n, int rung,
		str *ret)
{
	str now, last = n->diagnosed;
	size_t colon = str_find_byte(last, ':');

	if (!w->policy->planner || !w->policy->diagnose || rung < RUNG_REPLAN || n->advice.n ||
			goal_held(w->policy, n->goal, NULL, w->state->at).n)
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
	struct rung_choice c = { .quiet = o ? 1 + !o->process_unknown + !o->tree_unknown : 0 };
	int rung = highest_taken(n);

	while (rung < RUNG_COUNT &&
			(n->rungs[rung] >= rung_cap(w->policy, (enum rung)rung) ||
					left_out(as, (enum rung)rung)))
		rung++;
	/* One that waits for a person already is not asked for its status first. */
	if (o)
		c.waiting_for = o->waiting_for;
	if (rung < RUNG_ESCALATE && o && o->waiting_for.n)
		rung = n->rungs[RUNG_ESCALATE] ? RUNG_COUNT : RUNG_ESCALATE;
	/* Whatever the planner answers decides how it goes on. */
	if (rung == RUNG_COUNT || (n->goal->effect && str_eq(n->goal->effect->node_id, n->id))) {
		c.nothing = true;
		return c;
	}
	c.diagnose = wants_diagnosis(a, w, n, rung, &c.diagnosis);
	if (advised(a, w->policy, n) >= 0)
		rung = advised(a, w->policy, n);
	/* The planner does one thing at a time for a goal. */
	c.nothing = n->goal->effect && (c.diagnose || rung == RUNG_REPLAN);
	c.rung = (enum rung)rung;
	c.due_at = due_at(w, as, o, c.rung, now);
	c.skip = !c.diagnose && rung_hindrance(w, as, c.rung, c.quiet) != NULL;
	c.why = str_from(c.skip ? rung_hindrance(w, as, c.rung, c.quiet) : ladder[rung].why);
	if (c.diagnose)
		c.why = STR("the planner is asked what would help");
	return c;
}
