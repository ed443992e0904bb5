/*
 * The log and its fold: nothing in it changes, it says the same to everybody, and it fits
 * in memory.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/model/limits.h"
#include "core/state/snapshot.h"
#include "tests/sim/check_impl.h"

/* ---- one_writer ---- */

/* Of two daemons on one store only the younger one's log goes on. */
static void writer_step(struct checker *c)
{
	if (!c->up)
		return;
	for (size_t i = 0; i < SIM_DAEMONS; i++) {
		const struct sim_daemon *d = c->s->daemons[i];

		if (!d || d == c->up || d->life > c->up->life || !d->engine ||
				!daemon_of(c->s, d->life) || c->usurper != c->up->life)
			continue;
		if (engine_head(d->engine) > c->usurped_head)
			sim_violated(c->s, inv_one_writer.name,
					"daemon %d took the store over at event %llu, and daemon "
					"%d "
					"has written up to %llu since",
					c->up->life, (unsigned long long)c->usurped_head, d->life,
					(unsigned long long)engine_head(d->engine));
	}
}

static void writer_restart(struct checker *c)
{
	c->usurper = c->up->life;
	c->usurped_head = engine_head(c->up->engine);
}

/* The one that took over is said to have done so before it did. */
static bool writer_sabotage(struct checker *c)
{
	for (size_t i = 0; c->up && i < SIM_DAEMONS; i++)
		if (c->s->daemons[i] && c->s->daemons[i] != c->up &&
				daemon_of(c->s, c->s->daemons[i]->life) &&
				engine_head(c->s->daemons[i]->engine) && c->usurped_head) {
			c->usurped_head = 0;
			return true;
		}
	return false;
}

const struct invariant inv_one_writer = {
	.name = "one_writer",
	.sentence = "a daemon whose store was taken over writes nothing more",
	.step = writer_step,
	.restart = writer_restart,
	.sabotage = writer_sabotage,
};

/* ---- chain ---- */

/* All of it, as it lies on the disk now. */
static void chain_whole(struct checker *c)
{
	struct ov_err err = { 0 };
	struct store *store;
	uint64_t last = 0;
	int r;

	if (!c->up)
		return;
	store = engine_store(c->up->engine);
	r = store_verify(store, 0, &last, &err);
	if (r < 0)
		sim_violated(c->s, inv_chain.name, "the chain breaks after record %llu: %s",
				(unsigned long long)last, err.msg);
}

static bool chain_sabotage(struct checker *c)
{
	if (c->seen < 10)
		return false;
	c->gap = 1;
	return true;
}

const struct invariant inv_chain = {
	.name = "chain",
	.sentence = "the chain of events verifies from the first to the last, and only grows",
	.restart = chain_whole,
	.end = chain_whole,
	.sabotage = chain_sabotage,
};

/* ---- fold ---- */

static void fold_compare(struct checker *c)
{
	_cleanup_(buf_done) struct buf mine = BUF_INIT;
	_cleanup_(buf_done) struct buf theirs = BUF_INIT;
	size_t at = 0;

	if (!c->state || c->shadow_failed)
		return;
	c->fold_seq = c->seen;
	snapshot_write(&mine, c->shadow);
	snapshot_write(&theirs, c->state);
	if (str_eq(buf_str(&mine), buf_str(&theirs)))
		return;
	while (at < mine.n && at < theirs.n && mine.p[at] == theirs.p[at])
		at++;
	at = at > 60 ? at - 60 : 0;
	sim_violated(c->s, inv_fold.name,
			"at event %llu the fold of all is not what daemon %d has: ..." STR_FMT
			"... and ..." STR_FMT "...",
			(unsigned long long)c->seen, c->up->life,
			STR_ARG(str_sub(buf_str(&mine), at, 160)),
			STR_ARG(str_sub(buf_str(&theirs), at, 160)));
}

static void fold_step(struct checker *c)
{
	enum { EVERY = 500, PER_OBJECT = 20 };

	if (c->news && c->seen - c->fold_seq >= EVERY + PER_OBJECT * c->node_list.n)
		fold_compare(c);
}

static bool fold_sabotage(struct checker *c)
{
	if (c->shadow->goals.n == 0)
		return false;
	c->shadow->next_escalation += 1000;
	return true;
}

const struct invariant inv_fold = {
	.name = "fold",
	.sentence = "the state of every daemon, folded from a snapshot and the tail, is the fold "
		    "of all "
		    "events",
	.step = fold_step,
	.restart = fold_compare,
	.end = fold_compare,
	.sabotage = fold_sabotage,
};

/* ---- memory ---- */

static size_t length(const struct list *head, size_t most)
{
	size_t n = 0;

	list_each (it, head)
		if (++n > most)
			break;
	return n;
}

static void too_many(struct checker *c, const char *what, size_t n)
{
	sim_violated(c->s, inv_memory.name, "daemon %d keeps %zu %s, where %d are allowed",
			c->up->life, n, what, LIMIT_KEPT);
}

/* Each list that would grow for ever keeps its newest. */
static void memory_look(struct checker *c)
{
	const struct state *s = c->state;
	size_t closed = 0, most = LIMIT_KEPT + 2 * (c->live.n + 1);

	if (s->finished_count > LIMIT_KEPT)
		too_many(c, "finished assignments", s->finished_count);
	if (s->retired_count > LIMIT_KEPT)
		too_many(c, "retired runs", s->retired_count);
	for (size_t i = 0; i < s->escalations.n; i++)
		closed += s->escalations.p[i]->status != ESC_OPEN;
	if (closed > LIMIT_KEPT)
		too_many(c, "closed escalations", closed);
	if (length(&s->finished, most) > LIMIT_KEPT || length(&s->runs, most) >= most)
		too_many(c, "runs or assignments", most);
	if (s->assignments_by_id.n > most || s->runs_by_id.n > most)
		too_many(c, "assignments or runs by their ids",
				MAX(s->assignments_by_id.n, s->runs_by_id.n));
	list_each (it, &s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (as->dispatches.n > LIMIT_KEPT)
			too_many(c, "dispatches of one assignment", as->dispatches.n);
	}
}

static void memory_step(struct checker *c)
{
	enum { EVERY = 500 };

	if (c->state && (c->s->stats.steps % EVERY == 0 || c->victim == &inv_memory))
		memory_look(c);
}

static void memory_end(struct checker *c)
{
	if (c->state)
		memory_look(c);
}

static bool memory_sabotage(struct checker *c)
{
	if (!c->state || c->seen < 10)
		return false;
	((struct state *)c->state)->finished_count = 10 * LIMIT_KEPT;
	return true;
}

const struct invariant inv_memory = {
	.name = "memory",
	.sentence = "what a daemon keeps in memory is bounded, however long it has lived",
	.step = memory_step,
	.end = memory_end,
	.sabotage = memory_sabotage,
};
