#include "core/report/report_tasks.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/fold/apply.h"

enum { ROWS = 200, SHORT = 300 };

struct task_note {
	bool leaf;     /* it has no children; of one that was removed: had none then */
	bool was_leaf; /* once */
	bool overridden, removed;
	int64_t accepted, reverted, reopened;
	ov_time at; /* of its last change of status, or of its place in the plan */
};

struct report_tasks {
	struct arena arena;
	struct state *fold; /* of the goal's nodes alone */
	bool broken;        /* the log does not fold: it does not begin with the goal */
	struct map notes;   /* by the node's id */
};

struct report_tasks *report_tasks_new(void)
{
	struct report_tasks *t = mem_zalloc(1, sizeof(*t));

	t->fold = state_new(0);
	map_init(&t->notes, 0);
	return t;
}

struct report_tasks *report_tasks_free(struct report_tasks *t)
{
	if (!t)
		return NULL;
	state_free(t->fold);
	map_done(&t->notes);
	arena_done(&t->arena);
	mem_free(t);
	return NULL;
}

static struct task_note *note_of(struct report_tasks *t, str node)
{
	struct task_note *n = map_get(&t->notes, node);

	if (!n) {
		n = arena_new(&t->arena, struct task_note);
		map_put(&t->notes, arena_str(&t->arena, node), n);
	}
	return n;
}

enum task_end task_end_of(const struct node *n, bool overridden)
{
	if (n->def.removed_in)
		return END_REMOVED;
	if (!node_is_leaf(n))
		return END_SPLIT;
	if (n->status != NODE_DONE)
		return (enum task_end)n->status;
	return overridden ? END_OVERRIDDEN : n->work.commit.n ? END_ACCEPTED : END_DONE;
}

/* ---- the fold ---- */

/* After a plan, or an added node: who has children now, and who is gone. */
static void note_places(struct report_tasks *t, const struct goal *g, ov_time at)
{
	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = g->nodes.p[i];
		bool leaf = node_is_leaf(n);
		struct task_note *x = note_of(t, n->id);

		if (n->def.removed_in && x->removed)
			continue;
		if (n->def.removed_in || !x->at || x->leaf != leaf)
			x->at = at;
		x->removed = n->def.removed_in;
		if (x->removed)
			continue;
		x->leaf = leaf;
		x->was_leaf |= leaf;
	}
}

static void note_status(struct report_tasks *t, const struct event *e)
{
	const struct ev_node_status *d = as_node_status(e);
	struct task_note *x = note_of(t, e->node);
	bool done = d->to == NODE_DONE;

	x->reopened += !done && d->from == NODE_DONE;
	x->overridden = done && d->override;
	if (!x->removed)
		x->at = e->at;
}

static bool fold(struct report_tasks *t, const struct event *e)
{
	struct event next = *e;

	next.seq = t->fold->seq + 1;
	t->broken = t->broken || apply(t->fold, &next, NULL) < 0;
	return !t->broken;
}

const struct goal *report_tasks_add(struct report_tasks *t, const struct event *e)
{
	const struct goal *g;

	switch (e->kind) {
	case EV_NODE_ACCEPTED: note_of(t, e->node)->accepted++; return NULL;
	case EV_NODE_REVERTED: note_of(t, e->node)->reverted++; return NULL;
	case EV_NODE_STATUS: note_status(t, e); break;
	case EV_GOAL_CREATED:
	case EV_PLAN_APPLIED:
	case EV_NODE_ADDED: break;
	default: return NULL;
	}
	if (!fold(t, e))
		return NULL;
	g = state_goal(t->fold, e->goal);
	if (g && e->kind != EV_NODE_STATUS)
		note_places(t, g, e->at);
	return g;
}

/* ---- the document ---- */

struct row {
	const struct node *n;
	const struct task_note *note;
	size_t place;
};

static int newest_first(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	if (a->note->at != b->note->at)
		return a->note->at > b->note->at ? -1 : 1;
	return a->place < b->place ? -1 : 1;
}

static int by_place(const void *x, const void *y)
{
	const struct row *a = x, *b = y;

	return a->place < b->place ? -1 : 1;
}

static struct report_task task_row(const struct row *r)
{
	return (struct report_task){ .node = r->n->id,
		.name = utf8_truncate(r->n->def.name, SHORT),
		.became = task_end_of(r->n, r->note->overridden),
		.at = r->note->at,
		.reason = utf8_truncate(r->n->status_reason, SHORT),
		.commit = r->n->work.commit,
		.accepted = r->note->accepted,
		.reverted = r->note->reverted,
		.reopened = r->note->reopened };
}

/* A node that never was without children is no task. */
static size_t tasks_of(struct arena *a, const struct report_tasks *t, const struct goal *g,
		struct row *ret)
{
	size_t n = 0;

	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct task_note *x = map_get(&t->notes, g->nodes.p[i]->id);

		if (!x) /* its beginning is not in the log that was read */
			x = arena_new(a, struct task_note);
		else if (x->removed ? !x->leaf : !x->was_leaf)
			continue;
		ret[n++] = (struct row){ g->nodes.p[i], x, i };
	}
	return n;
}

struct report_task_list report_tasks_list(struct arena *a, const struct report_tasks *t,
		const struct goal *g)
{
	struct row *rows = arena_array(a, struct row, g->nodes.n);
	size_t n = tasks_of(a, t, g, rows), shown = MIN(n, (size_t)ROWS);
	struct report_task_list list = { .total = (int64_t)n,
		.rows = { arena_array(a, struct report_task, shown), shown } };

	for (size_t i = 0; i < n; i++)
		list.by[task_end_of(rows[i].n, rows[i].note->overridden)]++;
	if (n) {
		qsort(rows, n, sizeof(*rows), newest_first);
		qsort(rows, shown, sizeof(*rows), by_place);
	}
	for (size_t i = 0; i < shown; i++)
		list.rows.p[i] = task_row(&rows[i]);
	return list;
}
