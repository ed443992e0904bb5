#pragma once
/*
 * The compiled form of a schema, shared by schema_compile.c, which makes it, and schema.c, which
 * checks values with it. Private to those two. Everything is in the arena of the compilation; the
 * document is copied there first, so a node may point into it.
 */
#include "base/buf.h"
#include "base/ov.h"
#include "data/value/schema.h"
#include "data/value/value.h"

enum {
	/* Schemas applied to one and the same value, one inside the other or by $ref. */
	SCHEMA_MAX_CHAIN = 64,
	SCHEMA_MAX_DEPTH = 128, /* of subschemas inside each other as written */
	/* References times definitions, so that compiling stays quick. */
	SCHEMA_MAX_LOOKUPS = 20 * 1000 * 1000,
};

/* Bits, because "type" may be a list. A number with an integral value is also an integer. */
enum schema_type {
	ST_NULL = 1 << 0,
	ST_BOOLEAN = 1 << 1,
	ST_INTEGER = 1 << 2,
	ST_NUMBER = 1 << 3,
	ST_STRING = 1 << 4,
	ST_ARRAY = 1 << 5,
	ST_OBJECT = 1 << 6,
};

enum { SCHEMA_TYPES = 7 };
extern const char *const schema_type_names[SCHEMA_TYPES];

struct schema_list {
	struct schema **p;
	size_t n;
};

struct schema_names {
	const char **cstr; /* the same, for messages */
	str *p;
	size_t n;
};

struct schema_property {
	str key;
	struct schema *schema;
};

/* When key is there: the names must be too, and the schema (if any) must hold. */
struct schema_dependency {
	str key;
	struct schema_names names;
	struct schema *schema;
};

/* NULL, 0 and (for the maxima) SIZE_MAX mean that a keyword is absent. */
struct schema {
	bool never; /* the schema false */
	bool unique_items;
	bool exclusive_minimum,
			exclusive_maximum; /* draft 4's flags, folded into above and below */
	unsigned types;
	struct schema *ref;
	const value *constant, *choices;
	const value *minimum, *maximum, *above, *below, *multiple_of;
	size_t min_length, max_length, min_items, max_items, min_properties, max_properties;
	struct schema *items, *additional_items, *contains;
	struct schema_list item_list;
	bool has_item_list;
	struct schema_property *properties; /* sorted by key */
	size_t n_properties;
	const char **property_cstr;
	struct schema *additional_properties, *property_names;
	struct schema_names required;
	struct schema_dependency *dependencies;
	size_t n_dependencies;
	struct schema_list all_of, any_of, one_of;
	struct schema *not_;
	unsigned chain; /* how many schemas one value passes through from here; 0 until known */
	bool visiting;
};

/* Where we are, in the schema or in the value: frames on the stack, printed only on failure. */
struct schema_path {
	const struct schema_path *up; /* NULL at the top, which has no name */
	str key;
	size_t index; /* when key.p is NULL */
};

/* "phases[1].name" and ": ", or nothing at the top. */
struct buf schema_path_text(const struct schema_path *path);
/* "integer or null" */
struct buf schema_types_text(unsigned types);
/* Sets `chain` of every node; refuses references that lead back to themselves without an end. */
int schema_measure_chains(struct schema *const *nodes, size_t n, struct ov_err *err);

static inline bool schema_is_string(const value *v)
{
	return v->kind == V_STR || v->kind == V_DATETIME;
}

static inline bool schema_is_number(const value *v)
{
	return v->kind == V_INT || v->kind == V_REAL;
}

/* -1, 0, 1 as a is below, equal to or above b; exact also between integers and reals; nan is 2. */
int schema_compare(const value *a, const value *b) _pure_;
bool schema_is_multiple(const value *v, const value *of) _pure_;
/* Equal values, in the sense of value_equal, have equal hashes. Counts its work off *steps. */
uint64_t schema_hash(const value *v, size_t *steps);
