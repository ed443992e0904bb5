#include "tests/sim/machine_impl.h"

#include "base/alloc.h"
#include "base/err.h"
#include "base/str.h"

enum {
	NOTICE_MS = 50,       /* until new output is seen */
	END_NOTICE_MS = 200,  /* and an end */
	GRACE_MS = 10 * 1000, /* without a configuration */
	SIG_KILL = 9,
	SAY_USES = 50, /* of the counter of usage, in ms of CPU */
	BUSY_DIV = 5,  /* a busy agent uses a fifth of a processor */
	IDLE_PERMILLE = 14,
	TOKENS_PER_S = 40, /* while it is busy */
};

/* So long after its end nobody will ask for a run's output again. */
static const ov_time COMPACT_AFTER = 2 * OV_DAY;

/* A block of the queue: something of a run is due. */
struct due {
	char run[SIM_NAME_MAX];
	uint64_t serial;
};

/* A block of the queue: a life is told of a run. */
struct notice {
	char run[SIM_NAME_MAX];
	int life;
	machine_heard_fn *fn;
};

/* ---- the machine ---- */

static void freeze_begins(struct sim *s, void *arg)
{
	ov_time lasts = *(const ov_time *)arg;

	if (sim_quiet(s))
		return;
	s->machine->frozen_until = s->t + lasts;
	sim_trace(s, "nobody answers agents for %lld s", (long long)(lasts / OV_SECOND));
}

/* In some worlds what all agents need is out of order now and then: a whole fleet sits still. */
static void plan_freezes(struct machine *m)
{
	struct sim *s = m->s;
	size_t n;

	if (s->o.fleet || s->o.night || !sim_odds(s, RNG_AGENT, 300))
		return;
	n = 1 + sim_below(s, RNG_AGENT, 3);
	for (size_t i = 0; i < n; i++) {
		ov_time at = sim_between(s, RNG_AGENT, OV_MINUTE, 12 * OV_HOUR);
		ov_time *lasts = sim_in(s, at, 0, freeze_begins, sizeof(*lasts));

		*lasts = sim_between(s, RNG_AGENT, 5 * OV_MINUTE, 3 * OV_HOUR);
	}
}

struct machine *machine_new(struct sim *s)
{
	struct machine *m = mem_zalloc(1, sizeof(*m));

	m->s = s;
	map_init(&m->runs, 1);
	map_init(&m->nodes, 2);
	map_init(&m->lanes, 3);
	map_init(&m->taken, 4);
	map_init(&m->places, 5);
	sessions_init(m);
	script_draw(m);
	plan_freezes(m);
	return m;
}

/* What is needed only while somebody may ask for it. */
static void run_compact(struct sim_run *r)
{
	buf_done(&r->text);
	buf_done(&r->output);
	vec_done(&r->steps);
	vec_done(&r->taken);
	vec_done(&r->laid);
}

void machine_free(struct machine *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->all.n; i++) {
		run_compact(m->all.p[i]);
		mem_free(m->all.p[i]);
	}
	for (size_t i = 0; i < m->node_list.n; i++) {
		buf_done(&m->node_list.p[i]->block);
		vec_done(&m->node_list.p[i]->bad);
		mem_free(m->node_list.p[i]);
	}
	for (size_t i = 0; i < m->lane_list.n; i++)
		mem_free(m->lane_list.p[i]);
	for (size_t i = 0; i < m->taken_list.n; i++)
		mem_free(m->taken_list.p[i]);
	vec_done(&m->all);
	vec_done(&m->live);
	vec_done(&m->over);
	vec_done(&m->node_list);
	vec_done(&m->lane_list);
	vec_done(&m->taken_list);
	map_done(&m->runs);
	map_done(&m->nodes);
	map_done(&m->lanes);
	map_done(&m->taken);
	map_done(&m->places);
	sessions_done(m);
	arena_done(&m->strings);
	mem_free(m);
}

struct taken *taken_of(struct machine *m, str dispatch_id)
{
	struct taken *t = map_get(&m->taken, dispatch_id);

	if (!t) {
		t = mem_zalloc(1, sizeof(*t));
		t->id = arena_str(&m->strings, dispatch_id);
		vec_push(&m->taken_list, t);
		map_put(&m->taken, t->id, t);
	}
	return t;
}

