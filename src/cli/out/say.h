#pragma once
/*
 * Texts with parts of an answer in them, so that what a command shows is read as it looks:
 *
 *	"{opened_at:age} ago, reminded {reminders:#time}[; put off until {snoozed_until:clock}]"
 *
 * {path}        a text on one line, clean; members of members are named "watch.state"
 * {path:form}   in a form of say.c: n (a number), age, until, clock, id, prose, cost, list ...
 * {path:40}     cut to so many columns
 * {path:#task}  "1 task", "2 tasks"
 * {path|-}      what stands for an empty one
 * {path*bold}   in a style, or *status: as a status is; only where say itself puts it out
 * [...|...]     the first half; where the first part in it is empty, 0 or false, the second, if any
 * {=text*bold}  a text of its own in a style
 * {?path}       nothing: for the question alone; {!path} asks for the contrary
 * {{ and [[     the brackets themselves
 */
#include "cli/out/out.h"

void say(struct out *o, const value *x, const char *text);
str say_text(struct out *o, const value *x, const char *text);

/* A cell of each row of a table: a text, or what a function makes of the row. */
struct column {
	const char *text;
	enum style style;
	bool right;         /* aligned */
	const char *status; /* the member by whose status it is coloured */
	void (*own)(struct out *o, const value *x);
};

/* One row: its cells, and its end. */
#define say_row(o, x, columns) say_columns(o, x, columns, ARRAY_LEN(columns))
void say_columns(struct out *o, const value *x, const struct column *columns, size_t n);
/* The cells alone: others follow. */
#define say_cells(o, x, columns) say_cells_of(o, x, columns, ARRAY_LEN(columns))
void say_cells_of(struct out *o, const value *x, const struct column *columns, size_t n);
/* A row for each of the list, and the end of the table. */
#define say_table(o, list, columns, indent) say_rows(o, list, columns, ARRAY_LEN(columns), indent)
void say_rows(struct out *o, const value *list, const struct column *columns, size_t n,
		const char *indent);

/* A label and a text; a row for each that is not empty, or for each text of a list. */
struct shown_field {
	const char *label, *text;
	bool list; /* `text` is the path of one */
};

#define say_fields(o, x, fields) say_fields_of(o, x, fields, ARRAY_LEN(fields))
void say_fields_of(struct out *o, const value *x, const struct shown_field *fields, size_t n);
void say_field(struct out *o, const value *x, const char *label, const char *text);
