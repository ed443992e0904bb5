#include "watch/guard/judge.h"

size_t judge_restarts(struct judge *j, int64_t now_ms)
{
	size_t old = 0;

	while (old < j->restarts_n && now_ms - j->restarts[old] >= OV_DAY)
		old++;
	memmove(j->restarts, j->restarts + old, (j->restarts_n - old) * sizeof(j->restarts[0]));
	j->restarts_n -= old;
	return j->restarts_n;
}

enum watch_verdict judge_failure(struct judge *j, enum failure f, int64_t healthy_ms,
		int64_t now_ms)
{
	if (healthy_ms >= j->cooldown_ms)
		j->mended = false;
	if (f != FAILURE_STALL && j->mended)
		return VERDICT_SPIRAL;
	if (judge_restarts(j, now_ms) >= j->max_restarts)
		return VERDICT_TOO_MANY;
	j->restarts[j->restarts_n++] = now_ms;
	if (f == FAILURE_STALL)
		return VERDICT_START;
	j->mended = true;
	return j->can_mend ? VERDICT_MEND : VERDICT_START;
}
