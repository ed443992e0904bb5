#include "app/agents/driver_tmux.h"

#include <signal.h>
#include <sys/stat.h>

#include "app/agents/agent.h"
#include "app/agents/driver_hook.h"
#include "app/agents/driver_tmux_impl.h"
#include "app/agents/tmux_input.h"
#include "app/sandbox/contain.h"
#include "app/session/threads.h"
#include "app/session/transcript.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/model/limits.h"
#include "drive/tmux/tmux_wire.h"
#include "sys/file/file.h"
#include "sys/host/inject.h"
#include "sys/loop/loop.h"

enum {
	WIDTH = 160,
	HEIGHT = 50,
	TAKEN_TRIES = 6, /* while the session of the worker's last run is just ending */
	TAKEN_AGAIN_MS = 50,
	BEGIN_MS = 30000, /* a session that was asked for so long ago does not begin any more */
};

/* ---- its end ---- */

static void heard_all(void *user)
{
	struct driver_run *d = user;

	d->ev.ended(d->user, &d->end);
}

static void heard_session(void *user)
{
	struct driver_run *d = user;

	threads_end(d->threads, heard_all, d);
}

static void on_ended(void *user, const struct run_end *end)
{
	struct driver_run *d = user;

	loop_timer_off(d->timer);
	driver_hooks_end(d->hooks);
	d->end = *end;
	d->end.message = arena_str(&d->strings,
			d->failure[0] ? str_from(d->failure) : end->message);
	d->end.undelivered = d->undelivered;
	transcript_end(d->transcript, heard_session, d);
}

static const struct run_ops ops = { .output = tmux_hear_output, .ended = on_ended };

/* ---- typing ---- */

static void typist_looks(void *user)
{
	struct driver_run *d = user;

	driver_hooks_drain(d->hooks);
}

static void typist_late(void *user, bool trust)
{
	tmux_hear_late(user, trust);
}

static void fail(struct driver_run *d, const char *why)
{
	size_t n = MIN(strlen(why), sizeof(d->failure) - 1);

	memcpy(d->failure, why, n);
	d->failure[n] = '\0';
}

static void typist_failed(void *user, const char *why)
{
	struct driver_run *d = user;

	fail(d, why);
	d->undelivered = true;
	(void)run_stop(d->run, NULL);
}

static str instruction(struct arena *a, const struct driver_run *d,
		const struct config_agent *agent)
{
	const char *file = path_join(a, d->dir, "instruction");
	str text = STR("");

	if (agent && agent->prompt_by == PROMPT_FILE)
		return arena_printf(a,
				"Your instruction is in the file %s. Read it and do what it says.",
				file);
	(void)file_read(a, file, LIMIT_TEXT, &text, NULL);
	return text;
}

static void start_typist(struct driver_run *d, const struct driver_ask *ask)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct tmux_input_options o = { .loop = d->loop,
		.tmux = d->tmux,
		.session = d->session,
		.dir = d->dir,
		.confirm_ms = ask->config->policy.patrol_confirm,
		.resends = ask->config->policy.patrol_resends,
		.trust_answer = d->as.format->trust_answer,
		.may_trust = d->as.trusted,
		.input_mark = d->as.format->input_mark,
		.look = typist_looks,
		.late = typist_late,
		.failed = typist_failed,
		.user = d };

	o.text = instruction(&a, d, ask->agent);
	if (o.text.n)
		d->tmux_input = tmux_input_new(&o);
}

/* ---- life cycle ---- */

static void on_timer(void *user);

static struct driver_run *driver_run_new(struct loop *l, const struct driver_ask *ask,
		const struct driver_events *ev, void *user)
{
	struct driver_run *d = mem_zalloc(1, sizeof(*d));

	d->loop = l;
	d->ev = *ev;
	d->user = user;
	d->tmux = ask->tmux;
	d->strings = ARENA_SMALL;
	d->dir = arena_cstr(&d->strings, str_from(ask->dir));
	d->id = arena_str(&d->strings, ask->run_id);
	d->session = tmux_session_name(&d->strings, d->tmux, ask->worker);
	d->timer = loop_timer(l, on_timer, d);
	tmux_hold(d->tmux);
	return d;
}

static void tmux_close(struct driver_run *d)
{
	if (!d)
		return;
	tmux_input_free(d->tmux_input);
	tmux_forget(d->tmux, d);
	tmux_release(d->tmux);
	run_close(d->run);
	driver_hooks_close(d->hooks);
	transcript_close(d->transcript);
	threads_close(d->threads);
	loop_source_free(d->timer);
	arena_done(&d->strings);
	mem_free(d);
}

