#include "app/agents/driver_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/read/stream.h"
#include "app/agents/agent.h"
#include "app/agents/driver_hook.h"
#include "app/agents/run_note.h"
#include "app/sandbox/contain.h"
#include "app/session/threads.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/file/file.h"
#include "sys/host/inject.h"
#include "sys/loop/loop.h"

struct driver_run {
	struct loop *loop;
	struct driver_events ev;
	void *user;
	struct arena strings;
	const char *dir;
	struct run_note as; /* what it was started as */
	struct run_handle *run;
	struct agent_stream *stream; /* NULL: its output is text */
	/* Written before we knew it, at `old_at` at the latest. */
	uint64_t old_bytes, old_errors;
	ov_time old_at;
	bool errors_read, errors_old; /* errors are being read, and these are old */
	struct driver_hooks *hooks;   /* NULL: it has none */
	struct threads *threads;      /* its sub-agents; NULL: they have no files */
	struct run_end end;           /* while their last words are read */
};

/* ---- what is heard ---- */

static void on_fact(void *user, const struct fact *f)
{
	struct driver_run *d = user;

	bool old = d->errors_read ? d->errors_old : f->offset && f->offset <= d->old_bytes;

	d->ev.fact(d->user, f, old ? d->old_at : loop_now(d->loop));
	threads_fact(d->threads, f);
}

static void on_thread(void *user, const struct fact *f)
{
	struct driver_run *d = user;

	d->ev.fact(d->user, f, loop_now(d->loop));
}

static void on_output(void *user, str bytes, uint64_t at)
{
	struct driver_run *d = user;

	d->ev.output(d->user, bytes, at);
	if (d->stream)
		stream_bytes(d->stream, bytes, at);
}

static void on_errors(void *user, str bytes, uint64_t at)
{
	struct driver_run *d = user;

	d->errors_read = true;
	d->errors_old = at < d->old_errors;
	stream_errors(d->stream, bytes);
	d->errors_read = false;
}

static void heard_all(void *user)
{
	struct driver_run *d = user;

	d->ev.ended(d->user, &d->end);
}

static void on_ended(void *user, const struct run_end *end)
{
	struct driver_run *d = user;

	if (d->stream)
		stream_end(d->stream);
	driver_hooks_end(d->hooks);
	d->end = *end;
	d->end.message = arena_str(&d->strings, end->message);
	threads_end(d->threads, heard_all, d);
}

static const struct run_ops text_ops = { .output = on_output, .ended = on_ended };
static const struct run_ops lines_ops = { .output = on_output,
	.errors = on_errors,
	.ended = on_ended };

static const struct run_ops *ops_of(const struct driver_run *d)
{
	return d->stream ? &lines_ops : &text_ops;
}

/* ---- life cycle ---- */

static struct driver_run *driver_run_new(struct loop *l, const struct driver_ask *ask,
		const struct driver_events *ev, void *user)
{
	struct driver_run *d = mem_zalloc(1, sizeof(*d));

	d->loop = l;
	d->ev = *ev;
	d->user = user;
	d->strings = ARENA_SMALL;
	d->dir = arena_cstr(&d->strings, str_from(ask->dir));
	return d;
}

static void exec_close(struct driver_run *d)
{
	if (!d)
		return;
	run_close(d->run);
	driver_hooks_close(d->hooks);
	threads_close(d->threads);
	stream_free(d->stream);
	arena_done(&d->strings);
	mem_free(d);
}

static void on_hook(void *user, const struct fact *f, str taken, str line _unused_)
{
	struct driver_run *d = user;

	if (f)
		d->ev.fact(d->user, f, f->at ? f->at : loop_now(d->loop));
	if (taken.n)
		d->ev.taken(d->user, taken);
}

/* Before the run: the files that are followed are there, and nothing of them is missed. */
static int listen_to(struct driver_run *d, struct ov_err *err)
{
	if (d->as.format->structured)
		d->stream = stream_new(d->as.format, on_fact, d);
	d->threads = threads_new(d->loop, d->dir, d->as.format, true, on_thread, d);
	return d->as.hooks ? driver_hooks_open(d->loop, d->dir, d->as.format, on_hook, d, &d->hooks,
					     err)
			   : 0;
}

/* Lines are read from the first one on, since what they amount to is nowhere else. */
static uint64_t read_from(const struct driver_run *d, const struct driver_ask *ask)
{
	return d->stream ? 0 : ask->offset;
}

