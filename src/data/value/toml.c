#include "data/value/toml.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "base/utf8.h"
#include "data/value/toml_impl.h"

enum {
	MAX_BYTES = 8 << 20,
	MAX_DEPTH = 128, /* of tables and arrays inside each other, the document itself included */
};

/* How a key came to be, which decides who may add to it later. */
enum how {
	BY_PATH,    /* on the way to a longer [a.b.c]: any of the below may still define it */
	BY_HEADER,  /* [a.b], an element of [[a.b]], or the document */
	BY_DOTS,    /* a.b = 1: more dotted keys of the same section may add to it */
	BY_HEADERS, /* [[a.b]]: grows by more of them; paths lead into the newest element */
	BY_INLINE,  /* { ... }: closed with its brace */
	BY_ARRAY,   /* [ ... ]: closed with its bracket */
	BY_SCALAR,
};

struct slot {
	enum how how;
	unsigned depth;
	value *v;
	struct slot *newest; /* of BY_HEADERS */
};

/* A key of one or several parts, at most MAX_DEPTH of them. */
struct key {
	str parts[MAX_DEPTH];
	size_t at[MAX_DEPTH]; /* offsets, for messages */
	size_t n;
};

struct toml_reader {
	struct toml_scan s;
	struct arena scratch; /* slots and index keys: gone with the reader */
	struct buf name;      /* the index key being looked up */
	struct map index;     /* the address of the parent's slot and the key -> slot */
	struct slot *section; /* the table of the last header */
	struct key key;       /* the last key: too big for the frames of a recursion */
	bool parts;           /* a table may be written in several parts */
};

/* All that is known of a closed value is how it was written, so these serve for all of them. */
static struct slot *closed_slot(const value *v)
{
	static const struct slot inline_table = { .how = BY_INLINE };
	static const struct slot array = { .how = BY_ARRAY };
	static const struct slot scalar = { .how = BY_SCALAR };
	const struct slot *slot = v->kind == V_OBJECT ? &inline_table
			: v->kind == V_ARRAY          ? &array
						      : &scalar;

	return (struct slot *)slot; /* the index wants plain pointers; nobody writes to these */
}

/*
 * One index for all tables keeps look-ups constant however the tables are shaped. Names start
 * with the parent's address, which an attacker cannot know, so they also spread well.
 */
static str index_name(struct toml_reader *r, const struct slot *parent, str key)
{
	buf_clear(&r->name);
	buf_add(&r->name, &parent, sizeof(parent));
	buf_adds(&r->name, key);
	return buf_str(&r->name);
}

static struct slot *child(struct toml_reader *r, const struct slot *parent, str key)
{
	return map_get(&r->index, index_name(r, parent, key));
}

static void toml_add(struct toml_reader *r, struct slot *parent, str key, value *v,
		struct slot *slot)
{
	map_put(&r->index, arena_str(&r->scratch, index_name(r, parent, key)), slot);
	value_append_member(r->s.arena, parent->v, key, v);
}

static struct slot *new_slot(struct toml_reader *r, enum how how, unsigned depth, value *v)
{
	struct slot *slot = arena_new(&r->scratch, struct slot);

	*slot = (struct slot){ .how = how, .depth = depth, .v = v };
	return slot;
}

static int too_deep(struct toml_reader *r, size_t at)
{
	return toml_fail(&r->s, at, OV_ELIMIT, "nested more than %d deep", MAX_DEPTH);
}

static int add_table(struct toml_reader *r, struct slot *parent, const struct key *k, size_t part,
		enum how how, struct slot **ret)
{
	struct slot *slot;

	if (parent->depth >= MAX_DEPTH)
		return too_deep(r, k->at[part]);
	slot = new_slot(r, how, parent->depth + 1, value_object(r->s.arena));
	toml_add(r, parent, k->parts[part], slot->v, slot);
	*ret = slot;
	return 0;
}

/* Fails because part `part` of the key cannot be (re)defined like that. */
static int clash(struct toml_reader *r, const struct key *k, size_t part, enum how how)
{
	static const char *const why[] = {
		[BY_PATH] = "is already a table",
		[BY_HEADER] = "is already defined by its own [table] header",
		[BY_DOTS] = "is already defined by dotted keys",
		[BY_HEADERS] = "is already an array of tables",
		[BY_INLINE] = "is an inline table, which is complete in its braces",
		[BY_ARRAY] = "is an array, which is complete in its brackets",
		[BY_SCALAR] = "already has a value",
	};
	str shown = utf8_truncate(k->parts[part], 60);

	return toml_fail(&r->s, k->at[part], OV_EINVALID, "\"" STR_FMT "\" %s", STR_ARG(shown),
			why[how]);
}

static bool is_bare(int c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			c == '-' || c == '_';
}

