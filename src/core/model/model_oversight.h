#pragma once
/*
 * The part of the model that oversight is made of: iterations, what was detected in them and how it
 * was answered, and the notices by which people outside are told. See core/model/model.h.
 *
 * Numbers with a fraction are whole numbers of a smaller unit, so that every machine decides alike:
 * centi is hundredths (of a percentage point), milli thousandths.
 */
#include "base/ov.h"
#include "core/model/record.h"
#include "core/model/transition.h"
#include "core/model/work.def"

/*
 * What detectors look at, prepared from an iteration (core/oversight/detect.h); 0 hashes:
 * not known.
 */
struct sample {
	int64_t number;
	uint64_t error; /* of the signature */
	uint64_t tree;
	uint64_t tool;         /* of the call that was repeated most */
	const uint64_t *files; /* sorted, without duplicates */
	size_t files_n;
	bool has_completion, has_coverage, has_similarity, has_scope;
	int64_t completion_centi, coverage_centi, similarity_milli;
	int64_t inside, outside; /* files within the node's scope, and not */
	enum tests_state tests;
	int64_t failing; /* how many tests fail; 0: none, or it is not known */
};

/* The analysed result of a run: what was seen, apart from what its agent says. */
struct iteration {
	ITERATION_ROWS(MEMBER);

	/* derived */
	struct sample sample; /* owns its list of files */
};

/* A pattern that was found, and the one answer to it. */
struct detection {
	DETECTION_ROWS(MEMBER);
};

/* A person is told something by one channel; tried again until it is sent or given up. */
struct notice {
	NOTICE_ROWS(MEMBER);

	/* derived */
	struct effect *effect; /* open one, or NULL */
};

/* How much there was of it since the beginning: of most the state keeps only the newest. */
struct oversight_tally {
	OVERSIGHT_TALLY_ROWS(MEMBER, NO_MEMBER);
	int32_t found[SEVERITY_COUNT][DETECTOR_COUNT];
};

extern const struct record_type iteration_record, detection_record, notice_record,
		oversight_tally_record;

/* Hashes what is compared; owns nothing but the list of files. Called by the fold. */
void sample_prepare(struct iteration *it);
