#include "app/plan/planning.h"

#include <stdlib.h>
#include <unistd.h>

#include "app/plan/repo_context.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/config/command_env.h"
#include "core/plan/plan_make.h"
#include "core/text/redact.h"
#include "data/value/json.h"
#include "drive/llm/llm.h"
#include "net/http.h"
#include "sys/file/file.h"
#include "sys/host/inject.h"
#include "sys/loop/loop.h"

enum { TEMPLATE_BYTES = 64 * 1024, DETAIL_BYTES = 2000 };

static const char system_text[] = "You plan work for coding agents. You answer with one JSON "
				  "document and nothing else.";

struct planning {
	struct planning_options o;
	struct http_client *http; /* NULL until it is needed */
};

struct planning_job {
	struct planning *p;
	struct arena arena; /* everything of this job */
	struct planner_task task;
	struct planner planner;
	struct llm_options llm;
	str model_ref;
	int64_t plan_version;
	struct job *summary;
	struct llm_call *asking;
	struct loop_source *later; /* a result known at once is told from the loop */
	struct out_plan plan;
	struct outcome result;
	planning_done_fn *done;
	void *user;
};

struct planning *planning_new(const struct planning_options *o)
{
	struct planning *p = mem_zalloc(1, sizeof(*p));

	p->o = *o;
	return p;
}

void planning_free(struct planning *p)
{
	if (!p)
		return;
	http_client_free(p->http);
	mem_free(p);
}

static void job_free(struct planning_job *j)
{
	loop_source_free(j->later);
	arena_done(&j->arena);
	mem_free(j);
}

void planning_cancel(struct planning_job *j)
{
	if (j->summary)
		job_abandon(j->summary);
	if (j->asking)
		llm_cancel(j->asking);
	job_free(j);
}

/* ---- the end ---- */

static void result_set(struct planning_job *j, enum effect_outcome is, str detail)
{
	struct arena *a = &j->arena;

	if (j->planner.arena)
		j->plan = planner_provenance(&j->planner);
	j->plan.model_ref = j->model_ref;
	j->result = (struct outcome){ .is = is,
		.detail = utf8_truncate(utf8_clean(a, detail), DETAIL_BYTES),
		.plan = &j->plan };
}

static void planning_tell(void *user)
{
	struct planning_job *j = user;

	INJECT("before-plan-outcome");
	j->done(j->user, &j->result);
	job_free(j);
}

static void tell_later(struct planning_job *j)
{
	j->later = loop_defer(j->p->o.loop, planning_tell, j);
}

static void fail_later(struct planning_job *j, const struct ov_err *err)
{
	result_set(j, ENDED_ERROR, str_from(err->msg));
	tell_later(j);
}

static void accept_later(struct planning_job *j)
{
	const value *accepted = j->planner.accepted;

	result_set(j, ENDED_OK, STR(""));
	if (j->task.purpose == PLANNER_DIAGNOSE) {
		j->plan.actions = value_at(accepted, "actions");
	} else {
		j->plan.plan = accepted;
		j->plan.plan_version = j->plan_version;
	}
	tell_later(j);
}

/* ---- asking ---- */

static void planning_ask(struct planning_job *j);

static void on_answer(void *user, const struct llm_answer *answer)
{
	struct planning_job *j = user;

	j->asking = NULL;
	if (answer->err->code) {
		fail_later(j, answer->err);
		return;
	}
	switch (planner_answer(&j->planner, answer->text, answer->tokens_in, answer->tokens_out)) {
	case PLANNER_ASK: planning_ask(j); break;
	case PLANNER_ACCEPT: accept_later(j); break;
	case PLANNER_GIVE_UP:
		result_set(j, ENDED_INVALID, planner_last_errors(&j->planner));
		tell_later(j);
		break;
	}
}

static void planning_ask(struct planning_job *j)
{
	struct planning *p = j->p;
	struct ov_err err = { 0 };
	int r = 0;

	if (j->llm.api != LLM_COMMAND && !p->http)
		r = http_client_new(p->o.loop, &p->http, &err);
	if (r == 0)
		r = llm_ask(p->o.loop, p->http, &j->llm,
				&(struct llm_question){ str_from(system_text), j->planner.prompt },
				on_answer, j, &j->asking, &err);
	if (r < 0)
		fail_later(j, &err);
}

static void planning_begin(struct planning_job *j)
{
	struct ov_err err = { 0 };

	if (planner_init(&j->planner, &j->arena, &j->task, &err) < 0)
		fail_later(j, &err);
	else
		planning_ask(j);
}

/* A summary that cannot be had is no reason to plan nothing. */
static void on_summary(void *user, const struct job_result *r)
{
	struct planning_job *j = user;
	struct arena *a = &j->arena;
	str own = j->task.repo_context, seen = STR("not available");

	j->summary = NULL;
	if (!r->timed_out && r->exit.code == 0)
		seen = repo_context_summary(a, r->out, r->out_cut);
	/* It goes to a stranger's machine, and was never checked on its way in. */
	seen = redact(a, seen);
	if (own.n)
		seen = arena_printf(a, STR_FMT "\n\n" STR_FMT, STR_ARG(own), STR_ARG(seen));
	j->task.repo_context = seen;
	planning_begin(j);
}

/* ---- starting ---- */

static const value *texts(struct arena *a, const struct strs *s)
{
	return value_copy(a, strs_to_value(a, s));
}

