/*
 * What people have done to a worker as such: its worktree put back to the target's head, or removed.
 * Each is one call of git that rescues first and can be made again after a crash.
 */
#include "app/engine.h"
#include "app/executor_impl.h"
#include "base/arena.h"
#include "base/str.h"
#include "core/state.h"
#include "drive/git.h"

struct place {
	str worker, path, ref;
};

static struct place place_of(struct task *t, const struct effect *fx)
{
	struct arena *a = &t->arena;
	struct place p = { .worker = arena_str(a, fx->worker) };

	p.path = arena_printf(a, "%s/worktrees/" STR_FMT, t->x->o.dir, STR_ARG(p.worker));
	p.ref = arena_printf(a, "refs/overseer/rescue/" STR_FMT "/" STR_FMT, STR_ARG(p.worker),
			STR_ARG(t->effect_id));
	return p;
}

/* On a branch of its own, so that a second call finds that the first one was through. */
static void perform_reset(struct task *t, const struct effect *fx)
{
	struct place p = place_of(t, fx);
	struct git_ensure spec = {
		.path = p.path,
		.branch = arena_printf(&t->arena, "overseer/" STR_FMT "/" STR_FMT,
				STR_ARG(p.worker), STR_ARG(t->effect_id)),
		.target = t->x->o.config->policy.target_branch,
		.rescue_ref = p.ref,
	};

	git_ensure(t->x->git, &spec, task_git_done, t);
}

static void perform_nuke(struct task *t, const struct effect *fx)
{
	struct place p = place_of(t, fx);

	git_remove(t->x->git, p.path, p.ref, task_git_done, t);
}

void perform_worker(struct task *t, const struct assignment *as)
{
	static const struct {
		const char *purpose;
		void (*perform)(struct task *t, const struct effect *fx);
	} rows[] = {
		{ "reset", perform_reset },
		{ "nuke", perform_nuke },
	};
	const struct effect *fx = state_effect(engine_state(t->x->engine), t->effect_id);

	(void)as;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (str_is(fx->purpose, rows[i].purpose)) {
			rows[i].perform(t, fx);
			return;
		}
	outcome_new(t, STR("error"), STR("this program does not know how to do that"));
	report_later(t);
}
