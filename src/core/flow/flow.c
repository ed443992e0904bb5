/*
 * The pipeline of an assignment: workspace, run, harvest, check; what is good goes on in
 * core/flow/flow_accept. Outcomes of effects and ends of runs move the assignment on, or count as a
 * failure of a cause and are tried again within that cause's cap, then put before a person.
 */
#include "core/flow/flow.h"
#include "base/arena.h"
#include "base/duration.h"
#include "base/err.h"
#include "base/str.h"
#include "core/decide/ask.h"
#include "core/decide/dispatch.h"
#include "core/decide/move.h"
#include "core/flow/auto.h"
#include "core/flow/review.h"
#include "core/flow/target.h"
#include "core/flow/upkeep.h"
#include "core/goal/spending.h"
#include "core/inbox/notices.h"
#include "core/life/session.h"
#include "core/model/limits.h"
#include "core/recovery/recovery.h"
#include "core/state/state.h"
#include "core/text/last_lines.h"
#include "core/text/redact.h"
#include "core/work/standing.h"

/* How a failure of each cause is tried again: from which stage, how often, after which wait. */
enum wait { WAIT_NONE, WAIT_SHORT, WAIT_RETRY, WAIT_DIRTY };
#define NO_CAP SIZE_MAX
enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

#define RULE(cause, ask, stage, max, wait, worker, ladder) \
	[cause] = { ask, stage, offsetof(struct policy, max), wait, worker, ladder }
static const struct {
	enum ask ask; /* that tells a person of it, in the end */
	enum stage stage;
	size_t max; /* offset in struct policy: how often it may happen before a person is asked */
	enum wait wait;
	enum worker_status worker; /* what its worker is until it is tried again */
	bool ladder;               /* the agent's failure: the ladder comes before a person */
} cause_rules[CAUSE_COUNT] = {
	RULE(CAUSE_NONE, ASK_OTHER, STAGE_START, retry_max_attempts, WAIT_RETRY, WORKER_WORKING,
			false),
	RULE(CAUSE_WORKSPACE, ASK_CAUSE_WORKSPACE, STAGE_WORKSPACE, retry_max_attempts, WAIT_RETRY,
			WORKER_WORKING, false),
	RULE(CAUSE_START, ASK_CAUSE_START, STAGE_START, retry_max_attempts, WAIT_RETRY,
			WORKER_WORKING, false),
	RULE(CAUSE_RUN, ASK_CAUSE_RUN, STAGE_START, retry_max_attempts, WAIT_RETRY, WORKER_WORKING,
			true),
	RULE(CAUSE_LOST, ASK_CAUSE_LOST, STAGE_START, retry_max_attempts, WAIT_RETRY,
			WORKER_WORKING, true),
	RULE(CAUSE_HARVEST, ASK_CAUSE_HARVEST, STAGE_HARVEST, retry_max_attempts, WAIT_RETRY,
			WORKER_WORKING, false),
	RULE(CAUSE_NO_CHANGES, ASK_CAUSE_NO_CHANGES, STAGE_START, no_changes_attempts, WAIT_RETRY,
			WORKER_NO_CHANGES, false),
	RULE(CAUSE_CHECK, ASK_CAUSE_CHECK, STAGE_START, retry_max_attempts, WAIT_RETRY,
			WORKER_WORKING, true),
	RULE(CAUSE_VERIFY, ASK_CAUSE_VERIFY, STAGE_CHECK, retry_max_attempts, WAIT_RETRY,
			WORKER_WORKING, false),
	RULE(CAUSE_ACCEPT, ASK_CAUSE_ACCEPT, STAGE_REBASE, retry_max_attempts, WAIT_RETRY,
			WORKER_NEEDS_REVIEW, false),
	RULE(CAUSE_CONFLICT, ASK_CAUSE_CONFLICT, STAGE_START, conflict_rounds, WAIT_NONE,
			WORKER_REBASING, false),
	/* Never given up: core/flow/checkout waits for as long as it lasts. */
	[CAUSE_DIRTY] = { ASK_CAUSE_DIRTY, STAGE_REBASE, NO_CAP, WAIT_DIRTY, WORKER_NEEDS_REVIEW,
			false },
	RULE(CAUSE_MOVED, ASK_CAUSE_MOVED, STAGE_REBASE, moved_tries, WAIT_SHORT,
			WORKER_NEEDS_REVIEW, false),
	RULE(CAUSE_GATE, ASK_CAUSE_GATE, STAGE_START, retry_max_attempts, WAIT_RETRY,
			WORKER_WORKING, true),
	RULE(CAUSE_POST, ASK_POST, STAGE_NONE, retry_max_attempts, WAIT_NONE, WORKER_IDLE, false),
	RULE(CAUSE_REVIEW, ASK_REVIEW, STAGE_START, review_rounds, WAIT_NONE, WORKER_REJECTED,
			false),
};
#undef RULE

