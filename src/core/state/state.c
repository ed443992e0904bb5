#include "core/state/state.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/str.h"
#include "core/model/limits.h"
#include "core/state/habit.h"

struct state *state_new(uint64_t hash_seed)
{
	struct state *s = mem_zalloc(1, sizeof(*s));
	struct map *maps[] = { &s->goals_by_id, &s->nodes_by_key, &s->assignments_by_id,
		&s->runs_by_id, &s->workers_by_name, &s->effects_by_id, &s->dispatches_by_id };
	struct list *lists[] = { &s->ready, &s->queued, &s->waiting, &s->live, &s->finished,
		&s->runs, &s->retired_runs, &s->judged, &s->effects };

	for (size_t i = 0; i < ARRAY_LEN(maps); i++)
		map_init(maps[i], hash_seed);
	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		list_init(lists[i]);
	s->next_escalation = 1;
	return s;
}

static void record_free(const struct record_type *t, void *record)
{
	if (!record)
		return;
	record_done(t, record);
	mem_free(record);
}

#define FREE_VEC(vec, type)                             \
	do {                                            \
		for (size_t i = 0; i < (vec)->n; i++)   \
			record_free(type, (vec)->p[i]); \
		vec_done(vec);                          \
	} while (0)

static void node_free(struct node *n)
{
	record_free(&crystallization_record, n->handoff);
	node_drop_iterations(n);
	record_done(&node_record, n);
	mem_free((char *)n->key.p);
	vec_done(&n->children);
	vec_done(&n->dependants);
	mem_free(n);
}

static void goal_free(struct goal *g)
{
	for (size_t i = 0; i < g->nodes.n; i++)
		node_free(g->nodes.p[i]);
	vec_done(&g->nodes);
	FREE_VEC(&g->detections, &detection_record);
	record_free(&crystallization_record, g->handoff);
	record_done(&goal_record, g);
	mem_free(g);
}

static void assignment_free(struct state *s, struct assignment *as)
{
	for (size_t i = 0; i < as->dispatches.n; i++) {
		map_remove(&s->dispatches_by_id, as->dispatches.p[i]->id);
		record_free(&dispatch_record, as->dispatches.p[i]);
	}
	vec_done(&as->dispatches);
	record_free(&assignment_record, as);
}

#define FREE_LIST(head, type, record)                                    \
	do {                                                             \
		list_each (it, head)                                     \
			record_free(record, list_entry(it, type, link)); \
	} while (0)

struct state *state_free(struct state *s)
{
	if (!s)
		return NULL;
	for (size_t i = 0; i < s->goals.n; i++)
		goal_free(s->goals.p[i]);
	vec_done(&s->goals);
	FREE_VEC(&s->workers, &worker_record);
	FREE_VEC(&s->escalations, &escalation_record);
	FREE_VEC(&s->notices, &notice_record);
	FREE_VEC(&s->lanes, &lane_record);
	FREE_VEC(&s->streaks, &streak_record);
	FREE_VEC(&s->usage, &usage_row_record);
	for (size_t i = 0; i < s->habits.n; i++)
		habits_free(s->habits.p[i]);
	vec_done(&s->habits);
	FREE_VEC(&s->conflicts, &conflict_record);
	FREE_VEC(&s->watchers, &watcher_record);
	record_done(&vigil_record, &s->vigil);
	record_done(&clock_known_record, &s->clock);
	record_done(&auto_mode_record, &s->automatic);
	record_set_str(&s->target, STR(""));
	record_set_str(&s->failing, STR(""));
	record_set_str(&s->target_branch, STR(""));
	record_set_str(&s->target_head, STR(""));
	record_set_str(&s->target_before, STR(""));
	list_each (it, &s->live)
		assignment_free(s, list_entry(it, struct assignment, link));
	list_each (it, &s->finished)
		assignment_free(s, list_entry(it, struct assignment, link));
	FREE_LIST(&s->runs, struct run, &run_record);
	FREE_LIST(&s->retired_runs, struct run, &run_record);
	FREE_LIST(&s->effects, struct effect, &effect_record);
	map_done(&s->goals_by_id);
	map_done(&s->nodes_by_key);
	map_done(&s->assignments_by_id);
	map_done(&s->runs_by_id);
	map_done(&s->workers_by_name);
	map_done(&s->effects_by_id);
	map_done(&s->dispatches_by_id);
	mem_free(s);
	return NULL;
}

struct goal *state_goal(const struct state *s, str id)
{
	return map_get(&s->goals_by_id, id);
}

struct node *state_node(const struct state *s, str goal, str node)
{
	char key[2 * LIMIT_ID + 2];

	if (goal.n > LIMIT_ID || node.n > LIMIT_ID)
		return NULL;
	if (goal.n)
		memcpy(key, goal.p, goal.n);
	key[goal.n] = '/';
	if (node.n)
		memcpy(key + goal.n + 1, node.p, node.n);
	return map_get(&s->nodes_by_key, (str){ key, goal.n + 1 + node.n });
}

