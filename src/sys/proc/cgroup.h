#pragma once
/*
 * Control groups, version 2, as far as they hold a run together: a group in which all of its
 * processes are, whatever session they move to and whatever they do to their environment; ended and
 * paused as one, with limits where the kernel has them. Groups of runs are children of the daemon's
 * own group, made and removed by the shim (shim/group.c); this finds the place for them, ends one
 * whose shim is dead, and says what is possible here. Loop-free; texts live in the caller's arena.
 */
#include "base/ov.h"

#define CGROUP_PREFIX "overseer-"     /* a run's group: this and its id */
#define CGROUP_SELF "overseer-daemon" /* the daemon's own, once it had to make room for limits */

/*
 * The folder of the group in which we are, from the texts of /proc/self/mountinfo and
 * /proc/self/cgroup; OV_ENOTFOUND says what is missing. Below CGROUP_SELF it is the group above.
 */
int cgroup_parse(struct arena *a, str mountinfo, str own, const char **ret, struct ov_err *err);
int cgroup_find(struct arena *a, const char **ret, struct ov_err *err);
/*
 * Whether a run's group can be made below dir and ended as one; otherwise the error says why not.
 */
int cgroup_probe(const char *dir, struct ov_err *err);
/* Whether the kernel offers this controller ("memory", "pids") to groups below dir. */
bool cgroup_offers(const char *dir, const char *controller);
/*
 * Makes a controller's limits usable for the groups below dir. A group that has such children must
 * hold no process itself, so we may have to move to CGROUP_SELF below it.
 */
int cgroup_enable(const char *dir, const char *controller, struct ov_err *err);
/*
 * Kills all that is in the group, waits (bounded) until it is empty, and removes it with all groups
 * below it. OV_ENOTFOUND when there is none.
 */
int cgroup_end(const char *dir, size_t *ret_killed, struct ov_err *err);
