#pragma once
/*
 * The executor carries out committed effects with real processes and real git, and reports their
 * outcomes to the engine. It remembers nothing across restarts: an effect that is still open is
 * performed again under the same id, and every effect is made so that doing it again is harmless.
 * It owns the handles of live runs and the jobs under way.
 */
#include "base/ov.h"
#include "core/config/config.h"
#include "core/model/model.h"

struct engine;
struct event;
struct executor;
struct loop;
struct run_handle;

struct executor_options {
	struct loop *loop;
	const char *dir;  /* the store's folder */
	const char *repo; /* root of the user's checkout */
	const char *shim; /* path of overseer-run */
	/* path of the program that hooks call; NULL: agents run without them */
	const char *overseer;
	const struct config *config;
	/* New output of a run, or its end: for those who follow its log. */
	void (*run_changed)(void *user, str run_id);
	void *user;
};

int executor_new(const struct executor_options *o, struct executor **ret, struct ov_err *err);
/* The engine comes after the executor, since it performs effects. */
void executor_set_engine(struct executor *x, struct engine *e);
void executor_set_config(struct executor *x, const struct config *c);
/*
 * What was committed: tools that were taken away are taken from runs that go on, too, and what
 * nobody needs any more of assignments that are over is removed.
 */
void executor_published(struct executor *x, const struct event *const *events, size_t n);
/* Finds the runs of the previous daemon again; call before engine_start. */
void executor_adopt(struct executor *x);
void executor_perform(struct executor *x, const struct effect *fx);
/* Takes a look at a live run's processes and worktree; the engine is touched when it has ended. */
void executor_look(struct executor *x, str run_id);
/* The clock was set by that much: what was seen of runs is as long ago as before. */
void executor_clock_moved(struct executor *x, ov_time by);
/* run id -> const struct observation *, of live runs. */
const struct map *executor_observations(const struct executor *x);
/* run id -> const struct account *, of live runs that speak a format. */
const struct map *executor_accounts(const struct executor *x);
/* Work of ours (not runs) that is under way: git, checks. */
size_t executor_busy(const struct executor *x);

/* Where code that agents wrote runs: a run, or a command of ours that works on what one left. */
struct executor_place {
	str name;          /* "run R_1", "the check command"; for people */
	int root;          /* the process from which all of it descends; 0: not known */
	const char *group; /* the folder of its control group, where it has one; or NULL */
	const struct run_handle *run; /* NULL: a command, or a run that was not found again yet */
};
size_t executor_places(const struct executor *x, struct arena *a, struct executor_place **ret);
/*
 * There is such a place, or the last one ended a moment ago: what its processes left may
 * still come.
 */
bool executor_is_live(const struct executor *x);
/* Does this belong to a run of ours: the path of a control group, the environment of a process? */
str executor_run_of(const struct executor *x, struct arena *a, str group, int pid);
/* Why agents with sandbox = "auto" run without one; NULL: they do not. */
const char *executor_unfenced(const struct executor *x);

/* Lets go of runs, which go on without us, and abandons jobs, which will be done again. */
void executor_free(struct executor *x);
/* The folder of a run, in the arena. */
char *executor_run_dir(struct arena *a, const char *dir, str run_id);