static struct node_memory *node_of(struct machine *m, const struct machine_spec *spec)
{
	str key = arena_printf(&m->strings, STR_FMT "/" STR_FMT, STR_ARG(spec->goal_id),
			STR_ARG(spec->node_id));
	struct node_memory *n = map_get(&m->nodes, key);

	if (!n) {
		n = mem_zalloc(1, sizeof(*n));
		n->key = key;
		habit_draw(m, n);
		vec_push(&m->node_list, n);
		map_put(&m->nodes, n->key, n);
	}
	return n;
}

struct lane_memory *run_lane(struct sim_run *r)
{
	struct machine *m = r->m;
	struct lane_memory *l = map_get(&m->lanes, r->spec.agent);

	if (!l) {
		l = mem_zalloc(1, sizeof(*l));
		l->agent = r->spec.agent;
		vec_push(&m->lane_list, l);
		map_put(&m->lanes, l->agent, l);
	}
	return l;
}

/* ---- chance: a run has its own stream, so that one does not move the others ---- */

size_t run_below(struct sim_run *r, size_t n)
{
	return rng_below(&r->rng, n);
}

bool run_odds(struct sim_run *r, unsigned per_mille)
{
	return rng_below(&r->rng, 1000) < per_mille;
}

ov_time run_between(struct sim_run *r, ov_time lo, ov_time hi)
{
	return lo + (ov_time)rng_below(&r->rng, (size_t)(hi - lo) + 1);
}

/* ---- signs of life ---- */

static uint64_t usage_now(const struct sim_run *r)
{
	return r->usage + (r->busy ? (uint64_t)(r->m->s->t - r->busy_since) / BUSY_DIV : 0);
}

void run_busy(struct sim_run *r, bool busy)
{
	if (r->busy) {
		r->strong_at = r->m->s->t;
		r->tool_ms += (uint64_t)(r->m->s->t - r->busy_since) / BUSY_DIV;
	}
	r->usage = usage_now(r);
	r->busy = busy;
	r->busy_since = r->m->s->t;
}

/* An agent that waits uses its processor, too, for its screen and its timers. */
void machine_use(const struct sim_run *r, int64_t *ret_own_ms, int64_t *ret_tool_ms)
{
	uint64_t tools = r->tool_ms + (usage_now(r) - r->usage);

	*ret_tool_ms = (int64_t)tools;
	*ret_own_ms = (int64_t)(usage_now(r) - tools) +
			(r->spec.keeps ? (r->m->s->t - r->started_at) * IDLE_PERMILLE / 1000 : 0);
}

static int64_t tokens_now(const struct sim_run *r)
{
	return (int64_t)(1500 + usage_now(r) * BUSY_DIV * TOKENS_PER_S / 1000);
}

static int64_t cost_of(const struct sim_run *r, int64_t tokens)
{
	return tokens * (3 + r->spec.attempt % 4);
}

void machine_used(const struct sim_run *r, int64_t *ret_tokens, int64_t *ret_cost_microusd)
{
	*ret_tokens = r->told_tokens;
	*ret_cost_microusd = cost_of(r, r->told_tokens);
}

void run_say(struct sim_run *r, str bytes)
{
	if (r->spoken_at && !r->disturbed)
		r->longest_silence = MAX(r->longest_silence, r->m->s->t - r->spoken_at);
	r->spoken_at = r->acted_at = r->m->s->t;
	r->disturbed = false;
	buf_adds(&r->output, bytes);
	r->output_at = sim_now(r->m->s);
	r->strong_at = r->m->s->t;
	r->usage += SAY_USES;
	r->said = true;
	r->told_tokens = tokens_now(r);
}

void run_sayf(struct sim_run *r, const char *fmt, ...)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(&b, fmt, ap);
	va_end(ap);
	run_say(r, buf_str(&b));
}

static void notice_due(struct sim *s, void *arg)
{
	const struct notice *n = arg;

	n->fn(s, n->life, str_from(n->run));
}

static void notify(struct sim_run *r, bool end)
{
	machine_heard_fn *fn = end ? r->on_end : r->on_output;
	struct notice *n;

	if (!fn)
		return;
	n = sim_post(r->m->s, end ? CHANNEL_END : CHANNEL_OUTPUT,
			run_between(r, 1, end ? END_NOTICE_MS : NOTICE_MS), r->life, notice_due,
			sizeof(*n));
	sim_name(n->run, r->spec.run_id);
	n->life = r->life;
	n->fn = fn;
}

