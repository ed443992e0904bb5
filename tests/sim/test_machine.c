/*
 * The simulated machine on its own, with the smallest kernel that lets time pass: that agents do
 * what their scripts say, that shims keep their promises, and that a seed is a seed.
 */
#include "tests/sim/machine_impl.h"

#include "base/err.h"
#include "base/str.h"
#include "core/life/update.h"
#include "tests/sim/queue.h"
#include "tests/sim/simgit.h"
#include "tests/test.h"
#include "tests/update_find.h"

/* ---- the kernel ---- */

static size_t entries; /* put into the queue so far */

ov_time sim_now(const struct sim *s)
{
	return (ov_time)SIM_EPOCH_S * OV_SECOND + s->t + s->skew;
}

void *sim_in(struct sim *s, ov_time delay, int owner, sim_fn *fn, size_t size)
{
	entries++;
	return queue_push(s->queue, s->t + delay, owner, fn, size)->block;
}

void *sim_post(struct sim *s, enum sim_channel c, ov_time delay, int owner, sim_fn *fn, size_t size)
{
	(void)c;
	return sim_in(s, delay, owner, fn, size);
}

uint64_t sim_draw(struct sim *s, enum sim_stream r)
{
	return rng_next(&s->rng[r]);
}

size_t sim_below(struct sim *s, enum sim_stream r, size_t n)
{
	return rng_below(&s->rng[r], n);
}

bool sim_odds(struct sim *s, enum sim_stream r, unsigned per_mille)
{
	return rng_below(&s->rng[r], 1000) < per_mille;
}

ov_time sim_between(struct sim *s, enum sim_stream r, ov_time lo, ov_time hi)
{
	return lo + (ov_time)rng_below(&s->rng[r], (size_t)(hi - lo) + 1);
}

bool sim_quiet(const struct sim *s)
{
	return s->t >= s->setup.quiet_at;
}

void sim_trace(struct sim *s, const char *fmt, ...)
{
	va_list ap;

	buf_clear(&s->line);
	buf_addf(&s->line, "%lld ", (long long)s->t);
	va_start(ap, fmt);
	buf_vaddf(&s->line, fmt, ap);
	va_end(ap);
	sha256_add(&s->trace_hash, s->line.p, s->line.n);
}

void sim_name(char ret[static SIM_NAME_MAX], str s)
{
	assert(s.n < SIM_NAME_MAX);
	memcpy(ret, s.p, s.n);
	ret[s.n] = '\0';
}

static void pass(struct sim *s, ov_time by)
{
	ov_time until = s->t + by;
	struct queue_entry *e;

	while ((e = queue_pop(s->queue)) != NULL) {
		if (e->at > until) {
			struct queue_entry *later = queue_push(s->queue, e->at, e->owner, e->fn,
					e->size);

			memcpy(later->block, e->block, e->size);
			queue_entry_free(e);
			break;
		}
		s->t = e->at;
		e->fn(s, e->block);
		queue_entry_free(e);
	}
	s->t = until;
}

/* ---- a world ---- */

static struct sim *world_new(uint64_t seed)
{
	struct sim *s = mem_zalloc(1, sizeof(*s));

	s->o.seed = seed;
	for (size_t i = 0; i < RNG_STREAMS; i++)
		s->rng[i].state = seed * 31 + i;
	s->setup.quiet_at = OV_TIME_MAX;
	sha256_init(&s->trace_hash);
	s->queue = queue_new();
	s->git = simgit_new(STR("/repo"), STR("main"));
	s->machine = machine_new(s);
	return s;
}

static void world_free(struct sim *s)
{
	machine_free(s->machine);
	simgit_free(s->git);
	queue_free(s->queue);
	buf_done(&s->line);
	mem_free(s);
}

static void tree(struct sim *s, const char *path, const char *branch)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct git_ensure e = { .path = str_from(path),
		.branch = str_from(branch),
		.target = STR("main"),
		.rescue_ref = arena_printf(&a, "refs/overseer/rescue/%s", branch) };
	struct git_result res = { 0 };

	assert_int_equal(simgit_ensure(s->git, &e, SIMGIT_ALL, &a, &res, NULL), 0);
}

