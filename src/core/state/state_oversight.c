/*
 * Iterations, detections and notices in the state: kept with what they are about, the newest
 * of them.
 */
#include "base/alloc.h"
#include "base/str.h"
#include "core/state/state.h"

static void record_free(const struct record_type *t, void *record)
{
	record_done(t, record);
	mem_free(record);
}

static void iteration_free(struct iteration *it)
{
	mem_free((void *)it->sample.files);
	record_free(&iteration_record, it);
}

void node_drop_iterations(struct node *n)
{
	for (size_t i = 0; i < n->iterations.n; i++)
		iteration_free(n->iterations.p[i]);
	vec_done(&n->iterations);
}

void state_add_iteration(struct state *s _unused_, struct node *n, struct iteration *it)
{
	sample_prepare(it);
	if (n->iterations.n && vec_last(&n->iterations)->number == it->number) {
		iteration_free(vec_last(&n->iterations));
		vec_last(&n->iterations) = it;
		return;
	}
	if (n->iterations.n == LIMIT_ITERATIONS) {
		iteration_free(n->iterations.p[0]);
		vec_remove(&n->iterations, 0);
	}
	vec_push(&n->iterations, it);
}

struct detection *state_detection(const struct goal *g, str id)
{
	for (size_t i = g->detections.n; i-- > 0;)
		if (str_eq(g->detections.p[i]->id, id))
			return g->detections.p[i];
	return NULL;
}

void state_add_detection(struct state *s _unused_, struct goal *g, struct detection *d)
{
	if (g->detections.n == LIMIT_DETECTIONS) {
		record_free(&detection_record, g->detections.p[0]);
		vec_remove(&g->detections, 0);
	}
	vec_push(&g->detections, d);
}

struct notice *state_notice(const struct state *s, str id)
{
	for (size_t i = s->notices.n; i-- > 0;)
		if (str_eq(s->notices.p[i]->id, id))
			return s->notices.p[i];
	return NULL;
}

void state_add_notice(struct state *s, struct notice *x)
{
	vec_push(&s->notices, x);
}

/* Those that were sent just now say how many more may be. */
static bool notice_is_kept(const struct notice *x, ov_time now)
{
	return x->status == NOTICE_WAITING || x->effect ||
			(x->status == NOTICE_SENT && x->settled_at > now - OV_HOUR);
}

void state_prune_notices(struct state *s, ov_time now)
{
	size_t settled = 0, drop;

	for (size_t i = 0; i < s->notices.n; i++)
		settled += !notice_is_kept(s->notices.p[i], now);
	drop = settled > LIMIT_KEPT ? settled - LIMIT_KEPT : 0;
	for (size_t i = 0; drop && i < s->notices.n;) {
		struct notice *x = s->notices.p[i];

		if (notice_is_kept(x, now)) {
			i++;
			continue;
		}
		vec_remove(&s->notices, i);
		record_free(&notice_record, x);
		drop--;
	}
}

void state_index_run(struct state *s, struct run *r)
{
	list_remove(&r->judged);
	if (r->judged_seq > r->reviewed_seq)
		list_append(&s->judged, &r->judged);
}

enum goal_health budget_health(enum budget_level level)
{
	static const enum goal_health healths[] = { [BUDGET_FINE] = HEALTH_HEALTHY,
		[BUDGET_WARNED] = HEALTH_WARNING,
		[BUDGET_SPENT] = HEALTH_CRITICAL };

	return healths[level];
}

enum goal_health goal_health_due(const struct goal *g)
{
	static const enum goal_health healths[SEVERITY_COUNT] = { [SEVERITY_NONE] = HEALTH_HEALTHY,
		[SEVERITY_LOW] = HEALTH_HEALTHY,
		[SEVERITY_MEDIUM] = HEALTH_WARNING,
		[SEVERITY_HIGH] = HEALTH_WARNING,
		[SEVERITY_CRITICAL] = HEALTH_CRITICAL };
	enum goal_health worst = budget_health(g->budget_level);

	/* Without a detection nothing was ever alarming: most goals are not walked through. */
	for (size_t i = 0; g->detections.n && i < g->nodes.n; i++) {
		const struct node *n = g->nodes.p[i];

		/* A task that was split ends with its parts, without a word of its own. */
		if (!n->def.removed_in && !node_is_final(n))
			worst = MAX(worst, healths[n->watch.alarm]);
	}
	return worst;
}

size_t watcher_place(const struct state *s, str watch)
{
	size_t i = 0;

	while (i < s->watchers.n && !str_eq(s->watchers.p[i]->instance, watch))
		i++;
	return i;
}

/* Of those that are forgotten both must be greater: a file that was lost begins at 1 again. */
bool vigil_is_new(const struct state *s, str watch, int64_t n, ov_time at)
{
	size_t i = watcher_place(s, watch);

	if (i < s->watchers.n)
		return n > s->watchers.p[i]->n;
	return n > s->vigil.forgotten_n || at > s->vigil.forgotten_at;
}
