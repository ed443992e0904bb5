#include "core/state/snapshot.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "core/state/habit.h"
#include "data/value/json.h"

static void put_list(struct arena *a, value *doc, const char *key, const struct list *head,
		size_t link_offset, const struct record_type *t)
{
	value *list = value_array(a);

	list_each (it, head)
		value_push(a, list, record_pack(a, t, (const char *)it - link_offset));
	value_put(a, doc, key, list);
}

static value *handoffs_doc(struct arena *a, const struct goal *g)
{
	value *list = value_array(a);

	if (g->handoff)
		value_push(a, list, record_pack(a, &crystallization_record, g->handoff));
	for (size_t i = 0; i < g->nodes.n; i++)
		if (g->nodes.p[i]->handoff)
			value_push(a, list,
					record_pack(a, &crystallization_record,
							g->nodes.p[i]->handoff));
	return list;
}

/* Of all assignments of a list, in the order of the list. */
static void push_dispatches(struct arena *a, value *out, const struct list *head)
{
	list_each (it, head) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		for (size_t i = 0; i < as->dispatches.n; i++)
			value_push(a, out, record_pack(a, &dispatch_record, as->dispatches.p[i]));
	}
}

static value *iterations_doc(struct arena *a, const struct goal *g)
{
	value *list = value_array(a);

	for (size_t i = 0; i < g->nodes.n; i++)
		for (size_t k = 0; k < g->nodes.p[i]->iterations.n; k++)
			value_push(a, list,
					record_pack(a, &iteration_record,
							g->nodes.p[i]->iterations.p[k]));
	return list;
}

static value *detections_doc(struct arena *a, const struct goal *g)
{
	value *list = value_array(a);

	for (size_t i = 0; i < g->detections.n; i++)
		value_push(a, list, record_pack(a, &detection_record, g->detections.p[i]));
	return list;
}

static value *goal_doc(struct arena *a, const struct goal *g)
{
	value *doc = value_object(a), *nodes = value_array(a);

	for (size_t i = 0; i < g->nodes.n; i++)
		value_push(a, nodes, record_pack(a, &node_record, g->nodes.p[i]));
	value_put(a, doc, "goal", record_pack(a, &goal_record, g));
	value_put(a, doc, "nodes", nodes);
	value_put(a, doc, "handoffs", handoffs_doc(a, g));
	value_put(a, doc, "iterations", iterations_doc(a, g));
	value_put(a, doc, "detections", detections_doc(a, g));
	return doc;
}

static value *hours_doc(struct arena *a, const struct spend_window *w)
{
	value *list = value_array(a);

	for (size_t i = 0; i < WINDOW_HOURS; i++)
		if (w->hours[i].hour)
			value_push(a, list, record_pack(a, &spend_hour_record, &w->hours[i]));
	return list;
}

static value *habits_doc(struct arena *a, const struct state *s)
{
	value *list = value_array(a);

	for (size_t i = 0; i < s->habits.n; i++)
		for (size_t k = 0; k < s->habits.p[i]->rows.n; k++)
			value_push(a, list,
					record_pack(a, &habit_record, s->habits.p[i]->rows.p[k]));
	return list;
}

