#pragma once
/*
 * Which of the things that were kept may go: those that are older than `keep`, are not among the
 * `keep_count` newest, are not the newest of their group, and are not needed. A pure function; what
 * the things are, and what makes one needed, is the caller's business.
 */
#include "base/ov.h"

struct retained {
	str name;    /* tells it from others of the same age */
	str group;   /* whose newest is never dropped */
	ov_time at;  /* when it was kept */
	bool needed; /* stays in any case */
	bool drop;   /* the answer */
};

/* Sorts them, newest first, and answers for each. */
void retain(struct retained *list, size_t n, ov_time now, ov_time keep, int64_t keep_count);
