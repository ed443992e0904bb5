#include "core/model/model.h"

#include "core/model/record_table.h"
#include "core/model/watchdog.h"

#define NAME(sym, name) [sym] = name,
static const char *const effect_names[] = { EFFECT_KINDS(NAME) };
static const char *const worker_kind_names[] = { WORKER_KINDS(NAME) };
static const char *const patrol_names[] = { PATROL_FACTS(NAME) };
static const char *const waiting_names[] = { WAITINGS(NAME) };
static const char *const outcome_names[] = { EFFECT_OUTCOMES(NAME) };
#undef NAME
const struct status_table worker_kinds = { "kind of worker", worker_kind_names,
	ARRAY_LEN(worker_kind_names), NULL, NULL };
const struct status_table patrol_facts = { "finding", patrol_names, ARRAY_LEN(patrol_names), NULL,
	NULL };
const struct status_table waitings = { "wait", waiting_names, ARRAY_LEN(waiting_names), NULL,
	NULL };
const struct status_table effect_kinds = { "effect", effect_names, ARRAY_LEN(effect_names), NULL,
	NULL };
const struct status_table effect_outcomes = { "outcome", outcome_names, ARRAY_LEN(outcome_names),
	NULL, NULL };

#define FOUND(severity, name)                                                               \
	FIELD_AS(oversight_tally, name, COUNTS, found[SEVERITY_##severity], DETECTOR_COUNT, \
			detectors)
#define GOAL_FIELD(...) FIELD(goal, __VA_ARGS__)
RECORD(goal, GOAL_ROWS(GOAL_FIELD));
#define NODE_FIELD(...) FIELD(node, __VA_ARGS__)
#define NODE_PART(part, ROWS) ROWS(IN_##part, AS_##part)
#define IN_def(type, name, ...) AS_def(name, type, name, __VA_ARGS__)
#define AS_def(stored, type, name, ...) FIELD_AS(node, stored, type, def.name, __VA_ARGS__)
#define IN_block(type, name, ...) AS_block(name, type, name, __VA_ARGS__)
#define AS_block(stored, type, name, ...) FIELD_AS(node, stored, type, block.name, __VA_ARGS__)
#define IN_report(type, name, ...) AS_report(name, type, name, __VA_ARGS__)
#define AS_report(stored, type, name, ...) FIELD_AS(node, stored, type, report.name, __VA_ARGS__)
#define IN_next(type, name, ...) AS_next(name, type, name, __VA_ARGS__)
#define AS_next(stored, type, name, ...) FIELD_AS(node, stored, type, next.name, __VA_ARGS__)
#define IN_told(type, name, ...) AS_told(name, type, name, __VA_ARGS__)
#define AS_told(stored, type, name, ...) FIELD_AS(node, stored, type, told.name, __VA_ARGS__)
#define IN_session(type, name, ...) AS_session(name, type, name, __VA_ARGS__)
#define AS_session(stored, type, name, ...) FIELD_AS(node, stored, type, session.name, __VA_ARGS__)
#define IN_stall(type, name, ...) AS_stall(name, type, name, __VA_ARGS__)
#define AS_stall(stored, type, name, ...) FIELD_AS(node, stored, type, stall.name, __VA_ARGS__)
#define IN_watch(type, name, ...) AS_watch(name, type, name, __VA_ARGS__)
#define AS_watch(stored, type, name, ...) FIELD_AS(node, stored, type, watch.name, __VA_ARGS__)
#define IN_work(type, name, ...) AS_work(name, type, name, __VA_ARGS__)
#define AS_work(stored, type, name, ...) FIELD_AS(node, stored, type, work.name, __VA_ARGS__)
#define IN_spend(type, name, ...) AS_spend(name, type, name, __VA_ARGS__)
#define AS_spend(stored, type, name, ...) FIELD_AS(node, stored, type, spend.name, __VA_ARGS__)
RECORD(node, NODE_ROWS(NODE_FIELD, NODE_PART));
#define ASSIGNMENT_FIELD(...) FIELD(assignment, __VA_ARGS__)
RECORD(assignment, ASSIGNMENT_ROWS(ASSIGNMENT_FIELD, ASSIGNMENT_FIELD));
#define DISPATCH_FIELD(...) FIELD(dispatch, __VA_ARGS__)
RECORD(dispatch, DISPATCH_ROWS(DISPATCH_FIELD));
#define RUN_FIELD(...) FIELD(run, __VA_ARGS__)
RECORD(run, RUN_ROWS(RUN_FIELD, RUN_FIELD));
#define WORKER_FIELD(...) FIELD(worker, __VA_ARGS__)
RECORD(worker, WORKER_ROWS(WORKER_FIELD));
#define EFFECT_FIELD(...) FIELD(effect, __VA_ARGS__)
RECORD(effect, EFFECT_ROWS(EFFECT_FIELD));
#define AUTO_MODE_FIELD(...) FIELD(auto_mode, __VA_ARGS__)
RECORD(auto_mode, AUTO_MODE_ROWS(AUTO_MODE_FIELD));
#define SPEND_HOUR_FIELD(...) FIELD(spend_hour, __VA_ARGS__)
RECORD(spend_hour, SPEND_HOUR_ROWS(SPEND_HOUR_FIELD));
#define STREAK_FIELD(...) FIELD(streak, __VA_ARGS__)
RECORD(streak, STREAK_ROWS(STREAK_FIELD));
#define HABIT_FIELD(...) FIELD(habit, __VA_ARGS__)
RECORD(habit, HABIT_ROWS(HABIT_FIELD));
#define WATCHER_FIELD(...) FIELD(watcher, __VA_ARGS__)
RECORD(watcher, WATCHER_ROWS(WATCHER_FIELD));
#define VIGIL_FIELD(...) FIELD(vigil, __VA_ARGS__)
RECORD(vigil, VIGIL_ROWS(VIGIL_FIELD));
#define CLOCK_KNOWN_FIELD(...) FIELD(clock_known, __VA_ARGS__)
RECORD(clock_known, CLOCK_KNOWN_ROWS(CLOCK_KNOWN_FIELD));
#define CONFLICT_FIELD(...) FIELD(conflict, __VA_ARGS__)
RECORD(conflict, CONFLICT_ROWS(CONFLICT_FIELD));
#define ESCALATION_FIELD(...) FIELD(escalation, __VA_ARGS__)
RECORD(escalation, ESCALATION_ROWS(ESCALATION_FIELD));
#define LANE_FIELD(...) FIELD(lane, __VA_ARGS__)
RECORD(lane, LANE_ROWS(LANE_FIELD));
#define USAGE_ROW_FIELD(...) FIELD(usage_row, __VA_ARGS__)
RECORD(usage_row, USAGE_ROW_ROWS(USAGE_ROW_FIELD));
#define CRYSTALLIZATION_FIELD(...) FIELD(crystallization, __VA_ARGS__)
RECORD(crystallization, CRYSTALLIZATION_ROWS(CRYSTALLIZATION_FIELD));
#define ITERATION_FIELD(...) FIELD(iteration, __VA_ARGS__)
RECORD(iteration, ITERATION_ROWS(ITERATION_FIELD));
#define DETECTION_FIELD(...) FIELD(detection, __VA_ARGS__)
RECORD(detection, DETECTION_ROWS(DETECTION_FIELD));
#define NOTICE_FIELD(...) FIELD(notice, __VA_ARGS__)
RECORD(notice, NOTICE_ROWS(NOTICE_FIELD));
#define OVERSIGHT_TALLY_FIELD(...) FIELD(oversight_tally, __VA_ARGS__)
RECORD(oversight_tally, OVERSIGHT_TALLY_ROWS(OVERSIGHT_TALLY_FIELD, FOUND));
