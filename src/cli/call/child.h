#pragma once
/*
 * Programs that the command line starts: the daemon, which goes on by itself, and short helpers
 * (git, overseerd --read-only) whose output is wanted. Nothing is run by a shell.
 */
#include "base/buf.h"
#include "base/ov.h"

/* A program beside ours, in our build tree or in PATH; OV_ENOTFOUND. `env` overrides. */
int program_find(struct arena *a, const char *name, const char *env, const char **ret,
		struct ov_err *err);
/* The full name of a program in PATH, or NULL. */
const char *program_in_path(struct arena *a, const char *name);
/*
 * The full name of this program, for whoever starts it later: as PATH has it where that is the same
 * file, so that a new version put in its place is the one that is started.
 */
int program_own(struct arena *a, const char **ret, struct ov_err *err);

/*
 * Runs argv in cwd (NULL: ours) with `input` on its standard input, to its end or the timeout
 * (then it is killed: OV_EUNAVAILABLE). Output above max bytes is OV_ELIMIT. Standard error is
 * dropped when `quiet`, else ours. *ret_status is its exit status, or 128 + signal.
 */
struct capture {
	const char *const *argv;
	const char *cwd;
	str input;
	size_t max;
	int64_t timeout_ms;
	bool quiet;
	/*
	 * Gets each line of the output as it comes, instead of `out`; NULL: everything goes there.
	 */
	void (*line)(void *user, str line);
	void *user;
};
int spawn_capture(const struct capture *spec, struct buf *out, int *ret_status, struct ov_err *err);

/*
 * Starts the daemon in a session of its own, with its output appended to the log. *ret_ready is the
 * end of a pipe on which it says that it is ready, or why not (fd 3 of the child).
 */
int spawn_daemon(const char *const *argv, const char *cwd, const char *log, int *ret_pid,
		int *ret_ready, struct ov_err *err);
