/*
 * The core in virtual time, as the daemon drives it: it ticks when something happens and at
 * wake_at, effects succeed at once, and looks are answered from the traces as
 * app/watch/observe.c does.
 */
#include "tests/test.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "core/life/process_life.h"
#include "tests/sim/quality_world.h"

enum {
	ROUNDS_MAX = 100000,
	ANSWER_AFTER = 5 * OV_SECOND,
	QUOTA_EXIT = 75,
	TERM = 15,
};

static ov_time now_of(const struct world_sim *w)
{
	return w->f.now - w->base;
}

static const struct assignment *assignment_of(struct world_sim *w, const struct player *p)
{
	return node_of(&w->f, p->node)->assignment;
}

/* As in app/exec/executor_run.c. */
static ov_time repeats_gap(const struct world_sim *w)
{
	const struct thresholds *t = &w->f.policy.oversight.t;

	return t->same_output_seconds * OV_SECOND / MAX(t->same_call_count, (int64_t)1);
}

/* The run of a player that is under way, or NULL; a new one begins with what it does. */
static const struct run *run_of(struct world_sim *w, struct player *p)
{
	const struct assignment *as = assignment_of(w, p);
	const struct run *r = as ? as->run : NULL;
	bool healthy = p->label->sick_at == OV_TIME_MAX;

	if (!r || r->status != RUN_RUNNING)
		return NULL;
	if (str_eq(r->id, p->run))
		return r;
	p->run = arena_str(&w->f.arena, r->id);
	p->began = now_of(w);
	p->used_at = p->tree_at = -1;
	p->answered_at = 0;
	p->stuck = false;
	if (p->runs++ && !p->label->again && (!healthy || p->label->over_at))
		p->plays = &p->next;
	if (now_of(w) < p->label->over_at && p->runs > 1)
		p->next.ends_at = ANSWER_AFTER;
	else
		p->next.ends_at = p->next.length;
	ear_begin(&p->ear, p->plays, w->base + p->began, -1, repeats_gap(w));
	return r;
}

static ov_time output_of(const struct world_sim *w, const struct player *p)
{
	ov_time at = trace_output(p->plays, now_of(w) - p->began);

	at = at < 0 ? 0 : w->base + p->began + at;
	return p->answered_at && w->f.now >= p->answered_at ? MAX(at, p->answered_at) : at;
}

static void show(struct world_sim *w, struct player *p)
{
	struct observation *o;
	const struct span *s;

	if (!run_of(w, p))
		return;
	o = observe(&w->f, node_of(&w->f, p->node));
	s = trace_at(p->plays, now_of(w) - p->began);
	ear_hear(&p->ear, p->plays, w->base + p->began, now_of(w) - p->began, o);
	o->output_at = output_of(w, p);
	o->tool_in_flight = p->plays->tells && s->tool;
	o->tool = o->tool_in_flight && s->name ? str_from(s->name) : STR("");
	o->compacting = p->plays->tells && s->compacting;
	o->waiting_since = w->base + p->began + s->from;
	o->waiting_for = p->plays->tells && s->waiting ? STR("may I run make install?") : STR("");
}

/* What is used in a call of a tool is the tool's, whatever else is used is the agent's own. */
bool used_enough(const struct trace *t, ov_time from, ov_time to)
{
	bool tool = trace_at(t, to)->tool;
	int64_t cpu = trace_cpu_ms(t, from, to), io = trace_io_bytes(t, from, to);
	struct process_rule rule = { .speaks = t->tells,
		.tool_in_flight = t->tells && tool,
		.idle_permille = IDLE_UNKNOWN };
	struct process_use use = { .passed_ms = to - from,
		.own_cpu_ms = tool ? 0 : cpu,
		.own_io_bytes = tool ? 0 : io,
		.tool_cpu_ms = tool ? cpu : 0,
		.tool_io_bytes = tool ? io : 0 };

	return process_is_life(&rule, &use);
}

static void look(struct world_sim *w, struct player *p)
{
	struct observation *o = observe(&w->f, node_of(&w->f, p->node));
	ov_time at = now_of(w) - p->began;
	bool gone = at >= p->plays->dead_at;

	o->process_unknown = gone || p->used_at < 0 || o->output_at > o->looked_at;
	if (!o->process_unknown && used_enough(p->plays, p->used_at, at))
		o->process_at = w->f.now;
	if (o->process_at == w->f.now && p->ear.heard)
		silence_work(&p->ear.book);
	if (!gone)
		p->used_at = at;
	o->tree_unknown = p->tree_at < 0;
	if (!o->tree_unknown && trace_tree_changed(p->plays, p->tree_at, at))
		o->tree_at = w->f.now;
	p->tree_at = at;
	o->looked_at = w->f.now;
}

static struct player *player_of(struct world_sim *w, str node)
{
	for (size_t i = 0; i < w->n; i++)
		if (str_is(node, w->players[i].node))
			return &w->players[i];
	return NULL;
}

