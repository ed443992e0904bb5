#pragma once
/*
 * The sub-agents of a run that keep files of sessions of their own, of which its output says little more
 * than their ids: what they use, say and call is read there, as facts of their threads. Files are opened as
 * app/sessions.h says. THREADS_MAX of them are read, and TRANSCRIPT_MAX bytes of all together, in small
 * pieces; what was written before the run began is not its. Owns its followers.
 */
#include "agent/fact.h"
#include "agent/format.h"
#include "base/ov.h"

struct loop;
struct threads;

enum { THREADS_MAX = 32 };

/*
 * dir: the run's folder, in which its sessions are kept. calls: what they call is told, too; hooks may do
 * so already. NULL where the format has no such files.
 */
struct threads *threads_new(struct loop *l, const char *dir, const struct agent_format *format,
		bool calls, fact_fn *fn, void *user);
/* What the run itself told: sub-agents begin by it, or the session itself, whose model is looked for. */
void threads_fact(struct threads *t, const struct fact *f); /* NULL allowed, as below */
/* The run is over: all that is there, and then done, once; at once, or from the loop. It may close it. */
void threads_end(struct threads *t, void (*done)(void *user), void *user);
void threads_close(struct threads *t);
