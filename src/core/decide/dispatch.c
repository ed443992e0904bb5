#include "core/decide/dispatch.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/decide/move.h"
#include "core/prompt/prompt.h"
#include "data/id/sha256.h"

str dispatch_say(struct decide_ctx *cx, const struct assignment *as, const char *purpose, str text,
		str say)
{
	str id = make_id(cx, "D_"), hash = sha256_hex(cx->arena, text), nonce;
	struct ev_dispatch_intended *e = emit_dispatch_intended(cx, about_assignment(as));

	nonce = str_sub(id, id.n - 10, 10);
	e->dispatch = id;
	e->mode = str_from(status_name(&dispatch_modes, MODE_SEND));
	e->purpose = str_from(purpose);
	e->target = as->session_key;
	e->instruction = prompt_with_nonce(cx->arena, text, nonce);
	e->instruction_hash = hash;
	e->nonce = nonce;
	if (say.n)
		e->say = say;
	return hash;
}

str dispatch_send(struct decide_ctx *cx, const struct assignment *as, const char *purpose, str text,
		str say)
{
	str hash = dispatch_say(cx, as, purpose, text, say);
	str id = emitted_dispatch_intended(cx, cx->out->n - 1)->dispatch;

	effect_intend(cx, FX_SEND, make_id(cx, "X_"), about_assignment(as))->dispatch = id;
	return hash;
}

/* What goes into an agent's input is with it; what waits for its next stop is not before that. */
static bool is_taken(const struct decide_ctx *cx, const struct dispatch *d,
		enum dispatch_result result)
{
	const struct assignment *as = state_assignment(cx->state, d->assignment_id);
	const struct policy_agent *agent = as ? policy_agent(cx->policy, as->agent) : NULL;

	return result == RESULT_OK || (result == RESULT_ACCEPTED && agent && agent->input);
}

void dispatch_settle(struct decide_ctx *cx, str dispatch, enum dispatch_result result, str notes)
{
	const struct dispatch *d = state_dispatch(cx->state, dispatch);
	const struct node *n = d ? state_node(cx->state, d->goal_id, d->node_id) : NULL;
	struct ev_dispatch_result *e;

	if (!d || !status_may(&dispatch_results, (int)d->result, (int)result, false))
		return;
	e = emit_dispatch_result(cx,
			(struct subject){ d->goal_id, d->node_id, d->assignment_id, d->run_id });
	e->dispatch = d->id;
	e->result = str_from(status_name(&dispatch_results, (int)result));
	e->taken = n && said_waits(n, d->id) && is_taken(cx, d, result);
	if (notes.n)
		e->notes = notes;
}

/* A UUID of version 4, made as all ids are: of the time and the context's entropy. */
static str make_uuid(struct decide_ctx *cx)
{
	static const uint8_t dashes[] = { 4, 6, 8, 10, 16 };
	str seed = make_id(cx, "S_");
	uint8_t hash[SHA256_LEN];
	char hex[2 * SHA256_LEN + 1];
	str id = STR("");

	sha256(seed.p, seed.n, hash);
	hash[6] = (uint8_t)((hash[6] & 0x0f) | 0x40);
	hash[8] = (uint8_t)((hash[8] & 0x3f) | 0x80);
	hex_format(hash, 16, hex);
	for (size_t i = 0, from = 0; i < ARRAY_LEN(dashes); from = dashes[i++])
		id = arena_printf(cx->arena, STR_FMT "%s%.*s", STR_ARG(id), i ? "-" : "",
				(int)(2 * (dashes[i] - from)), hex + 2 * from);
	return id;
}

str session_for_run(struct decide_ctx *cx, const struct assignment *as, bool *ret_resume)
{
	const struct policy_agent *agent = policy_agent(cx->policy, as->agent);

	*ret_resume = session_resumes(cx->policy, as);
	if (*ret_resume)
		return as->session;
	return agent && agent->format && agent->format->names_session ? make_uuid(cx) : STR("");
}

void session_interrupt(struct decide_ctx *cx, const struct assignment *as, const char *purpose,
		str text, str reason)
{
	struct ev_assignment_moved *e = assignment_move(cx, as, AS_QUEUED, STAGE_STOP, reason);

	e->stopping = true;
	MAYBE_SET(e, feedback, text);
	MAYBE_SET(e, purpose, str_from(purpose));
	node_to(cx, as->node, NODE_QUEUED, reason);
}

void session_keep(struct decide_ctx *cx, const struct assignment *as)
{
	/* What a run that still lives has used of it is not known yet. */
	if (!session_resumes(cx->policy, as) || !as->run || as->run->status != RUN_ENDED)
		return;
	for (size_t i = cx->out->n; i-- > 0;)
		if (cx->out->p[i]->kind == EV_ASSIGNMENT_MOVED &&
				str_eq(cx->out->p[i]->assignment, as->id)) {
			emitted_assignment_moved(cx, i)->session_kept = true;
			return;
		}
}

void said_given(struct decide_ctx *cx, const struct node *n, const struct run *r)
{
	const value *list = said_list(cx->arena, n);

	for (size_t i = 0; i < value_count(list); i++) {
		const value *entry = value_item(list, i);
		struct ev_dispatch_result *e;

		/* Said to this very run: its instruction was older than that. */
		if (str_eq(value_str_at(entry, "run"), r->id))
			continue;
		e = emit_dispatch_result(cx,
				(struct subject){ r->goal_id, r->node_id, r->assignment_id,
						r->id });
		e->dispatch = value_str_at(entry, "dispatch");
		e->result = str_from(status_name(&dispatch_results, RESULT_OK));
		e->taken = true;
		e->notes = arena_printf(cx->arena, "given with run " STR_FMT, STR_ARG(r->id));
	}
}
