#include "app/executor.h"

#include <stdlib.h>
#include <unistd.h>

#include "app/agent.h"
#include "app/engine.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/prompt.h"
#include "drive/git.h"
#include "drive/run.h"
#include "sys/file.h"
#include "sys/inject.h"
#include "sys/job.h"
#include "sys/loop.h"

enum { ADOPT_AGAIN_MS = 5000, CHECK_TAIL_BYTES = 3000 };

/* One effect under way. */
struct task {
	struct executor *x;
	struct list link;
	str effect_id; /* owned */
	enum effect_kind kind;
	struct loop_source *later; /* an outcome known at once is reported from the loop */
	struct job *job;
	const char *check_command; /* of a check; these live in the arena */
	str check_cwd, check_ref;
	struct arena arena; /* of the outcome, and what it takes to get there */
	value *outcome;
};

/* One run that lives, or whose end is being read. */
struct live_run {
	struct executor *x;
	str id; /* owned */
	struct run_handle *run;
};

struct executor {
	struct executor_options o;
	struct engine *engine;
	struct git *git;
	struct list tasks;
	struct map runs; /* id -> struct live_run */
	struct loop_source *adopt_again;
};

int executor_new(const struct executor_options *o, struct executor **ret, struct ov_err *err)
{
	struct executor *x = mem_zalloc(1, sizeof(*x));
	int r;

	x->o = *o;
	list_init(&x->tasks);
	map_init(&x->runs, 0);
	r = git_open(o->loop, o->repo, &x->git, err);
	if (r < 0) {
		mem_free(x);
		return r;
	}
	*ret = x;
	return 0;
}

void executor_set_engine(struct executor *x, struct engine *e)
{
	x->engine = e;
}

void executor_set_config(struct executor *x, const struct config *c)
{
	x->o.config = c;
}

size_t executor_busy(const struct executor *x)
{
	size_t n = 0;

	list_each (it, &x->tasks)
		n++;
	return n;
}

char *executor_run_dir(struct arena *a, const char *dir, str run_id)
{
	return arena_cstr(a, arena_printf(a, "%s/runs/" STR_FMT, dir, STR_ARG(run_id)));
}

static struct task *task_new(struct executor *x, const struct effect *fx)
{
	struct task *t = mem_zalloc(1, sizeof(*t));

	t->x = x;
	t->kind = fx->kind;
	record_set_str(&t->effect_id, fx->id);
	list_append(&x->tasks, &t->link);
	return t;
}

static void task_free(struct task *t)
{
	list_remove(&t->link);
	loop_source_free(t->later);
	record_set_str(&t->effect_id, STR(""));
	arena_done(&t->arena);
	mem_free(t);
}

static struct task *task_find(const struct executor *x, str effect_id)
{
	list_each (it, &x->tasks) {
		struct task *t = list_entry(it, struct task, link);

		if (str_eq(t->effect_id, effect_id))
			return t;
	}
	return NULL;
}

/* The outcome's document; members of its data are added by the caller. */
static value *outcome_new(struct task *t, str outcome, str detail)
{
	struct arena *a = &t->arena;
	value *v = value_object(a), *data = value_object(a);

	value_put(a, v, "effect", value_str(a, t->effect_id));
	value_put(a, v, "outcome", value_str(a, arena_str(a, outcome)));
	/* Output of tools is not always text; the log holds only text. */
	value_put(a, v, "detail", value_str(a, utf8_clean(a, detail)));
	value_put(a, v, "data", data);
	t->outcome = v;
	return data;
}

static void put_text(struct task *t, value *data, const char *key, str s)
{
	if (s.n)
		value_put(&t->arena, data, key, value_str(&t->arena, arena_str(&t->arena, s)));
}

/* Reports the outcome and ends the task. */
static void task_report(struct task *t)
{
	INJECT("before-outcome");
	engine_report(t->x->engine, STR("effect.end"), t->outcome);
	task_free(t);
}

static void report_later_fired(void *user)
{
	task_report(user);
}

static void report_later(struct task *t)
{
	t->later = loop_defer(t->x->o.loop, report_later_fired, t);
}

static void fail_later(struct task *t, const struct ov_err *err)
{
	outcome_new(t, STR("error"), str_from(err->msg));
	report_later(t);
}

