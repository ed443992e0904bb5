/*
 * The world of a seed, in the manner of swarm testing: each seed has its own size, configuration
 * and choice of faults, since faults that are always all on hide each other.
 */
#include "tests/sim/setup.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/str.h"

enum { FLEET_AGENTS = 20, FLEET_NODES = 240 };

static size_t below(struct sim *s, size_t n)
{
	return sim_below(s, RNG_SETUP, n);
}

static bool odds(struct sim *s, unsigned per_mille)
{
	return sim_odds(s, RNG_SETUP, per_mille);
}

static uint32_t draw_faults(struct sim *s)
{
	uint32_t on = 0;

	/* A part of the seeds is calm: what fails there fails in everyday life. */
	if (odds(s, 100))
		return 0;
	for (int f = 0; f < FAULT_COUNT; f++)
		if (odds(s, 350))
			on |= 1u << f;
	return on;
}

static void draw_size(struct sim *s)
{
	struct sim_setup *u = &s->setup;

	u->workers = 1 + (int64_t)below(s, odds(s, 300) ? 20 : 6);
	u->agents = 1 + (int64_t)below(s, 3);
	u->goals = 1 + (int64_t)below(s, 4);
	u->nodes = 1 + (int64_t)below(s, odds(s, 300) ? 60 : 14);
	u->quiet_at = sim_between(s, RNG_SETUP, OV_HOUR, 16 * OV_HOUR);
	u->patience = 30 * OV_DAY;
	u->planner = odds(s, 200);
	u->faults = draw_faults(s) & ~s->o.without;
	u->intensity = 20 + (uint32_t)below(s, 200);
}

/* Steady work for a fleet, with little going wrong: for measuring. */
static void fleet_size(struct sim *s)
{
	s->setup = (struct sim_setup){
		.agents = 2,
		.workers = FLEET_AGENTS,
		.goals = 4,
		.nodes = FLEET_NODES,
		.quiet_at = 20 * OV_HOUR,
		.patience = 30 * OV_DAY,
		.faults = (1u << FAULT_LATE | 1u << FAULT_GIT) & ~s->o.without,
		.intensity = 10,
	};
}

static void add_duration(struct sim *s, struct buf *b, const char *key, ov_time lo, ov_time hi)
{
	buf_addf(b, "%s = \"%llds\"\n", key,
			(long long)(sim_between(s, RNG_SETUP, lo, hi) / OV_SECOND));
}

static void add_int(struct sim *s, struct buf *b, const char *key, size_t lo, size_t hi)
{
	buf_addf(b, "%s = %zu\n", key, lo + below(s, hi - lo + 1));
}

static void add_supervisor(struct sim *s, struct buf *b)
{
	size_t attempts;

	add_duration(s, b, "supervisor.idle_after", 3 * OV_MINUTE, 30 * OV_MINUTE);
	add_duration(s, b, "supervisor.max_run", OV_HOUR, 8 * OV_HOUR);
	add_duration(s, b, "supervisor.tick_every", 10 * OV_SECOND, 5 * OV_MINUTE);
	add_duration(s, b, "supervisor.min_resend_interval", OV_MINUTE, 20 * OV_MINUTE);
	add_duration(s, b, "supervisor.backoff.base", 10 * OV_SECOND, 5 * OV_MINUTE);
	add_duration(s, b, "supervisor.backoff.max", 5 * OV_MINUTE, OV_HOUR);
	buf_adds(b, STR("supervisor.limit_wait_max = \"1h\"\n"));
	add_int(s, b, "supervisor.max_retries", 0, 4);
	attempts = 1 + below(s, 5);
	buf_addf(b, "retry.max_attempts = %zu\n",
			s->setup.loops ? attempts + sim_below(s, RNG_LOOP, 16) : attempts);
	add_duration(s, b, "escalation.remind_after", 10 * OV_MINUTE, 8 * OV_HOUR);
	add_int(s, b, "escalation.max_reminders", 0, 4);
	if (odds(s, 300))
		add_duration(s, b, "escalation.default_after", OV_HOUR, 6 * OV_HOUR);
	if (odds(s, 300))
		buf_adds(b, STR("quiet.from = \"22:00\"\nquiet.to = \"07:00\"\n"));
}

