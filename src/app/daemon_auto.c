/* A daemon that was started for auto mode: what it needs for that, and its beginning and end. */
#include "app/daemon_impl.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

int daemon_auto_check(const struct daemon *d, struct ov_err *err)
{
	const struct policy *p = &d->config->policy;

	if (!d->o->automatic)
		return 0;
	if (!d->config->task_pool_command.n) {
		ov_fail(err, OV_EINVALID,
				"auto mode needs a command that gives out tasks, and "
				"auto.task_pool_command is not set");
		return ov_next(err, "overseer up --auto --task-pool-command COMMAND");
	}
	if (!policy_agent(p, p->auto_agent)) {
		ov_fail(err, OV_EINVALID,
				"auto mode needs an agent, and neither auto.agent nor "
				"defaults.agent names one that is configured");
		return ov_next(err, "overseer agent list");
	}
	return 0;
}

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
