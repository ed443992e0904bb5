#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "tests/sim/check_impl.h"

void books_init(struct checker *c)
{
	map_init(&c->goals, 1);
	map_init(&c->nodes, 2);
	map_init(&c->assignments, 3);
	map_init(&c->runs, 4);
	map_init(&c->effects, 5);
	map_init(&c->dispatches, 6);
	map_init(&c->sessions, 7);
	map_init(&c->said, 8);
	map_init(&c->answered, 9);
}

void books_done(struct checker *c)
{
	map_done(&c->goals);
	map_done(&c->nodes);
	map_done(&c->assignments);
	map_done(&c->runs);
	map_done(&c->effects);
	map_done(&c->dispatches);
	map_done(&c->sessions);
	map_done(&c->said);
	map_done(&c->answered);
	for (size_t i = 0; i < c->node_list.n; i++) {
		vec_done(&c->node_list.p[i]->guidance);
		vec_done(&c->node_list.p[i]->guidance_of);
	}
	vec_done(&c->goal_list);
	vec_done(&c->auto_spends);
	vec_done(&c->node_list);
	vec_done(&c->as_list);
	vec_done(&c->live);
	vec_done(&c->open_effects);
	vec_done(&c->dispatch_list);
	vec_done(&c->escalations);
	vec_done(&c->habits);
	vec_done(&c->lanes);
	vec_done(&c->claims);
	arena_done(&c->kept);
}

struct goal_book *book_goal(const struct checker *c, str id)
{
	return map_get(&c->goals, id);
}

struct as_book *book_as(const struct checker *c, str id)
{
	return map_get(&c->assignments, id);
}

struct run_book *book_run(const struct checker *c, str id)
{
	return map_get(&c->runs, id);
}

struct effect_book *book_effect(const struct checker *c, str id)
{
	return map_get(&c->effects, id);
}

/* Nodes come with plans; the first that is heard of one opens its book. */
struct node_book *book_node(struct checker *c, str goal, str node)
{
	char text[2 * SIM_NAME_MAX + 64];
	struct node_book *n;
	str key;

	if (goal.n == 0 || node.n == 0 || goal.n + node.n + 1 > sizeof(text))
		return NULL;
	memcpy(text, goal.p, goal.n);
	text[goal.n] = '/';
	memcpy(text + goal.n + 1, node.p, node.n);
	key = (str){ text, goal.n + 1 + node.n };
	n = map_get(&c->nodes, key);
	if (n || !book_goal(c, goal))
		return n;
	n = arena_new(&c->kept, struct node_book);
	n->key = arena_str(&c->kept, key);
	n->id = str_sub(n->key, goal.n + 1, node.n);
	n->goal = book_goal(c, goal);
	n->loop.pure = true;
	map_put(&c->nodes, n->key, n);
	vec_push(&c->node_list, n);
	return n;
}

struct escalation_book *book_escalation(const struct checker *c, int64_t number)
{
	for (size_t i = c->escalations.n; i-- > 0;)
		if (c->escalations.p[i]->number == number)
			return c->escalations.p[i];
	return NULL;
}

struct lane_book *book_lane(const struct checker *c, str agent)
{
	for (size_t i = 0; i < c->lanes.n; i++)
		if (str_eq(c->lanes.p[i]->agent, agent))
			return c->lanes.p[i];
	return NULL;
}

bool by_person(const struct event *e)
{
	return str_starts(e->actor, STR("human:"));
}

int event_status(const struct event *e, const char *key, const struct status_table *t)
{
	return status_parse(t, value_str_at(e->data, key));
}

/* ---- goals and nodes ---- */

static void take_goal_created(struct checker *c, const struct event *e)
{
	struct goal_book *g = arena_new(&c->kept, struct goal_book);

	g->id = arena_str(&c->kept, e->goal);
	g->automatic = str_is(value_str_at(e->data, "standing"), "auto");
	if (value_at(e->data, "budget"))
		(void)record_read_amounts(&resources, g->budget, value_at(e->data, "budget"));
	if (value_at(e->data, "estimate"))
		(void)record_read_amounts(&resources, g->estimate, value_at(e->data, "estimate"));
	map_put(&c->goals, g->id, g);
	vec_push(&c->goal_list, g);
}

static void take_goal_updated(struct checker *c, const struct event *e)
{
	struct goal_book *g = book_goal(c, e->goal);

	if (g && value_at(e->data, "budget"))
		(void)record_read_amounts(&resources, g->budget, value_at(e->data, "budget"));
	if (g && value_at(e->data, "estimate"))
		(void)record_read_amounts(&resources, g->estimate, value_at(e->data, "estimate"));
}

