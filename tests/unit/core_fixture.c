#include "tests/unit/core_fixture.h"

#include "core/decide/emit.h"

#include "tests/test.h"

#include "base/vec.h"
#include "core/model/limits.h"
#include "core/state/snapshot.h"
#include "data/value/json.h"

static const struct policy_agent agents[] = {
	{ .name = STR("a"),
			.concurrency = 256,
			.input = true,
			.rate_limit_exit = 75,
			.login_exit = 77,
			.recovery = RUNG_RESEND },
	{ .name = STR("b"), .concurrency = 1, .recovery = RUNG_RESEND },
};
static const str every_agent[] = { STR("*") };
static const struct policy_role roles[] = { { STR("single"), STR("b") } };

struct policy fixture_policy(void)
{
	struct policy p = {
		.default_agent = STR("a"),
		.agents = agents,
		.agents_n = ARRAY_LEN(agents),
		.roles = roles,
		.roles_n = ARRAY_LEN(roles),
		.workers_max = 2,
		.workers_max_waiting = 8,
		.target_branch = STR("main"),
		.retry_max_attempts = 3,
		.patrol_restarts = 2,
		.retry_delay = { 5 * OV_SECOND, 30 * OV_SECOND, 2 * OV_MINUTE },
		.no_changes_attempts = 2,
		.conflict_rounds = 3,
		.moved_tries = 100,
		.review_rounds = 100,
		.ageing = 30 * OV_MINUTE,
		.unchecked = UNCHECKED_ACCEPT, /* most stories are not about checks */
		.dirty_wait = OV_MINUTE,
		.dirty_notice = OV_MINUTE,
		.plan = PLAN_LIMITS_DEFAULT,
		.idle_after = 15 * OV_MINUTE,
		.max_run = 4 * OV_HOUR,
		.mute_after = OV_HOUR,
		.ask_after = 30 * OV_SECOND,
		.done_grace = OV_MINUTE,
		.max_nudges = 2,
		.min_resend_interval = 5 * OV_MINUTE,
		.backoff_base = 2 * OV_MINUTE,
		.backoff_max = 30 * OV_MINUTE,
		.limit_wait_max = 6 * OV_HOUR,
		.limit_base = 2 * OV_MINUTE,
		.limit_max = 30 * OV_MINUTE,
		.remind_after = 4 * OV_HOUR,
		.max_reminders = 2,
		.allow_agents = every_agent,
		.allow_agents_n = 1,
		.estimate = { [RES_ITERATIONS] = 4,
				[RES_WALL_MS] = 8 * OV_HOUR,
				[RES_TOKENS] = 20 * 1000 * 1000,
				[RES_COST_MICROUSD] = 20 * 1000 * 1000 },
	};

	oversight_preset(&p.oversight, PRESET_DEFAULT);
	return p;
}

static const struct policy_channel channels[] = {
	{ STR("desktop"), CHANNEL_DESKTOP },
	{ STR("tracker"), CHANNEL_GITEA },
	{ STR("hook"), CHANNEL_HOOK },
};
static const str to_desktop[] = { STR("desktop") }, to_forges[] = { STR("desktop"), STR("gitea") },
		 to_all[] = { STR("*") };

void fixture_channels(struct fixture *f)
{
	f->policy.channels = channels;
	f->policy.channels_n = ARRAY_LEN(channels);
	f->policy.routes[URGENCY_WARNING] = (struct policy_route){ to_desktop, 1 };
	f->policy.routes[URGENCY_CRITICAL] = (struct policy_route){ to_forges, 2 };
	f->policy.routes[URGENCY_EMERGENCY] = (struct policy_route){ to_all, 1 };
	f->policy.notify = true;
	f->policy.notice_attempts = 4;
	f->policy.notices_per_hour = 20;
	f->policy.notice_retry = OV_MINUTE;
	f->policy.notice_retry_max = 5 * OV_MINUTE;
}

void fixture_init(struct fixture *f)
{
	*f = (struct fixture){ .now = 1800000000000, .policy = fixture_policy() };
	f->state = state_new(1);
	map_init(&f->observations, 1);
	f->telemetry.observations = &f->observations;
}

void oversight_off(struct fixture *f)
{
	memset(f->policy.oversight.levels, 0, sizeof(f->policy.oversight.levels));
}

struct observation *observe(struct fixture *f, const struct node *n)
{
	struct observation *o = map_get(&f->observations, n->assignment->run_id);

	if (!o) {
		o = arena_new(&f->arena, struct observation);
		map_put(&f->observations, arena_str(&f->arena, n->assignment->run_id), o);
	}
	return o;
}

