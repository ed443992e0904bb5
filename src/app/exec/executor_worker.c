/*
 * What people have done to a worker as such: its worktree put back to the target's head, or
 * removed; what is in it rebased, or put onto the target branch. Each is one call of git that keeps
 * what was there and can be made again after a crash.
 */
#include "app/engine/engine.h"
#include "app/exec/executor_accept.h"
#include "app/exec/executor_impl.h"
#include "base/arena.h"
#include "base/str.h"
#include "core/prompt/prompt.h"
#include "core/state/state.h"
#include "drive/accept/git_accept.h"
#include "drive/git/git.h"
#include "drive/worktree/worktree.h"

struct worker_place {
	str worker, path, ref;
};

static struct worker_place worker_place_of(struct task *t, const struct effect *fx)
{
	struct arena *a = &t->arena;
	struct worker_place p = { .worker = arena_str(a, fx->worker) };

	p.path = arena_printf(a, "%s/worktrees/" STR_FMT, t->x->o.dir, STR_ARG(p.worker));
	p.ref = arena_printf(a, "refs/overseer/rescue/" STR_FMT "/" STR_FMT, STR_ARG(p.worker),
			STR_ARG(t->effect_id));
	return p;
}

/* On a branch of its own, so that a second call finds that the first one was through. */
static void perform_reset(struct task *t, const struct effect *fx)
{
	struct worker_place p = worker_place_of(t, fx);
	struct git_ensure spec = {
		.path = p.path,
		.branch = arena_printf(&t->arena, "overseer/" STR_FMT "/" STR_FMT,
				STR_ARG(p.worker), STR_ARG(t->effect_id)),
		.target = t->x->o.config->policy.target_branch,
		.rescue_ref = p.ref,
	};

	git_ensure(t->x->git, &spec, task_git_done, t);
}

/* As the accept queue does it, so that it finds what was done here. */
static void perform_worker_rebase(struct task *t, const struct effect *fx)
{
	const struct assignment *as = state_assignment(engine_state(t->x->engine),
			fx->assignment_id);

	if (as && as->node) {
		perform_rebase(t, as);
		return;
	}
	outcome_plain(t, ENDED_ERROR, STR("its task is gone"));
	report_later(t);
}

/* What is told of it is the commit. */
static void picked(void *user, int r, const struct git_result *res, const struct ov_err *err)
{
	struct task *t = user;
	bool ok = r == 0 && (res->outcome == GIT_OK || res->outcome == GIT_ALREADY);
	struct out_git told = { 0 };

	if (!ok) {
		task_git_done(t, r, res, err);
		return;
	}
	told.target = t->x->o.config->policy.target_branch;
	told.target_head = res->target_left;
	outcome_set(t, &(struct outcome){ .is = ENDED_OK, .detail = res->commit, .git = &told });
	target_look(t, res->target_seen);
}

static void perform_pick(struct task *t, const struct effect *fx)
{
	const struct state *s = engine_state(t->x->engine);
	const struct worker *w = state_worker(s, fx->worker);
	const struct assignment *as = w && w->assignment_id.n
			? state_assignment(s, w->assignment_id)
			: NULL;
	struct worker_place p = worker_place_of(t, fx);
	struct git_pick spec = {
		.path = p.path,
		.target = t->x->o.config->policy.target_branch,
		.message = as && as->node
				? prompt_commit_message(&t->arena, as->node)
				: arena_printf(&t->arena, "Take over what is in worker " STR_FMT,
						  STR_ARG(p.worker)),
		.key = t->effect_id,
		.rescue_ref = p.ref,
	};

	git_pick(t->x->git, &spec, picked, t);
}

static void perform_nuke(struct task *t, const struct effect *fx)
{
	struct worker_place p = worker_place_of(t, fx);

	git_remove(t->x->git, p.path, p.ref, task_git_done, t);
}

void perform_worker(struct task *t, const struct assignment *as _unused_)
{
	static const struct {
		const char *purpose;
		void (*perform)(struct task *t, const struct effect *fx);
	} rows[] = {
		{ "reset", perform_reset },
		{ "nuke", perform_nuke },
		{ "rebase", perform_worker_rebase },
		{ "pick", perform_pick },
	};
	const struct effect *fx = state_effect(engine_state(t->x->engine), t->effect_id);

	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (str_is(fx->purpose, rows[i].purpose)) {
			rows[i].perform(t, fx);
			return;
		}
	outcome_plain(t, ENDED_ERROR, STR("this program does not know how to do that"));
	report_later(t);
}
