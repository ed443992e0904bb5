#include "core/state/usage.h"

#include "base/alloc.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "core/model/limits.h"
#include "core/model/record.h"

enum { EARLIER_MAX = 256 }; /* agents that earlier days are kept of */

int64_t usage_day(ov_time local)
{
	return local / OV_DAY - (local % OV_DAY < 0);
}

str usage_day_text(struct arena *a, int64_t day)
{
	return str_sub(time_format(a, day * OV_DAY), 0, 10);
}

/* The kinds of tokens have the same names wherever they are counted. */
#define ADD_TOKENS(to, from)                                                                       \
	((to)->tokens_input += (from)->tokens_input, (to)->tokens_output += (from)->tokens_output, \
			(to)->tokens_cache_read += (from)->tokens_cache_read,                      \
			(to)->tokens_cache_write += (from)->tokens_cache_write)

static void insert(struct state *s, size_t at, struct usage_row *row)
{
	vec_push(&s->usage, row);
	memmove(&s->usage.p[at + 1], &s->usage.p[at], (s->usage.n - 1 - at) * sizeof(*s->usage.p));
	s->usage.p[at] = row;
}

/* Rows stand by day, so only those of this one are looked at. */
static struct usage_row *row_of(struct state *s, int64_t day, str goal, str agent, str model)
{
	struct usage_row *row;
	size_t at = s->usage.n;

	for (; at > 0 && s->usage.p[at - 1]->day >= day; at--) {
		row = s->usage.p[at - 1];
		if (row->day == day && str_eq(row->goal_id, goal) && str_eq(row->agent, agent) &&
				str_eq(row->model, model))
			return row;
	}
	while (at < s->usage.n && s->usage.p[at]->day <= day)
		at++;
	row = mem_zalloc(1, sizeof(*row));
	row->day = day;
	record_set_str(&row->goal_id, goal);
	record_set_str(&row->agent, agent);
	record_set_str(&row->model, model);
	insert(s, at, row);
	return row;
}

static void merge(struct usage_row *into, struct usage_row *from)
{
	for (int i = 0; i < RESOURCE_COUNT; i++)
		into->spent[i] += from->spent[i];
	ADD_TOKENS(into, from);
	into->unpriced += from->unpriced;
	into->untold += from->untold;
}

/* Those of earlier days come first. */
static size_t earlier_n(const struct state *s)
{
	size_t n = 0;

	while (n < s->usage.n && s->usage.p[n]->day == 0)
		n++;
	return n;
}

/* Of each agent, so that what it used in all can be told; of the rest, if there are too many. */
static struct usage_row *earlier_of(struct state *s, str agent)
{
	size_t n = earlier_n(s);

	for (size_t i = 0; i < n; i++)
		if (str_eq(s->usage.p[i]->agent, agent))
			return s->usage.p[i];
	return row_of(s, 0, STR(""), n < EARLIER_MAX ? agent : STR(""), STR(""));
}

static void merge_oldest(struct state *s)
{
	struct usage_row *oldest = s->usage.p[earlier_n(s)];

	merge(earlier_of(s, oldest->agent), oldest);
	vec_remove(&s->usage, earlier_n(s));
	record_done(&usage_row_record, oldest);
	mem_free(oldest);
}

/* A whole day at a time; when there is no other day, its oldest rows. */
static void bound(struct state *s)
{
	while (s->usage.n > LIMIT_USAGE) {
		int64_t oldest = s->usage.p[earlier_n(s)]->day, newest = vec_last(&s->usage)->day;

		do
			merge_oldest(s);
		while (oldest != newest && s->usage.p[earlier_n(s)]->day == oldest);
	}
}

struct usage_unknown usage_unknown(const struct ev_goal_spent *d,
		const int64_t amounts[RESOURCE_COUNT])
{
	str unknown = d->unknown;
	bool priced = !unknown.n && (d->cost_source.n || amounts[RES_COST_MICROUSD] > 0),
	     told = amounts[RES_TOKENS] > 0 && !str_is(unknown, "tokens");

	return (struct usage_unknown){ .unpriced = !priced && told,
		.untold = !priced && !told && (unknown.n || amounts[RES_ITERATIONS] > 0) };
}

void usage_fold(struct state *s, const struct event *e, const int64_t amounts[RESOURCE_COUNT])
{
	const struct ev_goal_spent *d = as_goal_spent(e);
	const struct run *r = state_run(s, e->run);
	struct node *n = e->node.n ? state_node(s, e->goal, e->node) : NULL;
	str agent = d->agent;
	int64_t day = d->has_day ? d->day : usage_day(e->at);
	struct usage_unknown unknown = usage_unknown(d, amounts);
	struct usage_row *row;

	/* Older logs do not say who it was. */
	if (!agent.n)
		agent = r ? r->agent : d->on;
	row = row_of(s, MAX(day, (int64_t)1), e->goal, agent, d->model);
	for (int i = 0; i < RESOURCE_COUNT; i++)
		row->spent[i] += amounts[i];
	ADD_TOKENS(row, d);
	row->unpriced += unknown.unpriced;
	row->untold += unknown.untold;
	if (n) {
		n->spend.unpriced += unknown.unpriced;
		n->spend.untold += unknown.untold;
	}
	for (int i = 0; n && i < RESOURCE_COUNT; i++)
		n->spend.used[i] += amounts[i];
	bound(s);
}
