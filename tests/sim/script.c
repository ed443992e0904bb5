/*
 * The scripts that agents follow: a table, and for each a function that lays down the steps. Which
 * of the bad ones a seed has is drawn, as in swarm testing: all at once would hide each other.
 */
#include "base/str.h"
#include "tests/sim/machine_impl.h"

enum {
	BEATS_MAX = 14, /* steps of one piece of work: what a run costs the queue */
};

/* ---- pieces ---- */

/* Works for so long: reads, builds, changes files, commits now and then. */
static void work(struct sim_run *r, ov_time lo, ov_time hi, size_t most, bool commits)
{
	ov_time total = run_between(r, lo, hi), each;
	size_t beats = (size_t)(total / OV_MINUTE), files = 1 + run_below(r, 3);

	beats = MIN(MAX(beats, files + 1), most);
	each = total / (ov_time)beats;
	for (size_t i = 0; i < beats; i++) {
		ov_time wait = run_between(r, each / 2, each + each / 2);
		bool busy = run_odds(r, 850);
		bool edits = i + files >= beats;

		step_add(r, wait, busy, edits ? act_edit : act_beat, (int64_t)(beats - i));
		if (edits && commits && run_odds(r, 300))
			step_add(r, OV_SECOND, true, act_commit, 0);
	}
}

static void usual_work(struct sim_run *r, bool commits)
{
	bool fleet = r->m->s->o.fleet;

	work(r, (fleet ? 15 : 5) * OV_MINUTE, (fleet ? 45 : 40) * OV_MINUTE, BEATS_MAX, commits);
}

static void soon(struct sim_run *r, act_fn *act, int64_t arg)
{
	step_add(r, run_between(r, 100, 20 * OV_SECOND), true, act, arg);
}

/* First what it was told about the last attempt. */
static void begin(struct sim_run *r)
{
	step_add(r, run_between(r, OV_SECOND, 20 * OV_SECOND), true, act_beat, 0);
	if (text_conflict(r).n)
		step_add(r, run_between(r, OV_SECOND, OV_MINUTE), true, act_rebase, 0);
	if (r->node->bad.n)
		step_add(r, run_between(r, OV_SECOND, 5 * OV_MINUTE), true, act_mend, 0);
	if (run_odds(r, 200))
		soon(r, act_progress, 0);
}

void compose_end(struct sim_run *r)
{
	soon(r, act_claim, (int64_t)run_below(r, 3));
	step_add(r, run_between(r, 50, 5 * OV_SECOND), false, act_exit, 0);
}

/* Some of the work, cut off anywhere. */
static void half_of_it(struct sim_run *r)
{
	begin(r);
	usual_work(r, true);
	r->steps.n = 1 + run_below(r, r->steps.n);
}

/* ---- honest ones ---- */

void compose_finish(struct sim_run *r)
{
	begin(r);
	usual_work(r, true);
	soon(r, act_commit, 0);
	compose_end(r);
}

static void compose_finish_shared(struct sim_run *r)
{
	begin(r);
	usual_work(r, true);
	soon(r, act_write_shared, (int64_t)run_below(r, MACHINE_SHARED_FILES));
	if (run_odds(r, 300))
		soon(r, act_write_shared, (int64_t)run_below(r, MACHINE_SHARED_FILES));
	soon(r, act_commit, 0);
	compose_end(r);
}

static void compose_uncommitted(struct sim_run *r)
{
	begin(r);
	usual_work(r, false);
	compose_end(r);
}

static void compose_no_report(struct sim_run *r)
{
	begin(r);
	usual_work(r, true);
	soon(r, act_commit, 0);
	soon(r, act_exit, 0);
}

static void compose_quick(struct sim_run *r)
{
	begin(r);
	soon(r, act_edit, 1);
	soon(r, act_commit, 0);
	soon(r, act_exit, 0);
}

/* Over before anybody has heard that it began. */
static void compose_instant(struct sim_run *r)
{
	step_add(r, run_between(r, 1, 20), true, act_edit, 1);
	step_add(r, run_between(r, 1, 20), true, act_exit, 0);
}

