/* Looking after the store: doctor, backup, export, import. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "base/str.h"
#include "cli/call/child.h"
#include "cli/call/command.h"
#include "sys/file/file.h"

static enum style level_style(str level)
{
	if (str_is(level, "problem"))
		return S_RED;
	return str_is(level, "warning") ? S_YELLOW : S_GREEN;
}

static void show_checks(struct out *o, const value *checks)
{
	for (size_t i = 0; i < value_count(checks); i++) {
		const value *v = value_item(checks, i);
		str level = value_str_at(v, "level");

		cell(o, level_style(level), value_bool_at(v, "fixed") ? STR("fixed") : level);
		cell(o, S_BOLD, value_str_at(v, "name"));
		cell(o, S_PLAIN, value_str_at(v, "text"));
		row_end(o);
	}
	table_end(o, "  ");
	for (size_t i = 0; i < value_count(checks); i++) {
		const value *v = value_item(checks, i);

		if (str_is(value_str_at(v, "level"), "ok") || !value_str_at(v, "next").n)
			continue;
		out_styled(o, S_BOLD, STR("Next"));
		out_f(o, "  ");
		out_text(o, value_str_at(v, "name"));
		out_f(o, ": ");
		out_text(o, value_str_at(v, "next"));
		out_f(o, "\n");
	}
}

static void show_rebuilt(struct out *o, const value *v)
{
	if (value_count(v) == 0)
		return;
	out_f(o, "A new store was written with the %lld events that could be verified in ",
			(long long)value_int_at(v, "last_seq"));
	out_text(o, value_str_at(v, "from"));
	out_f(o, ".\nThe damaged one is kept in ");
	out_text(o, value_str_at(v, "old"));
	out_f(o, ".\n");
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
		out_f(o, "%lld problem%s, %lld warning%s\n",
				(long long)value_int_at(res, "problems"),
				value_int_at(res, "problems") == 1 ? "" : "s",
				(long long)value_int_at(res, "warnings"),
				value_int_at(res, "warnings") == 1 ? "" : "s");
		show_rebuilt(o, value_at(res, "rebuilt"));
		if (value_str_at(res, "backup").n)
			out_f(o, "A backup was made before the repair: " STR_FMT "\n",
					STR_ARG(out_clean(o, value_str_at(res, "backup"))));
		show_checks(o, value_at(res, "checks"));
	}
	return value_bool_at(res, "ok") ? 0 : ov_code_info(OV_ESTATE)->exit_status;
}

void show_store_backup(struct cli *c, const value *res)
{
	out_text(&c->out, value_str_at(res, "file"));
	out_f(&c->out, ": %lld events, %lld bytes, verified\n",
			(long long)value_int_at(res, "last_seq"),
			(long long)value_int_at(res, "bytes"));
	if (value_int_at(res, "removed"))
		out_f(&c->out, "%lld older one%s removed\n",
				(long long)value_int_at(res, "removed"),
				value_int_at(res, "removed") == 1 ? " was" : "s were");
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
	value *params = value_object(c->arena);
	const char *tmp;
	const value *res;
	FILE *f;
	int fd;
	int r = cli_store(c, err);

	if (r < 0)
		return r;
	tmp = path_join(c->arena, c->client.dir,
			arena_cstr(c->arena, arena_printf(c->arena, ".tmp-export-%d", getpid())));
	value_put(c->arena, params, "file", value_cstr(c->arena, tmp));
	r = client_call(&c->client, OP_store_export, params, &res, err);
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
	out_text(&c->out, value_str_at(res, "file"));
	out_f(&c->out, ": %lld events\n", (long long)value_int_at(res, "events"));
	return 0;
}

void show_store_import(struct cli *c, const value *res)
{
	out_f(&c->out, "%lld events were imported.  Next: overseer up\n",
			(long long)value_int_at(res, "events"));
}