#define INSTRUCTION "Task T1: do it\n"

static int start_kept(struct sim *s, const char *run, const char *node, const char *wt,
		const char *text, bool keeps)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct machine_spec spec = {
		.run_id = str_from(run),
		.assignment_id = STR("A_1"),
		.goal_id = STR("goal_0000000001"),
		.node_id = str_from(node),
		.agent = STR("a1"),
		.worktree = str_from(wt),
		.dispatch_id = arena_printf(&a, "D_%s", run),
		.epoch = 1,
		.attempt = 1,
		.text = str_from(text),
		.input = !keeps,
		.keeps = keeps,
	};

	return machine_start(s->machine, &spec, NULL);
}

static int start_as(struct sim *s, const char *run, const char *node, const char *wt,
		const char *text)
{
	return start_kept(s, run, node, wt, text, false);
}

static struct sim_run *begun(struct sim *s, const char *script)
{
	s->machine->only = script_named(script);
	tree(s, "/w1", "overseer/t1");
	assert_int_equal(start_as(s, "R_1", "T1", "/w1", INSTRUCTION), 0);
	return machine_find(s->machine, STR("R_1"));
}

static unsigned outputs, ends;

static void heard_output(struct sim *s, int life, str run_id)
{
	assert_int_equal(life, 7);
	assert_non_null(machine_find(s->machine, run_id));
	outputs++;
}

static void heard_end(struct sim *s, int life, str run_id)
{
	assert_int_equal(life, 7);
	assert_false(machine_lives(machine_find(s->machine, run_id)));
	ends++;
}

static void listen(struct sim *s, struct sim_run *r)
{
	outputs = ends = 0;
	machine_listen(s->machine, r, 7, heard_output, heard_end);
}

static struct update_result update_in(struct arena *a, const struct sim_run *r)
{
	struct update_result res = { 0 };

	update_find(a, machine_output(r), 0, false, NULL, 0, &res);
	return res;
}

/* ---- tests ---- */

static void history(uint64_t seed, uint8_t ret[static SHA256_LEN])
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct sim *s = world_new(seed);

	for (int i = 0; i < 80; i++) {
		const char *run = arena_printf(&a, "R_%d", i).p;
		const char *wt = arena_printf(&a, "/w%d", i % 8).p;
		const char *node = arena_printf(&a, "T%d", i % 8).p;

		tree(s, wt, arena_printf(&a, "overseer/b%d", i % 8).p);
		if (machine_agents_in(s->machine, str_from(wt)))
			machine_stop(s->machine, arena_printf(&a, "R_%d", i - 8));
		pass(s, OV_MINUTE);
		assert_int_equal(start_as(s, run, node, wt, INSTRUCTION), 0);
		pass(s, 7 * OV_MINUTE);
		if (i % 3 == 0)
			(void)machine_deliver(s->machine, str_from(run),
					arena_printf(&a, "D_n%d", i),
					STR("Report.\nRequest 0123456789: mention it.\n"), NULL);
	}
	pass(s, 3 * OV_DAY);
	for (size_t i = 0; i < s->machine->all.n; i++) {
		str out = machine_output(s->machine->all.p[i]);

		sha256_add(&s->trace_hash, out.p, out.n);
	}
	sha256_end(&s->trace_hash, ret);
	world_free(s);
}

TEST(the_same_seed_gives_the_same_history)
{
	uint8_t one[SHA256_LEN], two[SHA256_LEN], other[SHA256_LEN];

	for (uint64_t seed = 1; seed < 6; seed++) {
		history(seed, one);
		history(seed, two);
		history(seed + 100, other);
		assert_memory_equal(one, two, SHA256_LEN);
		assert_memory_not_equal(one, other, SHA256_LEN);
	}
}

