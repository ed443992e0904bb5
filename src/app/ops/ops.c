#include "app/ops/ops.h"

#include "core/event/event.h"

/* Each is given the struct of its row. */
#define HANDLER_READ(sym)                                                            \
	static int read_##sym(struct op_ctx *cx, const value *params, value **ret,   \
			struct ov_err *err)                                          \
	{                                                                            \
		return op_##sym(cx, op_fill(cx->arena, OP_##sym, params), ret, err); \
	}
#define HANDLER_CHILD HANDLER_READ
#define OP(sym, needs, ...) HANDLER_##needs(sym)
#include "core/op/rows.def"

#undef HANDLER_READ
#define HANDLER_READ(sym) [OP_##sym] = read_##sym,
static op_read_fn *const handlers[OP_COUNT] = {
#include "core/op/rows.def"
};

op_read_fn *op_handler(const struct op *op)
{
	return handlers[op_id(op)];
}

void events_docs(struct buf *out)
{
	buf_adds(out,
			STR("# Events\n\nGenerated from the tables `src/core/event/*.def`; do not "
			    "edit.\n\n"
			    "Every event has `seq`, `at`, `type`, `actor`, `data`, and where they "
			    "apply `goal`, `node`, `assignment`, "
			    "`run`.\nThe log is hash-chained: each record's hash covers the one "
			    "before it.\n"));
	for (int k = 0; k < EVENT_KIND_COUNT; k++) {
		struct shape info = event_shape((enum event_kind)k);

		buf_addf(out, "\n## `%s`\n\n%s\n", info.name, event_help((enum event_kind)k));
		if (info.n)
			buf_adds(out, STR("\n| field | type | | meaning |\n|---|---|---|---|\n"));
		for (size_t i = 0; i < info.n; i++)
			buf_addf(out, "| `%s` | %s | %s | %s |\n", info.fields[i].name,
					value_kind_name(shape_value_kind(info.fields[i].type)),
					info.fields[i].need == REQ ? "required" : "",
					info.fields[i].help);
	}
}
