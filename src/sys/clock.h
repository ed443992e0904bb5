#pragma once
/* The only readers of time. */
#include "base/ov.h"

ov_time clock_wall(void);
/* The clock that files are stamped by, which may be a little behind. */
ov_time clock_file(void);
uint64_t clock_mono_us(void);
/*
 * What the wall clock is ahead of a clock that only runs forward, also while the machine sleeps, in ms:
 * it changes when the wall clock is set.
 */
int64_t clock_wall_ahead(void);
/* What local time is ahead of UTC at that moment, as the zone of this process has it. */
ov_time clock_utc_offset(ov_time at);
