#include "data/value/json.h"

#include <endian.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "base/vec.h"
#include "data/value/json_number_impl.h"

/*
 * The text is copied into the arena once, with zero bytes behind it. Strings are unescaped in
 * place and point into the copy, so there is no allocation per string; the zeros end every scan, so
 * there is no bounds check per byte. Open containers are kept on explicit stacks: depth costs no
 * call stack, and the stacks are the path for error messages.
 */
enum { DEFAULT_BYTES = 64 << 20, DEFAULT_DEPTH = 128, PADDING = 8 };

/* Members are hashed from here on to find duplicates; below, comparing is faster. */
enum { HASHED_MEMBERS = 32 };

enum json_stage { AT_VALUE, AT_KEY, AFTER_VALUE };

struct frame {
	size_t first; /* of this container's elements, on the stack of elements */
	bool object;
};

struct json_reader {
	struct arena *arena;
	char *base, *p, *end;
	size_t max_depth;
	enum json_stage stage;
	VEC(struct frame) frames;
	VEC(struct member) elements; /* of all open containers; keys only in objects */
	value *slab;
	size_t slab_left, slab_size;
	struct ov_err *err;
};

/* ---- errors ---- */

static bool is_plain_key(str key)
{
	if (key.n == 0 || key.n > 64)
		return false;
	for (size_t i = 0; i < key.n; i++) {
		char c = key.p[i];

		if (!((c | 32) >= 'a' && (c | 32) <= 'z') && !(c >= '0' && c <= '9') && c != '_' &&
				c != '-')
			return false;
	}
	return true;
}

static void add_key(struct buf *out, str key)
{
	if (is_plain_key(key)) {
		if (out->n)
			buf_addc(out, '.');
		buf_adds(out, key);
		return;
	}
	buf_addc(out, '[');
	json_write_string(out, utf8_truncate(key, 64));
	buf_addc(out, ']');
}

/* "phases[1].name": where the reader is, or was last. */
static void add_path(struct buf *out, const struct json_reader *r)
{
	for (size_t i = 0; i < r->frames.n; i++) {
		const struct frame *f = &r->frames.p[i];
		bool innermost = i + 1 == r->frames.n;
		size_t next = innermost ? r->elements.n : f[1].first;

		if (f->object) {
			if (next > f->first && !(innermost && r->stage == AT_KEY))
				add_key(out, r->elements.p[next - 1].key);
		} else {
			buf_addf(out, "[%zu]",
					next - f->first - (innermost && r->stage == AFTER_VALUE));
		}
	}
}

/* Fails at `at` with "path: what at byte N"; a long path keeps its end, which says most. */
static int fail(struct json_reader *r, const char *at, int code, const char *what)
{
	_cleanup_(buf_done) struct buf path = BUF_INIT;
	size_t skip = 0;

	if (!r->err)
		return code;
	add_path(&path, r);
	if (path.n > 400)
		skip = path.n - 400;
	while (skip && skip < path.n && (path.p[skip] & 0xc0) == 0x80)
		skip++;
	return ov_fail(r->err, code, "%s%s%s%s at byte %zu", skip ? "..." : "",
			buf_cstr(&path) + skip, path.n ? ": " : "", what, (size_t)(at - r->base));
}

/* As fail, but says so when the reason is that the text ended too soon. */
static int unexpected(struct json_reader *r, const char *what)
{
	return fail(r, r->p, OV_EINVALID, r->p >= r->end ? "unexpected end of the text" : what);
}

/* ---- values ---- */

/* Values come from slabs: one call into the arena for many, and no padding between them. */
static value *new_value(struct json_reader *r, enum value_kind kind)
{
	value *v;

	if (r->slab_left == 0) {
		r->slab_size = MIN(r->slab_size ? r->slab_size * 2 : 4, (size_t)128);
		r->slab_left = r->slab_size;
		r->slab = arena_alloc(r->arena, r->slab_size * sizeof(value));
	}
	v = r->slab++;
	r->slab_left--;
	v->kind = kind;
	v->cap = 0;
	return v;
}

static inline void skip_space(struct json_reader *r)
{
	while (*r->p == ' ' || *r->p == '\n' || *r->p == '\r' || *r->p == '\t')
		r->p++;
}

