#include "app/notify/console_alert.h"

#include <stdio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/event/event.h"

enum { BOX_WIDTH = 59 }; /* between the bars */

static void edge(struct buf *b, const char *left, const char *right)
{
	buf_adds(b, str_from(left));
	for (int i = 0; i < BOX_WIDTH; i++)
		buf_adds(b, STR("═"));
	buf_addf(b, "%s\n", right);
}

static void line(struct buf *b, struct arena *a, int indent, str text)
{
	str rest = utf8_clean(a, text), at;
	size_t columns = (size_t)indent;

	rest = str_sub(rest, 0, str_find_byte(rest, '\n'));
	at = rest;
	buf_addf(b, "║%*s", indent, "");
	while (at.n) {
		str before = at;
		size_t width;

		(void)utf8_next(&at);
		before.n -= at.n;
		width = utf8_width(before);
		if (columns + width > BOX_WIDTH - 1)
			break;
		buf_adds(b, before);
		columns += width;
	}
	buf_addf(b, "%*s║\n", BOX_WIDTH - (int)columns, "");
}

/* Of an intervention.applied that stops something; otherwise appends nothing. */
static void console_alert_write(struct buf *b, const struct event *e)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const struct ev_intervention_applied *is = as_intervention_applied(e);
	bool aborted = is->level == LEVEL_ABORT;

	if (!aborted && is->level != LEVEL_PAUSE)
		return;
	edge(b, "╔", "╗");
	line(b, &a, 17, aborted ? STR("OVERSEER: LOOP ABORTED") : STR("OVERSEER: LOOP PAUSED"));
	line(b, &a, 2, arena_printf(&a, "Reason: " STR_FMT, STR_ARG(is->reason)));
	edge(b, "╚", "╝");
	if (is->goal_wide)
		buf_addf(b, "Next  overseer goal %s " STR_FMT " --reason TEXT\n",
				aborted ? "reopen" : "resume", STR_ARG(e->goal));
	else
		buf_addf(b,
				"Next  overseer work unblock " STR_FMT " --goal " STR_FMT
				" --reason TEXT\n",
				STR_ARG(e->node), STR_ARG(e->goal));
}

void console_alert_published(const struct event *const *events, size_t n)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	for (size_t i = 0; i < n; i++)
		if (events[i]->kind == EV_INTERVENTION_APPLIED && isatty(STDERR_FILENO))
			console_alert_write(&b, events[i]);
	/*
	 * The rest of the log is written there, too; nobody can do anything about a terminal
	 * that is gone.
	 */
	if (b.n)
		(void)!fwrite(b.p, 1, b.n, stderr);
}
