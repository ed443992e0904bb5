/*
 * What people do unasked: they look at a list, pick something of it and give a command about it, or
 * only look closer. What they know is what an answer told them, which may no longer be so.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "tests/sim/machine.h"
#include "tests/sim/person_impl.h"

value *params_about(struct arena *a, const char *key, str text)
{
	value *v = value_object(a);

	value_put(a, v, key, value_str(a, text));
	return v;
}

void params_text(struct arena *a, value *params, const char *key, const char *text)
{
	value_put(a, params, key, value_cstr(a, text));
}

/* One who acts on a row of a list. */
struct acting {
	struct people *p;
	int who;
	struct arena *a;
	const value *row;
};

static bool odds(const struct acting *x, unsigned per_mille)
{
	return sim_odds(x->p->s, RNG_PERSON, per_mille);
}

static size_t below(const struct acting *x, size_t n)
{
	return sim_below(x->p->s, RNG_PERSON, n);
}

/* ---- plans ---- */

static void plan_shown(struct people *p, const struct asked *q, int r, const value *result)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *shown, *doc, *params;

	if (r < 0 || !value_at(result, "document"))
		return;
	shown = value_copy(&a, result);
	doc = (value *)value_at(shown, "document");
	plan_alter(p, &a, doc);
	params = params_about(&a, "goal", value_str_at(shown, "id"));
	value_put(&a, params, "plan", doc);
	if (sim_odds(p->s, RNG_PERSON, 200)) {
		ask(p, q->who, "plan.check", params, NULL, 0);
		return;
	}
	/* Some have looked at a version that is long gone. */
	if (sim_odds(p->s, RNG_PERSON, 150))
		value_put(&a, params, "version", value_int(&a, q->ref > 0 ? q->ref - 1 : 7));
	else if (sim_odds(p->s, RNG_PERSON, 500))
		value_put(&a, params, "version", value_int(&a, q->ref));
	params_text(&a, params, "reason", "something else is wanted");
	ask(p, q->who, "plan.apply", params, NULL, 0);
}

static void act_replan(struct acting *x, value *params)
{
	value_put(x->a, params, "document", value_bool(x->a, true));
	ask(x->p, x->who, "plan.show", params, plan_shown, value_int_at(x->row, "plan_version"));
}

/* ---- the rest of what takes more than a name ---- */

static void fill_reason(struct acting *x, value *params)
{
	params_text(x->a, params, "reason", "as a person wants it");
}

static void fill_pause(struct acting *x, value *params)
{
	fill_reason(x, params);
	if (odds(x, 400))
		value_put(x->a, params, "now", value_bool(x->a, true));
}

static void fill_goal(struct acting *x, value *params)
{
	static const char *const priorities[] = { "urgent", "high", "normal", "low", "background" };
	value *budget;

	fill_reason(x, params);
	if (odds(x, 500))
		params_text(x->a, params, "priority", priorities[below(x, 5)]);
	else
		params_text(x->a, params, "problem_statement", "told once more, in other words");
	if (odds(x, 200)) {
		budget = value_object(x->a);
		value_put(x->a, budget, "iterations", value_int(x->a, 20 + (int64_t)below(x, 400)));
		value_put(x->a, params, "budget", budget);
	}
}

static void fill_blocked(struct acting *x, value *params)
{
	fill_reason(x, params);
	params_text(x->a, params, "status", "blocked");
	if (odds(x, 300))
		params_text(x->a, params, "kind", "paused");
}

static void fill_unblocked(struct acting *x, value *params)
{
	fill_reason(x, params);
	params_text(x->a, params, "status", "queued");
}

static void fill_done(struct acting *x, value *params)
{
	fill_reason(x, params);
	params_text(x->a, params, "status", "done");
}

static void fill_agent(struct acting *x, value *params)
{
	const struct policy *policy = &x->p->s->config->policy;

	fill_reason(x, params);
	if (odds(x, 500) && policy->agents_n)
		value_put(x->a, params, "agent",
				value_str(x->a, policy->agents[below(x, policy->agents_n)].name));
	else if (odds(x, 50))
		params_text(x->a, params, "agent", "nobody");
}

static void fill_nudge(struct acting *x, value *params)
{
	if (odds(x, 300))
		value_put(x->a, params, "force", value_bool(x->a, true));
	if (odds(x, x->p->s->setup.sessions ? 900 : 500))
		value_put(x->a, params, "message",
				value_strf(x->a, "how far are you? " MACHINE_NOTE "%llu.",
						(unsigned long long)++x->p->notes));
	if (x->p->s->setup.sessions && odds(x, 250))
		value_put(x->a, params, "now", value_bool(x->a, true));
}

