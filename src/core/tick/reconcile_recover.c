/*
 * Recovery: which runs have fallen silent, and what is done about it. A stall is an episode of its
 * node; its rungs are climbed in order, each at most so often, with growing waits between them, and
 * a rung that cannot help is skipped, with the reason. Nothing is done to a run that was not looked
 * at just before, and nothing at all when so many fall silent at once that the fault must be ours.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "core/capacity/budget.h"
#include "core/life/ladder.h"
#include "core/life/liveness.h"
#include "core/state/habit.h"
#include "core/tick/reconcile_impl.h"

enum { OUTAGE_LEAST = 5 };

static bool is_running(const struct assignment *as)
{
	return as->stage == STAGE_RUNNING && as->node && as->run &&
			as->run->status == RUN_RUNNING &&
			(as->status == AS_ACTIVE || as->status == AS_DISPATCHED ||
					as->status == AS_STALLED);
}

static struct decision about(enum decision_kind kind, const struct assignment *as)
{
	return (struct decision){ .kind = kind,
		.goal = as->node->goal,
		.node = as->node,
		.assignment = as };
}

static void look(struct tick *t, const struct assignment *as)
{
	vec_push(&t->looks, as->run);
}

/* Runs that have just fallen silent, while they are counted. */
struct silence {
	const struct assignment *as;
	struct liveness l;
};

struct watch {
	VEC(struct silence) silent;
	VEC(const struct assignment *) ladder; /* those that are on it */
	size_t live;
	size_t stalled; /* that fell silent shortly before */
	size_t hushed;  /* as silent as is usual for them, and longer than anybody should be */
	size_t unsure;  /* are overdue, and nobody has looked yet or could see anything */
	bool outage;
};

static void mark_activity(struct tick *t, const struct assignment *as, const struct liveness *l,
		enum decision_kind kind)
{
	struct decision d = about(kind, as);

	d.at = l->activity_at;
	d.sign = l->sign;
	d.due_at = l->due_at;
	d.why = arena_printf(t->a, "sign of life: %s", status_name(&life_signs, (int)l->sign));
	tick_add(t, d);
}

/* It said that it is done, and has been quiet since: it is ended, and what it made is judged. */
static bool is_finished(struct tick *t, const struct assignment *as, const struct liveness *l)
{
	const struct node *n = as->node;
	ov_time quiet_since = MAX(l->activity_at, n->report.at), at;

	/* Once told to stop, it is ending. */
	if (as->stopping || !str_is(n->report.status, "done") || n->report.at < as->run->created_at)
		return false;
	at = quiet_since + t->w->policy->done_grace;
	if (t->now < at) {
		tick_wake(t, at);
		return false;
	}
	return true;
}

/*
 * A run beyond its maximum that still works is nobody's to kill: a person is told, and told again
 * when it goes on for as long once more after the answer.
 */
static void check_maximum(struct tick *t, const struct assignment *as)
{
	/* Neither a sleep nor a person's time to answer it is the run's. */
	ov_time from = MAX(as->run->started_at + as->run->slept_ms, as->run->asked_at);
	ov_time at = MAX(from, as->run->patience_from) + t->w->policy->max_run;
	struct decision d = about(DEC_OVERDUE, as);

	if (!t->w->policy->max_run || as->run->overdue)
		return;
	if (t->now < at) {
		tick_wake(t, at);
		return;
	}
	/* One question about a run is enough, and one about all of them. */
	if (t->w->state->outage_since || state_asked(t->w->state, ASK_MUTE, as->id) ||
			state_asked(t->w->state, ASK_STALLED, as->id) ||
			state_asked(t->w->state, ASK_PERMISSION, as->id))
		return;
	d.why = arena_printf(t->a, "the run takes longer than " STR_FMT " (supervisor.max_run)",
			STR_ARG(duration_format_short(t->a, t->w->policy->max_run)));
	tick_add(t, d);
}

/* "; 99.5 % of ...", where that is what its silence was measured by. */
static str usual_words(const struct tick *t, const struct habit *h)
{
	return h ? arena_printf(t->a, "; " STR_FMT, STR_ARG(habit_words(t->a, h))) : STR("");
}

/* The agent's own words, so that they cannot be taken for ours: within quotes, in one line. */
static str in_quotes(struct arena *a, str words)
{
	char *p = arena_array(a, char, words.n + 1);

	for (size_t i = 0; i < words.n; i++)
		p[i] = words.p[i] == '"'                                               ? '\''
				: (unsigned char)words.p[i] < ' ' || words.p[i] == 127 ? ' '
										       : words.p[i];
	return arena_printf(a, "\"" STR_FMT "\"", (int)words.n, p);
}

