#pragma once
/*
 * The file that an agent keeps of its session, where that is what we have instead of an output: what the
 * agent says, and what it used. Its hooks name it. Only what a run adds to it is told, also to another
 * daemon: where the run began stands in its folder. It owns its follower.
 */
#include "agent/fact.h"
#include "agent/format.h"
#include "base/ov.h"

struct loop;
struct transcript;

/* resumed: the session has said things before this run. */
struct transcript *transcript_new(struct loop *l, const char *dir,
		const struct agent_format *format, bool resumed, fact_fn *fn, void *user);
/* A hook came, and named it or not (empty). NULL allowed, as below. */
void transcript_named(struct transcript *t, str path);
/* The run is over: the last words. */
void transcript_end(struct transcript *t);
void transcript_close(struct transcript *t);
