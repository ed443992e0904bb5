/*
 * Auto mode waits for a person: because too many tasks in a row were given up, because the pool's
 * command fails again and again, or because a command of the accept queue failed. There is one
 * entry of the inbox for it, whose answer ends the pause. The entries of tasks that were given up
 * become part of it, so that a night's failures are one thing to look at in the morning.
 */
#include "core/flow/auto.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "core/capacity/auto_mode.h"
#include "core/decide/ask.h"
#include "core/decide/move.h"
#include "core/inbox/inbox.h"
#include "core/recovery/recovery.h"
#include "core/text/redact.h"
#include "core/work/work.h"

enum { SHOWN_TASKS = 6 };

/* Is the entry about this very task, or about the pause that it is part of? */
static const struct escalation *entry_of(const struct state *s, const struct node *n)
{
	for (size_t i = 0; i < s->escalations.n; i++) {
		const struct escalation *x = s->escalations.p[i];

		if (x->status == ESC_OPEN && str_eq(x->goal_id, n->goal->id) &&
				str_eq(x->node_id, n->id))
			return x;
	}
	return NULL;
}

/* Its entry is part of the one about the pause: nobody else answers for it. */
static bool is_absorbed(const struct state *s, const struct node *n)
{
	return task_was_given_up(n) && !str_starts(n->block.by, STR("human:")) && !entry_of(s, n);
}

const struct escalation *auto_open_entry(const struct state *s, str text)
{
	const struct auto_mode *m = &s->automatic;

	for (size_t g = 0; g < s->goals.n; g++)
		for (size_t i = 0; s->goals.p[g]->automatic && i < s->goals.p[g]->nodes.n; i++) {
			const struct node *n = s->goals.p[g]->nodes.p[i];
			const struct escalation *x;

			if (!task_was_given_up(n) || !str_eq(n->def.objective, text))
				continue;
			x = entry_of(s, n);
			if (!x && m->pause_entry && is_absorbed(s, n))
				x = state_escalation(s, m->pause_entry);
			if (x && x->status == ESC_OPEN)
				return x;
		}
	return NULL;
}

void auto_pause(struct decide_ctx *cx, const char *cause, str reason, int64_t entry)
{
	struct ev_auto_paused *e;

	if (!cx->state->automatic.on || cx->state->automatic.pause_cause.n)
		return;
	for (size_t i = 0; i < cx->out->n; i++)
		if (cx->out->p[i]->kind == EV_AUTO_PAUSED)
			return;
	e = emit_auto_paused(cx, (struct subject){ 0 });
	e->cause = str_from(cause);
	e->reason = reason;
	e->escalation = entry;
}

void auto_pause_asking(struct decide_ctx *cx, const char *cause, str reason, str question)
{
	static const enum say retried[] = { SAY_RESUME, SAY_RETRY, SAY_STOP, SAY_TEXT };
	struct escalation_spec x = { .ask = ASK_AUTO, .question = question };

	if (!cx->state->automatic.on || cx->state->automatic.pause_cause.n)
		return;
	if (str_is(str_from(cause), PAUSE_FAILURES))
		x.options = inbox_options(cx->arena, retried);
	auto_pause(cx, cause, reason, escalate_about(cx, (struct subject){ 0 }, &x));
}

/* ---- too many tasks in a row ---- */

/* The newest first: what was given up, one after the other. */
static void show_tasks(struct decide_ctx *cx, struct buf *b)
{
	size_t shown = 0;

	for (size_t g = cx->state->goals.n; g-- > 0;) {
		const struct goal *goal = cx->state->goals.p[g];

		for (size_t i = goal->nodes.n; goal->automatic && i-- > 0 && shown < SHOWN_TASKS;)
			if (task_was_given_up(goal->nodes.p[i])) {
				show_failed_task(cx, b, goal->nodes.p[i]);
				shown++;
			}
	}
}

