/*
 * What waits for its turn, in the order in which it is served, and why: to be accepted, to
 * be begun.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/capacity/accept_queue.h"
#include "core/capacity/auto_mode.h"
#include "core/capacity/budget.h"
#include "core/capacity/free_worker.h"
#include "core/capacity/lane.h"
#include "core/capacity/slots.h"
#include "core/tick/reconcile.h"
#include "core/view/view.h"
#include "core/view/waiting.h"
#include "core/work/standing.h"

#define QUEUE_STATES(X)                     \
	X(QUEUE_HELD, "held")               \
	X(QUEUE_WAITS, "waits")             \
	X(QUEUE_ACCEPTING, "accepting")     \
	X(QUEUE_REVIEW, "review")           \
	X(QUEUE_NEXT, "next")               \
	X(QUEUE_GOAL, "goal")               \
	X(QUEUE_AUTO, "auto")               \
	X(QUEUE_BUDGET, "budget")           \
	X(QUEUE_NO_AGENT, "no_agent")       \
	X(QUEUE_LANE, "lane")               \
	X(QUEUE_CAPACITY, "capacity")       \
	X(QUEUE_CONCURRENCY, "concurrency") \
	X(QUEUE_WORKER, "worker")           \
	X(QUEUE_STAGE, "stage")
#define SYM(sym, name) sym,
enum queue_state { QUEUE_STATES(SYM) };
#undef SYM
#define NAME(sym, name) [sym] = name,
static const char *const state_names[] = { QUEUE_STATES(NAME) };
#undef NAME

struct queue_row {
	const struct node *n;
	enum queue_state state;
	str why;
};

struct queue_rows {
	struct queue_row *p;
	size_t n;
};

struct queue_group {
	const char *state;
	str why;
	int64_t count;
	value *nodes; /* the first few */
};

struct queue {
	struct arena *a;
	const struct state *s;
	const struct policy *p;
	str no_capacity;
	ov_time now;
	int64_t *loads;  /* per configured agent; assignments that wait hold no place */
	int64_t *starts; /* of these, those that have not begun */
	struct slots slots;
	size_t unusable[WORKER_KIND_COUNT]; /* workers that a person has to look at first */
	const struct worker **manual;       /* those of people that are free */
	size_t manual_n;
	const struct queue_rows *accept; /* the accept queue, once somebody asked for it */
	VEC(struct queue_group) groups;  /* while they are made */
};

/* Tasks that status looks at for their reason, and those that it names for each. */
enum { GROUPED_MAX = 256, GROUP_NAMED = 5 };

static struct queue_row row(const struct node *n, enum queue_state state, str why)
{
	return (struct queue_row){ n, state, why };
}

static value *row_view(struct queue *q, const struct queue_row *r)
{
	const struct node *n = r->n;
	const struct assignment *as = n->assignment;
	ov_time until = as && as->not_before > q->now ? as->not_before : 0;
	const char *step = as && as->stage != STAGE_NONE ? status_name(&stages, (int)as->stage)
							 : "";
	struct arena *a = q->a;
	value *v = value_object(a);

	value_put(a, v, "goal", value_str(a, n->goal->id));
	value_put(a, v, "node", value_str(a, n->id));
	value_put(a, v, "name", value_str(a, n->def.name));
	value_put(a, v, "priority", value_int(a, node_priority(n)));
	value_put(a, v, "agent", value_str(a, as ? as->agent : node_wants(q->p, n)));
	value_put(a, v, "worker", value_str(a, as ? as->worker : STR("")));
	value_put(a, v, "branch", value_str(a, as ? as->branch : STR("")));
	value_put(a, v, "step", value_cstr(a, step));
	value_put(a, v, "state", value_cstr(a, state_names[r->state]));
	value_put(a, v, "why", value_str(a, r->why));
	value_put(a, v, "not_before", value_time(a, until));
	value_put(a, v, "since", value_time(a, as ? as->updated_at : n->queued_at));
	return v;
}

/* What somebody who has its turn is doing with it. */
static const char *const steps[STAGE_COUNT] = {
	[STAGE_REVIEW] = "waits for a person's review",
	[STAGE_REBASE] = "is being rebased onto the target branch",
	[STAGE_GATE] = "the pre_accept command runs on it",
	[STAGE_ACCEPT] = "its change is being put on the target branch",
	[STAGE_POST] = "its change is on the target branch; the post_accept command runs",
	[STAGE_REVERT] = "its change is being taken back from the target branch",
};

static struct queue_row turn_row(struct queue *q, const struct assignment *as)
{
	const struct escalation *x = accept_question(q->s, as);

