#pragma once
/* Inside the rooms of git only: the tables that calls walk (drive/git/git_call.h). */
#include "base/ov.h"

struct git_call;

/* How a command is run. */
enum git_flag {
	GIT_READS = 1,      /* takes no optional locks; short timeout */
	GIT_TEMP_INDEX = 2, /* with c->index in place of the git directory's own */
	GIT_NET = 8,        /* talks to a remote: asks nobody anything */
	GIT_WHOLE = 4,      /* never cut short by us: it changes the user's checkout, or refs */
	GIT_PREDICTS = 32,  /* writes nothing but c->objects, and confined */
	GIT_AGENTS = 16,    /* reads the objects in the agent's git folder, too */
	GIT_COUNTS = 64,    /* output beyond the bound is cut: the judge is asked all the same */
};

/* What build and judge answer; negative: enum ov_code. */
enum git_verdict {
	GIT_NEXT,   /* build: run the command; judge: continue with the next step */
	GIT_SKIP,   /* build: nothing to run here, go on */
	GIT_LEAVE,  /* this table is done, continue with the caller's */
	GIT_FINISH, /* the call is done */
	GIT_AGAIN,  /* judge: the same step once more */
};

/* How a command ended; by its own exit, since signals and timeouts end the call. */
struct git_out {
	int code;
	str out, err;
	bool cut; /* GIT_COUNTS: there was more than that */
};

struct git_step {
	const char *what;                                     /* for messages: "cannot WHAT: ..." */
	int (*build)(struct git_call *c, struct ov_err *err); /* NULL: only `sub` */
	int (*judge)(struct git_call *c, const struct git_out *o,
			struct ov_err *err); /* NULL: 0 or fail */
	bool takes; /* `judge` is asked only about a command that ended well; any other fails */
	const struct git_step
			*sub; /* instead of a command: a table, ended by a row without `what` */
	const char *inject;   /* injection point after the step */
};

/* Rows of a table. A row that runs no command has a build that answers GIT_SKIP. */
#define STEP_RUN(what_, build_, judge_, ...) \
	((struct git_step){ .what = what_, .build = build_, .judge = judge_, ##__VA_ARGS__ })
#define STEP_TAKE(what_, build_, take_, ...) \
	STEP_RUN(what_, build_, take_, .takes = true, ##__VA_ARGS__)
#define STEP_SUB(what_, build_, sub_, ...) \
	((struct git_step){ .what = what_, .build = build_, .sub = sub_, ##__VA_ARGS__ })
#define STEP_END ((struct git_step){ .what = NULL })

struct git_frame {
	const struct git_step *steps;
	size_t at;
};
