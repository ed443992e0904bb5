/* Who works where: the choice of a worker for a node, and workers that are to be reset or removed. */
#include "base/arena.h"
#include "base/str.h"
#include "core/reconcile_impl.h"
#include "core/standing.h"
#include "core/worker.h"

static bool at_work(const struct worker *w)
{
	return w->status != WORKER_IDLE && w->status != WORKER_OFFLINE;
}

void tick_count_workers(struct tick *t)
{
	const struct state *s = t->w->state;

	for (size_t i = 0; i < s->workers.n; i++) {
		const struct worker *w = s->workers.p[i];

		t->workers[w->kind].n++;
		t->workers[w->kind].busy += at_work(w);
	}
}

/* There may be more of them than that: the configuration can be changed. */
static size_t workers_max(const struct tick *t, enum worker_kind kind)
{
	switch (kind) {
	case WORKER_POOL: return (size_t)t->w->policy->workers_max;
	case WORKER_AUTO: return (size_t)t->w->state->automatic.concurrency;
	case WORKER_MANUAL:
	case WORKER_KIND_COUNT: break;
	}
	return SIZE_MAX;
}

bool worker_is_taken(const struct tick *t, str name)
{
	for (size_t i = 0; i < t->out.n; i++)
		if (t->out.p[i].kind == DEC_ASSIGN && str_eq(t->out.p[i].worker, name))
			return true;
	return false;
}

static bool take(struct tick *t, struct decision *d, const struct worker *w)
{
	if (!w || !worker_is_free(w) || !worker_serves(w, d->node) ||
			t->workers[w->kind].busy >= workers_max(t, w->kind) ||
			(t->out_of_turn && worker_is_taken(t, w->name)))
		return false;
	d->worker = w->name;
	t->workers[w->kind].busy++;
	return true;
}

/* The first number that none of this kind has: others may have been removed. */
static bool take_new(struct tick *t, struct decision *d, enum worker_kind kind)
{
	struct tick_workers *k = &t->workers[kind];

	if (k->n >= workers_max(t, kind) || k->busy >= workers_max(t, kind))
		return false;
	do
		d->worker = arena_printf(t->a, "%s-%zu", status_name(&worker_kinds, (int)kind),
				++k->last);
	while (state_worker(t->w->state, d->worker));
	d->new_worker = true;
	d->worker_kind = kind;
	k->n++;
	k->busy++;
	return true;
}

/* Others may have been there before, or come there in their turn. */
static bool take_named(struct tick *t, struct decision *d, str name)
{
	t->out_of_turn = true;
	return take(t, d, state_worker(t->w->state, name));
}

bool tick_take_worker(struct tick *t, struct decision *d)
{
	const struct state *s = t->w->state;
	bool automatic = str_is(d->node->goal->standing, STANDING_AUTO);
	size_t *next = &t->next_idle[automatic];

	if (d->node->wanted_worker.n)
		return take_named(t, d, d->node->wanted_worker);
	if (t->no_worker[automatic])
		return false;
	/* Where the node's conversation took place it can go on. */
	if (d->node->session.n && take_named(t, d, d->node->session_worker))
		return true;
	while (*next < s->workers.n)
		if (take(t, d, s->workers.p[(*next)++]))
			return true;
	if (take_new(t, d, automatic ? WORKER_AUTO : WORKER_POOL))
		return true;
	t->no_worker[automatic] = true;
	return false;
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
