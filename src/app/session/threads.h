#pragma once
/*
 * The sub-agents of a run that keep files of sessions of their own, of which its output says little
 * more than their ids: what they use, say and call is read there, as facts of their threads. Files
 * are opened as app/session/sessions.h says. THREADS_MAX of them are read, and TRANSCRIPT_MAX bytes
 * of all together, in small pieces; what was written before the run began is not its. Owns
 * its followers.
 *
 * A run fills the folders in which they are looked for, and names whom it likes. So a look reads
 * each folder once, for all of them together, in pieces between which others are served, and ends
 * at a bound; and so do all looks of a run together. What lies behind it is not found.
 */
#include "agent/fact/fact.h"
#include "agent/format/format.h"
#include "base/ov.h"

struct loop;
struct threads;

enum {
	THREADS_MAX = 32,
	/* Names in folders that are read: */
	THREADS_PIECE = 1000,         /* at a time */
	THREADS_LOOK = 10 * 1000,     /* in one look for those that are missing */
	THREADS_ENTRIES = 200 * 1000, /* of a run; one look more is left for its end */
};

/*
 * dir: the run's folder, in which its sessions are kept. calls: what they call is told, too; hooks
 * may do so already. NULL where the format has no such files.
 */
struct threads *threads_new(struct loop *l, const char *dir, const struct agent_format *format,
		bool calls, fact_fn *fn, void *user);
/*
 * What the run itself told: sub-agents begin by it, or the session itself, whose model is
 * looked for.
 */
void threads_fact(struct threads *t, const struct fact *f); /* NULL allowed, as below */
/*
 * The run is over: all that is there, and then done, once; at once, or from the loop. It may
 * close it.
 */
void threads_end(struct threads *t, void (*done)(void *user), void *user);
void threads_close(struct threads *t);
