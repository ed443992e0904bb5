/* What becomes of work: nothing is done that was not accepted, and git holds what it should. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "tests/sim/check_impl.h"
#include "tests/sim/exec.h"
#include "tests/sim/simgit.h"

/* ---- done_means_accepted ---- */

static void done_node(struct checker *c, const struct event *e)
{
	struct node_book *n = book_node(c, e->goal, e->node);

	if (!n)
		return;
	if (event_status(e, "to", &node_statuses) != NODE_DONE) {
		n->accepted = n->accepted && n->status != NODE_DONE;
		return;
	}
	if (value_bool_at(e->data, "override") ? !by_person(e) : !n->accepted)
		sim_violated(c->s, inv_done_means_accepted.name,
				EV_FMT
				" by " STR_FMT
				": done, but its work was not accepted and no person said so",
				EV_ARG(e), STR_ARG(e->actor));
}

static void done_goal(struct checker *c, const struct event *e)
{
	const struct goal *g = state_goal(c->shadow, e->goal);
	size_t done = 0;

	if (!g || event_status(e, "to", &goal_statuses) != GOAL_COMPLETED)
		return;
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = g->nodes.p[i];
		const struct node_book *b = book_node(c, g->id, n->id);

		if (!node_is_leaf(n) || n->def.removed_in)
			continue;
		done += b->status == NODE_DONE;
		if (b->status != NODE_DONE && b->status != NODE_CANCELLED)
			sim_violated(c->s, inv_done_means_accepted.name,
					EV_FMT ": completed, but " STR_FMT " is %s", EV_ARG(e),
					STR_ARG(b->key),
					status_name(&node_statuses, (int)b->status));
	}
	if (!done)
		sim_violated(c->s, inv_done_means_accepted.name,
				EV_FMT ": completed, but nothing in it was done", EV_ARG(e));
}

/* Only what our own check let pass, or what nobody wants checked, goes to the target. */
static void done_verified(struct checker *c, const struct event *e, struct as_book *as)
{
	const struct node *n = state_node(c->shadow, e->goal, e->node);
	str verdict = value_str_at(e->data, "verdict");
	bool wanted = c->s->config->policy.check_command.n || (n && n->def.check_command.n);

	as->verified = str_is(verdict, "passed") ? as->passed
						 : str_is(verdict, "skipped") && !wanted;
}

/* Rebasing may find that it is there already. */
static bool is_accept(const struct event *e)
{
	int kind = event_status(e, "kind", &effect_kinds);

	return kind == FX_REBASE || kind == FX_ACCEPT;
}

static void done_event(struct checker *c, const struct event *e)
{
	struct as_book *as = book_as(c, e->assignment);

	if (e->kind == EV_NODE_STATUS)
		done_node(c, e);
	else if (e->kind == EV_GOAL_STATUS)
		done_goal(c, e);
	if (!as)
		return;
	if (e->kind == EV_RUN_CREATED)
		as->passed = as->verified = as->accepting = false;
	else if (e->kind == EV_EFFECT_ENDED && event_status(e, "kind", &effect_kinds) == FX_CHECK)
		as->passed = str_is(value_str_at(e->data, "outcome"), "ok");
	else if (e->kind == EV_RUN_VERIFIED)
		done_verified(c, e, as);
	else if (e->kind == EV_EFFECT_INTENDED && is_accept(e)) {
		if (!as->verified)
			sim_violated(c->s, inv_done_means_accepted.name,
					EV_FMT ": the work of " STR_FMT
					       " shall be accepted, but was not checked",
					EV_ARG(e), STR_ARG(as->id));
		as->accepting = true;
	} else if (e->kind == EV_NODE_ACCEPTED) {
		if (!as->accepting)
			sim_violated(c->s, inv_done_means_accepted.name,
					EV_FMT ": accepted, though nobody meant to", EV_ARG(e));
		as->accepting = false;
		as->node->accepted = true;
	}
}

static bool done_sabotage(struct checker *c)
{
	struct node_book *n = some_node(c, NODE_IN_PROGRESS);
	struct event *e;

	if (!n || n->accepted)
		return false;
	e = forge(c, EV_NODE_STATUS, n);
	forge_text(c, e, "from", STR("in_progress"));
	forge_text(c, e, "to", STR("done"));
	forge_show(c, e);
	return true;
}

const struct invariant inv_done_means_accepted = {
	.name = "done_means_accepted",
	.sentence = "a node is done only when its checked work is on the target, or by a person's "
		    "word; "
		    "a goal only when its nodes are",
	.event = done_event,
	.sabotage = done_sabotage,
};

/* ---- change_once ---- */

/* As the accept that comes after so many reverts of its node. */
static size_t on_target(struct checker *c, const struct as_book *as, int64_t reverts,
		bool *ret_whole)
{
	struct simgit_accepted a;

	simgit_accepted(c->s->git, exec_accept_key(&c->scratch, as->id, reverts), &c->scratch, &a);
	if (a.count > 1)
		sim_violated(c->s, inv_change_once.name,
				"the change of " STR_FMT " (" STR_FMT
				") is on the target %zu times",
				STR_ARG(as->id), STR_ARG(as->node->key), a.count);
	*ret_whole = a.whole;
	return a.count;
}