static int read_literal(struct json_reader *r, value **ret)
{
	static const struct {
		char text[8];
		size_t n;
		enum value_kind kind;
	} literals[] = { { "true", 4, V_BOOL }, { "false", 5, V_BOOL }, { "null", 4, V_NULL } };

	for (size_t i = 0; i < ARRAY_LEN(literals); i++) {
		if (strncmp(r->p, literals[i].text, literals[i].n) != 0)
			continue;
		*ret = new_value(r, literals[i].kind);
		(*ret)->b = i == 0;
		r->p += literals[i].n;
		return 0;
	}
	return unexpected(r, "expected a value");
}

/* ---- strings ---- */

/* The first byte that is a quote, a backslash, a control character or not ASCII. */
static inline char *skip_plain(char *p)
{
	const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;

	for (;; p += 8) {
		uint64_t w, quote, slash, found;

		memcpy(&w, p, 8);
		w = le64toh(w);
		quote = w ^ ones * '"';
		slash = w ^ ones * '\\';
		/*
		 * The lowest flag is always true; a borrow can only spoil flags above a true one.
		 */
		found = (((w - ones * 0x20) | (quote - ones) | (slash - ones)) & ~w & tops) |
				(w & tops);
		if (found)
			return p + __builtin_ctzll(found) / 8;
	}
}

static int hex4(const char *p)
{
	int v = 0;

	for (int i = 0; i < 4; i++) {
		char c = p[i];

		if (c >= '0' && c <= '9')
			v = v << 4 | (c - '0');
		else if ((c | 32) >= 'a' && (c | 32) <= 'f')
			v = v << 4 | ((c | 32) - 'a' + 10);
		else
			return -1;
	}
	return v;
}

/* r->p is behind "\u"; writes the character to *out and moves both on. */
static int unescape_unicode(struct json_reader *r, char **out)
{
	int c = hex4(r->p), low;

	if (c < 0)
		return unexpected(r, "expected four hexadecimal digits");
	if (c >= 0xd800 && c < 0xe000) {
		low = c < 0xdc00 && r->p[4] == '\\' && r->p[5] == 'u' ? hex4(r->p + 6) : -1;
		if (low < 0xdc00 || low > 0xdfff)
			return fail(r, r->p - 2, OV_EINVALID, "half of a surrogate pair");
		c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
		r->p += 6;
	}
	r->p += 4;
	*out += utf8_encode((uint32_t)c, *out);
	return 0;
}

/* r->p is behind a backslash. */
static int unescape(struct json_reader *r, char **out)
{
	char c = *r->p++;

	switch (c) {
	case '"':
	case '\\':
	case '/': break;
	case 'b': c = '\b'; break;
	case 'f': c = '\f'; break;
	case 'n': c = '\n'; break;
	case 'r': c = '\r'; break;
	case 't': c = '\t'; break;
	case 'u': return unescape_unicode(r, out);
	default: r->p--; return unexpected(r, "unknown escape in a string");
	}
	*(*out)++ = c;
	return 0;
}

/* r->p is behind the opening quote. The closing one becomes a NUL, for the sake of system calls. */
static int read_string(struct json_reader *r, str *ret)
{
	char *start = r->p, *out = start;
	int code;

	for (;;) {
		char *run = r->p, *p = skip_plain(run);
		size_t n;

		while ((unsigned char)*p >= 0x80) {
			n = utf8_len((str){ p, (size_t)(r->end - p) });
			if (n == 0)
				return fail(r, p, OV_EINVALID, "invalid UTF-8 in a string");
			p = skip_plain(p + n);
		}
		n = (size_t)(p - run);
		if (out != run && n)
			memmove(out, run, n);
		out += n;
		r->p = p + 1;
		if (*p == '"')
			break;
		if (*p != '\\') {
			r->p = p;
			return unexpected(r, "control character in a string");
		}
		code = unescape(r, &out);
		if (code < 0)
			return code;
	}
	*out = '\0';
	*ret = (str){ start, (size_t)(out - start) };
	return 0;
}

/* ---- numbers ---- */

