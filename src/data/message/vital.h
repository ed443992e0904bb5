#pragma once
/*
 * The vital signs: the files in the store's folder by which the daemon and its watchdog know each
 * other, their names and their shapes, in one place for both. Text in, struct out and back; no IO.
 * Structs are plain values without pointers, so that whoever reads them owns nothing.
 *
 *   daemon.json          written by the daemon: who it is
 *   heartbeat            written by the daemon's main loop while somebody wants it, in place
 *   health.jsonl         appended by the daemon: what happened to its health
 *   watch.json           written by the watchdog: who it is, and what it is doing
 *   logs/watch.jsonl     appended by the watchdog: what it did; the daemon makes events of it
 *   manual_intervention_needed_<time>.txt   left by a remediation that needs a person
 */
#include "base/buf.h"
#include "base/ov.h"
#include "data/value/value.h"

#define VITAL_DAEMON "daemon.json"
#define VITAL_HEARTBEAT "heartbeat"
#define VITAL_HEALTH "health.jsonl"
#define VITAL_WATCH "watch.json"
#define VITAL_ACTS "logs/watch.jsonl"
/* Of the file by which a remediation says that a person is needed; ".txt" ends it. */
#define VITAL_MANUAL "manual_intervention_needed_"
/* Of a remediation's log and of the checkout that it kept; the same time ends each. */
#define VITAL_REMEDIATION "remediation_"

enum {
	VITAL_INSTANCE = 16,       /* hexadecimal digits */
	VITAL_TEXT = 400,          /* bytes of a line's text, at most */
	VITAL_FILE_MAX = 64 << 10, /* daemon.json, watch.json */
	HEARTBEAT_BYTES = 512, /* exactly: written in place, so that a full disk does not stop it */
	HEALTH_BYTES = 256 << 10, /* then health.jsonl becomes health.jsonl.1 */
	ACTS_BYTES = 1 << 20,     /* then logs/watch.jsonl becomes logs/watch.jsonl.1 */
};

/*
 * Exit statuses of the daemon. Those below 20 are of enum ov_code: it could not start, or had to
 * end for that reason.
 */
#define DAEMON_EXITS(X)                                                             \
	X(DAEMON_ENDED, 0, "ended as it was asked to")                              \
	X(DAEMON_AUTO_FAILED, 20, "auto mode cannot go on: a command of it failed") \
	X(DAEMON_STORE_LOST, 21, "the store's file was removed or replaced while it was in use")
#define DAEMON_EXIT_ENUM(id, status, text) id = (status),
enum daemon_exit { DAEMON_EXITS(DAEMON_EXIT_ENUM) };
#undef DAEMON_EXIT_ENUM
/* What a status of the daemon means, for people; a static text. */
const char *daemon_exit_text(int status);

/* Exit statuses of the watchdog; 2 and 4 as of every other program. */
#define WATCH_EXITS(X)                                                                             \
	X(WATCH_ENDED, 0, "ended as it was asked to, and so did the daemon")                       \
	X(WATCH_SPIRAL, 21, "the daemon failed again after it had been mended")                    \
	X(WATCH_MANUAL, 22, "a file manual_intervention_needed_<time>.txt asks for a person")      \
	X(WATCH_TOO_MANY, 23, "the daemon was started again watch.max_restarts times in 24 hours") \
	X(WATCH_STUCK, 24, "the daemon cannot be ended")                                           \
	X(WATCH_AT_ONCE, 130, "asked to end a second time: at once, the daemon left as it was")
#define WATCH_EXIT_ENUM(id, status, text) id = (status),
enum watch_exit { WATCH_EXITS(WATCH_EXIT_ENUM) };
#undef WATCH_EXIT_ENUM

/* A process for good: pids come again, and so do start times after a reboot. */
struct identity {
	int pid;
	uint64_t start_time; /* clock ticks since boot */
	char boot_id[37];
	char instance[VITAL_INSTANCE + 1];
};

/* From daemon.json or watch.json; false when it is not complete. */
bool identity_read(const value *v, struct identity *ret);
/* Puts pid, start_time, boot_id and instance_id. */
void identity_put(struct arena *a, value *v, const struct identity *id);
bool identity_eq(const struct identity *a, const struct identity *b);

/*
 * One beat. Counters only grow, and whoever watches them measures time by a clock of its own, so
 * that no clock has to be right.
 */
struct heartbeat {
	char instance[VITAL_INSTANCE + 1];
	uint64_t loop;     /* iterations of the main loop */
	uint64_t progress; /* grows whenever work moves: events, and signs of life of runs */
	bool due;          /* there is work that should move without a person */
	bool degraded;     /* it cannot do its work, and a restart would not help */
	ov_time at;        /* for people */
};

