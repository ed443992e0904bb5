#include "tests/sim/exec_impl.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "tests/sim/tape.h"

struct sim_exec *exec_new(struct sim_daemon *d)
{
	struct sim_exec *x = mem_zalloc(1, sizeof(*x));

	x->d = d;
	x->s = d->s;
	list_init(&x->tasks);
	map_init(&x->runs, 0);
	map_init(&x->seen, 0);
	map_init(&x->refused, 0);
	return x;
}

struct sim_exec *exec_of(struct sim *s, int life)
{
	struct sim_daemon *d = daemon_of(s, life);

	return d ? d->exec : NULL;
}

const struct state *exec_state(const struct sim_exec *x)
{
	return engine_state(x->d->engine);
}

const struct map *exec_observations(const struct sim_exec *x)
{
	return &x->seen;
}

struct exec_task *exec_task_find(struct sim_exec *x, str effect_id)
{
	list_each (it, &x->tasks) {
		struct exec_task *t = list_entry(it, struct exec_task, link);

		if (str_eq(t->effect_id, effect_id))
			return t;
	}
	return NULL;
}

struct exec_task *exec_task_numbered(struct sim *s, int life, uint64_t number)
{
	struct sim_exec *x = exec_of(s, life);

	if (!x)
		return NULL;
	list_each (it, &x->tasks) {
		struct exec_task *t = list_entry(it, struct exec_task, link);

		if (t->number == number)
			return t;
	}
	return NULL;
}

void exec_task_free(struct exec_task *t)
{
	list_remove(&t->link);
	arena_done(&t->arena);
	mem_free(t);
}

/* ---- outcomes ---- */

/* The message is whole in itself: the task may be gone when it arrives, or comes a second time. */
struct told {
	int life;
	size_t n;
	char json[];
};

static void told(struct sim *s, void *arg)
{
	const struct told *m = arg;
	struct sim_daemon *d = daemon_of(s, m->life);
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *v;
	int r;

	if (!d)
		return;
	r = json_parse(&a, (str){ m->json, m->n }, NULL, &v, NULL);
	assert(r == 0);
	/* A step of git, all of which read the branches. */
	if (value_at(value_at(v, "data"), "commits"))
		exec_look_at_target(s, d);
	tape_report(d->tape, d->engine, STR("effect.end"), v);
}

void exec_tell(struct exec_task *t, const char *outcome, str detail, const value *data)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	struct sim *s = t->x->s;
	struct arena *a = &t->arena;
	value *v = value_object(a);
	struct told *m;

	value_put(a, v, "effect", value_str(a, t->effect_id));
	value_put(a, v, "outcome", value_cstr(a, outcome));
	value_put(a, v, "detail", value_str(a, arena_str(a, detail)));
	value_put(a, v, "data", data ? value_copy(a, data) : value_object(a));
	json_write(&text, v);
	sim_trace(s, "%s " STR_FMT ": %s " STR_FMT, status_name(&effect_kinds, (int)t->kind),
			STR_ARG(t->effect_id), outcome, STR_ARG(detail));
	if (sim_fault(s, FAULT_KILL_OUTCOME)) {
		daemon_kill(t->x->d, "between action and outcome");
	} else {
		m = sim_post(s, CHANNEL_OUTCOME, 1, t->x->d->life, told, sizeof(*m) + text.n);
		m->life = t->x->d->life;
		m->n = text.n;
		memcpy(m->json, text.p, text.n);
	}
	exec_task_free(t);
}

void exec_tell_error(struct exec_task *t, const struct ov_err *err)
{
	exec_tell(t, "error", str_from(err->msg), NULL);
}

/* ---- effects ---- */