static void note_rung(struct player *p, const struct event *e, ov_time at)
{
	str rung = value_str_at(e->data, "rung");

	if (value_bool_at(e->data, "skipped"))
		return;
	if (str_is(rung, "nudge"))
		p->out->nudged_at = MIN(p->out->nudged_at, at);
	p->out->restarts += str_is(rung, "reassign");
}

static void note_question(struct player *p, ov_time at)
{
	outcome_alarm(p->out, p->label, at);
	p->out->escalated_at = MIN(p->out->escalated_at, at);
	/* One before it was sick was a false alarm, and about something else. */
	if (at >= p->label->sick_at || p->label->sick_at == OV_TIME_MAX)
		p->out->questions++;
}

static void note(struct world_sim *w, struct player *p, const struct event *e)
{
	ov_time at = e->at - w->base;

	switch (e->kind) {
	case EV_EPISODE_OPENED:
	case EV_OUTAGE_SUSPECTED: outcome_alarm(p->out, p->label, at); break;
	case EV_EPISODE_RUNG: note_rung(p, e, at); break;
	case EV_ESCALATION_OPENED: note_question(p, at); break;
	case EV_DETECTION_MADE:
		outcome_alarm(p->out, p->label, at);
		p->stuck = true;
		break;
	case EV_EFFECT_INTENDED:
		if (str_is(value_str_at(e->data, "kind"), "run_stop"))
			outcome_stop(p->out, p->label, at);
		break;
	default: break;
	}
}

/* What concerns no node concerns all of them. */
static void note_log(struct world_sim *w)
{
	for (; w->seen < w->f.log.n; w->seen++) {
		const struct event *e = w->f.log.p[w->seen];

		for (size_t i = 0; i < w->n; i++)
			if (!e->node.n || str_is(e->node, w->players[i].node))
				note(w, &w->players[i], e);
	}
}

static bool take_looks(struct world_sim *w)
{
	struct world now = { w->f.state, &w->f.policy };
	struct decisions d = reconcile(&w->f.arena, &now, &w->f.telemetry, w->f.now);

	for (size_t i = 0; i < d.looks_n; i++)
		look(w, player_of(w, d.looks[i]->node_id));
	return d.looks_n > 0;
}

static void end_run(struct world_sim *w, struct player *p, int exit_code, int signal)
{
	value *silences;
	value *params = json(&w->f, "{'run': '" STR_FMT "', 'exit_code': %d, 'signal': %d}",
			STR_ARG(p->run), exit_code, signal);

	if (exit_code == QUOTA_EXIT && p->label->resets_at > now_of(w))
		value_put(&w->f.arena, params, "resets_at_ms",
				value_int(&w->f.arena, w->base + p->label->resets_at));
	silences = ear_told(&w->f.arena, &p->ear, now_of(w) - p->began);
	if (silences)
		value_put(&w->f.arena, params, "silences", silences);
	submit(&w->f, "run.end", params);
}

static const char *const good_data[EFFECT_KIND_COUNT] = {
	[FX_WORKSPACE] = "'base': 'b'",
	[FX_RUN_START] = "",
	[FX_RUN_STOP] = "",
	[FX_HARVEST] = "'head': 'h', 'tree': 't', 'commits': 1, 'files_changed': 2",
	[FX_CHECK] = "",
	[FX_REBASE] = "'commit': 'c0ffee', 'base': 'b'",
	[FX_ACCEPT] = "'commit': 'c0ffee', 'target': 'main'",
	[FX_SEND] = "",
	[FX_PLAN] = "",
};

/* A run that is stopped ends at once, except when it is dead: nobody is left to say so. */
static bool carry_out(struct world_sim *w)
{
	const struct effect *fx;
	struct player *p;
	enum effect_kind kind;

	if (list_empty(&w->f.state->effects))
		return false;
	fx = list_entry(w->f.state->effects.next, struct effect, link);
	kind = fx->kind;
	/* People outside are told: that is about no player. */
	if (kind == FX_NOTIFY) {
		submit(&w->f, "effect.end",
				json(&w->f,
						"{'effect': '" STR_FMT
						"', 'outcome': 'ok', 'detail': '', 'data': {}}",
						STR_ARG(fx->id)));
		return true;
	}
	p = player_of(w, fx->node_id);
	effect_end(&w->f, p->node, kind, "ok", "", good_data[kind]);
	if (kind == FX_SEND)
		silence_spoil(&p->ear.book);
	if (kind == FX_SEND && p->plays->answers)
		p->answered_at = w->f.now + ANSWER_AFTER;
	if (kind == FX_RUN_STOP)
		end_run(w, p, -1, TERM);
	return true;
}

