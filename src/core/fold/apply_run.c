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

int apply_run_created(struct state *s, const struct event *e, struct ov_err *err)
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
	record_set_str(&r->dispatch_id, ev_text(e, "dispatch"));
	record_set_str(&r->agent, ev_text(e, "agent"));
	record_set_str(&r->worker, ev_text(e, "worker"));
	record_set_str(&r->instruction_hash, ev_text(e, "instruction_hash"));
	record_set_str(&r->session, ev_text(e, "session"));
	record_set_json(&r->tools, value_at(e->data, "tools"));
	/* What the session has lost, it has lost for good. */
	record_set_json(&as->tools, value_at(e->data, "tools"));
	r->resumed = value_bool_at(e->data, "resume");
	record_set_str(&as->purpose, STR(""));
	r->attempt = as->attempt = ev_num(e, "attempt");
	r->epoch = ev_num(e, "epoch");
	r->created_at = as->last_dispatch_at = e->at;
	as->expected_at = 0;
	/* What the run before said of itself does not hold for this one. */
	if (as->node)
		record_set_str(&as->node->reported_status, STR(""));
	record_set_str(&as->run_id, r->id);
	state_add_run(s, r);
	return 0;
}

int apply_run_started(struct state *s, const struct event *e, struct ov_err *err)
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
		/* Due dates of before, by words that came sooner than the news of its start, are past. */
		as->expected_at = 0;
	}
	return 0;
}

/* Only what was heard of can be gone on with: an id that we chose says nothing before that. */
int apply_run_session(struct state *s, const struct event *e, struct ov_err *err)
{
	struct run *r = state_run(s, e->run);
	struct assignment *as = state_assignment(s, e->assignment);

	if (!r || !as || as->run != r)
		return ev_missing(e, "newest run", e->run, err);
	record_set_str(&r->session, ev_text(e, "session"));
	record_set_str(&r->model, ev_text(e, "model"));
	r->ready = true;
	/* Another conversation has used nothing yet. */
	if (!str_eq(as->session, r->session))
		record_set_str(&as->session_usage, STR(""));
	record_set_str(&as->session, r->session);
	return 0;
}

static void end_session(struct assignment *as, const struct event *e)
{
	if (value_at(e->data, "session_usage"))
		record_set_json(&as->session_usage, value_at(e->data, "session_usage"));
	if (!value_bool_at(e->data, "session_forgotten"))
		return;
	record_set_str(&as->session, STR(""));
	record_set_str(&as->session_usage, STR(""));
}

static void end_usage(struct run *r, const struct event *e)
{
	r->turns = ev_num(e, "turns");
	r->tool_calls = ev_num(e, "tool_calls");
	r->tokens = ev_num(e, "tokens");
	r->tokens_input = ev_num(e, "tokens_input");
	r->tokens_output = ev_num(e, "tokens_output");
	r->tokens_cache_read = ev_num(e, "tokens_cache_read");
	r->tokens_cache_write = ev_num(e, "tokens_cache_write");
	r->cost_microusd = ev_num(e, "cost_microusd");
	record_set_str(&r->cost_source, ev_text(e, "cost_source"));
}

/* What was repaired before has helped; of a worktree that the run itself may have removed nobody knows yet. */
static void worker_got_on(struct worker *w, bool but_worktree)
{
	int32_t worktree = w && but_worktree ? w->repairs[PATROL_NO_WORKTREE] : 0;

	if (!w)
		return;
	memset(w->repairs, 0, sizeof(w->repairs));
	w->repairs[PATROL_NO_WORKTREE] = worktree;
}

