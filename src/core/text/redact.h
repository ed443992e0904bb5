#pragma once
/*
 * Secrets are never stored. What looks like one, by its known shape or by where it stands, is
 * replaced by "[redacted: KIND]" on its way into the log, so that a later reader knows what was
 * there and where such a thing belongs. decide() passes every event through here before anybody
 * sees it. Ids, hashes, paths and ordinary text stay as they are.
 *
 * The matchers look at bytes only and at a bounded number of them for each decision, so the time
 * grows with the length of the text and nothing else. Redacting twice is redacting once.
 */
#include "base/ov.h"
#include "data/value/value.h"

struct redact_kind {
	const char *name;  /* as in "[redacted: NAME]" */
	const char *where; /* where a credential of this kind is configured */
};

/* s itself when there is nothing to hide; else a text in the arena. */
str redact(struct arena *a, str s);
/* As redact, and phone numbers too: for addresses that something is delivered to. */
str redact_delivery(struct arena *a, str s);
/*
 * v itself, or a copy of what had to change, sharing the rest. Below a key that speaks of delivery
 * ("delivery_context", "origin_context") texts are treated as by redact_delivery. Keys are
 * left alone.
 */
value *redact_value(struct arena *a, value *v);
/* The kind of the first secret in s, or NULL. */
const struct redact_kind *redact_first_kind(str s);
/* All kinds, for the documents and for tests; *ret_n of them. */
const struct redact_kind *redact_kinds(size_t *ret_n);
