/* Who may work on what: claims, their epochs, what is given to agents, and in which order. */
#include <stdio.h>

#include "base/str.h"
#include "core/life/update_pace.h"
#include "tests/sim/check_impl.h"
#include "tests/sim/machine.h"

/* ---- one_live_epoch ---- */

static void claim_created(struct checker *c, const struct event *e)
{
	const struct node_book *n = book_node(c, e->goal, e->node);
	str worker = value_str_at(e->data, "worker");

	if (!n)
		return;
	if (n->as && n->as->live)
		sim_violated(c->s, inv_one_live_epoch.name,
				EV_FMT ": assignment " STR_FMT " (epoch %lld) is live still",
				EV_ARG(e), STR_ARG(n->as->id), (long long)n->epoch);
	if (value_int_at(e->data, "epoch") <= n->epoch)
		sim_violated(c->s, inv_one_live_epoch.name, EV_FMT ": epoch %lld after %lld",
				EV_ARG(e), (long long)value_int_at(e->data, "epoch"),
				(long long)n->epoch);
	for (size_t i = 0; i < c->live.n; i++)
		if (c->live.p[i]->stage != STAGE_NONE && str_eq(c->live.p[i]->worker, worker))
			sim_violated(c->s, inv_one_live_epoch.name,
					EV_FMT ": worker " STR_FMT " works for " STR_FMT " still",
					EV_ARG(e), STR_ARG(worker), STR_ARG(c->live.p[i]->id));
}

static void claim_run(struct checker *c, const struct event *e)
{
	const struct as_book *as = book_as(c, e->assignment);

	if (as && (!as->live || as->node->as != as))
		sim_violated(c->s, inv_one_live_epoch.name,
				EV_FMT ": assignment " STR_FMT " (epoch %lld) is over", EV_ARG(e),
				STR_ARG(as->id), (long long)as->epoch);
	if (as && as->run && as->run->status != RUN_ENDED)
		sim_violated(c->s, inv_one_live_epoch.name,
				EV_FMT ": run " STR_FMT " has not ended", EV_ARG(e),
				STR_ARG(as->run->id));
}

static void claim_event(struct checker *c, const struct event *e)
{
	if (e->kind == EV_ASSIGNMENT_CREATED)
		claim_created(c, e);
	else if (e->kind == EV_RUN_CREATED)
		claim_run(c, e);
}

/* What the log says is one thing; who really sits in a worktree is another. */
static void claim_machine(struct checker *c)
{
	for (size_t i = 0; i < c->live.n; i++) {
		const struct as_book *as = c->live.p[i];
		char tree[2 * SIM_NAME_MAX];
		unsigned at, in;
		int n;

		if (as->stage == STAGE_NONE || !as->run)
			continue;
		n = snprintf(tree, sizeof(tree), SIM_STORE_DIR "/worktrees/" STR_FMT,
				STR_ARG(as->worker));
		at = machine_agents_at(c->s->machine, as->node->goal->id, as->node->id);
		in = machine_agents_in(c->s->machine, (str){ tree, (size_t)n });
		if (at > 1 || in > 1)
			sim_violated(c->s, inv_one_live_epoch.name,
					"%u agents live for " STR_FMT ", %u in %s, run " STR_FMT
					" among them",
					at, STR_ARG(as->node->key), in, tree, STR_ARG(as->run->id));
	}
}

static void claim_step(struct checker *c)
{
	enum { EVERY = 64 };

	if (c->s->stats.runs == c->runs_seen && c->s->stats.steps % EVERY)
		return;
	c->runs_seen = c->s->stats.runs;
	claim_machine(c);
}

static bool claim_sabotage(struct checker *c)
{
	const struct as_book *as = some_live(c, true);
	struct sim_run *r = as ? machine_find(c->s->machine, as->run->id) : NULL;

	if (!r || !machine_lives(r))
		return false;
	machine_sabotage_second(c->s->machine, as->run->id);
	c->runs_seen = UINT64_MAX;
	return true;
}

const struct invariant inv_one_live_epoch = {
	.name = "one_live_epoch",
	.sentence = "a node has one live assignment, that one live run, and that one agent, alone "
		    "in "
		    "its worktree",
	.event = claim_event,
	.step = claim_step,
	.end = claim_machine,
	.sabotage = claim_sabotage,
};

/* ---- dispatch_once ---- */

static void taken_once(struct checker *c, str id)
{
	unsigned n = machine_taken(c->s->machine, id);

	if (n > 1)
		sim_violated(c->s, inv_dispatch_once.name,
				"dispatch " STR_FMT " was taken %u times", STR_ARG(id), n);
}

static void once_event(struct checker *c, const struct event *e)
{
	if (e->kind == EV_DISPATCH_RESULT)
		taken_once(c, value_str_at(e->data, "dispatch"));
}

