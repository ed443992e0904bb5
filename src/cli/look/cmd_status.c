#include <stdint.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/str.h"
#include "base/utf8.h"
#include "cli/look/inbox.h"
#include "cli/look/status_tasks.h"
#include "cli/out/lane.h"
#include "cli/out/say.h"
#include "cli/out/status_watch.h"
#include "cli/out/unchecked.h"
#include "cli/work/goal.h"
#include "cli/work/worker.h"
#include "data/report/terminal.h"
#include "sys/host/clock.h"

enum { NEED_LINES = 2, WAIT_LINES = 1 }; /* of what a failed agent wrote last */
enum {
	BLOCKED_ROWS = 10,
	GOALS_OVER_SHOWN = 5,
	REDRAW_MS = 250,
	REFRESH_MS = 5000,
	RETRY_MS = 1000
};

/* Agents that would have a fence if there could be one. */
void show_unfenced(struct out *o, const value *s)
{
	say(o, s,
			"[{?sandbox.reason}{=NO FENCE*yellow}  agents run without a sandbox: "
			"{sandbox.reason}\n"
			"  Next: overseer doctor\n]");
}

/* Without a daemon: what will keep the next one from starting. */
static void show_config_problem(struct out *o, const value *s)
{
	str why = value_str_at(value_at(s, "daemon"), "config_problem");

	if (!why.n)
		return;
	say(o, s,
			"{=BAD CONFIGURATION*red}  no daemon starts with it, and what follows is "
			"told with the defaults\n");
	out_lines(o, "  ", why);
	out_f(o, "  Next: overseer config check\n");
}

static void show_daemon(struct out *o, const value *s)
{
	const value *held = value_at(s, "held");

	say(o, s,
			"[{?daemon.read_only}{=overseerd is down*yellow}|overseerd up "
			"{daemon.started_at:age}]");
	watch_word(o, s);
	say(o, s,
			"   {workers_busy:n} of {workers_max:n} workers busy"
			"[{?workers_waiting}, {workers_waiting:n} waiting]"
			"[{?today.cost_microusd}   today {today.cost_microusd:cost}"
			"|[{?today.tokens}   today {today.tokens:tokens} tokens]]");
	/* What follows is as the log has it: of what happened since, nobody knows. */
	say(o, s,
			"[{?daemon.read_only}[{?daemon.as_of}   as of {daemon.as_of:clock} "
			"({daemon.as_of:age} ago)]]\n");
	/* Why nothing new is started though there is work. */
	for (size_t i = 0; i < value_count(held); i++)
		say(o, value_item(held, i), "{*yellow}\n");
	say(o, s,
			"[{?safe_mode}{=SAFE MODE*red}  nothing is written or started; this is the "
			"state as of event {safe_mode.last_seq:n}\n"
			"[{?safe_mode.copy}  the damaged store was copied to {safe_mode.copy}\n]]");
	/* Safe mode says it itself, with what to do about it. */
	say(o, s,
			"[{!safe_mode}[{?daemon.degraded}{=DEGRADED*red}  {daemon.degraded}; it "
			"goes on by itself when that is mended\n]]");
	/*
	 * The machine has no room: what runs continues, and nobody has to do anything once there
	 * is some.
	 */
	say(o, s, "[{?no_capacity}{=NOTHING NEW STARTS*yellow}  {no_capacity}\n]");
	show_unfenced(o, s);
	show_config_problem(o, s);
}

static const struct column need_columns[] = {
	{ "#{number:n}", .style = S_YELLOW },
	{ .text = "[{node_id}|{goal_id:id}]" },
	{ .text = "{question:80}" },
	{ "{opened_at:age}", .style = S_DIM, .right = true },
};

static void show_needs(struct out *o, const value *list)
{
	out_heading(o, "NEEDS YOU", value_count(list));
	for (size_t i = 0; i < value_count(list); i++) {
		const value *e = value_item(list, i);

		say_cells(o, e, need_columns);
		/* What to type, and what happens by itself and when. */
		if (!value_str_at(e, "next").n)
			cell(o, S_YELLOW, out_short(o, inbox_unanswered(o, e), 40));
		cell(o, S_DIM,
				say_text(o, e,
						"[{next}|overseer inbox answer {number:n} "
						"[{answers:40}|TEXT]]"));
		row_end(o);
		last_line_rows(o, value_str_at(e, "last_lines"), NEED_LINES);
	}
	table_end(o, "  ");
}

