#pragma once
/* UTF-8: validation, truncation at a character, code points. Strict: no surrogates, no overlong. */
#include "base/ov.h"

bool utf8_valid(str s) _pure_;
/* The length of the character at the front, 1 to 4; 0 when it is invalid or s is empty. */
size_t utf8_len(str s) _pure_;
/* The longest valid-at-its-end prefix of at most max bytes: never cuts a character in two. */
str utf8_truncate(str s, size_t max) _pure_;
/* Decodes one character off the front of *s; returns -1 and takes one byte on invalid input. */
int32_t utf8_next(str *s);
/* Encodes into 4 bytes at most; returns the length, 0 for what is not a scalar value. */
size_t utf8_encode(uint32_t c, char ret[static 4]);
/*
 * Turns the direction of writing, or is seen by nobody (marks, tags): a line would read as
 * another one.
 */
bool utf8_is_hidden(int32_t c) _pure_;
/* Columns on a terminal: combining marks 0, wide East Asian and emoji 2, invalid bytes 1. */
size_t utf8_width(str s) _pure_;
/* Copies s with invalid bytes, and control characters other than \n and \t, replaced by U+FFFD. */
str utf8_clean(struct arena *a, str s);