	if (x)
		return row(as->node, QUEUE_HELD,
				arena_printf(q->a, STR_FMT "; #%lld waits for your answer",
						STR_ARG(as->reason), (long long)x->number));
	if (!as->effect && as->not_before > q->now)
		return row(as->node, QUEUE_WAITS, as->reason);
	return row(as->node, QUEUE_ACCEPTING, str_from(steps[as->stage]));
}

static str behind(struct queue *q, const struct assignment *holder)
{
	const struct escalation *x = accept_question(q->s, holder);

	if (x)
		return arena_printf(q->a, "nothing is accepted until #%lld is answered",
				(long long)x->number);
	return arena_printf(q->a, STR_FMT " has its turn", STR_ARG(holder->node->key));
}

static struct queue_row waiting_row(struct queue *q, const struct assignment *as,
		const struct assignment *holder, bool first)
{
	if (as->stage == STAGE_REVIEW)
		return row(as->node, QUEUE_REVIEW,
				arena_printf(q->a,
						"waits for a person: overseer worker "
						"review " STR_FMT,
						STR_ARG(as->worker)));
	if (as->node->goal->status != GOAL_ACTIVE)
		return row(as->node, QUEUE_HELD,
				arena_printf(q->a, "its goal is %s", goal_word(as->node->goal)));
	if (as->not_before > q->now)
		return row(as->node, QUEUE_WAITS, as->reason);
	if (holder)
		return row(as->node, QUEUE_NEXT, behind(q, holder));
	return row(as->node, QUEUE_NEXT,
			first ? STR("it is its turn") : STR("others are before it"));
}

/* Those in review come last: they are in nobody's way. */
static int queue_order(const void *pa, const void *pb, void *queue)
{
	const struct queue *q = queue;
	const struct assignment *a = *(const struct assignment *const *)pa,
				*b = *(const struct assignment *const *)pb;
	bool x = a->stage == STAGE_REVIEW, y = b->stage == STAGE_REVIEW;

	return x != y ? x - y : accept_order(q->p, a, b);
}

static const struct queue_rows *accept_queue(struct queue *q)
{
	const struct assignment *holder = accept_holder(q->s, q->p);
	VEC(const struct assignment *) waiting = { 0 };
	struct queue_rows *list = arena_new(q->a, struct queue_rows);
	bool first = true;

	list_each (it, &q->s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (stage_is_good(as->stage) && as->node && as != holder &&
				!assignment_is_final(as) && as->status != AS_BLOCKED)
			vec_push(&waiting, as);
	}
	if (waiting.n)
		qsort_r(waiting.p, waiting.n, sizeof(*waiting.p), queue_order, q);
	list->p = arena_array(q->a, struct queue_row, waiting.n + 1);
	if (holder)
		list->p[list->n++] = turn_row(q, holder);
	for (size_t i = 0; i < waiting.n; i++) {
		list->p[list->n++] = waiting_row(q, waiting.p[i], holder, first);
		first &= waiting.p[i]->not_before > q->now;
	}
	vec_done(&waiting);
	return list;
}

static bool has_place(struct queue *q, const struct assignment *as)
{
	return as->stage != STAGE_NONE && assignment_waiting(&q->slots, as) == WAITING_NONE;
}

static void count_loads(struct queue *q)
{
	q->loads = arena_array(q->a, int64_t, q->p->agents_n + 1);
	q->starts = arena_array(q->a, int64_t, q->p->agents_n + 1);
	list_each (it, &q->s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		for (size_t i = 0; has_place(q, as) && i < q->p->agents_n; i++)
			if (str_eq(q->p->agents[i].name, as->agent)) {
				q->loads[i]++;
				q->starts[i] += assignment_starts(as);
			}
	}
}

static void count_workers(struct queue *q)
{
	q->manual = arena_array(q->a, const struct worker *, q->s->workers.n + 1);
	for (size_t i = 0; i < q->s->workers.n; i++) {
		const struct worker *w = q->s->workers.p[i];

		q->unusable[w->kind] += worker_is_unusable(w);
		if (w->kind == WORKER_MANUAL && worker_is_free(w))
			q->manual[q->manual_n++] = w;
	}
}

static str all_taken(struct queue *q, enum worker_kind kind)
{
	size_t max = slots_max(q->s, q->p, kind);

	return arena_printf(q->a, "waits for a free worker (%zu of %zu at work; %s)", max, max,
			kind == WORKER_AUTO ? "auto.concurrency" : "workers.max");
}

