/*
 * What the machine's clocks did. Whoever reads them tells only by how much they changed: the wall
 * clock against the time since boot (it was set), and that against the time awake (the
 * machine slept).
 */
#include "core/daemon/daemon.h"

#include "base/str.h"

static void tell(struct decide_ctx *cx, int64_t by, int64_t slept)
{
	if (by)
		emit_clock_moved(cx, (struct subject){ 0 })->by_ms = by;
	if (slept > 0)
		emit_machine_slept(cx, (struct subject){ 0 })->for_ms = slept;
}

int decide_daemon_clock(struct decide_ctx *cx, const struct msg_daemon_clock *p, value **ret_result,
		struct ov_err *err)
{
	(void)ret_result, (void)err;
	tell(cx, p->by_ms, p->slept_ms);
	return 0;
}

bool clock_jumped(int64_t by_ms)
{
	return by_ms >= CLOCK_JUMP_MS || by_ms <= -CLOCK_JUMP_MS;
}

void clock_found(struct decide_ctx *cx, const struct msg_daemon_start *p)
{
	const struct clock_known *known = &cx->state->clock;
	int64_t by = p->clock_set_ms - known->set_ms, slept = p->clock_slept_ms - known->slept_ms;

	if (!p->boot.n)
		return;
	if (str_eq(p->boot, known->boot))
		tell(cx, clock_jumped(by) ? by : 0, clock_jumped(slept) ? slept : 0);
	/*
	 * After a reboot nobody knows how long the machine was off, so the clock is believed; but
	 * time does not run backwards.
	 */
	else if (clock_jumped(MIN(cx->now - cx->state->at, (ov_time)0)))
		tell(cx, cx->now - cx->state->at, 0);
}

void clock_note(struct ev_daemon_started *e, const struct msg_daemon_start *p)
{
	if (!p->boot.n)
		return;
	e->boot = p->boot;
	MAYBE_SET(e, clock_set_ms, p->clock_set_ms);
	MAYBE_SET(e, clock_slept_ms, p->clock_slept_ms);
}
