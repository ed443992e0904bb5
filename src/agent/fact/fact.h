#pragma once
/*
 * What agents say about themselves, in one vocabulary for all of them. A fact is one such
 * statement, read from a line of an agent's output (agent/read/stream.h) or from one of its hooks
 * (agent/read/hook.h). A fact owns nothing: its texts are valid during the call that hands it over.
 *
 * Facts are what the agent claims. Nobody acts on a text in them; only kinds, names and
 * numbers count.
 */
#include "base/ov.h"

#define FACTS(X)                                                                                 \
	X(FACT_READY, "ready") /* a session begins or goes on: session, model */                 \
	X(FACT_TURN_STARTED, "turn_started")                                                     \
	X(FACT_TURN_ENDED, "turn_ended")     /* failed, trouble, status; text: its last words */ \
	X(FACT_TOOL_STARTED, "tool_started") /* id, name; text: what it was called with */       \
	X(FACT_TOOL_ENDED, "tool_ended")     /* id, name if known, failed; text: its answer */   \
	X(FACT_MESSAGE, "message")           /* text: the agent's own words */                   \
	X(FACT_USAGE, "usage")               /* usage, usage_total, cost_microusd */             \
	X(FACT_CONTEXT, "context")           /* context_used, context_window */                  \
	X(FACT_PERMISSION_WANTED, "permission_wanted") /* name: of the tool; it waits */         \
	X(FACT_PERMISSION_DENIED, "permission_denied") /* name, id; it goes on without */        \
	X(FACT_COMPACTION_STARTED, "compaction_started")                                         \
	X(FACT_COMPACTION_ENDED, "compaction_ended")                                             \
	X(FACT_RETRYING, "retrying") /* trouble, status, attempt, wait_ms: no sign of life */    \
	X(FACT_TROUBLE, "trouble")   /* trouble, status, text, resets_at or wait_ms */           \
	X(FACT_PROGRESS, "progress") /* it thinks, or writes: a sign of life, nothing else */    \
	X(FACT_THREAD, "thread") /* thread: a sub-agent with a session of its own is at work */  \
	X(FACT_MODEL, "model")   /* model: which one it is, where it was not said before */      \
	X(FACT_SESSION_ENDED, "session_ended")                                                   \
	X(FACT_NOTICE, "notice") /* text: worth showing, nothing follows from it */
#define FACT_ENUM(sym, name) sym,
enum fact_kind { FACTS(FACT_ENUM) FACT_KIND_COUNT };
#undef FACT_ENUM

/* Why an agent could not do its work, as far as it says. */
#define TROUBLES(X)                                                                             \
	X(TROUBLE_NONE, "none")                                                                 \
	X(TROUBLE_RATE_LIMITED, "rate_limited") /* out of quota: 429 */                         \
	X(TROUBLE_LOGIN, "login")               /* 401, 403, logged out */                      \
	X(TROUBLE_NETWORK, "network")           /* nobody answers */                            \
	X(TROUBLE_OVERLOADED, "overloaded")     /* 500, 503, 529 */                             \
	X(TROUBLE_REFUSED, "refused")           /* 400, 404, 422: the same again will not do */ \
	X(TROUBLE_MAX_TURNS, "max_turns")                                                       \
	X(TROUBLE_BUDGET, "budget")             /* the agent's own */                           \
	X(TROUBLE_CONTEXT, "context")           /* the conversation is too long */              \
	X(TROUBLE_LOOP, "loop")                 /* it stopped itself: it went in circles */     \
	X(TROUBLE_SESSION_LOST, "session_lost") /* what was to be resumed is not there */       \
	X(TROUBLE_INTERRUPTED, "interrupted")                                                   \
	X(TROUBLE_SANDBOX, "sandbox")       /* its own cannot start: none of its tools runs */  \
	X(TROUBLE_UNFINISHED, "unfinished") /* it ended in the middle of a turn */              \
	X(TROUBLE_OTHER, "other")
#define TROUBLE_ENUM(sym, name) sym,
enum trouble { TROUBLES(TROUBLE_ENUM) TROUBLE_COUNT };
#undef TROUBLE_ENUM

/* By which of its signs something about an agent is known. */
#define FACT_SIGNS(X)                                                         \
	X(SIGN_NONE, "none")                                                  \
	X(SIGN_STREAM, "stream") /* its output */                             \
	X(SIGN_ERRORS, "errors") /* its error output */                       \
	X(SIGN_HOOK, "hook")                                                  \
	X(SIGN_TRANSCRIPT, "transcript") /* the file it keeps of a session */ \
	X(SIGN_EXIT, "exit_code")
#define SIGN_ENUM(sym, name) sym,
enum fact_sign { FACT_SIGNS(SIGN_ENUM) FACT_SIGN_COUNT };
#undef SIGN_ENUM

/* Tokens. input counts those that were not cached. */
struct usage {
	int64_t input, output, cache_read, cache_write;
	bool untrue; /* figures that cannot be true were left out: the rest is the least it was */
};

/* The sum and the difference, per kind; sums that cannot be are held at a thousand trillions. */
struct usage usage_plus(struct usage a, struct usage b);
struct usage usage_minus(struct usage a, struct usage b);

enum {
	COST_UNKNOWN = -1,
	COST_UNTRUE = -2, /* it was told, and cannot be true: of a fact alone */
};

struct fact {
	enum fact_kind kind;
	enum fact_sign sign; /* that told it; SIGN_NONE: a hook */
	uint64_t offset; /* of the output after the line that it was read from; 0: from a hook */
	ov_time at;      /* where the agent or the hook says so; 0: it does not */
	str session, model;
	str id, name, text;
	/*
	 * In hexadecimal: of a tool's name and all that it was called with, of which the text is
	 * only what people need; or of its answer, where the text is not that. Empty: not known.
	 */
	str digest;
	bool failed;
	bool child;   /* of a sub-agent: no turn of the session itself */
	bool at_once; /* by who tells what happens when it does, also of an agent that does not */
	bool session_empty; /* of a turn that ended: the agent kept nothing that could be resumed */
	str thread;         /* of which one; empty: it does not say, or the session itself */
	enum trouble trouble;
	int status; /* of HTTP; 0: none */
	int64_t attempt;
	int64_t wait_ms;   /* until it tries again, or may be tried again; 0: it does not say */
	ov_time resets_at; /* when it may be tried again; 0: it does not say */
	struct usage usage;
	bool usage_total;      /* of the whole session so far, not to be added up */
	bool usage_advance;    /* told before it is known; what follows makes it good */
	int64_t cost_microusd; /* or COST_UNKNOWN, COST_UNTRUE; total or not as the usage is */
	int64_t context_used, context_window;
};

typedef void fact_fn(void *user, const struct fact *f);

const char *trouble_name(enum trouble t);
/* From the status of an answer of the model's server. */
enum trouble trouble_of_status(int status);
/*
 * From a message for people, where there is nothing better; TROUBLE_OTHER when it says nothing.
 * ret_status may be NULL; it is 0 when the text names none.
 */
enum trouble trouble_of_text(str text, int *ret_status);
/*
 * When it may be tried again, as far as the text says: a moment ("limit reached|1749924000"), or
 * a wait.
 */
void trouble_when(str text, ov_time *ret_resets_at, int64_t *ret_wait_ms);
/* A statement that shows that the agent gets on: retries, troubles and notices do not. */
bool fact_is_life(enum fact_kind kind);