TEST(a_folder_starts_one_agent)
{
	struct sim *s = world_new(1);

	begun(s, "finish");
	assert_int_equal(start_as(s, "R_1", "T1", "/w1", INSTRUCTION), OV_ESTATE);
	assert_int_equal(machine_taken(s->machine, STR("D_R_1")), 1);
	assert_int_equal(machine_agents_at(s->machine, STR("goal_0000000001"), STR("T1")), 1);
	assert_int_equal(machine_agents_in(s->machine, STR("/w1")), 1);
	machine_sabotage_second(s->machine, STR("R_1"));
	assert_int_equal(machine_agents_in(s->machine, STR("/w1")), 2);
	assert_int_equal(machine_taken(s->machine, STR("D_R_1")), 2);
	world_free(s);
}

TEST(a_dispatch_is_given_once)
{
	struct sim *s = world_new(1);
	struct sim_run *r = begun(s, "slow");
	str text = STR("Report.\nRequest 0123456789: mention it.\n");

	for (int i = 0; i < 3; i++)
		assert_int_equal(machine_deliver(s->machine, r->spec.run_id, STR("D_9"), text,
						 NULL),
				0);
	assert_int_equal(machine_taken(s->machine, STR("D_9")), 1);
	machine_sabotage_deafness(s->machine, true);
	assert_int_equal(machine_deliver(s->machine, r->spec.run_id, STR("D_9"), text, NULL), 0);
	assert_int_equal(machine_taken(s->machine, STR("D_9")), 2);
	r->spec.input = false;
	assert_int_equal(machine_deliver(s->machine, r->spec.run_id, STR("D_8"), text, NULL),
			OV_ESTATE);
	assert_int_equal(machine_taken(s->machine, STR("D_8")), 0);
	pass(s, 3 * OV_DAY);
	assert_false(machine_lives(r));
	assert_int_equal(machine_deliver(s->machine, r->spec.run_id, STR("D_7"), text, NULL),
			OV_ESTATE);
	world_free(s);
}

TEST(what_an_agent_is_told_is_answered_with_its_number)
{
	unsigned answered = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct sim *s = world_new(seed);
		struct sim_run *r = begun(s, "hang_wakes");

		pass(s, 2 * OV_HOUR);
		assert_true(machine_lives(r));
		machine_deliver(s->machine, r->spec.run_id, STR("D_9"),
				STR("Report.\nRequest 0123456789: mention it.\n"), NULL);
		pass(s, 10 * OV_HOUR);
		answered += str_contains(machine_output(r), STR("0123456789"));
		world_free(s);
	}
	assert_in_range(answered, 8, 19);
}

TEST(a_stop_ends_every_run_within_the_grace)
{
	unsigned killed = 0;

	for (size_t i = 0; i < scripts_n; i++)
		for (uint64_t seed = 0; seed < 6; seed++) {
			struct sim *s = world_new(seed);
			struct sim_run *r = begun(s, scripts[i].name);

			pass(s, 3 * OV_MINUTE);
			machine_stop(s->machine, r->spec.run_id);
			machine_stop(s->machine, r->spec.run_id);
			pass(s, 11 * OV_SECOND);
			assert_false(machine_lives(r));
			killed += machine_end_of(r)->signal == 9;
			pass(s, OV_DAY);
			world_free(s);
		}
	assert_true(killed > 5);
}

static str print_of(struct sim *s, struct arena *a)
{
	struct git_result res = { 0 };

	if (simgit_fingerprint(s->git, STR("/w1"), SIMGIT_ALL, a, &res, NULL) < 0)
		return STR("none");
	return res.fingerprint;
}

TEST(an_agent_changes_nothing_after_its_end)
{
	unsigned wrote = 0;

	for (uint64_t seed = 0; seed < 40; seed++) {
		_cleanup_(arena_done) struct arena a = ARENA_INIT;
		struct sim *s = world_new(seed);
		struct sim_run *r = begun(s, seed % 2 ? "hang_stubborn" : "finish");
		str asked, ended;

		pass(s, 3 * OV_MINUTE);
		asked = print_of(s, &a);
		machine_stop(s->machine, r->spec.run_id);
		pass(s, 11 * OV_SECOND);
		ended = print_of(s, &a);
		wrote += !str_eq(asked, ended);
		pass(s, OV_DAY);
		assert_true(str_eq(ended, print_of(s, &a)));
		world_free(s);
	}
	/* Some go on after they were told, until they are killed. */
	assert_true(wrote > 3);
}

