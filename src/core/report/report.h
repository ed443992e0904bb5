#pragma once
/*
 * Reports: how a goal went, how well the detectors do, and what happened while nobody looked, all
 * of it from the log. Each is a fold of its own over the events, in bounded memory, and ends as a
 * document (core/report/documents.def). Pure: the caller reads the log, and cli/report makes
 * Markdown and HTML of it.
 */
#include "base/ov.h"
#include "core/event/event.h"
#include "core/policy/oversight_policy.h"
#include "core/policy/policy.h"
#include "core/state/state.h"

/* ---- one goal ---- */

struct report_goal;
struct report_goal *report_goal_new(str goal);
struct report_goal *report_goal_free(struct report_goal *r); /* returns NULL */
/* Does the report need events of this kind? The others need not be decoded. */
bool report_goal_wants(str kind);
void report_goal_add(struct report_goal *r, const struct event *e);
/* Was the creation of the goal among the events? Otherwise they begin too late. */
bool report_goal_begun(const struct report_goal *r);
/*
 * The document, which shares nothing with the rest; what the log does not say comes from the state
 * as it is after those events. Usage: by resource used, estimate and limit, from who knows what is
 * under way; or NULL.
 */
value *report_goal_view(struct arena *a, const struct report_goal *r, const struct state *s,
		const value *usage, ov_time now);

/* ---- the detectors, of one goal (or of all, when it is empty) ---- */

struct report_detectors;
struct report_detectors *report_detectors_new(str goal);
struct report_detectors *report_detectors_free(struct report_detectors *r);
bool report_detectors_wants(str kind);
void report_detectors_add(struct report_detectors *r, const struct event *e);
/* With what follows for the thresholds in force. */
value *report_detectors_view(struct arena *a, const struct report_detectors *r,
		const struct oversight *o);

/* ---- a period: what happened while nobody looked ---- */

struct report_period;
struct report_period *report_period_new(ov_time since);
struct report_period *report_period_free(struct report_period *r);
bool report_period_wants(str kind);
/* Before the first event: a daemon was up when the period began. */
void report_period_up(struct report_period *r);
/* Events of before the period are passed over. */
void report_period_add(struct report_period *r, const struct event *e);
value *report_period_view(struct arena *a, const struct report_period *r, const struct state *s,
		const struct policy *policy, ov_time now);