static void once_open(struct checker *c)
{
	while (c->dispatches_settled < c->dispatch_list.n &&
			c->dispatch_list.p[c->dispatches_settled]->settled)
		c->dispatches_settled++;
	for (size_t i = c->dispatches_settled; i < c->dispatch_list.n; i++)
		if (!c->dispatch_list.p[i]->settled)
			taken_once(c, c->dispatch_list.p[i]->id);
}

static void once_step(struct checker *c)
{
	enum { EVERY = 128 };

	if (c->s->stats.steps % EVERY == 0)
		once_open(c);
}

static void once_end(struct checker *c)
{
	for (size_t i = 0; i < c->dispatch_list.n; i++)
		taken_once(c, c->dispatch_list.p[i]->id);
}

static bool once_sabotage(struct checker *c)
{
	bool done = false;

	machine_sabotage_deafness(c->s->machine, true);
	for (size_t i = 0; i < c->live.n && !done; i++) {
		const struct as_book *as = c->live.p[i];
		size_t last = c->dispatch_list.n;

		if (as->stage != STAGE_RUNNING || !as->run || last == 0)
			continue;
		(void)machine_deliver(c->s->machine, as->run->id, c->dispatch_list.p[last - 1]->id,
				STR("again"), NULL);
		(void)machine_deliver(c->s->machine, as->run->id, c->dispatch_list.p[last - 1]->id,
				STR("again"), NULL);
		done = machine_taken(c->s->machine, c->dispatch_list.p[last - 1]->id) > 1;
	}
	return done;
}

const struct invariant inv_dispatch_once = {
	.name = "dispatch_once",
	.sentence = "an agent takes the instruction of a dispatch at most once",
	.event = once_event,
	.step = once_step,
	.restart = once_open,
	.end = once_end,
	.sabotage = once_sabotage,
};

/* ---- fenced ---- */

static void fenced_event(struct checker *c, const struct event *e)
{
	const struct as_book *as;

	switch (e->kind) {
	case EV_NODE_REPORTED:
	case EV_NODE_ACCEPTED:
	case EV_RUN_STARTED:
	case EV_RUN_ENDED:
	case EV_RUN_HARVESTED:
	case EV_RUN_VERIFIED:
	case EV_ASSIGNMENT_MOVED:
	case EV_ASSIGNMENT_ACTIVITY: break;
	default: return;
	}
	as = book_as(c, e->assignment);
	if (!as)
		return;
	if (as->epoch != as->node->epoch)
		sim_violated(c->s, inv_fenced.name,
				EV_FMT ": of epoch %lld, while the node's is %lld", EV_ARG(e),
				(long long)as->epoch, (long long)as->node->epoch);
	if (e->kind != EV_NODE_REPORTED)
		return;
	if (!as->run || !str_eq(as->run->id, e->run) || as->status == AS_DONE ||
			as->status == AS_CANCELLED || as->status == AS_BLOCKED)
		sim_violated(c->s, inv_fenced.name,
				EV_FMT ": run " STR_FMT " speaks, which has no say any more (the "
				       "newest is " STR_FMT ", its assignment %s)",
				EV_ARG(e), STR_ARG(e->run),
				STR_ARG(as->run ? as->run->id : STR("none")),
				status_name(&as_statuses, (int)as->status));
}

static bool fenced_sabotage(struct checker *c)
{
	struct event *e;

	for (size_t i = 0; i < c->as_list.n; i++) {
		const struct as_book *as = c->as_list.p[i];

		if (as->epoch >= as->node->epoch || !as->run)
			continue;
		e = forge(c, EV_NODE_REPORTED, as->node);
		e->assignment = as->id;
		e->run = as->run->id;
		forge_text(c, e, "status", STR("done"));
		forge_show(c, e);
		return true;
	}
	return false;
}

const struct invariant inv_fenced = {
	.name = "fenced",
	.sentence = "nothing that comes from an old epoch, or from a run that is not the newest, "
		    "changes anything",
	.event = fenced_event,
	.sabotage = fenced_sabotage,
};

/* ---- report_once ---- */

/*
 * As many as at once, those that change the status, one a second; a daemon that is started
 * begins anew.
 */
static void check_report_pace(struct checker *c, const struct event *e, struct run_book *r)
{
	if (!r->reports || r->reports_life != c->s->lives) {
		r->reports = 0;
		r->reports_t = c->s->t;
		r->reports_life = c->s->lives;
	}
	r->reports++;
	if ((ov_time)r->reports > UPDATE_BURST + UPDATE_OVERDRAFT + 2 +
					(c->s->t - r->reports_t) / UPDATE_EVERY_MS)
		sim_violated(c->s, inv_report_once.name,
				EV_FMT ": %zu events of what run " STR_FMT
				       " reported within %lld ms",
				EV_ARG(e), r->reports, STR_ARG(r->id),
				(long long)(c->s->t - r->reports_t));
}

