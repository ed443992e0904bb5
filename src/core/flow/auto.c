/*
 * Auto mode: switched on and off by the daemon that was started for it; the pool's answers become
 * tasks of the standing goal, each exactly once, since the answer and the end of the question are
 * one batch of events.
 */
#include "core/flow/auto.h"
#include "core/capacity/auto_mode.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/decide/ask.h"
#include "core/decide/move.h"
#include "core/flow/flow.h"
#include "core/flow/review.h"
#include "core/inbox/inbox.h"
#include "core/plan/pool.h"
#include "core/text/redact.h"
#include "core/work/standing.h"
#include "data/message/vital.h"

enum { SHOWN_BYTES = 2000, LINE_BYTES = 200 }; /* of an answer that a person has to judge */

static void close_kind(struct decide_ctx *cx, enum ask ask, str answer)
{
	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status == ESC_OPEN && x->ask == ask)
			escalation_close(cx, x, ESC_ANSWERED, answer);
	}
}

static void tell(struct decide_ctx *cx, enum ask ask, str question)
{
	escalate_about(cx, (struct subject){ 0 },
			&(struct escalation_spec){ .ask = ask, .question = question });
}

/* There is nothing to switch. A person who switches it on again wants it to try again now. */
static bool is_as_asked(const struct decide_ctx *cx, bool person)
{
	const struct auto_mode *m = &cx->state->automatic;

	if (!m->on)
		return !person;
	return m->concurrency == cx->policy->auto_concurrency &&
			!(person && (m->failed_in_a_row || m->failures));
}

/*
 * A person who switches it on ends a pause, and is the only way to switch it on again in the
 * same daemon.
 */
int decide_auto_start(struct decide_ctx *cx, const struct msg_auto_start *p, value **ret_result,
		struct ov_err *err)
{
	const struct auto_mode *m = &cx->state->automatic;
	str again = STR("auto mode was switched on again");
	struct ev_auto_started *e;

	(void)ret_result, (void)err;
	if (p->person)
		auto_pause_close(cx, again);
	if (str_eq(m->instance, p->instance) && is_as_asked(cx, p->person))
		return 0;
	e = emit_auto_started(cx, (struct subject){ 0 });
	e->instance = p->instance;
	e->concurrency = cx->policy->auto_concurrency;
	e->recount = p->person;
	close_kind(cx, ASK_AUTO_STOPPED, again);
	/* Whoever switches it on after a failure has mended that, or wants to know. */
	if (m->failed)
		accept_again(cx, again);
	return 0;
}

void auto_switch_off(struct decide_ctx *cx, str reason)
{
	if (cx->state->automatic.on)
		emit_auto_stopped(cx, (struct subject){ 0 })->reason = reason;
}

int decide_auto_stop(struct decide_ctx *cx, const struct msg_auto_stop *p, value **ret_result,
		struct ov_err *err)
{
	struct ev_auto_stopped *e;

	(void)ret_result, (void)err;
	if (p->person)
		auto_pause_close(cx, STR("auto mode was switched off"));
	/* A person who does not want it back says so while it is off. */
	if (!cx->state->automatic.on && !(p->person && cx->state->automatic.interrupted))
		return 0;
	e = emit_auto_stopped(cx, (struct subject){ 0 });
	e->reason = p->reason;
	e->interrupted = !p->person;
	return 0;
}

void auto_fail(struct decide_ctx *cx, struct msg_daemon_fail f)
{
	str reason = f.text;
	struct ev_auto_stopped *e;

	if (!cx->state->automatic.on)
		return;
	for (size_t i = 0; i < cx->out->n; i++)
		if (cx->out->p[i]->kind == EV_AUTO_STOPPED)
			return;
	e = emit_auto_stopped(cx, (struct subject){ 0 });
	e->reason = reason;
	e->failed = true;
	f.cause = STR("auto");
	f.instance = cx->state->automatic.instance;
	f.exit_status = DAEMON_AUTO_FAILED;
	hard_fail(cx, &f);
}

void tick_pool(struct decide_ctx *cx, const struct decision *d)
{
	struct ev_effect_intended *e = effect_intend(cx, FX_POOL, make_id(cx, "X_"),
			(struct subject){ 0 });

	e->worker = d->worker;
	MAYBE_SET(e, purpose, cx->state->automatic.instance);
}

/* Asked in vain so often in a row: the wait before the next question. */
static ov_time ask_again_at(const struct decide_ctx *cx, int64_t before)
{
	return cx->now + flow_doubled(cx->policy->pool_wait, before, cx->policy->pool_wait_max);
}

static struct ev_auto_pool *pool_answered(struct decide_ctx *cx, const struct effect *fx,
		const struct outcome *o, const char *answer, str detail, ov_time ask_at)
{
	struct ev_auto_pool *e = emit_auto_pool(cx, (struct subject){ 0 });

	e->effect = fx->id;
	e->answer = str_from(answer);
	e->detail = detail;
	e->exit_code = o->pool->has_exit_code ? o->pool->exit_code : -1;
	e->ask_at_ms = ask_at;
	return e;
}

/* It was given up and nobody has answered yet: running it again would end the same way. */
static bool task_repeated(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o)
{
	str text = redact(cx->arena, str_trim(o->pool->text));
	const struct escalation *x = auto_open_entry(cx->state, text);

	if (!x)
		return false;
	pool_answered(cx, fx, o, "repeated",
			arena_printf(cx->arena,
					"the same task as in #%lld, which is open; given out %lld "
					"times since",
					(long long)x->number, (long long)x->repeats + 1),
			ask_again_at(cx, cx->state->automatic.empty))
			->escalation = x->number;
	return true;
}