/* Nobody outside was told, though somebody should have been. */
static void show_lost(struct out *o, const value *list)
{
	size_t n = value_count(list);

	if (!n)
		return;
	out_styled(o, S_YELLOW,
			arena_printf(o->arena, "%zu notice%s could not be sent", n,
					n == 1 ? "" : "s"));
	out_f(o, ", the last one: " STR_FMT "   ",
			STR_ARG(out_short(o, notice_standing(o, value_item(list, 0)), 90)));
	out_styled(o, S_DIM, STR("overseer notice list"));
	out_f(o, "\n");
}

static bool is_over(const value *g)
{
	return value_str_at(g, "ended_at").n > 0;
}

static void goal_row(struct out *o, const value *g, const struct ids *ids)
{
	const value *p = value_at(g, "progress");
	str word = goal_status_word(g);

	if (str_is(word, "active"))
		word = value_str_at(g, "health");
	cell(o, S_BOLD, ids_short(ids, value_str_at(g, "id")));
	cell(o, S_PLAIN, say_text(o, g, "{title:50}"));
	cell(o, S_PLAIN, out_bar(o, value_int_at(p, "done"), value_int_at(p, "leaves"), 10));
	cell_right(o, S_PLAIN, say_text(o, p, "{done:n}/{leaves:n}"));
	cell(o, status_style(word), word);
	if (!is_over(g) && value_int_at(p, "blocked"))
		cell(o, S_RED, say_text(o, p, "{blocked:n} blocked"));
	if (value_int_at(p, "unchecked"))
		cell(o, S_DIM, say_text(o, p, "{unchecked:n} not checked"));
	row_end(o);
}

/* Open goals, and the newest of those that are over. */
static void show_goals(struct out *o, const value *goals)
{
	size_t n = value_count(goals), over = 0, left;
	struct ids ids = { 0 };

	for (size_t i = 0; i < n; i++) {
		ids_add(&ids, value_str_at(value_item(goals, i), "id"));
		over += is_over(value_item(goals, i));
	}
	out_heading(o, "GOALS", n);
	left = over > GOALS_OVER_SHOWN ? over - GOALS_OVER_SHOWN : 0;
	for (size_t i = 0, hidden = 0; i < n; i++) {
		const value *g = value_item(goals, i);

		if (is_over(g) && hidden < left)
			hidden++;
		else
			goal_row(o, g, &ids);
	}
	table_end(o, "  ");
	ids_done(&ids);
	if (left)
		out_f(o, "  and %zu that are over: overseer goal list\n", left);
}

static void file_cell(struct out *o, const value *x)
{
	const value *files = value_at(x, "files");

	cell_f(o, S_YELLOW, STR_FMT "%s", STR_ARG(say_text(o, value_item(files, 0), "{:50}")),
			value_count(files) > 1 ? " and others" : "");
}

/* Both sides of a conflict that is seen coming, and where. */
static const struct column conflict_columns[] = {
	{ "{a.node}", .style = S_BOLD },
	{ .text = "{b.node|the target branch}" },
	{ "{at:age}", .style = S_DIM, .right = true },
	{ .own = file_cell },
};

static size_t goals_with(const value *goals, const char *status)
{
	size_t n = 0;

	for (size_t i = 0; i < value_count(goals); i++)
		n += str_is(value_str_at(value_item(goals, i), "status"), status);
	return n;
}

