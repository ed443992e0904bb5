#pragma once
/*
 * Who calls an operation, and whether it may. The table of operations names the callers that each
 * is for; what the system knows of the other end of a connection makes a caller of it. Both are
 * decided here and nowhere else, for the socket and for HTTP alike. Pure.
 */
#include "base/err.h"
#include "base/ov.h"

/* Whoever was not judged at all is the first of them. */
enum caller {
	CALLER_READER, /* cannot be judged: it may look, and change nothing */
	CALLER_PERSON,
	CALLER_AGENT,    /* a process of a run, or one that may have been */
	CALLER_OVERSEER, /* the daemon itself */
	CALLER_COUNT
};

/* The column of the table: who may call. */
#define CALLERS(c) (1u << (c))
#define PEOPLE CALLERS(CALLER_PERSON)
/* Reading that costs a process: agents have no need of it. */
#define NO_AGENTS (PEOPLE | CALLERS(CALLER_OVERSEER) | CALLERS(CALLER_READER))
#define ANYBODY (NO_AGENTS | CALLERS(CALLER_AGENT))
/* What the daemon also does by itself. */
#define PEOPLE_AND_OVERSEER (PEOPLE | CALLERS(CALLER_OVERSEER))

/* What is known of the process at the other end. */
enum caller_place {
	PLACE_UNSEEN,  /* it is not a process that can be seen from here */
	PLACE_OUTSIDE, /* it was looked at, and belongs to no run */
	PLACE_RUN,     /* it belongs to a run, or to a command that runs what an agent wrote */
	PLACE_GONE,    /* it has ended: nobody can say where it was */
	PLACE_COUNT
};

struct caller_facts {
	bool own; /* no connection at all: the daemon asks itself */
	enum caller_place place;
	/* or one has ended a moment ago, or one of another store may be the caller */
	bool runs_live;
	/*
	 * HTTP: the socket's holder was looked for among the processes of the runs, and a run
	 * without a sandbox has some that could not be looked at.
	 */
	bool hidden;
};

enum caller_why { WHY_NOTHING, WHY_RUN, WHY_GONE, WHY_UNSEEN, WHY_HIDDEN, WHY_COUNT };

struct caller_verdict {
	enum caller caller;
	enum caller_why why; /* it is no person */
};

const char *caller_name(enum caller c);
struct caller_verdict caller_judge(const struct caller_facts *f);
/*
 * OV_EUNAUTHORIZED, with the reason and what to do, unless `allowed` names the caller. run: what is
 * known of the run in question ("run R_1"), may be empty.
 */
int caller_check(unsigned allowed, const char *operation, struct caller_verdict v, str run,
		struct ov_err *err);
/* "person, reader": who is named, for the documents. */
str callers_text(struct arena *a, unsigned allowed);