ov_time flow_doubled(ov_time base, int64_t times, ov_time most)
{
	while (times-- > 0 && base < most)
		base *= 2;
	return MIN(base, most);
}

/* The wait before trying again after the count-th failure. */
static ov_time wait_time(const struct policy *p, enum wait wait, int64_t count)
{
	switch (wait) {
	case WAIT_NONE: return 0;
	case WAIT_SHORT: return OV_SECOND;
	case WAIT_RETRY: return p->retry_delay[MIN(count, (int64_t)ARRAY_LEN(p->retry_delay)) - 1];
	case WAIT_DIRTY: return p->dirty_wait;
	}
	return 0;
}

ov_time flow_wait(const struct policy *p, enum cause cause, int64_t count)
{
	return wait_time(p, cause_rules[cause].wait, count);
}

int64_t flow_max(const struct policy *p, enum cause cause)
{
	int64_t most;

	if (cause_rules[cause].max == NO_CAP)
		return INT64_MAX;
	most = *(const int64_t *)(const void *)((const char *)p + cause_rules[cause].max);
	/*
	 * Its cap is a rule of ours for want of a better one; who wants fewer attempts gets fewer.
	 */
	return cause == CAUSE_NO_CHANGES ? MIN(most, p->retry_max_attempts) : most;
}

void flow_move(struct decide_ctx *cx, const struct assignment *as, enum stage stage, ov_time wait,
		str reason, str feedback, const char *purpose)
{
	/*
	 * A step of ours is repeated as it is; a new run puts the node back into the
	 * queue meanwhile.
	 */
	bool again = stage == STAGE_START || stage == STAGE_WORKSPACE;
	struct ev_assignment_moved *e = assignment_move(cx, as, again ? AS_QUEUED : as->status,
			stage, reason);

	if (purpose)
		MAYBE_SET(e, purpose, str_from(purpose));
	if (wait)
		e->not_before_ms = cx->now + wait;
	if (feedback.n)
		MAYBE_SET(e, feedback, feedback);
	if (again)
		node_to(cx, as->node, NODE_QUEUED, reason);
}

void flow_block(struct decide_ctx *cx, const struct assignment *as, enum worker_status worker,
		enum ask ask, str reason)
{
	/* What a person was asked about the stall is no longer the question. */
	if (ladder_is_over(as->node))
		close_escalations(cx, as->node, ESC_DISMISSED, reason);
	assignment_move(cx, as, AS_BLOCKED, STAGE_NONE, reason);
	node_block_as(cx, as->node, BLOCK_FAILED, reason, STR("overseer"),
			STR("a person unblocks it or declares it done"), 0);
	worker_to(cx, state_worker(cx->state, as->worker), worker,
			worker == WORKER_ERROR ? reason : STR("its assignment waits for a person"));
	escalate(cx, as->node, ask, reason);
}

static void give_up(struct decide_ctx *cx, const struct assignment *as, enum cause cause,
		int64_t count, str detail)
{
	const char *name = status_name(&causes, (int)cause);
	str reason = arena_printf(cx->arena, "failed %lld time%s (%s): " STR_FMT, (long long)count,
			count == 1 ? "" : "s", name, STR_ARG(detail));

	if (cause_rules[cause].ladder && !ladder_is_over(as->node)) {
		ladder_begin(cx, as, reason);
		return;
	}
	flow_block(cx, as, WORKER_IDLE, cause_rules[cause].ask, reason);
}

int64_t flow_count(struct decide_ctx *cx, const struct assignment *as, enum cause cause, str detail)
{
	int64_t count = as->node->work.failures[cause] + 1;
	struct ev_node_failed *e = emit_node_failed(cx, about_assignment(as));

	e->cause = cause;
	e->count = count;
	e->detail = detail;
	return count;
}

bool flow_in_review(const struct worker *w)
{
	return w->status == WORKER_NEEDS_REVIEW || w->status == WORKER_REVIEWING;
}