void fixture_done(struct fixture *f)
{
	state_free(f->state);
	vec_done(&f->log);
	map_done(&f->observations);
	arena_done(&f->arena);
}

value *json(struct fixture *f, const char *fmt, ...)
{
	struct ov_err err = { 0 };
	va_list ap;
	char *text;
	value *v;
	str s;

	va_start(ap, fmt);
	s = arena_vprintf(&f->arena, fmt, ap);
	va_end(ap);
	text = arena_cstr(&f->arena, s);
	for (size_t i = 0; i < s.n; i++)
		text[i] = text[i] == '\'' ? '"' : text[i];
	if (json_parse(&f->arena, (str){ text, s.n }, NULL, &v, &err) < 0)
		fail_msg("%s: %s", err.msg, text);
	return v;
}

/* Stores and reads back, so that what is applied is what a replay would apply. */
int append(struct fixture *f, struct event *e, struct ov_err *err)
{
	struct event *stored = arena_new(&f->arena, struct event);
	struct buf body = BUF_INIT;
	int r = event_check(e, err);

	if (r < 0)
		return r;
	json_write_canonical(&body, event_body(&f->arena, e));
	r = event_decode(&f->arena, f->state->seq + 1, e->at ? e->at : f->now,
			str_from(event_name(e->kind)), arena_str(&f->arena, buf_str(&body)), stored,
			err);
	buf_done(&body);
	/* The log gives back what was decided, to the byte. */
	if (r == 0)
		assert_true(value_equal(e->data, stored->data));
	if (r == 0)
		r = apply(f->state, stored, err);
	if (r == 0)
		vec_push(&f->log, stored);
	return r;
}

static struct decide_ctx context(struct fixture *f, struct events *out)
{
	struct decide_ctx cx = {
		.arena = &f->arena,
		.state = f->state,
		.policy = &f->policy,
		.now = f->now,
		.actor = STR("human:tester"),
		.out = out,
	};
	uint64_t mixed;

	/* Far apart, as random numbers are: ids of one decision count up from here. */
	mixed = ++f->entropy * 0x9e3779b97f4a7c15;
	memcpy(cx.entropy, &mixed, sizeof(mixed));
	return cx;
}

static void append_all(struct fixture *f, const struct events *out)
{
	for (size_t i = 0; i < out->n; i++) {
		struct ov_err err = { 0 };

		if (append(f, out->p[i], &err) < 0)
			fail_msg("event %zu of %zu is refused: %s", i + 1, out->n, err.msg);
	}
}

static int run_command(struct fixture *f, const char *command, value *params, value **ret,
		struct ov_err *err)
{
	struct events out = { 0 };
	struct decide_ctx cx = context(f, &out);
	int r = decide(&cx, str_from(command), params, ret, err);

	append_all(f, &out);
	vec_done(&out);
	return r;
}

int try_submit(struct fixture *f, const char *command, value *params, struct ov_err *err)
{
	struct ov_err own;
	value *result = NULL;

	return run_command(f, command, params, &result, err ? err : &own);
}

value *submit(struct fixture *f, const char *command, value *params)
{
	struct ov_err err = { 0 };
	value *result = NULL;

	if (run_command(f, command, params, &result, &err) < 0)
		fail_msg("%s is refused: %s", command, err.msg);
	assert_non_null(result);
	return result;
}

const char *refused(struct fixture *f, const char *command, value *params, int code)
{
	struct events out = { 0 };
	struct decide_ctx cx = context(f, &out);
	struct ov_err err = { 0 };
	value *result = NULL;
	int r = decide(&cx, str_from(command), params, &result, &err);

	if (r != code)
		fail_msg("%s: %s (%s)", command, r == 0 ? "was not refused" : err.msg,
				ov_code_info(code)->name);
	assert_int_equal(err.code, code);
	assert_int_equal(out.n, 0);
	assert_null(result);
	assert_true(err.msg[0]);
	vec_done(&out);
	return arena_cstr(&f->arena, str_from(err.msg));
}

void decide_by(struct fixture *f, void (*step)(struct decide_ctx *cx, void *arg), void *arg)
{
	struct events out = { 0 };
	struct decide_ctx cx = context(f, &out);

	step(&cx, arg);
	events_seal(&cx, 0);
	append_all(f, &out);
	vec_done(&out);
}

size_t tick(struct fixture *f)
{
	struct world w = { f->state, &f->policy };
	struct decisions d = reconcile(&f->arena, &w, &f->telemetry, f->now);
	struct events out = { 0 };
	struct decide_ctx cx = context(f, &out);

	cx.actor = STR("overseer");
	decide_tick(&cx, &d);
	append_all(f, &out);
	vec_done(&out);
	f->wake_at = d.wake_at;
	return d.n;
}