static void add_rest(struct sim *s, struct buf *b)
{
	buf_addf(b, "workers.max = %lld\n", (long long)s->setup.workers);
	buf_adds(b, STR("accept.target = \"main\"\nlimits.min_free_memory = \"0B\"\n"));
	buf_adds(b,
			STR("planner.max_plan_phases = 10\nplanner.max_tasks_per_phase = 20\n"
			    "planner.max_subtasks_per_task = 20\n"));
	add_duration(s, b, "accept.dirty_wait", 10 * OV_SECOND, 2 * OV_MINUTE);
	add_int(s, b, "accept.conflict_rounds", 1, 4);
	add_int(s, b, "patrol.restarts", 0, 4);
	add_int(s, b, "workers.max_waiting", 1, 8);
	add_duration(s, b, "accept.dirty_notice", OV_SECOND, 5 * OV_MINUTE);
	/* A measured fleet keeps the default. */
	if (!s->o.fleet)
		add_int(s, b, "store.snapshot_every", 10, odds(s, 500) ? 60 : 2000);
	if (odds(s, 700))
		buf_adds(b, STR("workspace.check_command = \"make check\"\n"));
	if (odds(s, 300))
		add_int(s, b, "budget.iterations", 2, 60);
	if (odds(s, 200))
		add_int(s, b, "budget.tokens", 20000, 2000000);
	if (odds(s, 150))
		add_duration(s, b, "budget.wall", 10 * OV_MINUTE, 12 * OV_HOUR);
	if (odds(s, 500))
		buf_adds(b, STR("policy.allow_cross_agent = [\"*>*\"]\n"));
	if (s->setup.planner) {
		buf_adds(b, STR("planner.provider = \"command\"\nplanner.command = \"plan\"\n"));
		buf_addf(b, "planner.diagnose = %s\n", odds(s, 500) ? "true" : "false");
		buf_addf(b, "planner.fallback = %s\n", odds(s, 800) ? "true" : "false");
	}
}

/* Where nodes go in circles they are let to: it is oversight that has to end them. */
static void add_oversight(struct sim *s, struct buf *b)
{
	if (!s->setup.loops)
		return;
	buf_addf(b, "estimate.iterations = %zu\n", 3 + sim_below(s, RNG_LOOP, 8));
}

/* Whether people outside are told of anything, by one channel or two. */
static void add_escalation(struct sim *s, struct buf *b)
{
	if (s->o.fleet || !sim_odds(s, RNG_NOTICE, 400)) {
		buf_adds(b, STR("escalation.desktop = false\n"));
		return;
	}
	if (sim_odds(s, RNG_NOTICE, 500))
		buf_adds(b, STR("escalation.hook = \"tell\"\n"));
	if (sim_odds(s, RNG_NOTICE, 200))
		buf_adds(b, STR("escalation.auto = false\n"));
	buf_addf(b, "escalation.max_attempts = %zu\nescalation.max_per_hour = %zu\n",
			1 + sim_below(s, RNG_NOTICE, 8), 2 + sim_below(s, RNG_NOTICE, 30));
}

static const char *word(struct sim *s, const char *const *words, size_t n)
{
	return words[sim_below(s, RNG_QUEUE, n)];
}

/* Review, and the commands before and after an accept. A measured fleet has none of it. */
static void add_accept(struct sim *s, struct buf *b)
{
	static const char *const reviews[] = { "never", "high_risk", "always" },
				 *const pre[] = { "retry", "fail" },
				 *const post[] = { "fail", "warn", "revert" },
				 *const unchecked[] = { "review", "accept" },
				 *const leftovers[] = { "ask", "refuse" };

	if (s->o.fleet) {
		buf_adds(b, STR("accept.unchecked = \"accept\"\n"));
		return;
	}
	buf_addf(b, "accept.unchecked = \"%s\"\n", word(s, unchecked, ARRAY_LEN(unchecked)));
	if (sim_odds(s, RNG_QUEUE, 250))
		buf_addf(b, "accept.review = \"%s\"\n", word(s, reviews, ARRAY_LEN(reviews)));
	if (sim_odds(s, RNG_QUEUE, 400))
		buf_addf(b,
				"accept.pre_accept_command = \"gate\"\n"
				"accept.pre_accept_on_failure = \"%s\"\n",
				word(s, pre, ARRAY_LEN(pre)));
	if (sim_odds(s, RNG_QUEUE, 350))
		buf_addf(b,
				"accept.post_accept_command = \"deploy\"\n"
				"accept.post_accept_on_failure = \"%s\"\n",
				word(s, post, ARRAY_LEN(post)));
	if (sim_odds(s, RNG_QUEUE, 300))
		buf_addf(b, "accept.leftovers = \"%s\"\n",
				word(s, leftovers, ARRAY_LEN(leftovers)));
	buf_addf(b, "accept.ageing = \"%zum\"\n", 1 + sim_below(s, RNG_QUEUE, 60));
}