static void take_goal_status(struct checker *c, const struct event *e)
{
	struct goal_book *g = book_goal(c, e->goal);

	if (!g)
		return;
	g->status = (enum goal_status)event_status(e, "to", &goal_statuses);
	g->by_person = by_person(e);
}

static void take_plan(struct checker *c, const struct event *e)
{
	struct goal_book *g = book_goal(c, e->goal);

	if (g)
		g->planned_at = e->at;
}

static void take_detection(struct checker *c, const struct event *e)
{
	struct goal_book *g = book_goal(c, e->goal);

	if (g)
		g->detected_at = e->at;
}

static void take_goal_spent(struct checker *c, const struct event *e)
{
	struct goal_book *g = book_goal(c, e->goal);
	struct node_book *n = e->node.n ? book_node(c, e->goal, e->node) : NULL;
	int64_t amounts[RESOURCE_COUNT] = { 0 };

	if (!g || !record_read_amounts(&resources, amounts, value_at(e->data, "amounts")))
		return;
	for (int i = 0; i < RESOURCE_COUNT; i++) {
		g->spent[i] += amounts[i];
		if (n)
			n->spent[i] += amounts[i];
	}
	if (g->automatic) {
		vec_push(&c->auto_spends, ((struct auto_spend){ .at = e->at }));
		memcpy(c->auto_spends.p[c->auto_spends.n - 1].amounts, amounts, sizeof(amounts));
	}
}

static void take_node_status(struct checker *c, const struct event *e)
{
	struct node_book *n = book_node(c, e->goal, e->node);

	if (!n)
		return;
	n->status = (enum node_status)event_status(e, "to", &node_statuses);
	n->blocked_until = value_int_at(e->data, "blocked_until_ms");
	/* A person gave it the same once more. */
	if (n->over_budget && n->status != NODE_BLOCKED)
		memcpy(n->spent_before, n->spent, sizeof(n->spent));
	n->over_budget = n->status == NODE_BLOCKED &&
			str_is(value_str_at(e->data, "block"), "budget");
}

static void take_node_reported(struct checker *c, const struct event *e)
{
	struct node_book *n = book_node(c, e->goal, e->node);

	if (!n || value_str_at(e->data, "error").n)
		return;
	n->reported_at = e->at;
	if (value_str_at(e->data, "status").n)
		n->reported = arena_str(&c->kept, value_str_at(e->data, "status"));
}

static void take_episode(struct checker *c, const struct event *e)
{
	struct node_book *n = book_node(c, e->goal, e->node);

	if (!n)
		return;
	n->episode = value_int_at(e->data, "episode");
	n->episode_open = e->kind == EV_EPISODE_OPENED;
}

void books_replanned(struct checker *c, str goal)
{
	const struct goal *g = state_goal(c->shadow, goal);

	for (size_t i = 0; g && i < g->nodes.n; i++) {
		struct node_book *n = book_node(c, goal, g->nodes.p[i]->id);

		n->status = g->nodes.p[i]->status;
		if (!node_is_leaf(g->nodes.p[i]))
			memset(n->failures, 0, sizeof(n->failures));
		n->blocked_until = g->nodes.p[i]->block.until;
	}
}

/* ---- assignments and runs ---- */

static void put_live(struct checker *c, struct as_book *as)
{
	bool live = as->stage != STAGE_NONE ||
			(as->status != AS_DONE && as->status != AS_CANCELLED);

	if (live && !as->live)
		vec_push(&c->live, as);
	for (size_t i = 0; !live && as->live && i < c->live.n; i++)
		if (c->live.p[i] == as) {
			vec_remove(&c->live, i);
			break;
		}
	as->live = live;
}

static void take_assignment_created(struct checker *c, const struct event *e)
{
	struct as_book *as = arena_new(&c->kept, struct as_book);
	struct node_book *n = book_node(c, e->goal, e->node);

	as->id = arena_str(&c->kept, e->assignment);
	as->agent = arena_str(&c->kept, value_str_at(e->data, "agent"));
	as->worker = arena_str(&c->kept, value_str_at(e->data, "worker"));
	as->node = n;
	as->epoch = value_int_at(e->data, "epoch");
	as->stage = STAGE_WORKSPACE;
	as->moved_at = e->at;
	if (n->kept && value_bool_at(e->data, "session_taken"))
		as->session = n->kept->session;
	n->kept = NULL;
	n->as = as;
	n->epoch = as->epoch;
	map_put(&c->assignments, as->id, as);
	vec_push(&c->as_list, as);
	put_live(c, as);
}

