/* Asking the pool for the next task, and what auto mode writes into its logs. */
#include "app/exec/executor_impl.h"

#include <unistd.h>

#include "app/engine/engine.h"
#include "app/log/journal.h"
#include "app/plan/pool.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/config/command_env.h"
#include "core/event/event.h"
#include "core/explain/explain.h"
#include "core/state/state.h"
#include "core/text/redact.h"
#include "core/view/view.h"
#include "core/work/standing.h"

static void note_answer(struct task *t, const struct pool_end *end, enum effect_outcome answer,
		str errors)
{
	struct arena *a = &t->arena;
	const struct effect *fx = state_effect(engine_state(t->x->engine), t->effect_id);
	str how = end->timed_out     ? STR("timed out")
			: end->known ? arena_printf(a, "exit status %d", end->code)
				     : STR("cut off");

	journal_write(t->x->journal, "task_pool", fx ? fx->worker : STR(""),
			arena_printf(a, "%s, " STR_FMT ": " STR_FMT,
					status_name(&effect_outcomes, (int)answer), STR_ARG(how),
					STR_ARG(t->effect_id)),
			arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(end->output),
					end->output.n && errors.n &&
									!str_ends(end->output,
											STR("\n"))
							? "\n"
							: "",
					STR_ARG(errors)));
}

enum { CONTEXT_BYTES = 2000 };

/* What whoever has to mend it may want to see: the command, and the end of all that it wrote. */
static void put_context(struct task *t, struct out_pool *ret, const struct pool_end *end,
		str errors)
{
	struct arena *a = &t->arena;
	str output = errors.n ? errors : end->output;

	if (output.n > CONTEXT_BYTES)
		output = str_sub(output, output.n - CONTEXT_BYTES, CONTEXT_BYTES);
	ret->command = redact(a, t->x->o.config->task_pool_command);
	ret->output = redact(a, utf8_clean(a, output));
}

static void answered(void *user, const struct pool_end *end, str errors)
{
	struct task *t = user;
	struct arena *a = &t->arena;
	struct out_pool pool = { .has_exit_code = true, .exit_code = end->known ? end->code : -1 };
	str text;
	enum effect_outcome answer = pool_judge(a, end, &text);
	bool is_text = answer == ENDED_TASK || answer == ENDED_UNCERTAIN;

	t->pool = NULL;
	note_answer(t, end, answer, errors);
	/* Before it is cut: what is left of a secret would not be known for one. */
	if (is_text)
		pool.text = text;
	else
		text = redact(a, text);
	if (answer == ENDED_REFUSED)
		pool.text = utf8_clean(a, str_sub(str_trim(end->output), 0, CONTEXT_BYTES));
	if (answer == ENDED_FAILED)
		put_context(t, &pool, end, errors);
	outcome_set(t,
			&(struct outcome){ .is = answer,
					.detail = is_text ? STR("") : text,
					.pool = &pool });
	task_report(t);
}

void perform_pool(struct task *t, const struct assignment *none _unused_)
{
	struct executor *x = t->x;
	const struct effect *fx = state_effect(engine_state(x->engine), t->effect_id);
	struct pool_spec spec = { .loop = x->o.loop,
		.dir = x->o.dir,
		.repo = x->o.repo,
		.question = fx->id,
		.worker = fx->worker,
		.command = x->o.config->task_pool_command,
		.env = command_env(&t->arena, x->o.config, environ, NULL, 0),
		.asked_at = fx->created_at,
		.timeout = x->o.config->task_pool_timeout };
	struct ov_err err = { 0 };

	if (pool_ask(&spec, answered, t, &t->pool, &err) < 0)
		fail_later(t, &err);
}

/* What of it is about auto mode: its own events, and how its tasks and workers fare. */
static bool is_about_auto(const struct state *s, const struct event *e)
{
	const struct goal *g;
	const struct worker *w;

	switch (e->kind) {
	case EV_AUTO_STARTED:
	case EV_AUTO_STOPPED:
	case EV_AUTO_POOL:
	case EV_AUTO_PAUSED:
	case EV_AUTO_RESUMED: return true;
	case EV_NODE_ADDED:
	case EV_NODE_STATUS:
	case EV_NODE_FAILED:
	case EV_NODE_ACCEPTED:
	case EV_NODE_REVERTED:
		g = state_goal(s, e->goal);
		return g && str_is(g->standing, STANDING_AUTO);
	case EV_WORKER_STATUS:
		w = state_worker(s, as_worker_status(e)->worker);
		return w && w->kind == WORKER_AUTO;
	default: return false;
	}
}

static str worker_of(const struct state *s, const struct event *e)
{
	const struct assignment *as = e->assignment.n ? state_assignment(s, e->assignment) : NULL;

	if (e->kind == EV_WORKER_STATUS)
		return as_worker_status(e)->worker;
	if (e->kind == EV_NODE_ADDED && as_node_added(e)->worker.n)
		return as_node_added(e)->worker;
	return as ? as->worker : STR("");
}

void executor_auto_published(struct executor *x, const struct event *e)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const struct state *s = engine_state(x->engine);

	if (is_about_auto(s, e))
		journal_write(x->journal, "auto", worker_of(s, e),
				arena_printf(&a, "%s" STR_FMT ": " STR_FMT, event_name(e->kind),
						STR_ARG(e->node.n ? arena_printf(&a,
										    " " STR_FMT
										    "/" STR_FMT,
										    STR_ARG(e->goal),
										    STR_ARG(e->node))
								  : STR("")),
						STR_ARG(explain_event(&a, e))),
				STR(""));
	/* The answer is in the store now. */
	if (e->kind == EV_AUTO_POOL)
		pool_forget(x->o.dir, as_auto_pool(e)->effect);
}
