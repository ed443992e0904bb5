#include "cli/work/plan_file.h"

#include "cli/call/input.h"
#include "cli/out/say.h"
#include "core/config/config.h"
#include "core/model/limits.h"
#include "core/plan/plan.h"
#include "data/value/json.h"
#include "sys/file/file.h"

enum { CONFIG_MAX = 1024 * 1024 };

void plan_print_warnings(struct cli *c, const value *warnings)
{
	struct out *o = &c->out;

	for (size_t i = 0; i < value_count(warnings); i++)
		say(o, value_item(warnings, i), "{=Warning: *yellow}{path}: {problem}\n");
	if (value_count(warnings))
		out_f(o, "Next: overseer agent list\n");
}

/*
 * The configuration beside the store, where there is one that can be read: checking a plan
 * needs neither.
 */
static struct config *config_there(struct cli *c)
{
	struct config *config = NULL;
	str toml;

	if (cli_store(c, NULL) < 0 ||
			file_read(c->arena, path_join(c->arena, c->client.dir, "config.toml"),
					CONFIG_MAX, &toml, NULL) < 0)
		return NULL;
	return config_parse(toml, &config, NULL) < 0 ? NULL : config;
}

void plan_print_problems(struct cli *c, str path, const value *problems)
{
	static const struct column columns[] = { { "{path}", .style = S_BOLD },
		{ .text = "{problem}" } };
	struct out *o = &c->out;
	size_t n = value_count(problems);

	out_text(o, path);
	out_f(o, ": %zu problem%s\n", n, n == 1 ? "" : "s");
	say_table(o, problems, columns, "  ");
}

/*
 * A later plan may wait for finished nodes that it leaves out; whether they are there, the
 * daemon knows.
 */
static bool daemon_decides(const struct cli *c, const struct plan_report *r)
{
	for (size_t i = 0; i < r->problems.n; i++)
		if (!r->problems.p[i].elsewhere)
			return false;
	return op_id(c->command) == OP_plan_apply;
}

static void print_json(struct cli *c, str path, const struct plan_report *r)
{
	value *v = plan_report_view(c->arena, r);

	value_put(c->arena, v, "file", value_str(c->arena, path));
	out_json(&c->out, v);
}

static void print_good(struct cli *c, str path, const struct plan_report *r)
{
	out_f(&c->out, STR_FMT ": a good plan: %zu phase%s, %zu task%s, %zu subtask%s\n",
			STR_ARG(out_clean(&c->out, path)), r->phases, r->phases == 1 ? "" : "s",
			r->tasks, r->tasks == 1 ? "" : "s", r->subtasks,
			r->subtasks == 1 ? "" : "s");
	out_f(&c->out, "%zu of %zu can start at once\n", r->ready, r->leaves);
	if (r->phases > 1 && !r->sequential)
		out_f(&c->out,
				"Phases do not make tasks wait: only \"deps\" and "
				"\"sequential\": true do.\n");
}

int plan_read(struct cli *c, str path, const value **ret, struct ov_err *err)
{
	value *doc;
	str text;
	/* However it is indented: what `plan show --document` prints can be applied. */
	int r = input_read(c, path, 4 * (size_t)LIMIT_PLAN_BYTES, &text, err);

	if (r == OV_ENOTFOUND) {
		ov_fail(err, r, "there is no file " STR_FMT, STR_ARG(path));
		return ov_next(err, "name the file of a plan, or - for standard input");
	}
	if (r == 0)
		r = json_parse(c->arena, text, NULL, &doc, err);
	if (r == 0 && text.n > LIMIT_PLAN_BYTES && json_text(c->arena, doc).n > LIMIT_PLAN_BYTES)
		r = ov_fail(err, OV_ELIMIT,
				"the plan has %zu bytes without spaces, at most %d are allowed",
				json_text(c->arena, doc).n, LIMIT_PLAN_BYTES);
	if (r < 0)
		return ov_wrap(err, r == OV_EINVALID ? OV_EINVALID_PLAN : r, STR_FMT,
				STR_ARG(path));
	*ret = doc;
	return 0;
}

int plan_load(struct cli *c, str path, const value **ret, struct ov_err *err)
{
	struct plan_report report;
	bool checking = op_id(c->command) == OP_plan_check;
	struct plan_rules rules = PLAN_RULES_WRITTEN;
	struct config *config;
	const value *doc;
	int r = plan_read(c, path, &doc, err);

	if (r < 0)
		return r;
	config = checking ? config_there(c) : NULL;
	rules.policy = config ? &config->policy : NULL;
	plan_check(c->arena, doc, &rules, &report);
	config_free(config);
	*ret = doc;
	if (report.problems.n && daemon_decides(c, &report)) {
		plan_report_done(&report);
		return 0;
	}
	if (checking && c->json)
		print_json(c, path, &report);
	else if (report.problems.n && c->json)
		r = ov_wrap(err, plan_report_error(&report, err), STR_FMT, STR_ARG(path));
	else if (report.problems.n)
		plan_print_problems(c, path,
				value_at(plan_report_view(c->arena, &report), "problems"));
	else if (checking)
		print_good(c, path, &report);
	if (checking && !c->json)
		plan_print_warnings(c,
				plan_problems_view(c->arena, report.warnings.p, report.warnings.n));
	if (r == 0 && report.problems.n)
		r = ov_code_info(OV_EINVALID_PLAN)->exit_status;
	plan_report_done(&report);
	return r;
}