#define PUT_LIST(key, type) \
	put_list(&a, doc, #key, &s->key, offsetof(struct type, link), &type##_record)
#define PUT_VEC(key, type)                                                                    \
	do {                                                                                  \
		value *_list = value_array(&a);                                               \
		for (size_t _i = 0; _i < s->key.n; _i++)                                      \
			value_push(&a, _list, record_pack(&a, &type##_record, s->key.p[_i])); \
		value_put(&a, doc, #key, _list);                                              \
	} while (0)

void snapshot_write(struct buf *out, const struct state *s)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	value *doc = value_object(&a), *goals = value_array(&a), *dispatches = value_array(&a);

	value_put(&a, doc, "seq", value_int(&a, (int64_t)s->seq));
	value_put(&a, doc, "at", value_time(&a, s->at));
	value_put(&a, doc, "next_escalation", value_int(&a, s->next_escalation));
	value_put(&a, doc, "outage_since", value_time(&a, s->outage_since));
	value_put(&a, doc, "outage_over_at", value_time(&a, s->outage_over_at));
	value_put(&a, doc, "outage_ignored_until", value_time(&a, s->outage_ignored_until));
	value_put(&a, doc, "target", value_str(&a, s->target));
	value_put(&a, doc, "target_branch", value_str(&a, s->target_branch));
	value_put(&a, doc, "target_head", value_str(&a, s->target_head));
	value_put(&a, doc, "target_before", value_str(&a, s->target_before));
	value_put(&a, doc, "target_seen_at", value_time(&a, s->target_seen_at));
	value_put(&a, doc, "failing", value_str(&a, s->failing));
	value_put(&a, doc, "automatic", record_pack(&a, &auto_mode_record, &s->automatic));
	value_put(&a, doc, "vigil", record_pack(&a, &vigil_record, &s->vigil));
	value_put(&a, doc, "clock", record_pack(&a, &clock_known_record, &s->clock));
	value_put(&a, doc, "tally", record_pack(&a, &oversight_tally_record, &s->tally));
	for (size_t i = 0; i < s->goals.n; i++)
		value_push(&a, goals, goal_doc(&a, s->goals.p[i]));
	value_put(&a, doc, "goals", goals);
	PUT_VEC(workers, worker);
	PUT_VEC(escalations, escalation);
	PUT_VEC(notices, notice);
	PUT_VEC(lanes, lane);
	PUT_VEC(streaks, streak);
	value_put(&a, doc, "spent_hours", hours_doc(&a, &s->automatic.window));
	PUT_VEC(usage, usage_row);
	value_put(&a, doc, "habits", habits_doc(&a, s));
	PUT_VEC(conflicts, conflict);
	PUT_VEC(watchers, watcher);
	PUT_LIST(live, assignment);
	PUT_LIST(finished, assignment);
	push_dispatches(&a, dispatches, &s->finished);
	push_dispatches(&a, dispatches, &s->live);
	value_put(&a, doc, "dispatches", dispatches);
	PUT_LIST(runs, run);
	PUT_LIST(retired_runs, run);
	PUT_LIST(effects, effect);
	/* Members in the order of the tables: the reader finds each where it looks first. */
	json_write(out, doc);
}

/* A record read into fresh memory; NULL on failure. */
static void *read_record(const struct record_type *t, size_t size, const value *v,
		struct ov_err *err)
{
	void *record = mem_zalloc(1, size);

	if (record_from_value(t, record, v, err) == 0)
		return record;
	record_done(t, record);
	mem_free(record);
	return NULL;
}

#define READ(type, v) ((struct type *)read_record(&type##_record, sizeof(struct type), v, err))

static int read_handoffs(struct state *s, const struct goal *g, const value *list,
		struct ov_err *err)
{
	for (size_t i = 0; i < value_count(list); i++) {
		struct crystallization *c = READ(crystallization, value_item(list, i));

		if (!c)
			return OV_EINVALID;
		if (!str_eq(c->goal_id, g->id) ||
				(c->node_id.n && !state_node(s, c->goal_id, c->node_id))) {
			record_done(&crystallization_record, c);
			mem_free(c);
			return ov_fail(err, OV_EINVALID, "a handoff belongs to nothing");
		}
		state_set_handoff(s, c);
	}
	return 0;
}

static int read_iterations(struct state *s, const struct goal *g, const value *list,
		struct ov_err *err)
{
	for (size_t i = 0; i < value_count(list); i++) {
		struct iteration *it = READ(iteration, value_item(list, i));
		struct node *n = it ? state_node(s, g->id, it->node_id) : NULL;

		if (!it)
			return OV_EINVALID;
		if (!n) {
			record_done(&iteration_record, it);
			mem_free(it);
			return ov_fail(err, OV_EINVALID, "an iteration belongs to nothing");
		}
		state_add_iteration(s, n, it);
	}
	return 0;
}

static int read_detections(struct state *s, struct goal *g, const value *list, struct ov_err *err)
{
	for (size_t i = 0; i < value_count(list); i++) {
		struct detection *d = READ(detection, value_item(list, i));

		if (!d)
			return OV_EINVALID;
		state_add_detection(s, g, d);
	}
	return 0;
}

static int read_goal(struct state *s, const value *doc, struct ov_err *err)
{
	const value *nodes = value_at(doc, "nodes");
	struct goal *g = READ(goal, value_at(doc, "goal"));
	int r;

	if (!g)
		return OV_EINVALID;
	state_add_goal(s, g);
	for (size_t i = 0; i < value_count(nodes); i++) {
		struct node *n = READ(node, value_item(nodes, i));

		if (!n)
			return OV_EINVALID;
		state_add_node(s, g, n);
	}
	state_link_nodes(s, g);
	state_index_goal(s, g);
	r = read_handoffs(s, g, value_at(doc, "handoffs"), err);
	if (r == 0)
		r = read_iterations(s, g, value_at(doc, "iterations"), err);
	return r < 0 ? r : read_detections(s, g, value_at(doc, "detections"), err);
}

static int read_notice(struct state *s, const value *v, struct ov_err *err)
{
	struct notice *x = READ(notice, v);

	if (x)
		state_add_notice(s, x);
	return x ? 0 : OV_EINVALID;
}

static int read_lane(struct state *s, const value *v, struct ov_err *err)
{
	struct lane *l = READ(lane, v);

	if (l)
		state_add_lane(s, l);
	return l ? 0 : OV_EINVALID;
}

static int read_streak(struct state *s, const value *v, struct ov_err *err)
{
	struct streak *k = READ(streak, v);

	if (k)
		vec_push(&s->streaks, k);
	return k ? 0 : OV_EINVALID;
}

static int read_habit(struct state *s, const value *v, struct ov_err *err)
{
	struct habit *h = READ(habit, v);

	if (h)
		habits_take(s, h);
	return h ? 0 : OV_EINVALID;
}

static int read_spend_hour(struct state *s, const value *v, struct ov_err *err)
{
	struct spend_hour h = { 0 };
	int r = record_from_value(&spend_hour_record, &h, v, err);

	if (r == 0 && h.hour > 0)
		s->automatic.window.hours[h.hour % WINDOW_HOURS] = h;
	return r;
}

static int read_usage_row(struct state *s, const value *v, struct ov_err *err)
{
	struct usage_row *row = READ(usage_row, v);

	if (row)
		vec_push(&s->usage, row);
	return row ? 0 : OV_EINVALID;
}

static int read_conflict(struct state *s, const value *v, struct ov_err *err)
{
	struct conflict *c = READ(conflict, v);

	if (c)
		state_add_conflict(s, c);
	return c ? 0 : OV_EINVALID;
}

static int read_watcher(struct state *s, const value *v, struct ov_err *err)
{
	struct watcher *w = READ(watcher, v);

	if (w)
		vec_push(&s->watchers, w);
	return w ? 0 : OV_EINVALID;
}

static int read_dispatch(struct state *s, const value *v, struct ov_err *err)
{
	struct dispatch *d = READ(dispatch, v);

	if (!d)
		return OV_EINVALID;
	if (!state_assignment(s, d->assignment_id)) {
		record_done(&dispatch_record, d);
		mem_free(d);
		return ov_fail(err, OV_EINVALID, "a dispatch has no assignment");
	}
	state_add_dispatch(s, d);
	return 0;
}

static int read_worker(struct state *s, const value *v, struct ov_err *err)
{
	struct worker *w = READ(worker, v);

	if (w)
		state_add_worker(s, w);
	return w ? 0 : OV_EINVALID;
}

static int read_escalation(struct state *s, const value *v, struct ov_err *err)
{
	struct escalation *e = READ(escalation, v);

	if (e)
		state_add_escalation(s, e);
	return e ? 0 : OV_EINVALID;
}

static int read_assignment(struct state *s, const value *v, struct ov_err *err)
{
	struct assignment *as = READ(assignment, v);

	if (!as)
		return OV_EINVALID;
	state_add_assignment(s, as);
	return as->node ? 0
			: ov_fail(err, OV_EINVALID, "assignment " STR_FMT " has no node",
					  STR_ARG(as->id));
}

static int read_run(struct state *s, const value *v, struct ov_err *err)
{
	struct run *r = READ(run, v);

	if (r)
		state_add_run(s, r);
	return r ? 0 : OV_EINVALID;
}

static int read_retired_run(struct state *s, const value *v, struct ov_err *err)
{
	struct run *r = READ(run, v);

	if (!r)
		return OV_EINVALID;
	state_add_run(s, r);
	state_retire_run(s, r);
	return 0;
}

static int read_effect(struct state *s, const value *v, struct ov_err *err)
{
	struct effect *e = READ(effect, v);

	if (e)
		state_add_effect(s, e);
	return e ? 0 : OV_EINVALID;
}

/* In this order: later lists refer to objects of earlier ones. */
static const struct {
	const char *key;
	int (*read)(struct state *s, const value *v, struct ov_err *err);
	bool newer; /* older snapshots have none */
} sections[] = {
	{ "goals", read_goal, false },
	{ "workers", read_worker, false },
	{ "escalations", read_escalation, false },
	{ "notices", read_notice, false },
	{ "lanes", read_lane, false },
	{ "streaks", read_streak, true },
	{ "spent_hours", read_spend_hour, true },
	{ "usage", read_usage_row, false },
	{ "habits", read_habit, true },
	{ "conflicts", read_conflict, false },
	{ "watchers", read_watcher, false },
	{ "finished", read_assignment, false },
	{ "live", read_assignment, false },
	{ "dispatches", read_dispatch, false },
	{ "runs", read_run, false },
	{ "retired_runs", read_retired_run, false },
	{ "effects", read_effect, false },
};

/* What there is one of. */
static int read_singles(struct state *s, const value *doc, struct ov_err *err)
{
	const struct {
		const char *key;
		const struct record_type *type;
		void *record;
		bool newer; /* older snapshots have none */
	} singles[] = { { "automatic", &auto_mode_record, &s->automatic, false },
		{ "vigil", &vigil_record, &s->vigil, false },
		{ "clock", &clock_known_record, &s->clock, true },
		{ "tally", &oversight_tally_record, &s->tally, false } };

	for (size_t i = 0; i < ARRAY_LEN(singles); i++) {
		const value *v = value_at(doc, singles[i].key);
		int r = !v && singles[i].newer ? 0
				: v ? record_from_value(singles[i].type, singles[i].record, v, err)
				    : ov_fail(err, OV_EINVALID, "it is missing");

		if (r < 0)
			return ov_wrap(err, r, "snapshot: %s", singles[i].key);
	}
	return 0;
}

static int read_sections(struct state *s, const value *doc, struct ov_err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(sections); i++) {
		const value *list;
		int r;

		if (sections[i].newer && !value_at(doc, sections[i].key))
			continue;
		r = value_need_array(doc, STR("snapshot"), sections[i].key, &list, err);

		for (size_t k = 0; r == 0 && k < value_count(list); k++)
			r = sections[i].read(s, value_item(list, k), err);
		if (r < 0)
			return ov_wrap(err, r, "snapshot: %s", sections[i].key);
	}
	return 0;
}

int snapshot_read(str bytes, uint64_t hash_seed, struct state **ret, struct ov_err *err)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	struct json_limits limits = { .max_bytes = SIZE_MAX, .max_depth = 0 };
	struct state *s;
	int64_t at = 0;
	value *doc;
	int r;

	r = json_parse(&a, bytes, &limits, &doc, err);
	if (r < 0)
		return ov_wrap(err, r, "snapshot");
	s = state_new(hash_seed);
	(void)time_parse(value_str_at(doc, "at"), &at);
	s->at = at;
	(void)time_parse(value_str_at(doc, "outage_since"), &s->outage_since);
	(void)time_parse(value_str_at(doc, "outage_over_at"), &s->outage_over_at);
	(void)time_parse(value_str_at(doc, "outage_ignored_until"), &s->outage_ignored_until);
	s->seq = (uint64_t)value_int_at(doc, "seq");
	record_set_str(&s->target, value_str_at(doc, "target"));
	record_set_str(&s->target_branch, value_str_at(doc, "target_branch"));
	record_set_str(&s->target_head, value_str_at(doc, "target_head"));
	record_set_str(&s->target_before, value_str_at(doc, "target_before"));
	(void)time_parse(value_str_at(doc, "target_seen_at"), &s->target_seen_at);
	record_set_str(&s->failing, value_str_at(doc, "failing"));
	r = read_sections(s, doc, err);
	if (r == 0)
		r = read_singles(s, doc, err);
	if (r < 0) {
		state_free(s);
		return r;
	}
	s->next_escalation = MAX(s->next_escalation, value_int_at(doc, "next_escalation"));
	*ret = s;
	return 0;
}
