/*
 * The kinds of traces. Durations are spreads with a long tail, not constants, so that a policy is
 * judged by the rare long ones, too. Where the figures come from:
 *
 * - Compaction: in a fleet of 751 sessions the median was 156 s, and a watchdog of 180 s killed 33
 *   of them while they compacted; up to twenty minutes were seen.
 * - A request to a model: agents wait ten minutes for an answer by default before they try again
 *   and say so; models on slow machines, for which that is raised, take up to twenty.
 * - An overloaded API is tried again ten times, from 588 ms on, doubling, with a line each time.
 * - Tools: a command of an agent commonly ends within ten minutes; big builds and whole test
 *   suites, which agents run in the background or without that limit, take up to two hours.
 * - Polls for a server or a deployment are written by agents as loops with a sleep and the same
 *   line each time; the command that they are ends after two minutes by default, and after
 *   ten commonly.
 * - Ordinary work writes something every few seconds, sometimes nothing for two minutes: a check of
 *   30 s killed live sessions.
 * - An idle agent is no dead process: it uses up to half a percent of a processor and some bytes of
 *   IO for its own timers and keep-alives. One that tells what it does is bigger: opencode was
 *   measured at 1.4 %, the screen of Claude Code at up to 2.5 %.
 */
#include "tests/sim/quality.h"

#define SECONDS(n) ((n)*OV_SECOND)
#define MINUTES(n) ((n)*OV_MINUTE)

const char *const kind_names[KIND_COUNT] = {
#define NAME(sym, name, healthy) [sym] = name,
	KINDS(NAME)
#undef NAME
};
const bool kind_healthy[KIND_COUNT] = {
#define HEALTHY(sym, name, healthy) [sym] = healthy,
	KINDS(HEALTHY)
#undef HEALTHY
};

/* Half of all are below `half`, nine in ten below `ninety`, and so on; even between them. */
struct spread {
	ov_time least, half, ninety, ninety_nine, most;
};

static const struct spread
		gap = { SECONDS(1), SECONDS(12), SECONDS(40), SECONDS(100), SECONDS(150) },
		piece = { SECONDS(30), MINUTES(3), MINUTES(8), MINUTES(12), MINUTES(15) },
		compaction = { SECONDS(20), SECONDS(156), MINUTES(6), MINUTES(12), MINUTES(20) },
		slow_answer = { SECONDS(10), SECONDS(60), MINUTES(4), MINUTES(10), MINUTES(20) },
		thought = { SECONDS(10), SECONDS(70), MINUTES(4), MINUTES(9), MINUTES(10) },
		tool = { MINUTES(1), MINUTES(6), MINUTES(25), MINUTES(60), MINUTES(90) },
		build = { MINUTES(2), MINUTES(12), MINUTES(45), MINUTES(75), MINUTES(110) },
		fetch = { SECONDS(20), MINUTES(2), MINUTES(8), MINUTES(15), MINUTES(20) },
		hiccup = { SECONDS(1), SECONDS(10), SECONDS(60), MINUTES(3), MINUTES(5) },
		change = { SECONDS(5), SECONDS(40), MINUTES(3), MINUTES(5), MINUTES(6) },
		pause = { SECONDS(5), SECONDS(50), MINUTES(4), MINUTES(9), MINUTES(12) },
		poll = { SECONDS(5), SECONDS(30), MINUTES(2), MINUTES(10), MINUTES(20) },
		poll_every = { SECONDS(1), SECONDS(5), SECONDS(15), SECONDS(30), SECONDS(60) },
		limit = { MINUTES(2), MINUTES(20), MINUTES(90), MINUTES(180), MINUTES(300) },
		outage = { MINUTES(20), MINUTES(40), MINUTES(90), MINUTES(130), MINUTES(150) };

static ov_time between(struct rng *r, ov_time from, ov_time to)
{
	return from + (ov_time)rng_below(r, (size_t)(to - from) + 1);
}

