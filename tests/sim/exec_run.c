/*
 * Runs, as the executor's stand-in handles them: as app/exec/executor_run.c does, on the model of
 * the machine.
 */
#include "base/alloc.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/capacity/budget.h"
#include "core/life/liveness.h"
#include "core/model/record.h"
#include "core/text/last_lines.h"
#include "core/text/redact.h"
#include "tests/sim/exec_impl.h"
#include "tests/sim/simgit.h"
#include "tests/sim/tape.h"

enum { ADOPT_AGAIN_MS = 5000, ANSWER_MS = 30 * 1000 };

/* ---- runs in our hands ---- */

static void run_drop(struct exec_run *er)
{
	run_output_done(&er->run_output);
	record_set_str(&er->id, STR(""));
	record_set_str(&er->worktree, STR(""));
	record_set_str(&er->fingerprint, STR(""));
	mem_free(er);
}

void exec_runs_done(struct sim_exec *x)
{
	size_t i = 0;
	str key;
	void *er;

	while (map_next(&x->runs, &i, &key, &er))
		run_drop(er);
	map_done(&x->runs);
	map_done(&x->seen);
	map_done(&x->refused);
	arena_done(&x->refused_ids);
}

/*
 * What it says that it has used; the tick is asked when the level of its goal's budget may change.
 */
static void hear_usage(struct exec_run *er, const struct sim_run *r)
{
	const struct run *run = state_run(exec_state(er->x), er->id);
	const struct goal *g = run ? state_goal(exec_state(er->x), run->goal_id) : NULL;
	const struct policy *p = &er->x->s->config->policy;
	struct observation *o = &er->seen;

	machine_used(r, &o->tokens, &o->cost_microusd);
	if (!g ||
			(o->tokens < budget_next_mark(p, g, RES_TOKENS, er->asked_tokens,
						     sim_now(er->x->s)) &&
					o->cost_microusd < budget_next_mark(p, g, RES_COST_MICROUSD,
									   er->asked_cost,
									   sim_now(er->x->s))))
		return;
	er->asked_tokens = o->tokens;
	er->asked_cost = o->cost_microusd;
	tape_call(er->x->d->tape, er->x->d->engine, TAPE_TOUCH);
}

/* Whoever reads its output from the beginning hears of its session once more. */
static void hear_session(struct exec_run *er, const struct sim_run *r)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *v = value_object(&a);

	if (er->session_told || !machine_session(r).n)
		return;
	er->session_told = true;
	value_put(&a, v, "run", value_str(&a, er->id));
	value_put(&a, v, "session", value_str(&a, machine_session(r)));
	value_put(&a, v, "model", value_cstr(&a, "model"));
	tape_report(er->x->d->tape, er->x->d->engine, STR("run.session"), v);
}

/* All output that was not heard yet. */
static void hear(struct exec_run *er, const struct sim_run *r)
{
	str output = machine_output(r);
	str bytes = str_sub(output, er->offset, output.n);

	hear_usage(er, r);
	hear_session(er, r);
	if (bytes.n)
		run_output_bytes(&er->run_output, bytes, er->offset);
	er->offset = output.n;
}

/*
 * What it says of a person that it waits for; silence about it is not heard, only what comes
 * after it.
 */
static void hear_waiting(struct exec_run *er, const struct sim_run *r)
{
	struct observation *o = &er->seen;
	str waits = machine_waits(r);

	if (waits.n && !o->waiting_for.n)
		o->waiting_since = sim_now(er->x->s);
	o->waiting_for = waits;
	if (!waits.n)
		o->waiting_since = 0;
}

static void heard_output(struct sim *s, int life, str run_id)
{
	struct sim_exec *x = exec_of(s, life);
	struct exec_run *er = x ? map_get(&x->runs, run_id) : NULL;
	struct sim_run *r = machine_find(s->machine, run_id);

	if (!er || !r || s->silent)
		return;
	if (machine_output(r).n > er->offset) {
		bool waited = er->seen.waiting_for.n > 0;

		er->seen.output_at = sim_now(s);
		exec_silence_heard(er, r);
		hear_waiting(er, r);
		if (waited != (er->seen.waiting_for.n > 0) ||
				run_output_is_awaited(x->d->engine, er->id))
			tape_call(x->d->tape, x->d->engine, TAPE_TOUCH);
	}
	hear(er, r);
}

