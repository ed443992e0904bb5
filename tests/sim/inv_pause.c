/*
 * What oversight has stopped stays so until a person has a say, and how a goal fares is told truly.
 */
#include "base/str.h"
#include "tests/sim/check_impl.h"
#include "tests/sim/machine.h"

/* ---- stopped_stays ---- */

static void stopped_goal(struct checker *c, const struct event *e, struct goal_book *g)
{
	int to = event_status(e, "to", &goal_statuses);

	if (g->held && to == GOAL_ACTIVE && !by_person(e))
		sim_violated(c->s, inv_stopped_stays.name,
				EV_FMT " by " STR_FMT ": oversight has %s it, and no person let it "
				       "go on",
				EV_ARG(e), STR_ARG(e->actor), g->aborted ? "aborted" : "paused");
	g->aborted = to == GOAL_PAUSED && str_is(value_str_at(e->data, "health"), "aborted");
	g->held = to == GOAL_PAUSED && (!by_person(e) || g->aborted);
}

/* One that a new plan leaves out does not go on. */
static void stopped_node(struct checker *c, const struct event *e, struct node_book *n)
{
	int to = event_status(e, "to", &node_statuses);

	if (n->held && to != NODE_BLOCKED && to != NODE_CANCELLED && !by_person(e))
		sim_violated(c->s, inv_stopped_stays.name,
				EV_FMT " by " STR_FMT ": oversight has paused it, and no person "
				       "let it go on",
				EV_ARG(e), STR_ARG(e->actor));
	n->held = to == NODE_BLOCKED && !by_person(e) &&
			str_is(value_str_at(e->data, "block"), "paused");
}

static void stopped_event(struct checker *c, const struct event *e)
{
	struct goal_book *g = book_goal(c, e->goal);
	struct node_book *n = book_node(c, e->goal, e->node);

	if (e->kind == EV_GOAL_STATUS && g)
		stopped_goal(c, e, g);
	else if (e->kind == EV_INTERVENTION_APPLIED && value_int_at(e->data, "escalation") &&
			value_bool_at(e->data, "goal_wide") && g && g->status != GOAL_PAUSED)
		sim_violated(c->s, inv_stopped_stays.name,
				EV_FMT ": said to have stopped the goal, which is %s", EV_ARG(e),
				status_name(&goal_statuses, (int)g->status));
	else if (e->kind == EV_NODE_STATUS && n)
		stopped_node(c, e, n);
}

/*
 * Whoever is at work in an aborted goal is told to end. Of a blocked task's run that is so already.
 */
static void stopped_step(struct checker *c)
{
	for (size_t i = 0; c->news && i < c->live.n; i++) {
		const struct as_book *as = c->live.p[i];

		if (as->node->goal->aborted && as->stage == STAGE_RUNNING && !as->stopping &&
				as->status != AS_CANCELLED && as->status != AS_DONE &&
				as->status != AS_BLOCKED)
			sim_violated(c->s, inv_stopped_stays.name,
					"the goal of " STR_FMT
					" is aborted, and assignment " STR_FMT " works on",
					STR_ARG(as->node->key), STR_ARG(as->id));
	}
}

static bool stopped_sabotage(struct checker *c)
{
	for (size_t i = 0; i < c->goal_list.n; i++) {
		struct event *e;

		if (!c->goal_list.p[i]->held)
			continue;
		e = forge(c, EV_GOAL_STATUS, NULL);
		e->goal = c->goal_list.p[i]->id;
		forge_text(c, e, "to", STR("active"));
		forge_show(c, e);
		return true;
	}
	return false;
}

const struct invariant inv_stopped_stays = {
	.name = "stopped_stays",
	.sentence = "what oversight has paused or aborted goes on by a person's word alone, and "
		    "who works in an aborted goal is told to end",
	.event = stopped_event,
	.step = stopped_step,
	.sabotage = stopped_sabotage,
};

/* ---- health_true ---- */

/* So long it may take until it is told. */
#define TOLD_WITHIN (10 * OV_MINUTE)

static void alarm_over(struct checker *c, const struct event *e)
{
	for (size_t i = 0; i < c->node_list.n; i++)
		if (str_eq(c->node_list.p[i]->goal->id, e->goal) &&
				(!e->node.n || str_eq(c->node_list.p[i]->id, e->node)))
			c->node_list.p[i]->alarm = SEVERITY_NONE;
}

static void health_event(struct checker *c, const struct event *e)
{
	struct goal_book *g = book_goal(c, e->goal);
	struct node_book *n = book_node(c, e->goal, e->node);
	int severity;

	switch (e->kind) {
	case EV_GOAL_BUDGET:
		if (g)
			g->budget_level = event_status(e, "level", &budget_levels);
		break;
	case EV_OVERSIGHT_RENEWED: alarm_over(c, e); break;
	case EV_GOAL_STATUS:
		/* One that had ended begins anew: its budget is judged anew. */
		if (g && str_is(value_str_at(e->data, "from"), "completed"))
			g->budget_level = BUDGET_FINE;
		break;
	case EV_NODE_STATUS:
		if (n &&
				(str_is(value_str_at(e->data, "to"), "done") ||
						str_is(value_str_at(e->data, "to"), "cancelled")))
			n->alarm = SEVERITY_NONE;
		break;
	case EV_ITERATION_RECORDED:
	case EV_DETECTION_MADE:
		severity = status_parse(&severities,
				e->kind == EV_ITERATION_RECORDED
						? value_str_at(e->data, "alarm")
						: value_str_at(value_at(e->data, "detection"),
								  "severity"));
		if (n && e->kind == EV_ITERATION_RECORDED)
			n->alarm = SEVERITY_NONE;
		if (n)
			n->alarm = MAX(n->alarm, severity);
		break;
	default: break;
	}
}

