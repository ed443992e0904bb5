#include "base/alloc.h"
#include "base/str.h"
#include "core/fold/apply_impl.h"
#include "core/model/watchdog.h"

static void forget_oldest(struct state *s)
{
	struct watcher *w = s->watchers.p[0];

	s->vigil.forgotten_n = MAX(s->vigil.forgotten_n, w->n);
	s->vigil.forgotten_at = MAX(s->vigil.forgotten_at, w->at);
	vec_remove(&s->watchers, 0);
	record_done(&watcher_record, w);
	mem_free(w);
}

/* The one that was heard of last stands last. */
APPLY(watch_acted)
{
	str watch = d->watch;
	size_t i = watcher_place(s, watch);
	struct watcher *w;

	if (!id_valid(watch))
		return ev_missing(e, "such watchdog", watch, err);
	if (i < s->watchers.n) {
		w = s->watchers.p[i];
		vec_remove(&s->watchers, i);
	} else {
		if (s->watchers.n == LIMIT_WATCHERS)
			forget_oldest(s);
		w = mem_zalloc(1, sizeof(*w));
		record_set_str(&w->instance, watch);
	}
	w->n = MAX(w->n, d->n);
	w->at = MAX(w->at, d->at_ms);
	vec_push(&s->watchers, w);
	return 0;
}
