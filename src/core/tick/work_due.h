#pragma once
/*
 * Does the daemon owe anybody something? A stall is: work is due, and nothing moves; so both are
 * defined here, for the heartbeat. An idle daemon owes nothing, and neither does one whose work all
 * waits for a person, a time, a limit, or agents that are at work.
 *
 * The tick itself is the judge of what is due: what it would decide now is what a daemon that works
 * would have done already. So whatever the tick waits for is waited for here, too, and a decision
 * that is carried out is movement. What it cannot see is an effect that never comes to an end.
 */
#include "core/event/event.h"
#include "core/tick/reconcile.h"

/* Costs what a tick costs. */
bool work_due(struct arena *a, const struct world *w, const struct telemetry *t, ov_time now);
/* Does this event mean that work moves? Those about ourselves and those that only repeat do not. */
bool event_is_movement(enum event_kind kind);
/* Another number when anything that is observed of any run is different. */
uint64_t observations_mark(const struct map *observations);
