#pragma once
/*
 * Which of an agent's calls of tools are the same again: the one that it made most often within the
 * run, and how many of the newest ones in a row were the same and got the same answer. An agent
 * that goes in circles shows here first. Each thread of the run is looked at by itself: the
 * session, and each of its sub-agents. What is made most often is of the session alone: several
 * sub-agents may well look at the same thing.
 *
 * Bounded: of each call only a hash and a count are kept, the text of the most frequent one alone.
 * When the table is full the call with the smallest count that was made longest ago goes; should it
 * come again it is counted from one. So a count is never too large, and what is repeated stays. Of
 * more threads than are kept, the one goes that has been quiet longest; never the session.
 */
#include "agent/fact/fact.h"
#include "base/ov.h"
#include "data/id/sha256.h"

enum { CALLS_KEPT = 64, CALLS_TEXT = 256, CALLS_THREADS = 16 };

struct calls {
	struct calls_row {
		uint64_t call;
		int64_t count, at;
	} rows[CALLS_KEPT];
	size_t n;
	int64_t made;
	/* Most often: how often (0: nothing is known), its digest, and what it was, for people. */
	int64_t most;
	char digest[SHA256_HEX + 1];
	char text[CALLS_TEXT];
	struct calls_thread {
		uint64_t id; /* 0: the session; it is the first */
		int64_t at;  /* when it was last heard, in calls and answers */
		/*
		 * The last that was answered, its answer, how many in a row were like that,
		 * and since when.
		 */
		uint64_t last, last_answer;
		int64_t same;
		ov_time same_since;
		char same_text[CALLS_TEXT]; /* what it was, for people */
	} threads[CALLS_THREADS];
	size_t threads_n;
	int64_t heard;
	/* Of the thread that has most in a row. */
	int64_t same;
	ov_time same_since;
	char same_text[CALLS_TEXT];
};

/* What a fact's thread is known by here. */
uint64_t calls_thread(const struct fact *f);
/* A call by its fact's digest; returns what it is known by, 0 when it has none. */
uint64_t calls_made(struct calls *c, const struct fact *f);
/*
 * That call of this thread was answered; call 0: nothing is known of it, and so not that it was the
 * same. A sub-agent that it was the call for is over.
 */
void calls_answered(struct calls *c, uint64_t call, uint64_t thread, const struct fact *f,
		ov_time at);
/* The clock was set by that much. */
void calls_clock_moved(struct calls *c, ov_time by);
/* A sub-agent is over, and with it what it did. */
void calls_over(struct calls *c, uint64_t thread);
