#pragma once
/* The daemon's parts as its own files see them. Private to app. */
#include "app/daemon/daemon.h"
#include "app/daemon/daemon_files.h"
#include "app/engine/engine.h"
#include "app/exec/executor.h"
#include "app/ops/ops.h"
#include "app/store/safe_mode.h"
#include "app/vital/beat.h"
#include "app/vital/capacity.h"
#include "app/vital/health.h"
#include "base/arena.h"
#include "base/list.h"
#include "core/config/config.h"
#include "net/httpd.h"
#include "net/rpcd.h"
#include "net/ssehub.h"
#include "sys/loop/loop.h"
#include "sys/loop/notify.h"

struct daemon {
	struct daemon_options own; /* as it was started; `auto start` may add to them */
	const struct daemon_options *o;
	struct arena arena; /* lives as long as the daemon: paths, identity */
	struct loop *loop;
	struct config *config;
	struct engine *engine;
	struct executor *executor;
	struct watchdog *watchdog;
	struct rpcd *rpcd;
	struct httpd *httpd;
	struct ssehub *hub;
	struct op_daemon self;
	const char *socket_path, *target_branch;
	str token;
	struct safe_mode safe;
	struct ov_err refusal; /* in safe mode: what whoever wants to change something is told */
	bool partly_read;      /* the start began with a snapshot */
	char snapshot_damage[512]; /* why it could not, or not with the newest; empty: it is well */

	struct loop_source *after, *wake, *wake_steady, *drain, *archive, *failed, *signals[3];
	struct list followers; /* of events, over the socket */
	struct list log_waits; /* calls of run.log that wait for output */
	struct list children;  /* calls that processes of their own answer */

	str caller; /* name of the last caller, owned */
	uid_t caller_uid;
	char refused[160]; /* the last refusal in the log, and when that was */
	uint64_t refused_us;
	bool stopping, store_failing, archiving;
	char store_trouble[1100]; /* while it is failing */
	struct health_log health;
	struct notify manager;
	struct beat *beat;
	uint64_t progress;         /* of the heartbeat */
	uint64_t progress_mark;    /* what was observed of runs at the last beat */
	bool registered, degraded; /* as health.jsonl has it */
	bool fenced; /* the store is another daemon's, and so is what is written about us */
	struct daemon_files files;
	enum ending ending; /* what becomes of its runs when it ends */
	bool halting;       /* it cannot go on: runs are being stopped, then it is */
	bool hurried;       /* and was asked to end meanwhile */
	const char *stop_reason;
	int exit_status;
	ov_time pruned_at;           /* rescue refs; 0: not yet known */
	struct clock_offsets clocks; /* as the log knows them */
	char capacity[CAPACITY_TEXT];
};

/* server.c: calls from the socket and from HTTP. */
void server_call(void *user, struct rpc_call *call);
void server_published(struct daemon *d, const struct event *const *events, size_t n);
void server_run_changed(void *user, str run_id);
void server_done(struct daemon *d);

/* child.c: calls that are answered by a process of their own. */
void child_call(struct daemon *d, struct rpc_call *call);
/*
 * Has the whole store verified once by a process of its own: a start reads only what came after the
 * snapshot. Damage leads to safe mode.
 */
void child_verify(struct daemon *d);
/* Has old rescue refs pruned, at most once a day while there is work. */
void child_published(struct daemon *d, const struct event *const *events, size_t n);
/* Forgets them; the processes are ended. */
void child_done(struct daemon *d);

/* http.c */
int http_open(struct daemon *d, struct ov_err *err);
void http_close(struct daemon *d);

/* register.c: who we are, and telling it. */
void identity_init(struct daemon *d);
/* The lease's holder text, in the daemon's arena. */
str identity_holder(struct daemon *d);
int register_write(struct daemon *d, struct ov_err *err);
void register_remove(struct daemon *d);

/* daemon_vital.c: what is said of our health, and to whom. */
void daemon_trouble_changed(struct daemon *d);
/* The store refuses to be written, or can be again (NULL). */
void daemon_store_failed(struct daemon *d, const struct ov_err *err);
/* We are registered. */
void daemon_up(struct daemon *d);
/* We do not come up. */
void daemon_not_up(struct daemon *d, const struct ov_err *err);
/* We begin to end. */
void daemon_ends(struct daemon *d);
void daemon_vital_published(struct daemon *d, const struct event *const *events, size_t n);
/* The last that is heard of us. */
void daemon_ended(struct daemon *d, int status);

/* daemon_store.c: the store, its state and the engine on it; safe mode when it is damaged. */
int daemon_open_engine(struct daemon *d, const struct engine_world *world, struct ov_err *err);
/*
 * The store was found to be damaged while it is in use: from now on nothing is written or started.
 */
void daemon_damaged(struct daemon *d, str reason);
/* All else was verified: a new snapshot in place of one that is damaged, if one is. */
void daemon_snapshot_again(struct daemon *d);

/* Lets what is cold be moved to the archive, a piece at a time, with pauses for everybody else. */
void daemon_archive_later(struct daemon *d);
void daemon_archive(void *user);

/* daemon_clock.c: from now on the machine's clocks are followed. */
void daemon_clock_open(struct daemon *d);
/* Says so where the machine was restarted since the last daemon. */
void daemon_clock_log_boot(const struct daemon *d, const char *boot);

/* target.c: sets the target branch, which the configuration leaves open. */
int daemon_choose_target(struct daemon *d, struct ov_err *err);

/* daemon.c */
struct config_source {
	const char *dir;
	const char *target;             /* where the file names none */
	const struct daemon_options *o; /* NULL: there is no daemon */
};
int daemon_load_config(const struct config_source *from, struct config **ret, struct ov_err *err);
void daemon_stop(struct daemon *d, const char *reason);
void daemon_end(struct daemon *d, const char *reason, enum ending ending);
/* From now on there is so much time for what is under way to end, and no more. */
void daemon_drain(struct daemon *d);
int daemon_reload(struct daemon *d, struct ov_err *err);

/* daemon_auto.c */
/* Auto mode is on from now on, or off, as this daemon was started. */
void daemon_auto_start(struct daemon *d);
/*
 * A person wants it on: from now on this daemon is one that was started for it, with these options.
 * Refused, with nothing changed, when something is missing.
 */
int daemon_auto_allow(struct daemon *d, const struct pr_auto_start *p, struct ov_err *err);
/* It is off: the daemon stops for this reason. */
void daemon_auto_stop(struct daemon *d, const char *reason);

/* daemon_fail.c: the end of a daemon that cannot go on. */
struct daemon_failure {
	const char *cause; /* as the core knows it */
	int exit_status;
	const char *text;
};
/* It cannot: recorded first, and carried out when that is durable. */
void daemon_fail(struct daemon *d, const struct daemon_failure *f);
void daemon_fail_published(struct daemon *d, const struct event *const *events, size_t n);
/* After each iteration, while it fails: ends it when no run is left, or the time is up. */
void daemon_fail_step(struct daemon *d);
