#pragma once
/*
 * What the record of the detectors says about their thresholds: a table of observations, each with
 * what is likely wrong and which option to change. Pure. Private to core/report/report*.
 */
#include "base/ov.h"
#include "core/policy/oversight_policy.h"

struct tuning_facts {
	int64_t all, found[DETECTOR_COUNT];
	int64_t logged; /* answered by a line in the log alone */
	int64_t stopped,
			stopped_successful; /* paused or aborted; and accepted later all the same */
	int64_t returns;           /* iterations that left a tree that had been there before */
	int64_t burn_critical;     /* found when it was too late to warn */
	int64_t regressions_brief; /* over with the next iteration, or none at all */
};

/* An array of {"observation", "likely", "adjust", "option", "now", "command"}. */
value *tuning_hints(struct arena *a, const struct tuning_facts *f, const struct oversight *o);
