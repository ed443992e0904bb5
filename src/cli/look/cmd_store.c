/* Looking after the store: doctor, backup, export, import. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/call/command.h"
#include "cli/out/say.h"
#include "core/op/params.h"
#include "sys/file/file.h"

static enum style level_style(str level)
{
	if (str_is(level, "problem"))
		return S_RED;
	return str_is(level, "warning") ? S_YELLOW : S_GREEN;
}

static void level_cell(struct out *o, const value *v)
{
	cell(o, level_style(value_str_at(v, "level")), say_text(o, v, "[{?fixed}fixed|{level}]"));
}

static const struct column check_columns[] = {
	{ .own = level_cell },
	{ "{name}", .style = S_BOLD },
	{ .text = "{text}" },
};

static void show_checks(struct out *o, const value *checks)
{
	say_table(o, checks, check_columns, "  ");
	for (size_t i = 0; i < value_count(checks); i++) {
		const value *v = value_item(checks, i);

		if (str_is(value_str_at(v, "level"), "ok") || !value_str_at(v, "next").n)
			continue;
		out_styled(o, S_BOLD, STR("Next"));
		say(o, v, "  {name}: {next}\n");
	}
}

int cmd_doctor_run(struct cli *c, struct ov_err *err)
{
	struct out *o = &c->out;
	const value *res;
	value *params;
	bool done;
	int r = cli_params(c, &params, err);

	if (r == 0)
		r = cli_ask(c, params, &res, &done, err);
	if (r < 0)
		return r;
	if (!done) {
		say(o, res, "{problems:#problem}, {warnings:#warning}\n");
		say(o, res,
				"[{?rebuilt}A new store was written with the {rebuilt.last_seq:n} "
				"events that could be verified in {rebuilt.from}.\n"
				"The damaged one is kept in {rebuilt.old}.\n]");
		say(o, res, "[{?backup}A backup was made before the repair: {backup}\n]");
		show_checks(o, value_at(res, "checks"));
	}
	return value_bool_at(res, "ok") ? 0 : ov_code_info(OV_ESTATE)->exit_status;
}

void show_store_backup(struct cli *c, const value *res)
{
	say(&c->out, res, "{file}: {last_seq:n} events, {bytes:n} bytes, verified\n");
	if (value_int_at(res, "removed"))
		say(&c->out, res,
				value_int_at(res, "removed") == 1
						? "{removed:n} older one was removed\n"
						: "{removed:n} older ones were removed\n");
}

/* Copies a file to standard output; what is printed before goes first. */
static int print_file(struct cli *c, FILE *f, struct ov_err *err)
{
	char piece[65536];
	size_t n;
	int r = 0;

	while (r == 0 && (n = fread(piece, 1, sizeof(piece), f)) > 0) {
		buf_add(&c->out.buf, piece, n);
		r = out_flush(&c->out, STDOUT_FILENO, err);
	}
	return r;
}

/* Through a file in the store's folder, since it may be larger than any answer. */
static int export_to_stdout(struct cli *c, struct ov_err *err)
{
	const char *tmp;
	const value *res;
	FILE *f;
	int fd;
	int r = cli_store(c, err);

	if (r < 0)
		return r;
	tmp = path_join(c->arena, c->client.dir,
			arena_cstr(c->arena, arena_printf(c->arena, ".tmp-export-%d", getpid())));
	r = client_call(&c->client, OP_store_export,
			OP_ASK(c->arena, store_export, .file = str_from(tmp)), &res, err);
	if (r < 0)
		return r;
	fd = file_open(tmp, O_RDONLY, 0);
	f = fd < 0 ? NULL : fdopen(fd, "r");
	(void)file_remove(tmp, NULL);
	if (!f)
		return ov_fail(err, OV_EIO, "open %s: %m", tmp);
	r = print_file(c, f, err);
	fclose(f);
	return r;
}

int cmd_store_export(struct cli *c, struct ov_err *err)
{
	const value *res;
	value *params;
	bool done;
	int r;

	if (c->args_n == 0 || str_is(c->args[0], "-"))
		return export_to_stdout(c, err);
	r = cli_params(c, &params, err);
	if (r == 0)
		r = cli_ask(c, params, &res, &done, err);
	if (r < 0 || done)
		return r;
	say(&c->out, res, "{file}: {events:n} events\n");
	return 0;
}

void show_store_import(struct cli *c, const value *res)
{
	say(&c->out, res, "{events:n} events were imported.  Next: overseer up\n");
}
