#pragma once
/*
 * The tree that all formats share: JSON and TOML are read into it, replies and events are built
 * in it. Every value lives in an arena; nothing is freed singly. Values are built once and then
 * only read (const). Objects keep the order of insertion and hold each key at most once.
 */
#include "base/ov.h"

enum value_kind {
	V_NULL,
	V_BOOL,
	V_INT,      /* 64-bit, exact */
	V_REAL,     /* finite in JSON; TOML may give inf and nan */
	V_STR,      /* valid UTF-8; may contain NUL */
	V_DATETIME, /* only from TOML: its normalised text, in .s */
	V_ARRAY,
	V_OBJECT,
};

struct member;

struct value {
	enum value_kind kind;
	uint32_t cap; /* of items or members */
	union {
		bool b;
		int64_t i;
		double r;
		str s;
		struct {
			struct value **items;
			size_t n;
		} array;
		struct {
			struct member *members;
			size_t n;
		} object;
	};
};

struct member {
	str key;
	struct value *value;
};

typedef struct value value;

/* Building. Strings are borrowed, not copied: they must live as long as the arena. */
value *value_null(struct arena *a);
value *value_bool(struct arena *a, bool b);
value *value_int(struct arena *a, int64_t i);
value *value_real(struct arena *a, double r);
value *value_str(struct arena *a, str s);
value *value_cstr(struct arena *a, const char *s); /* a literal, or else long-lived */
value *value_strf(struct arena *a, const char *fmt, ...) _printf_(2, 3);
value *value_time(struct arena *a, ov_time t); /* RFC 3339 text, or null for 0 */
value *value_array(struct arena *a);
value *value_object(struct arena *a);
void value_push(struct arena *a, value *array, value *item);
/* Sets or replaces a key; linear in the number of members. */
void value_set(struct arena *a, value *object, str key, value *v);
/* As value_set, with a C string as key, for building replies by hand. */
void value_put(struct arena *a, value *object, const char *key, value *v);
/* Appends without looking for the key: only for readers that checked for duplicates themselves. */
void value_append_member(struct arena *a, value *object, str key, value *v);
/* A deep copy, strings too, so that it outlives its source. */
value *value_copy(struct arena *a, const value *v);
bool value_equal(const value *a,
		const value *b) _pure_; /* objects regardless of order; 1 equals 1.0 */
/* The members of an object, sorted bytewise by key; the caller gives the list to mem_free. */
const struct member **value_sorted_members(const value *object);

/*
 * Reading. These accept NULL and the wrong kind and answer NULL, the default or the empty string.
 */
const value *value_get(const value *object, str key) _pure_;
const value *value_at(const value *object, const char *key) _pure_;
size_t value_count(const value *v) _pure_; /* items or members; 0 for others */
const value *value_item(const value *array, size_t i) _pure_;
/* The same to whoever builds the tree, to change what is there. */
value *value_edit_get(value *object, str key) _pure_;
value *value_edit_at(value *object, const char *key) _pure_;
value *value_edit_item(value *array, size_t i) _pure_;
/*
 * What is only read, as a part of another tree, too: neither is changed from then on. NULL
 * stays NULL.
 */
value *value_share(const value *v) _pure_;
str value_str_or(const value *v, str otherwise) _pure_;
int64_t value_int_or(const value *v, int64_t otherwise) _pure_;
bool value_bool_or(const value *v, bool otherwise) _pure_;
double value_real_or(const value *v, double otherwise) _pure_; /* integers too */
/* Shorthands for a member: the empty string, 0, false when absent. */
str value_str_at(const value *object, const char *key) _pure_;
int64_t value_int_at(const value *object, const char *key) _pure_;
bool value_bool_at(const value *object, const char *key) _pure_;
const char *value_kind_name(enum value_kind kind); /* "integer", "object", ... for messages */

/*
 * Checked reading, for input from outside: a missing or mistyped member is OV_EINVALID with its
 * path. `path` is the path of the object itself ("phases[1]"), empty at the top.
 */
int value_need_str(const value *object, str path, const char *key, str *ret, struct ov_err *err);
int value_need_int(const value *object, str path, const char *key, int64_t *ret,
		struct ov_err *err);
int value_need_bool(const value *object, str path, const char *key, bool *ret, struct ov_err *err);
int value_need_array(const value *object, str path, const char *key, const value **ret,
		struct ov_err *err);
int value_need_object(const value *object, str path, const char *key, const value **ret,
		struct ov_err *err);
/* OV_EINVALID for a key that is not in known[], naming it and the nearest known one. */
int value_only_keys(const value *object, str path, const char *const *known, size_t n,
		struct ov_err *err);