struct assignment *state_assignment(const struct state *s, str id)
{
	return map_get(&s->assignments_by_id, id);
}

struct run *state_run(const struct state *s, str id)
{
	return map_get(&s->runs_by_id, id);
}

struct worker *state_worker(const struct state *s, str name)
{
	return map_get(&s->workers_by_name, name);
}

struct effect *state_effect(const struct state *s, str id)
{
	return map_get(&s->effects_by_id, id);
}

struct dispatch *state_dispatch(const struct state *s, str id)
{
	return map_get(&s->dispatches_by_id, id);
}

struct escalation *state_escalation(const struct state *s, int64_t number)
{
	for (size_t i = 0; i < s->escalations.n; i++)
		if (s->escalations.p[i]->number == number)
			return s->escalations.p[i];
	return NULL;
}

struct lane *state_lane(const struct state *s, str agent)
{
	for (size_t i = 0; i < s->lanes.n; i++)
		if (str_eq(s->lanes.p[i]->agent, agent))
			return s->lanes.p[i];
	return NULL;
}

struct conflict *state_conflict(const struct state *s, str a, str b)
{
	for (size_t i = 0; i < s->conflicts.n; i++)
		if (str_eq(s->conflicts.p[i]->a, a) && str_eq(s->conflicts.p[i]->b, b))
			return s->conflicts.p[i];
	return NULL;
}

struct goal *state_standing(const struct state *s, const char *kind)
{
	for (size_t i = s->goals.n; i-- > 0;) {
		struct goal *g = s->goals.p[i];

		if (str_is(g->standing, kind) && goal_stands(g) &&
				(g->status == GOAL_ACTIVE || g->status == GOAL_PAUSED))
			return g;
	}
	return NULL;
}

int64_t node_priority(const struct node *n)
{
	return n->def.priority ? n->def.priority : n->goal->priority;
}

void state_add_goal(struct state *s, struct goal *g)
{
	g->order = s->goals.n;
	g->automatic = str_is(g->standing, STANDING_AUTO) ? &s->automatic : NULL;
	vec_push(&s->goals, g);
	map_put(&s->goals_by_id, g->id, g);
}

void state_add_node(struct state *s, struct goal *g, struct node *n)
{
	char *key = mem_alloc(g->id.n + n->id.n + 2);

	memcpy(key, g->id.p, g->id.n);
	key[g->id.n] = '/';
	memcpy(key + g->id.n + 1, n->id.p, n->id.n);
	key[g->id.n + 1 + n->id.n] = '\0';
	n->key = (str){ key, g->id.n + 1 + n->id.n };
	n->goal = g;
	list_init(&n->link);
	vec_push(&g->nodes, n);
	map_put(&s->nodes_by_key, n->key, n);
}

void state_add_assignment(struct state *s, struct assignment *as)
{
	map_put(&s->assignments_by_id, as->id, as);
	as->node = state_node(s, as->goal_id, as->node_id);
	as->slot = state_worker(s, as->worker) ? state_worker(s, as->worker)->kind : WORKER_MANUAL;
	as->habits = state_habits(s, as->agent);
	as->live = true;
	list_append(&s->live, &as->link);
	if (as->node)
		as->node->assignment = as;
	state_index_assignment(s, as);
}

void state_add_run(struct state *s, struct run *r)
{
	struct assignment *as = state_assignment(s, r->assignment_id);

	map_put(&s->runs_by_id, r->id, r);
	list_append(&s->runs, &r->link);
	if (as && as->live && str_eq(as->run_id, r->id))
		as->run = r;
	list_init(&r->judged);
	state_index_run(s, r);
}

void state_add_worker(struct state *s, struct worker *w)
{
	vec_push(&s->workers, w);
	map_put(&s->workers_by_name, w->name, w);
}

void state_remove_worker(struct state *s, struct worker *w)
{
	map_remove(&s->workers_by_name, w->name);
	for (size_t i = 0; i < s->workers.n; i++)
		if (s->workers.p[i] == w) {
			vec_remove(&s->workers, i);
			break;
		}
	record_free(&worker_record, w);
}

void state_add_effect(struct state *s, struct effect *e)
{
	struct assignment *as = state_assignment(s, e->assignment_id);
	struct goal *g = as ? NULL : state_goal(s, e->goal_id);

	list_append(&s->effects, &e->link);
	map_put(&s->effects_by_id, e->id, e);
	if (e->kind == FX_POOL)
		s->pool = e;
	if (e->kind == FX_WORKER && state_worker(s, e->worker))
		state_worker(s, e->worker)->effect = e;
	if (e->kind == FX_NOTIFY && state_notice(s, e->purpose))
		state_notice(s, e->purpose)->effect = e;
	if (as)
		as->effect = e;
	if (g)
		g->effect = e;
}

