#include <stdio.h>
#include <stdlib.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "data/value/schema_impl.h"

const char *const schema_type_names[SCHEMA_TYPES] = {
	"null",
	"boolean",
	"integer",
	"number",
	"string",
	"array",
	"object",
};

struct reference {
	struct schema *from;
	str text;
};

struct compiler {
	struct arena *arena;
	const value *root;
	struct map seen; /* the address of a value in the document -> its compiled schema */
	VEC(struct schema *) nodes;
	VEC(struct reference) references; /* resolved one after the other, however long the chain */
	size_t lookups;                   /* members looked at to resolve references */
	unsigned depth;
	struct ov_err *err;
};

struct keyword {
	const char *name;
	int (*compile)(struct compiler *c, const struct keyword *k, struct schema *s,
			const value *v, const struct schema_path *at);
	size_t offset; /* of the member of struct schema that it fills */
};

#define FIELD(type, s, k) ((type *)((char *)(s) + (k)->offset))

static int compile(struct compiler *c, const value *v, const struct schema_path *at,
		struct schema **ret);

static int _printf_(3, 4)
		fail(struct compiler *c, const struct schema_path *at, const char *fmt, ...)
{
	_cleanup_(buf_done)
	struct buf path = schema_path_text(at);
	char what[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return ov_fail(c->err, OV_EINVALID, "schema: %s%s", buf_cstr(&path), what);
}

static int k_annotation(struct compiler *c, const struct keyword *k, struct schema *s,
		const value *v, const struct schema_path *at)
{
	(void)c, (void)k, (void)s, (void)v, (void)at;
	return 0;
}

static int k_unsupported(struct compiler *c, const struct keyword *k, struct schema *s,
		const value *v, const struct schema_path *at)
{
	(void)k, (void)s, (void)v;
	return fail(c, at, "regular expressions are not supported here");
}

static int k_id(struct compiler *c, const struct keyword *k, struct schema *s, const value *v,
		const struct schema_path *at)
{
	(void)k, (void)s, (void)v;
	/* Deeper down it would change what the references below it mean. */
	if (at->up && at->up->up)
		return fail(c, at, "is supported only at the top of the document");
	return 0;
}

static int type_bit(struct compiler *c, const value *v, const struct schema_path *at,
		unsigned *types)
{
	const char *near;
	str shown;

	if (v->kind != V_STR)
		return fail(c, at, "expected the name of a type, got %s", value_kind_name(v->kind));
	for (unsigned i = 0; i < SCHEMA_TYPES; i++) {
		if (str_is(v->s, schema_type_names[i])) {
			*types |= 1u << i;
			return 0;
		}
	}
	near = str_nearest(v->s, schema_type_names, SCHEMA_TYPES);
	shown = utf8_truncate(v->s, 60);
	return fail(c, at, "unknown type \"" STR_FMT "\"%s%s%s", STR_ARG(shown),
			near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "");
}

static int k_type(struct compiler *c, const struct keyword *k, struct schema *s, const value *v,
		const struct schema_path *at)
{
	int r = 0;

	(void)k;
	if (v->kind != V_ARRAY)
		return type_bit(c, v, at, &s->types);
	if (v->array.n == 0)
		return fail(c, at, "an empty list of types allows nothing");
	for (size_t i = 0; i < v->array.n && r == 0; i++)
		r = type_bit(c, v->array.items[i], at, &s->types);
	return r;
}

static int k_value(struct compiler *c, const struct keyword *k, struct schema *s, const value *v,
		const struct schema_path *at)
{
	(void)c, (void)at;
	*FIELD(const value *, s, k) = v;
	return 0;
}

static int k_enum(struct compiler *c, const struct keyword *k, struct schema *s, const value *v,
		const struct schema_path *at)
{
	(void)k;
	if (v->kind != V_ARRAY || v->array.n == 0)
		return fail(c, at, "expected a list of values that is not empty");
	s->choices = v;
	return 0;
}

static int k_number(struct compiler *c, const struct keyword *k, struct schema *s, const value *v,
		const struct schema_path *at)
{
	if (v->kind != V_INT && v->kind != V_REAL)
		return fail(c, at, "expected a number, got %s", value_kind_name(v->kind));
	*FIELD(const value *, s, k) = v;
	return 0;
}

static int k_multiple_of(struct compiler *c, const struct keyword *k, struct schema *s,
		const value *v, const struct schema_path *at)
{
	if (!(value_real_or(v, 0) > 0))
		return fail(c, at, "expected a number above 0");
	return k_number(c, k, s, v, at);
}

/* A number since draft 6, a flag beside minimum or maximum in draft 4. */
static int k_exclusive(struct compiler *c, const struct keyword *k, struct schema *s,
		const value *v, const struct schema_path *at)
{
	if (v->kind != V_BOOL)
		return k_number(c, k, s, v, at);
	if (k->offset == offsetof(struct schema, above))
		s->exclusive_minimum = v->b;
	else
		s->exclusive_maximum = v->b;
	return 0;
}

static int k_size(struct compiler *c, const struct keyword *k, struct schema *s, const value *v,
		const struct schema_path *at)
{
	if (v->kind == V_INT && v->i >= 0)
		*FIELD(size_t, s, k) = (size_t)v->i;
	else if (v->kind == V_REAL && v->r >= 0 && v->r < 0x1p53 && v->r == (double)(size_t)v->r)
		*FIELD(size_t, s, k) = (size_t)v->r;
	else
		return fail(c, at, "expected an integer of at least 0");
	return 0;
}

static int k_unique(struct compiler *c, const struct keyword *k, struct schema *s, const value *v,
		const struct schema_path *at)
{
	(void)k;
	if (v->kind != V_BOOL)
		return fail(c, at, "expected true or false, got %s", value_kind_name(v->kind));
	s->unique_items = v->b;
	return 0;
}

static int k_schema(struct compiler *c, const struct keyword *k, struct schema *s, const value *v,
		const struct schema_path *at)
{
	return compile(c, v, at, FIELD(struct schema *, s, k));
}

static int compile_list(struct compiler *c, const value *v, const struct schema_path *at,
		struct schema_list *ret)
{
	struct schema_list list = { arena_array(c->arena, struct schema *, v->array.n), 0 };

	for (; list.n < v->array.n; list.n++) {
		struct schema_path item = { .up = at, .index = list.n };
		int r = compile(c, v->array.items[list.n], &item, &list.p[list.n]);

		if (r < 0)
			return r;
	}
	*ret = list;
	return 0;
}

static int k_list(struct compiler *c, const struct keyword *k, struct schema *s, const value *v,
		const struct schema_path *at)
{
	if (v->kind != V_ARRAY || v->array.n == 0)
		return fail(c, at, "expected a list of schemas that is not empty");
	return compile_list(c, v, at, FIELD(struct schema_list, s, k));
}

static int k_items(struct compiler *c, const struct keyword *k, struct schema *s, const value *v,
		const struct schema_path *at)
{
	if (v->kind != V_ARRAY)
		return k_schema(c, k, s, v, at);
	s->has_item_list = true;
	return compile_list(c, v, at, &s->item_list);
}

static int need_object(struct compiler *c, const value *v, const struct schema_path *at)
{
	if (v->kind != V_OBJECT)
		return fail(c, at, "expected an object, got %s", value_kind_name(v->kind));
	return 0;
}

static int by_key(const void *a, const void *b)
{
	return str_cmp(((const struct schema_property *)a)->key,
			((const struct schema_property *)b)->key);
}

static int k_properties(struct compiler *c, const struct keyword *k, struct schema *s,
		const value *v, const struct schema_path *at)
{
	int r = need_object(c, v, at);
	size_t n = value_count(v);

	(void)k;
	if (r < 0)
		return r;
	s->properties = arena_array(c->arena, struct schema_property, n);
	s->property_cstr = arena_array(c->arena, const char *, n);
	for (size_t i = 0; i < n; i++) {
		struct schema_property *p = &s->properties[i];
		struct schema_path item = { .up = at, .key = v->object.members[i].key };

		p->key = item.key;
		s->property_cstr[i] = arena_cstr(c->arena, p->key);
		r = compile(c, v->object.members[i].value, &item, &p->schema);
		if (r < 0)
			return r;
	}
	s->n_properties = n;
	if (n)
		qsort(s->properties, n, sizeof(*s->properties), by_key);
	return 0;
}

static int k_definitions(struct compiler *c, const struct keyword *k, struct schema *s,
		const value *v, const struct schema_path *at)
{
	struct schema *ignored;
	int r = need_object(c, v, at);

	(void)k, (void)s;
	for (size_t i = 0; i < value_count(v) && r == 0; i++) {
		struct schema_path item = { .up = at, .key = v->object.members[i].key };

		r = compile(c, v->object.members[i].value, &item, &ignored);
	}
	return r;
}

static int names(struct compiler *c, const value *v, const struct schema_path *at,
		struct schema_names *ret)
{
	struct schema_names list = { 0 };

	if (v->kind != V_ARRAY)
		return fail(c, at, "expected a list of keys, got %s", value_kind_name(v->kind));
	list.p = arena_array(c->arena, str, v->array.n);
	list.cstr = arena_array(c->arena, const char *, v->array.n);
	for (; list.n < v->array.n; list.n++) {
		const value *item = v->array.items[list.n];

		if (item->kind != V_STR)
			return fail(c, at, "expected a list of keys, but item %zu is %s", list.n,
					value_kind_name(item->kind));
		list.p[list.n] = item->s;
		list.cstr[list.n] = arena_cstr(c->arena, item->s);
	}
	*ret = list;
	return 0;
}

static int k_required(struct compiler *c, const struct keyword *k, struct schema *s, const value *v,
		const struct schema_path *at)
{
	(void)k;
	return names(c, v, at, &s->required);
}

static int k_dependencies(struct compiler *c, const struct keyword *k, struct schema *s,
		const value *v, const struct schema_path *at)
{
	int r = need_object(c, v, at);

	(void)k;
	if (r < 0)
		return r;
	s->dependencies = arena_array(c->arena, struct schema_dependency, v->object.n);
	for (size_t i = 0; i < v->object.n; i++) {
		struct schema_dependency *d = &s->dependencies[i];
		const value *what = v->object.members[i].value;
		struct schema_path item = { .up = at, .key = v->object.members[i].key };

		d->key = item.key;
		r = what->kind == V_ARRAY ? names(c, what, &item, &d->names)
					  : compile(c, what, &item, &d->schema);
		if (r < 0)
			return r;
		s->n_dependencies++;
	}
	return 0;
}

static int k_ref(struct compiler *c, const struct keyword *k, struct schema *s, const value *v,
		const struct schema_path *at)
{
	(void)k;
	if (v->kind != V_STR)
		return fail(c, at, "expected a string, got %s", value_kind_name(v->kind));
	vec_push(&c->references, ((struct reference){ s, v->s }));
	return 0;
}

#define AT(field) offsetof(struct schema, field)
static const struct keyword keywords[] = {
	{ "$comment", k_annotation, 0 },
	{ "$defs", k_definitions, 0 },
	{ "$id", k_id, 0 },
	{ "$ref", k_ref, 0 },
	{ "$schema", k_annotation, 0 },
	{ "additionalItems", k_schema, AT(additional_items) },
	{ "additionalProperties", k_schema, AT(additional_properties) },
	{ "allOf", k_list, AT(all_of) },
	{ "anyOf", k_list, AT(any_of) },
	{ "const", k_value, AT(constant) },
	{ "contains", k_schema, AT(contains) },
	{ "default", k_annotation, 0 },
	{ "definitions", k_definitions, 0 },
	{ "dependencies", k_dependencies, 0 },
	{ "description", k_annotation, 0 },
	{ "enum", k_enum, 0 },
	{ "examples", k_annotation, 0 },
	{ "exclusiveMaximum", k_exclusive, AT(below) },
	{ "exclusiveMinimum", k_exclusive, AT(above) },
	{ "format", k_annotation, 0 },
	{ "items", k_items, AT(items) },
	{ "maxItems", k_size, AT(max_items) },
	{ "maxLength", k_size, AT(max_length) },
	{ "maxProperties", k_size, AT(max_properties) },
	{ "maximum", k_number, AT(maximum) },
	{ "minItems", k_size, AT(min_items) },
	{ "minLength", k_size, AT(min_length) },
	{ "minProperties", k_size, AT(min_properties) },
	{ "minimum", k_number, AT(minimum) },
	{ "multipleOf", k_multiple_of, AT(multiple_of) },
	{ "not", k_schema, AT(not_) },
	{ "oneOf", k_list, AT(one_of) },
	{ "pattern", k_unsupported, 0 },
	{ "patternProperties", k_unsupported, 0 },
	{ "properties", k_properties, 0 },
	{ "propertyNames", k_schema, AT(property_names) },
	{ "required", k_required, 0 },
	{ "title", k_annotation, 0 },
	{ "type", k_type, 0 },
	{ "uniqueItems", k_unique, 0 },
};
#undef AT

static const struct keyword *find_keyword(str name)
{
	for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
		if (str_is(name, keywords[i].name))
			return &keywords[i];
	return NULL;
}

static int unknown_keyword(struct compiler *c, const struct schema_path *at, str name)
{
	const char *all[ARRAY_LEN(keywords)], *near;
	str shown = utf8_truncate(name, 60);

	for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
		all[i] = keywords[i].name;
	near = str_nearest(name, all, ARRAY_LEN(all));
	return fail(c, at, "unknown keyword \"" STR_FMT "\"%s%s%s", STR_ARG(shown),
			near ? " (did you mean \"" : "", near ? near : "", near ? "\"?)" : "");
}

static int compile_keywords(struct compiler *c, struct schema *s, const value *v,
		const struct schema_path *at)
{
	bool ref = value_at(v, "$ref") != NULL;

	for (size_t i = 0; i < v->object.n; i++) {
		const struct member *m = &v->object.members[i];
		const struct keyword *k = find_keyword(m->key);
		struct schema_path here = { .up = at, .key = m->key };
		int r;

		if (!k)
			return unknown_keyword(c, at, m->key);
		/* The drafts ignore what stands beside a $ref; silence would hide a mistake. */
		if (ref && k->compile != k_ref && k->compile != k_annotation &&
				k->compile != k_definitions && k->compile != k_id)
			return fail(c, &here,
					"has no effect beside \"$ref\"; put both into \"allOf\"");
		r = k->compile(c, k, s, m->value, &here);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Turns draft 4's flags into the numbers of draft 6. */
static int fold_exclusive(struct compiler *c, struct schema *s, const struct schema_path *at)
{
	if ((s->exclusive_minimum && !s->minimum) || (s->exclusive_maximum && !s->maximum))
		return fail(c, at, "\"%s\": true needs \"%s\" beside it",
				s->exclusive_minimum && !s->minimum ? "exclusiveMinimum"
								    : "exclusiveMaximum",
				s->exclusive_minimum && !s->minimum ? "minimum" : "maximum");
	if (s->exclusive_minimum)
		s->above = TAKE_PTR(s->minimum);
	if (s->exclusive_maximum)
		s->below = TAKE_PTR(s->maximum);
	return 0;
}

static struct schema *new_schema(struct compiler *c, const value *v)
{
	struct schema *s = arena_new(c->arena, struct schema);
	const value **address = arena_new(c->arena, const value *);

	*address = v;
	map_put(&c->seen, (str){ (const char *)address, sizeof(*address) }, s);
	vec_push(&c->nodes, s);
	s->max_length = s->max_items = s->max_properties = SIZE_MAX;
	return s;
}

static int compile(struct compiler *c, const value *v, const struct schema_path *at,
		struct schema **ret)
{
	struct schema *s;
	int r = 0;

	if (v->kind != V_OBJECT && v->kind != V_BOOL)
		return fail(c, at, "expected a schema (an object, true or false), got %s",
				value_kind_name(v->kind));
	if (c->depth >= SCHEMA_MAX_DEPTH)
		return fail(c, at, "schemas nested more than %d deep", SCHEMA_MAX_DEPTH);
	s = new_schema(c, v);
	if (v->kind == V_BOOL) {
		s->never = !v->b;
	} else {
		c->depth++;
		r = compile_keywords(c, s, v, at);
		c->depth--;
	}
	if (r == 0)
		r = fold_exclusive(c, s, at);
	if (r < 0)
		return r;
	*ret = s;
	return 0;
}

/* One part of a JSON pointer in a URI fragment: %XX and then ~0, ~1 undone. False when malformed. */
static bool pointer_part(str raw, struct buf *out)
{
	bool tilde = false;

	buf_clear(out);
	for (size_t i = 0; i < raw.n; i++) {
		char c = raw.p[i], hex[3] = { 0 }, *end;

		if (c == '%') {
			memcpy(hex, raw.p + i + 1, MIN(raw.n - i - 1, (size_t)2));
			c = (char)strtoul(hex, &end, 16);
			if (end != hex + 2 || hex[0] == '+' || hex[0] == '-' || hex[0] == ' ')
				return false;
			i += 2;
		}
		if (tilde && c != '0' && c != '1')
			return false;
		if (tilde || c != '~')
			buf_addc(out, !tilde ? c : c == '0' ? '~' : '/');
		tilde = !tilde && c == '~';
	}
	return !tilde;
}

static const value *follow(struct compiler *c, str pointer)
{
	_cleanup_(buf_done)
	struct buf part = BUF_INIT;
	const value *v = c->root;
	uint64_t i;
	str raw;

	if (pointer.n == 0)
		return v;
	if (pointer.p[0] != '/')
		return NULL;
	pointer = (str){ pointer.p + 1, pointer.n - 1 };
	while (v && str_split(&pointer, '/', &raw)) {
		if (!pointer_part(raw, &part))
			return NULL;
		c->lookups += value_count(v);
		if (v->kind == V_ARRAY)
			v = str_to_u64(buf_str(&part), &i) ? value_item(v, i) : NULL;
		else
			v = value_get(v, buf_str(&part));
	}
	return v;
}

static int resolve(struct compiler *c, struct reference ref)
{
	static const struct schema_path top = { 0 };
	struct schema_path at = { .up = &top, .key = ref.text };
	const value *target;

	if (ref.text.n == 0 || ref.text.p[0] != '#')
		return fail(c, &at,
				"only references inside the document (\"#/definitions/...\") "
				"are supported");
	target = follow(c, (str){ ref.text.p + 1, ref.text.n - 1 });
	if (!target)
		return fail(c, &at, "this reference leads nowhere");
	if (c->lookups > SCHEMA_MAX_LOOKUPS)
		return fail(c, &at, "too many references for so many definitions");
	ref.from->ref = map_get(&c->seen, (str){ (const char *)&target, sizeof(target) });
	return ref.from->ref ? 0 : compile(c, target, &at, &ref.from->ref);
}

int schema_compile(struct arena *a, const value *doc, struct schema **ret, struct ov_err *err)
{
	static const struct schema_path top = { 0 };
	struct compiler c = { .arena = a, .root = value_copy(a, doc), .err = err };
	struct schema *s;
	int r;

	map_init(&c.seen, (uintptr_t)&c);
	r = compile(&c, c.root, &top, &s);
	/* Compiling a target may add references, so the length is read anew each time. */
	for (size_t i = 0; i < c.references.n && r == 0; i++)
		r = resolve(&c, c.references.p[i]);
	if (r == 0)
		r = schema_measure_chains(c.nodes.p, c.nodes.n, err);
	if (r == 0)
		*ret = s;
	map_done(&c.seen);
	vec_done(&c.nodes);
	vec_done(&c.references);
	return r;
}
