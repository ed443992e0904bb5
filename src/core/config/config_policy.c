/*
 * The part of the configuration by which the core decides: what may not be said together, and how
 * it becomes a struct policy.
 */
#include "agent/table/formats.h"
#include "base/err.h"
#include "base/str.h"
#include "core/capacity/budget.h"
#include "core/config/config_impl.h"
#include "core/model/model.h"

static bool any(str name)
{
	return str_is(name, "*");
}

static str entry_key(struct config_reader *r, const char *option, size_t i)
{
	return arena_printf(&r->c->arena, "policy.%s[%zu]", option, i);
}

static void check_allow_agents(struct config_reader *r)
{
	const struct policy *p = &r->c->policy;

	if (p->allow_agents_n == 0)
		config_problem(r, STR("policy.allow_agents"),
				"is empty: no agent could be given work; name some, or write "
				"[\"*\"]");
	for (size_t i = 0; i < p->allow_agents_n; i++) {
		str name = p->allow_agents[i], key = entry_key(r, "allow_agents", i);

		if (any(name) && p->allow_agents_n > 1)
			config_problem(r, key,
					"\"*\" allows every agent; leave it or the names "
					"out");
		else if (!any(name))
			config_check_agent(r, key, name);
		for (size_t k = 0; k < i; k++)
			if (str_eq(name, p->allow_agents[k]))
				config_problem(r, key, "\"" STR_FMT "\" is there twice",
						STR_ARG(name));
	}
}

/* Who would be given work by one option must not be refused it by another. */
static void check_routes(struct config_reader *r)
{
	const struct policy *p = &r->c->policy;

	if (p->allow_agents_n == 0)
		return;
	if (p->default_agent.n && !agent_allowed(p, p->default_agent))
		config_problem(r, STR("defaults.agent"),
				"\"" STR_FMT "\" is not in policy.allow_agents",
				STR_ARG(p->default_agent));
	for (size_t i = 0; i < p->roles_n; i++)
		if (p->roles[i].agent.n && !agent_allowed(p, p->roles[i].agent))
			config_problem(r,
					arena_printf(&r->c->arena, "roles." STR_FMT,
							STR_ARG(p->roles[i].name)),
					"\"" STR_FMT "\" is not in policy.allow_agents",
					STR_ARG(p->roles[i].agent));
}

static void check_side(struct config_reader *r, str key, str name)
{
	if (any(name))
		return;
	config_check_agent(r, key, name);
	if (r->c->policy.allow_agents_n && !agent_allowed(&r->c->policy, name))
		config_problem(r, key, "\"" STR_FMT "\" is not in policy.allow_agents",
				STR_ARG(name));
}

static bool split_cross(str entry, struct policy_cross *ret)
{
	size_t at = str_find_byte(entry, '>');

	if (at >= entry.n)
		return false;
	*ret = (struct policy_cross){ str_trim(str_sub(entry, 0, at)),
		str_trim(str_sub(entry, at + 1, entry.n)) };
	return ret->from.n && ret->to.n && str_find_byte(ret->to, '>') >= ret->to.n;
}

static bool covers(const struct policy_cross *a, const struct policy_cross *b)
{
	return (any(a->from) || str_eq(a->from, b->from)) && (any(a->to) || str_eq(a->to, b->to));
}

