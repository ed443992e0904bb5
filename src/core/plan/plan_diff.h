#pragma once
/*
 * What differs between two plan documents, node by node and member by member. Works on documents
 * alone, so the same code tells what a replan changes and what two stored versions have between
 * them. Everything lives in the arena or in the documents.
 */
#include "base/ov.h"
#include "core/model/transition.h"
#include "data/value/value.h"

enum plan_change_kind { PLAN_KEPT, PLAN_ADDED, PLAN_CHANGED, PLAN_REMOVED };

struct plan_difference {
	const char *key;        /* of the document; "parent" and "tier" for its place */
	const value *from, *to; /* NULL: absent */
};

struct plan_change {
	enum plan_change_kind kind;
	str id, parent;
	enum node_tier tier;
	const value *doc; /* as it is after, or as it was when it was removed */
	const struct plan_difference *differences;
	size_t differences_n;
};

/* Nodes in the order of the second document, then those that only the first one has. */
struct plan_diff {
	struct plan_change *p;
	size_t n;
	size_t counts[PLAN_REMOVED + 1];
	bool was_sequential, is_sequential; /* the plans themselves, in the order of their phases */
};

/* The first node with an id counts; what is no node is passed over. Either document may be NULL. */
struct plan_diff plan_diff(struct arena *a, const value *before, const value *after);
/* The ids of one kind of change. */
value *plan_diff_ids(struct arena *a, const struct plan_diff *d, enum plan_change_kind kind);
/*
 * {"added": [...], "changed": [{"id", ..., "changes": [{"key", "from", "to"}]}], "removed",
 * "kept"}, with "sequential" where the plans themselves differ in that.
 */
value *plan_diff_view(struct arena *a, const struct plan_diff *d);
