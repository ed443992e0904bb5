#pragma once
/*
 * Inside tests/sim/simgit*.c only: what its files do for each other, on what simgit_impl.h defines.
 */
#include "tests/sim/simgit_impl.h"

/* simgit_tree.c */
uint32_t sg_name(struct sg_names *names, str s); /* its number, made if it is new */
uint32_t sg_known(const struct sg_names *names, str s);
str sg_text(const struct sg_names *names, uint32_t id);
void sg_names_init(struct sg_names *names);
void sg_names_done(struct sg_names *names);
uint32_t sg_content_new(struct simgit *g, uint32_t path, uint32_t author);
uint32_t sg_get(const struct simgit *g, const struct sg_tree *t, uint32_t path);
void sg_set(struct simgit *g, struct sg_tree *t, uint32_t path, uint32_t content);
struct sg_tree sg_tree_ref(struct simgit *g, struct sg_tree t);
void sg_tree_drop(struct simgit *g, struct sg_tree *t);
void sg_tree_put(struct simgit *g, struct sg_tree *t, struct sg_tree to); /* refers to `to` */
bool sg_same(const struct sg_tree *a, const struct sg_tree *b);
/* The paths at which two trees differ, by number of path. */
void sg_diff(const struct simgit *g, const struct sg_tree *a, const struct sg_tree *b,
		sg_changes *ret);
/* Three ways; paths that both changed differently are left as in `ours` and listed. */
struct sg_tree sg_merge(struct simgit *g, const struct sg_tree *base, const struct sg_tree *ours,
		const struct sg_tree *theirs, sg_changes *ret_conflicts);
/* Sorts by name: what is told is in git's order. */
void sg_by_name(const struct simgit *g, sg_changes *ch);

/* simgit_commit.c */
uint32_t sg_commit_new(struct simgit *g, const struct sg_tree *tree, const uint32_t *parent,
		size_t parents); /* with one reference, the caller's */
uint32_t sg_commit_ref(struct simgit *g, uint32_t c);
void sg_commit_drop(struct simgit *g, uint32_t c);
bool sg_is_ancestor(struct simgit *g, uint32_t a, uint32_t b);    /* or the same */
uint32_t sg_merge_base(struct simgit *g, uint32_t a, uint32_t b); /* 0: none */
/* Commits that `head` has and `base` has not, newest first. */
void sg_between(struct simgit *g, uint32_t base, uint32_t head, sg_ids *ret);
void sg_give_up(struct simgit *g, uint32_t old, uint32_t now); /* the agent undid old..now */
str sg_oid(struct arena *a, uint32_t commit);
uint32_t sg_commit_known(const struct simgit *g, str oid);    /* 0: unknown or gone */
struct sg_ref *sg_ref_find(const struct simgit *g, str name); /* NULL: never heard of */
struct sg_ref *sg_ref_make(struct simgit *g, str name);
struct sg_ref *sg_branch(struct simgit *g, str branch); /* by its short name */
void sg_ref_set(struct simgit *g, struct sg_ref *r, uint32_t commit);
bool sg_ref_under(const struct sg_ref *r, const char *prefix);

/* simgit.c: worktrees */
struct sg_wt *sg_wt_find(const struct simgit *g, str path); /* there, or NULL */
struct sg_wt *sg_wt_make(struct simgit *g, str path);
void sg_wt_clear(struct simgit *g, struct sg_wt *w); /* unregistered, folder gone */
uint32_t sg_head(const struct sg_wt *w);
void sg_head_set(struct simgit *g, struct sg_wt *w, struct sg_ref *on, uint32_t at);
void sg_advance(struct simgit *g, struct sg_wt *w, uint32_t commit); /* the branch, or HEAD */
bool sg_dirty(const struct simgit *g, const struct sg_wt *w);
bool sg_changed(struct simgit *g, const struct sg_wt *w); /* files that git knows */
void sg_op_set(struct simgit *g, struct sg_wt *w, enum sg_op op, struct sg_ref *of, uint32_t other);
void sg_left_clear(struct simgit *g, struct sg_wt *w); /* its log of HEAD begins anew */
void sg_hard(struct simgit *g, struct sg_wt *w, const struct sg_tree *to);
/* What is in the way of that, by name. */
void sg_overlap(struct simgit *g, const struct sg_wt *w, const struct sg_tree *from,
		const struct sg_tree *to, sg_changes *ret);