static str mute_words(const struct tick *t, const struct assignment *as,
		const struct observation *o, enum life_sign sign, ov_time silent)
{
	str tool = o && o->tool_in_flight ? o->tool : STR("");
	str lasted = duration_format_short(t->a, silent);

	if (says_the_same(o))
		return arena_printf(t->a,
				"has written the same %lld times and changed no file for " STR_FMT
				": " STR_FMT,
				(long long)o->same_calls, STR_ARG(lasted),
				STR_ARG(in_quotes(t->a, o->same_call)));
	return arena_printf(t->a,
			"is busy (%s%s" STR_FMT
			"), but has written nothing and %s for " STR_FMT STR_FMT,
			status_name(&life_signs, (int)sign),
			!tool.n                             ? ""
					: sign == LIFE_TOOL ? " "
							    : ", tool ",
			STR_ARG(tool),
			o && o->tree_unknown ? "its files could not be read" : "changed no file",
			STR_ARG(lasted), STR_ARG(usual_words(t, habit_busy(as, o))));
}

/*
 * What a person was told of is over. Whoever repeats itself shows nothing; and a daemon that has
 * just begun does not know yet that it does.
 */
static bool shows_again(const struct tick *t, const struct assignment *as,
		const struct observation *o, const struct voice *v)
{
	return as->run->mute_at && v->heard_at > as->run->mute_at && !says_the_same(o) &&
			t->now >= o->known_since + idle_configured(t->w->policy, as);
}

/* Nobody's to kill either, and nobody but a person can tell whether it works. */
static void check_voice(struct tick *t, const struct assignment *as, const struct observation *o,
		enum life_sign sign)
{
	struct voice v = voice_judge(t->w->policy, as, o, t->now);
	struct decision d = about(DEC_MUTE, as), heard = about(DEC_SETTLED, as);
	ov_time told_at;

	if (shows_again(t, as, o, &v))
		heard.escalation = state_asked(t->w->state, ASK_MUTE, as->id);
	heard.why = STR("it shows what it does again");
	if (heard.escalation)
		tick_add(t, heard);
	if (v.look)
		look(t, as);
	tick_wake(t, v.check_at);
	if (!v.mute)
		return;
	/* When the clock was set back behind the question, it looks as if nobody had been asked. */
	told_at = mute_told_at(t->w, as, o, t->now);
	if (told_at == OV_TIME_MAX)
		return;
	if (t->now < told_at) {
		tick_wake(t, told_at);
		return;
	}
	d.why = arena_printf(t->a,
			"run " STR_FMT " " STR_FMT
			". It is left alone; if it hangs: overseer run stop " STR_FMT
			" --reason TEXT",
			STR_ARG(as->run->id),
			STR_ARG(mute_words(t, as, o, sign, t->now - v.heard_at)),
			STR_ARG(as->run->id));
	tick_add(t, d);
}

static void recover_ask(struct tick *t, const struct assignment *as, const struct observation *o)
{
	struct decision d = about(DEC_ASK, as);

	d.why = arena_printf(t->a,
			"agent " STR_FMT " waits for a person; it asks for " STR_FMT
			". Its run " STR_FMT " is kept. Next: overseer worker attach " STR_FMT,
			STR_ARG(as->agent), STR_ARG(in_quotes(t->a, o->waiting_for)),
			STR_ARG(as->run->id), STR_ARG(as->worker));
	tick_add(t, d);
}

/*
 * A run that waits for a person is left as it is while they have its question before them, and
 * before that. Once they have closed it, silence decides again: what hangs after an answer hangs.
 */
static bool waits_for_person(struct tick *t, const struct assignment *as,
		const struct observation *o)
{
	const struct escalation *open = as->run->asked_at
			? state_asked(t->w->state, ASK_PERMISSION, as->id)
			: NULL;
	struct decision over = about(DEC_SETTLED, as);
	ov_time at;

	/*
	 * A daemon that has just begun has yet to read what the agent said: only newer words
	 * end it.
	 */
	if (open && o && !o->waiting_for.n && o->output_at > MAX(open->opened_at, o->known_since)) {
		over.escalation = open;
		over.why = STR("the agent goes on");
		tick_add(t, over);
	}
	at = person_asked_at(t->w, as, o);
	if (!at || at == OV_TIME_MAX)
		return at != 0;
	if (t->now < at)
		tick_wake(t, at);
	else
		recover_ask(t, as, o);
	return true;
}

