#include "core/capacity/lane.h"

#include "base/arena.h"
#include "base/duration.h"
#include "base/str.h"
#include "core/inbox/inbox.h"

const struct lane_rule lane_rules[BLOCK_KIND_COUNT] = {
	[BLOCK_RATE_LIMITED] = { .state = "rate limited",
			.ends = "the limit resets",
			.ask = ASK_LIMIT },
	[BLOCK_LOGIN] = { .state = "said to be logged out",
			.person = true,
			.ends = "you log it in",
			.ask = ASK_LOGIN },
	[BLOCK_FAILING] = { .state = "out of service",
			.person = true,
			.ends = "you answer its inbox entry",
			.ask = ASK_FAILING },
};

bool block_is_lane(enum block_kind kind)
{
	return lane_rules[kind].state;
}

enum block_kind limit_by_exit(const struct policy *p, str agent, int64_t exit_code)
{
	const struct policy_agent *of = policy_agent(p, agent);

	if (of && of->rate_limit_exit && exit_code == of->rate_limit_exit)
		return BLOCK_RATE_LIMITED;
	return of && of->login_exit && exit_code == of->login_exit ? BLOCK_LOGIN : BLOCK_NONE;
}

enum block_kind run_limit(const struct policy *p, const struct run *r)
{
	if (r->limit != BLOCK_NONE)
		return r->limit;
	if (r->lost || r->signal)
		return BLOCK_NONE;
	return limit_by_exit(p, r->agent, r->exit_code);
}

bool lane_is_shut(const struct lane *l, ov_time now)
{
	return l && (!l->resets_at || l->resets_at > now) && !lane_probe_due(l, now);
}

bool lane_probe_due(const struct lane *l, ov_time now)
{
	return l && l->probe_at && l->probe_at <= now && l->resets_at > now;
}

ov_time lane_next(const struct lane *l)
{
	return l->probe_at && l->probe_at < l->resets_at ? l->probe_at : l->resets_at;
}

str lane_text(struct arena *a, const struct lane *l, ov_time now, ov_time utc_offset)
{
	const struct lane_rule *rule = &lane_rules[l->kind];
	str tried = STR("");

	if (!l->resets_at)
		return arena_printf(a, "agent " STR_FMT " is %s until %s: " STR_FMT,
				STR_ARG(l->agent), rule->state, rule->ends, STR_ARG(l->detail));
	if (lane_next(l) < l->resets_at && l->probe_at > now)
		tried = arena_printf(a, ", tried by one run at " STR_FMT,
				STR_ARG(time_format_near(a, l->probe_at, now, utc_offset)));
	return arena_printf(a, "agent " STR_FMT " is %s%s " STR_FMT STR_FMT ": " STR_FMT,
			STR_ARG(l->agent), rule->state,
			l->guessed ? ", until unknown, tried again at" : " until",
			STR_ARG(time_format_near(a, l->resets_at, now, utc_offset)), STR_ARG(tried),
			STR_ARG(l->detail));
}

str lane_how(struct arena *a, const struct lane *l)
{
	static const char *const by[FACT_SIGN_COUNT] = {
		[SIGN_STREAM] = "its output",
		[SIGN_ERRORS] = "its error output",
		[SIGN_HOOK] = "its hook",
		[SIGN_TRANSCRIPT] = "its transcript",
		[SIGN_EXIT] = "its exit status",
	};
	str how = by[l->known_by] ? str_from(by[l->known_by]) : STR("");

	/* No single run told it: several of them failed. */
	if (l->kind == BLOCK_FAILING)
		return l->detail;
	if (l->known_by == SIGN_EXIT)
		how = arena_printf(a, STR_FMT " %lld", STR_ARG(how), (long long)l->exit_code);
	if (l->run_id.n)
		how = arena_printf(a, STR_FMT "%srun " STR_FMT "%s", STR_ARG(how),
				how.n ? " (" : "", STR_ARG(l->run_id), how.n ? ")" : "");
	if (l->words.n)
		how = arena_printf(a, STR_FMT "%s\"" STR_FMT "\"", STR_ARG(how), how.n ? ": " : "",
				STR_ARG(l->words));
	return how;
}