/*
 * Work that was in review and then checked goes back to its agent as work that was rejected does.
 */
static enum worker_status worker_after(const struct worker *w, enum cause cause)
{
	enum worker_status to = cause_rules[cause].worker;

	if (!flow_in_review(w) || to != WORKER_WORKING)
		return to;
	return cause_rules[cause].stage == STAGE_CHECK ? WORKER_NEEDS_REVIEW : WORKER_REJECTED;
}

void flow_fail_within(struct decide_ctx *cx, const struct assignment *as, enum cause cause,
		int64_t most, str detail, str feedback)
{
	int64_t count = flow_count(cx, as, cause, detail);
	const struct worker *w = state_worker(cx->state, as->worker);

	if (count >= most) {
		give_up(cx, as, cause, count, detail);
		return;
	}
	flow_move(cx, as, cause_rules[cause].stage, flow_wait(cx->policy, cause, count), detail,
			feedback, NULL);
	if (w && str_eq(w->assignment_id, as->id))
		worker_to(cx, w, worker_after(w, cause), detail);
}

void flow_fail(struct decide_ctx *cx, const struct assignment *as, enum cause cause, str detail,
		str feedback)
{
	flow_fail_within(cx, as, cause, flow_max(cx->policy, cause), detail, feedback);
}

void flow_release(struct decide_ctx *cx, const struct assignment *as)
{
	const struct worker *w = state_worker(cx->state, as->worker);

	assignment_move(cx, as, as->status, STAGE_NONE, STR("settled without it"));
	if (w && str_eq(w->assignment_id, as->id))
		worker_to(cx, w, WORKER_IDLE, STR("its assignment was settled"));
}

bool flow_winding_down(const struct assignment *as)
{
	return assignment_is_final(as) || as->status == AS_BLOCKED;
}

static void workspace_ended(struct decide_ctx *cx, const struct outcome *o)
{
	struct ev_workspace_ready *e;

	if (flow_winding_down(o->as)) {
		flow_release(cx, o->as);
		return;
	}
	if (!o->ok) {
		flow_fail(cx, o->as, CAUSE_WORKSPACE, o->detail, STR(""));
		return;
	}
	e = emit_workspace_ready(cx, about_assignment(o->as));
	e->worker = o->as->worker;
	e->base = o->git->base;
	e->rescue_ref = o->git->rescue_ref;
	assignment_move(cx, o->as, AS_QUEUED, STAGE_START, STR("the workspace is ready"));
}

static void start_ended(struct decide_ctx *cx, const struct outcome *o)
{
	struct ev_run_ended *e;

	if (o->as->run)
		dispatch_settle(cx, o->as->run->dispatch_id, o->ok ? RESULT_ACCEPTED : RESULT_ERROR,
				o->detail);
	if (o->ok) {
		emit_run_started(cx, about_assignment(o->as));
		/* Of others it is known only when they say that they are ready. */
		if (!session_speaks(cx->policy, o->as) && o->as->node)
			said_given(cx, o->as->node, o->as->run);
		if (flow_winding_down(o->as) || o->as->stage == STAGE_STOP)
			assignment_move(cx, o->as, o->as->status, STAGE_STOP,
					STR("settled before it started"));
		else
			assignment_move(cx, o->as, AS_ACTIVE, STAGE_RUNNING,
					STR("the agent was started"));
		return;
	}
	e = emit_run_ended(cx, about_assignment(o->as));
	e->exit_code = -1;
	MAYBE_SET(e, message, o->detail);
	if (o->as->run)
		run_spent(cx, o->as->run, o->as, e);
	if (flow_winding_down(o->as))
		flow_release(cx, o->as);
	else
		flow_fail(cx, o->as, CAUSE_START, o->detail, STR(""));
}

static void stop_ended(struct decide_ctx *cx, const struct outcome *o)
{
	/*
	 * Delivered, or there was nobody to deliver it to: the run's end comes by itself, or
	 * came already.
	 */
	bool over = !o->as->run || o->as->run->status == RUN_ENDED;

	if (!o->ok && !over) {
		assignment_move(cx, o->as, o->as->status, STAGE_STOP, o->detail)->not_before_ms =
				cx->now + MAX(cx->policy->retry_delay[0], OV_SECOND);
		return;
	}
	assignment_move(cx, o->as, o->as->status, over ? STAGE_HARVEST : STAGE_RUNNING,
			STR("the run was told to stop"));
}