static ov_time draw(struct rng *r, const struct spread *s)
{
	size_t rank = rng_below(r, 1000);

	if (rank < 500)
		return between(r, s->least, s->half);
	if (rank < 900)
		return between(r, s->half, s->ninety);
	if (rank < 990)
		return between(r, s->ninety, s->ninety_nine);
	return between(r, s->ninety_nine, s->most);
}

/* What an agent uses that does nothing. */
static struct span idle(const struct trace *t, struct rng *r)
{
	struct span s = { .cpu_permille = between(r, 0, 5) * (t->tells ? 5 : 1) };

	s.io_per_s = between(r, 0, 50);
	return s;
}

/*
 * Of small tools, which answer at once; of those that take their time; by name as agents name them.
 */
static const char *const small_tools[] = { "edit", "bash", "grep" };

/* Ordinary work: words, small tools, changes now and then. */
static void work(struct trace *t, struct rng *r, ov_time lasts)
{
	while (lasts > 0) {
		ov_time length = draw(r, &piece); /* not within MIN: that would draw twice */
		struct span s = { .tool = rng_below(r, 2), .name = small_tools[t->n % 3] };

		length = MIN(length, lasts);
		s.out_every = draw(r, &gap);
		s.cpu_permille = between(r, 5, 300);
		s.io_per_s = between(r, 100, 100000);
		s.tree_every = rng_below(r, 2) ? draw(r, &change) : 0;
		trace_add(t, length, s);
		lasts -= length;
	}
}

static void finish(struct trace *t, struct rng *r)
{
	work(t, r, between(r, MINUTES(1), MINUTES(10)));
	t->ends_at = t->length;
}

static void begin(struct trace *t, struct rng *r)
{
	work(t, r, between(r, SECONDS(20), MINUTES(30)));
}

/* A silent stretch, with what is used meanwhile. */
static void silent(struct trace *t, struct rng *r, const struct spread *lasts, struct span s)
{
	trace_add(t, draw(r, lasts), s);
}

static void make_loud_tool(struct trace *t, struct rng *r)
{
	struct span s = { .tool = true, .name = "cargo", .cpu_permille = 500 };

	s.out_every = draw(r, &gap);
	silent(t, r, &tool, s);
}

static void make_quiet_tool(struct trace *t, struct rng *r)
{
	struct span s = { .tool = true, .name = "pytest" };

	s.cpu_permille = between(r, 20, 300);
	silent(t, r, &tool, s);
}

/* For a machine elsewhere: nothing at all is used, or, by those who do not tell, a poll's worth. */
static void make_remote_tool(struct trace *t, struct rng *r)
{
	struct span s = idle(t, r);

	s.tool = true;
	s.name = "deploy";
	if (!t->tells)
		s.io_per_s = between(r, 500, 5000);
	silent(t, r, &tool, s);
}

static void make_compaction(struct trace *t, struct rng *r)
{
	struct span s = idle(t, r);

	s.compacting = true;
	silent(t, r, &compaction, s);
}

static void make_slow_model(struct trace *t, struct rng *r)
{
	size_t turns = 4 + rng_below(r, 8);

	for (size_t i = 0; i < turns; i++) {
		silent(t, r, &slow_answer, idle(t, r));
		trace_add(t, SECONDS(10), (struct span){ .out_every = SECONDS(2) });
	}
}

static void make_thinking(struct trace *t, struct rng *r)
{
	silent(t, r, &thought, idle(t, r));
}

static void make_build(struct trace *t, struct rng *r)
{
	struct span s = { .tool = true, .name = "make" };

	s.cpu_permille = between(r, 800, 4000);
	silent(t, r, &build, s);
}

/* Comes in pieces: a slow server, a lost connection that is made anew. */
static void make_download(struct trace *t, struct rng *r)
{
	size_t pieces = 1 + rng_below(r, 6);

	for (size_t i = 0; i < pieces; i++) {
		struct span s = { .tool = true, .name = "fetch", .cpu_permille = 5 };

		s.io_per_s = between(r, 20000, 5000000);
		silent(t, r, &fetch, s);
		s = idle(t, r);
		s.tool = true;
		s.name = "fetch";
		silent(t, r, &hiccup, s);
	}
}

