/*
 * Everything that can happen, in any order: commands of people, outcomes, reports, silences,
 * models' answers, restarts, a clock that jumps. Whatever happens, no event is refused by the fold,
 * a snapshot goes on exactly as the state that it was taken from, a tick comes to rest, and every
 * open item has a next step or somebody who knows of it.
 */
#include "tests/test.h"

#include <stdlib.h>

#include "base/str.h"
#include "core/capacity/budget.h"
#include "core/state/snapshot.h"
#include "data/value/json.h"
#include "tests/next_step.h"
#include "tests/unit/core_fixture.h"

TEST_MAIN

static void check_steps(const struct fixture *f)
{
	const struct node *n = next_step_lacking(f->state);
	const struct assignment *as = n ? n->assignment : NULL;

	if (n)
		fail_msg(STR_FMT
				" is %s and nobody goes on with it (assignment %s, %s, episode %d, "
				"escalated %d, %s, by " STR_FMT ")",
				STR_ARG(n->key), status_name(&node_statuses, (int)n->status),
				as ? status_name(&as_statuses, (int)as->status) : "none",
				as ? status_name(&stages, (int)as->stage) : "", n->stall.open,
				(int)n->stall.rungs[RUNG_ESCALATE],
				status_name(&block_kinds, (int)n->block.kind),
				STR_ARG(n->block.by));
}

/* What a tick would decide now, as text. */
static str decisions_of(struct fixture *f, const struct state *s)
{
	struct world w = { s, &f->policy };
	struct decisions d = reconcile(&f->arena, &w, &f->telemetry, f->now);

	return json_text(&f->arena, decisions_view(&f->arena, &d));
}

/* A snapshot, read back, takes the place of the state: what was only remembered is gone. */
static void restart(struct fixture *f)
{
	str text = snapshot_of(f, f->state);
	struct ov_err err = { 0 };
	struct state *fresh = NULL;

	if (snapshot_read(text, 1, &fresh, &err) < 0)
		fail_msg("the snapshot cannot be read: %s", err.msg);
	assert_true(str_eq(snapshot_of(f, fresh), text));
	if (!str_eq(decisions_of(f, fresh), decisions_of(f, f->state)))
		fail_msg("after a restart it decides " STR_FMT "\nbefore it decided " STR_FMT,
				STR_ARG(decisions_of(f, fresh)),
				STR_ARG(decisions_of(f, f->state)));
	state_free(f->state);
	f->state = fresh;
	map_done(&f->observations);
	map_init(&f->observations, 1);
}

static const struct assignment *some_running(struct fixture *f, struct rng *rng)
{
	const struct assignment *found = NULL;
	size_t n = 0;

	list_each (it, &f->state->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (as->run && rng_below(rng, ++n) == 0)
			found = as;
	}
	return found;
}

/* As the daemon does: whoever shall be looked at is looked at. */
static void look(struct fixture *f, struct rng *rng)
{
	struct world w = { f->state, &f->policy };
	struct decisions d = reconcile(&f->arena, &w, &f->telemetry, f->now);

	for (size_t i = 0; i < d.looks_n; i++) {
		const struct assignment *as = state_assignment(f->state, d.looks[i]->assignment_id);
		struct observation *o;

		if (!as || as->run != d.looks[i])
			continue;
		o = observe(f, as->node);
		o->looked_at = f->now;
		o->process_unknown = rng_below(rng, 4) == 0;
		o->tree_unknown = rng_below(rng, 4) == 0;
		if (rng_below(rng, 8) == 0)
			o->tree_at = f->now;
		if (rng_below(rng, 8) == 0)
			o->process_at = f->now;
		o->waiting_for = rng_below(rng, 16) ? STR("") : STR("a permission");
	}
}

static void see_all(struct fixture *f)
{
	list_each (it, &f->state->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (as->stage == STAGE_RUNNING)
			(void)observe(f, as->node);
	}
}

