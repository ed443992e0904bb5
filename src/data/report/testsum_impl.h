#pragma once
/* The readers of data/report/testsum.c: one per tool. Private to it and them. */
#include "base/arena.h"
#include "base/ov.h"
#include "data/report/testsum.h"

/* What a reader has gathered, and what it must remember from line to line. */
struct testsum_reading {
	struct arena *a;
	struct arena *scratch; /* for one line */
	struct testsum sum;
	bool found;                      /* it is this tool's */
	bool full;                       /* with a complete summary */
	int64_t planned, seen;           /* tests */
	int64_t passed, failed, skipped; /* of the session under way */
	bool listing;                    /* names follow */
	bool begun;                      /* tests were shown since the last total */
	unsigned keys;                   /* parts of a summary that were there */
};

struct testsum_reader {
	const char *format;
	/* Either a line without its end and without colours, or the whole text. */
	void (*line)(struct testsum_reading *r, str line);
	void (*text)(struct testsum_reading *r, str text);
	void (*end)(struct testsum_reading *r); /* may be NULL */
};

extern const struct testsum_reader junit_reader, go_json_reader, go_reader, node_reader,
		pytest_reader, cargo_reader, ctest_reader, tap_reader;

/* A name of a test that failed; the first TESTSUM_NAMES of them, each once. */
void reading_name(struct testsum_reading *r, str name);
/* Counts are held far below what a sum of them could not bear. */
void reading_add(int64_t *sum, int64_t n);
/* Takes a decimal number off the front; false, and nothing is taken, when there is none. */
bool take_number(str *s, int64_t *ret);
/* Takes a word off the front, if it is there. */
bool take_word(str *s, const char *word);
void take_spaces(str *s);
