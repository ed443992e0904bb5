#pragma once
/*
 * The tick: a function from the state, the policy, what was observed, and the time, to decisions.
 * No IO, no clock, no globals. Decisions come in a stable order, and wake_at is the next moment at
 * which the answer can change without anything happening.
 */
#include "base/ov.h"
#include "core/model/silence.h"
#include "core/model/telemetry.h"
#include "core/state/world.h"
#include "data/value/value.h"

#define DECISIONS(X)                                                             \
	X(DEC_QUEUE, "queue", "its dependencies are met")                        \
	X(DEC_UNQUEUE, "unqueue", "a dependency was reopened")                   \
	X(DEC_ASSIGN, "assign", "it is ready, and a worker is free")             \
	X(DEC_NO_AGENT, "no_agent", "no configured agent can take it")           \
	X(DEC_NO_WORKER, "no_worker", "the worker that it was given to is gone") \
	X(DEC_START, "start", "the workspace is ready")                          \
	X(DEC_EFFECT, "effect", "the pipeline's next step")                      \
	X(DEC_GOAL_END, "goal_end", "all of its nodes are finished")             \
	X(DEC_ACTIVITY, "activity", "a sign of life was seen")                   \
	X(DEC_STALL, "stall", "no sign of life for too long")                    \
	X(DEC_REVIVE, "revive", "a stalled run shows signs of life")             \
	X(DEC_RUNG, "recover", "the next rung of the ladder")                    \
	X(DEC_DIAGNOSE, "diagnose", "a model is asked what to do")               \
	X(DEC_FINISH, "finish", "it reported done, and is quiet")                \
	X(DEC_OVERDUE, "overdue", "the run takes too long")                      \
	X(DEC_MUTE, "mute", "the run is busy, but shows nothing of it")          \
	X(DEC_ASK, "ask", "the agent waits for a person's permission")           \
	X(DEC_OUTAGE, "outage", "too many fell silent at once")                  \
	X(DEC_OUTAGE_OVER, "outage_over", "not so many are silent any more")     \
	X(DEC_UNBLOCK, "unblock", "the time that it waited for came")            \
	X(DEC_REMIND, "remind", "a person is still needed")                      \
	X(DEC_RAISE, "raise", "a person wanted to be asked again now")           \
	X(DEC_YIELD, "yield", "it has to wait; others need the worker")          \
	X(DEC_BUDGET, "budget", "its use came to another level of its budget")   \
	X(DEC_BUDGET_STOP, "budget_stop", "its goal's budget is spent")          \
	X(DEC_SETTLED, "settled", "what a person was asked for is there")        \
	X(DEC_WORKER, "worker", "a person wants the worker reset or removed")    \
	X(DEC_POOL, "pool", "a worker of auto mode has nothing to do")           \
	X(DEC_AUTO_PAUSE, "auto_pause", "too many tasks in a row were given up") \
	X(DEC_AUTO_ABSORB, "auto_absorb", "auto mode is paused for the same")    \
	X(DEC_AUTO_RESUME, "auto_resume", "the entry of its pause was closed")   \
	X(DEC_TASK_BUDGET, "task_budget", "the task has used up its budget")     \
	X(DEC_AGENT_FAILING, "agent_failing", "it failed too often in a row")    \
	X(DEC_AGENT_ABSORB, "agent_absorb", "its agent is out of service")       \
	X(DEC_HALT, "halt", "the daemon cannot go on: its session waits")        \
	X(DEC_REVIEW, "review", "a run was judged: an iteration is made of it")  \
	X(DEC_LOOP, "loop", "a run makes the same call again and again")         \
	X(DEC_CHECKOUT, "checkout", "work waits for the user's checkout")        \
	X(DEC_NOTIFY, "notify", "people outside are to be told")                 \
	X(DEC_HEALTH, "health", "the goal is better or worse off than it was")   \
	X(DEC_EXPIRE, "expire", "nobody answered in time")
#define DEC_ENUM(sym, name, why) sym,
enum decision_kind { DECISIONS(DEC_ENUM) DECISION_KIND_COUNT };
#undef DEC_ENUM

struct decision {
	enum decision_kind kind;
	const struct goal *goal;
	const struct node *node;
	const struct assignment *assignment;
	const struct run *run; /* review */
	str agent, worker;     /* assign; for whom the pool is asked */
	bool new_worker;
	enum worker_kind worker_kind; /* of a new one */
	enum effect_kind effect;      /* effect */
	enum rung rung;               /* recover */
	bool skip;
	int quiet;       /* signals that are known to be quiet */
	str waiting_for; /* recover: what only a person can give the run */
	int64_t calls;   /* loop: so many in a row were the same, this one */
	str call;
	bool output;        /* it is a line of its output, not a call */
	ov_time at, due_at; /* activity */
	enum life_sign sign;
	const value *evidence;               /* stall */
	str diagnosis;                       /* diagnose: hash of what it is about */
	const struct notice *notice;         /* notify */
	const struct escalation *escalation; /* remind, raise, expire */
	size_t silent, live;                 /* outage */
	enum budget_level level;             /* budget, with the resource that gives it */
	enum resource resource;
	int64_t used, limit;
	str why;
};

struct decisions {
	struct decision *p; /* in the arena */
	size_t n;
	const struct run **
			looks; /* runs to be looked at; no state depends on it, so it is no event */
	size_t looks_n;
	ov_time wake_at; /* OV_TIME_MAX: only an event can change the answer */
};

struct decisions reconcile(struct arena *a, const struct world *w, const struct telemetry *t,
		ov_time now);
/* Assignments about which a daemon that ends still has something to do. */
size_t ending_left(const struct state *s, enum ending ending);
/* For qsort over pointers: the order in which nodes are assigned, and assignments go on. */
int node_order(const void *pa, const void *pb);
int assignment_order(const void *pa, const void *pb);
const char *decision_name(enum decision_kind kind);
/* What names it: the same decision about the same thing has the same key at every tick. */
str decision_key(struct arena *a, const struct decision *d);
value *decisions_view(struct arena *a, const struct decisions *d);