static void tick_to_rest(struct fixture *f)
{
	for (int i = 0; tick(f) > 0; i++)
		if (i > 1000)
			fail_msg("the tick never comes to rest");
}

void settle(struct fixture *f)
{
	struct policy most = f->policy;

	tick_to_rest(f);
	most.workers_max = f->workers_most = MAX(f->workers_most, f->policy.workers_max);
	check_invariants(f->state, &most);
}

str create_goal(struct fixture *f, value *plan, const char *priority)
{
	value *p = json(f, "{'title': 'a goal', 'priority': '%s'}", priority ? priority : "normal");

	if (plan)
		value_put(&f->arena, p, "plan", plan);
	return value_str_at(submit(f, "goal.create", p), "goal");
}

value *flat_plan(struct fixture *f, size_t n)
{
	const size_t most = (size_t)PLAN_LIMITS_WRITTEN.max_tasks;
	value *plan = json(f, "{'phases': [{'id': 'P1', 'name': 'one', 'tasks': []}]}");
	value *phases = (value *)value_at(plan, "phases");

	for (size_t i = 1; i <= n; i++) {
		if (i > 1 && i % most == 1)
			value_push(&f->arena, phases,
					json(f, "{'id': 'P%zu', 'name': 'more', 'tasks': []}",
							i / most + 1));
		value_push(&f->arena,
				(value *)value_at(value_item(phases, value_count(phases) - 1),
						"tasks"),
				json(f, "{'id': 'T%zu', 'name': 'task %zu', 'acceptance': ['x']}",
						i, i));
	}
	return plan;
}

void split_t1(struct fixture *f, size_t n)
{
	const struct goal *g = vec_last(&f->state->goals);
	value *plan = flat_plan(f, n),
	      *params = json(f, "{'goal': '" STR_FMT "', 'reason': 'r'}", STR_ARG(g->id));

	value_put(&f->arena,
			(value *)value_item(value_at(value_item(value_at(plan, "phases"), 0),
							    "tasks"),
					0),
			"subtasks", json(f, "[{'id': 'S1', 'name': 's', 'acceptance': ['y']}]"));
	value_put(&f->arena, params, "plan", plan);
	submit(f, "plan.apply", params);
	settle(f);
}

struct node *node_in(struct fixture *f, str goal, const char *id)
{
	struct node *n = state_node(f->state, goal, str_from(id));

	if (!n)
		fail_msg("no node %s", id);
	return n;
}

struct node *node_of(struct fixture *f, const char *id)
{
	return node_in(f, vec_last(&f->state->goals)->id, id);
}

struct effect *effect_of(struct fixture *f, const char *node)
{
	struct assignment *as = node_of(f, node)->assignment;

	return as ? as->effect : NULL;
}

void effect_end(struct fixture *f, const char *node, enum effect_kind kind, const char *outcome,
		const char *detail, const char *data)
{
	struct effect *fx = effect_of(f, node);

	if (!fx || fx->kind != kind)
		fail_msg("%s: %s is not open but %s", node, status_name(&effect_kinds, (int)kind),
				fx ? status_name(&effect_kinds, (int)fx->kind) : "nothing");
	submit(f, "effect.end",
			json(f,
					"{'effect': '" STR_FMT
					"', 'outcome': '%s', 'detail': '%s', 'data': {%s}}",
					STR_ARG(fx->id), outcome, detail, data));
}

void run_end(struct fixture *f, const char *node, int exit_code)
{
	struct assignment *as = node_of(f, node)->assignment;

	assert_non_null(as);
	submit(f, "run.end",
			json(f, "{'run': '" STR_FMT "', 'exit_code': %d, 'signal': 0}",
					STR_ARG(as->run_id), exit_code));
}

#define HARVEST "'head': 'h', 'tree': 't', 'commits': 1, 'files_changed': 2"
#define REBASED "'commit': 'c0ffee', 'base': 'b2', 'rescue_ref': 'r'"
#define ACCEPTED "'commit': 'c0ffee', 'target': 'main'"

