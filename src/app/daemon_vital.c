/* The daemon's signs of life: what it says of its health, and when. */
#include <stdio.h>

#include "app/daemon_impl.h"
#include "version.h"

const char *daemon_trouble(const struct daemon *d)
{
	if (d->safe.on)
		return d->refusal.msg;
	return d->store_failing ? d->store_trouble : NULL;
}

void daemon_trouble_changed(struct daemon *d)
{
	const char *trouble = daemon_trouble(d);

	if (!d->registered || d->degraded == (trouble != NULL))
		return;
	d->degraded = trouble != NULL;
	if (trouble)
		health_say(&d->health, HEALTH_DEGRADED, "%s", trouble);
	else
		health_say(&d->health, HEALTH_RESTORED, "the store can be written again");
}

void daemon_store_failed(struct daemon *d, const struct ov_err *err)
{
	d->store_failing = err != NULL;
	if (err)
		snprintf(d->store_trouble, sizeof(d->store_trouble),
				"the store cannot be written: %s", err->msg);
	daemon_trouble_changed(d);
}

void daemon_up(struct daemon *d)
{
	d->registered = true;
	health_say(&d->health, HEALTH_STARTED, "overseerd %s, pid %d", OV_VERSION, d->self.pid);
	daemon_trouble_changed(d);
}

void daemon_ended(struct daemon *d, int status)
{
	health_say(&d->health, HEALTH_STOPPED, "%d", status);
}