static void check_cross(struct config_reader *r)
{
	const struct config *c = r->c;
	struct policy_cross *cross = arena_array(&r->c->arena, struct policy_cross,
			c->allow_cross_agent_n + 1);

	for (size_t i = 0; i < c->allow_cross_agent_n; i++) {
		str entry = c->allow_cross_agent[i], key = entry_key(r, "allow_cross_agent", i);

		if (!split_cross(entry, &cross[i])) {
			config_problem(r, key,
					"\"" STR_FMT
					"\" is not of the form \"claude>codex\": from an agent to "
					"another one",
					STR_ARG(entry));
			continue;
		}
		check_side(r, key, cross[i].from);
		check_side(r, key, cross[i].to);
		if (!any(cross[i].from) && str_eq(cross[i].from, cross[i].to))
			config_problem(r, key, "\"" STR_FMT "\" goes from an agent to itself",
					STR_ARG(entry));
		for (size_t k = 0; k < i; k++)
			if (covers(&cross[k], &cross[i]) || covers(&cross[i], &cross[k]))
				config_problem(r, key,
						"\"" STR_FMT "\" and \"" STR_FMT
						"\" say the same; leave one out",
						STR_ARG(c->allow_cross_agent[k]), STR_ARG(entry));
	}
}

static bool is_channel(const struct config *c, str name)
{
	return any(name) || status_parse(&channel_types, name) >= 0 || config_channel(c, name);
}

static void check_route(struct config_reader *r, enum urgency urgency)
{
	struct arena *a = &r->c->arena;
	const struct policy_route *route = &r->c->policy.routes[urgency];
	const char **names = arena_array(a, const char *, r->c->channels_n + CHANNEL_TYPE_COUNT);
	size_t n = 0;

	for (size_t i = 0; i < r->c->channels_n; i++)
		names[n++] = arena_cstr(a, r->c->channels[i].name);
	for (int i = 0; i < CHANNEL_TYPE_COUNT; i++)
		names[n++] = status_name(&channel_types, i);
	for (size_t i = 0; i < route->n; i++) {
		const char *near = str_nearest(route->to[i], names, n);

		if (!is_channel(r->c, route->to[i]))
			config_problem(r,
					arena_printf(a, "escalation.routes.%s[%zu]",
							status_name(&urgencies, (int)urgency), i),
					"there is no [escalation.channels." STR_FMT
					"], and no type of channel of that name%s%s%s",
					STR_ARG(route->to[i]), near ? " (did you mean \"" : "",
					near ? near : "", near ? "\"?)" : "");
	}
}

/* Reports are looked for beneath the worktree alone: whatever leads out of it finds none. */
static void check_reports(struct config_reader *r, const char *name, const str *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		str rest = list[i], part;
		bool out = !list[i].n || list[i].p[0] == '/';

		while (str_split(&rest, '/', &part))
			out |= str_is(part, "..");
		if (out)
			config_problem(r, arena_printf(&r->c->arena, "%s[%zu]", name, i),
					"\"" STR_FMT "\" is no path beneath a worktree, such as "
					"\"build/*.xml\"",
					STR_ARG(list[i]));
	}
}

void config_check_policy(struct config_reader *r)
{
	const struct config *c = r->c;
	const struct policy *p = &c->policy;

	check_reports(r, "workspace.test_report", c->workspace_test_report,
			c->workspace_test_report_n);
	check_reports(r, "workspace.coverage_report", c->workspace_coverage_report,
			c->workspace_coverage_report_n);
	check_allow_agents(r);
	check_routes(r);
	check_cross(r);
	for (int i = 0; i < URGENCY_COUNT; i++)
		check_route(r, (enum urgency)i);
	if (p->notice_retry > p->notice_retry_max)
		config_problem(r, STR("escalation.retry_base"),
				"must not exceed escalation.retry_max");
	if ((p->quiet_from < 0) != (p->quiet_to < 0))
		config_problem(r, p->quiet_from < 0 ? STR("quiet.from") : STR("quiet.to"),
				"is missing: quiet hours need both quiet.from and quiet.to");
	else if (p->quiet_from >= 0 && p->quiet_from == p->quiet_to)
		config_problem(r, STR("quiet.to"),
				"is the same as quiet.from; leave both out for no quiet hours");
}

