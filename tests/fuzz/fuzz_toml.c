/* Any bytes: no crash, and what is read has valid strings and obeys the bound on nesting. */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/utf8.h"
#include "data/value/toml.h"

static void walk(const value *v, int depth)
{
	if (depth > 129)
		abort();
	if ((v->kind == V_STR || v->kind == V_DATETIME) && !utf8_valid(v->s))
		abort();
	for (size_t i = 0; v->kind == V_ARRAY && i < v->array.n; i++)
		walk(v->array.items[i], depth + 1);
	for (size_t i = 0; v->kind == V_OBJECT && i < v->object.n; i++) {
		if (!utf8_valid(v->object.members[i].key))
			abort();
		walk(v->object.members[i].value, depth + 1);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = ARENA_INIT;
	struct ov_err err = { 0 };
	value *v = NULL;
	int r = toml_parse(&a, (str){ (const char *)data, size }, &v, &err);

	if (r == 0)
		walk(v, 1);
	else if (err.code != r || !err.msg[0] || !utf8_valid((str){ err.msg, strlen(err.msg) }))
		abort();
	arena_done(&a);
	return 0;
}
