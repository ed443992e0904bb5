/*
 * What is heard of a run about itself and its session: that it is ready, how it ended, and what it
 * says kept it from its work. Each trouble has its consequences in a table: the agent's lane waits,
 * the session is not gone on with, or the run simply failed and the next one goes on where
 * it stopped.
 */
#include "agent/fact/reset_time.h"
#include "agent/fact/said_limit.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/decide/ask.h"
#include "core/decide/dispatch.h"
#include "core/decide/emit.h"
#include "core/decide/move.h"
#include "core/flow/flow.h"
#include "core/flow/upkeep.h"
#include "core/goal/spending.h"
#include "core/life/session.h"
#include "core/model/limits.h"
#include "core/recovery/recovery.h"
#include "core/text/last_lines.h"
#include "core/text/redact.h"
#include "data/id/sha256.h"

/* A run that is over or is not the newest has no session to be gone on with any more. */
int decide_run_session(struct decide_ctx *cx, const struct msg_run_session *p,
		value **ret_result _unused_, struct ov_err *err)
{
	const struct run *r = state_run(cx->state, p->run);
	const struct assignment *as = r ? state_assignment(cx->state, r->assignment_id) : NULL;
	str session = p->session, model = p->model;
	struct ev_run_session *e;

	if (!as || as->run != r || r->status == RUN_ENDED || !as->live)
		return ov_fail(err, OV_EFENCED, "run " STR_FMT " no longer speaks for its node",
				STR_ARG(p->run));
	if (!session.n || session.n > LIMIT_NAME || model.n > LIMIT_NAME)
		return ov_fail(err, OV_EINVALID, "a session is a text of 1 to %d bytes",
				LIMIT_NAME);
	said_given(cx, as->node, r);
	if (r->ready && str_eq(r->session, session) && str_eq(r->model, model))
		return 0;
	e = emit_run_session(cx, about_assignment(as));
	e->session = session;
	e->model = model;
	return 0;
}

/* By what it said; where it says nothing about it, by how its process ended. */
static bool end_is_ok(const struct msg_run_end *p)
{
	if (p->verdict.n)
		return str_is(p->verdict, "ok");
	return p->exit_code == 0 && !p->lost;
}

/* A number of the exit record, where it has it. */
#define COPY_NUM(e, p, name)                           \
	do {                                           \
		if ((p)->has_##name)                   \
			MAYBE_SET(e, name, (p)->name); \
	} while (0)

static void copy_numbers(struct ev_run_ended *e, const struct msg_run_end *p)
{
	COPY_NUM(e, p, output_bytes);
	COPY_NUM(e, p, dropped_bytes);
	COPY_NUM(e, p, swept);
	COPY_NUM(e, p, ended_at_ms);
	COPY_NUM(e, p, ran_ms);
	COPY_NUM(e, p, turns);
	COPY_NUM(e, p, tool_calls);
	COPY_NUM(e, p, tool_repeats);
	COPY_NUM(e, p, tokens);
	COPY_NUM(e, p, tokens_input);
	COPY_NUM(e, p, tokens_output);
	COPY_NUM(e, p, tokens_cache_read);
	COPY_NUM(e, p, tokens_cache_write);
	COPY_NUM(e, p, cost_microusd);
	COPY_NUM(e, p, resets_at_ms);
}

static void put_end(struct decide_ctx *cx, struct ev_run_ended *e, const struct msg_run_end *p)
{
	e->exit_code = p->exit_code;
	e->signal = p->signal;
	e->lost = p->lost;
	copy_numbers(e, p);
	e->verdict = p->verdict;
	e->cost_source = p->cost_source;
	e->unknown = p->unknown;
	e->containment = p->containment;
	e->sandbox = p->sandbox;
	e->tool = p->tool;
	e->tool_digest = p->tool_digest;
	e->denied = p->denied;
	e->limit = p->limit;
	e->session_usage = p->session_usage;
	if (p->message.n)
		MAYBE_SET(e, message, p->message);
	if (!end_is_ok(p))
		e->last_lines = last_lines(cx->arena, redact(cx->arena, p->last_lines));
}

/*
 * By its last words, where nothing better is known. Of an agent that was killed, or whose exit
 * status says it, they are not needed.
 */
static enum trouble words_trouble(struct decide_ctx *cx, const struct assignment *as,
		struct ev_run_ended *e, const struct msg_run_end *p)
{
	const struct policy_agent *agent = policy_agent(cx->policy, as->agent);
	enum trouble known = p->trouble, said;
	bool raw = !p->verdict.n;
	int64_t wait;
	ov_time at;
	str line;

	if (end_is_ok(p) || !agent || p->signal || end_is_limit(cx->policy, as, e) ||
			(known != TROUBLE_NONE && known != TROUBLE_OTHER &&
					known != TROUBLE_UNFINISHED))
		return known;
	said = said_trouble(e->last_lines, &agent->said, raw, &line);
	if (said == TROUBLE_NONE)
		return known;
	trouble_when(line, &at, &wait);
	if (!at)
		at = wait ? cx->now + wait : reset_time(line, cx->now, cx->policy->utc_offset);
	if (said == TROUBLE_RATE_LIMITED && at && !p->has_resets_at_ms)
		MAYBE_SET(e, resets_at_ms, at);
	if (!p->known_by.n)
		e->known_by = str_from(status_name(&fact_signs, SIGN_STREAM));
	return said;
}

/*
 * What follows from its trouble is said in the event: the rules may change, what was done has not.
 */
static void put_verdict(struct decide_ctx *cx, const struct assignment *as, struct ev_run_ended *e,
		const struct msg_run_end *p, const struct run *r)
{
	/* One that was resumed has what the runs before said. */
	bool empty = p->session_empty && !r->resumed;
	enum trouble trouble = words_trouble(cx, as, e, p);
	const struct trouble_rule *rule = &trouble_rules[trouble];

	if (trouble == TROUBLE_NONE || end_is_ok(p))
		return;
	e->trouble = str_from(trouble_name(trouble));
	if (p->known_by.n)
		e->known_by = p->known_by;
	e->session_forgotten = rule->forget || empty;
	if (rule->limit != BLOCK_NONE && !e->limit.n)
		e->limit = str_from(status_name(&block_kinds, (int)rule->limit));
}

/* It took too long or said nothing, and is over: an answer would be about the next one. */
static void told_no_more(struct decide_ctx *cx, const struct run *r)
{
	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status == ESC_OPEN &&
				(x->ask == ASK_OVERDUE || x->ask == ASK_MUTE ||
						x->ask == ASK_PERMISSION) &&
				str_eq(x->assignment_id, r->assignment_id))
			escalation_close(cx, x, ESC_DISMISSED, STR("the run ended"));
	}
}