/* When this player does something that the core is told of by itself. */
static ov_time next_of(struct world_sim *w, struct player *p)
{
	const struct run *r = run_of(w, p);
	ov_time next = OV_TIME_MAX, output;

	if (!r)
		return OV_TIME_MAX;
	if (p->plays->ends_at != OV_TIME_MAX)
		next = w->base + p->began + p->plays->ends_at;
	/* What is answered once per run is not looked for again in it. */
	output = p->stuck ? OV_TIME_MAX : ear_next(&p->ear, p->plays, w->base + p->began);
	if (output != OV_TIME_MAX)
		next = MIN(next, w->base + p->began + output);
	/* The daemon tells of output only when somebody waits for it. */
	if (assignment_of(w, p)->status != AS_STALLED)
		return next;
	output = trace_next_output(p->plays, now_of(w) - p->began);
	if (output != OV_TIME_MAX)
		next = MIN(next, w->base + p->began + output);
	if (p->answered_at > w->f.now)
		next = MIN(next, p->answered_at);
	return next;
}

static bool end_due(struct world_sim *w, struct player *p)
{
	if (!run_of(w, p) || now_of(w) - p->began < p->plays->ends_at)
		return false;
	end_run(w, p,
			now_of(w) < p->label->over_at || (p->label->over_at && p->runs == 1)
					? QUOTA_EXIT
					: 0,
			0);
	return true;
}

/* A new daemon knows when output came, and nothing else of what the last one saw. */
static void restart(struct world_sim *w)
{
	w->restart_at = OV_TIME_MAX;
	for (size_t i = 0; i < w->n; i++) {
		if (!run_of(w, &w->players[i]))
			continue;
		*observe(&w->f, node_of(&w->f, w->players[i].node)) =
				(struct observation){ .known_since = w->f.now };
		w->players[i].used_at = w->players[i].tree_at = -1;
		ear_begin(&w->players[i].ear, w->players[i].plays, w->base + w->players[i].began,
				now_of(w) - w->players[i].began, repeats_gap(w));
	}
	submit(&w->f, "daemon.start", json(&w->f, "{'instance': 'i', 'version': 'v'}"));
}

/* Everything that is to be done at this moment; then the next moment, or false. */
bool world_step(struct world_sim *w, ov_time horizon)
{
	ov_time next;

	if (now_of(w) >= w->restart_at)
		restart(w);
	for (size_t i = 0; i < w->n; i++)
		show(w, &w->players[i]);
	settle(&w->f);
	note_log(w);
	if (take_looks(w) || carry_out(w))
		return true;
	for (size_t i = 0; i < w->n; i++)
		if (end_due(w, &w->players[i]))
			return true;
	next = w->f.wake_at;
	if (w->restart_at != OV_TIME_MAX)
		next = MIN(next, w->base + w->restart_at);
	for (size_t i = 0; i < w->n; i++)
		next = MIN(next, next_of(w, &w->players[i]));
	if (next == OV_TIME_MAX || next - w->base > horizon)
		return false;
	if (next <= w->f.now)
		fail_msg("the core wants to be woken at a moment that is past");
	w->f.now = next;
	return true;
}

void world_cast(struct world_sim *w, const struct trace *agents, size_t n, struct outcome *out)
{
	w->n = n;
	w->base = w->f.now;
	for (size_t i = 0; i < n; i++) {
		struct player *p = &w->players[i];

		*p = (struct player){ .label = &agents[i], .plays = &agents[i], .out = &out[i] };
		p->next = trace_recovered(p->label);
		(void)snprintf(p->node, sizeof(p->node), "T%zu", i + 1);
		out[i] = outcome_new();
	}
	w->seen = w->f.log.n;
	create_goal(&w->f, flat_plan(&w->f, n), NULL);
}

/* Silence and loops are what is judged here; what else runs make of their work is not. */
static void oversee_loops(struct fixture *f)
{
	enum level stuck[SEVERITY_COUNT];

	memcpy(stuck, f->policy.oversight.levels[DETECT_STUCK], sizeof(stuck));
	oversight_off(f);
	memcpy(f->policy.oversight.levels[DETECT_STUCK], stuck, sizeof(stuck));
}

struct world_sim *world_new(const struct policy *policy, size_t workers, bool input)
{
	struct world_sim *w = mem_zalloc(1, sizeof(*w));

	fixture_init(&w->f);
	w->restart_at = OV_TIME_MAX;
	w->agent = policy->agents[0];
	w->agent.input = input;
	w->f.policy = *policy;
	w->f.policy.agents = &w->agent;
	w->f.policy.workers_max = (int64_t)workers;
	w->f.policy.unchecked = UNCHECKED_ACCEPT; /* nobody is asked about what is good */
	w->f.policy.plan.max_tasks = FLEET_MAX;
	oversee_loops(&w->f);
	/* A fleet at work on one goal would use up what a goal may take. */
	w->f.policy.budget[RES_WALL_MS] = -1;
	return w;
}

void world_free(struct world_sim *w)
{
	fixture_done(&w->f);
	mem_free(w);
}

void world_play(const struct policy *policy, const struct test_case *c, ov_time horizon,
		struct outcome *ret)
{
	struct world_sim *w = world_new(policy, c->n, c->agents[0].input);
	int rounds = 0;

	history_teach(w, policy, c);
	world_cast(w, c->agents, c->n, ret);
	w->restart_at = c->restart_at;
	while (world_step(w, horizon))
		if (++rounds > ROUNDS_MAX)
			fail_msg("the world never comes to rest");
	world_free(w);
}
