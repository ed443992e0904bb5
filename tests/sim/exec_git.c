/* Effects that are git's, and the commands that judge a worktree: on the model of git. */
#include "base/err.h"
#include "base/str.h"
#include "tests/sim/exec_impl.h"
#include "tests/sim/simgit.h"
#include "tests/sim/tape.h"

static const char *const git_outcomes[] = {
	[GIT_OK] = "ok",
	[GIT_ALREADY] = "ok",
	[GIT_NO_CHANGES] = "no_changes",
	[GIT_CONFLICT] = "conflict",
	[GIT_DIRTY] = "dirty",
	[GIT_MOVED] = "moved",
	[GIT_REFUSED] = "refused",
};

static int git_workspace(struct exec_task *t, int steps, struct git_result *ret, struct ov_err *err)
{
	struct git_ensure spec = { .path = t->worktree,
		.branch = t->branch,
		.target = t->x->s->config->policy.target_branch,
		.start = t->start,
		.rescue_ref = t->rescue_ref };

	return simgit_ensure(t->x->s->git, &spec, steps, &t->arena, ret, err);
}

static int git_harvest_(struct exec_task *t, int steps, struct git_result *ret, struct ov_err *err)
{
	return simgit_harvest(t->x->s->git, t->worktree, t->base, t->rescue_ref, steps, &t->arena,
			ret, err);
}

static int git_check(struct exec_task *t, int steps, struct git_result *ret, struct ov_err *err)
{
	return simgit_restore(t->x->s->git, t->worktree, t->rescue_ref, steps, &t->arena, ret, err);
}

static int git_accept_(struct exec_task *t, int steps, struct git_result *ret, struct ov_err *err)
{
	struct git_advance spec = { .path = t->worktree,
		.target = t->x->s->config->policy.target_branch,
		.candidate = t->candidate,
		.key = t->key };

	if (!t->candidate.n) {
		ret->outcome = GIT_MOVED;
		return 0;
	}
	return simgit_advance(t->x->s->git, &spec, steps, &t->arena, ret, err);
}

static int git_rebase_(struct exec_task *t, int steps, struct git_result *ret, struct ov_err *err)
{
	struct git_rebase spec = { .path = t->worktree,
		.branch = t->branch,
		.target = t->x->s->config->policy.target_branch,
		.message = STR("work"),
		.key = t->key,
		.rescue_ref = t->rescue_ref };

	return simgit_rebase(t->x->s->git, &spec, steps, &t->arena, ret, err);
}

static int git_revert_(struct exec_task *t, int steps, struct git_result *ret, struct ov_err *err)
{
	struct git_revert spec = { .target = t->x->s->config->policy.target_branch,
		.commit = t->commit,
		.message = STR("taken back"),
		.key = t->key };

	return simgit_revert(t->x->s->git, &spec, steps, &t->arena, ret, err);
}

static int git_worker(struct exec_task *t, int steps, struct git_result *ret, struct ov_err *err)
{
	struct arena *a = &t->arena;
	struct git_pick pick = { .path = t->worktree,
		.target = t->x->s->config->policy.target_branch,
		.message = STR("picked"),
		.key = t->key,
		.rescue_ref = t->rescue_ref };
	struct git_ensure reset = { .path = t->worktree,
		.branch = arena_printf(a, "overseer/" STR_FMT "/" STR_FMT, STR_ARG(t->worker),
				STR_ARG(t->effect_id)),
		.target = pick.target,
		.rescue_ref = t->rescue_ref };

	if (str_is(t->purpose, "pick"))
		return simgit_pick(t->x->s->git, &pick, steps, a, ret, err);
	if (str_is(t->purpose, "rebase"))
		return git_rebase_(t, steps, ret, err);
	if (str_is(t->purpose, "reset"))
		return simgit_ensure(t->x->s->git, &reset, steps, a, ret, err);
	return simgit_remove(t->x->s->git, t->worktree, t->rescue_ref, steps, a, ret, err);
}

static void put_text(struct exec_task *t, value *data, const char *key, str s)
{
	if (s.n)
		value_put(&t->arena, data, key, value_str(&t->arena, s));
}

static void put_texts(struct exec_task *t, value *data, const char *key, const str *list, size_t n)
{
	value *v = value_array(&t->arena);

	for (size_t i = 0; i < n; i++)
		value_push(&t->arena, v, value_str(&t->arena, list[i]));
	if (n)
		value_put(&t->arena, data, key, v);
}

