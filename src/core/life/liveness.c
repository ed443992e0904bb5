#include "core/life/liveness.h"

#include "base/arena.h"
#include "base/duration.h"
#include "core/state/habit.h"

/* Beyond `latest` it was seen by a clock that was wrong: taken for real it would never grow old. */
static void consider(struct liveness *l, ov_time at, enum life_sign sign, ov_time latest)
{
	if (at > l->activity_at && at <= latest) {
		l->activity_at = at;
		l->sign = sign;
	}
}

/*
 * The newest sign of life. One that lies a little in the future is now. When all of them lie far in
 * the future the clock was put back: nothing is known about the time since, so it begins now.
 */
static void newest_sign(struct liveness *l, const struct assignment *as,
		const struct observation *o, ov_time now, ov_time idle)
{
	ov_time latest = now + idle;

	consider(l, as->last_activity_at, as->activity, latest);
	consider(l, as->run ? as->run->started_at : 0, LIFE_SESSION, latest);
	/* While a person had its question before them, its silence was theirs. */
	consider(l, as->run ? as->run->asked_at : 0, LIFE_SESSION, latest);
	if (o) {
		consider(l, o->output_at, LIFE_STREAM, latest);
		/* What a process does to try again is no life. */
		if (!o->retrying || o->process_at < o->retrying_since)
			consider(l, o->process_at, LIFE_PROCESS, latest);
		consider(l, o->tree_at, LIFE_TREE, latest);
		if (o->compacting)
			consider(l, now, LIFE_COMPACTION, latest);
		if (o->tool_in_flight)
			consider(l, now, LIFE_TOOL, latest);
	}
	l->anew = l->activity_at == 0;
	if (l->anew)
		consider(l, now, LIFE_SESSION, latest);
	l->activity_at = MIN(l->activity_at, now);
}

static struct liveness until(struct liveness l, enum verdict verdict, ov_time check_at)
{
	l.verdict = verdict;
	l.check_at = check_at;
	return l;
}

/*
 * An agent that says nothing of itself: whether it thinks or has a tool at work is seen by its
 * processes alone, and what is learned of its silences is worth as much as that. So until it was
 * seen at work it is looked at each time its silence has doubled. Nobody waits for this: all of
 * them are looked at together.
 */
enum { PROBE_FIRST = 60 * OV_SECOND, PROBE_TOGETHER = 15 * OV_SECOND };

ov_time liveness_probe(const struct assignment *as, const struct observation *o, ov_time now)
{
	ov_time lasts = PROBE_FIRST, next;

	/* Of one that was asked already, nothing is learned that holds for others. */
	if (!o || (as->node && as->node->stall.open) || o->doing != ACTIVITY_UNSAID ||
			!o->output_at || o->process_at > o->output_at)
		return OV_TIME_MAX;
	if (o->looked_at > o->output_at && o->looked_at <= now)
		while (o->output_at + lasts <= o->looked_at)
			lasts *= 2;
	next = o->output_at + lasts;
	return next + (PROBE_TOGETHER - next % PROBE_TOGETHER) % PROBE_TOGETHER;
}

struct liveness liveness_judge(const struct policy *p, const struct assignment *as,
		const struct observation *o, ov_time now)
{
	ov_time idle = habit_idle(p, as, o), half, looked, probe;
	struct liveness l = { .due_at = OV_TIME_MAX };

	newest_sign(&l, as, o, now, idle);
	if (idle == 0)
		return until(l, VERDICT_ALIVE, OV_TIME_MAX);
	/* A due date that was set holds until something newer is seen; then it has moved. */
	l.due_at = as->expected_at && l.activity_at <= as->last_activity_at && !habit_silent(as, o)
			? as->expected_at
			: l.activity_at + idle;
	/* One that was set with a longer idle_after, before the configuration was changed. */
	if (p->idle_set)
		l.due_at = MIN(l.due_at, l.activity_at + idle);
	half = l.activity_at + (l.due_at - l.activity_at) / 2;
	looked = o && o->looked_at <= now ? o->looked_at : 0;
	probe = MIN(liveness_probe(as, o, now), l.due_at);
	if (now < half)
		return now < probe ? until(l, VERDICT_ALIVE, MIN(half, probe))
				   : until(l, VERDICT_LOOK, OV_TIME_MAX);
	if (o && looked < half)
		return until(l, VERDICT_LOOK, OV_TIME_MAX);
	if (now < l.due_at)
		return now < probe ? until(l, VERDICT_ALIVE, probe)
				   : until(l, VERDICT_LOOK, OV_TIME_MAX);
	if (!o)
		return until(l, VERDICT_UNKNOWN, now + idle);
	/* A look tells only what happened since the one before: right after it there is nothing. */
	if (o->process_unknown && o->tree_unknown)
		return now >= looked + idle / 2 ? until(l, VERDICT_LOOK, OV_TIME_MAX)
						: until(l, VERDICT_UNKNOWN, looked + idle / 2);
	if (looked < l.due_at)
		return until(l, VERDICT_LOOK, OV_TIME_MAX);
	l.quiet = 1 + !o->process_unknown + !o->tree_unknown;
	return until(l, VERDICT_SILENT, OV_TIME_MAX);
}