void status_outlook(struct out *o, const value *s)
{
	static const char create[] = "overseer goal create --title \"...\" [--plan plan.json]";
	const value *goals = value_at(s, "goals"), *mode = value_at(s, "auto");
	size_t open = goals_with(goals, "active"), paused = goals_with(goals, "paused"),
	       busy = value_count(value_at(s, "running")),
	       needs = value_count(value_at(s, "needs_you"));

	if (value_bool_at(mode, "interrupted")) {
		auto_was_on(o, mode);
		out_f(o, "Next: overseer auto start\n");
	}
	if (value_count(value_at(s, "safe_mode")))
		out_f(o, "It is in safe mode: the store is damaged.  Next: overseer status\n");
	else if (value_bool_at(mode, "on"))
		out_f(o,
				"Auto mode is on, with up to %lld workers.  Next: overseer status "
				"--watch\n",
				(long long)value_int_at(mode, "concurrency"));
	else if (open || busy)
		out_f(o,
				"%zu goal%s open, %zu task%s under way.  Next: overseer status "
				"--watch\n",
				open, open == 1 ? "" : "s", busy, busy == 1 ? "" : "s");
	else if (paused)
		out_f(o, "%zu goal%s paused.  Next: overseer status\n", paused,
				paused == 1 ? " is" : "s are");
	else if (!needs && (value_count(goals) || value_int_at(s, "goals_archived")))
		out_f(o, "All goals are finished.  Next: %s\n", create);
	else if (!needs)
		out_f(o, "Nothing to do yet.  Next: %s\n",
				value_bool_at(value_at(s, "daemon"), "read_only") ? "overseer up"
										  : create);
	if (needs)
		out_f(o, "%zu inbox entr%s you.  Next: overseer inbox\n", needs,
				needs == 1 ? "y needs" : "ies need");
}

static void show_status(struct out *o, const value *s)
{
	bool calm = watch_is_calm(s);

	show_daemon(o, s);
	if (!calm)
		show_watch(o, s);
	show_needs(o, value_at(s, "needs_you"));
	show_lost(o, value_at(s, "notices_lost"));
	say(o, s, "[{?snoozed}PUT OFF ({snoozed:n})  overseer inbox --all\n]");
	show_running(o, s);
	show_waiting(o, s);
	show_lanes(o, value_at(s, "lanes"));
	show_stalled(o, value_at(s, "stalled"));
	show_loops(o, value_at(s, "loops"));
	show_blocked(o, s);
	out_heading(o, "CONFLICTS AHEAD", value_count(value_at(s, "conflicts")));
	say_table(o, value_at(s, "conflicts"), conflict_columns, "  ");
	show_workers(o, s);
	show_goals(o, value_at(s, "goals"));
	if (value_count(value_at(s, "goals")))
		tell_unchecked(o, s);
	if (calm)
		show_watch(o, s);
	/* Everything else was said above. */
	if (value_count(value_at(s, "goals")) == 0 && value_count(value_at(s, "needs_you")) == 0 &&
			value_count(value_at(s, "safe_mode")) == 0)
		status_outlook(o, s);
}

/* Of the terminal; one that does not say how large it is takes everything. */
static struct winsize screen(void)
{
	struct winsize w = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) < 0 || !w.ws_row || !w.ws_col)
		w = (struct winsize){ .ws_row = UINT16_MAX, .ws_col = UINT16_MAX };
	return w;
}

/* Rows that a line takes up, without what only steers the terminal. */
static size_t rows_of(struct arena *a, str line, size_t columns)
{
	size_t width = utf8_width(terminal_text(a, line));

	return width ? (width + columns - 1) / columns : 1;
}

/* What does not fit is left out at the end: what needs a person is on top, and stays there. */
static void draw(struct out *o, str picture)
{
	struct winsize size = screen();
	size_t room = size.ws_row > 1 ? size.ws_row - 1u : 1, used = 0, all = 0, left = 0;
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str rest = picture, line;

	while (str_split(&rest, '\n', &line))
		all += rows_of(&a, line, size.ws_col);
	/* The last row tells how much is missing. */
	room -= all > room;
	rest = picture;
	buf_adds(&o->buf, STR("\033[H"));
	while (str_split(&rest, '\n', &line)) {
		size_t rows = rows_of(&a, line, size.ws_col);

		if (left || used + rows > room) {
			left++;
			continue;
		}
		used += rows;
		out_f(o, STR_FMT "\033[K\n", STR_ARG(line));
	}
	if (left)
		out_f(o, "... %zu more line%s: overseer status\033[K\n", left,
				left == 1 ? "" : "s");
	buf_adds(&o->buf, STR("\033[J"));
}

