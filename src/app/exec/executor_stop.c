/*
 * Stopping a run: what lies in its worktree is kept first, then the driver ends it. A run in a
 * sandbox is held meanwhile: it could exchange folders for links under the eyes of git, which would
 * keep files that the sandbox hides from it. One that cannot be held is ended at once; the harvest
 * then keeps its work.
 */
#include "app/exec/executor_impl.h"

#include "app/agents/driver.h"
#include "app/agents/run_note.h"
#include "app/engine/engine.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "drive/git/git.h"
#include "drive/run/run.h"
#include "drive/worktree/worktree.h"
#include "sys/host/inject.h"
#include "sys/loop/loop.h"

/* A run that is to be stopped may be doing harm: it does not go on for longer than this. */
enum { RESCUE_MS = 20 * OV_SECOND };

struct stopping {
	struct task *task;
	str run_id, ref, worktree, base; /* in the task's arena */
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

static void report(struct stopping *s, str detail)
{
	if (s->err.code)
		outcome_plain(s->task, ENDED_ERROR, str_from(s->err.msg));
	else
		outcome_plain(s->task, ENDED_OK, detail);
	task_report(s->task);
}

/*
 * Whatever came of the rescue, the run can be stopped; the harvest after it keeps its work again.
 */
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
	report(s, detail);
}

static void rescue(struct stopping *s)
{
	git_rescue(s->task->x->git, s->worktree, s->base, s->ref,
			STR("Work in progress, before its run was stopped"), rescued, s);
}

static void held(void *user, int code, const struct ov_err *err _unused_)
{
	struct stopping *s = user;

	if (s->task->x->closing)
		return;
	if (code == 0 && !s->stopped) {
		rescue(s);
		return;
	}
	stop_now(s);
	report(s, STR(""));
}

static bool is_sandboxed(const struct live_run *lr)
{
	const char *level = run_note_read(lr->dir).sandbox;

	return level && *level && strcmp(level, "none") != 0;
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
	s->worktree = arena_str(&t->arena, worktree(t, as));
	s->base = arena_str(&t->arena, as->base);
	t->later = loop_timer(t->x->o.loop, waited_enough, s);
	loop_timer_in(t->later, RESCUE_MS);
	if (!is_sandboxed(lr)) {
		rescue(s);
	} else if (run_freeze(lr->driver->handle(lr->run), true, held, s, NULL) < 0) {
		stop_now(s);
		if (s->err.code)
			fail_later(t, &s->err);
		else
			ok_later(t);
	}
}
