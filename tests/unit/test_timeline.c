/*
 * The timeline that people are told is what the tick does: a run that stays silent is driven
 * through the whole of recovery, by any policy, and every step comes at the moment that was
 * foretold at any time before.
 */
#include "tests/test.h"

#include "agent/format/format.h"
#include "agent/table/formats.h"
#include "base/duration.h"
#include "base/vec.h"
#include "core/config/config.h"
#include "core/life/timeline.h"
#include "tests/unit/core_fixture.h"

struct happened {
	enum moment_kind kind;
	ov_time at;
	bool skipped;
};

struct world_of_one {
	struct fixture f;
	struct policy_agent agent;
	bool acks; /* it confirms what it is sent, though it does nothing else */
	size_t read;
	ov_time began; /* the last sign of life of the first run */
	VEC(struct happened) happened;
	VEC(struct timeline) foretold; /* after so many of them */
	VEC(size_t) foretold_after;
};

static void happen(struct world_of_one *w, enum moment_kind kind, ov_time at, bool skipped)
{
	vec_push(&w->happened, ((struct happened){ kind, at, skipped }));
}

static void read_log(struct world_of_one *w)
{
	static const enum moment_kind kinds[RUNG_COUNT] = { MOMENT_NUDGE, MOMENT_RESEND,
		MOMENT_REPLAN, MOMENT_REASSIGN, MOMENT_PERSON };

	for (; w->read < w->f.log.n; w->read++) {
		const struct event *e = w->f.log.p[w->read];

		if (e->kind == EV_RUN_STARTED && !w->began)
			w->began = e->at;
		if (e->kind == EV_ASSIGNMENT_MOVED &&
				str_is(value_str_at(e->data, "to"), "stalled"))
			happen(w, MOMENT_STALL, e->at, false);
		if (e->kind == EV_EPISODE_RUNG)
			happen(w, kinds[status_parse(&rungs, value_str_at(e->data, "rung"))], e->at,
					value_bool_at(e->data, "skipped"));
		if (e->kind == EV_EFFECT_INTENDED &&
				str_is(value_str_at(e->data, "purpose"), "diagnose"))
			happen(w, MOMENT_DIAGNOSE, e->at, false);
	}
}

static void start_heard(struct world_of_one *w)
{
	const struct assignment *as = node_of(&w->f, "T1")->assignment;

	if (w->agent.format)
		submit(&w->f, "run.session",
				json(&w->f,
						"{'run': '" STR_FMT
						"', 'session': 's-1', 'model': 'm'}",
						STR_ARG(as->run_id)));
}

static void end_effect(struct world_of_one *w, const struct effect *fx)
{
	struct fixture *f = &w->f;
	enum effect_kind kind = fx->kind;
	str run = arena_str(&f->arena, fx->run_id), dispatch = STR("");
	const struct assignment *as = state_assignment(f->state, fx->assignment_id);

	if (kind == FX_SEND)
		dispatch = arena_str(&f->arena, vec_last(&as->dispatches)->id);
	submit(f, "effect.end",
			json(f,
					"{'effect': '" STR_FMT
					"', 'outcome': '%s', 'detail': 'd', 'data': {%s}}",
					STR_ARG(fx->id), kind == FX_PLAN ? "failed" : "ok",
					kind == FX_WORKSPACE ? "'base': 'b'"
							: kind == FX_HARVEST
							? ("'head': 'h', 'tree': "
							   "'t', 'commits': 0, "
							   "'files_changed': 0")
							: ""));
	if (kind == FX_RUN_START)
		start_heard(w);
	if (kind == FX_RUN_STOP)
		submit(f, "run.end",
				json(f, "{'run': '" STR_FMT "', 'exit_code': 0, 'signal': 15}",
						STR_ARG(run)));
	if (kind == FX_SEND && w->acks)
		submit(f, "dispatch.ack",
				json(f, "{'dispatch': '" STR_FMT "', 'how': 'nonce'}",
						STR_ARG(dispatch)));
}

/* Everything takes no time, and whoever wants to look has just looked. */
static void rest(struct world_of_one *w)
{
	struct fixture *f = &w->f;

	for (int i = 0; i < 200; i++) {
		const struct node *n = node_of(f, "T1");

		if (n->assignment && n->assignment->run)
			observe(f, n)->looked_at = f->now;
		settle(f);
		if (list_empty(&f->state->effects))
			return;
		end_effect(w, list_entry(f->state->effects.next, struct effect, link));
	}
	fail_msg("it never comes to rest");
}

