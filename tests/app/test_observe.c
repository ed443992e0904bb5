/* What is seen of a run, with a real shim, a real agent and a real worktree. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/watch/observe.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "data/value/json.h"
#include "drive/run/run.h"
#include "sys/host/clock.h"
#include "sys/loop/loop.h"
#include "tests/git/fixture.h"

struct site {
	struct fixture f;
	struct arena a;
	struct observe *o;
	struct run_handle *run;
	int looks, ends;
};

static void on_looked(void *user, str run_id)
{
	struct site *s = user;

	assert_true(str_is(run_id, "run_1"));
	s->looks++;
}

static void on_output(void *user, str bytes, uint64_t at)
{
	struct site *s = user;

	(void)bytes, (void)at;
	observe_output(s->o, STR("run_1"));
}

static void on_ended(void *user, const struct run_end *end)
{
	struct site *s = user;

	(void)end;
	s->ends++;
}

#define STEP_UNTIL(s, condition)                                                \
	do {                                                                    \
		uint64_t _end = clock_mono_us() + 60 * 1000000;                 \
		while (!(condition)) {                                          \
			if (clock_mono_us() > _end)                             \
				fail_msg("waited in vain for: %s", #condition); \
			loop_step((s)->f.loop, 50000);                          \
		}                                                               \
	} while (0)

static void site_open(struct site *s, const char *script)
{
	static const struct run_ops ops = { .output = on_output, .ended = on_ended };
	const char *const argv[] = { "sh", "-c", script, NULL };
	const char *env[3] = { "PATH=/usr/local/bin:/usr/bin:/bin", NULL, NULL };
	struct run_spec spec = { .shim = getenv("OV_SHIM"),
		.argv = argv,
		.env = env,
		.max_output_bytes = 1 << 20,
		.stop_grace_ms = 100 };

	memset(s, 0, sizeof(*s));
	fixture_open(&s->f);
	ensure(&s->f, "overseer/w1/a");
	env[1] = arena_printf(&s->a, "D=%s", s->f.dir).p;
	spec.dir = arena_printf(&s->a, "%s/run", s->f.dir).p;
	spec.id = arena_printf(&s->a, "run%s", s->f.dir).p;
	spec.cwd = s->f.tree;
	s->o = observe_new(&(struct observe_options){ .loop = s->f.loop,
			.git = s->f.git,
			.looked = on_looked,
			.user = s });
	assert_int_equal(run_start(s->f.loop, &spec, 0, &ops, s, &s->run, NULL), 0);
	observe_begin(s->o, STR("run_1"), STR("agent"), s->run, str_from(s->f.tree), 0, false);
}

static void site_close(struct site *s)
{
	if (!s->ends) {
		assert_int_equal(run_stop(s->run, NULL), 0);
		STEP_UNTIL(s, s->ends);
	}
	observe_end(s->o, STR("run_1"));
	run_close(s->run);
	git_close(s->f.git);
	observe_free(s->o);
	/* The fixture closes a git of its own. */
	assert_int_equal(git_open(s->f.loop, s->f.repo, &s->f.git, NULL), 0);
	fixture_close(&s->f);
	arena_done(&s->a);
}

static const struct observation *seen(struct site *s)
{
	const struct observation *o = map_get(observe_runs(s->o), STR("run_1"));

	assert_non_null(o);
	return o;
}

static const struct observation *look(struct site *s)
{
	int before = s->looks;

	observe_look(s->o, STR("run_1"));
	STEP_UNTIL(s, s->looks > before);
	return seen(s);
}

/* Until the agent has come to a place that it told by output. */
static void wait_output(struct site *s)
{
	STEP_UNTIL(s, seen(s)->output_at > 0);
}

TEST(a_silent_sleeper_shows_no_life)
{
	struct site s;
	const struct observation *o;

	site_open(&s, "echo up; exec sleep 300");
	assert_int_equal(seen(&s)->looked_at, 0);
	wait_output(&s);
	o = look(&s);
	/* The first look is only something to compare with: it cannot tell that all is quiet. */
	assert_true(o->looked_at > 0);
	assert_true(o->process_unknown && o->tree_unknown);
	assert_int_equal(o->process_at, 0);
	assert_int_equal(o->tree_at, 0);
	for (int i = 0; i < 3; i++) {
		STEP_UNTIL(&s, clock_wall() > o->looked_at + 250);
		o = look(&s);
	}
	assert_int_equal(o->process_at, 0);
	assert_int_equal(o->tree_at, 0);
	assert_false(o->process_unknown || o->tree_unknown);
	site_close(&s);
}

