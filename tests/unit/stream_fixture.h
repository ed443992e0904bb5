#pragma once
/*
 * Streams in tests: the facts of some output as text, one per line, and the account of a capture of
 * a real agent's output. Everything is in the arena of the caller.
 */
#include "agent/fact/account.h"
#include "agent/read/stream.h"
#include "base/buf.h"

/* Captures are in tests/captures/FORMAT/VERSION/NAME.out and .err; a missing file is empty. */
str capture_read(struct arena *a, const char *path);

/* A fact as one line of text, with everything that it says. */
void fact_dump(struct buf *out, const struct fact *f);

struct heard {
	struct buf facts;  /* dumped */
	size_t before_end; /* of them: what was told before stream_end */
	struct account account;
	struct stream_counts counts;
	ov_time at; /* when everything is heard */
};

/* Hears one fact; user: a struct heard. */
void heard_fact(void *user, const struct fact *f);
void heard_init(struct heard *h);
void heard_done(struct heard *h);
/* Feeds a stream of this format in pieces of this size (0: whole), and ends it. */
void heard_feed(struct heard *h, const char *format, str output, str errors, size_t piece);
