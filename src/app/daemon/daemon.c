#include "app/daemon/daemon.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/daemon/callers.h"
#include "app/daemon/daemon_impl.h"
#include "app/log/log.h"
#include "app/notify/console_alert.h"
#include "app/plan/planning.h"
#include "app/vital/capacity.h"
#include "app/vital/watchdog.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "core/config/config_channel.h"
#include "core/model/limits.h"
#include "data/id/sha256.h"
#include "sys/file/file.h"
#include "sys/file/owner.h"
#include "sys/host/clock.h"
#include "sys/host/rand.h"
#include "sys/loop/bus.h"
#include "sys/proc/proc.h"
#include "version.h"

enum {
	CONFIG_MAX = 1024 * 1024,
	SOCKET_PATH_MAX = 100,
};

static ov_time world_now(void *user)
{
	struct daemon *d = user;

	return loop_now(d->loop);
}

static void world_entropy(void *user _unused_, void *p, size_t n)
{
	rand_bytes(p, n);
}

static void world_telemetry(void *user, struct telemetry *ret)
{
	struct daemon *d = user;

	/* Summer time comes and goes while the daemon is up. */
	d->config->policy.utc_offset = clock_utc_offset(loop_now(d->loop));
	*ret = (struct telemetry){ .ending = d->ending,
		.no_capacity = capacity_lacking(d->config, &d->self, d->capacity,
				sizeof(d->capacity)),
		.observations = executor_observations(d->executor) };
}

static void world_look(void *user, const struct run *r)
{
	struct daemon *d = user;

	executor_look(d->executor, r->id);
}

static void world_perform(void *user, const struct effect *fx)
{
	struct daemon *d = user;

	executor_perform(d->executor, fx);
}

static void world_published(void *user, const struct event *const *events, size_t n)
{
	struct daemon *d = user;

	executor_published(d->executor, events, n);
	server_published(d, events, n);
	daemon_fail_published(d, events, n);
	child_published(d, events, n);
	daemon_vital_published(d, events, n);
	console_alert_published(events, n);
}

static void world_wake_at(void *user, ov_time at)
{
	struct daemon *d = user;

	loop_timer_off(d->wake);
	loop_timer_off(d->wake_steady);
	if (at == OV_TIME_MAX)
		return;
	/*
	 * The first of them: one goes on in suspend, the other is not put off by a clock that
	 * is set back.
	 */
	loop_timer_at(d->wake, at);
	loop_timer_in(d->wake_steady, at - loop_now(d->loop));
}

static void world_store_failed(void *user, const struct ov_err *err)
{
	struct daemon *d = user;

	/*
	 * Another daemon owns the store now. Whatever this one still shows or does is of the past,
	 * so it ends at once; its runs go on, and are the other's.
	 */
	if (err && err->code == OV_EFENCED) {
		log_warn("%s; another daemon owns the store: this one ends", err->msg);
		health_say(&d->health, HEALTH_FAILED, "another daemon owns the store: %s",
				err->msg);
		d->store_failing = d->fenced = true;
		loop_quit(d->loop, ov_code_info(OV_EFENCED)->exit_status);
		return;
	}
	daemon_store_failed(d, err);
	if (err)
		log_warn("the store could not be written: %s; nothing of it happened, trying again",
				err->msg);
	else
		log_info("the store can be written again");
}

static void world_contradicted(void *user _unused_, const struct ov_err *err)
{
	log_warn("%s; nothing of it happened: this is a bug", err->msg);
}

static void world_snapshot(void *user _unused_)
{
	mem_trim();
}

static const struct engine_world world = {
	.now = world_now,
	.entropy = world_entropy,
	.telemetry = world_telemetry,
	.look = world_look,
	.perform = world_perform,
	.published = world_published,
	.wake_at = world_wake_at,
	.store_failed = world_store_failed,
	.contradicted = world_contradicted,
	.snapshot = world_snapshot,
};

static void wake_fired(void *user)
{
	struct daemon *d = user;

	loop_timer_off(d->wake);
	loop_timer_off(d->wake_steady);
	engine_wake(d->engine);
}

/*
 * Runs that are to be stopped, or harvested, before we end. A store that is only read holds
 * nobody up.
 */
static size_t runs_left(const struct daemon *d)
{
	return d->safe.on ? 0 : ending_left(engine_state(d->engine), d->ending);
}

