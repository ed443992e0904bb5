#pragma once
/*
 * A plan document as the next plan of a goal that has nodes already. Finished nodes stay as they
 * are, whether the document names them or not; an id belongs to one node for ever; a node keeps
 * its tier. What comes out is the effective document: what was given, and the finished nodes that
 * it left out.
 */
#include "core/plan/plan.h"
#include "core/state/state.h"

/*
 * As plan_check, and against the goal: what the document may not do to the nodes that are there is
 * told with its path, too. Dependencies may name finished nodes that the document leaves out. For a
 * goal without a plan this is plan_check.
 */
void plan_check_replan(struct arena *a, const struct state *s, const struct goal *g,
		const value *doc, const struct plan_rules *rules, struct plan_report *ret);
/*
 * The effective document of a checked one, as version `version`. Finished nodes that it leaves out
 * come first among their siblings, in their old order, and bring their parents with them.
 */
value *plan_effective(struct arena *a, const struct goal *g, const value *doc, int64_t version);