static int read_key(struct toml_reader *r)
{
	struct key *k = &r->key;
	struct toml_scan *s = &r->s;
	int e;

	for (k->n = 0;;) {
		size_t start = s->at;
		int c = toml_peek(s, 0);

		if (k->n == MAX_DEPTH)
			return too_deep(r, start);
		k->at[k->n] = start;
		if (c == '"' || c == '\'') {
			e = toml_string(s, true, &k->parts[k->n]);
			if (e < 0)
				return e;
		} else if (is_bare(c)) {
			while (is_bare(toml_peek(s, 0)))
				s->at++;
			k->parts[k->n] = arena_str(s->arena,
					(str){ s->text.p + start, s->at - start });
		} else {
			return toml_expected(s, "a key");
		}
		k->n++;
		toml_skip_blanks(s);
		if (!toml_take(s, '.'))
			return 0;
		toml_skip_blanks(s);
	}
}

/* From a table along the dotted part of a key, making and marking the tables on the way. */
static int walk_dots(struct toml_reader *r, struct slot *t, const struct key *k, struct slot **ret)
{
	for (size_t i = 0; i + 1 < k->n; i++) {
		struct slot *next = child(r, t, k->parts[i]);

		if (!next) {
			int e = add_table(r, t, k, i, BY_DOTS, &next);

			if (e < 0)
				return e;
		}
		if (next->how == BY_PATH)
			next->how = BY_DOTS;
		if (next->how != BY_DOTS && !(r->parts && next->how == BY_HEADER))
			return clash(r, k, i, next->how);
		t = next;
	}
	*ret = t;
	return 0;
}

static int read_value(struct toml_reader *r, unsigned depth, value **ret);

/* key = value, into a table. */
static int read_pair(struct toml_reader *r, struct slot *table)
{
	struct slot *parent = NULL, *old;
	value *v;
	str last;
	int e = read_key(r);

	if (e < 0)
		return e;
	if (!toml_take(&r->s, '='))
		return toml_expected(&r->s, "'=' after the key");
	toml_skip_blanks(&r->s);
	e = walk_dots(r, table, &r->key, &parent);
	if (e < 0)
		return e;
	last = r->key.parts[r->key.n - 1];
	old = child(r, parent, last);
	if (old)
		return clash(r, &r->key, r->key.n - 1, old->how);
	e = read_value(r, parent->depth + 1, &v);
	if (e < 0)
		return e;
	toml_add(r, parent, last, v, closed_slot(v));
	return 0;
}

static int read_inline_table(struct toml_reader *r, unsigned depth, value **ret)
{
	struct toml_scan *s = &r->s;
	struct slot *table = new_slot(r, BY_INLINE, depth, value_object(s->arena));

	s->at++;
	toml_skip_blanks(s);
	if (!toml_take(s, '}')) {
		for (;;) {
			int e = read_pair(r, table);

			if (e < 0)
				return e;
			toml_skip_blanks(s);
			if (toml_take(s, '}'))
				break;
			if (!toml_take(s, ','))
				return toml_expected(s, "',' or '}' in the inline table");
			toml_skip_blanks(s);
		}
	}
	*ret = table->v;
	return 0;
}

static int read_array(struct toml_reader *r, unsigned depth, value **ret)
{
	struct toml_scan *s = &r->s;
	value *array = value_array(s->arena), *item;
	bool comma = true;
	int e;

	s->at++;
	for (;;) {
		e = toml_skip_lines(s);
		if (e < 0)
			return e;
		if (toml_take(s, ']'))
			break;
		if (!comma)
			return toml_expected(s, "',' or ']' in the array");
		e = read_value(r, depth + 1, &item);
		if (e < 0)
			return e;
		value_push(s->arena, array, item);
		e = toml_skip_lines(s);
		if (e < 0)
			return e;
		comma = toml_take(s, ',');
	}
	*ret = array;
	return 0;
}

/* `depth` is the depth that a table or array here would have. */
static int read_value(struct toml_reader *r, unsigned depth, value **ret)
{
	struct toml_scan *s = &r->s;
	int e, c = toml_peek(s, 0);
	str text;

	if (c == '"' || c == '\'') {
		e = toml_string(s, false, &text);
		if (e == 0)
			*ret = value_str(s->arena, text);
		return e;
	}
	if (c != '[' && c != '{')
		return toml_word(s, ret);
	if (depth > MAX_DEPTH)
		return too_deep(r, s->at);
	return c == '[' ? read_array(r, depth, ret) : read_inline_table(r, depth, ret);
}

