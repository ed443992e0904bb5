#include "base/duration.h"
#include "base/str.h"
#include "cli/call/input.h"
#include "sys/host/clock.h"

const struct op_param global_flags[] = {
	{ .flag = "dir",
			.word = "DIR",
			.help = "the store: a .overseer folder, or the folder that has it "
				"($OVERSEER_DIR)" },
	{ .flag = "json",
			.type = SHAPE_FLAG,
			.help = "print the answer as JSON; errors too, on standard error" },
	{ .flag = "timeout",
			.word = "DURATION",
			.help = "how long to wait for the daemon's answer (30s)" },
	{ .flag = "help", .type = SHAPE_FLAG, .help = "show the command's help" },
};
const size_t global_flags_n = ARRAY_LEN(global_flags);

static const struct op_param *find_flag(const struct op *cmd, str name)
{
	for (size_t i = 0; cmd && i < cmd->params_n; i++)
		if (cmd->params[i].flag && str_is(name, cmd->params[i].flag))
			return &cmd->params[i];
	for (size_t i = 0; i < global_flags_n; i++)
		if (str_is(name, global_flags[i].flag))
			return &global_flags[i];
	return NULL;
}

static int unknown_flag(struct cli *c, const struct op *cmd, str name, struct ov_err *err)
{
	const char *names[64], *near;
	size_t n = 0;

	for (size_t i = 0; cmd && i < cmd->params_n; i++)
		if (cmd->params[i].flag)
			names[n++] = cmd->params[i].flag;
	for (size_t i = 0; i < global_flags_n; i++)
		names[n++] = global_flags[i].flag;
	near = str_nearest(name, names, n);
	ov_fail(err, OV_EINVALID, "unknown option --" STR_FMT "%s%s%s", STR_ARG(name),
			near ? " (did you mean --" : "", near ? near : "", near ? "?)" : "");
	return usage_next(c, cmd, err);
}

int cli_moment(struct cli *c, str what, str text, enum moment_side side, ov_time *ret,
		struct ov_err *err)
{
	struct moment_clock clock = { c->out.now, clock_utc_offset };

	if (moment_parse(text, side, &clock, ret))
		return 0;
	ov_fail(err, OV_EINVALID, STR_FMT ": \"" STR_FMT "\" is not a time such as %s",
			STR_ARG(what), STR_ARG(text),
			side == MOMENT_PAST ? MOMENT_FORMS : MOMENT_FORMS_FUTURE);
	return usage_next(c, c->command, err);
}

/* Every command gets a time in the same form, whichever the person used. */
static int take_time(struct cli *c, const struct op_param *f, str *text, struct ov_err *err)
{
	ov_time at;
	int r = cli_moment(c, arena_printf(c->arena, "--%s", f->flag), *text, MOMENT_PAST, &at,
			err);

	if (r == 0)
		*text = time_format(c->arena, at);
	return r;
}

/* One option with its value: "--name=value", or "--name" and the next word. */
static int take_flag(struct cli *c, const struct op *cmd, str word, char **argv, int *at,
		struct ov_err *err)
{
	str name = str_sub(word, 2, word.n), text = { 0 };
	size_t eq = str_find_byte(name, '=');
	const struct op_param *f;
	int64_t number;
	bool has = eq < name.n;

	if (has) {
		text = str_sub(name, eq + 1, name.n);
		name = str_sub(name, 0, eq);
	}
	f = find_flag(cmd, name);
	if (!f)
		return unknown_flag(c, cmd, name, err);
	if (f->type == SHAPE_FLAG && has) {
		ov_fail(err, OV_EINVALID, "--%s takes no value", f->flag);
		return usage_next(c, cmd, err);
	}
	if (f->type != SHAPE_FLAG && !has) {
		if (!argv[*at + 1]) {
			ov_fail(err, OV_EINVALID, "--%s needs a value: --%s %s", f->flag, f->flag,
					f->word);
			return usage_next(c, cmd, err);
		}
		text = str_from(argv[++*at]);
	}
	if (f->type == SHAPE_NUM && (!str_to_i64(text, &number) || number < 0)) {
		ov_fail(err, OV_EINVALID, "--%s needs a number, not \"" STR_FMT "\"", f->flag,
				STR_ARG(text));
		return usage_next(c, cmd, err);
	}
	if (f->form == FORM_TIME && take_time(c, f, &text, err) < 0)
		return usage_next(c, cmd, err);
	if (!op_param_repeats(f) && cli_has(c, f->flag)) {
		ov_fail(err, OV_EINVALID, "--%s is given twice", f->flag);
		return usage_next(c, cmd, err);
	}
	if (c->given_n == OP_ARGS_MAX)
		return ov_fail(err, OV_ELIMIT, "more than %d options", OP_ARGS_MAX);
	c->given[c->given_n++] = (struct given){ f->flag, text };
	return 0;
}

