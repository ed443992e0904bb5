/*
 * The graceful end of a daemon that cannot go on. The failure is an event before anything else
 * happens; from then on the core begins nothing and stops the runs. People are still answered while
 * that goes on. When no run is left, or the time is up, the daemon stops as on any other day, with
 * the exit status of its failure. Killed in between it leaves nothing that the next one does
 * not find.
 */
#include "app/daemon/daemon_impl.h"
#include "app/log/log.h"
#include "base/arena.h"
#include "core/event/event.h"
#include "sys/host/inject.h"

void daemon_fail(struct daemon *d, const struct daemon_failure *f)
{
	struct msg_daemon_fail m = { .cause = str_from(f->cause),
		.text = str_from(f->text),
		.instance = str_from(d->self.instance),
		.exit_status = f->exit_status };

	tell_daemon_fail(d->engine, &m);
}

static void log_context(const struct ev_daemon_failed *is)
{
	if (is->worker.n)
		log_warn("  worker: " STR_FMT, STR_ARG(is->worker));
	if (is->command.n)
		log_warn("  command: " STR_FMT, STR_ARG(is->command));
	if (is->output.n)
		log_warn("  output: " STR_FMT, STR_ARG(is->output));
}

static void begin(void *user)
{
	struct daemon *d = user;
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	INJECT("before-halt");
	d->halting = true;
	daemon_drain(d);
	/* Agents are asked to stop at once: their time runs. */
	(void)engine_tick_now(d->engine, &a);
}

void daemon_fail_published(struct daemon *d, const struct event *const *events, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct ev_daemon_failed *is;

		if (events[i]->kind != EV_DAEMON_FAILED || d->failed)
			continue;
		is = as_daemon_failed(events[i]);
		log_warn("the daemon cannot go on (" STR_FMT "): " STR_FMT, STR_ARG(is->cause),
				STR_ARG(is->text));
		log_context(is);
		/* Without a store nothing can be stopped so that it is known: runs go on. */
		if (d->files.lost)
			continue;
		health_say(&d->health, HEALTH_FAILED, STR_FMT ": " STR_FMT, STR_ARG(is->cause),
				STR_ARG(is->text));
		d->exit_status = (int)is->exit_status;
		d->failed = loop_defer(d->loop, begin, d);
	}
}

static bool runs_are_over(const struct daemon *d)
{
	list_each (it, &engine_state(d->engine)->runs)
		if (list_entry(it, struct run, link)->status != RUN_ENDED)
			return false;
	return true;
}

void daemon_fail_step(struct daemon *d)
{
	if (!runs_are_over(d) || executor_busy(d->executor) || engine_staged(d->engine))
		return;
	INJECT("after-halt");
	daemon_stop(d, "it cannot go on");
}