TEST(silent_work_is_life)
{
	struct site s;
	const struct observation *o;

	site_open(&s, "echo up; (ulimit -t 60; while :; do :; done)");
	wait_output(&s);
	look(&s);
	STEP_UNTIL(&s, (o = look(&s))->process_at);
	assert_int_equal(o->tree_at, 0);
	site_close(&s);
}

TEST(work_before_the_last_output_is_not_taken_for_later_life)
{
	struct site s;
	ov_time before;

	site_open(&s,
			"echo up; while ! [ -e \"$D/go\" ]; do sleep 0.01; done; head -c 300000 "
			"/dev/zero >\"$D/made\"; echo there; exec sleep 300");
	wait_output(&s);
	before = look(&s)->looked_at;
	STEP_UNTIL(&s, clock_wall() > before);
	sh(&s.f, ": >\"$R/../go\"");
	STEP_UNTIL(&s, seen(&s)->output_at > before);
	STEP_UNTIL(&s, clock_wall() > before + 250);
	assert_int_equal(look(&s)->process_at, 0);
	assert_true(seen(&s)->process_unknown);
	assert_false(seen(&s)->tree_unknown);
	STEP_UNTIL(&s, clock_wall() > seen(&s)->looked_at + 250);
	assert_int_equal(look(&s)->process_at, 0);
	assert_false(seen(&s)->process_unknown);
	site_close(&s);
}

TEST(reading_and_writing_is_life)
{
	struct site s;
	const struct observation *o;

	/* It goes on only when it is told to, and then moves more than the bound at once. */
	site_open(&s,
			"echo up; while ! [ -e \"$D/go\" ]; do sleep 0.01; done; head -c 300000 "
			"/dev/zero >\"$D/made\"; : >\"$D/there\"; exec sleep 300");
	wait_output(&s);
	look(&s);
	sh(&s.f, ": >\"$R/../go\"; while ! [ -e \"$R/../there\" ]; do sleep 0.01; done");
	STEP_UNTIL(&s, clock_wall() > seen(&s)->looked_at + 250);
	o = look(&s);
	assert_true(o->process_at > 0);
	site_close(&s);
}

TEST(changes_of_the_worktree_are_life)
{
	struct site s;
	const struct observation *o;
	ov_time first;

	site_open(&s, "echo up; exec sleep 300");
	wait_output(&s);
	look(&s);
	sh(&s.f, "echo x >>\"$W/src/one\"");
	o = look(&s);
	first = o->tree_at;
	assert_true(first > 0);
	look(&s);
	assert_int_equal(seen(&s)->tree_at, first);
	/* The same file again. */
	STEP_UNTIL(&s, clock_wall() > first);
	sh(&s.f, "echo y >>\"$W/src/one\"");
	assert_true(look(&s)->tree_at > first);
	site_close(&s);
}

TEST(what_cannot_be_read_is_unknown)
{
	struct site s;
	const struct observation *o;

	site_open(&s, "echo up; exec sleep 300");
	wait_output(&s);
	look(&s);
	STEP_UNTIL(&s, clock_wall() > seen(&s)->looked_at + 250);
	sh(&s.f, "mv .overseer/git/w1 .overseer/git/w1-gone");
	o = look(&s);
	assert_true(o->tree_unknown);
	assert_false(o->process_unknown);
	sh(&s.f, "mv .overseer/git/w1-gone .overseer/git/w1; echo x >>\"$W/src/one\"");
	o = look(&s);
	/* Compared with the last one that could be read. */
	assert_false(o->tree_unknown);
	assert_true(o->tree_at > 0);
	assert_int_equal(run_stop(s.run, NULL), 0);
	STEP_UNTIL(&s, s.ends);
	o = look(&s);
	assert_true(o->process_unknown);
	site_close(&s);
}