static void plan_end(struct fixture *f, struct rng *rng)
{
	static const char *const advices[] = { "nudge", "resend", "replan", "reassign",
		"escalate" };
	const struct effect *fx = NULL;
	value *params, *data;

	list_each (it, &f->state->effects) {
		const struct effect *x = list_entry(it, struct effect, link);

		if (x->kind == FX_PLAN)
			fx = x;
	}
	if (!fx)
		return;
	params = json(f,
			"{'effect': '" STR_FMT "', 'outcome': '%s', 'detail': 'd', 'data': "
			"{'template_id': 't', 'template_hash': 'h', 'model_ref': 'm', "
			"'tokens_in': 5, 'tokens_out': 6, 'plan_version': %lld, "
			"'actions': [{'type': '%s', 'message': 'm', 'question': 'which?', "
			"'options': ['done', 'other']}]}}",
			STR_ARG(fx->id), rng_below(rng, 4) ? "ok" : "error",
			(long long)state_goal(f->state, fx->goal_id)->plan_version,
			advices[rng_below(rng, ARRAY_LEN(advices))]);
	data = (value *)value_at(params, "data");
	if (str_is(fx->purpose, "create"))
		value_put(&f->arena, data, "plan", flat_plan(f, 1 + rng_below(rng, 3)));
	else
		value_put(&f->arena, data, "plan",
				json(f,
						"{'phases': [{'id': 'P1', 'name': 'p', 'tasks': [{"
						"'id': '" STR_FMT
						"', 'name': 'x', 'acceptance': ['x'], 'subtasks': "
						"[{'id': 'Z%llu', 'name': 'z', 'acceptance': "
						"['z']}]}]}]}",
						STR_ARG(fx->node_id),
						(unsigned long long)f->entropy));
	submit(f, "effect.end", params);
}

static void any_inbox(struct fixture *f, struct rng *rng)
{
	static const char *const answers[] = { "retry", "done", "cancel", "hang", "keep", "raise",
		"resume", "use the other one" };
	static const char *const words[] = { "inbox.dismiss", "inbox.approve", "inbox.deny" };
	size_t n = f->state->escalations.n;
	const struct escalation *x = n ? f->state->escalations.p[rng_below(rng, n)] : NULL;

	if (!x)
		return;
	if (rng_below(rng, 3))
		(void)try_submit(f, "inbox.answer",
				json(f, "{'number': %lld, 'answer': '%s'}", (long long)x->number,
						answers[rng_below(rng, ARRAY_LEN(answers))]),
				NULL);
	else
		(void)try_submit(f, words[rng_below(rng, ARRAY_LEN(words))],
				json(f, "{'number': %lld}", (long long)x->number), NULL);
}

static void any_report(struct fixture *f, struct rng *rng)
{
	static const char *const statuses[] = { "in_progress", "done", "blocked" };
	const struct assignment *as = some_running(f, rng);
	value *params;

	if (!as)
		return;
	params = json(f, "{'run': '" STR_FMT "', 'identity': 'i', 'offset': %llu}",
			STR_ARG(as->run_id), (unsigned long long)f->entropy);
	value_put(&f->arena, params, "update",
			rng_below(rng, 2) ? json(f, "{'status': '%s', 'summary': 's%zu'}",
							    statuses[rng_below(rng, 3)],
							    rng_below(rng, 9))
					  : json(f, "{'next': 'e%zu'}", rng_below(rng, 9)));
	(void)try_submit(f, "run.report", params, NULL);
}

static void any_dispatch(struct fixture *f, struct rng *rng)
{
	const struct assignment *as = some_running(f, rng);

	if (!as)
		return;
	if (rng_below(rng, 2))
		(void)try_submit(f, "work.nudge",
				json(f, "{'node': '" STR_FMT "', 'force': true}",
						STR_ARG(as->node->key)),
				NULL);
	else if (as->dispatches.n)
		(void)try_submit(f, "dispatch.ack",
				json(f, "{'dispatch': '" STR_FMT "', 'how': 'nonce'}",
						STR_ARG(as->dispatches.p[rng_below(rng, as->dispatches.n)]
										->id)),
				NULL);
}

