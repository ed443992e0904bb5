#include "tests/test.h"

#include "agent/table/formats.h"
#include "base/err.h"
#include "base/str.h"
#include "core/config/config.h"
#include "data/value/json.h"
#include "data/value/toml.h"

static struct config *parse(const char *toml)
{
	struct config *c = NULL;
	struct ov_err err = { 0 };

	if (config_parse(str_from(toml), &c, &err) < 0)
		fail_msg("%s", err.msg);
	return c;
}

#define AGENT "[agents.x]\ncommand = \"a\"\n"
#define CLAUDE "[agents.x]\nformat = \"claude\"\n"
#define TWO AGENT "[agents.y]\ncommand = \"a\"\n"

TEST(defaults)
{
	struct config *c = parse("");

	assert_int_equal(c->tick_every, 2 * OV_MINUTE);
	assert_int_equal(c->stop_grace, 10 * OV_SECOND);
	assert_int_equal(c->policy.retry_max_attempts, 3);
	assert_int_equal(c->policy.retry_delay[0], 5 * OV_SECOND);
	assert_int_equal(c->policy.retry_delay[1], 30 * OV_SECOND);
	assert_int_equal(c->policy.retry_delay[2], 2 * OV_MINUTE);
	assert_int_equal(c->policy.plan.max_phases, 5);
	assert_int_equal(c->policy.plan.max_tasks, 7);
	assert_int_equal(c->policy.plan.max_subtasks, 7);
	assert_int_equal(c->limits_min_free_memory_bytes, 256 << 20);
	assert_int_equal(c->limits_max_load_pct, 0);
	assert_int_equal(c->limits_run_output_bytes, 64 << 20);
	assert_int_equal(c->policy.workers_max, 2);
	assert_int_equal(c->policy.check_command.n, 0);
	assert_int_equal(c->workspace_check_timeout, 15 * OV_MINUTE);
	assert_int_equal(c->accept_target.n, 0);
	assert_int_equal(c->policy.conflict_rounds, 3);
	assert_int_equal(c->policy.workers_max_waiting, 8);
	assert_int_equal(c->policy.dirty_wait, 5 * OV_MINUTE);
	assert_int_equal(c->policy.dirty_notice, OV_MINUTE);
	assert_int_equal(c->obsolete_n, 0);
	assert_true(c->http_enabled);
	assert_int_equal(c->http_port, 0);
	assert_int_equal(c->store_snapshot_every, 10000);
	assert_int_equal(c->agents_n, 0);
	assert_int_equal(c->policy.moved_tries, 100);
	assert_int_equal(c->policy.no_changes_attempts, 2);
	assert_int_equal(c->policy.plan.max_subtasks, 7);
	config_free(c);
}

TEST(supervision_by_default)
{
	struct config *c = parse(AGENT);
	const struct policy *p = &c->policy;

	assert_int_equal(p->idle_after, 15 * OV_MINUTE);
	assert_int_equal(p->max_run, 4 * OV_HOUR);
	assert_int_equal(p->mute_after, OV_HOUR);
	assert_int_equal(p->ask_after, 30 * OV_SECOND);
	assert_int_equal(p->done_grace, OV_MINUTE);
	assert_int_equal(p->max_nudges, 2);
	assert_int_equal(p->min_resend_interval, 5 * OV_MINUTE);
	assert_int_equal(p->backoff_base, 2 * OV_MINUTE);
	assert_int_equal(p->backoff_max, 30 * OV_MINUTE);
	assert_int_equal(p->remind_after, 4 * OV_HOUR);
	assert_int_equal(p->max_reminders, 2);
	assert_int_equal(p->default_after, 0);
	assert_int_equal(p->allow_agents_n, 1);
	assert_true(str_is(p->allow_agents[0], "*"));
	assert_int_equal(p->cross_n, 0);
	assert_int_equal(p->estimate[RES_ITERATIONS], 4);
	assert_int_equal(p->estimate[RES_WALL_MS], 8 * OV_HOUR);
	assert_int_equal(p->estimate[RES_TOKENS], 20000000);
	assert_int_equal(p->estimate[RES_COST_MICROUSD], 20000000);
	for (int i = 0; i < RESOURCE_COUNT; i++)
		assert_int_equal(p->budget[i], 0);
	assert_int_equal(p->quiet_from, p->quiet_to);
	assert_false(p->agents[0].input);
	assert_int_equal(p->agents[0].rate_limit_exit, 75);
	assert_int_equal(p->agents[0].login_exit, 77);
	assert_int_equal(p->agents[0].recovery, RUNG_RESEND);
	config_free(c);
}

