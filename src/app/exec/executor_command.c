/*
 * The commands that people configure about work: checks, and what comes before and after an accept.
 * Each runs by sh -c. Its processes carry the effect's id in their environment, so that what a
 * killed daemon's command left is ended before it is run again.
 */
#include "app/exec/executor_command.h"

#include <unistd.h>

#include "app/exec/executor_check.h"
#include "app/log/journal.h"
#include "app/sandbox/agent_command.h"
#include "app/sandbox/agent_homes.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "core/config/command_env.h"
#include "core/text/redact.h"
#include "drive/git/git.h"
#include "drive/worktree/worktree.h"
#include "sys/host/clock.h"
#include "sys/host/inject.h"
#include "sys/loop/job.h"
#include "sys/proc/proc.h"

/* In the environment of such a command and of all that it starts: the effect's id. */
#define COMMAND_ENV "OVERSEER_CHECK"

enum { COMMAND_TAIL_BYTES = 3000, COMMAND_VARIABLES = 8 };

/* Whatever the command left is not the agent's work: it must not be harvested with the next run. */
static void restored(void *user, int r, const struct git_result *res _unused_,
		const struct ov_err *err)
{
	struct task *t = user;

	if (r < 0)
		outcome_plain(t, ENDED_ERROR, str_from(err->msg));
	task_report(t);
}

/*
 * A command outlives a daemon that is killed, and may leave servers behind: whoever still writes
 * into the worktree would spoil the next one, or what it is to be restored to.
 */
static bool sweep(struct task *t)
{
	struct ov_err err = { 0 };
	size_t killed;

	if (proc_sweep_env(STR(COMMAND_ENV), t->effect_id, &killed, &err) == 0)
		return true;
	fail_later(t, &err);
	return false;
}

static void clear_worktree(struct task *t, git_done_fn *then)
{
	if (sweep(t))
		git_restore(t->x->git, t->command.cwd, t->command.restore_ref, then, t);
}

static str how_it_ended(struct task *t, const struct job_result *r)
{
	if (r->timed_out)
		return arena_printf(&t->arena, "it took longer than %s", t->command.timeout_option);
	if (r->exit.signal)
		return arena_printf(&t->arena, "ended by signal %d", r->exit.signal);
	return arena_printf(&t->arena, "exit status %d", r->exit.code);
}

/* Why it failed, with the end of its output. */
static str failure(struct task *t, str how, str tail)
{
	str gone = t->command.moved_out;

	if (gone.n)
		gone = arena_printf(&t->arena, "\n(It ran without this: " STR_FMT ".)",
				STR_ARG(gone));
	return arena_printf(&t->arena, STR_FMT "\n" STR_FMT STR_FMT STR_FMT, STR_ARG(how),
			STR_ARG(tail), STR_ARG(gone),
			STR_ARG(agent_command_hint(&t->arena, t->command.fenced, tail)));
}

static void command_done(void *user, const struct job_result *r)
{
	struct task *t = user;
	const struct task_command *c = &t->command;
	/* Before it is cut: what is left of a secret would not be known for one. */
	str out = redact(&t->arena, r->out), tail, how = how_it_ended(t, r);
	bool passed = !r->timed_out && !r->exit.signal && r->exit.code == 0;
	struct out_command told = { .exit_code = r->timed_out || r->exit.signal ? 0
										: r->exit.code };

	tail = str_sub(out, out.n > COMMAND_TAIL_BYTES ? out.n - COMMAND_TAIL_BYTES : 0,
			COMMAND_TAIL_BYTES);
	t->job = NULL;
	if (c->journal)
		journal_write(t->x->journal, c->journal, c->worker,
				arena_printf(&t->arena, STR_FMT ": " STR_FMT, STR_ARG(c->subject),
						STR_ARG(how)),
				out);
	/* Before the worktree is cleared: its reports lie there. */
	if (c->tests)
		check_evidence(t, &told, out, passed);
	outcome_set(t,
			&(struct outcome){ .is = passed ? ENDED_OK : ENDED_FAILED,
					.detail = passed ? arena_printf(&t->arena, "the %s passed",
									   c->name)
							 : failure(t, how, tail),
					.command = &told });
	INJECT(c->points[2]);
	/*
	 * After an accept it may be meant to leave something running, and the checkout is
	 * the user's.
	 */
	if (c->restore_ref.n)
		clear_worktree(t, restored);
	else
		task_report(t);
}

/*
 * Ours come last, and ours is the last word: what finds its processes again is in the environment.
 */
static const char *const *own_env(struct task *t)
{
	const char **own = arena_array(&t->arena, const char *, COMMAND_VARIABLES + 2);

	for (size_t i = 0; i < t->command.env_n; i++)
		own[i] = t->command.env[i];
	own[t->command.env_n] =
			arena_printf(&t->arena, COMMAND_ENV "=" STR_FMT, STR_ARG(t->effect_id)).p;
	return own;
}

/*
 * Where an agent's work is run, it is run in that agent's sandbox; the user's own command is not.
 */
