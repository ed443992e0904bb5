#pragma once
/*
 * What the daemon sees of its live runs, as the plain facts that the tick judges by: when output
 * came, what the agent says of itself, and, only when the tick asks for a look, whether the run's
 * processes used CPU or IO and whether its worktree changed since the look before. A first look is
 * only something to compare with, so a restart of the daemon is never taken for life. What cannot
 * be read is unknown.
 *
 * It owns one observation per run. Nothing is looked at unasked: idle runs cost nothing. A few
 * looks are taken at a time, however many are asked for; the others wait their turn.
 */
#include "agent/fact/account.h"
#include "base/map.h"
#include "base/ov.h"
#include "core/tick/reconcile.h"

struct git;
struct loop;
struct observe;
struct run_handle;

struct observe_options {
	struct loop *loop;
	struct git *git; /* borrowed; closed before observe_free, which its calls report to */
	/* A look has ended; from the loop. */
	void (*looked)(void *user, str run_id);
	void *user;
};

struct observe *observe_new(const struct observe_options *o);
void observe_free(struct observe *o); /* NULL allowed */
/*
 * A run that lives, of this agent. run is borrowed until observe_end. output_at: its last output so
 * far, or 0. adopted: it began before this daemon did.
 */
void observe_begin(struct observe *o, str run_id, str agent, const struct run_handle *run,
		str worktree, ov_time output_at, bool adopted);
void observe_end(struct observe *o, str run_id); /* unknown ones are fine */
struct repeats;
/* What it writes repeats itself, or does no longer; borrowed until the run is over. */
void observe_repeats(struct observe *o, str run_id, const struct repeats *r);
void observe_output(struct observe *o, str run_id);
/*
 * What the agent itself says, as it changes; the account is borrowed until observe_end. Such a run
 * lives by what it says: bytes in its output alone show nothing, and what its processes use shows
 * only that a tool works (core/life/process_life.h). cost: COST_UNKNOWN when it is not known.
 */
void observe_account(struct observe *o, str run_id, const struct account *c, int64_t tokens,
		int64_t cost_microusd);
/*
 * It was told something, held or let go: the silence that it is in says nothing about its habits.
 */
void observe_meddled(struct observe *o, str run_id);
/*
 * How long it was silent, for run.end, as of core/model/silence.h; NULL: nothing is to be
 * learned of it.
 */
value *observe_silences(struct arena *a, struct observe *o, str run_id);
/* Takes a look, from the loop; ignored for a run that is being looked at or that is not known. */
void observe_look(struct observe *o, str run_id);
/* The clock was set by that much: what was seen is as long ago as before. */
void observe_clock_moved(struct observe *o, ov_time by);
/* run id -> const struct observation *, for telemetry. */
const struct map *observe_runs(const struct observe *o);
