/* Reports: of a goal (Markdown, HTML), of the detectors, and of a period. */
#include <time.h>

#include "base/str.h"
#include "cli/call/command.h"
#include "cli/out/cost.h"
#include "cli/out/say.h"
#include "cli/report/report_page.h"
#include "core/capacity/auto_mode.h"
#include "core/op/params.h"
#include "sys/file/file.h"
#include "sys/host/clock.h"

static const char *plural(int64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

/* ---- a goal ---- */

static int write_html(struct cli *c, str path, const struct report_goal_doc *doc,
		const struct report_style *style, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf page = BUF_INIT;
	int r;

	report_html(&page, doc, style);
	if (str_is(path, "-")) {
		buf_adds(&c->out.buf, buf_str(&page));
		return 0;
	}
	r = file_write_atomic(arena_cstr(c->arena, path), buf_str(&page), 0644, err);
	if (r == 0)
		out_f(&c->out, "Wrote " STR_FMT ": open it in a browser.\n",
				STR_ARG(out_clean(&c->out, path)));
	return r;
}

static int show_goal(struct cli *c, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct report_style style = { clock_utc_offset(c->out.now) };
	const struct report_goal_doc *doc;
	const value *answer;
	bool done;
	int r;

	if (cli_has(c, "html") && c->json) {
		ov_fail(err, OV_EINVALID, "--html and --json are two forms of the same");
		return usage_next(c, c->command, err);
	}
	r = cli_call(c, OP_report_goal,
			OP_ASK(c->arena, report_goal, .has_goal = true, .goal = c->args[0]),
			&answer, &done, err);
	if (r != 0 || done)
		return r;
	doc = shape_fill(c->arena, report_goal_doc_shape(), answer);
	if (cli_has(c, "html"))
		return write_html(c, cli_flag(c, "html"), doc, &style, err);
	report_markdown(&text, doc, &style);
	buf_adds(&c->out.buf, out_clean_lines(&c->out, buf_str(&text)));
	return 0;
}

/* ---- the detectors ---- */

static str precision_text(struct cli *c, const value *row)
{
	const value *p = value_at(row, "precision_milli");

	if (!p || p->kind != V_INT)
		return STR("-");
	return arena_printf(c->arena, "%lld.%lld %%", (long long)p->i / 10, (long long)p->i % 10);
}

static void detector_row(struct cli *c, enum style style, str name, const value *row)
{
	static const char *const columns[] = { "detections", "helpful", "unhelpful", "unknown",
		"open", "false_positives" };
	const value *by_level = value_at(row, "levels");
	str answers = STR("");

	cell(&c->out, style, name);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		cell_right(&c->out, style,
				arena_printf(c->arena, "%lld",
						(long long)value_int_at(row, columns[i])));
	cell_right(&c->out, style, precision_text(c, row));
	for (size_t i = 0; by_level && i < by_level->object.n; i++) {
		int64_t n = value_int_or(by_level->object.members[i].value, 0);

		if (n)
			answers = arena_printf(c->arena, STR_FMT "%s%lld " STR_FMT,
					STR_ARG(answers), answers.n ? ", " : "", (long long)n,
					STR_ARG(by_level->object.members[i].key));
	}
	cell(&c->out, S_DIM, answers);
	row_end(&c->out);
}

static void show_hints(struct cli *c, const value *hints)
{
	for (size_t i = 0; i < value_count(hints); i++) {
		const value *h = value_item(hints, i), *now = value_at(h, "now");
		_cleanup_(buf_done) struct buf text = BUF_INIT;

		if (now && now->kind == V_INT)
			buf_addf(&text, " (now %lld)", (long long)now->i);
		else if (now && now->kind == V_REAL)
			buf_addf(&text, " (now %g)", now->r);
		out_styled(&c->out, S_YELLOW, STR("Hint  "));
		say(&c->out, h, "{observation}: {likely}.\n      To {adjust}: {option}");
		buf_adds(&c->out.buf, buf_str(&text));
		say(&c->out, h, " in config.toml, then {command}\n");
	}
}

static int show_detectors(struct cli *c, struct ov_err *err)
{
	static const char *const head[] = { "FOUND", "HELPFUL", "UNHELPFUL", "UNKNOWN", "OPEN",
		"FALSE", "PRECISION" };
	struct pr_report_detectors asked = { 0 };
	const value *doc, *rows;
	bool done;
	int r;

	if (c->args_n || cli_has(c, "goal"))
		asked.goal = c->args_n ? c->args[0] : cli_flag(c, "goal");
	r = cli_call(c, OP_report_detectors, op_value(c->arena, OP_report_detectors, &asked), &doc,
			&done, err);
	if (r != 0 || done)
		return r;
	rows = value_at(doc, "detectors");
	say(&c->out, doc, "{iterations:#iteration} looked at, {total.detections:#detection}.\n");
	cell(&c->out, S_DIM, STR("DETECTOR"));
	for (size_t i = 0; i < ARRAY_LEN(head); i++)
		cell_right(&c->out, S_DIM, str_from(head[i]));
	cell(&c->out, S_DIM, STR("ANSWERED BY"));
	row_end(&c->out);
	for (size_t i = 0; i < value_count(rows); i++)
		detector_row(c, S_PLAIN, value_str_at(value_item(rows, i), "type"),
				value_item(rows, i));
	detector_row(c, S_BOLD, STR("total"), value_at(doc, "total"));
	table_end(&c->out, "");
	show_hints(c, value_at(doc, "hints"));
	return 0;
}

/* ---- a period ---- */

/* A clause of a sentence, unless there is nothing to say. */
static void clause(struct buf *b, const char *sep, int64_t n, const char *one, const char *many)
{
	if (n)
		buf_addf(b, "%s%lld %s", b->n ? sep : "", (long long)n, plural(n, one, many));
}

static void sentence(struct cli *c, struct buf *b)
{
	if (b->n)
		out_f(&c->out, STR_FMT ".\n", STR_ARG(buf_str(b)));
	buf_clear(b);
}

static void say_work(struct cli *c, const value *doc)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	int64_t fixed = value_int_at(doc, "fixed_on_retry"),
		resolved = value_int_at(doc, "conflicts_resolved");

	buf_adds(&b,
			say_text(&c->out, doc,
					"{runs:#run}, {accepted:n} accepted"
					"[{?accepted_unchecked} ({accepted_unchecked:n} not checked)]"));
	clause(&b, ", ", value_int_at(doc, "rejected"), "rejected by verification",
			"rejected by verification");
	if (fixed)
		buf_addf(&b, " (%lld fixed on retry)", (long long)fixed);
	clause(&b, ", ", value_int_at(doc, "conflicts"), "rebase conflict", "rebase conflicts");
	if (resolved)
		buf_addf(&b, " (%lld resolved)", (long long)resolved);
	clause(&b, ", ", value_int_at(doc, "goals_completed"), "goal completed", "goals completed");
	sentence(c, &b);
}

