/* The fold of what happens to runs, their workers and worktrees, and effects. */
#include "base/alloc.h"
#include "base/err.h"
#include "base/str.h"
#include "core/fold/apply_impl.h"

/* This run is the one that was let through: the next one comes as much later. */
static void lane_probed(struct lane *l, ov_time at)
{
	if (l && l->probe_at && l->probe_at <= at)
		l->probe_at = at + l->probe_every_ms;
}

APPLY(run_created)
{
	struct assignment *as = state_assignment(s, e->assignment);
	struct run *r;

	if (!as || !as->live || !id_valid(e->run) || state_run(s, e->run))
		return ev_missing(e, "live assignment without that run", e->assignment, err);
	if (as->run)
		state_retire_run(s, as->run);
	lane_probed(state_lane(s, as->agent), e->at);
	r = mem_zalloc(1, sizeof(*r));
	record_set_str(&r->id, e->run);
	record_set_str(&r->goal_id, e->goal);
	record_set_str(&r->node_id, e->node);
	record_set_str(&r->assignment_id, e->assignment);
	record_set_str(&r->dispatch_id, d->dispatch);
	record_set_str(&r->agent, d->agent);
	record_set_str(&r->worker, d->worker);
	record_set_str(&r->instruction_hash, d->instruction_hash);
	record_set_str(&r->session, d->session);
	record_set_json(&r->tools, d->tools);
	/* What the session has lost, it has lost for good. */
	record_set_json(&as->tools, d->tools);
	r->resumed = d->resume;
	record_set_str(&as->purpose, STR(""));
	r->attempt = as->attempt = d->attempt;
	r->epoch = d->epoch;
	r->created_at = as->last_dispatch_at = e->at;
	as->expected_at = 0;
	/* What the run before said of itself does not hold for this one. */
	if (as->node)
		record_set_str(&as->node->report.status, STR(""));
	record_set_str(&as->run_id, r->id);
	state_add_run(s, r);
	return 0;
}

APPLY(run_started)
{
	struct run *r = state_run(s, e->run);
	struct assignment *as = state_assignment(s, e->assignment);

	if (!r)
		return ev_missing(e, "run", e->run, err);
	if (r->status != RUN_STARTING)
		return status_check(&run_statuses, r->id, (int)r->status, RUN_RUNNING, false, err);
	r->status = RUN_RUNNING;
	r->started_at = e->at;
	r->slept_ms = 0; /* what was before is none of its time */
	if (as && as->run == r) {
		as->last_activity_at = e->at;
		as->activity = LIFE_SESSION;
		/*
		 * Due dates of before, by words that came sooner than the news of its start,
		 * are past.
		 */
		as->expected_at = 0;
	}
	return 0;
}

/* Only what was heard of can be gone on with: an id that we chose says nothing before that. */
APPLY(run_session)
{
	struct run *r = state_run(s, e->run);
	struct assignment *as = state_assignment(s, e->assignment);

	if (!r || !as || as->run != r)
		return ev_missing(e, "newest run", e->run, err);
	record_set_str(&r->session, d->session);
	record_set_str(&r->model, d->model);
	r->ready = true;
	/* Another conversation has used nothing yet. */
	if (!str_eq(as->session, r->session))
		record_set_str(&as->session_usage, STR(""));
	record_set_str(&as->session, r->session);
	return 0;
}

static void end_session(struct assignment *as, const struct ev_run_ended *d)
{
	if (d->session_usage)
		record_set_json(&as->session_usage, d->session_usage);
	if (!d->session_forgotten)
		return;
	record_set_str(&as->session, STR(""));
	record_set_str(&as->session_usage, STR(""));
}

static void end_usage(struct run *r, const struct ev_run_ended *d)
{
	r->turns = d->turns;
	r->tool_calls = d->tool_calls;
	r->tokens = d->tokens;
	r->tokens_input = d->tokens_input;
	r->tokens_output = d->tokens_output;
	r->tokens_cache_read = d->tokens_cache_read;
	r->tokens_cache_write = d->tokens_cache_write;
	r->cost_microusd = d->cost_microusd;
	record_set_str(&r->cost_source, d->cost_source);
}

/*
 * What was repaired before has helped; of a worktree that the run itself may have removed
 * nobody knows yet.
 */
