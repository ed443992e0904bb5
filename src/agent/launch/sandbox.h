#pragma once
/*
 * A command inside a sandbox: the words of bubblewrap that are put before it. Text in, text out;
 * who calls it has made the folders that are named here. What it amounts to is in docs/security.md.
 *
 * The system is there to be read. Writable are the worktree, a temporary folder of the agent's own,
 * its run's hooks, of the home what the caller says, and of git what `add`, `commit` and `rebase`
 * need, but none of the files by which git could be made to run a program for somebody else (hooks,
 * configuration, the pointers between the folders). Hidden are the store's folder with everything
 * of other runs, the stores of others, /run, /tmp and other processes.
 */
#include "base/ov.h"

enum sandbox_way {
	SANDBOX_READ,  /* `from` can be read there */
	SANDBOX_WRITE, /* and written */
	SANDBOX_LINK,  /* a symbolic link that says `from` */
	SANDBOX_EMPTY, /* an empty folder that is forgotten */
	SANDBOX_BLANK, /* an empty file that cannot be written */
};

struct sandbox_mount {
	enum sandbox_way way;
	const char *path, *from; /* inside; outside */
};

struct sandbox_ask {
	const char *bwrap;       /* the program */
	const char *const *argv; /* to be run; ends with NULL */
	const char *worktree, *store;
	const char *run_dir; /* NULL: it is no run */
	/* As in struct launch_ask; both NULL when the worktree is in no repository. */
	const char *git_dir, *git_common_dir;
	const char *home;         /* the user's home; NULL: there is none to be treated apart */
	const char *private_home; /* what the agent has in its place; NULL: what `shown` says */
	const struct sandbox_mount *shown; /* in a home that is empty otherwise, in this order */
	size_t shown_n;
	const char *tmp; /* the agent's /tmp */
	const char *const
			*readable; /* programs below what is hidden; ends with NULL. May be NULL. */
	const str *writable;       /* further paths, by the configuration */
	size_t writable_n;
	const char *const *
			hidden; /* folders that are not shown under any name, by their real paths */
	size_t hidden_n;
	const char *nothing; /* an empty folder, real path, which is shown in their place */
	const struct sandbox_mount *more; /* in what is hidden of the store, in this order */
	size_t more_n;
	bool network;
	bool read_only; /* the worktree and its git folder, too */
};

/*
 * Where something is mounted in a folder that the command can write: it may have put a link
 * there before.
 */
struct sandbox_place {
	const char *folder, *name; /* outside; beneath the folder */
};

struct sandbox_words {
	const char *const *argv; /* ends with NULL */
	const struct sandbox_place *places;
	size_t places_n;
};

/* In the arena. */
struct sandbox_words sandbox_build(struct arena *a, const struct sandbox_ask *ask);