static void make_limit(struct trace *t, struct rng *r)
{
	t->ends_at = t->length;
	t->over_at = t->length + draw(r, &limit);
	if (t->kind == KIND_LIMIT_RESET)
		t->resets_at = t->over_at;
}

static void make_api_retry(struct trace *t, struct rng *r)
{
	ov_time wait = 588;
	size_t tries = 3 + rng_below(r, 8);

	for (size_t i = 0; i < tries; i++, wait *= 2) {
		struct span s = idle(t, r);

		s.out_every = MINUTES(60);
		s.retrying = true;
		trace_add(t, wait, s);
	}
}

static void make_quiet_tests(struct trace *t, struct rng *r)
{
	struct span s = { .tool = true, .name = "pytest" };

	s.cpu_permille = between(r, 0, 100);
	s.tree_every = draw(r, &change);
	silent(t, r, &tool, s);
}

static void make_tree_only(struct trace *t, struct rng *r)
{
	struct span s = idle(t, r);

	s.tree_every = draw(r, &change);
	trace_add(t, between(r, MINUTES(10), MINUTES(120)), s);
}

static void make_bursts(struct trace *t, struct rng *r)
{
	size_t n = 4 + rng_below(r, 8);

	for (size_t i = 0; i < n; i++) {
		trace_add(t, between(r, SECONDS(2), SECONDS(60)),
				(struct span){ .out_every = 200, .cpu_permille = 50 });
		silent(t, r, &pause, idle(t, r));
	}
}

/* Dots, or a line that is written over and over: much output, but nothing that is said twice. */
static void make_progress(struct trace *t, struct rng *r)
{
	struct span s = { .tool = true, .name = "cargo", .cpu_permille = 500 };

	s.says = rng_below(r, 2) ? SAYS_DOTS : SAYS_BAR;
	s.out_every = draw(r, &poll_every);
	silent(t, r, &tool, s);
}

/*
 * The same lines after each change of a file. Who tells makes other calls for the changes
 * in between.
 */
static void make_watch(struct trace *t, struct rng *r)
{
	struct span s = { .says = t->tells ? SAYS_WORDS : SAYS_SAME, .cpu_permille = 50 };

	s.lines = 1 + (int)rng_below(r, 12);
	s.out_every = s.tree_every = draw(r, &change);
	trace_add(t, between(r, MINUTES(2), MINUTES(60)), s);
}

/*
 * For something elsewhere, a few times in a run. An agent that tells polls by one call that takes
 * so long; one in four by equal calls with equal answers, each a sleep and a request to its model.
 */
static void make_poll(struct trace *t, struct rng *r)
{
	size_t polls = 1 + rng_below(r, 3);

	for (size_t i = 0; i < polls; i++) {
		struct span s = idle(t, r);

		s.tool = t->tells && rng_below(r, 4);
		s.name = "bash";
		s.says = SAYS_SAME;
		s.out_every = draw(r, &poll_every) + (t->tells ? SECONDS(15) : 0);
		s.out_every = s.tool ? 0 : s.out_every;
		silent(t, r, &poll, s);
		/* What it waited for is there, and something else is done with it. */
		trace_add(t, SECONDS(10),
				(struct span){ .tool = true,
						.name = "edit",
						.out_every = SECONDS(5) });
		work(t, r, between(r, SECONDS(10), MINUTES(5)));
	}
}

/* Sick from now on, for ever. */
static void sick(struct trace *t, struct span s)
{
	t->sick_at = t->length;
	trace_add(t, OV_HOUR, s);
}

static void make_dead(struct trace *t, struct rng *r _unused_)
{
	sick(t, (struct span){ 0 });
	t->dead_at = t->sick_at;
}