/* What stops auto mode, often enough that it is met. */
static void add_brakes(struct sim *s, struct buf *b)
{
	buf_addf(b,
			"auto.task_pool_retries = %zu\nauto.task_pool_retry_wait = \"%zus\"\n"
			"auto.max_failures_in_a_row = %zu\n",
			sim_below(s, RNG_POOL, 4), 1 + sim_below(s, RNG_POOL, 60),
			sim_below(s, RNG_POOL, 4));
	if (sim_odds(s, RNG_POOL, 300))
		buf_addf(b, "auto.budget.iterations = %zu\n", 2 + sim_below(s, RNG_POOL, 20));
	if (sim_odds(s, RNG_POOL, 200))
		buf_addf(b, "auto.budget.cost_usd = %zu\n", 1 + sim_below(s, RNG_POOL, 9));
	if (sim_odds(s, RNG_POOL, 200))
		buf_addf(b, "auto.task_budget.iterations = %zu\n", 1 + sim_below(s, RNG_POOL, 5));
	if (sim_odds(s, RNG_POOL, 200))
		buf_addf(b, "auto.task_budget.wall = \"%zum\"\n", 5 + sim_below(s, RNG_POOL, 120));
}

/* Auto mode, with a pool that has so many tasks. */
static void add_auto(struct sim *s, struct buf *b)
{
	static const char *const failures[] = { "fail", "warn", "pause" };

	if (s->o.fleet || !sim_odds(s, RNG_QUEUE, 350))
		return;
	s->setup.tasks = 1 + (int64_t)sim_below(s, RNG_QUEUE, 12);
	if (s->o.nodes_max)
		s->setup.tasks = MIN(s->setup.tasks, s->o.nodes_max);
	buf_addf(b,
			"auto.task_pool_command = \"pool\"\nauto.concurrency = %zu\n"
			"auto.task_pool_on_failure = \"%s\"\nauto.pool_wait = \"%zus\"\n",
			1 + sim_below(s, RNG_QUEUE, 4), word(s, failures, ARRAY_LEN(failures)),
			1 + sim_below(s, RNG_QUEUE, 60));
	add_brakes(s, b);
}

/* Its format, when it keeps sessions: NULL when it is any command. */
static const char *draw_format(struct sim *s)
{
	/* With hooks and ids of ours, with hooks, with ids of ours, with neither. */
	static const char *const formats[] = { "claude", "codex", "gemini", "opencode" };

	if (!s->setup.sessions || !sim_odds(s, RNG_SESSION, 650))
		return NULL;
	return formats[sim_below(s, RNG_SESSION, ARRAY_LEN(formats))];
}

static void add_agents(struct sim *s, struct buf *b)
{
	static const char *const first_rungs[] = { "resend", "replan", "reassign", "escalate" };

	s->setup.sessions = !s->o.fleet && sim_odds(s, RNG_SESSION, 450);
	for (int64_t i = 0; i < s->setup.agents; i++) {
		const char *format = draw_format(s);
		bool input = odds(s, 600);

		buf_addf(b, "[agents.a%lld]\n", (long long)i + 1);
		if (format)
			buf_addf(b, "format = \"%s\"\n", format);
		else
			buf_addf(b,
					"command = [\"agent\", \"{prompt}\"]\nprompt = \"arg\"\n"
					"input = \"%s\"\n",
					input ? "stdin" : "none");
		buf_addf(b, "recovery = \"%s\"\n", first_rungs[below(s, ARRAY_LEN(first_rungs))]);
		if (odds(s, 200))
			add_int(s, b, "concurrency", 1, 4);
	}
}

void setup_draw(struct sim *s)
{
	_cleanup_(buf_done) struct buf toml = BUF_INIT;
	struct ov_err err = { 0 };

	if (s->o.fleet)
		fleet_size(s);
	else if (s->o.night)
		night_size(s);
	else
		draw_size(s);
	s->setup.loops = !s->o.fleet && !s->o.night && sim_odds(s, RNG_LOOP, 350);
	if (s->o.goals_max)
		s->setup.goals = MIN(s->setup.goals, s->o.goals_max);
	if (s->o.nodes_max)
		s->setup.nodes = MIN(s->setup.nodes, s->o.nodes_max);
	buf_adds(&toml, STR("defaults.agent = \"a1\"\n"));
	if (s->o.night) {
		night_config(s, &toml);
	} else {
		add_supervisor(s, &toml);
		add_rest(s, &toml);
		add_oversight(s, &toml);
		add_escalation(s, &toml);
		add_accept(s, &toml);
		add_auto(s, &toml);
		add_agents(s, &toml);
	}
	if (config_parse(buf_str(&toml), &s->config, &err) < 0) {
		fprintf(stderr, "the configuration of seed %llu is not valid: %s\n%s\n",
				(unsigned long long)s->o.seed, err.msg, buf_cstr(&toml));
		abort();
	}
	s->config->policy.auto_mode = s->setup.tasks > 0;
	sim_trace(s, "seed %llu: %lld workers, %lld goals, %lld nodes, faults %08x at %u %%",
			(unsigned long long)s->o.seed, (long long)s->setup.workers,
			(long long)s->setup.goals, (long long)s->setup.nodes, s->setup.faults,
			s->setup.intensity);
}

void setup_done(struct sim *s)
{
	s->config = config_free(s->config);
}