ov_time sign_seen_at(const struct observation *o)
{
	/* What a process does to try again is no life. */
	bool retries = o->retrying && o->process_at >= o->retrying_since;

	return MAX(MAX(o->output_at, o->tree_at), retries ? 0 : o->process_at);
}

/* Whoever writes the same so often, over some time, shows nothing of its work. */
enum { MUTE_REPEATS = 20 };

bool says_the_same(const struct observation *o)
{
	return o && o->same_output && o->same_calls >= MUTE_REPEATS;
}

/* One that repeats itself does so until it has missed two of its turns. */
bool lives_unheard(const struct observation *o, ov_time now)
{
	ov_time pace;

	if (!o)
		return false;
	if (o->tool_in_flight || o->compacting)
		return true;
	pace = says_the_same(o) ? MAX((o->same_at - o->same_since) / o->same_calls, OV_SECOND) : 0;
	return pace && now <= o->same_at + 2 * pace;
}

static ov_time heard_at(const struct assignment *as, const struct observation *o, ov_time now)
{
	bool same = says_the_same(o);
	ov_time said = same ? o->same_since : o->output_at;
	ov_time at = MAX(as->run->started_at, MAX(said, o->tree_at));

	at = MAX(at, MAX(as->run->patience_from, as->run->awake_at));
	/* Until a person answered it, its silence was theirs. */
	at = MAX(at, as->run->asked_at);
	if (life_is_progress(as->activity) || (as->activity == LIFE_STREAM && !same))
		at = MAX(at, as->last_activity_at);
	return MIN(at, now);
}

struct voice voice_judge(const struct policy *p, const struct assignment *as,
		const struct observation *o, ov_time now)
{
	struct voice v = { .check_at = OV_TIME_MAX, .due_at = OV_TIME_MAX };
	ov_time half, due, looked, mute = habit_mute(p, as, o);

	if (!o || !p->mute_after)
		return v;
	v.heard_at = heard_at(as, o, now);
	/* Told once, and nothing was heard since. */
	if (v.heard_at <= as->run->mute_at && as->run->mute_at <= now)
		return v;
	due = v.heard_at + mute;
	half = v.heard_at + mute / 2;
	looked = o->looked_at <= now ? o->looked_at : 0;
	/* What cannot be read is not mute: it is looked at again, but not for ever. */
	if (looked >= due && o->tree_unknown && now < v.heard_at + 2 * mute)
		half = due = looked + mute / 2;
	v.due_at = due;
	v.look = now >= half && looked < (now < due ? half : due);
	v.mute = now >= due && !v.look;
	if (!v.look && !v.mute)
		v.check_at = now < half ? half : due;
	return v;
}

void observation_clock_moved(struct observation *o, ov_time by)
{
	ov_time *const moments[] = { &o->known_since, &o->output_at, &o->looked_at, &o->process_at,
		&o->tree_at, &o->tool_since, &o->waiting_since, &o->retrying_since, &o->same_since,
		&o->same_at };

	for (size_t i = 0; i < ARRAY_LEN(moments); i++)
		if (*moments[i])
			*moments[i] = MAX(*moments[i] + by, (ov_time)1);
}

bool life_is_progress(enum life_sign sign)
{
	return sign == LIFE_TREE || sign == LIFE_PROGRESS;
}

static value *signal_text(struct arena *a, const char *name, bool unknown, ov_time at, ov_time now)
{
	if (unknown)
		return value_strf(a, "%s: could not be read", name);
	if (at == 0)
		return value_strf(a, "%s: nothing seen", name);
	return value_strf(a, "%s: last seen " STR_FMT " ago", name,
			STR_ARG(duration_format_short(a, MAX(now - at, (ov_time)0))));
}

static value *since_text(struct arena *a, const char *what, str of, ov_time since, ov_time now)
{
	return value_strf(a, "%s for " STR_FMT "%s" STR_FMT, what,
			STR_ARG(duration_format_short(a, MAX(now - since, (ov_time)0))),
			of.n ? ": " : "", STR_ARG(of));
}

value *liveness_evidence(struct arena *a, const struct observation *o, const struct liveness *l,
		ov_time now)
{
	value *list = value_array(a);

	value_push(a, list,
			value_strf(a, "last sign of life: %s, " STR_FMT " ago",
					status_name(&life_signs, (int)l->sign),
					STR_ARG(duration_format_short(a,
							MAX(now - l->activity_at, (ov_time)0)))));
	if (!o)
		return list;
	value_push(a, list, signal_text(a, "output", false, o->output_at, now));
	value_push(a, list, signal_text(a, "process", o->process_unknown, o->process_at, now));
	value_push(a, list, signal_text(a, "tree", o->tree_unknown, o->tree_at, now));
	if (o->retrying)
		value_push(a, list, since_text(a, "retrying", o->trouble, o->retrying_since, now));
	if (o->tool_in_flight && o->tool.n)
		value_push(a, list, since_text(a, "tool", o->tool, o->tool_since, now));
	return list;
}
