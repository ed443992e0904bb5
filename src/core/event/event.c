#include "core/event/event.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/model/limits.h"
#include "core/text/redact.h"
#include "data/value/json.h"

#include "core/shape/rows.def"
/* The formatter would take the halves of a function for whole statements. */
/* clang-format off */
#define EVENT(sym, type, name, help)                                     \
	static const struct shape_field *fields_of_##type(size_t *ret_n) \
	{                                                                \
		_unused_ typedef struct ev_##type THIS;                  \
		static const struct shape_field fields[] = {
#define END(type)                           \
		};                          \
		*ret_n = ARRAY_LEN(fields); \
		return fields;              \
	}
/* clang-format on */
#include "core/event/events.def"

static const struct {
	const char *name, *help;
	const struct shape_field *(*fields)(size_t *ret_n);
	size_t size;
} kinds[EVENT_KIND_COUNT] = {
#define EVENT(sym, type, name, help) \
	[sym] = { name, help, fields_of_##type, sizeof(struct ev_##type) },
#include "core/event/kinds.def"
};

struct shape event_shape(enum event_kind kind)
{
	struct shape s = { kinds[kind].name, NULL, 0, kinds[kind].size };

	assert(kind < EVENT_KIND_COUNT);
	s.fields = kinds[kind].fields(&s.n);
	return s;
}

const char *event_name(enum event_kind kind)
{
	return kinds[kind].name;
}

const char *event_help(enum event_kind kind)
{
	return kinds[kind].help;
}

int event_kind_parse(str name)
{
	for (int i = 0; i < EVENT_KIND_COUNT; i++)
		if (str_is(name, kinds[i].name))
			return i;
	return -1;
}

int event_check(const struct event *e, struct ov_err *err)
{
	struct shape s = event_shape(e->kind);

	return shape_check(&s, e->data, err);
}

void event_fill(struct arena *a, struct event *e)
{
	struct shape s = event_shape(e->kind);

	e->is = shape_fill(a, &s, e->data);
}

value *event_data(struct arena *a, const struct event *e)
{
	struct shape s = event_shape(e->kind);

	return shape_data(a, &s, e->is);
}

static void put_text(struct arena *a, value *o, const char *key, str s)
{
	if (s.n)
		value_append_member(a, o, str_from(key), value_str(a, s));
}

static void put_envelope(struct arena *a, value *o, const struct event *e)
{
	put_text(a, o, "actor", e->actor);
	put_text(a, o, "goal", e->goal);
	put_text(a, o, "node", e->node);
	put_text(a, o, "assignment", e->assignment);
	put_text(a, o, "run", e->run);
	value_append_member(a, o, STR("data"), e->data);
}

value *event_body(struct arena *a, const struct event *e)
{
	value *o = value_object(a);

	put_envelope(a, o, e);
	return o;
}

value *event_view(struct arena *a, const struct event *e)
{
	value *o = value_object(a);

	value_append_member(a, o, STR("seq"), value_int(a, (int64_t)e->seq));
	value_append_member(a, o, STR("at"), value_time(a, e->at));
	value_append_member(a, o, STR("type"), value_cstr(a, kinds[e->kind].name));
	put_envelope(a, o, e);
	return o;
}

/*
 * What is whole but unknown to us was written by a newer program: OV_ESTATE, so that it is refused
 * and not taken for damage.
 */
static int newer(uint64_t seq, str kind, const char *what, str name, struct ov_err *err)
{
	return ov_fail(err, OV_ESTATE,
			"event %llu (" STR_FMT ") has %s \"" STR_FMT
			"\", which this version does not know: a newer Overseer wrote it",
			(unsigned long long)seq, STR_ARG(str_sub(kind, 0, 100)), what,
			STR_ARG(str_sub(name, 0, 100)));
}

static int check_known(const struct event *e, const value *body, const char *const *keys, size_t n,
		struct ov_err *err)
{
	struct shape s = event_shape(e->kind);

	for (size_t i = 0; i < value_count(body); i++) {
		str key = body->object.members[i].key;
		bool known = false;

		for (size_t k = 0; k < n; k++)
			known |= str_is(key, keys[k]);
		if (!known)
			return newer(e->seq, str_from(s.name), "the member", key, err);
	}
	for (size_t i = 0; i < value_count(e->data); i++)
		if (!shape_find(&s, e->data->object.members[i].key))
			return newer(e->seq, str_from(s.name), "the field",
					e->data->object.members[i].key, err);
	return 0;
}

int event_decode(struct arena *a, uint64_t seq, ov_time at, str kind, str body, struct event *ret,
		struct ov_err *err)
{
	static const char *const keys[] = { "actor", "goal", "node", "assignment", "run", "data" };
	struct event e = { .seq = seq, .at = at };
	int k = event_kind_parse(kind), r;
	value *v;

	if (k < 0)
		return newer(seq, kind, "the kind", kind, err);
	r = json_parse(a, body, NULL, &v, err);
	if (r == 0 && v->kind != V_OBJECT)
		r = ov_fail(err, OV_EINVALID, "expected an object");
	if (r < 0)
		return ov_wrap(err, r, "event %llu", (unsigned long long)seq);
	for (size_t i = 0; i + 1 < ARRAY_LEN(keys); i++)
		if (value_at(v, keys[i]) && value_at(v, keys[i])->kind != V_STR)
			return ov_fail(err, OV_EINVALID, "event %llu: %s: expected a text",
					(unsigned long long)seq, keys[i]);
	e.kind = (enum event_kind)k;
	e.actor = value_str_at(v, "actor");
	e.goal = value_str_at(v, "goal");
	e.node = value_str_at(v, "node");
	e.assignment = value_str_at(v, "assignment");
	e.run = value_str_at(v, "run");
	e.data = value_edit_at(v, "data");
	if (!e.data || e.data->kind != V_OBJECT)
		return ov_fail(err, OV_EINVALID, "event %llu: no data", (unsigned long long)seq);
	r = check_known(&e, v, keys, ARRAY_LEN(keys), err);
	if (r < 0)
		return r;
	r = event_check(&e, err);
	if (r < 0)
		return ov_wrap(err, r, "event %llu", (unsigned long long)seq);
	event_fill(a, &e);
	*ret = e;
	return 0;
}