static void foretell(struct world_of_one *w)
{
	struct fixture *f = &w->f;
	const struct node *n = node_of(f, "T1");
	struct world world = { f->state, &f->policy };

	if (!n->assignment || !n->assignment->run)
		return;
	vec_push(&w->foretold,
			timeline_of_run(&f->arena, &world, n->assignment, observe(f, n), f->now));
	vec_push(&w->foretold_after, w->happened.n);
}

static void drive(struct world_of_one *w)
{
	struct fixture *f = &w->f;
	struct rng rng = { 7 };

	for (int i = 0; i < 2000; i++) {
		rest(w);
		read_log(w);
		if (w->happened.n && vec_last(&w->happened).kind == MOMENT_PERSON)
			return;
		foretell(w);
		assert_true(f->wake_at != OV_TIME_MAX);
		/* At any moment, not only when the tick wakes up: nothing may be done then. */
		if (f->wake_at > f->now + 1 && rng_below(&rng, 3) == 0)
			f->now += (ov_time)rng_below(&rng, (size_t)(f->wake_at - f->now));
		else
			f->now = f->wake_at;
	}
	fail_msg("no person is ever asked");
}

static void compare(const struct world_of_one *w, const struct timeline *t, size_t from,
		ov_time shift)
{
	assert_int_equal(t->n, w->happened.n - from);
	for (size_t i = 0; i < t->n; i++) {
		const struct happened *h = &w->happened.p[from + i];

		if (h->kind != t->p[i].kind || h->at != t->p[i].at + shift ||
				h->skipped != (t->p[i].skipped != NULL))
			fail_msg("step %zu: %s%s at %lld, foretold %s%s at %lld", from + i,
					moment_name(h->kind), h->skipped ? " (skipped)" : "",
					(long long)(h->at - w->began), moment_name(t->p[i].kind),
					t->p[i].skipped ? " (skipped)" : "",
					(long long)(t->p[i].at + shift - w->began));
	}
}

/* All that is foretold after the last request was confirmed, or not, has to come true. */
static bool is_settled(const struct world_of_one *w, size_t after)
{
	if (!w->acks || !w->agent.input)
		return true;
	for (size_t i = after; i < w->happened.n; i++)
		if (w->happened.p[i].kind == MOMENT_NUDGE && !w->happened.p[i].skipped)
			return false;
	return true;
}

static ov_time some_time(struct rng *rng, ov_time least, ov_time most)
{
	return least + (ov_time)rng_below(rng, (size_t)(most - least));
}

static void any_policy(struct world_of_one *w, struct rng *rng)
{
	static const char *const formats[] = { NULL, "claude", "codex", "gemini", "opencode" };
	const char *format = formats[rng_below(rng, ARRAY_LEN(formats))];
	struct policy *p = &w->f.policy;

	w->agent = (struct policy_agent){ .name = STR("a"),
		.format = format ? format_find(str_from(format)) : NULL,
		.concurrency = 4,
		.input = rng_below(rng, 2),
		.recovery = (enum rung)(RUNG_RESEND + rng_below(rng, RUNG_COUNT - RUNG_RESEND)) };
	w->acks = rng_below(rng, 2);
	p->agents = &w->agent;
	p->agents_n = 1;
	p->default_agent = w->agent.name;
	p->idle_after = some_time(rng, 1000, 2 * OV_HOUR);
	p->min_resend_interval = some_time(rng, 10, 2 * p->idle_after);
	p->backoff_base = some_time(rng, 10, p->idle_after);
	p->backoff_max = some_time(rng, p->backoff_base, 4 * p->idle_after);
	p->max_nudges = (int64_t)rng_below(rng, 5);
	p->planner = rng_below(rng, 2);
	p->diagnose = rng_below(rng, 2);
	/* Other questions than that of the stall are not what this is about. */
	p->max_run = p->mute_after = 365 * OV_DAY;
	p->remind_after = 0;
	p->retry_max_attempts = 100;
	for (int i = 0; i < RESOURCE_COUNT; i++)
		p->budget[i] = -1;
	w->f.telemetry.observations = &w->f.observations;
}

