/*
 * The model of git: cuts at every step, storms under which the truths hold, sabotage that they see.
 */
#include <stdio.h>
#include <time.h>

#include "tests/rng.h"
#include "tests/sim/simgit_fixture.h"

/* A worktree in some state, a call on it, and how it must be in the end. */
struct scene {
	const char *name;
	void (*prepare)(struct model *m);
	int (*call)(struct model *m);
	void (*judge)(struct model *m);
};

static void prepare_mess(struct model *m)
{
	work(m);
	simgit_agent_checkout(m->g, STR(TREE), (str){ 0 });
	write_file(m, "f3");
	simgit_agent_stage(m->g, STR(TREE));
	write_file(m, "f3");
	write_file(m, "loose");
	simgit_agent_delete(m->g, STR(TREE), STR("f2"));
}

static void prepare_unfinished(struct model *m)
{
	work(m);
	simgit_user_write(m->g, STR("f1"));
	simgit_user_commit(m->g);
	simgit_agent_rebase(m->g, STR(TREE), STR("main"), STR("R_1"), SIMGIT_UNFINISHED);
	write_file(m, "loose");
}

static void prepare_merging(struct model *m)
{
	work(m);
	simgit_user_write(m->g, STR("f1"));
	simgit_user_commit(m->g);
	simgit_agent_merge(m->g, STR(TREE), STR("main"), STR("R_1"), SIMGIT_UNFINISHED);
	write_file(m, "loose");
}

static void prepare_elsewhere(struct model *m)
{
	work(m);
	simgit_user_branch(m->g, STR("mine"));
	simgit_user_write(m->g, STR("f1"));
}

static void prepare_nested(struct model *m)
{
	prepare_mess(m);
	simgit_agent_nested(m->g, STR(TREE), STR("R_1"));
}

static void prepare_vanished(struct model *m)
{
	prepare_mess(m);
	simgit_agent_vanish(m->g, STR(TREE));
}

static int call_ensure(struct model *m)
{
	return ensure(m, "overseer/w1/b");
}

static int call_harvest(struct model *m)
{
	return harvest(m, (str){ 0 });
}

static int call_accept(struct model *m)
{
	return accepted(m, "A_1");
}

/* Both parts: a candidate that is not told is made again, or found. */
static int call_parts(struct model *m)
{
	return accepted_in_parts(m, "A_1");
}

static int call_pick(struct model *m)
{
	struct git_pick spec = { .path = STR(TREE),
		.target = STR("main"),
		.key = STR("A_1"),
		.rescue_ref = STR(RESCUE) };

	return simgit_pick(m->g, &spec, steps_of(m), &m->arena, &m->res, &m->err);
}

static int call_revert(struct model *m)
{
	struct simgit_accepted ac;
	struct git_revert spec = { .target = STR("main"), .key = STR("A_1") };

	simgit_accepted(m->g, STR("A_1"), &m->arena, &ac);
	spec.commit = ac.commit;
	return simgit_revert(m->g, &spec, steps_of(m), &m->arena, &m->res, &m->err);
}

static void prepare_accepted(struct model *m)
{
	work(m);
	assert_int_equal(accepted_in_parts(m, "A_1"), 0);
	simgit_user_write(m->g, STR("f2"));
	simgit_user_commit(m->g);
}

/* Something new lies where the target has a file. */
static void prepare_in_the_way(struct model *m)
{
	work(m);
	simgit_user_write(m->g, STR("built"));
	simgit_user_commit(m->g);
	write_file(m, "built");
}

static void judge_ensured(struct model *m)
{
	assert_true(simgit_clean(m->g, STR(TREE)));
	assert_str(simgit_head(m->g, STR(TREE)), "overseer/w1/b");
	assert_int_equal(in_tree(m, TREE, "loose"), 0);
}

static void judge_harvested(struct model *m)
{
	assert_true(simgit_clean(m->g, STR(TREE)));
	assert_str(simgit_head(m->g, STR(TREE)), BRANCH);
	assert_true(at(m, "refs/heads/" BRANCH, "loose") != 0);
	assert_true(simgit_ref(m->g, STR(RESCUE)));
}

