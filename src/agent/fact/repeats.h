#pragma once
/*
 * Output that repeats itself, of agents that speak no format: the same line, or the same group of
 * up to REPEATS_PERIOD lines, again and again. Text that is overwritten in place (spinners,
 * progress bars) says nothing and is passed over, and so are colours and empty lines.
 *
 * A honest program prints equal lines too, but in one go: so a block counts only when some time has
 * passed since the last one that did. Bounded; constant work per byte, and no more per line.
 */
#include "base/ov.h"

enum { REPEATS_PERIOD = 64, REPEATS_TEXT = 160 };

struct repeats {
	ov_time gap; /* between blocks that count; the caller's to set */

	/*
	 * Equal blocks in a row that count, since when, when the last of them came, and its
	 * line, for people.
	 */
	int64_t count;
	ov_time since, last_at;
	char text[REPEATS_TEXT];

	/* The line that is being read. */
	uint64_t hash;
	enum repeats_escape { ESCAPE_NO, ESCAPE_BEGUN, ESCAPE_CSI } escape;
	bool returned, moves, visible;
	char line[REPEATS_TEXT];
	size_t line_n;
	/* The lines before it. */
	uint64_t ring[2 * REPEATS_PERIOD];
	struct {
		uint64_t pair;
		uint32_t at;
	} pairs[4 * REPEATS_PERIOD]; /* where two lines last stood one after the other */
	uint32_t lines, period, in_block;
	ov_time line_at; /* of the last one */
	int64_t old; /* blocks that were there before anybody looked, when they came is not known */
	int64_t seen;
};

/* A daemon that did not see them come believes old blocks after so many new ones that count. */
enum { REPEATS_CONFIRM = 3 };

/* old: they were written before anybody looked. True when count has changed. */
bool repeats_bytes(struct repeats *r, str bytes, ov_time at, bool old);
/* The wall clock was set: its moments are of the clock as it is now. */
void repeats_clock_moved(struct repeats *r, ov_time by);
/* Bytes are missing here: nothing is known of what came before. */
void repeats_cut(struct repeats *r);
