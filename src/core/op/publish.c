/* The rows for others: JSON Schema for programs, docs/operations.md for people. */
#include "base/arena.h"
#include "base/err.h"
#include "core/model/limits.h"
#include "core/op/op.h"
#include "core/policy/caller.h"

static const struct {
	const char *schema, *items, *text;
} types[] = {
	[SHAPE_TEXT] = { "string", NULL, "text" },
	[SHAPE_NUM] = { "integer", NULL, "integer" },
	[SHAPE_FLAG] = { "boolean", NULL, "boolean" },
	[SHAPE_LIST] = { "array", "string", "list of texts" },
	[SHAPE_OBJECT] = { "object", NULL, "object" },
	[SHAPE_OBJECTS] = { "array", "object", "list of objects" },
};
static const char *const needs[] = { [OP_READ] = "reads",
	[OP_WRITE] = "writes",
	[OP_DAEMON] = "daemon",
	[OP_CHILD] = "a process of its own",
	[OP_NOTHING] = "" };

static value *param_schema(struct arena *a, const struct op_param *p)
{
	value *v = value_object(a), *items;

	value_put(a, v, "type", value_cstr(a, types[p->type].schema));
	value_put(a, v, "description", value_cstr(a, p->help));
	if (p->type == SHAPE_NUM) {
		value_put(a, v, "minimum", value_int(a, 0));
		if (p->max)
			value_put(a, v, "maximum", value_int(a, (int64_t)p->max));
	}
	if (types[p->type].items) {
		items = value_object(a);
		value_put(a, items, "type", value_cstr(a, types[p->type].items));
		value_put(a, v, "items", items);
		value_put(a, v, "maxItems", value_int(a, p->max ? (int64_t)p->max : LIMIT_LIST));
	}
	return v;
}

static value *params_schema(struct arena *a, const struct op *op)
{
	value *v = value_object(a), *properties = value_object(a), *required = value_array(a);

	for (size_t i = 0; i < op->params_n; i++) {
		const struct op_param *p = &op->params[i];

		if (!p->name)
			continue;
		value_put(a, properties, p->name, param_schema(a, p));
		if (p->required)
			value_push(a, required, value_cstr(a, p->name));
	}
	value_put(a, v, "type", value_cstr(a, "object"));
	value_put(a, v, "properties", properties);
	value_put(a, v, "additionalProperties", value_bool(a, false));
	if (value_count(required))
		value_put(a, v, "required", required);
	return v;
}

value *op_schemas(struct arena *a)
{
	value *all = value_array(a);

	for (size_t i = 0; i < OP_COUNT; i++) {
		const struct op *op = &op_rows[i];
		value *v = value_object(a);

		if (!op->name)
			continue;
		value_put(a, v, "name", value_cstr(a, op->name));
		value_put(a, v, "description", value_cstr(a, op->help));
		value_put(a, v, "needs", value_cstr(a, needs[op->kind]));
		value_put(a, v, "callers", value_str(a, callers_text(a, op->callers)));
		value_put(a, v, "parameters", params_schema(a, op));
		value_push(a, all, v);
	}
	return all;
}

static void params_docs(struct buf *out, const struct op *op)
{
	size_t n = 0;

	for (size_t i = 0; i < op->params_n; i++) {
		const struct op_param *p = &op->params[i];

		if (!p->name)
			continue;
		if (n++ == 0)
			buf_adds(out,
					STR("\n| parameter | type | | meaning "
					    "|\n|---|---|---|---|\n"));
		buf_addf(out, "| `%s` | %s | %s | %s |\n", p->name, types[p->type].text,
				p->required ? "required" : "", p->help);
	}
}

void op_docs(struct buf *out)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	buf_adds(out,
			STR("# Operations\n\nGenerated from the rows in `src/core/op/`; do not "
			    "edit.\n\n"
			    "JSON-RPC 2.0, one message per line on `.overseer/overseer.sock`, or "
			    "`POST /rpc` with the bearer token of `.overseer/token`.\n"
			    "Parameters are an object; unknown ones are refused. The names of "
			    "other systems, `overseer.NOUN.VERB`, `overseer.status`, "
			    "`overseer.tick` and `overseer.wake`, are aliases.\n"
			    "Who calls is known by its process, not by what it says "
			    "([callers](decisions/callers.md)); each operation names who may call "
			    "it.\n`overseer help --operations` prints all of this as JSON "
			    "Schema.\n"));
	for (size_t i = 0; i < OP_COUNT; i++) {
		const struct op *op = &op_rows[i];

		if (!op->name)
			continue;
		buf_addf(out, "\n## `%s`\n\n%s (%s)\n\nCallers: " STR_FMT ".\n", op->name, op->help,
				needs[op->kind], STR_ARG(callers_text(&a, op->callers)));
		params_docs(out, op);
	}
	buf_adds(out,
			STR("\n## Errors\n\n| code | JSON-RPC | HTTP | exit status "
			    "|\n|---|---|---|---|\n"));
	for (int c = -1; c > -OV_CODE_COUNT; c--) {
		const struct ov_code_info *info = ov_code_info(c);

		buf_addf(out, "| `%s` | %d | %d | %d |\n", info->name, info->rpc_code,
				info->http_status, info->exit_status);
	}
}