/* Told to stop because its node was settled without it, or because a new run shall follow. */
static bool is_stopping(const struct assignment *as)
{
	return as->stage == STAGE_RUNNING && as->run && as->run->status == RUN_RUNNING &&
			(assignment_is_final(as) || as->status == AS_BLOCKED ||
					as->status == AS_QUEUED);
}

/* One that cannot be ended holds its worker, and its node waits behind it: a person is told. */
static void check_stopping(struct tick *t, const struct assignment *as)
{
	ov_time at = as->run->patience_from ? as->run->patience_from + t->w->policy->max_run
					    : as->updated_at + t->w->policy->idle_after;
	struct decision d = about(DEC_OVERDUE, as);

	if (!t->w->policy->idle_after || as->run->overdue)
		return;
	if (t->now < at) {
		tick_wake(t, at);
		return;
	}
	d.why = arena_printf(t->a,
			"run " STR_FMT " was told to stop " STR_FMT
			" ago and does not end; its worker waits for it",
			STR_ARG(as->run->id),
			STR_ARG(duration_format_short(t->a, t->now - as->updated_at)));
	tick_add(t, d);
}

/* The mark in the log moves when the due date that it holds has come, not with every byte. */
static bool mark_is_due(struct tick *t, const struct assignment *as, const struct liveness *l)
{
	ov_time at = MAX(as->expected_at, as->run->started_at + t->w->policy->idle_after);

	if (l->anew)
		return true;
	if (l->activity_at <= MAX(as->last_activity_at, as->run->started_at))
		return false;
	if (t->now < at)
		tick_wake(t, at);
	return t->now >= at;
}

/* What the log alone says is enough for now: most of a big fleet, most of the time. */
static bool is_fresh(struct tick *t, const struct assignment *as, const struct observation *o)
{
	ov_time idle = habit_least(t->w->policy, as),
		seen = MAX(as->last_activity_at, as->run->started_at),
		half = MIN(seen + idle / 2, liveness_probe(as, o, t->now));

	/* Nothing else happens to it: it is told when that was foretold. */
	if (lives_unheard(o, t->now))
		half = MIN(half, mute_told_at(t->w, as, o, t->now));
	if (as->status == AS_STALLED || as->node->report.at >= as->run->created_at ||
			t->now < seen || t->now >= half)
		return false;
	tick_wake(t, half);
	return true;
}

/*
 * One tick sees only those whose silence ends in its moment. They belong together when it began
 * within the time after which a run is stalled, seen from now or from the outage that is known.
 */
static bool fell_silent_lately(const struct tick *t, const struct assignment *as)
{
	const struct state *s = t->w->state;
	ov_time since = (s->outage_since ? s->outage_since : t->now) - t->w->policy->idle_after;

	return as->updated_at > MAX(since, s->outage_ignored_until);
}

/* It moved since it was called stalled; or so shortly before that nobody would have. */
static bool lives_after_all(const struct tick *t, const struct assignment *as,
		const struct liveness *l)
{
	return l->activity_at > as->updated_at ||
			(!l->anew && l->activity_at > as->last_activity_at && l->due_at > t->now);
}

/*
 * By what is usual for its agent it need not be asked yet; but when all the others are silent as
 * well, it counts among them, lest they be ended while it is waited for.
 */
static bool is_hushed(struct tick *t, const struct assignment *as, const struct observation *o,
		const struct liveness *l)
{
	ov_time at = l->activity_at + idle_configured(t->w->policy, as);

	if (l->verdict != VERDICT_ALIVE || l->due_at <= at || !habit_silent(as, o))
		return false;
	if (t->now < at)
		tick_wake(t, at);
	return t->now >= at;
}

