/*
 * The machine's clocks, as this daemon follows them. What comes of it is decided in
 * core/daemon/clock.c.
 */
#include "app/daemon/daemon_impl.h"
#include "app/log/log.h"
#include "base/str.h"
#include "core/daemon/daemon.h"
#include "core/model/watchdog.h"
#include "sys/host/clock.h"
#include "sys/proc/proc.h"

/*
 * Before anything else is done by the new time. What the loop read may be of moments that lie
 * apart, when the process was stopped between them: so it has to be seen again.
 */
static bool look_at_clock(void *user)
{
	struct daemon *d = user;
	struct clock_offsets now = loop_clocks(d->loop), again;
	int64_t by = now.set_ms - d->clocks.set_ms, slept = now.slept_ms - d->clocks.slept_ms;

	if (!clock_jumped(by) && !clock_jumped(slept))
		return false;
	again = clock_offsets();
	by = clock_jumped(by) && clock_jumped(again.set_ms - d->clocks.set_ms) ? by : 0;
	slept = clock_jumped(slept) && clock_jumped(again.slept_ms - d->clocks.slept_ms) ? slept
											 : 0;
	if (!by && !slept)
		return false;
	d->clocks.set_ms += by;
	d->clocks.slept_ms += slept;
	if (by)
		log_warn("the machine's clock was set by %lld s; runs are as old as before",
				(long long)(by / 1000));
	if (slept)
		log_info("the machine slept for %lld s, which is no time of its runs; how long "
			 "they are silent is counted from now on",
				(long long)(slept / 1000));
	executor_clock_moved(d->executor, by);
	tell_daemon_clock(d->engine, &(struct msg_daemon_clock){ by, slept });
	return true;
}

void daemon_clock_open(struct daemon *d)
{
	d->clocks = clock_offsets();
	loop_on_time(d->loop, look_at_clock, d);
}

void daemon_clock_log_boot(const struct daemon *d, const char *boot)
{
	const struct clock_known *known = &engine_state(d->engine)->clock;

	if (known->boot.n && !str_is(known->boot, boot))
		log_info("the machine was restarted since the last daemon: how long that took is "
			 "not known, and its clock is believed");
}
