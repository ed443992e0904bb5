#pragma once
/*
 * Does what a run's processes used between two looks show that it works? Agents use their processor
 * while they wait, too: an idle one up to some hundredths, for its screen, its timers, its
 * keep-alives. So where the agent tells what it does, that counts, and processor time only tells
 * of its tools:
 *
 * - a tool that it told of is in flight: its processes use some, or the agent more than when
 *   it idles;
 * - a tool that it did not tell of: processes that began since it last spoke, and are at work. Of
 *   an agent that tells of tools only when they are over, it is enough that they live.
 *
 * Of an agent that tells nothing, a hundredth of a processor is life: there is nothing else to
 * go by.
 */
#include "base/ov.h"

/* Between two looks with no word of the agent's in between. */
struct process_use {
	int64_t passed_ms;
	/*
	 * Of the agent: the processes that were there when it last spoke, without what they
	 * waited for.
	 */
	int64_t own_cpu_ms, own_io_bytes;
	/* Of its tools: all other processes, those that have ended included. */
	int64_t tool_cpu_ms, tool_io_bytes;
	bool tool_lives; /* one that began since it last spoke is still there */
	bool own_ended;  /* one of its own has ended: whose time was whose cannot be told */
};

struct process_rule {
	bool speaks;         /* the agent tells what it does */
	bool tells_late;     /* of a tool only when it is over */
	bool tool_in_flight; /* that it told of */
	/* what it uses of a processor while it waits; IDLE_UNKNOWN: not measured */
	int64_t idle_permille;
};

enum { IDLE_UNKNOWN = -1 };

bool process_is_life(const struct process_rule *r, const struct process_use *u);
/*
 * The idle level with one more measurement: the least that was seen, since an agent may also be
 * busy while it is silent. Bounded; known may be IDLE_UNKNOWN.
 */
int64_t process_idle(int64_t known_permille, const struct process_use *u);
