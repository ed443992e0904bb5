#include "core/policy/policy.h"

#include "base/arena.h"
#include "base/str.h"
#include "core/model/model.h"

enum { AGENTS_TOLD = 12 }; /* of those that are configured */

static bool matches(str rule, str name)
{
	return str_is(rule, "*") || str_eq(rule, name);
}

bool agent_allowed(const struct policy *p, str name)
{
	for (size_t i = 0; i < p->allow_agents_n; i++)
		if (matches(p->allow_agents[i], name))
			return true;
	return false;
}

bool cross_allowed(const struct policy *p, str from, str to)
{
	if (str_eq(from, to))
		return true;
	for (size_t i = 0; i < p->cross_n; i++)
		if (matches(p->cross[i].from, from) && matches(p->cross[i].to, to))
			return agent_allowed(p, to);
	return false;
}

value *policy_role_names(struct arena *a, const struct policy *p)
{
	value *names = value_array(a);

	for (size_t i = 0; i < p->roles_n; i++)
		value_push(a, names, value_str(a, p->roles[i].name));
	return names;
}

const struct policy_agent *policy_agent(const struct policy *p, str name)
{
	for (size_t i = 0; i < p->agents_n; i++)
		if (str_eq(p->agents[i].name, name))
			return &p->agents[i];
	return NULL;
}

str policy_no_agent(struct arena *a, const struct policy *p, str want)
{
	str all = STR("");

	if (want.n && policy_agent(p, want))
		return agent_allowed(p, want)
				? STR("")
				: arena_printf(a,
						  "agent \"" STR_FMT
						  "\" is not allowed (policy.allow_agents)",
						  STR_ARG(want));
	for (size_t i = 0; i < p->agents_n && i < AGENTS_TOLD; i++)
		all = arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(all), i ? ", " : "",
				STR_ARG(p->agents[i].name));
	if (p->agents_n > AGENTS_TOLD)
		all = arena_printf(a, STR_FMT " and %zu more", STR_ARG(all),
				p->agents_n - AGENTS_TOLD);
	if (!want.n && !all.n)
		return STR("no agent is configured ([agents.NAME])");
	if (!want.n)
		return arena_printf(a,
				"no default agent is set (defaults.agent); configured: " STR_FMT,
				STR_ARG(all));
	return arena_printf(a, "agent \"" STR_FMT "\" is not configured; configured: " STR_FMT,
			STR_ARG(want), STR_ARG(all.n ? all : STR("none")));
}

str policy_no_default(struct arena *a, const struct policy *p)
{
	return p->agents_n ? policy_no_agent(a, p, p->default_agent) : STR("");
}

struct accept_commands policy_accept(const struct policy *p, const struct goal *g)
{
	struct accept_commands c = p->accept;
	const struct accept_commands *own = &p->automatic;

	if (!str_is(g->standing, STANDING_AUTO))
		return c;
	c.pre = own->pre.n ? own->pre : c.pre;
	c.post = own->post.n ? own->post : c.post;
	c.pre_timeout = own->pre_timeout ? own->pre_timeout : c.pre_timeout;
	c.post_timeout = own->post_timeout ? own->post_timeout : c.post_timeout;
	if (own->pre_on_failure != PRE_AS_ACCEPT)
		c.pre_on_failure = own->pre_on_failure;
	else if (c.pre_on_failure == PRE_FAIL)
		c.pre_on_failure = PRE_PAUSE;
	if (own->post_on_failure != POST_AS_ACCEPT)
		c.post_on_failure = own->post_on_failure;
	else if (c.post_on_failure == POST_FAIL)
		c.post_on_failure = POST_PAUSE;
	return c;
}

bool policy_checks(const struct policy *p, const struct node *n)
{
	return n->def.check_command.n || p->check_command.n || policy_accept(p, n->goal).pre.n;
}

bool policy_waits_unchecked(const struct policy *p, bool automatic)
{
	return p->unchecked == UNCHECKED_REVIEW && p->review != REVIEW_ALWAYS &&
			!p->check_command.n && !p->accept.pre.n &&
			!(automatic && p->automatic.pre.n);
}
