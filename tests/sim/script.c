/*
 * The scripts that agents follow: a table, and for each a function that lays down the steps. Which of
 * the bad ones a seed has is drawn, as in swarm testing: all at once would hide each other.
 */
#include "base/str.h"
#include "tests/sim/machine_impl.h"

enum {
	BEATS_MAX = 14,   /* steps of one piece of work: what a run costs the queue */
	FEEDBACK_DIV = 3, /* who was told what went wrong does better */
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

		step_add(r, wait, busy, edits ? act_write : act_beat, (int64_t)(beats - i));
		if (edits && commits && run_odds(r, 300))
			step_add(r, OV_SECOND, true, act_commit, 0);
	}
}

static void usual_work(struct sim_run *r, bool commits)
{
	work(r, 5 * OV_MINUTE, r->m->s->o.fleet ? 30 * OV_MINUTE : 40 * OV_MINUTE, BEATS_MAX,
			commits);
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

static void claim_and_exit(struct sim_run *r)
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
	claim_and_exit(r);
}

static void compose_finish_shared(struct sim_run *r)
{
	begin(r);
	usual_work(r, true);
	soon(r, act_write_shared, (int64_t)run_below(r, MACHINE_SHARED_FILES));
	if (run_odds(r, 300))
		soon(r, act_write_shared, (int64_t)run_below(r, MACHINE_SHARED_FILES));
	soon(r, act_commit, 0);
	claim_and_exit(r);
}

static void compose_uncommitted(struct sim_run *r)
{
	begin(r);
	usual_work(r, false);
	claim_and_exit(r);
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
	soon(r, act_write, 1);
	soon(r, act_commit, 0);
	soon(r, act_exit, 0);
}

/* Over before anybody has heard that it began. */
static void compose_instant(struct sim_run *r)
{
	step_add(r, run_between(r, 1, 20), true, act_write, 1);
	step_add(r, run_between(r, 1, 20), true, act_exit, 0);
}

/* Hours, with phases in which little is to be seen: a big build, a long thought, edits without a word. */
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
						act_write, -1 - k);
			break;
		default: work(r, 10 * OV_MINUTE, OV_HOUR, 4, false);
		}
	soon(r, act_write, 1);
	soon(r, act_commit, 0);
	claim_and_exit(r);
}

/* A tool that waits for something far away: no output, no CPU, and all is well. */
static void compose_long_tool(struct sim_run *r)
{
	begin(r);
	step_add(r, run_between(r, 10 * OV_MINUTE, OV_HOUR), false, act_beat, 3);
	usual_work(r, true);
	soon(r, act_commit, 0);
	claim_and_exit(r);
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
	soon(r, act_write, 1);
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
	soon(r, act_again, 0);
	step_add(r, run_between(r, OV_MINUTE, OV_HOUR), true, act_again, 0);
	soon(r, act_exit, 0);
}

static void compose_orphans(struct sim_run *r)
{
	begin(r);
	soon(r, act_orphans, 1 + (int64_t)run_below(r, 4));
	usual_work(r, true);
	soon(r, act_commit, 0);
	claim_and_exit(r);
}

static void compose_permission(struct sim_run *r)
{
	begin(r);
	soon(r, act_write, 1);
	step_add(r, run_between(r, OV_SECOND, OV_MINUTE), false, act_wait, 0);
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
	soon(r, act_write, 4);
	if (run_odds(r, 700))
		soon(r, act_commit, 0);
	claim_and_exit(r);
}

static void compose_garbage(struct sim_run *r)
{
	begin(r);
	soon(r, act_garbage, 0);
	usual_work(r, true);
	soon(r, act_garbage, 0);
	soon(r, act_garbage, 0);
	soon(r, act_commit, 0);
	claim_and_exit(r);
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
	claim_and_exit(r);
}

static void compose_bad_work(struct sim_run *r)
{
	begin(r);
	usual_work(r, true);
	soon(r, act_write_bad, (int64_t)run_below(r, 5));
	soon(r, act_commit, 0);
	claim_and_exit(r);
}

