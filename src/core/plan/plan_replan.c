#include "core/plan/plan_replan.h"

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "core/plan/plan_diff.h"
#include "core/plan/plan_make.h"
#include "core/plan/plan_members.h"

struct replan {
	struct arena *a;
	const struct state *s;
	const struct goal *g;
	struct plan_report *r;
};

static str member_path(struct replan *rp, const struct plan_node *n, const char *key)
{
	return arena_printf(rp->a, STR_FMT ".%s", STR_ARG(n->path), key);
}

/* A node that is done or cancelled may be named, but as it is. */
static void check_finished(struct replan *rp, const struct plan_node *p, const struct node *n,
		const struct plan_change *c)
{
	const char *status = status_name(&node_statuses, (int)n->status);

	for (size_t i = 0; i < c->differences_n; i++) {
		if (strcmp(c->differences[i].key, "parent") == 0)
			plan_problem(rp->r, rp->a, p->path,
					"\"" STR_FMT
					"\" is %s and stays where it is, in %s" STR_FMT,
					STR_ARG(n->id), status, n->parent_id.n ? "" : "no phase",
					STR_ARG(n->parent_id));
		else
			plan_problem(rp->r, rp->a, member_path(rp, p, c->differences[i].key),
					"\"" STR_FMT "\" is %s: a finished node cannot be changed "
					"(leave it out, it stays; give new work a new id)",
					STR_ARG(n->id), status);
	}
}

/* A node that is new below its parent: that must still be open. */
static void check_place(struct replan *rp, const struct plan_node *p)
{
	const struct node *n = state_node(rp->s, rp->g->id, p->id), *parent;

	if (p->parent < 0)
		return;
	parent = state_node(rp->s, rp->g->id, rp->r->nodes.p[p->parent].id);
	if (!parent || parent->def.removed_in || !node_is_final(parent) ||
			(n && n->parent == parent))
		return;
	plan_problem(rp->r, rp->a, p->path,
			"\"" STR_FMT "\" is %s: a finished node gets nothing new below it",
			STR_ARG(parent->id), status_name(&node_statuses, (int)parent->status));
}

/* Whoever was removed holds nobody up; still, to wait for it is a mistake. */
static void check_deps_on_removed(struct replan *rp, const struct plan_node *p)
{
	for (size_t i = 0; i < value_count(p->deps); i++) {
		str id = value_str_or(value_item(p->deps, i), STR(""));
		const struct node *d = state_node(rp->s, rp->g->id, id);

		if (d && d->def.removed_in)
			plan_problem(rp->r, rp->a,
					arena_printf(rp->a, STR_FMT ".deps[%zu]", STR_ARG(p->path),
							i),
					"\"" STR_FMT "\" was removed by plan version %lld",
					STR_ARG(id), (long long)d->def.removed_in);
	}
}

static void check_node(struct replan *rp, const struct plan_node *p, const struct plan_change *c)
{
	const struct node *n = state_node(rp->s, rp->g->id, p->id);

	check_place(rp, p);
	if (n && n->def.removed_in)
		plan_problem(rp->r, rp->a, member_path(rp, p, "id"),
				"\"" STR_FMT "\" was removed by plan version %lld; an id is never "
				"used again",
				STR_ARG(p->id), (long long)n->def.removed_in);
	else if (n && n->def.tier != p->tier)
		plan_problem(rp->r, rp->a, member_path(rp, p, "id"),
				"\"" STR_FMT "\" is a %s and cannot become a %s; give it a new id",
				STR_ARG(p->id), status_name(&node_tiers, (int)n->def.tier),
				status_name(&node_tiers, (int)p->tier));
	else if (n && node_is_final(n))
		check_finished(rp, p, n, c);
	if (!n || !node_is_final(n))
		check_deps_on_removed(rp, p);
}

void plan_check_replan(struct arena *a, const struct state *s, const struct goal *g,
		const value *doc, const struct plan_rules *rules, struct plan_report *ret)
{
	struct replan rp = { .a = a, .s = s, .g = g, .r = ret };
	struct plan_rules own = *rules;
	struct plan_diff diff;
	struct map changes;

	own.state = s;
	own.goal = g;
	plan_check(a, doc, &own, ret);
	if (!g->plan_version)
		return;
	diff = plan_diff(a, plan_document(a, g), doc);
	map_init(&changes, 0);
	for (size_t i = 0; i < diff.n; i++)
		map_put(&changes, diff.p[i].id, &diff.p[i]);
	for (size_t i = 0; i < ret->nodes.n; i++) {
		const struct plan_change *c = map_get(&changes, ret->nodes.p[i].id);

		/* Another node with the same id was told already. */
		if (c && c->doc == ret->nodes.p[i].doc)
			check_node(&rp, &ret->nodes.p[i], c);
	}
	map_done(&changes);
}

