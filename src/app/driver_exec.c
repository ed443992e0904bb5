#include "app/driver_exec.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/hook.h"
#include "agent/stream.h"
#include "app/agent.h"
#include "app/contain.h"
#include "app/run_note.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "data/ndjson.h"
#include "sys/file.h"
#include "sys/follow.h"
#include "sys/inject.h"
#include "sys/loop.h"

#define TAKEN HOOK_NEXT "."

enum { HOOK_FILES_MAX = 4096 };

struct driver_run {
	struct loop *loop;
	struct driver_events ev;
	void *user;
	struct arena strings;
	const char *dir;
	struct run_note as; /* what it was started as */
	struct run_handle *run;
	struct stream *stream; /* NULL: its output is text */
	/* Written before we knew it, at `old_at` at the latest. */
	uint64_t old_bytes, old_errors;
	ov_time old_at;
	bool errors_read, errors_old; /* errors are being read, and these are old */
	struct follow *events;        /* of its hooks; NULL: it has none */
	struct ndjson lines;
};

/* ---- what is heard ---- */

static void on_fact(void *user, const struct fact *f)
{
	struct driver_run *d = user;

	bool old = d->errors_read ? d->errors_old : f->offset && f->offset <= d->old_bytes;

	d->ev.fact(d->user, f, old ? d->old_at : loop_now(d->loop));
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

static void on_events(void *user, str bytes, uint64_t at)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	struct driver_run *d = user;
	struct fact f;
	str line, taken;

	(void)at;
	ndjson_feed(&d->lines, bytes.p, bytes.n);
	while (ndjson_next(&d->lines, &line, NULL) > 0) {
		taken = STR("");
		if (hook_fact(&a, line, d->as.format, &f, &taken))
			d->ev.fact(d->user, &f, f.at ? f.at : loop_now(d->loop));
		if (taken.n)
			d->ev.taken(d->user, taken);
		arena_reset(&a);
	}
}

/* A hook that was killed in between took it without telling so. */
static void tell_taken(struct driver_run *d)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	str prefix = str_sub(STR(TAKEN), sizeof(HOOK_DIR), sizeof(TAKEN));
	str *names;
	size_t n;

	if (dir_list(&a, path_join(&a, d->dir, HOOK_DIR), HOOK_FILES_MAX, &names, &n, NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		if (str_starts(names[i], prefix))
			d->ev.taken(d->user, str_sub(names[i], prefix.n, names[i].n));
}

static void on_ended(void *user, const struct run_end *end)
{
	struct driver_run *d = user;

	if (d->stream)
		stream_end(d->stream);
	if (d->events) {
		(void)follow_drain(d->events, SIZE_MAX, NULL);
		tell_taken(d);
	}
	d->ev.ended(d->user, end);
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
	d->dir = arena_cstr(&d->strings, str_from(ask->dir));
	ndjson_init(&d->lines, HOOK_LINE_MAX);
	return d;
}

static void exec_close(struct driver_run *d)
{
	if (!d)
		return;
	run_close(d->run);
	follow_close(d->events);
	stream_free(d->stream);
	ndjson_done(&d->lines);
	arena_done(&d->strings);
	mem_free(d);
}

/* Before the run: the files that are followed are there, and nothing of them is missed. */
static int listen_to(struct driver_run *d, struct ov_err *err)
{
	const char *events = path_join(&d->strings, d->dir, HOOK_EVENTS);
	_cleanup_(fd_closep)
	int fd = -1;
	int r;

	if (d->as.format->structured)
		d->stream = stream_new(d->as.format, on_fact, d);
	if (!d->as.hooks)
		return 0;
	r = dir_make(path_join(&d->strings, d->dir, HOOK_DIR), 0700, err);
	if (r < 0)
		return r;
	fd = open(events, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return ov_fail_errno(err, errno, "%s", events);
	return follow_open(d->loop, events, 0, on_events, d, &d->events, err);
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
	d->as = (struct run_note){ .format = launch.format,
		.hooks = launch.hooks,
		.input = !launch.input.p };
	r = listen_to(d, err);
	if (r == 0)
		r = run_note_write(d->dir, str_from(driver_exec.runtime), &d->as, err);
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
		.sandboxed = launch.sandboxed,
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
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
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
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
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

/*
 * For its next Stop hook, one at a time. Performed again after a crash it is found: still there, or
 * under the name that it got when it was taken.
 */
static int lay_next(struct driver_run *d, str dispatch_id, str text, struct ov_err *err)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	const char *next = path_join(&a, d->dir, HOOK_NEXT);
	str json, old, waits, ignored;
	int r = hook_next_text(&a, dispatch_id, text, &json, err);

	if (r < 0 ||
			file_exists(arena_printf(&a, "%s/" TAKEN STR_FMT, d->dir,
					STR_ARG(dispatch_id))
							.p))
		return r;
	r = file_create_atomic(next, json, 0600, err);
	INJECT("next-laid");
	if (r != OV_ECONFLICT)
		return r;
	if (file_read(&a, next, HOOK_FILE_MAX, &old, NULL) == 0 &&
			hook_next_read(&a, old, &waits, &ignored, NULL) == 0 &&
			str_eq(waits, dispatch_id))
		return 0;
	return ov_fail(err, OV_ESTATE,
			"the agent has not taken what it was told before yet; it does when it is "
			"done "
			"with what it does now");
}

static int exec_send(struct driver_run *d, str dispatch_id, str text, driver_sent_fn *done,
		void *user, struct ov_err *err)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	int r;

	if (d->as.input)
		return run_deliver(d->run, dispatch_id,
				arena_printf(&a, STR_FMT "\n", STR_ARG(text)), done, user, err);
	if (!d->as.hooks)
		return ov_fail(err, OV_ESTATE,
				"this run of %s takes no instructions while it works",
				d->as.format->title);
	r = lay_next(d, dispatch_id, text, err);
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

static const struct run_handle *exec_handle(const struct driver_run *d)
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
