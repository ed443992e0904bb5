#pragma once
/*
 * What a command that runs tests says of them, in the words of the tool that it used: how many
 * passed, failed and were skipped, and the names of the first that failed. Knows TAP (13, 14),
 * JUnit XML, pytest, go test (plain and -json), cargo test, ctest and node's own runner (spec and
 * tap). Colours are passed over. The whole output is read once; nothing in it is believed beyond
 * these numbers.
 *
 * An output may speak several of them: the most specific one whose summary is complete counts, in
 * the order junit, go, node, pytest, cargo, ctest, tap; if none is complete, the most specific one
 * at all. Several summaries of the same tool are summed, since each is of another run of it; but
 * within one session of pytest the last total counts. Tests that are expected to fail are
 * skipped ones.
 */
#include "base/ov.h"

enum { TESTSUM_NAMES = 20, TESTSUM_NAME_BYTES = 200 };

struct testsum {
	const char *format; /* a literal; NULL: nothing was found */
	int64_t passed, failed, skipped;
	bool broken;              /* it did not come to its end, or not to all of its tests */
	str names[TESTSUM_NAMES]; /* of the first that failed, in the arena; each once */
	size_t names_n;
};

/* False, and *ret says nothing, when no tool is recognised. */
bool testsum_parse(struct arena *a, str output, struct testsum *ret);
/* Adds what another text says, such as the next report of several; of another format: nothing. */
void testsum_add(struct testsum *sum, const struct testsum *more);
/* Do the tests say that something is wrong? */
bool testsum_is_bad(const struct testsum *s);