TEST(a_restart_of_the_machine_loses_all_runs)
{
	struct sim *s = world_new(1);
	struct sim_run *r = begun(s, "finish");

	listen(s, r);
	pass(s, 2 * OV_MINUTE);
	machine_restart(s->machine);
	assert_false(machine_lives(r));
	assert_true(machine_end_of(r)->lost);
	assert_int_equal(machine_agents_in(s->machine, STR("/w1")), 0);
	pass(s, OV_DAY);
	assert_int_equal(ends, 1);
	world_free(s);
}

TEST(the_end_is_told_to_who_listens_afterwards)
{
	struct sim *s = world_new(1);
	struct sim_run *r = begun(s, "finish");

	pass(s, OV_DAY);
	assert_false(machine_lives(r));
	listen(s, r);
	assert_int_equal(ends, 0);
	pass(s, OV_SECOND);
	assert_int_equal(ends, 1);
	assert_int_equal(outputs, 0);
	world_free(s);
}

/* How each script ends when nobody does anything about it. */
static const struct {
	const char *script;
	bool lasts, lost, fails, claims, babbles;
	bool either; /* it lasts, or not */
} expected[] = {
	{ .script = "finish", .claims = true },
	{ .script = "finish_shared", .claims = true },
	{ .script = "finish_uncommitted", .claims = true },
	{ .script = "finish_without_report" },
	{ .script = "finish_quickly" },
	{ .script = "finish_instantly" },
	{ .script = "slow", .claims = true },
	{ .script = "long_tool", .claims = true },
	{ .script = "odd_git", .claims = true },
	{ .script = "linger", .lasts = true, .claims = true },
	{ .script = "claim_early", .claims = true },
	{ .script = "claim_and_crash", .fails = true, .claims = true },
	{ .script = "babble", .lasts = true, .babbles = true },
	{ .script = "answer_twice", .claims = true },
	{ .script = "answer_late", .lasts = true },
	{ .script = "answer_for_another" },
	{ .script = "garbage" },
	{ .script = "orphans", .claims = true },
	{ .script = "permission", .either = true }, /* a person may grant it */
	{ .script = "crash", .fails = true },
	{ .script = "flap", .fails = true },
	{ .script = "shim_dies", .lost = true, .fails = true },
	{ .script = "unstartable", .fails = true },
	{ .script = "hang", .lasts = true },
	{ .script = "hang_wakes", .lasts = true },
	{ .script = "hang_stubborn", .lasts = true },
	{ .script = "spin", .lasts = true },
	{ .script = "mute", .lasts = true },
	{ .script = "no_changes", .claims = true },
	{ .script = "bad_work", .claims = true },
	{ .script = "rate_limited", .fails = true },
	{ .script = "logged_out", .fails = true },
	{ .script = "leave_rebase", .fails = true },
	{ .script = "wreck", .fails = true },
};

static void check_script(size_t i, uint64_t seed)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct sim *s = world_new(seed);
	struct sim_run *r;
	struct update_result u;

	entries = 0;
	r = begun(s, expected[i].script);
	listen(s, r);
	pass(s, 2 * OV_DAY);
	if (!expected[i].either && machine_lives(r) != expected[i].lasts)
		fail_msg("%s %s", expected[i].script, machine_lives(r) ? "goes on" : "has ended");
	assert_true(entries <= (expected[i].babbles ? 2000 : 60));
	assert_int_equal(ends, !machine_lives(r));
	if (!machine_lives(r)) {
		const struct machine_end *end = machine_end_of(r);

		assert_int_equal(end->lost, expected[i].lost);
		assert_int_equal(end->exit_code != 0 || end->signal || end->lost,
				expected[i].fails);
		assert_true(end->ended_at <= sim_now(s));
		assert_true(end->lost || end->tokens > 0);
	}
	u = update_in(&a, r);
	if (expected[i].claims) {
		assert_int_equal(u.verdict, UPDATE_OK);
		assert_int_equal(u.update.status, NODE_DONE);
	}
	world_free(s);
}