/* It is longer than any task may be: nothing of it is run, and a person sees how it begins. */
static void task_refused(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o)
{
	const struct escalation *x = state_asked(cx->state, ASK_REFUSED, STR(""));
	struct ev_auto_pool *e;

	e = pool_answered(cx, fx, o, "refused", o->detail,
			ask_again_at(cx, cx->state->automatic.empty));
	if (x) {
		e->escalation = x->number;
		return;
	}
	escalate_about(cx, (struct subject){ 0 },
			&(struct escalation_spec){ .ask = ASK_REFUSED,
					.question = arena_printf(cx->arena,
							"a task of the pool was not taken: " STR_FMT
							". The pool is asked for others. It "
							"begins: " STR_FMT,
							STR_ARG(o->detail),
							STR_ARG(utf8_truncate(
									redact(cx->arena,
											o->pool->text),
									SHOWN_BYTES))) });
}

static void task_given(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o)
{
	struct standing_task task = { .text = o->pool->text,
		.claim = fx->id,
		.reason = arena_printf(cx->arena, "the pool gave it to " STR_FMT,
				STR_ARG(fx->worker)) };

	pool_answered(cx, fx, o, "task", standing_add(cx, STANDING_AUTO, &task), 0);
}

/* A retry, or, when there were enough of them, the longest wait. */
static ov_time failed_again_at(const struct decide_ctx *cx)
{
	const struct policy *p = cx->policy;
	int64_t before = cx->state->automatic.failures;

	return cx->now +
			(before < p->pool_retries ? flow_doubled(p->pool_retry_wait, before,
								    pool_longest_wait(p))
						  : p->pool_wait_max);
}

static str pause_question(struct decide_ctx *cx, str reason, const struct outcome *o)
{
	str output = str_trim(redact(cx->arena, o->pool->output));

	return arena_printf(cx->arena,
			"auto mode is paused: " STR_FMT
			" (%lld times in a row). No task is asked for; those that were given out "
			"are finished. Answer \"resume\" when the command works again, or "
			"\"stop\"\ncommand: " STR_FMT "%s" STR_FMT,
			STR_ARG(utf8_truncate(reason, SHOWN_BYTES / 2)),
			(long long)cx->state->automatic.failures + 1,
			STR_ARG(utf8_truncate(o->pool->command, SHOWN_BYTES / 4)),
			output.n ? "\nits last output: " : "",
			STR_ARG(utf8_truncate(output, SHOWN_BYTES / 2)));
}

/* How it ended, without what it wrote, and the last line of that. */
static str pool_trouble(struct decide_ctx *cx, const struct outcome *o)
{
	str output = str_trim(redact(cx->arena, o->pool->output)),
	    how = str_sub(o->detail, 0, str_find_byte(o->detail, '\n')), last = output;

	for (size_t i = 0; i < output.n; i++)
		if (output.p[i] == '\n')
			last = str_sub(output, i + 1, output.n);
	if (!last.n)
		return how;
	return arena_printf(cx->arena, STR_FMT ": " STR_FMT,
			STR_ARG(str_sub(how, 0, str_find_byte(how, ':'))),
			STR_ARG(utf8_truncate(last, LINE_BYTES)));
}

static void pool_failed(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o)
{
	str reason = arena_printf(cx->arena, "the task pool's command failed: " STR_FMT,
			STR_ARG(o->detail));

	MAYBE_SET(pool_answered(cx, fx, o, "failed", o->detail, failed_again_at(cx)), trouble,
			pool_trouble(cx, o));
	if (cx->state->automatic.failures < cx->policy->pool_retries &&
			!flow_cannot_run(o->pool->exit_code))
		return;
	if (cx->policy->pool_on_failure == POOL_FAIL)
		auto_fail(cx,
				(struct msg_daemon_fail){ .text = reason,
						.worker = fx->worker,
						.command = o->pool->command,
						.output = o->pool->output });
	else if (cx->policy->pool_on_failure == POOL_PAUSE)
		auto_pause_asking(cx, PAUSE_POOL, reason, pause_question(cx, reason, o));
	else if (!state_asked(cx->state, ASK_POOL, STR("")))
		tell(cx, ASK_POOL,
				arena_printf(cx->arena,
						STR_FMT ". It is asked again and again "
							"(auto.task_pool_on_failure = \"warn\")",
						STR_ARG(reason)));
}

/*
 * It was ended half-way, perhaps after it gave out a task: taking what it wrote for one could be
 * wrong, and throwing it away could lose it.
 */
static void pool_uncertain(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o)
{
	pool_answered(cx, fx, o, "uncertain", STR("it was ended while it answered"),
			ask_again_at(cx, 0));
	tell(cx, ASK_POOL_UNCERTAIN,
			arena_printf(cx->arena,
					"the task pool's command was ended while it answered, so "
					"nobody knows whether this is a task that it gave out "
					"(question " STR_FMT "): " STR_FMT,
					STR_ARG(fx->id),
					STR_ARG(utf8_truncate(o->pool->text, SHOWN_BYTES))));
}

void pool_ended(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o)
{
	switch (o->is) {
	case ENDED_TASK:
		if (!task_repeated(cx, fx, o))
			task_given(cx, fx, o);
		close_kind(cx, ASK_POOL, STR("it gives out tasks again"));
		break;
	case ENDED_REFUSED: task_refused(cx, fx, o); break;
	case ENDED_NONE:
		pool_answered(cx, fx, o, "none", o->detail,
				ask_again_at(cx, cx->state->automatic.empty));
		close_kind(cx, ASK_POOL, STR("it answers again"));
		break;
	case ENDED_UNCERTAIN: pool_uncertain(cx, fx, o); break;
	default: pool_failed(cx, fx, o); break;
	}
}
