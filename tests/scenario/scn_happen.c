/* What happens in a scenario: agents live and end, steps go wrong, people and clocks interfere. */
#include "tests/test.h"

#include "base/duration.h"
#include "core/life/liveness.h"
#include "tests/scenario/scn.h"

/* T1 in any goal, or goal/T1. */
struct node *scn_node(struct scn *s, str text)
{
	size_t slash = str_find_byte(text, '/');
	struct node *found = NULL;

	for (size_t i = 0; i < s->goals.n; i++) {
		const struct given_goal *g = &s->goals.p[i];
		struct node *n;

		if (!g->created || (slash < text.n && !str_eq(g->name, str_sub(text, 0, slash))))
			continue;
		n = state_node(s->f.state, g->id,
				slash < text.n ? str_sub(text, slash + 1, text.n) : text);
		if (n && found)
			scn_fail(s, "several goals have a " STR_FMT, STR_ARG(text));
		found = n ? n : found;
	}
	if (!found)
		scn_fail(s, "no goal has a " STR_FMT, STR_ARG(text));
	return found;
}

static const struct run *running(struct scn *s, const struct args *a)
{
	const struct node *n = scn_node(s, a->v[0].s);
	const struct run *r = n->assignment ? n->assignment->run : NULL;

	if (!r || r->status == RUN_ENDED)
		scn_fail(s, "nothing runs for " STR_FMT, STR_ARG(n->id));
	return r;
}

static ov_time duration_at(struct scn *s, const struct args *a, size_t i)
{
	int64_t ms = 0;

	if (!duration_parse(a->v[i].s, &ms))
		scn_fail(s, "a duration is wanted");
	return ms;
}

/* The scenario says that it is so, which counts as expecting its start. */
static void runs(struct scn *s, const struct args *a)
{
	const struct node *n = scn_node(s, a->v[0].s);

	if (running(s, a)->status != RUN_RUNNING)
		scn_fail(s, "its run is only being started");
	for (size_t i = 0; i < s->facts.n; i++) {
		struct scn_fact *f = &s->facts.p[i];

		if (!f->matched && f->at == s->at && strcmp(f->word, "start") == 0 &&
				str_eq(f->tags[0], n->id)) {
			f->matched = true;
			s->expectations++;
			return;
		}
	}
}

static void writes(struct scn *s, const struct args *a)
{
	life_of(s, scn_node(s, a->v[0].s))->seen.output_at = s->f.now;
	world_settle(s);
}

static void uses_cpu(struct scn *s, const struct args *a)
{
	life_of(s, scn_node(s, a->v[0].s))->used_cpu = true;
}

static void changes_files(struct scn *s, const struct args *a)
{
	life_of(s, scn_node(s, a->v[0].s))->changed_tree = true;
}

/* What an agent says of itself stands in its output. */
static void calls_tool(struct scn *s, const struct args *a)
{
	life_of(s, scn_node(s, a->v[0].s))->seen.tool_in_flight = str_is(a->v[1].s, "calls");
	writes(s, a);
}

static void compacts(struct scn *s, const struct args *a)
{
	life_of(s, scn_node(s, a->v[0].s))->seen.compacting = str_is(a->v[1].s, "begins");
	writes(s, a);
}

static void has_used(struct scn *s, const struct args *a)
{
	struct observation *o = &life_of(s, scn_node(s, a->v[0].s))->seen;

	(void)str_to_i64(a->v[1].s, str_is(a->v[2].s, "tokens") ? &o->tokens : &o->cost_microusd);
	writes(s, a);
}

static void retries(struct scn *s, const struct args *a)
{
	struct observation *o = &life_of(s, scn_node(s, a->v[0].s))->seen;

	o->retrying = a->n > 1;
	o->retrying_since = s->f.now;
	o->trouble = a->n > 1 ? arena_str(&s->f.arena, a->v[1].s) : STR("");
	world_settle(s);
}

static void waits_for(struct scn *s, const struct args *a)
{
	life_of(s, scn_node(s, a->v[0].s))->seen.waiting_since = s->f.now;
	life_of(s, scn_node(s, a->v[0].s))->seen.waiting_for = a->n > 1
			? arena_str(&s->f.arena, a->v[1].s)
			: STR("");
	world_settle(s);
}

static void look_fails(struct scn *s, const struct args *a)
{
	life_of(s, scn_node(s, a->v[0].s))->unreadable = str_is(a->v[1].s, "fails");
}

/* Only while something runs: what repeats outlives the run that it was about. */
static void while_running(struct scn *s, const struct args *a, rule_fn *fn)
{
	const struct node *n = scn_node(s, a->v[0].s);

	if (n->assignment && n->assignment->run && n->assignment->run->status == RUN_RUNNING)
		fn(s, a);
}