/* What became of the other tasks, each of them once. */
static void say_ends(struct cli *c, const value *doc)
{
	static const struct {
		const char *key, *text;
	} ends[] = { { "done", "done without a change" },
		{ "overridden", "declared done by a person" }, { "cancelled", "cancelled" },
		{ "removed", "left out by a new plan" },
		{ "reverted", "taken back from the target branch" }, { "reopened", "reopened" } };
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	int64_t on_target = value_int_at(doc, "cancelled_on_target");

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		clause(&b, ", ", value_int_at(doc, ends[i].key), ends[i].text, ends[i].text);
		if (strcmp(ends[i].key, "cancelled") == 0 && on_target)
			buf_addf(&b, " (%lld after its change was accepted)", (long long)on_target);
	}
	sentence(c, &b);
}

static void say_troubles(struct cli *c, const value *doc)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	const value *by = value_at(doc, "stalls_recovered_by"),
		    *levels_of = value_at(doc, "interventions");
	int64_t crashes = value_int_at(doc, "daemon_crashes"),
		same = value_int_at(doc, "same_task_in_a_row");

	clause(&b, ", ", value_int_at(doc, "stalls"), "stall", "stalls");
	for (size_t i = 0; by && i < by->object.n; i++) {
		int64_t n = value_int_or(by->object.members[i].value, 0);

		if (n)
			buf_addf(&b, ", %lld over after %s " STR_FMT, (long long)n,
					str_is(by->object.members[i].key, "escalate") ? "an" : "a",
					STR_ARG(by->object.members[i].key));
	}
	clause(&b, ", ", value_int_at(doc, "stalls_over_by_themselves"), "over by itself",
			"over by themselves");
	sentence(c, &b);
	clause(&b, ", ", value_int_at(doc, "detections"), "pattern found by oversight",
			"patterns found by oversight");
	for (size_t i = 0; levels_of && i < levels_of->object.n; i++) {
		int64_t n = value_int_or(levels_of->object.members[i].value, 0);

		if (n)
			buf_addf(&b, ", %lld " STR_FMT, (long long)n,
					STR_ARG(levels_of->object.members[i].key));
	}
	sentence(c, &b);
	if (same >= SAME_TASKS_TOLD)
		out_f(&c->out, "The pool gave the same task %lld times in a row.\n",
				(long long)same);
	if (crashes)
		out_f(&c->out,
				"The daemon was started again %lld %s without having stopped; "
				"last " STR_FMT ".\n",
				(long long)crashes, plural(crashes, "time", "times"),
				STR_ARG(out_clock(&c->out, value_str_at(doc, "crashed_at"))));
}

