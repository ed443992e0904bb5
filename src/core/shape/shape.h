#pragma once
/*
 * Structs that are written once, as rows, and stand in JSON elsewhere: events, what commands take,
 * what came of effects. Whoever has such rows keeps them in a .def,
 *
 * 	TEXT(REQ, session, "the agent's own id of it")
 * 	ENUM(OPT, node_status, node_statuses, to, "what it becomes")
 *
 * and expands it twice: after core/shape/members.def within a struct, after core/shape/rows.def
 * within a table of struct shape_field, where THIS is that struct. The .def ends with
 * core/shape/end.def, which takes the macros away; core/shape/none.def makes all rows nothing, for
 * who wants the names of the structs alone. A document is written SHAPE(report_task), rows,
 * END(report_task): core/shape/structs.def makes struct report_task of it, and
 * core/shape/shapes.def, once, report_task_shape().
 *
 * Types: TEXT str, NOTE a str that is cut to LIMIT_NOTE, NUM int64_t, FLAG bool, ENUM an enum with
 * the table of its words, TIME ov_time (null while it is 0), LIST struct texts, NUMS struct nums,
 * TALLY an int64_t for each of a table's words from one on, OBJECT and OBJECTS (an array of them)
 * const value *, STRUCT and STRUCTS a struct that has a shape, and an array of them (p, n). Needs:
 * REQ is always there, as are TALLY, STRUCT and STRUCTS; OPT is left out when it is zero, empty or
 * NULL; MAYBE where that would say something else: has_NAME tells whether it is there; NIL as
 * MAYBE, with null for what is not. Pure; everything lives in the arena that is given, or
 * is borrowed.
 */
#include "base/ov.h"
#include "core/model/record.h"
#include "data/value/value.h"

struct status_table;

/* A list of texts in an arena. p is NULL where the list is absent. */
struct texts {
	str *p;
	size_t n;
};

struct nums {
	int64_t *p;
	size_t n;
};

enum shape_need { REQ, OPT, MAYBE, NIL };
enum shape_type {
	SHAPE_TEXT,
	SHAPE_NOTE,
	SHAPE_NUM,
	SHAPE_FLAG,
	SHAPE_ENUM,
	SHAPE_TIME,
	SHAPE_LIST,
	SHAPE_NUMS,
	SHAPE_TALLY,
	SHAPE_OBJECT,
	SHAPE_OBJECTS,
	SHAPE_PART,
	SHAPE_PARTS
};

struct shape;

struct shape_field {
	const char *name;
	enum shape_type type;
	enum shape_need need;
	const char *help;
	size_t offset;                    /* in the struct */
	size_t has;                       /* of has_NAME there, or SIZE_MAX */
	const struct status_table *words; /* of ENUM and TALLY */
	int from;                         /* of TALLY: the first word that counts */
	const struct shape *(*part)(void);
};

struct shape {
	const char *name; /* for messages: "run.session" */
	const struct shape_field *fields;
	size_t n;
	size_t size; /* of the struct */
};

/* Sets a field that may be absent. */
#define MAYBE_SET(e, name, x)             \
	do {                              \
		__typeof__(e) set_ = (e); \
		set_->has_##name = true;  \
		set_->name = (x);         \
	} while (0)
/* An array of texts as a list; NULL is none. */
struct texts texts_from(struct arena *a, const value *list);

/* What the values of such a field are in JSON. */
enum value_kind shape_value_kind(enum shape_type type);
const struct shape_field *shape_find(const struct shape *s, str name);
/* 0, or OV_EINVALID with what is wrong: unknown, missing or mistyped members. */
int shape_check(const struct shape *s, const value *data, struct ov_err *err);
/* The struct, from data that is, or will be, checked; texts are borrowed from data. */
void *shape_fill(struct arena *a, const struct shape *s, const value *data);
/*
 * What is in the struct, as an object that shares nothing with it: texts are copied, and
 * made UTF-8.
 */
value *shape_data(struct arena *a, const struct shape *s, const void *is);
/* The names of what is there and need not be. */
value *shape_given(struct arena *a, const struct shape *s, const void *is);
/* What is there goes to the members of the same name and type; the others stay as they are. */
void shape_copy(const struct shape *from, const void *is, const struct shape *to, void *ret);
/* The same to the fields of a record; false when an amount has no such name. */
bool shape_to_record(const struct shape *s, const void *is, const struct record_type *t, void *ret);
