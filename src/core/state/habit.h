#pragma once
/*
 * What is usual for an agent: how long its runs are silent while they think, wait for a tool, start
 * or stand between turns, by model and by tool. Folded from silence.learned, which a run that ended
 * well leaves; kept in the state, bounded per agent. Once enough runs have shown it, the tick looks
 * at a run and asks it by what is usual for it, not by one duration for all.
 *
 * Learning moves the moment at which a run is asked, or a person is told. It never ends a
 * run sooner.
 */
#include "base/ov.h"
#include "core/event/event.h"
#include "core/model/silence.h"
#include "core/model/telemetry.h"
#include "core/policy/policy.h"
#include "core/state/state.h"

enum {
	HABIT_SAMPLES = 50,       /* fewer say nothing */
	HABIT_RUNS = 5,           /* nor do those of fewer runs */
	HABIT_PERMILLE = 995,     /* of the silences have ended by then */
	HABIT_HALVED_AT = 1000,   /* samples: what is old counts less and less */
	HABIT_ROWS = 64,          /* of an agent */
	HABIT_NEW_ROWS = 6,       /* that one run may add */
	HABIT_KEPT = 14 * OV_DAY, /* one that is known is kept for so long without being seen */
};

/* The habits of this agent; made when there are none yet, and never gone before the state is. */
struct habits *state_habits(struct state *s, str agent);
void habits_free(struct habits *h);
/* For core/fold/apply and the snapshot only. */
void habits_fold(struct state *s, const struct event *e);
void habits_take(struct state *s, struct habit *row);

/*
 * What this run's present silence is measured by, when it does nothing and when it is busy; NULL:
 * too little is known. o may be NULL.
 */
const struct habit *habit_silent(const struct assignment *as, const struct observation *o);
const struct habit *habit_busy(const struct assignment *as, const struct observation *o);
/* The silence after which a run is asked, and after which one that is busy opens an inbox entry. */
ov_time habit_idle(const struct policy *p, const struct assignment *as,
		const struct observation *o);
ov_time habit_mute(const struct policy *p, const struct assignment *as,
		const struct observation *o);
/* No run of this agent is asked sooner than this, whatever it does; what the configuration says. */
ov_time habit_least(const struct policy *p, const struct assignment *as);
ov_time idle_configured(const struct policy *p, const struct assignment *as);

/* "99.5 % of this agent's `pytest` calls answer within 4m" */
str habit_words(struct arena *a, const struct habit *h);
/*
 * [{"model", "activity", "tool", "samples", "runs", "within_ms", "text", "asked_after_ms"}]; the
 * last is absent while too little is known.
 */
value *habits_view(struct arena *a, const struct state *s, const struct policy *p, str agent);