static void watch_run(struct tick *t, struct watch *w, const struct assignment *as,
		const struct observation *o)
{
	bool stalled = as->status == AS_STALLED;
	struct liveness l;
	struct decision d;

	w->live++;
	check_maximum(t, as);
	if ((!stalled && waits_for_person(t, as, o)) || is_fresh(t, as, o))
		return;
	l = liveness_judge(t->w->policy, as, o, t->now);
	if (is_finished(t, as, &l)) {
		d = about(DEC_FINISH, as);
		d.why = STR("it reported that it is done, and has been quiet since");
		tick_add(t, d);
		return;
	}
	if (stalled && lives_after_all(t, as, &l)) {
		mark_activity(t, as, &l, DEC_REVIVE);
		return;
	}
	if (stalled) {
		w->stalled += fell_silent_lately(t, as);
		return; /* the ladder's business */
	}
	w->unsure += l.verdict != VERDICT_SILENT && t->now >= l.due_at;
	if (l.verdict == VERDICT_LOOK) {
		look(t, as);
		return;
	}
	if (l.verdict == VERDICT_SILENT) {
		vec_push(&w->silent, ((struct silence){ as, l }));
		return;
	}
	w->hushed += is_hushed(t, as, o, &l);
	if (mark_is_due(t, as, &l))
		mark_activity(t, as, &l, DEC_ACTIVITY);
	tick_wake(t, l.check_at);
	if (l.verdict == VERDICT_ALIVE && l.due_at != OV_TIME_MAX)
		check_voice(t, as, o, l.sign);
}

static void stall(struct tick *t, const struct silence *s)
{
	const struct observation *o = tick_observation(t, s->as->run);
	struct decision d = about(DEC_STALL, s->as);

	d.at = s->l.activity_at;
	d.sign = s->l.sign;
	d.evidence = liveness_evidence(t->a, o, &s->l, t->now);
	d.why = o->waiting_for.n ? arena_printf(t->a, "it waits for a person: " STR_FMT,
						   STR_ARG(o->waiting_for))
				 : arena_printf(t->a, "no sign of life for " STR_FMT STR_FMT,
						   STR_ARG(duration_format_short(t->a,
								   t->now - s->l.activity_at)),
						   STR_ARG(usual_words(t, habit_silent(s->as, o))));
	tick_add(t, d);
}

/*
 * More than half of at least five at once: that is an outage of ours, and none of them is touched.
 * It is not over because a new daemon has yet to look at them: only signs of life end it.
 */
static bool is_outage(const struct tick *t, const struct watch *w)
{
	size_t fresh = w->silent.n + w->hushed + (t->w->state->outage_since ? w->unsure : 0);
	size_t silent = fresh + w->stalled;

	return fresh && silent >= OUTAGE_LEAST && silent * 2 > w->live &&
			t->now >= t->w->state->outage_ignored_until;
}

static void judge_silence(struct tick *t, struct watch *w)
{
	bool outage = w->outage = is_outage(t, w), known = t->w->state->outage_since != 0;

	if (outage && !known)
		tick_add(t,
				(struct decision){ .kind = DEC_OUTAGE,
						.silent = w->silent.n + w->hushed + w->stalled,
						.live = w->live,
						.why = STR("so many at once cannot all be "
							   "dead") });
	if (!outage && known)
		tick_add(t,
				(struct decision){ .kind = DEC_OUTAGE_OVER,
						.why = STR("not so many are silent any more") });
	if (outage) {
		tick_wake(t, t->now + t->w->policy->idle_after);
		return;
	}
	for (size_t i = 0; i < w->silent.n && !tick_full(t); i++)
		stall(t, &w->silent.p[i]);
}

static bool asks_planner(enum decision_kind kind, enum rung rung, bool skip)
{
	return kind == DEC_DIAGNOSE || (kind == DEC_RUNG && rung == RUNG_REPLAN && !skip);
}

/* The planner does one thing at a time for a goal, and this tick has something for it. */
static bool planner_is_taken(const struct tick *t, const struct goal *g)
{
	for (size_t i = t->out.n; i-- > 0;)
		if (t->out.p[i].goal == g &&
				asks_planner(t->out.p[i].kind, t->out.p[i].rung, t->out.p[i].skip))
			return true;
	return false;
}

static void take_rung(struct tick *t, const struct assignment *as, const struct rung_choice *c)
{
	struct decision d = about(c->diagnose ? DEC_DIAGNOSE : DEC_RUNG, as);

	d.rung = c->rung;
	d.diagnosis = c->diagnosis;
	d.skip = c->skip;
	d.quiet = c->quiet;
	d.waiting_for = c->waiting_for;
	d.why = c->why;
	if (!asks_planner(d.kind, d.rung, d.skip) || !planner_is_taken(t, d.goal))
		tick_add(t, d);
}

