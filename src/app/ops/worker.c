/* Reading operations about workers: what each does, and how its run can be looked at. */
#include "app/agents/agent.h"
#include "app/agents/driver.h"
#include "app/ops/ops.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/view/view.h"

int op_worker_list(struct op_ctx *cx, const struct pr_worker_list *p, value **ret,
		struct ov_err *err)
{
	value *v = value_object(cx->arena), *list = value_array(cx->arena);
	const struct world w = { cx->state, &cx->config->policy };

	(void)p, (void)err;
	for (size_t i = 0; i < cx->state->workers.n; i++)
		value_push(cx->arena, list,
				view_worker(cx->arena, cx->state, cx->state->workers.p[i]));
	value_put(cx->arena, v, "workers", list);
	value_put(cx->arena, v, "auto", view_auto(cx->arena, &w, cx->now));
	value_put(cx->arena, v, "workers_max",
			value_int(cx->arena, cx->config->policy.workers_max));
	*ret = v;
	return 0;
}

int op_auto_get(struct op_ctx *cx, const struct pr_auto_get *p, value **ret, struct ov_err *err)
{
	const struct world w = { cx->state, &cx->config->policy };

	(void)p, (void)err;
	*ret = view_auto_whole(cx->arena, &w, cx->observations, cx->now);
	return 0;
}

static value *argv_value(struct arena *a, const char *const *argv)
{
	value *v = argv ? value_array(a) : value_null(a);

	for (size_t i = 0; argv && argv[i]; i++)
		value_push(a, v, value_cstr(a, argv[i]));
	return v;
}

/* Commands that show what its run's terminal shows; null where it has none. */
static value *place_value(struct op_ctx *cx, const struct worker *w, const struct assignment *as)
{
	const struct config_agent *agent = config_agent(cx->config, as->agent);
	const struct driver *d = agent ? driver_find(agent->runtime) : NULL;
	struct driver_place p = { 0 };
	value *v = value_object(cx->arena);

	if (d && d->place)
		d->place(cx->arena, cx->daemon->dir, w->name, as->run_id, &p);
	value_put(cx->arena, v, "attach", argv_value(cx->arena, p.attach));
	value_put(cx->arena, v, "peek", argv_value(cx->arena, p.peek));
	return v;
}

int op_worker_show(struct op_ctx *cx, const struct pr_worker_show *p, value **ret,
		struct ov_err *err)
{
	str name = p->worker;
	const struct worker *w = state_worker(cx->state, name);
	const struct assignment *as;
	value *v;

	if (!w) {
		ov_fail(err, OV_ENOTFOUND, "there is no worker \"" STR_FMT "\"", STR_ARG(name));
		return ov_next(err, "overseer worker list");
	}
	as = w->assignment_id.n ? state_assignment(cx->state, w->assignment_id) : NULL;
	v = view_worker(cx->arena, cx->state, w);
	if (as && as->run_id.n) {
		op_put_now(cx, v, as->run_id);
		value_put(cx->arena, v, "place", place_value(cx, w, as));
	}
	value_put(cx->arena, v, "worktree",
			value_str(cx->arena,
					arena_printf(cx->arena, "%s/" STR_FMT, cx->daemon->dir,
							STR_ARG(w->path))));
	value_put(cx->arena, v, "target_branch",
			value_str(cx->arena, cx->config->policy.target_branch));
	*ret = v;
	return 0;
}
