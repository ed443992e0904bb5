/*
 * A run that speaks a format: what it says goes into its account, from there to the tick as
 * telemetry, and to the engine where it changes what is known. Everything is told all over again to
 * a daemon that finds the run after a restart; what the state knows already is not reported twice.
 */
#include "app/exec/executor_impl.h"

#include "app/agents/agent.h"
#include "app/engine/engine.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/capacity/budget.h"
#include "core/model/limits.h"
#include "core/policy/price.h"
#include "core/text/redact.h"
#include "data/value/json.h"
#include "sys/file/file.h"
#include "sys/host/inject.h"
#include "sys/loop/loop.h"

enum { ERRORS_READ = 256 * 1024, ERRORS_TOLD = 2000, SESSIONS_MAX = 32 };

/* What the session had used before this run, where it goes on with one. */
static void baseline(struct arena *a, const struct run *r, const struct assignment *as,
		struct usage *ret, int64_t *ret_cost)
{
	value *v = NULL;

	*ret = (struct usage){ 0 };
	*ret_cost = 0;
	if (!r->resumed || !as || !as->session_usage.n ||
			json_parse(a, as->session_usage, NULL, &v, NULL) < 0)
		return;
	*ret = (struct usage){ .input = value_int_at(v, "input"),
		.output = value_int_at(v, "output"),
		.cache_read = value_int_at(v, "cache_read"),
		.cache_write = value_int_at(v, "cache_write") };
	*ret_cost = value_int_at(v, "cost_microusd");
}

void live_account_init(struct live_run *lr, const struct run *r)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct usage before;
	int64_t cost;

	baseline(&a, r, state_assignment(engine_state(lr->x->engine), r->assignment_id), &before,
			&cost);
	lr->account = mem_zalloc(1, sizeof(*lr->account));
	account_init(lr->account, &before, cost);
	lr->account->utc_offset = lr->x->o.config->policy.utc_offset;
	lr->account->tells_late = lr->driver->format(lr->run)->tells_late;
	/* The hearing is told messages from the first one on. */
	run_output_restart(&lr->run_output, 0);
	map_put(&lr->x->accounts, lr->id, lr->account);
}

void live_account_done(struct live_run *lr)
{
	map_remove(&lr->x->accounts, lr->id);
	mem_free(lr->account);
}

static int64_t tokens_of(const struct usage *u)
{
	return u->input + u->output + u->cache_read + u->cache_write;
}

/* As it says, or as it was told: not every agent names its model. */
static str model_of(const struct live_run *lr)
{
	const struct run *r = state_run(engine_state(lr->x->engine), lr->id);
	const struct config_agent *agent = r ? config_agent(lr->x->o.config, r->agent) : NULL;
	str model = str_from(lr->account->model);

	return model.n || !agent ? model : agent->model;
}

/*
 * As the agent says, else by the prices of the tokens that it told; none is none told. No source:
 * it is not known, but for the least that it was.
 */
static int64_t cost_of(const struct live_run *lr, const char **ret_source)
{
	const struct account *c = lr->account;
	int64_t cost = account_cost(c);

	*ret_source = "agent";
	if (cost >= 0)
		return cost;
	cost = account_usage_untrue(c) || !tokens_of(&c->usage)
			? COST_UNKNOWN
			: price_of(&lr->x->o.config->policy.prices, model_of(lr), &c->usage);
	*ret_source = cost >= 0 ? "prices" : NULL;
	return cost >= 0 ? cost : MAX(c->cost_microusd, (int64_t)0);
}

static void tell_session(struct live_run *lr)
{
	struct engine *e = lr->x->engine;
	const struct run *r = state_run(engine_state(e), lr->id);
	str session = str_from(lr->account->session), model = model_of(lr);

	if (!r || !session.n ||
			(r->ready && str_eq(r->session, session) && str_eq(r->model, model)))
		return;
	/* An honest one has one session, and falls back to few models. */
	if (lr->sessions_told == SESSIONS_MAX)
		return;
	lr->sessions_told++;
	INJECT("before-run-session");
	tell_run_session(e, &(struct msg_run_session){ lr->id, session, model });
	INJECT("after-run-session");
}

/*
 * So much was used since the tick was last asked that it has to judge the budget again? By the
 * budget as it is now: it may have been lowered since.
 */
static bool passes_mark(struct live_run *lr, enum resource resource, int64_t used, int64_t *asked)
{
	const struct state *s = engine_state(lr->x->engine);
	const struct run *r = state_run(s, lr->id);
	const struct goal *g = r ? state_goal(s, r->goal_id) : NULL;

	if (!g ||
			used < budget_next_mark(&lr->x->o.config->policy, g, resource, *asked,
					       loop_now(lr->x->o.loop)))
		return false;
	*asked = used;
	return true;
}

void live_account_told(struct live_run *lr)
{
	const struct account *c = lr->account;
	struct executor *x = lr->x;
	int64_t tokens = tokens_of(&c->usage), cost;
	bool waits = c->waiting_for[0] != '\0';
	const char *source;

	cost = cost_of(lr, &source);
	observe_account(x->observe, lr->id, c, tokens, cost);
	/* Only what a tick would judge otherwise is worth one. */
	if (waits != lr->waits ||
			(c->calls.same >= LOOP_CALLS_LEAST && c->calls.same > lr->same_calls) ||
			(c->life_at > lr->life_at && run_output_is_awaited(x->engine, lr->id)) ||
			passes_mark(lr, RES_TOKENS, tokens, &lr->tokens_asked) ||
			passes_mark(lr, RES_COST_MICROUSD, cost, &lr->cost_asked))
		engine_touch(x->engine);
	lr->waits = waits;
	lr->same_calls = c->calls.same;
	lr->life_at = c->life_at;
}