static void worker_got_on(struct worker *w, bool but_worktree)
{
	int32_t worktree = w && but_worktree ? w->repairs[PATROL_NO_WORKTREE] : 0;

	if (!w)
		return;
	memset(w->repairs, 0, sizeof(w->repairs));
	w->repairs[PATROL_NO_WORKTREE] = worktree;
}

APPLY(run_ended)
{
	struct run *r = state_run(s, e->run);
	struct assignment *as = state_assignment(s, e->assignment);
	int limit, trouble, known_by;

	if (!r)
		return ev_missing(e, "run", e->run, err);
	if (r->status == RUN_ENDED)
		return status_check(&run_statuses, r->id, RUN_ENDED, RUN_ENDED, false, err);
	r->status = RUN_ENDED;
	r->lost = d->lost;
	r->exit_code = d->exit_code;
	r->signal = d->signal;
	r->output_bytes = d->output_bytes;
	r->dropped_bytes = d->dropped_bytes;
	r->swept = d->swept;
	record_set_str(&r->containment, d->containment);
	record_set_str(&r->sandbox, d->sandbox);
	record_set_str(&r->tool, d->tool);
	record_set_str(&r->denied, d->denied);
	record_set_str(&r->tool_digest, d->tool_digest);
	r->tool_repeats = d->tool_repeats;
	if (r->frozen)
		r->frozen_ms += MAX(e->at - r->frozen_at, (ov_time)0);
	r->frozen = false;
	r->frozen_at = 0;
	end_usage(r, d);
	record_set_str(&r->verdict, d->verdict);
	trouble = status_parse(&troubles, d->trouble);
	r->trouble = trouble < 0 ? TROUBLE_NONE : (enum trouble)trouble;
	limit = status_parse(&block_kinds, d->limit);
	r->limit = limit < 0 ? BLOCK_NONE : (enum block_kind)limit;
	r->resets_at = d->resets_at_ms;
	r->ended_at = d->ended_at_ms ? d->ended_at_ms : e->at;
	record_set_str(&r->message, d->message);
	record_set_str(&r->last_lines, d->last_lines);
	known_by = status_parse(&fact_signs, d->known_by);
	r->known_by = known_by < 0 ? SIGN_NONE : (enum fact_sign)known_by;
	if (run_ended_well(r))
		worker_got_on(state_worker(s, r->worker), d->keeps_repairs);
	if (as && as->run == r)
		end_session(as, d);
	return 0;
}

APPLY(run_harvested)
{
	struct assignment *as = state_assignment(s, e->assignment);
	struct run *r = state_run(s, e->run);

	if (!r || !as)
		return ev_missing(e, "run", e->run, err);
	r->commits = d->commits;
	r->files_changed = d->files_changed;
	record_set_strs(&r->files, d->files.p, d->files.n);
	record_set_strs(&r->commit_ids, d->commit_ids.p, d->commit_ids.n);
	record_set_strs(&r->touched, d->touched.p, d->touched.n);
	r->lines_added = d->lines_added;
	r->lines_removed = d->lines_removed;
	r->leftovers = d->leftovers;
	record_set_strs(&r->leftover_files, d->leftover_files.p, d->leftover_files.n);
	record_set_str(&r->rescue_ref, d->rescue_ref);
	record_set_str(&r->left_out, d->detail);
	if (d->last_lines.n)
		record_set_str(&r->last_lines, d->last_lines);
	record_set_str(&as->head, d->head);
	record_set_str(&as->tree, d->tree);
	if (as->node)
		record_set_strs(&as->node->work.leftover_files, d->leftover_files.p,
				d->leftover_files.n);
	if (as->node && r->files_changed)
		record_set_str(&as->node->next.handover, d->head);
	return 0;
}

/* Whoever gets on only slowly is looked at as whoever fails is. */
APPLY(run_continued)
{
	if (!state_run(s, e->run))
		return ev_missing(e, "run", e->run, err);
	if (d->changed)
		run_judged(s, e, CAUSE_NONE, STR(""));
	return 0;
}

/* What the check told of tests and coverage. */
static void verified_tests(struct run *r, const struct ev_run_verified *d)
{
	int tests = status_parse(&tests_states, d->tests);

	r->tests = tests < 0 ? TESTS_UNKNOWN : (enum tests_state)tests;
	record_set_str(&r->tests_format, d->tests_format);
	r->tests_passed = d->tests_passed;
	r->tests_failed = d->tests_failed;
	r->tests_skipped = d->tests_skipped;
	record_set_strs(&r->failing_tests, d->failing_tests.p, d->failing_tests.n);
	record_set_str(&r->coverage_format, d->coverage_format);
	r->coverage_centi = d->coverage_centi;
}

