/* [watch]: what its options mean together. */
#include "base/str.h"
#include "core/config/config_impl.h"

void config_check_watch(struct config_reader *r)
{
	const struct config_watch *w = &r->c->watch;
	const struct config_agent *agent = config_agent(r->c, w->remediation_agent);

	if (!w->remediation_agent.n)
		return;
	if (w->remediation_command.n)
		config_problem(r, STR("watch.remediation_command"),
				"stands in place of an agent: leave one of the two out");
	config_check_agent(r, STR("watch.remediation_agent"), w->remediation_agent);
	if (agent && !str_is(agent->runtime, "exec"))
		config_problem(r, STR("watch.remediation_agent"),
				"\"" STR_FMT
				"\" runs in a terminal; it must be one with runtime exec",
				STR_ARG(agent->name));
	/* auto: it is started by the watchdog, and that is without one. */
	if (agent && (agent->sandbox == SANDBOX_FENCE || agent->sandbox == SANDBOX_BWRAP))
		config_problem(r, STR("watch.remediation_agent"),
				"\"" STR_FMT
				"\" runs in a sandbox, in which it cannot repair anything; set "
				"its sandbox = \"none\"",
				STR_ARG(agent->name));
}