void bring_to(struct fixture *f, const char *node, enum stage stage)
{
	for (int i = 0; i < 20; i++) {
		const struct assignment *as;

		settle(f);
		as = node_of(f, node)->assignment;
		if (!as)
			fail_msg("%s has no assignment", node);
		if (as->stage == stage)
			return;
		switch (as->stage) {
		case STAGE_WORKSPACE:
			effect_end(f, node, FX_WORKSPACE, "ok", "", "'base': 'b'");
			break;
		case STAGE_START: effect_end(f, node, FX_RUN_START, "ok", "", ""); break;
		case STAGE_RUNNING: run_end(f, node, 0); break;
		case STAGE_HARVEST: effect_end(f, node, FX_HARVEST, "ok", "", HARVEST); break;
		case STAGE_CHECK: effect_end(f, node, FX_CHECK, "ok", "", ""); break;
		case STAGE_REBASE: effect_end(f, node, FX_REBASE, "ok", "", REBASED); break;
		case STAGE_GATE: effect_end(f, node, FX_GATE, "ok", "", ""); break;
		case STAGE_ACCEPT: effect_end(f, node, FX_ACCEPT, "ok", "", ACCEPTED); break;
		case STAGE_POST: effect_end(f, node, FX_POST, "failed", "d", ""); break;
		default: fail_msg("%s is at stage %d", node, (int)as->stage);
		}
	}
	fail_msg("%s never reaches %s", node, status_name(&stages, (int)stage));
}

void accept_node(struct fixture *f, const char *node)
{
	effect_end(f, node, FX_ACCEPT, "ok", "", ACCEPTED);
	settle(f);
}

size_t count_events(const struct fixture *f, enum event_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < f->log.n; i++)
		n += f->log.p[i]->kind == kind;
	return n;
}

const struct event *last_event(const struct fixture *f, enum event_kind kind)
{
	for (size_t i = f->log.n; i-- > 0;)
		if (f->log.p[i]->kind == kind)
			return f->log.p[i];
	return NULL;
}

static const char *const good_data[EFFECT_KIND_COUNT] = {
	[FX_WORKSPACE] = "'base': 'b'",
	[FX_RUN_START] = "",
	[FX_RUN_STOP] = "",
	[FX_HARVEST] = HARVEST,
	[FX_CHECK] = "",
	[FX_REBASE] = REBASED,
	[FX_GATE] = "",
	[FX_ACCEPT] = ACCEPTED ", 'rescue_ref': 'r'",
	[FX_POST] = "",
	[FX_REVERT] = "'commit': 'feed'",
	[FX_SEND] = "",
	[FX_PLAN] = "",
	[FX_WORKER] = "'base': 'b', 'rescue_ref': 'r'",
	[FX_NOTIFY] = "'ref': '7'",
};

static void end_effect(struct fixture *f, const struct effect *fx, const char *outcome,
		const char *data)
{
	submit(f, "effect.end",
			json(f,
					"{'effect': '" STR_FMT
					"', 'outcome': '%s', 'detail': 'd', 'data': {%s}}",
					STR_ARG(fx->id), outcome, data));
}

/* A run that has this status: the i-th, or the last before it; or NULL. */
static const struct run *some_run(const struct fixture *f, enum run_status status, size_t i)
{
	const struct run *found = NULL;

	list_each (it, &f->state->runs) {
		const struct run *r = list_entry(it, struct run, link);

		if (r->status != status)
			continue;
		found = r;
		if (i-- == 0)
			break;
	}
	return found;
}

void drain(struct fixture *f)
{
	for (int i = 0; i < 100000; i++) {
		const struct run *running;

		tick_to_rest(f);
		running = some_run(f, RUN_RUNNING, 0);
		if (!list_empty(&f->state->effects)) {
			const struct effect *fx = list_entry(f->state->effects.next, struct effect,
					link);

			end_effect(f, fx, "ok", good_data[fx->kind]);
		} else if (running) {
			submit(f, "run.end",
					json(f, "{'run': '" STR_FMT "', 'exit_code': 0}",
							STR_ARG(running->id)));
		} else if (f->wake_at != OV_TIME_MAX) {
			f->now = f->wake_at;
		} else {
			check_invariants(f->state, &f->policy);
			return;
		}
	}
	fail_msg("the work never comes to an end");
}

static value *random_plan(struct fixture *f, struct rng *rng)
{
	size_t tasks = 1 + rng_below(rng, 4);
	value *plan = flat_plan(f, tasks);
	const value *list = value_at(value_item(value_at(plan, "phases"), 0), "tasks");

	for (size_t i = 0; i < tasks; i++) {
		value *task = (value *)value_item(list, i);

		if (i && rng_below(rng, 2))
			value_put(&f->arena, task, "deps",
					json(f, "['T%zu']", 1 + rng_below(rng, i)));
		if (rng_below(rng, 4) == 0)
			value_put(&f->arena, task, "role", json(f, "'single'"));
		if (rng_below(rng, 8) == 0)
			value_put(&f->arena, task, "suggestedAgent", json(f, "'nobody'"));
		if (rng_below(rng, 3) == 0)
			value_put(&f->arena, task, "checkCommand", json(f, "'make'"));
		if (rng_below(rng, 3) == 0)
			value_put(&f->arena, task, "subtasks",
					json(f,
							"[{'id': 'S%zu', 'name': 's', "
							"'acceptance': ['y'], "
							"'priority': %zu}]",
							i, 1 + rng_below(rng, 5)));
	}
	return plan;
}

