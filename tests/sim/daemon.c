#include "tests/sim/daemon.h"

#include <stdio.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/daemon/daemon.h"
#include "core/explain/explain.h"
#include "core/view/view.h"
#include "tests/sim/check.h"
#include "tests/sim/disk.h"
#include "tests/sim/exec.h"
#include "tests/sim/machine.h"
#include "tests/sim/queue.h"
#include "tests/sim/tape.h"

enum { ARCHIVE_PAUSE_MS = 20, BOOT_MIN_MS = 1000, BOOT_MAX_MS = 20 * 60 * 1000, HOPELESS = 20 };

/* ---- the disk ---- */

/* Which fault of ours a call of the disk may meet, and what the disk is told then. */
static const struct {
	enum sim_fault fault;
	enum disk_fault disk;
} disk_faults[] = {
	{ FAULT_KILL_WRITE, DISK_KILL },
	{ FAULT_TORN_WRITE, DISK_TORN },
	{ FAULT_DISK_FULL, DISK_FULL },
	{ FAULT_DISK_ERROR, DISK_IOERR },
};

static enum disk_fault ask(void *user, enum disk_call call, str file)
{
	struct sim *s = user;

	(void)file;
	for (size_t i = 0; i < ARRAY_LEN(disk_faults); i++) {
		if (!sim_fault(s, disk_faults[i].fault))
			continue;
		sim_trace(s, "at a %s of the disk", disk_call_name(call));
		if (disk_faults[i].disk == DISK_KILL && sim_odds(s, RNG_DISK, 500))
			return DISK_KILL_AFTER;
		return disk_faults[i].disk;
	}
	if (sim_fault(s, FAULT_POWER_CUT)) {
		s->power_is_out = true;
		return sim_odds(s, RNG_DISK, 500) ? DISK_KILL : DISK_KILL_AFTER;
	}
	return DISK_OK;
}

static ov_time disk_now(void *user)
{
	return sim_now(user);
}

struct disk *daemon_disk_new(struct sim *s)
{
	return disk_new(&(struct disk_options){ .seed = sim_draw(s, RNG_DISK),
			.ask = ask,
			.now = disk_now,
			.user = s });
}

/* ---- the world, as the engine sees it ---- */

static bool is_gone(const struct sim_daemon *d)
{
	return d->dead || disk_is_dead(d->s->disk, (unsigned)d->life);
}

/* Whoever gets hold of a daemon makes calls on its behalf. */
static struct sim_daemon *daemon_enter(struct sim_daemon *d)
{
	if (d)
		disk_set_life(d->s->disk, (unsigned)d->life);
	return d;
}

static ov_time world_now(void *user)
{
	return sim_now(((struct sim_daemon *)user)->s);
}

static void world_entropy(void *user, void *p, size_t n)
{
	struct sim_daemon *d = user;
	uint8_t *to = p;

	while (n > 0) {
		uint64_t x = sim_draw(d->s, RNG_ENTROPY);
		size_t k = MIN(n, sizeof(x));

		/* Byte by byte: the same on every machine. */
		for (size_t i = 0; i < k; i++)
			to[i] = (uint8_t)(x >> 8 * i);
		to += k;
		n -= k;
	}
}

static void world_telemetry(void *user, struct telemetry *ret)
{
	struct sim_daemon *d = user;

	*ret = (struct telemetry){ .ending = d->ending,
		.observations = exec_observations(d->exec) };
	if (sim_fault(d->s, FAULT_CAPACITY))
		ret->no_capacity = STR("there is too little free memory");
}

static void world_perform(void *user, const struct effect *fx)
{
	struct sim_daemon *d = user;

	if (is_gone(d))
		return;
	sim_trace(d->s, "daemon %d performs %s " STR_FMT, d->life,
			status_name(&effect_kinds, (int)fx->kind), STR_ARG(fx->id));
	if (sim_fault(d->s, FAULT_KILL_INTENT)) {
		daemon_kill(d, "between intent and action");
		return;
	}
	checker_performed(d->s->checker, fx->id);
	exec_perform(d->exec, fx);
}

