#include "tests/sim/exec_impl.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/str.h"
#include "core/prompt.h"
#include "data/json.h"
#include "tests/sim/simgit.h"
#include "tests/sim/tape.h"

struct sim_exec *exec_new(struct sim_daemon *d)
{
	struct sim_exec *x = mem_zalloc(1, sizeof(*x));

	x->d = d;
	x->s = d->s;
	list_init(&x->tasks);
	map_init(&x->runs, 0);
	map_init(&x->seen, 0);
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
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	value *v;
	int r;

	if (!d)
		return;
	r = json_parse(&a, (str){ m->json, m->n }, NULL, &v, NULL);
	assert(r == 0);
	tape_report(d->tape, d->engine, STR("effect.end"), v);
}

void exec_tell(struct exec_task *t, const char *outcome, str detail, const value *data)
{
	_cleanup_(buf_done)
	struct buf text = BUF_INIT;
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

/* ---- git ---- */

static const char *const git_outcomes[] = {
	[GIT_OK] = "ok",
	[GIT_ALREADY] = "ok",
	[GIT_NO_CHANGES] = "no_changes",
	[GIT_CONFLICT] = "conflict",
	[GIT_DIRTY] = "dirty",
	[GIT_MOVED] = "moved",
};

static int git_workspace(struct exec_task *t, int steps, struct git_result *ret, struct ov_err *err)
{
	struct git_ensure spec = { .path = t->worktree,
		.branch = t->branch,
		.target = t->x->s->config->policy.target_branch,
		.start = t->start,
		.rescue_ref = t->rescue_ref };

	return simgit_ensure(t->x->s->git, &spec, steps, &t->arena, ret, err);
}

static int git_harvest_(struct exec_task *t, int steps, struct git_result *ret, struct ov_err *err)
{
	return simgit_harvest(t->x->s->git, t->worktree, t->base, t->rescue_ref, steps, &t->arena,
			ret, err);
}

static int git_check(struct exec_task *t, int steps, struct git_result *ret, struct ov_err *err)
{
	return simgit_restore(t->x->s->git, t->worktree, t->rescue_ref, steps, &t->arena, ret, err);
}

static int git_accept_(struct exec_task *t, int steps, struct git_result *ret, struct ov_err *err)
{
	struct git_accept spec = { .path = t->worktree,
		.branch = t->branch,
		.target = t->x->s->config->policy.target_branch,
		.message = t->message,
		.key = t->key };

	return simgit_accept(t->x->s->git, &spec, steps, &t->arena, ret, err);
}

static void put_text(struct exec_task *t, value *data, const char *key, str s)
{
	if (s.n)
		value_put(&t->arena, data, key, value_str(&t->arena, s));
}

static void put_texts(struct exec_task *t, value *data, const char *key, const str *list, size_t n)
{
	value *v = value_array(&t->arena);

	for (size_t i = 0; i < n; i++)
		value_push(&t->arena, v, value_str(&t->arena, list[i]));
	if (n)
		value_put(&t->arena, data, key, v);
}

static void tell_git(struct exec_task *t, const struct git_result *res)
{
	struct arena *a = &t->arena;
	value *data = value_object(a);

	put_text(t, data, "base", res->base);
	put_text(t, data, "head", res->head);
	put_text(t, data, "tree", res->tree);
	put_text(t, data, "commit", res->commit);
	put_text(t, data, "rescue_ref", res->rescue_ref);
	if (t->kind == FX_ACCEPT)
		put_text(t, data, "target", t->x->s->config->policy.target_branch);
	value_put(a, data, "commits", value_int(a, res->commits));
	value_put(a, data, "files_changed", value_int(a, res->files_changed));
	put_texts(t, data, "files", res->files, res->files_n);
	put_texts(t, data, "commit_ids", res->commit_ids, res->commit_ids_n);
	value_put(a, data, "leftovers", value_bool(a, res->leftovers));
	exec_tell(t, git_outcomes[res->outcome], res->detail, data);
}

static void tell_check(struct exec_task *t)
{
	if (machine_check_passes(t->x->s->machine, t->worktree))
		exec_tell(t, "ok", STR("the check command passed"), NULL);
	else
		exec_tell(t, "failed", STR("exit status 1\nthe tests do not pass"), NULL);
}

/* ---- effects ---- */

typedef int git_act_fn(struct exec_task *t, int steps, struct git_result *ret, struct ov_err *err);

/* How long each kind takes, and what carries it out: git, or something of its own. */
static const struct {
	ov_time least, most;
	git_act_fn *git;
	void (*act)(struct exec_task *t);
} kinds[EFFECT_KIND_COUNT] = {
	[FX_WORKSPACE] = { 200, 5000, git_workspace, NULL },
	[FX_RUN_START] = { 20, 500, NULL, exec_start_run },
	[FX_RUN_STOP] = { 1, 100, NULL, exec_stop_run },
	[FX_SEND] = { 1, 100, NULL, exec_send },
	[FX_PLAN] = { 5 * OV_SECOND, 4 * OV_MINUTE, NULL, exec_plan },
	[FX_HARVEST] = { 100, 3000, git_harvest_, NULL },
	[FX_CHECK] = { OV_SECOND, 10 * OV_MINUTE, git_check, NULL },
	[FX_ACCEPT] = { 200, 8000, git_accept_, NULL },
};

static void act_git(struct exec_task *t)
{
	struct sim *s = t->x->s;
	struct git_result res = { 0 };
	struct ov_err err = { 0 };
	bool dies = sim_fault(s, FAULT_KILL_ACTION);
	int steps = dies ? (int)sim_below(s, RNG_EXEC, SIMGIT_STEPS_MAX) : SIMGIT_ALL;
	int r;

	if (!dies && sim_fault(s, FAULT_GIT))
		simgit_fail_at(s->git, (int)sim_below(s, RNG_EXEC, 4));
	r = kinds[t->kind].git(t, steps, &res, &err);
	simgit_fail_at(s->git, -1);
	if (dies)
		daemon_kill(t->x->d, "in the middle of an action");
	else if (r < 0)
		exec_tell_error(t, &err);
	else if (t->kind == FX_CHECK)
		tell_check(t);
	else
		tell_git(t, &res);
}

struct act {
	int life;
	uint64_t number;
};

static void act(struct sim *s, void *arg)
{
	const struct act *m = arg;
	struct exec_task *t = exec_task_numbered(s, m->life, m->number);

	if (!t)
		return;
	if (kinds[t->kind].git)
		act_git(t);
	else
		kinds[t->kind].act(t);
}

static void fill_in(struct exec_task *t, const struct effect *fx, const struct assignment *as)
{
	struct arena *a = &t->arena;

	t->effect_id = arena_str(a, fx->id);
	t->dispatch_id = arena_str(a, fx->dispatch_id);
	t->goal_id = arena_str(a, fx->goal_id);
	t->node_id = arena_str(a, fx->node_id);
	t->purpose = arena_str(a, fx->purpose);
	if (!as)
		return;
	t->run_id = arena_str(a, fx->run_id.n ? fx->run_id : as->run_id);
	t->worktree = arena_printf(a, SIM_STORE_DIR "/worktrees/" STR_FMT, STR_ARG(as->worker));
	t->branch = arena_str(a, as->branch);
	t->start = arena_str(a, as->node->handover);
	t->base = arena_str(a, as->base);
	t->rescue_ref = arena_printf(a, "refs/overseer/rescue/" STR_FMT "/" STR_FMT,
			STR_ARG(as->worker), STR_ARG(fx->kind == FX_HARVEST ? as->run_id : fx->id));
	t->key = arena_str(a, as->id);
	if (fx->kind == FX_ACCEPT)
		t->message = prompt_commit_message(a, as->node);
}

void exec_perform(struct sim_exec *x, const struct effect *fx)
{
	const struct assignment *as = state_assignment(exec_state(x), fx->assignment_id);
	struct exec_task *t;
	struct act *m;

	if (exec_task_find(x, fx->id))
		return;
	assert(fx->kind == FX_PLAN || (as && as->node));
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

/* Git that was at work when the daemon died may have done any part of it. */
static void cut_off(struct exec_task *t)
{
	struct sim *s = t->x->s;
	struct git_result res = { 0 };
	int steps = (int)sim_below(s, RNG_EXEC, SIMGIT_STEPS_MAX);

	if (kinds[t->kind].git && sim_odds(s, RNG_EXEC, 500))
		(void)kinds[t->kind].git(t, steps, &res, NULL);
}

void exec_free(struct sim_exec *x)
{
	if (!x)
		return;
	list_each (it, &x->tasks) {
		struct exec_task *t = list_entry(it, struct exec_task, link);

		cut_off(t);
		exec_task_free(t);
	}
	exec_runs_done(x);
	mem_free(x);
}