/* What becomes of each habit in its turns: loops do not pass, what takes long does. */
static const struct {
	const char *script;
	enum machine_loop loop;
	bool checked, passes;
	unsigned trees; /* different ones in six turns; 0: it is over before */
} habitual[] = {
	{ "loop_error", LOOP_STUCK, true, false, 6 },
	{ "loop_crash", LOOP_STUCK, false, false, 6 },
	{ "loop_idle", LOOP_IDLE, true, false, 1 },
	{ "loop_swap", LOOP_SWAP, true, false, 2 },
	{ "loop_worse", LOOP_REGRESS, true, false, 6 },
	{ "loop_burn", LOOP_BURN, true, false, 6 },
	{ "loop_slow", LOOP_HEALTHY, true, true, 0 },
	{ "loop_growing", LOOP_HEALTHY, true, true, 0 },
	{ "loop_flaky", LOOP_HEALTHY, true, true, 0 },
	{ "loop_wide", LOOP_HEALTHY, true, true, 0 },
};

static str harvested(struct sim *s, struct arena *a)
{
	struct git_result res = { 0 };

	assert_int_equal(simgit_harvest(s->git, STR("/w1"), STR(""), STR("refs/overseer/rescue/t1"),
					 SIMGIT_ALL, a, &res, NULL),
			0);
	return res.tree;
}

static void check_habit(size_t i)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct sim *s = world_new(i);
	struct machine_check found = { 0 };
	str trees[6];
	unsigned different = 0, n = 0;

	tree(s, "/w1", "overseer/t1");
	s->machine->habit = habit_named(habitual[i].script);
	while (n < 6 && !found.passes) {
		str id = arena_printf(&a, "R_%u", ++n), made;
		size_t k = 0;

		assert_int_equal(start_as(s, arena_cstr(&a, id), "T1", "/w1", INSTRUCTION), 0);
		pass(s, 12 * OV_HOUR); /* agents may have to sit still for some of it */
		assert_int_equal(machine_loop_of(s->machine, id), habitual[i].loop);
		made = harvested(s, &a);
		while (k < different && !str_eq(trees[k], made))
			k++;
		if (k == different)
			trees[different++] = made;
		if (habitual[i].checked)
			machine_check(s->machine, STR("/w1"), &a, &found);
	}
	assert_int_equal(found.passes, habitual[i].passes);
	if (habitual[i].trees)
		assert_int_equal(different, habitual[i].trees);
	world_free(s);
}

TEST(habits_are_what_they_are_called)
{
	for (size_t i = 0; i < ARRAY_LEN(habitual); i++)
		check_habit(i);
}

TEST(each_script_ends_as_it_says)
{
	/* One more, "question", has its own test. */
	assert_int_equal(ARRAY_LEN(expected) + 1 + ARRAY_LEN(habitual), scripts_n);
	for (size_t i = 0; i < ARRAY_LEN(expected); i++)
		for (uint64_t seed = 0; seed < 12; seed++)
			check_script(i, seed);
}

TEST(a_question_is_asked_until_it_is_answered)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct sim *s = world_new(3);
	struct sim_run *r = begun(s, "question");
	struct update_result u;

	pass(s, OV_DAY);
	u = update_in(&a, r);
	assert_int_equal(u.verdict, UPDATE_OK);
	assert_int_equal(u.update.status, NODE_BLOCKED);
	machine_stop(s->machine, r->spec.run_id);
	pass(s, OV_MINUTE);
	start_as(s, "R_2", "T1", "/w1", "Task T1\nA person answered\nthe first one\n");
	pass(s, OV_DAY);
	r = machine_find(s->machine, STR("R_2"));
	u = update_in(&a, r);
	assert_int_equal(u.update.status, NODE_DONE);
	assert_int_equal(machine_end_of(r)->exit_code, 0);
	world_free(s);
}

