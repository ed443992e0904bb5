/*
 * Two lines of JSON: a schema and a value. No crash and no endless work; the verdict does not
 * depend on whether anybody wants to hear the reason.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "data/value/schema.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = ARENA_INIT;
	str rest = { (const char *)data, size }, first;
	struct ov_err err = { 0 };
	value *doc = NULL, *v = NULL;
	struct schema *s = NULL;
	int r;

	if (size == 0 || !str_split(&rest, '\n', &first) ||
			json_parse(&a, first, NULL, &doc, NULL) < 0)
		goto out;
	r = schema_compile(&a, doc, &s, &err);
	if (r < 0 && (err.code != r || !err.msg[0]))
		abort();
	if (r < 0 || !rest.p || json_parse(&a, rest, NULL, &v, NULL) < 0)
		goto out;
	r = schema_check(s, v, &err);
	if (r < 0 && (err.code != r || !err.msg[0]))
		abort();
	if (schema_check(s, v, NULL) != r && r != OV_ELIMIT)
		abort();
out:
	arena_done(&a);
	return 0;
}