static const struct policy_agent *policy_agents(struct config *c)
{
	struct policy_agent *agents = arena_array(&c->arena, struct policy_agent, c->agents_n + 1);

	for (size_t i = 0; i < c->agents_n; i++) {
		const struct config_agent *from = &c->agents[i];

		agents[i] = (struct policy_agent){ .name = from->name,
			.format = format_find(from->format),
			.concurrency = from->concurrency,
			.input = from->input != INPUT_NONE,
			.terminal = str_is(from->runtime, "tmux"),
			.rate_limit_exit = from->rate_limit_exit,
			.login_exit = from->login_exit,
			.said = { from->limit_patterns, from->login_patterns,
					from->limit_patterns_n, from->login_patterns_n },
			.recovery = (enum rung)(RUNG_RESEND + from->recovery),
			.scope = { from->tools_n ? from->tools : NULL, from->tools_n,
					from->tools_deny, from->tools_deny_n } };
	}
	return agents;
}

static const struct policy_cross *policy_crosses(struct config *c)
{
	struct policy_cross *cross = arena_array(&c->arena, struct policy_cross,
			c->allow_cross_agent_n + 1);

	for (size_t i = 0; i < c->allow_cross_agent_n; i++)
		split_cross(c->allow_cross_agent[i], &cross[i]);
	return cross;
}

static const struct policy_channel *policy_channels(struct config *c)
{
	struct policy_channel *p = arena_array(&c->arena, struct policy_channel, c->channels_n + 1);

	for (size_t i = 0; i < c->channels_n; i++)
		p[i] = (struct policy_channel){ c->channels[i].name, c->channels[i].type };
	return p;
}

/* No effect runs more than all of the commands there are. */
static ov_time effect_longest(const struct config *c)
{
	const struct accept_commands *accept = &c->policy.accept, *automatic = &c->policy.automatic;
	ov_time notice = 0;

	for (size_t i = 0; i < c->channels_n; i++)
		notice = MAX(notice, c->channels[i].timeout);
	return notice + c->workspace_setup_timeout + c->workspace_check_timeout +
			accept->pre_timeout + accept->post_timeout + automatic->pre_timeout +
			automatic->post_timeout + c->task_pool_timeout +
			c->planner_timeout * (c->planner_max_repairs + 1);
}

void config_fill_preset(struct config *c)
{
	int preset = status_parse(&presets, value_str_at(value_at(c->doc, "oversight"), "preset"));

	oversight_preset(&c->policy.oversight, preset < 0 ? PRESET_DEFAULT : (enum preset)preset);
}

/* What is no option's value as it stands; all else was read into the policy by its row. */
void config_fill_policy(struct config *c)
{
	struct policy *p = &c->policy;

	p->agents = policy_agents(c);
	p->agents_n = c->agents_n;
	p->channels = policy_channels(c);
	p->channels_n = c->channels_n;
	p->cross = policy_crosses(c);
	p->cross_n = c->allow_cross_agent_n;
	p->target_branch = c->accept_target;
	p->auto_agent = c->auto_agent.n ? c->auto_agent : p->default_agent;
	p->planner = c->planner_provider != PROVIDER_NONE;
	p->idle_set = config_lookup(c->doc, STR("supervisor.idle_after")) != NULL;
	p->mute_set = config_lookup(c->doc, STR("supervisor.mute_after")) != NULL;
	p->effect_longest = effect_longest(c);
	p->no_changes_attempts = 2;
	p->moved_tries = p->review_rounds = 100;
}

int config_check_auto(const struct config *c, const char *command, struct ov_err *err)
{
	const struct policy *p = &c->policy;

	if (!c->task_pool_command.n) {
		ov_fail(err, OV_EINVALID,
				"auto mode needs a command that gives out tasks, and "
				"auto.task_pool_command is not set");
		return ov_next(err, "%s --task-pool-command COMMAND", command);
	}
	if (!policy_agent(p, p->auto_agent)) {
		ov_fail(err, OV_EINVALID,
				"auto mode needs an agent, and neither auto.agent nor "
				"defaults.agent names one that is configured");
		return ov_next(err, "overseer agent list");
	}
	return 0;
}
