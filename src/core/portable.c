#include "core/portable.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

const char *const portable_sections[PORTABLE_SECTIONS] = { "goals", "assignments",
	"crystallizations", "dispatchIndex" };

/* Names that are more than their snake_case in camelCase. Without a noun: in every record. */
static const struct {
	const char *noun, *field, *name;
} names[] = {
	{ NULL, "node_id", "workNodeId" },
	{ "goal", "id", "goalId" },
	{ "goal", "origin_session", "sourceSessionKey" },
	{ "goal", "origin_context", "originDeliveryContext" },
	{ "goal", "repo_context", "repoContextSnapshot" },
	{ "node", "outcome", "expectedOutcome" },
	{ "node", "acceptance", "acceptanceCriteria" },
	{ "node", "deps", "dependsOn" },
	{ "node", "suggested_agent", "suggestedAgentId" },
	{ "node", "effort", "estimatedEffort" },
	{ "node", "risk", "riskLevel" },
	{ "assignment", "id", "assignmentId" },
	{ "assignment", "agent", "agentId" },
	{ "assignment", "idle_after", "idleAfterMs" },
	{ "assignment", "last_activity_at", "lastObservedActivityAt" },
	{ "assignment", "expected_at", "expectedNextUpdateAt" },
	{ "dispatch", "id", "dispatchId" },
	{ "dispatch", "at", "ts" },
	{ "crystallization", "id", "crystallizationId" },
	{ "crystallization", "agent", "agentId" },
};

static str camel(struct arena *a, const char *field)
{
	size_t n = 0;
	char *out = arena_alloc(a, strlen(field) + 1);

	for (const char *p = field; *p; p++) {
		if (*p == '_' && p[1] >= 'a' && p[1] <= 'z')
			out[n++] = (char)(*++p - 'a' + 'A');
		else
			out[n++] = *p;
	}
	return (str){ out, n };
}

static str portable_name(struct arena *a, const char *noun, const char *field)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i].field, field) == 0 &&
				(!names[i].noun || strcmp(names[i].noun, noun) == 0))
			return str_from(names[i].name);
	return camel(a, field);
}

static value *record_view(struct arena *a, const struct record_type *t, const void *record)
{
	const value *v = record_to_value(a, t, record);
	value *out = value_object(a);

	for (size_t i = 0; i < t->n; i++)
		value_append_member(a, out, portable_name(a, t->noun, t->fields[i].name),
				v->object.members[i].value);
	return out;
}

static const char *const node_ids[] = {
	[TIER_PHASE] = "phaseId",
	[TIER_TASK] = "taskId",
	[TIER_SUBTASK] = "subtaskId",
};

static value *node_view(struct arena *a, const struct node *n)
{
	value *v = record_view(a, &node_record, n);

	for (size_t i = 0; i < v->object.n; i++)
		if (str_is(v->object.members[i].key, "id"))
			v->object.members[i].key = str_from(node_ids[n->tier]);
	return v;
}

static value *goal_view(struct arena *a, const struct goal *g)
{
	value *v = record_view(a, &goal_record, g), *nodes = value_array(a);

	for (size_t i = 0; i < g->nodes.n; i++)
		value_push(a, nodes, node_view(a, g->nodes.p[i]));
	value_put(a, v, "workNodes", nodes);
	return v;
}

static value *assignment_view(struct arena *a, const struct assignment *as)
{
	value *v = record_view(a, &assignment_record, as), *history = value_array(a);

	for (size_t i = 0; i < as->dispatches.n; i++)
		value_push(a, history, record_view(a, &dispatch_record, as->dispatches.p[i]));
	value_put(a, v, "dispatchHistory", history);
	return v;
}

/* The walk under way: everything of one object is forgotten before the next. */
struct walk {
	struct arena arena;
	portable_emit_fn *emit;
	void *user;
	struct ov_err *err;
};

static int emit(struct walk *w, int section, str key, const value *v)
{
	int r = w->emit(w->user, section, key, v, w->err);

	arena_reset(&w->arena);
	return r;
}

static int walk_goals(struct walk *w, const struct state *s, int section)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->goals.n; i++)
		r = emit(w, section, s->goals.p[i]->id, goal_view(&w->arena, s->goals.p[i]));
	return r;
}

static int walk_assignments(struct walk *w, const struct state *s, int section)
{
	const struct list *lists[] = { &s->finished, &s->live };
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		list_each (it, lists[i]) {
			const struct assignment *as = list_entry(it, struct assignment, link);

			if (r == 0)
				r = emit(w, section, as->id, assignment_view(&w->arena, as));
		}
	return r;
}

