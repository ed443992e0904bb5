#pragma once
/*
 * What oversight goes by: the thresholds of the detectors, and which level answers which detection.
 * One table (thresholds.c) has every name, range, unit and the values of the presets; the options
 * of [oversight], `detect --set`, and what goals and nodes say of their own are read by it. What is
 * said nearer wins, key by key: preset, configuration, goal, node. Pure.
 */
#include "base/ov.h"
#include "core/model/transition.h"
#include "data/value/value.h"

struct goal;
struct node;
struct policy;

#define PRESETS(X)                   \
	X(PRESET_DEFAULT, "default") \
	X(PRESET_STRICT, "strict")   \
	X(PRESET_RELAXED, "relaxed") \
	X(PRESET_CI, "ci")
#define PRESET_ENUM(sym, name) sym,
enum preset { PRESETS(PRESET_ENUM) PRESET_COUNT };
#undef PRESET_ENUM
extern const struct status_table presets;

/*
 * Units as in core/model/model_oversight.h. A threshold that is reached counts (similarity: that
 * is not).
 */
struct thresholds {
	int64_t same_error_count;       /* stuck: of the same error, high */
	int64_t critical_error_count;   /* the same, critical */
	int64_t no_progress_iterations; /* the window in which they are counted */
	int64_t min_gain_centi;         /* a mean gain per iteration below this is no progress */
	int64_t same_call_count;        /* stuck: equal calls within one run; 0: never */
	int64_t same_output_seconds; /* stuck: the least time that equal output takes; 0: never */
	int64_t undo_redo_cycles;    /* oscillation */
	int64_t file_churn_milli;    /* files of two iterations before that come again */
	int64_t objective_similarity_milli;
	int64_t scope_creep_milli; /* files outside of the scope per file inside */
	int64_t iteration_milli, cost_milli, wall_milli; /* burn: of the estimate, high */
	int64_t burn_critical_milli;
	bool test_pass_to_fail;
	int64_t coverage_drop_centi;
};

/*
 * What a pause holds. auto: the node while other work of its goal can go on without it, else
 * the goal.
 */
enum pause_scope { PAUSE_AUTO, PAUSE_GOAL, PAUSE_NODE };

struct oversight {
	struct thresholds t;
	enum level levels[DETECTOR_COUNT][SEVERITY_COUNT]; /* LEVEL_NONE: it is not recorded */
	enum pause_scope pause;
};

void oversight_preset(struct oversight *ret, enum preset preset);
/*
 * Takes over what the object says ({"stuck": {"same_error_count": 2}}, preset included; names also
 * in camelCase), or nothing of it.
 */
int oversight_merge(struct oversight *o, const value *doc, struct ov_err *err);
/* "stuck.same_error_count=2", as of `detect --set`; "stuck.same_error_count=" says nothing. */
int oversight_set(struct oversight *o, str assignment, struct ov_err *err);
/* The same into an object that oversight_merge reads, as of `goal create --oversight`. */
int oversight_assign(struct arena *a, value *doc, str assignment, struct ov_err *err);
/* What is said already (JSON, or empty) with what is said now, key by key; null takes one back. */
int oversight_join(struct arena *a, str json, const value *patch, value **ret, struct ov_err *err);
/* For this node: the configuration's, with what its goal and it say of their own. */
void oversight_for(const struct policy *p, const struct goal *g, const struct node *n,
		struct oversight *ret);
/* The effective values, in the shape that oversight_merge reads. */
value *oversight_view(struct arena *a, const struct oversight *o);
/* docs/thresholds.md */
void oversight_docs(struct buf *out);
