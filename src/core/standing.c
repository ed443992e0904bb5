#include "core/standing.h"

#include "base/str.h"
#include "core/state.h"

bool worker_serves(const struct worker *w, const struct node *n)
{
	if (n->wanted_worker.n)
		return str_eq(w->name, n->wanted_worker);
	if (str_is(n->goal->standing, STANDING_AUTO))
		return w->kind == WORKER_AUTO;
	return w->kind == WORKER_POOL || (w->kind == WORKER_MANUAL && !w->excluded);
}