static void absorb(struct decide_ctx *cx, const struct escalation *x, int64_t into)
{
	escalation_close(cx, x, ESC_DISMISSED,
			arena_printf(cx->arena, "part of #%lld", (long long)into));
}

static const struct node *given_up(const struct state *s, const struct escalation *x)
{
	const struct node *n = x->status == ESC_OPEN && x->node_id.n
			? state_node(s, x->goal_id, x->node_id)
			: NULL;

	return n && task_was_given_up(n) ? n : NULL;
}

void tick_auto_pause(struct decide_ctx *cx, const struct decision *d)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	int64_t entry;

	buf_addf(&b,
			"auto mode is paused: " STR_FMT
			". No task is asked for, and no run of its tasks is started. Answer "
			"\"resume\" to continue with other tasks, \"retry\" to continue and try "
			"these again, or \"stop\"",
			STR_ARG(d->why));
	show_tasks(cx, &b);
	auto_pause_asking(cx, PAUSE_FAILURES, d->why, arena_str(cx->arena, buf_str(&b)));
	entry = emitted_auto_paused(cx, cx->out->n - 1)->escalation;
	for (size_t i = 0; i < cx->state->escalations.n; i++)
		if (given_up(cx->state, cx->state->escalations.p[i]))
			absorb(cx, cx->state->escalations.p[i], entry);
}

/* One that was under way when the others were given up, and was given up itself. */
void tick_auto_absorb(struct decide_ctx *cx, const struct decision *d)
{
	absorb(cx, d->escalation, cx->state->automatic.pause_entry);
}

/* ---- the end of it ---- */

static void auto_resume(struct decide_ctx *cx, str reason)
{
	struct ev_auto_resumed *e;

	if (!cx->state->automatic.pause_cause.n)
		return;
	e = emit_auto_resumed(cx, (struct subject){ 0 });
	e->reason = reason;
	e->recount = true;
}

void tick_auto_resume(struct decide_ctx *cx, const struct decision *d)
{
	auto_resume(cx, d->why);
}

void auto_recount(struct decide_ctx *cx, size_t from)
{
	for (size_t i = from; i < cx->out->n; i++) {
		const struct event *e = cx->out->p[i];
		const struct node *n = e->kind == EV_NODE_STATUS
				? state_node(cx->state, e->goal, e->node)
				: NULL;

		if (n && task_was_given_up(n) && str_starts(cx->actor, STR("human:")))
			emitted_node_status(cx, i)->recount = true;
	}
}

/* They stay as they are, and who answered knows of them; or they are tried again. */
static void settle_absorbed(struct decide_ctx *cx, bool retry, str reason)
{
	for (size_t g = 0; g < cx->state->goals.n; g++) {
		const struct goal *goal = cx->state->goals.p[g];

		for (size_t i = 0; goal->automatic && i < goal->nodes.n; i++) {
			const struct node *n = goal->nodes.p[i];

			if (!is_absorbed(cx->state, n))
				continue;
			if (retry)
				work_unblock(cx, n, reason);
			else
				node_blocked_by(cx, n, cx->actor);
		}
	}
}

void auto_pause_settle(struct decide_ctx *cx, const struct escalation *x, enum say say, str text)
{
	const struct auto_mode *m = &cx->state->automatic;
	str reason = arena_printf(cx->arena, "#%lld was answered: " STR_FMT, (long long)x->number,
			STR_ARG(text));

	if (str_is(m->pause_cause, PAUSE_FAILURES))
		settle_absorbed(cx, say == SAY_RETRY, reason);
	auto_resume(cx, reason);
	if (say == SAY_STOP)
		auto_switch_off(cx, reason);
}

void auto_pause_close(struct decide_ctx *cx, str answer)
{
	const struct escalation *x = state_escalation(cx->state, cx->state->automatic.pause_entry);

	if (!x || x->status != ESC_OPEN || x->ask != ASK_AUTO)
		return;
	escalation_close(cx, x, ESC_ANSWERED, answer);
	auto_pause_settle(cx, x, SAY_TEXT, answer);
}
