/*
 * Agents that fail again and again, on several tasks of ordinary goals: their lane waits until a
 * person answers. There is one entry of the inbox for it. The entries of tasks that were given up
 * because of the agent become part of it, and its answer has these tasks tried again.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/capacity/lane.h"
#include "core/decide/ask.h"
#include "core/decide/emit.h"
#include "core/decide/move.h"
#include "core/inbox/inbox.h"
#include "core/recovery/recovery.h"
#include "core/text/redact.h"
#include "core/work/work.h"

enum { SHOWN_TASKS = 6, REASON_BYTES = 400, WORDS_BYTES = 300 };

/* It failed, and its next run waits for the agent now. */
static bool is_retried(const struct node *n, str agent)
{
	const struct assignment *as = n->assignment;

	return !n->goal->automatic && n->status == NODE_QUEUED && as && as->attempt &&
			as->stage == STAGE_START && str_eq(as->agent, agent);
}

/* The newest first. */
static void show_tasks(struct decide_ctx *cx, struct buf *b, str agent, ov_time since)
{
	size_t shown = 0;

	for (size_t g = cx->state->goals.n; g-- > 0;)
		for (size_t i = cx->state->goals.p[g]->nodes.n; i-- > 0 && shown < SHOWN_TASKS;) {
			const struct node *n = cx->state->goals.p[g]->nodes.p[i];

			if (n->updated_at < since || !(failed_by(n, agent) || is_retried(n, agent)))
				continue;
			show_failed_task(cx, b, n);
			shown++;
		}
}

static void absorb(struct decide_ctx *cx, const struct escalation *x, int64_t into)
{
	if (!escalation_is_closing(cx, x->number))
		escalation_close(cx, x, ESC_DISMISSED,
				arena_printf(cx->arena, "part of #%lld", (long long)into));
}

/* Its lane waits until a person answers: whatever it is given would end the same way. */
void tick_agent_failing(struct decide_ctx *cx, const struct decision *d)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	ov_time since = failing_since(cx->state, d->agent);
	struct ev_agent_limited *e = emit_agent_limited(cx, (struct subject){ 0 });
	int64_t entry;

	e->agent = d->agent;
	e->kind = str_from(status_name(&block_kinds, BLOCK_FAILING));
	e->detail = d->why;
	e->times = 1;
	buf_addf(&b,
			"agent " STR_FMT " is out of service: " STR_FMT
			". It is given no more work. `overseer agent test " STR_FMT
			"` tries it out. Answer \"resume\" to use it again and to retry the tasks "
			"that "
			"it failed at",
			STR_ARG(d->agent), STR_ARG(d->why), STR_ARG(d->agent));
	show_tasks(cx, &b, d->agent, since);
	entry = escalate_about(cx, (struct subject){ 0 },
			&(struct escalation_spec){ .ask = ASK_FAILING,
					.question = arena_str(cx->arena, buf_str(&b)) });
	for (size_t i = 0; i < cx->state->escalations.n; i++)
		if (failing_absorbs(cx->state, d->agent, cx->state->escalations.p[i]))
			absorb(cx, cx->state->escalations.p[i], entry);
}

/* One that was under way when the agent was taken out of service, and was given up since. */
void tick_agent_absorb(struct decide_ctx *cx, const struct decision *d)
{
	const struct lane *l = state_lane(cx->state, d->agent);
	const struct escalation *into = l ? lane_entry(cx->state, l) : NULL;

	if (into)
		absorb(cx, d->escalation, into->number);
}

/* Nobody was asked about it alone. */
static bool is_absorbed(const struct state *s, const struct node *n)
{
	for (size_t i = 0; i < s->escalations.n; i++) {
		const struct escalation *x = s->escalations.p[i];

		if (x->status == ESC_OPEN && str_eq(x->goal_id, n->goal->id) &&
				str_eq(x->node_id, n->id))
			return false;
	}
	return true;
}

void failing_answered(struct decide_ctx *cx, const struct escalation *x)
{
	const struct lane *l = lane_asked_by(cx->state, x);
	str reason = STR("a person says that its agent can be used again");

	if (!l)
		return;
	lane_clear(cx, l->agent, STR("a person says that it can be used again"));
	for (size_t g = 0; g < cx->state->goals.n; g++)
		for (size_t i = 0; i < cx->state->goals.p[g]->nodes.n; i++) {
			const struct node *n = cx->state->goals.p[g]->nodes.p[i];

			if (failed_by(n, l->agent) && is_absorbed(cx->state, n))
				work_unblock(cx, n, reason);
		}
}

/* What its agent said last, as far as that is known and not the reason already. */
static str last_words(struct decide_ctx *cx, const struct node *n)
{
	const struct run *r = n->assignment ? n->assignment->run : NULL;
	str said = !r                     ? STR("")
			: r->last_lines.n ? r->last_lines
					  : r->message,
	    words = str_trim(redact(cx->arena, said));

	if (!words.n || str_contains(n->status_reason, words))
		return STR("");
	if (words.n > WORDS_BYTES)
		words = utf8_clean(cx->arena, str_sub(words, words.n - WORDS_BYTES, WORDS_BYTES));
	return words;
}

void show_failed_task(struct decide_ctx *cx, struct buf *b, const struct node *n)
{
	str words = last_words(cx, n);

	buf_addf(b, "\n" STR_FMT " \"" STR_FMT "\": " STR_FMT, STR_ARG(n->key),
			STR_ARG(utf8_truncate(n->def.name, 100)),
			STR_ARG(utf8_truncate(redact(cx->arena, n->status_reason), REASON_BYTES)));
	if (words.n)
		buf_addf(b, "\n  its agent said: " STR_FMT, STR_ARG(words));
}
