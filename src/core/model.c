#include "core/model.h"

#include "core/vigil.h"

#define NAME(sym, name) [sym] = name,
static const char *const effect_names[] = { EFFECT_KINDS(NAME) };
static const char *const worker_kind_names[] = { WORKER_KINDS(NAME) };
static const char *const patrol_names[] = { PATROL_FACTS(NAME) };
#undef NAME
const struct status_table worker_kinds = { "kind of worker", worker_kind_names,
	ARRAY_LEN(worker_kind_names), NULL, NULL };
const struct status_table patrol_facts = { "finding", patrol_names, ARRAY_LEN(patrol_names), NULL,
	NULL };
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
#define COUNTS(type, name, table)                                      \
	{                                                              \
#name, F_COUNTS, offsetof(struct type, name), &(table) \
	}
#define AMOUNTS(type, name, table)                                      \
	{                                                               \
#name, F_AMOUNTS, offsetof(struct type, name), &(table) \
	}
#define RECORD(noun) \
	const struct record_type noun##_record = { #noun, noun##_fields, ARRAY_LEN(noun##_fields) }

static const struct field goal_fields[] = {
	FIELD(goal, id, F_STR),
	FIELD(goal, title, F_STR),
	FIELD(goal, standing, F_STR),
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
	FIELD(goal, assumptions, F_STRS),
	FIELD(goal, stakeholders, F_STRS),
	FIELD(goal, risks, F_JSON),
	FIELD(goal, origin_session, F_STR),
	FIELD(goal, origin_context, F_JSON),
	FIELD(goal, repo_context, F_STR),
	FIELD(goal, plan_version, F_INT),
	FIELD(goal, plan_source, F_STR),
	FIELD(goal, plan_seqs, F_SEQS),
	FIELD(goal, planned_seq, F_INT),
	AMOUNTS(goal, estimate, resources),
	AMOUNTS(goal, budget, resources),
	AMOUNTS(goal, spent, resources),
	STATUS(goal, budget_level, budget_levels),
	FIELD(goal, reopened, F_BOOL),
	FIELD(goal, archived_seq, F_INT),
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
	FIELD(node, removed_in, F_INT),
	FIELD(node, acceptance, F_STRS),
	FIELD(node, deps, F_STRS),
	FIELD(node, scope_paths, F_STRS),
	FIELD(node, required_tools, F_STRS),
	FIELD(node, tools_allow, F_STRS),
	FIELD(node, tools_deny, F_STRS),
	FIELD(node, tools_narrowed, F_JSON),
	FIELD(node, suggested_agent, F_STR),
	FIELD(node, role, F_STR),
	FIELD(node, check_command, F_STR),
	FIELD(node, effort, F_STR),
	FIELD(node, risk, F_STR),
	FIELD(node, verification, F_JSON),
	FIELD(node, priority, F_INT),
	STATUS(node, status, node_statuses),
	FIELD(node, status_reason, F_STR),
	STATUS(node, block, block_kinds),
	FIELD(node, blocked_by, F_STR),
	FIELD(node, unblock_when, F_STR),
	FIELD(node, blocked_until, F_TIME),
	FIELD(node, report, F_JSON),
	FIELD(node, reported_at, F_TIME),
	FIELD(node, reported_status, F_STR),
	FIELD(node, handover, F_STR),
	FIELD(node, feedback, F_STR),
	FIELD(node, wanted_agent, F_STR),
	FIELD(node, wanted_worker, F_STR),
	FIELD(node, claim, F_STR),
	FIELD(node, answer, F_STR),
	FIELD(node, said, F_JSON),
	FIELD(node, session, F_STR),
	FIELD(node, session_agent, F_STR),
	FIELD(node, session_worker, F_STR),
	FIELD(node, session_usage, F_JSON),
	FIELD(node, session_tools, F_JSON),
	FIELD(node, session_home, F_STR),
	FIELD(node, episode, F_INT),
	FIELD(node, episode_open, F_BOOL),
	FIELD(node, episode_reason, F_STR),
	COUNTS(node, rungs, rungs),
	COUNTS(node, skipped, rungs),
	FIELD(node, recoveries, F_INT),
	FIELD(node, sent_hash, F_STR),
	FIELD(node, episode_at, F_TIME),
	FIELD(node, recovered_at, F_TIME),
	FIELD(node, backoff_until, F_TIME),
	FIELD(node, sent_at, F_TIME),
	FIELD(node, diagnosed, F_STR),
	FIELD(node, advice, F_JSON),
	FIELD(node, commit, F_STR),
	FIELD(node, reverts, F_INT),
	FIELD(node, epoch, F_INT),
	COUNTS(node, failures, causes),
	AMOUNTS(node, spent, resources),
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
	FIELD(assignment, candidate, F_STR),
	FIELD(assignment, good_at, F_TIME),
	FIELD(assignment, feedback, F_STR),
	FIELD(assignment, session_key, F_STR),
	FIELD(assignment, tools, F_JSON),
	FIELD(assignment, session, F_STR),
	FIELD(assignment, home, F_STR),
	FIELD(assignment, session_usage, F_JSON),
	FIELD(assignment, purpose, F_STR),
	FIELD(assignment, instruction_hash, F_STR),
	STATUS(assignment, recovery_policy, rungs),
	FIELD(assignment, idle_after, F_INT),
	FIELD(assignment, last_activity_at, F_TIME),
	FIELD(assignment, expected_at, F_TIME),
	STATUS(assignment, activity, life_signs),
	FIELD(assignment, stopping, F_BOOL),
	FIELD(assignment, created_at, F_TIME),
	FIELD(assignment, updated_at, F_TIME),
	FIELD(assignment, last_dispatch_at, F_TIME),
};
RECORD(assignment);

