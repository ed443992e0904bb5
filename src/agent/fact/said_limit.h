#pragma once
/*
 * What the last words of a failed run say, where its agent speaks no format: that it is out of
 * quota, or logged out. A table of patterns, which the configuration adds to. A pattern is a text
 * that stands anywhere in a line, in whatever case; "*" in it stands for any characters. Pure;
 * owns nothing.
 */
#include "agent/fact/fact.h"

enum { SAID_PATTERNS_MAX = 32, SAID_PATTERN_BYTES = 200, SAID_PATTERN_STARS = 8 };

struct said_patterns {
	const str *limit, *login;
	size_t limit_n, login_n;
};

/* Why it is no pattern; NULL: it is one. One that is too short would fit anything. */
const char *said_pattern_problem(str pattern);
bool said_matches(str line, str pattern);
/*
 * By the last line that says anything: TROUBLE_RATE_LIMITED, TROUBLE_LOGIN or TROUBLE_NONE.
 * built_in: the table counts, not only what is configured. ret_line: that line.
 */
enum trouble said_trouble(str lines, const struct said_patterns *own, bool built_in, str *ret_line);