int apply_run_ended(struct state *s, const struct event *e, struct ov_err *err)
{
	struct run *r = state_run(s, e->run);
	struct assignment *as = state_assignment(s, e->assignment);
	int limit, trouble, known_by;

	if (!r)
		return ev_missing(e, "run", e->run, err);
	if (r->status == RUN_ENDED)
		return status_check(&run_statuses, r->id, RUN_ENDED, RUN_ENDED, false, err);
	r->status = RUN_ENDED;
	r->lost = value_bool_at(e->data, "lost");
	r->exit_code = ev_num(e, "exit_code");
	r->signal = ev_num(e, "signal");
	r->output_bytes = ev_num(e, "output_bytes");
	r->dropped_bytes = ev_num(e, "dropped_bytes");
	r->swept = ev_num(e, "swept");
	record_set_str(&r->containment, ev_text(e, "containment"));
	record_set_str(&r->sandbox, ev_text(e, "sandbox"));
	record_set_str(&r->tool, ev_text(e, "tool"));
	record_set_str(&r->denied, ev_text(e, "denied"));
	record_set_str(&r->tool_digest, ev_text(e, "tool_digest"));
	r->tool_repeats = ev_num(e, "tool_repeats");
	if (r->frozen)
		r->frozen_ms += MAX(e->at - r->frozen_at, (ov_time)0);
	r->frozen = false;
	r->frozen_at = 0;
	end_usage(r, e);
	record_set_str(&r->verdict, ev_text(e, "verdict"));
	trouble = status_parse(&troubles, ev_text(e, "trouble"));
	r->trouble = trouble < 0 ? TROUBLE_NONE : (enum trouble)trouble;
	limit = status_parse(&block_kinds, ev_text(e, "limit"));
	r->limit = limit < 0 ? BLOCK_NONE : (enum block_kind)limit;
	r->resets_at = ev_num(e, "resets_at_ms");
	r->ended_at = ev_num(e, "ended_at_ms") ? ev_num(e, "ended_at_ms") : e->at;
	record_set_str(&r->message, ev_text(e, "message"));
	record_set_str(&r->last_lines, ev_text(e, "last_lines"));
	known_by = status_parse(&fact_signs, ev_text(e, "known_by"));
	r->known_by = known_by < 0 ? SIGN_NONE : (enum fact_sign)known_by;
	if (run_ended_well(r))
		worker_got_on(state_worker(s, r->worker), value_bool_at(e->data, "keeps_repairs"));
	if (as && as->run == r)
		end_session(as, e);
	return 0;
}

int apply_run_harvested(struct state *s, const struct event *e, struct ov_err *err)
{
	struct assignment *as = state_assignment(s, e->assignment);
	struct run *r = state_run(s, e->run);

	if (!r || !as)
		return ev_missing(e, "run", e->run, err);
	r->commits = ev_num(e, "commits");
	r->files_changed = ev_num(e, "files_changed");
	record_set_strs(&r->files, value_at(e->data, "files"));
	record_set_strs(&r->commit_ids, value_at(e->data, "commit_ids"));
	record_set_strs(&r->touched, value_at(e->data, "touched"));
	r->lines_added = ev_num(e, "lines_added");
	r->lines_removed = ev_num(e, "lines_removed");
	r->leftovers = value_bool_at(e->data, "leftovers");
	record_set_strs(&r->leftover_files, value_at(e->data, "leftover_files"));
	record_set_str(&r->rescue_ref, ev_text(e, "rescue_ref"));
	record_set_str(&r->left_out, ev_text(e, "detail"));
	if (ev_text(e, "last_lines").n)
		record_set_str(&r->last_lines, ev_text(e, "last_lines"));
	record_set_str(&as->head, ev_text(e, "head"));
	record_set_str(&as->tree, ev_text(e, "tree"));
	if (as->node)
		record_set_strs(&as->node->leftover_files, value_at(e->data, "leftover_files"));
	if (as->node && r->files_changed)
		record_set_str(&as->node->handover, ev_text(e, "head"));
	return 0;
}

/* Whoever gets on only slowly is looked at as whoever fails is. */
int apply_run_continued(struct state *s, const struct event *e, struct ov_err *err)
{
	if (!state_run(s, e->run))
		return ev_missing(e, "run", e->run, err);
	if (value_bool_at(e->data, "changed"))
		run_judged(s, e, CAUSE_NONE, STR(""));
	return 0;
}

/* What the check told of tests and coverage. */
static void verified_tests(struct run *r, const struct event *e)
{
	int tests = status_parse(&tests_states, ev_text(e, "tests"));

	r->tests = tests < 0 ? TESTS_UNKNOWN : (enum tests_state)tests;
	record_set_str(&r->tests_format, ev_text(e, "tests_format"));
	r->tests_passed = ev_num(e, "tests_passed");
	r->tests_failed = ev_num(e, "tests_failed");
	r->tests_skipped = ev_num(e, "tests_skipped");
	record_set_strs(&r->failing_tests, value_at(e->data, "failing_tests"));
	record_set_str(&r->coverage_format, ev_text(e, "coverage_format"));
	r->coverage_centi = ev_num(e, "coverage_centi");
}

int apply_run_verified(struct state *s, const struct event *e, struct ov_err *err)
{
	struct run *r = state_run(s, e->run);
	int verdict = status_parse(&verifications, ev_text(e, "verdict"));

	if (!r || verdict < 0)
		return ev_missing(e, "run or verdict", e->run, err);
	r->verification = (enum verification)verdict;
	record_set_str(&r->verification_detail, ev_text(e, "detail"));
	verified_tests(r, e);
	if (verdict == VERIFY_PASSED || verdict == VERIFY_SKIPPED) {
		run_judged(s, e, CAUSE_NONE, STR(""));
		streak_ends(s, r->agent);
	}
	return 0;
}