/*
 * A person said something that the agent did not take before it ended: it is told before it
 * is judged.
 */
static void go_on_with_message(struct decide_ctx *cx, const struct assignment *as)
{
	flow_move(cx, as, STAGE_START, 0,
			STR("it ended before it took what a person said; its session goes on with "
			    "that"),
			STR("You had ended before you could be told this."), "message");
}

/* Kept, but not taken: whoever made it has to say that it belongs to the work. */
static void refuse_leftovers(struct decide_ctx *cx, const struct assignment *as)
{
	str detail = STR("the agent left work uncommitted (accept.leftovers is refuse)");

	run_verified(cx, as, VERIFY_REFUSED, detail, NULL);
	flow_fail(cx, as, CAUSE_CHECK, detail,
			STR("You left files uncommitted. They are the last commit on your branch "
			    "now: keep what belongs to the task, take out what does not, and "
			    "commit everything that you want to hand in."));
}

static void harvest_judged(struct decide_ctx *cx, const struct outcome *o)
{
	const struct assignment *as = o->as;

	if (upkeep_worn_out(cx, as))
		return;
	/*
	 * It was ended so that the next one can begin; without quota or login it could do nothing.
	 */
	if (as->status == AS_QUEUED && !(as->purpose.n && as->run->limit != BLOCK_NONE)) {
		assignment_move(cx, as, AS_QUEUED, STAGE_START,
				STR("the run was ended on purpose; a new one begins"));
		return;
	}
	if (run_was_limited(cx, as))
		return;
	/* A run that we ended because it had reported that it is done did not fail. */
	if (!run_ended_well(as->run) && !as->stopping)
		run_failed(cx, o);
	else if (as->node->told.said.n && session_resumes(cx->policy, as))
		go_on_with_message(cx, as);
	else if (o->git->files_changed == 0)
		run_changed_nothing(cx, as);
	else if (o->git->refused.n)
		accept_refuse(cx, as, o->git->refused);
	else if (o->git->leftovers && cx->policy->leftovers == LEFTOVERS_REFUSE)
		refuse_leftovers(cx, as);
	else if (check_command(cx, as->node).n)
		assignment_move(cx, as, as->status, STAGE_CHECK,
				STR("the work is kept; now it is checked"));
	else
		accept_begin(cx, as, VERIFY_SKIPPED, STR("no check command is configured"), NULL);
}

static bool lists(struct texts list, str s)
{
	for (size_t i = 0; i < list.n; i++)
		if (str_eq(list.p[i], s))
			return true;
	return false;
}

/*
 * What agents left uncommitted and is in the work: of this run, and of those before it whose work
 * it continued. What no longer differs from the base is left out, where all that does is known.
 */
static struct texts leftovers(struct decide_ctx *cx, const struct outcome *o)
{
	const struct texts *own = &o->git->leftover_files;
	struct strs before = o->as->node ? o->as->node->work.leftover_files : (struct strs){ 0 };
	bool all_known = (int64_t)o->git->files.n == o->git->files_changed;
	struct texts list = { arena_array(cx->arena, str, LIMIT_KEPT), 0 };

	for (size_t i = 0; i < before.n + own->n && list.n < LIMIT_KEPT; i++) {
		str name = i < before.n ? before.p[i] : own->p[i - before.n];

		if (name.n && !lists(list, name) && (!all_known || lists(o->git->files, name)))
			list.p[list.n++] = name;
	}
	return list;
}

/* Its agent asked a person something: it continues where it is when that is answered. */
static bool keeps_worker(const struct decide_ctx *cx, const struct assignment *as)
{
	const struct worker *w = state_worker(cx->state, as->worker);

	return as->status == AS_BLOCKED && as->node && as->node->status == NODE_BLOCKED &&
			as->node->block.kind == BLOCK_QUESTION && w && !w->wanted.n &&
			str_eq(w->assignment_id, as->id);
}

static struct texts first_of(struct texts t)
{
	return (struct texts){ t.p, MIN(t.n, (size_t)LIMIT_KEPT) };
}

/* Only now is it known that a run which ended well has a reason to be read. */
static str unread_lines(struct decide_ctx *cx, const struct outcome *o)
{
	str lines = o->git->last_lines;

	return lines.n && !o->as->run->last_lines.n && o->git->files_changed == 0
			? last_lines(cx->arena, redact(cx->arena, lines))
			: STR("");
}

