#pragma once
/*
 * Where the agent of a run keeps the files of its sessions, and how the daemon opens them. That is
 * decided when the run starts and kept in its folder; the agent only names a file below it. A file
 * that is a link, a device, another user's or older than a new session is none of the
 * run's. Loop-free.
 */
#include "base/ov.h"

struct sandbox_room;

struct sessions {
	const char *root;  /* which a run in a sandbox cannot replace; NULL: nothing is known */
	const char *below; /* the folder beneath it, in which the run may write */
	str session;       /* the native id, a part of each name; empty: the agent chooses one */
	bool resumed;      /* it has said things before */
	ov_time since;     /* when the run began, in clock_file()'s time */
};

/* By what the agent is started with; the caller sets session and resumed. */
struct sessions sessions_find(struct arena *a, const struct sandbox_room *room,
		const char *const *env);
/* Kept in the run's folder, once: a start that is performed again does not change it. */
int sessions_keep(struct arena *a, const char *dir, struct sessions *s, struct ov_err *err);
/* As they were kept; without a root where they were not. */
struct sessions sessions_kept(struct arena *a, const char *dir);
/*
 * What of a path that the agent named lies beneath the folder, wherever that is in its sandbox;
 * or empty.
 */
str sessions_name(const struct sessions *s, str path);
/* For reading. OV_ENOTFOUND: it is not there, yet; OV_EUNAUTHORIZED: it is none of the run's. */
int sessions_open(const struct sessions *s, str name, int *ret_fd, struct ov_err *err);
