/*
 * A report of coverage: never more than all, and adding one to itself changes nothing but its size.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/str.h"
#include "data/report/coverage.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct coverage c, sum;

	if (!coverage_parse((str){ (const char *)data, size }, &c))
		return 0;
	check(c.format && c.centi >= 0 && c.centi <= 10000 && c.lines >= 0 && c.covered >= 0);
	sum = c;
	coverage_add(&sum, &c);
	check(sum.centi >= 0 && sum.centi <= 10000);
	return 0;
}