static const char *const git_outcomes[] = {
	[GIT_OK] = "ok",
	[GIT_ALREADY] = "ok",
	[GIT_NO_CHANGES] = "no_changes",
	[GIT_CONFLICT] = "conflict",
	[GIT_DIRTY] = "dirty",
	[GIT_MOVED] = "moved",
};

static void git_done(void *user, int r, const struct git_result *res, const struct ov_err *err)
{
	struct task *t = user;
	value *data;

	if (r < 0) {
		outcome_new(t, STR("error"), str_from(err->msg));
		task_report(t);
		return;
	}
	data = outcome_new(t, str_from(git_outcomes[res->outcome]), res->detail);
	put_text(t, data, "base", res->base);
	put_text(t, data, "head", res->head);
	put_text(t, data, "tree", res->tree);
	put_text(t, data, "commit", res->commit);
	put_text(t, data, "rescue_ref", res->rescue_ref);
	put_text(t, data, "target",
			t->kind == FX_ACCEPT ? t->x->o.config->policy.target_branch : STR(""));
	value_put(&t->arena, data, "commits", value_int(&t->arena, res->commits));
	value_put(&t->arena, data, "files_changed", value_int(&t->arena, res->files_changed));
	value_put(&t->arena, data, "leftovers", value_bool(&t->arena, res->leftovers));
	task_report(t);
}

/* The worktree of an assignment. */
static str worktree(struct task *t, const struct assignment *as)
{
	return arena_printf(&t->arena, "%s/worktrees/" STR_FMT, t->x->o.dir, STR_ARG(as->worker));
}

static str rescue_ref(struct task *t, const struct assignment *as, str id)
{
	return arena_printf(&t->arena, "refs/overseer/rescue/" STR_FMT "/" STR_FMT,
			STR_ARG(as->worker), STR_ARG(id));
}

static void perform_workspace(struct task *t, const struct assignment *as)
{
	git_ensure(t->x->git, worktree(t, as), as->branch, t->x->o.config->policy.target_branch,
			rescue_ref(t, as, t->effect_id), git_done, t);
}

static void perform_harvest(struct task *t, const struct assignment *as)
{
	str message = arena_printf(&t->arena,
			"Keep what " STR_FMT " left uncommitted\n\nTask " STR_FMT ".\n",
			STR_ARG(as->agent), STR_ARG(as->node_id));

	git_harvest(t->x->git, worktree(t, as), as->base, rescue_ref(t, as, as->run_id), message,
			git_done, t);
}

static void perform_accept(struct task *t, const struct assignment *as)
{
	struct git_accept spec = {
		.path = worktree(t, as),
		.branch = as->branch,
		.target = t->x->o.config->policy.target_branch,
		.message = prompt_commit_message(&t->arena, as->node),
		.key = as->id,
	};

	INJECT("before-accept");
	git_accept(t->x->git, &spec, git_done, t);
}

/* Whatever the check left is not the agent's work: it must not be harvested with the next run. */
static void check_restored(void *user, int r, const struct git_result *res,
		const struct ov_err *err)
{
	struct task *t = user;

	(void)res;
	if (r < 0)
		outcome_new(t, STR("error"), str_from(err->msg));
	task_report(t);
}

static void check_done(void *user, const struct job_result *r)
{
	struct task *t = user;
	str tail = str_sub(r->out, r->out.n > CHECK_TAIL_BYTES ? r->out.n - CHECK_TAIL_BYTES : 0,
			CHECK_TAIL_BYTES);
	str how;

	t->job = NULL;
	if (r->timed_out)
		how = STR("it took longer than workspace.check_timeout");
	else if (r->exit.signal)
		how = arena_printf(&t->arena, "ended by signal %d", r->exit.signal);
	else
		how = arena_printf(&t->arena, "exit status %d", r->exit.code);
	if (!r->timed_out && r->exit.code == 0)
		outcome_new(t, STR("ok"), STR("the check command passed"));
	else
		outcome_new(t, STR("failed"),
				arena_printf(&t->arena, STR_FMT "\n" STR_FMT, STR_ARG(how),
						STR_ARG(tail)));
	INJECT("after-check");
	git_restore(t->x->git, t->check_cwd, t->check_ref, check_restored, t);
}