/* What was harvested is as it was rescued: the repeated call tells it, too. */
static void judge_leftovers(struct model *m)
{
	judge_harvested(m);
	assert_true(m->res.leftovers);
	assert_str(m->res.rescue_ref, RESCUE);
}

static void judge_accepted(struct model *m)
{
	struct simgit_accepted ac;

	assert_true(m->res.outcome == GIT_OK || m->res.outcome == GIT_ALREADY);
	simgit_accepted(m->g, STR("A_1"), &m->arena, &ac);
	assert_int_equal(ac.count, 1);
	assert_int_equal(ac.change_n, 2);
	assert_true(ac.whole);
	assert_true(simgit_clean(m->g, STR(TREE)));
	assert_int_equal(at(m, "refs/heads/" BRANCH, "new"), at(m, "refs/heads/main", "new"));
}

static void judge_picked(struct model *m)
{
	struct simgit_accepted ac;

	simgit_accepted(m->g, STR("A_1"), &m->arena, &ac);
	assert_int_equal(ac.count, 1);
	assert_true(ac.whole);
	assert_true(at(m, "refs/heads/main", "loose") != 0);
	assert_int_equal(at(m, "refs/heads/main", "f2"), 0);
	assert_true(in_tree(m, TREE, "loose") != 0); /* it is as it was */
}

static void judge_reverted(struct model *m)
{
	struct simgit_accepted ac;

	simgit_accepted(m->g, STR("A_1"), &m->arena, &ac);
	assert_int_equal(ac.count, 1);
	assert_int_equal(at(m, "refs/heads/main", "new"), 0);
	assert_int_equal(at(m, "refs/heads/main", "f1"), ac.change[0].before);
	assert_true(simgit_clean(m->g, STR(REPO)));
}

static void judge_restored(struct model *m)
{
	assert_true(in_tree(m, TREE, "f2") != 0);
	assert_int_equal(in_tree(m, TREE, "loose"), 0);
	assert_true(at(m, RESCUE, "loose") != 0);
}

static void judge_removed(struct model *m)
{
	assert_int_equal(in_tree(m, TREE, "f1"), 0);
	assert_false(simgit_ref(m->g, STR("refs/heads/" BRANCH)));
}

static const struct scene scenes[] = {
	{ "ensure, fresh", model_open, call_ensure, judge_ensured },
	{ "ensure, harvested", work, call_ensure, judge_ensured },
	{ "ensure, a mess", prepare_mess, call_ensure, judge_ensured },
	{ "ensure, half a rebase", prepare_unfinished, call_ensure, judge_ensured },
	{ "ensure, half a merge", prepare_merging, call_ensure, judge_ensured },
	{ "ensure, vanished", prepare_vanished, call_ensure, judge_ensured },
	{ "harvest, a mess", prepare_mess, call_harvest, judge_leftovers },
	{ "harvest, half a rebase", prepare_unfinished, call_harvest, judge_harvested },
	{ "harvest, half a merge", prepare_merging, call_harvest, judge_harvested },
	{ "accept", work, call_accept, judge_accepted },
	{ "accept, the user elsewhere", prepare_elsewhere, call_accept, judge_accepted },
	{ "rebase and advance", work, call_parts, judge_accepted },
	{ "rebase and advance, the user elsewhere", prepare_elsewhere, call_parts, judge_accepted },
	{ "rebase and advance, a file in the way", prepare_in_the_way, call_parts, judge_accepted },
	{ "pick", prepare_mess, call_pick, judge_picked },
	{ "revert", prepare_accepted, call_revert, judge_reverted },
	{ "restore", prepare_mess, restore, judge_restored },
	{ "remove", work, removed, judge_removed },
	{ "remove, a mess", prepare_mess, removed, judge_removed },
	{ "remove, nested", prepare_nested, removed, judge_removed },
	{ "remove, vanished", prepare_vanished, removed, judge_removed },
};

