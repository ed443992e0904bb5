/* The desktop of the user who runs the daemon. */
#include "app/notify/notify_impl.h"

#include "base/utf8.h"
#include "sys/loop/bus.h"

enum { REASON_BYTES = 400, FACT_BYTES = 200 };

static const enum bus_urgency urgency_of[] = {
	[URGENCY_INFO] = BUS_LOW,
	[URGENCY_WARNING] = BUS_NORMAL,
	[URGENCY_CRITICAL] = BUS_CRITICAL,
	[URGENCY_EMERGENCY] = BUS_CRITICAL,
};

static void shown(void *user, str ref, const struct ov_err *err)
{
	struct notify_job *j = user;

	j->bus = NULL;
	if (err->code == OV_ESTATE)
		notify_failed(j, NOTIFY_NEVER, "%s (escalation.desktop = false does without)",
				err->msg);
	else if (err->code)
		notify_failed(j, NOTIFY_RETRY, "%s", err->msg);
	else
		notify_sent(j, ref);
}

static void add_line(struct notify_job *j, struct buf *out, const char *name, str s)
{
	if (!s.n)
		return;
	buf_addf(out, "\n%s: ", name);
	add_entities(out, notify_line(&j->arena, s, FACT_BYTES));
}

void desktop_begin(struct notify_job *j)
{
	struct arena *a = &j->arena;
	_cleanup_(buf_done) struct buf body = BUF_INIT;
	struct bus_notification n = { .app = "Overseer",
		.urgency = urgency_of[j->m.urgency],
		.replaces = j->m.again,
		.timeout_ms = j->ch.timeout };

	add_entities(&body, notify_line(a, utf8_clean(a, j->m.reason), REASON_BYTES));
	add_line(j, &body, "Goal", notify_place(a, &j->m));
	add_line(j, &body, "Task", notify_task(&j->m));
	if (j->m.iteration)
		add_line(j, &body, "Iteration", arena_printf(a, "%lld", (long long)j->m.iteration));
	if (j->m.commands_n)
		add_line(j, &body, "Next", j->m.commands[0]);
	n.title = arena_printf(a, "Overseer: " STR_FMT, STR_ARG(notify_loud(a, j->m.urgency))).p;
	n.body = buf_cstr(&body);
	j->bus = bus_notify(j->n->o.loop, &n, shown, j);
}
