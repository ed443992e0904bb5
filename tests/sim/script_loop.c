/*
 * Habits: what the runs of a node do one after the other, until a person's answer, a new strategy
 * or the end of all faults cures them. The sick ones go in circles; the healthy ones only take
 * long. What the check finds in such work is made up here, in words as commands print them, so that
 * what the product sees is what it would see of the real ones.
 */
#include "base/str.h"
#include "tests/sim/machine_impl.h"
#include "tests/sim/simgit.h"

enum { HAS_HABIT = 500, CURED_BY_PERSON = 600, CURED_BY_WORDS = 350, CALLS = 9, WIDE = 12 };

/* ---- what a run changes ---- */

static void loop_write(struct sim_run *r, int64_t file)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	if (write_file(r, own_file(r, &a, file)))
		run_sayf(r, "edited part %lld\n", (long long)file);
}

static void make_one(struct sim_run *r)
{
	loop_write(r, 0);
}

/* One file, then another, and the first again: but never with what it had before. */
static void make_either(struct sim_run *r)
{
	loop_write(r, r->turn % 2);
}

static void make_many(struct sim_run *r)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str first = own_file(r, &a, 0);

	for (int i = 0; i < WIDE; i++)
		write_file(r, arena_printf(&a, STR_FMT "-wide-%d", STR_ARG(first), i));
}

/* What it did is undone, and done again. */
static void make_swap(struct sim_run *r)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str path = own_file(r, &a, 0);
	uint32_t *had = &r->node->swap[r->turn % 2];

	if (*had) {
		(void)simgit_agent_restore(r->m->s->git, r->spec.worktree, path, *had);
		r->files++;
	} else if (write_file(r, path)) {
		*had = simgit_in_tree(r->m->s->git, r->spec.worktree, path);
	}
	run_say(r, STR("the other way is better after all\n"));
}

/* Once it has something to hand in it changes nothing more. */
static void make_nothing(struct sim_run *r)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	str path = own_file(r, &a, 0);

	if (!simgit_in_tree(r->m->s->git, r->spec.worktree, path))
		write_file(r, path);
	run_say(r, STR("reading the same file once more\n"));
}

/* ---- what the check says of it ---- */

/* Words, since numbers do not tell two errors apart. */
static str other_error(const struct sim_run *r, struct arena *a)
{
	static const char *const words[] = { "apple", "birch", "cedar", "dahlia", "elm", "fern",
		"ginger", "hazel", "iris", "juniper", "kale", "lime", "maple", "nettle", "olive",
		"poppy", "quince" };
	unsigned n = ARRAY_LEN(words);

	return arena_printf(a, "exit status 1\nerror: the %s of the %s is not a %s",
			words[r->turn % n], words[r->turn / n % n], words[(r->turn * 7 + 3) % n]);
}

static bool has_come_far_enough(const struct sim_run *r)
{
	return r->turn >= r->node->turns_needed;
}

static void find_same(const struct sim_run *r, struct arena *a, struct machine_check *ret)
{
	ret->text = arena_printf(a,
			"exit status 1\n/repo/work/%u/parse.c:%u: error: field \"length\" of null",
			r->turn, 10 + r->turn * 3);
}

static void find_other(const struct sim_run *r, struct arena *a, struct machine_check *ret)
{
	ret->text = other_error(r, a);
}

static void find_better(const struct sim_run *r, struct arena *a, struct machine_check *ret)
{
	ret->passes = has_come_far_enough(r);
	ret->text = ret->passes ? STR("all tests pass") : other_error(r, a);
	ret->tests = ret->passes ? "passing" : "failing";
	ret->passed = r->turn * 4;
	ret->failed = ret->passes ? 0 : 3;
	ret->coverage_centi = 4000 + (int64_t)r->turn * 150;
}

/* Its tests and what they reach are there one time, and are broken the next. */
static void find_worse(const struct sim_run *r, struct arena *a, struct machine_check *ret)
{
	bool good = r->turn % 2;

	ret->text = other_error(r, a);
	ret->tests = good ? "passing" : "failing";
	ret->passed = good ? 10 : 6;
	ret->failed = good ? 0 : 4;
	ret->coverage_centi = good ? 8000 : 6200;
}

/* ---- the table ---- */

struct habit {
	const char *script;
	enum machine_loop loop;
	unsigned weight;
	void (*make)(struct sim_run *r);
	/* NULL: it never comes to a check. */
	void (*find)(const struct sim_run *r, struct arena *a, struct machine_check *ret);
	int64_t exit_code;
	unsigned calls; /* of a tool, all of them alike */
	bool tells;     /* how far it has come */
};