/* Cut after n steps, then the repeated call after k, then whole. */
static bool cut(const struct scene *s, int n, int k)
{
	struct model m;
	bool was_cut;
	int r;

	s->prepare(&m);
	m.steps = n;
	r = s->call(&m);
	was_cut = r == OV_EUNAVAILABLE;
	if (r < 0 && !was_cut)
		fail_msg("%s, after %d steps: %s", s->name, n, m.err.msg);
	assert_int_equal(simgit_steps(m.g) <= n, 1);
	check_truths(&m);
	m.steps = k;
	s->call(&m);
	check_truths(&m);
	r = s->call(&m);
	if (r < 0)
		fail_msg("%s, again after %d and %d steps: %s", s->name, n, k, m.err.msg);
	assert_true(simgit_steps(m.g) <= SIMGIT_STEPS_MAX);
	s->judge(&m);
	model_close(&m);
	return was_cut;
}

TEST(cut_at_every_step)
{
	for (size_t i = 0; i < ARRAY_LEN(scenes); i++) {
		int n = 0;

		while (cut(&scenes[i], n, 0)) {
			for (int k = 1; k < 6; k++)
				cut(&scenes[i], n, k);
			n++;
		}
		assert_true(n >= 1 && n <= SIMGIT_STEPS_MAX);
	}
}

/* A storm: some worktrees, each with one task after another, and a user in between. */

enum { WORKERS = 4, PATHS = 40 };

struct worker {
	char path[64], branch[64], key[32], run[32], rescue[80];
	char aside[96]; /* where a rebase keeps what was */
	char candidate[72];
	str base;
	int task, phase; /* 0: to be ensured, 1: worked on, 2: to be accepted, 3: to advance */
	bool told;       /* the acceptance was */
};

struct storm {
	struct model m;
	struct rng rng;
	struct worker worker[WORKERS];
	size_t outcomes[GIT_MOVED + 1], cuts, lost_folders;
	struct arena names; /* bases outlive an answer */
};

static str any_path(struct storm *s)
{
	return arena_printf(&s->m.arena, "f%zu", rng_below(&s->rng, PATHS));
}

static enum simgit_left any_left(struct storm *s)
{
	return (enum simgit_left)rng_below(&s->rng, SIMGIT_FINISHED + 1);
}

static void agent_acts(struct storm *s, struct worker *w)
{
	struct simgit *g = s->m.g;
	str tree = str_from(w->path), run = str_from(w->run), path = any_path(s);
	enum simgit_left left = any_left(s);

	switch (rng_below(&s->rng, 24)) {
	case 0: simgit_agent_delete(g, tree, path); break;
	case 1: simgit_agent_stage(g, tree); break;
	case 2:
	case 3:
	case 4: simgit_agent_commit(g, tree, run); break;
	case 5: simgit_agent_checkout(g, tree, (str){ 0 }); break;
	case 6:
		simgit_agent_checkout(g, tree,
				arena_printf(&s->m.arena, "own-%s-%d", w->run, w->task));
		break;
	case 7: simgit_agent_leave(g, tree, STR("main")); break;
	case 8: simgit_agent_reset(g, tree); break;
	case 9: simgit_agent_rebase(g, tree, STR("main"), run, left); break;
	case 10: simgit_agent_merge(g, tree, STR("main"), run, left); break;
	case 11: simgit_agent_nested(g, tree, run); break;
	case 12: simgit_agent_lock(g, tree); break;
	case 13:
		if (rng_below(&s->rng, 10) == 0 && simgit_agent_vanish(g, tree) == 0) {
			s->lost_folders++;
			w->phase = 0;
		}
		break;
	default: simgit_agent_write(g, tree, path, run); break;
	}
}

static void user_acts(struct storm *s)
{
	struct simgit *g = s->m.g;
	str path = any_path(s);

	switch (rng_below(&s->rng, 16)) {
	case 0:
	case 1: simgit_user_write(g, path); break;
	case 2: simgit_user_delete(g, path); break;
	case 3: simgit_user_stage(g); break;
	case 4:
	case 5: simgit_user_commit(g); break;
	case 6: simgit_user_commit_on(g, STR("main"), path); break;
	case 7: simgit_user_branch(g, STR("mine")); break;
	case 8: simgit_user_switch(g, STR("main")); break;
	case 9: simgit_user_switch(g, STR("mine")); break;
	case 10: simgit_user_lock(g); break;
	case 11: simgit_user_rebase(g); break;
	case 12:
		simgit_user_rename(g, STR("main"), STR("trunk"));
		assert_true(simgit_user_intact(g, NULL));
		simgit_user_rename(g, STR("trunk"), STR("main"));
		break;
	case 13: simgit_user_delete_branch(g, STR("mine")); break;
	default: simgit_user_clean(g); break;
	}
}

