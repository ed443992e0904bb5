/*
 * Any bytes: what is hidden once is hidden for good, text stays text, the length is bounded, and
 * whoever asks for the kind is told one exactly when something would be hidden.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/text/redact.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str s = { (const char *)data, size };
	struct arena a = ARENA_INIT;
	str once = redact(&a, s), address = redact_delivery(&a, s);

	check(str_eq(redact(&a, once), once));
	check(str_eq(redact_delivery(&a, address), address));
	check((redact_first_kind(s) != NULL) == !str_eq(once, s));
	check(!redact_first_kind(once));
	/* Every mark stands for a byte at least. */
	check(once.n <= 40 * size && address.n <= 40 * size);
	if (utf8_valid(s))
		check(utf8_valid(once) && utf8_valid(address));
	arena_done(&a);
	return 0;
}