static int read_number(struct json_reader *r, value **ret)
{
	struct json_number n = { 0 };
	const char *end, *wrong = json_read_number(r->p, &n, &end);

	if (wrong == json_out_of_range)
		return fail(r, r->p, OV_EINVALID, wrong);
	r->p += end - r->p;
	if (wrong)
		return unexpected(r, wrong);
	*ret = new_value(r, n.real ? V_REAL : V_INT);
	if (n.real)
		(*ret)->r = n.r;
	else
		(*ret)->i = n.i;
	return 0;
}

/* ---- containers ---- */

static int key_order(const void *a, const void *b)
{
	const struct member *const *x = a, *const *y = b;
	int order = str_cmp((*x)->key, (*y)->key);

	/* Equal keys by place in the text, so that the second one is blamed. */
	return order ? order : ((*x)->key.p > (*y)->key.p) - ((*x)->key.p < (*y)->key.p);
}

static const struct member *duplicate_by_sorting(const struct member *m, size_t n)
{
	const struct member **sorted = mem_alloc(arena_size_mul(n, sizeof(*sorted)));
	const struct member *found = NULL;

	for (size_t i = 0; i < n; i++)
		sorted[i] = &m[i];
	qsort(sorted, n, sizeof(*sorted), key_order);
	for (size_t i = 1; i < n && !found; i++)
		if (str_eq(sorted[i - 1]->key, sorted[i]->key))
			found = sorted[i];
	mem_free(sorted);
	return found;
}

/*
 * Hashing is fast unless keys were crafted to collide: the probes are counted, and past a few per
 * key sorting takes over, whose worst case is harmless.
 */
static const struct member *duplicate_by_hashing(const struct member *m, size_t n)
{
	size_t mask = 64, probes = 8 * n;
	const struct member *found = NULL;
	uint32_t *slots;

	while (mask < 2 * n)
		mask *= 2;
	slots = mem_zalloc(mask, sizeof(*slots));
	mask--;
	for (size_t i = 0; i < n && !found && probes; i++) {
		size_t at = str_hash(m[i].key, n) & mask;

		for (; slots[at] && probes; at = (at + 1) & mask, probes--)
			if (str_eq(m[slots[at] - 1].key, m[i].key)) {
				found = &m[i];
				break;
			}
		slots[at] = (uint32_t)i + 1;
	}
	mem_free(slots);
	return found || probes ? found : duplicate_by_sorting(m, n);
}

static const struct member *find_duplicate(const struct member *m, size_t n)
{
	uint64_t seen = 0;

	if (n > HASHED_MEMBERS)
		return duplicate_by_hashing(m, n);
	for (size_t i = 0; i < n; i++) {
		str k = m[i].key;
		/* A mark that equal keys share: mostly it is new, and nothing needs comparing. */
		unsigned mark = k.n ? (unsigned)k.n * 7 + (unsigned char)k.p[0] * 3 +
						(unsigned char)k.p[k.n - 1]
				    : 0;
		uint64_t bit = (uint64_t)1 << (mark & 63);

		for (size_t j = 0; (seen & bit) && j < i; j++)
			if (str_eq(m[j].key, k))
				return &m[i];
		seen |= bit;
	}
	return NULL;
}

static int open_container(struct json_reader *r)
{
	struct frame f = { .first = r->elements.n, .object = *r->p == '{' };

	if (r->frames.n == r->max_depth)
		return fail(r, r->p, OV_ELIMIT, "nested too deeply");
	vec_push(&r->frames, f);
	r->p++;
	return 0;
}

/* Moves the elements of the innermost container into the arena. */
static int close_container(struct json_reader *r, value **ret)
{
	struct frame f = vec_last(&r->frames);
	size_t n = r->elements.n - f.first;
	const struct member *m = n ? r->elements.p + f.first : NULL, *twice;
	value *v = new_value(r, f.object ? V_OBJECT : V_ARRAY);

	v->cap = (uint32_t)n;
	if (f.object) {
		twice = n > 1 ? find_duplicate(m, n) : NULL;
		if (twice) {
			r->elements.n = (size_t)(twice - r->elements.p) + 1;
			return fail(r, twice->key.p - 1, OV_EINVALID, "duplicate key");
		}
		v->object.n = n;
		v->object.members = n ? arena_alloc(r->arena, n * sizeof(*m)) : NULL;
		if (n)
			memcpy(v->object.members, m, n * sizeof(*m));
	} else {
		v->array.n = n;
		v->array.items = n ? arena_alloc(r->arena, n * sizeof(value *)) : NULL;
		for (size_t i = 0; i < n; i++)
			v->array.items[i] = m[i].value;
	}
	r->elements.n = f.first;
	r->frames.n--;
	r->p++;
	*ret = v;
	return 0;
}

