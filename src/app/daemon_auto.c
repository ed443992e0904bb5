/* A daemon that was started for auto mode: its beginning and end. */
#include "app/daemon_impl.h"
#include "base/arena.h"
#include "base/str.h"

static void report(struct daemon *d, const char *command, const char *key, const char *text)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	value *v = value_object(&a);

	value_put(&a, v, key, value_cstr(&a, text));
	engine_report(d->engine, str_from(command), v);
}

void daemon_auto_start(struct daemon *d)
{
	if (d->stop_reason)
		return;
	if (d->config->policy.auto_mode)
		report(d, "auto.start", "instance", d->self.instance);
	else
		report(d, "auto.stop", "reason", "the daemon was started without --auto");
}

void daemon_auto_stop(struct daemon *d, const char *reason)
{
	report(d, "auto.stop", "reason", reason);
}