TEST(of_an_agent_that_speaks_its_words_count_and_not_its_bytes)
{
	struct site s;
	static struct account c;
	const struct observation *o;

	account_init(&c, NULL, 0);
	site_open(&s, "echo up; exec sleep 300");
	wait_output(&s);
	c.life_at = 1000;
	c.tools[c.tools_n++] = (struct account_tool){ .name = "Bash", .since = 900 };
	observe_account(s.o, STR("run_1"), &c, 12, COST_UNKNOWN);
	/* The look finds a file that was written to just now. */
	o = look(&s);
	assert_int_equal(o->output_at, 1000);
	assert_true(o->tool_in_flight && str_is(o->tool, "Bash"));
	assert_int_equal(o->tool_since, 900);
	assert_int_equal(o->tokens, 12);
	assert_int_equal(o->cost_microusd, 0);
	/* While it tries again no tool of it is life, and nothing that it wrote is. */
	c.retrying = true;
	c.retrying_since = 1100;
	c.trouble = TROUBLE_LOGIN;
	c.status = 401;
	snprintf(c.waiting_for, sizeof(c.waiting_for), "Bash");
	observe_account(s.o, STR("run_1"), &c, 12, 7);
	o = look(&s);
	assert_int_equal(o->output_at, 1000);
	assert_true(o->retrying && !o->tool_in_flight);
	assert_int_equal(o->retrying_since, 1100);
	assert_true(str_is(o->trouble, "HTTP 401, login"));
	assert_true(str_is(o->waiting_for, "permission: Bash"));
	assert_int_equal(o->cost_microusd, 7);
	/* A clock of the agent's that is wrong does not reach into the future. */
	c.life_at = clock_wall() + OV_HOUR;
	observe_account(s.o, STR("run_1"), &c, 12, 7);
	assert_true(seen(&s)->output_at <= clock_wall());
	site_close(&s);
}

/* An agent that speaks has said its last word just now, while no tool of its ran. */
static void speaks(struct site *s, struct account *c)
{
	account_init(c, NULL, 0);
	c->life_at = c->alone_at = clock_wall();
	observe_account(s->o, STR("run_1"), c, 0, COST_UNKNOWN);
}

/* So many looks, each after enough time to have used something; was any of it life? */
static bool any_life(struct site *s, int looks)
{
	for (int i = 0; i < looks; i++) {
		STEP_UNTIL(s, clock_wall() > seen(s)->looked_at + 250);
		look(s);
		assert_false(seen(s)->process_unknown);
	}
	return seen(s)->process_at > 0;
}

TEST(of_an_agent_that_speaks_the_processor_counts_only_in_a_tool)
{
	struct site s;
	static struct account c;

	/* Itself, in one process: the shell of the loop is the agent. */
	site_open(&s, "echo up; ulimit -t 60; while :; do :; done");
	wait_output(&s);
	STEP_UNTIL(&s, clock_wall() > seen(&s)->output_at + 100);
	speaks(&s, &c);
	look(&s);
	look(&s);
	assert_false(any_life(&s, 3));
	/* In a tool that it told of, so much more than it idles at is work. */
	c.tools[c.tools_n++] = (struct account_tool){ .name = "Bash", .since = 900 };
	observe_account(s.o, STR("run_1"), &c, 0, COST_UNKNOWN);
	assert_true(any_life(&s, 1));
	site_close(&s);
}

TEST(a_tool_that_an_agent_did_not_tell_of_is_life_while_it_works)
{
	struct site s;
	static struct account c;

	site_open(&s,
			"echo up; while ! [ -e \"$D/go\" ]; do sleep 0.01; done; "
			"sh -c 'ulimit -t 60; while :; do :; done' & wait");
	wait_output(&s);
	speaks(&s, &c);
	sh(&s.f, ": >\"$R/../go\"");
	look(&s);
	STEP_UNTIL(&s, look(&s)->process_at > 0);
	site_close(&s);
}

TEST(a_quiet_tool_of_an_agent_that_tells_late_is_life)
{
	struct site s;
	static struct account c;

	for (int late = 0; late < 2; late++) {
		site_open(&s,
				"echo up; while ! [ -e \"$D/go\" ]; do sleep 0.01; done; "
				"sleep 300 & : >\"$D/there\"; wait");
		wait_output(&s);
		speaks(&s, &c);
		STEP_UNTIL(&s, clock_wall() > c.alone_at + 50);
		sh(&s.f, ": >\"$R/../go\"; while ! [ -e \"$R/../there\" ]; do sleep 0.01; done");
		c.tells_late = late;
		observe_account(s.o, STR("run_1"), &c, 0, COST_UNKNOWN);
		look(&s);
		look(&s);
		assert_int_equal(any_life(&s, 2), late);
		/* It has spoken since the tool began: that is its own process now. */
		c.life_at = c.alone_at = clock_wall() + 100;
		STEP_UNTIL(&s, clock_wall() > c.alone_at);
		observe_account(s.o, STR("run_1"), &c, 0, COST_UNKNOWN);
		look(&s);
		look(&s);
		any_life(&s, 2);
		assert_true(seen(&s)->process_at < c.life_at);
		site_close(&s);
	}
}

