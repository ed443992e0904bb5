#include "app/ops.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/event/event.h"
#include "core/model/limits.h"
#include "data/value/schema.h"

/* Names that other systems use for the same thing. */
static const struct {
	const char *alias, *name;
} aliases[] = {
	{ "overseer.status", "status.get" },
	{ "overseer.tick", "tick.now" },
	{ "overseer.wake", "tick.now" },
};

struct ops {
	struct arena arena;
	struct schema **schemas; /* of each operation, like its name in the arena */
	const char **names;
};

static value *param_schema(struct arena *a, const struct op_param *p)
{
	static const char *const types[] = {
		[PARAM_TEXT] = "string",
		[PARAM_INT] = "integer",
		[PARAM_BOOL] = "boolean",
		[PARAM_TEXTS] = "array",
		[PARAM_OBJECT] = "object",
		[PARAM_OBJECTS] = "array",
	};
	value *v = value_object(a), *items;

	value_put(a, v, "type", value_cstr(a, types[p->type]));
	value_put(a, v, "description", value_cstr(a, p->help));
	if (p->type == PARAM_INT) {
		value_put(a, v, "minimum", value_int(a, 0));
		if (p->max)
			value_put(a, v, "maximum", value_int(a, (int64_t)p->max));
	}
	if (p->type == PARAM_TEXTS || p->type == PARAM_OBJECTS) {
		items = value_object(a);
		value_put(a, items, "type",
				value_cstr(a, p->type == PARAM_TEXTS ? "string" : "object"));
		value_put(a, v, "items", items);
		value_put(a, v, "maxItems", value_int(a, p->max ? (int64_t)p->max : LIMIT_LIST));
	}
	return v;
}

/* The JSON Schema of an operation's parameters. */
static value *op_schema(struct arena *a, const struct op *op)
{
	value *v = value_object(a), *properties = value_object(a), *required = value_array(a);

	for (size_t i = 0; i < op->params_n; i++) {
		const struct op_param *p = &op->params[i];

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

struct ops *ops_new(void)
{
	struct ops *o = mem_zalloc(1, sizeof(*o));

	o->schemas = arena_array(&o->arena, struct schema *, op_table_n);
	o->names = arena_array(&o->arena, const char *, op_table_n);
	for (size_t i = 0; i < op_table_n; i++) {
		int r = schema_compile(&o->arena, op_schema(&o->arena, &op_table[i]),
				&o->schemas[i], NULL);

		assert(r == 0);
		o->names[i] = op_table[i].name;
	}
	return o;
}

struct ops *ops_free(struct ops *o)
{
	if (o)
		arena_done(&o->arena);
	mem_free(o);
	return NULL;
}

static str resolve(str name)
{
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
		if (str_is(name, aliases[i].alias))
			return str_from(aliases[i].name);
	return str_starts(name, STR("overseer.")) ? str_sub(name, sizeof("overseer.") - 1, name.n)
						  : name;
}

/* The schema cannot say it: texts have a bound of their own. */
static int check_texts(const struct op *op, const value *params, struct ov_err *err)
{
	for (size_t i = 0; i < op->params_n; i++) {
		str s = value_str_at(params, op->params[i].name);
		size_t max = op->params[i].max ? op->params[i].max : LIMIT_NOTE;

		if (op->params[i].type == PARAM_TEXT && s.n > max)
			return ov_fail(err, OV_ELIMIT, "%s has %zu bytes, at most %zu are allowed",
					op->params[i].name, s.n, max);
	}
	return 0;
}

int ops_find(const struct ops *o, str name, const value *params, const struct op **ret,
		struct ov_err *err)
{
	const char *near;
	str want = resolve(name);
	value empty = { .kind = V_OBJECT };
	int r;

	for (size_t i = 0; i < op_table_n; i++) {
		if (!str_is(want, op_table[i].name))
			continue;
		r = schema_check(o->schemas[i], params ? params : &empty, err);
		if (r == 0)
			r = check_texts(&op_table[i], params, err);
		if (r < 0)
			return ov_wrap(err, r, "%s", op_table[i].name);
		*ret = &op_table[i];
		return 0;
	}
	near = str_nearest(want, o->names, op_table_n);
	if (near)
		return ov_fail(err, OV_ENOTFOUND,
				"there is no operation \"" STR_FMT "\"; did you mean \"%s\"?",
				STR_ARG(str_sub(name, 0, 100)), near);
	return ov_fail(err, OV_ENOTFOUND, "there is no operation \"" STR_FMT "\"",
			STR_ARG(str_sub(name, 0, 100)));
}

static const char *const param_names[] = {
	[PARAM_TEXT] = "text",
	[PARAM_INT] = "integer",
	[PARAM_BOOL] = "boolean",
	[PARAM_TEXTS] = "list of texts",
	[PARAM_OBJECT] = "object",
	[PARAM_OBJECTS] = "list of objects",
};

void ops_docs(struct buf *out)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	static const char *const kinds[] = { [OP_READ] = "reads",
		[OP_WRITE] = "writes",
		[OP_DAEMON] = "daemon",
		[OP_CHILD] = "a process of its own" };

	buf_adds(out,
			STR("# Operations\n\nGenerated from the table in `src/app/ops_table.c`; do "
			    "not "
			    "edit.\n\n"
			    "JSON-RPC 2.0, one message per line on `.overseer/overseer.sock`, or "
			    "`POST /rpc` with the bearer token of "
			    "`.overseer/token`.\nParameters are an object; unknown ones are "
			    "refused. The names of other systems, "
			    "`overseer.NOUN.VERB`, `overseer.status`, `overseer.tick` and "
			    "`overseer.wake`, are aliases.\n"
			    "Who calls is known by its process, not by what it says "
			    "([callers](decisions/callers.md)); each operation names who may "
			    "call it.\n"));
	for (size_t i = 0; i < op_table_n; i++) {
		buf_addf(out, "\n## `%s`\n\n%s (%s)\n\nCallers: " STR_FMT ".\n", op_table[i].name,
				op_table[i].help, kinds[op_table[i].kind],
				STR_ARG(callers_text(&a, op_table[i].callers)));
		if (op_table[i].params_n)
			buf_adds(out,
					STR("\n| parameter | type | | meaning "
					    "|\n|---|---|---|---|\n"));
		for (size_t k = 0; k < op_table[i].params_n; k++) {
			const struct op_param *p = &op_table[i].params[k];

			buf_addf(out, "| `%s` | %s | %s | %s |\n", p->name, param_names[p->type],
					p->required ? "required" : "", p->help);
		}
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

void events_docs(struct buf *out)
{
	buf_adds(out,
			STR("# Events\n\nGenerated from the tables in `src/core/event/event.h` and "
			    "`event.c`; do not edit.\n\n"
			    "Every event has `seq`, `at`, `type`, `actor`, `data`, and where they "
			    "apply `goal`, `node`, `assignment`, "
			    "`run`.\nThe log is hash-chained: each record's hash covers the one "
			    "before it.\n"));
	for (int k = 0; k < EVENT_KIND_COUNT; k++) {
		struct event_info info = event_info((enum event_kind)k);

		buf_addf(out, "\n## `%s`\n\n%s\n", info.name, info.help);
		if (info.n)
			buf_adds(out, STR("\n| field | type | | meaning |\n|---|---|---|---|\n"));
		for (size_t i = 0; i < info.n; i++)
			buf_addf(out, "| `%s` | %s | %s | %s |\n", info.fields[i].name,
					value_kind_name(info.fields[i].kind),
					info.fields[i].required ? "required" : "",
					info.fields[i].help);
	}
}
