/*
 * The branch that accepted work goes to, where the configuration names none: the one that the
 * checkout is on when the first daemon starts. Later daemons keep to it, wherever the user has
 * gone meanwhile.
 */
#include "app/daemon/daemon_impl.h"
#include "app/engine/engine.h"
#include "app/exec/executor.h"
#include "app/log/log.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "sys/loop/job.h"
#include "sys/loop/loop.h"

enum { GIT_MS = 10000 };

/* A short git command, waited for: only before the daemon serves anyone. */
struct query {
	struct arena *arena;
	bool done, ok;
	str out;
};

static void answered(void *user, const struct job_result *r)
{
	struct query *q = user;

	q->done = true;
	q->ok = r->exit.code == 0 && !r->timed_out;
	q->out = arena_str(q->arena, str_trim(r->out));
}

static int target_ask(struct daemon *d, const char *const *argv, struct query *ret,
		struct ov_err *err)
{
	struct job_spec spec = { .proc = PROC_SPEC_INIT, .timeout_ms = GIT_MS };
	struct job *job;
	int r;

	*ret = (struct query){ .arena = &d->arena };
	spec.proc.argv = argv;
	r = job_start(d->loop, &spec, answered, ret, &job, err);
	while (r == 0 && !ret->done)
		(void)loop_step(d->loop, -1);
	return r;
}

/* Does the branch that earlier daemons brought work to still exist? */
static int former(struct daemon *d, str branch, bool *ret, struct ov_err *err)
{
	str ref = arena_printf(&d->arena, "refs/heads/" STR_FMT, STR_ARG(branch));
	const char *const argv[] = { "git", "-C", d->o->repo, "rev-parse", "-q", "--verify", ref.p,
		NULL };
	struct query q;
	int r = target_ask(d, argv, &q, err);

	if (r == 0)
		*ret = q.ok;
	return r;
}

int daemon_choose_target(struct daemon *d, struct ov_err *err)
{
	const char *const argv[] = { "git", "-C", d->o->repo, "symbolic-ref", "--short", "-q",
		"HEAD", NULL };
	str before = engine_state(d->engine)->target;
	bool exists = false;
	struct query q;
	int r = before.n ? former(d, before, &exists, err) : 0;

	if (r == 0 && !exists)
		r = target_ask(d, argv, &q, err);
	if (r < 0)
		return r;
	if (!exists && (!q.ok || !q.out.n)) {
		ov_fail(err, OV_ESTATE,
				"%s is not on a branch, so there is nowhere to put accepted work",
				d->o->repo);
		return ov_next(err,
				"git switch BRANCH     or     set accept.target in config.toml");
	}
	if (before.n && !exists)
		log_warn("the branch " STR_FMT " is gone: accepted work now goes to " STR_FMT
			 ", which is checked out",
				STR_ARG(before), STR_ARG(q.out));
	d->target_branch = arena_cstr(&d->arena, exists ? before : q.out);
	d->config->policy.target_branch = str_from(d->target_branch);
	executor_set_config(d->executor, d->config);
	return 0;
}
