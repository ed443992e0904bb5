#pragma once
/*
 * A repository in a temporary folder (with a space in its name), with an environment of its own:
 * no configuration of the machine's or the user's is read. sh() runs shell commands in it, with
 * $R the repository and $W the worktree, and fails the test when they fail.
 */
#include "drive/accept/git_accept.h"
#include "drive/git/git.h"
#include "drive/worktree/worktree.h"
#include "tests/test.h"

struct loop;

struct fixture {
	char dir[64], repo[128], tree[256]; /* tree: the worktree under test */
	struct loop *loop;
	struct git *git;
	char branch[64]; /* of the last ensure, for harvest */
	bool live;       /* what the agent commits is on its branch after each script */
	char since[72];  /* that a run began with, for harvest; empty: not known */
};

/* A result that outlives the callback; strings on the heap. */
struct answer {
	bool done;
	int r;
	enum git_outcome outcome;
	char base[72], head[72], tree[72], commit[72], rescue_ref[256], detail[4096], refused[1024];
	char fingerprint[72];
	int64_t commits, files_changed, lines_added, lines_removed;
	char leftover_files[GIT_LISTED_BYTES + GIT_LISTED + 1]; /* a path per line */
	bool leftovers;
	char files[GIT_LISTED_BYTES + GIT_LISTED + 1], newest[72]; /* a path per line; a commit */
	size_t files_n, listed, commit_ids_n;
	char touched[GIT_LISTED_BYTES + GIT_LISTED + 1];
	char msg[1100];
	/* of start_accept: what it does after the rebase */
	struct git *git;
	char path[256], key[240];
};

void fixture_open(struct fixture *f);
void fixture_open_live(struct fixture *f); /* for tests of what comes after a harvest */
void fixture_close(struct fixture *f);
void fixture_reopen(struct fixture *f); /* the daemon starts again */

/* Output of a script without the last newline; in a buffer that the next calls reuse in turn. */
const char *sh(const struct fixture *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int sh_status(const struct fixture *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Starting calls; the answer is filled from the loop. */
void start_ensure(struct fixture *f, const char *branch, const char *ref, struct answer *ret);
/* As start_ensure, going on from a commit. */
void start_ensure_at(struct fixture *f, const char *branch, const char *start, const char *ref,
		struct answer *ret);
void start_harvest(struct fixture *f, const char *base, const char *ref, struct answer *ret);
/* A rebase, then the move of the target; kept at refs/overseer/accepted/KEY. */
void start_accept(struct fixture *f, const char *branch, const char *key, const char *message,
		struct answer *ret);
/* Keeps at refs/overseer/rescue/KEY; the message is "Task". */
void start_rebase(struct fixture *f, const char *branch, const char *key, const char *remote,
		struct answer *ret);
void start_advance(struct fixture *f, const char *candidate, const char *key, const char *remote,
		struct answer *ret);
void start_revert(struct fixture *f, const char *commit, const char *key, struct answer *ret);
void start_pick(struct fixture *f, const char *key, struct answer *ret);
void start_restore(struct fixture *f, const char *ref, struct answer *ret);
void start_remove(struct fixture *f, const char *ref, struct answer *ret);
/* Turns the loop until the answer is there. */
void finish(struct fixture *f, struct answer *a);

/* The same, waited for; these fail the test when the call fails. */
struct answer ensure(struct fixture *f, const char *branch);
struct answer harvest(struct fixture *f, const char *base);
struct answer accept_key(struct fixture *f, const char *branch, const char *key);
struct answer rebase(struct fixture *f, const char *branch, const char *key);
struct answer advance(struct fixture *f, const char *candidate, const char *key);
struct answer revert(struct fixture *f, const char *commit, const char *key);
struct answer pick(struct fixture *f, const char *key);
struct answer predict(struct fixture *f, const char *a, const char *b); /* may fail: see r */
struct answer rescue(struct fixture *f, const char *path, const char *ref);
struct answer rescue_since(struct fixture *f, const char *path, const char *base, const char *ref);
struct answer restore(struct fixture *f, const char *ref);
struct answer remove_tree(struct fixture *f);
struct answer fingerprint(struct fixture *f); /* may fail: see r */

/* The content of a ref is the content of the folder: names, bytes, modes, links. */
void assert_same_content(struct fixture *f, const char *ref, const char *folder);

#define assert_sh(f, want, ...) assert_string_equal(sh((f), __VA_ARGS__), (want))
