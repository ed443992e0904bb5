#pragma once
/*
 * Server-Sent Events (text/event-stream), as /events sends them. Appends to the caller's buffer.
 */
#include "base/buf.h"
#include "base/ov.h"

/*
 * Appends one event. Empty id or event are left out, and no byte in them ends the line; data may
 * contain newlines (\r\n and \r arrive as \n: the format cannot carry them).
 */
void sse_write(struct buf *out, str id, str event, str data);
void sse_write_comment(struct buf *out, str text);
