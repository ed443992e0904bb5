/* The table of what was used, for people and programs. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/capacity/budget.h"
#include "core/state/usage.h"
#include "core/view/view.h"

#define NAME(sym, name) [sym] = name,
static const char *const by_names[] = { USAGE_BYS(NAME) };
#undef NAME
const struct status_table usage_bys = { "way to sum up", by_names, ARRAY_LEN(by_names), NULL,
	NULL };

/* One line of the table: what has ended, and what is under way. */
struct sum {
	str key, title;
	struct usage_row all; /* the texts are not used */
	struct budget_live live;
};

struct table {
	struct arena *a;
	const struct state *s;
	const struct usage_query *q;
	struct map by_key;
	VEC(struct sum *) sums;
	struct sum total;
	VEC(str) unpriced; /* models */
};

static struct sum *sum_of(struct table *t, str key, str title)
{
	struct sum *x = map_get(&t->by_key, key);

	if (x)
		return x;
	x = arena_new(t->a, struct sum);
	x->key = key;
	x->title = title;
	map_put(&t->by_key, x->key, x);
	vec_push(&t->sums, x);
	return x;
}

static void add_row(struct usage_row *into, const struct usage_row *from)
{
	for (int i = 0; i < RESOURCE_COUNT; i++)
		into->spent[i] += from->spent[i];
	into->tokens_input += from->tokens_input;
	into->tokens_output += from->tokens_output;
	into->tokens_cache_read += from->tokens_cache_read;
	into->tokens_cache_write += from->tokens_cache_write;
	into->unpriced += from->unpriced;
	into->untold += from->untold;
}

/* Where something belongs: the key and the title of its line. */
static struct sum *place(struct table *t, int64_t day, str goal, str agent, str model, str node)
{
	const struct goal *g = state_goal(t->s, goal);
	const struct node *n;

	switch (t->q->by) {
	case USAGE_GOAL: return sum_of(t, goal, g ? g->title : STR(""));
	case USAGE_AGENT: return sum_of(t, agent, STR(""));
	case USAGE_MODEL: return sum_of(t, model, STR(""));
	case USAGE_NODE:
		n = state_node(t->s, goal, node);
		return sum_of(t, n ? n->key : node, n ? n->def.name : STR(""));
	default: return sum_of(t, day ? usage_day_text(t->a, day) : STR(""), STR(""));
	}
}

static bool wanted(const struct table *t, str goal)
{
	return !t->q->goal || str_eq(t->q->goal->id, goal);
}

static void note_unpriced(struct table *t, str model)
{
	for (size_t i = 0; i < t->unpriced.n; i++)
		if (str_eq(t->unpriced.p[i], model))
			return;
	vec_push(&t->unpriced, model);
}

static void add_ended(struct table *t)
{
	for (size_t i = 0; i < t->s->usage.n; i++) {
		const struct usage_row *row = t->s->usage.p[i];

		if (row->day < t->q->since_day || !wanted(t, row->goal_id))
			continue;
		add_row(&t->total.all, row);
		if (row->unpriced)
			note_unpriced(t, row->model);
		if (t->q->by == USAGE_NODE && str_is(row->agent, "planner"))
			add_row(&sum_of(t, row->goal_id, STR("planner"))->all, row);
		else if (t->q->by != USAGE_NODE)
			add_row(&place(t, row->day, row->goal_id, row->agent, row->model, STR(""))
							->all,
					row);
	}
}

/* Of nodes only the sums are kept. */
static void add_nodes(struct table *t)
{
	for (size_t i = 0; i < t->s->goals.n; i++) {
		const struct goal *g = t->s->goals.p[i];

		for (size_t k = 0; wanted(t, g->id) && k < g->nodes.n; k++) {
			const struct node *n = g->nodes.p[k];
			struct usage_row row = { 0 };

			memcpy(row.spent, n->spend.used, sizeof(row.spent));
			row.unpriced = n->spend.unpriced;
			row.untold = n->spend.untold;
			if (row.spent[RES_ITERATIONS] || row.spent[RES_WALL_MS])
				add_row(&place(t, 0, g->id, STR(""), STR(""), n->id)->all, &row);
		}
	}
}

