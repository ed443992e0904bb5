#pragma once
/*
 * Who is at the other end of a Unix socket, and where that process comes from. Identity is a pidfd,
 * taken from the socket itself where the kernel has that (6.5), so that a number that was used
 * again is not taken for the one that called. Loop-free.
 */
#include "base/ov.h"
#include "sys/proc/proc.h"

#include <sys/types.h>

struct peer {
	uid_t uid;
	gid_t gid;
	struct proc proc; /* pid 0: not seen from here. pidfd -1: it has ended, or was not seen */
};

/* False when the kernel says nothing. The caller closes proc (proc_done). */
bool peer_of(int fd, struct peer *ret);

/* Is it in a process namespace below ours, as of a sandbox or a container? */
bool peer_is_inside(struct arena *a, int pid);

enum peer_kin { KIN_NONE, KIN_FOUND, KIN_GONE };
/*
 * Is one of `roots` the process, or an ancestor of it? KIN_GONE: it ended before that could be
 * said. Who loses its parent on the way is looked at again, so nobody slips through by ending
 * its parents.
 */
enum peer_kin peer_descends(const struct proc *p, const int *roots, size_t n, size_t *ret_root);
/*
 * The path of its control group (version 2), as in /proc/PID/cgroup; absent when it is not known.
 */
str peer_group(struct arena *a, int pid);
/*
 * What the variable was when its program was started; absent when it is not set, or may not
 * be read.
 */
str peer_env(struct arena *a, int pid, str name);
