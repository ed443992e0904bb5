/*
 * The daemon and the world around it, in virtual time. As in the daemon, the core ticks after every
 * event and at wake_at, and never else: a tick that would decide something earlier is a fault of
 * wake_at, which is looked for at every line. Effects take no time unless the scenario says so.
 */
#include "tests/test.h"

#include "core/state/snapshot.h"
#include "data/value/json.h"
#include "tests/scenario/scn.h"

enum { ROUNDS_MAX = 100000 };

static void set_time(struct scn *s, ov_time at)
{
	s->at = at;
	s->f.now = s->base + at + s->skew;
}

struct life *life_of(struct scn *s, const struct node *n)
{
	const struct run *r = n->assignment ? n->assignment->run : NULL;
	struct life *l;

	if (!r || r->status == RUN_ENDED)
		scn_fail(s, "nothing runs for " STR_FMT, STR_ARG(n->id));
	l = map_get(&s->lives, r->id);
	if (!l) {
		l = arena_new(&s->f.arena, struct life);
		l->seen.known_since = s->f.now;
		map_put(&s->lives, arena_str(&s->f.arena, r->id), l);
	}
	return l;
}

/* The first look only tells what later ones are compared with. */
static void look(struct scn *s, const struct run *r)
{
	const struct node *n = state_node(s->f.state, r->goal_id, r->node_id);
	struct life *l = life_of(s, n);

	l->seen.process_unknown = l->seen.tree_unknown = l->unreadable || !l->compares;
	if (!l->unreadable) {
		if (l->compares && l->used_cpu)
			l->seen.process_at = s->f.now;
		if (l->compares && l->changed_tree)
			l->seen.tree_at = s->f.now;
		l->used_cpu = l->changed_tree = false;
		l->compares = true;
	}
	l->seen.looked_at = s->f.now;
}

/* As in the daemon: of every run under way something is known, if only that nothing was seen. */
static void share_observations(struct scn *s)
{
	struct map *m = arena_new(&s->f.arena, struct map);
	void *life;
	str run;

	map_init(m, 1);
	list_each (it, &s->f.state->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		if (as->node && as->run && as->run->status == RUN_RUNNING)
			(void)life_of(s, as->node);
	}
	for (size_t i = 0; map_next(&s->lives, &i, &run, &life);)
		map_put(m, run, &((struct life *)life)->seen);
	if (s->f.telemetry.observations)
		map_done((struct map *)s->f.telemetry.observations);
	s->f.telemetry.observations = m;
}

static struct decisions dry_tick(struct scn *s)
{
	struct world w = { s->f.state, &s->f.policy };

	return reconcile(&s->f.arena, &w, &s->f.telemetry, s->f.now);
}

void world_settle(struct scn *s)
{
	for (int i = 0; i < ROUNDS_MAX; i++) {
		struct decisions d;

		share_observations(s);
		settle(&s->f);
		facts_take(s);
		d = dry_tick(s);
		if (d.looks_n == 0) {
			if (d.wake_at <= s->f.now)
				scn_fail(s, "the tick wants to be woken at a moment that is past");
			return;
		}
		for (size_t k = 0; k < d.looks_n; k++)
			look(s, d.looks[k]);
	}
	scn_fail(s, "the tick looks for ever");
}

void world_submit(struct scn *s, const char *command, value *params)
{
	struct ov_err err = { 0 };

	if (try_submit(&s->f, command, params, &err) < 0) {
		struct scn_fact *f = scn_fact_add(s, "refused", true);

		f->text = arena_str(&s->f.arena, str_from(err.msg));
		buf_addf(&s->trace, "      * " STR_FMT "\n",
				STR_ARG(scn_fact_text(&s->f.arena, f)));
	}
	world_settle(s);
}

static const char *const good_data[EFFECT_KIND_COUNT] = {
	[FX_WORKSPACE] = "{'base': 'b0'}",
	[FX_HARVEST] = "{'head': 'h1', 'tree': 't1', 'commits': 1, 'files_changed': 2, "
		       "'rescue_ref': 'refs/overseer/rescue/1'}",
	[FX_REBASE] = "{'commit': 'c0ffee', 'base': 'b1'}",
	[FX_ACCEPT] = "{'commit': 'c0ffee', 'target': 'main'}",
	[FX_REVERT] = "{'commit': 'feed'}",
};

