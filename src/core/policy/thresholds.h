#pragma once
/*
 * The one table of what oversight goes by: its names, units, ranges, and the values of the presets.
 * The options of [oversight] and everything that reads or shows thresholds are made from it.
 * Private to core.
 *
 * X(group, key, type, member of struct oversight, least, most, default, strict, relaxed, ci, help)
 *
 * Documents write the names in camelCase ("sameErrorCount"). MILLI is thousandths, CENTI
 * hundredths: people write both with a decimal point.
 */
#include "core/model/limits.h"
#include "core/policy/oversight_policy.h"

#define MOST LIMIT_ITERATIONS /* no more iterations are kept */
#define LEVEL_OF(type, severity) levels[DETECT_##type][SEVERITY_##severity]
#define ALL(level) LEVEL_##level, LEVEL_##level, LEVEL_##level, LEVEL_##level
#define CI(level, ci) LEVEL_##level, LEVEL_##level, LEVEL_##level, LEVEL_##ci

#define THRESHOLDS(X)                                                                              \
	X("stuck", "same_error_count", COUNT, t.same_error_count, 2, MOST, 3, 2, 5, 3,             \
			"So often the same error, without progress, is stuck: high.")              \
	X("stuck", "critical_error_count", COUNT, t.critical_error_count, 2, MOST, 5, 5, 8, 5,     \
			"And so often: critical.")                                                 \
	X("stuck", "no_progress_iterations", COUNT, t.no_progress_iterations, 2, MOST, 5, 3, 8, 3, \
			"The newest iterations in which they are counted.")                        \
	X("stuck", "min_gain", CENTI, t.min_gain_centi, 0, 10000, 200, 200, 200, 200,              \
			"A mean gain below this, in percentage points of completion per "          \
			"iteration, is no progress.")                                              \
	X("stuck", "same_call_count", COUNT, t.same_call_count, 0, 1000, 20, 12, 40, 20,           \
			"So many equal calls of a tool in a row, with equal answers, within one "  \
			"run that goes on are stuck: high; critical when the run after it does "   \
			"the same. 0: never; fewer than 3 count as 3.")                            \
	X("stuck", "same_output_seconds", COUNT, t.same_output_seconds, 0, 86400, 900, 450, 1800,  \
			900,                                                                       \
			"Of an agent that speaks no format: as many equal blocks of output, for "  \
			"at least this time and with no file changed, are stuck. 0 disables. "     \
			"Equal calls that come 20 s or more apart have to last as long.")          \
	X("oscillation", "undo_redo_cycles", COUNT, t.undo_redo_cycles, 1, MOST, 2, 2, 2, 2,       \
			"So often back at what was there before is oscillation.")                  \
	X("oscillation", "file_churn_threshold", MILLI, t.file_churn_milli, 1, 1000, 800, 800,     \
			800, 800,                                                                  \
			"Where trees are not known: the share of the files of two iterations "     \
			"before that come again, and not in between.")                             \
	X("deviation", "objective_similarity", MILLI, t.objective_similarity_milli, 0, 1000, 500,  \
			500, 300, 500,                                                             \
			"An iteration whose learnings share less of their words with the "         \
			"objective deviates from it.")                                             \
	X("deviation", "scope_creep_ratio", MILLI, t.scope_creep_milli, 1, 1000000, 1500, 1500,    \
			1500, 1500, "Files touched outside of the scope, per file inside of it.")  \
	X("resource", "iteration_multiplier", MILLI, t.iteration_milli, 1, 1000000, 2000, 1500,    \
			3000, 2000, "So many times the estimated iterations are burn: high.")      \
	X("resource", "cost_multiplier", MILLI, t.cost_milli, 1, 1000000, 2000, 1500, 3000, 2000,  \
			"The same of cost.")                                                       \
	X("resource", "time_multiplier", MILLI, t.wall_milli, 1, 1000000, 2000, 1500, 3000, 2000,  \
			"The same of time.")                                                       \
	X("resource", "critical_multiplier", MILLI, t.burn_critical_milli, 1, 1000000, 2500, 2500, \
			4000, 2500, "And so many times, of any of them: critical.")                \
	X("regression", "test_pass_to_fail", BOOL, t.test_pass_to_fail, 0, 1, 1, 1, 1, 1,          \
			"Whether tests that passed and now fail are a regression.")                \
	X("regression", "coverage_drop_percent", CENTI, t.coverage_drop_centi, 1, 10000, 1000,     \
			500, 1000, 100,                                                            \
			"So is coverage that dropped by so many percentage points.")               \
	X("levels", "stuck_high", LEVEL, LEVEL_OF(STUCK, HIGH), 0, LEVEL_ABORT, ALL(REDIRECT),     \
			"What answers it; none: it is not recorded.")                              \
	X("levels", "stuck_critical", LEVEL, LEVEL_OF(STUCK, CRITICAL), 0, LEVEL_ABORT,            \
			ALL(PAUSE), "What answers it.")                                            \
	X("levels", "oscillation_high", LEVEL, LEVEL_OF(OSCILLATION, HIGH), 0, LEVEL_ABORT,        \
			ALL(REDIRECT), "What answers it.")                                         \
	X("levels", "deviation_medium", LEVEL, LEVEL_OF(DEVIATION, MEDIUM), 0, LEVEL_ABORT,        \
			ALL(WARN), "What answers it.")                                             \
	X("levels", "scope_creep_medium", LEVEL, LEVEL_OF(SCOPE_CREEP, MEDIUM), 0, LEVEL_ABORT,    \
			ALL(WARN), "What answers it.")                                             \
	X("levels", "resource_burn_high", LEVEL, LEVEL_OF(BURN, HIGH), 0, LEVEL_ABORT, ALL(WARN),  \
			"What answers it.")                                                        \
	X("levels", "resource_burn_critical", LEVEL, LEVEL_OF(BURN, CRITICAL), 0, LEVEL_ABORT,     \
			ALL(ABORT),                                                                \
			"What answers it; from 90 % of completion on, pause instead of abort.")    \
	X("levels", "regression_low", LEVEL, LEVEL_OF(REGRESSION, LOW), 0, LEVEL_ABORT,            \
			CI(LOG, ABORT), "What answers one that was made good again since.")        \
	X("levels", "regression_high", LEVEL, LEVEL_OF(REGRESSION, HIGH), 0, LEVEL_ABORT,          \
			CI(WARN, ABORT), "What answers it.")                                       \
	X("levels", "regression_critical", LEVEL, LEVEL_OF(REGRESSION, CRITICAL), 0, LEVEL_ABORT,  \
			ALL(ABORT), "What answers it.")