/*
 * Some of the tasks that there are, changed or split or as they are, and new ones; now and
 * then nonsense.
 */
static void random_replan(struct fixture *f, struct rng *rng)
{
	const struct goal *g;
	value *plan, *tasks, *params;

	if (f->state->goals.n == 0)
		return;
	g = f->state->goals.p[rng_below(rng, f->state->goals.n)];
	plan = json(f, "{'phases': [{'id': 'P%zu', 'name': 'p', 'tasks': []}]}",
			rng_below(rng, 4) ? 1 : g->nodes.n);
	tasks = (value *)value_at(value_item(value_at(plan, "phases"), 0), "tasks");
	for (size_t i = 0; i < g->nodes.n + 2 && value_count(tasks) < 7; i++) {
		const struct node *n = i < g->nodes.n ? g->nodes.p[i] : NULL;
		bool stays = n && (n->def.tier != TIER_TASK || node_is_final(n));
		value *task;

		if (rng_below(rng, 3) == 0 || (stays && rng_below(rng, 50)))
			continue;
		task = n ? json(f, "{'id': '" STR_FMT "', 'name': 'task %zu', 'acceptance': ['x']}",
					   STR_ARG(n->id), rng_below(rng, 3))
			 : json(f, "{'id': 'N%llu.%zu', 'name': 'new', 'acceptance': ['x']}",
					   (unsigned long long)f->entropy, i);
		if (n && rng_below(rng, 3) == 0)
			value_put(&f->arena, task, "deps",
					json(f, "['" STR_FMT "']",
							STR_ARG(g->nodes.p[rng_below(rng, g->nodes.n)]
											->id)));
		if (rng_below(rng, 4) == 0)
			value_put(&f->arena, task, "subtasks",
					json(f,
							"[{'id': 'M%llu.%zu', 'name': 's', "
							"'acceptance': ['y']}]",
							(unsigned long long)f->entropy, i));
		value_push(&f->arena, tasks, task);
	}
	params = json(f, "{'goal': '" STR_FMT "', 'reason': 'better'}", STR_ARG(g->id));
	value_put(&f->arena, params, "plan", plan);
	(void)try_submit(f, "plan.apply", params, NULL);
}

static void random_effect_end(struct fixture *f, struct rng *rng)
{
	static const char *const outcomes[] = { "ok", "ok", "ok", "ok", "error" },
				 *const commands[] = { "ok", "ok", "failed", "error" },
				 *const gits[] = { "ok", "ok", "conflict", "dirty", "moved",
					 "no_changes", "error", "already" };
	size_t i = rng_below(rng, 4);
	const struct effect *fx = NULL;
	const char *data, *outcome;

	list_each (it, &f->state->effects) {
		fx = list_entry(it, struct effect, link);
		if (i-- == 0)
			break;
	}
	if (!fx)
		return;
	data = good_data[fx->kind];
	if (fx->kind == FX_HARVEST && rng_below(rng, 4) == 0)
		data = "'head': 'h', 'tree': 't', 'commits': 0, 'files_changed': 0";
	switch (fx->kind) {
	case FX_REBASE:
	case FX_ACCEPT:
	case FX_WORKER:
	case FX_REVERT:
		outcome = gits[rng_below(rng, ARRAY_LEN(gits) - (fx->kind != FX_REBASE))];
		break;
	case FX_GATE:
	case FX_POST: outcome = commands[rng_below(rng, ARRAY_LEN(commands))]; break;
	default: outcome = outcomes[rng_below(rng, ARRAY_LEN(outcomes))]; break;
	}
	end_effect(f, fx, outcome, data);
}

static void random_run_end(struct fixture *f, struct rng *rng)
{
	static const char *const ends[] = {
		"'exit_code': 0, 'silences': [{'activity': 'thinking', 'counts': {'60': 3}}]",
		"'exit_code': 0, 'swept': 2", "'exit_code': 1, 'message': 'm'",
		"'exit_code': -1, 'lost': true", "'exit_code': -1, 'signal': 9", "'exit_code': 75",
		"'exit_code': 77"
	};
	enum run_status status = rng_below(rng, 6) ? RUN_RUNNING : RUN_STARTING;
	const struct run *r = some_run(f, status, rng_below(rng, 4));

	if (r)
		submit(f, "run.end",
				json(f, "{'run': '" STR_FMT "', %s}", STR_ARG(r->id),
						ends[rng_below(rng, ARRAY_LEN(ends))]));
}