/* Waits are parts of idle_after, unless they are set; those of limits are not. */
TEST(waits_scale_with_idle_after)
{
	static const struct {
		const char *toml;
		ov_time resend, base, max, limit_base, limit_max;
	} cases[] = {
		{ "idle_after = \"15m\"", 300000, 120000, 1800000, 120000, 1800000 },
		{ "idle_after = \"20s\"", 6667, 2667, 40000, 120000, 1800000 },
		{ "idle_after = \"2h\"", 2400000, 960000, 14400000, 120000, 1800000 },
		{ "idle_after = \"10ms\"", 10, 10, 20, 120000, 1800000 },
		{ "idle_after = \"20s\"\nmin_resend_interval = \"5m\"", 300000, 2667, 40000, 120000,
				1800000 },
		/* What is not set gives way to what is. */
		{ "idle_after = \"20s\"\nbackoff.base = \"2m\"", 6667, 120000, 120000, 120000,
				1800000 },
		{ "idle_after = \"20s\"\nbackoff.max = \"1s\"", 6667, 1000, 1000, 1000, 1000 },
		{ "backoff.base = \"1h\"", 300000, 3600000, 3600000, 3600000, 3600000 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct config *c;
		const struct policy *p;
		struct arena a = { 0 };

		c = parse(arena_printf(&a, "[supervisor]\n%s\n" AGENT, cases[i].toml).p);
		p = &c->policy;
		assert_int_equal(p->min_resend_interval, cases[i].resend);
		assert_int_equal(p->backoff_base, cases[i].base);
		assert_int_equal(p->backoff_max, cases[i].max);
		assert_int_equal(p->limit_base, cases[i].limit_base);
		assert_int_equal(p->limit_max, cases[i].limit_max);
		assert_int_equal(p->idle_set, i != ARRAY_LEN(cases) - 1);
		config_free(c);
		arena_done(&a);
	}
}

TEST(supervision_set)
{
	struct config *c = parse(
			"[supervisor]\nidle_after = \"10ms\"\nmax_run = \"1d\"\ndone_grace = "
			"\"10ms\"\n"
			"max_retries = 0\nmin_resend_interval = \"20ms\"\n"
			"[supervisor.backoff]\nbase = \"10ms\"\nmax = \"10ms\"\n"
			"[escalation]\nremind_after = \"1h\"\nmax_reminders = 0\ndefault_after = "
			"\"10ms\"\n"
			"[policy]\nallow_agents = [\"x\", \"y\"]\n"
			"allow_cross_agent = [\"x>y\", \" y > * \"]\n"
			"[estimate]\niterations = 2\nwall = \"1h\"\ntokens = 5\ncost_usd = 0.25\n"
			"[budget]\niterations = 7\nwall = \"unlimited\"\ntokens = \"3x "
			"estimate\"\n"
			"cost_usd = 1.5\n[quiet]\nfrom = \"22:00\"\nto = \"06:30\"\n"
			"[agents.x]\ncommand = \"a\"\nprompt = \"file\"\ninput = \"stdin\"\n"
			"rate_limit_exit = 0\nlogin_exit = 0\nrecovery = \"escalate\"\n"
			"[agents.y]\ncommand = \"a\"\nrecovery = \"reassign\"\n");
	const struct policy *p = &c->policy;

	assert_int_equal(p->idle_after, 10);
	assert_int_equal(p->max_run, OV_DAY);
	assert_int_equal(p->max_nudges, 0);
	assert_int_equal(p->min_resend_interval, 20);
	assert_int_equal(p->backoff_base, 10);
	assert_int_equal(p->backoff_max, 10);
	assert_int_equal(p->remind_after, OV_HOUR);
	assert_int_equal(p->max_reminders, 0);
	assert_int_equal(p->default_after, 10);
	assert_int_equal(p->allow_agents_n, 2);
	assert_int_equal(p->cross_n, 2);
	assert_true(str_is(p->cross[0].from, "x") && str_is(p->cross[0].to, "y"));
	assert_true(str_is(p->cross[1].from, "y") && str_is(p->cross[1].to, "*"));
	assert_int_equal(p->estimate[RES_ITERATIONS], 2);
	assert_int_equal(p->estimate[RES_WALL_MS], OV_HOUR);
	assert_int_equal(p->estimate[RES_COST_MICROUSD], 250000);
	assert_int_equal(p->budget[RES_ITERATIONS], 7);
	assert_int_equal(p->budget[RES_WALL_MS], -1);
	assert_int_equal(p->budget[RES_TOKENS], 0);
	assert_int_equal(p->budget[RES_COST_MICROUSD], 1500000);
	assert_int_equal(p->quiet_from, 22 * 60);
	assert_int_equal(p->quiet_to, 6 * 60 + 30);
	assert_true(p->agents[0].input);
	assert_int_equal(p->agents[0].rate_limit_exit, 0);
	assert_int_equal(p->agents[0].recovery, RUNG_ESCALATE);
	assert_int_equal(p->agents[1].recovery, RUNG_REASSIGN);
	config_free(c);
}

/* Values are shown as one would write them. */
TEST(view_of_words)
{
	struct arena a = ARENA_INIT;
	struct config *c = parse("budget.wall = \"unlimited\"\nbudget.cost_usd = 2.5\n"
				 "auto.budget.cost_usd = \"unlimited\"\n"
				 "quiet.from = \"07:05\"\nquiet.to = \"07:06\"\n");
	value *v = config_view(&a, c);

	assert_true(str_is(value_str_at(value_at(v, "budget.wall"), "value"), "unlimited"));
	assert_true(str_is(value_str_at(value_at(v, "auto.budget.cost_usd"), "value"),
			"unlimited"));
	assert_int_equal(c->policy.auto_budget[RES_COST_MICROUSD], -1);
	assert_int_equal(c->policy.auto_budget[RES_ITERATIONS], 200);
	assert_int_equal(c->policy.task_budget[RES_WALL_MS], 4 * OV_HOUR);
	assert_true(str_is(value_str_at(value_at(v, "budget.tokens"), "value"), "3x estimate"));
	assert_true(value_real_or(value_at(value_at(v, "budget.cost_usd"), "value"), 0) == 2.5);
	assert_true(str_is(value_str_at(value_at(v, "quiet.from"), "value"), "07:05"));
	config_free(c);
	arena_done(&a);
}

TEST(everything_set)
{
	struct config *c = parse(
			"[defaults]\nagent = \"fast\"\n"
			"[supervisor]\ntick_every = \"1m30s\"\nstop_grace = \"0\"\n"
			"[retry]\nmax_attempts = 20\ndelays = [\"0\", \"1ms\", \"1d\"]\n"
			"[planner]\nmax_plan_phases = 1\nmax_tasks_per_phase = 2\n"
			"max_subtasks_per_task = 3\n"
			"[limits]\nmin_free_memory = \"0\"\nmax_load_pct = 150\n"
			"run_output = \"1GiB\"\n"
			"[workers]\nmax = 256\nmax_waiting = 3\n"
			"[workspace]\ncheck_command = \"make test\"\ncheck_timeout = \"1h\"\n"
			"[accept]\ntarget = \"release/2.x\"\nconflict_rounds = 1\n"
			"dirty_notice = \"2s\"\ndirty_wait = \"1s\"\n"
			"[http]\nenabled = false\nport = 65535\n"
			"[store]\nurl = \"sqlite:/x\"\nsnapshot_every = 5\n"
			"[agents.fast]\ncommand = [\"agent\", \"--fast\"]\nconcurrency = 3\n"
			"env = { KEY = \"v\", _X1 = \"\" }\nenv_pass = [\"PATH\"]\n"
			"[roles]\nreviewer = \"fast\"\n\"any role\" = \"fast\"\n");
	const struct config_agent *a = &c->agents[0];

	assert_true(str_is(c->policy.default_agent, "fast"));
	assert_int_equal(c->tick_every, 90 * OV_SECOND);
	assert_int_equal(c->stop_grace, 0);
	assert_int_equal(c->policy.retry_delay[2], OV_DAY);
	assert_int_equal(c->limits_min_free_memory_bytes, 0);
	assert_int_equal(c->limits_max_load_pct, 150);
	assert_int_equal(c->limits_run_output_bytes, 1 << 30);
	assert_false(c->http_enabled);
	assert_int_equal(c->http_port, 65535);
	assert_true(str_is(c->store_url, "sqlite:/x"));
	assert_int_equal(c->agents_n, 1);
	assert_true(str_is(a->name, "fast"));
	assert_true(str_is(a->runtime, "exec"));
	assert_true(str_is(a->format, "raw"));
	assert_int_equal(a->command_n, 2);
	assert_true(str_is(a->command[1], "--fast"));
	assert_int_equal(a->prompt_by, PROMPT_STDIN);
	assert_int_equal(a->env_n, 2);
	assert_true(str_is(a->env[0].name, "KEY") && str_is(a->env[0].value, "v"));
	assert_int_equal(a->env_pass_n, 1);
	assert_int_equal(a->concurrency, 3);
	assert_int_equal(c->policy.roles_n, 2);
	assert_true(str_is(c->policy.default_agent, "fast"));
	assert_true(str_is(c->policy.target_branch, "release/2.x"));
	assert_true(str_is(c->policy.check_command, "make test"));
	assert_int_equal(c->policy.agents[0].concurrency, 3);
	assert_true(str_is(c->policy.roles[1].name, "any role"));
	assert_int_equal(c->policy.retry_max_attempts, 20);
	assert_int_equal(c->policy.retry_delay[1], 1);
	assert_int_equal(c->policy.workers_max, 256);
	assert_int_equal(c->policy.conflict_rounds, 1);
	assert_int_equal(c->policy.workers_max_waiting, 3);
	assert_int_equal(c->policy.dirty_wait, OV_SECOND);
	assert_int_equal(c->policy.dirty_notice, 2 * OV_SECOND);
	assert_int_equal(c->policy.plan.max_phases, 1);
	config_free(c);
}

/* What an earlier version knew breaks no file: it is ignored, whatever it says, and told. */
TEST(obsolete_options_are_ignored_and_told)
{
	struct config *c = parse("[accept]\ndirty_tries = \"many\"\ndirty_wait_max = \"1h\"\n"
				 "dirty_wait = \"2h\"\n");

	assert_int_equal(c->obsolete_n, 2);
	assert_true(str_starts(c->obsolete[0],
			STR("accept.dirty_tries is obsolete and ignored: ")));
	assert_true(str_starts(c->obsolete[1], STR("accept.dirty_wait_max is obsolete")));
	assert_int_equal(c->policy.dirty_wait, 2 * OV_HOUR);
	config_free(c);
}

/* How the prompt gets into the command. Words are joined by "|". */
static bool passes(const struct config_agent *a, const char *name)
{
	for (size_t i = 0; i < a->env_pass_n; i++)
		if (str_is(a->env_pass[i], name))
			return true;
	return false;
}

TEST(a_known_agent_needs_little)
{
	struct config *c = parse(
			"[agents.a]\nformat = \"claude\"\n"
			"[agents.b]\nformat = \"codex\"\ncommand = [\"/opt/codex\"]\n"
			"model = \"m\"\npermission_mode = \"read-only\"\nprompt = \"arg\"\n"
			"env_pass = [\"PATH\"]\ndescription = \"reviews\"\n"
			"capabilities = [\"c++\", \"review\"]\ncost_tier = \"low\"\n");
	const struct config_agent *a = &c->agents[0], *b = &c->agents[1];

	assert_int_equal(a->command_n, 1);
	assert_true(str_is(a->command[0], "claude"));
	assert_true(passes(a, "HOME") && passes(a, "ANTHROPIC_API_KEY"));
	assert_false(passes(a, "OPENAI_API_KEY"));
	assert_int_equal(a->max_turns, 0);
	assert_true(str_is(a->cost_tier, "medium"));
	/* What is written is exactly what holds. */
	assert_int_equal(b->command_n, 1);
	assert_int_equal(b->env_pass_n, 1);
	assert_true(str_is(b->model, "m") && str_is(b->permission_mode, "read-only"));
	assert_int_equal(b->capabilities_n, 2);
	assert_true(str_is(b->cost_tier, "low"));
	assert_ptr_equal(c->policy.agents[1].format, format_find(STR("codex")));
	config_free(c);
}

TEST(commands)
{
	static const struct {
		const char *lines, *argv;
	} cases[] = {
		{ "command = [\"a\"]", "a" },
		{ "command = \"a | b\"", "/bin/sh|-c|a | b" },
		{ "command = [\"a\"]\nprompt = \"arg\"", "a|{prompt}" },
		{ "command = [\"a\", \"--p={prompt}\", \"b\"]\nprompt = \"arg\"",
				"a|--p={prompt}|b" },
		{ "command = [\"a\"]\nprompt = \"file\"", "a|{prompt_file}" },
		{ "command = [\"a\", \"@{prompt_file}\"]\nprompt = \"file\"", "a|@{prompt_file}" },
		{ "command = 'a \"$1\"'\nprompt = \"arg\"", "/bin/sh|-c|a \"$1\"|sh|{prompt}" },
		{ "command = 'a \"$1\"'\nprompt = \"file\"",
				"/bin/sh|-c|a \"$1\"|sh|{prompt_file}" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct buf toml = BUF_INIT, argv = BUF_INIT;
		struct config *c;

		buf_addf(&toml, "[agents.x]\n%s\n", cases[i].lines);
		c = parse(buf_cstr(&toml));
		for (size_t k = 0; k < c->agents[0].command_n; k++)
			buf_addf(&argv, "%s" STR_FMT, k ? "|" : "",
					STR_ARG(c->agents[0].command[k]));
		assert_string_equal(buf_cstr(&argv), cases[i].argv);
		config_free(c);
		buf_done(&toml);
		buf_done(&argv);
	}
}

static const char full_pass[] =
		"HOME PATH USER LANG LC_ALL TZ TMPDIR TERM GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL "
		"GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL ";

TEST(environment_by_default)
{
	struct config *c = parse("[agents.x]\ncommand = \"a\"\n");
	struct buf names = BUF_INIT;

	for (size_t i = 0; i < c->agents[0].env_pass_n; i++)
		buf_addf(&names, STR_FMT " ", STR_ARG(c->agents[0].env_pass[i]));
	assert_string_equal(buf_cstr(&names), full_pass);
	assert_int_equal(c->agents[0].concurrency, 256);
	buf_done(&names);
	config_free(c);
}

TEST(problems)
{
	static const struct {
		const char *toml, *says;
	} cases[] = {
		{ "x = 1", "x: unknown" },
		{ "[worker]\nmax = 1", "worker: unknown (did you mean \"workers\"?)" },
		{ "[workers]\nmaxx = 1", "workers.maxx: unknown (did you mean \"max\"?)" },
		{ "workers.max = 1\nworkers.zzzzzzz = 1", "workers.zzzzzzz: unknown" },
		{ "workers = 3", "workers: expected object, found integer" },
		{ "workers.max = 0", "workers.max: 0 is out of range: 1 to 256" },
		{ "workers.max = 257", "workers.max: 257 is out of range: 1 to 256" },
		{ "workers.max = \"2\"", "workers.max: expected integer, found string" },
		{ "workers.max = 2.0", "workers.max: expected integer, found" },
		{ "http.enabled = 1", "http.enabled: expected boolean, found integer" },
		{ "http.port = -1", "http.port: -1 is out of range: 0 to 65535" },
		{ "supervisor.tick_every = \"2 minutes\"",
				"supervisor.tick_every: \"2 minutes\" is not a duration" },
		{ "supervisor.tick_every = \"2d\"", "\"2d\" is out of range: 10ms to 1d" },
		{ "supervisor.tick_every = 120", "expected string, found integer" },
		{ "retry.delays = [\"1s\", \"1s\"]",
				"retry.delays: expected 3 durations, found 2" },
		{ "retry.delays = [\"1s\", \"x\", \"2d\"]", "retry.delays[1]: \"x\" is not" },
		{ "retry.delays = [\"1s\", \"x\", \"2d\"]", "retry.delays[2]: \"2d\" is out of" },
		{ "retry.delays = \"1s\"", "retry.delays: expected array" },
		{ "limits.run_output = \"64MB\"", "limits.run_output: \"64MB\" is not a size" },
		{ "limits.run_output = \"-1KiB\"", "limits.run_output: \"-1KiB\" is not a size" },
		{ "limits.run_output = \"MiB\"", "limits.run_output: \"MiB\" is not a size" },
		{ "limits.run_output = \"99999999999TiB\"", "is not a size" },
		{ "limits.run_output = \"1B\"", "is out of range: 1KiB to 1TiB" },
		{ "rescue.ignored = \"20 MB\"", "rescue.ignored: \"20 MB\" is not a size" },
		{ "rescue.ignored = 20", "expected true, false or a size, found integer" },
		{ "rescue.ignored = \"2000TiB\"", "is out of range: 0 to 1024TiB" },
		{ "workers.max_waiting = 0", "workers.max_waiting: 0 is out of range" },
		{ "[accept]\ndirty_trie = 2", "unknown" },
		{ "accept.target = \"a b\"", "accept.target: \"a b\" cannot be" },
		{ "accept.target = \"-x\"", "cannot be the name of a branch" },
		{ "accept.target = \"a..b\"", "cannot be the name of a branch" },
		{ "store.url = \"a\\u0000b\"", "store.url: must not contain NUL" },
		{ "defaults.agent = \"x\"", "defaults.agent: there is no [agents.x]" },
		{ "defaults.agent = \"xy\"\n" AGENT, "no [agents.xy]" },
		{ "defaults.agent = \"claud\"\n[agents.claude]\ncommand=\"a\"",
				"(did you mean \"claude\"?)" },
		{ "[roles]\nr = \"y\"\n" AGENT, "roles.r: there is no [agents.y]" },
		{ "[roles]\nr = 1\n" AGENT, "roles.r: expected string, found integer" },
		{ "roles = 1", "roles: expected object" },
		{ "agents = 1", "agents: expected object" },
		{ "[agents.X]\ncommand = \"a\"", "agents.X: a name has" },
		{ "[agents]\nx = 1", "agents.x: expected object" },
		{ "[agents.x]", "agents.x.command: is missing" },
		{ "[agents.x]\ncommand = \" \"", "agents.x.command: must not be empty" },
		{ "[agents.x]\ncommand = []", "agents.x.command: must not be empty" },
		{ "[agents.x]\ncommand = [1]", "agents.x.command[0]: expected string" },
		{ "[agents.x]\ncommand = 1", "agents.x.command: expected array" },
		{ AGENT "comand = 1", "agents.x.comand: unknown (did you mean \"command\"?)" },
		{ AGENT "runtime = \"acp\"", "agents.x.runtime: \"acp\" is not one of: \"exec\"" },
		{ AGENT "format = \"json\"", "agents.x.format: \"json\" is not one of: \"raw\"" },
		{ AGENT "prompt = \"x\"", "is not one of: \"stdin\", \"arg\", \"file\"" },
		{ AGENT "env = { \"1A\" = \"\" }", "agents.x.env.1A: \"1A\" is not a variable's" },
		{ AGENT "env = { A = 1 }", "agents.x.env.A: expected string" },
		{ AGENT "env = []", "agents.x.env: expected object" },
		{ AGENT "env_pass = [\"A=\"]", "agents.x.env_pass[0]: \"A=\" is not a variable's" },
		{ AGENT "env_pass = \"PATH\"", "agents.x.env_pass: expected array" },
		{ AGENT "concurrency = 0", "agents.x.concurrency: 0 is out of range: 1 to 256" },
		{ "[agents.x]\ncommand = \"a {prompt}\"\nprompt = \"arg\"",
				"agents.x.command: write \"$1\" instead of {prompt}" },
		{ "[agents.x]\ncommand = [\"a\", \"{prompt}\"]",
				"agents.x.command: {prompt} needs prompt = \"arg\"" },
		{ "[agents.x]\ncommand = [\"a\", \"{prompt_file}\"]\nprompt = \"arg\"",
				"{prompt_file} needs prompt = \"file\"" },
		{ "supervisor.backoff = 1", "supervisor.backoff: expected object, found integer" },
		{ "supervisor.backoff.bse = \"1s\"",
				"supervisor.backoff.bse: unknown (did you mean \"base\"?)" },
		{ "supervisor.idle_after.x = 1", "supervisor.idle_after: expected string" },
		{ "supervisor.backoff = { base = \"31m\", max = \"30m\" }",
				"supervisor.backoff.base: must not exceed supervisor.backoff.max" },
		{ "supervisor.idle_after = \"9ms\"", "\"9ms\" is out of range: 10ms to 30d" },
		{ "budget.iterations = 0",
				"budget.iterations: 0 is not a budget; write "
				"\"unlimited\"" },
		{ "budget.wall = \"0s\"", "budget.wall: 0 is not a budget; write \"unlimited\"" },
		{ "budget.cost_usd = 0.0", "budget.cost_usd: 0 is not a budget" },
		/* It is no multiple of anything. */
		{ "auto.budget.tokens = \"3x estimate\"",
				"auto.budget.tokens: expected integer, found string" },
		{ "auto.task_budget.cost_usd = 0", "auto.task_budget.cost_usd: 0 is not a budget" },
		{ "budget.tokens = \"none\"", "budget.tokens: expected integer, found string" },
		{ "budget.cost_usd = -1", "budget.cost_usd: -1 is out of range: 1e-06 to 1e+06" },
		{ "budget.cost_usd = nan", "budget.cost_usd: nan is out of range" },
		{ "budget.cost_usd = true", "expected a number of dollars, found boolean" },
		{ "estimate.iterations = 0", "estimate.iterations: 0 is out of range" },
		{ "estimate.wall = \"unlimited\"", "estimate.wall: \"unlimited\" is not a dur" },
		{ "quiet.from = \"22:00\"", "quiet.to: is missing: quiet hours need both" },
		{ "quiet.to = \"22:00\"", "quiet.from: is missing" },
		{ "quiet.from = \"22:00\"\nquiet.to = \"22:00\"", "quiet.to: is the same as" },
		{ "quiet.from = \"24:00\"\nquiet.to = \"6:00\"", "quiet.from: \"24:00\" is not a" },
		{ "quiet.from = \"23:59\"\nquiet.to = \"6:00\"", "quiet.to: \"6:00\" is not a" },
		{ "quiet.from = \"-1:00\"\nquiet.to = \"+6:00\"", "quiet.from: \"-1:00\" is not" },
		{ "policy.allow_agents = []", "policy.allow_agents: is empty" },
		{ "policy.allow_agents = [\"x\"]",
				"policy.allow_agents[0]: there is no [agents.x]" },
		{ "policy.allow_agents = [\"*\", \"x\"]\n" AGENT, "\"*\" allows every agent" },
		{ "policy.allow_agents = [\"x\", \"x\"]\n" AGENT,
				"policy.allow_agents[1]: \"x\" is there twice" },
		{ "policy.allow_agents = [\"x\"]\ndefaults.agent = \"y\"\n" TWO,
				"defaults.agent: \"y\" is not in policy.allow_agents" },
		{ "policy.allow_agents = [\"x\"]\nroles.r = \"y\"\n" TWO,
				"roles.r: \"y\" is not in policy.allow_agents" },
		{ "policy.allow_agents = [1]", "policy.allow_agents[0]: expected string" },
		{ "policy.allow_agents = \"*\"", "policy.allow_agents: expected array" },
		{ "workspace.test_report = \"a.xml\"", "expected array, found string" },
		{ "workspace.test_report = [\"a.xml\", \"/tmp/a.xml\"]",
				"workspace.test_report[1]: \"/tmp/a.xml\" is no path beneath" },
		{ "workspace.coverage_report = [\"b/../../a\"]", "is no path beneath a worktree" },
		{ "workspace.coverage_report = [\"\"]", "workspace.coverage_report[0]" },
		{ "policy.allow_cross_agent = true", "expected array, found boolean" },
		{ "policy.allow_cross_agent = [\"x\"]\n" AGENT,
				"policy.allow_cross_agent[0]: \"x\" is not of the form" },
		{ "policy.allow_cross_agent = [\">y\"]\n" TWO, "is not of the form" },
		{ "policy.allow_cross_agent = [\"x>y>x\"]\n" TWO, "is not of the form" },
		{ "policy.allow_cross_agent = [\"x>z\"]\n" TWO, "there is no [agents.z]" },
		{ "policy.allow_cross_agent = [\"x>x\"]\n" TWO, "goes from an agent to itself" },
		{ "policy.allow_cross_agent = [\"x>y\", \"x>y\"]\n" TWO,
				"policy.allow_cross_agent[1]: \"x>y\" and \"x>y\" say the same" },
		{ "policy.allow_cross_agent = [\"x>y\", \"*>*\"]\n" TWO, "say the same" },
		{ "policy.allow_cross_agent = [\"x>y\"]\npolicy.allow_agents = [\"x\"]\n" TWO,
				"policy.allow_cross_agent[0]: \"y\" is not in "
				"policy.allow_agents" },
		{ AGENT "input = \"stdin\"", "agents.x.input: \"stdin\" needs prompt" },
		{ AGENT "input = \"pty\"", "agents.x.input: \"pty\" is not one of: \"none\"" },
		{ AGENT "rate_limit_exit = 77", "agents.x.login_exit: is the same as" },
		{ AGENT "login_exit = 256", "agents.x.login_exit: 256 is out of range: 0 to 255" },
		{ AGENT "recovery = \"nudge\"", "agents.x.recovery: \"nudge\" is not one of" },
		{ AGENT "model = \"m\"", "agents.x.model: an agent of format \"raw\"" },
		{ AGENT "format = \"claude\"", "agents.x.command: write a list of words" },
		{ CLAUDE "permission_mode = \"yes\"", "is not one of: \"acceptEdits\", \"auto\"" },
		{ CLAUDE "input = \"stdin\"\nprompt = \"arg\"",
				"agents.x.input: Claude Code reads" },
		{ CLAUDE "max_turns = -1", "agents.x.max_turns: -1 is out of range" },
		{ "[agents.x]\nformat = \"codex\"\nmax_turns = 3",
				"agents.x.max_turns: Codex has no such option" },
		{ CLAUDE "capabilities = [\"rust\", \"C D\"]",
				"agents.x.capabilities[1]: a tag has" },
		{ CLAUDE "cost_tier = \"free\"", "agents.x.cost_tier: \"free\" is not one of" },
		{ "x =", "line 1" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct config *c = NULL;
		struct ov_err err = { 0 };
		int r = config_parse(str_from(cases[i].toml), &c, &err);

		if (r != OV_EINVALID || c || !strstr(err.msg, cases[i].says))
			fail_msg("%s\nsays: %s\nnot: %s", cases[i].toml, err.msg, cases[i].says);
	}
}

TEST(all_problems_at_once)
{
	struct config *c = NULL;
	struct ov_err err = { 0 };

	assert_int_equal(config_parse(STR("workers.max = 0\nhttp.prt = 1\nretry.max_attempts = "
					  "1001\n"
					  "[agents.x]\n[roles]\nr = \"zebra\"\n"),
					 &c, &err),
			OV_EINVALID);
	assert_string_equal(err.msg,
			"http.prt: unknown (did you mean \"port\"?)\n"
			"retry.max_attempts: 1001 is out of range: 1 to 1000\n"
			"workers.max: 0 is out of range: 1 to 256\n"
			"agents.x.command: is missing\n"
			"roles.r: there is no [agents.zebra]");
}

TEST(size_is_bounded)
{
	struct buf text = BUF_INIT;
	struct config *c = NULL;
	struct ov_err err = { 0 };

	buf_addc(&text, '#');
	while (text.n < 1024 * 1024)
		buf_addc(&text, 'x');
	assert_int_equal(config_parse(buf_str(&text), &c, &err), 0);
	c = config_free(c);
	buf_addc(&text, 'x');
	assert_int_equal(config_parse(buf_str(&text), &c, &err), OV_ELIMIT);
	assert_null(c);
	buf_done(&text);
}

/* No, all, or so much: in the file, and on the command line. */
TEST(up_to_a_size)
{
	static const struct {
		const char *toml, *set, *shown;
		int64_t bytes;
	} rows[] = {
		{ "", "workers.max=4", "false", 0 },
		{ "rescue.ignored = false", "rescue.ignored=false", "false", 0 },
		{ "rescue.ignored = true", "rescue.ignored=true", "true", INT64_MAX },
		{ "rescue.ignored = \"20MiB\"", "rescue.ignored=20MiB", "\"20MiB\"", 20 << 20 },
		{ "rescue.ignored = \"0\"", "rescue.ignored=0", "false", 0 },
	};
	struct arena a = ARENA_INIT;
	struct ov_err err;

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct config *c = parse(rows[i].toml), *set = NULL;
		const value *v = value_at(config_view(&a, c), "rescue.ignored");

		assert_true(c->rescue_ignored == rows[i].bytes);
		assert_true(str_is(json_text(&a, value_at(v, "value")), rows[i].shown));
		config_free(c);
		assert_int_equal(config_parse_with(STR(""), &rows[i].set, 1, &set, &err), 0);
		assert_true(set->rescue_ignored == rows[i].bytes);
		config_free(set);
	}
	arena_done(&a);
}

TEST(view)
{
	struct arena a = ARENA_INIT;
	struct config *c = parse(
			"workers.max = 4\nlimits.run_output = \"1024KiB\"\n[agents.x]\n"
			"command = \"a\"\nenv = { TOKEN = \"secret\" }\n[roles]\nr = \"x\"\n");
	value *v = config_view(&a, c);
	const value *max = value_at(v, "workers.max"), *tick = value_at(v, "supervisor.tick_every");

	assert_int_equal(value_int_at(max, "value"), 4);
	assert_int_equal(value_int_at(max, "default"), 2);
	assert_true(value_bool_at(max, "set"));
	assert_true(value_str_at(max, "help").n > 10);
	assert_true(str_is(value_str_at(tick, "value"), "2m"));
	assert_false(value_bool_at(tick, "set"));
	assert_true(str_is(value_str_at(value_at(v, "limits.run_output"), "value"), "1MiB"));
	assert_true(str_is(value_str_at(value_at(v, "roles.r"), "value"), "x"));
	assert_true(str_is(value_str_at(value_at(v, "agents.x.prompt"), "value"), "stdin"));
	assert_int_equal(value_count(value_at(value_at(v, "agents.x.command"), "value")), 3);
	assert_true(str_contains(json_text(&a, v), STR("TOKEN")));
	assert_false(str_contains(json_text(&a, v), STR("secret")));
	config_free(c);
	arena_done(&a);
}

/* With every # before a key removed, the file that `init` writes says what the defaults are. */
TEST(template_is_the_defaults)
{
	struct buf text = BUF_INIT, plain = BUF_INIT;
	struct arena a = ARENA_INIT;
	struct config *c;
	value *v, *doc;
	str rest, line;

	config_template(&text, NULL, 0);
	assert_int_equal(toml_parse(&a, buf_str(&text), &doc, NULL), 0);
	for (size_t i = 0; i < doc->object.n; i++)
		assert_int_equal(value_count(doc->object.members[i].value), 0);
	rest = buf_str(&text);
	while (str_split(&rest, '\n', &line)) {
		assert_true(line.n <= 100);
		if (line.n > 1 && line.p[0] == '#' && line.p[1] != ' ')
			line = str_sub(line, 1, line.n);
		buf_addf(&plain, STR_FMT "\n", STR_ARG(line));
	}
	c = parse(buf_cstr(&plain));
	v = config_view(&a, c);
	assert_true(value_count(v) >= 23);
	for (size_t i = 0; i < v->object.n; i++) {
		const value *entry = v->object.members[i].value;

		assert_true(value_bool_at(entry, "set"));
		if (!str_is(v->object.members[i].key, "accept.dirty_wait")) /* "60s" is "1m" */
			assert_true(value_equal(value_at(entry, "value"),
					value_at(entry, "default")));
	}
	config_free(c);
	buf_done(&text);
	buf_done(&plain);
	arena_done(&a);
}

TEST(template_of_an_agent_is_the_defaults)
{
	static const char *const keys[] = { "model", "permission_mode", "concurrency" };
	struct buf text = BUF_INIT, plain = BUF_INIT;
	struct arena a = ARENA_INIT;
	struct config *c;
	value *v;
	str rest, line;

	config_template_agent(&text);
	buf_adds(&plain, STR("[agents.x]\nformat = \"claude\"\n"));
	rest = buf_str(&text);
	while (str_split(&rest, '\n', &line))
		buf_addf(&plain, STR_FMT "\n", STR_ARG(str_sub(line, line.n > 0, line.n)));
	c = parse(buf_cstr(&plain));
	v = config_view(&a, c);
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const value *entry = value_at(v, arena_printf(&a, "agents.x.%s", keys[i]).p);

		assert_true(value_bool_at(entry, "set"));
		assert_true(value_equal(value_at(entry, "value"), value_at(entry, "default")));
	}
	config_free(c);
	buf_done(&text);
	buf_done(&plain);
	arena_done(&a);
}

/* What was found out stands in its section, in place of the default. */
TEST(template_has_what_was_found)
{
	static const struct config_found found[] = {
		{ "workspace.check_command", STR("\"make test\"") },
		{ "workers.max", STR("7") },
	};
	struct buf text = BUF_INIT;
	struct arena a = ARENA_INIT;
	struct config *c;
	value *doc;

	config_template(&text, found, ARRAY_LEN(found));
	assert_int_equal(toml_parse(&a, buf_str(&text), &doc, NULL), 0);
	c = parse(buf_cstr(&text));
	assert_true(str_is(c->policy.check_command, "make test"));
	assert_int_equal(c->policy.workers_max, 7);
	assert_false(str_contains(buf_str(&text), STR("#max = 2")));
	config_free(c);
	buf_done(&text);
	arena_done(&a);
}

TEST(tables_may_be_written_in_parts)
{
	struct ov_err err;
	struct config *c = parse(
			"accept.dirty_wait = \"4s\"\n[accept]\nreview = \"always\"\n"
			"[workers]\nmax = 3\n[agents.x]\ncommand = [\"x\"]\n"
			"[accept]\nconflict_rounds = 7\n[supervisor]\nbackoff.base = \"1s\"\n"
			"[supervisor.backoff]\nmax = \"9s\"\n");

	assert_int_equal(c->policy.dirty_wait, 4000);
	assert_int_equal(c->policy.review, REVIEW_ALWAYS);
	assert_int_equal(c->policy.conflict_rounds, 7);
	assert_int_equal(c->policy.backoff_base, 1000);
	assert_int_equal(c->policy.backoff_max, 9000);
	config_free(c);
	/* Which of two values is meant nobody can know. */
	assert_int_equal(config_parse(STR("[workers]\nmax = 3\n[workers]\nmax = 4\n"), &c, &err),
			OV_EINVALID);
	assert_non_null(strstr(err.msg, "\"max\" already has a value"));
}

/* Appended to a file that ends with a table, a dotted key belongs to that: people are told. */
TEST(a_dotted_key_below_a_table_is_explained)
{
	static const char *const cases[] = { "[watch]\naccept.review = \"always\"\n",
		"[agents.x]\ncommand = [\"x\"]\naccept.review = \"always\"\n" };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct config *c;
		struct ov_err err;

		assert_int_equal(config_parse(str_from(cases[i]), &c, &err), OV_EINVALID);
		assert_non_null(strstr(err.msg, i ? "below [agents.x]" : "below [watch]"));
		assert_non_null(strstr(err.msg, "write [accept] above it"));
	}
}

