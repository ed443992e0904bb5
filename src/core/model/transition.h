#pragma once
/*
 * Every status of the domain, and which may follow which, as data. Nothing else in the program
 * decides whether a transition is legal; tests walk every pair.
 */
#include "base/ov.h"
#include "core/model/ask.h"
#include "core/model/status.h"
#include "core/model/status_oversight.h"

/* Names and legal transitions of one kind of status. Bit t of allowed[f]: f may become t. */
struct status_table {
	const char *noun;
	const char *const *names;
	int n;
	const uint32_t *allowed; /* NULL: a set of names without transitions of its own */
	/* further ones with a person's recorded override; may be NULL */
	const uint32_t *by_override;
};

extern const struct status_table node_statuses, as_statuses, goal_statuses, worker_statuses,
		goal_healths, run_statuses, verifications, esc_statuses, node_tiers, stages, causes,
		dispatch_modes, dispatch_results, rungs, life_signs, block_kinds, resources,
		budget_levels, troubles, fact_signs, detectors, severities, levels, effectivenesses,
		urgencies, notice_statuses, channel_types, tests_states, task_ends,
		completion_sources, say_words, ask_kinds;

const char *status_name(const struct status_table *t, int status);
/* The status with this name, or -1. */
int status_parse(const struct status_table *t, str name);
bool status_may(const struct status_table *t, int from, int to, bool override_given);
/* 0, or OV_ESTATE with a message that names the legal ones. `what` names the thing: "T1.2". */
int status_check(const struct status_table *t, str what, int from, int to, bool override_given,
		struct ov_err *err);
