/*
 * What needs a person, ranked: alarms first, then what is urgent, then what holds most up, then
 * what waits longest. What was put off stands apart.
 */
#include <stdlib.h>

#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "core/capacity/accept_queue.h"
#include "core/capacity/dependants.h"
#include "core/capacity/lane.h"
#include "core/inbox/inbox.h"
#include "core/view/view.h"

struct entry {
	const struct escalation *x;
	const struct goal *g; /* may be NULL */
	const struct node *n; /* may be NULL */
	const struct inbox_kind *kind;
	bool later; /* a person put it off */
	int64_t priority;
	size_t blocks;                 /* pieces of work that wait for it */
	const struct assignment *work; /* to be reviewed; or NULL */
};

/* What is to be reviewed, or NULL. */
static const struct assignment *work_of(const struct state *s, const struct escalation *x)
{
	const struct assignment *as = state_assignment(s, x->assignment_id);

	return x->ask != ASK_REVIEW || !as || !as->run ? NULL : as;
}

static value *work_view(struct arena *a, const struct assignment *as)
{
	static const char *const keys[] = { "files_changed", "lines_added", "lines_removed",
		"commits", "files", "leftover_files", "verification_detail" };
	const value *run;
	value *v;

	if (!as)
		return value_null(a);
	run = record_to_value(a, &run_record, as->run);
	v = value_object(a);
	value_put(a, v, "worker", value_str(a, as->worker));
	value_put(a, v, "checked_by", value_str(a, accept_checked_by(as)));
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		value_put(a, v, keys[i], value_copy(a, value_at(run, keys[i])));
	return v;
}

static struct entry entry_of(struct arena *a, const struct state *s, const struct escalation *x,
		ov_time now)
{
	struct entry e = { .x = x, .kind = inbox_kind_of(x), .priority = 3 };

	e.later = x->status == ESC_OPEN && x->snoozed_until > now;
	e.work = work_of(s, x);
	e.g = x->goal_id.n ? state_goal(s, x->goal_id) : NULL;
	e.n = x->node_id.n ? state_node(s, x->goal_id, x->node_id) : NULL;
	if (e.n) {
		e.priority = node_priority(e.n);
		e.blocks = dependants_count(a, e.n);
	} else if (e.g) {
		e.priority = e.g->priority;
		e.blocks = e.g->leaves - e.g->leaves_done - e.g->leaves_cancelled;
	}
	return e;
}

static int rank_order(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	if (a->later != b->later)
		return a->later ? 1 : -1;
	if (a->kind->urgency != b->kind->urgency)
		return a->kind->urgency > b->kind->urgency ? -1 : 1;
	if (a->priority != b->priority)
		return a->priority < b->priority ? -1 : 1;
	if (a->blocks != b->blocks)
		return a->blocks > b->blocks ? -1 : 1;
	if (a->x->opened_at != b->x->opened_at)
		return a->x->opened_at < b->x->opened_at ? -1 : 1;
	return (a->x->number > b->x->number) - (a->x->number < b->x->number);
}

static void push_command(struct arena *a, value *list, str text)
{
	value_push(a, list, value_str(a, text));
}

static void push_about(struct arena *a, value *list, const struct entry *e)
{
	const struct detection *d = e->g && e->x->detection.n
			? state_detection(e->g, e->x->detection)
			: NULL;

	if (d && d->node_id.n)
		push_command(a, list,
				arena_printf(a, "overseer explain " STR_FMT "/" STR_FMT,
						STR_ARG(d->goal_id), STR_ARG(d->node_id)));
	else if (e->n)
		push_command(a, list,
				arena_printf(a, "overseer explain " STR_FMT, STR_ARG(e->n->key)));
	else if (e->g)
		push_command(a, list,
				arena_printf(a, "overseer explain " STR_FMT, STR_ARG(e->g->id)));
	if (d)
		push_command(a, list,
				arena_printf(a, "overseer report " STR_FMT, STR_ARG(e->g->id)));
}

/* What settles it at the run itself. */
static void push_run(struct arena *a, value *list, const struct entry *e)
{
	const struct assignment *as = e->n ? e->n->assignment : NULL;

	if (as && e->x->ask == ASK_PERMISSION)
		push_command(a, list,
				arena_printf(a, "overseer worker attach " STR_FMT,
						STR_ARG(as->worker)));
	if (as && as->run && e->x->ask == ASK_MUTE)
		push_command(a, list,
				arena_printf(a, "overseer run stop " STR_FMT " --reason TEXT",
						STR_ARG(as->run_id)));
}

static value *commands_of(struct arena *a, const struct entry *e)
{
	value *list = value_array(a);
	long long number = (long long)e->x->number;
	str words = inbox_words(a, e->x);

	if (e->x->status != ESC_OPEN)
		return list;
	if (e->x->ask == ASK_BUDGET)
		words = STR("raise --budget NAME=AMOUNT");
	push_run(a, list, e);
	push_command(a, list,
			arena_printf(a, "overseer inbox answer %lld " STR_FMT, number,
					STR_ARG(words)));
	if (e->kind->approve)
		push_command(a, list, arena_printf(a, "overseer inbox approve %lld", number));
	if (e->kind->deny)
		push_command(a, list,
				arena_printf(a, "overseer inbox deny %lld%s", number,
						inbox_needs_why(e->kind->deny) ? " --reason WHY"
									       : ""));
	if (e->work && e->work->worker.n)
		push_command(a, list,
				arena_printf(a, "overseer worker review " STR_FMT,
						STR_ARG(e->work->worker)));
	push_about(a, list, e);
	if (!e->kind->holds)
		push_command(a, list, arena_printf(a, "overseer inbox dismiss %lld", number));
	else if (e->x->detection.n)
		push_command(a, list,
				arena_printf(a, "overseer inbox dismiss %lld --false-positive",
						number));
	return list;
}

