/*
 * Who works where: the choice of a worker for a node, and workers that are to be reset or removed.
 */
#include "base/arena.h"
#include "base/str.h"
#include "core/capacity/free_worker.h"
#include "core/tick/reconcile_impl.h"

/* Runs and steps under way come first, then those whose wait is over, then what is new. */
void tick_count_workers(struct tick *t)
{
	const struct state *s = t->w->state;

	for (size_t i = 0; i < s->workers.n; i++) {
		const struct worker *w = s->workers.p[i];

		t->workers[w->kind].n++;
		t->workers[w->kind].busy += worker_is_unusable(w);
	}
	for (int k = 0; k < WORKER_KIND_COUNT; k++) {
		struct tick_workers *of = &t->workers[k];
		size_t max = slots_max(s, t->w->policy, (enum worker_kind)k),
		       busy = t->slots.of[k].busy;

		of->starts = MIN(t->slots.of[k].starts, max > busy ? max - busy : 0);
		of->busy += busy + of->starts;
		of->waiting = t->slots.of[k].waiting;
		of->all = of->waiting + busy + t->slots.of[k].starts;
	}
}

struct tick_agent *tick_agent(struct tick *t, str name)
{
	const struct policy *p = t->w->policy;
	bool counted = t->agents != NULL;

	if (!counted)
		t->agents = arena_array(t->a, struct tick_agent, p->agents_n + 1);
	for (struct list *it = t->w->state->live.next; !counted && it != &t->w->state->live;
			it = it->next) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (as->stage == STAGE_NONE || assignment_waiting(&t->slots, as) != WAITING_NONE)
			continue;
		for (size_t i = 0; i < p->agents_n; i++)
			if (str_eq(p->agents[i].name, as->agent))
				*(assignment_starts(as) ? &t->agents[i].starts
							: &t->agents[i].busy) += 1;
	}
	for (size_t i = 0; i < p->agents_n; i++)
		if (str_eq(p->agents[i].name, name))
			return &t->agents[i];
	return &t->agents[p->agents_n];
}

bool tick_take_slot(struct tick *t, const struct assignment *as)
{
	const struct policy_agent *agent = policy_agent(t->w->policy, as->agent);
	struct tick_agent *of = tick_agent(t, as->agent);
	struct tick_workers *k = &t->workers[as->slot];

	if (!k->starts || (agent && of->busy >= agent->concurrency))
		return false;
	k->starts--;
	of->busy++;
	of->starts--;
	return true;
}

bool worker_is_taken(const struct tick *t, str name)
{
	for (size_t i = 0; i < t->out.n; i++)
		if (t->out.p[i].kind == DEC_ASSIGN && str_eq(t->out.p[i].worker, name))
			return true;
	return false;
}

bool tick_crowded(struct tick *t, enum worker_kind kind)
{
	struct tick_workers *k = &t->workers[kind];
	bool crowded = slots_crowded(t->w->state, t->w->policy, kind, k->waiting, k->all);

	k->wanted |= crowded && !slots_held(&t->slots, kind);
	return crowded;
}

static bool may_begin(struct tick *t, enum worker_kind kind)
{
	return t->workers[kind].busy < slots_max(t->w->state, t->w->policy, kind) &&
			!tick_crowded(t, kind);
}

static bool worker_take(struct tick *t, struct decision *d, const struct worker *w)
{
	if (!w || !worker_is_free(w) || !worker_serves(w, d->node) || !may_begin(t, w->kind) ||
			(t->out_of_turn && worker_is_taken(t, w->name)))
		return false;
	d->worker = w->name;
	t->workers[w->kind].busy++;
	t->workers[w->kind].all++;
	return true;
}

/* The first number that none of this kind has: others may have been removed. */
static bool take_new(struct tick *t, struct decision *d, enum worker_kind kind)
{
	struct tick_workers *k = &t->workers[kind];

	if (!may_begin(t, kind))
		return false;
	do
		d->worker = arena_printf(t->a, "%s-%zu", status_name(&worker_kinds, (int)kind),
				++k->last);
	while (state_worker(t->w->state, d->worker));
	d->new_worker = true;
	d->worker_kind = kind;
	k->n++;
	k->busy++;
	k->all++;
	return true;
}

