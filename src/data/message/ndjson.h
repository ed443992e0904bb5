#pragma once
/*
 * Line framing: bytes arrive in pieces, whole lines come out. A line longer than the bound is an
 * error of the stream, reported once, with nothing of it kept. The decoder owns its buffer.
 */
#include "base/buf.h"
#include "base/ov.h"

struct ndjson {
	struct buf pending;
	size_t start;    /* consumed prefix of pending */
	size_t scanned;  /* no newline before here: feeding byte by byte stays linear */
	size_t max_line; /* without the newline */
	bool broken;     /* a line was too long: what comes is dropped */
};

void ndjson_init(struct ndjson *d, size_t max_line);
void ndjson_done(struct ndjson *d);
void ndjson_feed(struct ndjson *d, const void *p, size_t n);
/*
 * 1 and the next line (without \n or \r\n; valid until the next feed), 0 when none is complete,
 * OV_ELIMIT when the line exceeds the bound: the stream cannot be used further.
 */
int ndjson_next(struct ndjson *d, str *ret_line, struct ov_err *err);
/* What remains after the last newline: the last words of a stream that ended without one. */
str ndjson_rest(const struct ndjson *d);