static int listen_to(struct driver_run *d, struct ov_err *err)
{
	if (!d->as.hooks)
		return 0;
	d->transcript = transcript_new(d->loop, d->dir, d->as.format, tmux_hear_transcript, d);
	d->threads = threads_new(d->loop, d->dir, d->as.format, false, tmux_hear_transcript, d);
	return driver_hooks_open(d->loop, d->dir, NULL, tmux_hear_hook, d, &d->hooks, err);
}

/* ---- the session ---- */

static void open_session(struct driver_run *d);

static void on_vacated(void *user, int r, str text, const struct ov_err *err)
{
	(void)r, (void)text, (void)err;
	open_session(user);
}

/*
 * The session of a run of this worker that is over by all that we know: at first it gets time
 * to end.
 */
static void vacate(struct driver_run *d)
{
	if (++d->tries < TAKEN_TRIES)
		loop_timer_in(d->timer, TAKEN_AGAIN_MS << d->tries);
	else
		tmux_end_session(d->tmux, d->session, on_vacated, d);
}

static void on_opened(void *user, int r, str text, const struct ov_err *err)
{
	struct driver_run *d = user;
	int64_t pid = 0;

	INJECT("after-session");
	if (r == OV_ECONFLICT && d->tries < 2 * TAKEN_TRIES)
		vacate(d);
	else if (r == 0 && str_to_i64(text, &pid) && pid > 0 && pid <= INT32_MAX)
		run_began(d->run, (int)pid);
	else
		run_never_began(d->run, r < 0 ? err->msg : "tmux does not say what it started");
}

static void open_session(struct driver_run *d)
{
	tmux_open_session(d->tmux, &d->spec, on_opened, d);
}

/* What the terminal is, tmux says. */
static const char *const *without_term(struct arena *a, const char *const *env)
{
	const char **to;
	size_t n = 0;

	while (env[n])
		n++;
	to = arena_array(a, const char *, n + 1);
	n = 0;
	for (; *env; env++)
		if (!str_starts(str_from(*env), STR("TERM=")))
			to[n++] = arena_cstr(a, str_from(*env));
	return to;
}

static const char *const *copy_words(struct arena *a, const char *const *words)
{
	const char **to;
	size_t n = 0;

	while (words[n])
		n++;
	to = arena_array(a, const char *, n + 1);
	for (size_t i = 0; i < n; i++)
		to[i] = arena_cstr(a, str_from(words[i]));
	return to;
}

static void on_timer(void *user)
{
	struct driver_run *d = user;

	if (run_is_awaited(d->run)) {
		open_session(d);
		return;
	}
	driver_hooks_drain(d->hooks);
	if (!d->in_turn)
		(void)run_stop(d->run, NULL);
}

static int begin(struct driver_run *d, struct arena *a, const struct driver_ask *ask,
		struct ov_err *err)
{
	struct agent_launch launch;
	struct run_spec spec;
	int r = agent_prepare(a, ask, &launch, err);

	if (r < 0)
		return r;
	d->as = (struct run_note){ .runtime = driver_tmux.runtime,
		.format = launch.format,
		.hooks = launch.hooks,
		.sandbox = sandbox_names[launch.sandbox],
		.input = !launch.input.p,
		.trusted = launch.trusted };
	if (launch.format->structured && !launch.hooks)
		return ov_fail(err, OV_EUNAVAILABLE,
				"the program overseer was not found beside the daemon: without it "
				"%s cannot tell from a terminal what it does",
				launch.format->title);
	r = sessions_keep(a, d->dir, &launch.sessions, err);
	if (r == 0)
		r = listen_to(d, err);
	if (r == 0)
		r = run_note_write(d->dir, &d->as, err);
	if (r < 0)
		return r;
	spec = (struct run_spec){
		.shim = ask->shim,
		.dir = ask->dir,
		.id = arena_cstr(a, ask->run_id),
		.argv = launch.argv,
		.env = launch.env,
		.cwd = launch.cwd,
		.input = launch.input,
		.max_output_bytes = (uint64_t)ask->config->limits_run_output_bytes,
		.terminal = true,
		.stop_grace_ms = ask->config->stop_grace,
		.sandboxed = launch.sandbox != SANDBOX_NONE,
		.cgroup = contain_cgroup(ask->contain),
		.memory_max_bytes = ask->agent->memory_max_bytes,
		.pids_max = ask->agent->pids_max,
	};
	r = run_start(d->loop, &spec, d->as.hooks ? 0 : ask->offset, &ops, d, &d->run, err);
	if (r < 0)
		return r;
	d->spec = (struct tmux_session){ .name = d->session,
		.argv = copy_words(&d->strings, run_argv(a, &spec)),
		.env = without_term(&d->strings, launch.env),
		.cwd = arena_cstr(&d->strings, str_from(launch.cwd)),
		.width = WIDTH,
		.height = HEIGHT,
		.mark = d->id };
	return 0;
}