static void change_event(struct checker *c, const struct event *e)
{
	struct as_book *as = e->kind == EV_NODE_ACCEPTED ? book_as(c, e->assignment) : NULL;
	bool whole;

	if (e->kind == EV_NODE_REVERTED && book_node(c, e->goal, e->node))
		book_node(c, e->goal, e->node)->reverts++;
	if (!as)
		return;
	if (on_target(c, as, as->node->reverts, &whole) != 1)
		sim_violated(c->s, inv_change_once.name,
				EV_FMT ": accepted, but the change of " STR_FMT
				       " is not on the target",
				EV_ARG(e), STR_ARG(as->id));
	else if (!whole)
		sim_violated(c->s, inv_change_once.name,
				EV_FMT ": of the change of " STR_FMT
				       " only a part is on the target",
				EV_ARG(e), STR_ARG(as->id));
	as->node->accepts++;
}

/* All that was ever accepted, and what was not told yet, too. */
static void change_end(struct checker *c)
{
	bool whole;

	for (size_t i = 0; i < c->node_list.n; i++) {
		struct node_book *n = c->node_list.p[i];
		size_t there = 0, open = 0;

		for (size_t k = 0; k < c->as_list.n; k++)
			for (int64_t r = 0; c->as_list.p[k]->node == n && r <= n->reverts; r++)
				there += on_target(c, c->as_list.p[k], r, &whole);
		for (size_t k = 0; k < c->open_effects.n; k++)
			open += c->open_effects.p[k]->kind == FX_ACCEPT &&
					c->open_effects.p[k]->as &&
					c->open_effects.p[k]->as->node == n;
		if (there < n->accepts ||
				(c->up && n->accepts == 0 && there > open &&
						n->status == NODE_DONE))
			sim_violated(c->s, inv_change_once.name,
					STR_FMT
					": %zu changes are on the target, %zu were accepted",
					STR_ARG(n->key), there, n->accepts);
	}
}

static bool change_sabotage(struct checker *c)
{
	for (size_t i = 0; i < c->as_list.n; i++) {
		const struct as_book *as = c->as_list.p[i];
		const struct assignment *real = state_assignment(c->shadow, as->id);
		struct git_accept spec = { .target = c->s->config->policy.target_branch,
			.message = STR("again"),
			.key = exec_accept_key(&c->scratch, as->id, as->node->reverts) };

		if (!as->node->accepts || !real || as->node->as != as)
			continue;
		spec.path = arena_printf(&c->scratch, SIM_STORE_DIR "/worktrees/" STR_FMT,
				STR_ARG(as->worker));
		spec.branch = real->branch;
		if (!simgit_sabotage_accept(c->s->git, &spec))
			continue;
		forge_show(c, forge(c, EV_NODE_ACCEPTED, as->node));
		return true;
	}
	return false;
}

const struct invariant inv_change_once = {
	.name = "change_once",
	.sentence = "a task's change is on the target branch at most once, and exactly once, "
		    "whole, when "
		    "it is done",
	.event = change_event,
	.end = change_end,
	.sabotage = change_sabotage,
};

/* ---- work_kept, user_intact ---- */

static void kept_step(struct checker *c)
{
	_cleanup_(buf_done) struct buf why = BUF_INIT;

	if (!simgit_kept(c->s->git, &why))
		sim_violated(c->s, inv_work_kept.name, STR_FMT, STR_ARG(buf_str(&why)));
}

/* The branch of a run that was harvested, or what an agent just wrote. */
static bool kept_sabotage(struct checker *c)
{
	for (size_t i = 0; i < c->live.n; i++) {
		const struct as_book *as = c->live.p[i];
		str tree = arena_printf(&c->scratch, SIM_STORE_DIR "/worktrees/" STR_FMT,
				STR_ARG(as->worker));

		if (as->stage != STAGE_RUNNING || simgit_clean(c->s->git, tree))
			continue;
		if (simgit_sabotage_reset(c->s->git, tree))
			return true;
	}
	return false;
}

const struct invariant inv_work_kept = {
	.name = "work_kept",
	.sentence = "what an agent made is in a worktree or can be reached from a ref",
	.step = kept_step,
	.sabotage = kept_sabotage,
};

static void intact_step(struct checker *c)
{
	_cleanup_(buf_done) struct buf why = BUF_INIT;

	if (!simgit_user_intact(c->s->git, &why))
		sim_violated(c->s, inv_user_intact.name, STR_FMT, STR_ARG(buf_str(&why)));
}

static bool intact_sabotage(struct checker *c)
{
	return simgit_sabotage_overwrite_user(c->s->git) || simgit_sabotage_index(c->s->git);
}

const struct invariant inv_user_intact = {
	.name = "user_intact",
	.sentence = "nothing of the user's is overwritten: files, index, HEAD, branches",
	.step = intact_step,
	.sabotage = intact_sabotage,
};
