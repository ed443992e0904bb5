/* The worktree of an assignment: made to stand where it should, then set up for its agent. */
#include "app/exec/executor_impl.h"
#include "app/sandbox/agent_command.h"
#include "app/sandbox/agent_homes.h"
#include "app/sandbox/setup.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "drive/git/git.h"
#include "drive/worktree/worktree.h"

/* What git made, until it is set up; in the task's arena. */
struct workspace {
	struct task *t;
	struct git_result made;
	struct setup_spec setup;
	str agent, home; /* whose sandbox the command runs in */
};

static void set_up(void *user, int r, const struct ov_err *err)
{
	struct workspace *w = user;

	task_git_done(w->t, r, &w->made, err);
}

/* Its command runs what the repository says, and with that what an agent wrote. */
static int furnish(struct workspace *w, struct ov_err *err)
{
	struct arena *a = &w->t->arena;
	const struct executor *x = w->t->x;
	const struct agent_command_ask ask = { .config = x->o.config,
		.contain = x->contain,
		.shim = x->o.shim,
		.agent = w->agent,
		.home = w->home,
		.store = x->o.dir,
		.git_common = git_common_dir(x->git),
		.worktree = arena_cstr(a, w->setup.path),
		.text = arena_cstr(a, w->setup.command) };
	struct agent_command made;
	int r = agent_command(a, &ask, &made, err);

	if (r == 0) {
		w->setup.argv = made.argv;
		w->setup.env = made.env;
		w->setup.fenced = made.fenced;
	}
	return r;
}

static void workspace_made(void *user, int r, const struct git_result *res,
		const struct ov_err *err)
{
	struct workspace *w = user;
	struct arena *a = &w->t->arena;
	struct ov_err failed = { 0 };

	if (r < 0 || (!w->setup.command.n && !w->setup.serena)) {
		task_git_done(w->t, r, res, err);
		return;
	}
	w->made = (struct git_result){ .outcome = res->outcome,
		.base = arena_str(a, res->base),
		.rescue_ref = arena_str(a, res->rescue_ref),
		.detail = arena_str(a, res->detail) };
	if (w->setup.command.n && furnish(w, &failed) < 0) {
		task_git_done(w->t, failed.code, res, &failed);
		return;
	}
	setup_run(w->t->x->setup, &w->setup, set_up, w);
}

void perform_workspace(struct task *t, const struct assignment *as)
{
	const struct config *c = t->x->o.config;
	struct workspace *w = arena_new(&t->arena, struct workspace);
	struct git_ensure spec = {
		.path = worktree(t, as),
		.branch = as->branch,
		.target = c->policy.target_branch,
		.start = as->node->next.handover,
		.rescue_ref = rescue_ref(t, as, t->effect_id),
	};

	*w = (struct workspace){ .t = t,
		.agent = arena_str(&t->arena, as->agent),
		.home = arena_str(&t->arena, agent_homes_name(as)) };
	/* As it is configured now; the assignment may be over before git is through. */
	w->setup = (struct setup_spec){ .effect = t->effect_id,
		.worker = arena_str(&t->arena, as->worker),
		.path = spec.path,
		.branch = arena_str(&t->arena, as->branch),
		.session = arena_str(&t->arena, as->session_key),
		.command = arena_str(&t->arena, c->workspace_setup_command),
		.timeout_ms = c->workspace_setup_timeout,
		.serena = c->workspace_serena };
	git_ensure(t->x->git, &spec, workspace_made, w);
}
