#include "sys/clock.h"

#include <time.h>

ov_time clock_wall(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (ov_time)ts.tv_sec * OV_SECOND + ts.tv_nsec / 1000000;
}

uint64_t clock_mono_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

ov_time clock_utc_offset(ov_time at)
{
	time_t seconds = (time_t)(at / OV_SECOND);
	struct tm tm = { 0 };

	localtime_r(&seconds, &tm);
	return tm.tm_gmtoff * OV_SECOND;
}