static void writes_again(struct scn *s, const struct args *a)
{
	while_running(s, a, writes);
}

static void uses_cpu_again(struct scn *s, const struct args *a)
{
	while_running(s, a, uses_cpu);
}

static void changes_files_again(struct scn *s, const struct args *a)
{
	while_running(s, a, changes_files);
}

static void repeat(struct scn *s, const struct args *a, rule_fn *fn)
{
	struct repeat r = { .args = *a, .fn = fn, .every = duration_at(s, a, 1) };

	if (!time_of_day(a->v[2].s, &r.until) || r.every <= 0)
		scn_fail(s, "how often, and until when?");
	r.due = s->at + r.every;
	vec_push(&s->repeats, r);
	fn(s, a);
}

static void writes_every(struct scn *s, const struct args *a)
{
	repeat(s, a, writes_again);
}

static void uses_cpu_every(struct scn *s, const struct args *a)
{
	repeat(s, a, uses_cpu_again);
}

static void changes_files_every(struct scn *s, const struct args *a)
{
	repeat(s, a, changes_files_again);
}

static void end_run(struct scn *s, const struct args *a, const char *how)
{
	const struct observation *o = &life_of(s, scn_node(s, a->v[0].s))->seen;
	value *params = json(&s->f, "{'run': '" STR_FMT "', %s}", STR_ARG(running(s, a)->id), how);

	if (o->tokens)
		value_put(&s->f.arena, params, "tokens", value_int(&s->f.arena, o->tokens));
	if (o->cost_microusd)
		value_put(&s->f.arena, params, "cost_microusd",
				value_int(&s->f.arena, o->cost_microusd));

	for (size_t i = 0; i < a->n; i++)
		if (a->v[i].quoted)
			value_put(&s->f.arena, params, "message",
					value_str(&s->f.arena, a->v[i].s));
	world_submit(s, "run.end", params);
}

static void finishes(struct scn *s, const struct args *a)
{
	end_run(s, a, "'exit_code': 0, 'signal': 0");
}

static void add_twist(struct scn *s, struct twist t)
{
	struct job *j = job_of(s, t.kind, t.node);

	if (!j || t.every) {
		vec_push(&s->twists, t);
		return;
	}
	j->how = t;
	if (t.takes)
		j->due = t.takes == OV_TIME_MAX ? t.takes : s->at + t.takes;
	else
		job_end(s, j);
}

static void finishes_unchanged(struct scn *s, const struct args *a)
{
	add_twist(s,
			(struct twist){ .kind = FX_HARVEST,
					.node = scn_node(s, a->v[0].s)->id,
					.data = STR("{'head': 'h0', 'tree': 't0', 'commits': 0, "
						    "'files_changed': 0}") });
	finishes(s, a);
}

static void ends_with_exit(struct scn *s, const struct args *a)
{
	end_run(s, a,
			arena_cstr(&s->f.arena,
					arena_printf(&s->f.arena, "'exit_code': " STR_FMT,
							STR_ARG(a->v[1].s))));
}

static void ends_by_signal(struct scn *s, const struct args *a)
{
	end_run(s, a,
			arena_cstr(&s->f.arena,
					arena_printf(&s->f.arena,
							"'exit_code': -1, 'signal': " STR_FMT,
							STR_ARG(a->v[1].s))));
}

static void is_lost(struct scn *s, const struct args *a)
{
	end_run(s, a, "'exit_code': -1, 'lost': true");
}

static void is_ready(struct scn *s, const struct args *a)
{
	world_submit(s, "run.session",
			json(&s->f, "{'run': '" STR_FMT "', 'session': '" STR_FMT "'}",
					STR_ARG(running(s, a)->id), STR_ARG(a->v[1].s)));
}

static void ends_well(struct scn *s, const struct args *a)
{
	end_run(s, a, "'exit_code': 1, 'signal': 0, 'verdict': 'ok'");
}

static void ends_in_trouble(struct scn *s, const struct args *a)
{
	end_run(s, a,
			arena_cstr(&s->f.arena,
					arena_printf(&s->f.arena,
							"'exit_code': 0, 'verdict': 'failed', "
							"'trouble': '" STR_FMT "'",
							STR_ARG(a->v[1].s))));
}

static void is_limited_for(struct scn *s, const struct args *a)
{
	end_run(s, a,
			arena_cstr(&s->f.arena,
					arena_printf(&s->f.arena,
							"'exit_code': 1, 'verdict': 'failed', "
							"'trouble': 'rate_limited', "
							"'resets_at_ms': %lld",
							(long long)(s->f.now +
									duration_at(s, a, 1)))));
}

