/* Reading operations that are answered from the state alone. */
#include "app/agents/run_note.h"
#include "app/exec/executor.h"
#include "app/ops/ops.h"
#include "app/plan/planning.h"
#include "app/store/safe_mode.h"
#include "app/vital/capacity.h"
#include "app/vital/watchdog.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/event/event.h"
#include "core/tick/conflict.h"
#include "core/view/view.h"
#include "core/view/waiting.h"
#include "sys/file/file.h"
#include "version.h"

static value *daemon_view(struct op_ctx *cx)
{
	const struct op_daemon *d = cx->daemon;
	struct arena *a = cx->arena;
	value *v = value_object(a), *notes = value_array(a);

	for (size_t i = 0; i < cx->config->obsolete_n; i++)
		value_push(a, notes, value_str(a, cx->config->obsolete[i]));
	value_put(a, v, "pid", d->read_only ? value_null(a) : value_int(a, d->pid));
	value_put(a, v, "version", value_cstr(a, OV_VERSION));
	value_put(a, v, "instance", value_cstr(a, d->instance));
	value_put(a, v, "started_at", value_time(a, d->started_at));
	value_put(a, v, "uptime_ms",
			value_int(a, d->read_only ? 0 : MAX(cx->now - d->started_at, (ov_time)0)));
	value_put(a, v, "http_port", d->http_port ? value_int(a, d->http_port) : value_null(a));
	value_put(a, v, "dir", value_cstr(a, d->dir));
	value_put(a, v, "store", value_cstr(a, d->store_url));
	value_put(a, v, "read_only", value_bool(a, d->read_only));
	value_put(a, v, "as_of", value_time(a, d->read_only ? cx->state->at : cx->now));
	value_put(a, v, "config_problem",
			d->config_problem ? value_cstr(a, d->config_problem) : value_null(a));
	value_put(a, v, "config_notes", notes);
	value_put(a, v, "degraded", d->degraded ? value_cstr(a, d->degraded) : value_null(a));
	return v;
}

/* Who plans, and what keeps it from doing so. */
static value *planner_view(struct op_ctx *cx)
{
	struct arena *a = cx->arena;
	value *v = value_object(a);
	bool any = cx->config->planner_provider != PROVIDER_NONE;
	/* A reader without a daemon does not have the daemon's environment. */
	str trouble = cx->daemon->read_only ? STR("") : planning_trouble(a, cx->config);

	value_put(a, v, "model_ref",
			any ? value_str(a, config_planner_ref(a, cx->config)) : value_null(a));
	value_put(a, v, "trouble", trouble.n ? value_str(a, trouble) : value_null(a));
	return v;
}

/* What agents with sandbox = "auto" get, and why it is no fence. */
static value *sandbox_view(struct op_ctx *cx)
{
	struct arena *a = cx->arena;
	value *v = value_object(a);
	const char *why = cx->daemon->unfenced;
	size_t autos = 0;

	for (size_t i = 0; i < cx->config->agents_n; i++)
		autos += cx->config->agents[i].sandbox == SANDBOX_AUTO;
	if (!autos || cx->daemon->read_only)
		return value_null(a);
	value_put(a, v, "auto", value_cstr(a, why ? "none" : "fence"));
	value_put(a, v, "reason", why ? value_cstr(a, why) : value_null(a));
	return v;
}

str op_no_capacity(struct op_ctx *cx)
{
	char *why = arena_alloc(cx->arena, CAPACITY_TEXT);

	/* A reader without a daemon starts nothing. */
	return cx->daemon->read_only ? STR("")
				     : capacity_lacking(cx->config, cx->daemon, why, CAPACITY_TEXT);
}

/*
 * Without a daemon: whether its agent is still at work, by the lock of its shim; nothing
 * else happens.
 */
