#pragma once
/*
 * Reading what watchdogs wrote down, logs/watch.jsonl, while they may still be writing: whole lines
 * only, in bounded pieces. A line that has no end yet waits for it; one that is none of theirs, or
 * is longer than any of theirs, is counted and left out. The reader owns its descriptor.
 */
#include "base/ov.h"
#include "data/message/vital.h"

struct acts {
	int fd; /* -1: there is no file */
	uint64_t offset;
	bool skipping; /* until the end of a line that is too long */
	size_t bad;    /* lines that were left out */
};

/* What the file is called once another took its place. */
#define ACTS_OLD VITAL_ACTS ".1"

#define ACTS_INIT ((struct acts){ .fd = -1 })

typedef void acts_fn(void *user, const struct act *x);

/* False when there is no such file; of one that is far too long only the end is read. */
bool acts_open(struct acts *r, const char *path);
/* Is this the file that has the name now? */
bool acts_is_current(const struct acts *r, const char *path);
/* Hands out what is new; a file that was cut is read from its beginning. */
void acts_read(struct acts *r, acts_fn *fn, void *user);
void acts_close(struct acts *r);
/* All of a file, which need not be there. Returns how many lines were left out. */
size_t acts_read_file(const char *path, acts_fn *fn, void *user);