static void copy_goal(struct planning_job *j, const struct planning_request *rq)
{
	struct arena *a = &j->arena;
	struct planner_task *t = &j->task;
	const struct goal *g = rq->goal;
	value *ids = value_array(a), *narrowed = NULL;

	t->goal_title = arena_str(a, g->title);
	t->problem_statement = arena_str(a, g->problem_statement);
	t->success_criteria = texts(a, &g->success_criteria);
	t->constraints = texts(a, &g->constraints);
	t->repo_context = arena_str(a, g->repo_context);
	t->evidence = arena_str(a, rq->evidence);
	t->allowed = rq->allowed ? value_copy(a, rq->allowed) : NULL;
	j->plan_version = g->plan_version;
	if (!rq->node)
		return;
	t->node = value_copy(a, plan_node_document(a, rq->node));
	t->plan = value_copy(a, plan_document(a, g));
	(void)json_parse(a, arena_str(a, rq->node->def.tools_narrowed), NULL, &narrowed, NULL);
	t->narrowed = narrowed;
	for (size_t i = 0; i < g->nodes.n; i++)
		value_push(a, ids, value_str(a, arena_str(a, g->nodes.p[i]->id)));
	t->used_ids = ids;
}

/* The built-in text, or the file that stands in for it. */
static int load_template(struct planning_job *j, enum planner_purpose purpose, struct template *ret,
		struct ov_err *err)
{
	struct arena *a = &j->arena;
	const char *id = planner_template_id(purpose);
	const char *path = arena_printf(a, "%s/templates/%s.txt", j->p->o.dir, id).p;
	str text;
	int r = file_read(a, path, TEMPLATE_BYTES, &text, err);

	*ret = *template_find(str_from(id));
	if (r == OV_ENOTFOUND)
		return 0;
	if (r < 0)
		return r;
	if (!utf8_valid(text) || str_find_byte(text, '\0') < text.n)
		return ov_fail(err, OV_EINVALID, "%s: not a text in UTF-8", path);
	ret->text = text;
	return 0;
}

static const char *cstr(struct planning_job *j, str s)
{
	return arena_cstr(&j->arena, s);
}

/* The key out of our environment; NULL where there is none. */
static const char *key_of(struct arena *a, const struct config *c)
{
	bool needed;
	const char *name = arena_cstr(a, config_planner_key_env(c, &needed));
	str key = *name ? str_trim(str_from(getenv(name))) : STR("");

	return key.n ? arena_cstr(a, key) : NULL;
}

static void copy_llm(struct planning_job *j, const struct config *c)
{
	static const enum llm_api apis[] = { [PROVIDER_ANTHROPIC] = LLM_ANTHROPIC,
		[PROVIDER_OPENAI] = LLM_OPENAI,
		[PROVIDER_COMMAND] = LLM_COMMAND };
	bool needed;

	j->llm = (struct llm_options){
		.api = apis[c->planner_provider],
		.url = cstr(j, config_planner_url(c)),
		.model = cstr(j, config_planner_model(c)),
		.key = key_of(&j->arena, c),
		.key_name = cstr(j, config_planner_key_env(c, &needed)),
		.max_tokens = c->planner_max_tokens,
		.command = cstr(j, c->planner_command),
		.cwd = j->p->o.repo,
		.env = command_env(&j->arena, c, environ, NULL, 0),
		.timeout_ms = c->planner_timeout,
	};
}

str planning_trouble(struct arena *a, const struct config *c)
{
	bool needed;
	str name = config_planner_key_env(c, &needed);

	if (!needed || key_of(a, c))
		return STR("");
	return arena_printf(a,
			"the planner has no key: the environment variable " STR_FMT
			" is not set where the daemon was started; set it, then overseer down and "
			"up",
			STR_ARG(name));
}

static int prepare(struct planning_job *j, const struct planning_request *rq, struct ov_err *err)
{
	const struct config *c = rq->config;
	str trouble = planning_trouble(&j->arena, c);
	int r;

	j->task.purpose = rq->purpose;
	j->task.limits = c->policy.plan;
	j->task.roles = value_copy(&j->arena, policy_role_names(&j->arena, &c->policy));
	j->task.max_repairs = c->planner_max_repairs;
	j->model_ref = config_planner_ref(&j->arena, c);
	copy_goal(j, rq);
	copy_llm(j, c);
	if (trouble.n)
		return ov_fail(err, OV_EUNAUTHORIZED, STR_FMT, STR_ARG(trouble));
	r = load_template(j, rq->purpose, &j->task.prompt, err);
	if (r == 0)
		r = load_template(j, PLANNER_PURPOSES, &j->task.repair, err);
	return r;
}

struct planning_job *planning_start(struct planning *p, const struct planning_request *rq,
		planning_done_fn *done, void *user)
{
	struct planning_job *j = mem_zalloc(1, sizeof(*j));
	struct job_spec spec = repo_context_job(p->o.repo);
	struct ov_err err = { 0 };

	j->p = p;
	j->done = done;
	j->user = user;
	if (rq->config->planner_provider == PROVIDER_NONE) {
		j->model_ref = STR("none");
		result_set(j, ENDED_NONE, STR("no planner is configured"));
		tell_later(j);
	} else if (prepare(j, rq, &err) < 0 ||
			job_start(p->o.loop, &spec, on_summary, j, &j->summary, &err) < 0) {
		fail_later(j, &err);
	}
	return j;
}