/* One that was stopped or failed shows how long trouble is silent, not work. */
static void learn_silence(struct decide_ctx *cx, const struct run *r, const struct msg_run_end *p)
{
	struct ev_silence_learned *e;

	if (value_count(p->silences) == 0)
		return;
	e = emit_silence_learned(cx,
			(struct subject){ r->goal_id, r->node_id, r->assignment_id, r->id });
	e->agent = r->agent;
	if (r->model.n)
		e->model = r->model;
	e->silences = value_copy(cx->arena, p->silences);
}

int decide_run_end(struct decide_ctx *cx, const struct msg_run_end *p, value **ret_result,
		struct ov_err *err)
{
	const struct run *r = state_run(cx->state, p->run);
	const struct assignment *as = r ? state_assignment(cx->state, r->assignment_id) : NULL;
	bool unheard = r && r->status == RUN_STARTING;
	struct ev_run_ended *e;

	(void)ret_result, (void)err;
	if (!r || r->status == RUN_ENDED || !as)
		return 0;
	/* A short run can end before the outcome of its start is told: then the end tells both. */
	if (unheard && as->effect && as->effect->kind == FX_RUN_START)
		effect_ended(cx, as->effect, ENDED_OK, STR(""));
	if (unheard)
		emit_run_started(cx, about_assignment(as));
	dispatch_settle(cx, r->dispatch_id, end_is_ok(p) ? RESULT_OK : RESULT_ERROR, p->message);
	e = emit_run_ended(cx, (struct subject){ r->goal_id, r->node_id, r->assignment_id, r->id });
	put_end(cx, e, p);
	put_verdict(cx, as, e, p, r);
	e->keeps_repairs = upkeep_counts_on(cx, as);
	run_spent(cx, r, as, e);
	if (end_is_ok(p) && !as->stopping)
		learn_silence(cx, r, p);
	/* Whoever did the work had its instruction, also when nothing was heard of its session. */
	if (end_is_ok(p) && as->node && as->run == r)
		said_given(cx, as->node, r);
	if (r->overdue || r->mute_at || r->asked_at)
		told_no_more(cx, r);
	/*
	 * A stop that is still being delivered ends as an effect of its own and finds the run over.
	 */
	if (as->run == r && (!as->effect || unheard))
		assignment_move(cx, as,
				as->status == AS_DISPATCHED || as->status == AS_STALLED
						? AS_ACTIVE
						: as->status,
				STAGE_HARVEST, STR("the run ended"));
	return 0;
}