/* What was being given to it, nobody knows whether it arrived. */
static void sends_end(struct sim_exec *x, str run_id)
{
	list_each (it, &x->tasks) {
		struct exec_task *t = list_entry(it, struct exec_task, link);

		if (t->kind == FX_SEND && t->sent && str_eq(t->run_id, run_id))
			exec_tell(t, "error", STR("the run ended before it answered"), NULL);
	}
}

/*
 * As agent/fact/account judges: by what it said, whatever its exit status; a limit is a trouble
 * like any other.
 */
static void put_verdict(struct arena *a, value *v, const struct machine_end *end)
{
	str trouble = end->limit.n ? end->limit : end->trouble;

	value_put(a, v, "verdict", value_cstr(a, end->result ? "ok" : "failed"));
	if (!end->result)
		value_put(a, v, "trouble",
				trouble.n ? value_str(a, trouble) : value_cstr(a, "unfinished"));
}

/* As agent/fact/account counts calls of tools. */
static void put_tool(struct arena *a, value *v, const struct machine_end *end)
{
	value_put(a, v, "tool", value_str(a, end->tool));
	value_put(a, v, "tool_digest", value_str(a, sha256_hex(a, end->tool)));
	value_put(a, v, "tool_repeats", value_int(a, end->calls));
}

static void report_end(struct sim_exec *x, str run_id, const struct machine_end *end, str output)
{
	const struct exec_run *er = map_get(&x->runs, run_id);
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	value *v = value_object(&a);

	value_put(&a, v, "run", value_str(&a, run_id));
	value_put(&a, v, "exit_code", value_int(&a, end->exit_code));
	value_put(&a, v, "signal", value_int(&a, end->signal));
	value_put(&a, v, "lost", value_bool(&a, end->lost));
	value_put(&a, v, "output_bytes", value_int(&a, (int64_t)output.n));
	value_put(&a, v, "dropped_bytes", value_int(&a, 0));
	value_put(&a, v, "swept", value_int(&a, (int64_t)end->swept));
	if (end->ended_at)
		value_put(&a, v, "ended_at_ms", value_int(&a, end->ended_at));
	if (end->message.n)
		value_put(&a, v, "message", value_str(&a, utf8_clean(&a, end->message)));
	if (output.n && (end->exit_code || end->signal || end->lost))
		value_put(&a, v, "last_lines", value_str(&a, last_lines(&a, redact(&a, output))));
	if (end->tokens)
		value_put(&a, v, "tokens", value_int(&a, end->tokens));
	if (end->cost_microusd)
		value_put(&a, v, "cost_microusd", value_int(&a, end->cost_microusd));
	if (end->speaks)
		put_verdict(&a, v, end);
	else if (end->limit.n)
		value_put(&a, v, "limit", value_str(&a, end->limit));
	if (end->tool.n)
		put_tool(&a, v, end);
	if (end->resets_at)
		value_put(&a, v, "resets_at_ms", value_int(&a, end->resets_at));
	if (er && silence_told(&a, &er->silences))
		value_put(&a, v, "silences", silence_told(&a, &er->silences));
	sim_trace(x->s, "run " STR_FMT " has ended: exit %lld, signal %lld%s", STR_ARG(run_id),
			(long long)end->exit_code, (long long)end->signal,
			end->lost ? ", lost" : "");
	tape_report(x->d->tape, x->d->engine, STR("run.end"), v);
}

/* Also a second time, when the message comes twice: an end is an end. */
static void heard_end(struct sim *s, int life, str run_id)
{
	struct sim_exec *x = exec_of(s, life);
	struct sim_run *r = machine_find(s->machine, run_id);
	struct exec_run *er = x ? map_get(&x->runs, run_id) : NULL;
	struct machine_end end;

	if (!x || !r || machine_lives(r))
		return;
	end = *machine_end_of(r);
	/* What was told last is what is known of one that left no record. */
	if (end.lost)
		machine_used(r, &end.tokens, &end.cost_microusd);
	if (er) {
		hear(er, r);
		run_output_end(&er->run_output);
		sends_end(x, run_id);
	}
	report_end(x, run_id, &end, machine_output(r));
	if (!er)
		return;
	map_remove(&x->runs, run_id);
	map_remove(&x->seen, run_id);
	run_drop(er);
}

static const struct exec_run *of_hearing(const struct run_output *h)
{
	return (const struct exec_run *)((const char *)h - offsetof(struct exec_run, run_output));
}