/* Writes the picture over the one before: each line is cleared to its end, then what is below. */
static void redraw(struct cli *c, const value *s)
{
	struct out *o = &c->out;
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct arena *whole = o->arena;
	_cleanup_(buf_done) struct buf picture = BUF_INIT;

	o->now = clock_wall();
	if (c->json) {
		out_json(o, s);
		return;
	}
	o->arena = &a;
	show_status(o, s);
	o->arena = whole;
	if (!o->terminal) {
		buf_addc(&o->buf, '\n');
		return;
	}
	buf_adds(&picture, buf_str(&o->buf));
	buf_clear(&o->buf);
	draw(o, buf_str(&picture));
}

/* Waits until the picture is to be drawn again: something happened, or the ages in it grew old. */
static int wait_change(struct cli *c, bool *ret_changed, struct ov_err *err)
{
	bool connected = c->client.fd >= 0;
	const value *event;
	struct arena a = ARENA_INIT;
	int r = client_next_event(&c->client, &a, connected ? REFRESH_MS : RETRY_MS, &event, err);
	uint64_t until = clock_mono_us() + REDRAW_MS * 1000, now;

	*ret_changed = r == CLIENT_EVENT || !connected;
	/* What follows at once is shown at once: at most four pictures a second. */
	while (r == CLIENT_EVENT && (now = clock_mono_us()) < until) {
		arena_reset(&a);
		r = client_next_event(&c->client, &a, (int)((until - now) / 1000) + 1, &event, err);
		if (r == CLIENT_TIMEOUT)
			break;
	}
	arena_done(&a);
	if (r == OV_EUNAVAILABLE && connected) {
		*ret_changed = true;
		return 0;
	}
	return r;
}

/*
 * While there is a watchdog there will be a daemon again, and nobody has to ask anew: meanwhile the
 * picture is that of the store. Otherwise OV_EUNAVAILABLE.
 */
static int take_picture(struct cli *c, bool *following, const value **ret, struct ov_err *err)
{
	struct client *client = &c->client;
	struct ov_err why = { 0 };
	int r = client_connect(client, err);

	if (r == 0 && !*following)
		r = client_ask(client, OP_events_follow, NULL, c->timeout_ms, ret, err);
	if (r == 0) {
		*following = true;
		r = client_ask(client, OP_status_get, NULL, c->timeout_ms, ret, err);
	}
	*following = *following && client->fd >= 0;
	if (r == OV_EUNAVAILABLE && client->fd < 0 &&
			client_call(client, OP_status_get, NULL, ret, &why) == 0 &&
			value_bool_at(value_at(*ret, "watch"), "alive"))
		return 0;
	return r;
}

static int watch_loop(struct cli *c, struct ov_err *err)
{
	struct arena *whole = c->arena, a = ARENA_INIT;
	const value *s = NULL;
	bool changed = true, following = false, cleared = false;
	int r = 0;

	c->client.arena = c->out.arena = &a;
	while (r >= 0 && r != CLIENT_SIGNAL) {
		if (changed) {
			arena_reset(&a);
			r = take_picture(c, &following, &s, err);
			if (r != 0)
				break;
		}
		if (!cleared && c->out.terminal && !c->json)
			buf_adds(&c->out.buf, STR("\033[2J"));
		cleared = true;
		if (changed || c->out.terminal)
			redraw(c, s);
		r = out_flush(&c->out, STDOUT_FILENO, err);
		if (r == 0)
			r = wait_change(c, &changed, err);
	}
	c->client.arena = c->out.arena = whole;
	arena_done(&a);
	return r == CLIENT_SIGNAL ? client_signal_status(&c->client) : r;
}

static int watch(struct cli *c, struct ov_err *err)
{
	int r = cli_store(c, err);

	if (r == 0)
		r = client_follow_signals(&c->client, err);
	return r == 0 ? watch_loop(c, err) : r;
}

int cmd_status_get(struct cli *c, struct ov_err *err)
{
	const value *s;
	bool done;
	int r;

	if (cli_has(c, "watch"))
		return watch(c, err);
	r = cli_call(c, OP_status_get, NULL, &s, &done, err);
	if (r != 0 || done)
		return r;
	show_status(&c->out, s);
	return 0;
}
