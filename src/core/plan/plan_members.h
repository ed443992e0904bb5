#pragma once
/*
 * What the plan_*.c files and the fold of plans share: which member of a document is which field of
 * a node, and the table of the keys that a document may have.
 */
#include "core/model/model.h"
#include "core/plan/plan.h"

struct plan_member {
	const char *key; /* in the document */
	enum field_type type;
	size_t offset; /* in struct node */
};

extern const struct plan_member plan_members[];
extern const size_t plan_members_n;

/*
 * What is read of documents that need not be checked yet: empty, false or NULL where it is
 * not said.
 */
str plan_id(const value *node);
bool plan_is_sequential(const value *doc);
const value *plan_goal(const value *doc);
/*
 * The children of a node of a document, or of the document itself with tier -1; NULL when it
 * has none.
 */
const value *plan_children(const value *doc, int tier);
/* Members that say nothing: "", [], false, null. Left out, the document means the same. */
bool plan_member_empty(const value *v);

/* Where a key may stand: a bit per enum node_tier, and these. */
enum {
	PLAN_AT_TOP = 1u << NODE_TIER_COUNT,
	PLAN_AT_GOAL = PLAN_AT_TOP << 1, /* in the document's "goal" */
};

/* What a member must be. */
enum plan_want {
	WANT_ID,
	WANT_NAME,
	WANT_TITLE,
	WANT_TEXT,
	WANT_TEXTS,
	WANT_TOOLS,
	WANT_PATHS,
	WANT_RISK,
	WANT_ROLE,
	WANT_PRIORITY,
	WANT_VERSION,
	WANT_BOOL,
	WANT_OBJECT,
	WANT_CONTRACT,
	WANT_OVERSIGHT,
	WANT_NODES
};

struct plan_key {
	const char *name;
	enum plan_want want;
	unsigned where, required;
	bool model; /* a model may say it; a key is closed to models until its row says otherwise */
};

extern const struct plan_key plan_keys[];
extern const size_t plan_keys_n;

/* One check of one document. */
struct plan_checking {
	struct arena *a;
	const struct plan_rules *rules;
	struct plan_report *r;
	struct map by_id; /* to the index of the first node with that id, plus 1 */
	const char **ids; /* of all nodes, for the nearest; made when first needed */
	size_t compared;  /* ids, in search of the nearest */
	bool too_many;    /* nodes were left out: the plan has more than any may have */
};

void plan_check_problem(struct plan_checking *c, str path, const char *fmt, ...) _printf_(3, 4);
str plan_path(struct plan_checking *c, str path, const char *key);
str plan_path_item(struct plan_checking *c, str path, size_t i);
/* True when v has the kind; otherwise notes the problem. */
bool plan_want_kind(struct plan_checking *c, str path, const value *v, enum value_kind kind);
/* Every member of an object that stands at one of those places, and what is missing there. */
void plan_check_members(struct plan_checking *c, str path, unsigned where, const value *doc);
/* The first node with that id, or -1. */
int plan_node_index(const struct plan_checking *c, str id);
/* Everything that can never be worked off, since it waits for itself. */
void plan_check_cycles(struct plan_checking *c);
