#pragma once
/*
 * A run as its owner's handle knows it; shared by run.c (its life) and run_talk.c. Private
 * to drive.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "drive/run/run.h"
#include "sys/proc/proc.h"

struct follow;
struct loop;
struct loop_source;
struct run_link;

struct run_handle {
	struct loop *loop;
	struct run_ops ops;
	void *user;
	struct arena strings;
	const char *dir, *id;
	const char *lock, *started, *output, *errors, *exit_record; /* paths */

	struct follow *output_follow,
			*errors_follow; /* errors: NULL when nobody wants them apart */
	struct proc shim;               /* pidfd -1: not known (yet) */
	struct loop_source *watch;
	struct loop_source *timer; /* another look at the folder, or the end of the run */
	int64_t retry_ms;
	int read_tries;
	bool child;        /* of ours, so its status says why it ended */
	bool awaited;      /* somebody else is to start it */
	int begun;         /* the process that somebody started for it, and */
	uint64_t begun_at; /* when it was: so that no other is taken for it; or 0 */
	bool never;        /* nothing was started, nor will be */

	int complaints; /* the shim's stderr: closed when the agent is up */
	struct loop_source *complaining;
	struct buf complaint;

	struct run_link *link;
	bool stop_wanted, concluding, over;
	/*
	 * How it ended: known, while its last words are read in slices between which others
	 * are served.
	 */
	struct arena end_arena;
	struct run_end end;
	bool end_known;
	uint64_t output_size, errors_size; /* as of then */
	unsigned busy;                     /* calls into the owner that return here */
	bool closed;                       /* by the owner, during one of them */
};
