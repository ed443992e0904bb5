/* A daemon that was started for auto mode: its beginning and end. */
#include "app/daemon/daemon_impl.h"
#include "base/arena.h"
#include "base/str.h"
#include "core/config/config.h"

void daemon_auto_start(struct daemon *d)
{
	if (d->stop_reason)
		return;
	if (d->config->policy.auto_mode)
		tell_auto_start(d->engine,
				&(struct msg_auto_start){ .instance = str_from(d->self.instance) });
	else
		daemon_auto_stop(d, "the daemon was started without --auto");
}

static void put_set(struct daemon *d, str set)
{
	size_t n = d->own.sets_n;
	const char **sets = arena_array(&d->arena, const char *, n + 1);

	memcpy(sets, d->own.sets, n * sizeof(*sets));
	sets[n] = set.p;
	d->own.sets = sets;
	d->own.sets_n = n + 1;
}

int daemon_auto_allow(struct daemon *d, const struct pr_auto_start *p, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct daemon_options before = d->own;
	struct config *c = NULL;
	int r;

	d->own.automatic = true;
	if (p->has_task_pool_command)
		put_set(d,
				arena_printf(&d->arena, "auto.task_pool_command=" STR_FMT,
						STR_ARG(p->task_pool_command)));
	if (p->has_concurrency)
		put_set(d,
				arena_printf(&d->arena, "auto.concurrency=%lld",
						(long long)p->concurrency));
	r = daemon_load_config(&(struct config_source){ d->o->dir,
					       arena_cstr(&a, d->config->policy.target_branch),
					       d->o },
			&c, err);
	if (r == 0)
		r = config_check_auto(c, "overseer auto start", err);
	config_free(c);
	if (r == 0)
		r = daemon_reload(d, err);
	if (r < 0)
		d->own = before;
	return r;
}

void daemon_auto_stop(struct daemon *d, const char *reason)
{
	tell_auto_stop(d->engine, &(struct msg_auto_stop){ .reason = str_from(reason) });
}
