/*
 * What an agent did before the case: runs that ended well, of which the core learns how long it is
 * silent. An agent's runs are much alike, since its model, its tools and its repository are the
 * same: most are of its own kind, a few of any. They are played as the case is: the core looks at
 * them when it would look, asks whom it would ask, and what run.end tells is what the daemon heard.
 * What the core made of that is kept, for other cases with the same past.
 */
#include "tests/test.h"

#include "base/alloc.h"
#include "data/value/json.h"
#include "tests/sim/quality_world.h"

static void play(struct past *p, const struct policy *policy, const struct test_case *c)
{
	struct world_sim *w = world_new(policy, 1, c->past % 2);

	p->told = mem_zalloc(c->history + c->history / STRANGE_EVERY, sizeof(*p->told));
	for (size_t i = 0; i < c->history + c->history / STRANGE_EVERY; i++) {
		size_t before = w->f.log.n;
		struct outcome out;
		struct trace t;

		history_make(&t, c, i);
		world_cast(w, &t, 1, &out);
		while (world_step(w, HISTORY_HORIZON))
			;
		for (; before < w->f.log.n; before++)
			if (w->f.log.p[before]->kind == EV_SILENCE_LEARNED && !p->told[p->n].n)
				json_write(&p->told[p->n], w->f.log.p[before]->data);
		p->n += p->told[p->n].n > 0;
	}
	world_free(w);
}

void past_done(struct past *p)
{
	for (size_t i = 0; i < p->n; i++)
		buf_done(&p->told[i]);
	mem_free(p->told);
	*p = (struct past){ 0 };
}

void history_teach(struct world_sim *w, const struct policy *policy, const struct test_case *c)
{
	struct past *p = &c->pasts[((size_t)c->home * 3 + c->past_tells) * PASTS + c->past];
	struct ov_err err = { 0 };

	if (!c->history)
		return;
	if (!p->told)
		play(p, policy, c);
	for (size_t i = 0; i < p->n; i++) {
		struct event e = { .kind = EV_SILENCE_LEARNED,
			.at = w->f.now,
			.actor = STR("overseer") };

		if (json_parse(&w->f.arena, buf_str(&p->told[i]), NULL, &e.data, &err) < 0 ||
				append(&w->f, &e, &err) < 0)
			fail_msg("what a run taught is refused: %s", err.msg);
	}
}
