/* Stopping a run: what lies in its worktree is kept first, then the driver ends it. */
#include "app/executor_impl.h"

#include "app/driver.h"
#include "app/engine.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "drive/git.h"
#include "sys/inject.h"
#include "sys/loop.h"

/* A run that is to be stopped may be doing harm: it does not go on for longer than this. */
enum { RESCUE_MS = 20 * OV_SECOND };

struct stopping {
	struct task *task;
	str run_id, ref; /* in the task's arena */
	bool stopped;
	struct ov_err err; /* of the stop */
};

/* It may have ended by itself meanwhile, which is as well. */
static void stop_now(struct stopping *s)
{
	struct task *t = s->task;
	struct live_run *lr = map_get(&t->x->runs, s->run_id);

	t->later = loop_source_free(t->later);
	if (s->stopped)
		return;
	s->stopped = true;
	INJECT("before-stop");
	if (lr && lr->driver->stop(lr->run, &s->err) < 0)
		assert(s->err.code);
}

static void waited_enough(void *user)
{
	stop_now(user);
}

/* Whatever came of the rescue, the run can be stopped; the harvest after it keeps its work again. */
static void rescued(void *user, int r, const struct git_result *res, const struct ov_err *err)
{
	struct stopping *s = user;
	struct task *t = s->task;
	str detail = STR("");

	stop_now(s);
	if (r < 0)
		detail = arena_printf(&t->arena,
				"its work could not be kept before it was stopped: %s", err->msg);
	else if (res->commit.n)
		detail = arena_printf(&t->arena, "its work, before it was stopped, is in " STR_FMT,
				STR_ARG(s->ref));
	if (s->err.code)
		outcome_new(t, STR("error"), str_from(s->err.msg));
	else
		outcome_new(t, STR("ok"), detail);
	task_report(t);
}

void perform_run_stop(struct task *t, const struct assignment *as)
{
	struct live_run *lr = map_get(&t->x->runs, as->run_id);
	struct stopping *s;
	struct ov_err err = { 0 };

	if (!lr) {
		/* Not found again yet after a restart, or its end is not written yet. */
		if (as->run && as->run->status != RUN_ENDED) {
			ov_fail(&err, OV_EUNAVAILABLE, "run " STR_FMT " is not in our hands yet",
					STR_ARG(as->run_id));
			fail_later(t, &err);
		} else {
			ok_later(t);
		}
		return;
	}
	s = arena_new(&t->arena, struct stopping);
	s->task = t;
	s->run_id = arena_str(&t->arena, as->run_id);
	s->ref = rescue_ref(t, as, t->effect_id);
	t->later = loop_timer(t->x->o.loop, waited_enough, s);
	loop_timer_in(t->later, RESCUE_MS);
	git_rescue(t->x->git, worktree(t, as), as->base, s->ref,
			STR("Work in progress, before its run was stopped"), rescued, s);
}