/* Why nothing new begins with a worker of this kind; empty when something does. */
static str slot_text(struct queue *q, enum worker_kind kind)
{
	const struct slot_count *of = &q->slots.of[kind];
	size_t taken = of->busy + of->starts + q->unusable[kind];

	if (slots_held(&q->slots, kind))
		return slots_text(q->a, &q->slots, kind);
	return taken < slots_max(q->s, q->p, kind) ? STR("") : all_taken(q, kind);
}

static str agent_text(struct queue *q, const struct policy_agent *agent)
{
	return arena_printf(q->a, "agent " STR_FMT " has all that it may take at once (%lld)",
			STR_ARG(agent->name), (long long)agent->concurrency);
}

/* Why an assignment that could begin its run does not; empty when it does. */
static str start_text(struct queue *q, const struct assignment *as)
{
	const struct slot_count *of = &q->slots.of[as->slot];
	size_t max = slots_max(q->s, q->p, as->slot);
	bool others = of->busy + of->starts > max;

	if (!assignment_starts(as))
		return STR("");
	if (of->busy >= max)
		return all_taken(q, as->slot);
	for (size_t i = 0; i < q->p->agents_n; i++) {
		const struct policy_agent *agent = &q->p->agents[i];

		if (!str_eq(agent->name, as->agent))
			continue;
		if (q->loads[i] - q->starts[i] >= agent->concurrency)
			return agent_text(q, agent);
		others |= q->loads[i] > agent->concurrency;
	}
	return others ? STR("others that are ready to begin come first") : STR("");
}

/* Why no worker takes it; empty when one does. */
static str worker_text(struct queue *q, const struct node *n)
{
	bool automatic = str_is(n->goal->standing, STANDING_AUTO);
	str name = n->next.worker;
	const struct worker *w = name.n ? state_worker(q->s, name) : NULL;

	if (name.n && !w)
		return arena_printf(q->a, "there is no worker " STR_FMT " (overseer worker add)",
				STR_ARG(name));
	if (w && worker_is_free(w))
		return slot_text(q, w->kind);
	if (w)
		return arena_printf(q->a, "worker " STR_FMT " is %s", STR_ARG(name),
				w->wanted.n ? "to be reset or removed"
					    : status_name(&worker_statuses, (int)w->status));
	for (size_t i = 0; i < q->manual_n; i++)
		if (worker_serves(q->manual[i], n))
			return STR("");
	return slot_text(q, automatic ? WORKER_AUTO : WORKER_POOL);
}

static str lane_row_text(struct queue *q, const struct lane *l)
{
	return lane_text(q->a, l, q->now, q->p->utc_offset);
}

/* Why nothing new may be begun for the goal; empty when it may. */
static str goal_holds(const struct queue *q, const struct goal *g)
{
	struct budget_live live = { 0 };

	/* Of the pool's tasks few wait; of other goals, runs under way hold nobody up. */
	if (g->automatic)
		live = budget_live_of(q->s, g, NULL, q->now);
	return goal_held_text(q->a, q->p, g, g->automatic ? &live : NULL, q->now);
}

static struct queue_row held_row(const struct node *n, str why)
{
	bool paused = n->goal->automatic && auto_pause_holds(n->goal->automatic);

	return row(n, paused ? QUEUE_AUTO : QUEUE_BUDGET, why);
}

/* Why a queued node without an assignment has none. */
static struct queue_row unassigned_row(struct queue *q, const struct node *n)
{
	str want = node_wants(q->p, n);
	const struct policy_agent *agent = NULL;
	const struct lane *lane = state_lane(q->s, want);
	str held = goal_holds(q, n->goal), why;

	for (size_t i = 0; i < q->p->agents_n; i++)
		if (str_eq(q->p->agents[i].name, want))
			agent = &q->p->agents[i];
	if (n->goal->status != GOAL_ACTIVE)
		return row(n, QUEUE_GOAL, arena_printf(q->a, "its goal is %s", goal_word(n->goal)));
	if (held.n)
		return held_row(n, held);
	if (!agent || !agent_allowed(q->p, want))
		return row(n, QUEUE_NO_AGENT, policy_no_agent(q->a, q->p, want));
	if (lane_is_shut(lane, q->now))
		return row(n, QUEUE_LANE, lane_row_text(q, lane));
	if (q->no_capacity.n)
		return row(n, QUEUE_CAPACITY, q->no_capacity);
	if (q->loads[agent - q->p->agents] >= agent->concurrency)
		return row(n, QUEUE_CONCURRENCY, agent_text(q, agent));
	why = worker_text(q, n);
	if (why.n)
		return row(n, QUEUE_WORKER, why);
	return row(n, QUEUE_NEXT, STR("it is about to be assigned"));
}

