#pragma once
/*
 * What the TOML reader's files share: a cursor over the text, failures with line and column,
 * white space, strings, and the values that are one word (numbers, booleans, dates). Private to
 * data/value/toml*.c. The cursor borrows text, arena and error; toml.c owns them.
 */
#include "base/buf.h"
#include "base/ov.h"
#include "data/value/value.h"

struct toml_scan {
	struct arena *arena; /* of the result */
	str text;            /* valid UTF-8, checked before */
	size_t at;
	struct buf scratch; /* the string or number being put together */
	struct ov_err *err;
};

/* Fails with "line L, column C: ..." for the byte offset `at`. */
int toml_fail(const struct toml_scan *s, size_t at, int code, const char *fmt, ...) _printf_(4, 5);
/* Fails because of the byte at the cursor: "expected WHAT, got ...". */
int toml_expected(const struct toml_scan *s, const char *what);
/* The byte at the cursor + ahead, or -1 past the end. */
int toml_peek(const struct toml_scan *s, size_t ahead) _pure_;
/* Takes the byte when it is next. */
bool toml_take(struct toml_scan *s, char c);
/* Takes \n or \r\n when it is next. */
bool toml_take_newline(struct toml_scan *s);
void toml_skip_blanks(struct toml_scan *s);
/* Takes blanks and a comment, up to a newline or the end. */
int toml_skip_rest(struct toml_scan *s);
/* Takes blanks, comments and newlines, as inside arrays. */
int toml_skip_lines(struct toml_scan *s);
/* A string at its opening quote; keys have only the one-line forms. */
int toml_string(struct toml_scan *s, bool key, str *ret);
/* Boolean, number, date or time: everything that is one word. */
int toml_word(struct toml_scan *s, value **ret);
