/*
 * What waits for what in a plan document. Each node has two moments: it may start, and it is done.
 * What must come before what: done(n) after start(n); start(child) after start(parent);
 * done(parent) after done(child); start(n) after done(d) for every dependency d, and after done(b)
 * for the node b before it where their parent is sequential. A cycle among these can never
 * be worked off.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "core/plan/plan_members.h"

enum colour { NEW, ON_PATH, FINISHED };

/*
 * A moment on the path, and which of the moments before it comes next: a plan may be one
 * long chain.
 */
struct place {
	int moment;
	size_t edge; /* the next: of a start, the parent, the node before, then dependencies */
	int child;   /* of a done, after its start: the next child, or -1 */
};

struct search {
	struct plan_checking *c;
	unsigned char *colour; /* per moment */
	struct place *path;
	size_t depth;
};

static int start_of(int node)
{
	return 2 * node;
}

static int done_of(int node)
{
	return 2 * node + 1;
}

/* The next moment that must come before this one; false when there are no more. -1: passed over. */
static bool next_edge(const struct search *s, struct place *p, int *ret)
{
	const struct plan_node *n = &s->c->r->nodes.p[p->moment / 2];
	size_t edge = p->edge++;

	if (p->moment % 2) {
		int child = p->child;

		if (edge == 0) {
			*ret = p->moment - 1;
			return true;
		}
		if (child < 0)
			return false;
		p->child = s->c->r->nodes.p[child].next;
		*ret = done_of(child);
		return true;
	}
	if (edge == 0)
		*ret = n->parent >= 0 ? start_of(n->parent) : -1;
	else if (edge == 1)
		*ret = n->before >= 0 ? done_of(n->before) : -1;
	else if (edge - 2 < value_count(n->deps)) {
		int d = plan_node_index(s->c, value_str_or(value_item(n->deps, edge - 2), STR("")));

		/* That something waits for itself is told apart from cycles. */
		*ret = d >= 0 && d != p->moment / 2 ? done_of(d) : -1;
	} else {
		return false;
	}
	return true;
}

static void push(struct search *s, int moment)
{
	s->colour[moment] = ON_PATH;
	s->path[s->depth++] = (struct place){ .moment = moment,
		.child = s->c->r->nodes.p[moment / 2].first };
}

static bool names(const struct plan_node *n, str id)
{
	for (size_t i = 0; i < value_count(n->deps); i++)
		if (str_eq(value_str_or(value_item(n->deps, i), STR("")), id))
			return true;
	return false;
}

/*
 * Why it cannot be resolved by looking at deps alone, where a link is made by "sequential";
 * else "".
 */
static str sequential_link(const struct search *s, size_t from)
{
	const struct plan_node *nodes = s->c->r->nodes.p;

	for (size_t i = from; i < s->depth; i++) {
		int at = s->path[i].moment, to = s->path[i + 1 < s->depth ? i + 1 : from].moment;
		const struct plan_node *n = &nodes[at / 2];

		if (at % 2 || to % 2 == 0 || n->before != to / 2 || names(n, nodes[to / 2].id))
			continue;
		if (n->parent < 0)
			return arena_printf(s->c->a,
					": " STR_FMT " waits for " STR_FMT
					" because the plan is \"sequential\"",
					STR_ARG(n->id), STR_ARG(nodes[to / 2].id));
		return arena_printf(s->c->a,
				": " STR_FMT " waits for " STR_FMT " because " STR_FMT
				" is \"sequential\"",
				STR_ARG(n->id), STR_ARG(nodes[to / 2].id),
				STR_ARG(nodes[n->parent].id));
	}
	return STR("");
}

/* The chain of nodes from the first visit of `moment` to now, without repeating neighbours. */
static void report_cycle(struct search *s, int moment)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	int last = -1, first = moment / 2;
	size_t i = 0;
	str why;

	while (s->path[i].moment != moment)
		i++;
	why = sequential_link(s, i);
	for (; i < s->depth; i++) {
		int node = s->path[i].moment / 2;

		if (node != last)
			buf_addf(&text, "%s" STR_FMT, text.n ? " -> " : "",
					STR_ARG(s->c->r->nodes.p[node].id));
		last = node;
	}
	if (last != first || !str_contains(buf_str(&text), STR("->")))
		buf_addf(&text, " -> " STR_FMT, STR_ARG(s->c->r->nodes.p[first].id));
	plan_check_problem(s->c, arena_str(s->c->a, buf_str(&text)), "dependency cycle" STR_FMT,
			STR_ARG(why));
}

/* Follows everything that must come before `moment`, until a cycle is found. */
static void search_from(struct search *s, int moment)
{
	push(s, moment);
	while (s->depth) {
		struct place *p = &s->path[s->depth - 1];
		int to;

		if (!next_edge(s, p, &to)) {
			s->colour[p->moment] = FINISHED;
			s->depth--;
		} else if (to >= 0 && s->colour[to] == ON_PATH) {
			report_cycle(s, to);
			/* All that led there belongs to the cycle, or waits for it. */
			while (s->depth)
				s->colour[s->path[--s->depth].moment] = FINISHED;
		} else if (to >= 0 && s->colour[to] == NEW) {
			push(s, to);
		}
	}
}

void plan_check_cycles(struct plan_checking *c)
{
	size_t moments = 2 * c->r->nodes.n;
	struct search s = { .c = c };

	s.colour = arena_array(c->a, unsigned char, moments + 1);
	s.path = arena_array(c->a, struct place, moments + 1);
	for (size_t i = 0; i < moments; i++)
		if (s.colour[i] == NEW)
			search_from(&s, (int)i);
}