struct job *job_of(struct scn *s, enum effect_kind kind, str node)
{
	for (size_t i = 0; i < s->jobs.n; i++)
		if (s->jobs.p[i].kind == kind && str_eq(s->jobs.p[i].node, node))
			return &s->jobs.p[i];
	return NULL;
}

void job_end(struct scn *s, struct job *j)
{
	struct twist how = j->how;
	const char *good = good_data[j->kind];
	value *params = json(&s->f, "{'effect': '" STR_FMT "'}", STR_ARG(j->id)), *data;

	if (j->kind == FX_PLAN)
		data = scn_planner_answer(s, j);
	else if (how.data.n)
		data = json(&s->f, STR_FMT, STR_ARG(how.data));
	else
		data = !how.outcome && good ? json(&s->f, "%s", good) : value_object(&s->f.arena);
	vec_remove(&s->jobs, (size_t)(j - s->jobs.p));
	value_put(&s->f.arena, params, "outcome",
			value_cstr(&s->f.arena, how.outcome ? how.outcome : "ok"));
	value_put(&s->f.arena, params, "detail", value_str(&s->f.arena, how.detail));
	value_put(&s->f.arena, params, "data", data);
	submit(&s->f, "effect.end", params);
}

static bool is_under_way(const struct scn *s, str id)
{
	for (size_t i = 0; i < s->jobs.n; i++)
		if (str_eq(s->jobs.p[i].id, id))
			return true;
	return false;
}

static struct twist take_twist(struct scn *s, const struct effect *fx)
{
	for (size_t i = 0; i < s->twists.n; i++) {
		struct twist t = s->twists.p[i];

		if (t.kind != fx->kind || (t.node.n && !str_eq(t.node, fx->node_id)))
			continue;
		if (!t.every)
			vec_remove(&s->twists, i);
		return t;
	}
	return (struct twist){ 0 };
}

static void begin_jobs(struct scn *s)
{
	/* Those whose effect was ended otherwise: the end of a run tells its start, too. */
	for (size_t i = s->jobs.n; i-- > 0;)
		if (!state_effect(s->f.state, s->jobs.p[i].id))
			vec_remove(&s->jobs, i);
	list_each (it, &s->f.state->effects) {
		const struct effect *fx = list_entry(it, struct effect, link);
		struct job j = { .kind = fx->kind };

		if (is_under_way(s, fx->id))
			continue;
		j.id = arena_str(&s->f.arena, fx->id);
		j.node = arena_str(&s->f.arena, fx->node_id);
		j.how = take_twist(s, fx);
		j.due = j.how.takes == OV_TIME_MAX ? OV_TIME_MAX : s->at + j.how.takes;
		vec_push(&s->jobs, j);
	}
}

static struct job *next_job(struct scn *s)
{
	struct job *next = NULL;

	for (size_t i = 0; i < s->jobs.n; i++)
		if (!next || s->jobs.p[i].due < next->due)
			next = &s->jobs.p[i];
	return next && next->due != OV_TIME_MAX ? next : NULL;
}

static struct repeat *next_repeat(struct scn *s)
{
	struct repeat *next = NULL;

	for (size_t i = 0; i < s->repeats.n; i++)
		if (!next || s->repeats.p[i].due < next->due)
			next = &s->repeats.p[i];
	return next;
}

static struct given_goal *next_goal(struct scn *s)
{
	struct given_goal *next = NULL;

	for (size_t i = 0; i < s->goals.n; i++)
		if (!s->goals.p[i].created && (!next || s->goals.p[i].at < next->at))
			next = &s->goals.p[i];
	return next;
}

static void do_repeat(struct scn *s, struct repeat *r)
{
	struct repeat now = *r;

	r->due += r->every;
	if (r->due > r->until)
		vec_remove(&s->repeats, (size_t)(r - s->repeats.p));
	now.fn(s, &now.args);
}