TEST(signs_of_life_are_on_record)
{
	struct sim *s = world_new(1);
	struct sim_run *r = begun(s, "hang");
	uint64_t before, after;

	pass(s, 3 * OV_HOUR);
	assert_int_equal(machine_usage(s->machine, r->spec.run_id, &before, NULL), 0);
	assert_false(machine_strong_life(s->machine, r->spec.run_id, OV_HOUR));
	assert_true(machine_strong_life(s->machine, r->spec.run_id, 3 * OV_HOUR));
	pass(s, OV_HOUR);
	assert_int_equal(machine_usage(s->machine, r->spec.run_id, &after, NULL), 0);
	assert_int_equal(before, after);
	machine_stop(s->machine, r->spec.run_id);
	pass(s, OV_MINUTE);
	assert_int_equal(machine_usage(s->machine, r->spec.run_id, &after, NULL), OV_ENOTFOUND);
	s->machine->only = script_named("spin");
	start_as(s, "R_2", "T1", "/w1", INSTRUCTION);
	pass(s, 10 * OV_HOUR);
	assert_int_equal(machine_usage(s->machine, STR("R_2"), &before, NULL), 0);
	pass(s, OV_SECOND);
	assert_int_equal(machine_usage(s->machine, STR("R_2"), &after, NULL), 0);
	assert_true(after > before);
	assert_true(machine_strong_life(s->machine, STR("R_2"), 1));
	world_free(s);
}

TEST(what_is_left_behind_is_swept_when_the_end_is_read)
{
	unsigned left = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct sim *s = world_new(seed);
		struct sim_run *r = begun(s, "shim_dies");
		unsigned before;

		pass(s, OV_DAY);
		before = machine_orphans(s->machine);
		left += before;
		listen(s, r);
		pass(s, OV_SECOND);
		assert_int_equal(ends, 1);
		assert_int_equal(machine_orphans(s->machine), before);
		assert_int_equal(machine_end_of(r)->swept, before);
		assert_int_equal(machine_orphans(s->machine), 0);
		world_free(s);
	}
	assert_true(left > 0);
}

TEST(a_shim_that_lives_sweeps_by_itself)
{
	struct sim *s = world_new(1);
	struct sim_run *r = begun(s, "orphans");

	pass(s, OV_DAY);
	assert_true(machine_end_of(r)->swept > 0);
	assert_int_equal(machine_orphans(s->machine), 0);
	world_free(s);
}

TEST(bad_work_fails_the_check_until_it_is_mended)
{
	struct sim *s = world_new(1);

	begun(s, "bad_work");
	assert_true(machine_check_passes(s->machine, STR("/w1")));
	pass(s, OV_DAY);
	assert_false(machine_check_passes(s->machine, STR("/w1")));
	s->machine->only = script_named("finish");
	start_as(s, "R_2", "T1", "/w1",
			"Task T1\nSince your last attempt\nThe check command failed on your "
			"work:\n");
	pass(s, OV_DAY);
	assert_true(machine_check_passes(s->machine, STR("/w1")));
	world_free(s);
}

TEST(a_conflict_is_resolved_by_who_is_told_of_it)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct sim *s = world_new(1);
	struct git_accept accept = { .path = STR("/w1"),
		.branch = STR("overseer/t1"),
		.target = STR("main"),
		.message = STR("done"),
		.key = STR("A_1") };
	struct git_result res = { 0 };

	begun(s, "finish_shared");
	for (size_t i = 0; i < MACHINE_SHARED_FILES; i++)
		assert_int_equal(simgit_user_write(s->git, machine_shared_file(&a, i)), 0);
	assert_int_equal(simgit_user_commit(s->git), 0);
	pass(s, OV_DAY);
	assert_int_equal(simgit_accept(s->git, &accept, SIMGIT_ALL, &a, &res, NULL), 0);
	assert_int_equal(res.outcome, GIT_CONFLICT);
	s->machine->only = script_named("finish");
	start_as(s, "R_2", "T1", "/w1",
			"Task T1\nSince your last attempt\nYour work conflicts with what others "
			"have "
			"merged to main meanwhile. Rebase\n");
	pass(s, OV_DAY);
	assert_int_equal(simgit_accept(s->git, &accept, SIMGIT_ALL, &a, &res, NULL), 0);
	assert_int_equal(res.outcome, GIT_OK);
	world_free(s);
}

