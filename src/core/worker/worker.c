/*
 * What people do about workers: add one, give it a task, tell it something, and have it reset or
 * removed. The last two are wishes: they are recorded (worker.wanted), its task lets go of it, its
 * run is stopped and harvested, and only then is its worktree touched, by an effect. What was in
 * the worktree is rescued first; if that cannot be done, nothing is done.
 */
#include "core/worker/worker.h"

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"
#include "core/capacity/free_worker.h"
#include "core/decide/check.h"
#include "core/decide/dispatch.h"
#include "core/life/session.h"
#include "core/model/limits.h"
#include "core/work/standing.h"
#include "core/work/work.h"

/* What can be done about a worker, and while it is what. */
static const struct worker_verb {
	const char *verb;
	uint32_t from; /* bits of enum worker_status */
	const char *more;
} verbs[] = {
#define B(s) (1u << (s))
#define GOOD (B(WORKER_NEEDS_REVIEW) | B(WORKER_REVIEWING))
#define AT_WORK (B(WORKER_WORKING) | B(WORKER_REJECTED))
	{ "start", B(WORKER_IDLE), " --task TEXT" },
	{ "review", GOOD, "" },
	{ "accept", GOOD, "" },
	{ "reject", GOOD, " --reason TEXT" },
	{ "rebase", GOOD, "" },
	{ "message", AT_WORK | B(WORKER_REBASING), " TEXT" },
	{ "pick", AT_WORK | GOOD | B(WORKER_NO_CHANGES) | B(WORKER_ERROR), " --reason TEXT" },
	{ "reset", B(WORKER_STATUS_COUNT) - 1, "" },
	{ "nuke", B(WORKER_STATUS_COUNT) - 1, "" },
#undef AT_WORK
#undef GOOD
#undef B
};

static const struct worker_verb *verb_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (strcmp(verbs[i].verb, name) == 0)
			return &verbs[i];
	return NULL;
}

