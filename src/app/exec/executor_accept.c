/* The steps of git on the way to the target branch: rebase, accept, revert. */
#include "app/exec/executor_accept.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/capacity/accept_queue.h"
#include "core/prompt/prompt.h"
#include "drive/accept/git_accept.h"
#include "drive/git/git.h"

/* The branch's own commits, under the key of the accept that made them one. */
static str kept_ref(struct task *t, const struct assignment *as)
{
	return rescue_ref(t, as, accept_key(&t->arena, as));
}

void perform_rebase(struct task *t, const struct assignment *as)
{
	const struct config *c = t->x->o.config;
	struct git_rebase spec = {
		.path = worktree(t, as),
		.branch = as->branch,
		.target = c->policy.target_branch,
		.remote = c->accept_remote,
		.message = prompt_commit_message(&t->arena, as->node),
		.key = accept_key(&t->arena, as),
		.rescue_ref = kept_ref(t, as),
	};

	git_rebase(t->x->git, &spec, task_git_done, t);
}

void perform_accept(struct task *t, const struct assignment *as)
{
	const struct config *c = t->x->o.config;
	struct git_advance spec = {
		.path = worktree(t, as),
		.target = c->policy.target_branch,
		.candidate = as->candidate,
		.key = accept_key(&t->arena, as),
		.remote = c->accept_remote,
		.push = c->accept_push,
	};

	/*
	 * A store of before there were candidates: it is rebased first, which finds what was done.
	 */
	if (!as->candidate.n) {
		outcome_plain(t, ENDED_MOVED, STR("it has not been rebased yet"));
		report_later(t);
		return;
	}
	t->kept_ref = kept_ref(t, as);
	git_advance(t->x->git, &spec, task_git_done, t);
}

void perform_revert(struct task *t, const struct assignment *as)
{
	struct git_revert spec = {
		.target = t->x->o.config->policy.target_branch,
		.commit = as->node->work.commit,
		.message = prompt_revert_message(&t->arena, as->node),
		.key = accept_key(&t->arena, as),
	};

	git_revert(t->x->git, &spec, task_git_done, t);
}