static void take_assignment_moved(struct checker *c, const struct event *e)
{
	struct as_book *as = book_as(c, e->assignment);

	if (!as)
		return;
	as->status = (enum as_status)event_status(e, "to", &as_statuses);
	as->stage = (enum stage)event_status(e, "stage", &stages);
	as->not_before = value_int_at(e->data, "not_before_ms");
	as->waits = value_str_at(e->data, "waiting").n > 0;
	as->stopping = value_bool_at(e->data, "stopping") ||
			(as->stopping &&
					(as->stage == STAGE_STOP || as->stage == STAGE_RUNNING ||
							as->stage == STAGE_HARVEST));
	as->moved_at = e->at;
	if (value_bool_at(e->data, "session_kept"))
		as->node->kept = as;
	put_live(c, as);
}

static void note_session(struct checker *c, struct run_book *r, const struct event *e)
{
	r->session = arena_str(&c->kept, value_str_at(e->data, "session"));
	if (r->session.n)
		map_put(&c->sessions, r->session, r);
}

static void take_run_session(struct checker *c, const struct event *e)
{
	struct run_book *r = book_run(c, e->run);

	if (r)
		note_session(c, r, e);
}

static void take_probe(struct lane_book *l, ov_time at)
{
	if (l && l->probe_at && l->probe_at <= at)
		l->probe_at = at + l->probe_every;
}

static void take_run_created(struct checker *c, const struct event *e)
{
	struct run_book *r = arena_new(&c->kept, struct run_book);

	r->id = arena_str(&c->kept, e->run);
	r->as = book_as(c, e->assignment);
	r->status = RUN_STARTING;
	r->started_at = e->at;
	map_put(&c->runs, r->id, r);
	note_session(c, r, e);
	if (!r->as)
		return;
	take_probe(book_lane(c, r->as->agent), e->at);
	r->as->run = r;
	r->as->node->reported = STR("");
}

static void take_run_moved(struct checker *c, const struct event *e)
{
	struct run_book *r = book_run(c, e->run);

	if (!r)
		return;
	r->status = e->kind == EV_RUN_STARTED ? RUN_RUNNING : RUN_ENDED;
	if (e->kind == EV_RUN_STARTED)
		r->started_at = e->at;
}

/* ---- effects, dispatches, escalations, lanes ---- */

static void take_effect_intended(struct checker *c, const struct event *e)
{
	struct effect_book *x = arena_new(&c->kept, struct effect_book);

	x->id = arena_str(&c->kept, value_str_at(e->data, "effect"));
	x->kind = (enum effect_kind)event_status(e, "kind", &effect_kinds);
	x->goal = arena_str(&c->kept, e->goal);
	x->node = arena_str(&c->kept, e->node);
	x->as = book_as(c, e->assignment);
	x->open = true;
	x->since = c->s->t;
	map_put(&c->effects, x->id, x);
	vec_push(&c->open_effects, x);
}

static void take_effect_ended(struct checker *c, const struct event *e)
{
	struct effect_book *x = book_effect(c, value_str_at(e->data, "effect"));

	if (!x || !x->open)
		return;
	x->open = false;
	for (size_t i = 0; i < c->open_effects.n; i++)
		if (c->open_effects.p[i] == x) {
			vec_remove(&c->open_effects, i);
			break;
		}
}

static void take_dispatch(struct checker *c, const struct event *e)
{
	str id = value_str_at(e->data, "dispatch");
	struct dispatch_book *d = map_get(&c->dispatches, id);

	if (e->kind == EV_DISPATCH_RESULT) {
		if (d)
			d->settled = !str_is(value_str_at(e->data, "result"), "pending") &&
					!str_is(value_str_at(e->data, "result"), "accepted");
		return;
	}
	d = arena_new(&c->kept, struct dispatch_book);
	d->id = arena_str(&c->kept, id);
	map_put(&c->dispatches, d->id, d);
	vec_push(&c->dispatch_list, d);
}

