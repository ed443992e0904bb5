/*
 * What needs a person, and what people make of it: they answer with one of the options, in their
 * own words, with nonsense, twice, or close it. When all is quiet they come to an end with
 * everything: what they paused goes on, what nothing helps is given up.
 */
#include "base/arena.h"
#include "base/str.h"
#include "tests/sim/person_impl.h"

/* After so many answers about the same work somebody loses hope. */
enum { HOPE = 3 };

static size_t times_answered(struct people *p, str key)
{
	size_t n = (size_t)(uintptr_t)map_get(&p->answered, key);

	/* Who slept meanwhile wants to have all of it. */
	if (p->s->o.night)
		return 0;
	map_put(&p->answered, arena_str(&p->keys, key), (void *)(uintptr_t)(n + 1));
	return n;
}

struct looking {
	struct people *p;
	int who;
	struct arena *a;
	const value *x; /* the escalation */
};

static bool odds(const struct looking *k, unsigned per_mille)
{
	return sim_odds(k->p->s, RNG_PERSON, per_mille);
}

static bool is_kind(const struct looking *k, const char *kind)
{
	return str_is(value_str_at(k->x, "kind"), kind);
}

static value *about_entry(struct looking *k)
{
	value *params = value_object(k->a);

	value_put(k->a, params, "number", value_int(k->a, value_int_at(k->x, "number")));
	return params;
}

static void answer(struct looking *k, str text)
{
	value *params = about_entry(k);

	value_put(k->a, params, "answer", value_str(k->a, text));
	ask(k->p, k->who, "inbox.answer", params, NULL, 0);
	if (odds(k, k->p->person[k->who].temper->twice))
		ask(k->p, k->who, "inbox.answer", params, NULL, 0);
}

/* In one word, where the kind of it has one; otherwise he is told that it has none. */
static void say(struct looking *k, const char *op)
{
	value *params = about_entry(k);

	params_text(k->a, params, "reason", "it is in the inbox");
	ask(k->p, k->who, op, params, NULL, 0);
}

static void put_off(struct looking *k)
{
	value *params = about_entry(k);

	value_put(k->a, params, "for_ms",
			value_int(k->a,
					(int64_t)(1 + sim_below(k->p->s, RNG_PERSON, 120)) *
							OV_MINUTE));
	ask(k->p, k->who, "inbox.snooze", params, NULL, 0);
}

static void about_goal(struct looking *k, const char *op)
{
	value *params = params_about(k->a, "goal", value_str_at(k->x, "goal_id"));

	params_text(k->a, params, "reason", "it is in the inbox");
	ask(k->p, k->who, op, params, NULL, 0);
}

/* Nothing but more of it, or giving up, helps here. */
static void answer_budget(struct looking *k, size_t times)
{
	value *params = params_about(k->a, "goal", value_str_at(k->x, "goal_id")),
	      *budget = value_object(k->a);

	if (times >= HOPE || (!k->p->s->o.night && odds(k, 100))) {
		answer(k, STR("cancel"));
		return;
	}
	if (odds(k, 300)) {
		say(k, "inbox.approve");
		return;
	}
	params_text(k->a, budget, "iterations", "unlimited");
	params_text(k->a, budget, "wall_ms", "unlimited");
	params_text(k->a, budget, "tokens", "unlimited");
	params_text(k->a, budget, "cost_microusd", "unlimited");
	value_put(k->a, params, "budget", budget);
	params_text(k->a, params, "reason", "it is worth it");
	ask(k->p, k->who, "goal.update", params, NULL, 0);
}

/* Oversight stopped it: it goes on, with or without a word to its agent, until there is no hope. */
static void answer_held(struct looking *k, size_t times)
{
	bool aborted = is_kind(k, "aborted");
	value *params = about_entry(k);

	if (times >= HOPE) {
		say(k, "inbox.deny");
	} else if (odds(k, 400)) {
		say(k, "inbox.approve");
	} else if (odds(k, 200)) {
		value_put(k->a, params, "false_positive", value_bool(k->a, true));
		ask(k->p, k->who, "inbox.dismiss", params, NULL, 0);
	} else if (odds(k, 300)) {
		about_goal(k, aborted ? "goal.reopen" : "goal.resume");
	} else {
		answer(k,
				odds(k, 500)              ? STR("try it from the other end")
						: aborted ? STR("reopen")
							  : STR("resume"));
	}
}

/* It has no plan, or nothing left in it: it gets one, or is given up. */
static void answer_planless(struct looking *k, size_t times)
{
	value *params = params_about(k->a, "goal", value_str_at(k->x, "goal_id"));

	if (is_kind(k, "reopened") || times >= HOPE) {
		about_goal(k, "goal.cancel");
		return;
	}
	value_put(k->a, params, "plan", plan_draw(k->p, k->a, 3));
	ask(k->p, k->who, "plan.apply", params, NULL, 0);
}

