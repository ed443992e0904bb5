#pragma once
/* The only readers of time. */
#include "base/ov.h"

ov_time clock_wall(void);
/* The clock that files are stamped by, which may be a little behind. */
ov_time clock_file(void);
uint64_t clock_mono_us(void);
/*
 * How the clocks stand to each other, in ms. set: what the wall clock is ahead of the time since
 * boot, which changes when the wall clock is set; slept: what that is ahead of CLOCK_MONOTONIC,
 * which stands while the machine sleeps. Only within one boot of the machine can two of them
 * be compared.
 */
struct clock_offsets {
	int64_t set_ms, slept_ms;
};
struct clock_offsets clock_offsets(void);
/* What local time is ahead of UTC at that moment, as the zone of this process has it. */
ov_time clock_utc_offset(ov_time at);
