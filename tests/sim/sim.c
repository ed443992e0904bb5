#include "tests/sim/sim.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/str.h"
#include "tests/sim/check.h"
#include "tests/sim/daemon.h"
#include "tests/sim/disk.h"
#include "tests/sim/machine.h"
#include "tests/sim/person.h"
#include "tests/sim/queue.h"
#include "tests/sim/setup.h"
#include "tests/sim/simgit.h"

enum {
	SAME_MOMENT_MAX = 20000, /* steps in one millisecond: somebody turns in circles */
	LATE_MAX_MS = 20 * 60 * 1000,
	PULSE_MS = 5 * 60 * 1000, /* how often the world is looked at as a whole */
	MANY = 6,                 /* runs, of which most may seem silent at once */
};

#define FAULT_ROW(sym, name, rate, help) [sym] = { name, help, rate },
const struct sim_fault_info sim_faults[FAULT_COUNT] = { SIM_FAULTS(FAULT_ROW) };
#undef FAULT_ROW

/* ---- time and chance ---- */

ov_time sim_now(const struct sim *s)
{
	return (ov_time)SIM_EPOCH_S * OV_SECOND + s->t + s->skew;
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

void sim_name(char ret[static SIM_NAME_MAX], str s)
{
	assert(s.n < SIM_NAME_MAX);
	memcpy(ret, s.p, s.n);
	ret[s.n] = '\0';
}

bool sim_quiet(const struct sim *s)
{
	return s->t >= s->setup.quiet_at;
}

static bool is_skipped(const struct sim *s, uint64_t ordinal)
{
	for (size_t i = 0; i < s->o.skip_n && s->o.skip[i] <= ordinal; i++)
		if (s->o.skip[i] == ordinal)
			return true;
	return false;
}

/*
 * Each opportunity of a kind has its own number, whatever the others do: a fault that is left out
 * does not move those that stay.
 */
bool sim_fault(struct sim *s, enum sim_fault f)
{
	struct rng r = { s->o.seed * 0x9e3779b97f4a7c15u + (uint64_t)f * 0xbf58476d1ce4e5b9u +
		s->stats.chances[f]++ };
	uint64_t ordinal;

	if (sim_quiet(s) || !(s->setup.faults & 1u << f) ||
			rng_below(&r, 100000) >= sim_faults[f].rate * s->setup.intensity / 100)
		return false;
	ordinal = ++s->stats.fault_ordinals;
	if (is_skipped(s, ordinal))
		return false;
	s->stats.faults[f]++;
	sim_trace(s, "FAULT %llu %s: %s", (unsigned long long)ordinal, sim_faults[f].name,
			sim_faults[f].help);
	return true;
}

/* ---- the queue ---- */

void *sim_in(struct sim *s, ov_time delay, int owner, sim_fn *fn, size_t size)
{
	return queue_push(s->queue, s->t + MAX(delay, (ov_time)0), owner, fn, size)->block;
}

void *sim_post(struct sim *s, enum sim_channel c, ov_time delay, int owner, sim_fn *fn, size_t size)
{
	struct queue_entry *e;
	bool lost = c != CHANNEL_END && sim_fault(s, FAULT_LOST);
	bool twice = sim_fault(s, FAULT_TWICE);

	s->stats.messages++;
	if (sim_fault(s, FAULT_LATE))
		delay += sim_between(s, RNG_FAULT, OV_SECOND, LATE_MAX_MS);
	e = queue_push(s->queue, s->t + MAX(delay, (ov_time)0), owner, fn, size);
	e->lost = lost;
	if (twice)
		e->again = sim_between(s, RNG_FAULT, 1, LATE_MAX_MS);
	return e->block;
}

/* ---- what is told ---- */

void sim_trace(struct sim *s, const char *fmt, ...)
{
	va_list ap;

	buf_clear(&s->line);
	buf_addf(&s->line, "%lld ", (long long)s->t);
	va_start(ap, fmt);
	buf_vaddf(&s->line, fmt, ap);
	va_end(ap);
	sha256_add(&s->trace_hash, s->line.p, s->line.n);
	if (s->o.trace) {
		str text = buf_str(&s->line), time;

		(void)str_split(&text, ' ', &time);
		s->o.trace(s->o.user, s->t, text);
	}
}

void sim_note(struct sim *s, str text)
{
	if (s->o.trace)
		s->o.trace(s->o.user, s->t, text);
}

void sim_trace_hash(struct sim *s, uint8_t ret[static SHA256_LEN])
{
	struct sha256 c = s->trace_hash;

	sha256_end(&c, ret);
}

void sim_violated(struct sim *s, const char *invariant, const char *fmt, ...)
{
	va_list ap;

	if (s->violated)
		return;
	s->violated = invariant;
	s->violated_at = s->t;
	va_start(ap, fmt);
	buf_vaddf(&s->violation, fmt, ap);
	va_end(ap);
	sim_trace(s, "VIOLATED %s: " STR_FMT, invariant, STR_ARG(buf_str(&s->violation)));
}

/* ---- the world as a whole ---- */

static void silence_over(struct sim *s, void *arg)
{
	(void)arg;
	s->silent = false;
	sim_trace(s, "runs can be seen again");
}

static void jump(struct sim *s, ov_time by, ov_time slept)
{
	s->skew += by + slept;
	s->slept += slept;
	sim_trace(s, "the clock jumps by %lld ms, the machine sleeps for %lld", (long long)by,
			(long long)slept);
	daemon_clock_jumped(s);
}

/*
 * A daemon that cannot go on has stopped its runs meanwhile, ends, and is started again
 * by somebody.
 */
static bool daemon_has_failed(struct sim *s)
{
	const struct sim_daemon *d = daemon_up(s);

	return d && engine_state(d->engine)->failing.n;
}

/* What happens to everybody at once. */
static void pulse(struct sim *s, void *arg)
{
	(void)arg;
	if (sim_fault(s, FAULT_CLOCK_FORWARD))
		jump(s, sim_between(s, RNG_FAULT, OV_SECOND, 3 * OV_HOUR), 0);
	if (sim_fault(s, FAULT_CLOCK_BACK))
		jump(s, -sim_between(s, RNG_FAULT, OV_SECOND, 3 * OV_HOUR), 0);
	if (sim_fault(s, FAULT_SLEEP))
		jump(s, 0, sim_between(s, RNG_FAULT, OV_SECOND, 12 * OV_HOUR));
	if (sim_fault(s, FAULT_MACHINE)) {
		daemon_kill_all(s, "the machine restarts");
		machine_restart(s->machine);
		s->boots++;
	}
	if (sim_fault(s, FAULT_SILENCE))
		s->silence_by = s->t + 6 * OV_HOUR;
	if (s->silence_by && !s->silent &&
			(machine_alive(s->machine) >= MANY || s->t >= s->silence_by)) {
		s->silent = true;
		s->frozen = s->t / PULSE_MS % 3;
		s->silence_by = 0;
		sim_trace(s, "nothing of any run is seen%s", s->frozen ? ", though looked at" : "");
		sim_in(s, sim_between(s, RNG_FAULT, s->config->policy.idle_after, 3 * OV_HOUR), 0,
				silence_over, 0);
	}
	if (sim_fault(s, FAULT_RIVAL))
		daemon_boot(s);
	if (sim_fault(s, FAULT_LOCK_REMOVED))
		daemon_usurp(s);
	if (sim_fault(s, FAULT_STOP) || daemon_has_failed(s))
		daemon_stop(s);
	sim_in(s, PULSE_MS, 0, pulse, 0);
}

/* A standing goal waits for more when all that it has is finished. */
static bool is_open(const struct goal *g)
{
	if (g->status != GOAL_ACTIVE && g->status != GOAL_PAUSED)
		return false;
	for (size_t i = 0; g->standing.n && i < g->nodes.n; i++)
		if (node_is_leaf(g->nodes.p[i]) && !node_is_final(g->nodes.p[i]))
			return true;
	return !g->standing.n;
}

/* Every goal has ended, nothing is under way and nobody has anything more to ask for. */
static bool has_settled(struct sim *s)
{
	struct sim_daemon *d = daemon_up(s);
	const struct state *st = d ? engine_state(d->engine) : NULL;

	/* The pool has to be asked until it has nothing more. */
	if (!st || (st->automatic.on && s->tasks < s->setup.tasks) || !sim_quiet(s) ||
			!people_are_done(s->people) || !list_empty(&st->effects))
		return false;
	for (size_t i = 0; i < st->goals.n; i++)
		if (is_open(st->goals.p[i]))
			return false;
	list_each (it, &st->runs)
		if (list_entry(it, struct run, link)->status != RUN_ENDED)
			return false;
	return true;
}

struct sim *sim_new(const struct sim_options *o)
{
	struct sim *s = mem_zalloc(1, sizeof(*s));

	s->o = *o;
	for (size_t i = 0; i < RNG_STREAMS; i++) {
		s->rng[i].state = o->seed * 0x94d049bb133111ebu + i;
		(void)rng_next(&s->rng[i]);
	}
	sha256_init(&s->trace_hash);
	s->queue = queue_new();
	setup_draw(s);
	s->disk = daemon_disk_new(s);
	s->git = simgit_new(STR(SIM_REPO), s->config->policy.target_branch);
	s->machine = machine_new(s);
	s->people = people_new(s);
	s->checker = checker_new(s);
	return s;
}

void sim_free(struct sim *s)
{
	if (!s)
		return;
	daemon_free_all(s);
	checker_free(s->checker);
	people_free(s->people);
	machine_free(s->machine);
	simgit_free(s->git);
	vec_done(&s->pool);
	vec_done(&s->told);
	disk_free(s->disk);
	queue_free(s->queue);
	setup_done(s);
	buf_done(&s->line);
	buf_done(&s->violation);
	mem_free(s);
}

/* One entry of the queue, and what follows from it. False: there is none. */
static bool step(struct sim *s)
{
	struct queue_entry *e = queue_pop(s->queue);

	if (!e)
		return false;
	s->stats.same_moment = e->at == s->t ? s->stats.same_moment + 1 : 0;
	s->t = e->at;
	s->stats.steps++;
	if (e->again) {
		struct queue_entry *copy = queue_push(s->queue, s->t + e->again, e->owner, e->fn,
				e->size);

		memcpy(copy->block, e->block, e->size);
	}
	if (!e->lost)
		e->fn(s, e->block);
	queue_entry_free(e);
	daemon_settle(s);
	checker_step(s->checker);
	if (s->stats.same_moment > SAME_MOMENT_MAX)
		sim_violated(s, "time_goes_on", "more than %d steps at one moment",
				SAME_MOMENT_MAX);
	return true;
}

/* What the log holds, to the last byte, is in the hash of its last event. */
static void trace_log(struct sim *s)
{
	struct sim_daemon *d = daemon_up(s);
	uint8_t hash[SHA256_LEN];
	char hex[SHA256_HEX + 1];
	uint64_t head;

	if (!d || store_head(engine_store(d->engine), &head, hash, NULL) < 0)
		return;
	hex_format(hash, sizeof(hash), hex);
	sim_trace(s, "the log: %llu events, the last of hash %s", (unsigned long long)head, hex);
}

void sim_run(struct sim *s)
{
	ov_time last = s->setup.quiet_at + s->setup.patience;

	people_begin(s->people);
	daemon_boot(s);
	sim_in(s, PULSE_MS, 0, pulse, 0);
	while (!s->violated && !s->over && s->t < last && step(s))
		s->over = has_settled(s);
	if (!s->violated)
		daemon_replay_all(s);
	if (!s->violated)
		checker_end(s->checker);
	trace_log(s);
	sim_trace(s, "the end: %llu steps", (unsigned long long)s->stats.steps);
}
