#include "core/state/snapshot.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/model/record_table.h"
#include "core/state/habit.h"
#include "data/value/json.h"

#define STATE_FIELD(...) FIELD(state, __VA_ARGS__)
static const struct field head_fields[] = { STATE_ROWS(STATE_FIELD, STATE_FIELD) };
static const struct record_type head_record = { "snapshot", head_fields, ARRAY_LEN(head_fields) };

/* ---- a goal and what belongs to it ---- */

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

static value *nodes_doc(struct arena *a, const struct goal *g)
{
	value *list = value_array(a);

	for (size_t i = 0; i < g->nodes.n; i++)
		value_push(a, list, record_pack(a, &node_record, g->nodes.p[i]));
	return list;
}

static int read_nodes(struct state *s, struct goal *g, const value *list, struct ov_err *err)
{
	for (size_t i = 0; i < value_count(list); i++) {
		struct node *n = READ(node, value_item(list, i));

		if (!n)
			return OV_EINVALID;
		state_add_node(s, g, n);
	}
	state_link_nodes(s, g);
	state_index_goal(s, g);
	return 0;
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

static int read_handoffs(struct state *s, struct goal *g, const value *list, struct ov_err *err)
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

static int read_iterations(struct state *s, struct goal *g, const value *list, struct ov_err *err)
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

static value *detections_doc(struct arena *a, const struct goal *g)
{
	value *list = value_array(a);

	for (size_t i = 0; i < g->detections.n; i++)
		value_push(a, list, record_pack(a, &detection_record, g->detections.p[i]));
	return list;
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

/* In this order: later lists refer to nodes. */
static const struct {
	const char *key;
	value *(*write)(struct arena *a, const struct goal *g);
	int (*read)(struct state *s, struct goal *g, const value *list, struct ov_err *err);
} goal_lists[] = {
	{ "nodes", nodes_doc, read_nodes },
	{ "handoffs", handoffs_doc, read_handoffs },
	{ "iterations", iterations_doc, read_iterations },
	{ "detections", detections_doc, read_detections },
};
static const char goal_itself[] = "goal";

static value *goal_doc(struct arena *a, const struct goal *g)
{
	value *doc = value_object(a);

	value_put(a, doc, goal_itself, record_pack(a, &goal_record, g));
	for (size_t i = 0; i < ARRAY_LEN(goal_lists); i++)
		value_put(a, doc, goal_lists[i].key, goal_lists[i].write(a, g));
	return doc;
}

static int read_goal(struct state *s, const value *doc, struct ov_err *err)
{
	struct goal *g = READ(goal, value_at(doc, goal_itself));
	int r = g ? 0 : OV_EINVALID;

	if (g)
		state_add_goal(s, g);
	for (size_t i = 0; r == 0 && i < ARRAY_LEN(goal_lists); i++)
		r = goal_lists[i].read(s, g, value_at(doc, goal_lists[i].key), err);
	return r;
}

/* ---- the rest ---- */

static void put_list(struct arena *a, value *doc, const char *key, const struct list *head,
		size_t link_offset, const struct record_type *t)
{
	value *list = value_array(a);

	list_each (it, head)
		value_push(a, list, record_pack(a, t, (const char *)it - link_offset));
	value_put(a, doc, key, list);
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
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *doc = record_to_value(&a, &head_record, s), *goals = value_array(&a),
	      *dispatches = value_array(&a);

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

/* A record that becomes part of the state alone. */
#define READER(name, type, add)                                                     \
	static int read_##name(struct state *s, const value *v, struct ov_err *err) \
	{                                                                           \
		struct type *it = READ(type, v);                                    \
                                                                                    \
		if (!it)                                                            \
			return OV_EINVALID;                                         \
		add;                                                                \
		return 0;                                                           \
	}
READER(notice, notice, state_add_notice(s, it))
READER(lane, lane, state_add_lane(s, it))
READER(streak, streak, vec_push(&s->streaks, it))
READER(habit, habit, habits_take(s, it))
READER(usage_row, usage_row, vec_push(&s->usage, it))
READER(conflict, conflict, state_add_conflict(s, it))
READER(watcher, watcher, vec_push(&s->watchers, it))
READER(worker, worker, state_add_worker(s, it))
READER(escalation, escalation, state_add_escalation(s, it))
READER(effect, effect, state_add_effect(s, it))
READER(run, run, state_add_run(s, it))
READER(retired_run, run, (state_add_run(s, it), state_retire_run(s, it)))

static int read_spend_hour(struct state *s, const value *v, struct ov_err *err)
{
	struct spend_hour h = { 0 };
	int r = record_from_value(&spend_hour_record, &h, v, err);

	if (r == 0 && h.hour > 0)
		s->automatic.window.hours[h.hour % WINDOW_HOURS] = h;
	return r;
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
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct json_limits limits = { .max_bytes = SIZE_MAX, .max_depth = 0 };
	struct state *s;
	value *doc;
	int r;

	r = json_parse(&a, bytes, &limits, &doc, err);
	if (r < 0)
		return ov_wrap(err, r, "snapshot");
	s = state_new(hash_seed);
	r = record_from_part(&head_record, s, doc, err);
	if (r == 0)
		r = read_sections(s, doc, err);
	if (r == 0)
		r = read_singles(s, doc, err);
	if (r < 0) {
		state_free(s);
		return r;
	}
	*ret = s;
	return 0;
}