static void fill_scope(struct acting *x, value *params)
{
	value *deny = value_array(x->a);

	value_push(x->a, deny, value_cstr(x->a, odds(x, 500) ? "web" : "agents"));
	value_put(x->a, params, "deny", deny);
	fill_reason(x, params);
}

static void fill_task(struct acting *x, value *params)
{
	value_put(x->a, params, "task",
			value_strf(x->a, "task %llu\n\nas a person wants it",
					(unsigned long long)++x->p->notes));
}

static void fill_words(struct acting *x, value *params)
{
	value_put(x->a, params, "text",
			value_strf(x->a, "how far are you? " MACHINE_NOTE "%llu.",
					(unsigned long long)++x->p->notes));
}

static void fill_cost(struct acting *x, value *params)
{
	static const char *const bys[] = { "goal", "agent", "model", "day", "node" };

	params_text(x->a, params, "by", bys[below(x, ARRAY_LEN(bys))]);
}

static void fill_events(struct acting *x, value *params)
{
	if (odds(x, 300))
		params_text(x->a, params, "since", "2h");
	if (odds(x, 300))
		params_text(x->a, params, "type", "run.");
	value_put(x->a, params, "limit", value_int(x->a, 1 + (int64_t)below(x, 50)));
}

/* ---- the tables ---- */

struct act {
	const char *op;
	unsigned weight;
	const char *fits; /* the status in which it can be of use; NULL: any */
	void (*fill)(struct acting *x, value *params);    /* or NULL */
	void (*instead)(struct acting *x, value *params); /* what is more than one request */
	const char *key; /* of the row's id among the parameters; NULL: as the list has it */
};

static const struct act goal_acts[] = {
	{ "goal.pause", 60, "active", fill_pause, NULL, NULL },
	{ "goal.resume", 60, "paused", fill_reason, NULL, NULL },
	{ "goal.cancel", 4, NULL, fill_reason, NULL, NULL },
	{ "goal.update", 60, NULL, fill_goal, NULL, NULL },
	{ "goal.reopen", 10, "completed", fill_reason, NULL, NULL },
	{ "goal.archive", 60, "completed", fill_reason, NULL, NULL },
	{ "plan.apply", 100, "active", NULL, act_replan, NULL },
};
static const struct act node_acts[] = {
	{ "work.update", 40, "queued", fill_blocked, NULL, NULL },
	{ "work.update", 80, "blocked", fill_unblocked, NULL, NULL },
	{ "work.update", 8, NULL, fill_done, NULL, NULL },
	{ "work.cancel", 6, "todo", fill_reason, NULL, NULL },
	{ "work.reopen", 8, "done", fill_reason, NULL, NULL },
	{ "work.reassign", 60, "in_progress", fill_agent, NULL, NULL },
	{ "work.rerun", 40, "in_progress", fill_reason, NULL, NULL },
	{ "work.nudge", 100, "in_progress", fill_nudge, NULL, NULL },
	{ "queue.retry", 60, "in_progress", NULL, NULL, NULL },
	{ "queue.drop", 10, "queued", fill_reason, NULL, NULL },
	{ "work.scope", 40, "in_progress", fill_scope, NULL, NULL },
};
static const struct act run_acts[] = {
	{ "run.stop", 50, "running", fill_reason, NULL, NULL },
};
static const struct act worker_acts[] = {
	{ "worker.start", 60, "idle", fill_task, NULL, NULL },
	{ "worker.message", 20, "working", fill_words, NULL, NULL },
	{ "worker.review", 80, "needs_review", NULL, NULL, NULL },
	{ "worker.accept", 40, "needs_review", NULL, NULL, NULL },
	{ "worker.accept", 60, "reviewing", NULL, NULL, NULL },
	{ "worker.reject", 60, "reviewing", fill_reason, NULL, NULL },
	{ "worker.rebase", 20, "needs_review", NULL, NULL, NULL },
	{ "worker.pick", 6, "working", fill_reason, NULL, NULL },
	{ "worker.reset", 8, NULL, fill_reason, NULL, NULL },
	{ "worker.reset", 80, "error", fill_reason, NULL, NULL },
	{ "worker.nuke", 5, NULL, fill_reason, NULL, NULL },
};
static const struct act worker_reads[] = {
	{ "worker.show", 10, NULL, NULL, NULL, NULL },
};
static const struct act goal_reads[] = {
	{ "goal.show", 10, NULL, NULL, NULL, NULL },
	{ "detection.list", 20, NULL, NULL, NULL, NULL },
	{ "cost.get", 5, NULL, fill_cost, NULL, NULL },
	{ "plan.show", 10, NULL, NULL, NULL, NULL },
	{ "plan.history", 5, NULL, NULL, NULL, NULL },
	{ "plan.diff", 5, NULL, NULL, NULL, NULL },
	{ "events.list", 10, NULL, fill_events, NULL, NULL },
	{ "explain.get", 10, NULL, NULL, NULL, "id" },
	{ "handoff.show", 5, NULL, NULL, NULL, "id" },
	{ "inbox.list", 5, NULL, NULL, NULL, NULL },
	{ "work.list", 5, NULL, NULL, NULL, NULL },
	{ "run.list", 5, NULL, NULL, NULL, NULL },
};
static const struct act node_reads[] = {
	{ "work.show", 10, NULL, NULL, NULL, NULL },
	{ "iteration.list", 20, NULL, NULL, NULL, NULL },
	{ "explain.get", 10, NULL, NULL, NULL, "id" },
	{ "handoff.show", 10, NULL, NULL, NULL, "id" },
};
static const struct act run_reads[] = {
	{ "run.show", 10, NULL, NULL, NULL, NULL },
	{ "explain.get", 10, NULL, NULL, NULL, "id" },
};
static const struct act agent_reads[] = {
	{ "agent.show", 10, NULL, NULL, NULL, "agent" },
};
static const struct act inbox_reads[] = {
	{ "inbox.show", 10, NULL, NULL, NULL, NULL },
};
static const struct act notice_acts[] = {
	{ "notice.retry", 10, "failed", fill_reason, NULL, NULL },
};
static const struct act notice_reads[] = {
	{ "notice.show", 10, NULL, NULL, NULL, NULL },
};

