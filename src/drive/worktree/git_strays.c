/*
 * Strays: commits that an agent made in its worktree and then left behind, by amending, rebasing,
 * resetting, stashing, or on branches of its own. Only its own git folder knows them, and that
 * goes; so they are rescued with the rest.
 */
#include "base/map.h"
#include "drive/git/git_call.h"
#include "drive/git/git_steps.h"
#include "drive/worktree/git_tree_steps.h"

static bool is_kept(const struct git_call *c, const char *oid)
{
	return str_is(c->head, oid) || str_is(c->branch_oid, oid) || str_is(c->target_oid, oid) ||
			str_is(c->base, oid);
}

static int ask_build(struct git_call *c, struct ov_err *err _unused_)
{
	size_t n = 0;

	git_run(c, AT_REPO, GIT_READS, "rev-list", "--topo-order", "--parents", "--ignore-missing",
			NULL);
	for (size_t i = 0; i < c->named.n; i++)
		if (!is_kept(c, c->named.p[i])) {
			git_args(c, c->named.p[i], NULL);
			n++;
		}
	if (!n)
		return GIT_SKIP;
	git_args(c, "--not", NULL);
	if (c->head.n)
		git_args(c, c->head.p, NULL);
	git_args(c, "--branches", "--remotes", "--tags", "--glob=refs/overseer", "--", NULL);
	return GIT_NEXT;
}

/*
 * Of all that nothing keeps, what no other of it has as a parent: that keeps the rest. Children
 * come before their parents. There are no more of these than commits that the agent's folder names.
 */
static int ask_take(struct git_call *c, const struct git_out *o, struct ov_err *err _unused_)
{
	str rest = o->out, line, oid, parent;
	struct map parents;

	map_init(&parents, 0);
	while (str_split(&rest, '\n', &line) && str_split(&line, ' ', &oid)) {
		if (!map_get(&parents, oid))
			git_rescue_extra(c, oid);
		while (str_split(&line, ' ', &parent))
			map_put(&parents, parent, c);
	}
	map_done(&parents);
	return GIT_NEXT;
}

const struct git_step git_strays_steps[] = {
	STEP_TAKE("look for commits that were left behind", ask_build, ask_take),
	STEP_END,
};
