/*
 * Decisions that contradict the state. That is a bug, and would be one again at the next tick: such
 * a decision is left out until something changes about it, so that everything else goes on.
 */
#include "app/engine/engine_impl.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/model/record.h"

enum {
	HOLD_MS = OV_HOUR,
	HOLD_LEAST_MS = OV_MINUTE, /* also when something has changed */
	HOLD_MAX = 1000,           /* decisions; beyond that the oldest is tried again */
};

void engine_tell(struct engine *e, str what, const struct event *about, const struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct msg_daemon_contradicted m = { .what = what,
		.goal = about ? about->goal : STR(""),
		.node = about ? about->node : STR(""),
		.detail = str_from(err->msg) };

	engine_submit(e, STR("daemon.contradicted"),
			message_data(&a, MESSAGE_daemon_contradicted, &m), STR("overseer"), NULL,
			NULL);
}

static int64_t newest_event(const struct engine *e, const struct held *h)
{
	const struct node *n = state_node(e->state, h->goal, h->node);

	return n && n->history.n ? n->history.p[n->history.n - 1] : 0;
}

static void forget(struct engine *e, size_t i)
{
	struct held *h = &e->held.p[i];

	map_remove(&e->held_by_key, h->key);
	record_set_str(&h->key, STR(""));
	record_set_str(&h->goal, STR(""));
	record_set_str(&h->node, STR(""));
	vec_remove(&e->held, i);
}

void engine_hold(struct engine *e, const struct decision *d, const struct ov_err *err)
{
	struct event about = { .goal = d->goal ? d->goal->id : STR(""),
		.node = d->node ? d->node->id : STR("") };
	struct held h = { .at = e->world->now(e->user) };

	record_set_str(&h.key, decision_key(&e->staged->arena, d));
	record_set_str(&h.goal, about.goal);
	record_set_str(&h.node, about.node);
	engine_tell(e, str_from(decision_name(d->kind)), &about, err);
	h.seq = newest_event(e, &h);
	if (e->held.n == HOLD_MAX)
		forget(e, 0);
	vec_push(&e->held, h);
	map_put(&e->held_by_key, h.key, e);
}

void engine_hold_expire(struct engine *e, ov_time now)
{
	for (size_t i = e->held.n; i-- > 0;) {
		const struct held *h = &e->held.p[i];
		bool changed = newest_event(e, h) != h->seq;

		/* A clock that jumped back must not hold it up. */
		if (now < h->at || now - h->at >= (changed ? HOLD_LEAST_MS : HOLD_MS))
			forget(e, i);
	}
}

ov_time engine_hold_until(const struct engine *e)
{
	return e->held.n ? e->held.p[0].at + HOLD_MS : OV_TIME_MAX;
}

void engine_hold_done(struct engine *e)
{
	while (e->held.n)
		forget(e, e->held.n - 1);
	vec_done(&e->held);
	map_done(&e->held_by_key);
}
