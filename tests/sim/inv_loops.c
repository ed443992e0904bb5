/*
 * Loops that were planted and loops that only look like one: the machine knows which run was a turn
 * of what, so what oversight makes of the same runs can be judged without asking it.
 */
#include "base/str.h"
#include "core/oversight/detect.h"
#include "core/policy/oversight_policy.h"
#include "tests/sim/check_impl.h"
#include "tests/sim/machine.h"

/* ---- the books of both ---- */

static void loop_forget(struct node_book *n)
{
	n->loop = (struct loop_book){ .pure = true, .from = n->iterations };
}

static void loops_renewed(struct checker *c, const struct event *e)
{
	const struct goal_book *g = book_goal(c, e->goal);

	for (size_t i = 0; i < c->node_list.n; i++) {
		struct node_book *n = c->node_list.p[i];

		if (n->goal == g && (!e->node.n || str_eq(n->id, e->node)))
			loop_forget(n);
	}
}

/* Was it judged as a turn of its loop is? Whatever else happened to it is a case of its own. */
static bool as_expected(enum machine_loop loop, const value *it)
{
	str class = value_str_at(it, "failure_class");

	switch (loop) {
	case LOOP_NONE: return false;
	case LOOP_HEALTHY: return !class.n || str_is(class, "check");
	case LOOP_STUCK: return str_is(class, "check") || str_is(class, "run");
	default: return str_is(class, "check");
	}
}

/*
 * Trees are the same again only where the assignment is, and every agent has its own way to crash.
 */
static bool goes_on(const struct loop_book *l, enum machine_loop loop, const struct event *e)
{
	const value *it = value_at(e->data, "iteration");
	bool same_place = loop != LOOP_SWAP && loop != LOOP_IDLE &&
			!str_is(value_str_at(it, "failure_class"), "run");

	return l->kind == (int)loop && (same_place || str_eq(l->assignment, e->assignment));
}

/* Somebody else may have been at its files: then it is back at nothing it had before. */
static bool is_back(const struct loop_book *l, enum machine_loop loop, str tree)
{
	if (loop == LOOP_SWAP)
		return l->turns < 2 || str_eq(tree, l->trees[1]);
	return loop != LOOP_IDLE || l->turns < 1 || str_eq(tree, l->trees[0]);
}

static void loop_turn(struct checker *c, const struct event *e, struct node_book *n)
{
	const value *it = value_at(e->data, "iteration");
	enum machine_loop loop = machine_loop_of(c->s->machine, e->run);
	struct loop_book *l = &n->loop;
	bool expected = as_expected(loop, it) && value_int_at(it, "number") == l->number + 1;

	if (!l->number)
		expected = as_expected(loop, it);
	if (!expected || !goes_on(l, loop, e) || !is_back(l, loop, value_str_at(it, "tree")))
		l->turns = 0;
	l->trees[1] = l->trees[0];
	l->trees[0] = arena_str(&c->kept, value_str_at(it, "tree"));
	l->turns += expected;
	l->kind = expected ? loop : LOOP_NONE;
	l->pure &= expected && loop == LOOP_HEALTHY;
	l->number = value_int_at(it, "number");
	l->assignment = book_as(c, e->assignment) ? book_as(c, e->assignment)->id : STR("");
	l->worse = str_is(value_str_at(it, "tests"), "failing") && l->good;
	l->good = str_is(value_str_at(it, "tests"), "passing");
	l->due = true;
}

static void loop_answered(struct checker *c, const struct event *e, struct node_book *n)
{
	int level = event_status(e, "level", &levels);

	if (n && c->found_type >= 0)
		n->loop.answer[c->found_type] = MAX(n->loop.answer[c->found_type], level);
}

/* ---- loops_broken ---- */

static int64_t estimated(struct checker *c, const struct node_book *n)
{
	const struct goal *g = state_goal(c->shadow, n->goal->id);

	if (g && g->leaves == 1 && g->estimate[RES_ITERATIONS])
		return g->estimate[RES_ITERATIONS];
	return c->s->config->policy.estimate[RES_ITERATIONS];
}

struct need {
	enum detector type;
	enum severity severity; /* SEVERITY_NONE: not yet */
};

static enum severity by_count(int64_t n, int64_t high, int64_t critical)
{
	return n < high ? SEVERITY_NONE : n < critical ? SEVERITY_HIGH : SEVERITY_CRITICAL;
}

/* What so many turns of the loop must have led to. */
static struct need loop_need(struct checker *c, const struct node_book *n,
		const struct thresholds *t)
{
	const struct loop_book *l = &n->loop;
	int64_t known = estimated(c, n), estimate = MAX(known, (int64_t)1),
		burnt = (l->number - l->from) * 1000 / estimate;

	switch (l->kind) {
	case LOOP_STUCK:
	case LOOP_IDLE:
		return (struct need){ DETECT_STUCK,
			by_count(l->turns, t->same_error_count,
					MAX(t->same_error_count, t->critical_error_count)) };
	case LOOP_SWAP:
		return (struct need){ DETECT_OSCILLATION,
			l->turns >= MAX(t->undo_redo_cycles + 2, (int64_t)4) ? SEVERITY_HIGH
									     : SEVERITY_NONE };
	case LOOP_REGRESS:
		return (struct need){ DETECT_REGRESSION,
			!l->worse || l->turns < 2 ? SEVERITY_NONE : SEVERITY_CRITICAL };
	case LOOP_BURN:
		return (struct need){ DETECT_BURN,
			by_count(burnt, t->iteration_milli, t->burn_critical_milli) };
	default: return (struct need){ DETECT_STUCK, SEVERITY_NONE };
	}
}

