#pragma once
/*
 * An agent's output as facts: frames lines, parses each as JSON, and lets the format's row read it.
 * A line that is too long or is not JSON is skipped and counted, one of an unknown kind is passed
 * over, never an error: the next line is read as if nothing had been. Characters that are not valid
 * are replaced. Feeding it byte by byte gives the same facts as all at once. It owns its buffers.
 */
#include "agent/format/format.h"

enum {
	STREAM_LINE_MAX = 16 << 20,
	STREAM_PARTS_MAX = 1 << 20,      /* values in one line: what is parsed takes memory, too */
	STREAM_ERROR_LINE_MAX = 8 << 10, /* the rest of a longer one is dropped */
	STREAM_TEXT_MAX = 1 << 20,       /* of what is gathered over several lines */
};

struct stream_counts {
	uint64_t lines;    /* whole ones, without those that are blank */
	uint64_t skipped;  /* of them: not JSON, or no object */
	uint64_t too_long; /* in bytes, or in parts */
	uint64_t gaps;     /* of bytes that are missing, or that read as NUL */
};

struct agent_stream *stream_new(const struct agent_format *f, fact_fn *fn, void *user);
/* Of the file that the agent keeps of a session: what it says, and what that used. */
struct agent_stream *stream_new_transcript(const struct agent_format *f, fact_fn *fn, void *user);
/* Of the file that a sub-agent keeps: its calls as well. */
struct agent_stream *stream_new_thread(const struct agent_format *f, fact_fn *fn, void *user);
struct agent_stream *stream_free(struct agent_stream *s); /* NULL allowed; returns NULL */
/*
 * Its output from `at` on; what was heard before is passed over, and bytes that are missing in
 * between are a gap, after which a line begins anew.
 */
void stream_bytes(struct agent_stream *s, str bytes, uint64_t at);
/* What it wrote to its errors, where that is apart. */
void stream_errors(struct agent_stream *s, str bytes);
/* Nothing more comes: a last line without its newline counts. */
void stream_end(struct agent_stream *s);
struct stream_counts stream_counts(const struct agent_stream *s);

/* For the rows of the table: tells a fact; its offset is filled in. */
void stream_tell(struct agent_stream *s, struct fact f);
/* Memory of the current line. */
struct arena *stream_arena(struct agent_stream *s);
/* Memory of the format for this stream, of this size, zeroed when first asked for. */
void *stream_memory(struct agent_stream *s, size_t size);
/* Text that the format gathers over several lines, up to STREAM_TEXT_MAX. */
struct buf *stream_text(struct agent_stream *s);
