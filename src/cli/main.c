/* overseer: the command line. Parses, runs one command, prints, answers with an exit status. */
#include <stdio.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "cli/command.h"
#include "data/value/json.h"
#include "version.h"

int cli_store(struct cli *c, struct ov_err *err)
{
	return c->client.dir ? 0 : store_find(c->arena, c->dir, &c->client.dir, err);
}

static void note_read_only(struct cli *c)
{
	if (c->json)
		fputs("{\"note\":\"the daemon is not running; this is the state as stored\"}\n",
				stderr);
	else
		fputs("overseer: the daemon is not running; this is the state as stored\n", stderr);
}

int cli_call(struct cli *c, enum call_kind kind, const char *method, const value *params,
		const value **ret, bool *ret_done, struct ov_err *err)
{
	int r = cli_store(c, err);
	bool noted = c->client.read_only;

	if (r == 0)
		r = client_call(&c->client, kind, method, params, ret, err);
	if (r < 0)
		return r;
	if (c->client.read_only && !noted)
		note_read_only(c);
	*ret_done = c->json;
	if (c->json) {
		json_write(&c->out.buf, *ret);
		buf_addc(&c->out.buf, '\n');
	}
	return r;
}

int cmd_version(struct cli *c, struct ov_err *err)
{
	(void)err;
	out_f(&c->out, c->json ? "{\"version\":\"%s\"}\n" : "overseer %s\n", OV_VERSION);
	return 0;
}

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
		json_write(&o.buf, v);
		buf_addc(&o.buf, '\n');
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
		return c->command->run(c, err);
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
