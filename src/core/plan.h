#pragma once
/*
 * Plan documents: phases, tasks and subtasks as JSON, from a file or from a planner. plan_check
 * finds all problems at once, each with its path, and needs no state, so `overseer plan check`
 * works without a daemon. A document that passed is stored whole in plan.applied.
 */
#include "base/map.h"
#include "base/ov.h"
#include "base/vec.h"
#include "core/transition.h"
#include "data/value.h"

struct plan_limits {
	int64_t max_phases, max_tasks, max_subtasks; /* of the plan; of a phase; of a task */
};

#define PLAN_LIMITS_DEFAULT ((struct plan_limits){ 5, 7, 7 })

struct plan_problem {
	str path; /* "phases[1].tasks[0].deps[0]", or a chain of ids for a cycle */
	str text;
	bool elsewhere; /* a dependency on no node of this document: the goal may have it, finished */
};

/* One node of a document, in document order: parents before children. */
struct plan_node {
	str id, path;
	enum node_tier tier;
	int parent; /* index, or -1 */
	const value *doc;
	const value *deps; /* array or NULL */
};

struct plan_report {
	VEC(struct plan_problem) problems;
	VEC(struct plan_node) nodes;
	size_t phases, tasks, subtasks;
};

/* Texts live in the arena or in the document. The caller releases the report. */
void plan_check(struct arena *a, const value *doc, const struct plan_limits *limits,
		struct plan_report *ret);
/* The same; dependencies may also name the ids of `known` (may be NULL). */
void plan_check_with(struct arena *a, const value *doc, const struct plan_limits *limits,
		const struct map *known, struct plan_report *ret);
/* Notes one more problem, unless there are too many already for anybody to read. */
void plan_problem(struct plan_report *r, struct arena *a, str path, const char *fmt, ...)
		_printf_(4, 5);
void plan_report_done(struct plan_report *r);
/* The problems as one OV_EINVALID_PLAN error; 0 when there are none. */
int plan_report_error(const struct plan_report *r, struct ov_err *err);
value *plan_report_view(struct arena *a, const struct plan_report *r);
