#pragma once
/*
 * What people see: plain text, aligned tables, colours where they help (a terminal, no NO_COLOR),
 * ASCII where the locale is not UTF-8, times relative to now. Text from agents, repositories and
 * plans comes in through out_text or a cell, which take out what would steer a terminal.
 * A struct out owns its buffer; out_flush writes it.
 */
#include "base/buf.h"
#include "base/ov.h"
#include "base/vec.h"
#include "data/value/value.h"

enum style { S_PLAIN, S_BOLD, S_DIM, S_RED, S_GREEN, S_YELLOW, S_CYAN };

struct cell {
	str text; /* clean, in the arena */
	enum style style;
	bool last;  /* of its row */
	bool right; /* aligned */
};

struct out {
	struct arena *arena;
	struct buf buf;
	bool colour, utf8, terminal;
	ov_time now;
	VEC(struct cell) cells; /* of the table that is being made */
};

void out_init(struct out *o, struct arena *a, int fd);
void out_done(struct out *o);
/* Writes everything to fd. OV_EIO when that fails. */
int out_flush(struct out *o, int fd, struct ov_err *err);

/* Trusted text, as it is. */
void out_f(struct out *o, const char *fmt, ...) _printf_(2, 3);
/* Text from outside, on one line. */
void out_text(struct out *o, str s);
void out_styled(struct out *o, enum style style, str s);
/* A value as a line of JSON. */
void out_json(struct out *o, const value *v);
/* Of what was put out and is not written yet, only so many of the last lines. */
void out_keep_lines(struct out *o, int64_t lines);
/* Text from outside of many lines, each with a prefix. */
void out_lines(struct out *o, const char *prefix, str s);

/* One line without control characters, bidirectional overrides, and (in ASCII) other characters. */
str out_clean(struct out *o, str s);
/* The same, keeping newlines and tabs. */
str out_clean_lines(struct out *o, str s);
/* Cut to so many columns, with an ellipsis. */
str out_short(struct out *o, str s, size_t columns);

/* Rows of cells, aligned when the table ends; the last cell of a row is not padded. */
void cell(struct out *o, enum style style, str s);
void cell_f(struct out *o, enum style style, const char *fmt, ...) _printf_(3, 4);
void cell_right(struct out *o, enum style style, str s);
void row_end(struct out *o);
void table_end(struct out *o, const char *indent);

/* "TITLE (n)" on a line; nothing for none. */
void out_heading(struct out *o, const char *title, size_t n);

/* A row of a label and a text; none when the text is empty. */
void out_field(struct out *o, const char *label, str s);
/* A row for each text of a list, the first with the label. */
void out_fields(struct out *o, const char *label, const value *texts);
/* The texts of a list as one. */
str out_joined(struct arena *a, const value *texts, const char *between);

/* "17m" since a time in RFC 3339; "-" when there is none. */
str out_age(struct out *o, str rfc3339);
/* "in 4m", or "now". */
str out_until(struct out *o, str rfc3339);
/* "13:02:04" of the local day, with the date when that is not today. */
str out_clock(struct out *o, str rfc3339);
/* "08:00", "tomorrow 08:00", "2026-11-17 08:00", in local time. */
str out_near(struct out *o, str rfc3339);
/* A size for people: "12 bytes", "1.2 GB". */
str out_bytes(struct out *o, int64_t n);
/* "####------" of `done` out of `all`. */
str out_bar(struct out *o, int64_t done, int64_t all, size_t width);
enum style status_style(str status);

/*
 * Ids as people want them: the shortest prefix of at least 10 characters that is unique among the
 * known ones; when not all are known, so long that it is unique for all practical purposes.
 */
struct ids {
	VEC(str) all;
	bool partial;
};

void ids_add(struct ids *ids, str id);
str ids_short(const struct ids *ids, str id);
void ids_done(struct ids *ids);
/* For an id that stands alone. */
str id_short(str id);
/* A sentence with the ids and commits in it shortened, unless they are part of a longer name. */
str out_prose(struct out *o, str s);
