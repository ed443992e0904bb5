/* Help, usage errors and docs/commands.md, all from the table of commands. */
#include "base/moment.h"
#include "base/str.h"
#include "cli/call/command.h"
#include "data/value/json.h"

str command_name(struct arena *a, const struct op *cmd)
{
	return arena_printf(a, "%s%s%s", cmd->noun, cmd->verb ? " " : "",
			cmd->verb ? cmd->verb : "");
}

/* The next row from *at on that is a command; NULL after the last. */
static const struct op *command_at(size_t *at)
{
	while (*at < OP_COUNT && !op_rows[*at].noun)
		++*at;
	return *at < OP_COUNT ? &op_rows[*at] : NULL;
}

static bool noun_exists(str noun)
{
	const struct op *cmd;

	for (size_t i = 0; (cmd = command_at(&i)); i++)
		if (str_is(noun, cmd->noun))
			return true;
	return false;
}

int usage_next(struct cli *c, const struct op *cmd, struct ov_err *err)
{
	if (cmd)
		return ov_next(err, "overseer help " STR_FMT, STR_ARG(command_name(c->arena, cmd)));
	return ov_next(err, "overseer help");
}

/* The nearest noun, or the nearest verb of a noun. */
static const char *nearest(str word, str noun)
{
	const struct op *cmd;
	const char *names[256];
	size_t n = 0;

	for (size_t i = 0; (cmd = command_at(&i)); i++) {
		if (noun.n == 0)
			names[n++] = cmd->noun;
		else if (str_is(noun, cmd->noun) && cmd->verb)
			names[n++] = cmd->verb;
		assert(n < ARRAY_LEN(names));
	}
	return str_nearest(word, names, n);
}

static int unknown_verb(struct cli *c, str noun, str verb, struct ov_err *err)
{
	const char *near = nearest(verb, noun);
	const struct op *cmd;
	str verbs = STR("");

	for (size_t i = 0; (cmd = command_at(&i)); i++)
		if (str_is(noun, cmd->noun))
			verbs = arena_printf(c->arena, STR_FMT "%s%s", STR_ARG(verbs),
					verbs.n ? ", " : "", cmd->verb);
	if (near) {
		ov_fail(err, OV_EINVALID,
				"there is no command \"" STR_FMT " " STR_FMT
				"\" (there are: " STR_FMT ")",
				STR_ARG(noun), STR_ARG(verb), STR_ARG(verbs));
		return ov_next(err, "overseer " STR_FMT " %s", STR_ARG(noun), near);
	}
	ov_fail(err, OV_EINVALID, STR_FMT " needs one of: " STR_FMT, STR_ARG(noun), STR_ARG(verbs));
	return ov_next(err, "overseer help " STR_FMT, STR_ARG(noun));
}

static int unknown_noun(str noun, struct ov_err *err)
{
	const char *near = nearest(noun, STR(""));

	ov_fail(err, OV_EINVALID, "there is no command \"" STR_FMT "\"", STR_ARG(noun));
	return near ? ov_next(err, "overseer %s", near) : ov_next(err, "overseer help");
}

int command_by_words(struct cli *c, const str *words, size_t n, const struct op **ret,
		size_t *ret_used, struct ov_err *err)
{
	const struct op *cmd;

	for (size_t i = 0; (cmd = command_at(&i)); i++) {
		bool whole = !cmd->verb || (n > 1 && str_is(words[1], cmd->verb));

		if (!str_is(words[0], cmd->noun) || !whole)
			continue;
		*ret = cmd;
		*ret_used = cmd->verb ? 2 : 1;
		return 0;
	}
	if (!noun_exists(words[0]))
		return unknown_noun(words[0], err);
	if (n > 1)
		return unknown_verb(c, words[0], words[1], err);
	*ret = NULL;
	*ret_used = 1;
	return 0;
}

static void list_row(struct out *o, const struct op *cmd)
{
	cell(o, S_BOLD, command_name(o->arena, cmd));
	cell(o, S_PLAIN, str_from(cmd->summary));
	row_end(o);
}

static const char *notes(const struct op_param *p)
{
	return p->required ? " (required)" : op_param_repeats(p) ? " (repeatable)" : "";
}

static void list_flags(struct out *o, const struct op_param *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (!p[i].flag)
			continue;
		cell_f(o, S_BOLD, "--%s%s%s", p[i].flag, p[i].word ? " " : "",
				p[i].word ? p[i].word : "");
		cell_f(o, S_PLAIN, "%s%s", p[i].help, notes(&p[i]));
		row_end(o);
	}
}

static bool has_flags(const struct op *cmd)
{
	for (size_t i = 0; i < cmd->params_n; i++)
		if (cmd->params[i].flag)
			return true;
	return false;
}

void help_all(struct out *o)
{
	const struct op *cmd;

	out_f(o,
			"usage: overseer [--dir DIR] [--json] [--timeout DURATION] COMMAND ...\n\n"
			"Supervises coding agents: keeps plans, hands out work, checks it, merges "
			"it.\n\n");
	for (size_t i = 0; (cmd = command_at(&i)); i++)
		list_row(o, cmd);
	table_end(o, "  ");
	out_f(o, "\nOptions of every command\n");
	list_flags(o, global_flags, global_flags_n);
	table_end(o, "  ");
	out_f(o, "\nNext  overseer help COMMAND     or, in a git repository,     overseer init\n");
}

