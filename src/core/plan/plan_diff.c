#include "core/plan/plan_diff.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/plan/plan_members.h"

struct entry {
	str id, parent;
	enum node_tier tier;
	const value *doc;
};

/* The nodes of one document, and by id. */
struct side {
	VEC(struct entry) list;
	struct map by_id; /* to the index plus 1 */
};

static void plan_diff_collect(struct side *s, const value *doc, int tier, str parent)
{
	const value *list = plan_children(doc, tier);

	for (size_t i = 0; i < value_count(list); i++) {
		const value *node = value_item(list, i);
		struct entry e = { plan_id(node), parent, (enum node_tier)(tier + 1), node };

		if (e.id.n == 0 || map_get(&s->by_id, e.id))
			continue;
		vec_push(&s->list, e);
		map_put(&s->by_id, e.id, (void *)(intptr_t)s->list.n);
		plan_diff_collect(s, node, tier + 1, e.id);
	}
}

static void side_init(struct side *s, const value *doc)
{
	*s = (struct side){ 0 };
	map_init(&s->by_id, 0);
	plan_diff_collect(s, doc, -1, STR(""));
}

static void side_done(struct side *s)
{
	vec_done(&s->list);
	map_done(&s->by_id);
}

static const struct entry *side_find(const struct side *s, str id)
{
	size_t i = (size_t)(intptr_t)map_get(&s->by_id, id);

	return i ? &s->list.p[i - 1] : NULL;
}

static bool member_equal(const value *a, const value *b)
{
	if (plan_member_empty(a) || plan_member_empty(b))
		return plan_member_empty(a) && plan_member_empty(b);
	return value_equal(a, b);
}

/* The members in which the two differ; room for all of them is made only where one does. */
static void compare(struct arena *a, const struct entry *x, const struct entry *y,
		struct plan_change *c)
{
	struct plan_difference found[32];
	size_t n = 0;

	assert(plan_members_n + 2 <= ARRAY_LEN(found));
	if (!str_eq(x->parent, y->parent))
		found[n++] = (struct plan_difference){ "parent", value_str(a, x->parent),
			value_str(a, y->parent) };
	if (x->tier != y->tier)
		found[n++] = (struct plan_difference){ "tier",
			value_cstr(a, status_name(&node_tiers, (int)x->tier)),
			value_cstr(a, status_name(&node_tiers, (int)y->tier)) };
	for (size_t i = 0; i < plan_members_n; i++) {
		const value *from = value_at(x->doc, plan_members[i].key),
			    *to = value_at(y->doc, plan_members[i].key);

		if (!member_equal(from, to))
			found[n++] = (struct plan_difference){ plan_members[i].key, from, to };
	}
	if (n) {
		struct plan_difference *kept = arena_array(a, struct plan_difference, n);

		memcpy(kept, found, n * sizeof(*kept));
		c->differences = kept;
	}
	c->differences_n = n;
	c->kind = n ? PLAN_CHANGED : PLAN_KEPT;
}

static struct plan_change change_of(enum plan_change_kind kind, const struct entry *e)
{
	return (struct plan_change){ .kind = kind,
		.id = e->id,
		.parent = e->parent,
		.tier = e->tier,
		.doc = e->doc };
}

struct plan_diff plan_diff(struct arena *a, const value *before, const value *after)
{
	struct plan_diff d = { 0 };
	struct side x, y;

	side_init(&x, before);
	side_init(&y, after);
	d.p = arena_array(a, struct plan_change, x.list.n + y.list.n + 1);
	for (size_t i = 0; i < y.list.n; i++) {
		const struct entry *old = side_find(&x, y.list.p[i].id);

		d.p[d.n] = change_of(PLAN_ADDED, &y.list.p[i]);
		if (old)
			compare(a, old, &y.list.p[i], &d.p[d.n]);
		d.n++;
	}
	for (size_t i = 0; i < x.list.n; i++)
		if (!side_find(&y, x.list.p[i].id))
			d.p[d.n++] = change_of(PLAN_REMOVED, &x.list.p[i]);
	d.was_sequential = plan_is_sequential(before);
	d.is_sequential = plan_is_sequential(after);
	for (size_t i = 0; i < d.n; i++)
		d.counts[d.p[i].kind]++;
	side_done(&x);
	side_done(&y);
	return d;
}

value *plan_diff_ids(struct arena *a, const struct plan_diff *d, enum plan_change_kind kind)
{
	value *list = value_array(a);

	for (size_t i = 0; i < d->n; i++)
		if (d->p[i].kind == kind)
			value_push(a, list, value_str(a, d->p[i].id));
	return list;
}

static value *copy_or_null(struct arena *a, const value *v)
{
	return v ? value_copy(a, v) : value_null(a);
}

static value *change_view(struct arena *a, const struct plan_change *c)
{
	value *v = value_object(a), *list = value_array(a);

	value_put(a, v, "id", value_str(a, c->id));
	value_put(a, v, "tier", value_cstr(a, status_name(&node_tiers, (int)c->tier)));
	value_put(a, v, "name", value_str(a, value_str_at(c->doc, "name")));
	value_put(a, v, "parent", c->parent.n ? value_str(a, c->parent) : value_null(a));
	for (size_t i = 0; i < c->differences_n; i++) {
		value *x = value_object(a);

		value_put(a, x, "key", value_cstr(a, c->differences[i].key));
		value_put(a, x, "from", copy_or_null(a, c->differences[i].from));
		value_put(a, x, "to", copy_or_null(a, c->differences[i].to));
		value_push(a, list, x);
	}
	if (c->kind == PLAN_CHANGED)
		value_put(a, v, "changes", list);
	return v;
}

value *plan_diff_view(struct arena *a, const struct plan_diff *d)
{
	static const struct {
		const char *key;
		enum plan_change_kind kind;
	} lists[] = { { "added", PLAN_ADDED }, { "changed", PLAN_CHANGED },
		{ "removed", PLAN_REMOVED } };
	value *v = value_object(a);

	for (size_t k = 0; k < ARRAY_LEN(lists); k++) {
		value *list = value_array(a);

		for (size_t i = 0; i < d->n; i++)
			if (d->p[i].kind == lists[k].kind)
				value_push(a, list, change_view(a, &d->p[i]));
		value_put(a, v, lists[k].key, list);
	}
	value_put(a, v, "kept", plan_diff_ids(a, d, PLAN_KEPT));
	if (d->was_sequential != d->is_sequential) {
		value *x = value_object(a);

		value_put(a, x, "from", value_bool(a, d->was_sequential));
		value_put(a, x, "to", value_bool(a, d->is_sequential));
		value_put(a, v, "sequential", x);
	}
	return v;
}
