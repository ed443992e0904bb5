#include "app/exec/executor_impl.h"

#include "agent/table/formats.h"
#include "app/agents/run_words.h"
#include "app/engine/engine.h"
#include "app/exec/executor_accept.h"
#include "app/exec/executor_command.h"
#include "app/log/journal.h"
#include "app/log/log.h"
#include "app/notify/notify.h"
#include "app/plan/planning.h"
#include "app/plan/pool.h"
#include "app/sandbox/agent_homes.h"
#include "app/sandbox/contain.h"
#include "app/sandbox/setup.h"
#include "app/watch/checkout.h"
#include "app/watch/conflict_scan.h"
#include "app/watch/folder_audit.h"
#include "app/watch/leftovers.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "base/utf8.h"
#include "drive/git/git.h"
#include "drive/tmux/tmux.h"
#include "drive/worktree/worktree.h"
#include "sys/file/file.h"
#include "sys/host/inject.h"
#include "sys/loop/job.h"
#include "sys/loop/loop.h"

/* What was seen may change what is to be done. */
static void looked(void *user, str run_id _unused_)
{
	struct executor *x = user;

	engine_touch(x->engine);
}

static const struct state *state_now(void *user)
{
	const struct executor *x = user;

	return engine_state(x->engine);
}

static void sighted(void *user, const struct msg_conflict_report *m)
{
	struct executor *x = user;

	tell_conflict_report(x->engine, m);
}

static void checkout_changed(void *user)
{
	struct executor *x = user;

	tell_checkout_report(x->engine, NULL);
}

static void found(void *user, const struct msg_upkeep_report *m)
{
	struct executor *x = user;

	tell_upkeep_report(x->engine, m);
}

/* Where agents are to have no sandbox, git is as free as they are. */
static void confine_git(struct executor *x, const struct config *c)
{
	struct git_bounds bounds = { .program = x->o.shim,
		.sandbox = executor_programs,
		.user = x };
	struct ov_err err;

	if (c->default_sandbox != SANDBOX_NONE) {
		bounds.landlock = git_confine_works(x->o.shim, &err) == 0;
		if (!bounds.landlock)
			log_warn("git is not confined where it reads what agents wrote: %s",
					err.msg);
	}
	git_confine(x->git, &bounds);
}

int executor_new(const struct executor_options *o, struct executor **ret, struct ov_err *err)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct executor *x = mem_zalloc(1, sizeof(*x));
	int r;

	x->o = *o;
	list_init(&x->tasks);
	map_init(&x->runs, 0);
	map_init(&x->accounts, 0);
	r = git_open(o->loop, o->repo, &x->git, err);
	if (r < 0) {
		mem_free(x);
		return r;
	}
	git_keep_ignored(x->git, o->config->rescue_ignored);
	confine_git(x, o->config);
	x->planning = planning_new(&(struct planning_options){ .loop = o->loop,
			.dir = o->dir,
			.repo = o->repo });
	x->notifier = notify_new(&(
			struct notify_options){ .loop = o->loop, .dir = o->dir, .repo = o->repo });
	x->observe = observe_new(&(struct observe_options){ .loop = o->loop,
			.git = x->git,
			.looked = looked,
			.user = x });
	x->contain = contain_new(o->config);
	x->journal = journal_new(arena_printf(&a, "%s/logs", o->dir).p);
	x->setup = setup_new(o->loop, x->git, x->journal, o->repo);
	x->tmux = tmux_new(o->loop, &(struct tmux_options){ .store = o->dir });
	x->conflict_scan = conflict_scan_new(&(struct conflict_scan_options){ .loop = o->loop,
			.git = x->git,
			.dir = o->dir,
			.state = state_now,
			.report = sighted,
			.user = x });
	conflict_scan_set(x->conflict_scan, o->config->radar, o->config->policy.target_branch);
	x->checkout = checkout_new(&(struct checkout_options){ .loop = o->loop,
			.state = state_now,
			.changed = checkout_changed,
			.user = x });
	x->leftovers = leftovers_new(o->loop);
	x->folder_audit = folder_audit_new(&(struct folder_audit_options){ .loop = o->loop,
			.git = x->git,
			.dir = o->dir,
			.state = state_now,
			.report = found,
			.user = x });
	folder_audit_set(x->folder_audit, o->config->tick_every);
	x->agent_homes = agent_homes_new(o->loop, o->dir, state_now, x);
	*ret = x;
	return 0;
}

const char *executor_unfenced(const struct executor *x)
{
	return contain_unfenced(x->contain);
}

void executor_set_engine(struct executor *x, struct engine *e)
{
	x->engine = e;
}

void executor_set_config(struct executor *x, const struct config *c)
{
	x->o.config = c;
	contain_set_config(x->contain, c);
	git_keep_ignored(x->git, c->rescue_ignored);
	confine_git(x, c);
	conflict_scan_set(x->conflict_scan, c->radar, c->policy.target_branch);
	conflict_scan_look(x->conflict_scan);
	folder_audit_set(x->folder_audit, c->tick_every);
	executor_scopes(x, STR(""), STR(""));
}