int apply_worker_created(struct state *s, const struct event *e, struct ov_err *err)
{
	struct worker *w;
	int kind;

	if (!id_valid(ev_text(e, "worker")))
		return ev_missing(e, "such name", ev_text(e, "worker"), err);
	if (state_worker(s, ev_text(e, "worker")))
		return ov_fail(err, OV_EINVALID, "event %llu: worker " STR_FMT " exists already",
				(unsigned long long)e->seq, STR_ARG(ev_text(e, "worker")));
	w = mem_zalloc(1, sizeof(*w));
	record_set_str(&w->name, ev_text(e, "worker"));
	record_set_str(&w->path, ev_text(e, "path"));
	kind = status_parse(&worker_kinds, ev_text(e, "kind"));
	w->kind = kind >= 0                              ? (enum worker_kind)kind
			: value_bool_at(e->data, "pool") ? WORKER_POOL
							 : WORKER_MANUAL;
	w->excluded = value_bool_at(e->data, "excluded");
	record_set_str(&w->agent, ev_text(e, "agent"));
	w->status = WORKER_IDLE;
	w->created_at = w->since = e->at;
	state_add_worker(s, w);
	return 0;
}

int apply_worker_status(struct state *s, const struct event *e, struct ov_err *err)
{
	struct worker *w = state_worker(s, ev_text(e, "worker"));
	int to, r;

	if (!w)
		return ev_missing(e, "worker", ev_text(e, "worker"), err);
	r = ev_move(e, &worker_statuses, w->name, (int)w->status, &to, err);
	if (r < 0)
		return r;
	if (w->status == WORKER_ERROR)
		worker_got_on(w, false);
	if (w->kind == WORKER_AUTO && to == WORKER_ERROR && w->status != WORKER_ERROR)
		s->automatic.errors++;
	w->status = (enum worker_status)to;
	w->since = e->at;
	record_set_str(&w->reason, ev_text(e, "reason"));
	if (to == WORKER_IDLE || to == WORKER_OFFLINE)
		record_set_str(&w->assignment_id, STR(""));
	return 0;
}

int apply_workspace_ready(struct state *s, const struct event *e, struct ov_err *err)
{
	struct assignment *as = state_assignment(s, e->assignment);

	if (!as)
		return ev_missing(e, "assignment", e->assignment, err);
	record_set_str(&as->base, ev_text(e, "base"));
	return 0;
}

int apply_effect_intended(struct state *s, const struct event *e, struct ov_err *err)
{
	int kind = status_parse(&effect_kinds, ev_text(e, "kind"));
	struct effect *fx;

	if (kind < 0 || !id_valid(ev_text(e, "effect")) || state_effect(s, ev_text(e, "effect")))
		return ev_missing(e, "new effect of that kind", ev_text(e, "effect"), err);
	fx = mem_zalloc(1, sizeof(*fx));
	record_set_str(&fx->id, ev_text(e, "effect"));
	fx->kind = (enum effect_kind)kind;
	record_set_str(&fx->goal_id, e->goal);
	record_set_str(&fx->node_id, e->node);
	record_set_str(&fx->assignment_id, e->assignment);
	record_set_str(&fx->run_id, e->run);
	record_set_str(&fx->dispatch_id, ev_text(e, "dispatch"));
	record_set_str(&fx->purpose, ev_text(e, "purpose"));
	record_set_str(&fx->worker, ev_text(e, "worker"));
	if (ev_text(e, "evidence_hash").n && state_node(s, e->goal, e->node))
		record_set_str(&state_node(s, e->goal, e->node)->diagnosed,
				ev_text(e, "evidence_hash"));
	fx->created_at = e->at;
	state_add_effect(s, fx);
	return 0;
}

int apply_effect_ended(struct state *s, const struct event *e, struct ov_err *err)
{
	struct effect *fx = state_effect(s, ev_text(e, "effect"));
	struct run *r;

	if (!fx)
		return ev_missing(e, "open effect", ev_text(e, "effect"), err);
	r = fx->kind == FX_RUN_START ? state_run(s, fx->run_id) : NULL;
	if (r)
		record_set_str(&r->dispatch_result,
				str_is(ev_text(e, "outcome"), "ok") ? STR("accepted")
								    : STR("error"));
	state_remove_effect(s, fx);
	return 0;
}
