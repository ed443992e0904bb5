/* What needs a person, ranked: urgent things first, then what holds most up, then what waits longest. */
#include <stdlib.h>

#include "base/arena.h"
#include "base/str.h"
#include "core/view.h"

struct entry {
	const struct escalation *x;
	const struct goal *g; /* may be NULL */
	const struct node *n; /* may be NULL */
	int64_t priority;
	size_t blocks; /* pieces of work that wait for it */
};

static void mark_leaves(const struct node *n, bool *marks);

/* Whoever waits for the node, and whoever waits for them. */
static void mark_dependants(const struct node *n, bool *marks)
{
	for (const struct node *at = n; at; at = at->parent)
		for (size_t i = 0; i < at->dependants.n; i++)
			mark_leaves(at->dependants.p[i], marks);
}

static void mark_leaves(const struct node *n, bool *marks)
{
	if (marks[n->position] || node_is_final(n))
		return;
	marks[n->position] = true;
	for (size_t i = 0; i < n->children.n; i++)
		mark_leaves(n->children.p[i], marks);
	mark_dependants(n, marks);
}

static size_t blocks_count(struct arena *a, const struct node *n)
{
	size_t count = 0, all = n->goal->nodes.n;
	bool *marks = arena_array(a, bool, all + 1);

	marks[n->position] = true;
	mark_dependants(n, marks);
	marks[n->position] = false;
	for (size_t i = 0; i < all; i++)
		count += marks[i] && node_is_leaf(n->goal->nodes.p[i]);
	return count;
}

static struct entry entry_of(struct arena *a, const struct state *s, const struct escalation *x)
{
	struct entry e = { .x = x, .priority = 3 };

	e.g = x->goal_id.n ? state_goal(s, x->goal_id) : NULL;
	e.n = x->node_id.n ? state_node(s, x->goal_id, x->node_id) : NULL;
	if (e.n) {
		e.priority = node_priority(e.n);
		e.blocks = blocks_count(a, e.n);
	} else if (e.g) {
		e.priority = e.g->priority;
		e.blocks = e.g->leaves - e.g->leaves_done - e.g->leaves_cancelled;
	}
	return e;
}

static int rank_order(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	if (a->priority != b->priority)
		return a->priority < b->priority ? -1 : 1;
	if (a->blocks != b->blocks)
		return a->blocks > b->blocks ? -1 : 1;
	if (a->x->opened_at != b->x->opened_at)
		return a->x->opened_at < b->x->opened_at ? -1 : 1;
	return (a->x->number > b->x->number) - (a->x->number < b->x->number);
}

/* Kinds with answers of their own: these only, or (NULL) only the options that were given. */
static const struct {
	const char *kind, *words;
} closed_kinds[] = { { "budget", "cancel" }, { "login", NULL }, { "outage", NULL } };

/* Others wait for the answer, so it cannot be dismissed either. */
static bool is_closed_kind(const struct escalation *x)
{
	for (size_t i = 0; i < ARRAY_LEN(closed_kinds); i++)
		if (str_is(x->kind, closed_kinds[i].kind))
			return true;
	return false;
}

/* What may stand after "inbox answer N", for people: its options, or the words that do something. */
static str answer_words(struct arena *a, const struct entry *e)
{
	bool closed = is_closed_kind(e->x);
	str words = STR("");

	for (size_t i = 0; i < e->x->options.n; i++)
		words = arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(words), words.n ? "|" : "",
				STR_ARG(e->x->options.p[i]));
	for (size_t i = 0; i < ARRAY_LEN(closed_kinds); i++)
		if (str_is(e->x->kind, closed_kinds[i].kind) && closed_kinds[i].words)
			words = str_from(closed_kinds[i].words);
	if (closed && words.n)
		return words;
	if (!words.n && e->n)
		words = STR("retry|done|cancel");
	return arena_printf(a, STR_FMT "%sTEXT", STR_ARG(words), words.n ? "|" : "");
}

static void push_command(struct arena *a, value *list, str text)
{
	value_push(a, list, value_str(a, text));
}

static value *commands_of(struct arena *a, const struct entry *e)
{
	value *list = value_array(a);
	long long number = (long long)e->x->number;

	if (e->x->status != ESC_OPEN)
		return list;
	if (str_is(e->x->kind, "budget") && e->g)
		push_command(a, list,
				arena_printf(a,
						"overseer goal update " STR_FMT
						" --budget NAME=AMOUNT --reason TEXT",
						STR_ARG(e->g->id)));
	push_command(a, list,
			arena_printf(a, "overseer inbox answer %lld " STR_FMT, number,
					STR_ARG(answer_words(a, e))));
	if (e->n)
		push_command(a, list,
				arena_printf(a, "overseer explain " STR_FMT, STR_ARG(e->n->key)));
	else if (e->g)
		push_command(a, list,
				arena_printf(a, "overseer explain " STR_FMT, STR_ARG(e->g->id)));
	if (!is_closed_kind(e->x))
		push_command(a, list, arena_printf(a, "overseer inbox dismiss %lld", number));
	return list;
}

static value *entry_view(struct arena *a, const struct entry *e)
{
	value *v = record_to_value(a, &escalation_record, e->x);

	value_put(a, v, "name", value_str(a, e->n ? e->n->name : e->g ? e->g->title : STR("")));
	value_put(a, v, "priority", value_int(a, e->priority));
	value_put(a, v, "blocks", value_int(a, (int64_t)e->blocks));
	value_put(a, v, "answers", value_str(a, answer_words(a, e)));
	value_put(a, v, "commands", commands_of(a, e));
	return v;
}

value *view_escalation(struct arena *a, const struct state *s, const struct escalation *x)
{
	struct entry e = entry_of(a, s, x);

	return entry_view(a, &e);
}

value *view_inbox(struct arena *a, const struct state *s, str goal, bool all)
{
	struct entry *entries = arena_array(a, struct entry, s->escalations.n + 1);
	value *list = value_array(a);
	size_t n = 0;

	for (size_t i = 0; i < s->escalations.n; i++) {
		const struct escalation *x = s->escalations.p[i];

		if (x->status == ESC_OPEN && (!goal.n || str_eq(goal, x->goal_id)))
			entries[n++] = entry_of(a, s, x);
	}
	qsort(entries, n, sizeof(*entries), rank_order);
	for (size_t i = 0; i < n; i++)
		value_push(a, list, entry_view(a, &entries[i]));
	/* What is over comes last, the newest first. */
	for (size_t i = s->escalations.n; all && i-- > 0;) {
		const struct escalation *x = s->escalations.p[i];

		if (x->status != ESC_OPEN && (!goal.n || str_eq(goal, x->goal_id)))
			value_push(a, list, view_escalation(a, s, x));
	}
	return list;
}
