/* The daemon's signs of life: its health, its heartbeat, and what a service manager is told. */
#include <stdio.h>
#include <string.h>

#include "app/daemon/daemon_impl.h"
#include "core/tick/work_due.h"
#include "version.h"

/* Why we cannot do all of our work, or NULL; a restart would not help. */
static const char *daemon_trouble(const struct daemon *d)
{
	if (d->safe.on)
		return d->refusal.msg;
	if (d->store_failing)
		return d->store_trouble;
	return d->snapshot_damage[0] ? d->snapshot_damage : NULL;
}

/* A line of theirs is one assignment: no text of ours may begin another. */
static int first_line(const char *text)
{
	return (int)strcspn(text, "\n");
}

static void tell_status(const struct daemon *d, const char *first)
{
	const char *trouble = daemon_trouble(d);

	if (trouble)
		notify_tell(&d->manager, "%sSTATUS=cannot do all of its work: %.*s", first,
				first_line(trouble), trouble);
	else
		notify_tell(&d->manager, "%sSTATUS=up, instance %s", first, d->self.instance);
}

void daemon_trouble_changed(struct daemon *d)
{
	const char *trouble = daemon_trouble(d);

	d->self.degraded = trouble;
	if (!d->registered || d->degraded == (trouble != NULL))
		return;
	d->degraded = trouble != NULL;
	if (trouble)
		health_say(&d->health, HEALTH_DEGRADED, "%s", trouble);
	else
		health_say(&d->health, HEALTH_RESTORED, "the store is well again");
	tell_status(d, "");
}

void daemon_store_failed(struct daemon *d, const struct ov_err *err)
{
	d->store_failing = err != NULL;
	if (err)
		snprintf(d->store_trouble, sizeof(d->store_trouble),
				"the store cannot be written: %s", err->msg);
	daemon_trouble_changed(d);
}

void daemon_vital_published(struct daemon *d, const struct event *const *events, size_t n)
{
	for (size_t i = 0; i < n; i++)
		d->progress += event_is_movement(events[i]->kind);
}

static void beat_sign(void *user, struct heartbeat *ret)
{
	struct daemon *d = user;
	uint64_t mark = observations_mark(executor_observations(d->executor));

	d->progress += mark != d->progress_mark;
	d->progress_mark = mark;
	ret->progress = d->progress;
	ret->degraded = d->degraded;
	ret->due = !d->degraded && !d->halting && !d->stop_reason && engine_due(d->engine);
	/*
	 * Free memory, for example, is noticed by a tick alone, and the next one may be far away.
	 */
	if (ret->due)
		engine_touch(d->engine);
}

void daemon_up(struct daemon *d)
{
	d->registered = true;
	health_say(&d->health, HEALTH_STARTED, "overseerd %s, pid %d", OV_VERSION, d->self.pid);
	daemon_trouble_changed(d);
	d->beat = beat_new(&(struct beat_options){ .loop = d->loop,
			.dir = d->o->dir,
			.instance = d->self.instance,
			.manager = &d->manager,
			.timeout = d->config->watch.heartbeat_timeout,
			.sign = beat_sign,
			.user = d });
	tell_status(d, "READY=1\n");
}

void daemon_not_up(struct daemon *d, const struct ov_err *err)
{
	notify_tell(&d->manager, "STATUS=%.*s", first_line(err->msg), err->msg);
}

void daemon_ends(struct daemon *d)
{
	notify_tell(&d->manager, "STOPPING=1\nSTATUS=stopping: %s", d->stop_reason);
}

void daemon_ended(struct daemon *d, int status)
{
	health_say(&d->health, HEALTH_STOPPED, "%d", status);
}