TEST(the_only_agent_is_the_default)
{
	struct config *c = parse("[agents.x]\ncommand = [\"x\"]\n");

	assert_true(str_is(c->policy.default_agent, "x"));
	config_free(c);
	c = parse("[agents.x]\ncommand = [\"x\"]\n[agents.y]\ncommand = [\"y\"]\n");
	assert_int_equal(c->policy.default_agent.n, 0);
	config_free(c);
	c = parse("[defaults]\nagent = \"y\"\n[agents.x]\ncommand = [\"x\"]\n"
		  "[agents.y]\ncommand = [\"y\"]\n");
	assert_true(str_is(c->policy.default_agent, "y"));
	config_free(c);
}

TEST(docs_name_every_option)
{
	struct buf docs = BUF_INIT;
	struct arena a = ARENA_INIT;
	struct config *c = parse("");
	value *v = config_view(&a, c);

	config_docs(&docs);
	for (size_t i = 0; i < v->object.n; i++) {
		str key = v->object.members[i].key;
		size_t dot = str_find_byte(key, '.');

		assert_true(str_contains(buf_str(&docs),
				arena_printf(&a, "\n## [" STR_FMT "]\n",
						STR_ARG(str_sub(key, 0, dot)))));
		assert_true(str_contains(buf_str(&docs),
				arena_printf(&a, "\n| `" STR_FMT "` | ",
						STR_ARG(str_sub(key, dot + 1, key.n)))));
	}
	assert_true(str_contains(buf_str(&docs), STR("## [agents.NAME]\n")));
	assert_true(str_contains(buf_str(&docs),
			STR("| `env_pass` | list of names | `[\"HOME\", ")));
	config_free(c);
	buf_done(&docs);
	arena_done(&a);
}