static const struct field dispatch_fields[] = {
	FIELD(dispatch, id, F_STR),
	FIELD(dispatch, goal_id, F_STR),
	FIELD(dispatch, node_id, F_STR),
	FIELD(dispatch, assignment_id, F_STR),
	FIELD(dispatch, run_id, F_STR),
	STATUS(dispatch, mode, dispatch_modes),
	FIELD(dispatch, purpose, F_STR),
	FIELD(dispatch, target, F_STR),
	FIELD(dispatch, instruction_hash, F_STR),
	FIELD(dispatch, nonce, F_STR),
	STATUS(dispatch, result, dispatch_results),
	FIELD(dispatch, sends, F_INT),
	FIELD(dispatch, seq, F_INT),
	FIELD(dispatch, notes, F_STR),
	FIELD(dispatch, at, F_TIME),
	FIELD(dispatch, acknowledged_at, F_TIME),
};
RECORD(dispatch);

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
	FIELD(run, tools, F_JSON),
	FIELD(run, dispatch_result, F_STR),
	FIELD(run, update_identity, F_STR),
	FIELD(run, report_error, F_STR),
	FIELD(run, update_offset, F_INT),
	FIELD(run, session, F_STR),
	FIELD(run, model, F_STR),
	FIELD(run, resumed, F_BOOL),
	FIELD(run, ready, F_BOOL),
	FIELD(run, verdict, F_STR),
	STATUS(run, trouble, troubles),
	FIELD(run, turns, F_INT),
	FIELD(run, tool_calls, F_INT),
	FIELD(run, tokens, F_INT),
	FIELD(run, tokens_input, F_INT),
	FIELD(run, tokens_output, F_INT),
	FIELD(run, tokens_cache_read, F_INT),
	FIELD(run, tokens_cache_write, F_INT),
	FIELD(run, cost_microusd, F_INT),
	FIELD(run, cost_source, F_STR),
	STATUS(run, limit, block_kinds),
	FIELD(run, resets_at, F_TIME),
	FIELD(run, overdue, F_BOOL),
	FIELD(run, mute_at, F_TIME),
	FIELD(run, patience_from, F_TIME),
	FIELD(run, lost, F_BOOL),
	FIELD(run, exit_code, F_INT),
	FIELD(run, signal, F_INT),
	FIELD(run, message, F_STR),
	FIELD(run, output_bytes, F_INT),
	FIELD(run, dropped_bytes, F_INT),
	FIELD(run, swept, F_INT),
	FIELD(run, containment, F_STR),
	STATUS(run, verification, verifications),
	FIELD(run, verification_detail, F_STR),
	FIELD(run, leftovers, F_BOOL),
	FIELD(run, rescue_ref, F_STR),
	FIELD(run, commits, F_INT),
	FIELD(run, files_changed, F_INT),
	FIELD(run, files, F_STRS),
	FIELD(run, commit_ids, F_STRS),
	FIELD(run, created_at, F_TIME),
	FIELD(run, started_at, F_TIME),
	FIELD(run, ended_at, F_TIME),
};
RECORD(run);

static const struct field worker_fields[] = {
	FIELD(worker, name, F_STR),
	STATUS(worker, status, worker_statuses),
	STATUS(worker, kind, worker_kinds),
	FIELD(worker, excluded, F_BOOL),
	FIELD(worker, agent, F_STR),
	FIELD(worker, assignment_id, F_STR),
	FIELD(worker, path, F_STR),
	FIELD(worker, reason, F_STR),
	FIELD(worker, wanted, F_STR),
	COUNTS(worker, repairs, patrol_facts),
	FIELD(worker, repaired_at, F_TIME),
	FIELD(worker, created_at, F_TIME),
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
	FIELD(effect, dispatch_id, F_STR),
	FIELD(effect, purpose, F_STR),
	FIELD(effect, worker, F_STR),
	FIELD(effect, created_at, F_TIME),
};
RECORD(effect);