static void make_hung(struct trace *t, struct rng *r)
{
	sick(t, idle(t, r));
}

static void make_hung_tool(struct trace *t, struct rng *r)
{
	static const char *const tools[] = { "edit", "bash", "grep", "pytest", "make", "fetch" };
	struct span s = idle(t, r);

	s.tool = true;
	s.name = tools[t->length % (ov_time)ARRAY_LEN(tools)];
	sick(t, s);
	t->again = rng_below(r, 2);
}

/* Varied: with a time, a count or another path in each line, so that no two of them are equal. */
static void make_loop(struct trace *t, struct rng *r)
{
	struct span s = { .cpu_permille = 20 };

	s.says = t->kind == KIND_LOOP ? SAYS_SAME : SAYS_WORDS;
	s.lines = 1 + (int)rng_below(r, 12);

	s.out_every = draw(r, &gap);
	sick(t, s);
	t->again = true;
}

static void make_spin(struct trace *t, struct rng *r)
{
	sick(t, (struct span){ .cpu_permille = 1000 });
	t->again = rng_below(r, 2);
}

static void make_waits(struct trace *t, struct rng *r)
{
	struct span s;

	t->tells = t->kind == KIND_WAITS_TOLD;
	s = idle(t, r);
	s.waiting = true;
	sick(t, s);
	t->again = true;
}

static void make_lost_prompt(struct trace *t, struct rng *r)
{
	sick(t, idle(t, r));
	t->answers = rng_below(r, 2);
}

/* Nobody's run is at fault: when the network is back they go on, one after the other. */
static void make_outage(struct trace *t, struct rng *r)
{
	sick(t, idle(t, r));
	t->keep = true;
}

static const struct {
	void (*make)(struct trace *t, struct rng *r);
	bool at_once; /* without ordinary work before it */
} makers[KIND_COUNT] = {
	[KIND_LOUD_TOOL] = { .make = make_loud_tool },
	[KIND_QUIET_TOOL] = { .make = make_quiet_tool },
	[KIND_REMOTE_TOOL] = { .make = make_remote_tool },
	[KIND_COMPACTION] = { .make = make_compaction },
	[KIND_SLOW_MODEL] = { .make = make_slow_model },
	[KIND_THINKING] = { .make = make_thinking },
	[KIND_BUILD] = { .make = make_build },
	[KIND_DOWNLOAD] = { .make = make_download },
	[KIND_LIMIT_RESET] = { .make = make_limit },
	[KIND_LIMIT_BARE] = { .make = make_limit },
	[KIND_API_RETRY] = { .make = make_api_retry },
	[KIND_QUIET_TESTS] = { .make = make_quiet_tests },
	[KIND_TREE_ONLY] = { .make = make_tree_only },
	[KIND_BURSTS] = { .make = make_bursts },
	[KIND_PROGRESS] = { .make = make_progress },
	[KIND_WATCH] = { .make = make_watch },
	[KIND_POLL] = { .make = make_poll },
	[KIND_DEAD] = { .make = make_dead },
	[KIND_HUNG] = { .make = make_hung },
	[KIND_HUNG_FLEET] = { .make = make_hung },
	[KIND_HUNG_TOOL] = { .make = make_hung_tool },
	[KIND_LOOP] = { .make = make_loop },
	[KIND_LOOP_VARIED] = { .make = make_loop },
	[KIND_SPIN] = { .make = make_spin },
	[KIND_WAITS_TOLD] = { .make = make_waits },
	[KIND_WAITS] = { .make = make_waits },
	[KIND_LOST_PROMPT] = { .make = make_lost_prompt, .at_once = true },
	[KIND_OUTAGE] = { .make = make_outage },
};

static void trace_make(struct trace *ret, enum kind kind, struct rng *r)
{
	struct trace t = trace_new(kind);

	t.tells = rng_below(r, 2);
	t.input = rng_below(r, 2);
	if (!makers[kind].at_once)
		begin(&t, r);
	makers[kind].make(&t, r);
	if (kind_healthy[kind] && t.ends_at == OV_TIME_MAX)
		finish(&t, r);
	*ret = t;
}