/* As a checkout without force does it; false: something is in the way, and nothing was done. */
bool sg_move(struct simgit *g, struct sg_wt *w, const struct sg_tree *from,
		const struct sg_tree *to);
struct sg_wt *sg_holder(const struct simgit *g, const struct sg_ref *branch);
bool sg_commit_all(struct simgit *g, struct sg_wt *w, bool work); /* false: nothing to commit */

/* simgit_call.c: what calls have in common */
int sg_begin(struct sg_call *c, struct simgit *g, const char *name, str path, int steps,
		struct arena *a, struct ov_err *err); /* OV_EINVALID: the user's checkout */
int sg_step(struct sg_call *c, const char *what, struct ov_err *err);
int sg_end(struct sg_call *c, int r, struct git_result *ret, struct ov_err *err);
uint32_t sg_hold(struct sg_call *c, uint32_t commit); /* takes over the reference */
int sg_check_rescue_ref(str ref, struct ov_err *err);
int sg_target_missing(struct simgit *g, str target, struct ov_err *err);
/* What a rescue is asked for. */
struct sg_rescue {
	str ref;
	uint32_t branch;     /* a commit to keep too, or 0 */
	bool strays;         /* and what the agent left behind */
	uint32_t kept_by[2]; /* what these have needs no rescue */
	/* nor what other refs have than this one; NULL: they do not count */
	const struct sg_ref *by_refs;
	bool by_all;
};
int sg_rescue(struct sg_call *c, const struct sg_rescue *want, struct ov_err *err);
/* What the agent left behind and nothing keeps, the newest first. */
size_t sg_strays(struct simgit *g, const struct sg_wt *w, uint32_t ret[static SG_STRAYS]);
/* The agent's git folder is made anew: HEAD on the branch, and nothing else that was left there. */
void sg_publish(struct simgit *g, struct sg_wt *w, struct sg_ref *branch);
int sg_nested_aside(struct sg_call *c,
		struct ov_err *err); /* before files are what a commit says */
/* What an accept, or a part of one, works on. */
struct sg_accept {
	struct sg_ref *branch, *target, *kept;
	uint32_t at, onto, keep; /* where branch, target and the ref that keeps were at the start */
	uint32_t key, commit;
	bool done; /* the outcome stands, the branch does not follow */
};

/* simgit_accept.c */
int sg_check_key(str key, struct ov_err *err);
int sg_check_branches(str branch, str target, struct ov_err *err);
/* The commit on the target with the key, no older than `since`; 0: none. */
uint32_t sg_key_search(struct simgit *g, uint32_t key, uint32_t target, uint32_t since);
/* Is nothing unfinished about the target and in the checkout that has it? */
bool sg_holder_ready(struct sg_call *c, const struct sg_accept *ac, struct sg_wt **ret);
/*
 * Nothing in that checkout (may be NULL) is in the way of ac->commit; otherwise the files are told.
 */
bool sg_beside(struct sg_call *c, const struct sg_accept *ac, struct sg_wt *holder);
void sg_tell_conflicts(struct sg_call *c, sg_changes *ch);
/* The branch is there, and its worktree on it with nothing uncommitted. */
int sg_may_begin(struct sg_call *c, const struct sg_accept *ac, struct ov_err *err);
/* Rebase and squash in one merge of trees; false: the outcome is told by what came of it. */
bool sg_squash(struct sg_call *c, struct sg_accept *ac, uint32_t base, const struct sg_tree *work);
/* The one step that counts: the target moves to ac->commit, or ac->done. */
int sg_forward(struct sg_call *c, struct sg_accept *ac, struct ov_err *err);
void sg_key_note(struct simgit *g, uint32_t key, uint32_t commit);
str sg_kept_name(struct arena *a, str key); /* the ref that keeps the branch of an accept */

/* simgit_truth.c, simgit_user.c */
/* The user's things are as they are now by his own doing. */
void sg_shadow_take(struct simgit *g);
void sg_shadow_done(struct simgit *g);
/* Around what users and agents do. */
enum sg_actor sg_act_begin(struct simgit *g, enum sg_actor actor, const char *doing);
int sg_act_end(struct simgit *g, enum sg_actor before, int r);