TEST(prices_of_models)
{
	static const struct {
		const char *toml, *problem;
	} wrong[] = {
		{ "[prices.m]\ninput_usd_per_mtok = 1\n",
				"prices.\"m\".output_usd_per_mtok: is missing" },
		{ "[prices.\"a*b\"]\ninput_usd_per_mtok = 1\noutput_usd_per_mtok = 1\n",
				"only at its end" },
		{ "[prices.m]\ninput_usd_per_mtok = -1\noutput_usd_per_mtok = 1\n",
				"out of range" },
		{ "[prices.m]\ninput_usd_per_mtok = \"1\"\noutput_usd_per_mtok = 1\n",
				"expected a number of dollars" },
		{ "[prices.m]\ninput_usd_per_mtok = 1\noutput_usd_per_mtok = 1\n"
		  "cache_usd_per_mtok = 1\n",
				"prices.\"m\".cache_usd_per_mtok: unknown" },
		{ "prices = 1\n", "prices: expected" },
		{ "[price]\n", "did you mean \"prices\"" },
	};
	struct config *c = parse("[prices.\"gpt-5.1*\"]\ninput_usd_per_mtok = 1.25\n"
				 "output_usd_per_mtok = 0\ncache_read_usd_per_mtok = 0.075\n");
	struct arena a = ARENA_INIT;
	const struct price *p = c->policy.prices.p;
	value *v = config_view(&a, c);

	assert_int_equal(c->policy.prices.n, 1);
	assert_true(str_is(p->model, "gpt-5.1*"));
	assert_int_equal(p->input, 1250000);
	assert_int_equal(p->output, 0);
	assert_int_equal(p->cache_read, 75000);
	assert_int_equal(p->cache_write, PRICE_UNKNOWN);
	v = (value *)value_at(v, "prices.\"gpt-5.1*\".cache_write_usd_per_mtok");
	assert_int_equal(value_at(v, "value")->kind, V_NULL);
	assert_false(value_bool_at(v, "set"));
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct config *none = NULL;
		struct ov_err err = { 0 };

		assert_int_equal(config_parse(str_from(wrong[i].toml), &none, &err), OV_EINVALID);
		assert_non_null(strstr(err.msg, wrong[i].problem));
	}
	config_free(c);
	arena_done(&a);
}

