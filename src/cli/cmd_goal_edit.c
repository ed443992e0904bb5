/* Changing goals: what they say, and how they stand. */
#include "base/duration.h"
#include "base/str.h"
#include "cli/goal.h"
#include "cli/input.h"
#include "core/model/limits.h"
#include "core/policy/oversight_policy.h"
#include "data/value/json.h"

enum { AMOUNT_DIGITS = 18 };

/* Options whose values are copied as they are; @FILE is read where that makes sense. */
static const struct {
	const char *flag, *key;
	size_t max; /* of a text that may be @FILE; 0: it may not */
} text_flags[] = { { "title", "title", 0 }, { "problem", "problem_statement", LIMIT_TEXT },
	{ "owner", "owner", 0 }, { "repo-context", "repo_context", LIMIT_TEXT },
	{ "priority", "priority", 0 }, { "origin-session", "origin_session", 0 } };

static const struct {
	const char *flag, *key;
} list_flags[] = { { "success", "success_criteria" }, { "constraint", "constraints" },
	{ "non-goal", "non_goals" }, { "assumption", "assumptions" },
	{ "stakeholder", "stakeholders" }, { "tag", "tags" } };

static int text_params(struct cli *c, value *params, struct ov_err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(text_flags); i++) {
		str text;
		int r;

		if (!cli_has(c, text_flags[i].flag))
			continue;
		text = cli_flag(c, text_flags[i].flag);
		r = text_flags[i].max ? input_text(c, text, text_flags[i].max, &text, err) : 0;
		if (r < 0)
			return ov_wrap(err, r, "--%s", text_flags[i].flag);
		value_put(c->arena, params, text_flags[i].key, value_str(c->arena, text));
	}
	for (size_t i = 0; i < ARRAY_LEN(list_flags); i++)
		cli_param_list(c, params, list_flags[i].key, list_flags[i].flag);
	return 0;
}

