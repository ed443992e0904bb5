#pragma once
/* What the files of the executor's stand-in share. */
#include "app/engine/run_output.h"
#include "base/list.h"
#include "base/map.h"
#include "tests/sim/exec.h"
#include "tests/sim/machine.h"

/* An effect under way: what it takes is copied when it is performed, as the real one does. */
struct exec_task {
	struct sim_exec *x;
	struct list link;
	struct arena arena;
	enum effect_kind kind;
	str effect_id, run_id, dispatch_id, goal_id, node_id, purpose, worker;
	str worktree, branch, start, base, rescue_ref, candidate, commit, key;
	uint64_t number; /* distinguishes it from a later one for the same effect */
	bool sent;       /* a send: on its way to the shim */
};

/* A run in our hands. */
struct exec_run {
	struct sim_exec *x;
	str id;          /* owned */
	str worktree;    /* owned */
	uint64_t offset; /* output before this was heard */
	struct observation seen;
	int64_t asked_tokens, asked_cost; /* used when the tick was last asked */
	bool compares;                    /* there was a look to compare the next one with */
	uint64_t usage;
	str fingerprint; /* owned */
	bool looking, session_told;
	bool freezing, unfreezable; /* it was asked to hold still, or not to; it cannot */
	struct run_output run_output;
	struct silence_book silences;
	int64_t own_ms, tool_ms,
			idle_permille; /* of a structured one: used when it was looked at last */
	ov_time used_t;
};

struct sim_exec {
	struct sim_daemon *d;
	struct sim *s;
	struct list tasks;
	struct map runs; /* id -> struct exec_run */
	struct map seen; /* id -> struct observation, the same runs */
	/*
	 * Runs whose start failed: a second request gets the same answer, even before the first
	 * was heard.
	 */
	struct map refused;
	struct arena refused_ids;
	uint64_t tasks_made;
};

/* exec.c */
struct exec_task *exec_task_find(struct sim_exec *x, str effect_id);
/* The one of this number, while its daemon lives and it is under way. */
struct exec_task *exec_task_numbered(struct sim *s, int life, uint64_t number);
void exec_task_free(struct exec_task *t);
/* The outcome goes on its way, and the task is over. data: a JSON object in text, or NULL. */
void exec_tell(struct exec_task *t, const char *outcome, str detail, const value *data);
void exec_tell_error(struct exec_task *t, const struct ov_err *err);
struct sim_exec *exec_of(struct sim *s, int life);
const struct state *exec_state(const struct sim_exec *x);

/* exec_git.c */
void exec_git(struct exec_task *t);
/* The daemon died: git that was at work may have done any part of it. */
void exec_git_cut(struct exec_task *t);
void exec_look_at_target(struct sim *s, struct sim_daemon *d);

/* exec_pool.c */
void exec_post(struct exec_task *t);
void exec_pool(struct exec_task *t);
void exec_pool_cut(struct exec_task *t);

/* exec_notify.c */
void exec_notify(struct exec_task *t);
void exec_notify_cut(struct exec_task *t);

/* exec_freeze.c */
void exec_freeze_look(struct sim_exec *x);

/* exec_run.c */
void exec_start_run(struct exec_task *t);
void exec_stop_run(struct exec_task *t);
void exec_send(struct exec_task *t);
void exec_runs_done(struct sim_exec *x);

/* exec_silence.c */
/* It is in our hands: fresh, or with a past that nobody heard. */
void exec_silence_begin(struct exec_run *er, bool fresh);
void exec_silence_heard(struct exec_run *er, const struct sim_run *r);
/*
 * What it says that it does now; does what its processes used since the look before show that
 * it works?
 */
void exec_doing(struct exec_run *er, const struct sim_run *r);
bool exec_process_lives(struct exec_run *er, const struct sim_run *r, bool compares);
/* The longest that agents are silent in what the steps of their scripts leave out. */
ov_time exec_silence_usual(const struct sim *s, str agent);

/* exec_plan.c */
void exec_plan(struct exec_task *t);
