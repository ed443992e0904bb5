#pragma once
/*
 * What the daemon knows of its watchdog. While it is up it takes over what the watchdog writes down
 * (logs/watch.jsonl, by inotify; what was written while there was no daemon, at the start) and
 * makes an event of each act, once (command watch.report). And for whoever asks, daemon or not:
 * what watch.json says, checked against the processes that there are.
 */
#include "base/ov.h"
#include "data/value/value.h"

struct loop;
struct engine;
struct watchdog;

/*
 * Reports what is there already. What comes later cannot be had when there is no inotify: that is
 * said in the log, and no reason not to work. Loop and engine must outlive it.
 */
struct watchdog *watchdog_open(struct loop *l, const char *dir, struct engine *e);
void watchdog_close(struct watchdog *w); /* NULL allowed */

/*
 * As in status.get: null when there never was one, else state (running, remediating, stopped, gone:
 * it ended without saying so, or unknown: the file cannot be read), detail, pid, since, alive,
 * daemon_pid, daemon_uptime_ms, remediation, restarts_24h, reason, manual_file (which keeps the
 * next one from starting), last (oldest first).
 */
value *watchdog_view(struct arena *a, const char *dir, ov_time now);
/* An entry of the inbox, as of an escalation, while one has given up; else NULL. */
value *watchdog_need(struct arena *a, const char *dir, ov_time now);