/* Cut anywhere, a file is read or refused with a message: it is never half taken. */
TEST(any_prefix)
{
	static const char text[] = "[workers]\nmax = 4\n[agents.x]\ncommand = [\"a\", \"b\"]\n"
				   "env = { A = \"1\" }\n[roles]\nr = \"x\"\n";

	for (size_t n = 0; n < sizeof(text); n++) {
		struct config *c = NULL;
		struct ov_err err = { 0 };
		int r = config_parse((str){ text, n }, &c, &err);

		assert_true((r == 0) == (c != NULL));
		assert_true(r == 0 || err.msg[0]);
		config_free(c);
	}
}

TEST(options_of_the_command_line_stand_in_place_of_the_files)
{
	static const char *const sets[] = { "workers.max=7", "auto.task_pool_command=echo a=b",
		"auto.pool_wait=3s", "supervisor.radar=false", "workers.max=8" };
	static const struct {
		const char *set, *words;
	} bad[] = {
		{ "workers.max=x", "--set workers.max=x" },
		{ "workers.max=0", "out of range" },
		{ "workers.mx=1", "there is no such option" },
		{ "workers.max", "a value is missing" },
		{ "auto.pool_wait=soon", "auto.pool_wait" },
	};
	struct config *c;
	struct ov_err err = { 0 };

	assert_int_equal(config_parse_with(STR("[workers]\nmax = 2\n[auto]\nconcurrency = 3\n"),
					 sets, ARRAY_LEN(sets), &c, &err),
			0);
	assert_int_equal(c->policy.workers_max, 8);
	assert_int_equal(c->policy.auto_concurrency, 3);
	assert_int_equal(c->policy.pool_wait, 3 * OV_SECOND);
	assert_true(str_is(c->task_pool_command, "echo a=b"));
	assert_false(c->radar);
	config_free(c);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(config_parse_with(STR(""), &bad[i].set, 1, &c, &err), OV_EINVALID);
		assert_non_null(strstr(err.msg, bad[i].words));
	}
}

