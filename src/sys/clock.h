#pragma once
/* The only readers of time. */
#include "base/ov.h"

ov_time clock_wall(void);
uint64_t clock_mono_us(void);
