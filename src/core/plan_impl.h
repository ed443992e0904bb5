#pragma once
/* What the plan_*.c files and the fold of plans share: which member of a document is which field of a node. */
#include "core/model.h"

struct plan_member {
	const char *key; /* in the document */
	enum field_type type;
	size_t offset; /* in struct node */
};

extern const struct plan_member plan_members[];
extern const size_t plan_members_n;

/* The children of a node of a document, or of the document itself with tier -1; NULL when it has none. */
const value *plan_children(const value *doc, int tier);
/* Members that say nothing: "", [], null. Left out, the document means the same. */
bool plan_member_empty(const value *v);
