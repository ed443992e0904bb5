/* What is said to a run while it works, and what it says: sends, acknowledgements, reports. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/decide/ask.h"
#include "core/decide/check.h"
#include "core/decide/dispatch.h"
#include "core/decide/emit.h"
#include "core/decide/move.h"
#include "core/flow/flow.h"
#include "core/life/session.h"
#include "core/life/update.h"
#include "core/model/limits.h"
#include "core/prompt/prompt.h"
#include "core/recovery/recovery.h"
#include "data/value/json.h"

void send_ended(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o)
{
	const struct assignment *as = o->as;

	dispatch_settle(cx, fx->dispatch_id, o->ok ? RESULT_ACCEPTED : RESULT_ERROR, o->detail);
	/* The run ended meanwhile; that waited for this. */
	if (as && as->stage == STAGE_RUNNING && as->run && as->run->status == RUN_ENDED)
		assignment_move(cx, as, as->status == AS_STALLED ? AS_ACTIVE : as->status,
				STAGE_HARVEST, STR("the run ended"));
}

int decide_dispatch_ack(struct decide_ctx *cx, const struct msg_dispatch_ack *p,
		value **ret_result _unused_, struct ov_err *err)
{
	const struct dispatch *d = state_dispatch(cx->state, p->dispatch);
	const struct assignment *as = d ? state_assignment(cx->state, d->assignment_id) : NULL;

	if (!d || !as || !as->live || !str_eq(d->run_id, as->run_id))
		return ov_fail(err, OV_EFENCED, "that dispatch belongs to no live run");
	dispatch_settle(cx, d->id, RESULT_OK, p->how);
	return 0;
}

/*
 * An answer to one is an answer to all that were sent before it; but whoever has not taken a
 * person's words yet cannot have answered them.
 */
static void settle_sent(struct decide_ctx *cx, const struct assignment *as)
{
	for (size_t i = 0; i < as->dispatches.n; i++) {
		const struct dispatch *d = as->dispatches.p[i];

		if (d->mode == MODE_SEND && str_eq(d->run_id, as->run_id) &&
				d->result != RESULT_OK && !said_waits(as->node, d->id))
			dispatch_settle(cx, d->id, RESULT_OK, STR("the agent reported"));
	}
}

static struct ev_node_reported *emit_reported(struct decide_ctx *cx, const struct assignment *as,
		const struct msg_run_report *p, const value *update, str status)
{
	struct ev_node_reported *e = emit_node_reported(cx, about_assignment(as));

	e->identity = p->identity;
	e->offset = p->offset;
	e->update = update;
	e->status = status;
	return e;
}

/* What is wrong with it; empty when it can be taken. */
static str report_problem(struct decide_ctx *cx, const struct assignment *as,
		const struct msg_run_report *p, struct update_result *ret)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;
	value *whole = value_object(cx->arena);
	struct update_block block = { 0 };

	if (p->error.n)
		return p->error;
	if (p->update)
		value_put(cx->arena, whole, "overseerUpdate", value_copy(cx->arena, p->update));
	json_write(&text, whole);
	block.bytes = arena_str(cx->arena, buf_str(&text));
	update_parse(cx->arena, &block, NULL, 0, ret);
	if (ret->verdict != UPDATE_OK)
		return update_problems_text(cx->arena, ret);
	/* Never across assignments, whatever it says. */
	if (ret->update.goal_id.n && !str_eq(ret->update.goal_id, as->goal_id))
		return STR("goalId: it is the id of another goal");
	if (ret->update.work_node_id.n && !str_eq(ret->update.work_node_id, as->node_id))
		return STR("workNodeId: it is the id of another node");
	return STR("");
}

/* It says that it cannot go on: a person is asked, the run is ended, its work kept. */
static void report_blocked(struct decide_ctx *cx, const struct assignment *as,
		const struct update *u)
{
	_cleanup_(buf_done) struct buf why = BUF_INIT;
	const struct policy *p = cx->policy;
	str text;

	for (size_t i = 0; i < value_count(u->blockers); i++)
		buf_addf(&why, "%s" STR_FMT, why.n ? "; " : "",
				STR_ARG(value_str_or(value_item(u->blockers, i), STR(""))));
	if (!why.n)
		buf_adds(&why, u->summary.n ? u->summary : STR("the agent did not say why"));
	text = arena_str(cx->arena, buf_str(&why));
	escalate_about(cx, about_assignment(as),
			&(struct escalation_spec){ .ask = ASK_QUESTION,
					.question = text,
					.default_answer = p->default_after
							? STR("Decide yourself; prefer what "
							      "can be undone.")
							: STR(""),
					.expires_at = p->default_after ? cx->now + p->default_after
								       : 0 });
	node_block_as(cx, as->node, BLOCK_QUESTION, text,
			arena_printf(cx->arena, "agent " STR_FMT, STR_ARG(as->agent)),
			STR("a person answers"), 0);
	assignment_wind_down(cx, as, AS_BLOCKED, STR("its agent waits for an answer"));
}

/* Does it say anything that was not known? The same words again are no progress. */
static bool says_more(const struct node *n, const value *merged)
{
	_cleanup_(buf_done) struct buf text = BUF_INIT;

	json_write_canonical(&text, merged);
	return !str_eq(n->report.merged, buf_str(&text));
}

static void take_report(struct decide_ctx *cx, const struct assignment *as,
		const struct msg_run_report *p, const struct update *u)
{
	value *old = NULL;
	const value *merged;
	const char *status = u->status >= 0 ? status_name(&node_statuses, u->status) : "";
	bool more;

	if (as->node->report.merged.n)
		(void)json_parse(cx->arena, as->node->report.merged, NULL, &old, NULL);
	if (old && as->node->report.at < as->run->created_at)
		old = update_of_earlier_run(cx->arena, old);
	merged = update_merge(cx->arena, old, u);
	more = says_more(as->node, merged);
	emit_reported(cx, as, p, merged, str_from(status))->progress = more;
	settle_sent(cx, as);
	/* What is on its way to the target branch is not called back by late words. */
	if (u->status == NODE_BLOCKED && accept_check(as->node, NULL) == 0) {
		report_blocked(cx, as, u);
		return;
	}
	note_life(cx, as, cx->now, more ? LIFE_PROGRESS : LIFE_MESSAGE);
}

/*
 * From what a run wrote. Applied once: what lies before the run's offset was read already. A run of
 * an old epoch has nothing to say any more.
 */
int decide_run_report(struct decide_ctx *cx, const struct msg_run_report *p,
		value **ret_result _unused_, struct ov_err *err)
{
	const struct run *r = state_run(cx->state, p->run);
	const struct assignment *as = r ? state_assignment(cx->state, r->assignment_id) : NULL;
	struct update_result result = { 0 };
	str problem;

	if (!r || !as || !as->node || as->run != r || assignment_is_final(as) ||
			as->status == AS_BLOCKED)
		return ov_fail(err, OV_EFENCED, "run " STR_FMT " no longer speaks for its node",
				STR_ARG(p->run));
	if (p->offset <= r->update_offset)
		return 0;
	problem = report_problem(cx, as, p, &result);
	if (problem.n) {
		emit_reported(cx, as, p, value_object(cx->arena), STR(""))->error = problem;
		return 0;
	}
	take_report(cx, as, p, &result.update);
	return 0;
}