/*
 * Hours, with phases in which little is to be seen: a big build, a long thought, edits without
 * a word.
 */
static void compose_slow(struct sim_run *r)
{
	size_t phases = 3 + run_below(r, 3);

	begin(r);
	for (size_t i = 0; i < phases; i++)
		switch (run_below(r, 4)) {
		case 0: /* a build */
			step_add(r, run_between(r, 20 * OV_MINUTE, 90 * OV_MINUTE), true, act_beat,
					1);
			break;
		case 1: /* the model thinks */
			step_add(r, run_between(r, 3 * OV_MINUTE, 20 * OV_MINUTE), false, act_beat,
					2);
			break;
		case 2: /* edits */
			for (int k = 0; k < 4; k++)
				step_add(r, run_between(r, 2 * OV_MINUTE, 12 * OV_MINUTE), false,
						act_edit, -1 - k);
			break;
		default: work(r, 10 * OV_MINUTE, OV_HOUR, 4, false);
		}
	soon(r, act_edit, 1);
	soon(r, act_commit, 0);
	compose_end(r);
}

/* A tool that waits for something far away: no output, no CPU, and all is well. */
static void compose_long_tool(struct sim_run *r)
{
	begin(r);
	step_add(r, run_between(r, 10 * OV_MINUTE, OV_HOUR), false, act_beat, 3);
	usual_work(r, true);
	soon(r, act_commit, 0);
	compose_end(r);
}

static void compose_linger(struct sim_run *r)
{
	begin(r);
	usual_work(r, true);
	soon(r, act_commit, 0);
	soon(r, act_claim, 0);
	step_add(r, OV_SECOND, false, act_none, 0);
}

/* Says that it is done, and works on. */
static void compose_claim_early(struct sim_run *r)
{
	begin(r);
	soon(r, act_edit, 1);
	soon(r, act_claim, 0);
	usual_work(r, true);
	soon(r, act_exit, 0);
}

static void compose_twice(struct sim_run *r)
{
	begin(r);
	soon(r, act_former, 0);
	usual_work(r, true);
	soon(r, act_commit, 0);
	soon(r, act_claim, 0);
	soon(r, act_again, 80);
	/* At once: some of that is still held back. */
	if (run_below(r, 2)) {
		step_add(r, 1, true, act_exit, 0);
		return;
	}
	step_add(r, run_between(r, OV_MINUTE, OV_HOUR), true, act_again, 0);
	soon(r, act_exit, 0);
}

static void compose_orphans(struct sim_run *r)
{
	begin(r);
	soon(r, act_orphans, 1 + (int64_t)run_below(r, 4));
	usual_work(r, true);
	soon(r, act_commit, 0);
	compose_end(r);
}

static void compose_permission(struct sim_run *r)
{
	begin(r);
	soon(r, act_edit, 1);
	step_add(r, run_between(r, OV_SECOND, OV_MINUTE), false, act_wait, 0);
	if (run_odds(r, 500))
		return;
	step_add(r, run_between(r, 10 * OV_SECOND, 3 * OV_HOUR), false, act_granted, 0);
	usual_work(r, true);
	soon(r, act_commit, 0);
	compose_end(r);
}

/* Somebody answered before: then it knows. */
static void compose_question(struct sim_run *r)
{
	if (text_has(r, "A person answered") || r->node->asked) {
		compose_finish(r);
		return;
	}
	half_of_it(r);
	soon(r, act_ask, (int64_t)run_below(r, 2));
	if (run_odds(r, 500))
		step_add(r, run_between(r, OV_SECOND, OV_MINUTE), false, act_exit, 0);
	else
		step_add(r, OV_SECOND, false, act_none, 0);
}

