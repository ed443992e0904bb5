/* Goals as wholes: they get on, they end, and rest when they shall. */
#include "base/str.h"
#include "tests/next_step.h"
#include "tests/sim/check_impl.h"

/* ---- next_step ---- */

/* So long a tick may need to see what happened. */
#define TICK_PATIENCE (5 * OV_SECOND)
#define STEPS_EVERY (5 * OV_MINUTE)

static void step_lost(struct checker *c, const struct node *n)
{
	struct node_book *b = book_node(c, n->goal->id, n->id);
	const struct assignment *as = n->assignment;

	if (!b->lost) {
		b->lost = true;
		b->lost_at = c->s->t;
	}
	c->steps_t = c->s->t + TICK_PATIENCE;
	c->steps_lost = true;
	if (c->s->t - b->lost_at < TICK_PATIENCE)
		return;
	sim_violated(c->s, inv_next_step.name,
			STR_FMT
			" is %s, and nobody goes on with it since %lld s (assignment %s, %s, "
			"episode %d, escalated %d, %s, by " STR_FMT ")",
			STR_ARG(n->key), status_name(&node_statuses, (int)n->status),
			(long long)((c->s->t - b->lost_at) / OV_SECOND),
			as ? status_name(&as_statuses, (int)as->status) : "none",
			as ? status_name(&stages, (int)as->stage) : "", n->stall.open,
			(int)n->stall.rungs[RUNG_ESCALATE],
			status_name(&block_kinds, (int)n->block.kind), STR_ARG(n->block.by));
}

/* A moment that has passed is no step any more. */
static bool timer_is_over(const struct checker *c, const struct node *n)
{
	return n->status == NODE_BLOCKED && n->block.until && n->block.until < sim_now(c->s);
}

/* On the state that the log gives, which is the daemon's. */
static void steps_look(struct checker *c)
{
	enum { TODO_EVERY = 8 };
	/* Whether all of its dependencies are met costs more to say than anything else. */
	bool again = c->steps_lost, todo = again || c->steps_looks++ % TODO_EVERY == 0;

	c->steps_lost = false;
	for (size_t i = 0; i < c->shadow->goals.n; i++) {
		const struct goal *g = c->shadow->goals.p[i];

		for (size_t k = 0; g->status == GOAL_ACTIVE && k < g->nodes.n; k++) {
			const struct node *n = g->nodes.p[k];

			if (!node_is_leaf(n) || n->def.removed_in || node_is_final(n) ||
					(n->status == NODE_TODO && !todo))
				continue;
			if (!next_step(c->shadow, n) || timer_is_over(c, n))
				step_lost(c, n);
			else if (again)
				book_node(c, g->id, n->id)->lost = false;
		}
	}
}

static void steps_step(struct checker *c)
{
	/* One that cannot go on leaves everything to the next one. */
	if (!c->state || c->shadow->failing.n || c->shadow_failed || c->s->t < c->steps_t ||
			(c->seen == c->steps_seq && !c->steps_lost))
		return;
	c->steps_seq = c->seen;
	c->steps_t = c->s->t + STEPS_EVERY;
	steps_look(c);
}

/* While nobody was up, nobody could go on with anything. */
static void steps_restart(struct checker *c)
{
	for (size_t i = 0; i < c->node_list.n; i++)
		c->node_list.p[i]->lost = false;
	c->steps_lost = false;
	c->steps_t = c->s->t + STEPS_EVERY;
}

static bool steps_sabotage(struct checker *c)
{
	struct node_book *b = some_node(c, NODE_IN_PROGRESS);
	struct node *n = b ? state_node(c->shadow, b->goal->id, b->id) : NULL;

	if (!n || !n->assignment || n->assignment->effect || !c->state || c->shadow->outage_since)
		return false;
	n->assignment->stage = STAGE_NONE;
	if (next_step(c->shadow, n))
		return false;
	b->lost = true;
	b->lost_at = c->s->t - OV_DAY;
	c->steps_t = 0;
	c->steps_lost = true;
	return true;
}

