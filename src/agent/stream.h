#pragma once
/*
 * An agent's output as facts: frames lines, parses each as JSON, and lets the format's row read it.
 * A line that is too long, is not JSON or is of an unknown kind is skipped and counted, never an
 * error: the next line is read as if nothing had been. Feeding it byte by byte gives the same facts
 * as all at once. It owns its buffers.
 */
#include "agent/format.h"

enum { STREAM_LINE_MAX = 16 << 20 };

struct stream_counts {
	uint64_t lines, skipped, too_long;
};

struct stream *stream_new(const struct agent_format *f, fact_fn *fn, void *user);
struct stream *stream_free(struct stream *s); /* NULL allowed; returns NULL */
/* Its output from `at` on; bytes that are missing in between are a gap, after which a line begins anew. */
void stream_bytes(struct stream *s, str bytes, uint64_t at);
/* What it wrote to its errors, where that is apart. */
void stream_errors(struct stream *s, str bytes);
/* Nothing more comes: a last line without its newline counts. */
void stream_end(struct stream *s);
struct stream_counts stream_counts(const struct stream *s);

/* For the rows of the table: tells a fact; its offset is filled in. */
void stream_tell(struct stream *s, struct fact f);
/* Memory of the current line. */
struct arena *stream_arena(struct stream *s);
/* Memory of the format for this stream, of this size, zeroed when first asked for. */
void *stream_memory(struct stream *s, size_t size);
