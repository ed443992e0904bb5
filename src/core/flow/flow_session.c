/*
 * What is heard of a run about itself and its session: that it is ready, how it ended, and what it
 * says kept it from its work. Each trouble has its consequences in a table: the agent's lane waits, the
 * session is not gone on with, or the run simply failed and the next one goes on where it stopped.
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

/*
 * {"run", "session", "model"}: it is ready. Told again by every daemon that reads the run's output
 * anew; a run that is over or is not the newest has no session to be gone on with any more.
 */
int decide_run_session(struct decide_ctx *cx, const value *params, value **ret_result _unused_,
		struct ov_err *err)
{
	const struct run *r = state_run(cx->state, value_str_at(params, "run"));
	const struct assignment *as = r ? state_assignment(cx->state, r->assignment_id) : NULL;
	str session = value_str_at(params, "session"), model = value_str_at(params, "model");
	struct ev_run_session *e;

	if (!as || as->run != r || r->status == RUN_ENDED || !as->live)
		return ov_fail(err, OV_EFENCED, "run " STR_FMT " no longer speaks for its node",
				STR_ARG(value_str_at(params, "run")));
	if (!session.n || session.n > LIMIT_NAME || model.n > LIMIT_NAME)
		return ov_fail(err, OV_EINVALID, "a session is a text of 1 to %d bytes",
				LIMIT_NAME);
	said_given(cx, as->node, r);
	if (r->ready && str_eq(r->session, session) && str_eq(r->model, model))
		return 0;
	e = emit_run_session(cx, about_assignment(as));
	e->session = session;
	if (model.n)
		e->model = model;
	return 0;
}

/* By what it said; where it says nothing about it, by how its process ended. */
static bool end_is_ok(const value *params)
{
	if (value_str_at(params, "verdict").n)
		return str_is(value_str_at(params, "verdict"), "ok");
	return value_int_at(params, "exit_code") == 0 && !value_bool_at(params, "lost");
}

