#pragma once
/* Operations on borrowed slices: comparing, trimming, splitting, numbers, the nearest name. */
#include "base/ov.h"

str str_from(const char *cstr) _pure_; /* NULL gives the absent string */
bool str_eq(str a, str b) _pure_;
bool str_is(str a, const char *cstr) _pure_;
int str_cmp(str a, str b) _pure_; /* bytewise; shorter first */
bool str_starts(str s, str prefix) _pure_;
bool str_ends(str s, str suffix) _pure_;
bool str_contains(str s, str needle) _pure_;
/* The index of a byte or needle, or s.n when there is none. */
size_t str_find_byte(str s, char c) _pure_;
size_t str_find(str s, str needle) _pure_;
str str_trim(str s) _pure_; /* ASCII white space at both ends */
/* From byte `from` for at most n bytes; out of range gives the empty string. */
str str_sub(str s, size_t from, size_t n) _pure_;
/* Takes the part before the next `sep` off *rest into *ret_part; false when *rest is exhausted. */
bool str_split(str *rest, char sep, str *ret_part);
/* Whole slice is a decimal integer in range; no space, no plus sign. */
bool str_to_i64(str s, int64_t *ret);
bool str_to_u64(str s, uint64_t *ret);
/* Edit distance (insert, delete, replace, swap), up to `limit`; more gives limit + 1. */
size_t str_distance(str a, str b, size_t limit) _pure_;
/* The candidate nearest to s and near enough to be a likely misspelling, or NULL. */
const char *str_nearest(str s, const char *const *candidates, size_t n) _pure_;
uint64_t str_hash(str s, uint64_t seed) _pure_; /* keyed; not for security */
