#pragma once
/*
 * A command inside a sandbox: the words of bubblewrap that are put before it. Text in, text out; who
 * calls it has made the folders that are named here. What it amounts to is in docs/containment.md.
 *
 * The system is there to be read. Writable are the worktree, a home and a temporary folder of the
 * agent's own, its run's hooks, and of the repository what `git add`, `commit` and `rebase` in a
 * linked worktree need: its objects, the folder of the worktree's branch with its log, and the
 * worktree's administrative folder, but none of the files by which git could be made to run a
 * program for somebody else (hooks, configuration, the pointers between the folders). Hidden are the
 * store's folder with everything of other runs, the user's home (unless it is shared), /run and other
 * processes.
 */
#include "base/ov.h"

struct sandbox_ask {
	const char *bwrap;       /* the program */
	const char *const *argv; /* to be run; ends with NULL */
	const char *worktree, *run_dir, *store;
	/* As in struct launch_ask; both NULL when the worktree is in no repository. */
	const char *git_dir, *git_common_dir;
	const char *branch;       /* "refs/heads/..." that the worktree is on; NULL: none */
	const char *home;         /* the user's home */
	const char *private_home; /* what the agent has in its place; NULL: it shares the user's */
	const char *tmp;          /* the agent's /tmp */
	/* Below a shared home, what the agent keeps its own things in; ends with NULL. May be NULL. */
	const char *const *home_writable;
	const char *const
			*readable; /* programs below what is hidden; ends with NULL. May be NULL. */
	const str *writable;       /* further paths, by the configuration */
	size_t writable_n;
	bool network;
};

/* In the arena; ends with NULL. */
const char *const *sandbox_argv(struct arena *a, const struct sandbox_ask *ask);
/* What an agent of this format keeps below a home, for home_writable; ends with NULL. */
const char *const *sandbox_home_writable(str format);
/*
 * The folders of the repository that have to be there, at most `max`, written to ret. The file
 * config.worktree in git_dir has to be there too; it may be empty.
 */
size_t sandbox_git_folders(struct arena *a, const struct sandbox_ask *ask, const char **ret,
		size_t max);