static void harvest_ended(struct decide_ctx *cx, const struct outcome *o)
{
	struct ev_run_harvested *e;

	if (!o->ok) {
		if (flow_winding_down(o->as))
			flow_release(cx, o->as);
		else
			flow_fail(cx, o->as, CAUSE_HARVEST, o->detail, STR(""));
		return;
	}
	e = emit_run_harvested(cx, about_assignment(o->as));
	e->head = o->git->head;
	e->tree = o->git->tree;
	e->commits = o->git->commits;
	e->files_changed = o->git->files_changed;
	e->files = first_of(o->git->files);
	e->touched = first_of(o->git->touched);
	e->commit_ids = first_of(o->git->commit_ids);
	MAYBE_SET(e, lines_added, o->git->lines_added);
	MAYBE_SET(e, lines_removed, o->git->lines_removed);
	e->leftovers = o->git->leftovers;
	e->leftover_files = leftovers(cx, o);
	e->rescue_ref = o->git->rescue_ref;
	e->detail = o->detail;
	e->last_lines = unread_lines(cx, o);
	if (keeps_worker(cx, o->as))
		assignment_keep_worker(cx, o->as, STR("its agent waits for an answer"));
	else if (flow_winding_down(o->as))
		flow_release(cx, o->as);
	else
		harvest_judged(cx, o);
}

static void copy_tests(struct ev_run_verified *e, const struct out_command *evidence)
{
	e->tests = str_from(status_name(&tests_states, (int)evidence->tests));
	MAYBE_SET(e, tests_format, evidence->tests_format);
	MAYBE_SET(e, tests_passed, evidence->tests_passed);
	MAYBE_SET(e, tests_failed, evidence->tests_failed);
	MAYBE_SET(e, tests_skipped, evidence->tests_skipped);
	e->failing_tests = first_of(evidence->failing_tests);
}

void run_verified(struct decide_ctx *cx, const struct assignment *as, enum verification verdict,
		str detail, const struct out_command *evidence)
{
	struct ev_run_verified *e = emit_run_verified(cx, about_assignment(as));

	e->verdict = verdict;
	e->detail = detail;
	if (evidence && evidence->tests != TESTS_UNKNOWN)
		copy_tests(e, evidence);
	if (evidence && evidence->coverage_format.n) {
		e->coverage_format = evidence->coverage_format;
		MAYBE_SET(e, coverage_centi, evidence->coverage_centi);
	}
}

bool flow_cannot_run(int64_t code)
{
	return code == EXIT_NOT_EXECUTABLE || code == EXIT_NOT_FOUND;
}

static void check_ended(struct decide_ctx *cx, const struct outcome *o)
{
	if (flow_winding_down(o->as)) {
		flow_release(cx, o->as);
		return;
	}
	if (o->ok) {
		accept_begin(cx, o->as, VERIFY_PASSED,
				o->detail.n ? o->detail : STR("the check command passed"),
				o->command);
		return;
	}
	/* We could not check: that says nothing about the work. */
	if (o->is == ENDED_ERROR) {
		flow_fail(cx, o->as, CAUSE_VERIFY, o->detail, STR(""));
		return;
	}
	if (review_takes_check(cx, o))
		return;
	run_verified(cx, o->as, VERIFY_FAILED, o->detail, o->command);
	flow_fail(cx, o->as, CAUSE_CHECK, STR("the check command failed"),
			arena_printf(cx->arena, "The check command failed on your work:\n" STR_FMT,
					STR_ARG(o->detail)));
}

static void (*const ended[EFFECT_KIND_COUNT])(struct decide_ctx *cx, const struct outcome *o) = {
	[FX_WORKSPACE] = workspace_ended,
	[FX_RUN_START] = start_ended,
	[FX_RUN_STOP] = stop_ended,
	[FX_HARVEST] = harvest_ended,
	[FX_CHECK] = check_ended,
	[FX_REBASE] = rebase_ended,
	[FX_GATE] = gate_ended,
	[FX_ACCEPT] = accept_ended,
	[FX_POST] = post_ended,
	[FX_REVERT] = revert_ended,
};

void flow_ended(struct decide_ctx *cx, enum effect_kind kind, const struct outcome *o)
{
	ended[kind](cx, o);
}