/* A key with its colon, in an object; nothing in an array. */
static int read_key(struct json_reader *r)
{
	struct member m = { 0 };
	int code;

	if (!vec_last(&r->frames).object)
		return 0;
	r->stage = AT_KEY;
	skip_space(r);
	if (*r->p != '"')
		return unexpected(r, "expected a key in quotes");
	r->p++;
	code = read_string(r, &m.key);
	if (code < 0)
		return code;
	r->stage = AT_VALUE;
	vec_push(&r->elements, m);
	skip_space(r);
	if (*r->p != ':')
		return unexpected(r, "expected ':'");
	r->p++;
	return 0;
}

/* ---- the document ---- */

static int read_scalar(struct json_reader *r, value **ret)
{
	str s;
	int code;

	if ((*r->p >= '0' && *r->p <= '9') || *r->p == '-')
		return read_number(r, ret);
	if (*r->p != '"')
		return read_literal(r, ret);
	r->p++;
	code = read_string(r, &s);
	if (code < 0)
		return code;
	*ret = new_value(r, V_STR);
	(*ret)->s = s;
	return 0;
}

/*
 * Puts a finished value into its container and reads on to where the next value starts. Containers
 * that end here are values of their own, put in turn. *ret_done says that the document is whole.
 */
static int attach(struct json_reader *r, value *v, bool *ret_done, value **ret)
{
	while (r->frames.n) {
		struct frame f = vec_last(&r->frames);
		int code;

		if (f.object)
			vec_last(&r->elements).value = v;
		else
			vec_push(&r->elements, ((struct member){ .value = v }));
		r->stage = AFTER_VALUE;
		skip_space(r);
		if (*r->p == ',') {
			r->p++;
			r->stage = AT_VALUE;
			return read_key(r);
		}
		if (*r->p != (f.object ? '}' : ']'))
			return unexpected(r,
					f.object ? "expected ',' or '}'" : "expected ',' or ']'");
		code = close_container(r, &v);
		if (code < 0)
			return code;
	}
	*ret_done = true;
	*ret = v;
	return 0;
}

static int read_document(struct json_reader *r, value **ret)
{
	bool done = false;
	int code = 0;

	while (!done && code == 0) {
		value *v = NULL;

		skip_space(r);
		if (*r->p == '{' || *r->p == '[') {
			code = open_container(r);
			if (code < 0)
				return code;
			skip_space(r);
			if (*r->p != (vec_last(&r->frames).object ? '}' : ']')) {
				code = read_key(r);
				continue;
			}
			code = close_container(r, &v);
		} else {
			code = read_scalar(r, &v);
		}
		if (code == 0)
			code = attach(r, v, &done, ret);
	}
	if (code < 0)
		return code;
	skip_space(r);
	return r->p == r->end ? 0
			      : fail(r, r->p, OV_EINVALID, "unexpected text after the document");
}

int json_parse(struct arena *a, str text, const struct json_limits *limits, value **ret,
		struct ov_err *err)
{
	size_t most = limits && limits->max_bytes ? limits->max_bytes : DEFAULT_BYTES;
	struct json_reader r = {
		.arena = a,
		.max_depth = limits && limits->max_depth ? limits->max_depth : DEFAULT_DEPTH,
		.err = err,
	};
	value *v = NULL;
	int code;

	most = MIN(most, (size_t)UINT32_MAX); /* what value.cap can count */
	if (text.n > most)
		return ov_fail(err, OV_ELIMIT, "document of %zu bytes, the limit is %zu", text.n,
				most);
	r.base = r.p = arena_alloc(a, text.n + PADDING);
	r.end = r.base + text.n;
	if (text.n)
		memcpy(r.base, text.p, text.n);
	memset(r.end, 0, PADDING);
	code = read_document(&r, &v);
	vec_done(&r.frames);
	vec_done(&r.elements);
	if (code < 0)
		return code;
	*ret = v;
	return 0;
}
