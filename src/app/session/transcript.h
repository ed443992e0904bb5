#pragma once
/*
 * The file that an agent keeps of its session, where that is what we have instead of an output:
 * what the agent says, and what it used. Its hooks name it, beneath the folder that
 * app/session/sessions.h knows. Only what a run adds to it is told, also to another daemon: where
 * the run began stands in its folder. Of one run TRANSCRIPT_MAX bytes are read, in small pieces. It
 * owns its follower.
 */
#include "agent/fact/fact.h"
#include "agent/format/format.h"
#include "app/session/sessions.h"
#include "base/ov.h"

struct loop;
struct transcript;

enum { TRANSCRIPT_MAX = 256 << 20 };

/* dir: the run's folder, in which its sessions are kept. NULL where the format has none. */
struct transcript *transcript_new(struct loop *l, const char *dir,
		const struct agent_format *format, fact_fn *fn, void *user);
/* A hook came, and named it or not (empty). NULL allowed, as below. */
void transcript_named(struct transcript *t, str path);
/*
 * The run is over: the last words, and then done, once; at once, or from the loop where there are
 * many. done may close it.
 */
void transcript_end(struct transcript *t, void (*done)(void *user), void *user);
void transcript_close(struct transcript *t);
