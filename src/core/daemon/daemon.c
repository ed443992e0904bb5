/* What the daemon has to say about itself. */
#include "core/daemon/daemon.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/decide/ask.h"
#include "core/decide/dispatch.h"
#include "core/life/session.h"
#include "core/text/redact.h"

enum { OUTPUT_BYTES = 2000, QUESTION_BYTES = 1500 }; /* of what a person is told */

/* Why a daemon cannot go on: what a person is told, and under which kind. */
static const struct {
	const char *cause;
	enum ask ask;
	const char *what, *after, *next;
} hard_rules[] = {
	{ "auto", ASK_AUTO_STOPPED, "auto mode stopped",
			("agents at work are asked to stop and go on where they were with the "
			 "next daemon, and all worktrees stay"),
			"overseer up --auto" },
	/* A daemon that comes up has a store: that closes it. */
	{ "store", ASK_DAEMON, "the daemon lost its store",
			"all that it held was saved beside its place, and agents at work go on",
			"overseer up" },
};

int decide_daemon_start(struct decide_ctx *cx, const struct msg_daemon_start *p, value **ret_result,
		struct ov_err *err)
{
	struct ev_daemon_started *e;

	(void)ret_result, (void)err;
	/*
	 * What happened to the clock since the last one comes before everything that is dated
	 * by it.
	 */
	clock_found(cx, p);
	e = emit_daemon_started(cx, (struct subject){ 0 });
	e->instance = p->instance;
	e->version = p->version;
	e->target = p->target;
	clock_note(e, p);
	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->status == ESC_OPEN && x->ask == ASK_DAEMON)
			escalation_close(cx, x, ESC_ANSWERED, STR("a daemon is up again"));
	}
	return 0;
}

int decide_daemon_stop(struct decide_ctx *cx, const struct msg_daemon_stop *p, value **ret_result,
		struct ov_err *err)
{
	struct ev_daemon_stopped *e = emit_daemon_stopped(cx, (struct subject){ 0 });

	(void)ret_result, (void)err;
	e->instance = p->instance;
	e->reason = p->reason;
	return 0;
}

/* The newest of an output is its end. */
static str output_end(struct decide_ctx *cx, str output)
{
	str text = redact(cx->arena, utf8_clean(cx->arena, output));

	return text.n > OUTPUT_BYTES
			? utf8_clean(cx->arena, str_sub(text, text.n - OUTPUT_BYTES, OUTPUT_BYTES))
			: text;
}

static str with(struct decide_ctx *cx, str text, const char *what, str detail)
{
	return detail.n ? arena_printf(cx->arena, STR_FMT "\n%s: " STR_FMT, STR_ARG(text), what,
					  STR_ARG(detail))
			: text;
}

/* What to do comes before what may be long, and may have to be cut. */
static str hard_question(struct decide_ctx *cx, const struct msg_daemon_fail *f, size_t rule,
		str output)
{
	str q = arena_printf(cx->arena,
			"%s: " STR_FMT ". The daemon ends. Nothing is lost: %s. When it is mended: "
			"%s",
			hard_rules[rule].what,
			STR_ARG(utf8_truncate(redact(cx->arena, f->text), QUESTION_BYTES)),
			hard_rules[rule].after, hard_rules[rule].next);

	q = with(cx, q, "worker", f->worker);
	q = with(cx, q, "command", f->command);
	return with(cx, q, "its last output", output);
}

static size_t hard_rule(str cause)
{
	size_t i = 0;

	while (i < ARRAY_LEN(hard_rules) && !str_is(cause, hard_rules[i].cause))
		i++;
	return i;
}

void hard_fail(struct decide_ctx *cx, const struct msg_daemon_fail *f)
{
	size_t rule = hard_rule(f->cause);
	str output = output_end(cx, f->output);
	struct ev_daemon_failed *e = emit_daemon_failed(cx, (struct subject){ 0 });

	assert(rule < ARRAY_LEN(hard_rules));
	e->instance = f->instance;
	e->cause = f->cause;
	e->text = f->text;
	e->exit_status = f->exit_status;
	e->worker = f->worker;
	e->command = f->command;
	e->output = output;
	escalate_about(cx, (struct subject){ 0 },
			&(struct escalation_spec){ .ask = hard_rules[rule].ask,
					.question = hard_question(cx, f, rule, output) });
}

int decide_daemon_fail(struct decide_ctx *cx, const struct msg_daemon_fail *p,
		value **ret_result _unused_, struct ov_err *err)
{
	if (hard_rule(p->cause) == ARRAY_LEN(hard_rules) || !p->instance.n)
		return ov_fail(err, OV_EINVALID,
				"\"" STR_FMT "\" is no cause for which a daemon ends",
				STR_ARG(p->cause));
	if (!cx->state->failing.n)
		hard_fail(cx, p);
	return 0;
}

void tick_halt(struct decide_ctx *cx, const struct decision *d)
{
	session_interrupt(cx, d->assignment, "resume",
			STR("You were interrupted through no fault of yours: your supervisor had "
			    "to end, and is there again. Look at what you have, and go on where "
			    "you were."),
			d->why);
}

static bool was_told(const struct decide_ctx *cx, struct subject s, str question)
{
	for (size_t i = 0; i < cx->state->escalations.n; i++) {
		const struct escalation *x = cx->state->escalations.p[i];

		if (x->ask == ASK_INTERNAL && str_eq(x->goal_id, s.goal) &&
				str_eq(x->node_id, s.node) && str_starts(x->question, question))
			return true;
	}
	return false;
}

/*
 * A bug of ours: what is about one thing must not hold up the others, and a person hears of
 * it once.
 */
int decide_daemon_contradicted(struct decide_ctx *cx, const struct msg_daemon_contradicted *p,
		value **ret_result, struct ov_err *err)
{
	const struct goal *g = state_goal(cx->state, p->goal);
	const struct node *n = g ? state_node(cx->state, g->id, p->node) : NULL;
	struct subject s = n ? about_node(n) : g ? about_goal(g) : (struct subject){ 0 };
	str question = arena_printf(cx->arena,
			"\"" STR_FMT "\" contradicts what is known, and was not done",
			STR_ARG(p->what));

	(void)ret_result, (void)err;
	if (was_told(cx, s, question))
		return 0;
	question = arena_printf(cx->arena,
			STR_FMT ": " STR_FMT
				". This is a bug of Overseer. Everything else goes on; this is "
				"tried again when something changes about it, or in an hour",
			STR_ARG(question), STR_ARG(p->detail));
	escalate_about(cx, s,
			&(struct escalation_spec){ .ask = ASK_INTERNAL, .question = question });
	return 0;
}