/* One in four of them at most hangs; the others go on with ordinary work. */
static void hung_fleet_make(struct test_case *c, struct rng *r)
{
	c->n = 4 + rng_below(r, FLEET_MAX - 3);
	for (size_t i = 0; i < c->n; i++) {
		if (i % 4 == 0) {
			trace_make(&c->agents[i], KIND_HUNG_FLEET, r);
			continue;
		}
		c->agents[i] = trace_new(KIND_HUNG_FLEET);
		work(&c->agents[i], r, between(r, MINUTES(40), MINUTES(100)));
		finish(&c->agents[i], r);
	}
}

/* All of a fleet work until one moment, and are back within two minutes after another. */
static void outage_make(struct test_case *c, struct rng *r)
{
	ov_time gone = between(r, MINUTES(10), MINUTES(60)), back = gone + draw(r, &outage);

	c->n = 5 + rng_below(r, FLEET_MAX - 4);
	for (size_t i = 0; i < c->n; i++) {
		struct trace *t = &c->agents[i];

		*t = trace_new(KIND_OUTAGE);
		t->tells = rng_below(r, 2);
		t->input = rng_below(r, 2);
		work(t, r, gone);
		make_outage(t, r);
		t->length = back + between(r, SECONDS(1), MINUTES(2));
		finish(t, r);
	}
}

void case_make(struct test_case *ret, enum kind kind, uint64_t seed, size_t index)
{
	struct rng r = { .state = seed * 1000003 + (uint64_t)kind }, past;

	r.state = rng_next(&r) + index;
	past.state = ~r.state;
	*ret = (struct test_case){ .n = 1, .restart_at = OV_TIME_MAX };
	if (kind == KIND_OUTAGE)
		outage_make(ret, &r);
	else if (kind == KIND_HUNG_FLEET)
		hung_fleet_make(ret, &r);
	else
		trace_make(&ret->agents[0], kind, &r);
	ret->seed = seed;
	ret->past = rng_below(&past, PASTS);
	ret->past_tells = ret->n > 1 ? PAST_MIXED : ret->agents[0].tells ? PAST_TELLS : PAST_SILENT;
	ret->home = kind_healthy[kind] ? kind : (enum kind)rng_below(&past, KIND_DEAD);
	/* One daemon in four is started anew somewhere in the first two hours. */
	if (rng_below(&r, 4) == 0)
		ret->restart_at = between(&r, 1, MINUTES(120));
}

void history_make(struct trace *ret, const struct test_case *c, size_t index)
{
	struct rng r = { .state = c->seed * 1000003 + (uint64_t)c->home * 3 + c->past_tells };
	enum kind kind = c->home;

	r.state = rng_next(&r) + c->past;
	r.state = rng_next(&r) + index;
	r.state = rng_next(&r);
	if (index % (STRANGE_EVERY + 1) == STRANGE_EVERY)
		kind = (enum kind)rng_below(&r, KIND_DEAD);
	trace_make(ret, kind, &r);
	/* In a fleet some tell and some do not; elsewhere the agent is the one of the case. */
	if (c->past_tells != PAST_MIXED)
		ret->tells = c->past_tells == PAST_TELLS;
	/*
	 * One that ran into its limit failed: of its work until then another one would learn
	 * the same.
	 */
	if (ret->over_at) {
		ret->over_at = 0;
		ret->ends_at = OV_TIME_MAX;
		finish(ret, &r);
	}
}

struct trace trace_recovered(const struct trace *t)
{
	struct trace next = trace_new(t->kind);

	next.tells = t->tells;
	next.input = t->input;
	trace_add(&next, MINUTES(10), (struct span){ .out_every = SECONDS(15) });
	next.ends_at = next.length;
	return next;
}
