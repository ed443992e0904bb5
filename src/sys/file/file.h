#pragma once
/*
 * Files: whole reads with a bound, atomic durable writes, locks that the kernel releases when their
 * owner dies, directories. Loop-free, so that the command line can use it too.
 */
#include <sys/types.h>

#include "base/buf.h"
#include "base/ov.h"

/*
 * open(2) for regular files alone: a named pipe is not waited for, a device is not touched. -1 with
 * errno otherwise: ENXIO for those, EISDIR for a folder. mode: of a file that is made.
 */
int file_open(const char *path, int flags, mode_t mode);
/* OV_ENOTFOUND when absent, OV_ELIMIT above max bytes. */
int file_read(struct arena *a, const char *path, size_t max, str *ret, struct ov_err *err);
/*
 * The same for "a/b/c" below a folder that somebody else may have prepared: no part of the name is
 * a link, and what is no regular file counts as absent (OV_ENOTFOUND).
 */
int file_read_beneath(struct arena *a, const char *dir, const char *name, size_t max, str *ret,
		struct ov_err *err);
/*
 * Below an open folder; -1 with errno. "..", and names that are no path, are EINVAL. Mode 0600
 * if it is made.
 */
int file_openat_beneath(int dir, const char *name, int flags);
/* Opens it so; O_PATH is enough for a look at what it is. OV_ENOTFOUND when absent or a link. */
int file_open_beneath(const char *dir, const char *name, int flags, int *ret_fd,
		struct ov_err *err);
/*
 * Temporary file beside it, fsync, rename, fsync of the directory; on failure (a full disk) the old
 * file stays and nothing else is left. mode as for open(2). A symbolic link is
 * replaced, not followed.
 */
int file_write_atomic(const char *path, str bytes, unsigned mode, struct ov_err *err);
/* As file_write_atomic, but OV_ECONFLICT if the path exists already (link(2)). */
int file_create_atomic(const char *path, str bytes, unsigned mode, struct ov_err *err);
/* A durable copy under a new name, with the times of the original; on failure nothing is left. */
int file_copy(const char *from, const char *to, unsigned mode, struct ov_err *err);
/* Makes a finished temporary file durable and gives it its name, in place of what had it. */
int file_commit(const char *tmp, const char *path, struct ov_err *err);
/*
 * A nameless file in memory that holds these bytes, close-on-exec, to be read from its beginning.
 */
int file_in_memory(str bytes, int *ret_fd, struct ov_err *err);
bool file_exists(const char *path);
int file_remove(const char *path, struct ov_err *err); /* absent is fine */
/* mkdir -p; existing is fine. */
int dir_make(const char *path, unsigned mode, struct ov_err *err);
/* Names in a directory, sorted, without . and ..; at most max (OV_ELIMIT). */
int dir_list(struct arena *a, const char *path, size_t max, str **ret, size_t *ret_n,
		struct ov_err *err);

/*
 * An exclusive lock on a file (created if absent, never removed): OV_ECONFLICT when another
 * process holds it. The fd is close-on-exec; closing it releases the lock.
 */
int lock_take(const char *path, int *ret_fd, struct ov_err *err);
/* Is it held by anybody now? Absent files are not. */
int lock_probe(const char *path, bool *ret_held, struct ov_err *err);

/* May this file be run by us? */
bool file_can_run(const char *path);
/* The full name of a program in the folders of `path` ("/usr/bin:/bin"; NULL: none), or NULL. */
const char *file_in_path(struct arena *a, const char *path, const char *name);
/* The same of a name that may have folders before it, and then is that file. */
const char *file_program(struct arena *a, const char *path, const char *name);
/* "a/b" in the arena. */
char *path_join(struct arena *a, const char *dir, const char *name);
void fd_closep(int *fd); /* for _cleanup_ */
