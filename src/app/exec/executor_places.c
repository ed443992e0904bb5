/*
 * Where code that agents wrote runs just now: by this, app/daemon/callers tells agents from people.
 */
#include "app/exec/executor_impl.h"

#include "app/engine/engine.h"
#include "app/sandbox/contain.h"
#include "app/sandbox/setup.h"
#include "base/str.h"
#include "core/state/state.h"
#include "drive/git/git.h"
#include "drive/run/run.h"
#include "sys/loop/job.h"
#include "sys/loop/loop.h"
#include "sys/proc/cgroup.h"
#include "sys/proc/peer.h"
#include "sys/proc/proc.h"

/*
 * Calls that were made before the end of a run are found after it, when the loop comes to them.
 * They are only waiting to be accepted, so this is longer than any of them waits.
 */
enum { LINGER_US = 60 * 1000 * 1000, SHIMS_MAX = 16, GITS_MAX = 64 };

struct places {
	struct arena *arena;
	struct executor_place *p;
	size_t n, cap;
};

static void places_add(struct places *l, const struct executor_place *one)
{
	if (l->n == l->cap) {
		struct executor_place *more;

		l->cap = l->cap ? 2 * l->cap : 16;
		more = arena_array(l->arena, struct executor_place, l->cap);
		if (l->n)
			memcpy(more, l->p, l->n * sizeof(*more));
		l->p = more;
	}
	l->p[l->n++] = *one;
}

static void add_run(struct places *l, const struct executor *x, str id,
		const struct run_handle *run, int root)
{
	const char *above = contain_cgroup(x->contain);
	struct executor_place one = { .run = run, .root = root };

	one.name = arena_printf(l->arena, "run " STR_FMT, STR_ARG(id));
	if (above)
		one.group = arena_printf(l->arena, "%s/" CGROUP_PREFIX STR_FMT, above, STR_ARG(id))
					    .p;
	places_add(l, &one);
}

/* A run that a previous daemon started, or began to start, and that was not found again so far. */
static bool is_unfound(const struct executor *x, const struct run *r)
{
	return r->status != RUN_ENDED && !map_get(&x->runs, r->id);
}

/* An agent may have seen to that. Their shims are known by where they are at work. */
static void add_unfound(struct places *l, const struct executor *x)
{
	int shims[SHIMS_MAX];

	list_each (it, &engine_state(x->engine)->runs) {
		const struct run *r = list_entry(it, struct run, link);
		size_t n;

		if (!is_unfound(x, r))
			continue;
		n = proc_list_at(STR("overseer-run"),
				str_from(executor_run_dir(l->arena, x->o.dir, r->id)), shims,
				SHIMS_MAX);
		for (size_t i = 0; i < n; i++)
			add_run(l, x, r->id, NULL, shims[i]);
		/* Of one that is about to be started there may be nothing yet. */
		if (n == 0 && r->status == RUN_RUNNING)
			add_run(l, x, r->id, NULL, 0);
	}
}

/*
 * Of the commands, those that are about an agent's work; what comes after an accept is the
 * user's own.
 */
static bool is_about_work(const struct task *t)
{
	return t->kind == FX_CHECK || t->kind == FX_GATE;
}

size_t executor_places(const struct executor *x, struct arena *a, struct executor_place **ret)
{
	struct places l = { .arena = a };
	int gits[GITS_MAX];
	size_t i = 0, n;
	str id;
	void *lr;

	while (map_next(&x->runs, &i, &id, &lr)) {
		const struct live_run *one = lr;
		const struct run_handle *run = one->driver->handle(one->run);

		/* Of one that somebody else is to start nothing runs yet. */
		if (!run_is_awaited(run))
			add_run(&l, x, id, run, run_shim(run));
	}
	add_unfound(&l, x);
	list_each (it, &x->tasks) {
		const struct task *t = list_entry(it, struct task, link);

		if (is_about_work(t) && t->job && job_pid(t->job))
			places_add(&l,
					&(struct executor_place){ .name = arena_printf(a, "the %s",
										  t->command.name),
							.root = job_pid(t->job) });
	}
	n = git_at_work(x->git, gits, ARRAY_LEN(gits));
	for (size_t k = 0; k < n; k++)
		places_add(&l,
				&(struct executor_place){
						.name = STR("git, or a program that it runs"),
						.root = gits[k] });
	if (setup_pid(x->setup))
		places_add(&l,
				&(struct executor_place){ .name = STR("the setup command"),
						.root = setup_pid(x->setup) });
	*ret = l.p;
	return l.n;
}

static bool is_any_unfound(const struct executor *x)
{
	list_each (it, &engine_state(x->engine)->runs)
		if (is_unfound(x, list_entry(it, struct run, link)))
			return true;
	return false;
}

bool executor_is_live(const struct executor *x)
{
	int git;

	if (x->runs.n || is_any_unfound(x) || setup_pid(x->setup) || git_at_work(x->git, &git, 1))
		return true;
	list_each (it, &x->tasks)
		if (is_about_work(list_entry(it, struct task, link)))
			return true;
	return x->ended_us && loop_mono_us(x->o.loop) - x->ended_us < LINGER_US;
}

/* "/user.slice/overseer-R_1/below": the groups that the agent makes lie below its own. */
static str run_of_group(const struct state *s, str group)
{
	str part;

	while (str_split(&group, '/', &part))
		if (str_starts(part, STR(CGROUP_PREFIX))) {
			str id = str_sub(part, sizeof(CGROUP_PREFIX) - 1, part.n);

			if (state_run(s, id))
				return id;
		}
	return (str){ 0 };
}

str executor_run_of(const struct executor *x, struct arena *a, str group, int pid)
{
	const struct state *s = engine_state(x->engine);
	str id = run_of_group(s, group);
	const struct effect *fx;

	if (!id.n) {
		id = peer_env(a, pid, STR("OVERSEER_RUN"));
		id = id.n && state_run(s, id) ? id : (str){ 0 };
	}
	if (id.n)
		return arena_printf(a, "run " STR_FMT, STR_ARG(id));
	fx = state_effect(s, peer_env(a, pid, STR("OVERSEER_CHECK")));
	return fx && (fx->kind == FX_CHECK || fx->kind == FX_GATE) ? STR("the check of a run")
								   : (str){ 0 };
}