static int not_found(struct decide_ctx *cx, str name, struct ov_err *err)
{
	VEC(const char *) names = { 0 };
	const char *near;

	for (size_t i = 0; i < cx->state->workers.n; i++)
		vec_push(&names, arena_cstr(cx->arena, cx->state->workers.p[i]->name));
	near = str_nearest(name, names.p, names.n);
	ov_fail(err, OV_ENOTFOUND, "there is no worker \"" STR_FMT "\"%s%s%s", STR_ARG(name),
			near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
	vec_done(&names);
	return ov_next(err, "overseer worker list");
}

/* What it can be asked for instead, as it is now. */
static int not_now(struct decide_ctx *cx, const struct worker_verb *v, const struct worker *w,
		struct ov_err *err)
{
	const struct worker_verb *first = NULL;
	str others = STR("");

	for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
		if (verbs[i].from & (1u << w->status)) {
			first = first ? first : &verbs[i];
			others = arena_printf(cx->arena, STR_FMT "%s%s", STR_ARG(others),
					others.n ? ", " : "", verbs[i].verb);
		}
	ov_fail(err, OV_ESTATE,
			"worker " STR_FMT
			" is %s, so it cannot be asked to %s; what can be done: " STR_FMT,
			STR_ARG(w->name), status_name(&worker_statuses, (int)w->status), v->verb,
			STR_ARG(others));
	return ov_next(err, "overseer worker %s " STR_FMT "%s", first->verb, STR_ARG(w->name),
			first->more);
}

/* Something else is being done to it already. */
static int busy_check(const struct worker *w, struct ov_err *err)
{
	str what = w->effect ? w->effect->purpose : w->wanted;

	if (!what.n)
		return 0;
	ov_fail(err, OV_ESTATE, "worker " STR_FMT " is waiting for a %s (" STR_FMT ")",
			STR_ARG(w->name),
			w->effect ? "step that is under way" : "wish of a person's", STR_ARG(what));
	return ov_next(err, "overseer worker list");
}

int worker_find(struct decide_ctx *cx, str name, struct worker **ret, struct ov_err *err)
{
	struct worker *w = state_worker(cx->state, name);

	if (!w)
		return not_found(cx, name, err);
	*ret = w;
	return 0;
}

int worker_read(struct decide_ctx *cx, str name, str reason, const char *verb, struct worker **ret,
		struct ov_err *err)
{
	const struct worker_verb *v = verb_find(verb);
	struct worker *w = NULL;
	int r = worker_find(cx, name, &w, err);

	if (r == 0)
		r = text_check(STR("reason"), reason, LIMIT_NOTE, err);
	if (r == 0)
		r = busy_check(w, err);
	if (r < 0)
		return r;
	if (!(v->from & (1u << w->status)))
		return not_now(cx, v, w, err);
	*ret = w;
	return 0;
}

value *worker_result(struct decide_ctx *cx, const struct worker *w, enum worker_status status)
{
	value *v = value_object(cx->arena);

	value_put(cx->arena, v, "worker", value_str(cx->arena, arena_str(cx->arena, w->name)));
	value_put(cx->arena, v, "status",
			value_cstr(cx->arena, status_name(&worker_statuses, (int)status)));
	return v;
}

/* Letters, digits, - and _: it is a folder, and a part of the names of branches and sessions. */
static bool name_is_fit(str name)
{
	for (size_t i = 0; i < name.n; i++) {
		char c = name.p[i];
		bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

		if (!letter && !(c >= '0' && c <= '9') && (i == 0 || (c != '-' && c != '_')))
			return false;
	}
	return name.n > 0 && name.n <= WORKER_NAME_MAX;
}

/* Names of those that are made on demand. */
static bool name_is_kept(str name)
{
	return str_starts(name, STR("pool-")) || str_starts(name, STR("auto-"));
}

static int name_check(const struct decide_ctx *cx, str name, struct ov_err *err)
{
	size_t manual = 0;

	for (size_t i = 0; i < cx->state->workers.n; i++)
		manual += cx->state->workers.p[i]->kind == WORKER_MANUAL;
	if (!name_is_fit(name))
		return ov_fail(err, OV_EINVALID,
				"a worker's name is 1 to %d letters, digits, - and _, beginning "
				"with "
				"a letter or digit",
				WORKER_NAME_MAX);
	if (name_is_kept(name))
		return ov_fail(err, OV_EINVALID,
				"names that begin with pool- or auto- are those of workers that "
				"are "
				"made on demand; choose another one");
	if (state_worker(cx->state, name)) {
		ov_fail(err, OV_ECONFLICT, "there is a worker " STR_FMT " already", STR_ARG(name));
		return ov_next(err, "overseer worker start " STR_FMT " --task TEXT", STR_ARG(name));
	}
	if (manual >= WORKERS_MANUAL_MAX)
		return ov_fail(err, OV_ELIMIT, "there are %d workers that people added; remove one",
				WORKERS_MANUAL_MAX);
	return 0;
}

int decide_worker_add(struct decide_ctx *cx, const struct pr_worker_add *p, value **ret_result,
		struct ov_err *err)
{
	str name = p->worker, agent = p->agent;
	struct ev_worker_created *e;
	int r = name_check(cx, name, err);

	if (r == 0 && agent.n)
		r = agent_check(cx, agent, err);
	if (r < 0)
		return r;
	e = emit_worker_created(cx, (struct subject){ 0 });
	e->worker = name;
	e->path = arena_printf(cx->arena, "worktrees/" STR_FMT, STR_ARG(name));
	e->kind = str_from(status_name(&worker_kinds, WORKER_MANUAL));
	e->excluded = p->excluded;
	if (agent.n)
		e->agent = agent;
	*ret_result = worker_result(cx, &(struct worker){ .name = name }, WORKER_IDLE);
	return 0;
}

/* A task that was given to it and has not begun. */
static const struct node *task_of(const struct decide_ctx *cx, const struct worker *w)
{
	list_each (it, &cx->state->queued) {
		const struct node *n = list_entry(it, struct node, link);

		if (!n->assignment && str_eq(n->next.worker, w->name))
			return n;
	}
	list_each (it, &cx->state->ready) {
		const struct node *n = list_entry(it, struct node, link);

		if (str_eq(n->next.worker, w->name))
			return n;
	}
	return NULL;
}

static int start_check(struct decide_ctx *cx, const struct worker *w, struct ov_err *err)
{
	const struct node *n = task_of(cx, w);

	if (w->kind == WORKER_AUTO) {
		ov_fail(err, OV_ESTATE,
				"worker " STR_FMT " gets its tasks from the pool (auto mode); give "
				"this one to a worker of your own",
				STR_ARG(w->name));
		return ov_next(err, "overseer worker add NAME");
	}
	if (!n)
		return 0;
	ov_fail(err, OV_ESTATE, "worker " STR_FMT " has a task already: " STR_FMT, STR_ARG(w->name),
			STR_ARG(n->def.name));
	return ov_next(err, "overseer explain " STR_FMT, STR_ARG(n->key));
}

int decide_worker_start(struct decide_ctx *cx, const struct pr_worker_start *p, value **ret_result,
		struct ov_err *err)
{
	str name = p->worker;
	const struct worker *named = state_worker(cx->state, name);
	struct standing_task task = { .text = str_trim(p->task),
		.agent = p->agent,
		.worker = name,
		.reason = STR("a person gave it to this worker") };
	struct worker *w;
	str node;
	int r = 0;

	/* Whatever it does: this is the first thing to know about it. */
	if (named && named->kind == WORKER_AUTO)
		return start_check(cx, named, err);
	r = worker_read(cx, p->worker, STR(""), "start", &w, err);
	if (r == 0)
		r = start_check(cx, w, err);
	if (r == 0)
		r = text_check(STR("task"), task.text, LIMIT_TEXT, err);
	if (r == 0 && !task.text.n)
		r = ov_fail(err, OV_EINVALID, "a task is needed: what is to be done, in words");
	if (r == 0 && task.agent.n)
		r = agent_check(cx, task.agent, err);
	if (r < 0)
		return r;
	if (!task.agent.n)
		task.agent = w->agent;
	node = standing_add(cx, STANDING_MANUAL, &task);
	*ret_result = worker_result(cx, w, w->status);
	value_put(cx->arena, *ret_result, "node", value_str(cx->arena, node));
	return 0;
}

/* Whoever's work is judged has no next run that would hear of it, unless it comes back. */
static int judged_check(const struct worker *w, const struct assignment *as, struct ov_err *err)
{
	if (as->stage != STAGE_CHECK && !stage_is_good(as->stage))
		return 0;
	ov_fail(err, OV_ESTATE,
			"the work of worker " STR_FMT
			" is done, and is being checked or accepted (next step: %s): there is no "
			"run that could be told",
			STR_ARG(w->name), status_name(&stages, (int)as->stage));
	if (as->stage == STAGE_CHECK)
		return ov_next(err, "overseer worker list");
	return ov_next(err, "overseer worker reject " STR_FMT " --reason TEXT", STR_ARG(w->name));
}

/*
 * To its run, if that can be told something while it runs; else to the next one, which there is
 * before its work is judged if its session can go on.
 */
int decide_worker_message(struct decide_ctx *cx, const struct pr_worker_message *p,
		value **ret_result, struct ov_err *err)
{
	str words = str_trim(p->text), text;
	const struct assignment *as;
	struct worker *w;
	bool now;
	int r = worker_read(cx, p->worker, STR(""), "message", &w, err);

	if (r == 0)
		r = text_check(STR("text"), words, LIMIT_NOTE, err);
	if (r == 0 && !words.n)
		r = ov_fail(err, OV_EINVALID, "there is nothing to say: give the words");
	if (r < 0)
		return r;
	as = state_assignment(cx->state, w->assignment_id);
	if (!as || !as->node || assignment_is_final(as))
		return ov_fail(err, OV_ESTATE, "worker " STR_FMT " has no task that could be told",
				STR_ARG(w->name));
	r = judged_check(w, as, err);
	if (r < 0)
		return r;
	if (!said_fits(as->node, words))
		return ov_fail(err, OV_ELIMIT,
				"worker " STR_FMT " has not taken what it was told before",
				STR_ARG(w->name));
	text = arena_printf(cx->arena, "A person says: " STR_FMT, STR_ARG(words));
	now = !run_deaf(cx, as->node);
	if (now)
		dispatch_send(cx, as, "message", text, words);
	else
		dispatch_say(cx, as, "message", text, words);
	*ret_result = worker_result(cx, w, w->status);
	value_put(cx->arena, *ret_result, "node",
			value_str(cx->arena, arena_str(cx->arena, as->node->key)));
	value_put(cx->arena, *ret_result, "told", value_cstr(cx->arena, now ? "now" : "next_run"));
	return 0;
}