static void world_look(void *user, const struct run *r)
{
	struct sim_daemon *d = user;

	if (!is_gone(d))
		exec_look(d->exec, r);
}

static void world_published(void *user, const struct event *const *events, size_t n)
{
	struct sim_daemon *d = user;
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	if (is_gone(d))
		return;
	for (size_t i = 0; i < n; i++) {
		d->s->stats.kinds[events[i]->kind]++;
		sim_trace(d->s, "%llu %s " STR_FMT "/" STR_FMT " " STR_FMT,
				(unsigned long long)events[i]->seq, event_name(events[i]->kind),
				STR_ARG(events[i]->goal), STR_ARG(events[i]->node),
				STR_ARG(events[i]->run));
		if (d->s->o.trace)
			sim_note(d->s,
					arena_printf(&a, "    " STR_FMT,
							STR_ARG(explain_event(&a, events[i]))));
	}
	checker_published(d->s->checker, d, events, n);
	exec_published(d->exec, events, n);
	d->s->stats.events += n;
	d->s->stats.commits++;
}

struct wake {
	int life;
	uint64_t id;
};

static void wake_fired(struct sim *s, void *arg)
{
	const struct wake *w = arg;
	struct sim_daemon *d = daemon_of(s, w->life);

	if (!d || d->wake_id != w->id)
		return;
	d->wake_at = OV_TIME_MAX;
	d->wake_id = 0;
	tape_call(d->tape, d->engine, TAPE_WAKE);
}

/*
 * As in the real daemon the first of two timers: on the clock, and one that no clock can put off.
 */
static void wake_in(struct sim_daemon *d)
{
	struct wake *w = sim_in(d->s, d->wake_at - sim_now(d->s), d->life, wake_fired, sizeof(*w));

	w->life = d->life;
	w->id = d->wake_id;
}

static void world_wake_at(void *user, ov_time at)
{
	struct sim_daemon *d = user;

	d->wake_at = at;
	d->wake_id = 0;
	if (at == OV_TIME_MAX || is_gone(d))
		return;
	d->wake_id = ++d->wakes;
	wake_in(d);
}

/* As a real one does, which looks at each iteration by how much its clock was set. */
static void tell_jump(struct sim_daemon *d)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	ov_time by = d->s->skew - d->s->slept - d->set, slept = d->s->slept - d->slept;
	value *v = value_object(&a);

	by = clock_jumped(by) ? by : 0;
	slept = clock_jumped(slept) ? slept : 0;
	if (!by && !slept)
		return;
	daemon_enter(d);
	d->set += by;
	d->slept += slept;
	exec_clock_moved(d->exec, by);
	value_put(&a, v, "by_ms", value_int(&a, by));
	value_put(&a, v, "slept_ms", value_int(&a, slept));
	tape_report(d->tape, d->engine, STR("daemon.clock"), v);
}

void daemon_clock_jumped(struct sim *s)
{
	for (size_t i = 0; i < SIM_DAEMONS; i++) {
		struct sim_daemon *d = s->daemons[i];

		if (d && d->started && !is_gone(d))
			tell_jump(d);
		if (d && d->wake_id && d->wake_at <= sim_now(s)) {
			daemon_enter(d);
			d->wake_at = OV_TIME_MAX;
			d->wake_id = 0;
			tape_call(d->tape, d->engine, TAPE_WAKE);
		} else if (d && d->wake_id) {
			/*
			 * One timer goes by the clock, one by the time that passes: the first
			 * of them.
			 */
			wake_in(d);
		}
	}
}

static void world_store_failed(void *user, const struct ov_err *err)
{
	struct sim_daemon *d = user;

	if (is_gone(d))
		return;
	d->failing = err != NULL;
	/* Not the message: it names the folder, which is another one each time. */
	sim_trace(d->s, "daemon %d: the store: %s", d->life,
			err ? ov_code_info(err->code)->name : "works again");
	/* Another daemon has the store: this one has nothing to say any more, and ends. */
	if (err && err->code == OV_EFENCED)
		daemon_kill(d, "it finds itself fenced off");
}

