#pragma once
/*
 * What the policy allows: how much a goal may use up, when people are left in peace, and which
 * agents may be given whose work. Pure questions about a policy; nothing is kept here.
 */
#include "base/ov.h"
#include "core/model/model.h"
#include "core/model/telemetry.h"
#include "core/policy/policy.h"
#include "core/state/state.h"

/* What the goal is expected to take: its own estimate, else the configured one (runs: per leaf). */
int64_t budget_estimate(const struct policy *p, const struct goal *g, enum resource resource);
/*
 * The goal's own budget, else the configured one, else three times the estimate; -1: unlimited. Of
 * tasks of the pool it is auto.budget, which is of any 24 hours and of all such goals together.
 */
int64_t budget_limit(const struct policy *p, const struct goal *g, enum resource resource);
/* What counts of what was spent: all, or, for tasks of the pool, what was in the last 24 hours. */
int64_t budget_spent(const struct goal *g, enum resource resource, ov_time now);
bool budget_is_shared(const struct goal *a, const struct goal *b);

/*
 * The tick was asked to judge when a run of the goal had used so much: the use of it at which it
 * has to be asked again, because the level of the budget may change there. INT64_MAX: never. The
 * marks themselves, and steps of a 64th of the budget, since other runs of the goal use it
 * up meanwhile.
 */
int64_t budget_next_mark(const struct policy *p, const struct goal *g, enum resource resource,
		int64_t used_by_run, ov_time now);

/*
 * What the runs of a goal that are under way have used so far. Whether a run counts as one of the
 * goal's runs is known at its end; its time, tokens and money are used up as it goes.
 */
struct budget_live {
	int64_t used[RESOURCE_COUNT];
	size_t runs;
};

/* How long it was held so far: that is nobody's time. */
ov_time run_held_ms(const struct run *r, ov_time now);
/* Adds a run unless it has ended. o: what was seen of it; NULL: nothing. */
void budget_add_live(struct budget_live *l, const struct run *r, const struct observation *o,
		ov_time now);
/* Of all runs of the goal; observations as in struct telemetry. */
struct budget_live budget_live_of(const struct state *s, const struct goal *g,
		const struct map *observations, ov_time now);

struct budget_verdict {
	/* of the resource that is worst off: warned at 80 %, spent at 100 % */
	enum budget_level level;
	enum resource resource;
	int64_t used, limit; /* limit -1: nothing is limited */
};

/* live: NULL when only what has ended counts. */
struct budget_verdict budget_judge(const struct policy *p, const struct goal *g,
		const struct budget_live *live, ov_time now);
/* Must the runs under way be stopped? Only for what they use up as they go. */
bool budget_stops(const struct policy *p, const struct goal *g, const struct budget_live *live,
		ov_time now);
/*
 * The goal whose limits count for all tasks of the pool: the newest one; NULL: there was none yet.
 */
const struct goal *budget_newest(const struct state *s);
/* Whether more is allowed now than when the budget of the goal was last spent. */
bool budget_was_raised(const struct policy *p, const struct state *s, const struct goal *g);
/* When the level is fine again if nothing more is used; now: it is. Of tasks of the pool. */
ov_time budget_fine_at(const struct policy *p, const struct goal *g, ov_time now);
/* When there is room again because hours are no longer among the last 24; 0: it is not so spent. */
ov_time budget_room_at(const struct policy *p, const struct goal *g, ov_time now);
/*
 * The task's own budget, where it has one (tasks of the pool): spent, and by what, or fine. live:
 * what its run has used so far; NULL: it has none.
 */
struct budget_verdict task_judge(const struct policy *p, const struct node *n,
		const struct budget_live *live);
/* When time alone changes the level, if the runs go on; OV_TIME_MAX: it does not. */
ov_time budget_wake_at(const struct policy *p, const struct goal *g, const struct budget_live *live,
		ov_time now);
/* "13h", "$2.50", "400" */
str budget_amount(struct arena *a, enum resource resource, int64_t n);
/* "13h of 24h of run time", "4 runs, unlimited", for people. */
str budget_text(struct arena *a, enum resource resource, int64_t used, int64_t limit);

/* The same of a sum that lacks what some runs used: "at least $1.20 of $60.00", "? of $60.00". */
str budget_least_text(struct arena *a, enum resource resource, int64_t used, int64_t limit);
/*
 * The same of a goal's budget; of the last 24 h where it is of these, and when there is room again.
 */
str budget_spent_text(struct arena *a, const struct policy *p, const struct goal *g,
		const struct budget_verdict *v, ov_time now);
/* The open entry that says that it is spent; goals that share a budget have one. NULL: none. */
const struct escalation *budget_entry(const struct state *s, const struct goal *g);

/* The same as an option of `goal update --budget`: "wall=24h". */
str budget_option(struct arena *a, enum resource resource, int64_t amount);
/*
 * How many runs may still be begun. Of tasks of the pool: those that the budget has left, less
 * those under way, which count at their ends. INT64_MAX: nothing limits them, or not before
 * they have ended.
 */
int64_t budget_runs_free(const struct policy *p, const struct goal *g,
		const struct budget_live *live, ov_time now);
/*
 * "1 of 200 runs is left and it is under way", where that is why nothing is started; empty when a
 * run may be begun, and when the budget is spent.
 */
str budget_taken_text(struct arena *a, const struct policy *p, const struct goal *g,
		const struct budget_live *live, ov_time now);
/* Why nothing new may be started for the goal; empty when it may. live as in budget_judge. */
str goal_held(const struct policy *p, const struct goal *g, const struct budget_live *live,
		ov_time now);
#define HELD_RUNS_TAKEN "the runs that the budget has left are under way"
/* The same for people, with figures. */
str goal_held_text(struct arena *a, const struct policy *p, const struct goal *g,
		const struct budget_live *live, ov_time now);
