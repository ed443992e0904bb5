/*
 * The fold of plans. The document of plan.applied is the whole plan: its nodes are made, or changed
 * where they exist; whoever is not in it any more is out of the plan. That somebody is cancelled
 * for it is told by events of its own.
 */
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "core/fold/apply_impl.h"
#include "core/plan/plan_members.h"

struct entry {
	const value *doc;
	enum node_tier tier;
	str id, parent;
};

/* The plan taken apart, and what stood there before. */
struct plan_fold {
	VEC(struct entry) entries; /* parents before children */
	struct map ids;            /* of them */
	VEC(struct node *) order;  /* the goal's nodes from now on */
	size_t before;             /* how many there were */
	bool *in_plan, *was_leaf;  /* per old position */
};

static void plan_fold_done(struct plan_fold *f)
{
	vec_done(&f->entries);
	map_done(&f->ids);
	vec_done(&f->order);
	mem_free(f->in_plan);
	mem_free(f->was_leaf);
}

/*
 * Plans were checked when they were applied; only what the fold itself relies on is checked again.
 */
static bool collect(struct plan_fold *f, const value *doc, int tier, str parent)
{
	const value *list = plan_children(doc, tier);

	for (size_t i = 0; i < value_count(list); i++) {
		const value *node = value_item(list, i);
		str id = plan_id(node);
		struct entry e = { node, (enum node_tier)(tier + 1), id, parent };

		if (!id_valid(id) || map_get(&f->ids, id))
			return false;
		map_put(&f->ids, id, (void *)node);
		vec_push(&f->entries, e);
		if (!collect(f, node, tier + 1, id))
			return false;
	}
	return true;
}

static void set_member(struct node *n, const struct plan_member *m, const value *v)
{
	void *at = (char *)n + m->offset;

	switch (m->type) {
	case F_TEXT: record_set_str(at, value_str_or(v, STR(""))); break;
	case F_LIST: record_set_array(at, v); break;
	case F_FLAG: *(bool *)at = v && v->kind == V_BOOL && v->b; break;
	case F_NUM: *(int64_t *)at = value_int_or(v, 0); break;
	case F_JSON: record_set_json(at, v); break;
	default: assert(false);
	}
}

static void define(struct node *n, const struct entry *e)
{
	n->def.tier = e->tier;
	record_set_str(&n->parent_id, e->parent);
	for (size_t i = 0; i < plan_members_n; i++)
		set_member(n, &plan_members[i], value_at(e->doc, plan_members[i].key));
}

static struct node *make(struct state *s, struct goal *g, const struct entry *e, ov_time at)
{
	struct node *n = mem_zalloc(1, sizeof(*n));

	record_set_str(&n->id, e->id);
	n->created_at = n->updated_at = at;
	state_add_node(s, g, n);
	return n;
}

APPLY(node_added)
{
	struct goal *g = state_goal(s, e->goal);
	int tier = status_parse(&node_tiers, d->tier);
	struct entry entry = { d->definition, (enum node_tier)tier, e->node, d->parent };
	struct node *n;

	if (!g || !g->standing.n)
		return ev_missing(e, "standing goal", e->goal, err);
	if (tier < 0 || !id_valid(e->node) || state_node(s, g->id, e->node) ||
			(entry.parent.n && !state_node(s, g->id, entry.parent)))
		return ev_missing(e, "place for a node", e->node, err);
	n = make(s, g, &entry, e->at);
	define(n, &entry);
	record_set_str(&n->next.worker, d->worker);
	record_set_str(&n->claim, d->claim);
	g->updated_at = e->at;
	g->reopened = false;
	state_link_nodes(s, g);
	state_index_goal(s, g);
	return 0;
}