static void tell(struct run_output *h, str command, const value *params)
{
	const struct exec_run *er = of_hearing(h);

	tape_report(er->x->d->tape, h->engine, command, params);
}

static int64_t hearing_now(const struct run_output *h)
{
	return sim_now(of_hearing(h)->x->s);
}

struct due {
	int life;
	char run[SIM_NAME_MAX];
};

static void hearing_fired(struct sim *s, void *arg)
{
	const struct due *m = arg;
	struct sim_exec *x = exec_of(s, m->life);
	struct exec_run *er = x ? map_get(&x->runs, str_from(m->run)) : NULL;

	if (er)
		run_output_due(&er->run_output);
}

static void hearing_wake(struct run_output *h, int64_t ms)
{
	const struct exec_run *er = of_hearing(h);
	struct due *m = sim_in(er->x->s, ms, er->x->d->life, hearing_fired, sizeof(*m));

	m->life = er->x->d->life;
	sim_name(m->run, er->id);
}

static void take_in_hand(struct sim_exec *x, const struct run *run, struct sim_run *r, bool fresh)
{
	struct exec_run *er = mem_zalloc(1, sizeof(*er));
	_cleanup_(arena_done) struct arena a = ARENA_INIT;

	er->x = x;
	record_set_str(&er->id, run->id);
	record_set_str(&er->worktree,
			arena_printf(&a, SIM_STORE_DIR "/worktrees/" STR_FMT,
					STR_ARG(run->worker)));
	er->offset = MIN((uint64_t)run->update_offset, machine_output(r).n);
	run_output_init(&er->run_output, x->d->engine, er->id, SIM_STORE_DIR "/no-folder",
			er->offset);
	er->run_output.tell = tell;
	er->run_output.now_ms = hearing_now;
	er->run_output.wake_in = hearing_wake;
	er->seen.known_since = sim_now(x->s);
	er->seen.output_at = MIN(machine_output_at(r), sim_now(x->s));
	map_put(&x->runs, er->id, er);
	map_put(&x->seen, er->id, &er->seen);
	exec_silence_begin(er, fresh);
	hear(er, r);
	machine_listen(x->s->machine, r, x->d->life, heard_output, heard_end);
}

/* ---- effects on runs ---- */

struct again {
	int life;
	char effect[SIM_NAME_MAX];
};

static void start_again(struct sim *s, void *arg)
{
	const struct again *m = arg;
	struct sim_exec *x = exec_of(s, m->life);
	struct exec_task *t = x ? exec_task_find(x, str_from(m->effect)) : NULL;

	if (t)
		exec_start_run(t);
}

static void launch(struct exec_task *t, const struct run *run, const struct assignment *as)
{
	struct sim_exec *x = t->x;
	struct ov_err err = { 0 };
	const struct dispatch *d = state_dispatch(exec_state(x), run->dispatch_id);
	const struct policy_agent *agent = policy_agent(&x->s->config->policy, as->agent);
	struct machine_spec spec = {
		.run_id = run->id,
		.assignment_id = as->id,
		.goal_id = as->goal_id,
		.node_id = as->node_id,
		.agent = as->agent,
		.worktree = t->worktree,
		.dispatch_id = run->dispatch_id,
		.epoch = as->epoch,
		.attempt = run->attempt,
		.session = run->session,
		.resume = run->resumed,
		.text = d ? run_output_dispatch_text(&t->arena, x->d->engine, d->seq) : STR(""),
	};

	if (agent) {
		spec.input = agent->input;
		spec.keeps = agent->format && agent->format->structured;
		spec.hooks = agent->format && agent->format->hooks;
		spec.late = agent->format && agent->format->tells_late;
	}
	if (!spec.text.n)
		ov_fail(&err, OV_ENOTFOUND, "the text of its dispatch is not in the log");
	else if (map_get(&x->refused, run->id) || sim_fault(x->s, FAULT_START))
		ov_fail(&err, OV_EIO, "the program cannot be started");
	else
		(void)machine_start(x->s->machine, &spec, &err);
	if (err.code) {
		map_put(&x->refused, arena_str(&x->refused_ids, run->id), x);
		exec_tell_error(t, &err);
		return;
	}
	x->s->stats.runs++;
	take_in_hand(x, run, machine_find(x->s->machine, run->id), true);
	exec_tell(t, "ok", STR(""), NULL);
}