static void tell_git(struct exec_task *t, const struct git_result *res)
{
	struct arena *a = &t->arena;
	value *data = value_object(a);
	bool silent;

	put_text(t, data, "base", res->base);
	put_text(t, data, "head", res->head);
	put_text(t, data, "tree", res->tree);
	put_text(t, data, "commit", res->commit);
	put_text(t, data, "rescue_ref", res->rescue_ref);
	if (t->kind == FX_ACCEPT || t->kind == FX_REBASE || t->kind == FX_REVERT)
		put_text(t, data, "target", t->x->s->config->policy.target_branch);
	value_put(a, data, "commits", value_int(a, res->commits));
	value_put(a, data, "files_changed", value_int(a, res->files_changed));
	put_texts(t, data, "files", res->files, res->files_n);
	if (t->kind == FX_HARVEST)
		put_texts(t, data, "touched", res->files, res->files_n);
	put_texts(t, data, "commit_ids", res->commit_ids, res->commit_ids_n);
	value_put(a, data, "leftovers", value_bool(a, res->leftovers));
	put_texts(t, data, "leftover_files", res->leftover_files, res->leftover_files_n);
	/* Where it moved the target there is no question who did. */
	if (res->outcome == GIT_OK && (t->kind == FX_ACCEPT || t->kind == FX_REVERT) &&
			str_eq(res->commit, simgit_target(t->x->s->git, a, &silent)))
		put_text(t, data, "target_head", res->commit);
	exec_tell(t,
			t->kind == FX_REBASE && res->outcome == GIT_ALREADY
					? "already"
					: git_outcomes[res->outcome],
			res->detail, data);
}

static void tell_gate(struct exec_task *t)
{
	if (simgit_gate_tree(t->x->s->git, t->worktree))
		exec_tell(t, "ok", STR("the gate is open"), NULL);
	else
		exec_tell(t, "failed", STR("exit status 1\nthe tests do not pass"), NULL);
}

/* As app/exec/executor reads what the command printed and the reports that it wrote. */
static void tell_check(struct exec_task *t)
{
	struct arena *a = &t->arena;
	value *data = value_object(a);
	struct machine_check found;

	machine_check(t->x->s->machine, t->worktree, a, &found);
	if (found.tests) {
		value_put(a, data, "tests", value_cstr(a, found.tests));
		value_put(a, data, "tests_format", value_cstr(a, "tap"));
		value_put(a, data, "tests_passed", value_int(a, found.passed));
		value_put(a, data, "tests_failed", value_int(a, found.failed));
		value_put(a, data, "tests_skipped", value_int(a, 0));
	}
	if (found.coverage_centi >= 0) {
		value_put(a, data, "coverage_format", value_cstr(a, "lcov"));
		value_put(a, data, "coverage_centi", value_int(a, found.coverage_centi));
	}
	exec_tell(t, found.passes ? "ok" : "failed", found.text, data);
}

static int (*const acts[EFFECT_KIND_COUNT])(struct exec_task *t, int steps, struct git_result *ret,
		struct ov_err *err) = {
	[FX_WORKSPACE] = git_workspace,
	[FX_HARVEST] = git_harvest_,
	[FX_CHECK] = git_check,
	[FX_ACCEPT] = git_accept_,
	[FX_REBASE] = git_rebase_,
	[FX_GATE] = git_check,
	[FX_REVERT] = git_revert_,
	[FX_WORKER] = git_worker,
};

void exec_git(struct exec_task *t)
{
	struct sim *s = t->x->s;
	struct git_result res = { 0 };
	struct ov_err err = { 0 };
	bool dies = sim_fault(s, FAULT_KILL_ACTION);
	int steps = dies ? (int)sim_below(s, RNG_EXEC, SIMGIT_STEPS_MAX) : SIMGIT_ALL;
	int r;

	if (!dies && sim_fault(s, FAULT_GIT))
		simgit_fail_at(s->git, (int)sim_below(s, RNG_EXEC, 4));
	r = acts[t->kind](t, steps, &res, &err);
	simgit_fail_at(s->git, -1);
	if (dies)
		daemon_kill(t->x->d, "in the middle of an action");
	else if (r < 0)
		exec_tell_error(t, &err);
	else if (t->kind == FX_GATE)
		tell_gate(t);
	else if (t->kind == FX_CHECK)
		tell_check(t);
	else
		tell_git(t, &res);
}

void exec_git_cut(struct exec_task *t)
{
	struct sim *s = t->x->s;
	struct git_result res = { 0 };
	int steps = (int)sim_below(s, RNG_EXEC, SIMGIT_STEPS_MAX);

	if (acts[t->kind] && sim_odds(s, RNG_EXEC, 500))
		(void)acts[t->kind](t, steps, &res, NULL);
}

/* As app/exec/executor_target: who moved the target is told before the step that found it moved. */
void exec_look_at_target(struct sim *s, struct sim_daemon *d)
{
	const struct state *state = engine_state(d->engine);
	str target = s->config->policy.target_branch, known = STR(""), head;
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *v = value_object(&a), *commits = value_array(&a), *c = value_object(&a);
	bool silent;

	if (str_eq(state->target_branch, target))
		known = arena_str(&a, state->target_head);
	head = simgit_target(s->git, &a, &silent);
	if (!head.n || str_eq(head, known))
		return;
	value_put(&a, c, "commit", value_str(&a, head));
	value_push(&a, commits, c);
	value_put(&a, v, "target", value_str(&a, target));
	value_put(&a, v, "from", value_str(&a, known));
	value_put(&a, v, "to", value_str(&a, head));
	value_put(&a, v, "how", value_cstr(&a, silent ? "unknown" : "person"));
	value_put(&a, v, "commits", commits);
	tape_report(d->tape, d->engine, STR("target.report"), v);
}

str exec_accept_key(struct arena *a, str assignment, int64_t reverts)
{
	if (!reverts)
		return arena_str(a, assignment);
	return arena_printf(a, STR_FMT ".%lld", STR_ARG(assignment), (long long)reverts);
}