/*
 * A run is ended only on the word of two signals. When they cannot be read, or there is nothing yet
 * to compare them with, another look may tell; for a while that is worth waiting for, and a daemon
 * that has just begun has its own while. Whoever is not in its hands yet cannot be looked at at
 * all. A person for whom the run waits is asked at once.
 */
static bool looks_again(struct tick *t, const struct assignment *as, const struct observation *o,
		const struct rung_choice *c)
{
	ov_time idle = as->idle_after ? as->idle_after : t->w->policy->idle_after;
	ov_time last = MAX(c->due_at, o ? o->known_since : 0) + idle, at = c->due_at;

	if (is_running(as) && !o) {
		tick_wake(t, t->now + idle);
		return true;
	}
	if (!o || t->now >= last || !rung_ends_run(t->w, as, c->rung) || c->quiet >= 2 ||
			(c->rung == RUNG_ESCALATE && c->waiting_for.n))
		return false;
	if (o->looked_at >= c->due_at)
		at = MIN(o->looked_at + idle / 2, last);
	if (t->now >= at)
		look(t, as);
	else
		tick_wake(t, at);
	return true;
}

/* It was found at work, or is ended because it was done: the rungs wait for the next silence. */
static bool is_moving(struct tick *t, const struct assignment *as, const struct observation *o)
{
	struct liveness l = liveness_judge(t->w->policy, as, o, t->now);

	return (o && lives_after_all(t, as, &l)) || is_finished(t, as, &l);
}

/* An old look says nothing: the goal may have been paused since, or the clock put back. */
static bool looked_since(const struct tick *t, const struct assignment *as,
		const struct observation *o, ov_time due_at)
{
	ov_time idle = as->idle_after ? as->idle_after : t->w->policy->idle_after;

	return o->looked_at <= t->now && o->looked_at >= MAX(due_at, t->now - idle / 2);
}

static void climb(struct tick *t, const struct assignment *as)
{
	const struct observation *o = is_running(as) ? tick_observation(t, as->run) : NULL;
	struct rung_choice c;

	if (as->effect || as->node->goal->status != GOAL_ACTIVE)
		return;
	if (is_running(as) && is_moving(t, as, o))
		return;
	c = rung_next(t->a, t->w, as, o, t->now);
	if (c.nothing || looks_again(t, as, o, &c))
		return;
	if (!c.skip && t->now < c.due_at) {
		tick_wake(t, c.due_at);
		return;
	}
	/*
	 * Looked at since the wait before this rung was over, unless there is nothing to look at.
	 */
	if (!c.skip && o && !looked_since(t, as, o, c.due_at)) {
		look(t, as);
		return;
	}
	take_rung(t, as, &c);
}

static bool on_ladder(const struct assignment *as)
{
	return as->status == AS_STALLED && as->node && as->node->stall.open &&
			(as->stage == STAGE_NONE || as->stage == STAGE_RUNNING);
}

static void climb_all(struct tick *t, const struct watch *w)
{
	if (w->outage || t->w->state->outage_since)
		return;
	for (size_t i = 0; i < w->ladder.n && !tick_full(t); i++)
		climb(t, w->ladder.p[i]);
}

/* What is stopped for another reason is nobody's to judge, but it is as silent as it was. */
static void count_stopped(const struct tick *t, struct watch *w, const struct assignment *as)
{
	w->live++;
	w->stalled += as->status == AS_STALLED && fell_silent_lately(t, as);
}

/* One pass over all: in a big fleet, going from one to the next is what costs. */
void reconcile_runs(struct tick *t)
{
	struct watch w = { 0 };
	bool full = false;
	size_t i = 0;

	list_each (it, &t->w->state->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);
		const struct observation *o = t->seen.p[i++];

		if (tick_stops(t, as) || tick_task_over(t, as)) {
			count_stopped(t, &w, as);
			continue;
		}
		if (on_ladder(as))
			vec_push(&w.ladder, as);
		if (is_stopping(as) && as->node && !as->effect && !tick_full(t))
			check_stopping(t, as);
		/* One that is held says nothing, and takes no time. */
		if (!is_running(as) || as->effect || as->run->frozen)
			continue;
		full = tick_full(t);
		if (full)
			break; /* and nobody climbs in this tick either */
		watch_run(t, &w, as, o);
	}
	/* Who has not looked at all of them cannot say how many are silent. */
	if (!full)
		judge_silence(t, &w);
	climb_all(t, &w);
	vec_done(&w.silent);
	vec_done(&w.ladder);
}
