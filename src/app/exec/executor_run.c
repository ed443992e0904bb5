/*
 * Runs: starting, stopping, hearing and talking to them, and finding those of a previous
 * daemon again.
 */
#include "app/exec/executor_impl.h"
#include "app/exec/freeze.h"
#include "app/watch/checkout.h"

#include "app/agents/agent.h"
#include "app/agents/run_note.h"
#include "app/agents/run_words.h"
#include "app/engine/engine.h"
#include "app/plan/pool.h"
#include "app/sandbox/agent_homes.h"
#include "app/sandbox/contain.h"
#include "app/watch/conflict_scan.h"
#include "app/watch/folder_audit.h"
#include "app/watch/leftovers.h"
#include "base/alloc.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/policy/scope.h"
#include "drive/git/git.h"
#include "drive/run/run.h"
#include "sys/host/inject.h"
#include "sys/loop/loop.h"
#include "sys/proc/proc.h"

enum { ADOPT_AGAIN_MS = 5000 };

/* As it was started, whatever is configured by now; else as it is to be. */
static const struct driver *driver_of(const struct config_agent *agent, const char *dir)
{
	struct run_note note;
	const struct driver *d;

	if (run_note_find(dir, &note))
		return driver_find(str_from(note.runtime));
	d = agent ? driver_find(agent->runtime) : NULL;
	return d ? d : driver_find(STR("exec"));
}

static struct live_run *of_hearing(const struct run_output *h)
{
	return (struct live_run *)((char *)h - offsetof(struct live_run, run_output));
}

static int64_t hearing_now(const struct run_output *h)
{
	return (int64_t)(loop_mono_us(of_hearing(h)->x->o.loop) / 1000);
}

static void hearing_fired(void *user)
{
	struct live_run *lr = user;

	run_output_due(&lr->run_output);
}

static void hearing_wake(struct run_output *h, int64_t ms)
{
	struct live_run *lr = of_hearing(h);

	if (!lr->run_output_due)
		lr->run_output_due = loop_timer(lr->x->o.loop, hearing_fired, lr);
	loop_timer_in(lr->run_output_due, ms);
}

static struct live_run *live_run_new(struct executor *x, const struct run *r)
{
	struct live_run *lr = mem_zalloc(1, sizeof(*lr));

	lr->x = x;
	lr->strings = ARENA_SMALL;
	record_set_str(&lr->id, r->id);
	lr->dir = executor_run_dir(&lr->strings, x->o.dir, r->id);
	lr->worktree = arena_printf(&lr->strings, "%s/worktrees/" STR_FMT, x->o.dir,
			STR_ARG(r->worker));
	lr->offset = (uint64_t)r->update_offset;
	lr->driver = driver_of(config_agent(x->o.config, r->agent), lr->dir);
	run_output_init(&lr->run_output, x->engine, lr->id, lr->dir, lr->offset);
	lr->run_output.now_ms = hearing_now;
	lr->run_output.wake_in = hearing_wake;
	return lr;
}

/* Before it is among the runs: no handle came of it. */
static void live_run_drop(struct live_run *lr)
{
	run_output_done(&lr->run_output);
	loop_source_free(lr->run_output_due);
	mem_free(lr->repeats);
	arena_done(&lr->strings);
	record_set_str(&lr->id, STR(""));
	mem_free(lr);
}

static void live_run_free(struct live_run *lr)
{
	lr->x->ended_us = loop_mono_us(lr->x->o.loop);
	observe_end(lr->x->observe, lr->id);
	map_remove(&lr->x->runs, lr->id);
	lr->driver->close(lr->run);
	if (lr->account)
		live_account_done(lr);
	live_run_drop(lr);
}

/* It has a handle: what it already wrote was written when its file says so, not now. */
static void live_run_keep(struct live_run *lr, const struct run *r, bool adopted)
{
	struct executor *x = lr->x;
	const struct run_handle *handle = lr->driver->handle(lr->run);
	ov_time output_at = run_written(handle, &lr->old_bytes);

	map_put(&x->runs, lr->id, lr);
	observe_begin(x->observe, lr->id, r->agent, handle, lr->worktree,
			MIN(output_at, loop_now(x->o.loop)), adopted);
	if (lr->driver->format(lr->run)->structured) {
		live_account_init(lr, r);
		live_account_told(lr);
	}
}