static void compose_rate_limited(struct sim_run *r)
{
	if (run_lane(r)->limited_until <= r->m->s->t)
		half_of_it(r);
	soon(r, act_limit, run_between(r, 10 * OV_MINUTE, 5 * OV_HOUR));
}

static void compose_logged_out(struct sim_run *r)
{
	if (run_lane(r)->logged_out_until <= r->m->s->t)
		half_of_it(r);
	soon(r, act_login, run_between(r, 10 * OV_MINUTE, 3 * OV_HOUR));
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
		step_add(r, run_between(r, 100, 3 * OV_SECOND), true, act_write, -1 - i % 4);
	soon(r, act_write_shared, 0);
}

/* ---- the table ---- */

/*                none echo update late work end */
#define OBLIGING                  \
	{                         \
		1, 1, 12, 1, 4, 1 \
	}
#define DEAF                      \
	{                         \
		10, 1, 0, 0, 0, 0 \
	}
#define WAKES                    \
	{                        \
		4, 1, 1, 2, 6, 1 \
	}
#define LATECOMER                 \
	{                         \
		1, 0, 1, 20, 1, 0 \
	}
/*              dies tidies never writes */
#define MEEK               \
	{                  \
		8, 3, 0, 0 \
	}
#define STUBBORN           \
	{                  \
		1, 0, 6, 3 \
	}
#define MIXED               \
	{                   \
		12, 4, 1, 1 \
	}

const struct script scripts[] = {
	{ "finish", 60, true, compose_finish, OBLIGING, MIXED },
	{ "finish_shared", 14, true, compose_finish_shared, OBLIGING, MIXED },
	{ "finish_uncommitted", 8, true, compose_uncommitted, OBLIGING, MIXED },
	{ "finish_without_report", 8, true, compose_no_report, DEAF, MIXED },
	{ "finish_quickly", 6, true, compose_quick, DEAF, MEEK },
	{ "finish_instantly", 2, true, compose_instant, DEAF, MEEK },
	{ "slow", 4, true, compose_slow, OBLIGING, MIXED },
	{ "long_tool", 4, true, compose_long_tool, OBLIGING, MIXED },
	{ "odd_git", 12, false, compose_odd_git, OBLIGING, MIXED },
	{ "linger", 10, false, compose_linger, LATECOMER, MIXED },
	{ "claim_early", 10, false, compose_claim_early, OBLIGING, MIXED },
	{ "claim_and_crash", 8, false, compose_claim_and_crash, OBLIGING, MIXED },
	{ "babble", 4, false, compose_babble, OBLIGING, MIXED },
	{ "answer_twice", 10, false, compose_twice, OBLIGING, MEEK },
	{ "answer_late", 10, false, compose_hang, LATECOMER, MIXED },
	{ "answer_for_another", 10, false, compose_foreign, OBLIGING, MIXED },
	{ "garbage", 10, false, compose_garbage, OBLIGING, MIXED },
	{ "orphans", 10, false, compose_orphans, OBLIGING, MIXED },
	{ "permission", 6, false, compose_permission, WAKES, MEEK },
	{ "question", 10, false, compose_question, OBLIGING, MEEK },
	{ "crash", 12, false, compose_crash, OBLIGING, MIXED },
	{ "flap", 8, false, compose_flap, DEAF, MEEK },
	{ "shim_dies", 8, false, compose_shim_dies, OBLIGING, MIXED },
	{ "unstartable", 4, false, compose_unstartable, DEAF, MEEK },
	{ "hang", 10, false, compose_hang, DEAF, MIXED },
	{ "hang_wakes", 10, false, compose_hang, WAKES, MIXED },
	{ "hang_stubborn", 8, false, compose_hang, DEAF, STUBBORN },
	{ "spin", 6, false, compose_spin, DEAF, STUBBORN },
	{ "mute", 6, false, compose_mute, WAKES, MEEK },
	{ "no_changes", 10, false, compose_no_changes, OBLIGING, MEEK },
	{ "bad_work", 12, false, compose_bad_work, OBLIGING, MIXED },
	{ "rate_limited", 6, false, compose_rate_limited, DEAF, MEEK },
	{ "logged_out", 4, false, compose_logged_out, DEAF, MEEK },
	{ "leave_rebase", 8, false, compose_leave_rebase, DEAF, MIXED },
	{ "wreck", 4, false, compose_wreck, DEAF, MIXED },
};
const size_t scripts_n = ARRAY_LEN(scripts);
static_assert(ARRAY_LEN(scripts) <= 64, "a bit for each");

