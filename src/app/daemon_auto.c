/* A daemon that was started for auto mode: what it needs for that, and its end when it fails. */
#include "app/daemon_impl.h"
#include "app/log.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/event.h"
#include "data/vital.h"

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

/* Gracefully: runs go on under their shims, worktrees stay, and the next daemon finds everything again. */
static void end_daemon(void *user)
{
	struct daemon *d = user;

	d->exit_status = DAEMON_AUTO_FAILED;
	daemon_stop(d, "auto mode failed");
}

void daemon_auto_published(struct daemon *d, const struct event *const *events, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (events[i]->kind != EV_AUTO_STOPPED || !value_bool_at(events[i]->data, "failed"))
			continue;
		log_warn("auto mode stopped: " STR_FMT,
				STR_ARG(value_str_at(events[i]->data, "reason")));
		if (!d->o->automatic || d->auto_failed)
			continue;
		health_say(&d->health, HEALTH_FAILED, "auto mode: " STR_FMT,
				STR_ARG(value_str_at(events[i]->data, "reason")));
		d->auto_failed = loop_defer(d->loop, end_daemon, d);
	}
}