/* Nodes as the document has them, then those that it has not. */
static void rebuild(struct state *s, struct goal *g, struct plan_fold *f, ov_time at)
{
	size_t before = f->before = g->nodes.n;

	f->in_plan = mem_zalloc(before + 1, sizeof(*f->in_plan));
	f->was_leaf = mem_zalloc(before + 1, sizeof(*f->was_leaf));
	for (size_t i = 0; i < before; i++)
		f->was_leaf[i] = node_is_leaf(g->nodes.p[i]);
	for (size_t i = 0; i < f->entries.n; i++) {
		const struct entry *e = &f->entries.p[i];
		struct node *n = state_node(s, g->id, e->id);

		if (n)
			f->in_plan[n->position] = true;
		else
			n = make(s, g, e, at);
		define(n, e);
		vec_push(&f->order, n);
	}
	for (size_t i = 0; i < before; i++) {
		struct node *n = g->nodes.p[i];

		if (f->in_plan[i])
			continue;
		if (!n->def.removed_in) {
			n->def.removed_in = g->plan_version;
			n->updated_at = at;
		}
		vec_push(&f->order, n);
	}
}

/*
 * A node that is split, or whose parts are gone, starts afresh; its work so far is in its history.
 */
static void reset_status(struct node *n, ov_time at)
{
	n->status = NODE_TODO;
	n->updated_at = at;
	n->ended_at = n->queued_at = 0;
	memset(n->work.failures, 0, sizeof(n->work.failures));
	n->block.kind = BLOCK_NONE;
	n->block.until = 0;
	record_set_str(&n->status_reason, STR(""));
	record_set_str(&n->block.by, STR(""));
	record_set_str(&n->block.when, STR(""));
}

/* Puts the new order in force. */
static void settle(struct state *s, struct goal *g, struct plan_fold *f, ov_time at)
{
	VEC(struct node *) old = { 0 };

	for (size_t i = 0; i < f->before; i++)
		vec_push(&old, g->nodes.p[i]);
	assert(f->order.n == g->nodes.n);
	if (f->order.n)
		memcpy(g->nodes.p, f->order.p, f->order.n * sizeof(*g->nodes.p));
	state_link_nodes(s, g);
	for (size_t i = 0; i < old.n; i++)
		if (f->in_plan[i] && f->was_leaf[i] != node_is_leaf(old.p[i]))
			reset_status(old.p[i], at);
	vec_done(&old);
	state_index_goal(s, g);
}

static void note_changed(struct state *s, const struct event *e, const value *summary)
{
	const value *changed = value_at(summary, "changed");

	for (size_t i = 0; i < value_count(changed); i++) {
		struct node *n = state_node(s, e->goal,
				value_str_or(value_item(changed, i), STR("")));

		if (!n)
			continue;
		n->updated_at = e->at;
		seqs_keep(&n->history, e->seq);
	}
}

static bool names_removed(const struct state *s, const struct goal *g, const struct plan_fold *f)
{
	for (size_t i = 0; i < f->entries.n; i++) {
		const struct node *n = state_node(s, g->id, f->entries.p[i].id);

		if (n && n->def.removed_in)
			return true;
	}
	return false;
}

APPLY(plan_applied)
{
	_cleanup_(plan_fold_done) struct plan_fold f = { 0 };
	struct goal *g = state_goal(s, e->goal);

	if (!g)
		return ev_missing(e, "goal", e->goal, err);
	if (d->version != g->plan_version + 1)
		return ov_fail(err, OV_EINVALID,
				"event %llu: plan version %lld does not follow %lld",
				(unsigned long long)e->seq, (long long)d->version,
				(long long)g->plan_version);
	map_init(&f.ids, s->nodes_by_key.seed);
	if (!collect(&f, d->plan, -1, STR("")) || names_removed(s, g, &f))
		return ev_missing(e, "id of its own for each node in the plan of", e->goal, err);
	if (f.entries.n == 0)
		return ev_missing(e, "node in the plan of", e->goal, err);
	g->plan_version = d->version;
	g->reopened = false;
	g->sequential = plan_is_sequential(d->plan);
	record_set_str(&g->plan_source, d->source);
	g->updated_at = e->at;
	seqs_keep(&g->plan_seqs, e->seq);
	rebuild(s, g, &f, e->at);
	settle(s, g, &f, e->at);
	note_changed(s, e, d->summary);
	return 0;
}
