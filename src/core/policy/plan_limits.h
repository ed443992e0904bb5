#pragma once
/* How large plans may be. */
#include "base/ov.h"
struct plan_limits {
	int64_t max_phases, max_tasks, max_subtasks; /* of the plan; of a phase; of a task */
};
/* Of a planner's plans, unless its options say otherwise; of plans that people write. */
#define PLAN_LIMITS_DEFAULT ((struct plan_limits){ 5, 7, 7 })
#define PLAN_LIMITS_WRITTEN ((struct plan_limits){ 50, 200, 50 })