#define ACTS(list) list, ARRAY_LEN(list)
/* Where one looks first, and what can be done about a row of it. */
static const struct noun {
	const char *list_op, *list, *key;
	const struct act *acts;
	size_t acts_n;
	const struct act *reads;
	size_t reads_n;
	unsigned weight;
} nouns[] = {
	{ "goal.list", "goals", "goal", ACTS(goal_acts), ACTS(goal_reads), 30 },
	{ "work.list", "nodes", "node", ACTS(node_acts), ACTS(node_reads), 60 },
	{ "run.list", "runs", "run", ACTS(run_acts), ACTS(run_reads), 10 },
	{ "queue.list", "accept", "node", ACTS(node_acts), ACTS(node_reads), 10 },
	{ "queue.list", "dispatch", "node", ACTS(node_acts), ACTS(node_reads), 10 },
	{ "agent.list", "agents", "name", NULL, 0, ACTS(agent_reads), 3 },
	{ "inbox.list", "inbox", "number", NULL, 0, ACTS(inbox_reads), 10 },
	{ "notice.list", "notices", "notice", ACTS(notice_acts), ACTS(notice_reads), 12 },
	{ "worker.list", "workers", "worker", ACTS(worker_acts), ACTS(worker_reads), 15 },
	{ "status.get", "goals", "goal", ACTS(goal_acts), ACTS(goal_reads), 10 },
};

/* Whoever looks first does what fits; but things change, and some do not look. */
static unsigned weight_of(const struct people *p, const struct act *act, str status, bool looks)
{
	/* Where agents keep sessions people talk to them. */
	unsigned weight = act->fill == fill_nudge && p->s->setup.sessions ? 10 * act->weight
									  : act->weight;

	return !looks || !act->fits || str_is(status, act->fits) ? weight : 0;
}

static const struct act *act_draw(struct people *p, const struct act *acts, size_t n, str status)
{
	bool looks = sim_odds(p->s, RNG_PERSON, 800);
	size_t all = 0, at, i = 0;

	for (size_t k = 0; k < n; k++)
		all += weight_of(p, &acts[k], status, looks);
	if (all == 0)
		return NULL;
	at = sim_below(p->s, RNG_PERSON, all);
	while (at >= weight_of(p, &acts[i], status, looks))
		at -= weight_of(p, &acts[i++], status, looks);
	return &acts[i];
}

