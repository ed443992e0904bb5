#pragma once
/*
 * Copies of the store that can be relied on: made beside a running daemon, verified (SQLite's check
 * and the whole chain) before they get their name, and durable when that is done. Those in the
 * folder `backups` are thinned out to the newest few.
 */
#include "base/ov.h"

struct op_ctx;

struct backup {
	const char *file; /* in the arena */
	uint64_t seq;     /* of its last event */
	int64_t bytes;
	size_t removed; /* older ones */
};

/* file NULL: a name of its own in `backups`. OV_ECONFLICT when there is such a file. */
int backup_make(struct op_ctx *cx, const char *file, struct backup *ret, struct ov_err *err);
/* Those in `backups`, oldest first, as paths in the arena. */
int backup_list(struct arena *a, const char *dir, const char ***ret, size_t *ret_n,
		struct ov_err *err);
/* OV_EIO unless the file is a whole store; *ret_last is its head. */
int backup_verify(struct arena *a, const char *file, uint64_t *ret_last, struct ov_err *err);
