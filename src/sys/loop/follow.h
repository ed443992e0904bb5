#pragma once
/*
 * Follows a growing file by inotify: no polling, no pipe to its writer. Bytes from `offset` on are
 * handed out in order in bounded pieces; between pieces the loop serves others. The follower owns
 * its fds. The file is taken as append-only: bytes before the offset are never looked at again,
 * also when it was cut; nothing is reported then until it has grown beyond the offset. Bytes that
 * were given back to the disk before they were read (a hole) are skipped: the next piece begins
 * further on than the last one ended.
 */
#include "base/ov.h"

struct loop;
struct follow;

/*
 * New bytes, starting at file offset `at`; a piece is at most 64 KiB. The callee may call
 * follow_close.
 */
typedef void follow_fn(void *user, str bytes, uint64_t at);

/* The file must exist. What it already holds is handed out from the loop, not from here. */
int follow_open(struct loop *l, const char *path, uint64_t offset, follow_fn *fn, void *user,
		struct follow **ret, struct ov_err *err);
/* The same of an open regular file, for reading; fd is the follower's, also where this fails. */
int follow_open_fd(struct loop *l, int fd, uint64_t offset, follow_fn *fn, void *user,
		struct follow **ret, struct ov_err *err);
/*
 * Reads what is there now up to the end: the last words, before the end is handled. OV_ELIMIT when
 * more than max bytes were there: max were handed out, the rest follows from the loop or another
 * call.
 */
int follow_drain(struct follow *f, size_t max, struct ov_err *err);
uint64_t follow_offset(const struct follow *f);
uint64_t follow_size(const struct follow *f); /* of the file, now */
void follow_close(struct follow *f);          /* NULL allowed */
