/* Reading operations about the configured agents: what each is, and how much of it is in use. */
#include <stdlib.h>

#include "agent/table/formats.h"
#include "agent/table/gaps.h"
#include "app/ops/ops.h"
#include "base/arena.h"
#include "base/list.h"
#include "base/str.h"
#include "core/model/transition.h"
#include "core/view/view.h"
#include "sys/file/file.h"

/* As a run of it would be looked for. */
static const char *program_of(struct arena *a, const struct config_agent *agent)
{
	str path = config_agent_path(agent, str_from(getenv("PATH")));

	return file_program(a, arena_cstr(a, path), arena_cstr(a, agent->command[0]));
}

/* Assignments that wait for a person hold no place. */
static int64_t in_use(const struct state *s, str agent)
{
	int64_t n = 0;

	list_each (it, &s->live) {
		const struct assignment *as = list_entry(it, struct assignment, link);

		n += as->stage != STAGE_NONE && str_eq(as->agent, agent);
	}
	return n;
}

static value *texts_value(struct arena *a, const str *texts, size_t n)
{
	value *v = value_array(a);

	for (size_t i = 0; i < n; i++)
		value_push(a, v, value_str(a, texts[i]));
	return v;
}

static value *roles_value(struct arena *a, const struct config *c, str agent)
{
	value *v = value_array(a);

	for (size_t i = 0; i < c->policy.roles_n; i++)
		if (str_eq(c->policy.roles[i].agent, agent))
			value_push(a, v, value_str(a, c->policy.roles[i].name));
	return v;
}

/* The scope as configured; null: all that it has. */
static value *tools_value(struct op_ctx *cx, const struct config_agent *agent)
{
	const struct policy_agent *p = &cx->config->policy.agents[agent - cx->config->agents];

	return p->scope.allow || p->scope.deny_n ? tool_scope_value(cx->arena, &p->scope)
						 : value_null(cx->arena);
}

static value *agent_value(struct op_ctx *cx, const struct config_agent *agent)
{
	struct arena *a = cx->arena;
	const struct agent_format *f = format_find(agent->format);
	const char *program = program_of(a, agent);
	struct world w = { cx->state, &cx->config->policy };
	value *v = value_object(a);

	value_put(a, v, "name", value_str(a, agent->name));
	value_put(a, v, "default",
			value_bool(a, str_eq(agent->name, cx->config->policy.default_agent)));
	value_put(a, v, "roles", roles_value(a, cx->config, agent->name));
	value_put(a, v, "runtime", value_str(a, agent->runtime));
	value_put(a, v, "format", value_str(a, agent->format));
	value_put(a, v, "title", value_cstr(a, f->title));
	value_put(a, v, "command", texts_value(a, agent->command, agent->command_n));
	value_put(a, v, "program", program ? value_cstr(a, program) : value_null(a));
	value_put(a, v, "model", agent->model.n ? value_str(a, agent->model) : value_null(a));
	value_put(a, v, "in_use", value_int(a, in_use(cx->state, agent->name)));
	value_put(a, v, "concurrency", value_int(a, agent->concurrency));
	value_put(a, v, "limit", view_lane(a, &w, state_lane(cx->state, agent->name), cx->now));
	value_put(a, v, "tools", tools_value(cx, agent));
	value_put(a, v, "resumes", value_bool(a, f->resumes));
	value_put(a, v, "hooks", value_bool(a, f->hooks));
	value_put(a, v, "description", value_str(a, agent->description));
	value_put(a, v, "capabilities", texts_value(a, agent->capabilities, agent->capabilities_n));
	value_put(a, v, "cost_tier", value_str(a, agent->cost_tier));
	value_put(a, v, "cannot_tell", gaps_view(a, agent->format, agent->runtime));
	return v;
}

int op_agent_list(struct op_ctx *cx, const struct pr_agent_list *p, value **ret, struct ov_err *err)
{
	value *list = value_array(cx->arena);

	(void)p, (void)err;
	for (size_t i = 0; i < cx->config->agents_n; i++)
		value_push(cx->arena, list, agent_value(cx, &cx->config->agents[i]));
	*ret = value_object(cx->arena);
	value_put(cx->arena, *ret, "agents", list);
	return 0;
}

int op_agent_show(struct op_ctx *cx, const struct pr_agent_show *p, value **ret, struct ov_err *err)
{
	str name = p->agent;
	const struct config_agent *agent = config_agent(cx->config, name);

	if (!agent) {
		ov_fail(err, OV_ENOTFOUND, STR_FMT,
				STR_ARG(policy_no_agent(cx->arena, &cx->config->policy, name)));
		return ov_next(err, "overseer agent list");
	}
	*ret = agent_value(cx, agent);
	return 0;
}