struct merge {
	struct arena *a;
	const struct goal *g;
	struct map named;   /* ids in the document */
	struct map present; /* the goal's nodes by id */
	bool *stays;        /* per position in g->nodes: finished, or above one, and left out */
};

static void name_all(struct merge *m, const value *doc, int tier)
{
	const value *list = plan_children(doc, tier);

	for (size_t i = 0; i < value_count(list); i++) {
		const value *node = value_item(list, i);

		map_put(&m->named, plan_id(node), (void *)node);
		name_all(m, node, tier + 1);
	}
}

static void find_staying(struct merge *m)
{
	m->stays = arena_array(m->a, bool, m->g->nodes.n + 1);
	/* Parents come before their children, so from the end the children are known first. */
	for (size_t i = m->g->nodes.n; i-- > 0;) {
		const struct node *n = m->g->nodes.p[i];
		bool stays = node_is_final(n);

		if (n->def.removed_in || map_get(&m->named, n->id))
			continue;
		for (size_t k = 0; k < n->children.n; k++)
			stays |= m->stays[n->children.p[k]->position];
		m->stays[i] = stays;
	}
}

static void put_children(struct merge *m, value *doc, int tier, const struct node *n,
		const value *given);

static void push_staying(struct merge *m, value *list, const struct node *n)
{
	value *doc;

	if (!m->stays[n->position])
		return;
	doc = plan_node_document(m->a, n);
	put_children(m, doc, (int)n->def.tier, n, NULL);
	value_push(m->a, list, doc);
}

/* A given node without the members that say nothing, its children merged. */
static value *merged_node(struct merge *m, const value *given, int tier)
{
	static const char *const keys[] = { "tasks", "subtasks", "" };
	value *doc = value_object(m->a);

	for (size_t i = 0; i < given->object.n; i++) {
		const struct member *x = &given->object.members[i];

		if (!str_is(x->key, keys[tier]) && !plan_member_empty(x->value))
			value_set(m->a, doc, arena_str(m->a, x->key), value_copy(m->a, x->value));
	}
	put_children(m, doc, tier, map_get(&m->present, plan_id(given)),
			plan_children(given, tier));
	return doc;
}

static void put_children(struct merge *m, value *doc, int tier, const struct node *n,
		const value *given)
{
	static const char *const keys[] = { "phases", "tasks", "subtasks" };
	value *list = value_array(m->a);

	if (tier < 0)
		for (size_t i = 0; i < m->g->nodes.n; i++)
			if (m->g->nodes.p[i]->def.tier == TIER_PHASE)
				push_staying(m, list, m->g->nodes.p[i]);
	for (size_t i = 0; n && i < n->children.n; i++)
		push_staying(m, list, n->children.p[i]);
	for (size_t i = 0; i < value_count(given); i++)
		value_push(m->a, list, merged_node(m, value_item(given, i), tier + 1));
	if (value_count(list))
		value_put(m->a, doc, keys[tier + 1], list);
}

value *plan_effective(struct arena *a, const struct goal *g, const value *doc, int64_t version)
{
	struct merge m = { .a = a, .g = g };
	value *v = value_object(a);

	map_init(&m.named, 0);
	map_init(&m.present, 0);
	for (size_t i = 0; i < g->nodes.n; i++)
		map_put(&m.present, g->nodes.p[i]->id, g->nodes.p[i]);
	name_all(&m, doc, -1);
	find_staying(&m);
	value_put(a, v, "planVersion", value_int(a, version));
	if (plan_goal(doc))
		value_put(a, v, "goal", value_copy(a, plan_goal(doc)));
	if (plan_is_sequential(doc))
		value_put(a, v, "sequential", value_bool(a, true));
	put_children(&m, v, -1, NULL, plan_children(doc, -1));
	map_done(&m.named);
	map_done(&m.present);
	return v;
}