void state_remove_effect(struct state *s, struct effect *e)
{
	struct assignment *as = state_assignment(s, e->assignment_id);
	struct goal *g = state_goal(s, e->goal_id);

	list_remove(&e->link);
	map_remove(&s->effects_by_id, e->id);
	if (s->pool == e)
		s->pool = NULL;
	if (e->kind == FX_WORKER && state_worker(s, e->worker))
		state_worker(s, e->worker)->effect = NULL;
	if (e->kind == FX_NOTIFY && state_notice(s, e->purpose))
		state_notice(s, e->purpose)->effect = NULL;
	if (as && as->effect == e)
		as->effect = NULL;
	if (g && g->effect == e)
		g->effect = NULL;
	record_free(&effect_record, e);
}

void state_add_conflict(struct state *s, struct conflict *c)
{
	vec_push(&s->conflicts, c);
}

void state_remove_conflict(struct state *s, struct conflict *c)
{
	for (size_t i = 0; i < s->conflicts.n; i++)
		if (s->conflicts.p[i] == c) {
			vec_remove(&s->conflicts, i);
			break;
		}
	record_free(&conflict_record, c);
}

const struct escalation *state_asked(const struct state *s, enum ask ask, str assignment)
{
	for (size_t i = 0; i < s->escalations.n; i++) {
		const struct escalation *x = s->escalations.p[i];

		if (x->status == ESC_OPEN && x->ask == ask &&
				(!assignment.n || str_eq(x->assignment_id, assignment)))
			return x;
	}
	return NULL;
}

void state_add_escalation(struct state *s, struct escalation *e)
{
	int ask = status_parse(&ask_kinds, e->kind);

	e->ask = ask < 0 ? ASK_OTHER : (enum ask)ask;
	vec_push(&s->escalations, e);
	s->next_escalation = MAX(s->next_escalation, e->number + 1);
}

void state_add_dispatch(struct state *s, struct dispatch *d)
{
	struct assignment *as = state_assignment(s, d->assignment_id);

	assert(as);
	if (as->dispatches.n == LIMIT_KEPT) {
		map_remove(&s->dispatches_by_id, as->dispatches.p[0]->id);
		record_free(&dispatch_record, as->dispatches.p[0]);
		vec_remove(&as->dispatches, 0);
	}
	vec_push(&as->dispatches, d);
	map_put(&s->dispatches_by_id, d->id, d);
}

void state_add_lane(struct state *s, struct lane *l)
{
	vec_push(&s->lanes, l);
}

void state_remove_lane(struct state *s, struct lane *l)
{
	for (size_t i = 0; i < s->lanes.n; i++)
		if (s->lanes.p[i] == l) {
			vec_remove(&s->lanes, i);
			record_free(&lane_record, l);
			return;
		}
}

void state_set_handoff(struct state *s, struct crystallization *c)
{
	struct goal *g = state_goal(s, c->goal_id);
	struct node *n = c->node_id.n ? state_node(s, c->goal_id, c->node_id) : NULL;
	struct crystallization **place = n ? &n->handoff : &g->handoff;

	assert(g);
	record_free(&crystallization_record, *place);
	*place = c;
}

/* Makes room among the finished: the oldest goes. Its newest run retired before it did. */
static void drop_oldest_finished(struct state *s)
{
	struct assignment *as = list_entry(s->finished.next, struct assignment, link);

	list_remove(&as->link);
	map_remove(&s->assignments_by_id, as->id);
	assignment_free(s, as);
	s->finished_count--;
}

bool run_ended_well(const struct run *r)
{
	if (r->verdict.n)
		return str_is(r->verdict, "ok");
	return !r->lost && r->signal == 0 && r->exit_code == 0;
}

void state_index_assignment(struct state *s, struct assignment *as)
{
	bool live = as->stage != STAGE_NONE || !assignment_is_final(as);

	if (live || !as->live)
		return;
	as->live = false;
	if (as->node && as->node->assignment == as)
		as->node->assignment = NULL;
	if (as->run)
		state_retire_run(s, as->run);
	as->run = NULL;
	list_remove(&as->link);
	list_append(&s->finished, &as->link);
	if (++s->finished_count > LIMIT_KEPT)
		drop_oldest_finished(s);
}

void state_retire_run(struct state *s, struct run *r)
{
	list_remove(&r->link);
	list_append(&s->retired_runs, &r->link);
	if (++s->retired_count <= LIMIT_KEPT)
		return;
	r = list_entry(s->retired_runs.next, struct run, link);
	list_remove(&r->link);
	list_remove(&r->judged);
	map_remove(&s->runs_by_id, r->id);
	record_free(&run_record, r);
	s->retired_count--;
}

void state_prune_escalations(struct state *s)
{
	size_t closed = 0, drop;

	for (size_t i = 0; i < s->escalations.n; i++)
		closed += s->escalations.p[i]->status != ESC_OPEN;
	drop = closed > LIMIT_KEPT ? closed - LIMIT_KEPT : 0;
	for (size_t i = 0; drop && i < s->escalations.n;) {
		struct escalation *e = s->escalations.p[i];

		if (e->status == ESC_OPEN) {
			i++;
			continue;
		}
		vec_remove(&s->escalations, i);
		record_free(&escalation_record, e);
		drop--;
	}
}
