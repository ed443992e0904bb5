/* The detectors on a history from a file: needs no daemon, and no store. */
#include "base/str.h"
#include "cli/call/input.h"
#include "core/oversight/history.h"
#include "data/value/json.h"

enum { EXIT_FOUND = 1, VALUE_COLUMNS = 100 };

static int thresholds_of(struct cli *c, struct oversight *ret, struct ov_err *err)
{
	const value *sets = cli_list(c, "set");
	int preset = PRESET_DEFAULT, r = 0;

	if (cli_has(c, "preset"))
		preset = status_parse(&presets, cli_flag(c, "preset"));
	if (preset < 0)
		return ov_fail(err, OV_EINVALID,
				"--preset: \"" STR_FMT
				"\" is not one of: default, strict, relaxed, ci",
				STR_ARG(cli_flag(c, "preset")));
	oversight_preset(ret, (enum preset)preset);
	for (size_t i = 0; r == 0 && i < value_count(sets); i++)
		r = oversight_set(ret, value_item(sets, i)->s, err);
	if (r < 0) {
		ov_wrap(err, r, "--set");
		return ov_next(err, "overseer help detect");
	}
	return 0;
}

static void show_evidence(struct out *o, const value *evidence)
{
	for (size_t i = 0; i < value_count(evidence); i++) {
		const struct member *m = &evidence->object.members[i];
		bool list = m->value->kind == V_ARRAY;

		for (size_t k = 0; k < (list ? m->value->array.n : 1); k++) {
			const value *x = list ? m->value->array.items[k] : m->value;
			str text = x->kind == V_STR ? x->s : json_text(o->arena, x);

			cell(o, S_DIM, k ? STR("") : m->key);
			cell(o, S_PLAIN, out_short(o, out_clean(o, text), VALUE_COLUMNS));
			row_end(o);
		}
	}
	table_end(o, "    ");
}

static void show_one(struct out *o, const value *d, const value *answer)
{
	const value *advice = value_at(d, "recommendations");
	str severity = value_str_at(d, "severity"), level = value_str_at(answer, "level");
	enum style style = str_is(severity, "critical") ? S_RED
			: str_is(severity, "low")       ? S_DIM
							: S_YELLOW;

	out_f(o, "\n");
	out_styled(o, style, value_str_at(d, "type"));
	out_f(o, " (" STR_FMT "): ", STR_ARG(severity));
	out_text(o, value_str_at(d, "message"));
	out_f(o, "\n");
	show_evidence(o, value_at(d, "evidence"));
	out_f(o, "  Answer  ");
	out_styled(o, S_BOLD, level);
	out_f(o, ": ");
	out_text(o, value_str_at(answer, "reason"));
	out_f(o, "\n  Advice  ");
	for (size_t i = 0; i < value_count(advice); i++)
		out_f(o, "%s%zu. " STR_FMT "\n", i ? "          " : "", i + 1,
				STR_ARG(value_str_or(value_item(advice, i), STR(""))));
}

static void show_found(struct cli *c, const struct history_loop *l, const value *result)
{
	const value *all = value_at(result, "detections");
	str status = value_str_at(result, "status");
	struct out *o = &c->out;
	size_t n = value_count(all);

	out_styled(o, status_style(status), status);
	if (n)
		out_f(o, ": %zu detection%s", n, n == 1 ? "" : "s");
	else
		out_f(o, ": nothing found");
	out_f(o, " in %zu iteration%s\n", l->n, l->n == 1 ? "" : "s");
	for (size_t i = 0; i < n; i++)
		show_one(o, value_item(all, i), value_item(value_at(result, "interventions"), i));
}

int cmd_detect(struct cli *c, struct ov_err *err)
{
	struct history_loop *l = arena_new(c->arena, struct history_loop);
	struct oversight o;
	bool healthy;
	value *result;
	str text;
	int r = thresholds_of(c, &o, err);

	if (r == 0)
		r = input_read(c, c->args[0], HISTORY_MAX_BYTES, &text, err);
	if (r < 0)
		return r;
	r = loop_read(c->arena, text, l, err);
	if (r < 0)
		return ov_wrap(err, r, STR_FMT,
				STR_ARG(str_is(c->args[0], "-") ? STR("standard input")
								: c->args[0]));
	result = loop_judge(c->arena, l, &o);
	healthy = str_is(value_str_at(result, "status"), "healthy");
	if (c->json) {
		out_json(&c->out, result);
	} else {
		show_found(c, l, result);
	}
	loop_done(l);
	return healthy || cli_has(c, "exit-zero") ? 0 : EXIT_FOUND;
}
