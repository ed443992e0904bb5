#include "cli/out/status_watch.h"

#include "base/arena.h"
#include "base/str.h"
#include "cli/out/out.h"
#include "cli/out/say.h"

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

/* The daemon that it watches, and how often that was started again. */
static str watched(struct out *o, const value *status)
{
	bool same = value_int_at(value_at(status, "watch"), "daemon_pid") ==
			value_int_at(value_at(status, "daemon"), "pid");

	return say_text(o, status,
			same ? "daemon pid {watch.daemon_pid:n} up {daemon.started_at:age}"
			       "   {watch.restarts_24h:#restart} in 24h"
			     : "daemon pid {watch.daemon_pid:n} up -   {watch.restarts_24h:#restart} in 24h");
}

/* What it is about, in a sentence. */
static str status_watch_about(struct out *o, const value *status)
{
	const value *w = value_at(status, "watch");
	str state = value_str_at(w, "state"), words = doing(w);

	if (str_is(state, "stopped"))
		return value_str_at(w, "reason");
	if (str_is(state, "gone"))
		return say_text(o, w,
				"pid {pid:n} ended without saying so: nobody watches the daemon");
	if (str_is(state, "unknown"))
		return STR("watch.json cannot be read");
	if (value_str_at(value_at(w, "remediation"), "since").n)
		return say_text(o, w,
				"{remediation.agent} is asked to mend it ({remediation.failure})"
				"[{?remediation.log}; see {remediation.log}]");
	return words.n ? words : watched(o, status);
}

static enum style act_style(str act)
{
	if (str_is(act, "failed") || str_is(act, "gave_up"))
		return S_RED;
	return str_is(act, "remediating") || str_is(act, "degraded") ? S_YELLOW : S_PLAIN;
}

/* The last one may say the same as the line above. */
static void act_rows(struct out *o, const value *last, size_t shown)
{
	size_t n = value_count(last);

	if (n && str_is(value_str_at(value_item(last, n - 1), "act"), "gave_up"))
		n--;
	for (size_t i = n > shown ? n - shown : 0; i < n; i++) {
		const value *x = value_item(last, i);

		cell_right(o, S_DIM, out_age(o, value_str_at(x, "at")));
		cell(o, act_style(value_str_at(x, "act")),
				out_short(o, value_str_at(x, "text"), 120));
		row_end(o);
	}
	table_end(o, "  ");
}

static void show_next(struct out *o, const value *status)
{
	bool waits = str_is(value_str_at(value_at(status, "watch"), "detail"), "waiting");

	say(o, status,
			"  Next: overseer explain daemon"
			"[{?watch.manual_file}     or, when you have seen to it:  "
			"rm {daemon.dir}/{watch.manual_file} && overseer watch"
			"|[{!watch.alive}     or     overseer watch]]");
	if (waits)
		say(o, status, "[{!watch.manual_file}[{?watch.alive}     or     overseer up]]");
	out_f(o, "\n");
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
	str state = value_str_at(w, "state"),
	    since = value_str_at(value_at(w, "remediation"), "since");
	bool calm = watch_is_calm(status);

	if (!state.n || was_asked(w))
		return;
	if (!since.n)
		since = value_str_at(w, "since");
	out_styled(o, S_BOLD, STR("WATCHDOG "));
	out_styled(o, state_style(state), out_clean(o, state));
	if (since.n)
		out_f(o, " for " STR_FMT, STR_ARG(out_age(o, since)));
	out_f(o, "   ");
	out_text(o, status_watch_about(o, status));
	out_f(o, "\n");
	act_rows(o, value_at(w, "last"), calm ? ACTS_CALM : ACTS_SHOWN);
	if (!calm)
		show_next(o, status);
}