/* Odd places for the work: detached, on a branch of its own, beside a repository inside. */
static void compose_odd_git(struct sim_run *r)
{
	static act_fn *const odd[] = { act_detach, act_branch, act_nested, act_lock };

	begin(r);
	soon(r, odd[run_below(r, ARRAY_LEN(odd))], 0);
	usual_work(r, true);
	soon(r, act_delete, (int64_t)run_below(r, 3));
	soon(r, act_edit, 4);
	if (run_odds(r, 700))
		soon(r, act_commit, 0);
	compose_end(r);
}

static void compose_garbage(struct sim_run *r)
{
	begin(r);
	soon(r, act_garbage, 0);
	usual_work(r, true);
	soon(r, act_garbage, 0);
	soon(r, act_garbage, 0);
	soon(r, act_commit, 0);
	compose_end(r);
}

static void compose_foreign(struct sim_run *r)
{
	begin(r);
	soon(r, act_foreign, 0);
	usual_work(r, true);
	soon(r, act_foreign, 0);
	soon(r, act_commit, 0);
	soon(r, act_claim, 0);
	soon(r, act_foreign, 0);
	soon(r, act_exit, 0);
}

/* ---- bad ones ---- */

static void crash(struct sim_run *r)
{
	static const int64_t signals[] = { 6, 9, 11, 15 };

	if (run_odds(r, 500))
		soon(r, act_exit, 1 + (int64_t)run_below(r, 3));
	else
		soon(r, act_signal, signals[run_below(r, ARRAY_LEN(signals))]);
}

static void compose_crash(struct sim_run *r)
{
	half_of_it(r);
	crash(r);
}

static void compose_claim_and_crash(struct sim_run *r)
{
	begin(r);
	usual_work(r, true);
	soon(r, act_claim, 0);
	crash(r);
}

static void compose_babble(struct sim_run *r)
{
	half_of_it(r);
	step_add(r, run_between(r, 4 * OV_MINUTE, 20 * OV_MINUTE), true, act_babble, 1);
}

/* Several times in a row, whoever tries. */
static void compose_flap(struct sim_run *r)
{
	if (r->node->flaps == 0)
		r->node->flaps = 2 + (unsigned)run_below(r, 4);
	else
		r->node->flaps--;
	begin(r);
	crash(r);
}

static void compose_shim_dies(struct sim_run *r)
{
	half_of_it(r);
	soon(r, act_lost, (int64_t)run_below(r, 4));
}

static void compose_unstartable(struct sim_run *r)
{
	step_add(r, run_between(r, 1, 500), false, act_unstartable, 0);
}

static void compose_hang(struct sim_run *r)
{
	half_of_it(r);
	step_add(r, OV_SECOND, false, act_none, 0);
}

static void compose_spin(struct sim_run *r)
{
	half_of_it(r);
	step_add(r, OV_SECOND, true, act_none, 0);
}

/* Not a word from the beginning: the prompt got lost. */
static void compose_mute(struct sim_run *r)
{
	step_add(r, OV_SECOND, false, act_none, 0);
}

static void compose_no_changes(struct sim_run *r)
{
	begin(r);
	step_add(r, run_between(r, OV_MINUTE, 10 * OV_MINUTE), true, act_beat, 1);
	compose_end(r);
}

static void compose_bad_work(struct sim_run *r)
{
	begin(r);
	usual_work(r, true);
	soon(r, act_write_bad, (int64_t)run_below(r, 5));
	soon(r, act_commit, 0);
	compose_end(r);
}

void compose_rate_limited(struct sim_run *r)
{
	if (run_lane(r)->limited_until <= r->m->s->t)
		half_of_it(r);
	soon(r, act_limit, run_between(r, 10 * OV_MINUTE, 5 * OV_HOUR));
}

static void compose_logged_out(struct sim_run *r)
{
	if (run_lane(r)->logged_out_until <= r->m->s->t)
		half_of_it(r);
	soon(r, act_login, run_between(r, 10 * OV_MINUTE, OV_HOUR));
}

