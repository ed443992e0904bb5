#pragma once
/*
 * Files of a folder that others write to, found by a pattern and read without ever leaving it: no
 * symbolic link is followed, nothing but regular files is opened, and both the looking and the
 * reading are bounded. Loop-free.
 */
#include <dirent.h>

#include "base/ov.h"

enum {
	BENEATH_FILES = 64,         /* that match one pattern; the first by name */
	BENEATH_ENTRIES = 20 * 1000 /* looked at for one pattern */
};

struct beneath_file {
	str path;            /* beneath the folder; valid during the call */
	int fd;              /* for reading, not the callee's */
	uint64_t size;       /* bytes */
	ov_time modified_at; /* in clock_file()'s time */
};

typedef void beneath_fn(void *user, const struct beneath_file *f);

/*
 * pattern: relative, its parts each a name or a pattern as of fnmatch(3); a name that begins with a
 * dot must be said so. Returns how many files there were, or an error; a folder that is not
 * there has none.
 */
int beneath_find(const char *folder, str pattern, beneath_fn *fn, void *user, struct ov_err *err);
/* A folder beneath it, for who reads its names in pieces of their own; NULL: there is none. */
DIR *beneath_opendir(const char *folder, const char *path);
/* All of it; OV_ELIMIT when it is longer than max. */
int beneath_read(struct arena *a, const struct beneath_file *f, size_t max, str *ret,
		struct ov_err *err);