void exec_start_run(struct exec_task *t)
{
	struct sim_exec *x = t->x;
	const struct effect *fx = state_effect(exec_state(x), t->effect_id);
	const struct assignment *as = fx ? state_assignment(exec_state(x), fx->assignment_id)
					 : NULL;
	struct sim_run *r = machine_find(x->s->machine, t->run_id);

	if (!as || !as->run || map_get(&x->runs, t->run_id)) {
		exec_tell(t, "ok", STR(""), NULL);
	} else if (sim_fault(x->s, FAULT_ADOPT)) {
		/* A former life may have started it: nobody can tell now. */
		struct again *m = sim_in(x->s, ADOPT_AGAIN_MS, x->d->life, start_again, sizeof(*m));

		m->life = x->d->life;
		sim_name(m->effect, t->effect_id);
	} else if (r) {
		take_in_hand(x, as->run, r, false);
		exec_tell(t, "ok", STR(""), NULL);
	} else {
		launch(t, as->run, as);
	}
}

void exec_stop_run(struct exec_task *t)
{
	struct sim_exec *x = t->x;
	const struct run *run = state_run(exec_state(x), t->run_id);
	struct exec_run *er = map_get(&x->runs, t->run_id);
	struct ov_err err = { 0 };

	if (!er && run && run->status != RUN_ENDED) {
		ov_fail(&err, OV_EUNAVAILABLE, "the run is not in our hands yet");
		exec_tell_error(t, &err);
		return;
	}
	if (er) {
		struct git_result kept = { 0 };

		/* Whatever comes of it, the run is stopped; its harvest keeps the work again. */
		(void)simgit_rescue(x->s->git, t->worktree, t->base, t->rescue_ref, SIMGIT_ALL,
				&t->arena, &kept, &err);
		machine_stop(x->s->machine, t->run_id);
	}
	exec_tell(t, "ok", STR(""), NULL);
}

struct send {
	int life;
	uint64_t number;
	char run[SIM_NAME_MAX], dispatch[SIM_NAME_MAX];
	size_t n;
	char text[];
};

/* At the shim: it takes what it did not take before, and says so to whoever is there. */
static void at_shim(struct sim *s, void *arg)
{
	const struct send *m = arg;
	struct ov_err err = { 0 };
	int r = machine_deliver(s->machine, str_from(m->run), str_from(m->dispatch),
			(str){ m->text, m->n }, &err);
	struct exec_task *t = exec_task_numbered(s, m->life, m->number);

	if (!t)
		return;
	if (r < 0)
		exec_tell_error(t, &err);
	else
		exec_tell(t, "ok", STR(""), NULL);
}

struct unanswered {
	int life;
	uint64_t number;
};

/*
 * As drive/run: who waits for the shim's answer gives up after a while, and nobody knows whether
 * it arrived.
 */
static void no_answer(struct sim *s, void *arg)
{
	const struct unanswered *m = arg;
	struct exec_task *t = exec_task_numbered(s, m->life, m->number);

	if (t)
		exec_tell(t, "error", STR("the shim did not answer"), NULL);
}

void exec_send(struct exec_task *t)
{
	struct sim_exec *x = t->x;
	const struct dispatch *d = state_dispatch(exec_state(x), t->dispatch_id);
	str text = d ? run_output_dispatch_text(&t->arena, x->d->engine, d->seq) : STR("");
	struct ov_err err = { 0 };
	struct unanswered *u;
	struct send *m;

	if (!text.n)
		ov_fail(&err, OV_ENOTFOUND, "its text is not in the log");
	else if (!map_get(&x->runs, t->run_id))
		ov_fail(&err, OV_EUNAVAILABLE, "the run has ended or is not in our hands");
	if (err.code) {
		exec_tell_error(t, &err);
		return;
	}
	t->sent = true;
	silence_spoil(&((struct exec_run *)map_get(&x->runs, t->run_id))->silences);
	m = sim_post(x->s, CHANNEL_SEND, 1, 0, at_shim, sizeof(*m) + text.n);
	m->life = x->d->life;
	m->number = t->number;
	sim_name(m->run, t->run_id);
	sim_name(m->dispatch, t->dispatch_id);
	m->n = text.n;
	memcpy(m->text, text.p, text.n);
	u = sim_in(x->s, ANSWER_MS, x->d->life, no_answer, sizeof(*u));
	u->life = x->d->life;
	u->number = t->number;
}

/* ---- after a restart ---- */