APPLY(run_verified)
{
	struct run *r = state_run(s, e->run);

	if (!r)
		return ev_missing(e, "run", e->run, err);
	r->verification = d->verdict;
	record_set_str(&r->verification_detail, d->detail);
	verified_tests(r, d);
	if (d->verdict == VERIFY_PASSED || d->verdict == VERIFY_SKIPPED) {
		run_judged(s, e, CAUSE_NONE, STR(""));
		streak_ends(s, r->agent);
	}
	return 0;
}

APPLY(worker_created)
{
	struct worker *w;
	int kind;

	if (!id_valid(d->worker))
		return ev_missing(e, "such name", d->worker, err);
	if (state_worker(s, d->worker))
		return ov_fail(err, OV_EINVALID, "event %llu: worker " STR_FMT " exists already",
				(unsigned long long)e->seq, STR_ARG(d->worker));
	w = mem_zalloc(1, sizeof(*w));
	record_set_str(&w->name, d->worker);
	record_set_str(&w->path, d->path);
	kind = status_parse(&worker_kinds, d->kind);
	w->kind = kind >= 0 ? (enum worker_kind)kind : d->pool ? WORKER_POOL : WORKER_MANUAL;
	w->excluded = d->excluded;
	record_set_str(&w->agent, d->agent);
	w->status = WORKER_IDLE;
	w->created_at = w->since = e->at;
	state_add_worker(s, w);
	return 0;
}

APPLY(worker_status)
{
	struct worker *w = state_worker(s, d->worker);
	int to, r;

	if (!w)
		return ev_missing(e, "worker", d->worker, err);
	r = ev_move(e, &worker_statuses, w->name, (int)w->status,
			(struct ev_move){ (int)d->from, (int)d->to, false }, &to, err);
	if (r < 0)
		return r;
	if (w->status == WORKER_ERROR)
		worker_got_on(w, false);
	if (w->kind == WORKER_AUTO && to == WORKER_ERROR && w->status != WORKER_ERROR)
		s->automatic.errors++;
	w->status = (enum worker_status)to;
	w->since = e->at;
	record_set_str(&w->reason, d->reason);
	if (to == WORKER_IDLE || to == WORKER_OFFLINE)
		record_set_str(&w->assignment_id, STR(""));
	return 0;
}

APPLY(workspace_ready)
{
	struct assignment *as = state_assignment(s, e->assignment);

	if (!as)
		return ev_missing(e, "assignment", e->assignment, err);
	record_set_str(&as->base, d->base);
	return 0;
}

APPLY(effect_intended)
{
	int kind = status_parse(&effect_kinds, d->kind);
	struct effect *fx;

	if (kind < 0 || !id_valid(d->effect) || state_effect(s, d->effect))
		return ev_missing(e, "new effect of that kind", d->effect, err);
	fx = mem_zalloc(1, sizeof(*fx));
	record_set_str(&fx->id, d->effect);
	fx->kind = (enum effect_kind)kind;
	record_set_str(&fx->goal_id, e->goal);
	record_set_str(&fx->node_id, e->node);
	record_set_str(&fx->assignment_id, e->assignment);
	record_set_str(&fx->run_id, e->run);
	record_set_str(&fx->dispatch_id, d->dispatch);
	record_set_str(&fx->purpose, d->purpose);
	record_set_str(&fx->worker, d->worker);
	if (d->evidence_hash.n && state_node(s, e->goal, e->node))
		record_set_str(&state_node(s, e->goal, e->node)->stall.diagnosed, d->evidence_hash);
	fx->created_at = e->at;
	state_add_effect(s, fx);
	return 0;
}

APPLY(effect_ended)
{
	struct effect *fx = state_effect(s, d->effect);
	struct run *r;

	if (!fx)
		return ev_missing(e, "open effect", d->effect, err);
	r = fx->kind == FX_RUN_START ? state_run(s, fx->run_id) : NULL;
	if (r)
		record_set_str(&r->dispatch_result,
				str_is(d->outcome, "ok") ? STR("accepted") : STR("error"));
	state_remove_effect(s, fx);
	return 0;
}