/* Anything that a person may type about a node; most of it is refused. */
static void random_update(struct fixture *f, struct rng *rng)
{
	static const char *const commands[][2] = { { "work.update", ", 'status': 'done'" },
		{ "work.update", ", 'status': 'blocked'" },
		{ "work.update", ", 'status': 'queued'" },
		{ "work.update", ", 'status': 'queued'" }, { "work.cancel", "" },
		{ "work.reopen", "" }, { "work.reassign", "" },
		{ "work.reassign", ", 'agent': 'b'" }, { "work.rerun", "" }, { "queue.retry", "" },
		{ "queue.drop", "" } };
	const char *const *c = commands[rng_below(rng, ARRAY_LEN(commands))];
	const struct goal *g;
	const struct node *n;

	if (f->state->goals.n == 0)
		return;
	g = f->state->goals.p[rng_below(rng, f->state->goals.n)];
	if (g->nodes.n == 0)
		return;
	n = g->nodes.p[rng_below(rng, g->nodes.n)];
	(void)try_submit(f, c[0],
			json(f, "{'node': '" STR_FMT "', 'reason': 'because'%s}", STR_ARG(n->key),
					c[1]),
			NULL);
}

/* Anything that a person may type about a run or an entry of the inbox. */
static void random_word(struct fixture *f, struct rng *rng)
{
	static const char *const answers[] = { "retry", "done", "cancel", "use the other one",
		"accept", "reject: no", "go on", "run again", "take back", "try again",
		"back to its agent", "resume", "abort", "reopen", "raise" };
	static const char *const words[][2] = { { "inbox.dismiss", "" },
		{ "inbox.dismiss", ", 'false_positive': true" }, { "inbox.approve", "" },
		{ "inbox.deny", ", 'reason': 'no'" }, { "inbox.snooze", ", 'for_ms': 600000" } };
	size_t word = rng_below(rng, ARRAY_LEN(words));
	const struct run *r = some_run(f, RUN_RUNNING, rng_below(rng, 4));
	long long number = (long long)rng_below(rng, (size_t)f->state->next_escalation + 1);
	size_t choice = rng_below(rng, 3);

	if (choice == 0 && r)
		(void)try_submit(f, "run.stop",
				json(f, "{'run': '" STR_FMT "', 'reason': 'because'}",
						STR_ARG(r->id)),
				NULL);
	else if (choice == 1)
		(void)try_submit(f, "inbox.answer",
				json(f, "{'number': %lld, 'answer': '%s'}", number,
						answers[rng_below(rng, ARRAY_LEN(answers))]),
				NULL);
	else
		(void)try_submit(f, words[word][0],
				json(f, "{'number': %lld%s}", number, words[word][1]), NULL);
}

/* Anything that a person may do about a worker, of whatever kind; most of it is refused. */
static void random_worker(struct fixture *f, struct rng *rng)
{
	static const char *const commands[] = { "worker.add", "worker.start", "worker.start",
		"worker.message", "worker.review", "worker.accept", "worker.reject",
		"worker.rebase", "worker.pick", "worker.reset", "worker.nuke" };
	static const char *const names[] = { "w1", "w2", "w3" };
	const char *command = commands[rng_below(rng, ARRAY_LEN(commands))];
	size_t n = f->state->workers.n;
	str name = n && rng_below(rng, 2) ? f->state->workers.p[rng_below(rng, n)]->name
					  : str_from(names[rng_below(rng, ARRAY_LEN(names))]);

	(void)try_submit(f, command,
			json(f,
					"{'worker': '" STR_FMT
					"', 'task': 'do it', 'text': 'look', 'reason': "
					"'because', 'excluded': %s}",
					STR_ARG(name), rng_below(rng, 2) ? "true" : "false"),
			NULL);
}

/* Whatever a person may say about a goal; mostly pauses and resumes. */
static void random_goal_command(struct fixture *f, struct rng *rng)
{
	static const char *const all[] = { "goal.pause", "goal.resume", "goal.pause", "goal.resume",
		"goal.pause", "goal.resume", "goal.update", "goal.cancel", "goal.reopen",
		"goal.archive" };
	const struct goal *g;
	const char *command = all[rng_below(rng, ARRAY_LEN(all))];
	value *params;

	if (f->state->goals.n == 0)
		return;
	g = f->state->goals.p[rng_below(rng, f->state->goals.n)];
	params = json(f, "{'goal': '" STR_FMT "', 'reason': 'x', 'now': %s}", STR_ARG(g->id),
			rng_below(rng, 2) ? "true" : "false");
	if (str_is(str_from(command), "goal.update"))
		value_put(&f->arena, params, "budget",
				json(f, "{'iterations': %zu}", 1 + rng_below(rng, 20)));
	(void)try_submit(f, command, params, NULL);
}