static void note_old(struct driver_run *d)
{
	const char *errors = path_join(&d->strings, d->dir, "errors");
	struct stat st;

	d->old_at = run_written(d->run, &d->old_bytes);
	if (d->stream && stat(errors, &st) == 0 && st.st_size > 0) {
		d->old_errors = (uint64_t)st.st_size;
		d->old_at = MAX(d->old_at, (ov_time)st.st_mtim.tv_sec * OV_SECOND);
	}
	d->old_at = MIN(d->old_at, loop_now(d->loop));
}

static int spawn(struct driver_run *d, struct arena *a, const struct driver_ask *ask,
		struct ov_err *err)
{
	struct agent_launch launch;
	struct run_spec spec;
	int r = agent_prepare(a, ask, &launch, err);

	if (r < 0)
		return r;
	d->as = (struct run_note){ .runtime = driver_exec.runtime,
		.format = launch.format,
		.hooks = launch.hooks,
		.sandbox = sandbox_names[launch.sandbox],
		.input = !launch.input.p };
	if (launch.format->thread)
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
		.split_errors = d->stream != NULL,
		.stop_grace_ms = ask->config->stop_grace,
		.interrupt_signal = d->as.format->interrupts ? SIGINT : 0,
		.sandboxed = launch.sandbox != SANDBOX_NONE,
		.cgroup = contain_cgroup(ask->contain),
		.memory_max_bytes = ask->agent->memory_max_bytes,
		.pids_max = ask->agent->pids_max,
		.interrupt_grace_ms = ask->config->interrupt_grace,
	};
	r = run_start(d->loop, &spec, read_from(d, ask), ops_of(d), d, &d->run, err);
	INJECT("after-run-start");
	return r;
}

static int exec_start(struct loop *l, const struct driver_ask *ask, const struct driver_events *ev,
		void *user, struct driver_run **ret, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct driver_run *d = driver_run_new(l, ask, ev, user);
	int r = spawn(d, &a, ask, err);

	if (r < 0) {
		exec_close(d);
		return r;
	}
	note_old(d);
	*ret = d;
	return 0;
}

static int exec_adopt(struct loop *l, const struct driver_ask *ask, const struct driver_events *ev,
		void *user, struct driver_run **ret, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct driver_run *d;
	int r;

	/* Nothing is made in the folder of a run that was never begun. */
	if (!file_exists(ask->dir))
		return ov_fail(err, OV_ENOTFOUND, "there is no folder %s", ask->dir);
	d = driver_run_new(l, ask, ev, user);
	d->as = run_note_read(d->dir);
	r = listen_to(d, err);
	if (r == 0)
		r = run_adopt(l, ask->dir, arena_cstr(&a, ask->run_id), read_from(d, ask),
				ops_of(d), d, &d->run, err);
	if (r < 0) {
		exec_close(d);
		return r;
	}
	note_old(d);
	*ret = d;
	return 0;
}

/* ---- telling it things ---- */

static int exec_send(struct driver_run *d, str dispatch_id, str text, driver_sent_fn *done,
		void *user, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	int r;

	if (d->as.input)
		return run_deliver(d->run, dispatch_id,
				arena_printf(&a, STR_FMT "\n", STR_ARG(text)), done, user, err);
	if (!d->as.hooks)
		return ov_fail(err, OV_ESTATE,
				"this run of %s takes no instructions while it works",
				d->as.format->title);
	r = driver_hooks_lay(d->dir, dispatch_id, text, err);
	if (r == 0)
		done(user, 0, NULL);
	return r;
}

static int exec_interrupt(struct driver_run *d, struct ov_err *err)
{
	if (!d->as.format->interrupts)
		return ov_fail(err, OV_ESTATE, "%s cannot be interrupted, only stopped",
				d->as.format->title);
	return run_interrupt(d->run, err);
}

static int exec_stop(struct driver_run *d, struct ov_err *err)
{
	return run_stop(d->run, err);
}

static struct run_handle *exec_handle(const struct driver_run *d)
{
	return d->run;
}

static const struct agent_format *exec_format(const struct driver_run *d)
{
	return d->as.format;
}

const struct driver driver_exec = {
	.runtime = "exec",
	.start = exec_start,
	.adopt = exec_adopt,
	.send = exec_send,
	.interrupt = exec_interrupt,
	.stop = exec_stop,
	.handle = exec_handle,
	.format = exec_format,
	.close = exec_close,
};
