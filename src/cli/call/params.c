/* What was given on the command line, as the parameters of an operation: one function per form. */
#include <limits.h>
#include <unistd.h>

#include "base/duration.h"
#include "base/str.h"
#include "cli/call/input.h"
#include "core/policy/oversight_policy.h"
#include "data/value/json.h"
#include "sys/file/file.h"

enum { AMOUNT_DIGITS = 18 };

static bool is_given(const struct cli *c, const struct op_param *p)
{
	return p->place ? c->args_n >= (size_t)p->place : p->flag && cli_has(c, p->flag);
}

static str text_of(const struct cli *c, const struct op_param *p)
{
	return p->place ? c->args[p->place - 1] : cli_flag(c, p->flag);
}

static int form_word(struct cli *c, const struct op_param *p, value **ret,
		struct ov_err *err _unused_)
{
	int64_t n = 0;

	switch (p->type) {
	case SHAPE_FLAG: *ret = value_bool(c->arena, true); break;
	case SHAPE_LIST: *ret = cli_list(c, p->flag); break;
	case SHAPE_NUM:
		(void)str_to_i64(text_of(c, p), &n); /* checked as it was parsed */
		*ret = value_int(c->arena, n);
		break;
	default: *ret = value_str(c->arena, text_of(c, p)); break;
	}
	return 0;
}

static int form_file(struct cli *c, const struct op_param *p, value **ret, struct ov_err *err)
{
	str text;
	int r = input_text(c, text_of(c, p), p->max, &text, err);

	if (r < 0)
		return ov_wrap(err, r, "--%s", p->flag);
	*ret = value_str(c->arena, text);
	return 0;
}

static int form_json(struct cli *c, const struct op_param *p, value **ret, struct ov_err *err)
{
	str text;
	int r = input_text(c, text_of(c, p), LIMIT_TEXT, &text, err);

	if (r == 0)
		r = json_parse(c->arena, text, NULL, ret, err);
	return r < 0 ? ov_wrap(err, r, "--%s", p->flag) : 0;
}

/* Dollars with up to six decimals, exactly: "12.5" is 12500000 millionths. */
static bool parse_usd(str s, int64_t *ret)
{
	size_t dot = str_find_byte(s, '.');
	str whole = str_sub(s, 0, dot), part = str_sub(s, dot + 1, s.n);
	int64_t n = 0, micro = 0;

	if (s.n > AMOUNT_DIGITS || part.n > 6 || (whole.n && !str_to_i64(whole, &n)) ||
			(part.n && !str_to_i64(part, &micro)) || !(whole.n + part.n) || n < 0 ||
			micro < 0)
		return false;
	for (size_t i = part.n; i < 6; i++)
		micro *= 10;
	return !__builtin_mul_overflow(n, (int64_t)1000000, &n) &&
			!__builtin_add_overflow(n, micro, ret);
}

static bool parse_count(str s, int64_t *ret)
{
	return str_to_i64(s, ret);
}

static const struct {
	const char *name, *key, *example;
	bool (*parse)(str s, int64_t *ret);
} amounts[] = { { "iterations", "iterations", "20", parse_count },
	{ "wall", "wall_ms", "8h", duration_parse }, { "tokens", "tokens", "5000000", parse_count },
	{ "cost_usd", "cost_microusd", "12.50", parse_usd } };

static int amount_param(struct cli *c, value *out, const char *flag, str given, struct ov_err *err)
{
	size_t at = str_find_byte(given, '=');
	str name = str_sub(given, 0, at), text = str_sub(given, at + 1, given.n);

	for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
		int64_t n;

		if (!str_is(name, amounts[i].name))
			continue;
		if (str_is(text, "unlimited") || str_is(text, "default"))
			value_put(c->arena, out, amounts[i].key, value_str(c->arena, text));
		else if (amounts[i].parse(text, &n))
			value_put(c->arena, out, amounts[i].key, value_int(c->arena, n));
		else
			return ov_fail(err, OV_EINVALID,
					"--%s: \"" STR_FMT "\" is not an amount such as %s=%s",
					flag, STR_ARG(given), amounts[i].name, amounts[i].example);
		return 0;
	}
	return ov_fail(err, OV_EINVALID,
			"--%s: \"" STR_FMT
			"\" is not of the form NAME=AMOUNT, with iterations, wall, tokens or "
			"cost_usd as the name",
			flag, STR_ARG(given));
}

static int form_amounts(struct cli *c, const struct op_param *p, value **ret, struct ov_err *err)
{
	const value *given = cli_list(c, p->flag);
	int r = 0;

	*ret = value_object(c->arena);
	for (size_t i = 0; r == 0 && i < value_count(given); i++)
		r = amount_param(c, *ret, p->flag, value_item(given, i)->s, err);
	return r;
}

static int form_settings(struct cli *c, const struct op_param *p, value **ret, struct ov_err *err)
{
	const value *given = cli_list(c, p->flag);
	int r = 0;

	*ret = value_object(c->arena);
	for (size_t i = 0; r == 0 && i < value_count(given); i++)
		r = oversight_assign(c->arena, *ret, value_item(given, i)->s, err);
	return r < 0 ? ov_wrap(err, r, "--%s", p->flag) : 0;
}

