#pragma once
/*
 * Inside tests/sim/simgit*.c only: what the model is made of. Everything is named by a number, 0
 * for none, since the arrays move as they grow. A tree is a trie over the numbers of paths whose
 * nodes are shared and never changed while shared; it carries a sum of its files, so that equal
 * trees are known by it. Contents, nodes and commits count what refers to them: whoever stores one
 * takes a reference, and what nothing refers to any more ends at once.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "tests/sim/simgit.h"

enum { SG_BITS = 4, SG_FAN = 1 << SG_BITS, SG_LEVELS = 4, SG_PATHS = 1 << (SG_BITS * SG_LEVELS) };
enum { SG_PARENTS = 16, SG_STRAYS = 8 };

/* By whose doing something happens: only what we do may not lose anything. */
enum sg_actor { SG_US, SG_AGENT, SG_USER };

/* Texts that are named by numbers, from 1. */
struct sg_names {
	VEC(char *) list;
	struct map by_name;
};

struct sg_node {
	uint32_t child[SG_FAN]; /* nodes, on the last level contents */
	uint32_t refs;
};

struct sg_tree {
	uint32_t root, n;
	uint64_t sum;
};

struct sg_content {
	uint32_t refs, path, author; /* author 0: the user */
	bool given_up;               /* its author undid it */
};

struct sg_commit {
	struct sg_tree tree;
	uint32_t refs;
	uint32_t gen;         /* greater than that of every parent */
	uint32_t depth, jump; /* along first parents; jump: an ancestor some way down */
	uint32_t parent[SG_PARENTS], parents;
	uint32_t key, same_key; /* accepted under this key; the commit before it that was, too */
	uint32_t of, of_base;   /* accepted: what it was made of, since when; without references */
	uint32_t stamp, colour; /* of the walk that came by last */
	bool work;              /* an agent's, or of what an agent left */
	bool given_up;
	bool index; /* a rescued index */
};

struct sg_ref {
	char *name;
	uint32_t commit; /* 0: the ref does not exist */
	bool users;      /* the user made it */
	bool listed;     /* among the user's */
};

#define SG_NESTED "nested/file" /* the file of a repository inside a worktree */

enum sg_op { SG_NONE, SG_REBASE, SG_MERGE };

struct sg_wt {
	char *path;
	bool there;        /* registered; else only its name is left */
	bool folder;       /* the folder exists */
	struct sg_ref *on; /* HEAD's branch, or NULL: */
	uint32_t at;       /* ...detached here; a reference only then */
	struct sg_tree index, files;
	VEC(uint32_t) conflicts;        /* paths that are unmerged in the index */
	enum sg_op op;                  /* what is unfinished */
	struct sg_ref *rebased;         /* rebase: the branch that it is of */
	uint32_t other;                 /* rebase: where the branch was; merge: what is merged in */
	bool lock;                      /* index.lock */
	struct sg_tree nested;          /* files of repositories inside */
	struct sg_ref *branch, *target; /* what ensure noted, last of all */
	struct sg_ref *former;          /* and what it was for before that */
	VEC(uint32_t) left;             /* what the log of HEAD knows besides; references */
};

/* What user_intact compares with; holds references. */
struct sg_shadow {
	struct sg_ref *on;
	uint32_t at;
	struct sg_tree index, files;
	enum sg_op op;
	bool lock, busy; /* busy: locked, or something is unfinished */
	VEC(struct sg_ref *) refs;
	VEC(uint32_t) commits;
};

struct sg_change {
	uint32_t path, a, b;
};
typedef VEC(struct sg_change) sg_changes;
typedef VEC(uint32_t) sg_ids;

struct simgit {
	char *repo;
	struct sg_ref *target;
	struct sg_names paths, authors, keys;
	VEC(struct sg_content) contents;
	VEC(struct sg_node) nodes;
	uint32_t free_node; /* chained by child[0] */
	VEC(struct sg_commit) commits;
	VEC(uint32_t) key_last;           /* by key: its latest commit */
	VEC(struct sg_ref *) refs, users; /* users: those that he ever made */
	struct map refs_by_name;
	VEC(struct sg_wt *) wts; /* [0]: the user's checkout */
	struct map wts_by_path;
	VEC(struct sg_tree) asides; /* folders that were moved aside */
	uint32_t stamp;
	sg_ids queue, ending;
	sg_changes diff; /* of the caller at hand */

	enum sg_actor actor;
	const char *doing; /* for sentences */
	int steps, fail_at;
	simgit_between_fn *between;
	void *between_user;
	struct sg_shadow shadow;
	uint32_t silent;       /* a commit that was put on a branch where no HEAD was */
	struct buf lost, harm; /* the first breach of kept and of user_intact */
};

/* A call at work. */
struct sg_call {
	struct simgit *g;
	const char *name;
	struct arena *a;
	int limit;
	struct git_result res;
	struct sg_wt *wt; /* there, or NULL */
	const char *path;
	uint32_t held[8]; /* commits that live as long as the call */
	size_t held_n;
	/* of the last rescue */
	bool kept;
};
