#pragma once
/*
 * Server-Sent Events (text/event-stream): the encoder for our /events, the decoder for providers'
 * streams and for tests. The decoder owns its buffers; what it returns is valid until the next call.
 */
#include "base/buf.h"
#include "base/ov.h"

/*
 * Appends one event. Empty id or event are left out, and no byte in them ends the line; data may
 * contain newlines (\r\n and \r arrive as \n: the format cannot carry them).
 */
void sse_write(struct buf *out, str id, str event, str data);
void sse_write_comment(struct buf *out, str text);

struct sse_event {
	str id;    /* the last id seen, as the standard says */
	str event; /* "message" by default */
	str data;
};

struct sse {
	struct buf pending, id, event, data;
	size_t start, scanned, max_bytes; /* max_bytes bounds a line and the data of one event */
	int64_t retry_ms;                 /* -1 until the server sets it */
	bool bom_checked, has_data;
	bool fresh;        /* the next line begins a new event */
	bool skip_newline; /* a \r ended the last line: a \n now belongs to it */
	bool broken;       /* past a bound: what comes is dropped */
};

void sse_init(struct sse *d, size_t max_bytes);
void sse_done(struct sse *d);
void sse_feed(struct sse *d, const void *p, size_t n);
/* 1 and the next event, 0 when none is complete, OV_ELIMIT (once) past the bound. */
int sse_next(struct sse *d, struct sse_event *ret, struct ov_err *err);
