#pragma once
/*
 * What keeps git in bounds where it reads what an agent wrote, and the filters and merge drivers
 * that it runs there, which an agent may have written. With none of it, only what such programs
 * leave behind is ended.
 */
#include "base/ov.h"

struct git;

struct git_programs_ask {
	const char *worktree;
	const char *own;      /* a folder for what the sandbox needs itself; made if missing */
	const char *readable; /* in it, beside the worktree, */
	const char *const *writable; /* of which these can be written; ends with NULL */
	const char *const *argv;     /* to be run in it; ends with NULL */
};
/*
 * The words of a command that makes a sandbox for the programs of one git command, in the arena.
 * NULL: there is none, which is no error.
 */
typedef int git_sandbox_fn(void *user, struct arena *a, const struct git_programs_ask *ask,
		const char *const **ret, struct ov_err *err);
struct git_bounds {
	const char *program;     /* overseer-run; NULL: nothing is kept in bounds */
	bool landlock;           /* write only what is needed; the program must be able to do it */
	git_sandbox_fn *sandbox; /* or NULL */
	void *user;
};
/* From now on. */
void git_confine(struct git *g, const struct git_bounds *bounds);
/* Can the program use Landlock? Waits for one short command. OV_EUNAVAILABLE: the kernel cannot. */
int git_confine_works(const char *program, struct ov_err *err);
