#pragma once
/*
 * The daemon that is watched, as processes: the start command, which is our child, and the daemon
 * that registered, which is the same process as a rule, another one where the command does not
 * become it, and no child of ours where it was adopted. Known by pidfds only, so that no stranger
 * is ever signalled. The start command leads a session of its own and holds no pipe of ours: our
 * end, however it comes, is nothing to it.
 */
#include "base/ov.h"
#include "data/message/vital.h"
#include "sys/proc/proc.h"
#include "watch/guard/spec.h"

struct watched_daemon {
	struct proc command; /* the start command; pidfd -1: none */
	bool command_ended;  /* not reaped yet, so that its number stays its group's */
	struct proc proc;    /* a registered daemon that is another process; pidfd -1: none */
	bool registered;
	struct identity id; /* when registered */
};

#define DAEMON_INIT ((struct watched_daemon){ .command = { .pidfd = -1 }, .proc = { .pidfd = -1 } })

/* The environment for the start command, in the arena: ours, and OVERSEER_DIR. */
const char *const *watched_env(struct arena *a, const char *dir);
int watched_start(struct watched_daemon *d, const struct spec *s, const char *const *env,
		struct ov_err *err);

/*
 * Who is registered and alive: pid, start time and boot id agree, and it holds a file of this
 * store. OV_ENOTFOUND when there is nobody, with the reason.
 */
int watched_find(struct arena *a, const char *dir, struct identity *ret, struct ov_err *err);
/* Who is registered, alive or not; false when that cannot be read. */
bool watched_registered(struct arena *a, const char *dir, struct identity *ret);
/* Watches the process that was found; OV_ENOTFOUND when it has ended meanwhile. */
int watched_take(struct watched_daemon *d, const struct identity *id, struct ov_err *err);

/* Is there a process, alive or not reaped? */
bool watched_exists(const struct watched_daemon *d);
/* Has it ended? The start command's end is its own as long as nobody has registered. */
bool watched_ended(const struct watched_daemon *d);
/* How, after that; code and signal are -1 and 0 when nobody can know. */
struct proc_exit watched_how(struct watched_daemon *d);
int watched_terminate(const struct watched_daemon *d, struct ov_err *err);
int watched_kill(const struct watched_daemon *d, struct ov_err *err);
/* After its end: kills what the start command left in its group, reaps it, forgets everything. */
void watched_settle(struct watched_daemon *d);
/* Lets everything go as it is. */
void watched_done(struct watched_daemon *d);
