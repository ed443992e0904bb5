#include "tests/bench/fleet.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/fold/apply.h"
#include "data/value/json.h"

#define COMMIT "0123456789abcdef0123456789abcdef01234567"

static const struct policy_agent agents[] = {
	{ .name = STR("a"), .concurrency = INT64_MAX, .input = true, .recovery = RUNG_RESEND },
};
static const str every_agent[] = { STR("*") };

static struct policy policy_of_fleet(void)
{
	struct policy p = {
		.default_agent = STR("a"),
		.agents = agents,
		.agents_n = ARRAY_LEN(agents),
		.unchecked = UNCHECKED_ACCEPT,
		.target_branch = STR("main"),
		.retry_max_attempts = 3,
		.retry_delay = { 5000, 30000, 120000 },
		.no_changes_attempts = 2,
		.conflict_rounds = 3,
		.patrol_restarts = 2,
		.moved_tries = 100,
		.dirty_wait = OV_MINUTE,
		.dirty_notice = OV_MINUTE,
		.plan = { 10, 10, 10 },
		.idle_after = 15 * OV_MINUTE,
		.max_run = 30 * OV_DAY,
		.mute_after = OV_HOUR,
		.max_nudges = 2,
		.min_resend_interval = 5 * OV_MINUTE,
		.backoff_base = 2 * OV_MINUTE,
		.backoff_max = 30 * OV_MINUTE,
		.limit_base = 2 * OV_MINUTE,
		.limit_max = 30 * OV_MINUTE,
		.remind_after = 4 * OV_HOUR,
		.max_reminders = 2,
		.allow_agents = every_agent,
		.allow_agents_n = ARRAY_LEN(every_agent),
		.budget = { -1, -1, -1, -1 },
	};

	oversight_preset(&p.oversight, PRESET_DEFAULT);
	return p;
}

static void must(int r, const struct ov_err *err)
{
	if (r == 0)
		return;
	fprintf(stderr, "fleet: %s\n", err->msg);
	exit(2);
}

void fleet_init(struct fleet *f, size_t workers, fleet_keep_fn *keep, void *user)
{
	*f = (struct fleet){ .policy = policy_of_fleet(),
		.state = state_new(1),
		.now = 1800000000000,
		.keep = keep,
		.user = user };
	map_init(&f->observations, 1);
	fleet_workers(f, workers);
}

void fleet_workers(struct fleet *f, size_t workers)
{
	f->policy.workers_max = f->policy.workers_max_waiting = (int64_t)workers;
}

void fleet_done(struct fleet *f)
{
	size_t i = 0;
	str id;
	void *o;

	while (map_next(&f->observations, &i, &id, &o))
		mem_free(o);
	map_done(&f->observations);
	state_free(f->state);
	arena_done(&f->arena);
}

static void keep_all(struct fleet *f, struct events *out)
{
	_cleanup_(buf_done) struct buf body = BUF_INIT;
	struct ov_err err = { 0 };

	for (size_t i = 0; i < out->n; i++) {
		struct event *e = out->p[i];

		e->seq = f->state->seq + 1;
		must(apply(f->state, e, &err), &err);
		if (!f->keep)
			continue;
		buf_clear(&body);
		json_write_canonical(&body, event_body(&f->arena, e));
		f->keep(f, f->user, e, arena_str(&f->arena, buf_str(&body)));
	}
	vec_done(out);
}

static struct decide_ctx context(struct fleet *f, struct events *out)
{
	struct decide_ctx cx = { .arena = &f->arena,
		.state = f->state,
		.policy = &f->policy,
		.now = f->now += f->step,
		.actor = STR("overseer"),
		.out = out };
	/* Ids of one decision count up from here: the next one must begin far away. */
	uint64_t mixed = ++f->entropy * 0x9e3779b97f4a7c15;

	memcpy(cx.entropy, &mixed, sizeof(mixed));
	return cx;
}

value *fleet_submit(struct fleet *f, const char *command, const value *params)
{
	struct events out = { 0 };
	struct decide_ctx cx = context(f, &out);
	struct ov_err err = { 0 };
	value *result;

	must(decide(&cx, str_from(command), params, &result, &err), &err);
	keep_all(f, &out);
	return result;
}

size_t fleet_tick(struct fleet *f)
{
	struct telemetry seen = fleet_telemetry(f);
	struct world w = { f->state, &f->policy };
	struct decisions d = reconcile(&f->arena, &w, &seen, f->now);
	struct events out = { 0 };
	struct decide_ctx cx = context(f, &out);

	decide_tick(&cx, &d);
	keep_all(f, &out);
	return d.n;
}