static const struct {
	const char *word;
	enum effect_kind kind;
} steps[] = { { "workspace", FX_WORKSPACE }, { "start", FX_RUN_START }, { "stop", FX_RUN_STOP },
	{ "send", FX_SEND }, { "planner", FX_PLAN }, { "harvest", FX_HARVEST },
	{ "check", FX_CHECK }, { "rebase", FX_REBASE }, { "gate", FX_GATE },
	{ "accept", FX_ACCEPT }, { "post", FX_POST }, { "revert", FX_REVERT } };

#define B(kind) (1u << (kind))
#define GIT (B(FX_REBASE) | B(FX_ACCEPT) | B(FX_REVERT))
static const struct {
	const char *word, *outcome;
	unsigned only; /* bits of enum effect_kind; 0: any */
} outcomes[] = {
	{ "fails", "error", 0 },
	{ "rejects", "failed", B(FX_CHECK) | B(FX_GATE) | B(FX_POST) },
	{ "conflicts", "conflict", B(FX_REBASE) | B(FX_REVERT) },
	{ "dirty", "dirty", GIT },
	{ "moves", "moved", B(FX_ACCEPT) | B(FX_REVERT) },
	{ "empty", "no_changes", B(FX_REBASE) | B(FX_REVERT) },
	{ "uncertain", "timeout", B(FX_SEND) },
	{ "succeeds", NULL, 0 },
};
#undef GIT

static enum effect_kind step_kind(struct scn *s, str word)
{
	for (size_t i = 0; i < ARRAY_LEN(steps); i++)
		if (str_is(word, steps[i].word))
			return steps[i].kind;
	scn_fail(s, "no such step");
}

/* It may be said of work whose goal is not there yet. */
static str step_node(struct scn *s, str text)
{
	if (!given_knows(s, text))
		scn_fail(s, "no goal has a " STR_FMT, STR_ARG(text));
	return text;
}

static struct twist twist_from(struct scn *s, const struct args *a)
{
	struct twist t = { .kind = step_kind(s, a->v[0].s) };

	t.node = step_node(s, a->v[2].s);
	for (size_t i = 0; i < ARRAY_LEN(outcomes); i++) {
		if (!str_is(a->v[3].s, outcomes[i].word))
			continue;
		if (outcomes[i].only && !(outcomes[i].only & B(t.kind)))
			scn_fail(s, "this step cannot end like that");
		t.outcome = outcomes[i].outcome;
		t.detail = a->n > 4 ? a->v[4].s : STR("");
		return t;
	}
	scn_fail(s, "no step ends like that");
}

static void step_ends(struct scn *s, const struct args *a)
{
	add_twist(s, twist_from(s, a));
}

static void every_step_ends(struct scn *s, const struct args *a)
{
	struct twist t = twist_from(s, a);

	t.every = true;
	for (size_t i = s->twists.n; i-- > 0;)
		if (s->twists.p[i].every && s->twists.p[i].kind == t.kind &&
				str_eq(s->twists.p[i].node, t.node))
			vec_remove(&s->twists, i);
	vec_push(&s->twists, t);
}

static void checkout_changes(struct scn *s, const struct args *a)
{
	(void)a;
	submit(&s->f, "checkout.report", json(&s->f, "{}"));
	world_settle(s);
}

static void step_takes(struct scn *s, const struct args *a)
{
	struct twist t = { .kind = step_kind(s, a->v[0].s) };

	t.node = step_node(s, a->v[2].s);
	t.takes = str_is(a->v[3].s, "forever") ? OV_TIME_MAX : duration_at(s, a, 3);
	add_twist(s, t);
}

static void no_capacity(struct scn *s, const struct args *a)
{
	s->f.telemetry.no_capacity = arena_str(&s->f.arena, a->v[0].s);
	world_settle(s);
}

static void capacity(struct scn *s, const struct args *a)
{
	(void)a;
	s->f.telemetry.no_capacity = STR("");
	world_settle(s);
}

static void restarts(struct scn *s, const struct args *a)
{
	(void)a;
	world_restart(s);
	world_forget(s);
}

/* Agents go on, and nobody listens: it was killed, and nothing started it again. */
static void is_down(struct scn *s, const struct args *a)
{
	ov_time until;

	if (!time_of_day(a->v[0].s, &until) || until < s->at)
		scn_fail(s, "until when?");
	world_down(s, until);
}

static void clock_jumps(struct scn *s, const struct args *a)
{
	ov_time by = duration_at(s, a, 1);

	s->skew += str_is(a->v[0].s, "forward") ? by : -by;
	s->f.now = s->base + s->at + s->skew;
	world_settle(s);
}