static void refuse(const char *toml, const char *why)
{
	struct ov_err err = { 0 };
	struct config *c;

	assert_int_equal(config_parse(str_from(toml), &c, &err), OV_EINVALID);
	assert_non_null(strstr(err.msg, why));
}

TEST(levels_of_the_sandbox)
{
	struct config *c = parse("[agents.a]\ncommand = \"x\"\n[agents.b]\ncommand = \"x\"\n"
				 "sandbox = \"bwrap\"\nhome = \"shared\"\nnetwork = false\n");

	assert_int_equal(c->agents[0].sandbox, SANDBOX_AUTO);
	assert_int_equal(c->agents[1].sandbox, SANDBOX_BWRAP);
	assert_int_equal(c->check_sandbox, CHECK_AGENT);
	assert_int_equal(c->commands_env_pass_n, 1);
	config_free(c);
	c = parse("defaults.sandbox = \"none\"\nworkspace.check_sandbox = \"none\"\n"
		  "[agents.a]\ncommand = \"x\"\n[agents.b]\ncommand = \"x\"\n"
		  "sandbox = \"fence\"\nsandbox_writable = [\"/c\"]\n");
	assert_int_equal(c->agents[0].sandbox, SANDBOX_NONE);
	assert_int_equal(c->agents[1].sandbox, SANDBOX_FENCE);
	assert_int_equal(c->check_sandbox, CHECK_NONE);
	config_free(c);
	refuse("[agents.a]\ncommand = \"x\"\nsandbox = \"jail\"\n", "agents.a.sandbox");
	refuse("defaults.sandbox = \"\"\n", "defaults.sandbox");
	/*
	 * A fence has the network and the user's home: who asks for more gets no less in silence.
	 */
	refuse("[agents.a]\ncommand = \"x\"\nnetwork = false\n", "needs sandbox = \"bwrap\"");
	refuse("[agents.a]\ncommand = \"x\"\nsandbox = \"fence\"\nhome = \"private\"\n",
			"needs sandbox = \"bwrap\"");
	refuse("[agents.a]\ncommand = \"x\"\nsandbox = \"none\"\n"
	       "sandbox_writable = [\"/c\"]\n",
			"sandbox_writable");
	refuse("[agents.a]\ncommand = \"x\"\nsandbox_writable = [\"c\"]\n", "absolute");
}

