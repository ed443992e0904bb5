#pragma once
/*
 * Inside the rooms of git only: what a call is made of. A call owns an arena and walks a table of
 * steps; each step builds one git command (or does something local) and judges its result, so that
 * a sequence reads from top to bottom. A step may be a whole table of its own (rescue). Every
 * sequence finds out where things stand, so that it can be repeated after a crash at any step.
 */
#include <sys/types.h>
#include <time.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/list.h"
#include "base/ov.h"
#include "base/str.h"
#include "base/vec.h"
#include "drive/git/git.h"
#include "drive/git/git_child.h"
#include "drive/git/git_step.h"

struct job;
struct loop_source;

enum { GIT_DEPTH = 6, GIT_MAX_WORKTREES = 4096, GIT_FILE_MAX = 1 << 20 };

struct git {
	struct loop *loop;
	struct arena arena;
	const char *repo;       /* root of the user's checkout, absolute */
	const char *git_dir;    /* the checkout's own git directory, absolute */
	const char *common;     /* the common git directory, absolute */
	VEC(const char *) env;  /* of every git child; strings in the arena */
	VEC(const char *) seen; /* paths that were checked for children of an earlier daemon */
	struct list calls;      /* oldest first */
	ino_t trees_inode; /* of the folder of all worktrees, when one was last made; 0: none */
	dev_t trees_device;
	struct git_bounds bounds;
	int64_t timeout_ms;   /* of what reads; 0: the usual one */
	int64_t keep_ignored; /* rescue ignored files, too: at most this many bytes */
	bool no_lfs, partial; /* its filter is passed over; what a partial clone lacks is fetched */
};

/*
 * Where a command runs. Of a worktree of ours the git directory is c->own, never the one that its
 * agent can write; see git_room.c.
 */
enum git_where {
	AT_REPO,  /* the user's checkout; only reading, objects and refs */
	AT_TREE,  /* the worktree: a git directory and its folder, both explicit */
	AT_ADMIN, /* that git directory alone, also when the folder is gone */
};

/* Whether git may run programs on files in the worktree; found out when it matters. */
enum git_runs { RUNS_UNKNOWN, RUNS_NONE, RUNS_SOME };

/* What the rescue table works on; see git_rescue.c. */
struct git_rescue_state {
	str ref, message;
	str kept_by[2];          /* commits whose ancestors need no rescue; empty: none */
	bool kept_by_refs;       /* what other refs contain needs no rescue either */
	VEC(const char *) extra; /* further commits to keep */
	bool branch;             /* and the branch's, unless it is of just the folder's files */
	bool kept, added; /* answers: every commit is kept elsewhere; our index holds `tree` */
	str index_tree, tree, index_commit, old, commit;
	str whole; /* the tree with the files of other repositories; empty: there are none */
	VEC(const char *) parents;
};

struct git_call {
	struct list node;
	struct git *g;
	struct arena arena;
	const char *name; /* "ensure", "harvest"; for messages */
	git_done_fn *done;
	void *user;
	struct git_result res;
	struct timespec since;        /* locks older than this are nobody's */
	bool running, push, too_much; /* too_much: git took too long, or too much memory */
	/* One at a time: accepts, and listing worktrees: git fails on a half registered one. */
	bool exclusive, loose; /* loose: only reads objects, waits for nobody, and nobody for it */
	int64_t waited_ms, late_from_ms; /* when the look for who came late began */
	struct ov_err refused;           /* the arguments were wrong; reported from the loop */

	struct loop_source *wake, *child_end;
	struct job *job;
	struct git_child child;
	struct git_frame frames[GIT_DEPTH];
	size_t depth;
	void (*at_end)(struct git_call *c); /* removes what it left, once it is off the list */
	const struct git_step *otherwise;   /* where it comes to too much; NULL: the call fails */

	/* the command being built */
	VEC(const char *) argv, env;
	const char *cwd, *index;
	str input;
	unsigned flags;
	bool kept; /* with the programs that it runs, by git_confine.c */

	/* what was asked for */
	const char *path;
	str branch, target, start, rescue_ref, message, base, key, remote;
	str author_name, author_email;
	const char *trailer; /* whose value is the key */

