/*
 * A call, as strangers may send it: the name of an operation, then its parameters as JSON. Refused
 * with a code and words of bounded length, or every parameter is of its row's type and within
 * its limits.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/op/op.h"
#include "data/value/json.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* What a handler relies on without asking again. */
static void check_param(const struct op_param *p, const value *v)
{
	static const enum value_kind kinds[] = { [SHAPE_TEXT] = V_STR,
		[SHAPE_NUM] = V_INT,
		[SHAPE_FLAG] = V_BOOL,
		[SHAPE_LIST] = V_ARRAY,
		[SHAPE_OBJECT] = V_OBJECT,
		[SHAPE_OBJECTS] = V_ARRAY };

	check(v || !p->required);
	if (!v)
		return;
	check(v->kind == kinds[p->type]);
	if (p->type == SHAPE_NUM)
		check(v->i >= 0 && (!p->max || (uint64_t)v->i <= p->max));
	if (p->type == SHAPE_TEXT && p->max)
		check(v->s.n <= p->max);
	for (size_t i = 0; v->kind == V_ARRAY && i < value_count(v); i++)
		check(value_item(v, i)->kind == (p->type == SHAPE_LIST ? V_STR : V_OBJECT));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = ARENA_INIT;
	str rest = { (const char *)data, size }, name = { 0 };
	const struct op *op = NULL;
	struct ov_err err = { 0 };
	value *params = NULL;
	int r;

	(void)str_split(&rest, '\n', &name);
	if (rest.n && json_parse(&a, rest, NULL, &params, NULL) < 0)
		params = NULL;
	r = op_find(name, params, &op, &err);
	check(r == 0 || (r < 0 && err.msg[0]));
	if (r == 0) {
		size_t known = 0;

		for (size_t i = 0; i < op->params_n; i++) {
			const struct op_param *p = &op->params[i];

			if (!p->name)
				continue;
			known += value_at(params, p->name) != NULL;
			check_param(p, value_at(params, p->name));
		}
		check(known == (params ? params->object.n : 0));
	}
	arena_done(&a);
	return 0;
}
