#pragma once
/*
 * Records of the state as data. Each field of a record is one row in a .def of this folder:
 *
 * 	#define WATCHER_ROWS(X) \
 * 		X(TEXT, instance, "what it is, where the name does not tell") \
 * 		X(STATUS, status, watcher_status, watcher_statuses) \
 * 		X(COUNTS, acts, ACT_COUNT, acts)
 *
 * From the rows come the members of the struct (`WATCHER_ROWS(MEMBER);`), the JSON that the API
 * shows, the snapshot, its reader, and the freeing of what the record owns. They stand in the order
 * in which they are stored. Fields that change together are a part (`n->stall.reason`); they are
 * stored flat all the same. Texts in a record are heap copies that it owns; change them with
 * record_set_*.
 */
#include "base/ov.h"
#include "data/value/value.h"

struct status_table;

/* A list of texts, owned. */
struct strs {
	str *p;
	size_t n;
};

/* Sequence numbers of events, newest last; grown with the vec macros. */
struct seqs {
	uint64_t *p;
	size_t n, cap;
};

enum field_type {
	F_TEXT, /* str */
	F_NUM,  /* int64_t */
	F_FLAG, /* bool */
	/* ov_time; 0 is absent. When the machine's clock is set (core/fold/apply_clock.c) ... */
	F_TIME, /* ... it goes along: as long ago, or as far ahead, as before */
	/* ... it stays, being a date or a time of day; no wait becomes longer by that */
	F_CALENDAR,
	F_STAMP,   /* ... it stays: it is compared with what stands in the log or elsewhere */
	F_STATUS,  /* an enum (int) with a status_table */
	F_LIST,    /* struct strs */
	F_COUNTS,  /* int32_t[table->n]; shown as an object of the non-zero ones */
	F_AMOUNTS, /* int64_t[RESOURCE_COUNT]; shown as an object of the non-zero ones */
	F_JSON,    /* str holding canonical JSON, shown as that value */
	F_SEQS,    /* struct seqs */
};

struct field {
	const char *name;
	enum field_type type;
	size_t offset;
	const struct status_table *table;
};

/* A row as a member of its struct; or as none, where its struct has it at another place. */
#define MEMBER(type, ...) STORED_##type(__VA_ARGS__)
#define NO_MEMBER(...)
/* A part of a record, a struct of its own in it; AS is a row that is stored under another name. */
#define PART_MEMBER(part, ROWS)              \
	struct {                             \
		ROWS(MEMBER, PART_MEMBER_AS) \
	} part;
#define PART_MEMBER_AS(stored, ...) MEMBER(__VA_ARGS__)
#define STORED_TEXT(name, ...) str name;
#define STORED_NUM(name, ...) int64_t name;
#define STORED_FLAG(name, ...) bool name;
#define STORED_TIME(name, ...) ov_time name;
#define STORED_CALENDAR(name, ...) ov_time name;
#define STORED_STAMP(name, ...) ov_time name;
#define STORED_STATUS(name, type, ...) enum type name;
#define STORED_LIST(name, ...) struct strs name;
#define STORED_COUNTS(name, count, ...) int32_t name[count];
#define STORED_AMOUNTS(name, ...) int64_t name[RESOURCE_COUNT];
#define STORED_JSON(name, ...) str name;
#define STORED_SEQS(name, ...) struct seqs name;

struct record_type {
	const char *noun;
	const struct field *fields;
	size_t n;
};

/* NULL: there is none of that name. */
const struct field *record_field(const struct record_type *t, const char *name);
value *record_to_value(struct arena *a, const struct record_type *t, const void *record);
/* As record_to_value, without the fields that are zero or empty: half the size of most records. */
value *record_pack(struct arena *a, const struct record_type *t, const void *record);
/* Fills a zeroed record; absent members stay zero, unknown or mistyped ones are errors. */
int record_from_value(const struct record_type *t, void *record, const value *v,
		struct ov_err *err);
/* As record_from_value, from an object that has members besides, which are passed over. */
int record_from_part(const struct record_type *t, void *record, const value *v, struct ov_err *err);
void record_done(const struct record_type *t, void *record);

void record_set_str(str *field, str s);
void record_set_strs(struct strs *field, const str *texts, size_t n);
void record_set_array(struct strs *field, const value *array); /* of strings; NULL empties */
void record_set_json(str *field, const value *v);              /* as canonical JSON; NULL empties */
/* An object of numbers by name into amounts; false when a name or a type is wrong. */
bool record_read_amounts(const struct status_table *t, int64_t *amounts, const value *v);
value *strs_to_value(struct arena *a, const struct strs *s);