/* What was seen goes along, as the daemon has it do. */
static void move_observations(struct scn *s, ov_time by)
{
	void *found;
	size_t i = 0;
	str id;

	while (map_next(&s->lives, &i, &id, &found))
		observation_clock_moved(&((struct life *)found)->seen, by);
}

static void clock_told(struct scn *s, ov_time by, ov_time slept)
{
	s->skew += by + slept;
	s->f.now = s->base + s->at + s->skew;
	move_observations(s, by);
	submit(&s->f, "daemon.clock",
			json(&s->f, "{'by_ms': %lld, 'slept_ms': %lld}", (long long)by,
					(long long)slept));
	world_settle(s);
}

static void clock_is_set(struct scn *s, const struct args *a)
{
	ov_time by = duration_at(s, a, 1);

	clock_told(s, str_is(a->v[0].s, "forward") ? by : -by, 0);
}

static void machine_sleeps(struct scn *s, const struct args *a)
{
	clock_told(s, 0, duration_at(s, a, 0));
}

static void option_changes(struct scn *s, const struct args *a)
{
	given_rules[0].fn(s, a);
	world_settle(s);
}

#define STEP                                                                              \
	"workspace|start|stop|send|planner|harvest|check|rebase|gate|accept|post|revert " \
	"of|to|for NODE"
#define OUTCOME "fails|rejects|conflicts|dirty|moves|empty|uncertain|succeeds TEXT?"

const struct rule happen_rules[] = {
	{ "NODE runs", runs, "says that its agent runs now, which counts as expecting its start" },
	{ "NODE writes", writes, "the agent writes something" },
	{ "NODE uses cpu", uses_cpu, "which the next look shows" },
	{ "NODE changes files", changes_files, "which the next look shows" },
	{ "NODE writes every DUR until TIME", writes_every, "again and again" },
	{ "NODE uses cpu every DUR until TIME", uses_cpu_every, "again and again" },
	{ "NODE changes files every DUR until TIME", changes_files_every, "again and again" },
	{ "NODE calls|leaves a tool", calls_tool, "the agent says that a tool is in flight" },
	{ "NODE begins|ends compacting", compacts, "the agent says so" },
	{ "NODE has used NUM tokens|microusd", has_used, "the agent says so, of this run" },
	{ "NODE retries TEXT", retries, "the agent says that it tries again, and why" },
	{ "NODE retries no more", retries, "it got through" },
	{ "NODE waits for a person TEXT", waits_for, "a permission or a question is open" },
	{ "NODE waits no more", waits_for, "it was answered at the agent itself" },
	{ "look at NODE fails|succeeds", look_fails, "from now on nothing can be seen there" },
	{ "NODE finishes", finishes, "exit 0, with changes" },
	{ "NODE finishes without changes", finishes_unchanged, "exit 0" },
	{ "NODE ends with exit NUM TEXT?", ends_with_exit, "and what it said" },
	{ "NODE ends by signal NUM", ends_by_signal, "it was killed" },
	{ "NODE is lost", is_lost, "nobody knows how it ended" },
	{ "NODE is ready as NAME", is_ready, "the agent says which session it is" },
	{ "NODE ends well", ends_well, "the agent says so, whatever its exit status" },
	{ "NODE ends in trouble NAME TEXT?", ends_in_trouble,
			"the agent says so: max_turns, session_lost, rate_limited ..." },
	{ "NODE is limited for DUR TEXT?", is_limited_for,
			"the agent says that its quota is used up, and when it resets" },
	{ STEP " " OUTCOME, step_ends, "the step under way, or the next such step" },
	{ "every " STEP " " OUTCOME, every_step_ends, "all from now on" },
	{ STEP " takes DUR", step_takes, "the step under way, or the next such step" },
	{ STEP " takes forever", step_takes, "until it is said to end" },
	{ "capacity is missing TEXT", no_capacity, "memory, load: nothing new may start" },
	{ "capacity is back", capacity, "" },
	{ "checkout changes", checkout_changes,
			"the user did something in the checkout of the target branch" },
	{ "daemon restarts", restarts, "state and decisions must be the same" },
	{ "daemon is down until TIME", is_down, "killed; then it restarts" },
	{ "clock jumps forward|back DUR", clock_jumps, "and nobody can tell that it did" },
	{ "clock is set forward|back DUR", clock_is_set, "which the daemon notices first" },
	{ "machine sleeps DUR", machine_sleeps, "the clock goes on, and nothing else" },
	{ "policy becomes ...", option_changes, "the configuration is read again" },
};
const size_t happen_rules_n = ARRAY_LEN(happen_rules);