/* What happens by itself. */
static str if_unanswered(struct arena *a, const struct escalation *x)
{
	if (x->status != ESC_OPEN)
		return STR("");
	if (!x->expires_at || !x->default_answer.n)
		return STR("waits for you");
	return arena_printf(a, "at " STR_FMT " the answer is: " STR_FMT,
			STR_ARG(time_format(a, x->expires_at)), STR_ARG(x->default_answer));
}

/* The newest finding of oversight that it is about, or null. */
static value *detection_of(struct arena *a, const struct entry *e)
{
	const struct detection *d = e->g && e->x->detection.n
			? state_detection(e->g, e->x->detection)
			: NULL;
	value *v;

	if (!d)
		return value_null(a);
	v = value_object(a);
	value_put(a, v, "id", value_str(a, d->id));
	value_put(a, v, "type", value_cstr(a, status_name(&detectors, (int)d->type)));
	value_put(a, v, "severity", value_cstr(a, status_name(&severities, (int)d->severity)));
	value_put(a, v, "level", value_cstr(a, status_name(&levels, (int)d->level)));
	value_put(a, v, "node", value_str(a, d->node_id));
	value_put(a, v, "iteration", value_int(a, d->iteration));
	value_put(a, v, "message", value_str(a, d->message));
	return v;
}

/* What the agent wrote whose failure it is about. */
static str entry_last_lines(const struct state *s, const struct entry *e)
{
	const struct lane *lane = lane_asked_by(s, e->x);
	const struct run *r = lane && lane->run_id.n ? state_run(s, lane->run_id) : NULL;

	if (e->x->status != ESC_OPEN)
		return STR("");
	return r ? r->last_lines : e->n ? node_last_lines(s, e->n) : STR("");
}

static value *entry_view(struct arena *a, const struct state *s, const struct entry *e)
{
	value *v = record_to_value(a, &escalation_record, e->x);

	value_put(a, v, "name", value_str(a, e->n ? e->n->def.name : e->g ? e->g->title : STR("")));
	value_put(a, v, "urgency", value_cstr(a, status_name(&urgencies, (int)e->kind->urgency)));
	value_put(a, v, "why", value_cstr(a, e->kind->why));
	value_put(a, v, "detection", detection_of(a, e));
	value_put(a, v, "work", work_view(a, e->work));
	value_put(a, v, "if_unanswered", value_str(a, if_unanswered(a, e->x)));
	value_put(a, v, "snoozed", value_bool(a, e->later));
	value_put(a, v, "priority", value_int(a, e->priority));
	value_put(a, v, "blocks", value_int(a, (int64_t)e->blocks));
	value_put(a, v, "answers", value_str(a, inbox_words(a, e->x)));
	value_put(a, v, "commands", commands_of(a, e));
	value_put(a, v, "last_lines", value_str(a, entry_last_lines(s, e)));
	return v;
}

value *view_escalation(struct arena *a, const struct state *s, const struct escalation *x,
		ov_time now)
{
	struct entry e = entry_of(a, s, x, now);

	return entry_view(a, s, &e);
}

static bool is_of(const struct escalation *x, str goal)
{
	return !goal.n || str_eq(goal, x->goal_id);
}

int64_t view_inbox_later(const struct state *s, str goal, ov_time now)
{
	int64_t n = 0;

	for (size_t i = 0; i < s->escalations.n; i++)
		n += s->escalations.p[i]->status == ESC_OPEN &&
				s->escalations.p[i]->snoozed_until > now &&
				is_of(s->escalations.p[i], goal);
	return n;
}

value *view_inbox(struct arena *a, const struct state *s, str goal, ov_time now,
		enum inbox_part part)
{
	struct entry *entries = arena_array(a, struct entry, s->escalations.n + 1);
	value *list = value_array(a);
	size_t n = 0;

	for (size_t i = 0; i < s->escalations.n; i++) {
		const struct escalation *x = s->escalations.p[i];

		if (x->status == ESC_OPEN && is_of(x, goal) &&
				(part != INBOX_DUE || x->snoozed_until <= now))
			entries[n++] = entry_of(a, s, x, now);
	}
	qsort(entries, n, sizeof(*entries), rank_order);
	for (size_t i = 0; i < n; i++)
		value_push(a, list, entry_view(a, s, &entries[i]));
	/* What is over comes last, the newest first. */
	for (size_t i = s->escalations.n; part == INBOX_ALL && i-- > 0;) {
		const struct escalation *x = s->escalations.p[i];

		if (x->status != ESC_OPEN && is_of(x, goal))
			value_push(a, list, view_escalation(a, s, x, now));
	}
	return list;
}
