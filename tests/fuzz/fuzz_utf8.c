/* Any bytes: the functions agree with each other about what is a character. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	str s = { (const char *)data, size }, rest = s, clean;
	struct arena a = ARENA_INIT;
	size_t invalid = 0;

	while (rest.n) {
		str at = rest;
		int32_t c = utf8_next(&rest);
		size_t n = (size_t)(rest.p - at.p);
		char bytes[4];

		check(c < 0 ? n == 1 && utf8_len(at) == 0 : n == utf8_len(at));
		check(c < 0 ||
				(utf8_encode((uint32_t)c, bytes) == n &&
						memcmp(bytes, at.p, n) == 0));
		invalid += c < 0;
	}
	check(utf8_valid(s) == (invalid == 0));
	check(utf8_width(s) <= 2 * size);
	clean = utf8_clean(&a, s);
	check(utf8_valid(clean) && str_eq(utf8_clean(&a, clean), clean));
	for (size_t max = 0; max <= size && max < 64; max++) {
		str cut = utf8_truncate(s, max);

		check(cut.p == s.p && cut.n <= max && cut.n + 4 > max);
		check(invalid || utf8_valid(cut));
	}
	arena_done(&a);
	return 0;
}