const struct invariant inv_next_step = {
	.name = "next_step",
	.sentence = "every open item has a next step, or somebody knows of it",
	.step = steps_step,
	.restart = steps_restart,
	.sabotage = steps_sabotage,
};

/* ---- goals_end ---- */

static bool person_has(struct checker *c, const struct goal *g, const struct node *n)
{
	for (size_t i = 0; i < c->escalations.n; i++) {
		const struct escalation_book *x = c->escalations.p[i];

		if (x->open &&
				(!x->goal.n ||
						(str_eq(x->goal, g->id) &&
								(!x->node.n || !n ||
										str_eq(x->node, n->id)))))
			return true;
	}
	return n && str_starts(n->block.by, STR("human:"));
}

/* Nobody's turn to be accepted comes before a person has answered. */
static bool queue_is_held(struct checker *c)
{
	list_each (it, &c->shadow->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (stage_is_accepting(as->stage) && person_has(c, as->node->goal, as->node))
			return true;
	}
	return false;
}

/* It waits for a worker, or its turn, and those who have it wait for a person. */
static bool waits_behind_person(struct checker *c, const struct node *n)
{
	bool held = queue_is_held(c);
	size_t busy = 0;

	if (n->assignment && n->assignment->stage == STAGE_REBASE)
		return held;
	if (n->status != NODE_QUEUED || n->assignment)
		return false;
	list_each (it, &c->shadow->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (as->stage == STAGE_NONE || (held && as->stage == STAGE_REBASE))
			continue;
		if (!person_has(c, as->node->goal, as->node))
			return false;
		busy++;
	}
	return busy > 0;
}

static void goal_has_ended(struct checker *c, const struct goal_book *b)
{
	const struct goal *g = state_goal(c->shadow, b->id);
	size_t open = 0;

	if (b->status == GOAL_PAUSED ? b->by_person : b->status != GOAL_ACTIVE)
		return;
	for (size_t i = 0; g && i < g->nodes.n; i++) {
		const struct node *n = g->nodes.p[i];

		if (!node_is_leaf(n) || n->def.removed_in || node_is_final(n))
			continue;
		open++;
		if (!person_has(c, g, n) && !waits_behind_person(c, n) &&
				(n->status != NODE_TODO || node_is_ready(c->shadow, n)))
			sim_violated(c->s, inv_goals_end.name,
					STR_FMT
					" is %s, %lld hours after all faults, and no person has "
					"it",
					STR_ARG(n->key),
					status_name(&node_statuses, (int)n->status),
					(long long)((c->s->t - c->s->setup.quiet_at) / OV_HOUR));
	}
	if (!open && !(g && g->standing.n) && !(g && person_has(c, g, NULL)))
		sim_violated(c->s, inv_goals_end.name,
				"goal " STR_FMT " has nothing left to do, and is %s",
				STR_ARG(b->id), status_name(&goal_statuses, (int)b->status));
}

static void goals_end(struct checker *c)
{
	for (size_t i = 0; i < c->goal_list.n; i++)
		goal_has_ended(c, c->goal_list.p[i]);
}

/* One that has ended is taken for one that has not. */
static bool goals_sabotage(struct checker *c)
{
	for (size_t i = 0; sim_quiet(c->s) && i < c->goal_list.n; i++)
		if (c->goal_list.p[i]->status == GOAL_COMPLETED) {
			c->goal_list.p[i]->status = GOAL_ACTIVE;
			return true;
		}
	return false;
}

const struct invariant inv_goals_end = {
	.name = "goals_end",
	.sentence = "once faults stop every goal ends, or is with a person, within bounded time",
	.end = goals_end,
	.sabotage = goals_sabotage,
};

/* ---- paused_is_paused ---- */

static void paused_event(struct checker *c, const struct event *e)
{
	const struct goal_book *g = book_goal(c, e->goal);
	int kind;

	if (!g || g->status == GOAL_ACTIVE)
		return;
	kind = e->kind == EV_EFFECT_INTENDED ? event_status(e, "kind", &effect_kinds) : -1;
	if (e->kind == EV_ASSIGNMENT_CREATED || e->kind == EV_RUN_CREATED || kind == FX_WORKSPACE ||
			kind == FX_RUN_START || kind == FX_REBASE || kind == FX_PLAN ||
			kind == FX_POOL)
		sim_violated(c->s, inv_paused_is_paused.name,
				EV_FMT ": begun, though the goal is %s", EV_ARG(e),
				status_name(&goal_statuses, (int)g->status));
}