static const struct habit habits[] = {
	{ "loop_error", LOOP_STUCK, 20, make_one, find_same, 0, 0, false },
	{ "loop_crash", LOOP_STUCK, 10, make_one, NULL, 3, 0, false },
	{ "loop_idle", LOOP_IDLE, 12, make_nothing, find_other, 0, CALLS, false },
	{ "loop_swap", LOOP_SWAP, 15, make_swap, find_other, 0, 0, false },
	{ "loop_worse", LOOP_REGRESS, 12, make_one, find_worse, 0, 0, false },
	{ "loop_burn", LOOP_BURN, 12, make_one, find_other, 0, 0, false },
	{ "loop_slow", LOOP_HEALTHY, 12, make_one, find_better, 0, 2, true },
	{ "loop_growing", LOOP_HEALTHY, 12, make_either, find_better, 0, 0, false },
	{ "loop_flaky", LOOP_HEALTHY, 8, make_one, find_better, 0, 0, false },
	{ "loop_wide", LOOP_HEALTHY, 8, make_many, find_better, 0, 1, true },
};

/* A healthy one comes to its end within what is expected of a node. */
static unsigned turns_drawn(struct machine *m, const struct habit *h)
{
	size_t most = m->s->config ? (size_t)m->s->config->policy.estimate[RES_ITERATIONS] : 4;

	if (strcmp(h->script, "loop_flaky") == 0)
		return 2;
	return 2 + (unsigned)sim_below(m->s, RNG_LOOP, MAX(most, (size_t)2));
}

const struct habit *habit_named(const char *script)
{
	for (size_t i = 0; i < ARRAY_LEN(habits); i++)
		if (strcmp(habits[i].script, script) == 0)
			return &habits[i];
	return NULL;
}

static const struct habit *habit_any(struct machine *m)
{
	size_t all = 0, at, i = 0;

	for (size_t k = 0; k < ARRAY_LEN(habits); k++)
		all += habits[k].weight;
	at = sim_below(m->s, RNG_LOOP, all);
	while (at >= habits[i].weight)
		at -= habits[i++].weight;
	return &habits[i];
}

void habit_draw(struct machine *m, struct node_memory *n)
{
	if (m->habit)
		n->habit = m->habit;
	else if (m->s->setup.loops && sim_odds(m->s, RNG_LOOP, HAS_HABIT))
		n->habit = habit_any(m);
	if (n->habit)
		n->turns_needed = turns_drawn(m, n->habit);
}

/* What it is told may help, and when all is quiet nobody is ill any more. */
const struct script *habit_pick(struct sim_run *r)
{
	struct node_memory *n = r->node;

	if (!n->habit)
		return NULL;
	if (n->habit->loop != LOOP_HEALTHY &&
			(sim_quiet(r->m->s) ||
					(text_has(r, "A person answered") &&
							run_odds(r, CURED_BY_PERSON)) ||
					(text_has(r, MACHINE_GUIDANCE) &&
							run_odds(r, CURED_BY_WORDS))))
		n->habit = NULL;
	return n->habit ? script_named(n->habit->script) : NULL;
}

/* ---- a run of it ---- */

static void act_loop(struct sim_run *r, int64_t arg)
{
	(void)arg;
	r->habit->make(r);
	r->end.calls = r->habit->calls;
	if (r->habit->loop == LOOP_IDLE)
		r->end.tool = STR("Read parse.c");
	else if (r->habit->calls)
		r->end.tool = arena_printf(&r->m->strings, "Read part-%u.c", r->turn);
	if (r->habit->tells)
		act_percent(r, MIN((int64_t)r->turn * 9, (int64_t)99));
}

/* Only one that came to here has followed its habit. */
static void act_loop_end(struct sim_run *r, int64_t arg)
{
	r->loop = r->habit->loop;
	if (!arg) {
		act_exit(r, arg);
		return;
	}
	r->end.trouble = STR("other");
	run_tell(r);
	run_end(r, arg, 0, false, STR(""));
}

void compose_loop(struct sim_run *r)
{
	r->habit = r->node->habit;
	if (!r->habit) {
		compose_finish(r);
		return;
	}
	r->turn = ++r->node->turns;
	step_add(r, run_between(r, OV_SECOND, 20 * OV_SECOND), true, act_beat, 0);
	if (text_conflict(r).n)
		step_add(r, run_between(r, OV_SECOND, OV_MINUTE), true, act_rebase, 0);
	step_add(r, run_between(r, 10 * OV_SECOND, 2 * OV_MINUTE), true, act_loop, 0);
	step_add(r, run_between(r, 100, 20 * OV_SECOND), true, act_commit, 0);
	step_add(r, run_between(r, 50, 5 * OV_SECOND), false, act_loop_end, r->habit->exit_code);
}

enum machine_loop machine_loop_of(const struct machine *m, str run_id)
{
	const struct sim_run *r = map_get(&m->runs, run_id);

	return r && !r->alive && !r->stopping ? r->loop : LOOP_NONE;
}

void machine_check(struct machine *m, str worktree, struct arena *a, struct machine_check *ret)
{
	const struct sim_run *r = map_get(&m->places, worktree);

	*ret = (struct machine_check){ .passes = machine_check_passes(m, worktree),
		.coverage_centi = -1 };
	ret->text = ret->passes ? STR("the check command passed")
				: STR("exit status 1\nthe tests do not pass");
	if (!r || r->loop == LOOP_NONE || !r->habit->find)
		return;
	/*
	 * What was left from before its habit is not looked at: the habit's own words are
	 * the answer.
	 */
	ret->passes = false;
	r->habit->find(r, a, ret);
}
