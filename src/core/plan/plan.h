#pragma once
/*
 * Plan documents: phases, tasks and subtasks as JSON, from a file or from a planner. plan_check
 * finds all problems at once, each with its path, and needs no state, so `overseer plan check`
 * works without a daemon. A document that passed is stored whole in plan.applied.
 */
#include "base/map.h"
#include "base/ov.h"
#include "base/vec.h"
#include "core/model/transition.h"
#include "core/policy/plan_limits.h"
#include "data/value/value.h"

struct goal;
struct policy;
struct state;

/* By what a document is judged. */
struct plan_rules {
	struct plan_limits limits;
	bool model; /* written by a model: only keys that a model may say */
	/* of a model's plan: the roles that it may name, as texts; NULL: none */
	const value *roles;
	/* The goal whose next plan it would be, or NULL: its finished nodes can be depended on. */
	const struct state *state;
	const struct goal *goal;
	/* NULL, or who is configured: tasks that nobody can take are told */
	const struct policy *policy;
};

#define PLAN_RULES_WRITTEN ((struct plan_rules){ .limits = PLAN_LIMITS_WRITTEN })

struct plan_problem {
	str path; /* "phases[1].tasks[0].deps[0]", or a chain of ids for a cycle */
	str text;
	bool elsewhere; /* no problem if the goal has what the document speaks of */
};

/* One node of a document, in document order: parents before children. */
struct plan_node {
	str id, path;
	enum node_tier tier;
	int parent;      /* index, or -1 */
	int before;      /* the one that it follows in a sequential parent, or -1 */
	int first, next; /* its first child and its next sibling, or -1 */
	const value *doc;
	const value *deps; /* array or NULL */
};

struct plan_report {
	VEC(struct plan_problem) problems;
	VEC(struct plan_problem)
	warnings; /* it can be applied, but will not go as its author means */
	VEC(struct plan_node) nodes;
	size_t phases, tasks, subtasks;
	size_t leaves, ready; /* what agents get, and how many of them wait for nothing */
	bool sequential;      /* some of its order is more than deps say */
};

/* Texts live in the arena or in the document. The caller releases the report. */
void plan_check(struct arena *a, const value *doc, const struct plan_rules *rules,
		struct plan_report *ret);
/* Notes one more problem, unless there are too many already for anybody to read. */
void plan_problem(struct plan_report *r, struct arena *a, str path, const char *fmt, ...)
		_printf_(4, 5);
void plan_report_done(struct plan_report *r);
/* The problems as one OV_EINVALID_PLAN error; 0 when there are none. */
int plan_report_error(const struct plan_report *r, struct ov_err *err);
/* A list of {path, problem}. */
value *plan_problems_view(struct arena *a, const struct plan_problem *p, size_t n);
value *plan_report_view(struct arena *a, const struct plan_report *r);