static void compose_leave_rebase(struct sim_run *r)
{
	step_add(r, run_between(r, OV_SECOND, 20 * OV_SECOND), true, act_beat, 0);
	soon(r, act_write_shared, (int64_t)run_below(r, MACHINE_SHARED_FILES));
	soon(r, act_leave_rebase, 0);
	crash(r);
}

static void compose_wreck(struct sim_run *r)
{
	half_of_it(r);
	soon(r, run_odds(r, 500) ? act_vanish : act_reset, 0);
	crash(r);
}

/* ---- told to stop ---- */

void compose_dies(struct sim_run *r)
{
	step_add(r, run_between(r, 20, 2 * OV_SECOND), false, act_signal, 0);
}

void compose_tidies(struct sim_run *r)
{
	step_add(r, run_between(r, 100, 2 * OV_SECOND), true, act_commit, 0);
	step_add(r, run_between(r, 20, OV_SECOND), false, act_exit, run_odds(r, 500) ? 0 : 143);
}

void compose_writes(struct sim_run *r)
{
	for (int64_t i = 0; i < 10; i++)
		step_add(r, run_between(r, 100, 3 * OV_SECOND), true, act_edit, -1 - i % 4);
	soon(r, act_write_shared, 0);
}

/* ---- the table ---- */

/*                none echo update late work end */
#define OBLIGING 1, 1, 12, 1, 4, 1
#define DEAF 10, 1, 0, 0, 0, 0
#define WAKES 4, 1, 1, 2, 6, 1
#define LATECOMER 1, 0, 1, 20, 1, 0
/*              dies tidies never writes */
#define MEEK 8, 3, 0, 0
#define STUBBORN 1, 0, 6, 3
#define MIXED 12, 4, 1, 1