/* How many steps of a call are left to it; mostly all. */
static int any_steps(struct storm *s)
{
	return rng_below(&s->rng, 3) ? SIMGIT_ALL : (int)rng_below(&s->rng, 8);
}

static int call_phase(struct storm *s, struct worker *w)
{
	struct model *m = &s->m;
	struct git_ensure en = { .path = str_from(w->path),
		.branch = str_from(w->branch),
		.target = STR("main"),
		.rescue_ref = str_from(w->rescue) };
	struct git_accept ac = { .path = str_from(w->path),
		.branch = str_from(w->branch),
		.target = STR("main"),
		.key = str_from(w->key) };
	struct git_rebase re = { .path = ac.path,
		.branch = ac.branch,
		.target = ac.target,
		.key = ac.key,
		.rescue_ref = str_from(w->aside) };
	struct git_advance ad = { .path = ac.path,
		.target = ac.target,
		.candidate = str_from(w->candidate),
		.key = ac.key };
	int steps = any_steps(s);

	switch (w->phase) {
	case 0: return simgit_ensure(m->g, &en, steps, &m->arena, &m->res, &m->err);
	case 1:
		return simgit_harvest(m->g, en.path, w->base, en.rescue_ref, steps, &m->arena,
				&m->res, &m->err);
	case 2:
		/* Every other one is made in parts. */
		if (w->task % 2)
			return simgit_accept(m->g, &ac, steps, &m->arena, &m->res, &m->err);
		return simgit_rebase(m->g, &re, steps, &m->arena, &m->res, &m->err);
	default: return simgit_advance(m->g, &ad, steps, &m->arena, &m->res, &m->err);
	}
}

static void next_task(struct worker *w, size_t i)
{
	w->task++;
	w->phase = 0;
	w->told = false;
	snprintf(w->path, sizeof(w->path), "/repo/w%zu", i);
	snprintf(w->branch, sizeof(w->branch), "overseer/w%zu/%d", i, w->task);
	snprintf(w->key, sizeof(w->key), "A_%zu_%d", i, w->task);
	snprintf(w->run, sizeof(w->run), "R_%zu_%d", i, w->task);
	snprintf(w->rescue, sizeof(w->rescue), "refs/overseer/rescue/w%zu/%d", i, w->task);
	snprintf(w->aside, sizeof(w->aside), "%s-rebase", w->rescue);
}

static void check_accepted(struct storm *s, const struct worker *w)
{
	struct simgit_accepted ac;

	simgit_accepted(s->m.g, str_from(w->key), &s->m.arena, &ac);
	if (w->told ? ac.count != 1 : ac.count > 1)
		fail_msg("%s is %zu times on the target", w->key, ac.count);
	if (ac.count && !ac.whole)
		fail_msg("%s is not whole on the target", w->key);
}

static void we_act(struct storm *s, size_t i)
{
	struct worker *w = &s->worker[i];
	int r = call_phase(s, w);

	if (r == OV_EUNAVAILABLE) {
		s->cuts++;
		return;
	}
	if (r < 0 && r != OV_ESTATE && r != OV_ENOTFOUND)
		fail_msg("phase %d: %s", w->phase, s->m.err.msg);
	if (r < 0) {
		w->phase = r == OV_ENOTFOUND ? 0 : 1; /* to be harvested again */
		return;
	}
	if (w->phase == 0)
		w->base = arena_str(&s->names, s->m.res.base);
	if (w->phase == 2 && w->task % 2 == 0 && s->m.res.outcome == GIT_OK)
		snprintf(w->candidate, sizeof(w->candidate), STR_FMT, STR_ARG(s->m.res.commit));
	else if (w->phase >= 2)
		w->phase = 3;
	if (w->phase++ < 3)
		return;
	s->outcomes[s->m.res.outcome]++;
	w->told = s->m.res.outcome == GIT_OK || s->m.res.outcome == GIT_ALREADY;
	check_accepted(s, w);
	if (w->told || s->m.res.outcome == GIT_NO_CHANGES || rng_below(&s->rng, 4) == 0)
		next_task(w, i);
	else
		w->phase = 1;
}