size_t executor_busy(const struct executor *x)
{
	size_t n = 0;

	/*
	 * A model may take minutes, and is asked again after a restart, as channels are; the pool's
	 * command goes on, and its answer is there for the next daemon.
	 */
	list_each (it, &x->tasks) {
		const struct task *t = list_entry(it, struct task, link);

		n += t->kind != FX_PLAN && t->kind != FX_POOL && t->kind != FX_NOTIFY;
	}
	return n;
}

char *executor_run_dir(struct arena *a, const char *dir, str run_id)
{
	return arena_cstr(a, arena_printf(a, "%s/runs/" STR_FMT, dir, STR_ARG(run_id)));
}

void executor_look(struct executor *x, str run_id)
{
	observe_look(x->observe, run_id);
}

const struct map *executor_observations(const struct executor *x)
{
	return observe_runs(x->observe);
}

const struct map *executor_accounts(const struct executor *x)
{
	return &x->accounts;
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

void task_free(struct task *t)
{
	if (t->kind == FX_CHECK || t->kind == FX_GATE || t->kind == FX_WORKSPACE)
		t->x->ended_us = loop_mono_us(t->x->o.loop);
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

void outcome_set(struct task *t, const struct outcome *o)
{
	t->outcome = outcome_value(&t->arena, t->effect_id, t->kind, o);
}

void outcome_plain(struct task *t, enum effect_outcome is, str detail)
{
	outcome_set(t, &(struct outcome){ .is = is, .detail = detail });
}

static const struct effect_row effect_rows[EFFECT_KIND_COUNT]; /* below */

void task_report(struct task *t)
{
	INJECT(effect_rows[t->kind].end);
	engine_report(t->x->engine, STR("effect.end"), t->outcome);
	task_free(t);
}

static void report_later_fired(void *user)
{
	task_report(user);
}

void report_later(struct task *t)
{
	t->later = loop_defer(t->x->o.loop, report_later_fired, t);
}

void ok_later(struct task *t)
{
	outcome_plain(t, ENDED_OK, STR(""));
	report_later(t);
}

void fail_later(struct task *t, const struct ov_err *err)
{
	outcome_plain(t, ENDED_ERROR, str_from(err->msg));
	report_later(t);
}

static const enum effect_outcome git_outcomes[] = {
	[GIT_OK] = ENDED_OK,
	[GIT_ALREADY] = ENDED_OK,
	[GIT_NO_CHANGES] = ENDED_NO_CHANGES,
	[GIT_CONFLICT] = ENDED_CONFLICT,
	[GIT_DIRTY] = ENDED_DIRTY,
	[GIT_MOVED] = ENDED_MOVED,
	[GIT_REFUSED] = ENDED_REFUSED,
};

/* Of a run that changed nothing: what it said instead. A terminal's picture is no message. */
static str last_words(struct task *t)
{
	const struct effect *fx = state_effect(engine_state(t->x->engine), t->effect_id);
	const struct run *r = fx ? state_run(engine_state(t->x->engine), fx->run_id) : NULL;
	const struct config_agent *agent = r ? config_agent(t->x->o.config, r->agent) : NULL;
	const struct agent_format *f = agent ? format_find(agent->format) : NULL;

	if (!f || r->last_lines.n || (f->structured && str_is(agent->runtime, "tmux")))
		return STR("");
	return run_words_said(&t->arena, executor_run_dir(&t->arena, t->x->o.dir, r->id),
			f->structured ? f : NULL);
}

struct texts clean_texts(struct task *t, const str *list, size_t n)
{
	struct texts clean = { arena_array(&t->arena, str, n), n };

	for (size_t i = 0; i < n; i++)
		clean.p[i] = utf8_clean(&t->arena, list[i]);
	return clean;
}

static struct out_git git_told(struct task *t, const struct git_result *res)
{
	return (struct out_git){ .base = res->base,
		.head = res->head,
		.tree = res->tree,
		.commit = res->commit,
		.rescue_ref = t->kept_ref.n ? t->kept_ref : res->rescue_ref,
		.target = t->x->o.config->policy.target_branch,
		.commits = res->commits,
		.files_changed = res->files_changed,
		.files = clean_texts(t, res->files, res->files_n),
		.touched = clean_texts(t, res->touched, res->touched_n),
		.commit_ids = clean_texts(t, res->commit_ids, res->commit_ids_n),
		.lines_added = res->lines_added,
		.lines_removed = res->lines_removed,
		.leftovers = res->leftovers,
		.leftover_files = clean_texts(t, res->leftover_files, res->leftover_files_n),
		.refused = res->refused,
		.target_head = res->target_left,
		.last_lines = t->kind == FX_HARVEST && res->files_changed == 0 ? last_words(t)
									       : STR("") };
}

void task_git_done(void *user, int r, const struct git_result *res, const struct ov_err *err)
{
	struct task *t = user;
	struct out_git told;

	if (r < 0) {
		outcome_plain(t, ENDED_ERROR, str_from(err->msg));
		task_report(t);
		return;
	}
	if (res->outcome == GIT_DIRTY)
		checkout_watch(t->x->checkout, res);
	told = git_told(t, res);
	/* Only a rebase finds out that there is nothing left to do. */
	outcome_set(t,
			&(struct outcome){ .is = t->kind == FX_REBASE && res->outcome == GIT_ALREADY
							? ENDED_ALREADY
							: git_outcomes[res->outcome],
					.detail = res->detail,
					.git = &told });
	target_look(t, res->target_seen);
}

str worktree(struct task *t, const struct assignment *as)
{
	return arena_printf(&t->arena, "%s/worktrees/" STR_FMT, t->x->o.dir, STR_ARG(as->worker));
}

str rescue_ref(struct task *t, const struct assignment *as, str id)
{
	return arena_printf(&t->arena, "refs/overseer/rescue/" STR_FMT "/" STR_FMT,
			STR_ARG(as->worker), STR_ARG(id));
}

static void perform_harvest(struct task *t, const struct assignment *as)
{
	str message = arena_printf(&t->arena,
			"Keep what " STR_FMT " left uncommitted\n\nTask " STR_FMT ".\n",
			STR_ARG(as->agent), STR_ARG(as->node_id));

	struct git_harvest spec = {
		.path = worktree(t, as),
		.branch = as->branch,
		.target = t->x->o.config->policy.target_branch,
		.base = as->base,
		/* It began with what the run before it left, or an assignment before this one. */
		.since = as->head.n ? as->head : as->node->next.handover,
		.rescue_ref = rescue_ref(t, as, as->run_id),
		.message = message,
	};

	git_harvest(t->x->git, &spec, task_git_done, t);
}

static const struct effect_row effect_rows[EFFECT_KIND_COUNT] = {
	[FX_WORKSPACE] = { perform_workspace, "begin-workspace", "end-workspace", false },
	[FX_RUN_START] = { perform_run_start, "begin-run-start", "end-run-start", false },
	[FX_RUN_STOP] = { perform_run_stop, "begin-run-stop", "end-run-stop", false },
	[FX_SEND] = { perform_send, "begin-send", "end-send", false },
	[FX_PLAN] = { perform_plan, "begin-plan", "end-plan", true },
	[FX_HARVEST] = { perform_harvest, "begin-harvest", "end-harvest", false },
	[FX_CHECK] = { perform_check, "begin-check", "end-check", false },
	[FX_REBASE] = { perform_rebase, "begin-rebase", "end-rebase", false },
	[FX_GATE] = { perform_gate, "begin-gate", "end-gate", false },
	[FX_ACCEPT] = { perform_accept, "begin-accept", "end-accept", false },
	[FX_POST] = { perform_post, "begin-post", "end-post", false },
	[FX_REVERT] = { perform_revert, "begin-revert", "end-revert", false },
	[FX_POOL] = { perform_pool, "begin-pool", "end-pool", true },
	[FX_WORKER] = { perform_worker, "begin-worker", "end-worker", true },
	[FX_NOTIFY] = { perform_notify, "begin-notify", "end-notify", true },
};

void executor_perform(struct executor *x, const struct effect *fx)
{
	const struct assignment *as = state_assignment(engine_state(x->engine), fx->assignment_id);

	if (task_find(x, fx->id))
		return;
	assert(effect_rows[fx->kind].bare || (as && as->node));
	INJECT(effect_rows[fx->kind].begin);
	effect_rows[fx->kind].perform(task_new(x, fx), as);
}

void executor_free(struct executor *x)
{
	if (!x)
		return;
	/* Deliveries that are under way are the next daemon's to ask about. */
	x->closing = true;
	live_runs_done(x);
	list_each (it, &x->tasks) {
		struct task *t = list_entry(it, struct task, link);

		if (t->job)
			job_abandon(t->job);
		if (t->planning)
			planning_cancel(t->planning);
		if (t->pool)
			pool_leave(t->pool);
		if (t->notify)
			notify_cancel(t->notify);
		task_free(t);
	}
	setup_free(x->setup);
	conflict_scan_free(x->conflict_scan);
	checkout_free(x->checkout);
	folder_audit_free(x->folder_audit);
	leftovers_free(x->leftovers);
	git_close(x->git);
	planning_free(x->planning);
	notify_free(x->notifier);
	observe_free(x->observe);
	contain_free(x->contain);
	tmux_free(x->tmux);
	agent_homes_free(x->agent_homes);
	journal_free(x->journal);
	mem_free(x);
}
