#include "agent/format/format.h"

#include "base/str.h"

/* The number at the beginning of a version, and what comes behind the dot after it. */
static int64_t next_number(str *version)
{
	int64_t n = 0;
	size_t i = 0;

	for (; i < version->n && version->p[i] >= '0' && version->p[i] <= '9'; i++)
		n = MIN(n * 10 + (version->p[i] - '0'), INT32_MAX);
	*version = i < version->n && version->p[i] == '.' ? str_sub(*version, i + 1, SIZE_MAX)
							  : STR("");
	return n;
}

bool format_is_too_old(const struct agent_format *f, str version)
{
	str oldest = str_from(f->oldest ? f->oldest : "");

	if (!version.n || version.p[0] < '0' || version.p[0] > '9')
		return false;
	while (oldest.n) {
		int64_t want = next_number(&oldest), have = next_number(&version);

		if (have != want)
			return have < want;
	}
	return false;
}