/* All that was under way is finished and told; what is left can wait for the next daemon. */
static void finish_if_drained(struct daemon *d, bool time_is_up)
{
	if (!daemon_files_hold(d))
		return;
	if (!time_is_up &&
			(runs_left(d) || executor_busy(d->executor) || rpcd_pending(d->rpcd) ||
					rpcd_queued(d->rpcd)))
		return;
	engine_stop(d->engine);
	daemon_auto_stop(d, d->stop_reason);
	tell_daemon_stop(d->engine,
			&(struct msg_daemon_stop){ str_from(d->self.instance),
					str_from(d->stop_reason) });
	engine_commit(d->engine);
	(void)engine_snapshot(d->engine, NULL);
	loop_quit(d->loop, d->exit_status);
	d->stopping = false;
}

static void after_iteration(void *user)
{
	struct daemon *d = user;

	if (!daemon_files_hold(d))
		return;
	engine_commit(d->engine);
	if (d->stopping)
		finish_if_drained(d, false);
	else if (d->halting)
		daemon_fail_step(d);
	else
		daemon_archive_later(d);
}

static void drain_timeout(void *user)
{
	log_warn("not everything under way came to an end in time; the next daemon will go on with "
		 "it");
	/* It may fail and not even have begun to stop: then what is left of it is told so. */
	daemon_stop(user, "the time was up");
	finish_if_drained(user, true);
}

void daemon_drain(struct daemon *d)
{
	if (d->drain)
		return;
	d->drain = loop_timer(d->loop, drain_timeout, d);
	loop_timer_in(d->drain, d->config->drain_timeout);
}

/* Agents that are to stop are told so at once: their time runs. */
static void stop_runs(struct daemon *d)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	if (runs_left(d))
		(void)engine_tick_now(d->engine, &a);
}

void daemon_end(struct daemon *d, const char *reason, enum ending ending)
{
	if (d->stop_reason)
		return;
	log_info("stopping: %s", reason);
	d->stopping = true;
	d->stop_reason = reason;
	d->ending = ending;
	daemon_ends(d);
	server_done(d);
	rpcd_drain(d->rpcd);
	daemon_drain(d);
	stop_runs(d);
}

void daemon_stop(struct daemon *d, const char *reason)
{
	daemon_end(d, reason, ENDING_LEAVE);
}

static void signal_stop(void *user, int signo)
{
	struct daemon *d = user;

	/* What is not saved yet would be lost with us. */
	if (d->files.lost)
		return;
	/* It is about to end by itself, and does that better when it is left alone. */
	if (d->failed && !d->hurried) {
		d->hurried = true;
		return;
	}
	/* The second one means now: what is under way is taken up again by the next daemon. */
	if (d->stop_reason || d->failed)
		loop_quit(d->loop, d->exit_status);
	else
		daemon_stop(d, signo == SIGTERM ? "SIGTERM" : "SIGINT");
}

static void signal_reload(void *user, int signo _unused_)
{
	struct ov_err err = { 0 };

	if (daemon_reload(user, &err) < 0)
		log_warn("config.toml was not reloaded: %s", err.msg);
}

int daemon_load_config(const struct config_source *from, struct config **ret, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const char *path = path_join(&a, from->dir, "config.toml");
	struct config *c;
	str text = STR("");
	int r;

	/* A user who can write it can have commands run as us. */
	r = owner_check_store(from->dir, err);
	if (r < 0)
		return r;
	r = file_read(&a, path, CONFIG_MAX, &text, err);
	if (r == OV_ENOTFOUND)
		r = 0;
	if (r == 0)
		r = from->o ? config_parse_with(text, from->o->sets, from->o->sets_n, &c, err)
			    : config_parse(text, &c, err);
	if (r < 0) {
		ov_wrap(err, r, "%s", path);
		return ov_next(err, "overseer config check");
	}
	for (size_t i = 0; i < c->obsolete_n; i++)
		log_warn("%s: " STR_FMT, path, STR_ARG(c->obsolete[i]));
	if (!c->policy.target_branch.n)
		c->policy.target_branch = arena_str(&c->arena, str_from(from->target));
	c->policy.auto_mode = from->o && from->o->automatic && c->task_pool_command.n;
	c->policy.utc_offset = clock_utc_offset(clock_wall());
	if (!bus_has_session())
		config_without_desktop(c);
	*ret = c;
	return 0;
}

/* What would keep the planner from working is told at once, not when a goal waits for it. */
static void check_planner(struct daemon *d)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	tell_planner_health(d->engine,
			&(struct msg_planner_health){ planning_trouble(&a, d->config) });
}

