#pragma once
/*
 * Child processes: a spec filled by the caller, one call to start it (posix_spawn, so the cost does
 * not grow with our size), a pidfd instead of a bare pid. Identity of any process is pid + start
 * time + boot id. Loop-free: the owner of a child watches its pidfd, reaps it, and closes the
 * pidfd.
 */
#include "base/ov.h"

struct proc_spec {
	/*
	 * argv[0] without a slash is looked up in the absolute folders of PATH: the child's, else
	 * ours.
	 */
	const char *const *argv;
	const char *const *env; /* whole environment; NULL inherits ours */
	/* NULL: ours. A relative argv[0] with a slash is relative to it. /proc/self/fd/N works. */
	const char *cwd;
	int in, out, err; /* fds to become 0, 1, 2; -1: /dev/null. Not closed */
	bool new_session; /* setsid; otherwise the child gets a process group of its own */
	/*
	 * Bytes that it, and each that it starts, may allocate, from its first moment on; 0:
	 * as many as we.
	 */
	uint64_t memory_max;
};

#define PROC_SPEC_INIT ((struct proc_spec){ .in = -1, .out = -1, .err = -1 })

struct proc {
	int pid;
	int pidfd;
};

struct proc_exit {
	int code;   /* exit status, or -1 */
	int signal; /* or 0 */
};

/*
 * Signals are reset and unblocked in the child, which gets fds 0, 1, 2 and no other. OV_ENOTFOUND
 * names the missing program, interpreter or working directory; on failure nothing runs.
 */
int proc_spawn(const struct proc_spec *spec, struct proc *ret, struct ov_err *err);
/* Reaps our child after its pidfd became readable; OV_ESTATE while it still runs. */
int proc_reap(struct proc *p, struct proc_exit *ret, struct ov_err *err);
/* By pidfd, so never to a stranger; OV_ENOTFOUND when it has ended, reaped or not. */
int proc_signal(const struct proc *p, int signo, struct ov_err *err);
/* Waits at most timeout_ms (0: does not wait) for the end; true when it has ended. */
bool proc_ended(const struct proc *p, int timeout_ms);
void proc_done(struct proc *p); /* closes the pidfd */

/*
 * Start time in clock ticks since boot (field 22 of /proc/PID/stat), 0 when there is no such
 * process or only its zombie is left.
 */
uint64_t proc_start_time(int pid);
/* Its parent, 0 when that is not known. */
int proc_parent(int pid);
/* Of this boot; "" when unknown. Writes 36 characters and NUL. */
void proc_boot_id(char ret[static 37]);
/*
 * Opens a pidfd for pid if it still is the process that had this start time; OV_ENOTFOUND
 * otherwise.
 */
int proc_open(int pid, uint64_t start_time, struct proc *ret, struct ov_err *err);
/*
 * Stops every process of ours whose environment holds NAME=VALUE, and their children, until nobody
 * new is found (bounded), then kills them all (SIGKILL) and waits for each to end; says how many
 * were killed, or fails when some remain. Ourselves excepted. It sees the environment that a
 * program was started with.
 */
int proc_sweep_env(str name, str value, size_t *ret_killed, struct ov_err *err);
/*
 * The same, and also those that are known by number and start time, whatever their environment says
 * by now. One whose environment names another VALUE, or that another user owns, is somebody else's
 * and left alone. sure: nobody ended while they were looked for; else one of ours may have left a
 * child that got away, and another sweep finds it, or not. Only a control group holds everybody.
 */
struct proc_known {
	int pid;
	uint64_t start_time;
};
int proc_sweep_known(str name, str value, const struct proc_known *known, size_t n,
		size_t *ret_killed, bool *ret_sure, struct ov_err *err);
/*
 * Is there a process of ours, in no process namespace below our own, whose environment holds
 * NAME=VALUE? One that has just been started shows none for a moment: it is waited for, some 20
 * ms at most.
 */
int proc_find_env(str name, str value, bool *ret_found, struct ov_err *err);
/*
 * Was a program of this name (as in /proc/PID/comm) started in the last seconds that is at work in
 * the folder, or beneath it, and without `but` in its environment? What may not be looked at does
 * not count.
 */
bool proc_find_at(str program, str folder, str but, int seconds);
/*
 * Processes of our user with one of these names, which end with NULL; ourselves excepted. At most
 * max are kept; the number of all is returned.
 */
size_t proc_list_named(const char *const *names, int *ret, size_t max);
/* Processes of this name that are at work in the folder, or beneath it; at most max. */
size_t proc_list_at(str program, str folder, int *ret, size_t max);