void run_tell(struct sim_run *r)
{
	if (r->said && r->alive)
		notify(r, false);
	r->said = false;
}

/* ---- steps ---- */

static void go_on(struct sim_run *r);

static void step_in(struct sim_run *r, ov_time wait, bool busy);

/* What agents ask for answers nobody: this step comes when somebody does. */
static void freeze(struct sim_run *r)
{
	ov_time wait = r->m->frozen_until - r->m->s->t;

	step_in(r, wait + run_between(r, 100, OV_MINUTE), false);
}

static void step_due(struct sim *s, void *arg)
{
	const struct due *d = arg;
	struct sim_run *r = map_get(&s->machine->runs, str_from(d->run));
	struct step step;

	if (!r->alive || r->serial != d->serial)
		return;
	if (r->held) {
		r->held_step = true;
		return;
	}
	if (s->t < s->machine->frozen_until && !r->stopping) {
		freeze(r);
		return;
	}
	r->acted_at = s->t;
	step = r->steps.p[r->at++];
	step.act(r, step.arg);
	run_tell(r);
	if (r->alive && r->serial == d->serial)
		go_on(r);
}

static void step_in(struct sim_run *r, ov_time wait, bool busy)
{
	struct due *d;

	run_busy(r, busy);
	d = sim_in(r->m->s, wait, 0, step_due, sizeof(*d));
	sim_name(d->run, r->spec.run_id);
	d->serial = r->serial;
}

/* With no step left it stays as it is, for ever. */
static void go_on(struct sim_run *r)
{
	r->serial++;
	if (r->at < r->steps.n)
		step_in(r, r->steps.p[r->at].wait, r->steps.p[r->at].busy);
}

static void thaw(struct sim_run *r)
{
	r->held = false;
	r->held_since = 0;
	if (r->held_step)
		step_in(r, run_between(r, 1, OV_SECOND), false);
	r->held_step = false;
}

/* A fifth of the runs have no control group. */
bool machine_hold(struct machine *m, str run_id, bool held)
{
	struct sim_run *r = map_get(&m->runs, run_id);

	if (!r || !r->alive || (held && (r->stopping || r->rng.state % 5 == 0)))
		return false;
	sim_trace(m->s, "run " STR_FMT " %s", STR_ARG(run_id), held ? "is held" : "goes on");
	if (!held) {
		thaw(r);
		return true;
	}
	run_busy(r, false);
	r->disturbed = true;
	r->held = true;
	r->held_since = m->s->t;
	return true;
}

ov_time machine_held_since(const struct machine *m, str run_id)
{
	const struct sim_run *r = map_get(&m->runs, run_id);

	return r && r->alive ? r->held_since : 0;
}

void run_recast(struct sim_run *r, void (*compose)(struct sim_run *r))
{
	vec_clear(&r->steps);
	r->at = 0;
	r->waits = "";
	compose(r);
	go_on(r);
}

/* ---- the end ---- */

static void sweep(struct sim_run *r)
{
	if (r->orphans == 0)
		return;
	r->m->orphans -= (unsigned)r->orphans;
	r->end.swept += r->orphans;
	r->orphans = 0;
}

static void spend(struct sim_run *r, bool lost)
{
	if (lost)
		return;
	r->end.tokens = tokens_now(r);
	r->end.cost_microusd = cost_of(r, r->end.tokens);
}

void run_end(struct sim_run *r, int64_t exit_code, int64_t signal, bool lost, str message)
{
	struct machine *m = r->m;

	assert(r->alive);
	spend(r, lost);
	run_busy(r, false);
	r->alive = false;
	r->copies = 0;
	r->waits = "";
	r->ended_at = m->s->t;
	m->s->stats.agent_ms += (uint64_t)(r->ended_at - r->started_at);
	r->end.lost = lost;
	r->end.exit_code = exit_code;
	r->end.signal = signal;
	r->end.result = exit_code == 0 && !signal && !lost && (!r->spec.keeps || r->session);
	r->end.ended_at = sim_now(m->s);
	r->end.message = arena_str(&m->strings, message);
	m->orphans += (unsigned)r->orphans;
	/* A shim that lives sweeps before it writes the record. */
	if (!lost)
		sweep(r);
	for (size_t i = 0; i < m->live.n; i++)
		if (m->live.p[i] == r) {
			vec_remove(&m->live, i);
			break;
		}
	vec_push(&m->over, r);
	vec_done(&r->steps);
	buf_done(&r->text);
	sim_trace(m->s, "run " STR_FMT " ends: exit %lld signal %lld%s swept %zu output %zu",
			STR_ARG(r->spec.run_id), (long long)exit_code, (long long)signal,
			lost ? " lost" : "", r->end.swept, r->output.n);
	notify(r, true);
}