static void check_begin(void *user, int r, const struct git_result *res,
		const struct ov_err *git_err)
{
	struct task *t = user;
	const char *argv[] = { "sh", "-c", t->check_command, NULL };
	struct job_spec spec = {
		.proc = PROC_SPEC_INIT,
		.keep_tail = true,
		.timeout_ms = t->x->o.config->workspace_check_timeout,
	};
	struct ov_err err = { 0 };

	(void)res;
	if (r < 0) {
		outcome_new(t, STR("error"), str_from(git_err->msg));
		task_report(t);
		return;
	}
	spec.proc.argv = argv;
	spec.proc.cwd = t->check_cwd.p;
	if (job_start(t->x->o.loop, &spec, check_done, t, &t->job, &err) < 0)
		fail_later(t, &err);
}

/* On the harvested commit, also when an earlier daemon died during the same check. */
static void perform_check(struct task *t, const struct assignment *as)
{
	const struct config *c = t->x->o.config;
	str command = as->node->check_command.n ? as->node->check_command : c->policy.check_command;

	/* Both streams into one, so that the end of the output is the end of what happened. */
	t->check_command = arena_cstr(&t->arena,
			arena_printf(&t->arena, "exec 2>&1\n" STR_FMT, STR_ARG(command)));
	t->check_cwd = worktree(t, as);
	t->check_ref = rescue_ref(t, as, t->effect_id);
	git_restore(t->x->git, t->check_cwd, t->check_ref, check_begin, t);
}

static struct live_run *live_run_new(struct executor *x, str id)
{
	struct live_run *lr = mem_zalloc(1, sizeof(*lr));

	lr->x = x;
	record_set_str(&lr->id, id);
	return lr;
}

/* Before it is among the runs: no handle came of it. */
static void live_run_drop(struct live_run *lr)
{
	record_set_str(&lr->id, STR(""));
	mem_free(lr);
}

static void live_run_free(struct live_run *lr)
{
	map_remove(&lr->x->runs, lr->id);
	run_close(lr->run);
	live_run_drop(lr);
}

static void run_output(void *user, str bytes, uint64_t at)
{
	struct live_run *lr = user;

	(void)bytes, (void)at;
	lr->x->o.run_changed(lr->x->o.user, lr->id);
}

static void report_run_end(struct executor *x, str id, const struct run_end *end)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	value *v = value_object(&a);

	value_put(&a, v, "run", value_str(&a, id));
	value_put(&a, v, "exit_code", value_int(&a, end->exit_code));
	value_put(&a, v, "signal", value_int(&a, end->signal));
	value_put(&a, v, "lost", value_bool(&a, end->lost));
	value_put(&a, v, "output_bytes", value_int(&a, (int64_t)end->output_bytes));
	value_put(&a, v, "dropped_bytes", value_int(&a, (int64_t)end->dropped_bytes));
	value_put(&a, v, "swept", value_int(&a, (int64_t)end->swept));
	if (end->ended_at)
		value_put(&a, v, "ended_at_ms", value_int(&a, end->ended_at));
	if (end->message.n)
		value_put(&a, v, "message", value_str(&a, utf8_clean(&a, end->message)));
	INJECT("before-run-end");
	engine_report(x->engine, STR("run.end"), v);
}

static void run_ended(void *user, const struct run_end *end)
{
	struct live_run *lr = user;
	struct executor *x = lr->x;

	report_run_end(x, lr->id, end);
	x->o.run_changed(x->o.user, lr->id);
	live_run_free(lr);
}

static const struct run_ops run_ops = { .output = run_output, .ended = run_ended };

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

static void started(struct task *t, struct live_run *lr)
{
	map_put(&t->x->runs, lr->id, lr);
	outcome_new(t, STR("ok"), STR(""));
	report_later(t);
}

static void launch_run(struct task *t, const struct assignment *as, char *dir)
{
	struct executor *x = t->x;
	struct agent_launch launch;
	struct run_spec spec;
	struct live_run *lr;
	struct ov_err err = { 0 };
	int r;

	r = agent_prepare(&t->arena, x->o.config, as, dir, arena_cstr(&t->arena, worktree(t, as)),
			&launch, &err);
	if (r < 0) {
		fail_later(t, &err);
		return;
	}
	spec = (struct run_spec){
		.shim = x->o.shim,
		.dir = dir,
		.id = arena_cstr(&t->arena, as->run_id),
		.argv = launch.argv,
		.env = launch.env,
		.cwd = launch.cwd,
		.input = launch.input,
		.max_output_bytes = (uint64_t)x->o.config->limits_run_output_bytes,
		.stop_grace_ms = x->o.config->stop_grace,
	};
	lr = live_run_new(x, as->run_id);
	INJECT("before-run-start");
	r = run_start(x->o.loop, &spec, 0, &run_ops, lr, &lr->run, &err);
	INJECT("after-run-start");
	if (r < 0) {
		live_run_drop(lr);
		fail_later(t, &err);
		return;
	}
	started(t, lr);
}