/* A person takes what is in a worktree right now, or takes back what is on the target. */
static void person_acts(struct storm *s, struct worker *w)
{
	struct model *m = &s->m;
	struct simgit_accepted ac;
	str key = arena_printf(&m->arena, "P_%s", w->key);
	struct git_pick pick = { .path = str_from(w->path),
		.target = STR("main"),
		.key = key,
		.rescue_ref = arena_printf(&m->arena, "%s-pick", w->rescue) };
	struct git_revert back = { .target = STR("main"), .key = key };
	int steps = any_steps(s);

	simgit_accepted(m->g, key, &m->arena, &ac);
	back.commit = ac.commit;
	if (!ac.count)
		simgit_pick(m->g, &pick, steps, &m->arena, &m->res, &m->err);
	else
		simgit_revert(m->g, &back, steps, &m->arena, &m->res, &m->err);
	simgit_accepted(m->g, key, &m->arena, &ac);
	if (ac.count > 1 || (ac.count && !ac.whole))
		fail_msg(STR_FMT " is %zu times on the target, or a part of it", STR_ARG(key),
				ac.count);
}

static void storm_step(struct storm *s)
{
	size_t what = rng_below(&s->rng, 10), i = rng_below(&s->rng, WORKERS);

	if (what < 4)
		agent_acts(s, &s->worker[i]);
	else if (what < 6)
		user_acts(s);
	else if (what == 6 && rng_below(&s->rng, 4) == 0)
		person_acts(s, &s->worker[i]);
	else
		we_act(s, i);
	check_accepted(s, &s->worker[i]);
}

static void between(void *user, int step)
{
	struct storm *s = user;

	(void)step;
	if (rng_below(&s->rng, 8) == 0)
		user_acts(s);
}

static void storm_run(struct storm *s, uint64_t seed, size_t steps)
{
	*s = (struct storm){ .rng = { seed } };
	model_open(&s->m);
	simgit_between(s->m.g, between, s);
	for (size_t i = 0; i < WORKERS; i++)
		next_task(&s->worker[i], i);
	for (size_t i = 0; i < steps; i++) {
		struct buf why = BUF_INIT;

		storm_step(s);
		if (!simgit_kept(s->m.g, &why) || !simgit_user_intact(s->m.g, &why))
			fail_msg("seed %llu, step %zu: %s", (unsigned long long)seed, i,
					buf_cstr(&why));
		if (i % 64 == 0) {
			check_truths(&s->m);
			arena_reset(&s->m.arena);
		}
		buf_done(&why);
	}
	simgit_between(s->m.g, NULL, NULL);
	model_close(&s->m);
	arena_done(&s->names);
}

TEST(truths_hold_in_storms)
{
	size_t outcomes[GIT_MOVED + 1] = { 0 }, cuts = 0, lost = 0;

	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct storm s;

		storm_run(&s, seed, 600);
		for (size_t i = 0; i < ARRAY_LEN(outcomes); i++)
			outcomes[i] += s.outcomes[i];
		cuts += s.cuts;
		lost += s.lost_folders;
	}
	/* A storm that does not reach everything proves little. */
	for (size_t i = 0; i < ARRAY_LEN(outcomes); i++)
		if (outcomes[i] < 5)
			fail_msg("outcome %zu came up %zu times", i, outcomes[i]);
	assert_true(cuts > 1000);
	assert_true(lost > 10);
}

