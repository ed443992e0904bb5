#pragma once
/*
 * Numbers of the JSON reader: the grammar of RFC 8259, integers exact in 64 bits, reals rounded
 * correctly and independently of the locale. Private to data.
 */
#include "base/ov.h"

struct json_number {
	bool real;
	int64_t i;
	double r;
};

extern const char json_out_of_range[];

/*
 * Reads the number at p, where a digit or a minus sign stands; a NUL must follow somewhere. Returns
 * NULL and where the number ends, or what is wrong and where. A number that is well-formed but does
 * not fit is json_out_of_range itself.
 */
const char *json_read_number(const char *p, struct json_number *ret, const char **ret_end);
