#pragma once
/*
 * Asking the pool of tasks: a command that outlives us. Its output goes to files below pool/ in the
 * store's folder that are named by the question, and its exit status to one more when it has ended,
 * so that an answer is there until it is known to be stored, whatever happens to the daemon.
 * Whether it still runs is told by a lock that it holds. A question is asked once: whoever asks it
 * again gets the same answer, or waits for it.
 */
#include "base/ov.h"
#include "core/plan/pool.h"

struct loop;
struct pool_question;
struct state;

struct pool_spec {
	struct loop *loop;
	const char *dir, *repo; /* the store's folder; where the command runs */
	str question, worker;   /* the effect's id; for whom */
	str command;
	const char *const *env;    /* besides our own names */
	ov_time asked_at, timeout; /* it has so long, from then on */
};

/* Texts are valid during the call, after which the question is gone. */
typedef void pool_done_fn(void *user, const struct pool_end *end, str errors);

/* done comes from the loop, never from here; on failure it never comes. */
int pool_ask(const struct pool_spec *s, pool_done_fn *done, void *user, struct pool_question **ret,
		struct ov_err *err);
/* Lets go of it: the command goes on, and its answer waits in its file. */
void pool_leave(struct pool_question *q);
/* Its answer is stored: the files go. */
void pool_forget(const char *dir, str question);
/* Removes what a crash left of questions whose answer is stored. */
void pool_tidy(const char *dir, const struct state *s);

/*
 * A task that was given out and that the store knows nothing of: it was restored, or is
 * another one.
 */
struct pool_orphan {
	str question, text;
};
int pool_orphans(struct arena *a, const char *dir, const struct state *s, struct pool_orphan **ret,
		size_t *ret_n, struct ov_err *err);