/* What the row is about, as the parameter wants it. Rows of different lists name it differently. */
static value *params_of(struct acting *x, const struct noun *noun, const char *key)
{
	str id = value_str_at(x->row, "id"), goal = value_str_at(x->row, "goal");
	value *params = value_object(x->a);

	if (strcmp(noun->key, "worker") == 0)
		id = value_str_at(x->row, "name");
	else if (!id.n)
		id = value_str_at(x->row, "node");
	if (strcmp(noun->key, "number") == 0)
		value_put(x->a, params, noun->key, value_int(x->a, value_int_at(x->row, "number")));
	else if (strcmp(noun->key, "node") == 0 && goal.n)
		value_put(x->a, params, key ? key : noun->key,
				value_strf(x->a, STR_FMT "/" STR_FMT, STR_ARG(goal), STR_ARG(id)));
	else
		value_put(x->a, params, key ? key : noun->key, value_str(x->a, id));
	return params;
}

/* The list that one looked at: the only array in the answer that is named as expected. */
static void acted_on(struct people *p, const struct asked *q, const value *result, bool reads)
{
	const struct noun *noun = &nouns[q->ref];
	const struct act *acts = reads || !noun->acts_n ? noun->reads : noun->acts, *act;
	size_t n = value_count(value_at(result, noun->list)),
	       acts_n = reads || !noun->acts_n ? noun->reads_n : noun->acts_n;
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct acting x = { .p = p, .who = q->who, .a = &a };
	value *params;

	if (n == 0)
		return;
	x.row = value_item(value_at(result, noun->list), below(&x, n));
	act = act_draw(p, acts, acts_n, value_str_at(x.row, "status"));
	if (!act)
		return;
	params = params_of(&x, noun, act->key);
	if (act->instead) {
		act->instead(&x, params);
		return;
	}
	if (act->fill)
		act->fill(&x, params);
	ask(p, q->who, act->op, params, NULL, 0);
}

static void heard_to_act(struct people *p, const struct asked *q, int r, const value *result)
{
	if (r == 0 && !sim_quiet(p->s))
		acted_on(p, q, result, false);
}

static void heard_to_read(struct people *p, const struct asked *q, int r, const value *result)
{
	if (r == 0)
		acted_on(p, q, result, true);
}

static void look_at_some(struct people *p, int who, heard_fn *heard)
{
	size_t all = 0, at, i = 0;

	for (size_t k = 0; k < ARRAY_LEN(nouns); k++)
		all += nouns[k].weight;
	at = sim_below(p->s, RNG_PERSON, all);
	while (at >= nouns[i].weight)
		at -= nouns[i++].weight;
	ask(p, who, nouns[i].list_op, NULL, heard, (int64_t)i);
}

/* Somebody wants a worker of his own, or does away with all of them. */
static void act_workers(struct people *p, int who)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *params = value_object(&a);

	if (sim_odds(p->s, RNG_PERSON, 30)) {
		value_put(&a, params, "all", value_bool(&a, true));
		ask(p, who, sim_odds(p->s, RNG_PERSON, 500) ? "worker.reset" : "worker.nuke",
				params, NULL, 0);
		return;
	}
	value_put(&a, params, "worker", value_strf(&a, "mine-%zu", sim_below(p->s, RNG_PERSON, 4)));
	value_put(&a, params, "excluded", value_bool(&a, sim_odds(p->s, RNG_PERSON, 400)));
	ask(p, who, "worker.add", params, NULL, 0);
}

void act_meddle(struct people *p, int who)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *params = value_object(&a);

	if (sim_quiet(p->s))
		return;
	if (sim_odds(p->s, RNG_PERSON, 50)) {
		if (sim_odds(p->s, RNG_PERSON, 400))
			value_put(&a, params, "dry_run", value_bool(&a, true));
		ask(p, who, "tick.now", params, NULL, 0);
	}
	if (sim_odds(p->s, RNG_PERSON, 60))
		act_workers(p, who);
	else
		look_at_some(p, who, heard_to_act);
}

void act_browse(struct people *p, int who)
{
	if (sim_odds(p->s, RNG_PERSON, 50))
		ask(p, who, "config.show", NULL, NULL, 0);
	if (sim_odds(p->s, RNG_PERSON, 50))
		ask(p, who, "config.timeline", NULL, NULL, 0);
	if (p->s->setup.tasks && sim_odds(p->s, RNG_POOL, 100))
		ask(p, who, "auto.get", NULL, NULL, 0);
	look_at_some(p, who, heard_to_read);
}
