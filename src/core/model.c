#include "core/model.h"

#define NAME(sym, name) [sym] = name,
static const char *const effect_names[] = { EFFECT_KINDS(NAME) };
#undef NAME
const struct status_table effect_kinds = { "effect", effect_names, ARRAY_LEN(effect_names), NULL,
	NULL };

#define FIELD(type, name, ftype)                                \
	{                                                       \
#name, ftype, offsetof(struct type, name), NULL \
	}
#define STATUS(type, name, table)                                      \
	{                                                              \
#name, F_STATUS, offsetof(struct type, name), &(table) \
	}
#define RECORD(noun) \
	const struct record_type noun##_record = { #noun, noun##_fields, ARRAY_LEN(noun##_fields) }

static const struct field goal_fields[] = {
	FIELD(goal, id, F_STR),
	FIELD(goal, title, F_STR),
	FIELD(goal, owner, F_STR),
	STATUS(goal, status, goal_statuses),
	STATUS(goal, health, goal_healths),
	FIELD(goal, status_reason, F_STR),
	FIELD(goal, priority, F_INT),
	FIELD(goal, problem_statement, F_STR),
	FIELD(goal, success_criteria, F_STRS),
	FIELD(goal, non_goals, F_STRS),
	FIELD(goal, constraints, F_STRS),
	FIELD(goal, tags, F_STRS),
	FIELD(goal, plan_version, F_INT),
	FIELD(goal, created_at, F_TIME),
	FIELD(goal, updated_at, F_TIME),
	FIELD(goal, ended_at, F_TIME),
};
RECORD(goal);

static const struct field node_fields[] = {
	FIELD(node, id, F_STR),
	FIELD(node, parent_id, F_STR),
	FIELD(node, name, F_STR),
	FIELD(node, objective, F_STR),
	FIELD(node, outcome, F_STR),
	FIELD(node, definition_of_done, F_STR),
	STATUS(node, tier, node_tiers),
	FIELD(node, acceptance, F_STRS),
	FIELD(node, deps, F_STRS),
	FIELD(node, scope_paths, F_STRS),
	FIELD(node, required_tools, F_STRS),
	FIELD(node, suggested_agent, F_STR),
	FIELD(node, role, F_STR),
	FIELD(node, check_command, F_STR),
	FIELD(node, effort, F_STR),
	FIELD(node, risk, F_STR),
	FIELD(node, verification, F_JSON),
	FIELD(node, priority, F_INT),
	STATUS(node, status, node_statuses),
	FIELD(node, status_reason, F_STR),
	FIELD(node, blocked_by, F_STR),
	FIELD(node, unblock_when, F_STR),
	FIELD(node, commit, F_STR),
	FIELD(node, epoch, F_INT),
	{ "failures", F_COUNTS, offsetof(struct node, failures), &causes },
	FIELD(node, created_at, F_TIME),
	FIELD(node, updated_at, F_TIME),
	FIELD(node, queued_at, F_TIME),
	FIELD(node, started_at, F_TIME),
	FIELD(node, ended_at, F_TIME),
	FIELD(node, history, F_SEQS),
};
RECORD(node);

static const struct field assignment_fields[] = {
	FIELD(assignment, id, F_STR),
	FIELD(assignment, goal_id, F_STR),
	FIELD(assignment, node_id, F_STR),
	FIELD(assignment, agent, F_STR),
	FIELD(assignment, worker, F_STR),
	FIELD(assignment, epoch, F_INT),
	STATUS(assignment, status, as_statuses),
	STATUS(assignment, stage, stages),
	FIELD(assignment, reason, F_STR),
	FIELD(assignment, not_before, F_TIME),
	FIELD(assignment, run_id, F_STR),
	FIELD(assignment, attempt, F_INT),
	FIELD(assignment, branch, F_STR),
	FIELD(assignment, base, F_STR),
	FIELD(assignment, head, F_STR),
	FIELD(assignment, tree, F_STR),
	FIELD(assignment, feedback, F_STR),
	FIELD(assignment, created_at, F_TIME),
	FIELD(assignment, updated_at, F_TIME),
	FIELD(assignment, last_dispatch_at, F_TIME),
};
RECORD(assignment);

static const struct field run_fields[] = {
	FIELD(run, id, F_STR),
	FIELD(run, goal_id, F_STR),
	FIELD(run, node_id, F_STR),
	FIELD(run, assignment_id, F_STR),
	FIELD(run, dispatch_id, F_STR),
	FIELD(run, agent, F_STR),
	FIELD(run, worker, F_STR),
	FIELD(run, attempt, F_INT),
	FIELD(run, epoch, F_INT),
	STATUS(run, status, run_statuses),
	FIELD(run, instruction_hash, F_STR),
	FIELD(run, dispatch_result, F_STR),
	FIELD(run, lost, F_BOOL),
	FIELD(run, exit_code, F_INT),
	FIELD(run, signal, F_INT),
	FIELD(run, message, F_STR),
	FIELD(run, output_bytes, F_INT),
	FIELD(run, dropped_bytes, F_INT),
	FIELD(run, swept, F_INT),
	STATUS(run, verification, verifications),
	FIELD(run, verification_detail, F_STR),
	FIELD(run, leftovers, F_BOOL),
	FIELD(run, rescue_ref, F_STR),
	FIELD(run, commits, F_INT),
	FIELD(run, files_changed, F_INT),
	FIELD(run, created_at, F_TIME),
	FIELD(run, started_at, F_TIME),
	FIELD(run, ended_at, F_TIME),
};
RECORD(run);

static const struct field worker_fields[] = {
	FIELD(worker, name, F_STR),
	STATUS(worker, status, worker_statuses),
	FIELD(worker, pool, F_BOOL),
	FIELD(worker, assignment_id, F_STR),
	FIELD(worker, path, F_STR),
	FIELD(worker, since, F_TIME),
};
RECORD(worker);

static const struct field effect_fields[] = {
	FIELD(effect, id, F_STR),
	STATUS(effect, kind, effect_kinds),
	FIELD(effect, goal_id, F_STR),
	FIELD(effect, node_id, F_STR),
	FIELD(effect, assignment_id, F_STR),
	FIELD(effect, run_id, F_STR),
	FIELD(effect, created_at, F_TIME),
};
RECORD(effect);

static const struct field escalation_fields[] = {
	FIELD(escalation, number, F_INT),
	FIELD(escalation, goal_id, F_STR),
	FIELD(escalation, node_id, F_STR),
	FIELD(escalation, kind, F_STR),
	FIELD(escalation, question, F_STR),
	STATUS(escalation, status, esc_statuses),
	FIELD(escalation, answer, F_STR),
	FIELD(escalation, opened_at, F_TIME),
	FIELD(escalation, closed_at, F_TIME),
};
RECORD(escalation);
