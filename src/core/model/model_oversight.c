#include "core/model/model_oversight.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/str.h"
#include "core/model/record_table.h"

static const struct field iteration_fields[] = {
	FIELD(iteration, goal_id, F_STR),
	FIELD(iteration, node_id, F_STR),
	FIELD(iteration, assignment_id, F_STR),
	FIELD(iteration, run_id, F_STR),
	FIELD(iteration, agent, F_STR),
	FIELD(iteration, number, F_INT),
	FIELD(iteration, failed, F_BOOL),
	FIELD(iteration, failure_class, F_STR),
	FIELD(iteration, error, F_STR),
	FIELD(iteration, signature, F_STR),
	FIELD(iteration, tree, F_STR),
	FIELD(iteration, files, F_STRS),
	STATUS(iteration, tests, tests_states),
	FIELD(iteration, tests_format, F_STR),
	FIELD(iteration, tests_passed, F_INT),
	FIELD(iteration, tests_failed, F_INT),
	FIELD(iteration, tests_skipped, F_INT),
	FIELD(iteration, failing_tests, F_STRS),
	FIELD(iteration, coverage_format, F_STR),
	FIELD(iteration, coverage_centi, F_INT),
	FIELD(iteration, tokens, F_INT),
	FIELD(iteration, cost_microusd, F_INT),
	FIELD(iteration, duration_ms, F_INT),
	STATUS(iteration, completion_source, completion_sources),
	FIELD(iteration, completion_centi, F_INT),
	FIELD(iteration, learnings, F_STRS),
	FIELD(iteration, blockers, F_STRS),
	FIELD(iteration, has_similarity, F_BOOL),
	FIELD(iteration, similarity_milli, F_INT),
	FIELD(iteration, inside, F_INT),
	FIELD(iteration, outside, F_INT),
	FIELD(iteration, tool, F_STR),
	FIELD(iteration, tool_digest, F_STR),
	FIELD(iteration, tool_repeats, F_INT),
	FIELD(iteration, at, F_TIME),
};
RECORD(iteration);

static const struct field detection_fields[] = {
	FIELD(detection, id, F_STR),
	FIELD(detection, goal_id, F_STR),
	FIELD(detection, node_id, F_STR),
	FIELD(detection, run_id, F_STR),
	STATUS(detection, type, detectors),
	STATUS(detection, severity, severities),
	FIELD(detection, message, F_STR),
	FIELD(detection, evidence, F_JSON),
	FIELD(detection, recommendations, F_STRS),
	FIELD(detection, fingerprint, F_STR),
	FIELD(detection, iteration, F_INT),
	FIELD(detection, round, F_INT),
	FIELD(detection, at, F_TIME),
	STATUS(detection, level, levels),
	FIELD(detection, reason, F_STR),
	FIELD(detection, text, F_STR),
	FIELD(detection, did, F_STR),
	FIELD(detection, goal_wide, F_BOOL),
	FIELD(detection, escalation, F_INT),
	STATUS(detection, effectiveness, effectivenesses),
	FIELD(detection, judged_because, F_STR),
	FIELD(detection, false_positive, F_BOOL),
	FIELD(detection, judged_at, F_TIME),
};
RECORD(detection);

static const struct field notice_fields[] = {
	FIELD(notice, id, F_STR),
	FIELD(notice, goal_id, F_STR),
	FIELD(notice, node_id, F_STR),
	FIELD(notice, detection_id, F_STR),
	FIELD(notice, escalation, F_INT),
	FIELD(notice, channel, F_STR),
	STATUS(notice, urgency, urgencies),
	FIELD(notice, fingerprint, F_STR),
	FIELD(notice, subject, F_STR),
	STATUS(notice, status, notice_statuses),
	FIELD(notice, attempts, F_INT),
	FIELD(notice, ref, F_STR),
	FIELD(notice, error, F_STR),
	FIELD(notice, created_at, F_TIME),
	FIELD(notice, not_before, F_CALENDAR),
	FIELD(notice, settled_at, F_TIME),
};
RECORD(notice);

#define FOUND(severity, name)                                                                 \
	{                                                                                     \
		name, F_COUNTS, offsetof(struct oversight_tally, found[SEVERITY_##severity]), \
				&detectors                                                    \
	}
static const struct field oversight_tally_fields[] = {
	FIELD(oversight_tally, iterations, F_INT),
	FOUND(LOW, "found_low"),
	FOUND(MEDIUM, "found_medium"),
	FOUND(HIGH, "found_high"),
	FOUND(CRITICAL, "found_critical"),
	COUNTS(oversight_tally, answered, levels),
};
RECORD(oversight_tally);

static int hash_order(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return (a > b) - (a < b);
}

/* Never 0, which stands for what is not known; the same on every machine and at every start. */
static uint64_t sample_hash(str s)
{
	uint64_t h = 14695981039346656037u; /* FNV-1a */

	for (size_t i = 0; i < s.n; i++)
		h = (h ^ (unsigned char)s.p[i]) * 1099511628211u;
	return h ? h : 1;
}

static void prepare_files(struct iteration *it)
{
	uint64_t *files = it->files.n ? mem_zalloc(it->files.n, sizeof(*files)) : NULL;
	size_t n = 0;

	for (size_t i = 0; i < it->files.n; i++)
		files[i] = sample_hash(it->files.p[i]);
	if (files)
		qsort(files, it->files.n, sizeof(*files), hash_order);
	for (size_t i = 0; i < it->files.n; i++)
		if (n == 0 || files[n - 1] != files[i])
			files[n++] = files[i];
	it->sample.files = files;
	it->sample.files_n = n;
}

void sample_prepare(struct iteration *it)
{
	mem_free((void *)it->sample.files);
	it->sample = (struct sample){
		.number = it->number,
		.error = it->signature.n ? sample_hash(it->signature) : 0,
		.tree = it->tree.n ? sample_hash(it->tree) : 0,
		.tool = it->tool_digest.n ? sample_hash(it->tool_digest) : 0,
		.has_completion = it->completion_source != COMPLETION_UNKNOWN,
		.has_coverage = it->coverage_format.n > 0,
		.has_similarity = it->has_similarity,
		.has_scope = it->inside || it->outside,
		.completion_centi = it->completion_centi,
		.coverage_centi = it->coverage_centi,
		.similarity_milli = it->similarity_milli,
		.inside = it->inside,
		.outside = it->outside,
		.tests = it->tests,
		.failing = it->tests == TESTS_FAILING ? it->tests_failed : 0,
	};
	prepare_files(it);
}
