#pragma once
/* The only readers of time. */
#include "base/ov.h"

ov_time clock_wall(void);
uint64_t clock_mono_us(void);
/* What local time is ahead of UTC at that moment, as the zone of this process has it. */
ov_time clock_utc_offset(ov_time at);
