#include "cli/status_watch.h"

#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "cli/out.h"

/* Somebody asked it to end: then its absence is nothing to tell. */
static bool was_asked(const value *w)
{
	const value *last = value_at(w, "last");
	size_t n = value_count(last);

	return str_is(value_str_at(w, "state"), "stopped") && n &&
			str_is(value_str_at(value_item(last, n - 1), "act"), "left");
}

static enum style state_style(str state)
{
	if (str_is(state, "running"))
		return S_PLAIN;
	return str_is(state, "gone") || str_is(state, "unknown") ? S_YELLOW : S_RED;
}

void watch_word(struct out *o, const value *status)
{
	const value *w = value_at(status, "watch");
	str state = value_str_at(w, "state");

	if (!state.n || was_asked(w))
		return;
	out_f(o, "   ");
	out_styled(o, state_style(state),
			arena_printf(o->arena, "watchdog " STR_FMT, STR_ARG(out_clean(o, state))));
}

/* What it is about, in a sentence. */
static str about(struct out *o, const value *w, bool down)
{
	const value *r = value_at(w, "remediation");
	str state = value_str_at(w, "state"), log = value_str_at(r, "log");
	int64_t pid = value_int_at(w, "pid");

	if (str_is(state, "stopped"))
		return value_str_at(w, "reason");
	if (str_is(state, "gone"))
		return arena_printf(o->arena,
				"pid %lld ended without saying so: nobody watches the daemon",
				(long long)pid);
	if (str_is(state, "unknown"))
		return STR("watch.json cannot be read");
	if (value_str_at(r, "since").n)
		return arena_printf(o->arena,
				STR_FMT " is asked to mend it for " STR_FMT " (" STR_FMT
					")%s" STR_FMT,
				STR_ARG(value_str_at(r, "agent")),
				STR_ARG(out_age(o, value_str_at(r, "since"))),
				STR_ARG(value_str_at(r, "failure")), log.n ? "; see " : "",
				STR_ARG(log));
	return down ? arena_printf(o->arena, "pid %lld, " STR_FMT, (long long)pid,
				      STR_ARG(value_str_at(w, "detail")))
		    : STR("");
}

static void act_rows(struct out *o, const value *last)
{
	for (size_t i = 0; i < value_count(last); i++) {
		const value *x = value_item(last, i);
		str failure = value_str_at(x, "failure");

		cell(o, S_DIM, out_clock(o, value_str_at(x, "at")));
		cell_f(o, S_PLAIN, STR_FMT "%s" STR_FMT "%s", STR_ARG(value_str_at(x, "act")),
				failure.n ? " (" : "", STR_ARG(failure), failure.n ? ")" : "");
		cell(o, S_PLAIN, out_short(o, value_str_at(x, "text"), 100));
		row_end(o);
	}
	table_end(o, "  ");
}

void show_watch(struct out *o, const value *status)
{
	const value *w = value_at(status, "watch");
	bool down = value_bool_at(value_at(status, "daemon"), "read_only");
	str state = value_str_at(w, "state");

	if (!state.n || was_asked(w) || (str_is(state, "running") && !down))
		return;
	out_styled(o, S_BOLD, STR("WATCHDOG "));
	out_styled(o, state_style(state), out_clean(o, state));
	if (value_str_at(w, "since").n)
		out_f(o, " for " STR_FMT, STR_ARG(out_age(o, value_str_at(w, "since"))));
	out_f(o, "   ");
	out_text(o, about(o, w, down));
	out_f(o, "\n");
	act_rows(o, value_at(w, "last"));
	out_f(o, "  Next: overseer explain daemon%s\n",
			value_bool_at(w, "alive") ? "" : "     or     overseer watch");
}