TEST(an_account_is_limited_for_all_of_its_agents_until_it_resets)
{
	struct sim *s = world_new(1);
	struct sim_run *r = begun(s, "rate_limited");

	pass(s, OV_HOUR);
	s->machine->only = NULL;
	s->machine->badness = 0;
	assert_false(machine_lives(r));
	tree(s, "/w2", "overseer/t2");
	run_lane(r)->limited_until = s->t + OV_HOUR;
	start_as(s, "R_2", "T2", "/w2", INSTRUCTION);
	pass(s, 10 * OV_MINUTE);
	r = machine_find(s->machine, STR("R_2"));
	assert_false(machine_lives(r));
	assert_string_equal(r->script->name, "rate_limited");
	pass(s, OV_HOUR);
	start_as(s, "R_3", "T2", "/w2", INSTRUCTION);
	assert_true(machine_find(s->machine, STR("R_3"))->script->honest);
	world_free(s);
}

TEST(the_others_of_a_limited_account_find_out)
{
	unsigned limited = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		struct sim *s = world_new(seed);
		struct sim_run *other;

		begun(s, "hang");
		other = machine_find(s->machine, STR("R_1"));
		tree(s, "/w2", "overseer/t2");
		s->machine->only = script_named("rate_limited");
		start_as(s, "R_2", "T2", "/w2", INSTRUCTION);
		pass(s, OV_DAY);
		assert_false(machine_lives(machine_find(s->machine, STR("R_2"))));
		limited += !machine_lives(other);
		world_free(s);
	}
	assert_in_range(limited, 4, 16);
}

TEST(when_nobody_answers_agents_all_of_them_sit_still)
{
	struct sim *s = world_new(1);
	struct sim_run *r;

	s->machine->frozen_until = 5 * OV_HOUR;
	r = begun(s, "finish");
	pass(s, 5 * OV_HOUR - 1);
	assert_true(machine_lives(r));
	assert_int_equal(machine_output(r).n, 0);
	assert_false(machine_strong_life(s->machine, r->spec.run_id, 4 * OV_HOUR));
	pass(s, 5 * OV_HOUR);
	assert_false(machine_lives(r));
	assert_int_equal(machine_end_of(r)->exit_code, 0);
	world_free(s);
}

/*
 * It was asked to stop, and ends by itself: of work that it never began it cannot say that it
 * is done.
 */
TEST(who_was_never_ready_has_no_result)
{
	unsigned without = 0, with = 0;

	for (uint64_t seed = 0; seed < 40; seed++) {
		struct sim *s = world_new(seed);
		const struct machine_end *end;
		struct sim_run *r;

		s->machine->frozen_until = seed % 2 ? 5 * OV_HOUR : 0;
		s->machine->only = script_named("finish");
		tree(s, "/w1", "overseer/t1");
		start_kept(s, "R_1", "T1", "/w1", "Task T1\nnote-1.\n", true);
		r = machine_find(s->machine, STR("R_1"));
		pass(s, 2 * OV_MINUTE);
		machine_stop(s->machine, r->spec.run_id);
		pass(s, OV_HOUR);
		end = machine_end_of(r);
		assert_int_equal(machine_noted(s->machine, STR("note-1")), seed % 2 ? 0 : 1);
		assert_false(end->result && seed % 2);
		without += end->exit_code == 0 && !end->result;
		with += end->result;
		world_free(s);
	}
	assert_true(without > 0 && with > 0);
}

TEST(old_runs_are_made_small_and_stay_known)
{
	struct sim *s = world_new(1);
	struct sim_run *r = begun(s, "finish");

	pass(s, 4 * OV_DAY);
	assert_true(machine_output(r).n > 0);
	tree(s, "/w2", "overseer/t2");
	start_as(s, "R_2", "T2", "/w2", INSTRUCTION);
	assert_int_equal(machine_output(r).n, 0);
	assert_int_equal(start_as(s, "R_1", "T1", "/w1", INSTRUCTION), OV_ESTATE);
	assert_int_equal(machine_taken(s->machine, STR("D_R_1")), 1);
	listen(s, r);
	pass(s, OV_SECOND);
	assert_int_equal(ends, 1);
	world_free(s);
}

TEST_MAIN