/* Along all but the last part of a header's key. */
static int walk_header(struct toml_reader *r, const struct key *k, struct slot *t,
		struct slot **ret)
{
	for (size_t i = 0; i + 1 < k->n; i++) {
		struct slot *next = child(r, t, k->parts[i]);

		if (!next) {
			int e = add_table(r, t, k, i, BY_PATH, &next);

			if (e < 0)
				return e;
		}
		if (next->how == BY_HEADERS)
			next = next->newest;
		if (next->how == BY_INLINE || next->how == BY_ARRAY || next->how == BY_SCALAR)
			return clash(r, k, i, next->how);
		t = next;
	}
	*ret = t;
	return 0;
}

/* [a.b] */
static int open_table(struct toml_reader *r, struct slot *parent, const struct key *k)
{
	struct slot *t = child(r, parent, k->parts[k->n - 1]);

	if (!t) {
		int e = add_table(r, parent, k, k->n - 1, BY_HEADER, &t);

		if (e < 0)
			return e;
	} else if (t->how == BY_PATH || (r->parts && t->how == BY_DOTS)) {
		t->how = BY_HEADER;
	} else if (!(r->parts && t->how == BY_HEADER)) {
		return clash(r, k, k->n - 1, t->how);
	}
	r->section = t;
	return 0;
}

/* [[a.b]] */
static int open_element(struct toml_reader *r, struct slot *parent, const struct key *k)
{
	str last = k->parts[k->n - 1];
	struct slot *list = child(r, parent, last);

	if (list && list->how != BY_HEADERS)
		return clash(r, k, k->n - 1, list->how);
	if (parent->depth + 2 > MAX_DEPTH)
		return too_deep(r, k->at[k->n - 1]);
	if (!list) {
		list = new_slot(r, BY_HEADERS, parent->depth + 1, value_array(r->s.arena));
		toml_add(r, parent, last, list->v, list);
	}
	list->newest = new_slot(r, BY_HEADER, list->depth + 1, value_object(r->s.arena));
	value_push(r->s.arena, list->v, list->newest->v);
	r->section = list->newest;
	return 0;
}

static int read_header(struct toml_reader *r, struct slot *root)
{
	struct toml_scan *s = &r->s;
	struct key *k = &r->key;
	struct slot *parent = NULL;
	bool element;
	int e;

	s->at++;
	element = toml_take(s, '[');
	toml_skip_blanks(s);
	e = read_key(r);
	if (e < 0)
		return e;
	if (!toml_take(s, ']') || (element && !toml_take(s, ']')))
		return toml_expected(s, element ? "']]' after the key" : "']' after the key");
	e = walk_header(r, k, root, &parent);
	if (e < 0)
		return e;
	return element ? open_element(r, parent, k) : open_table(r, parent, k);
}

static int read_document(struct toml_reader *r, struct slot *root)
{
	struct toml_scan *s = &r->s;
	int e;

	r->section = root;
	for (;;) {
		e = toml_skip_lines(s);
		if (e < 0)
			return e;
		if (toml_peek(s, 0) < 0)
			return 0;
		e = toml_peek(s, 0) == '[' ? read_header(r, root) : read_pair(r, r->section);
		if (e < 0)
			return e;
		e = toml_skip_rest(s);
		if (e < 0)
			return e;
		if (toml_peek(s, 0) >= 0 && !toml_take_newline(s))
			return toml_expected(s, "the end of the line");
	}
}

static int toml_check_text(const struct toml_scan *s)
{
	str rest = s->text;
	size_t at;

	if (s->text.n > MAX_BYTES)
		return ov_fail(s->err, OV_ELIMIT, "%zu bytes of TOML, the maximum is %d", s->text.n,
				MAX_BYTES);
	if (str_starts(s->text, STR("\xef\xbb\xbf")))
		return toml_fail(s, 0, OV_EINVALID,
				"the text starts with a byte order mark; save it as plain UTF-8");
	if (utf8_valid(s->text))
		return 0;
	do
		at = (size_t)(rest.p - s->text.p);
	while (utf8_next(&rest) >= 0);
	return toml_fail(s, at, OV_EINVALID, "byte 0x%02x is not valid UTF-8",
			(unsigned char)s->text.p[at]);
}

static int parse(struct arena *a, str text, bool parts, value **ret, struct ov_err *err)
{
	struct toml_reader r = { .s = { .arena = a, .text = text, .err = err }, .parts = parts };
	struct slot *root;
	int e = toml_check_text(&r.s);

	if (e < 0)
		return e;
	map_init(&r.index, (uintptr_t)&r);
	root = new_slot(&r, BY_HEADER, 1, value_object(a));
	e = read_document(&r, root);
	if (e == 0)
		*ret = root->v;
	map_done(&r.index);
	arena_done(&r.scratch);
	buf_done(&r.name);
	buf_done(&r.s.scratch);
	return e;
}

int toml_parse(struct arena *a, str text, value **ret, struct ov_err *err)
{
	return parse(a, text, false, ret, err);
}

int toml_parse_parts(struct arena *a, str text, value **ret, struct ov_err *err)
{
	return parse(a, text, true, ret, err);
}
