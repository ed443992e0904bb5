#pragma once
/*
 * The part of the model that oversight is made of: iterations, what was detected in them and how it was
 * answered, and the notices by which people outside are told. See core/model/model.h.
 *
 * Numbers with a fraction are whole numbers of a smaller unit, so that every machine decides alike:
 * centi is hundredths (of a percentage point), milli thousandths.
 */
#include "base/ov.h"
#include "core/model/record.h"
#include "core/model/transition.h"

/* What detectors look at, prepared from an iteration (core/oversight/detect.h); 0 hashes: not known. */
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
	str goal_id, node_id, assignment_id, run_id, agent;
	int64_t number; /* of the node, from 1 */
	bool failed;
	str failure_class; /* the cause: check, run, no_changes ...; empty: none */
	str error;         /* as it was said, the telling part of it */
	str signature;     /* the same, normalised; what is compared */
	str tree;          /* of git, after it */
	struct strs files; /* touched by it */
	enum tests_state tests;
	str tests_format; /* tap, junit, pytest ...; exit: only the status of the command */
	int64_t tests_passed, tests_failed, tests_skipped;
	struct strs failing_tests;
	str coverage_format; /* lcov, cobertura; empty: not known */
	int64_t coverage_centi;
	int64_t tokens, cost_microusd, duration_ms;
	enum completion_source completion_source;
	int64_t completion_centi;
	struct strs learnings, blockers; /* as its agent reported */
	bool has_similarity;
	int64_t similarity_milli; /* of its words and the objective's */
	int64_t inside, outside;  /* files in and out of the node's scope; both 0: it has none */
	str tool;                 /* the call that it repeated most, for people */
	str tool_digest;
	int64_t tool_repeats;
	ov_time at;

	/* derived */
	struct sample sample; /* owns its list of files */
};

/* A pattern that was found, and the one answer to it. */
struct detection {
	str id, goal_id, node_id, run_id; /* without a node: of the whole goal */
	enum detector type;
	enum severity severity;
	str message;
	str evidence; /* JSON, in camelCase like the documents of `detect` */
	struct strs recommendations;
	str fingerprint;   /* with the severity: what is answered once */
	int64_t iteration; /* at which it was found */
	int64_t round;     /* of its node or goal: grows when a person had a say */
	ov_time at;

	enum level level;
	str reason;         /* of the intervention, for people */
	str text;           /* that is given to the agent; empty: none */
	str did;            /* what was done, for people */
	bool goal_wide;     /* the pause or abort is of the goal, not of the node */
	int64_t escalation; /* in the inbox; 0: nobody is asked */
	enum effectiveness effectiveness;
	str judged_because;
	bool false_positive; /* a person says so */
	ov_time judged_at;
};

/* A person is told something by one channel; tried again until it is sent or given up. */
struct notice {
	str id, goal_id, node_id;
	str detection_id;   /* that it is about; empty: none */
	int64_t escalation; /* in the inbox that it is about; 0: none */
	str channel;        /* of the configuration */
	enum urgency urgency;
	str fingerprint; /* a second notice of the same goes where the first one went */
	str subject;     /* one line */
	enum notice_status status;
	int64_t attempts;
	str ref;   /* what the channel made of it: an issue's number */
	str error; /* of the last attempt */
	ov_time created_at, not_before, settled_at;

	/* derived */
	struct effect *effect; /* open one, or NULL */
};

/* How much there was of it since the beginning: of most the state keeps only the newest. */
struct oversight_tally {
	int64_t iterations;
	int32_t found[SEVERITY_COUNT][DETECTOR_COUNT];
	int32_t answered[LEVEL_COUNT];
};

extern const struct record_type iteration_record, detection_record, notice_record,
		oversight_tally_record;

/* Hashes what is compared; owns nothing but the list of files. Called by the fold. */
void sample_prepare(struct iteration *it);