/*
 * A previous daemon may have started it: only where that is certainly not so is it started, or may
 * the start fail. Two agents in one worktree are worse than a wait.
 */
static void perform_run_start(struct task *t, const struct assignment *as)
{
	struct executor *x = t->x;
	char *dir = executor_run_dir(&t->arena, x->o.dir, as->run_id);
	struct live_run *lr;
	int r;

	/* Performed again within one daemon's life: it runs already. */
	if (map_get(&x->runs, as->run_id)) {
		outcome_new(t, STR("ok"), STR(""));
		report_later(t);
		return;
	}
	lr = live_run_new(x, as->run_id);
	r = run_adopt(x->o.loop, dir, arena_cstr(&t->arena, as->run_id), 0, &run_ops, lr, &lr->run,
			NULL);
	if (r == 0) {
		started(t, lr);
		return;
	}
	live_run_drop(lr);
	if (r == OV_ENOTFOUND)
		launch_run(t, as, dir);
	else
		again_later(t);
}

static void perform_run_stop(struct task *t, const struct assignment *as)
{
	struct live_run *lr = map_get(&t->x->runs, as->run_id);
	struct ov_err err = { 0 };

	/* Not found again yet after a restart, or its end is not written yet: it is tried again. */
	if (!lr && as->run && as->run->status != RUN_ENDED)
		ov_fail(&err, OV_EUNAVAILABLE, "run " STR_FMT " is not in our hands yet",
				STR_ARG(as->run_id));
	if (err.code || (lr && run_stop(lr->run, &err) < 0)) {
		fail_later(t, &err);
		return;
	}
	outcome_new(t, STR("ok"), STR(""));
	report_later(t);
}

static void (*const perform_table[EFFECT_KIND_COUNT])(struct task *t,
		const struct assignment *as) = {
	[FX_WORKSPACE] = perform_workspace,
	[FX_RUN_START] = perform_run_start,
	[FX_RUN_STOP] = perform_run_stop,
	[FX_HARVEST] = perform_harvest,
	[FX_CHECK] = perform_check,
	[FX_ACCEPT] = perform_accept,
};

void executor_perform(struct executor *x, const struct effect *fx)
{
	const struct assignment *as = state_assignment(engine_state(x->engine), fx->assignment_id);

	if (task_find(x, fx->id))
		return;
	assert(as && as->node);
	perform_table[fx->kind](task_new(x, fx), as);
}

static void adopt_again_fired(void *user)
{
	executor_adopt(user);
}

/* True when the run is ours now, or is known to be over. */
static bool adopt_one(struct executor *x, const struct run *r)
{
	_cleanup_(arena_done)
	struct arena a = ARENA_INIT;
	char *dir = executor_run_dir(&a, x->o.dir, r->id);
	struct live_run *lr = live_run_new(x, r->id);
	struct run_end gone = { .lost = true,
		.exit_code = -1,
		.message = STR("its folder shows no start") };
	struct ov_err err = { 0 };
	int ret;

	ret = run_adopt(x->o.loop, dir, arena_cstr(&a, r->id), 0, &run_ops, lr, &lr->run, &err);
	if (ret == 0) {
		map_put(&x->runs, lr->id, lr);
		return true;
	}
	live_run_drop(lr);
	if (ret == OV_ENOTFOUND)
		report_run_end(x, r->id, &gone);
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
	if (all)
		return;
	if (!x->adopt_again)
		x->adopt_again = loop_timer(x->o.loop, adopt_again_fired, x);
	loop_timer_in(x->adopt_again, ADOPT_AGAIN_MS);
}

void executor_free(struct executor *x)
{
	size_t i = 0;
	str key;
	void *lr;

	if (!x)
		return;
	list_each (it, &x->tasks) {
		struct task *t = list_entry(it, struct task, link);

		if (t->job)
			job_abandon(t->job);
		task_free(t);
	}
	git_close(x->git);
	while (map_next(&x->runs, &i, &key, &lr))
		live_run_free(lr);
	map_done(&x->runs);
	loop_source_free(x->adopt_again);
	mem_free(x);
}
