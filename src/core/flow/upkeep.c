/*
 * What a patrol found amiss, and what is done about it. Each finding is recorded with its repair
 * and counts against its worker until that gets on (a run that ended well; where its worktree was
 * removed: work that was accepted) or is reset; beyond the cap
 * nothing is repaired any more: the worker is in error, its node blocked, and a person asked. What
 * belongs to no worker is a person's from the start, who is told once.
 */
#include "core/flow/upkeep.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/decide/ask.h"
#include "core/decide/move.h"
#include "core/flow/flow.h"
#include "core/model/limits.h"
#include "core/text/redact.h"

enum { REPORT_MAX = 100 }; /* findings of one report that are looked at */

struct finding {
	enum patrol_fact fact;
	const struct worker *w;      /* or NULL */
	const struct assignment *as; /* of that worker, or NULL */
	str detail;
};

static void note_once(struct decide_ctx *cx, const struct finding *f);
static void note_each(struct decide_ctx *cx, const struct finding *f);
static void no_worktree(struct decide_ctx *cx, const struct finding *f);
static void ask_once(struct decide_ctx *cx, const struct finding *f);

/* A lost run is reported by its end; a patrol has nothing to add. */
static const struct {
	enum ask ask; /* that tells a person of it, in the end */
	const char *repair;
	void (*fn)(struct decide_ctx *cx, const struct finding *f);
} rules[PATROL_FACT_COUNT] = {
	[PATROL_SESSION_GONE] = { ASK_SESSION_GONE, "its run is begun again", NULL },
	[PATROL_PROCESS_GONE] = { ASK_PROCESS_GONE, "its run is begun again", NULL },
	[PATROL_UNDELIVERED] = { ASK_UNDELIVERED, "the run is ended, and begun again", note_each },
	[PATROL_STALE_REBASE] = { ASK_STALE_REBASE,
			"its commits are kept when the worktree is next used", note_once },
	[PATROL_NO_WORKTREE] = { ASK_NO_WORKTREE, "it is made again", no_worktree },
	[PATROL_STRAY_WORKTREE] = { ASK_STRAY_WORKTREE, "none", ask_once },
	[PATROL_ORPHANED_CLAIM] = { ASK_ORPHANED_CLAIM, "none", ask_once },
	[PATROL_MISSING_WORKER] = { ASK_MISSING_WORKER, "none", ask_once },
};

static void emit_found(struct decide_ctx *cx, const struct finding *f, int64_t count,
		const char *repair)
{
	struct ev_patrol_found *e = emit_patrol_found(cx,
			f->as ? about_assignment(f->as) : (struct subject){ 0 });

	e->finding = str_from(status_name(&patrol_facts, (int)f->fact));
	if (f->w)
		e->worker = f->w->name;
	e->detail = f->detail;
	e->repair = str_from(repair);
	e->count = count;
}

static void note_each(struct decide_ctx *cx, const struct finding *f)
{
	if (f->w)
		emit_found(cx, f, f->w->repairs[f->fact] + 1, rules[f->fact].repair);
}

/* It lasts until the worker is used, which is when it is repaired. */
static void note_once(struct decide_ctx *cx, const struct finding *f)
{
	if (f->w && !f->w->repairs[f->fact])
		note_each(cx, f);
}

/* The worker fails fast: whatever is wrong there, the same again will not do. */
static void give_up(struct decide_ctx *cx, const struct finding *f, int64_t count)
{
	const char *name = status_name(&patrol_facts, (int)f->fact);
	str reason = arena_printf(cx->arena,
			"worker " STR_FMT
			" was repaired %lld time%s (%s) and does not get on: " STR_FMT
			". A new beginning for it: overseer worker reset " STR_FMT,
			STR_ARG(f->w->name), (long long)count - 1, count == 2 ? "" : "s", name,
			STR_ARG(f->detail), STR_ARG(f->w->name));

	emit_found(cx, f, count, "none");
	flow_block(cx, f->as, WORKER_ERROR, rules[f->fact].ask, reason);
}

bool upkeep_counts_on(const struct decide_ctx *cx, const struct assignment *as)
{
	const struct worker *w = state_worker(cx->state, as->worker);

	return w && str_eq(w->assignment_id, as->id) && w->repairs[PATROL_NO_WORKTREE] &&
			w->repaired_at >= as->created_at;
}

bool upkeep_worn_out(struct decide_ctx *cx, const struct assignment *as)
{
	struct finding f = { .fact = PATROL_NO_WORKTREE,
		.w = state_worker(cx->state, as->worker),
		.as = as,
		.detail = STR("its worktree, or the .git file in it, was removed once more") };

	if (!as->stopping || !f.w || !str_eq(f.w->assignment_id, as->id) ||
			f.w->repairs[f.fact] <= cx->policy->patrol_restarts)
		return false;
	give_up(cx, &f, f.w->repairs[f.fact]);
	return true;
}