static void world_contradicted(void *user, const struct ov_err *err)
{
	struct sim_daemon *d = user;

	sim_violated(d->s, "no_contradiction", "%s", err->msg);
}

static const struct engine_world world = {
	.now = world_now,
	.entropy = world_entropy,
	.telemetry = world_telemetry,
	.perform = world_perform,
	.look = world_look,
	.published = world_published,
	.wake_at = world_wake_at,
	.store_failed = world_store_failed,
	.contradicted = world_contradicted,
};

/* ---- lives ---- */

struct sim_daemon *daemon_of(struct sim *s, int life)
{
	for (size_t i = 0; i < SIM_DAEMONS; i++)
		if (s->daemons[i] && s->daemons[i]->life == life && !is_gone(s->daemons[i]))
			return daemon_enter(s->daemons[i]);
	return NULL;
}

/* The youngest that came up, as long as it lives: it took the socket over from any before it. */
struct sim_daemon *daemon_up(struct sim *s)
{
	struct sim_daemon *d = daemon_of(s, s->youngest);

	return d && d->started && !d->stopping ? d : NULL;
}

static void boot_fired(struct sim *s, void *arg)
{
	(void)arg;
	if (!daemon_up(s))
		daemon_boot(s);
}

static void boot_later(struct sim *s, ov_time most)
{
	sim_in(s, sim_between(s, RNG_DAEMON, BOOT_MIN_MS, most), 0, boot_fired, 0);
}

void daemon_kill(struct sim_daemon *d, const char *why)
{
	if (is_gone(d))
		return;
	sim_trace(d->s, "daemon %d dies: %s", d->life, why);
	d->dead = true;
	disk_kill(d->s->disk, (unsigned)d->life);
}

void daemon_kill_all(struct sim *s, const char *why)
{
	for (size_t i = 0; i < SIM_DAEMONS; i++)
		if (s->daemons[i])
			daemon_kill(s->daemons[i], why);
}

static void daemon_free(struct sim_daemon *d)
{
	disk_set_life(d->s->disk, (unsigned)d->life);
	queue_drop(d->s->queue, d->life);
	exec_free(d->exec);
	engine_close(d->engine);
	tape_end(d->tape);
	mem_free(d);
}

static void bury(struct sim *s, size_t i)
{
	struct sim_daemon *d = s->daemons[i];

	s->daemons[i] = NULL;
	s->stats.crashes++;
	sim_trace(s, "daemon %d is gone", d->life);
	daemon_free(d);
	boot_later(s, BOOT_MAX_MS);
}

void daemon_replay_all(struct sim *s)
{
	for (size_t i = 0; i < SIM_DAEMONS; i++)
		if (s->daemons[i])
			tape_check(s->daemons[i]->tape);
}

static void bury_dead(struct sim *s)
{
	for (size_t i = 0; i < SIM_DAEMONS; i++)
		if (s->daemons[i] && is_gone(s->daemons[i]))
			bury(s, i);
}

void daemon_free_all(struct sim *s)
{
	for (size_t i = 0; i < SIM_DAEMONS; i++) {
		if (!s->daemons[i])
			continue;
		s->daemons[i]->dead = true;
		disk_kill(s->disk, (unsigned)s->daemons[i]->life);
		daemon_free(s->daemons[i]);
		s->daemons[i] = NULL;
	}
}

/* The power comes back when nobody has a file open any more. */
static void power_fails(struct sim *s)
{
	s->power_is_out = false;
	daemon_kill_all(s, "the power is out");
	for (size_t i = 0; i < SIM_DAEMONS; i++)
		if (s->daemons[i])
			bury(s, i);
	disk_power_cut(s->disk);
	machine_restart(s->machine);
}