static int tmux_start(struct loop *l, const struct driver_ask *ask, const struct driver_events *ev,
		void *user, struct driver_run **ret, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct driver_run *d = driver_run_new(l, ask, ev, user);
	int r = begin(d, &a, ask, err);

	if (r < 0) {
		tmux_close(d);
		return r;
	}
	if (d->as.hooks)
		start_typist(d, ask);
	if (run_is_awaited(d->run))
		open_session(d);
	INJECT("after-run-start");
	*ret = d;
	return 0;
}

/* Asked for a moment ago, by a daemon that did not see what came of it? */
static bool may_begin_yet(const struct driver_run *d)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct stat st;

	return stat(path_join(&a, d->dir, "driver.json"), &st) == 0 &&
			loop_now(d->loop) - (ov_time)st.st_mtim.tv_sec * OV_SECOND < BEGIN_MS;
}

static int tmux_adopt(struct loop *l, const struct driver_ask *ask, const struct driver_events *ev,
		void *user, struct driver_run **ret, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct driver_run *d;
	int r;

	if (!file_exists(ask->dir))
		return ov_fail(err, OV_ENOTFOUND, "there is no folder %s", ask->dir);
	d = driver_run_new(l, ask, ev, user);
	d->as = run_note_read(d->dir);
	r = listen_to(d, err);
	if (r == 0)
		r = run_adopt(l, ask->dir, arena_cstr(&a, ask->run_id),
				d->as.hooks ? 0 : ask->offset, &ops, d, &d->run, err);
	if (r == OV_ENOTFOUND && may_begin_yet(d))
		r = ov_fail(err, OV_EUNAVAILABLE, "its session may be just beginning");
	if (r < 0) {
		tmux_close(d);
		return r;
	}
	if (d->as.hooks)
		start_typist(d, ask);
	*ret = d;
	return 0;
}

/* ---- telling it things ---- */

static int tmux_send(struct driver_run *d, str dispatch_id, str text, driver_sent_fn *done,
		void *user, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	int r;

	if (d->as.hooks) {
		r = driver_hooks_lay(d->dir, dispatch_id, text, err);
		if (r == 0)
			done(user, 0, NULL);
		return r;
	}
	if (!d->as.input)
		return ov_fail(err, OV_ESTATE,
				"this run reads its instruction from a file, and nothing else");
	return run_deliver(d->run, dispatch_id,
			arena_printf(&a, STR_FMT "\n", STR_ARG(tmux_clean(&a, text))), done, user,
			err);
}

/* By the key that people press for that; where they are asked something it would be an answer. */
static int tmux_interrupt(struct driver_run *d, struct ov_err *err)
{
	driver_hooks_drain(d->hooks);
	if (!d->as.hooks)
		return run_signal(d->run, SIGINT, err);
	if (d->asks[0])
		return ov_fail(err, OV_ESTATE, "it waits for a person, whose answer this would be");
	tmux_press(d->tmux, d->session, "Escape", NULL, d);
	return 0;
}

static int tmux_stop(struct driver_run *d, struct ov_err *err)
{
	return run_stop(d->run, err);
}

static struct run_handle *tmux_handle(const struct driver_run *d)
{
	return d->run;
}

static const struct agent_format *tmux_format(const struct driver_run *d)
{
	return d->as.format;
}

static void tmux_place(struct arena *a, const char *store, str worker, str run_id _unused_,
		struct driver_place *ret)
{
	struct tmux_names n = tmux_names(a, store, NULL);
	const char *session = arena_printf(a, "=%s-" STR_FMT, n.prefix, STR_ARG(worker)).p;
	const char *pane = arena_printf(a, "%s:", session).p;

	/* Whoever is inside a tmux already means this one all the same. */
	ret->attach = copy_words(a,
			(const char *const[]){ "env", "-u", "TMUX", "tmux", "-S", n.socket,
					"attach-session", "-t", session, NULL });
	ret->peek = copy_words(a,
			(const char *const[]){ "tmux", "-S", n.socket, "capture-pane", "-p", "-t",
					pane, NULL });
}

const struct driver driver_tmux = {
	.runtime = "tmux",
	.start = tmux_start,
	.adopt = tmux_adopt,
	.send = tmux_send,
	.interrupt = tmux_interrupt,
	.stop = tmux_stop,
	.handle = tmux_handle,
	.format = tmux_format,
	.close = tmux_close,
	.place = tmux_place,
};