static void answer_option(struct looking *k, const value *options)
{
	size_t n = value_count(options), at = sim_below(k->p->s, RNG_PERSON, n);

	answer(k, value_str_or(value_item(options, at), STR("")));
}

/* Nothing but one of the options will do; who has no hope takes the work away. */
static void answer_queue(struct looking *k, size_t times)
{
	str node = arena_printf(k->a, STR_FMT "/" STR_FMT, STR_ARG(value_str_at(k->x, "goal_id")),
			STR_ARG(value_str_at(k->x, "node_id")));
	value *params = params_about(k->a, "node", node);

	if (is_kind(k, "review") && times < HOPE && odds(k, 300)) {
		answer(k, STR("reject: do it another way"));
	} else if (times < 2 * HOPE || is_kind(k, "review")) {
		answer_option(k, value_at(k->x, "options"));
	} else {
		params_text(k->a, params, "reason", "nothing helps");
		ask(k->p, k->who, "work.cancel", params, NULL, 0);
	}
}

/* About a node: go on, in one way or another, until there is no hope. */
static void answer_node(struct looking *k, size_t times)
{
	const value *options = value_at(k->x, "options");

	if (is_kind(k, "review") || is_kind(k, "pre_accept") || is_kind(k, "post_accept"))
		answer_queue(k, times);
	else if (times >= HOPE)
		answer(k, odds(k, 300) ? STR("done") : STR("cancel"));
	else if (is_kind(k, "question") && value_count(options))
		answer_option(k, options);
	else if (odds(k, 200))
		answer(k, STR("please do it as it was asked for, step by step"));
	else
		answer(k, STR("retry"));
}

static void answer_sensibly(struct looking *k)
{
	str goal = value_str_at(k->x, "goal_id"), node = value_str_at(k->x, "node_id");
	size_t times = times_answered(k->p,
			arena_printf(k->a, STR_FMT "/" STR_FMT, STR_ARG(goal), STR_ARG(node)));
	const value *options = value_at(k->x, "options");

	if (is_kind(k, "budget"))
		answer_budget(k, times);
	else if (is_kind(k, "paused") || is_kind(k, "aborted"))
		answer_held(k, times);
	else if (!node.n &&
			(is_kind(k, "reopened") ||
					(is_kind(k, "planner") && !value_count(options))))
		answer_planless(k, times);
	else if (node.n)
		answer_node(k, times);
	else if (value_count(options))
		answer_option(k, options);
	else
		answer(k, STR("seen"));
}

/* What may be a command is none of the words for an agent: it would be paid for a typo. */
static void doubt_refused(struct people *p, const struct asked *q, int r, const value *result)
{
	(void)result;
	if (r == 0)
		sim_violated(p->s, "a_typo_starts_nothing", "#%lld was answered by " STR_FMT,
				(long long)q->ref, STR_ARG(q->params));
}

/* Its agent goes on with any text. Who asked, and what is only a notice, takes what it gets. */
static bool resumes(const struct looking *k)
{
	if (is_kind(k, "question") || is_kind(k, "post_accept_warning"))
		return false;
	return value_str_at(k->x, "node_id").n || is_kind(k, "paused") || is_kind(k, "aborted");
}

static void answer_badly(struct looking *k)
{
	static const struct {
		str text;
		bool doubtful;
	} words[] = { { STR("yes and no"), false }, { STR("?"), true }, { STR("do it"), false },
		{ STR("42"), true }, { STR("r"), false }, { STR("DONE"), true },
		{ STR("cancel the others"), false }, { STR("cancell"), true },
		{ STR("stop it"), true }, { STR("9 cancel"), true },
		{ STR("text: cancel"), false } };
	size_t i = sim_below(k->p->s, RNG_PERSON, ARRAY_LEN(words));
	value *params = about_entry(k);

	value_put(k->a, params, "answer", value_str(k->a, words[i].text));
	ask(k->p, k->who, "inbox.answer", params,
			words[i].doubtful && resumes(k) ? doubt_refused : NULL,
			value_int_at(k->x, "number"));
}

static void dismiss(struct looking *k)
{
	ask(k->p, k->who, "inbox.dismiss", about_entry(k), NULL, 0);
}

static void inbox_seen(struct people *p, const struct asked *q, int r, const value *result)
{
	const struct temper *t = p->person[q->who].temper;
	const value *inbox = value_at(result, "inbox");
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	for (size_t i = 0; r == 0 && i < value_count(inbox); i++) {
		struct looking k = { .p = p, .who = q->who, .a = &a, .x = value_item(inbox, i) };

		if (!str_is(value_str_at(k.x, "status"), "open"))
			continue;
		if (sim_quiet(p->s))
			answer_sensibly(&k);
		else if (!odds(&k, t->answers))
			continue;
		else if (odds(&k, t->nonsense))
			answer_badly(&k);
		else if (odds(&k, t->dismisses))
			dismiss(&k);
		else if (odds(&k, t->dismisses))
			put_off(&k);
		else if (odds(&k, t->dismisses))
			say(&k, odds(&k, 500) ? "inbox.approve" : "inbox.deny");
		else
			answer_sensibly(&k);
	}
}