static bool put_without_daemon(struct op_ctx *cx, value *one)
{
	str stage = value_str_at(one, "stage"), run = value_str_at(one, "run");
	bool begun = run.n && (str_is(stage, "running") || str_is(stage, "stop")), lives = false;
	struct arena *a = cx->arena;

	if (begun &&
			lock_probe(path_join(a, executor_run_dir(a, cx->daemon->dir, run), "lock"),
					&lives, NULL) < 0)
		lives = false;
	value_put(a, one, "alive", value_bool(a, lives));
	if (!lives && !value_str_at(one, "waiting").n) {
		value_put(a, one, "waiting", value_cstr(a, "daemon"));
		value_put(a, one, "waiting_for",
				value_cstr(a,
						begun ? "its run has ended; the next `overseer up` "
							"takes up what it did"
						      : "the next `overseer up` continues it"));
	}
	return lives;
}

static void put_all_without_daemon(struct op_ctx *cx, value *status)
{
	value *list = value_edit_at(status, "running");
	int64_t busy = 0;

	for (size_t i = 0; i < value_count(list); i++)
		busy += put_without_daemon(cx, value_edit_item(list, i));
	value_put(cx->arena, status, "workers_busy", value_int(cx->arena, busy));
}

int op_status_get(struct op_ctx *cx, const struct pr_status_get *p, value **ret, struct ov_err *err)
{
	struct world w = { cx->state, &cx->config->policy };
	str lacking = op_no_capacity(cx);
	value *v = value_object(cx->arena), *s = view_status(cx->arena, &w, lacking, cx->now);

	(void)p, (void)err;
	if (cx->daemon->read_only)
		put_all_without_daemon(cx, s);
	for (size_t i = 0; i < value_count(value_at(s, "running")); i++) {
		value *one = value_edit_item(value_edit_at(s, "running"), i);

		op_put_now(cx, one, value_str_at(one, "run"));
		op_live_usage(cx, one, value_str_at(one, "run"));
	}
	value_put(cx->arena, v, "daemon", daemon_view(cx));
	value_put(cx->arena, v, "watch", watchdog_view(cx->arena, cx->daemon->dir, cx->now));
	value_put(cx->arena, v, "safe_mode", safe_mode_view(cx->arena, cx->daemon->safe));
	if (cx->daemon->safe)
		value_push(cx->arena, value_edit_at(s, "needs_you"),
				safe_mode_need(cx->arena, cx->daemon->safe));
	for (size_t i = 0; i < s->object.n; i++)
		value_set(cx->arena, v, s->object.members[i].key, s->object.members[i].value);
	value_put(cx->arena, v, "conflicts", view_conflicts(cx->arena, cx->state));
	value_put(cx->arena, v, "no_capacity",
			lacking.n ? value_str(cx->arena, lacking) : value_null(cx->arena));
	value_put(cx->arena, v, "today", op_usage_today(cx));
	value_put(cx->arena, v, "planner", planner_view(cx));
	value_put(cx->arena, v, "sandbox", sandbox_view(cx));
	value_put(cx->arena, v, "unchecked_waits",
			value_bool(cx->arena,
					policy_waits_unchecked(&cx->config->policy,
							cx->state->automatic.on)));
	value_put(cx->arena, v, "workers_max",
			value_int(cx->arena, cx->config->policy.workers_max));
	*ret = v;
	return 0;
}

int status_param(const struct status_table *t, str s, int *ret, struct ov_err *err)
{
	_cleanup_(buf_done) struct buf words = BUF_INIT;

	*ret = s.n ? status_parse(t, s) : -1;
	if (!s.n || *ret >= 0)
		return 0;
	for (int i = 0; i < t->n; i++)
		buf_addf(&words, "%s%s", i ? ", " : "", t->names[i]);
	return ov_fail(err, OV_EINVALID,
			"\"" STR_FMT "\" is not a status of a %s; these are: " STR_FMT, STR_ARG(s),
			t->noun, STR_ARG(buf_str(&words)));
}

static value *wrap_list(struct arena *a, const char *key, value *list)
{
	value *v = value_object(a);

	value_put(a, v, key, list);
	return v;
}

static value *listed(struct op_ctx *cx, struct queue *q, const struct node *n)
{
	value *v = view_node_brief(cx->arena, n);

	queue_put_waiting(q, v, n);
	return v;
}