static const struct assignment *random_running(struct fixture *f, struct rng *rng)
{
	const struct assignment *found = NULL;
	size_t n = 0;

	list_each (it, &f->state->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (as->stage == STAGE_RUNNING && rng_below(rng, ++n) == 0)
			found = as;
	}
	return found;
}

/* Any sign of life, any look, any failure to look; and now and then time enough for a stall. */
static void random_observation(struct fixture *f, struct rng *rng)
{
	const struct assignment *as = random_running(f, rng);
	struct observation *o;

	if (!as)
		return;
	o = observe(f, as->node);
	if (rng_below(rng, 4) == 0)
		f->now += (ov_time)rng_below(rng, 20 * OV_MINUTE);
	switch (rng_below(rng, 7)) {
	case 0: o->output_at = f->now; break;
	case 1: o->process_at = o->looked_at = f->now; break;
	case 2: o->tree_at = o->looked_at = f->now; break;
	case 3: o->process_unknown = !o->process_unknown; break;
	case 4: o->tree_unknown = !o->tree_unknown; break;
	case 5:
		o->same_calls = (int64_t)rng_below(rng, 40);
		o->same_since = f->now;
		o->same_call = STR("Bash: make");
		break;
	default: o->looked_at = f->now; break;
	}
}

static void random_report(struct fixture *f, struct rng *rng)
{
	static const char *const updates[] = { "{'status': 'in_progress', 'summary': 'a'}",
		"{'status': 'in_progress', 'summary': 'b'}", "{'status': 'done', 'summary': 'c'}",
		"{'status': 'blocked', 'blockers': ['d']}", "{'next': 'e'}", "{'unknown': 1}",
		"{'workNodeId': 'elsewhere'}" };
	const struct assignment *as = random_running(f, rng);
	struct ov_err err = { 0 };

	if (as)
		(void)try_submit(f, "run.report",
				json(f,
						"{'run': '" STR_FMT
						"', 'identity': 'i', 'offset': %zu, 'update': %s}",
						STR_ARG(as->run_id), rng_below(rng, 1000),
						updates[rng_below(rng, ARRAY_LEN(updates))]),
				&err);
}

void random_step(struct fixture *f, struct rng *rng)
{
	size_t choice = rng_below(rng, 114);

	if (choice >= 110)
		random_worker(f, rng);
	else if (choice >= 108)
		random_report(f, rng);
	else if (choice >= 100)
		random_observation(f, rng);
	else if (choice < 40)
		tick(f);
	else if (choice < 70)
		random_effect_end(f, rng);
	else if (choice < 82)
		random_run_end(f, rng);
	else if (choice < 85)
		random_update(f, rng);
	else if (choice < 86)
		random_replan(f, rng);
	else if (choice < 87)
		random_word(f, rng);
	else if (choice < 88)
		random_goal_command(f, rng);
	else if (choice < 90)
		f->telemetry.no_capacity = f->telemetry.no_capacity.n ? STR("") : STR("memory");
	else if (choice < 93 && f->state->goals.n < 8)
		create_goal(f, random_plan(f, rng), rng_below(rng, 2) ? "high" : "low");
	else
		f->now += (ov_time)rng_below(rng, 100000);
}

str snapshot_of(struct fixture *f, const struct state *s)
{
	struct buf out = BUF_INIT;
	str copy;

	snapshot_write(&out, s);
	copy = arena_str(&f->arena, buf_str(&out));
	buf_done(&out);
	return copy;
}

static void check_assignments(const struct state *s)
{
	size_t finished = 0, live = 0;

	list_each (it, &s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		live++;
		assert_true(as->live && as->node && as->node->assignment == as);
		assert_ptr_equal(state_assignment(s, as->id), as);
		assert_true(!as->run || str_eq(as->run->id, as->run_id));
		/* A run that ended while something was sent to it is harvested after that. */
		assert_true(as->stage != STAGE_RUNNING || as->run->status == RUN_RUNNING ||
				(as->effect && as->effect->kind == FX_SEND));
		/* Whoever has a stage has a worker, and only that one. */
		if (as->stage != STAGE_NONE)
			assert_true(str_eq(state_worker(s, as->worker)->assignment_id, as->id));
	}
	list_each (it, &s->finished) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		finished++;
		assert_true(!as->live && !as->run && !as->effect && as->node->assignment != as);
	}
	assert_int_equal(finished, s->finished_count);
	assert_true(finished <= LIMIT_KEPT);
	assert_int_equal(live + finished, s->assignments_by_id.n);
}