static void take_escalation(struct checker *c, const struct event *e)
{
	struct escalation_book *x = book_escalation(c, value_int_at(e->data, "escalation"));

	if (e->kind == EV_ESCALATION_OPENED) {
		x = arena_new(&c->kept, struct escalation_book);
		x->number = value_int_at(e->data, "escalation");
		x->goal = arena_str(&c->kept, e->goal);
		x->node = arena_str(&c->kept, e->node);
		x->assignment = arena_str(&c->kept, e->assignment);
		x->kind = arena_str(&c->kept, value_str_at(e->data, "kind"));
		x->question = arena_str(&c->kept, value_str_at(e->data, "question"));
		x->episode = value_int_at(e->data, "episode");
		x->open = true;
		x->last_at = e->at;
		x->notify_at = value_int_at(e->data, "notify_at_ms");
		vec_push(&c->escalations, x);
	} else if (x && e->kind == EV_ESCALATION_CLOSED) {
		x->open = false;
		x->closed_t = c->s->t;
	} else if (x && e->kind == EV_ESCALATION_RAISED) {
		/* By new evidence it is another question, and people are reminded of it anew. */
		if (value_str_at(e->data, "fingerprint").n)
			x->reminders = 0;
	} else if (x) {
		x->reminders++;
		x->last_at = e->at;
	}
}

struct lane_book *book_lane_made(struct checker *c, str agent)
{
	struct lane_book *l = book_lane(c, agent);

	if (!l) {
		l = arena_new(&c->kept, struct lane_book);
		l->agent = arena_str(&c->kept, agent);
		vec_push(&c->lanes, l);
	}
	return l;
}

static void take_lane(struct checker *c, const struct event *e)
{
	struct lane_book *l = book_lane_made(c, value_str_at(e->data, "agent"));

	l->waits = e->kind == EV_AGENT_LIMITED;
	l->quota = str_is(value_str_at(e->data, "kind"), "rate_limited");
	l->resets_at = value_int_at(e->data, "resets_at_ms");
	l->at = e->at;
	l->probe_at = value_int_at(e->data, "probe_at_ms");
	l->probe_every = value_int_at(e->data, "probe_every_ms");
}

static void take_outage_over(struct checker *c, const struct event *e)
{
	c->outage_over_at = e->at;
	c->outage_ignored_until = MAX(c->outage_ignored_until,
			value_int_at(e->data, "ignore_until_ms"));
}

static void (*const takers[EVENT_KIND_COUNT])(struct checker *c, const struct event *e) = {
	[EV_GOAL_CREATED] = take_goal_created,
	[EV_GOAL_UPDATED] = take_goal_updated,
	[EV_GOAL_STATUS] = take_goal_status,
	[EV_GOAL_SPENT] = take_goal_spent,
	[EV_PLAN_APPLIED] = take_plan,
	[EV_DETECTION_MADE] = take_detection,
	[EV_NODE_STATUS] = take_node_status,
	[EV_NODE_REPORTED] = take_node_reported,
	[EV_EPISODE_OPENED] = take_episode,
	[EV_EPISODE_CLOSED] = take_episode,
	[EV_ASSIGNMENT_CREATED] = take_assignment_created,
	[EV_ASSIGNMENT_MOVED] = take_assignment_moved,
	[EV_CLOCK_MOVED] = book_clock_moved,
	[EV_MACHINE_SLEPT] = book_machine_slept,
	[EV_RUN_CREATED] = take_run_created,
	[EV_RUN_SESSION] = take_run_session,
	[EV_RUN_STARTED] = take_run_moved,
	[EV_RUN_ENDED] = take_run_moved,
	[EV_EFFECT_INTENDED] = take_effect_intended,
	[EV_EFFECT_ENDED] = take_effect_ended,
	[EV_DISPATCH_INTENDED] = take_dispatch,
	[EV_DISPATCH_RESULT] = take_dispatch,
	[EV_ESCALATION_OPENED] = take_escalation,
	[EV_ESCALATION_REMINDED] = take_escalation,
	[EV_ESCALATION_CLOSED] = take_escalation,
	[EV_ESCALATION_RAISED] = take_escalation,
	[EV_AGENT_LIMITED] = take_lane,
	[EV_AGENT_CLEARED] = take_lane,
	[EV_OUTAGE_OVER] = take_outage_over,
};

void books_take(struct checker *c, const struct event *e)
{
	struct node_book *n = e->node.n ? book_node(c, e->goal, e->node) : NULL;
	struct goal_book *g;

	if (takers[e->kind])
		takers[e->kind](c, e);
	if (!by_person(e))
		return;
	g = book_goal(c, e->goal);
	if (g && !g->person_seq)
		g->person_seq = e->seq;
	if (n && !n->person_seq)
		n->person_seq = e->seq;
}
