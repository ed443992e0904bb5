#include "app/driver_exec.h"

#include <signal.h>

#include "agent/format.h"
#include "app/agent.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/str.h"
#include "sys/inject.h"

struct driver_run {
	struct driver_events ev;
	void *user;
	struct run_handle *run;
};

static void on_output(void *user, str bytes, uint64_t at)
{
	struct driver_run *d = user;

	d->ev.output(d->user, bytes, at);
}

static void on_ended(void *user, const struct run_end *end)
{
	struct driver_run *d = user;

	d->ev.ended(d->user, end);
}

static const struct run_ops run_ops = { .output = on_output, .ended = on_ended };

static struct driver_run *driver_run_new(const struct driver_events *ev, void *user)
{
	struct driver_run *d = mem_zalloc(1, sizeof(*d));

	d->ev = *ev;
	d->user = user;
	return d;
}

static void exec_close(struct driver_run *d)
{
	if (!d)
		return;
	run_close(d->run);
	mem_free(d);
}

static int spawn(struct loop *l, struct arena *a, const struct driver_ask *ask,
		struct driver_run *d, struct ov_err *err)
{
	const struct agent_format *format = format_find(ask->agent->format);
	struct agent_launch launch;
	struct run_spec spec;
	int r = agent_prepare(a, ask, &launch, err);

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
		.stop_grace_ms = ask->config->stop_grace,
		.interrupt_signal = format && format->interrupts ? SIGINT : 0,
		.interrupt_grace_ms = ask->config->interrupt_grace,
	};
	r = run_start(l, &spec, ask->offset, &run_ops, d, &d->run, err);
	INJECT("after-run-start");
	return r;
}

static int exec_start(struct loop *l, const struct driver_ask *ask, const struct driver_events *ev,
		void *user, struct driver_run **ret, struct ov_err *err)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	struct driver_run *d = driver_run_new(ev, user);
	int r = spawn(l, &a, ask, d, err);

	if (r < 0) {
		exec_close(d);
		return r;
	}
	*ret = d;
	return 0;
}

static int exec_adopt(struct loop *l, const struct driver_ask *ask, const struct driver_events *ev,
		void *user, struct driver_run **ret, struct ov_err *err)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	struct driver_run *d = driver_run_new(ev, user);
	int r = run_adopt(l, ask->dir, arena_cstr(&a, ask->run_id), ask->offset, &run_ops, d,
			&d->run, err);

	if (r < 0) {
		exec_close(d);
		return r;
	}
	*ret = d;
	return 0;
}

/* A line of its input. */
static int exec_send(struct driver_run *d, str dispatch_id, str text, driver_sent_fn *done,
		void *user, struct ov_err *err)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;

	return run_deliver(d->run, dispatch_id, arena_printf(&a, STR_FMT "\n", STR_ARG(text)), done,
			user, err);
}

static int exec_interrupt(struct driver_run *d, struct ov_err *err)
{
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

const struct driver driver_exec = {
	.runtime = "exec",
	.start = exec_start,
	.adopt = exec_adopt,
	.send = exec_send,
	.interrupt = exec_interrupt,
	.stop = exec_stop,
	.handle = exec_handle,
	.close = exec_close,
};
