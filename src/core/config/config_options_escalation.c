/* Who is told of what needs a person: the options. */
#include "core/config/config_table.h"
#include "core/model/limits.h"

#define ROUTE_AT(urgency)              \
	AT(policy.routes[urgency].to), \
			.count_offset = offsetof(struct config, policy.routes[urgency].n)

static const struct option table[] = {
	{ "escalation.remind_after", OPT_DURATION, 10, 365 * OV_DAY, "\"4h\"",
			"A person is reminded of an open question after this.",
			AT(policy.remind_after) },
	{ "escalation.max_reminders", OPT_INT, 0, 100, "2",
			"How often a person is reminded of one question.",
			AT(policy.max_reminders) },
	{ "escalation.default_after", OPT_DURATION, 0, 365 * OV_DAY, "\"0s\"",
			"A question of an agent that names a default is answered with it after "
			"this; \"0s\": never.",
			AT(policy.default_after) },
	{ "escalation.desktop", OPT_BOOL, 0, 0, "true",
			"Whether there is the channel \"desktop\": notifications in the session of "
			"the user who runs the daemon. Where there is no session, and the file "
			"names the channel nowhere, it is left out.",
			AT(escalation_desktop) },
	{ "escalation.hook", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"The command of the channel \"hook\", run by sh -c in the repository: it "
			"gets each alarm as JSON on standard input; exit status 0 says that it is "
			"delivered. Empty: there is no such channel.",
			AT(escalation_hook) },
	{ "escalation.auto", OPT_BOOL, 0, 0, "true",
			"Whether people outside are told of whatever needs them; otherwise only of "
			"emergencies, such as an abort. The inbox has everything in any case.",
			AT(policy.notify) },
	{ "escalation.max_attempts", OPT_INT, 1, 100, "8",
			"How often a channel is tried with one notice before it is given up.",
			AT(policy.notice_attempts) },
	{ "escalation.retry_base", OPT_DURATION, 10, OV_DAY, "\"1m\"",
			"The wait before the second attempt; it doubles with each further one.",
			AT(policy.notice_retry) },
	{ "escalation.retry_max", OPT_DURATION, 10, OV_DAY, "\"1h\"",
			"The longest wait between two attempts.", AT(policy.notice_retry_max) },
	{ "escalation.max_per_hour", OPT_INT, 1, 1000, "20",
			"Notices that one channel gets within an hour; further ones wait, "
			"emergencies do not.",
			AT(policy.notices_per_hour) },
	{ "escalation.routes.info", OPT_TEXTS, 0, LIMIT_ID, "[]",
			"The channels that are told of what oversight only logs or warns of: names "
			"of channels, of types of them, or \"*\" for all.",
			ROUTE_AT(URGENCY_INFO) },
	{ "escalation.routes.warning", OPT_TEXTS, 0, LIMIT_ID, "[\"desktop\"]",
			"Those that are told of redirections and of most questions in the inbox.",
			ROUTE_AT(URGENCY_WARNING) },
	{ "escalation.routes.critical", OPT_TEXTS, 0, LIMIT_ID, "[\"*\"]",
			"Those that are told of pauses, spent budgets, outages, agents that are "
			"logged out.",
			ROUTE_AT(URGENCY_CRITICAL) },
	{ "escalation.routes.emergency", OPT_TEXTS, 0, LIMIT_ID, "[\"*\"]",
			"Those that are told of aborts, at any hour.",
			ROUTE_AT(URGENCY_EMERGENCY) },
};

const struct options config_options_escalation = { table, ARRAY_LEN(table) };