static void add_live(struct table *t)
{
	const struct map *seen = t->q->observations;
	int64_t today = usage_day(t->q->now + t->q->utc_offset);

	list_each (it, &t->s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);
		const struct run *r = as->run;

		if (!r || r->status == RUN_ENDED || !wanted(t, r->goal_id))
			continue;
		budget_add_live(&t->total.live, r, seen ? map_get(seen, r->id) : NULL, t->q->now);
		budget_add_live(&place(t, today, r->goal_id, r->agent, r->model, r->node_id)->live,
				r, seen ? map_get(seen, r->id) : NULL, t->q->now);
	}
}

static void usage_view_put(struct table *t, value *v, const char *key, int64_t n)
{
	value_put(t->a, v, key, value_int(t->a, n));
}

static value *sum_view(struct table *t, const struct sum *x)
{
	value *v = value_object(t->a), *live = value_object(t->a);
	bool kinds = t->q->by != USAGE_NODE || x == &t->total;

	if (x != &t->total) {
		value_put(t->a, v, "key", value_str(t->a, x->key));
		value_put(t->a, v, "title", value_str(t->a, x->title));
	}
	usage_view_put(t, v, "runs", x->all.spent[RES_ITERATIONS]);
	usage_view_put(t, v, "live_runs", (int64_t)x->live.runs);
	for (int i = RES_WALL_MS; i < RESOURCE_COUNT; i++) {
		usage_view_put(t, v, status_name(&resources, i), x->all.spent[i] + x->live.used[i]);
		usage_view_put(t, live, status_name(&resources, i), x->live.used[i]);
	}
	if (x->live.runs)
		value_put(t->a, v, "live", live);
	usage_view_put(t, v, "unpriced_runs", x->all.unpriced);
	usage_view_put(t, v, "untold_runs", x->all.untold);
	if (!kinds)
		return v;
	usage_view_put(t, v, "tokens_input", x->all.tokens_input);
	usage_view_put(t, v, "tokens_output", x->all.tokens_output);
	usage_view_put(t, v, "tokens_cache_read", x->all.tokens_cache_read);
	usage_view_put(t, v, "tokens_cache_write", x->all.tokens_cache_write);
	return v;
}

static int64_t weight(const struct sum *x, int resource)
{
	return x->all.spent[resource] + x->live.used[resource];
}

static int by_cost(const void *pa, const void *pb)
{
	const struct sum *a = *(struct sum *const *)pa, *b = *(struct sum *const *)pb;

	for (int i = RESOURCE_COUNT; i-- > 0;)
		if (weight(a, i) != weight(b, i))
			return weight(a, i) > weight(b, i) ? -1 : 1;
	return str_cmp(a->key, b->key);
}

static int by_key(const void *pa, const void *pb)
{
	const struct sum *a = *(struct sum *const *)pa, *b = *(struct sum *const *)pb;

	return str_cmp(a->key, b->key);
}

value *usage_view(struct arena *a, const struct state *s, const struct usage_query *q)
{
	struct table t = { .a = a, .s = s, .q = q };
	value *v = value_object(a), *rows = value_array(a), *models = value_array(a);

	map_init(&t.by_key, 0);
	add_ended(&t);
	if (q->by == USAGE_NODE)
		add_nodes(&t);
	if (!q->ended)
		add_live(&t);
	if (t.sums.n)
		qsort(t.sums.p, t.sums.n, sizeof(*t.sums.p), q->by == USAGE_DAY ? by_key : by_cost);
	for (size_t i = 0; i < t.sums.n; i++)
		value_push(a, rows, sum_view(&t, t.sums.p[i]));
	for (size_t i = 0; i < t.unpriced.n; i++)
		value_push(a, models, value_str(a, t.unpriced.p[i]));
	value_put(a, v, "by", value_cstr(a, by_names[q->by]));
	value_put(a, v, "rows", rows);
	value_put(a, v, "total", sum_view(&t, &t.total));
	value_put(a, v, "unpriced_models", models);
	map_done(&t.by_key);
	vec_done(&t.sums);
	vec_done(&t.unpriced);
	return v;
}