TEST(what_is_foretold_is_what_is_done)
{
	size_t steps = 0;

	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct world_of_one w = { 0 };
		struct rng rng = { seed };
		struct timeline t;

		fixture_init(&w.f);
		oversight_off(&w.f);
		any_policy(&w, &rng);
		create_goal(&w.f, flat_plan(&w.f, 1), NULL);
		drive(&w);
		t = timeline_of_agent(&w.f.policy, &w.agent);
		if (!w.acks || !w.agent.input)
			compare(&w, &t, 0, w.began);
		for (size_t i = 0; i < w.foretold.n; i++)
			if (is_settled(&w, w.foretold_after.p[i]))
				compare(&w, &w.foretold.p[i], w.foretold_after.p[i], 0);
		steps += w.happened.n;
		vec_done(&w.happened);
		vec_done(&w.foretold);
		vec_done(&w.foretold_after);
		fixture_done(&w.f);
	}
	assert_true(steps > 400 * 3);
}

/* As people write it: in seconds, minutes or by default; what is set is left as it is. */
static struct timeline of_t1(struct fixture *f)
{
	struct world w = { f->state, &f->policy };
	const struct node *n = node_of(f, "T1");

	return timeline_of_run(&f->arena, &w, n->assignment, observe(f, n), f->now);
}

/*
 * A run that waits for a person is asked about then, and nothing else is foretold until
 * they answered.
 */
TEST(a_person_who_is_waited_for)
{
	struct fixture f;
	struct observation *o;
	struct timeline t;
	size_t asked;

	fixture_init(&f);
	create_goal(&f, flat_plan(&f, 1), NULL);
	bring_to(&f, "T1", STAGE_RUNNING);
	o = observe(&f, node_of(&f, "T1"));
	o->waiting_for = STR("run: make install");
	o->waiting_since = o->output_at = o->looked_at = f.now;
	t = of_t1(&f);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.p[0].kind, MOMENT_ASK);
	assert_int_equal(t.p[0].at, f.now + f.policy.ask_after);
	assert_false(t.p[0].ends_run);
	f.now = t.p[0].at - 1;
	settle(&f);
	assert_int_equal(f.state->escalations.n, 0);
	f.now++;
	settle(&f);
	asked = f.state->escalations.n;
	assert_int_equal(asked, 1);
	assert_int_equal(of_t1(&f).n, 0);
	submit(&f, "inbox.dismiss", json(&f, "{'number': 1}"));
	t = of_t1(&f);
	assert_int_equal(t.p[0].kind, MOMENT_STALL);
	/* Where nobody wants to be asked at once it is silent like any other. */
	f.policy.ask_after = 0;
	o->waiting_since = f.now;
	assert_int_equal(of_t1(&f).p[0].kind, MOMENT_STALL);
	fixture_done(&f);
}

/*
 * At any moment until then the same is foretold, and nothing else is done; whoever wants to
 * look looks.
 */
static void told_when_foretold(struct fixture *f, ov_time at, ov_time every,
		void (*lives)(struct observation *o, ov_time now))
{
	struct observation *o = observe(f, node_of(f, "T1"));

	for (; f->now < at; f->now = MIN(f->now + every, at)) {
		struct timeline t;

		lives(o, f->now);
		settle(f);
		o->looked_at = f->now;
		settle(f);
		assert_int_equal(f->state->escalations.n, 0);
		t = of_t1(f);
		assert_int_equal(t.n, 1);
		assert_int_equal(t.p[0].kind, MOMENT_MUTE);
		assert_int_equal(t.p[0].at, at);
		assert_false(t.p[0].ends_run);
	}
	lives(o, f->now);
	o->looked_at = f->now;
	settle(f);
	assert_int_equal(f->state->escalations.n, 1);
	assert_true(str_is(f->state->escalations.p[0]->kind, "mute"));
	assert_int_equal(f->state->escalations.p[0]->opened_at, at);
	assert_int_equal(of_t1(f).n, 0);
}

static void lives_by_a_tool(struct observation *o, ov_time now)
{
	(void)now;
	o->tool_in_flight = true;
}

static void lives_by_the_same(struct observation *o, ov_time now)
{
	o->output_at = o->same_at = now;
	o->same_calls++;
}

static struct observation *at_work(struct fixture *f)
{
	struct observation *o;

	fixture_init(f);
	f->policy.max_run = 365 * OV_DAY;
	f->policy.remind_after = 0;
	create_goal(f, flat_plan(f, 1), NULL);
	bring_to(f, "T1", STAGE_RUNNING);
	f->telemetry.observations = &f->observations;
	o = observe(f, node_of(f, "T1"));
	o->output_at = o->looked_at = f->now;
	return o;
}

