#pragma once
/*
 * Files from whose middle bytes were given back to the disk (fallocate, FALLOC_FL_PUNCH_HOLE) while
 * their offsets stay true: reading them without taking the zeros of a hole for what was written.
 * Where a file system knows no holes, a file is one piece of data. Loop-free; owns nothing.
 */
#include <sys/types.h>

#include "base/ov.h"

/*
 * Reads at most n bytes of data at *at, or, where that lies in a hole, behind the hole: *at is then
 * moved there. A hole may be punched while this reads; its bytes are never handed out. Returns how
 * many, 0 at the end, or a negative errno. *ret_more: more was there already when it was read.
 */
ssize_t sparse_read(int fd, void *p, size_t n, uint64_t *at, bool *ret_more);
/* How many bytes of a file are there, and how many lie in holes. */
int sparse_measure(const char *path, uint64_t *ret_data, uint64_t *ret_holes, struct ov_err *err);