static const struct field auto_mode_fields[] = {
	FIELD(auto_mode, on, F_BOOL),
	FIELD(auto_mode, instance, F_STR),
	FIELD(auto_mode, concurrency, F_INT),
	FIELD(auto_mode, completed, F_INT),
	FIELD(auto_mode, errors, F_INT),
	FIELD(auto_mode, empty, F_INT),
	FIELD(auto_mode, failures, F_INT),
	FIELD(auto_mode, ask_at, F_TIME),
	FIELD(auto_mode, since, F_TIME),
	FIELD(auto_mode, stopped_at, F_TIME),
	FIELD(auto_mode, stop_reason, F_STR),
	FIELD(auto_mode, failed, F_BOOL),
};
RECORD(auto_mode);

static const struct field watcher_fields[] = {
	FIELD(watcher, instance, F_STR),
	FIELD(watcher, n, F_INT),
	FIELD(watcher, at, F_TIME),
};
RECORD(watcher);

static const struct field vigil_fields[] = {
	FIELD(vigil, history, F_SEQS),
	FIELD(vigil, forgotten_n, F_INT),
	FIELD(vigil, forgotten_at, F_TIME),
};
RECORD(vigil);

static const struct field conflict_fields[] = {
	FIELD(conflict, a, F_STR),
	FIELD(conflict, b, F_STR),
	FIELD(conflict, files, F_STRS),
	FIELD(conflict, at, F_TIME),
};
RECORD(conflict);

static const struct field escalation_fields[] = {
	FIELD(escalation, number, F_INT),
	FIELD(escalation, goal_id, F_STR),
	FIELD(escalation, node_id, F_STR),
	FIELD(escalation, assignment_id, F_STR),
	FIELD(escalation, kind, F_STR),
	FIELD(escalation, question, F_STR),
	FIELD(escalation, options, F_STRS),
	FIELD(escalation, default_answer, F_STR),
	STATUS(escalation, status, esc_statuses),
	FIELD(escalation, answer, F_STR),
	FIELD(escalation, answered_by, F_STR),
	FIELD(escalation, episode, F_INT),
	FIELD(escalation, reminders, F_INT),
	FIELD(escalation, opened_at, F_TIME),
	FIELD(escalation, closed_at, F_TIME),
	FIELD(escalation, notify_at, F_TIME),
	FIELD(escalation, expires_at, F_TIME),
	FIELD(escalation, reminded_at, F_TIME),
	FIELD(escalation, snoozed_until, F_TIME),
};
RECORD(escalation);

static const struct field lane_fields[] = {
	FIELD(lane, agent, F_STR),
	STATUS(lane, kind, block_kinds),
	FIELD(lane, detail, F_STR),
	FIELD(lane, since, F_TIME),
	FIELD(lane, resets_at, F_TIME),
	FIELD(lane, times, F_INT),
};
RECORD(lane);

static const struct field usage_row_fields[] = {
	FIELD(usage_row, day, F_INT),
	FIELD(usage_row, goal_id, F_STR),
	FIELD(usage_row, agent, F_STR),
	FIELD(usage_row, model, F_STR),
	AMOUNTS(usage_row, spent, resources),
	FIELD(usage_row, tokens_input, F_INT),
	FIELD(usage_row, tokens_output, F_INT),
	FIELD(usage_row, tokens_cache_read, F_INT),
	FIELD(usage_row, tokens_cache_write, F_INT),
	FIELD(usage_row, unpriced, F_INT),
	FIELD(usage_row, untold, F_INT),
};
RECORD(usage_row);

static const struct field crystallization_fields[] = {
	FIELD(crystallization, id, F_STR),
	FIELD(crystallization, goal_id, F_STR),
	FIELD(crystallization, node_id, F_STR),
	FIELD(crystallization, assignment_id, F_STR),
	FIELD(crystallization, run_id, F_STR),
	FIELD(crystallization, agent, F_STR),
	FIELD(crystallization, session_key, F_STR),
	STATUS(crystallization, status, node_statuses),
	FIELD(crystallization, summary, F_STR),
	FIELD(crystallization, current_state, F_STR),
	FIELD(crystallization, decisions, F_JSON),
	FIELD(crystallization, next_actions, F_STRS),
	FIELD(crystallization, open_questions, F_STRS),
	FIELD(crystallization, known_blockers, F_STRS),
	FIELD(crystallization, files_touched, F_STRS),
	FIELD(crystallization, commands_run, F_STRS),
	FIELD(crystallization, tests_run, F_STRS),
	FIELD(crystallization, commits, F_STRS),
	FIELD(crystallization, prs, F_STRS),
	FIELD(crystallization, issues, F_STRS),
	FIELD(crystallization, external_refs, F_STRS),
	FIELD(crystallization, claimed, F_JSON),
	FIELD(crystallization, transcript, F_JSON),
	FIELD(crystallization, created_at, F_TIME),
};
RECORD(crystallization);
