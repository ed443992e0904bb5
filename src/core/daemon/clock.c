/*
 * What the machine's clocks did. Whoever reads them tells only by how much they changed: the wall clock
 * against the time since boot (it was set), and that against the time awake (the machine slept).
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

/* {"by_ms", "slept_ms"}: before anything is decided by the new time. */
int decide_daemon_clock(struct decide_ctx *cx, const value *params, value **ret_result,
		struct ov_err *err)
{
	(void)ret_result, (void)err;
	tell(cx, value_int_at(params, "by_ms"), value_int_at(params, "slept_ms"));
	return 0;
}

bool clock_jumped(int64_t by_ms)
{
	return by_ms >= CLOCK_JUMP_MS || by_ms <= -CLOCK_JUMP_MS;
}

void clock_found(struct decide_ctx *cx, const value *params)
{
	const struct clock_known *known = &cx->state->clock;
	str boot = value_str_at(params, "boot");
	int64_t by = value_int_at(params, "clock_set_ms") - known->set_ms,
		slept = value_int_at(params, "clock_slept_ms") - known->slept_ms;

	if (!boot.n)
		return;
	if (str_eq(boot, known->boot))
		tell(cx, clock_jumped(by) ? by : 0, clock_jumped(slept) ? slept : 0);
	/*
	 * After a reboot nobody knows how long the machine was off, so the clock is believed; but time
	 * does not run backwards.
	 */
	else if (clock_jumped(MIN(cx->now - cx->state->at, (ov_time)0)))
		tell(cx, cx->now - cx->state->at, 0);
}

void clock_note(struct ev_daemon_started *e, const value *params)
{
	if (!value_str_at(params, "boot").n)
		return;
	e->boot = value_str_at(params, "boot");
	MAYBE_SET(e, clock_set_ms, value_int_at(params, "clock_set_ms"));
	MAYBE_SET(e, clock_slept_ms, value_int_at(params, "clock_slept_ms"));
}
