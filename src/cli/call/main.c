/* overseer: the command line. Parses, runs one command, prints, answers with an exit status. */
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/call/command.h"

/* On standard error: the message, then what to type next; or both as one JSON object. */
static void print_error(struct cli *c, const struct ov_err *err)
{
	struct out o;

	out_init(&o, c->arena, STDERR_FILENO);
	if (c->json) {
		value *v = value_object(c->arena), *e = value_object(c->arena);

		value_put(c->arena, e, "code", value_cstr(c->arena, ov_code_info(err->code)->name));
		value_put(c->arena, e, "message", value_cstr(c->arena, err->msg));
		value_put(c->arena, e, "next", value_cstr(c->arena, err->next));
		value_put(c->arena, v, "error", e);
		out_json(&o, v);
	} else {
		str rest = out_clean_lines(&o, str_from(err->msg)), line = { 0 };

		(void)str_split(&rest, '\n', &line);
		out_styled(&o, S_RED, STR("overseer:"));
		out_f(&o, " " STR_FMT "\n", STR_ARG(line));
		while (str_split(&rest, '\n', &line))
			out_f(&o, "  " STR_FMT "\n", STR_ARG(line));
		if (err->next[0]) {
			out_styled(&o, S_BOLD, STR("Next"));
			out_f(&o, "  " STR_FMT "\n", STR_ARG(out_clean(&o, str_from(err->next))));
		}
	}
	(void)out_flush(&o, STDERR_FILENO, NULL);
	out_done(&o);
}

static int run(struct cli *c, struct ov_err *err)
{
	if (c->help && c->command) {
		help_command(c, c->command);
		return 0;
	}
	if (c->command)
		return command_run(c, err);
	if (c->args_n)
		help_noun(&c->out, c->args[0]);
	else
		help_all(&c->out);
	if (c->help)
		return 0;
	/* Half a command is a mistake: the help that it gets is no answer. */
	(void)out_flush(&c->out, STDERR_FILENO, NULL);
	return ov_code_info(OV_EINVALID)->exit_status;
}

int main(int argc, char **argv)
{
	struct arena a = ARENA_INIT;
	struct cli c = { .arena = &a, .timeout_ms = 30 * OV_SECOND };
	struct ov_err err = { 0 };
	int r, flushed;

	out_init(&c.out, &a, STDOUT_FILENO);
	client_init(&c.client, &a);
	r = args_parse(&c, argc, argv, &err);
	if (r == 0)
		r = run(&c, &err);
	flushed = out_flush(&c.out, STDOUT_FILENO, r < 0 ? NULL : &err);
	r = r >= 0 && flushed < 0 ? flushed : r;
	if (r < 0) {
		err.code = r;
		print_error(&c, &err);
		r = ov_code_info(r)->exit_status;
	}
	client_done(&c.client);
	out_done(&c.out);
	arena_done(&a);
	return r;
}
