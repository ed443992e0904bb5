#pragma once
/*
 * A run's facts as lines for people: what the agent said, which tools it called and how that went,
 * what held it up, and what it used. It says what a line is; the caller colours and cuts it, and
 * cleans its texts, which are the agent's. It owns its texts; a line is valid during the call.
 */
#include "agent/fact/account.h"

#define RENDER_ROLES(X)                                                                \
	X(RENDER_SESSION, "session") /* name: the session; text: the model */          \
	X(RENDER_TURN, "turn")       /* a further turn begins; note: which */          \
	X(RENDER_WORDS, "words")     /* text: of many lines */                         \
	X(RENDER_TOOL, "tool")       /* name, text: its input; note: "3 s, failed" */  \
	X(RENDER_ANSWER, "answer")   /* text: the first words of a tool that failed */ \
	X(RENDER_DENIED, "denied")   /* name; text: why */                             \
	X(RENDER_HELD, "held")       /* text: it retries, compacts or waits */         \
	X(RENDER_TROUBLE, "trouble") /* name: of the trouble; text, note: status */    \
	X(RENDER_NOTICE, "notice")   /* text */                                        \
	X(RENDER_SUM, "sum")         /* text: "2 turns, 3 tool calls, 480 tokens" */
#define RENDER_ENUM(sym, name) sym,
enum render_role { RENDER_ROLES(RENDER_ENUM) RENDER_ROLE_COUNT };
#undef RENDER_ENUM

struct render_line {
	enum render_role role;
	bool failed, child; /* child: of a sub-agent */
	str name, text, note;
};

typedef void render_fn(void *user, const struct render_line *l);

struct render_call {
	char id[ACCOUNT_NAME], name[ACCOUNT_NAME], input[256];
	ov_time at;
	bool child;
};

struct render {
	render_fn *fn;
	void *user;
	bool live; /* calls are shown when they begin, too */
	struct account account;
	struct render_call calls[ACCOUNT_TOOLS]; /* that are not over, oldest first */
	size_t calls_n;
	char trouble[256]; /* that was shown last: the result repeats it */
	bool spoke;
};

void render_init(struct render *r, bool live, render_fn *fn, void *user);
void render_fact(struct render *r, const struct fact *f);
/* What is still open, and the sum. ended: the run has ended, so that what is open will stay so. */
void render_end(struct render *r, bool ended);