const struct script scripts[] = {
	{ "finish", "works, commits, reports, ends", 60, true, compose_finish, { OBLIGING },
			{ MIXED } },
	{ "finish_shared", "changes files that others change, too", 14, true, compose_finish_shared,
			{ OBLIGING }, { MIXED } },
	{ "finish_uncommitted", "leaves everything uncommitted", 8, true, compose_uncommitted,
			{ OBLIGING }, { MIXED } },
	{ "finish_without_report", "ends without a word about it", 8, true, compose_no_report,
			{ DEAF }, { MIXED } },
	{ "finish_quickly", "takes a minute", 6, true, compose_quick, { DEAF }, { MEEK } },
	{ "finish_instantly", "is over before anybody heard that it began", 2, true,
			compose_instant, { DEAF }, { MEEK } },
	{ "slow", "takes hours, with quiet phases", 4, true, compose_slow, { OBLIGING },
			{ MIXED } },
	{ "long_tool", "waits for a tool without output or CPU", 4, true, compose_long_tool,
			{ OBLIGING }, { MIXED } },
	{ "odd_git", "works detached, on a branch of its own, behind a lock, beside a repository",
			12, false, compose_odd_git, { OBLIGING }, { MIXED } },
	{ "linger", "reports that it is done and does not end", 10, false, compose_linger,
			{ LATECOMER }, { MIXED } },
	{ "claim_early", "reports that it is done and works on", 10, false, compose_claim_early,
			{ OBLIGING }, { MIXED } },
	{ "claim_and_crash", "reports that it is done and crashes", 8, false,
			compose_claim_and_crash, { OBLIGING }, { MIXED } },
	{ "babble", "says the same for ever", 4, false, compose_babble, { OBLIGING }, { MIXED } },
	{ "answer_twice", "repeats its updates, and those of former runs", 10, false, compose_twice,
			{ OBLIGING }, { MEEK } },
	{ "answer_late", "hangs, and answers after an hour", 10, false, compose_hang, { LATECOMER },
			{ MIXED } },
	{ "answer_for_another", "reports for other nodes, goals and requests", 10, false,
			compose_foreign, { OBLIGING }, { MIXED } },
	{ "garbage", "writes broken blocks, echoes, secrets, no UTF-8", 10, false, compose_garbage,
			{ OBLIGING }, { MIXED } },
	{ "orphans", "leaves processes behind", 10, false, compose_orphans, { OBLIGING },
			{ MIXED } },
	{ "permission", "waits for a person's permission", 6, false, compose_permission, { WAKES },
			{ MEEK } },
	{ "question", "asks a person and goes on when that was answered", 10, false,
			compose_question, { OBLIGING }, { MEEK } },
	{ "crash", "crashes in the middle", 12, false, compose_crash, { OBLIGING }, { MIXED } },
	{ "flap", "crashes several times in a row", 8, false, compose_flap, { DEAF }, { MEEK } },
	{ "shim_dies", "its shim dies, with or without what it started", 8, false,
			compose_shim_dies, { OBLIGING }, { MIXED } },
	{ "unstartable", "cannot be executed", 4, false, compose_unstartable, { DEAF }, { MEEK } },
	{ "hang", "hangs for ever, without a sign", 10, false, compose_hang, { DEAF }, { MIXED } },
	{ "hang_wakes", "hangs until it is asked", 10, false, compose_hang, { WAKES }, { MIXED } },
	{ "hang_stubborn", "hangs, and does not stop when told", 8, false, compose_hang, { DEAF },
			{ STUBBORN } },
	{ "spin", "hangs with a busy processor", 6, false, compose_spin, { DEAF }, { STUBBORN } },
	{ "mute", "never begins: the prompt got lost", 6, false, compose_mute, { WAKES },
			{ MEEK } },
	{ "no_changes", "reports that it is done and changed nothing", 10, false,
			compose_no_changes, { OBLIGING }, { MEEK } },
	{ "bad_work", "reports work that does not pass the check", 12, false, compose_bad_work,
			{ OBLIGING }, { MIXED } },
	{ "rate_limited", "is out of quota, as all of its account", 6, false, compose_rate_limited,
			{ DEAF }, { MEEK } },
	{ "logged_out", "is logged out, as all of its account", 4, false, compose_logged_out,
			{ DEAF }, { MEEK } },
	{ "leave_rebase", "leaves a rebase unfinished and crashes", 8, false, compose_leave_rebase,
			{ DEAF }, { MIXED } },
	{ "wreck", "throws its work or its worktree away and crashes", 4, false, compose_wreck,
			{ DEAF }, { MIXED } },
	/* Habits of nodes, never drawn for one run. */
	{ "loop_error", "runs into the same error again and again", 0, false, compose_loop,
			{ DEAF }, { MEEK } },
	{ "loop_crash", "crashes again and again, always alike", 0, false, compose_loop, { DEAF },
			{ MEEK } },
	{ "loop_idle", "calls the same tool again and again and changes nothing", 0, false,
			compose_loop, { DEAF }, { MEEK } },
	{ "loop_swap", "undoes what it did, and does it again", 0, false, compose_loop, { DEAF },
			{ MEEK } },
	{ "loop_worse", "breaks tests that passed, and drops what they reach", 0, false,
			compose_loop, { DEAF }, { MEEK } },
	{ "loop_burn", "fails in another way each time, without end", 0, false, compose_loop,
			{ DEAF }, { MEEK } },
	{ "loop_slow", "needs some runs, each of which brings it nearer", 0, true, compose_loop,
			{ DEAF }, { MEEK } },
	{ "loop_growing", "works on two files by turns, and gets there", 0, true, compose_loop,
			{ DEAF }, { MEEK } },
	{ "loop_flaky", "fails once, and passes then", 0, true, compose_loop, { DEAF }, { MEEK } },
	{ "loop_wide", "changes many files in each of some runs", 0, true, compose_loop, { DEAF },
			{ MEEK } },
};
const size_t scripts_n = ARRAY_LEN(scripts);
static_assert(ARRAY_LEN(scripts) <= SIM_SCRIPTS_MAX, "a bit for each");

bool machine_script(size_t i, const char **ret_name, const char **ret_help)
{
	if (i >= ARRAY_LEN(scripts))
		return false;
	*ret_name = scripts[i].name;
	*ret_help = scripts[i].help;
	return true;
}
