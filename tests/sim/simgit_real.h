#pragma once
/*
 * For the test of the model of git against git itself: a repository on disk beside its model, and
 * what agents and the user do in both. On the model it is done at once, on disk by a line of a
 * script that runs before the next call. A file's text on disk is the number of its content.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "tests/git/fixture.h"
#include "tests/rng.h"
#include "tests/sim/simgit.h"

enum { WORKERS = 2, PATHS = 6, MAX_REFS = 200 };

extern const char *const paths[PATHS];

struct worker {
	char tree[256], branch[64], key[32], run[32], rescue[64];
	char ensured[64];                /* the branch that its worktree was last made for */
	char base[72], model_base[72];   /* of the same commit, there and here */
	char head[72], model_head[72];   /* of the last harvest */
	char start[72], model_start[72]; /* to go on from */
	int task, phase, resets;
};

struct both {
	struct fixture f;
	struct simgit *g;
	struct arena arena;
	struct rng rng;
	struct worker worker[WORKERS], *w;
	char refs[MAX_REFS][80]; /* every name that was ever used */
	size_t refs_n;
	struct buf script; /* what is to be done on disk */
	struct buf story;  /* what was done, for the message of a failure */
	bool busy; /* the user has a lock or a rebase: what the model refuses then git may do */
	size_t calls, outcomes[GIT_MOVED + 1];
	char files[GIT_LISTED_BYTES + GIT_LISTED + 1];
};

#define tell(b, ...) buf_addf(&(b)->story, __VA_ARGS__)

/* The whole story by itself: a message of a failure is cut off where it gets long. */
#define differ(b, ...)                                                                  \
	do {                                                                            \
		buf_addf(&(b)->story, "\n# ");                                          \
		buf_addf(&(b)->story, __VA_ARGS__);                                     \
		fprintf(stderr, "# %s\n# in %s\n", buf_cstr(&(b)->story), (b)->f.repo); \
		fail_msg("the model differs; " __VA_ARGS__);                            \
	} while (0)

void know_ref(struct both *b, const char *ref);
void next_task(struct both *b, struct worker *w);
void use(struct both *b, struct worker *w);
str tree_of(struct both *b);
uint32_t here(struct both *b, const char *tree, const char *path); /* in the model */
void any_act(struct both *b);
void see_branches(struct both *b); /* by the script */
void run_script(struct both *b);
void user_write(struct both *b, const char *path);
void user_commit(struct both *b, const char *path);