/* Old events go to the archive some at a time, when nothing is more urgent. */
static void archive_fired(struct sim *s, void *arg)
{
	struct sim_daemon *d = daemon_of(s, *(const int *)arg);

	if (!d)
		return;
	d->archiving = false;
	disk_set_life(s->disk, (unsigned)d->life);
	tape_call(d->tape, d->engine, TAPE_ARCHIVE);
}

static void archive_later(struct sim_daemon *d)
{
	int *life;

	if (d->archiving || d->stopping || is_gone(d) || !engine_archive_due(d->engine))
		return;
	d->archiving = true;
	life = sim_in(d->s, ARCHIVE_PAUSE_MS, d->life, archive_fired, sizeof(*life));
	*life = d->life;
}

void daemon_settle(struct sim *s)
{
	for (size_t i = 0; i < SIM_DAEMONS; i++) {
		struct sim_daemon *d = s->daemons[i];

		if (d && !is_gone(d)) {
			disk_set_life(s->disk, (unsigned)d->life);
			tape_call(d->tape, d->engine, TAPE_COMMIT);
			if (sim_fault(s, FAULT_KILL))
				daemon_kill(d, "kill -9");
			archive_later(d);
		}
	}
	if (s->power_is_out)
		power_fails(s);
	bury_dead(s);
}

static value *params_instance(struct arena *a, int life)
{
	value *v = value_object(a);

	value_put(a, v, "instance", value_str(a, arena_printf(a, "life-%d", life)));
	return v;
}

static void look_at_checkout(struct sim_daemon *d)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	tape_report(d->tape, d->engine, STR("checkout.report"), value_object(&a));
}

void daemon_checkout_changed(struct sim *s)
{
	struct sim_daemon *d = daemon_up(s);

	if (d)
		look_at_checkout(d);
}

static void announce(struct sim_daemon *d)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *v = params_instance(&a, d->life);

	value_put(&a, v, "version", value_cstr(&a, "sim"));
	d->slept = d->s->slept;
	d->set = d->s->skew - d->slept;
	value_put(&a, v, "boot", value_strf(&a, "boot %d", d->s->boots));
	value_put(&a, v, "clock_set_ms", value_int(&a, d->set));
	value_put(&a, v, "clock_slept_ms", value_int(&a, d->slept));
	tape_report(d->tape, d->engine, STR("daemon.start"), v);
	if (d->s->config->policy.auto_mode)
		tape_report(d->tape, d->engine, STR("auto.start"), params_instance(&a, d->life));
	look_at_checkout(d);
}

static int open_store(struct sim *s, int life, struct store **ret, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct store_lease lease;
	struct store *store = NULL;
	int r = store_open(arena_printf(&a, "sqlite:%s/store.db", disk_dir(s->disk)),
			STORE_READ_WRITE, &store, err);

	if (r < 0)
		return r;
	r = store_lease_take(store, arena_printf(&a, "{\"life\": %d}", life), &a, &lease, err);
	if (r < 0) {
		store_close(store);
		return r;
	}
	*ret = store;
	return 0;
}

static int open_engine(struct sim_daemon *d, struct ov_err *err)
{
	struct engine_options o = {
		.policy = &d->s->config->policy,
		.world = &world,
		.user = d,
		.tick_every = d->s->config->tick_every,
		.snapshot_every = d->s->config->store_snapshot_every,
	};
	int r = open_store(d->s, d->life, &o.store, err);

	if (r < 0)
		return r;
	if (tape_wanted(d->s, d->life))
		d->tape = tape_new(d->s, d->life);
	r = tape_open(d->tape, &o, &d->engine, err);
	if (r < 0)
		store_close(o.store);
	return r;
}

static size_t free_place(struct sim *s)
{
	size_t i = 0;

	while (i < SIM_DAEMONS && s->daemons[i])
		i++;
	return i;
}

static uint64_t faults_so_far(const struct sim *s)
{
	return s->stats.fault_ordinals;
}