int daemon_reload(struct daemon *d, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct config *fresh, *old = d->config;
	/*
	 * Without accept.target: the branch of the start, or, when that was not looked up, the
	 * last one.
	 */
	const char *target = d->target_branch ? d->target_branch
					      : arena_cstr(&a, old->policy.target_branch);
	int r = daemon_load_config(&(struct config_source){ d->o->dir, target, d->o }, &fresh, err);

	if (r < 0)
		return r;
	if (fresh->http_port != old->http_port || fresh->http_enabled != old->http_enabled ||
			!str_eq(fresh->store_url, old->store_url))
		log_warn("http.* and store.url take effect with the next start");
	d->config = fresh;
	executor_set_config(d->executor, fresh);
	engine_set_policy(d->engine, &fresh->policy, fresh->tick_every);
	config_free(old);
	if (d->beat)
		beat_set_timeout(d->beat, fresh->watch.heartbeat_timeout);
	check_planner(d);
	daemon_auto_start(d);
	log_info("config.toml was reloaded");
	return 0;
}

/* A socket's path is short by nature; deep folders get one under the runtime directory. */
static int choose_socket(struct daemon *d, struct ov_err *err)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	str id;

	d->socket_path = path_join(&d->arena, d->o->dir, "overseer.sock");
	if (strlen(d->socket_path) <= SOCKET_PATH_MAX)
		return 0;
	if (!runtime || runtime[0] != '/') {
		ov_fail(err, OV_EINVALID,
				"%s is too long for a socket, and XDG_RUNTIME_DIR is not set",
				d->socket_path);
		return ov_next(err, "export XDG_RUNTIME_DIR=/run/user/$(id -u)");
	}
	id = sha256_hex(&d->arena, str_from(d->o->dir));
	d->socket_path = arena_cstr(&d->arena,
			arena_printf(&d->arena, "%s/overseer-" STR_FMT ".sock", runtime,
					STR_ARG(str_sub(id, 0, 16))));
	return 0;
}

static int make_folders(struct daemon *d, struct ov_err *err)
{
	static const char *const names[] = { "logs", "runs", "worktrees", "spool" };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_LEN(names); i++)
		r = dir_make(path_join(&d->arena, d->o->dir, names[i]), 0700, err);
	return r;
}

static int open_sockets(struct daemon *d, struct ov_err *err)
{
	static const struct rpcd_ops ops = { .call = server_call, .accepted = callers_accepted };
	static const struct rpcd_limits limits = { .max_frame = LIMIT_REQUEST_BYTES,
		.max_queued = LIMIT_ANSWER_BYTES,
		.max_conns = LIMIT_CONNS,
		.max_per_process = LIMIT_CONNS_PROCESS,
		.max_per_user = LIMIT_CONNS_USER,
		.max_guests = LIMIT_CONNS_AGENTS,
		.reserved = LIMIT_CONNS_RESERVED };
	int r = choose_socket(d, err);

	if (r == 0)
		r = rpcd_open(d->loop, d->socket_path, &ops, d, &limits, &d->rpcd, err);
	if (r == 0)
		r = http_open(d, err);
	return r;
}

static void open_signals(struct daemon *d)
{
	d->signals[0] = loop_signal(d->loop, SIGTERM, signal_stop, d);
	d->signals[1] = loop_signal(d->loop, SIGINT, signal_stop, d);
	d->signals[2] = loop_signal(d->loop, SIGHUP, signal_reload, d);
}

static void announce_start(struct daemon *d)
{
	char boot[37];
	struct msg_daemon_start m = { .instance = str_from(d->self.instance),
		.version = STR(OV_VERSION),
		.target = d->config->policy.target_branch,
		.clock_set_ms = d->clocks.set_ms,
		.clock_slept_ms = d->clocks.slept_ms };

	proc_boot_id(boot);
	m.boot = str_from(boot);
	daemon_clock_log_boot(d, boot);
	tell_daemon_start(d->engine, &m);
}