static void adopt_again(struct sim *s, void *arg)
{
	struct sim_exec *x = exec_of(s, *(int *)arg);

	if (x)
		exec_adopt(x);
}

void exec_adopt(struct sim_exec *x)
{
	static const struct machine_end gone = { .lost = true,
		.exit_code = -1,
		.message = { "its folder shows no start", 25 } };
	bool all = true;

	list_each (it, &exec_state(x)->runs) {
		const struct run *run = list_entry(it, struct run, link);
		struct sim_run *r;

		if (run->status != RUN_RUNNING || map_get(&x->runs, run->id))
			continue;
		r = machine_find(x->s->machine, run->id);
		if (sim_fault(x->s, FAULT_ADOPT))
			all = false;
		else if (r)
			take_in_hand(x, run, r, false);
		else
			report_end(x, run->id, &gone, STR(""));
	}
	exec_freeze_look(x);
	if (!all)
		*(int *)sim_in(x->s, ADOPT_AGAIN_MS, x->d->life, adopt_again,
				sizeof(int)) = x->d->life;
}

/* ---- looks ---- */

struct look {
	int life;
	char run[SIM_NAME_MAX];
};

/*
 * As app/watch/observe: the first look, or the first after output, is only something to
 * compare with.
 */
static void look_at_processes(struct exec_run *er)
{
	struct sim *s = er->x->s;
	struct observation *o = &er->seen;
	const struct sim_run *r = s->silent ? NULL : machine_find(s->machine, er->id);
	uint64_t usage = er->usage;
	bool lives;

	if ((s->silent && !s->frozen) || sim_fault(s, FAULT_LOOK) ||
			(!s->silent && machine_usage(s->machine, er->id, &usage, NULL) < 0)) {
		o->process_unknown = true;
		return;
	}
	o->process_unknown = !er->compares || o->output_at > o->looked_at;
	lives = r && s->o.seed % 2 == 0 ? exec_process_lives(er, r, !o->process_unknown)
					: usage != er->usage;
	if (!o->process_unknown && lives) {
		o->process_at = sim_now(s);
		silence_work(&er->silences);
	}
	er->usage = usage;
	er->compares = true;
}

static void look_at_tree(struct exec_run *er)
{
	struct sim *s = er->x->s;
	struct observation *o = &er->seen;
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct git_result res = { 0 };

	o->tree_unknown = (s->silent && !s->frozen) || sim_fault(s, FAULT_LOOK) ||
			simgit_fingerprint(s->git, er->worktree, SIMGIT_ALL, &a, &res, NULL) < 0 ||
			!er->fingerprint.n;
	if (s->silent)
		return;
	if (!o->tree_unknown && !str_eq(res.fingerprint, er->fingerprint))
		o->tree_at = sim_now(s);
	if (res.fingerprint.n)
		record_set_str(&er->fingerprint, res.fingerprint);
}

static void look_ended(struct sim *s, void *arg)
{
	const struct look *m = arg;
	struct sim_exec *x = exec_of(s, m->life);
	struct exec_run *er = x ? map_get(&x->runs, str_from(m->run)) : NULL;
	struct observation *o;
	struct sim_run *r;

	if (!er)
		return;
	o = &er->seen;
	er->looking = false;
	r = machine_find(s->machine, er->id);
	/* Its file tells of output that nobody was told of. */
	if (r && !s->silent && machine_output_at(r) <= sim_now(s))
		o->output_at = MAX(o->output_at, machine_output_at(r));
	if (r && !s->silent)
		exec_doing(er, r);
	look_at_processes(er);
	look_at_tree(er);
	o->looked_at = sim_now(s);
	if (r && !s->silent)
		hear_waiting(er, r);
	tape_call(x->d->tape, x->d->engine, TAPE_TOUCH);
}

void exec_look(struct sim_exec *x, const struct run *r)
{
	struct exec_run *er = map_get(&x->runs, r->id);
	struct look *m;

	if (!er || er->looking)
		return;
	er->looking = true;
	m = sim_in(x->s, sim_between(x->s, RNG_EXEC, 50, 3000), x->d->life, look_ended, sizeof(*m));
	m->life = x->d->life;
	sim_name(m->run, r->id);
}

void exec_clock_moved(struct sim_exec *x, ov_time by)
{
	void *found;
	size_t i = 0;
	str id;

	while (map_next(&x->runs, &i, &id, &found))
		observation_clock_moved(&((struct exec_run *)found)->seen, by);
}