/*
 * It never stalls, so no stall is foretold: a person is told of its silence, at that very moment.
 */
TEST(a_tool_in_flight)
{
	struct fixture f;
	struct observation *o = at_work(&f);

	f.policy.mute_after = 3 * f.policy.idle_after + f.policy.idle_after / 5;
	assert_int_equal(of_t1(&f).p[0].kind, MOMENT_STALL);
	told_when_foretold(&f, o->output_at + f.policy.mute_after, f.policy.idle_after / 7,
			lives_by_a_tool);
	f.now += 3 * f.policy.idle_after;
	settle(&f);
	assert_int_equal(of_t1(&f).n, 0);
	/* Its tool has ended, and it says no more. */
	o->tool_in_flight = false;
	o->output_at = f.now;
	assert_int_equal(of_t1(&f).p[0].kind, MOMENT_STALL);
	assert_int_equal(of_t1(&f).p[0].at, f.now + f.policy.idle_after);
	/* Where nobody is told, nothing comes. */
	f.policy.mute_after = 0;
	o->tool_in_flight = true;
	assert_int_equal(of_t1(&f).n, 0);
	fixture_done(&f);
}

TEST(the_same_over_and_over)
{
	struct fixture f;
	struct observation *o = at_work(&f);
	ov_time pace;

	f.policy.mute_after = 4 * f.policy.idle_after;
	pace = f.policy.idle_after / 30;
	o->same_output = true;
	o->same_since = f.now;
	o->same_calls = 20;
	f.now += 20 * pace;
	told_when_foretold(&f, o->same_since + f.policy.mute_after, pace, lives_by_the_same);
	/* It missed two of its turns: it has fallen silent like any other. */
	f.now += 2 * pace + 1;
	assert_int_equal(of_t1(&f).p[0].kind, MOMENT_STALL);
	assert_int_equal(of_t1(&f).p[0].at, o->output_at + f.policy.idle_after);
	fixture_done(&f);
}

TEST(as_configured)
{
	static const struct {
		const char *supervisor, *agent, *steps;
	} cases[] = {
		/* Nine minutes of waits in the default are twelve seconds here. */
		{ "idle_after = \"20s\"", "format = \"claude\"",
				"stall 20s, nudge 32s, stall 52s, nudge 1m4s, stall 1m24s, "
				"no "
				"resend, no replan, reassign 1m36s, stall 1m56s, person 2m8s" },
		{ "", "format = \"claude\"",
				"stall 15m, nudge 24m, stall 39m, nudge 48m, stall 1h3m, no "
				"resend, no "
				"replan, reassign 1h12m, stall 1h27m, person 1h36m" },
		{ "", "command = \"a\"\nprompt = \"file\"\ninput = \"stdin\"",
				"stall 15m, nudge 15m, nudge 20m, resend 25m, no replan, reassign "
				"33m, "
				"stall 48m, person 57m" },
		{ "", "command = \"a\"",
				"stall 15m, no nudge, no resend, no replan, reassign 24m, stall "
				"39m, "
				"person 48m" },
		{ "idle_after = \"1m\"\nmin_resend_interval = \"5m\"\nbackoff.base = \"2m\"",
				"command = \"a\"\nrecovery = \"escalate\"",
				"stall 1m, no nudge, person 8m" },
		{ "max_retries = 0", "command = \"a\"\nrecovery = \"escalate\"",
				"stall 15m, person 15m" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct arena a = { 0 };
		struct config *c = NULL;
		struct ov_err err = { 0 };
		struct timeline t;
		str text = STR("");

		if (config_parse(arena_printf(&a, "[supervisor]\n%s\n[agents.x]\n%s\n",
						 cases[i].supervisor, cases[i].agent),
				    &c, &err) < 0)
			fail_msg("%s", err.msg);
		t = timeline_of_agent(&c->policy, &c->policy.agents[0]);
		for (size_t k = 0; k < t.n; k++)
			text = arena_printf(&a, STR_FMT "%s%s%s%s" STR_FMT, STR_ARG(text),
					k ? ", " : "", t.p[k].skipped ? "no " : "",
					moment_name(t.p[k].kind), t.p[k].skipped ? "" : " ",
					STR_ARG(t.p[k].skipped ? STR("")
							       : duration_format_short(&a,
										 t.p[k].at)));
		assert_string_equal(arena_cstr(&a, text), cases[i].steps);
		config_free(c);
		arena_done(&a);
	}
}

TEST_MAIN
