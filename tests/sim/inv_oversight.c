/* Oversight: each run is looked at once, each pattern answered once, and what is said is heard. */
#include "base/str.h"
#include "core/model/limits.h"
#include "tests/sim/check_impl.h"

/* ---- iterations_counted ---- */

static bool is_judgement(const struct event *e)
{
	static const char *const of_work[] = { "run", "no_changes", "check", "gate",
		"post_accept" };
	str word;

	if (e->kind == EV_RUN_VERIFIED) {
		word = value_str_at(e->data, "verdict");
		return str_is(word, "passed") || str_is(word, "skipped");
	}
	if (e->kind == EV_RUN_CONTINUED)
		return value_bool_at(e->data, "changed");
	word = value_str_at(e->data, "cause");
	for (size_t i = 0; e->kind == EV_NODE_FAILED && i < ARRAY_LEN(of_work); i++)
		if (str_is(word, of_work[i]))
			return true;
	return false;
}

/* The number that it must have: its own again, or the next one of its node. */
static void counted_iteration(struct checker *c, const struct event *e)
{
	struct run_book *r = book_run(c, e->run);
	struct node_book *n = book_node(c, e->goal, e->node);
	int64_t number = value_int_at(value_at(e->data, "iteration"), "number");

	if (!r || !n || !r->judged) {
		sim_violated(c->s, inv_iterations_counted.name,
				EV_FMT ": iteration %lld of a run that nobody has judged",
				EV_ARG(e), (long long)number);
		return;
	}
	if (number !=
			(r->iteration && r->iteration == n->iterations ? r->iteration
								       : n->iterations + 1))
		sim_violated(c->s, inv_iterations_counted.name,
				EV_FMT ": number %lld, after %lld of the node and %lld of the run",
				EV_ARG(e), (long long)number, (long long)n->iterations,
				(long long)r->iteration);
	r->judged = false;
	r->iteration = n->iterations = number;
}

static bool awaits_review(const struct checker *c, const struct goal_book *g)
{
	for (size_t i = 0; i < c->as_list.n; i++) {
		const struct as_book *as = c->as_list.p[i];

		if (as->node->goal == g && as->run && as->run->judged)
			return true;
	}
	return false;
}

static void counted_event(struct checker *c, const struct event *e)
{
	struct run_book *r = book_run(c, e->run);

	if (e->kind == EV_ITERATION_RECORDED)
		counted_iteration(c, e);
	else if (r && r->status == RUN_ENDED && is_judgement(e))
		r->judged = true;
	else if ((e->kind == EV_RUN_CREATED || e->kind == EV_ASSIGNMENT_CREATED) &&
			str_is(e->actor, "overseer") && book_goal(c, e->goal) &&
			awaits_review(c, book_goal(c, e->goal)))
		sim_violated(c->s, inv_iterations_counted.name,
				EV_FMT ": begun before a judged run of the goal was looked at",
				EV_ARG(e));
}

static void counted_end(struct checker *c)
{
	for (size_t i = 0; c->up && c->s->over && i < c->as_list.n; i++) {
		const struct as_book *as = c->as_list.p[i];

		if (as->run && as->run->judged && state_goal(c->shadow, as->node->goal->id))
			sim_violated(c->s, inv_iterations_counted.name,
					"run " STR_FMT " of " STR_FMT
					" was judged, and never became an iteration",
					STR_ARG(as->run->id), STR_ARG(as->node->key));
	}
}

static bool counted_sabotage(struct checker *c)
{
	for (size_t i = 0; i < c->as_list.n; i++) {
		struct as_book *as = c->as_list.p[i];
		struct event *e;
		value *it;

		if (!as->run || !as->run->judged || as->node->as != as)
			continue;
		e = forge(c, EV_ITERATION_RECORDED, as->node);
		it = value_object(&c->scratch);
		value_put(&c->scratch, it, "number",
				value_int(&c->scratch, as->node->iterations + 2));
		value_put(&c->scratch, e->data, "iteration", it);
		forge_show(c, e);
		return true;
	}
	return false;
}

const struct invariant inv_iterations_counted = {
	.name = "iterations_counted",
	.sentence = "every judged run becomes an iteration, numbered without a gap, before "
		    "anything new begins in its goal",
	.event = counted_event,
	.end = counted_end,
	.sabotage = counted_sabotage,
};

/* ---- answered_once ---- */

static str answer_key(struct checker *c, const struct event *e)
{
	const value *d = value_at(e->data, "detection");

	return arena_printf(&c->kept, STR_FMT " " STR_FMT " " STR_FMT, STR_ARG(e->goal),
			STR_ARG(value_str_at(d, "fingerprint")),
			STR_ARG(value_str_at(d, "severity")));
}

static void answered_event(struct checker *c, const struct event *e)
{
	str key;

	if (e->kind != EV_DETECTION_MADE)
		return;
	key = answer_key(c, e);
	if (map_get(&c->answered, key))
		sim_violated(c->s, inv_answered_once.name,
				EV_FMT ": found and answered before: " STR_FMT, EV_ARG(e),
				STR_ARG(key));
	map_put(&c->answered, key, (void *)(uintptr_t)e->seq);
	c->answered_last = key;
}

