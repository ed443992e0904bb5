#include "core/export/portable_view.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

const char *const portable_sections[PORTABLE_SECTIONS] = { "goals", "assignments",
	"crystallizations", "dispatchIndex" };

/* The walk under way: everything of one object is forgotten before the next. */
struct walk {
	struct arena arena;
	struct portable_source source;
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
		r = emit(w, section, s->goals.p[i]->id,
				portable_goal(&w->arena, &w->source, s->goals.p[i]));
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
				r = emit(w, section, as->id,
						portable_assignment(&w->arena, &w->source, as));
		}
	return r;
}

static int emit_handoff(struct walk *w, int section, const struct crystallization *c)
{
	return c ? emit(w, section, c->id, portable_handoff(&w->arena, c)) : 0;
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
						portable_dispatch(&w->arena, as->dispatches.p[k]));
		}
	return r;
}

int portable_walk(const struct state *s, const struct portable_source *source, portable_emit_fn *fn,
		void *user, struct ov_err *err)
{
	static int (*const walks[PORTABLE_SECTIONS])(struct walk * w, const struct state *s,
			int section) = { walk_goals, walk_assignments, walk_handoffs,
		walk_dispatches };
	struct walk w = { .source = *source, .emit = fn, .user = user, .err = err };
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
	value_append_member(a, o, STR("type"), value_cstr(a, event_name(e->kind)));
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
	e.data = value_share(data);
	*ret = e;
	return 0;
}