/*
 * Of a goal that has thresholds of its own, only the tick knows those: what is observed is the
 * same for all.
 */
static ov_time repeats_gap(const struct executor *x)
{
	const struct thresholds *t = &x->o.config->policy.oversight.t;

	return t->same_output_seconds * OV_SECOND / MAX(t->same_call_count, (int64_t)1);
}

static void hear_repeats(struct live_run *lr, str bytes, uint64_t at)
{
	struct executor *x = lr->x;
	ov_time now = loop_now(x->o.loop);
	struct repeats *r = lr->repeats;

	if (!r)
		r = lr->repeats = mem_zalloc(1, sizeof(*r));
	if (at != lr->heard_up_to)
		repeats_cut(r);
	lr->heard_up_to = at + bytes.n;
	r->gap = repeats_gap(x);
	if (!repeats_bytes(r, bytes, now, at < lr->old_bytes))
		return;
	observe_repeats(x->observe, lr->id, r);
	if (r->count >= LOOP_CALLS_LEAST)
		engine_touch(x->engine);
}

static void run_output(void *user, str bytes, uint64_t at)
{
	struct live_run *lr = user;
	struct executor *x = lr->x;

	if (!lr->account && at + bytes.n > lr->old_bytes) {
		observe_output(x->observe, lr->id);
		if (run_output_is_awaited(x->engine, lr->id))
			engine_touch(x->engine);
	}
	if (!lr->account) {
		hear_repeats(lr, bytes, at);
		run_output_bytes(&lr->run_output, bytes, at);
	}
	x->o.run_changed(x->o.user, lr->id);
}

/* By what it said; where it says nothing about it, by how its process ended. */
static bool has_failed(const struct msg_run_end *m)
{
	return m->verdict.n ? !str_is(m->verdict, "ok") : m->exit_code || m->signal || m->lost;
}

/* lr: NULL when there is no handle of it. */
static void report_run_end(struct executor *x, str id, const struct live_run *lr,
		const struct run_end *end)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct run_note note = lr ? run_note_read(lr->dir) : (struct run_note){ 0 };
	struct msg_run_end m = { .run = id,
		.exit_code = end->exit_code,
		.signal = end->signal,
		.lost = end->lost,
		.has_output_bytes = true,
		.output_bytes = (int64_t)end->output_bytes,
		.has_dropped_bytes = true,
		.dropped_bytes = (int64_t)end->dropped_bytes,
		.has_swept = true,
		.swept = (int64_t)end->swept,
		.containment = end->grouped ? STR("cgroup") : STR("sweep"),
		.sandbox = str_from(note.sandbox),
		.has_ended_at_ms = end->ended_at != 0,
		.ended_at_ms = end->ended_at,
		.has_ran_ms = end->ran_ms != 0,
		.ran_ms = end->ran_ms,
		.message = utf8_clean(&a, end->message) };

	if (lr && lr->account)
		live_account_end(&a, lr, end, &m);
	if (lr)
		m.silences = observe_silences(&a, x->observe, id);
	if (lr && has_failed(&m))
		m.last_lines = run_words(&a, lr->dir, lr->account);
	INJECT("before-run-end");
	tell_run_end(x->engine, &m);
}

static void run_ended(void *user, const struct run_end *end)
{
	struct live_run *lr = user;
	struct executor *x = lr->x;

	/* Its last words come before its end. */
	run_output_end(&lr->run_output);
	if (end->undelivered)
		folder_audit_note(x->folder_audit, PATROL_UNDELIVERED,
				state_run(engine_state(x->engine), lr->id), end->message);
	if (end->unsure)
		leftovers_watch(x->leftovers, lr->id);
	report_run_end(x, lr->id, lr, end);
	x->o.run_changed(x->o.user, lr->id);
	live_run_free(lr);
}