/* What every command has, taken out of what was given. */
static int take_globals(struct cli *c, struct ov_err *err)
{
	str timeout = cli_flag(c, "timeout");

	c->json = cli_has(c, "json");
	c->help = cli_has(c, "help");
	c->dir = cli_has(c, "dir") ? cli_flag(c, "dir").p : NULL;
	if (timeout.n &&
			(!duration_parse(timeout, &c->timeout_ms) || c->timeout_ms <= 0 ||
					c->timeout_ms > OV_DAY)) {
		ov_fail(err, OV_EINVALID,
				"--timeout " STR_FMT " is not a time such as 500ms, 30s or 2m",
				STR_ARG(timeout));
		return ov_next(err, "overseer help");
	}
	c->client.timeout_ms = c->timeout_ms;
	return 0;
}

static int check_counts(struct cli *c, struct ov_err *err)
{
	const struct op *cmd = c->command;
	int min, max;
	str args = op_args(c->arena, cmd, &min, &max);

	for (size_t i = 0; i < cmd->params_n; i++)
		if (cmd->params[i].required && cmd->params[i].flag &&
				!cli_has(c, cmd->params[i].flag)) {
			ov_fail(err, OV_EINVALID, "--%s %s is missing", cmd->params[i].flag,
					cmd->params[i].word);
			return usage_next(c, cmd, err);
		}
	if ((int)c->args_n >= min && (int)c->args_n <= max)
		return 0;
	if ((int)c->args_n < min)
		ov_fail(err, OV_EINVALID, STR_FMT " is missing", STR_ARG(args));
	else
		ov_fail(err, OV_EINVALID, "\"" STR_FMT "\" is one argument too many",
				STR_ARG(c->args[max]));
	return usage_next(c, cmd, err);
}

/* The words before the command's own: global options may stand there too. */
static int take_command(struct cli *c, int argc, char **argv, int *at, struct ov_err *err)
{
	size_t words_n = 0, used;
	str words[2];
	int r, ends[2] = { 0 };

	for (; *at < argc && words_n < 2; ++*at) {
		str w = str_from(argv[*at]);

		if (str_is(w, "-h"))
			w = STR("--help");
		if (str_is(w, "--version"))
			w = STR("version");
		if (str_starts(w, STR("--")) && words_n == 0) {
			r = take_flag(c, NULL, w, argv, at, err);
			if (r < 0)
				return r;
			continue;
		}
		if (str_starts(w, STR("-")))
			break;
		words[words_n] = w;
		ends[words_n++] = *at + 1;
	}
	if (words_n == 0)
		return 0;
	r = command_by_words(c, words, words_n, &c->command, &used, err);
	if (r == 0)
		*at = ends[used - 1];
	if (r == 0 && !c->command)
		c->args[c->args_n++] = words[0];
	return r;
}

int args_parse(struct cli *c, int argc, char **argv, struct ov_err *err)
{
	bool plain = false; /* after "--" */
	int at = 1, r;

	r = take_command(c, argc, argv, &at, err);
	for (; r == 0 && at < argc; at++) {
		str w = str_from(argv[at]);

		if (!plain && str_is(w, "--")) {
			plain = true;
			continue;
		}
		if (!plain && str_is(w, "-h"))
			w = STR("--help");
		if (!plain && str_starts(w, STR("--")))
			r = take_flag(c, c->command, w, argv, &at, err);
		else if (!plain && w.n > 1 && w.p[0] == '-')
			r = unknown_flag(c, c->command, str_sub(w, 1, w.n), err);
		else if (c->args_n == OP_ARGS_MAX)
			r = ov_fail(err, OV_ELIMIT, "more than %d arguments", OP_ARGS_MAX);
		else
			c->args[c->args_n++] = w;
	}
	/* Known even if the rest is wrong: it says how the error is to be printed. */
	c->json = cli_has(c, "json");
	if (r == 0)
		r = take_globals(c, err);
	if (r == 0 && c->command && !c->help)
		r = check_counts(c, err);
	return r;
}

bool cli_has(const struct cli *c, const char *name)
{
	for (size_t i = 0; i < c->given_n; i++)
		if (strcmp(c->given[i].name, name) == 0)
			return true;
	return false;
}

str cli_flag(const struct cli *c, const char *name)
{
	for (size_t i = 0; i < c->given_n; i++)
		if (strcmp(c->given[i].name, name) == 0)
			return c->given[i].value;
	return (str){ 0 };
}

int64_t cli_int(const struct cli *c, const char *name, int64_t otherwise)
{
	int64_t n = otherwise;

	(void)str_to_i64(cli_flag(c, name), &n);
	return n;
}

value *cli_list(struct cli *c, const char *name)
{
	value *v = value_array(c->arena);

	for (size_t i = 0; i < c->given_n; i++)
		if (strcmp(c->given[i].name, name) == 0)
			value_push(c->arena, v, value_str(c->arena, c->given[i].value));
	return v;
}

bool cli_narrowed(const struct cli *c)
{
	for (size_t i = 0; i < c->command->params_n; i++)
		if (c->command->params[i].flag && cli_has(c, c->command->params[i].flag))
			return true;
	return false;
}