bool lane_is_named(const struct escalation *x, str agent)
{
	static const str by = STR("agent ");
	str rest = str_sub(x->question, by.n, x->question.n);

	return str_starts(x->question, by) && str_starts(rest, agent) && rest.n > agent.n &&
			rest.p[agent.n] == ' ';
}

const struct lane *lane_asked_by(const struct state *s, const struct escalation *x)
{
	for (size_t i = 0; i < s->lanes.n; i++) {
		const struct lane *l = s->lanes.p[i];
		enum ask ask = lane_rules[l->kind].ask;

		if (ask && x->ask == ask && lane_is_named(x, l->agent))
			return l;
	}
	return NULL;
}

const struct escalation *lane_entry(const struct state *s, const struct lane *l)
{
	for (size_t i = 0; i < s->escalations.n; i++) {
		const struct escalation *x = s->escalations.p[i];

		if (x->status == ESC_OPEN && lane_asked_by(s, x) == l)
			return x;
	}
	return NULL;
}

bool failed_by(const struct node *n, str agent)
{
	return !n->goal->automatic && node_is_leaf(n) && n->status == NODE_BLOCKED &&
			n->block.kind == BLOCK_FAILED && !str_starts(n->block.by, STR("human:")) &&
			n->assignment && str_eq(n->assignment->agent, agent);
}

ov_time failing_since(const struct state *s, str agent)
{
	const struct lane *l = state_lane(s, agent);

	for (size_t i = 0; i < s->streaks.n; i++)
		if (str_eq(s->streaks.p[i]->agent, agent))
			return s->streaks.p[i]->since;
	return l ? l->since : 0;
}

/* About runs that failed; others are about steps of ours. */
static bool is_of_runs(enum ask ask)
{
	return ask == ASK_FAILED || ask == ASK_CAUSE_START || ask == ASK_CAUSE_RUN ||
			ask == ASK_CAUSE_NO_CHANGES || ask == ASK_CAUSE_CHECK ||
			ask == ASK_CAUSE_GATE;
}

bool failing_absorbs(const struct state *s, str agent, const struct escalation *x)
{
	const struct node *n = x->status == ESC_OPEN && x->node_id.n && is_of_runs(x->ask)
			? state_node(s, x->goal_id, x->node_id)
			: NULL;

	return n && x->opened_at >= failing_since(s, agent) && failed_by(n, agent);
}

const struct lane *lane_blocking(const struct state *s, const struct node *n)
{
	static const str by = STR("agent ");

	if (n->status != NODE_BLOCKED || !block_is_lane(n->block.kind) ||
			!str_starts(n->block.by, by))
		return NULL;
	return state_lane(s, str_sub(n->block.by, by.n, n->block.by.n));
}

static bool is_blocked_by(const struct state *s, const struct node *n, str agent)
{
	const struct lane *l = lane_blocking(s, n);

	return l && str_eq(l->agent, agent);
}

/* It has not begun, or its next run has not. */
static bool is_queued_for(const struct policy *p, const struct node *n, str agent)
{
	const struct assignment *as = n->assignment;

	if (n->status != NODE_QUEUED)
		return false;
	return as ? as->stage == STAGE_START && !as->effect && str_eq(as->agent, agent)
		  : str_eq(node_wants(p, n), agent);
}

size_t lane_waiting(const struct state *s, const struct policy *p, str agent)
{
	size_t waiting = 0;

	for (size_t g = 0; g < s->goals.n; g++)
		for (size_t i = 0;
				s->goals.p[g]->status == GOAL_ACTIVE && i < s->goals.p[g]->nodes.n;
				i++) {
			const struct node *n = s->goals.p[g]->nodes.p[i];

			waiting += node_is_leaf(n) &&
					(is_blocked_by(s, n, agent) || is_queued_for(p, n, agent));
		}
	return waiting;
}

str node_wants(const struct policy *p, const struct node *n)
{
	str want = n->next.agent.n ? n->next.agent : n->def.suggested_agent;

	for (size_t i = 0; !want.n && n->def.role.n && i < p->roles_n; i++)
		if (str_eq(p->roles[i].name, n->def.role))
			want = p->roles[i].agent;
	if (!want.n && n->goal->automatic)
		want = p->auto_agent;
	return want.n ? want : p->default_agent;
}