static void say_waiting(struct cli *c, const value *doc)
{
	const value *waiting = value_at(doc, "waiting"), *budget = value_at(doc, "budget_microusd");
	int64_t cost = value_int_at(doc, "cost_microusd"), tokens = value_int_at(doc, "tokens");

	if (cost && budget && budget->kind == V_INT)
		out_f(&c->out, STR_FMT " of " STR_FMT ".  ", STR_ARG(cost_text(c->arena, cost)),
				STR_ARG(cost_text(c->arena, budget->i)));
	else if (cost)
		out_f(&c->out, STR_FMT ".  ", STR_ARG(cost_text(c->arena, cost)));
	else if (tokens)
		out_f(&c->out, STR_FMT " tokens.  ", STR_ARG(tokens_text(c->arena, tokens)));
	out_f(&c->out, value_count(waiting) ? "Waiting for you:" : "Nothing waits for you.\n");
	for (size_t i = 0; i < value_count(waiting); i++)
		out_f(&c->out, "%s #%lld", i ? "," : "",
				(long long)value_int_or(value_item(waiting, i), 0));
	if (value_count(waiting))
		out_f(&c->out, "   overseer inbox\n");
}

static int show_period(struct cli *c, struct ov_err *err)
{
	const value *doc;
	bool done;
	int r;

	r = cli_call(c, OP_report_period,
			OP_ASK(c->arena, report_period, .has_since = true,
					.since = cli_has(c, "since") ? cli_flag(c, "since")
								     : STR("1d")),
			&doc, &done, err);
	if (r != 0 || done)
		return r;
	say(&c->out, doc,
			"[{?people}Since {since:clock} (the last {unattended_ms:took} unattended): "
			"|{unattended_ms:took} unattended. ]");
	say_work(c, doc);
	say_ends(c, doc);
	say_troubles(c, doc);
	say_waiting(c, doc);
	return 0;
}

int cmd_report(struct cli *c, struct ov_err *err)
{
	bool of_goal_only = cli_has(c, "html") || cli_has(c, "markdown");

	if (cli_has(c, "detectors") && !of_goal_only && !cli_has(c, "since"))
		return show_detectors(c, err);
	if (!cli_has(c, "detectors") && !cli_has(c, "since") && c->args_n)
		return show_goal(c, err);
	if (!cli_has(c, "detectors") && !of_goal_only && !c->args_n && !cli_has(c, "goal"))
		return show_period(c, err);
	ov_fail(err, OV_EINVALID,
			"a report is of a GOAL, of the detectors (--detectors), or of a period "
			"(--since), in forms that go with it");
	return usage_next(c, c->command, err);
}