static const struct driver_events run_events = { .output = run_output,
	.fact = live_fact,
	.taken = live_taken,
	.ended = run_ended };

/* What finds it again; what it takes to start it comes from its assignment. */
static struct driver_ask ask_about(const struct live_run *lr, const struct run *r)
{
	const struct executor *x = lr->x;

	return (struct driver_ask){
		.config = x->o.config,
		.agent = config_agent(x->o.config, r->agent),
		.shim = x->o.shim,
		.overseer = x->o.overseer,
		.contain = x->contain,
		.tmux = x->tmux,
		.store = x->o.dir,
		.repo = x->o.repo,
		.git_common = git_common_dir(x->git),
		.dir = lr->dir,
		.worktree = lr->worktree.p,
		.run_id = lr->id,
		.goal_id = r->goal_id,
		.node_id = r->node_id,
		.assignment_id = r->assignment_id,
		.worker = r->worker,
		.resume = r->resumed,
		.attempt = r->attempt,
		.offset = lr->offset,
	};
}

static void perform_again(void *user)
{
	struct task *t = user;
	struct executor *x = t->x;
	const struct effect *fx = state_effect(engine_state(x->engine), t->effect_id);

	task_free(t);
	if (fx)
		executor_perform(x, fx);
}

static void again_later(struct task *t)
{
	t->later = loop_timer(t->x->o.loop, perform_again, t);
	loop_timer_in(t->later, ADOPT_AGAIN_MS);
}

static void started(struct task *t, struct live_run *lr, const struct run *r, bool adopted)
{
	live_run_keep(lr, r, adopted);
	ok_later(t);
}

/* What the log says that it shall be told: the state may have moved on since that was decided. */
static int instruction(struct task *t, const struct run *r, str *ret, struct ov_err *err)
{
	struct engine *e = t->x->engine;
	const struct dispatch *d = state_dispatch(engine_state(e), r->dispatch_id);

	*ret = d ? run_output_dispatch_text(&t->arena, e, d->seq) : STR("");
	if (!ret->n)
		return ov_fail(err, OV_ENOTFOUND,
				"the text of dispatch " STR_FMT " is not in the log",
				STR_ARG(r->dispatch_id));
	return 0;
}

static void launch_run(struct task *t, const struct assignment *as, struct live_run *lr)
{
	struct executor *x = t->x;
	struct driver_ask ask = ask_about(lr, as->run);
	struct tool_scope scope = { 0 };
	struct ov_err err = { 0 };
	int r = 0;

	if (!ask.agent) {
		ov_fail(&err, OV_ENOTFOUND, "agent \"" STR_FMT "\" is not configured any more",
				STR_ARG(as->agent));
		r = ov_next(&err, "overseer config check");
	}
	if (r == 0)
		r = instruction(t, as->run, &ask.prompt, &err);
	ask.session = as->run->session;
	ask.resume = as->run->resumed;
	ask.home = agent_homes_name(as);
	if (r == 0)
		r = scope_parse(&t->arena, as->run->tools, &scope, &err);
	ask.scope = scope_is_all(&scope) ? NULL : &scope;
	if (r == 0)
		r = lr->driver->start(x->o.loop, &ask, &run_events, lr, &lr->run, &err);
	if (r < 0) {
		live_run_drop(lr);
		fail_later(t, &err);
		return;
	}
	started(t, lr, as->run, false);
}

/*
 * A previous daemon may have started it: only where that is certainly not so is it started, or may
 * the start fail. Two agents in one worktree are worse than a wait.
 */
void perform_run_start(struct task *t, const struct assignment *as)
{
	struct executor *x = t->x;
	struct driver_ask ask;
	struct live_run *lr;
	int r;

	/* Performed again within one daemon's life: it runs already. */
	if (map_get(&x->runs, as->run_id)) {
		ok_later(t);
		return;
	}
	assert(as->run);
	lr = live_run_new(x, as->run);
	ask = ask_about(lr, as->run);
	r = lr->driver->adopt(x->o.loop, &ask, &run_events, lr, &lr->run, NULL);
	if (r == 0) {
		started(t, lr, as->run, true);
	} else if (r == OV_ENOTFOUND) {
		launch_run(t, as, lr);
	} else {
		live_run_drop(lr);
		again_later(t);
	}
}

