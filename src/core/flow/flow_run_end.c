/*
 * What follows from a run that failed, or that changed nothing: most count as a failure of the
 * work. Some do not, by what the agent says kept it from more (trouble_rules): then its session, or
 * a new one, continues at once.
 */
#include "base/arena.h"
#include "base/str.h"
#include "core/flow/flow.h"
#include "core/flow/upkeep.h"
#include "core/life/session.h"

/* What it was not let do may be all that is wrong: who can change that is told what to change. */
static str with_denied(struct decide_ctx *cx, const struct run *r, str text)
{
	if (!r->denied.n)
		return text;
	return arena_printf(cx->arena,
			STR_FMT "; it was denied " STR_FMT " (agents." STR_FMT
				".permission_mode and .tools, and the agent's own settings, allow "
				"tools)",
			STR_ARG(text), STR_ARG(r->denied), STR_ARG(r->agent));
}

static str run_failure(struct decide_ctx *cx, const struct run *r)
{
	const char *trouble = trouble_rules[r->trouble].people;

	if (trouble)
		return arena_printf(cx->arena, "%s%s" STR_FMT, trouble, r->message.n ? ": " : "",
				STR_ARG(r->message));
	if (r->lost)
		return STR("the run was lost: its shim died, nobody knows how the agent ended");
	if (r->signal)
		return arena_printf(cx->arena, "the agent was ended by signal %lld",
				(long long)r->signal);
	if (r->message.n)
		return arena_printf(cx->arena, "the agent failed: " STR_FMT, STR_ARG(r->message));
	return arena_printf(cx->arena, "the agent ended with exit status %lld",
			(long long)r->exit_code);
}

/* What could not even be executed is not the agent's failure, and nobody else would fare better. */
static enum cause run_cause(const struct run *r)
{
	if (r->lost)
		return CAUSE_LOST;
	return r->exit_code < 0 && r->signal == 0 ? CAUSE_START : CAUSE_RUN;
}

/* The same again will not do, and a session that could be to blame was not gone on with. */
static int64_t run_max(const struct policy *p, const struct run *r, enum cause cause)
{
	int64_t most = r->resumed ? 0 : trouble_rules[r->trouble].most;

	return most ? MIN(most, flow_max(p, cause)) : flow_max(p, cause);
}

/* Its branch is not where the run found it. */
static bool changed_something(const struct outcome *o)
{
	const struct assignment *as = o->as;
	str before = as->head.n                     ? as->head
			: as->node->next.handover.n ? as->node->next.handover
						    : as->base,
	    head = o->git->head;

	return head.n && !str_eq(head, before);
}

/* It costs no attempt: of a trouble that says nothing against the work. */
static bool run_continues(struct decide_ctx *cx, const struct outcome *o, str reason, str feedback)
{
	const struct assignment *as = o->as;
	enum trouble_cost cost = trouble_rules[as->run->trouble].cost;
	bool changed = cost == COSTS_UNLESS_CHANGED && changed_something(o);
	struct ev_run_continued *e;

	if (!changed && !(cost == COSTS_UNLESS_RESUMED && as->run->resumed))
		return false;
	e = emit_run_continued(cx, about_assignment(as));
	e->trouble = str_from(trouble_name(as->run->trouble));
	e->reason = reason;
	e->changed = changed;
	flow_move(cx, as, STAGE_START, 0, reason, feedback, NULL);
	return true;
}

void run_failed(struct decide_ctx *cx, const struct outcome *o)
{
	const struct assignment *as = o->as;
	const char *feedback = trouble_rules[as->run->trouble].feedback;
	str failure = with_denied(cx, as->run, run_failure(cx, as->run));
	enum cause cause = run_cause(as->run);

	if (cause == CAUSE_LOST && upkeep_lost(cx, as, failure))
		return;
	if (run_continues(cx, o, failure, feedback ? str_from(feedback) : failure))
		return;
	flow_fail_within(cx, as, cause, run_max(cx->policy, as->run, cause), failure,
			feedback ? str_from(feedback) : failure);
}

/* What it wanted to say may be in a report that could not be taken: both sides are told so. */
void run_changed_nothing(struct decide_ctx *cx, const struct assignment *as)
{
	str error = as->run->report_error;
	str detail = STR("the agent reported success but changed nothing"),
	    feedback = STR("Your last attempt changed no file. Make the change that the task asks "
			   "for.");

	if (error.n) {
		detail = arena_printf(cx->arena,
				"the agent changed nothing, and its report could not be "
				"taken: " STR_FMT,
				STR_ARG(error));
		feedback = arena_printf(cx->arena,
				STR_FMT " Your last report could not be taken: " STR_FMT,
				STR_ARG(feedback), STR_ARG(error));
	}
	if (as->run->denied.n)
		feedback = arena_printf(cx->arena,
				STR_FMT " You were denied " STR_FMT ": do without.",
				STR_ARG(feedback), STR_ARG(as->run->denied));
	flow_fail(cx, as, CAUSE_NO_CHANGES, with_denied(cx, as->run, detail), feedback);
}
