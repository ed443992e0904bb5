#include "cli/out/lane.h"

#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "cli/out/say.h"

enum { LINE_COLUMNS = 120 };

/* Without the seconds, where these are far off. */
static str moment(struct out *o, str rfc3339)
{
	str clock = out_clock(o, rfc3339);
	ov_time t;

	if (time_parse(rfc3339, &t) && (t > o->now + OV_MINUTE || t < o->now - OV_MINUTE) &&
			clock.n > 3)
		clock = str_sub(clock, 0, clock.n - 3);
	return clock;
}

str lane_words(struct out *o, const value *lane)
{
	str state = value_str_at(lane, "state"), until = value_str_at(lane, "until"),
	    again = value_str_at(lane, "tried_again_at");

	if (!value_bool_at(lane, "waits"))
		return STR("");
	if (!state.n)
		state = value_str_at(lane, "kind");
	if (until.n)
		return arena_printf(o->arena, STR_FMT " until " STR_FMT " (" STR_FMT ")%s" STR_FMT,
				STR_ARG(state), STR_ARG(moment(o, until)),
				STR_ARG(out_until(o, until)),
				again.n ? ", tried by one run at " : "",
				STR_ARG(again.n ? moment(o, again) : STR("")));
	if (again.n)
		return arena_printf(o->arena,
				STR_FMT ", until unknown, tried again at " STR_FMT " (" STR_FMT ")",
				STR_ARG(state), STR_ARG(moment(o, again)),
				STR_ARG(out_until(o, again)));
	return arena_printf(o->arena, STR_FMT " until " STR_FMT, STR_ARG(state),
			STR_ARG(value_str_at(lane, "ends_when").n ? value_str_at(lane, "ends_when")
								  : STR("you say so")));
}

static void lane_row(struct out *o, const value *lane)
{
	cell(o, S_BOLD, value_str_at(lane, "agent"));
	cell(o, S_YELLOW, lane_words(o, lane));
	cell_f(o, S_DIM, "since " STR_FMT, STR_ARG(moment(o, value_str_at(lane, "since"))));
	cell(o, S_PLAIN,
			say_text(o, lane,
					value_int_at(lane, "waiting") == 1
							? "{waiting:#task} waits"
							: "{waiting:#task} wait"));
	if (value_int_at(lane, "escalation"))
		cell(o, S_DIM, say_text(o, lane, "overseer inbox show {escalation:n}"));
	if (value_str_at(lane, "how").n)
		cell_f(o, S_DIM, "known by " STR_FMT,
				STR_ARG(out_short(o, out_prose(o, value_str_at(lane, "how")),
						100)));
	row_end(o);
}

void show_lanes(struct out *o, const value *lanes)
{
	out_heading(o, "AGENTS WAITING", value_count(lanes));
	for (size_t i = 0; i < value_count(lanes); i++)
		lane_row(o, value_item(lanes, i));
	table_end(o, "  ");
}

/* Of many lines, the last ones. */
static str newest(str lines, size_t most)
{
	size_t from = lines.n;

	while (from && (lines.p[from - 1] != '\n' || --most > 0))
		from--;
	return str_sub(lines, from, lines.n);
}

void last_line_rows(struct out *o, str lines, size_t most)
{
	str rest = newest(lines, most), line;

	while (lines.n && str_split(&rest, '\n', &line)) {
		cell(o, S_PLAIN, STR(""));
		cell_f(o, S_DIM, "| " STR_FMT, STR_ARG(out_short(o, line, LINE_COLUMNS)));
		row_end(o);
	}
}

void show_last_lines(struct out *o, const char *prefix, str lines, size_t most)
{
	if (lines.n)
		out_lines(o, prefix, newest(lines, most));
}