static int furnish(struct task *t, struct proc_spec *ret, struct ov_err *err)
{
	struct task_command *c = &t->command;
	const struct executor *x = t->x;
	const struct agent_command_ask ask = { .config = x->o.config,
		.contain = x->contain,
		.shim = x->o.shim,
		.agent = c->agent,
		.home = c->home,
		.store = x->o.dir,
		.git_common = git_common_dir(x->git),
		.worktree = c->cwd.p,
		.text = c->text };
	const char **argv = arena_array(&t->arena, const char *, 4);
	struct agent_command made;
	int r;

	ret->cwd = c->cwd.p;
	if (!c->agent.n) {
		argv[0] = "sh";
		argv[1] = "-c";
		argv[2] = arena_printf(&t->arena, "exec 2>&1\n%s", c->text).p;
		ret->argv = argv;
		ret->env = command_env(&t->arena, x->o.config, environ, own_env(t), c->env_n + 1);
		return 0;
	}
	r = agent_command(&t->arena, &ask, &made, err);
	if (r < 0)
		return r;
	c->fenced = made.fenced;
	ret->argv = made.argv;
	ret->env = env_with(&t->arena, made.env, own_env(t), c->env_n + 1);
	return 0;
}

static void command_begin(void *user, int r, const struct git_result *res,
		const struct ov_err *git_err)
{
	struct task *t = user;
	struct job_spec spec = {
		.proc = PROC_SPEC_INIT,
		.keep_tail = true,
		.max_output = t->command.journal ? JOURNAL_BYTES : 0,
		.timeout_ms = t->command.timeout,
	};
	struct ov_err err = { 0 };

	if (res)
		t->command.moved_out = arena_str(&t->arena, res->detail);
	if (r < 0) {
		outcome_plain(t, ENDED_ERROR, str_from(git_err->msg));
		task_report(t);
		return;
	}
	if (furnish(t, &spec.proc, &err) < 0) {
		fail_later(t, &err);
		return;
	}
	t->command.started_at = clock_file();
	INJECT(t->command.points[0]);
	if (job_start(t->x->o.loop, &spec, command_done, t, &t->job, &err) < 0)
		fail_later(t, &err);
	INJECT(t->command.points[1]);
}

static void command_run(struct task *t, str command)
{
	if (!command.n) {
		ok_later(t);
		return;
	}
	t->command.text = arena_cstr(&t->arena, command);
	if (t->command.restore_ref.n)
		clear_worktree(t, command_begin);
	else if (sweep(t))
		command_begin(t, 0, NULL, NULL);
}

/* It runs what this agent wrote. The assignment may be over before git is through. */
static void of_agent(struct task *t, const struct assignment *as)
{
	t->command.agent = arena_str(&t->arena, as->agent);
	t->command.home = arena_str(&t->arena, agent_homes_name(as));
}

/* On the harvested commit, also when an earlier daemon died during the same check. */
void perform_check(struct task *t, const struct assignment *as)
{
	const struct config *c = t->x->o.config;

	t->command = (struct task_command){ .name = "check command",
		.cwd = worktree(t, as),
		.restore_ref = rescue_ref(t, as, t->effect_id),
		.timeout = c->workspace_check_timeout,
		.timeout_option = "workspace.check_timeout",
		.points = { "before-check", "during-check", "after-check" },
		.tests = true };
	of_agent(t, as);
	command_run(t,
			as->node->def.check_command.n ? as->node->def.check_command
						      : c->policy.check_command);
}

static void put_variable(struct task *t, const char *name, str v)
{
	assert(t->command.env_n < COMMAND_VARIABLES);
	if (!t->command.env)
		t->command.env = arena_array(&t->arena, const char *, COMMAND_VARIABLES);
	t->command.env[t->command.env_n++] =
			arena_printf(&t->arena, "%s=" STR_FMT, name, STR_ARG(v)).p;
}

static void describe(struct task *t, const struct assignment *as, str commit)
{
	t->command.worker = arena_str(&t->arena, as->worker);
	t->command.subject = arena_printf(&t->arena, STR_FMT " " STR_FMT, STR_ARG(as->node->key),
			STR_ARG(str_sub(commit, 0, 12)));
	put_variable(t, "OVERSEER_REPO", str_from(t->x->o.repo));
	put_variable(t, "OVERSEER_WORKER", as->worker);
	put_variable(t, "OVERSEER_NODE", as->node_id);
	put_variable(t, "OVERSEER_GOAL", as->goal_id);
	put_variable(t, "OVERSEER_COMMIT", commit);
	put_variable(t, "OVERSEER_TARGET", t->x->o.config->policy.target_branch);
}

/* In the worktree, which stands on what is to become the target. */
void perform_gate(struct task *t, const struct assignment *as)
{
	struct accept_commands c = policy_accept(&t->x->o.config->policy, as->node->goal);

	t->command = (struct task_command){ .name = "pre_accept command",
		.cwd = worktree(t, as),
		.restore_ref = rescue_ref(t, as, t->effect_id),
		.timeout = c.pre_timeout,
		.timeout_option = "pre_accept_timeout",
		.journal = "pre_accept",
		.points = { "before-gate", "during-gate", "after-gate" } };
	describe(t, as, as->candidate);
	of_agent(t, as);
	command_run(t, c.pre);
}

/* In the repository. */
void perform_post(struct task *t, const struct assignment *as)
{
	struct accept_commands c = policy_accept(&t->x->o.config->policy, as->node->goal);

	t->command = (struct task_command){ .name = "post_accept command",
		.cwd = str_from(t->x->o.repo),
		.timeout = c.post_timeout,
		.timeout_option = "post_accept_timeout",
		.journal = "post_accept",
		.points = { "before-post", "during-post", "after-post" } };
	describe(t, as, as->node->work.commit);
	command_run(t, c.post);
}