static void loop_judge(struct checker *c, struct node_book *n)
{
	const struct node *real = state_node(c->shadow, n->goal->id, n->id);
	const struct loop_book *l = &n->loop;
	struct oversight o;
	struct need need;

	n->loop.due = false;
	if (!real || node_is_final(real) || real->goal->status == GOAL_CANCELLED)
		return;
	oversight_for(&c->s->config->policy, real->goal, real, &o);
	need = loop_need(c, n, &o.t);
	if (need.severity != SEVERITY_NONE &&
			l->answer[need.type] < (int)o.levels[need.type][need.severity] &&
			!(need.type == DETECT_BURN && l->answer[need.type] == LEVEL_PAUSE))
		sim_violated(c->s, inv_loops_broken.name,
				STR_FMT
				" went in circles for %lld turns by iteration %lld (kind %d), and "
				"%s of severity %s was answered with %s at most",
				STR_ARG(n->key), (long long)l->turns, (long long)l->number,
				(int)l->kind, status_name(&detectors, (int)need.type),
				status_name(&severities, (int)need.severity),
				status_name(&levels, l->answer[need.type]));
}

static void broken_event(struct checker *c, const struct event *e)
{
	struct node_book *n = book_node(c, e->goal, e->node);

	switch (e->kind) {
	case EV_OVERSIGHT_RENEWED: loops_renewed(c, e); break;
	case EV_NODE_STATUS: /* of what is over nothing is kept to look back at */
		if (n &&
				(str_is(value_str_at(e->data, "to"), "done") ||
						str_is(value_str_at(e->data, "to"), "cancelled")))
			loop_forget(n);
		break;
	case EV_DETECTION_MADE:
		c->found_type = status_parse(&detectors,
				value_str_at(value_at(e->data, "detection"), "type"));
		c->found_wide = !e->node.n;
		break;
	case EV_INTERVENTION_APPLIED: loop_answered(c, e, n); break;
	case EV_ITERATION_RECORDED:
		if (n)
			loop_turn(c, e, n);
		break;
	default: break;
	}
}

/* When the whole transaction was seen. */
static void broken_step(struct checker *c)
{
	for (size_t i = 0; c->news && i < c->node_list.n; i++)
		if (c->node_list.p[i]->loop.due)
			loop_judge(c, c->node_list.p[i]);
}

/* What was done about one is forgotten. */
static bool broken_sabotage(struct checker *c)
{
	for (size_t i = 0; i < c->node_list.n; i++) {
		struct loop_book *l = &c->node_list.p[i]->loop;

		if (l->kind != LOOP_STUCK || l->turns < 3 || l->answer[DETECT_STUCK] == LEVEL_NONE)
			continue;
		l->answer[DETECT_STUCK] = LEVEL_NONE;
		l->due = true;
		c->news++;
		return true;
	}
	return false;
}

const struct invariant inv_loops_broken = {
	.name = "loops_broken",
	.sentence = "a loop is answered, as the configuration says, with the turn that reaches a "
		    "threshold",
	.event = broken_event,
	.step = broken_step,
	.sabotage = broken_sabotage,
};

/* ---- healthy_left_alone ---- */

static bool has_burnt(struct checker *c, const struct node_book *n)
{
	const struct oversight *o = &c->s->config->policy.oversight;

	return (n->loop.number - n->loop.from) * 1000 >= estimated(c, n) * o->t.iteration_milli;
}

static void healthy_event(struct checker *c, const struct event *e)
{
	const struct node_book *n = book_node(c, e->goal, e->node);
	int level = e->kind == EV_INTERVENTION_APPLIED ? event_status(e, "level", &levels) : -1;

	/* Money is the goal's: others may have spent it. */
	if (c->found_wide)
		return;
	if (!n || level < LEVEL_REDIRECT || n->loop.kind != LOOP_HEALTHY || !n->loop.pure ||
			has_burnt(c, n))
		return;
	sim_violated(c->s, inv_healthy_left_alone.name,
			EV_FMT ": after %lld turns that only take long: " STR_FMT, EV_ARG(e),
			(long long)n->loop.turns, STR_ARG(value_str_at(e->data, "reason")));
}

static bool healthy_sabotage(struct checker *c)
{
	for (size_t i = 0; i < c->node_list.n; i++) {
		const struct node_book *n = c->node_list.p[i];
		struct event *e;

		if (n->loop.kind != LOOP_HEALTHY || !n->loop.pure || has_burnt(c, n))
			continue;
		c->found_wide = false;
		e = forge(c, EV_INTERVENTION_APPLIED, n);
		forge_text(c, e, "level", STR("pause"));
		forge_text(c, e, "reason", STR("it was broken on purpose"));
		forge_show(c, e);
		return true;
	}
	return false;
}

const struct invariant inv_healthy_left_alone = {
	.name = "healthy_left_alone",
	.sentence = "work that only takes long is not redirected, paused or aborted",
	.event = healthy_event,
	.sabotage = healthy_sabotage,
};