TEST(looks_are_taken_once_and_may_outlive_their_run)
{
	struct site s;

	site_open(&s, "echo up; exec sleep 300");
	wait_output(&s);
	/* Asked for again while it is under way: one look. Strangers: none. */
	for (int i = 0; i < 5; i++)
		observe_look(s.o, STR("run_1"));
	observe_look(s.o, STR("run_2"));
	STEP_UNTIL(&s, s.looks == 1);
	STEP_UNTIL(&s, seen(&s)->looked_at > 0);
	assert_int_equal(s.looks, 1);
	/* It ends while it is looked at, or before its turn. */
	for (int steps = 0; steps < 3; steps++) {
		observe_look(s.o, STR("run_1"));
		for (int i = 0; i < steps; i++)
			loop_step(s.f.loop, 0);
		observe_end(s.o, STR("run_1"));
		observe_begin(s.o, STR("run_1"), STR("agent"), s.run, str_from(s.f.tree), 7, true);
		assert_int_equal(seen(&s)->output_at, 7);
		look(&s);
		assert_int_equal(seen(&s)->tree_at, 0);
	}
	observe_look(s.o, STR("run_1"));
	loop_step(s.f.loop, 0);
	site_close(&s); /* with a look under way */
}

/* What would be told at the run's end. */
static str told(struct site *s)
{
	value *v = observe_silences(&s->a, s->o, STR("run_1"));

	return v ? json_text(&s->a, v) : STR("");
}

static void does(struct site *s, struct account *c, const char *tool)
{
	c->tools_n = *tool ? 1 : 0;
	c->tools[0] = (struct account_tool){ .since = clock_wall() };
	snprintf(c->tools[0].name, sizeof(c->tools[0].name), "%s", tool);
	c->life_at = clock_wall();
	observe_account(s->o, STR("run_1"), c, 0, COST_UNKNOWN);
}

TEST(silences_are_told_by_what_the_run_did)
{
	struct site s;
	static struct account c;

	account_init(&c, NULL, 0);
	site_open(&s, "exec sleep 300");
	observe_account(s.o, STR("run_1"), &c, 0, COST_UNKNOWN);
	assert_int_equal(seen(&s)->doing, ACTIVITY_STARTING);
	assert_string_equal(told(&s).p, "");
	c.ready = c.in_turn = true;
	does(&s, &c, "");
	assert_int_equal(seen(&s)->doing, ACTIVITY_THINKING);
	does(&s, &c, "Bash");
	/* Heard in the same moment, it is the same as if it came later. */
	assert_int_equal(seen(&s)->doing, ACTIVITY_TOOL);
	/* What it says while it waits for others is not about itself. */
	snprintf(c.waiting_for, sizeof(c.waiting_for), "Bash");
	does(&s, &c, "Bash");
	assert_int_equal(seen(&s)->doing, ACTIVITY_APART);
	assert_string_equal(told(&s).p,
			"[{\"activity\":\"starting\",\"counts\":{\"60\":1}},"
			"{\"activity\":\"thinking\",\"counts\":{\"60\":1}},"
			"{\"activity\":\"tool\",\"tool\":\"Bash\",\"counts\":{\"60\":1}}]");
	site_close(&s);
}

TEST(silences_in_which_others_had_a_say_are_not_told)
{
	struct site s;
	static struct account c;

	account_init(&c, NULL, 0);
	site_open(&s, "exec sleep 300");
	c.ready = c.in_turn = true;
	/* Before its first word, and in the middle. */
	observe_meddled(s.o, STR("run_1"));
	does(&s, &c, "");
	observe_meddled(s.o, STR("run_1"));
	does(&s, &c, "Bash");
	does(&s, &c, "");
	assert_string_equal(told(&s).p,
			"[{\"activity\":\"tool\",\"tool\":\"Bash\",\"counts\":{\"60\":1}},"
			"{\"activity\":\"thinking\",\"counts\":{\"60\":1}}]");
	/* A daemon that finds it does not know when it last spoke, nor what it is told again. */
	observe_end(s.o, STR("run_1"));
	observe_begin(s.o, STR("run_1"), STR("agent"), s.run, str_from(s.f.tree), 7, true);
	c.life_at = 1000;
	observe_account(s.o, STR("run_1"), &c, 0, COST_UNKNOWN);
	assert_string_equal(told(&s).p, "");
	does(&s, &c, "Bash");
	assert_string_equal(told(&s).p,
			"[{\"activity\":\"tool\",\"tool\":\"Bash\",\"counts\":{\"60\":1}}]");
	site_close(&s);
}

TEST_MAIN