TEST(who_mends_is_an_agent_that_can)
{
	struct config *c = parse("[agents.fix]\ncommand = \"x\"\n[watch]\n"
				 "remediation_agent = \"fix\"\nstall_timeout = \"2h\"\n");

	assert_true(str_is(c->watch.remediation_agent, "fix"));
	assert_int_equal(c->watch.stall_timeout, 2 * OV_HOUR);
	assert_int_equal(c->watch.heartbeat_timeout, 30 * OV_SECOND);
	assert_int_equal(c->watch.max_restarts, 20);
	config_free(c);
	refuse("[watch]\nremediation_agent = \"fix\"\n", "watch.remediation_agent");
	refuse("[agents.fix]\ncommand = \"x\"\nsandbox = \"bwrap\"\n[watch]\n"
	       "remediation_agent = \"fix\"\n",
			"sandbox");
	refuse("[agents.fix]\ncommand = \"x\"\nsandbox = \"fence\"\n[watch]\n"
	       "remediation_agent = \"fix\"\n",
			"sandbox");
	refuse("[agents.fix]\ncommand = \"x\"\nruntime = \"tmux\"\n[watch]\n"
	       "remediation_agent = \"fix\"\n",
			"terminal");
	refuse("[agents.fix]\ncommand = \"x\"\n[watch]\nremediation_agent = \"fix\"\n"
	       "remediation_command = \"y\"\n",
			"leave one");
}

TEST_MAIN