/* Others may have been there before, or come there in their turn. */
static bool take_named(struct tick *t, struct decision *d, str name)
{
	t->out_of_turn = true;
	return worker_take(t, d, state_worker(t->w->state, name));
}

/* A free worker for the decision's node, or the name of a new one. */
static bool tick_take_worker(struct tick *t, struct decision *d)
{
	const struct state *s = t->w->state;
	bool automatic = str_is(d->node->goal->standing, STANDING_AUTO);
	size_t *next = &t->next_idle[automatic];

	if (d->node->next.worker.n)
		return take_named(t, d, d->node->next.worker);
	if (t->no_worker[automatic])
		return false;
	/* Where the node's conversation took place it can go on. */
	if (d->node->session.id.n && take_named(t, d, d->node->session.worker))
		return true;
	while (*next < s->workers.n)
		if (worker_take(t, d, s->workers.p[(*next)++]))
			return true;
	if (take_new(t, d, automatic ? WORKER_AUTO : WORKER_POOL))
		return true;
	t->no_worker[automatic] = true;
	return false;
}

/* passed_over: the number of tasks about to start that are not counted. */
static bool has_room(const struct tick_agent *load, const struct policy_agent *agent,
		int64_t passed_over)
{
	return load->busy + load->starts - passed_over < agent->concurrency;
}

bool tick_take_place(struct tick *t, struct decision *d, const struct policy_agent *agent)
{
	struct tick_agent *load = tick_agent(t, agent->name);
	bool automatic = str_is(d->node->goal->standing, STANDING_AUTO), taken;
	const struct assignment *last;
	int64_t claimants;
	size_t kept;

	if (has_room(load, agent, 0) && tick_take_worker(t, d)) {
		load->given = true;
		return true;
	}
	last = trial_gives_way(t, agent->name, d->node, &claimants);
	if (!last || !has_room(load, agent, claimants))
		return false;
	kept = MIN(t->workers[last->slot].starts, (size_t)1);
	load->starts--;
	t->workers[last->slot].starts -= kept;
	t->workers[last->slot].busy -= kept;
	/* Those that were passed over for want of a slot are looked at again. */
	t->no_worker[automatic] = false;
	t->next_idle[automatic] = 0;
	t->out_of_turn = true;
	taken = tick_take_worker(t, d);
	load->given = taken;
	if (!taken) {
		load->starts++;
		t->workers[last->slot].starts += kept;
		t->workers[last->slot].busy += kept;
	}
	return taken;
}

/* What a person wants done to it is begun as soon as its task lets go of it. */
void reconcile_workers(struct tick *t)
{
	const struct state *s = t->w->state;

	for (size_t i = 0; i < s->workers.n; i++) {
		const struct worker *w = s->workers.p[i];
		enum worker_step step = worker_next_step(s, w);

		if (step == WORKER_STEP_NONE)
			continue;
		tick_add(t,
				(struct decision){ .kind = DEC_WORKER,
						.worker = w->name,
						.why = step == WORKER_STEP_SETTLE
								? STR("its task has to let go of "
								      "it")
								: STR("nothing holds it any "
								      "more") });
	}
}

/* Something else is decided about it already. */
static bool is_decided(const struct tick *t, const struct assignment *as)
{
	for (size_t i = 0; i < t->out.n; i++)
		if (t->out.p[i].node == as->node)
			return true;
	return false;
}

/* The last in order: those before it are more likely to continue where they are. */
static const struct assignment *last_to_yield(const struct tick *t, enum worker_kind kind)
{
	const struct assignment *last = NULL;

	list_each (it, &t->w->state->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (as->slot == kind && assignment_may_yield(&t->slots, as) && !is_decided(t, as) &&
				(!last || assignment_order(&as, &last) > 0))
			last = as;
	}
	return last;
}

void reconcile_yields(struct tick *t)
{
	for (int k = 0; k < WORKER_KIND_COUNT; k++) {
		const struct assignment *as = t->workers[k].wanted
				? last_to_yield(t, (enum worker_kind)k)
				: NULL;

		if (as)
			tick_add(t,
					(struct decision){ .kind = DEC_YIELD,
							.goal = as->node->goal,
							.node = as->node,
							.assignment = as,
							.why = STR("another task needs its "
								   "worker: too many wait "
								   "(workers.max_waiting)") });
	}
}