/* "RISK | IMPACT | MITIGATION", the last two may be left out. */
static void risk_params(struct cli *c, value *params)
{
	static const char *const keys[] = { "risk", "impact", "mitigation" };
	const value *given = cli_list(c, "risk");
	value *risks = value_array(c->arena);

	for (size_t i = 0; i < value_count(given); i++) {
		str rest = value_item(given, i)->s, part;
		value *risk = value_object(c->arena);

		for (size_t k = 0; k < ARRAY_LEN(keys) && rest.n; k++) {
			if (k + 1 < ARRAY_LEN(keys)) {
				str_split(&rest, '|', &part);
			} else {
				part = rest;
			}
			value_put(c->arena, risk, keys[k], value_str(c->arena, str_trim(part)));
		}
		value_push(c->arena, risks, risk);
	}
	if (value_count(risks))
		value_put(c->arena, params, "risks", risks);
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

int amount_params(struct cli *c, value *params, const char *flag, struct ov_err *err)
{
	const value *given = cli_list(c, flag);
	value *out = value_object(c->arena);
	int r = 0;

	for (size_t i = 0; r == 0 && i < value_count(given); i++)
		r = amount_param(c, out, flag, value_item(given, i)->s, err);
	if (value_count(out))
		value_put(c->arena, params, flag, out);
	return r;
}

static int oversight_params(struct cli *c, value *params, struct ov_err *err)
{
	const value *given = cli_list(c, "oversight");
	value *out = value_object(c->arena);

	for (size_t i = 0; i < value_count(given); i++) {
		int r = oversight_assign(c->arena, out, value_item(given, i)->s, err);

		if (r < 0)
			return ov_wrap(err, r, "--oversight");
	}
	if (value_count(out))
		value_put(c->arena, params, "oversight", out);
	return 0;
}

static int context_param(struct cli *c, value *params, struct ov_err *err)
{
	value *doc;
	str text;
	int r;

	if (!cli_has(c, "origin-context"))
		return 0;
	r = input_text(c, cli_flag(c, "origin-context"), LIMIT_TEXT, &text, err);
	if (r == 0)
		r = json_parse(c->arena, text, NULL, &doc, err);
	if (r < 0)
		return ov_wrap(err, r, "--origin-context");
	value_put(c->arena, params, "origin_context", doc);
	return 0;
}

int goal_definition(struct cli *c, value *params, struct ov_err *err)
{
	int r = text_params(c, params, err);

	risk_params(c, params);
	if (r == 0)
		r = amount_params(c, params, "estimate", err);
	if (r == 0)
		r = amount_params(c, params, "budget", err);
	if (r == 0)
		r = oversight_params(c, params, err);
	return r == 0 ? context_param(c, params, err) : r;
}

/* --clear: a text becomes empty, a list too. */
static int clear_params(struct cli *c, value *params, struct ov_err *err)
{
	static const char *const texts[] = { "problem_statement", "repo_context" };
	const value *given = cli_list(c, "clear");

	for (size_t i = 0; i < value_count(given); i++) {
		str name = value_item(given, i)->s;
		value *empty = str_is(name, "risks") ? value_array(c->arena) : NULL;

		for (size_t k = 0; k < ARRAY_LEN(texts); k++)
			if (str_is(name, texts[k]))
				empty = value_cstr(c->arena, "");
		for (size_t k = 0; k < ARRAY_LEN(list_flags); k++)
			if (str_is(name, list_flags[k].key))
				empty = value_array(c->arena);
		if (!empty)
			return ov_fail(err, OV_EINVALID,
					"--clear: \"" STR_FMT
					"\" is not one of problem_statement, repo_context, "
					"success_criteria, constraints, non_goals, assumptions, "
					"stakeholders, tags, risks",
					STR_ARG(name));
		value_set(c->arena, params, name, empty);
	}
	return 0;
}

int cmd_goal_update(struct cli *c, struct ov_err *err)
{
	value *params = value_object(c->arena);
	const value *res, *changed;
	bool done;
	int r = goal_definition(c, params, err);

	if (r == 0)
		r = clear_params(c, params, err);
	if (r < 0)
		return r;
	value_put(c->arena, params, "goal", value_str(c->arena, c->args[0]));
	cli_param(c, params, "reason", "reason");
	r = cli_call(c, CALL_WRITE, "goal.update", params, &res, &done, err);
	if (r != 0 || done)
		return r;
	changed = value_at(res, "changed");
	out_styled(&c->out, S_BOLD, id_short(value_str_at(res, "goal")));
	out_f(&c->out, " changed:");
	for (size_t i = 0; i < value_count(changed); i++)
		out_f(&c->out, "%s " STR_FMT, i ? "," : "",
				STR_ARG(value_str_or(value_item(changed, i), STR(""))));
	out_f(&c->out, "\nNext  overseer goal show " STR_FMT "\n",
			STR_ARG(id_short(value_str_at(res, "goal"))));
	return 0;
}

/* One step of a goal's life: what it is now, what that means, and what may come next. */
static int step(struct cli *c, const char *method, const char *meaning, const char *next,
		struct ov_err *err)
{
	value *params = value_object(c->arena);
	const value *res;
	bool done;
	str id;
	int r;

	value_put(c->arena, params, "goal", value_str(c->arena, c->args[0]));
	cli_param(c, params, "reason", "reason");
	if (cli_has(c, "now"))
		value_put(c->arena, params, "now", value_bool(c->arena, true));
	r = cli_call(c, CALL_WRITE, method, params, &res, &done, err);
	if (r != 0 || done)
		return r;
	id = id_short(value_str_at(res, "goal"));
	out_styled(&c->out, S_BOLD, id);
	out_f(&c->out, " is " STR_FMT ". %s\nNext  overseer %s " STR_FMT "\n",
			STR_ARG(value_str_at(res, "status")), meaning, next, STR_ARG(id));
	return 0;
}

int cmd_goal_pause(struct cli *c, struct ov_err *err)
{
	return step(c, "goal.pause",
			cli_has(c, "now") ? "What ran is being stopped; its work is kept."
					  : "Nothing new starts; what runs is brought to a safe "
					    "end, and not accepted.",
			"goal resume", err);
}

int cmd_goal_resume(struct cli *c, struct ov_err *err)
{
	return step(c, "goal.resume", "It goes on where it stood.", "goal show", err);
}

int cmd_goal_cancel(struct cli *c, struct ov_err *err)
{
	return step(c, "goal.cancel", "Its open nodes are cancelled; what was done is kept.",
			"goal archive", err);
}

int cmd_goal_reopen(struct cli *c, struct ov_err *err)
{
	return step(c, "goal.reopen",
			"Open work goes on; else it waits for a plan or a reopened "
			"node.",
			"plan show", err);
}

int cmd_goal_archive(struct cli *c, struct ov_err *err)
{
	return step(c, "goal.archive", "It no longer shows in status.", "goal show", err);
}
