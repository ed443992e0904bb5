#include "core/text/redact.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "core/text/redact_impl.h"

static const struct redact_kind kinds[SECRET_COUNT] = {
#define ROW(sym, name, where) [sym] = { name, where },
	SECRETS(ROW)
#undef ROW
};

const struct redact_kind *redact_kinds(size_t *ret_n)
{
	*ret_n = ARRAY_LEN(kinds);
	return kinds;
}

/*
 * What a byte may be the sign of. Most bytes of a text are the sign of nothing, or a letter inside
 * a word; the rest of the work is done for the others only.
 */
enum {
	SIGN_WORD = 1,  /* first letter of a known prefix */
	SIGN_NAME = 2,  /* : or =, between a name and its value */
	SIGN_DASH = 4,  /* -, of a PEM header */
	SIGN_NETRC = 8, /* first letter of machine or default */
	SIGN_PHONE = 16,
};

static const unsigned char signs[256] = {
	['('] = SIGN_PHONE,
	['+'] = SIGN_PHONE,
	['-'] = SIGN_DASH,
	['0'] = SIGN_PHONE,
	['1'] = SIGN_PHONE,
	['2'] = SIGN_PHONE,
	['3'] = SIGN_PHONE,
	['4'] = SIGN_PHONE,
	['5'] = SIGN_PHONE,
	['6'] = SIGN_PHONE,
	['7'] = SIGN_PHONE,
	['8'] = SIGN_PHONE,
	['9'] = SIGN_PHONE,
	[':'] = SIGN_NAME,
	['='] = SIGN_NAME,
	['A'] = SIGN_WORD,
	['B'] = SIGN_WORD,
	['S'] = SIGN_WORD,
	['b'] = SIGN_WORD,
	['d'] = SIGN_WORD | SIGN_NETRC,
	['e'] = SIGN_WORD,
	['f'] = SIGN_WORD,
	['g'] = SIGN_WORD,
	['h'] = SIGN_WORD,
	['m'] = SIGN_NETRC,
	['n'] = SIGN_WORD,
	['p'] = SIGN_WORD,
	['r'] = SIGN_WORD,
	['s'] = SIGN_WORD | SIGN_PHONE,
	['t'] = SIGN_PHONE,
	['w'] = SIGN_PHONE,
	['x'] = SIGN_WORD,
};

static bool secret_at(struct redact_scan *r, size_t at, struct secret_span *ret)
{
	unsigned sign = signs[(unsigned char)r->s.p[at]];
	bool begins = at == 0 || !byte_in(r->s.p[at - 1], C_WORD);

	if (!sign)
		return false;
	if (r->phones && (sign & SIGN_PHONE) && begins && secret_phone(r, at, ret))
		return true;
	if (sign & SIGN_NAME)
		return secret_in_url(r, at, ret) || secret_by_name(r, at, ret);
	if (sign & SIGN_DASH)
		return secret_in_pem(r, at, ret);
	if (!begins)
		return false;
	return ((sign & SIGN_WORD) && secret_by_prefix(r, at, ret)) ||
			((sign & SIGN_NETRC) && secret_in_netrc(r, at, ret));
}

/* The next secret from `at` on. */
static bool secret_next(struct redact_scan *r, size_t at, struct secret_span *ret)
{
	for (; at < r->s.n; at++)
		if (secret_at(r, at, ret))
			return true;
	return false;
}

/* One pass; false, and nothing written, when there is nothing to hide. */
static bool redact_pass(str s, bool phones, struct buf *out)
{
	struct redact_scan r = { .s = s, .phones = phones };
	struct secret_span span;

	if (!secret_next(&r, 0, &span))
		return false;
	do {
		assert(span.from >= r.begin && span.to > span.from && span.to <= s.n);
		buf_adds(out, str_sub(s, r.begin, span.from - r.begin));
		buf_addf(out, "[redacted: %s]", kinds[span.kind].name);
		r.begin = span.to;
	} while (secret_next(&r, r.begin, &span));
	buf_adds(out, str_sub(s, r.begin, s.n - r.begin));
	return true;
}

/*
 * What is hidden may have kept others apart (the lines of a key, between a header and its value),
 * so it is looked at again until nothing changes. Every pass turns more of the text into marks,
 * which are never hidden themselves: it ends.
 */
static str redact_with(struct arena *a, str s, bool phones)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	str done = s;

	while (redact_pass(done, phones, &out)) {
		done = arena_str(a, buf_str(&out));
		buf_clear(&out);
	}
	return done;
}

str redact(struct arena *a, str s)
{
	return redact_with(a, s, false);
}

str redact_delivery(struct arena *a, str s)
{
	return redact_with(a, s, true);
}

const struct redact_kind *redact_first_kind(str s)
{
	struct redact_scan r = { .s = s };
	struct secret_span span;

	return secret_next(&r, 0, &span) ? &kinds[span.kind] : NULL;
}

static value *redact_tree(struct arena *a, value *v, bool delivery);

/* The first change copies the list of items, so that whoever shares it keeps the old one. */
static value *redact_array(struct arena *a, value *v, bool delivery)
{
	value *copy = NULL;

	for (size_t i = 0; i < v->array.n; i++) {
		value *item = redact_tree(a, v->array.items[i], delivery);

		if (item == v->array.items[i])
			continue;
		if (!copy) {
			copy = value_array(a);
			for (size_t k = 0; k < v->array.n; k++)
				value_push(a, copy, v->array.items[k]);
		}
		copy->array.items[i] = item;
	}
	return copy ? copy : v;
}

/* Does what stands below this key say where something is to be delivered? */
static bool is_delivery(str key)
{
	return str_contains(key, STR("elivery")) || str_is(key, "origin_context");
}

static value *redact_object(struct arena *a, value *v, bool delivery)
{
	value *copy = NULL;

	for (size_t i = 0; i < v->object.n; i++) {
		const struct member *m = &v->object.members[i];
		bool here = delivery || is_delivery(m->key);
		value *item = redact_tree(a, m->value, here);

		if (item == m->value)
			continue;
		if (!copy) {
			copy = value_object(a);
			for (size_t k = 0; k < v->object.n; k++)
				value_append_member(a, copy, v->object.members[k].key,
						v->object.members[k].value);
		}
		copy->object.members[i].value = item;
	}
	return copy ? copy : v;
}

static value *redact_tree(struct arena *a, value *v, bool delivery)
{
	str s;

	switch (v->kind) {
	case V_ARRAY: return redact_array(a, v, delivery);
	case V_OBJECT: return redact_object(a, v, delivery);
	case V_STR: s = redact_with(a, v->s, delivery); return s.p == v->s.p ? v : value_str(a, s);
	default: return v;
	}
}

value *redact_value(struct arena *a, value *v)
{
	return redact_tree(a, v, false);
}