TEST(sabotage_is_seen)
{
	struct model m;
	struct buf why = BUF_INIT;

	/* A rescue ref that alone keeps something. */
	prepare_mess(&m);
	assert_int_equal(call_ensure(&m), 0);
	assert_true(simgit_kept(m.g, NULL));
	assert_true(simgit_sabotage_drop_ref(m.g, STR(RESCUE)));
	assert_false(simgit_kept(m.g, &why));
	assert_true(str_contains(buf_str(&why), STR("R_1")));
	simgit_free(m.g);
	arena_done(&m.arena);

	prepare_mess(&m);
	assert_true(simgit_sabotage_reset(m.g, STR(TREE)));
	assert_false(simgit_kept(m.g, NULL));
	simgit_free(m.g);
	arena_done(&m.arena);

	/* A branch with commits that nothing else has. */
	work(&m);
	simgit_sabotage_drop_ref(m.g, STR("refs/heads/" BRANCH));
	assert_false(simgit_kept(m.g, NULL));
	simgit_free(m.g);
	arena_done(&m.arena);
	buf_done(&why);
}

TEST(sabotage_of_the_users_is_seen)
{
	for (int how = 0; how < 3; how++) {
		struct model m;
		struct buf why = BUF_INIT;

		work(&m);
		simgit_user_write(m.g, STR("f5"));
		simgit_user_stage(m.g);
		simgit_user_write(m.g, STR("f6"));
		assert_true(simgit_user_intact(m.g, NULL));
		if (how == 0)
			assert_true(simgit_sabotage_overwrite_user(m.g));
		else if (how == 1)
			assert_true(simgit_sabotage_index(m.g));
		else
			assert_true(simgit_sabotage_branch(m.g, STR("main")));
		assert_false(simgit_user_intact(m.g, &why));
		assert_true(why.n > 0);
		/* It stays, also when the user goes on. */
		simgit_user_clean(m.g);
		assert_false(simgit_user_intact(m.g, NULL));
		simgit_free(m.g);
		arena_done(&m.arena);
		buf_done(&why);
	}
}

TEST(sabotage_of_accept_is_seen)
{
	struct git_accept spec = { .path = STR(TREE),
		.branch = STR(BRANCH),
		.target = STR("main"),
		.key = STR("A_1") };
	struct simgit_accepted ac;
	struct model m;

	work(&m);
	assert_int_equal(accepted(&m, "A_1"), 0);
	assert_true(simgit_sabotage_accept(m.g, &spec));
	simgit_accepted(m.g, STR("A_1"), &m.arena, &ac);
	assert_int_equal(ac.count, 2);
	model_close(&m);

	work(&m);
	assert_true(simgit_sabotage_accept_part(m.g, &spec));
	simgit_accepted(m.g, STR("A_1"), &m.arena, &ac);
	assert_int_equal(ac.count, 1);
	assert_false(ac.whole);
	model_close(&m);
}

/* Thousands of tasks on a hundred files: the time of each stays in microseconds. */
TEST(many_tasks_are_quick)
{
	struct model m;
	struct timespec from, to;
	int64_t us;
	int tasks = 5000;

	model_open(&m);
	for (int i = 0; i < 100; i++)
		simgit_user_write(m.g, arena_printf(&m.arena, "p%d", i));
	simgit_user_commit(m.g);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	for (int i = 0; i < tasks; i++) {
		char branch[32], key[32];

		snprintf(branch, sizeof(branch), "overseer/w1/%d", i);
		snprintf(key, sizeof(key), "A_%d", i);
		assert_int_equal(ensure(&m, branch), 0);
		simgit_agent_write(m.g, STR(TREE), arena_printf(&m.arena, "p%d", i % 100),
				STR("R_1"));
		commit(&m);
		simgit_agent_write(m.g, STR(TREE), arena_printf(&m.arena, "p%d", i * 7 % 100),
				STR("R_1"));
		assert_int_equal(harvest(&m, m.res.base), 0);
		assert_int_equal(accept_of(&m, branch, key), 0);
		assert_int_equal(m.res.outcome, GIT_OK);
		assert_true(simgit_kept(m.g, NULL));
		assert_true(simgit_user_intact(m.g, NULL));
		arena_reset(&m.arena);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	us = (to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000;
	print_message("# %d tasks, %lld us of CPU each\n", tasks, (long long)us / tasks);
	model_close(&m);
}

TEST_MAIN
