#pragma once
/* Inside the rooms of git only: children beside sys/loop/job (drive/git/git_child.c says which). */
#include "base/ov.h"
#include "drive/git/git_step.h"
#include "sys/proc/proc.h"

/* A child whose output goes to memory files: for git_open, and for what must not be cut short. */
struct git_child {
	struct proc proc;
	int out, err;
};

#define GIT_CHILD_INIT \
	((struct git_child){ .proc = { .pid = -1, .pidfd = -1 }, .out = -1, .err = -1 })

int git_child_start(const char *const *argv, const char *const *env, const char *cwd,
		struct git_child *ret, struct ov_err *err);
/* After its end: reaps it and reads its output (at most GIT_FILE_MAX of each) into the arena. */
int git_child_collect(struct git_child *ch, struct arena *a, struct git_out *ret,
		struct ov_err *err);
/* The same with another bound. */
int git_child_collect_some(struct git_child *ch, struct arena *a, size_t max, struct git_out *ret,
		struct ov_err *err);
int git_child_wait(struct git_child *ch, int timeout_ms, struct ov_err *err);
void git_child_done(struct git_child *ch); /* lets go of it; it runs on */
/* Is a git child of an earlier daemon still at work for this path? */
bool git_orphan_alive(const char *path);