static enum goal_health health_expected(struct checker *c, const struct goal_book *g)
{
	int severity = SEVERITY_NONE;
	enum goal_health worst = g->budget_level == BUDGET_SPENT ? HEALTH_CRITICAL
			: g->budget_level == BUDGET_WARNED       ? HEALTH_WARNING
								 : HEALTH_HEALTHY;

	if (g->status == GOAL_PAUSED)
		return g->aborted ? HEALTH_ABORTED : HEALTH_PAUSED;
	for (size_t i = 0; i < c->node_list.n; i++) {
		const struct node_book *n = c->node_list.p[i];
		const struct node *real = n->goal == g && n->alarm > severity
				? state_node(c->shadow, g->id, n->id)
				: NULL;

		if (real && !real->def.removed_in && !node_is_final(real))
			severity = n->alarm;
	}
	if (severity == SEVERITY_CRITICAL)
		return HEALTH_CRITICAL;
	return severity >= SEVERITY_MEDIUM ? MAX(worst, HEALTH_WARNING) : worst;
}

static void health_step(struct checker *c)
{
	for (size_t i = 0; c->state && c->s->t >= c->health_t && i < c->goal_list.n; i++) {
		struct goal_book *g = c->goal_list.p[i];
		const struct goal *real = state_goal(c->shadow, g->id);
		enum goal_health told;

		if (!real || (g->status != GOAL_ACTIVE && g->status != GOAL_PAUSED))
			continue;
		told = g->lies ? HEALTH_ABORTED : real->health;
		if (told == health_expected(c, g)) {
			g->unwell_t = 0;
		} else if (!g->unwell_t) {
			g->unwell_t = c->s->t;
		} else if (c->s->t - g->unwell_t > TOLD_WITHIN) {
			sim_violated(c->s, inv_health_true.name,
					"goal " STR_FMT " is said to be %s, and is %s",
					STR_ARG(g->id), status_name(&goal_healths, (int)told),
					status_name(&goal_healths, (int)health_expected(c, g)));
		}
	}
	if (c->state && c->s->t >= c->health_t)
		c->health_t = c->s->t + TOLD_WITHIN / 4;
}

/* While nobody was up nobody could tell. */
static void health_restart(struct checker *c)
{
	for (size_t i = 0; i < c->goal_list.n; i++)
		c->goal_list.p[i]->unwell_t = 0;
}

static bool health_sabotage(struct checker *c)
{
	if (!c->goal_list.n || c->goal_list.p[0]->status != GOAL_ACTIVE)
		return false;
	c->goal_list.p[0]->lies = true;
	return true;
}

const struct invariant inv_health_true = {
	.name = "health_true",
	.sentence = "the health of a goal is what its budget and its newest iterations say, or "
		    "that it was stopped",
	.event = health_event,
	.step = health_step,
	.restart = health_restart,
	.sabotage = health_sabotage,
};

/* ---- held_goes_on ---- */

static void held_event(struct checker *c, const struct event *e)
{
	const struct run *r = state_run(c->shadow, e->run);

	if (e->kind == EV_EPISODE_OPENED && r && r->frozen)
		sim_violated(c->s, inv_held_goes_on.name,
				EV_FMT ": called stalled, though it is we who hold it", EV_ARG(e));
}

/* With a daemon up that could see to it. */
static void held_step(struct checker *c)
{
	for (size_t i = 0; c->state && i < c->live.n; i++) {
		struct run_book *r = c->live.p[i]->run;
		bool held = r && (machine_held_since(c->s->machine, r->id) || c->held_always) &&
				c->live.p[i]->node->goal->status == GOAL_ACTIVE;

		if (!r)
			continue;
		if (!held || !r->held_t)
			r->held_t = held ? c->s->t : 0;
		else if (c->s->t - r->held_t > TOLD_WITHIN)
			sim_violated(c->s, inv_held_goes_on.name,
					"run " STR_FMT " is held, and its goal is active",
					STR_ARG(r->id));
	}
}

static void held_restart(struct checker *c)
{
	for (size_t i = 0; i < c->live.n; i++)
		if (c->live.p[i]->run)
			c->live.p[i]->run->held_t = 0;
}

static bool held_sabotage(struct checker *c)
{
	c->held_always = some_live(c, true) != NULL;
	return c->held_always;
}

const struct invariant inv_held_goes_on = {
	.name = "held_goes_on",
	.sentence = "a run that is held while its goal is paused is not called stalled, and goes "
		    "on when the goal does",
	.event = held_event,
	.step = held_step,
	.restart = held_restart,
	.sabotage = held_sabotage,
};