const struct script *script_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
		if (strcmp(scripts[i].name, name) == 0)
			return &scripts[i];
	assert(false);
	return NULL;
}

/* ---- choosing ---- */

void script_draw(struct machine *m)
{
	m->badness = m->s->o.fleet ? 40 : 50 + (unsigned)sim_below(m->s, RNG_AGENT, 550);
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
		if (scripts[i].honest || sim_odds(m->s, RNG_AGENT, 500))
			m->on |= (uint64_t)1 << i;
}

size_t script_choose(struct sim_run *r, const unsigned *weights, size_t n)
{
	size_t sum = 0, at;

	for (size_t i = 0; i < n; i++)
		sum += weights[i];
	at = run_below(r, sum);
	for (size_t i = 0; i < n; i++) {
		if (at < weights[i])
			return i;
		at -= weights[i];
	}
	assert(false);
	return 0;
}

static const struct script *pick_among(struct sim_run *r, bool honest)
{
	unsigned weights[ARRAY_LEN(scripts)] = { 0 };
	bool any = false;

	for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
		if (scripts[i].honest == honest && r->m->on >> i & 1) {
			weights[i] = scripts[i].weight;
			any = true;
		}
	return any ? &scripts[script_choose(r, weights, ARRAY_LEN(scripts))] : &scripts[0];
}

const struct script *script_pick(struct sim_run *r)
{
	const struct sim *s = r->m->s;
	unsigned bad = sim_quiet(s) ? MIN(r->m->badness, 40u) : r->m->badness;

	if (run_lane(r)->limited_until > s->t)
		return script_named("rate_limited");
	if (run_lane(r)->logged_out_until > s->t)
		return script_named("logged_out");
	if (r->node->flaps > 0)
		return script_named("flap");
	if (text_has(r, "Since your last attempt") || text_has(r, "A person answered"))
		bad /= FEEDBACK_DIV;
	return pick_among(r, !run_odds(r, bad));
}

/* ---- told something ---- */

struct reply_due {
	char run[SIM_NAME_MAX];
	char nonce[NONCE_MAX];
	enum reply reply;
};

static void compose_end(struct sim_run *r)
{
	claim_and_exit(r);
}

static void reply_due(struct sim *s, void *arg)
{
	const struct reply_due *d = arg;
	struct sim_run *r = machine_find(s->machine, str_from(d->run));

	if (!r->alive || r->stopping)
		return;
	run_sayf(r, "Request %s: received.\n", d->nonce);
	if (d->reply == REPLY_UPDATE || d->reply == REPLY_LATE || d->reply == REPLY_WORK)
		act_progress(r, 0);
	if (d->reply == REPLY_WORK)
		run_recast(r, compose_finish);
	else if (d->reply == REPLY_END)
		run_recast(r, compose_end);
	run_tell(r);
}

void script_reply(struct sim_run *r, enum reply reply, str nonce)
{
	ov_time wait = reply == REPLY_LATE ? run_between(r, 10 * OV_MINUTE, 2 * OV_HOUR)
					   : run_between(r, 500, 90 * OV_SECOND);
	struct reply_due *d;

	if (reply == REPLY_NONE)
		return;
	d = sim_in(r->m->s, wait, 0, reply_due, sizeof(*d));
	sim_name(d->run, r->spec.run_id);
	nonce = str_sub(nonce, 0, NONCE_MAX - 1);
	memcpy(d->nonce, nonce.p, nonce.n);
	d->reply = reply;
}