static int open_all(struct daemon *d, struct ov_err *err)
{
	int r;

	list_init(&d->followers);
	list_init(&d->log_waits);
	list_init(&d->children);
	identity_init(d);
	health_init(&d->health, path_join(&d->arena, d->o->dir, VITAL_HEALTH), d->self.instance);
	d->self.dir = d->o->dir;
	d->self.config_file = path_join(&d->arena, d->o->dir, "config.toml");
	if (!file_exists(d->o->dir)) {
		ov_fail(err, OV_ENOTFOUND, "%s does not exist", d->o->dir);
		return ov_next(err, "overseer init");
	}
	r = loop_new(&d->loop, err);
	if (r == 0)
		r = daemon_load_config(&(struct config_source){ d->o->dir, "", d->o }, &d->config,
				err);
	if (r == 0 && d->o->automatic)
		r = config_check_auto(d->config, "overseer up --auto", err);
	if (r < 0)
		return r;
	d->self.store_url = d->config->store_url.n
			? arena_cstr(&d->arena, d->config->store_url)
			: arena_cstr(&d->arena,
					  arena_printf(&d->arena, "sqlite:%s/store.db", d->o->dir));
	r = make_folders(d, err);
	if (r == 0)
		r = daemon_open_engine(d, &world, err);
	if (r == 0)
		daemon_files_mark(d);
	if (r == 0 && !d->config->policy.target_branch.n)
		r = daemon_choose_target(d, err);
	if (r == 0)
		r = open_sockets(d, err);
	if (r < 0)
		return r;
	open_signals(d);
	d->wake = loop_timer(d->loop, wake_fired, d);
	d->wake_steady = loop_timer(d->loop, wake_fired, d);
	d->archive = loop_timer(d->loop, daemon_archive, d);
	daemon_clock_open(d);
	d->after = loop_after(d->loop, after_iteration, d);
	/* Before our own start: that is the order in which it happened. */
	d->watchdog = watchdog_open(d->loop, d->o->dir, d->engine);
	announce_start(d);
	check_planner(d);
	daemon_auto_start(d);
	executor_adopt(d->executor);
	engine_start(d->engine);
	engine_commit(d->engine);
	r = register_write(d, err);
	if (r == 0)
		daemon_files_open(d);
	return r;
}

static void close_all(struct daemon *d)
{
	daemon_files_close(d);
	watchdog_close(d->watchdog);
	beat_free(d->beat);
	child_done(d);
	http_close(d);
	rpcd_close(d->rpcd);
	executor_free(d->executor);
	for (size_t i = 0; i < ARRAY_LEN(d->signals); i++)
		loop_source_free(d->signals[i]);
	loop_source_free(d->after);
	loop_source_free(d->wake);
	loop_source_free(d->wake_steady);
	loop_source_free(d->drain);
	loop_source_free(d->archive);
	loop_source_free(d->failed);
	engine_close(d->engine);
	config_free(d->config);
	health_done(&d->health);
	notify_close(&d->manager);
	loop_free(d->loop);
	record_set_str(&d->caller, STR(""));
	arena_done(&d->arena);
}

/* Tells whoever started us: "ready", or the error in three lines. */
static void daemon_tell(int fd, const struct ov_err *err)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	ssize_t n _unused_; /* nobody listens any more */

	if (fd < 0)
		return;
	if (err)
		buf_addf(&b, "error %s\n%s\n%s\n", ov_code_info(err->code)->name, err->msg,
				err->next);
	else
		buf_adds(&b, STR("ready\n"));
	n = write(fd, b.p, b.n);
	close(fd);
}

int daemon_run(const struct daemon_options *o)
{
	struct daemon d = { .own = *o };
	struct ov_err err = { 0 };
	int r, status;

	d.o = &d.own;
	notify_open(&d.manager);
	r = open_all(&d, &err);
	if (r < 0) {
		daemon_not_up(&d, &err);
		log_warn("%s", err.msg);
		daemon_tell(o->ready_fd, &err);
		if (o->ready_fd < 0 && err.next[0])
			log_warn("next: %s", err.next);
		close_all(&d);
		return ov_code_info(r)->exit_status;
	}
	log_info("overseerd %s is up: pid %d, instance %s, %s, target branch " STR_FMT, OV_VERSION,
			d.self.pid, d.self.instance, d.self.store_url,
			STR_ARG(d.config->policy.target_branch));
	if (d.safe.on)
		log_warn("%s", d.refusal.msg);
	daemon_up(&d);
	daemon_tell(o->ready_fd, NULL);
	if (d.snapshot_damage[0])
		log_warn("%s; the state was made from the log instead", d.snapshot_damage);
	if (!d.safe.on &&
			(d.snapshot_damage[0] ||
					(d.partly_read && d.config->store_verify_at_start)))
		child_verify(&d);
	status = loop_run(d.loop);
	if (!d.fenced)
		register_remove(&d);
	daemon_ended(&d, status);
	close_all(&d);
	log_info("stopped");
	return status;
}
