#include "app/watch/leftovers.h"

#include "app/log/log.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "drive/run/run_lost.h"
#include "sys/loop/loop.h"

/* After the sweep before it. */
static const int again_ms[] = { 100, 1000, 5000, 30000 };

struct leftover {
	struct arena strings;
	str id; /* empty: this place is free */
	size_t sweeps;
	struct loop_source *timer;
};

struct leftovers {
	struct loop *loop;
	struct leftover list[LEFTOVERS_MAX];
};

static void forget(struct leftover *o)
{
	loop_source_free(o->timer);
	arena_done(&o->strings);
	*o = (struct leftover){ 0 };
}

static void sweep_again(void *user)
{
	struct leftover *o = user;
	struct ov_err err = { 0 };
	size_t killed = 0;
	bool sure = false;

	if (run_sweep(o->id, &killed, &sure, &err) < 0)
		log_warn("run " STR_FMT ": %s", STR_ARG(o->id), err.msg);
	else if (killed)
		log_warn("run " STR_FMT ": %zu more processes that it left were killed",
				STR_ARG(o->id), killed);
	if (!sure && ++o->sweeps < ARRAY_LEN(again_ms)) {
		loop_timer_in(o->timer, again_ms[o->sweeps]);
		return;
	}
	if (!sure)
		log_warn("run " STR_FMT
			 ": it may have left processes; nobody looks for them any more",
				STR_ARG(o->id));
	forget(o);
}

void leftovers_watch(struct leftovers *w, str run_id)
{
	for (size_t i = 0; i < LEFTOVERS_MAX; i++) {
		struct leftover *o = &w->list[i];

		if (o->id.n)
			continue;
		o->strings = ARENA_SMALL;
		o->id = arena_str(&o->strings, run_id);
		o->timer = loop_timer(w->loop, sweep_again, o);
		loop_timer_in(o->timer, again_ms[0]);
		return;
	}
	log_warn("run " STR_FMT ": it may have left processes; those of %d others are looked for",
			STR_ARG(run_id), LEFTOVERS_MAX);
}

size_t leftovers_n(const struct leftovers *w)
{
	size_t n = 0;

	for (size_t i = 0; i < LEFTOVERS_MAX; i++)
		n += w->list[i].id.n > 0;
	return n;
}

struct leftovers *leftovers_new(struct loop *l)
{
	struct leftovers *w = mem_zalloc(1, sizeof(*w));

	w->loop = l;
	return w;
}

struct leftovers *leftovers_free(struct leftovers *w)
{
	for (size_t i = 0; w && i < LEFTOVERS_MAX; i++)
		if (w->list[i].id.n)
			forget(&w->list[i]);
	mem_free(w);
	return NULL;
}
