/*
 * What a test command printed, or a report that it wrote: whatever it is, the answer keeps its
 * bounds, is the same again, and can be added up.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "data/report/testsum.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_bounds(const struct testsum *s)
{
	const int64_t most = INT64_C(1000000000);

	check(s->format != NULL);
	check(s->passed >= 0 && s->failed >= 0 && s->skipped >= 0);
	check(s->passed <= most && s->failed <= most && s->skipped <= most);
	check(s->names_n <= TESTSUM_NAMES);
	for (size_t i = 0; i < s->names_n; i++) {
		/* A byte that is no text becomes three. */
		check(s->names[i].n && s->names[i].n <= TESTSUM_NAME_BYTES * 3);
		check(utf8_valid(s->names[i]));
		for (size_t j = 0; j < i; j++)
			check(!str_eq(s->names[i], s->names[j]));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = ARENA_INIT;
	struct testsum one, two, sum = { 0 };
	str text = { (const char *)data, size };

	if (testsum_parse(&a, text, &one)) {
		check_bounds(&one);
		check(testsum_parse(&a, text, &two));
		check(one.passed == two.passed && one.failed == two.failed &&
				one.skipped == two.skipped && one.broken == two.broken &&
				one.names_n == two.names_n);
		testsum_add(&sum, &one);
		testsum_add(&sum, &two);
		check_bounds(&sum);
		check(sum.names_n == one.names_n && testsum_is_bad(&sum) == testsum_is_bad(&one));
	}
	arena_done(&a);
	return 0;
}
