#pragma once
/*
 * Logs of the commands that people configure, for people: logs/NAME.log in the store's folder. An
 * entry is one line with time, worker and what was done, then the command's whole output, each line
 * of it indented, so that none can be taken for an entry. Secrets are taken out. A log that has
 * grown beyond JOURNAL_BYTES becomes NAME.log.1, and so on up to JOURNAL_KEPT. A log that cannot be
 * written is told once, in the daemon's own log, and never holds up the work.
 */
#include "base/ov.h"

enum { JOURNAL_BYTES = 4 * 1024 * 1024, JOURNAL_KEPT = 4 };

struct journal;

/* dir: where the logs lie; it is made when something is written. */
struct journal *journal_new(const char *dir);
struct journal *journal_free(struct journal *j); /* returns NULL */
/* worker, output: may be empty. head: one line. */
void journal_write(struct journal *j, const char *name, str worker, str head, str output);
