#pragma once
/*
 * What the watchdog says of what it does: a line on its standard output, coloured on a terminal,
 * and a line of logs/watch.jsonl, of which the daemon makes events. A line that cannot be written
 * (a full disk) is kept and tried again with the next one; the watchdog goes on.
 */
#include "base/ov.h"
#include "data/message/vital.h"

enum {
	REPORT_LAST = 10,        /* of the newest acts, for watch.json */
	REPORT_KEPT = 64 * 1024, /* bytes of acts that could not be written yet */
};

/* How a line looks. */
enum tone { TONE_PLAIN, TONE_GOOD, TONE_BAD, TONE_WARN };

struct watch_report {
	const char *path; /* of logs/watch.jsonl */
	char watch[VITAL_INSTANCE + 1];
	bool terminal, colour, utf8;
	int64_t n; /* of the newest act */
	struct act last[REPORT_LAST];
	size_t last_n;
	struct buf kept; /* lines that are not on disk */
	bool complained; /* that they cannot be written */
	struct buf line; /* reused */
};

/* n_known: the number of an act that was certainly told already, from watch.json. */
void watch_report_init(struct watch_report *r, struct arena *a, const char *dir, const char *watch,
		int64_t n_known);
void watch_report_done(struct watch_report *r);
/* An act; instance may be empty. */
void watch_report_act(struct watch_report *r, enum act_kind kind, enum failure failure,
		const char *instance, enum tone tone, const char *fmt, ...) _printf_(6, 7);
/* Only a line for whoever looks on. */
void watch_report_say(struct watch_report *r, enum tone tone, const char *fmt, ...) _printf_(3, 4);
/* Tries again to write what is kept; true when nothing is. */
bool watch_report_flush(struct watch_report *r);