int op_work_list(struct op_ctx *cx, const struct pr_work_list *p, value **ret, struct ov_err *err)
{
	value *list = value_array(cx->arena);
	struct world w = { cx->state, &cx->config->policy };
	struct queue *q = queue_look(cx->arena, &w, op_no_capacity(cx), cx->now);
	struct goal *only = NULL;
	int status, r = status_param(&node_statuses, p->status, &status, err);

	if (r == 0 && p->goal.n)
		r = state_find_goal(cx->state, p->goal, &only, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < cx->state->goals.n; i++) {
		const struct goal *g = cx->state->goals.p[i];

		for (size_t k = 0; (!only || only == g) && k < g->nodes.n; k++) {
			const struct node *n = g->nodes.p[k];

			/*
			 * What a replan removed is told only to whoever asks for what is cancelled.
			 */
			if (node_is_leaf(n) &&
					(status < 0 ? !n->def.removed_in
						    : (int)n->status == status))
				value_push(cx->arena, list, listed(cx, q, n));
		}
	}
	*ret = wrap_list(cx->arena, "nodes", list);
	return 0;
}

static int run_order(const struct run *a, const struct run *b)
{
	return str_cmp(a->id, b->id);
}

/* Merges the two lists of runs, each oldest first, by id. */
int op_run_list(struct op_ctx *cx, const struct pr_run_list *p, value **ret, struct ov_err *err)
{
	const struct list *old = cx->state->retired_runs.next, *cur = cx->state->runs.next;
	value *list = value_array(cx->arena);
	struct node *node = NULL;
	struct goal *goal = NULL;
	int status, r = status_param(&run_statuses, p->status, &status, err);

	if (r == 0 && p->node.n)
		r = state_find_node_to_read(cx->state, p->goal, p->node, &node, err);
	else if (r == 0 && p->goal.n)
		r = state_find_goal(cx->state, p->goal, &goal, err);
	if (r < 0)
		return r;
	while (old != &cx->state->retired_runs || cur != &cx->state->runs) {
		const struct run *a = old != &cx->state->retired_runs
				? list_entry(old, const struct run, link)
				: NULL;
		const struct run *b = cur != &cx->state->runs
				? list_entry(cur, const struct run, link)
				: NULL;
		bool take_old = a && (!b || run_order(a, b) < 0);
		const struct run *x = take_old ? a : b;

		old = take_old ? old->next : old;
		cur = take_old ? cur : cur->next;
		if (status >= 0 && (int)x->status != status)
			continue;
		if (node && !(str_eq(x->goal_id, node->goal->id) && str_eq(x->node_id, node->id)))
			continue;
		if (goal && !str_eq(x->goal_id, goal->id))
			continue;
		value_push(cx->arena, list, view_run(cx->arena, x, cx->now));
	}
	*ret = wrap_list(cx->arena, "runs", list);
	return 0;
}

int op_run_show(struct op_ctx *cx, const struct pr_run_show *p, value **ret, struct ov_err *err)
{
	struct run *x;
	const char *dir;
	int r = state_find_run(cx->state, p->run, &x, err);

	if (r < 0)
		return r;
	*ret = view_run(cx->arena, x, cx->now);
	op_put_now(cx, *ret, x->id);
	dir = executor_run_dir(cx->arena, cx->daemon->dir, x->id);
	value_put(cx->arena, *ret, "dir", value_cstr(cx->arena, dir));
	if (x->status == RUN_RUNNING && !x->sandbox.n)
		value_put(cx->arena, *ret, "sandbox",
				value_cstr(cx->arena, run_note_read(dir).sandbox));
	return 0;
}

int op_config_show(struct op_ctx *cx, const struct pr_config_show *p, value **ret,
		struct ov_err *err)
{
	value *v = value_object(cx->arena);

	(void)p, (void)err;
	value_put(cx->arena, v, "file", value_cstr(cx->arena, cx->daemon->config_file));
	value_put(cx->arena, v, "options", config_view(cx->arena, cx->config));
	*ret = v;
	return 0;
}
