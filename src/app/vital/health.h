#pragma once
/*
 * What the daemon says of its health: lines of health.jsonl (data/message/vital.h), which the
 * watchdog reads as they come. Written with or without a watchdog, since they also explain a daemon
 * that is gone. One line is one write, so that no reader ever finds a mixed one. A file that has
 * grown beyond HEALTH_BYTES becomes health.jsonl.1. A line that cannot be written is told once, in
 * the daemon's own log, and never holds up the work.
 */
#include "base/ov.h"
#include "data/message/vital.h"

struct health_log {
	const char *path, *instance; /* borrowed */
	int fd;                      /* kept open: a folder that is locked up does not stop it */
	bool torn;                   /* the last line may have no end */
	bool told;                   /* that it cannot be written */
};

/* Touches nothing yet. */
void health_init(struct health_log *h, const char *path, const char *instance);
void health_done(struct health_log *h);
/* Secrets are taken out of the text. */
void health_say(struct health_log *h, enum health_kind kind, const char *fmt, ...) _printf_(3, 4);
