#pragma once
/*
 * The detectors: patterns in the newest iterations of a node that do not get better by themselves.
 * Each looks at a bounded window of prepared samples, so that a check costs the same after ten
 * iterations and after ten thousand; it allocates nothing. A detector without its evidence
 * says nothing.
 *
 * Two steps: `detect` finds (numbers only, for every check), `detection_describe` puts what was
 * found into words (only when there is something to say).
 */
#include "base/ov.h"
#include "core/model/limits.h"
#include "core/model/model_oversight.h"
#include "core/policy/oversight_policy.h"
#include "data/value/value.h"

/* What was used up of what was expected; an estimate of 0: none is known. */
struct consumption {
	int64_t used, estimate;
};

struct history {
	const struct sample *const *samples; /* oldest first; the newest LIMIT_ITERATIONS at most */
	size_t n;
	struct consumption iterations, cost_microusd, wall_ms; /* since the beginning */
	int64_t completion_centi; /* of the newest that knows; -1: none does */
};

enum { FOUND_EVENTS = 2 * LIMIT_ITERATIONS };

/* A regression from one iteration to the next. */
struct found_event {
	int64_t iteration;
	bool coverage;    /* it dropped; otherwise tests went from passing to failing */
	bool recovered;   /* what was lost is back at the newest iteration */
	int64_t from, to; /* hundredths of a percent */
};

struct found {
	enum detector type;
	enum severity severity;
	int64_t count;           /* occurrences, cycles, iterations that deviate */
	int64_t ratio;           /* mean gain (centi), mean similarity, creep, burn (milli) */
	bool has_ratio;          /* it is known */
	bool unchanged;          /* stuck: the same tree and call, not the same error */
	bool in_run;             /* stuck: the same call within a run that goes on */
	bool output;             /* in_run: it is output, not a call */
	size_t at;               /* index of a sample that shows it best */
	uint64_t key;            /* what is peculiar to it: the same as long as it is the same */
	int64_t inside, outside; /* scope creep: files */
	enum resource resource;  /* burn: what of */
	struct found_event events[FOUND_EVENTS];
	size_t events_n;
};

/* At most one of each kind, in the order of the enumeration; returns how many. */
size_t detect(const struct history *h, const struct thresholds *t,
		struct found ret[DETECTOR_COUNT]);

/* What the words are made of, beside the numbers. */
struct detect_context {
	const struct history *history;
	const struct iteration *const *iterations; /* as history->samples */
	str objective;
	str call;    /* in_run: the one that is made again and again */
	str subject; /* what it is about, for the fingerprint: "GOAL/NODE", or a goal */
	int64_t round;
};

struct detection_words {
	str message;
	value *evidence; /* camelCase, like the documents of `detect` */
	const char *const *recommendations;
	size_t recommendations_n;
	str fingerprint; /* sha256 of kind, subject, round and what is peculiar to it */
	str guidance; /* for the agent: what level LEVEL_WARN says, or LEVEL_REDIRECT; else empty */
	str reason;   /* of the intervention */
	str abort_reason; /* LEVEL_ABORT: what it is ended for, in one line; else empty */
};

void detection_describe(struct arena *a, const struct detect_context *cx, const struct found *f,
		enum level level, struct detection_words *ret);
/* As detection_words has it: the same for what differs in its numbers alone, severity included. */
str detection_fingerprint(struct arena *a, const struct detect_context *cx, const struct found *f);
/*
 * The level that answers it. An abort for burn of what is nearly complete (90 %) becomes a pause;
 * LEVEL_NONE: nobody wants to know. A thing found with a fingerprint that was answered at the same
 * or a higher severity is nothing new.
 */
enum level detection_level(const struct oversight *o, const struct history *h,
		const struct found *f);
