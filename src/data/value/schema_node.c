#include "data/value/schema_impl.h"

#include "base/err.h"
#include "base/utf8.h"
#include "data/value/json.h"

static bool is_plain(str key)
{
	for (size_t i = 0; i < key.n; i++) {
		unsigned char ch = (unsigned char)key.p[i];

		if (ch <= ' ' || ch == '.' || ch == '[' || ch == ']' || ch == '"' || ch == 0x7f)
			return false;
	}
	return key.n > 0;
}

static void add_path(struct buf *out, const struct schema_path *path)
{
	str shown;

	if (!path->up)
		return;
	add_path(out, path->up);
	if (!path->key.p) {
		buf_addf(out, "[%zu]", path->index);
		return;
	}
	shown = utf8_truncate(path->key, 64);
	if (!is_plain(shown)) {
		buf_addc(out, '[');
		json_write_string(out, shown);
		buf_addc(out, ']');
		return;
	}
	buf_addf(out, "%s" STR_FMT, out->n ? "." : "", STR_ARG(shown));
}

struct buf schema_path_text(const struct schema_path *path)
{
	struct buf out = BUF_INIT;

	add_path(&out, path);
	if (out.n)
		buf_adds(&out, STR(": "));
	return out;
}

struct buf schema_types_text(unsigned types)
{
	struct buf out = BUF_INIT;

	for (unsigned i = 0; i < SCHEMA_TYPES; i++)
		if (types & (1u << i))
			buf_addf(&out, "%s%s", out.n ? " or " : "", schema_type_names[i]);
	return out;
}

static int measure(struct schema *s, unsigned depth, struct ov_err *err);

static int measure_child(struct schema *s, struct schema *child, unsigned depth, struct ov_err *err)
{
	int r;

	if (!child)
		return 0;
	r = measure(child, depth + 1, err);
	if (r == 0)
		s->chain = MAX(s->chain, child->chain + 1);
	return r;
}

static int measure_list(struct schema *s, const struct schema_list *list, unsigned depth,
		struct ov_err *err)
{
	int r = 0;

	for (size_t i = 0; i < list->n && r == 0; i++)
		r = measure_child(s, list->p[i], depth, err);
	return r;
}

static int measure_children(struct schema *s, unsigned depth, struct ov_err *err)
{
	int r = measure_child(s, s->ref, depth, err);

	if (r == 0)
		r = measure_child(s, s->not_, depth, err);
	if (r == 0)
		r = measure_list(s, &s->all_of, depth, err);
	if (r == 0)
		r = measure_list(s, &s->any_of, depth, err);
	if (r == 0)
		r = measure_list(s, &s->one_of, depth, err);
	for (size_t i = 0; i < s->n_dependencies && r == 0; i++)
		r = measure_child(s, s->dependencies[i].schema, depth, err);
	return r;
}

static int measure(struct schema *s, unsigned depth, struct ov_err *err)
{
	int r;

	if (s->visiting)
		return ov_fail(err, OV_EINVALID,
				"schema: a $ref leads back to itself without descending into the "
				"value");
	if (s->chain == 0 && depth <= SCHEMA_MAX_CHAIN) {
		s->visiting = true;
		s->chain = 1;
		r = measure_children(s, depth, err);
		s->visiting = false;
		if (r < 0)
			return r;
	}
	if (depth > SCHEMA_MAX_CHAIN || s->chain > SCHEMA_MAX_CHAIN)
		return ov_fail(err, OV_EINVALID,
				"schema: more than %d schemas apply to one value, one through the "
				"other",
				SCHEMA_MAX_CHAIN);
	return 0;
}

int schema_measure_chains(struct schema *const *nodes, size_t n, struct ov_err *err)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = measure(nodes[i], 1, err);
	return r;
}
