#pragma once
/*
 * Plan documents made by us: of a goal's nodes as they stand, and the plan of last resort from the
 * goal's own words. Both pass plan_check. Everything lives in the arena or is borrowed from
 * the goal.
 */
#include "core/state/state.h"

/* The goal's plan as a document: its nodes but for those that a replan removed. */
value *plan_document(struct arena *a, const struct goal *g);
/* A node's own members, without its children. */
value *plan_node_document(struct arena *a, const struct node *n);
/* One phase with one task: what the goal says, no more. For a goal without a planner. */
value *plan_fallback(struct arena *a, const struct goal *g);
