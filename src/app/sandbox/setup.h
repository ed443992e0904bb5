#pragma once
/*
 * Setting a worktree up before an agent works in it: workspace.setup_command by sh -c in the
 * worktree, and a Serena project of its own. One worktree at a time, in the order of asking, since
 * such commands share caches. It is done once per use of a worktree: a mark in the worktree's git
 * folder says for which branch and by which command, so that an effect that is performed again
 * after a crash does not repeat what was done. What an earlier daemon's command left running is
 * ended first. The whole output is in logs/setup.log. The queue, and the command under way, belong
 * to struct setup.
 */
#include "base/ov.h"

struct git;
struct journal;
struct loop;
struct setup;

struct setup_spec {
	str effect; /* in the environment of all that it starts: OVERSEER_SETUP */
	str worker, path, branch, session;
	str command;                          /* empty: none */
	const char *const *argv, *const *env; /* what runs it, and in what, besides our own names */
	str fenced;                           /* as agent_command says */
	int64_t timeout_ms;
	bool serena;
};

/* r is 0, or an error with the end of what the command said. */
typedef void setup_done_fn(void *user, int r, const struct ov_err *err);

/* repo: the user's checkout. The others are borrowed. */
struct setup *setup_new(struct loop *l, struct git *g, struct journal *j, const char *repo);
/* Everything in spec is copied; done is called from the loop, once. */
void setup_run(struct setup *s, const struct setup_spec *spec, setup_done_fn *done, void *user);
/* The process of the command under way; 0: there is none. */
int setup_pid(const struct setup *s);
/* Ends what is under way, without a word to anybody: it will be done again. Returns NULL. */
struct setup *setup_free(struct setup *s);
