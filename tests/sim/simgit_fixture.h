#pragma once
/*
 * For the tests of the model of git: a repository with files f0 to f9, calls on one worktree of it,
 * and the last answer.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "tests/sim/simgit.h"
#include "tests/test.h"

#define REPO "/repo"
#define TREE "/repo/.overseer/worktrees/w1"
#define BRANCH "overseer/w1/a"
#define RESCUE "refs/overseer/rescue/w1/r"

struct model {
	struct simgit *g;
	struct arena arena;
	struct git_result res;
	struct ov_err err;
	int steps; /* of the next call, which puts it back to all */
};

void model_open(struct model *m);
void model_close(struct model *m); /* fails the test if a truth does not hold */
void check_truths(struct model *m);

/* The calls; what they gave is in m->res. */
int ensure_at(struct model *m, const char *tree, const char *branch, str start);
int ensure(struct model *m, const char *branch);
int harvest(struct model *m, str base);
int restore(struct model *m);
int removed(struct model *m);
int accept_of(struct model *m, const char *branch, const char *key);
int accepted(struct model *m, const char *key);
/* By rebase and advance; steps are counted over both. */
int accepted_in_parts(struct model *m, const char *key);
int steps_of(struct model *m); /* that the next call may take */

/* The agent's. */
void write_file(struct model *m, const char *path);
void commit(struct model *m);
void work(struct model *m); /* opens it, with harvested work on BRANCH: f1 and new */

uint32_t at(struct model *m, const char *ref, const char *path);
uint32_t in_tree(struct model *m, const char *tree, const char *path);

#define assert_str(s, want)                                                            \
	do {                                                                           \
		if (!str_is((s), (want)))                                              \
			fail_msg("\"" STR_FMT "\" is not \"%s\"", STR_ARG(s), (want)); \
	} while (0)