void executor_clock_moved(struct executor *x, ov_time by)
{
	void *found;
	size_t i = 0;
	str id;

	if (!by)
		return;
	observe_clock_moved(x->observe, by);
	while (map_next(&x->runs, &i, &id, &found)) {
		struct live_run *lr = found;

		if (lr->repeats)
			repeats_clock_moved(lr->repeats, by);
		if (!lr->account)
			continue;
		account_clock_moved(lr->account, by);
		lr->life_at += by;
	}
}

void live_fact(void *user, const struct fact *f, ov_time at)
{
	struct live_run *lr = user;

	account_fact(lr->account, f, at);
	if ((f->kind == FACT_READY || f->kind == FACT_MODEL) && !f->child)
		tell_session(lr);
	/* What a sub-agent says is not said to us; what a hook says stands in the output, too. */
	if (f->kind == FACT_MESSAGE && !f->child && f->offset)
		run_output_message(&lr->run_output, f->text, f->offset);
	live_account_told(lr);
}

void live_taken(void *user, str dispatch_id)
{
	struct live_run *lr = user;

	run_output_taken(&lr->run_output, dispatch_id);
}

/* ---- its end ---- */

/* Where the next run of the session counts from. */
static value *session_usage(struct arena *a, const struct account *c)
{
	value *v = value_object(a);

	value_put(a, v, "input", value_int(a, c->baseline.input + c->usage.input));
	value_put(a, v, "output", value_int(a, c->baseline.output + c->usage.output));
	value_put(a, v, "cache_read", value_int(a, c->baseline.cache_read + c->usage.cache_read));
	value_put(a, v, "cache_write",
			value_int(a, c->baseline.cache_write + c->usage.cache_write));
	value_put(a, v, "cost_microusd",
			value_int(a, c->cost_baseline + MAX(c->cost_microusd, (int64_t)0)));
	return v;
}

/* What it said before it could say anything in order: a wrong option, a missing library. */
static str last_errors(struct arena *a, const struct live_run *lr)
{
	str text;

	if (file_read(a, path_join(a, lr->dir, "errors"), ERRORS_READ, &text, NULL) < 0)
		return STR("");
	/* Before it is cut: what is left of a secret would not be known for one. */
	text = str_trim(redact(a, text));
	return str_sub(text, text.n > ERRORS_TOLD ? text.n - ERRORS_TOLD : 0, ERRORS_TOLD);
}

static str fact_joined(struct arena *a, str one, str two)
{
	return !one.n ? two
			: !two.n
			? one
			: arena_printf(a, STR_FMT "; " STR_FMT, STR_ARG(one), STR_ARG(two));
}

static void put_verdict(struct arena *a, const struct live_run *lr, const struct run_end *end,
		struct msg_run_end *m)
{
	const struct account *c = lr->account;
	struct account_verdict verdict = account_judge(c, end->exit_code, end->signal, end->lost);
	str message = end->message;

	m->verdict = verdict.ok ? STR("ok") : STR("failed");
	if (verdict.ok)
		return;
	m->trouble = verdict.trouble;
	if (c->trouble_sign != SIGN_NONE)
		m->known_by = str_from(status_name(&fact_signs, (int)c->trouble_sign));
	m->session_empty = c->session_empty;
	if (c->resets_at)
		MAYBE_SET(m, resets_at_ms, c->resets_at);
	message = fact_joined(a, message, verdict.text);
	if (!c->ready)
		message = fact_joined(a, message, last_errors(a, lr));
	m->message = utf8_clean(a, message);
}

void live_account_end(struct arena *a, const struct live_run *lr, const struct run_end *end,
		struct msg_run_end *m)
{
	const struct account *c = lr->account;
	const char *source;
	int64_t cost = cost_of(lr, &source);

	put_verdict(a, lr, end, m);
	m->denied = utf8_clean(a, account_denied(a, c));
	MAYBE_SET(m, turns, c->turns);
	MAYBE_SET(m, tool_calls, c->tool_calls);
	/* Once is no repetition. */
	if (c->calls.most > 1) {
		m->tool = utf8_clean(a, str_from(c->calls.text));
		m->tool_digest = str_from(c->calls.digest);
		MAYBE_SET(m, tool_repeats, c->calls.most);
	}
	MAYBE_SET(m, tokens, tokens_of(&c->usage));
	MAYBE_SET(m, tokens_input, c->usage.input);
	MAYBE_SET(m, tokens_output, c->usage.output);
	MAYBE_SET(m, tokens_cache_read, c->usage.cache_read);
	MAYBE_SET(m, tokens_cache_write, c->usage.cache_write);
	if (source || cost)
		MAYBE_SET(m, cost_microusd, cost);
	if (source)
		m->cost_source = str_from(source);
	if (account_usage_untrue(c) || (!source && cost))
		m->unknown = account_usage_untrue(c) ? STR("tokens") : STR("cost");
	m->session_usage = session_usage(a, c);
}