/* What was held back is told before the end, unless nobody listens to the run any more. */
static void check_last_report(struct checker *c, const struct event *e)
{
	const struct run_book *r = book_run(c, e->run);
	const struct sim_run *m = machine_find(c->s->machine, e->run);

	if (!r || !m || !r->as || r->as->run != r || !r->as->live || r->as->status != AS_ACTIVE ||
			r->as->stopping || (uint64_t)r->reported >= machine_reported_to(m))
		return;
	sim_violated(c->s, inv_report_once.name,
			EV_FMT
			": run " STR_FMT
			" ended with its output taken up to byte %lld, though it reported up "
			"to byte %llu",
			EV_ARG(e), STR_ARG(r->id), (long long)r->reported,
			(unsigned long long)machine_reported_to(m));
}

static void report_event(struct checker *c, const struct event *e)
{
	struct run_book *r = e->kind == EV_NODE_REPORTED ? book_run(c, e->run) : NULL;
	int64_t offset = value_int_at(e->data, "offset");

	if (e->kind == EV_RUN_ENDED)
		check_last_report(c, e);
	if (!r)
		return;
	check_report_pace(c, e, r);
	if (offset <= r->reported)
		sim_violated(c->s, inv_report_once.name,
				EV_FMT
				": what run " STR_FMT
				" wrote up to byte %lld, though all up to byte %lld was taken",
				EV_ARG(e), STR_ARG(r->id), (long long)offset,
				(long long)r->reported);
	r->reported = offset;
}

static bool report_sabotage(struct checker *c)
{
	const struct as_book *as = some_live(c, true);
	struct event *e;

	if (!as)
		return false;
	e = forge(c, EV_NODE_REPORTED, as->node);
	forge_int(c, e, "offset", as->run->reported);
	forge_show(c, e);
	return true;
}

const struct invariant inv_report_once = {
	.name = "report_once",
	.sentence = "what an agent reports is taken once, in the order in which it was written, "
		    "merged where it is too much, and all of it before its run ends",
	.event = report_event,
	.sabotage = report_sabotage,
};

/* ---- order_kept ---- */

static bool is_over(struct checker *c, const struct node *n)
{
	const struct node_book *b;

	if (!node_is_leaf(n)) {
		for (size_t i = 0; i < n->children.n; i++)
			if (!is_over(c, n->children.p[i]))
				return false;
		return true;
	}
	b = book_node(c, n->goal->id, n->id);
	return b && (b->status == NODE_DONE || b->status == NODE_CANCELLED);
}

/* The sibling before it where they are worked on one after another, by the plan alone; or NULL. */
static const struct node *sequential_before(const struct node *n)
{
	const struct node *found = NULL;

	if (n->parent ? !n->parent->def.sequential : !n->goal->sequential)
		return NULL;
	for (size_t i = 0; i < n->goal->nodes.n && n->goal->nodes.p[i] != n; i++)
		if (!n->goal->nodes.p[i]->def.removed_in &&
				n->goal->nodes.p[i]->parent == n->parent)
			found = n->goal->nodes.p[i];
	return found;
}

static void order_event(struct checker *c, const struct event *e)
{
	const struct node *n;

	if (e->kind != EV_ASSIGNMENT_CREATED)
		return;
	for (n = state_node(c->shadow, e->goal, e->node); n; n = n->parent) {
		const struct node *before = sequential_before(n);

		if (before && !is_over(c, before))
			sim_violated(c->s, inv_order_kept.name,
					EV_FMT ": " STR_FMT " comes after " STR_FMT
					       ", which is not finished",
					EV_ARG(e), STR_ARG(n->id), STR_ARG(before->id));
		for (size_t i = 0; i < n->def.deps.n; i++) {
			const struct node *d = state_node(c->shadow, e->goal, n->def.deps.p[i]);

			if (d && !is_over(c, d))
				sim_violated(c->s, inv_order_kept.name,
						EV_FMT ": " STR_FMT " depends on " STR_FMT
						       ", which is not finished",
						EV_ARG(e), STR_ARG(n->id), STR_ARG(d->id));
		}
	}
}

static bool order_sabotage(struct checker *c)
{
	for (size_t i = 0; i < c->node_list.n; i++) {
		struct node_book *b = c->node_list.p[i];
		const struct node *n = state_node(c->shadow, b->goal->id, b->id);

		if (!n || !node_is_leaf(n) || n->def.removed_in || n->def.deps.n == 0 ||
				node_is_ready(c->shadow, n))
			continue;
		forge_show(c, forge(c, EV_ASSIGNMENT_CREATED, b));
		return c->s->violated;
	}
	return false;
}

const struct invariant inv_order_kept = {
	.name = "order_kept",
	.sentence = "nobody is given a node before everything that it depends on, or that a "
		    "sequential "
		    "plan has before it, is finished",
	.event = order_event,
	.sabotage = order_sabotage,
};