static void compact_old(struct machine *m)
{
	while (m->compacted < m->over.n &&
			m->over.p[m->compacted]->ended_at + COMPACT_AFTER < m->s->t)
		run_compact(m->over.p[m->compacted++]);
}

/* ---- what the supervisor does with runs ---- */

static void run_note_spec(struct sim_run *r, const struct machine_spec *spec)
{
	struct arena *a = &r->m->strings;

	r->spec = (struct machine_spec){
		.run_id = arena_str(a, spec->run_id),
		.assignment_id = arena_str(a, spec->assignment_id),
		.goal_id = arena_str(a, spec->goal_id),
		.node_id = arena_str(a, spec->node_id),
		.agent = arena_str(a, spec->agent),
		.worktree = arena_str(a, spec->worktree),
		.dispatch_id = arena_str(a, spec->dispatch_id),
		.epoch = spec->epoch,
		.attempt = spec->attempt,
		.input = spec->input,
		.keeps = spec->keeps,
		.hooks = spec->hooks,
		.late = spec->late,
		.session = arena_str(a, spec->session),
		.resume = spec->resume,
	};
	r->end.speaks = spec->keeps;
	buf_adds(&r->text, spec->text);
}

int machine_start(struct machine *m, const struct machine_spec *spec, struct ov_err *err)
{
	struct sim_run *r = map_get(&m->runs, spec->run_id);

	if (r)
		return ov_fail(err, OV_ESTATE, "run " STR_FMT " was started before",
				STR_ARG(spec->run_id));
	compact_old(m);
	r = mem_zalloc(1, sizeof(*r));
	r->m = m;
	r->alive = true;
	r->waits = "";
	r->rng.state = sim_draw(m->s, RNG_AGENT);
	r->busy_since = r->strong_at = r->started_at = m->s->t;
	run_note_spec(r, spec);
	r->node = node_of(m, spec);
	r->node->runs++;
	vec_push(&m->all, r);
	vec_push(&m->live, r);
	map_put(&m->runs, r->spec.run_id, r);
	map_put(&m->places, r->spec.worktree, r);
	taken_of(m, spec->dispatch_id)->times++;
	r->script = m->only ? m->only : script_pick(r);
	m->s->stats.scripts[r->script - scripts]++;
	sim_trace(m->s, "run " STR_FMT " of " STR_FMT " epoch %lld attempt %lld in " STR_FMT ": %s",
			STR_ARG(r->spec.run_id), STR_ARG(r->node->key), (long long)spec->epoch,
			(long long)spec->attempt, STR_ARG(spec->worktree), r->script->name);
	if (!spec->keeps)
		run_notes(r, spec->text);
	run_recast(r, spec->keeps ? compose_kept : r->script->compose);
	return 0;
}

struct sim_run *machine_find(struct machine *m, str run_id)
{
	return map_get(&m->runs, run_id);
}

bool machine_lives(const struct sim_run *r)
{
	return r->alive;
}

const struct machine_end *machine_end_of(struct sim_run *r)
{
	assert(!r->alive);
	sweep(r);
	return &r->end;
}

uint64_t machine_reported_to(const struct sim_run *r)
{
	return r->reported_to;
}

str machine_output(const struct sim_run *r)
{
	return buf_str(&r->output);
}

ov_time machine_output_at(const struct sim_run *r)
{
	return r->output_at;
}

str machine_waits(const struct sim_run *r)
{
	return str_from(r->waits);
}

void machine_listen(struct machine *m, struct sim_run *r, int life, machine_heard_fn *output,
		machine_heard_fn *ended)
{
	assert(r->m == m);
	/*
	 * Each daemon hears for itself; one that was taken over from makes the younger deaf
	 * no more.
	 */
	if (life < r->life)
		return;
	r->life = life;
	r->on_output = output;
	r->on_end = ended;
	if (!r->alive)
		notify(r, true);
}