static void end_run(struct fleet *f, str run)
{
	struct arena *a = &f->arena;
	value *params = value_object(a);

	value_put(a, params, "run", value_str(a, run));
	value_put(a, params, "exit_code", value_int(a, 0));
	value_put(a, params, "signal", value_int(a, 0));
	value_put(a, params, "output_bytes", value_int(a, 12345));
	fleet_submit(f, "run.end", params);
}

static void end_effect(struct fleet *f, const struct effect *fx)
{
	static const char *const texts[] = { "base", "head", "tree", "commit" };
	struct arena *a = &f->arena;
	value *params = value_object(a), *data = value_object(a);
	bool start = fx->kind == FX_RUN_START, fails = start && f->fate == FATE_FAILING;
	str run = arena_str(a, fx->run_id);

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		value_put(a, data, texts[i], value_cstr(a, COMMIT));
	value_put(a, data, "target", value_cstr(a, "main"));
	value_put(a, data, "commits", value_int(a, 1));
	value_put(a, data, "files_changed", value_int(a, 2));
	value_put(a, params, "effect", value_str(a, arena_str(a, fx->id)));
	value_put(a, params, "outcome", value_cstr(a, fails ? "error" : "ok"));
	value_put(a, params, "detail", value_cstr(a, fails ? "the agent is away" : ""));
	value_put(a, params, "data", data);
	fleet_submit(f, "effect.end", params);
	if (start && f->fate == FATE_FINISHED)
		end_run(f, run);
}

void fleet_end_effects(struct fleet *f)
{
	while (!list_empty(&f->state->effects))
		end_effect(f, list_entry(f->state->effects.next, struct effect, link));
}

void fleet_settle(struct fleet *f)
{
	while (fleet_tick(f) > 0)
		fleet_end_effects(f);
}

static value *plan_node(struct arena *a, str id, const char *wording, bool work)
{
	value *v = value_object(a), *acceptance = value_array(a);

	value_put(a, v, "id", value_str(a, id));
	value_put(a, v, "name", value_strf(a, "Number " STR_FMT " %s", STR_ARG(id), wording));
	if (!work)
		return v;
	value_push(a, acceptance, value_cstr(a, "the tests pass"));
	value_put(a, v, "objective", value_strf(a, "Change what has to be changed %s.", wording));
	value_put(a, v, "acceptance", acceptance);
	return v;
}

static value *plan_task(struct arena *a, str id, int subtasks, const char *wording)
{
	value *task = plan_node(a, id, wording, true), *list = value_array(a);

	for (int i = 1; i <= subtasks; i++)
		value_push(a, list,
				plan_node(a, arena_printf(a, STR_FMT ".%d", STR_ARG(id), i),
						wording, true));
	if (subtasks)
		value_put(a, task, "subtasks", list);
	return task;
}

value *fleet_plan(struct arena *a, int phases, int tasks, int subtasks, const char *wording)
{
	value *plan = value_object(a), *list = value_array(a);

	for (int p = 1; p <= phases; p++) {
		value *phase = plan_node(a, arena_printf(a, "P%d", p), wording, false),
		      *inner = value_array(a);

		for (int t = 1; t <= tasks; t++)
			value_push(a, inner,
					plan_task(a, arena_printf(a, "T%d.%d", p, t), subtasks,
							wording));
		value_put(a, phase, "tasks", inner);
		value_push(a, list, phase);
	}
	value_put(a, plan, "phases", list);
	return plan;
}

void fleet_goal(struct fleet *f, const value *plan)
{
	struct arena *a = &f->arena;
	value *params = value_object(a);

	value_put(a, params, "title", value_cstr(a, "A goal of the benchmark"));
	value_put(a, params, "plan", value_copy(a, plan));
	fleet_submit(f, "goal.create", params);
}

void fleet_observe(struct fleet *f, ov_time at)
{
	list_each (it, &f->state->runs) {
		str id = list_entry(it, struct run, link)->id;
		struct observation *o = map_get(&f->observations, id);

		if (!o) {
			o = mem_zalloc(1, sizeof(*o));
			map_put(&f->observations, id, o);
		}
		o->output_at = at;
	}
}

void fleet_silence(struct fleet *f, size_t n, ov_time at, ov_time looked_at)
{
	size_t i = 0;
	str id;
	void *o;

	while (n && map_next(&f->observations, &i, &id, &o)) {
		((struct observation *)o)->output_at = at;
		((struct observation *)o)->looked_at = looked_at;
		n--;
	}
}

struct telemetry fleet_telemetry(const struct fleet *f)
{
	return (struct telemetry){ .observations = f->observations.n ? &f->observations : NULL };
}
