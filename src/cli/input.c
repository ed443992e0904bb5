#include "cli/input.h"

#include <errno.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/str.h"
#include "core/config.h"
#include "core/limits.h"
#include "core/plan.h"
#include "data/json.h"
#include "sys/file.h"

static int read_stdin(struct cli *c, size_t max, str *ret, struct ov_err *err)
{
	_cleanup_(buf_done)
	struct buf b = BUF_INIT;
	char piece[16384];
	ssize_t n;

	while ((n = read(STDIN_FILENO, piece, sizeof(piece))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return ov_fail_errno(err, errno, "reading standard input");
		buf_add(&b, piece, (size_t)n);
		if (b.n > max)
			return ov_fail(err, OV_ELIMIT, "standard input has more than %zu bytes",
					max);
	}
	*ret = arena_str(c->arena, buf_str(&b));
	return 0;
}

int input_read(struct cli *c, str path, size_t max, str *ret, struct ov_err *err)
{
	if (str_is(path, "-"))
		return read_stdin(c, max, ret, err);
	return file_read(c->arena, arena_cstr(c->arena, path), max, ret, err);
}

int input_text(struct cli *c, str arg, size_t max, str *ret, struct ov_err *err)
{
	str text;
	int r;

	if (!str_starts(arg, STR("@"))) {
		*ret = arg;
		return 0;
	}
	r = input_read(c, str_sub(arg, 1, arg.n), max, &text, err);
	if (r == 0)
		*ret = str_trim(text);
	return r;
}

/* The limits of the store's configuration where there is one, else the usual ones. */
static struct plan_limits limits(struct cli *c)
{
	struct plan_limits l = PLAN_LIMITS_DEFAULT;
	struct config *config;
	str toml;

	if (cli_store(c, NULL) < 0 ||
			file_read(c->arena, path_join(c->arena, c->client.dir, "config.toml"),
					1024 * 1024, &toml, NULL) < 0 ||
			config_parse(toml, &config, NULL) < 0)
		return l;
	l = (struct plan_limits){ config->planner_max_phases, config->planner_max_tasks,
		config->planner_max_subtasks };
	config_free(config);
	return l;
}

static void print_problems(struct cli *c, str path, const struct plan_report *r)
{
	struct out *o = &c->out;

	out_text(o, path);
	out_f(o, ": %zu problem%s\n", r->problems.n, r->problems.n == 1 ? "" : "s");
	for (size_t i = 0; i < r->problems.n; i++) {
		cell(o, S_BOLD, r->problems.p[i].path);
		cell(o, S_PLAIN, r->problems.p[i].text);
		row_end(o);
	}
	table_end(o, "  ");
}

static void print_json(struct cli *c, str path, const struct plan_report *r)
{
	value *v = plan_report_view(c->arena, r);

	value_put(c->arena, v, "file", value_str(c->arena, path));
	json_write(&c->out.buf, v);
	buf_addc(&c->out.buf, '\n');
}

int plan_load(struct cli *c, str path, const value **ret, struct ov_err *err)
{
	struct plan_limits l = limits(c);
	struct plan_report report;
	bool checking = c->command->run == cmd_plan_check;
	value *doc;
	str text;
	int r = input_read(c, path, LIMIT_PLAN_BYTES, &text, err);

	if (r == 0)
		r = json_parse(c->arena, text, NULL, &doc, err);
	if (r < 0)
		return ov_wrap(err, r == OV_EINVALID ? OV_EINVALID_PLAN : r, STR_FMT,
				STR_ARG(path));
	plan_check(c->arena, doc, &l, &report);
	*ret = report.problems.n ? NULL : doc;
	if (checking && c->json)
		print_json(c, path, &report);
	else if (report.problems.n && c->json)
		r = ov_wrap(err, plan_report_error(&report, err), STR_FMT, STR_ARG(path));
	else if (report.problems.n)
		print_problems(c, path, &report);
	else if (checking)
		out_f(&c->out, STR_FMT ": a good plan: %zu phases, %zu tasks, %zu subtasks\n",
				STR_ARG(out_clean(&c->out, path)), report.phases, report.tasks,
				report.subtasks);
	if (r == 0 && report.problems.n)
		r = ov_code_info(OV_EINVALID_PLAN)->exit_status;
	plan_report_done(&report);
	return r;
}