static int emit_handoff(struct walk *w, int section, const struct crystallization *c)
{
	return c ? emit(w, section, c->id, record_view(&w->arena, &crystallization_record, c)) : 0;
}

static int walk_handoffs(struct walk *w, const struct state *s, int section)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->goals.n; i++) {
		const struct goal *g = s->goals.p[i];

		r = emit_handoff(w, section, g->handoff);
		for (size_t k = 0; r == 0 && k < g->nodes.n; k++)
			r = emit_handoff(w, section, g->nodes.p[k]->handoff);
	}
	return r;
}

static int walk_dispatches(struct walk *w, const struct state *s, int section)
{
	const struct list *lists[] = { &s->finished, &s->live };
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(lists); i++)
		list_each (it, lists[i]) {
			const struct assignment *as = list_entry(it, struct assignment, link);

			for (size_t k = 0; r == 0 && k < as->dispatches.n; k++)
				r = emit(w, section, as->dispatches.p[k]->id,
						record_view(&w->arena, &dispatch_record,
								as->dispatches.p[k]));
		}
	return r;
}

int portable_walk(const struct state *s, portable_emit_fn *fn, void *user, struct ov_err *err)
{
	static int (*const walks[PORTABLE_SECTIONS])(struct walk * w, const struct state *s,
			int section) = { walk_goals, walk_assignments, walk_handoffs,
		walk_dispatches };
	struct walk w = { .emit = fn, .user = user, .err = err };
	int r = 0;

	for (int i = 0; r == 0 && i < PORTABLE_SECTIONS; i++)
		r = walks[i](&w, s, i);
	arena_done(&w.arena);
	return r;
}

static const char *const event_keys[] = { "seq", "ts", "type", "actor", "goalId", "workNodeId",
	"assignmentId", "runId", "data" };

static void put_text(struct arena *a, value *o, const char *key, str s)
{
	if (s.n)
		value_append_member(a, o, str_from(key), value_str(a, s));
}

value *portable_event(struct arena *a, const struct event *e)
{
	value *o = value_object(a);

	value_append_member(a, o, STR("seq"), value_int(a, (int64_t)e->seq));
	value_append_member(a, o, STR("ts"), value_int(a, e->at));
	value_append_member(a, o, STR("type"), value_cstr(a, event_info(e->kind).name));
	put_text(a, o, "actor", e->actor);
	put_text(a, o, "goalId", e->goal);
	put_text(a, o, "workNodeId", e->node);
	put_text(a, o, "assignmentId", e->assignment);
	put_text(a, o, "runId", e->run);
	value_append_member(a, o, STR("data"), e->data);
	return o;
}

/* Absent is empty; another kind than text is an error, as is a text that would come back absent. */
static int read_text(const value *v, const char *key, str *ret, struct ov_err *err)
{
	const value *m = value_at(v, key);

	if (m && (m->kind != V_STR || m->s.n == 0))
		return ov_fail(err, OV_EINVALID, "%s: expected a text that is not empty", key);
	*ret = value_str_or(m, STR(""));
	return 0;
}

int portable_event_read(const value *v, struct event *ret, struct ov_err *err)
{
	struct event e = { 0 };
	const value *data;
	int64_t seq, at;
	str type = STR("");
	int r, kind;

	r = v->kind == V_OBJECT ? 0 : ov_fail(err, OV_EINVALID, "expected an object");
	if (r == 0)
		r = value_only_keys(v, STR(""), event_keys, ARRAY_LEN(event_keys), err);
	if (r == 0)
		r = value_need_int(v, STR(""), "seq", &seq, err);
	if (r == 0)
		r = value_need_int(v, STR(""), "ts", &at, err);
	if (r == 0)
		r = value_need_str(v, STR(""), "type", &type, err);
	if (r == 0)
		r = value_need_object(v, STR(""), "data", &data, err);
	if (r == 0)
		r = read_text(v, "actor", &e.actor, err);
	if (r == 0)
		r = read_text(v, "goalId", &e.goal, err);
	if (r == 0)
		r = read_text(v, "workNodeId", &e.node, err);
	if (r == 0)
		r = read_text(v, "assignmentId", &e.assignment, err);
	if (r == 0)
		r = read_text(v, "runId", &e.run, err);
	if (r < 0)
		return r;
	kind = event_kind_parse(type);
	if (kind < 0)
		return ov_fail(err, OV_EINVALID, "type: \"" STR_FMT "\" is not known",
				STR_ARG(str_sub(type, 0, 100)));
	e.seq = (uint64_t)seq;
	e.at = at;
	e.kind = (enum event_kind)kind;
	e.data = (value *)data;
	*ret = e;
	return 0;
}