/* A number of the exit record, where it has it. */
#define COPY_NUM(e, params, name)                                        \
	do {                                                             \
		if (value_at(params, #name))                             \
			MAYBE_SET(e, name, value_int_at(params, #name)); \
	} while (0)

static void copy_numbers(struct ev_run_ended *e, const value *params)
{
	COPY_NUM(e, params, output_bytes);
	COPY_NUM(e, params, dropped_bytes);
	COPY_NUM(e, params, swept);
	COPY_NUM(e, params, ended_at_ms);
	COPY_NUM(e, params, ran_ms);
	COPY_NUM(e, params, turns);
	COPY_NUM(e, params, tool_calls);
	COPY_NUM(e, params, tool_repeats);
	COPY_NUM(e, params, tokens);
	COPY_NUM(e, params, tokens_input);
	COPY_NUM(e, params, tokens_output);
	COPY_NUM(e, params, tokens_cache_read);
	COPY_NUM(e, params, tokens_cache_write);
	COPY_NUM(e, params, cost_microusd);
	COPY_NUM(e, params, resets_at_ms);
}

static void put_end(struct decide_ctx *cx, struct ev_run_ended *e, const value *params)
{
	e->exit_code = value_int_at(params, "exit_code");
	e->signal = value_int_at(params, "signal");
	e->lost = value_bool_at(params, "lost");
	copy_numbers(e, params);
	e->verdict = value_str_at(params, "verdict");
	e->cost_source = value_str_at(params, "cost_source");
	e->unknown = value_str_at(params, "unknown");
	e->containment = value_str_at(params, "containment");
	e->sandbox = value_str_at(params, "sandbox");
	e->tool = value_str_at(params, "tool");
	e->tool_digest = value_str_at(params, "tool_digest");
	e->denied = value_str_at(params, "denied");
	e->limit = value_str_at(params, "limit");
	e->session_usage = value_at(params, "session_usage");
	if (value_str_at(params, "message").n)
		MAYBE_SET(e, message, value_str_at(params, "message"));
	if (!end_is_ok(params))
		e->last_lines = last_lines(cx->arena,
				redact(cx->arena, value_str_at(params, "last_lines")));
}

/*
 * By its last words, where nothing better is known. Of an agent that was killed, or whose exit status says
 * it, they are not needed.
 */
static enum trouble words_trouble(struct decide_ctx *cx, const struct assignment *as,
		struct ev_run_ended *e, const value *params)
{
	int told = trouble_parse(value_str_at(params, "trouble"));
	const struct policy_agent *agent = policy_agent(cx->policy, as->agent);
	enum trouble known = told < 0 ? TROUBLE_NONE : (enum trouble)told, said;
	bool raw = !value_str_at(params, "verdict").n;
	int64_t wait;
	ov_time at;
	str line;

	if (end_is_ok(params) || !agent || value_int_at(params, "signal") ||
			end_is_limit(cx->policy, as, e) ||
			(known != TROUBLE_NONE && known != TROUBLE_OTHER &&
					known != TROUBLE_UNFINISHED))
		return known;
	said = said_trouble(e->last_lines, &agent->said, raw, &line);
	if (said == TROUBLE_NONE)
		return known;
	trouble_when(line, &at, &wait);
	if (!at)
		at = wait ? cx->now + wait : reset_time(line, cx->now, cx->policy->utc_offset);
	if (said == TROUBLE_RATE_LIMITED && at && !value_at(params, "resets_at_ms"))
		MAYBE_SET(e, resets_at_ms, at);
	if (!value_str_at(params, "known_by").n)
		e->known_by = str_from(status_name(&fact_signs, SIGN_STREAM));
	return said;
}

/* What follows from its trouble is said in the event: the rules may change, what was done has not. */
static void put_verdict(struct decide_ctx *cx, const struct assignment *as, struct ev_run_ended *e,
		const value *params, const struct run *r)
{
	/* One that was resumed has what the runs before said. */
	bool empty = value_bool_at(params, "session_empty") && !r->resumed;
	enum trouble trouble = words_trouble(cx, as, e, params);
	const struct trouble_rule *rule = &trouble_rules[trouble];

	if (trouble == TROUBLE_NONE || end_is_ok(params))
		return;
	e->trouble = str_from(trouble_name(trouble));
	if (value_str_at(params, "known_by").n)
		e->known_by = value_str_at(params, "known_by");
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
static void learn_silence(struct decide_ctx *cx, const struct run *r, const value *params)
{
	const value *silences = value_at(params, "silences");
	struct ev_silence_learned *e;

	if (value_count(silences) == 0)
		return;
	e = emit_silence_learned(cx,
			(struct subject){ r->goal_id, r->node_id, r->assignment_id, r->id });
	e->agent = r->agent;
	if (r->model.n)
		e->model = r->model;
	e->silences = value_copy(cx->arena, silences);
}

/* {"run", "exit_code", "signal", "lost", ...} from the run's exit record. */
int decide_run_end(struct decide_ctx *cx, const value *params, value **ret_result,
		struct ov_err *err)
{
	const struct run *r = state_run(cx->state, value_str_at(params, "run"));
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
	dispatch_settle(cx, r->dispatch_id, end_is_ok(params) ? RESULT_OK : RESULT_ERROR,
			value_str_at(params, "message"));
	e = emit_run_ended(cx, (struct subject){ r->goal_id, r->node_id, r->assignment_id, r->id });
	put_end(cx, e, params);
	put_verdict(cx, as, e, params, r);
	e->keeps_repairs = upkeep_counts_on(cx, as);
	run_spent(cx, r, as, e);
	if (end_is_ok(params) && !as->stopping)
		learn_silence(cx, r, params);
	/* Whoever did the work had its instruction, also when nothing was heard of its session. */
	if (end_is_ok(params) && as->node && as->run == r)
		said_given(cx, as->node, r);
	if (r->overdue || r->mute_at || r->asked_at)
		told_no_more(cx, r);
	/* A stop that is still being delivered ends as an effect of its own and finds the run over. */
	if (as->run == r && (!as->effect || unheard))
		assignment_move(cx, as,
				as->status == AS_DISPATCHED || as->status == AS_STALLED
						? AS_ACTIVE
						: as->status,
				STAGE_HARVEST, STR("the run ended"));
	return 0;
}
