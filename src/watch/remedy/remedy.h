#pragma once
/*
 * One remediation: a process of its own, forked from the watchdog and not executed, so that it
 * works whatever became of our programs on disk. In order, it keeps the checkout as it is under
 * refs/overseer/rescue/, writes the prompt (what is configured; what failed, who was registered,
 * the last lines of each log, the workers, git status; how to end, with the name of the file that
 * asks for a person) to logs/remediation_<time>.txt, and runs the agent with its whole output
 * appended to that log; an agent that dies is started once more. The outcome and the duration end
 * the log. SIGTERM to it ends the agent first. If the checkout cannot be kept, the agent is not
 * run; if the log cannot be written, that is said on standard error and all else is done.
 *
 * Every process of it has REMEDY_MARK=<time>@<dir> in its environment, so that remedy_sweep finds
 * what it left behind, and nothing of another store's remediation of the same second. A daemon that
 * `overseer up` starts has it no more.
 */
#include "base/ov.h"
#include "data/message/vital.h"

/* How somebody who mends is run; strings of the watchdog's spec. */
struct remedy_launch {
	/* Words in which REMEDY_PROMPT stands get the prompt there. NULL: nobody. */
	const char *const *argv;
	const char *const *env;  /* whole environment; the mark is added */
	const char *cwd;         /* absolute */
	bool prompt_on_stdin;    /* otherwise stdin is empty */
	const char *prompt_file; /* absolute, or NULL: written before it is run */
};

#define REMEDY_MARK "OVERSEER_REMEDIATION"
enum { REMEDY_MARK_MAX = 4096 + 64 };
/* Stands for the prompt in words of argv: not a text that a configuration would hold. */
#define REMEDY_PROMPT "\x02overseer-prompt\x03"

struct remedy_ask {
	const char *dir, *repo; /* absolute */
	const char *overseer;   /* the program, for what it tells of workers; NULL: not asked */
	const struct remedy_launch *launch;
	const char *configured; /* watch.remediation_prompt */
	const char *stamp;      /* <time>, as in the names of its files: 20261115T185901Z */
	enum failure failure;
	const char *text;              /* what happened, with details */
	const struct identity *daemon; /* NULL: none was registered */
};

enum remedy_status { /* exit statuses of the process */
	REMEDY_OK = 0,
	REMEDY_FAILED = 1,   /* the agent failed twice */
	REMEDY_NOT_KEPT = 2, /* the checkout could not be kept: nothing was run */
	REMEDY_ENDED = 3,    /* by SIGTERM: time is up, or the watchdog was asked to end */
};

/* Forks; the pid is of a process that leads a session of its own. */
int remedy_start(const struct remedy_ask *ask, int *ret_pid, struct ov_err *err);
/* What it must have ended; says how many processes were left. */
int remedy_sweep(const char *dir, const char *stamp, size_t *ret_killed, struct ov_err *err);
/* The value of REMEDY_MARK. */
void remedy_mark(const char *dir, const char *stamp, char ret[static REMEDY_MARK_MAX]);
/* The name of its log in dir/logs, into ret. */
void remedy_log_name(const char *stamp, char *ret, size_t size);
/*
 * The newest file in dir that asks for a person; *ret_name is empty when there is none. Its
 * beginning into text.
 */
int manual_find(const char *dir, char ret_name[static 256], char *ret_text, size_t text_size,
		struct ov_err *err);