static void check_runs(const struct state *s)
{
	size_t runs = 0, retired = 0;

	list_each (it, &s->runs) {
		const struct run *r = list_entry(it, struct run, link);
		const struct assignment *as = state_assignment(s, r->assignment_id);

		runs++;
		assert_true(r->status != RUN_ENDED || (as && as->run == r));
	}
	list_each (it, &s->retired_runs) {
		retired++;
		assert_int_equal(list_entry(it, struct run, link)->status, RUN_ENDED);
	}
	assert_int_equal(retired, s->retired_count);
	assert_true(retired <= LIMIT_KEPT);
	assert_int_equal(runs + retired, s->runs_by_id.n);
}

static void check_nodes(const struct state *s, const struct goal *g)
{
	size_t leaves = 0, done = 0, blocked = 0;

	for (size_t i = 0; i < g->nodes.n; i++) {
		const struct node *n = g->nodes.p[i];
		bool listed = !list_empty(&n->link), active = g->status == GOAL_ACTIVE;

		assert_ptr_equal(state_node(s, g->id, n->id), n);
		assert_int_equal(n->position, i);
		/* Who was removed stands last, for itself, and is over. */
		if (n->def.removed_in) {
			assert_true(n->def.removed_in <= g->plan_version && !listed && !n->parent);
			assert_int_equal(n->children.n, 0);
			assert_int_equal(n->status, NODE_CANCELLED);
			continue;
		}
		assert_true(i == 0 || !g->nodes.p[i - 1]->def.removed_in);
		assert_true(!n->parent || n->parent->position < i);
		if (!node_is_leaf(n)) {
			assert_false(listed);
			continue;
		}
		leaves++;
		done += n->status == NODE_DONE;
		blocked += n->status == NODE_BLOCKED;
		assert_int_equal(listed,
				active &&
						((n->status == NODE_TODO && node_is_ready(s, n)) ||
								n->status == NODE_QUEUED ||
								(n->status == NODE_BLOCKED &&
										n->block.until)));
		assert_true(n->status != NODE_IN_PROGRESS || n->assignment);
		assert_true(n->status != NODE_BLOCKED || n->block.when.n);
		assert_true(n->history.n <= LIMIT_KEPT);
	}
	assert_int_equal(leaves, g->leaves);
	assert_int_equal(done, g->leaves_done);
	assert_int_equal(blocked, g->leaves_blocked);
}

void check_invariants(const struct state *s, const struct policy *p)
{
	size_t accepting = 0, effects = 0, pool = 0;

	check_assignments(s);
	check_runs(s);
	for (size_t i = 0; i < s->goals.n; i++)
		check_nodes(s, s->goals.p[i]);
	list_each (it, &s->effects) {
		const struct effect *fx = list_entry(it, struct effect, link);
		const struct assignment *as = state_assignment(s, fx->assignment_id);

		effects++;
		accepting += fx->kind >= FX_ACCEPT && fx->kind <= FX_REVERT;
		assert_ptr_equal(state_effect(s, fx->id), fx);
		if (fx->kind == FX_WORKER)
			assert_ptr_equal(state_worker(s, fx->worker)->effect, fx);
		if (fx->kind == FX_NOTIFY)
			assert_ptr_equal(state_notice(s, fx->purpose)->effect, fx);
		else if (fx->kind == FX_PLAN)
			assert_ptr_equal(state_goal(s, fx->goal_id)->effect, fx);
		else if (fx->kind == FX_POOL)
			assert_ptr_equal(s->pool, fx);
		else if (fx->kind != FX_WORKER || fx->assignment_id.n)
			assert_true(as && as->live && as->effect == fx);
	}
	assert_int_equal(effects, s->effects_by_id.n);
	assert_true(accepting <= 1);
	for (size_t i = 0; i < s->workers.n; i++) {
		const struct worker *w = s->workers.p[i];

		pool += (w->kind == WORKER_POOL);
		/* One in error may have no task: it could not be reset. */
		assert_true(!w->assignment_id.n || w->status != WORKER_IDLE);
		assert_true(w->assignment_id.n || w->status == WORKER_IDLE ||
				w->status == WORKER_OFFLINE || w->status == WORKER_ERROR);
	}
	assert_true((int64_t)pool <= p->workers_max + p->workers_max_waiting);
}