/* It is blocked by its agent's limit or login, and continues when that is over. */
static bool waits_for_agent(const struct queue *q, const struct node *n)
{
	return node_is_leaf(n) && !n->def.removed_in &&
			lane_is_shut(lane_blocking(q->s, n), q->now);
}

static struct queue_row dispatch_row(struct queue *q, const struct node *n)
{
	const struct assignment *as = n->assignment;
	str held, why;

	if (waits_for_agent(q, n))
		return row(n, QUEUE_LANE, lane_row_text(q, lane_blocking(q->s, n)));
	if (!as)
		return unassigned_row(q, n);
	if (n->goal->status != GOAL_ACTIVE)
		return row(n, QUEUE_GOAL, arena_printf(q->a, "its goal is %s", goal_word(n->goal)));
	if (as->not_before > q->now)
		return row(n, QUEUE_WAITS, as->reason);
	if (as->stage == STAGE_START && !as->effect &&
			lane_is_shut(state_lane(q->s, as->agent), q->now))
		return row(n, QUEUE_LANE, lane_row_text(q, state_lane(q->s, as->agent)));
	held = assignment_starts(as) ? goal_holds(q, n->goal) : STR("");
	if (held.n)
		return held_row(n, held);
	if (as->stage == STAGE_START && q->no_capacity.n)
		return row(n, QUEUE_CAPACITY, q->no_capacity);
	why = start_text(q, as);
	if (why.n)
		return row(n, QUEUE_WORKER, why);
	return row(n, QUEUE_STAGE,
			arena_printf(q->a, "%s: %s", status_name(&stages, (int)as->stage),
					as->effect ? "under way" : "about to begin"));
}

static bool has_blocked(const struct goal *g)
{
	return g->leaves_blocked && (g->status == GOAL_ACTIVE || g->status == GOAL_PAUSED);
}

static value *dispatch_queue(struct queue *q)
{
	VEC(const struct node *) waiting = { 0 };
	value *list = value_array(q->a);

	list_each (it, &q->s->queued)
		vec_push(&waiting, list_entry(it, struct node, link));
	for (size_t i = 0; i < q->s->goals.n; i++) {
		const struct goal *g = q->s->goals.p[i];

		for (size_t k = 0; g->status == GOAL_PAUSED && k < g->nodes.n; k++)
			if (node_is_leaf(g->nodes.p[k]) && g->nodes.p[k]->status == NODE_QUEUED)
				vec_push(&waiting, g->nodes.p[k]);
		for (size_t k = 0; has_blocked(g) && k < g->nodes.n; k++)
			if (waits_for_agent(q, g->nodes.p[k]))
				vec_push(&waiting, g->nodes.p[k]);
	}
	if (waiting.n)
		qsort(waiting.p, waiting.n, sizeof(*waiting.p), node_order);
	for (size_t i = 0; i < waiting.n; i++) {
		struct queue_row r = dispatch_row(q, waiting.p[i]);

		value_push(q->a, list, row_view(q, &r));
	}
	vec_done(&waiting);
	return list;
}

struct queue *queue_look(struct arena *a, const struct world *w, str no_capacity, ov_time now)
{
	struct queue *q = arena_new(a, struct queue);

	*q = (struct queue){ .a = a,
		.s = w->state,
		.p = w->policy,
		.no_capacity = no_capacity,
		.now = now,
		.slots = slots_init(w->state, w->policy, now) };
	slots_count(&q->slots);
	count_loads(q);
	count_workers(q);
	return q;
}

value *view_queue(struct arena *a, const struct state *s, const struct policy *p, str no_capacity,
		ov_time now)
{
	struct queue *q = queue_look(a, &(struct world){ s, p }, no_capacity, now);
	const struct queue_rows *rows = accept_queue(q);
	value *v = value_object(a), *accept = value_array(a);

	for (size_t i = 0; i < rows->n; i++) {
		value *one = row_view(q, &rows->p[i]);

		value_put(a, one, "position", value_int(a, (int64_t)i + 1));
		value_push(a, accept, one);
	}
	value_put(a, v, "accept", accept);
	value_put(a, v, "dispatch", dispatch_queue(q));
	return v;
}

static const struct queue_row *accept_row(struct queue *q, const struct node *n)
{
	if (!q->accept)
		q->accept = accept_queue(q);
	for (size_t i = 0; i < q->accept->n; i++)
		if (q->accept->p[i].n == n)
			return &q->accept->p[i];
	return NULL;
}

/* States of rows in which something happens, or is about to. */
static bool goes_on(const struct queue *q, const struct queue_row *r)
{
	const struct assignment *as = r->n->assignment;

	if (r->state == QUEUE_STAGE || r->state == QUEUE_ACCEPTING)
		return true;
	/* The one whose turn it is begins; the others wait for it. */
	return r->state == QUEUE_NEXT &&
			(!as || !stage_is_good(as->stage) || !accept_holder(q->s, q->p));
}