/* The number of a request, as the text gives it; empty: none. */
str nonce_in(str text)
{
	static const str before = STR("\nRequest ");
	size_t at = str_find(text, before);
	str rest = str_sub(text, at + before.n, text.n);

	return at == text.n ? STR("") : str_sub(rest, 0, str_find_byte(rest, ':'));
}

static void keep_nonce(struct machine *m, str nonce)
{
	char *to = m->nonces[m->nonces_n++ % NONCES];

	nonce = str_sub(nonce, 0, NONCE_MAX - 1);
	memcpy(to, nonce.p, nonce.n);
	to[nonce.n] = '\0';
}

static bool took_before(const struct sim_run *r, str dispatch_id)
{
	for (size_t i = 0; i < r->taken.n; i++)
		if (str_eq(r->taken.p[i], dispatch_id))
			return true;
	return false;
}

int machine_deliver(struct machine *m, str run_id, str dispatch_id, str text, struct ov_err *err)
{
	struct sim_run *r = map_get(&m->runs, run_id);
	struct taken *t;
	enum reply reply;
	str nonce;

	if (!r || !r->alive)
		return ov_fail(err, OV_ESTATE, "run " STR_FMT " is over", STR_ARG(run_id));
	if (!r->spec.input && !r->spec.hooks)
		return ov_fail(err, OV_ESTATE, "run " STR_FMT " reads no input", STR_ARG(run_id));
	if (took_before(r, dispatch_id) && !m->no_dedupe)
		return 0;
	t = taken_of(m, dispatch_id);
	vec_push(&r->taken, t->id);
	if (!r->spec.input) {
		run_lay(r, t->id, text);
		return 0;
	}
	t->times++;
	r->disturbed = true;
	run_notes(r, text);
	nonce = nonce_in(text);
	if (nonce.n)
		keep_nonce(m, nonce);
	reply = (enum reply)script_choose(r, r->script->replies, REPLY_COUNT);
	sim_trace(m->s, "run " STR_FMT " gets " STR_FMT ": reply %d", STR_ARG(run_id),
			STR_ARG(dispatch_id), (int)reply);
	script_reply(r, reply, nonce);
	return 0;
}

static void grace_over(struct sim *s, void *arg)
{
	struct sim_run *r = map_get(&s->machine->runs, str_from(((const struct due *)arg)->run));

	if (r->alive)
		run_end(r, -1, SIG_KILL, false, STR(""));
}

void machine_stop(struct machine *m, str run_id)
{
	static void (*const obey[OBEY_COUNT])(struct sim_run * r) = {
		[OBEY_DIES] = compose_dies,
		[OBEY_TIDIES] = compose_tidies,
		[OBEY_WRITES] = compose_writes,
	};
	struct sim_run *r = map_get(&m->runs, run_id);
	struct due *d;
	size_t how;

	if (!r || !r->alive || r->stopping)
		return;
	r->stopping = true;
	/* Its shim thaws it for that. */
	thaw(r);
	d = sim_in(m->s, m->s->config ? m->s->config->stop_grace : GRACE_MS, 0, grace_over,
			sizeof(*d));
	sim_name(d->run, run_id);
	how = script_choose(r, r->script->obeys, OBEY_COUNT);
	sim_trace(m->s, "run " STR_FMT " is asked to stop: obeys %zu", STR_ARG(run_id), how);
	if (obey[how])
		run_recast(r, obey[how]);
}

int machine_usage(struct machine *m, str run_id, uint64_t *ret, struct ov_err *err)
{
	const struct sim_run *r = map_get(&m->runs, run_id);

	if (!r || !r->alive)
		return ov_fail(err, OV_ENOTFOUND, "the processes of run " STR_FMT " are not known",
				STR_ARG(run_id));
	*ret = usage_now(r);
	return 0;
}

void machine_restart(struct machine *m)
{
	sim_trace(m->s, "the machine restarts with %zu runs", m->live.n);
	while (m->live.n) {
		struct sim_run *r = m->live.p[0];

		r->orphans = 0;
		run_end(r, -1, 0, true, STR("the run's shim ended without an exit record"));
	}
	for (size_t i = 0; i < m->over.n; i++)
		m->over.p[i]->orphans = 0;
	m->orphans = 0;
}