/* ---- the end ---- */

static void blocked_seen(struct people *p, const struct asked *q, int r, const value *result)
{
	const value *nodes = value_at(result, "nodes");
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	for (size_t i = 0; r == 0 && i < value_count(nodes); i++) {
		const value *n = value_item(nodes, i);
		str goal = value_str_at(n, "goal"), id = value_str_at(n, "id"),
		    block = value_str_at(n, "block");
		str key = arena_printf(&a, STR_FMT "/" STR_FMT, STR_ARG(goal), STR_ARG(id));
		value *params = params_about(&a, "node", key);
		bool ours = str_is(block, "person") || str_is(block, "paused") ||
				str_is(block, "credential");

		/*
		 * What has an entry in the inbox is answered there; what it was closed for is
		 * ours now.
		 */
		if (!ours && times_answered(p, key) < HOPE)
			continue;
		params_text(&a, params, "reason", "all is quiet");
		if (times_answered(p, key) < 2 * HOPE) {
			params_text(&a, params, "status", "queued");
			ask(p, q->who, "work.update", params, NULL, 0);
		} else {
			ask(p, q->who, "work.cancel", params, NULL, 0);
		}
	}
}

/* Such a goal waits for more to do, and nobody has to end it. */
static bool is_standing(const value *goal)
{
	return str_starts(value_str_at(goal, "title"), STR("Tasks "));
}

/*
 * Active, but nothing is left to do in it, and its question was closed: it gets a plan, or is over.
 */
static void idle_seen(struct people *p, const struct asked *q, int r, const value *result)
{
	const value *goals = value_at(result, "goals");
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	for (size_t i = 0; r == 0 && i < value_count(goals); i++) {
		const value *g = value_item(goals, i), *progress = value_at(g, "progress");
		value *params = params_about(&a, "goal", value_str_at(g, "id"));
		int64_t leaves = value_int_at(progress, "leaves"),
			over = value_int_at(progress, "done") + value_int_at(progress, "cancelled");
		str key = arena_printf(&a, "idle " STR_FMT, STR_ARG(value_str_at(g, "id")));

		if (is_standing(g) || leaves > over || times_answered(p, key) < HOPE)
			continue;
		params_text(&a, params, "reason", "all is quiet");
		if (leaves == 0 && times_answered(p, key) < 2 * HOPE)
			value_put(&a, params, "plan", plan_draw(p, &a, 2));
		ask(p, q->who, value_at(params, "plan") ? "plan.apply" : "goal.cancel", params,
				NULL, 0);
	}
}

static void goals_seen(struct people *p, const struct asked *q, int r, const value *result)
{
	const value *goals = value_at(result, "goals");
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	for (size_t i = 0; r == 0 && i < value_count(goals); i++) {
		const value *g = value_item(goals, i);
		value *params = params_about(&a, "goal", value_str_at(g, "id"));
		bool aborted = str_is(value_str_at(g, "health"), "aborted");

		params_text(&a, params, "reason", "all is quiet");
		ask(p, q->who, aborted ? "goal.cancel" : "goal.resume", params, NULL, 0);
	}
}

/* What waits for a look and has no entry in the inbox any more, and workers that are in trouble. */
static void workers_seen(struct people *p, const struct asked *q, int r, const value *result)
{
	const value *workers = value_at(result, "workers");
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	for (size_t i = 0; r == 0 && i < value_count(workers); i++) {
		const value *w = value_item(workers, i);
		value *params = params_about(&a, "worker", value_str_at(w, "name"));
		str status = value_str_at(w, "status");

		if (str_is(status, "needs_review") || str_is(status, "reviewing"))
			ask(p, q->who, "worker.accept", params, NULL, 0);
		else if (str_is(status, "error"))
			ask(p, q->who, "worker.reset", params, NULL, 0);
	}
}

static void tidy(struct people *p, int who)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	ask(p, who, "goal.list", params_about(&a, "status", STR("paused")), goals_seen, 0);
	ask(p, who, "goal.list", params_about(&a, "status", STR("active")), idle_seen, 0);
	ask(p, who, "work.list", params_about(&a, "status", STR("blocked")), blocked_seen, 0);
	ask(p, who, "worker.list", NULL, workers_seen, 0);
}

void act_look(struct people *p, int who)
{
	const struct temper *t = p->person[who].temper;
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *params = value_object(&a);

	if (sim_quiet(p->s))
		tidy(p, who);
	/* In the end also what he put off. */
	if (sim_quiet(p->s))
		value_put(&a, params, "all", value_bool(&a, true));
	if (t->answers)
		ask(p, who, "inbox.list", params, inbox_seen, 0);
}
