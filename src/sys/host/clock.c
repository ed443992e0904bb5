#include "sys/host/clock.h"

#include <time.h>

ov_time clock_wall(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (ov_time)ts.tv_sec * OV_SECOND + ts.tv_nsec / 1000000;
}

ov_time clock_file(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME_COARSE, &ts);
	return (ov_time)ts.tv_sec * OV_SECOND + ts.tv_nsec / 1000000;
}

static uint64_t us(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t clock_mono_us(void)
{
	return us(CLOCK_MONOTONIC);
}

struct clock_offsets clock_offsets(void)
{
	uint64_t before, after, mono;
	ov_time wall;

	/* Whoever was stopped between two looks compares different moments. */
	do {
		before = us(CLOCK_BOOTTIME);
		wall = clock_wall();
		mono = us(CLOCK_MONOTONIC);
		after = us(CLOCK_BOOTTIME);
	} while (after - before > 100000);
	return (struct clock_offsets){ wall - (int64_t)(after / 1000),
		(int64_t)(after / 1000) - (int64_t)(mono / 1000) };
}

ov_time clock_utc_offset(ov_time at)
{
	time_t seconds = (time_t)(at / OV_SECOND);
	struct tm tm = { 0 };

	localtime_r(&seconds, &tm);
	return tm.tm_gmtoff * OV_SECOND;
}