/* What was tried without a fault of the disk, and with nobody else on the store, must succeed. */
static void boot_failed(struct sim *s, int r, const struct ov_err *err, uint64_t faults_before)
{
	sim_trace(s, "no daemon came up: %s", ov_code_info(r)->name);
	if (r == OV_ECONFLICT && daemon_up(s))
		return;
	if (s->power_is_out)
		power_fails(s);
	if (faults_before == faults_so_far(s) && ++s->failed_boots >= HOPELESS)
		sim_violated(s, "store_opens", "%d daemons in a row could not start: %s", HOPELESS,
				err->msg);
	boot_later(s, OV_MINUTE);
}

void daemon_boot(struct sim *s)
{
	uint64_t faults = faults_so_far(s);
	struct ov_err err = { 0 };
	struct sim_daemon *d;
	size_t place;
	int r;

	/* One that died in this very step has let go of its files. */
	bury_dead(s);
	place = free_place(s);
	if (place == SIM_DAEMONS)
		return;
	d = mem_zalloc(1, sizeof(*d));
	d->s = s;
	d->life = ++s->lives;
	d->wake_at = OV_TIME_MAX;
	s->stats.lives++;
	disk_set_life(s->disk, (unsigned)d->life);
	r = open_engine(d, &err);
	if (r < 0) {
		disk_kill(s->disk, (unsigned)d->life);
		tape_free(d->tape);
		mem_free(d);
		boot_failed(s, r, &err, faults);
		return;
	}
	s->failed_boots = 0;
	s->daemons[place] = d;
	sim_trace(s, "daemon %d is up, at event %llu", d->life,
			(unsigned long long)engine_head(d->engine));
	d->exec = exec_new(d);
	d->started = true;
	s->runs_end_to = MIN(s->runs_end_to, engine_head(d->engine));
	s->youngest = d->life;
	checker_restarted(s->checker);
	announce(d);
	exec_adopt(d->exec);
	tape_call(d->tape, d->engine, TAPE_START);
}

struct stop {
	int life;
};

static void stopped(struct sim *s, void *arg)
{
	struct sim_daemon *d = daemon_of(s, ((struct stop *)arg)->life);
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *v = value_object(&a);

	if (!d)
		return;
	tape_call(d->tape, d->engine, TAPE_STOP);
	value_put(&a, v, "instance", value_str(&a, arena_printf(&a, "life-%d", d->life)));
	value_put(&a, v, "reason", value_cstr(&a, "asked to"));
	tape_report(d->tape, d->engine, STR("daemon.stop"), v);
	tape_call(d->tape, d->engine, TAPE_COMMIT);
	if (!is_gone(d))
		tape_call(d->tape, d->engine, TAPE_SNAPSHOT);
	if (is_gone(d))
		return;
	for (size_t i = 0; i < SIM_DAEMONS; i++)
		if (s->daemons[i] == d)
			s->daemons[i] = NULL;
	sim_trace(s, "daemon %d has stopped", d->life);
	d->dead = true;
	daemon_free(d);
	boot_later(s, BOOT_MAX_MS);
}

void daemon_stop(struct sim *s)
{
	struct sim_daemon *d = daemon_up(s);
	struct stop *st;

	if (!d)
		return;
	sim_trace(s, "daemon %d is told to stop", d->life);
	d->stopping = true;
	d->stopped_at = sim_now(s);
	/* Every other one is told to stop its agents, too. */
	d->ending = d->life % 2 ? ENDING_LEAVE : ENDING_STOP;
	if (d->ending == ENDING_STOP) {
		s->runs_end_after = engine_head(d->engine);
		s->runs_end_to = UINT64_MAX;
	}
	tape_call(d->tape, d->engine, TAPE_TOUCH);
	/* What is under way, and what is to be stopped, has a while to come to its end. */
	st = sim_in(s, 10 * OV_SECOND, d->life, stopped, sizeof(*st));
	st->life = d->life;
}

void daemon_usurp(struct sim *s)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	if (!daemon_up(s) || free_place(s) == SIM_DAEMONS)
		return;
	(void)unlink(arena_cstr(&a, arena_printf(&a, "%s/store.db.lock", disk_dir(s->disk))));
	daemon_boot(s);
}
