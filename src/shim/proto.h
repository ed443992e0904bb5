#pragma once
/*
 * What the shim overseer-run and the daemon agree on: the files of a run's folder, the shim's exit
 * statuses and the bounds of its socket. Only constants; it owns nothing.
 *
 * The socket speaks lines. Each request is answered "ok\n" or "error TEXT\n":
 *   signal N          to the agent's process group
 *   interrupt         the agent's own signal for that to the group; an error where it has none
 *   stop              the same, after its grace (or at once, where there is none) SIGTERM to the
 *                     group, after that one's grace SIGKILL for the whole run
 *   freeze, thaw      all processes of the run; an error where it has no control group
 *   send LEN\nBYTES   queue input for the agent (when it has no prompt file)
 *   deliver LEN ID\nBYTES   the same, once per ID: one that was taken before is only answered
 *   close-input       end of input, after what is queued
 * A request that cannot be understood is answered and ends its connection.
 */

#define RUN_LOCK "lock"       /* locked while the run lives; holds "PID START_TIME\n" of the shim */
#define RUN_STARTED "started" /* made once, before the agent is; holds the time in ms */
#define RUN_OUTPUT "output"
#define RUN_ERRORS "errors"          /* where asked for; otherwise they are in the output */
#define RUN_GROUP "cgroup"           /* path of the run's control group, while there is one */
#define RUN_GROUP_PREFIX "overseer-" /* of its last part; the run's id follows */
/*
 * Everybody below the shim, when it last looked: the boot's id, then "PID START_TIME\n" of each.
 * For a daemon that finds the shim dead.
 */
#define RUN_DESCENDANTS "descendants"
#define RUN_SOCKET "socket"
#define RUN_PROMPT "prompt"
#define RUN_EXIT "exit.json"
#define RUN_ENV "OVERSEER_RUN"

/*
 * As the first word it is no shim, but becomes another program, confined (confine.c), or is the one
 * in a sandbox that starts the programs of git there (programs.c).
 */
#define RUN_CONFINE "--confine"
#define RUN_HOST "--host"
#define RUN_ASK_ENV "OVERSEER_PROGRAMS" /* of git: the descriptor by which the host is asked */

/*
 * As the first word: it becomes the program that follows, which has none of the keys of
 * our session.
 */
#define RUN_WITHOUT_KEYS "--without-keys"

enum {
	RUN_STATUS_USAGE = 64,
	RUN_STATUS_FAILED = 74,   /* nothing was started; stderr says why */
	RUN_STATUS_OWNED = 75,    /* another shim holds the folder's lock */
	RUN_STATUS_STARTED = 76,  /* this folder has started its agent already */
	RUN_STATUS_PROGRAMS = 78, /* kept: the programs of git could not run as they have to */
	RUN_STATUS_MISSING = 127, /* confined: the program cannot be run */

	RUN_HOST_FD = 3, /* by which the host is asked */

	RUN_DESCENDANTS_MAX = 1024, /* that are written down */

	RUN_LINE_MAX = 128,       /* of a request's first line */
	RUN_ID_MAX = 64,          /* of what is delivered */
	RUN_IDS_KEPT = 256,       /* the newest: an older one would be taken again */
	RUN_SEND_MAX = 1 << 20,   /* bytes of one send */
	RUN_QUEUED_MAX = 4 << 20, /* bytes of input that wait for the agent to read them */
};