/* The last one is made once more. */
static bool answered_sabotage(struct checker *c)
{
	struct event *e;
	value *d;
	str rest = c->answered_last, goal, fingerprint;

	if (!rest.n || !str_split(&rest, ' ', &goal) || !str_split(&rest, ' ', &fingerprint))
		return false;
	e = forge(c, EV_DETECTION_MADE, NULL);
	e->goal = goal;
	d = value_object(&c->scratch);
	value_put(&c->scratch, d, "fingerprint", value_str(&c->scratch, fingerprint));
	value_put(&c->scratch, d, "severity", value_str(&c->scratch, rest));
	value_put(&c->scratch, e->data, "detection", d);
	forge_show(c, e);
	return true;
}

const struct invariant inv_answered_once = {
	.name = "answered_once",
	.sentence = "a pattern is answered once per fingerprint and severity",
	.event = answered_event,
	.sabotage = answered_sabotage,
};

/* ---- guidance_heard ---- */

static size_t times_in(str text, str what)
{
	size_t n = 0, at;

	while ((at = str_find(text, what)) < text.n) {
		text = str_sub(text, at + what.n, text.n);
		n++;
	}
	return n;
}

static bool is_pending(const struct node_book *n, str text)
{
	for (size_t i = 0; i < n->guidance.n; i++)
		if (str_eq(n->guidance.p[i], text))
			return true;
	return false;
}

/* Texts that were said together and are too long for one note are left out by the fold. */
static void guidance_said(struct checker *c, const struct event *e, struct node_book *n)
{
	str text = value_str_at(e->data, "text");
	size_t all = 0;

	for (size_t i = 0; i < n->guidance.n; i++)
		all += n->guidance.p[i].n + 2;
	if (!text.n || all + text.n > LIMIT_NOTE)
		return;
	vec_push(&n->guidance, arena_str(&c->kept, text));
	vec_push(&n->guidance_of, arena_str(&c->kept, e->run));
}

static void guidance_given(struct checker *c, const struct event *e, const struct node_book *n)
{
	str text = value_str_at(e->data, "instruction"), mode = value_str_at(e->data, "mode");

	if (!str_is(mode, "spawn") && !str_is(mode, "resume"))
		return;
	for (size_t i = 0; i < n->guidance.n; i++)
		if (times_in(text, n->guidance.p[i]) != 1)
			sim_violated(c->s, inv_guidance_heard.name,
					EV_FMT ": what oversight says is in the instruction %zu "
					       "times: " STR_FMT,
					EV_ARG(e), times_in(text, n->guidance.p[i]),
					STR_ARG(n->guidance.p[i]));
	if (n->guided.n && !is_pending(n, n->guided) && times_in(text, n->guided))
		sim_violated(c->s, inv_guidance_heard.name,
				EV_FMT
				": what oversight said of an earlier run is still said: " STR_FMT,
				EV_ARG(e), STR_ARG(n->guided));
}

/* What was found in the run that is judged now, nobody was told yet. */
static void guidance_over(struct node_book *n, str run)
{
	for (size_t i = n->guidance.n; i-- > 0;) {
		if (str_eq(n->guidance_of.p[i], run))
			continue;
		n->guided = n->guidance.p[i];
		vec_remove(&n->guidance, i);
		vec_remove(&n->guidance_of, i);
	}
}

static void guidance_event(struct checker *c, const struct event *e)
{
	struct node_book *n = book_node(c, e->goal, e->node);

	if (!n)
		return;
	if (e->kind == EV_INTERVENTION_APPLIED)
		guidance_said(c, e, n);
	else if (e->kind == EV_DISPATCH_INTENDED)
		guidance_given(c, e, n);
	/* A node that is over has no next instruction, and what is opened again begins anew. */
	if (e->kind == EV_NODE_STATUS &&
			(str_is(value_str_at(e->data, "to"), "done") ||
					str_is(value_str_at(e->data, "to"), "cancelled"))) {
		vec_clear(&n->guidance);
		vec_clear(&n->guidance_of);
	}
	if (e->kind == EV_ITERATION_RECORDED)
		guidance_over(n, e->run);
}

static bool guidance_sabotage(struct checker *c)
{
	for (size_t i = 0; i < c->node_list.n; i++) {
		struct event *e;

		if (!c->node_list.p[i]->guidance.n)
			continue;
		e = forge(c, EV_DISPATCH_INTENDED, c->node_list.p[i]);
		forge_text(c, e, "mode", STR("spawn"));
		forge_text(c, e, "instruction", STR("do it as you like"));
		forge_show(c, e);
		return true;
	}
	return false;
}

const struct invariant inv_guidance_heard = {
	.name = "guidance_heard",
	.sentence = "what oversight says is in every instruction of the node until its next "
		    "iteration, once, and in none after that",
	.event = guidance_event,
	.sabotage = guidance_sabotage,
};
