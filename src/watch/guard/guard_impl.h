#pragma once
/*
 * The inside of overseer-watch: one struct that owns everything, and the parts that work on it.
 * Memory is taken at the start; what an event needs comes from one arena that is emptied after it.
 */
#include "base/arena.h"
#include "base/ov.h"
#include "data/message/vital.h"
#include "watch/guard/daemon.h"
#include "watch/guard/judge.h"
#include "watch/guard/machine.h"
#include "watch/guard/report.h"
#include "watch/guard/spec.h"
#include "watch/guard/vitals.h"

#define WATCH_LOCK "watch.lock"

enum {
	WATCH_KILL_MS = 10 * 1000, /* that a killed process has to be gone */
	WATCH_QUEUE = 8,
	WATCH_REASON = 1024,
	WATCH_STAMP = 32,
};

/* A remediation that runs. */
struct mending {
	struct proc proc; /* pidfd -1: none */
	bool child;       /* ours, so that its status is known */
	uint64_t start_time;
	char stamp[WATCH_STAMP];
	ov_time since;
	int64_t begun_ms, due_ms;
	enum failure failure;
	bool overdue; /* it took too long */
};

struct guard {
	struct spec spec;
	const char *const *env; /* of the start command */
	struct arena arena;     /* what lives as long as we do */
	struct arena scratch;   /* emptied after each event */
	struct identity self;
	ov_time started_at;
	int lock, signals;

	enum watch_state state;
	ov_time since;
	int64_t due_ms; /* -1: no deadline */
	enum watch_event queue[WATCH_QUEUE];
	size_t queue_n;
	bool asked; /* to end */
	int exit_status;
	char reason[WATCH_REASON]; /* why it gave up, or ended */
	bool unsaved, save_failed;
	int64_t saved_n; /* the newest act in watch.json */

	struct watched_daemon daemon;
	ov_time daemon_since;
	struct identity found; /* by whoever said WE_FOUND */
	struct identity known; /* of an earlier watchdog; empty instance: none */
	int64_t known_ms;      /* when that one registered */
	bool restarted;        /* the next start is one after a failure */
	bool told_healthy, told_degraded;
	int64_t asked_ms; /* when it was asked to end; -1 */
	bool killed;

	struct vitals vitals;
	enum failure failure; /* of the daemon, until it is judged */
	char failure_text[VITAL_TEXT + 1];
	bool failure_told;
	int64_t healthy_ms;     /* before it */
	struct identity failed; /* who it was, for the remediation; empty instance: nobody */

	struct judge judge;
	struct mending mending;
	struct watch_report report;
};

int64_t watch_mono_ms(void);
/* To be handled after what is being handled now. */
void watch_post(struct guard *w, enum watch_event e);
/* Handles it now, and whatever that leads to. */
void watch_handle(struct guard *w, enum watch_event e);

/* loop.c: one turn. */
int loop_open(struct guard *w, struct ov_err *err);
void loop_turn(struct guard *w);

/* guard.c: the actions about the daemon. */
void guard_look(struct guard *w);
void guard_adopt(struct guard *w);
void guard_start(struct guard *w);
void guard_register(struct guard *w);
void guard_check(struct guard *w);
void guard_overdue(struct guard *w);
void guard_terminate(struct guard *w);
void guard_kill(struct guard *w);
void guard_judge(struct guard *w);
void guard_wait(struct guard *w);
/* Something came to its ears: a registration, lines of health. */
void guard_heard(struct guard *w, struct vitals_news news);
/* The daemon, or the command that was to start it, has ended. */
void guard_ended(struct guard *w);

/* mend.c: those about remediations. */
bool mend_underway(struct guard *w);
void mend_start(struct guard *w);
void mend_resume(struct guard *w);
void mend_end(struct guard *w);
void mend_kill(struct guard *w);
void mend_conclude(struct guard *w);
void mend_over(struct guard *w); /* tells how it ended, and forgets it */

/* saved.c: watch.json. */
void saved_write(struct guard *w);
/* Does the file name us? It may have been removed. */
bool saved_stands(struct guard *w);
/*
 * What a watchdog before us left: history, daemon, remediation. Returns the number of its last act.
 */
int64_t saved_read(struct guard *w);