/* "RISK | IMPACT | MITIGATION", the last two may be left out. */
static int form_risks(struct cli *c, const struct op_param *p, value **ret,
		struct ov_err *err _unused_)
{
	static const char *const keys[] = { "risk", "impact", "mitigation" };
	const value *given = cli_list(c, p->flag);

	*ret = value_array(c->arena);
	for (size_t i = 0; i < value_count(given); i++) {
		str rest = value_item(given, i)->s, part;
		value *risk = value_object(c->arena);

		for (size_t k = 0; k < ARRAY_LEN(keys) && rest.n; k++) {
			if (k + 1 < ARRAY_LEN(keys))
				str_split(&rest, '|', &part);
			else
				part = rest;
			value_put(c->arena, risk, keys[k], value_str(c->arena, str_trim(part)));
		}
		value_push(c->arena, *ret, risk);
	}
	return 0;
}

/* "Bash,edit" and several of these, as one list. */
static int form_commas(struct cli *c, const struct op_param *p, value **ret,
		struct ov_err *err _unused_)
{
	const value *given = cli_list(c, p->flag);

	*ret = value_array(c->arena);
	for (size_t i = 0; i < value_count(given); i++) {
		str rest = value_str_or(value_item(given, i), STR("")), part;

		while (str_split(&rest, ',', &part))
			if (str_trim(part).n)
				value_push(c->arena, *ret, value_str(c->arena, str_trim(part)));
	}
	return 0;
}

/* The file as the daemon sees it, whose working folder is another. */
static int form_path(struct cli *c, const struct op_param *p, value **ret, struct ov_err *err)
{
	str file = text_of(c, p);
	char here[PATH_MAX];

	if (file.n && file.p[0] != '/') {
		if (!getcwd(here, sizeof(here)))
			return ov_fail(err, OV_EIO, "the working folder has no name");
		file = str_from(path_join(c->arena, here, arena_cstr(c->arena, file)));
	}
	*ret = value_str(c->arena, file);
	return 0;
}

/* The words need no quotes. */
static int form_rest(struct cli *c, const struct op_param *p, value **ret,
		struct ov_err *err _unused_)
{
	str text = text_of(c, p);

	for (size_t i = (size_t)p->place; i < c->args_n; i++)
		text = arena_printf(c->arena, STR_FMT " " STR_FMT, STR_ARG(text),
				STR_ARG(c->args[i]));
	*ret = value_str(c->arena, text);
	return 0;
}

int inbox_number(str text, int64_t *ret, struct ov_err *err)
{
	str digits = str_starts(text, STR("#")) ? str_sub(text, 1, text.n) : text;

	if (str_to_i64(digits, ret) && *ret >= 0)
		return 0;
	ov_fail(err, OV_EINVALID, "\"" STR_FMT "\" is not the number of an entry", STR_ARG(text));
	return ov_next(err, "overseer inbox");
}

static int form_entry(struct cli *c, const struct op_param *p, value **ret, struct ov_err *err)
{
	int64_t n = 0;
	int r = inbox_number(text_of(c, p), &n, err);

	*ret = value_int(c->arena, n);
	return r;
}

static int form_version(struct cli *c, const struct op_param *p, value **ret, struct ov_err *err)
{
	str text = text_of(c, p);
	int64_t n;

	if (str_starts(text, STR("v")))
		text = str_sub(text, 1, text.n);
	if (!str_to_i64(text, &n) || n < 0) {
		ov_fail(err, OV_EINVALID, "\"" STR_FMT "\" is not a plan version",
				STR_ARG(text_of(c, p)));
		return ov_next(err, "overseer plan history " STR_FMT, STR_ARG(c->args[0]));
	}
	*ret = value_int(c->arena, n);
	return 0;
}

static int (*const forms[])(struct cli *c, const struct op_param *p, value **ret,
		struct ov_err *err) = {
	[FORM_WORD] = form_word,
	[FORM_TIME] = form_word, /* in one form since it was parsed */
	[FORM_FILE] = form_file,
	[FORM_JSON] = form_json,
	[FORM_AMOUNTS] = form_amounts,
	[FORM_SETTINGS] = form_settings,
	[FORM_RISKS] = form_risks,
	[FORM_COMMAS] = form_commas,
	[FORM_PATH] = form_path,
	[FORM_REST] = form_rest,
	[FORM_ENTRY] = form_entry,
	[FORM_VERSION] = form_version,
	[FORM_OWN] = NULL,
};

int cli_params(struct cli *c, value **ret, struct ov_err *err)
{
	const struct op *cmd = c->command;
	value *params = value_object(c->arena), *v;
	int r = 0;

	if (cmd->fixed)
		value_put(c->arena, params, cmd->fixed, value_cstr(c->arena, cmd->fixed_value));
	for (size_t i = 0; r == 0 && i < cmd->params_n; i++) {
		const struct op_param *p = &cmd->params[i];

		if (!p->name || !forms[p->form] || !is_given(c, p))
			continue;
		r = forms[p->form](c, p, &v, err);
		if (r == 0)
			value_put(c->arena, params, p->name, v);
	}
	*ret = params;
	return r;
}
