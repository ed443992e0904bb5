#pragma once
/*
 * JSON (RFC 8259) to and from the value tree. The reader is strict, because what it reads comes
 * from agents, models and strangers: duplicate keys, invalid UTF-8, lone surrogates, trailing
 * bytes, leading zeros, and numbers out of range are refused; integers that fit 64 bits stay exact.
 */
#include "base/buf.h"
#include "base/ov.h"
#include "data/value/value.h"

struct json_limits {
	size_t max_bytes; /* 0: 64 MiB */
	size_t max_depth; /* 0: 128 */
};

/* The whole of text is one document. On failure err says what, at which byte offset and path. */
int json_parse(struct arena *a, str text, const struct json_limits *limits, value **ret,
		struct ov_err *err);
/* Compact, in insertion order. Non-finite reals are written as null. */
void json_write(struct buf *out, const value *v);
/* Two-space indentation, for people. No newline at the end. */
void json_write_pretty(struct buf *out, const value *v);
/*
 * Canonical: compact, members sorted bytewise by key, shortest exact numbers, only the escapes that
 * JSON demands; equal values give equal bytes. For hashing and for the event log.
 */
void json_write_canonical(struct buf *out, const value *v);
/* The text in the arena, for short things. */
str json_text(struct arena *a, const value *v);
/* Only a JSON string literal with quotes and escapes. */
void json_write_string(struct buf *out, str s);