void help_noun(struct out *o, str noun)
{
	const struct op *cmd;

	out_f(o, "usage: overseer " STR_FMT " COMMAND ...\n\n", STR_ARG(noun));
	for (size_t i = 0; (cmd = command_at(&i)); i++)
		if (str_is(noun, cmd->noun))
			list_row(o, cmd);
	table_end(o, "  ");
	out_f(o, "\nNext  overseer help " STR_FMT " COMMAND\n", STR_ARG(noun));
}

static str usage_line(struct arena *a, const struct op *cmd)
{
	str s = arena_printf(a, "overseer " STR_FMT, STR_ARG(command_name(a, cmd))), args;
	int min, max;

	for (size_t i = 0; i < cmd->params_n; i++) {
		const struct op_param *p = &cmd->params[i];

		if (p->flag)
			s = arena_printf(a, STR_FMT " %s--%s%s%s%s%s", STR_ARG(s),
					p->required ? "" : "[", p->flag, p->word ? " " : "",
					p->word ? p->word : "", p->required ? "" : "]",
					op_param_repeats(p) ? "..." : "");
	}
	args = op_args(a, cmd, &min, &max);
	return arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(s), args.n ? " " : "", STR_ARG(args));
}

/* What may stand for TIME, where an option or the argument takes one. */
static str time_words(const struct op *cmd)
{
	for (size_t i = 0; i < cmd->params_n; i++)
		if (cmd->params[i].form == FORM_TIME)
			return STR("TIME is " MOMENT_FORMS
				   "; local time unless it says otherwise.");
	return cmd->args && str_contains(str_from(cmd->args), STR("TIME"))
			? STR("TIME is " MOMENT_FORMS_FUTURE
			      "; local time unless it says otherwise.")
			: STR("");
}

void help_command(struct cli *c, const struct op *cmd)
{
	struct out *o = &c->out;

	out_f(o, "usage: " STR_FMT "\n\n%s.\n", STR_ARG(usage_line(c->arena, cmd)), cmd->summary);
	if (cmd->more)
		out_f(o, "%s\n", cmd->more);
	if (has_flags(cmd)) {
		out_f(o, "\nOptions\n");
		list_flags(o, cmd->params, cmd->params_n);
		table_end(o, "  ");
	}
	if (time_words(cmd).n)
		out_f(o, "\n" STR_FMT "\n", STR_ARG(time_words(cmd)));
	out_f(o, "\nExample  overseer %s\n", cmd->example);
	out_f(o, "\nOptions of every command\n");
	list_flags(o, global_flags, global_flags_n);
	table_end(o, "  ");
}

static void markdown_flags(struct out *o, const struct op_param *p, size_t n)
{
	out_f(o, "\n| option | meaning |\n|---|---|\n");
	for (size_t i = 0; i < n; i++) {
		if (!p[i].flag)
			continue;
		out_f(o, "| `--%s%s", p[i].flag, p[i].word ? " " : "");
		for (const char *x = p[i].word; x && *x; x++)
			out_f(o, "%s%c", *x == '|' ? "\\" : "", *x);
		out_f(o, "` | %s%s |\n", p[i].help, notes(&p[i]));
	}
}

static void help_markdown(struct cli *c)
{
	struct out *o = &c->out;
	const struct op *cmd;

	out_f(o,
			"# Commands\n\nGenerated from the rows in `src/core/op/`; do not edit.\n\n"
			"`overseer` is a thin client of the daemon. What only reads is answered "
			"from the store while the\n"
			"daemon is down. Ids can be shortened to any unique prefix.\n"
			"\n## Options of every command\n");
	markdown_flags(o, global_flags, global_flags_n);
	for (size_t i = 0; (cmd = command_at(&i)); i++) {
		out_f(o, "\n## `overseer " STR_FMT "`\n\n    " STR_FMT "\n\n%s.\n",
				STR_ARG(command_name(c->arena, cmd)),
				STR_ARG(usage_line(c->arena, cmd)), cmd->summary);
		if (cmd->more)
			out_f(o, "%s\n", cmd->more);
		if (has_flags(cmd))
			markdown_flags(o, cmd->params, cmd->params_n);
		if (time_words(cmd).n)
			out_f(o, "\n" STR_FMT "\n", STR_ARG(time_words(cmd)));
		out_f(o, "\nExample: `overseer %s`\n", cmd->example);
	}
	out_f(o,
			"\n## Exit status\n\n0 success, 130 ended by Ctrl-C, else by the kind of "
			"error:\n"
			"\n| code | exit status |\n|---|---|\n");
	for (int code = -1; code > -OV_CODE_COUNT; code--)
		out_f(o, "| `%s` | %d |\n", ov_code_info(code)->name,
				ov_code_info(code)->exit_status);
}

int cmd_help(struct cli *c, struct ov_err *err)
{
	const struct op *cmd = NULL;
	size_t used;
	int r;

	if (cli_has(c, "markdown"))
		help_markdown(c);
	else if (cli_has(c, "operations")) {
		json_write_pretty(&c->out.buf, op_schemas(c->arena));
		out_f(&c->out, "\n");
	} else if (c->args_n == 0)
		help_all(&c->out);
	else {
		r = command_by_words(c, c->args, c->args_n, &cmd, &used, err);
		if (r < 0)
			return r;
		if (cmd)
			help_command(c, cmd);
		else
			help_noun(&c->out, c->args[0]);
	}
	return 0;
}
