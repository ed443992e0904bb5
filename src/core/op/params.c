#include "core/op/params.h"

#include "base/moment.h"

/* Each has has_NAME: what must be there, and what may be in it, is checked by the row. */
/* clang-format off */
#define OP(sym, needs, who, shown, n, text, ...)                                                     \
	static const struct shape *shape_of_##sym(void)                                              \
	{                                                                                            \
		typedef struct pr_##sym THIS;                                                        \
		static const struct shape_field fields[] = { __VA_ARGS__ { .name = NULL } };         \
		static const struct shape shape = { n, fields, ARRAY_LEN(fields) - 1, sizeof(THIS) }; \
		return &shape;                                                                       \
	}
#define P(name, type, help, ...) type(MAYBE, name, help)
#include "core/shape/rows.def"
#include "core/op/fields.def"
#include "core/op/rows.def"
#include "core/op/end.def"
#include "core/shape/end.def"
/* clang-format on */

const struct shape *op_shape(enum op_id id)
{
	static const struct shape *(*const shapes[OP_COUNT])(void) = {
#define OP(sym, ...) [OP_##sym] = shape_of_##sym,
#include "core/op/rows.def"
	};

	return shapes[id]();
}

const void *op_fill(struct arena *a, enum op_id id, const value *params)
{
	return shape_fill(a, op_shape(id), params);
}

value *op_value(struct arena *a, enum op_id id, const void *params)
{
	return shape_data(a, op_shape(id), params);
}