static bool paused_sabotage(struct checker *c)
{
	for (size_t i = 0; i < c->node_list.n; i++)
		if (c->node_list.p[i]->goal->status != GOAL_ACTIVE) {
			forge_show(c, forge(c, EV_RUN_CREATED, c->node_list.p[i]));
			return true;
		}
	return false;
}

const struct invariant inv_paused_is_paused = {
	.name = "paused_is_paused",
	.sentence = "nothing new begins in a goal that is paused or over, also after a restart",
	.event = paused_event,
	.sabotage = paused_sabotage,
};

/* ---- over_is_over ---- */

/* A node that was settled without its run has that run stopped, or it has ended by itself. */
static void over_look(struct checker *c)
{
	for (size_t i = 0; i < c->live.n; i++) {
		const struct as_book *as = c->live.p[i];
		const struct node_book *n = as->node;

		if ((n->status == NODE_CANCELLED || n->status == NODE_DONE) &&
				as->status != AS_CANCELLED && as->status != AS_DONE)
			sim_violated(c->s, inv_over_is_over.name,
					STR_FMT " is %s, and its assignment " STR_FMT
						" goes on as %s",
					STR_ARG(n->key),
					status_name(&node_statuses, (int)n->status),
					STR_ARG(as->id),
					status_name(&as_statuses, (int)as->status));
	}
}

static void over_step(struct checker *c)
{
	if (c->news || c->victim == &inv_over_is_over)
		over_look(c);
}

static bool over_sabotage(struct checker *c)
{
	struct as_book *as = some_live(c, true);

	if (!as || (as->status != AS_ACTIVE && as->status != AS_STALLED))
		return false;
	as->node->status = NODE_CANCELLED;
	return true;
}

const struct invariant inv_over_is_over = {
	.name = "over_is_over",
	.sentence = "whoever works on a node that is done or cancelled by now is told to end",
	.step = over_step,
	.sabotage = over_sabotage,
};

/* ---- idle_is_idle ---- */

/*
 * Nothing is to be done by anybody but people who have been asked, and nothing is to be waited for.
 */
static bool is_idle(const struct state *s)
{
	if (!list_empty(&s->ready) || !list_empty(&s->queued) || !list_empty(&s->waiting) ||
			!list_empty(&s->effects) || s->outage_since || s->automatic.on)
		return false;
	list_each (it, &s->live)
		if (list_entry(it, struct assignment, link)->stage != STAGE_NONE ||
				list_entry(it, struct assignment, link)->status == AS_STALLED)
			return false;
	for (size_t i = 0; i < s->escalations.n; i++)
		if (s->escalations.p[i]->status == ESC_OPEN)
			return false;
	return true;
}

static void idle_step(struct checker *c)
{
	enum { WAKES = 8 };

	if (!c->up || !c->state || c->idle_seq != c->seen || c->idle_life != c->up->life) {
		c->idle = c->state && is_idle(c->state);
		c->idle_seq = c->seen;
		c->idle_life = c->up ? c->up->life : 0;
		c->idle_wakes = c->up ? c->up->wakes : 0;
	}
	if (c->idle && c->up && c->up->wakes > c->idle_wakes + WAKES)
		sim_violated(c->s, inv_idle_is_idle.name,
				"daemon %d has nothing to do since event %llu and woke up %llu "
				"times",
				c->up->life, (unsigned long long)c->seen,
				(unsigned long long)(c->up->wakes - c->idle_wakes));
}

static bool idle_sabotage(struct checker *c)
{
	if (!c->idle || !c->up || c->idle_seq != c->seen)
		return false;
	c->up->wakes += 100;
	return true;
}

const struct invariant inv_idle_is_idle = {
	.name = "idle_is_idle",
	.sentence = "with nothing to do and nothing to wait for, nobody wakes up",
	.step = idle_step,
	.sabotage = idle_sabotage,
};