	/* what was found out */
	/* The git directory of the user's checkout, or of the worktree's agent; NULL: none. */
	const char *admin;
	const char *room, *own; /* git_room.c; NULL: c->path is the user's checkout */
	bool linked;            /* admin is a linked worktree's, as an earlier version made them */
	bool folder;            /* the folder exists, and is the one that we made */
	bool making;            /* but it never was complete */
	int tree_fd;            /* it, open; -1: it does not */
	bool no_name, no_email; /* none is configured: ours is given */
	enum git_runs runs;     /* git_confine.c: whether git may run programs on files */
	const char *sandbox;    /* the file that says how it is made; NULL: not written yet */
	bool dirty, changed, unmerged; /* of the worktree: anything, tracked files, conflicts */
	size_t found;                  /* how many files of it are not as they were committed */
	int64_t found_bytes;           /* of those */
	bool went_on;                  /* harvest: HEAD goes on from the branch */
	int op;                        /* enum git_open_op: what was left unfinished */
	bool settled;               /* ensure: it stands on the branch, and work may have begun */
	bool looked, unblocked;     /* for pipes that git would wait for: ahead, and after it did */
	bool peeks, opened, closed; /* folders: none is to be opened; all were; some cannot be */
	int deep;                   /* how many were put aside as too deep for git */
	const char *aside;          /* the folder for what is put aside; NULL: none yet */
	bool loosened, forced;      /* modes were opened; rebase: an earlier one was cut off late */
	bool keeps;                 /* rebase: the ref holds the branch already */
	bool forwarded, plain_ssh;  /* the target came from the remote; ssh is called as usual */
	bool filters, drivers;      /* some are configured */
	str attributes_path, info_attributes; /* of the user, and of the repository */
	bool other_rules;                     /* other files are ignored than before */
	bool partly;                          /* something in the folder cannot be rescued by git */
	str unfiltered; /* why files were rescued without their filters; empty: they were not */
	bool inhabited; /* another repository is in it where the commit says so */
	bool ok;        /* the answer of the last yes-or-no step */
	bool record, recorded;  /* the configuration is to be recorded again; was, by this call */
	bool taken;             /* what the agent committed is in the repository */
	bool index_bad, sparse; /* our index cannot be read and is rebuilt; see git_sparse.c */
	str head, head_tree, head_ref; /* of the worktree; head_ref empty: detached */
	str head_name;  /* of HEAD, as the agent's folder says: a commit that may not exist */
	str agent_tree; /* of the agent's index, where it can be told */
	str index_seen; /* which index that was */
	VEC(const char *) named;  /* other commits that the agent's folder names */
	bool unnamed;             /* it names more than is looked at: it is never removed */
	VEC(const char *) refs;   /* its own branches and tags: "COMMIT NAME" */
	VEC(const char *) wanted; /* objects of the agent's that the repository has not */
	str target_oid, target_tree, branch_oid, kept_oid, rescue_oid, rescue_tree;
	str branch_tree, branch_parent, head_parent; /* of their commits: the first parent */
	str merge_base, tree, commit, pack;
	str publish;        /* where the agent's branch is to be */
	bool replaced;      /* its former git folder is still there, under another name */
	str refs_text;      /* of the agent's git folder */
	const char *former; /* a linked worktree's entry that is not needed any more, or NULL */
	str former_ref, former_oid; /* ensure: the branch that the worktree was for */
	str side;     /* what is merged with the target: the branch, or a commit made for that */
	str kept_ref; /* rebase: keeps the branch as it was before the squash */
	const char *objects; /* predict: where its objects go, or NULL */
	/* The worktree that has the target checked out, or NULL; and a second one. */
	const char *holder, *other_holder;
	str changes, folders, hidden, absent; /* of paths: git_{overlap,ignored,hidden,sparse}.c */
	str oversize;                         /* of paths: git_add.c */
	str pointers;                         /* git_lfs_check.c: what is still to be looked at */
	bool staged_alike;                    /* the user has staged some of that, to the byte */
	int64_t keep_ignored;                 /* rescue ignored files: at most this many bytes */
	bool look_ignored;                    /* they count as uncommitted now */
	VEC(const char *) unencoded; /* files that are not in the encoding that their rule names */
	VEC(const char *) links;     /* "COMMIT NAME" of submodules that stand elsewhere */
	size_t links_n;              /* of `nested`, those that HEAD knows */
	bool leaves;                 /* the worktree is to be removed: what is in them counts */
	str links_of;                /* the commit that says where they have to be */
	VEC(const char *) nested, nested_ignored; /* repositories inside that are no part of it */
	VEC(const char *) embedded; /* of these, and of HEAD's links: those that the base has not */
	VEC(const char *) inner;    /* "MODE PATH" of the files in them */
	struct git_rescue_state rescue;
};

/* git_call.c: the walk */
struct git_call *git_call_new(struct git *g, const char *name, str path, git_done_fn *done,
		void *user);
/* Starts it, or reports `r` (from checking the arguments) from the loop. */
void git_call_start(struct git_call *c, const struct git_step *steps, int r,
		const struct ov_err *err);
void git_call_free(struct git_call *c);

/* git_cmd.c: commands and their results */
void git_env_init(struct git *g);
void git_args(struct git_call *c, ...) __attribute__((sentinel));
int git_run(struct git_call *c, enum git_where where, unsigned flags, ...)
		__attribute__((sentinel));
void git_env_add(struct git_call *c, const char *name, const char *value);
int git_at_holder(struct git_call *c);                /* the command runs in c->holder */
str git_quoted(struct git_call *c, const char *path); /* as an entry of a list of folders */
/* The error of a command that failed: what was tried and git's own words. */
int git_fail(struct git_call *c, const struct git_out *o, struct ov_err *err);
bool git_says(const struct git_out *o, str words); /* itself, not by the name of a file */
bool git_could_not_write(const struct git_out *o); /* to the repository or the disk */
bool git_lacked_memory(const struct git_out *o);
str git_line(struct git_call *c, const struct git_out *o); /* first line of the output, copied */
bool git_oid_valid(str s) _pure_;
bool git_ref_valid(str ref) _pure_; /* a full name, or a branch's short one */
