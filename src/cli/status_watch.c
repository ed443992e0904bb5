#include "cli/status_watch.h"

#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "cli/out.h"

enum { ACTS_SHOWN = 5, ACTS_CALM = 3 };

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

/* Of the moments in which there is no daemon, or soon will be none. */
static str doing(const value *w)
{
	static const struct {
		const char *detail, *words;
	} table[] = {
		{ "starting", "starts the daemon" },
		{ "terminating", "ends the daemon, which failed" },
		{ "killing", "kills the daemon, which failed and did not end" },
		{ "waiting", "the daemon was stopped by request; the next one will be watched" },
		{ "leaving", "was asked to end, and ends the daemon first" },
		{ "forcing", "was asked to end, and kills the daemon first" },
		{ "dropping", "was asked to end, and ends the remediation first" },
	};
	str detail = value_str_at(w, "detail");

	for (size_t i = 0; i < ARRAY_LEN(table); i++)
		if (str_is(detail, table[i].detail))
			return str_from(table[i].words);
	return STR("");
}

static str remediation(struct out *o, const value *r)
{
	str log = value_str_at(r, "log");

	return arena_printf(o->arena,
			STR_FMT " is asked to mend it for " STR_FMT " (" STR_FMT ")%s" STR_FMT,
			STR_ARG(value_str_at(r, "agent")),
			STR_ARG(out_age(o, value_str_at(r, "since"))),
			STR_ARG(value_str_at(r, "failure")), log.n ? "; see " : "", STR_ARG(log));
}

/* The daemon that it watches, and how often that was started again. */
static str watched(struct out *o, const value *w)
{
	int64_t pid = value_int_at(w, "daemon_pid"), n = value_int_at(w, "restarts_24h");
	str restarts = n == 1 ? STR("1 restart in 24h")
			      : arena_printf(o->arena, "%lld restarts in 24h", (long long)n);

	if (!pid)
		return restarts;
	return arena_printf(o->arena, "daemon pid %lld up " STR_FMT "   " STR_FMT, (long long)pid,
			STR_ARG(duration_format_short(o->arena,
					value_int_at(w, "daemon_uptime_ms") / OV_SECOND *
							OV_SECOND)),
			STR_ARG(restarts));
}

/* What it is about, in a sentence. */
static str about(struct out *o, const value *w)
{
	str state = value_str_at(w, "state"), words = doing(w);

	if (str_is(state, "stopped"))
		return value_str_at(w, "reason");
	if (str_is(state, "gone"))
		return arena_printf(o->arena,
				"pid %lld ended without saying so: nobody watches the daemon",
				(long long)value_int_at(w, "pid"));
	if (str_is(state, "unknown"))
		return STR("watch.json cannot be read");
	if (value_str_at(value_at(w, "remediation"), "since").n)
		return remediation(o, value_at(w, "remediation"));
	return words.n ? words : watched(o, w);
}

static void act_rows(struct out *o, const value *last, size_t shown)
{
	size_t n = value_count(last);

	for (size_t i = n > shown ? n - shown : 0; i < n; i++) {
		const value *x = value_item(last, i);
		str failure = value_str_at(x, "failure");

		cell_right(o, S_DIM, out_age(o, value_str_at(x, "at")));
		cell_f(o, S_PLAIN, STR_FMT "%s" STR_FMT "%s", STR_ARG(value_str_at(x, "act")),
				failure.n ? " (" : "", STR_ARG(failure), failure.n ? ")" : "");
		cell(o, S_PLAIN, out_short(o, value_str_at(x, "text"), 100));
		row_end(o);
	}
	table_end(o, "  ");
}

bool watch_is_calm(const value *status)
{
	const value *w = value_at(status, "watch");

	return str_is(value_str_at(w, "state"), "running") && !doing(w).n &&
			!value_bool_at(value_at(status, "daemon"), "read_only");
}

void show_watch(struct out *o, const value *status)
{
	const value *w = value_at(status, "watch");
	str state = value_str_at(w, "state");
	bool calm = watch_is_calm(status);

	if (!state.n || was_asked(w))
		return;
	out_styled(o, S_BOLD, STR("WATCHDOG "));
	out_styled(o, state_style(state), out_clean(o, state));
	if (value_str_at(w, "since").n)
		out_f(o, " for " STR_FMT, STR_ARG(out_age(o, value_str_at(w, "since"))));
	out_f(o, "   ");
	out_text(o, about(o, w));
	out_f(o, "\n");
	act_rows(o, value_at(w, "last"), calm ? ACTS_CALM : ACTS_SHOWN);
	if (!calm)
		out_f(o, "  Next: overseer explain daemon%s\n",
				value_bool_at(w, "alive") ? "" : "     or     overseer watch");
}