/* How long each kind takes, and what carries it out. */
static const struct {
	ov_time least, most;
	void (*act)(struct exec_task *t);
} kinds[EFFECT_KIND_COUNT] = {
	[FX_WORKSPACE] = { 200, 5000, exec_git },
	[FX_RUN_START] = { 20, 500, exec_start_run },
	[FX_RUN_STOP] = { 1, 100, exec_stop_run },
	[FX_SEND] = { 1, 100, exec_send },
	[FX_PLAN] = { 5 * OV_SECOND, 4 * OV_MINUTE, exec_plan },
	[FX_HARVEST] = { 100, 3000, exec_git },
	[FX_CHECK] = { OV_SECOND, 10 * OV_MINUTE, exec_git },
	[FX_ACCEPT] = { 200, 8000, exec_git },
	[FX_REBASE] = { 200, 8000, exec_git },
	[FX_GATE] = { OV_SECOND, 10 * OV_MINUTE, exec_git },
	[FX_POST] = { OV_SECOND, 20 * OV_MINUTE, exec_post },
	[FX_REVERT] = { 200, 5000, exec_git },
	[FX_POOL] = { 100, OV_MINUTE, exec_pool },
	[FX_WORKER] = { 200, 8000, exec_git },
	[FX_NOTIFY] = { 5, 10 * OV_SECOND, exec_notify },
};

struct act {
	int life;
	uint64_t number;
};

static void act(struct sim *s, void *arg)
{
	const struct act *m = arg;
	struct exec_task *t = exec_task_numbered(s, m->life, m->number);

	if (t)
		kinds[t->kind].act(t);
}

static void fill_in(struct exec_task *t, const struct effect *fx, const struct assignment *as)
{
	struct arena *a = &t->arena;
	str worker = as ? as->worker : fx->worker;

	t->effect_id = arena_str(a, fx->id);
	t->dispatch_id = arena_str(a, fx->dispatch_id);
	t->goal_id = arena_str(a, fx->goal_id);
	t->node_id = arena_str(a, fx->node_id);
	t->purpose = arena_str(a, fx->purpose);
	t->worker = arena_str(a, worker);
	t->worktree = arena_printf(a, SIM_STORE_DIR "/worktrees/" STR_FMT, STR_ARG(worker));
	t->rescue_ref = arena_printf(a, "refs/overseer/rescue/" STR_FMT "/" STR_FMT,
			STR_ARG(worker), STR_ARG(fx->kind == FX_HARVEST ? as->run_id : fx->id));
	t->key = arena_str(a, fx->id);
	if (!as)
		return;
	t->run_id = arena_str(a, fx->run_id.n ? fx->run_id : as->run_id);
	t->branch = arena_str(a, as->branch);
	t->start = arena_str(a, as->node->next.handover);
	t->base = arena_str(a, as->base);
	t->candidate = arena_str(a, as->candidate);
	t->commit = arena_str(a, as->node->work.commit);
	if (fx->kind != FX_WORKER)
		t->key = exec_accept_key(a, as->id, as->node->work.reverts);
	/* The commits of a branch are kept under the key of the accept that makes them one. */
	if (fx->kind == FX_REBASE)
		t->rescue_ref = arena_printf(a, "refs/overseer/rescue/" STR_FMT "/" STR_FMT,
				STR_ARG(worker), STR_ARG(t->key));
}

void exec_perform(struct sim_exec *x, const struct effect *fx)
{
	const struct assignment *as = state_assignment(exec_state(x), fx->assignment_id);
	struct exec_task *t;
	struct act *m;

	if (exec_task_find(x, fx->id))
		return;
	assert(fx->kind == FX_PLAN || fx->kind == FX_POOL || fx->kind == FX_WORKER ||
			fx->kind == FX_NOTIFY || (as && as->node));
	t = mem_zalloc(1, sizeof(*t));
	t->x = x;
	t->kind = fx->kind;
	t->number = ++x->tasks_made;
	list_append(&x->tasks, &t->link);
	fill_in(t, fx, as);
	m = sim_in(x->s, sim_between(x->s, RNG_EXEC, kinds[t->kind].least, kinds[t->kind].most),
			x->d->life, act, sizeof(*m));
	m->life = x->d->life;
	m->number = t->number;
}

void exec_free(struct sim_exec *x)
{
	if (!x)
		return;
	list_each (it, &x->tasks) {
		struct exec_task *t = list_entry(it, struct exec_task, link);

		if (t->kind == FX_POOL)
			exec_pool_cut(t);
		else if (t->kind == FX_NOTIFY)
			exec_notify_cut(t);
		else
			exec_git_cut(t);
		exec_task_free(t);
	}
	exec_runs_done(x);
	mem_free(x);
}
