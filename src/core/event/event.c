#include "core/event/event.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/model/limits.h"
#include "core/text/redact.h"
#include "data/value/json.h"

/* The fields of each kind, within which THIS is its struct. */
/* The formatter would take the halves of a function for whole statements. */
/* clang-format off */
#define EVENT(sym, type, name, help)                                     \
	static const struct event_field *fields_of_##type(size_t *ret_n) \
	{                                                                \
		_unused_ typedef struct ev_##type THIS;                  \
		static const struct event_field fields[] = {
#define TEXT(need, name, help) ROW(EVENT_TEXT, need, name, help)
#define NOTE(need, name, help) ROW(EVENT_NOTE, need, name, help)
#define NUM(need, name, help) ROW(EVENT_NUM, need, name, help)
#define FLAG(need, name, help) ROW(EVENT_FLAG, need, name, help)
#define LIST(need, name, help) ROW(EVENT_LIST, need, name, help)
#define OBJECT(need, name, help) ROW(EVENT_OBJECT, need, name, help)
#define OBJECTS(need, name, help) ROW(EVENT_OBJECTS, need, name, help)
#define ROW(type, need, name, help) \
	{ #name, type, need, help, offsetof(THIS, name), HAS_##need(name) },
#define HAS_REQ(name) SIZE_MAX
#define HAS_OPT(name) SIZE_MAX
#define HAS_MAYBE(name) offsetof(THIS, has_##name)
#define END(type)                           \
		};                          \
		*ret_n = ARRAY_LEN(fields); \
		return fields;              \
	}
/* clang-format on */
#include "core/event/events.def"

static const struct {
	const char *name, *help;
	const struct event_field *(*fields)(size_t *ret_n);
	size_t size;
} kinds[EVENT_KIND_COUNT] = {
#define EVENT(sym, type, name, help) \
	[sym] = { name, help, fields_of_##type, sizeof(struct ev_##type) },
#include "core/event/kinds.def"
};

struct event_info event_info(enum event_kind kind)
{
	struct event_info info = { kinds[kind].name, kinds[kind].help, NULL, 0, kinds[kind].size };

	assert(kind < EVENT_KIND_COUNT);
	info.fields = kinds[kind].fields(&info.n);
	return info;
}

enum value_kind event_value_kind(enum event_type type)
{
	static const enum value_kind of[] = { [EVENT_TEXT] = V_STR,
		[EVENT_NOTE] = V_STR,
		[EVENT_NUM] = V_INT,
		[EVENT_FLAG] = V_BOOL,
		[EVENT_LIST] = V_ARRAY,
		[EVENT_OBJECT] = V_OBJECT,
		[EVENT_OBJECTS] = V_ARRAY };

	return of[type];
}

int event_kind_parse(str name)
{
	for (int i = 0; i < EVENT_KIND_COUNT; i++)
		if (str_is(name, kinds[i].name))
			return i;
	return -1;
}

static const struct event_field *field_find(const struct event_info *info, str name)
{
	for (size_t i = 0; i < info->n; i++)
		if (str_is(name, info->fields[i].name))
			return &info->fields[i];
	return NULL;
}

static int check_items(const struct event_info *info, const struct event_field *f,
		const value *list, struct ov_err *err)
{
	enum value_kind wanted = f->type == EVENT_OBJECTS ? V_OBJECT : V_STR;

	for (size_t i = 0; i < value_count(list); i++)
		if (value_item(list, i)->kind != wanted)
			return ov_fail(err, OV_EINVALID, "%s.%s: expected %ss only", info->name,
					f->name,
					wanted == V_STR ? "text" : value_kind_name(wanted));
	return 0;
}

int event_check(const struct event *e, struct ov_err *err)
{
	struct event_info info = event_info(e->kind);

	for (size_t i = 0; i < value_count(e->data); i++) {
		const struct member *m = &e->data->object.members[i];
		const struct event_field *f = field_find(&info, m->key);

		if (!f)
			return ov_fail(err, OV_EINVALID, "%s: unknown field \"" STR_FMT "\"",
					info.name, STR_ARG(m->key));
		if (event_value_kind(f->type) != m->value->kind)
			return ov_fail(err, OV_EINVALID, "%s.%s: expected %s, found %s", info.name,
					f->name, value_kind_name(event_value_kind(f->type)),
					value_kind_name(m->value->kind));
		if (m->value->kind == V_ARRAY && check_items(&info, f, m->value, err) < 0)
			return OV_EINVALID;
	}
	for (size_t i = 0; i < info.n; i++)
		if (info.fields[i].need == REQ && !value_at(e->data, info.fields[i].name))
			return ov_fail(err, OV_EINVALID, "%s.%s is missing", info.name,
					info.fields[i].name);
	return 0;
}

struct texts texts_from(struct arena *a, const value *list)
{
	struct texts t = { arena_array(a, str, value_count(list)), value_count(list) };

	for (size_t i = 0; i < t.n; i++)
		t.p[i] = value_str_or(value_item(list, i), STR(""));
	return t;
}

static void fill_field(struct arena *a, const struct event_field *f, char *is, const value *v)
{
	void *at = is + f->offset;

	if (f->has != SIZE_MAX)
		*(bool *)(is + f->has) = true;
	switch (f->type) {
	case EVENT_TEXT:
	case EVENT_NOTE: *(str *)at = v->s; break;
	case EVENT_NUM: *(int64_t *)at = v->i; break;
	case EVENT_FLAG: *(bool *)at = v->b; break;
	case EVENT_LIST: *(struct texts *)at = texts_from(a, v); break;
	case EVENT_OBJECT:
	case EVENT_OBJECTS: *(const value **)at = v; break;
	}
}

void event_fill(struct arena *a, struct event *e)
{
	struct event_info info = event_info(e->kind);
	char *is = arena_zalloc(a, info.size);

	for (size_t i = 0; i < value_count(e->data); i++) {
		const struct member *m = &e->data->object.members[i];
		const struct event_field *f = field_find(&info, m->key);

		if (f && m->value->kind == event_value_kind(f->type))
			fill_field(a, f, is, m->value);
	}
	e->is = is;
}

/* Outcomes quote the output of programs: what is not text would not come back from the log as it was. */
static value *text_value(struct arena *a, str s)
{
	return value_str(a, utf8_valid(s) ? arena_str(a, s) : utf8_clean(a, s));
}

static value *list_value(struct arena *a, const struct texts *t)
{
	value *list = value_array(a);

	for (size_t i = 0; i < t->n; i++)
		value_push(a, list, text_value(a, t->p[i]));
	return list;
}

/* NULL where it is zero, empty or absent, and need not be there. */
static value *field_value(struct arena *a, const struct event_field *f, const char *is)
{
	const void *at = is + f->offset;
	bool need = f->need == REQ || (f->has != SIZE_MAX && *(const bool *)(is + f->has));
	const value *v;
	str s;

	switch (f->type) {
	case EVENT_TEXT:
	case EVENT_NOTE:
		s = *(const str *)at;
		/* Secrets go before a text is cut: half of one is not recognised any more. */
		if (f->type == EVENT_NOTE)
			s = utf8_truncate(redact(a, s), LIMIT_NOTE);
		return s.n || need ? text_value(a, s) : NULL;
	case EVENT_NUM:
		return *(const int64_t *)at || need ? value_int(a, *(const int64_t *)at) : NULL;
	case EVENT_FLAG: return *(const bool *)at || need ? value_bool(a, *(const bool *)at) : NULL;
	case EVENT_LIST: return ((const struct texts *)at)->n || need ? list_value(a, at) : NULL;
	case EVENT_OBJECT:
	case EVENT_OBJECTS: break;
	}
	v = *(const value *const *)at;
	return v ? value_copy(a, v) : NULL;
}

value *event_data(struct arena *a, const struct event *e)
{
	struct event_info info = event_info(e->kind);
	value *data = value_object(a);

	for (size_t i = 0; i < info.n; i++) {
		value *v = field_value(a, &info.fields[i], e->is);

		if (v)
			value_append_member(a, data, str_from(info.fields[i].name), v);
	}
	return data;
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
	struct event_info info = event_info(e->kind);

	for (size_t i = 0; i < value_count(body); i++) {
		str key = body->object.members[i].key;
		bool known = false;

		for (size_t k = 0; k < n; k++)
			known |= str_is(key, keys[k]);
		if (!known)
			return newer(e->seq, str_from(info.name), "the member", key, err);
	}
	for (size_t i = 0; i < value_count(e->data); i++)
		if (!field_find(&info, e->data->object.members[i].key))
			return newer(e->seq, str_from(info.name), "the field",
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
	e.data = (value *)value_at(v, "data");
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
