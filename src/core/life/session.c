#include "core/life/session.h"

#include "base/arena.h"
#include "base/str.h"
#include "data/value/json.h"

bool session_resumes(const struct policy *p, const struct assignment *as)
{
	const struct policy_agent *agent = policy_agent(p, as->agent);

	return as->session.n && agent && agent->format && agent->format->resumes;
}

bool session_hears(const struct policy *p, const struct assignment *as)
{
	const struct policy_agent *agent = policy_agent(p, as->agent);

	return agent && (agent->input || (agent->format && agent->format->hooks));
}

bool session_speaks(const struct policy *p, const struct assignment *as)
{
	const struct policy_agent *agent = policy_agent(p, as->agent);

	return agent && agent->format && agent->format->structured;
}

const value *said_list(struct arena *a, const struct node *n)
{
	value *list = NULL;

	if (n->told.said.n)
		(void)json_parse(a, n->told.said, NULL, &list, NULL);
	return list;
}

bool said_waits(const struct node *n, str dispatch)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	const value *list = said_list(&a, n);

	for (size_t i = 0; i < value_count(list); i++)
		if (str_eq(value_str_at(value_item(list, i), "dispatch"), dispatch))
			return true;
	return false;
}

str said_text(struct arena *a, const struct node *n)
{
	const value *list = said_list(a, n);
	str out = STR("");

	for (size_t i = 0; i < value_count(list); i++) {
		str text = value_str_at(value_item(list, i), "text");
		bool told = str_eq(text, n->told.answer); /* as an answer */

		/* Who says the same twice is heard once. */
		for (size_t k = 0; k < i; k++)
			told |= str_eq(text, value_str_at(value_item(list, k), "text"));
		if (!told)
			out = arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(out),
					out.n ? "\n\n" : "", STR_ARG(text));
	}
	return out;
}

bool said_fits(const struct node *n, str text)
{
	return n->told.said.n + text.n <= SAID_MAX;
}

const struct trouble_rule trouble_rules[TROUBLE_COUNT] = {
	[TROUBLE_RATE_LIMITED] = { .limit = BLOCK_RATE_LIMITED,
			.people = "its agent is out of quota" },
	[TROUBLE_OVERLOADED] = { .limit = BLOCK_RATE_LIMITED,
			.people = "the server of its agent's model is overloaded" },
	[TROUBLE_LOGIN] = { .limit = BLOCK_LOGIN,
			.people = "its run said that its agent is logged out" },
	[TROUBLE_NETWORK] = { .people = "the agent could not reach its model",
			.feedback = "The connection to your model broke off." },
	[TROUBLE_REFUSED] = { .forget = true,
			.most = 2,
			.people = "the agent's model refused the request" },
	[TROUBLE_MAX_TURNS] = { .cost = COSTS_UNLESS_CHANGED,
			.people = "the agent used up the turns that it may take",
			.feedback = "You were cut off after as many turns as one run may take." },
	[TROUBLE_BUDGET] = { .people = "the agent used up its own budget" },
	[TROUBLE_CONTEXT] = { .forget = true,
			.people = "the agent's conversation became too long" },
	[TROUBLE_LOOP] = { .people = "the agent stopped itself, as it went in circles",
			.feedback = "You were stopped because you did the same thing again and "
				    "again. Do it in another way." },
	[TROUBLE_SESSION_LOST] = { .forget = true,
			.cost = COSTS_UNLESS_RESUMED,
			.people = "the session that was to go on is not there any more" },
	/* The machine is as it is: another run of it would fare the same. */
	[TROUBLE_SANDBOX] = { .most = 1,
			.people = "the agent's own sandbox cannot start here, so that none of its "
				  "commands ran. Allow user namespaces on this machine, or, where "
				  "the machine itself is the fence, set permission_mode = "
				  "\"danger-full-access\" in its section of config.toml",
			.feedback = "Your sandbox could not start, and none of your commands "
				    "ran." },
	[TROUBLE_INTERRUPTED] = { .people = "the agent was interrupted",
			.feedback = "You were interrupted." },
	[TROUBLE_UNFINISHED] = { .people = "the agent ended in the middle of a turn",
			.feedback = "You ended in the middle of a turn." },
	[TROUBLE_OTHER] = { .people = "the agent failed" },
};
