#pragma once
/*
 * One way to carry out a run, whatever the runtime: a driver starts it, tells it things, interrupts
 * and stops it, and says what it hears. `exec` is a process per run; others speak a protocol or a
 * terminal. A run outlives the daemon; after a restart the driver finds it again by its folder.
 * A struct driver_run is the driver's handle: it owns descriptors and sources, not the run.
 */
#include "agent/fact/fact.h"
#include "agent/format/tools.h"
#include "base/ov.h"
#include "core/config/config.h"
#include "drive/run/run.h"

struct contain;
struct tmux;
struct loop;
struct driver_run;

/* What a run is to be; borrowed during the call. */
struct driver_ask {
	const struct config *config;
	const struct config_agent *agent; /* NULL: not configured any more, so only adopt can be */
	const char *shim, *overseer;      /* programs; the second is NULL when it was not found */
	struct contain *contain;          /* how runs are held together here */
	struct tmux *tmux;                /* where terminals are */
	const char *store, *repo, *dir;   /* the store's folder, the checkout, the run's folder */
	const char *git_common;           /* the repository's git folder; NULL: it is in none */
	const char *worktree;
	str run_id, goal_id, node_id, assignment_id, worker;
	str home; /* what its private home is called, where it has one */
	int64_t attempt;
	str prompt;
	/* native id to resume, or to give to a new session; empty: the agent chooses */
	str session;
	bool resume;
	/* output that is text is told from here on; lines of JSON all over again */
	uint64_t offset;
	const struct tool_scope *scope;
};

/*
 * What is heard, from the loop. Everything that was said comes before ended(), the only one that
 * may close the handle.
 */
struct driver_events {
	void (*output)(void *user, str bytes,
			uint64_t at); /* as it was written, for those who follow */
	void (*fact)(void *user, const struct fact *f, ov_time at);
	/* A dispatch that was sent has reached the agent for certain; may be told again. */
	void (*taken)(void *user, str dispatch_id);
	void (*ended)(void *user, const struct run_end *end);
};

/*
 * 0: it will be given to the agent; OV_ESTATE: it cannot be; OV_EUNAVAILABLE: nobody knows. May
 * come from inside the call of send.
 */
typedef void driver_sent_fn(void *user, int r, const struct ov_err *err);

/* How people can look at a run that has a terminal, as commands; ends with NULL. */
struct driver_place {
	const char *const *attach; /* takes the terminal over until one leaves it */
	const char *const *peek;   /* prints what it shows */
};

struct driver {
	const char *runtime;
	/* Twice with the same folder starts one agent. */
	int (*start)(struct loop *l, const struct driver_ask *ask, const struct driver_events *ev,
			void *user, struct driver_run **ret, struct ov_err *err);
	/* OV_ENOTFOUND: the folder shows no start. */
	int (*adopt)(struct loop *l, const struct driver_ask *ask, const struct driver_events *ev,
			void *user, struct driver_run **ret, struct ov_err *err);
	/* Tells the agent something while it runs; the same id is never given to it twice. */
	int (*send)(struct driver_run *r, str dispatch_id, str text, driver_sent_fn *done,
			void *user, struct ov_err *err);
	/* Asks it to leave off what it does, in the agent's own way; the run may end by that. */
	int (*interrupt)(struct driver_run *r, struct ov_err *err);
	/* Interrupt, then SIGTERM, then SIGKILL for all that is left, each after its grace. */
	int (*stop)(struct driver_run *r, struct ov_err *err);
	struct run_handle *(*handle)(const struct driver_run *r);
	/* What it speaks; as it was started, whatever is configured by now. */
	const struct agent_format *(*format)(const struct driver_run *r);
	void (*close)(struct driver_run *r); /* the run goes on; NULL allowed */
	/* By names alone: asks nobody. NULL: runs of this runtime have no terminal. */
	void (*place)(struct arena *a, const char *store, str worker, str run_id,
			struct driver_place *ret);
};

/* NULL when there is none of this name. */
const struct driver *driver_find(str runtime);
