#pragma once
/*
 * The ladder of recovery: nudge, resend, replan, reassign, escalate. Which rung an episode takes
 * next, when, and why; or why it cannot help and is skipped. A function of the state, the policy
 * and what was seen.
 */
#include "base/ov.h"
#include "core/reconcile.h"

struct rung_choice {
	bool nothing; /* all rungs were taken: a person has been asked; or somebody is busy with it */
	bool diagnose; /* a model is asked first; diagnosis says about what */
	str diagnosis;
	enum rung rung;
	bool skip;
	ov_time due_at;  /* not before this */
	int quiet;       /* independent signals that are known to be quiet */
	str waiting_for; /* a person: what only a person can give; empty: it is simply silent */
	str why;
};

/* For a stalled assignment; o: of its run, or NULL when it has none that lives. */
struct rung_choice rung_next(struct arena *a, const struct world *w, const struct assignment *as,
		const struct observation *o, ov_time now);
/* How often an episode may take this rung. */
int64_t rung_cap(const struct policy *p, enum rung rung);
/* The wait after the n-th recovery of an episode: base, doubling up to the maximum. */
ov_time recovery_backoff(const struct policy *p, int64_t n);
/* The wait before the n-th try of an agent with a limit; how long runs may be silent is no part of it. */
ov_time limit_backoff(const struct policy *p, int64_t n);
/* The newest dispatch of an assignment whose delivery is in doubt, or NULL. */
const struct dispatch *dispatch_in_doubt(const struct assignment *as);
/* A nudge goes to a new run of its session: the agent takes no input while it runs. */
bool nudge_resumes(const struct world *w, const struct assignment *as);
/* Taking this rung would end its run: it waits until asking would have taken as long. */
bool rung_ends_run(const struct world *w, const struct assignment *as, enum rung rung);
/* May this rung be taken now, whoever asks? NULL, or why not. */
const char *rung_hindrance(const struct world *w, const struct assignment *as, enum rung rung,
		int quiet);
