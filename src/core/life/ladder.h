#pragma once
/*
 * The ladder of recovery: nudge, resend, replan, reassign, escalate. Which rung an episode takes
 * next, when, and why; or why it cannot help and is skipped. A function of the state, the policy
 * and what was seen.
 */
#include "base/ov.h"
#include "core/model/telemetry.h"
#include "core/state/world.h"

/*
 * What the next rung depends on, as plain facts: of a stall at hand (climb_of), or of one that is
 * only thought of (core/life/timeline).
 */
struct climb {
	const struct policy *policy;
	int32_t rungs[RUNG_COUNT]; /* taken or skipped so far */
	enum rung recovery;        /* the first rung after the nudges */
	int64_t recoveries;        /* taken */
	ov_time episode_at, recovered_at, backoff_until;
	ov_time asked_at;      /* when its run was last told something; 0: not yet */
	ov_time stalled_at;    /* in this silence; time in an outage does not count */
	bool running;          /* there is a run */
	bool input, resumes;   /* which takes input; whose session a new run could resume */
	bool in_doubt;         /* whether the last request arrived */
	bool asks_person;      /* a permission or a question is open */
	int quiet;             /* as in struct rung_choice */
	const char *no_replan; /* why the planner cannot split the node; NULL: it can */
};
#define NO_PLANNER "no planner is configured"

/* o as for rung_next. */
struct climb climb_of(const struct world *w, const struct assignment *as,
		const struct observation *o);
/*
 * The next rung, or RUNG_COUNT; why it cannot help, or NULL; when it is due; does it end the run?
 */
int climb_rung(const struct climb *c);
const char *climb_hindrance(const struct climb *c, enum rung rung);
ov_time climb_due(const struct climb *c, enum rung rung, ov_time now);
bool climb_ends_run(const struct climb *c, enum rung rung);

struct rung_choice {
	/* all rungs were taken: a person has been asked; or somebody is busy with it */
	bool nothing;
	bool diagnose; /* a model is asked first; diagnosis says about what */
	str diagnosis;
	enum rung rung;
	bool skip;
	ov_time due_at;  /* not before this */
	int quiet;       /* independent signals that are known to be quiet */
	str waiting_for; /* a person: what only a person can give; empty: it is simply silent */
	str why;
};

/* Which rung a model advised; -1: none, or one that was taken as often as it may be. */
int rung_advised(struct arena *a, const struct policy *p, const struct node *n);
/*
 * Will a model be asked before the node is split or taken over? It may still find that it
 * was asked.
 */
bool rung_may_diagnose(const struct world *w, const struct node *n);
/* For a stalled assignment; o: of its run, or NULL when it has none that lives. */
struct rung_choice rung_next(struct arena *a, const struct world *w, const struct assignment *as,
		const struct observation *o, ov_time now);
/* How often an episode may take this rung. */
int64_t rung_cap(const struct policy *p, enum rung rung);
/* The wait after the n-th recovery of an episode: base, doubling up to the maximum. */
ov_time recovery_backoff(const struct policy *p, int64_t n);
/*
 * The wait before the n-th try of an agent with a limit; how long runs may be silent is no part
 * of it.
 */
ov_time limit_backoff(const struct policy *p, int64_t n);
/* The newest dispatch of an assignment whose delivery is in doubt, or NULL. */
const struct dispatch *dispatch_in_doubt(const struct assignment *as);
/* A nudge goes to a new run of its session: the agent takes no input while it runs. */
bool nudge_resumes(const struct world *w, const struct assignment *as);
/* Taking this rung would end its run: it waits until asking would have taken as long. */
bool rung_ends_run(const struct world *w, const struct assignment *as, enum rung rung);
/*
 * When a person is asked for whom the run waits. 0: it waits for nobody, or they have closed its
 * question, and silence decides again. OV_TIME_MAX: they have the question before them.
 */
ov_time person_asked_at(const struct world *w, const struct assignment *as,
		const struct observation *o);
/*
 * When a person is told of a run that lives and shows nothing (struct voice); OV_TIME_MAX: not,
 * or they were.
 */
ov_time mute_told_at(const struct world *w, const struct assignment *as,
		const struct observation *o, ov_time now);
/* May this rung be taken now, whoever asks? NULL, or why not. */
const char *rung_hindrance(const struct world *w, const struct assignment *as, enum rung rung,
		int quiet);