/* Whether the agent's input has it; what it makes of it is seen in its output. */
static void sent(void *user, int r, const struct ov_err *err)
{
	struct task *t = user;

	if (t->x->closing)
		return;
	INJECT("after-send");
	if (r < 0)
		fail_later(t, err);
	else
		ok_later(t);
}

/* Under the dispatch's own id: performed again after a crash, the agent still hears it once. */
void perform_send(struct task *t, const struct assignment *as)
{
	struct executor *x = t->x;
	const struct effect *fx = state_effect(engine_state(x->engine), t->effect_id);
	const struct dispatch *d = state_dispatch(engine_state(x->engine), fx->dispatch_id);
	struct live_run *lr = map_get(&x->runs, fx->run_id.n ? fx->run_id : as->run_id);
	struct ov_err err = { 0 };
	str text = d ? run_output_dispatch_text(&t->arena, x->engine, d->seq) : STR("");

	if (!text.n)
		ov_fail(&err, OV_ENOTFOUND, "the text of dispatch " STR_FMT " is not in the log",
				STR_ARG(fx->dispatch_id));
	else if (!lr)
		ov_fail(&err, OV_EUNAVAILABLE, "run " STR_FMT " has ended or is not in our hands",
				STR_ARG(fx->run_id));
	INJECT("before-send");
	if (!err.code)
		observe_meddled(x->observe, lr->id);
	if (err.code || lr->driver->send(lr->run, d->id, text, sent, t, &err) < 0)
		fail_later(t, &err);
}

static void adopt_again_fired(void *user)
{
	executor_adopt(user);
}

/* True when the run is ours now, or is known to be over. */
static bool adopt_one(struct executor *x, const struct run *r)
{
	struct live_run *lr = live_run_new(x, r);
	struct driver_ask ask = ask_about(lr, r);
	struct run_end gone = { .lost = true,
		.exit_code = -1,
		.message = STR("its folder shows no start") };
	struct ov_err err = { 0 };
	int ret;

	ret = lr->driver->adopt(x->o.loop, &ask, &run_events, lr, &lr->run, &err);
	if (ret == 0) {
		live_run_keep(lr, r, true);
		return true;
	}
	live_run_drop(lr);
	if (ret == OV_ENOTFOUND)
		report_run_end(x, r->id, NULL, &gone);
	/* Anything else is a failure of ours, not of the run: unknown is not dead. */
	return ret == OV_ENOTFOUND;
}

void executor_adopt(struct executor *x)
{
	bool all = true;

	/* Reporting a lost run changes its status, not the list. */
	list_each (it, &engine_state(x->engine)->runs) {
		const struct run *r = list_entry(it, struct run, link);

		if (r->status == RUN_RUNNING && !map_get(&x->runs, r->id))
			all &= adopt_one(x, r);
	}
	executor_scopes(x, STR(""), STR(""));
	freeze_look(x);
	pool_tidy(x->o.dir, engine_state(x->engine));
	contain_clear(x->contain, engine_state(x->engine));
	agent_homes_look(x->agent_homes);
	conflict_scan_look(x->conflict_scan);
	folder_audit_look(x->folder_audit);
	checkout_look(x->checkout);
	if (all)
		return;
	if (!x->adopt_again)
		x->adopt_again = loop_timer(x->o.loop, adopt_again_fired, x);
	loop_timer_in(x->adopt_again, ADOPT_AGAIN_MS);
}

void live_runs_done(struct executor *x)
{
	size_t i = 0;
	str key;
	void *lr;

	while (map_next(&x->runs, &i, &key, &lr))
		live_run_free(lr);
	map_done(&x->runs);
	map_done(&x->accounts);
	loop_source_free(x->adopt_again);
}