struct queue_reason queue_reason(struct queue *q, const struct node *n)
{
	const struct assignment *as = n->assignment;
	enum waiting w = as ? assignment_waiting(&q->slots, as) : WAITING_NONE;
	ov_time until = as && as->not_before > q->now ? as->not_before : 0;
	const struct queue_row *r = NULL;
	struct queue_row own;

	if (w != WAITING_NONE)
		return (struct queue_reason){ status_name(&waitings, (int)w),
			waiting_text(q->a, &q->slots, as), until };
	if (as && (as->effect || as->stage == STAGE_RUNNING))
		return (struct queue_reason){ 0 };
	if (as && stage_is_good(as->stage)) {
		r = accept_row(q, n);
	} else if ((n->status == NODE_QUEUED && node_is_leaf(n)) || waits_for_agent(q, n)) {
		own = dispatch_row(q, n);
		r = &own;
	}
	if (!r || goes_on(q, r))
		return (struct queue_reason){ 0 };
	return (struct queue_reason){ r->state == QUEUE_NEXT ? "turn" : state_names[r->state],
		r->why, until };
}

void queue_put_waiting(struct queue *q, value *v, const struct node *n)
{
	struct queue_reason r = queue_reason(q, n);

	value_put(q->a, v, "waiting", r.state ? value_cstr(q->a, r.state) : value_null(q->a));
	value_put(q->a, v, "waiting_for", r.state ? value_str(q->a, r.why) : value_null(q->a));
}

static struct queue_group *group_of(struct queue *q, const struct queue_reason *r)
{
	for (size_t i = 0; i < q->groups.n; i++) {
		struct queue_group *g = &q->groups.p[i];

		if (strcmp(g->state, r->state) == 0 && str_eq(g->why, r->why))
			return g;
	}
	vec_push(&q->groups, ((struct queue_group){ r->state, r->why, 0, value_array(q->a) }));
	return &vec_last(&q->groups);
}

static void group_add(struct queue *q, const struct queue_reason *r, const struct node *n)
{
	struct queue_group *group = group_of(q, r);
	value *one;

	if (group->count++ >= GROUP_NAMED)
		return;
	one = value_object(q->a);
	value_put(q->a, one, "goal", value_str(q->a, n->goal->id));
	value_put(q->a, one, "node", value_str(q->a, n->id));
	value_put(q->a, one, "name", value_str(q->a, n->def.name));
	value_put(q->a, one, "agent", value_str(q->a, node_wants(q->p, n)));
	value_put(q->a, one, "since",
			value_time(q->a, n->status == NODE_BLOCKED ? n->updated_at : n->queued_at));
	value_push(q->a, group->nodes, one);
}

static value *groups_view(struct queue *q)
{
	value *list = value_array(q->a);

	for (size_t i = 0; i < q->groups.n; i++) {
		const struct queue_group *g = &q->groups.p[i];
		value *v = value_object(q->a);

		value_put(q->a, v, "state", value_cstr(q->a, g->state));
		value_put(q->a, v, "why", value_str(q->a, g->why));
		value_put(q->a, v, "count", value_int(q->a, g->count));
		value_put(q->a, v, "nodes", g->nodes);
		value_push(q->a, list, v);
	}
	return list;
}

/* Those whose worker was needed by others while they wait for their agent. */
static void group_blocked(struct queue *q)
{
	for (size_t i = 0; i < q->s->goals.n; i++) {
		const struct goal *g = q->s->goals.p[i];

		for (size_t k = 0; has_blocked(g) && k < g->nodes.n; k++) {
			const struct node *n = g->nodes.p[k];
			struct queue_reason r;

			if (!waits_for_agent(q, n) ||
					(n->assignment && n->assignment->stage != STAGE_NONE))
				continue;
			r = queue_reason(q, n);
			if (r.state)
				group_add(q, &r, n);
		}
	}
}

value *queue_groups(struct queue *q)
{
	size_t looked_at = 0;
	value *list;

	group_blocked(q);
	list_each (it, &q->s->queued) {
		const struct node *n = list_entry(it, struct node, link);
		struct queue_reason r = { "others", STR("others come first"), 0 };

		if (n->assignment)
			continue;
		if (looked_at++ < GROUPED_MAX)
			r = queue_reason(q, n);
		if (r.state)
			group_add(q, &r, n);
	}
	list = groups_view(q);
	vec_done(&q->groups);
	return list;
}
