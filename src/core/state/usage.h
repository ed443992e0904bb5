#pragma once
/*
 * What was used up, by day, goal, agent and model: rows that are folded from goal.spent and kept in
 * the state. Their number is bounded; the oldest become one row per agent, so that the sum of all
 * stays the sum of what goals have spent. And the table that people are shown, with what runs under
 * way have used so far.
 */
#include "base/map.h"
#include "base/ov.h"
#include "core/event/event.h"
#include "core/state/state.h"
#include "data/value/value.h"

/* The day of a local moment, counted from 1970-01-01. */
int64_t usage_day(ov_time local);
/* "2026-11-15" */
str usage_day_text(struct arena *a, int64_t day);
/* Of what an event says that was spent: is it a run whose cost, or of which nothing, is known? */
struct usage_unknown {
	bool unpriced, untold; /* as in struct usage_row */
};
struct usage_unknown usage_unknown(const struct ev_goal_spent *d,
		const int64_t amounts[RESOURCE_COUNT]);
/* For core/fold/apply only: adds what the event says to its row and to its node. */
void usage_fold(struct state *s, const struct event *e, const int64_t amounts[RESOURCE_COUNT]);

#define USAGE_BYS(X)            \
	X(USAGE_GOAL, "goal")   \
	X(USAGE_AGENT, "agent") \
	X(USAGE_MODEL, "model") \
	X(USAGE_DAY, "day")     \
	X(USAGE_NODE, "node")
#define USAGE_ENUM(sym, name) sym,
enum usage_by { USAGE_BYS(USAGE_ENUM) USAGE_BY_COUNT };
#undef USAGE_ENUM
extern const struct status_table usage_bys;

struct usage_query {
	enum usage_by by;
	const struct goal *goal;        /* NULL: of all */
	int64_t since_day;              /* 0: all; not by node, of which only the sums are kept */
	const struct map *observations; /* as in struct telemetry */
	bool ended;                     /* nothing of what is under way */
	ov_time now, utc_offset;
};
