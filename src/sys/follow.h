#pragma once
/*
 * Follows a growing file by inotify: no polling, no pipe to its writer. Bytes from `offset` on are
 * handed out in order in bounded pieces; between pieces the loop serves others. The follower owns
 * its fds and its buffer.
 */
#include "base/ov.h"

struct loop;
struct follow;

/* New bytes, starting at file offset `at`; a piece is at most 64 KiB. */
typedef void follow_fn(void *user, str bytes, uint64_t at);

/* The file must exist. */
int follow_open(struct loop *l, const char *path, uint64_t offset, follow_fn *fn, void *user, struct follow **ret,
		struct ov_err *err);
/* Reads what is there now up to the end (bounded by max bytes): the last words, before the end is handled. */
int follow_drain(struct follow *f, size_t max, struct ov_err *err);
uint64_t follow_offset(const struct follow *f);
void follow_close(struct follow *f);