static void step(struct fixture *f, struct rng *rng)
{
	switch (rng_below(rng, 40)) {
	case 0: restart(f); break;
	case 1:
	case 2: plan_end(f, rng); break;
	case 3: any_inbox(f, rng); break;
	case 4:
	case 5: any_report(f, rng); break;
	case 6: any_dispatch(f, rng); break;
	case 7:
	case 8:
	case 9: look(f, rng); break;
	case 10: see_all(f); break;
	case 11: f->now += (ov_time)rng_below(rng, 10 * OV_MINUTE); break;
	case 12:
		if (f->wake_at != OV_TIME_MAX && f->wake_at > f->now)
			f->now = f->wake_at;
		break;
	case 13:
		if (rng_below(rng, 20) == 0)
			f->now += (ov_time)rng_below(rng, 10 * OV_HOUR);
		break;
	case 14:
		if (rng_below(rng, 20) == 0)
			f->now -= (ov_time)rng_below(rng, 5 * OV_HOUR);
		break;
	case 15:
		if (f->state->goals.n < 8)
			(void)try_submit(f, "goal.create",
					json(f, "{'title': 'G', 'priority': 'normal'}"), NULL);
		break;
	default: random_step(f, rng);
	}
}

/* Where little ends by itself: hours of silence, looks, and what is done about it. */
static void quiet_step(struct fixture *f, struct rng *rng)
{
	const struct effect *fx;

	switch (rng_below(rng, 8)) {
	case 0:
	case 1:
		if (f->wake_at != OV_TIME_MAX && f->wake_at > f->now)
			f->now = f->wake_at;
		break;
	case 2: see_all(f); break;
	case 3: look(f, rng); break;
	case 4: f->now += (ov_time)rng_below(rng, 10 * OV_MINUTE); break;
	case 5:
		if (rng_below(rng, 3) == 0)
			step(f, rng);
		break;
	default:
		if (list_empty(&f->state->effects))
			break;
		fx = list_entry(f->state->effects.next, struct effect, link);
		if (fx->kind == FX_PLAN) {
			plan_end(f, rng);
			break;
		}
		submit(f, "effect.end",
				json(f,
						"{'effect': '" STR_FMT
						"', 'outcome': '%s', 'detail': 'd', 'data': "
						"{'base': 'b', "
						"'head': 'h', 'tree': 't', 'commits': 1, "
						"'files_changed': "
						"1, 'commit': 'c', 'target': 'main'}}",
						STR_ARG(fx->id),
						fx->kind == FX_SEND && rng_below(rng, 2) ? "error"
											 : "ok"));
	}
}

static void rest(struct fixture *f)
{
	settle(f);
	assert_true(f->wake_at > f->now);
	check_steps(f);
}

TEST(nothing_is_refused_and_nothing_lies_about)
{
	const char *more = getenv("STORM_SEEDS"), *from = getenv("STORM_FROM");
	const char *length = getenv("STORM_STEPS");
	int steps = length ? atoi(length) : 600;
	uint64_t first = from ? strtoull(from, NULL, 10) : 1,
		 seeds = more ? strtoull(more, NULL, 10) : 40;

	for (uint64_t seed = first; seed < first + seeds; seed++) {
		struct rng rng = { seed * 7919 };
		struct fixture f;

		if (more)
			print_message("seed %llu\n", (unsigned long long)seed);
		fixture_init(&f);
		f.policy.planner = seed & 1;
		f.policy.diagnose = seed & 2;
		f.policy.fallback = true;
		f.policy.workers_max = seed & 4 ? 12 : 3;
		f.policy.default_after = seed & 8 ? OV_HOUR : 0;
		f.policy.review = seed % 5 == 1 ? REVIEW_ALWAYS : REVIEW_NEVER;
		f.policy.accept.pre = seed % 3 ? STR("pre") : STR("");
		f.policy.accept.pre_on_failure = seed % 7 < 4 ? PRE_RETRY : PRE_FAIL;
		f.policy.accept.post = seed % 4 ? STR("post") : STR("");
		f.policy.accept.post_on_failure = (enum post_failure)(seed / 4 % 3);
		for (int i = 0; seed & 128 && i < RESOURCE_COUNT; i++)
			f.policy.budget[i] = -1;
		if (seed & 16)
			f.policy.done_grace = OV_HOUR;
		if (seed & 32) {
			f.policy.quiet_from = 60;
			f.policy.quiet_to = 360;
		}
		create_goal(&f, flat_plan(&f, 7), NULL);
		for (int i = 0; i < steps; i++) {
			if (seed & 64)
				quiet_step(&f, &rng);
			else
				step(&f, &rng);
			if (i % 7 == 0)
				rest(&f);
		}
		fixture_done(&f);
	}
}