bool upkeep_lost(struct decide_ctx *cx, const struct assignment *as, str detail)
{
	const struct policy_agent *agent = policy_agent(cx->policy, as->agent);
	struct finding f = {
		.fact = agent && agent->terminal ? PATROL_SESSION_GONE : PATROL_PROCESS_GONE,
		.w = state_worker(cx->state, as->worker),
		.as = as,
		.detail = detail,
	};
	int64_t count;

	if (!f.w || !str_eq(f.w->assignment_id, as->id))
		return false;
	count = f.w->repairs[f.fact] + 1;
	if (count > cx->policy->patrol_restarts) {
		give_up(cx, &f, count);
		return true;
	}
	emit_found(cx, &f, count, rules[f.fact].repair);
	return false;
}

/* There is nothing that it could do any more; what it had committed is on its branch. */
static void stop_run(struct decide_ctx *cx, const struct finding *f)
{
	str reason = STR("its worktree is gone");
	struct ev_assignment_moved *e = assignment_move(cx, f->as, AS_QUEUED, STAGE_STOP, reason);

	e->stopping = true;
	MAYBE_SET(e, feedback,
			STR("Your worktree, or its .git file, was removed while you worked in it. "
			    "What was kept of your work is restored. Do not change or remove "
			    ".git."));
	node_to(cx, f->as->node, NODE_QUEUED, reason);
}

/*
 * A run is stopped first. Then, or where no run is under way, the worktree is made again, from the
 * branch, and another run begins: the steps in between would fail without it.
 */
static void no_worktree(struct decide_ctx *cx, const struct finding *f)
{
	const struct assignment *as = f->as;
	int64_t before = f->w ? f->w->repairs[f->fact] : 0, count = before + 1;

	if (!as || as->stage == STAGE_NONE) {
		note_once(cx, f);
		return;
	}
	/* What it left there is on its branch; it continues in another one. */
	if (as->stage == STAGE_WAITING) {
		emit_found(cx, f, count, rules[f->fact].repair);
		assignment_give_back(cx, as, STR("its worktree is gone"));
		return;
	}
	if (as->effect || !as->node || flow_winding_down(as))
		return;
	switch (as->stage) {
	case STAGE_RUNNING:
		if (as->stopping || !as->run || as->run->status != RUN_RUNNING)
			return;
		/*
		 * What it did is kept in any case; then another run begins, or a person is asked.
		 */
		emit_found(cx, f, count,
				count > cx->policy->patrol_restarts
						? "its run is stopped and its work kept"
						: "its run is stopped, then the worktree made "
						  "again");
		stop_run(cx, f);
		return;
	case STAGE_START:
	case STAGE_HARVEST:
	case STAGE_CHECK:
		/* The same one that the run was stopped for. */
		if (before && as->stage == STAGE_HARVEST && as->stopping)
			count = before;
		if (count > cx->policy->patrol_restarts) {
			give_up(cx, f, count);
			return;
		}
		emit_found(cx, f, count, rules[f->fact].repair);
		flow_move(cx, as, STAGE_WORKSPACE, 0, STR("its worktree is gone"), STR(""), NULL);
		return;
	default: return;
	}
}

/* Whatever became of the question: who was asked once knows. */
static void ask_once(struct decide_ctx *cx, const struct finding *f)
{
	str question = utf8_truncate(redact(cx->arena, f->detail), LIMIT_NOTE);

	for (size_t i = 0; i < cx->state->escalations.n; i++)
		if (cx->state->escalations.p[i]->ask == ASK_PATROL &&
				str_eq(cx->state->escalations.p[i]->question, question))
			return;
	emit_found(cx, f, 1, rules[f->fact].repair);
	escalate_about(cx, (struct subject){ 0 },
			&(struct escalation_spec){ .ask = ASK_PATROL, .question = question });
}

int decide_upkeep_report(struct decide_ctx *cx, const struct msg_upkeep_report *p,
		value **ret_result, struct ov_err *err)
{
	const struct pt_fact *x = parts_from(cx->arena, PART_fact, p->facts);

	(void)ret_result, (void)err;
	for (size_t i = 0; i < value_count(p->facts) && i < REPORT_MAX; i++, x++) {
		int fact = status_parse(&patrol_facts, x->finding);
		struct finding f = { .w = state_worker(cx->state, x->worker), .detail = x->detail };

		if (fact < 0 || !rules[fact].fn)
			continue;
		f.fact = (enum patrol_fact)fact;
		if (f.w && f.w->assignment_id.n)
			f.as = state_assignment(cx->state, f.w->assignment_id);
		rules[fact].fn(cx, &f);
	}
	return 0;
}