/* The one next thing that is due until then, with its time; false when there is none. */
static bool step(struct scn *s, ov_time to)
{
	struct job *job = next_job(s);
	struct repeat *repeat = next_repeat(s);
	struct given_goal *goal = next_goal(s);
	ov_time wake = s->f.wake_at == OV_TIME_MAX ? OV_TIME_MAX : s->f.wake_at - s->base - s->skew;
	ov_time due = MIN(MIN(job ? job->due : OV_TIME_MAX, repeat ? repeat->due : OV_TIME_MAX),
			MIN(goal ? goal->at : OV_TIME_MAX, wake));

	if (due > to || due == OV_TIME_MAX)
		return false;
	set_time(s, MAX(due, s->at));
	if (goal && goal->at == due)
		given_create(s, goal);
	else if (job && job->due == due)
		job_end(s, job);
	else if (repeat && repeat->due == due)
		do_repeat(s, repeat);
	if (s->restarts)
		world_restart(s);
	return true;
}

void world_advance(struct scn *s, ov_time to)
{
	struct decisions d;

	for (int i = 0; i < ROUNDS_MAX; i++) {
		world_settle(s);
		begin_jobs(s);
		if (step(s, to))
			continue;
		set_time(s, MAX(to, s->at));
		d = dry_tick(s);
		if (d.n || d.looks_n)
			scn_fail(s, "a tick now would decide \"%s\", but none was due",
					d.n ? decision_name(d.p[0].kind) : "look");
		return;
	}
	scn_fail(s, "the world never comes to rest");
}

void world_begin(struct scn *s)
{
	s->begun = true;
	if (s->f.policy.agents_n == 0)
		scn_fail(s, "no agent is given");
	if (s->goals.n == 0)
		scn_fail(s, "no goal is given");
	set_time(s, 0);
	submit(&s->f, "daemon.start", json(&s->f, "{'instance': 'i', 'version': 'v'}"));
}

static struct state *refold(struct scn *s)
{
	struct state *fresh = state_new(7);
	struct ov_err err = { 0 };

	for (size_t i = 0; i < s->f.log.n; i++)
		if (apply(fresh, s->f.log.p[i], &err) < 0)
			scn_fail(s, "the log cannot be folded again: %s", err.msg);
	return fresh;
}

static str decisions_text(struct scn *s, const struct state *state)
{
	struct world w = { state, &s->f.policy };
	struct decisions d = reconcile(&s->f.arena, &w, &s->f.telemetry, s->f.now);
	struct buf out = BUF_INIT;
	str text;

	json_write(&out, decisions_view(&s->f.arena, &d));
	text = arena_str(&s->f.arena, buf_str(&out));
	buf_done(&out);
	return text;
}

/*
 * Nothing may be lost: not by the snapshot, not by folding the log, and the decisions are the same.
 */
void world_restart(struct scn *s)
{
	str before = snapshot_of(&s->f, s->f.state), decided = decisions_text(s, s->f.state);
	struct state *folded = refold(s), *read;
	struct ov_err err = { 0 };

	if (snapshot_read(before, 3, &read, &err) < 0)
		scn_fail(s, "the snapshot cannot be read: %s", err.msg);
	if (!str_eq(before, snapshot_of(&s->f, read)))
		scn_fail(s, "the snapshot loses something");
	if (!str_eq(before, snapshot_of(&s->f, folded)))
		scn_fail(s, "the fold of the log is another state");
	if (!str_eq(decided, decisions_text(s, read)) ||
			!str_eq(decided, decisions_text(s, folded)))
		scn_fail(s, "after a restart the decisions are others");
	state_free(folded);
	state_free(s->f.state);
	s->f.state = read;
	/* Effects that were under way are begun again; what the scenario said about them stays. */
	submit(&s->f, "daemon.start", json(&s->f, "{'instance': 'i', 'version': 'v'}"));
}

/* What a daemon holds only in memory is gone with it: when it looked, and what it saw then. */
void world_forget(struct scn *s)
{
	void *life;
	str run;

	for (size_t i = 0; map_next(&s->lives, &i, &run, &life);) {
		struct life *l = life;

		/* Its output is read again from its beginning. */
		l->seen = (struct observation){ .known_since = s->f.now,
			.output_at = l->seen.output_at,
			.tokens = l->seen.tokens,
			.cost_microusd = l->seen.cost_microusd };
		l->compares = false;
	}
	world_settle(s);
}

void world_down(struct scn *s, ov_time until)
{
	set_time(s, until);
	world_restart(s);
	world_forget(s);
}

void world_done(struct scn *s)
{
	if (s->f.telemetry.observations)
		map_done((struct map *)s->f.telemetry.observations);
	map_done(&s->lives);
	vec_done(&s->twists);
	vec_done(&s->jobs);
	vec_done(&s->repeats);
}