/* HEARTBEAT_BYTES, a line of JSON filled up with spaces. */
void heartbeat_write(const struct heartbeat *h, struct buf *out);
/* False for anything but a whole beat, a torn one for example. */
bool heartbeat_read(str text, struct heartbeat *ret);

/* What the daemon says of its health. */
#define HEALTH_KINDS(X)                                                             \
	X(HEALTH_STARTED, "started", "it is up")                                    \
	X(HEALTH_DEGRADED, "degraded", "it goes on, but cannot do all of its work") \
	X(HEALTH_RESTORED, "restored", "it can do all of its work again")           \
	X(HEALTH_FAILED, "failed", "it cannot go on, and ends")                     \
	X(HEALTH_REQUESTED, "requested", "a person asked it to end")                \
	X(HEALTH_STOPPED, "stopped", "it has ended; the text is its exit status")
#define HEALTH_ENUM(id, name, help) id,
enum health_kind { HEALTH_KINDS(HEALTH_ENUM) HEALTH_COUNT };
#undef HEALTH_ENUM

struct health {
	enum health_kind kind;
	char instance[VITAL_INSTANCE + 1];
	ov_time at;
	char text[VITAL_TEXT + 1]; /* cut when it is longer */
};

const char *health_kind_name(enum health_kind k);
/* {"time", "instance", "kind", "text"} and a line's end. */
void health_write(const struct health *h, struct buf *out);
/* One line without its end; false when it is none of ours. */
bool health_read(str line, struct health *ret);

/* What the watchdog does. */
#define ACT_KINDS(X)                                                                          \
	X(ACT_WATCHING, "watching", "it began to watch")                                      \
	X(ACT_STARTED, "started", "it started the daemon")                                    \
	X(ACT_ADOPTED, "adopted", "it found a running daemon and watches it")                 \
	X(ACT_HEALTHY, "healthy", "the daemon registered and its heart beats")                \
	X(ACT_DEGRADED, "degraded", "the daemon said that it cannot do all of its work")      \
	X(ACT_FAILED, "failed", "the daemon failed")                                          \
	X(ACT_TERMINATED, "terminated", "it ended the daemon")                                \
	X(ACT_REMEDIATING, "remediating", "an agent was asked to mend what is wrong")         \
	X(ACT_REMEDIATED, "remediated", "that came to an end")                                \
	X(ACT_WAITING, "waiting", "the daemon was stopped by request; it waits for the next") \
	X(ACT_GAVE_UP, "gave_up", "it stopped, since a person is needed")                     \
	X(ACT_LEFT, "left", "it was asked to end")
#define ACT_ENUM(id, name, help) id,
enum act_kind { ACT_KINDS(ACT_ENUM) ACT_COUNT };
#undef ACT_ENUM

/* Why the watchdog acted. A stall is restarted; what else it is, is remediated first. */
#define FAILURES(X)                                                                            \
	X(FAILURE_NONE, "none", "")                                                            \
	X(FAILURE_DIED, "died", "the daemon ended without being asked to")                     \
	X(FAILURE_UNREGISTERED, "unregistered", "the daemon was started but never registered") \
	X(FAILURE_HEARTBEAT, "heartbeat", "the daemon's main loop does not turn")              \
	X(FAILURE_HEALTH, "health", "the daemon said that it cannot go on")                    \
	X(FAILURE_IDENTITY, "identity", "another process is registered in the daemon's place") \
	X(FAILURE_STALL, "stall", "work is due and nothing moves")
#define FAILURE_ENUM(id, name, help) id,
enum failure { FAILURES(FAILURE_ENUM) FAILURE_COUNT };
#undef FAILURE_ENUM

/* One line of logs/watch.jsonl. */
struct act {
	int64_t n; /* 1, 2, ... over the life of the store, so that each becomes an event once */
	enum act_kind kind;
	enum failure failure;              /* of ACT_FAILED */
	char watch[VITAL_INSTANCE + 1];    /* the watchdog's instance */
	char instance[VITAL_INSTANCE + 1]; /* the daemon's, or empty */
	ov_time at;
	char text[VITAL_TEXT + 1];
};

const char *act_kind_name(enum act_kind k);
const char *failure_name(enum failure f);
const char *failure_help(enum failure f);
bool failure_from_name(str name, enum failure *ret);
/* {"n", "time", "watch", "kind", "failure", "instance", "text"}; texts are those of the act. */
value *act_value(struct arena *a, const struct act *x);
/* The same as a line. */
void act_write(const struct act *x, struct buf *out);
bool act_read(str line, struct act *ret);
