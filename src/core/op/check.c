/* Finding an operation, and holding what came in against its row. */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/model/limits.h"
#include "core/op/op.h"
#include "data/value/json.h"

/* Names that other systems use for the same thing. */
static const struct {
	const char *alias, *name;
} aliases[] = {
	{ "overseer.status", "status.get" },
	{ "overseer.tick", "tick.now" },
	{ "overseer.wake", "tick.now" },
};

static bool is_list(enum shape_type type)
{
	return shape_value_kind(type) == V_ARRAY;
}

static int wrong_kind(const char *what, enum value_kind want, enum value_kind got,
		struct ov_err *err)
{
	return ov_fail(err, OV_EINVALID, "%s: expected %s, got %s", what,
			want == V_INT ? "integer" : value_kind_name(want), value_kind_name(got));
}

static int check_list(const struct op_param *p, const value *v, struct ov_err *err)
{
	enum value_kind items = p->type == SHAPE_LIST ? V_STR : V_OBJECT;
	size_t max = p->max ? p->max : LIMIT_LIST, n = value_count(v);

	if (n > max)
		return ov_fail(err, OV_EINVALID, "%s: %zu items, at most %zu allowed", p->name, n,
				max);
	for (size_t i = 0; i < n; i++)
		if (value_item(v, i)->kind != items) {
			wrong_kind(p->name, items, value_item(v, i)->kind, err);
			return ov_wrap(err, OV_EINVALID, "item %zu", i);
		}
	return 0;
}

static int check_param(const struct op_param *p, const value *v, struct ov_err *err)
{
	size_t max = p->max ? p->max : LIMIT_NOTE;

	if (v->kind != shape_value_kind(p->type))
		return wrong_kind(p->name, shape_value_kind(p->type), v->kind, err);
	if (p->type == SHAPE_NUM && v->i < 0)
		return ov_fail(err, OV_EINVALID, "%s: %lld must be at least 0", p->name,
				(long long)v->i);
	if (p->type == SHAPE_NUM && p->max && (uint64_t)v->i > p->max)
		return ov_fail(err, OV_EINVALID, "%s: %lld must be at most %zu", p->name,
				(long long)v->i, p->max);
	if (p->type == SHAPE_TEXT && v->s.n > max)
		return ov_fail(err, OV_ELIMIT, "%s has %zu bytes, at most %zu are allowed", p->name,
				v->s.n, max);
	return is_list(p->type) ? check_list(p, v, err) : 0;
}

static int unknown_param(const struct op *op, str key, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf name = BUF_INIT;
	const char *names[64], *near;
	size_t n = 0;

	for (size_t i = 0; i < op->params_n; i++)
		if (op->params[i].name)
			names[n++] = op->params[i].name;
	assert(n <= ARRAY_LEN(names));
	json_write_string(&name, utf8_truncate(key, 64));
	near = str_nearest(key, names, n);
	return ov_fail(err, OV_EINVALID, "unknown key %s%s%s%s", buf_cstr(&name),
			near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "");
}

static const struct op_param *param_named(const struct op *op, str key)
{
	for (size_t i = 0; i < op->params_n; i++)
		if (op->params[i].name && str_is(key, op->params[i].name))
			return &op->params[i];
	return NULL;
}

int op_check_params(const struct op *op, const value *params, struct ov_err *err)
{
	size_t n = params && params->kind == V_OBJECT ? params->object.n : 0;
	int r = 0;

	if (params && params->kind != V_OBJECT)
		r = wrong_kind("the parameters", V_OBJECT, params->kind, err);
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct member *m = &params->object.members[i];
		const struct op_param *p = param_named(op, m->key);

		r = p ? check_param(p, m->value, err) : unknown_param(op, m->key, err);
	}
	for (size_t i = 0; r == 0 && i < op->params_n; i++) {
		const struct op_param *p = &op->params[i];

		if (p->name && p->required && !value_at(params, p->name))
			r = ov_fail(err, OV_EINVALID, "%s: missing", p->name);
	}
	return r < 0 ? ov_wrap(err, r, "%s", op->name) : 0;
}

static str resolve(str name)
{
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
		if (str_is(name, aliases[i].alias))
			return str_from(aliases[i].name);
	return str_starts(name, STR("overseer.")) ? str_sub(name, sizeof("overseer.") - 1, name.n)
						  : name;
}

int op_find(str name, const value *params, const struct op **ret, struct ov_err *err)
{
	const char *names[OP_COUNT], *near;
	str want = resolve(name);
	size_t n = 0;
	int r;

	for (size_t i = 0; i < OP_COUNT; i++) {
		if (!op_rows[i].name)
			continue;
		names[n++] = op_rows[i].name;
		if (!str_is(want, op_rows[i].name))
			continue;
		r = op_check_params(&op_rows[i], params, err);
		if (r == 0)
			*ret = &op_rows[i];
		return r;
	}
	near = str_nearest(want, names, n);
	return ov_fail(err, OV_ENOTFOUND, "there is no operation \"" STR_FMT "\"%s%s%s",
			STR_ARG(str_sub(name, 0, 100)), near ? "; did you mean \"" : "",
			near ? near : "", near ? "\"?" : "");
}

bool op_param_repeats(const struct op_param *p)
{
	return is_list(p->type) || p->form == FORM_AMOUNTS || p->form == FORM_SETTINGS;
}

static const struct op_param *param_at(const struct op *op, int place)
{
	for (size_t i = 0; i < op->params_n; i++)
		if (op->params[i].place == place)
			return &op->params[i];
	return NULL;
}

str op_args(struct arena *a, const struct op *op, int *ret_min, int *ret_max)
{
	const struct op_param *p;
	str text = STR(""), end = STR("");

	*ret_min = op->args_min;
	*ret_max = op->args_max;
	if (op->args)
		return str_from(op->args);
	for (int at = 1; (p = param_at(op, at)); at++) {
		text = arena_printf(a, STR_FMT "%s%s%s", STR_ARG(text), at > 1 ? " " : "",
				p->required ? "" : "[", p->word);
		if (!p->required)
			end = arena_printf(a, STR_FMT "]", STR_ARG(end));
		*ret_min += p->required;
		*ret_max = p->form == FORM_REST ? OP_ARGS_MAX : at;
	}
	return arena_printf(a, STR_FMT STR_FMT, STR_ARG(text), STR_ARG(end));
}
