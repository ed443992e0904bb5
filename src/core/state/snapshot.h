#pragma once
/*
 * The whole state as one document and back, so that a start replays only the tail of the log:
 * fold(snapshot + tail) = fold(all). The encoding has a number; a snapshot of another number is
 * ignored and the log is folded from its beginning.
 */
#include "base/buf.h"
#include "base/ov.h"
#include "core/state/state.h"

enum { SNAPSHOT_FORMAT = 7 };

void snapshot_write(struct buf *out, const struct state *s);
int snapshot_read(str bytes, uint64_t hash_seed, struct state **ret, struct ov_err *err);
