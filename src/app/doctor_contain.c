/* How runs are held together here, and what of that is missing. */
#include "app/doctor.h"

#include "app/contain.h"
#include "base/arena.h"
#include "sys/cgroup.h"

/* Whether a limit can be kept, and whether anybody wants it. */
static void say_limit(struct doctor *d, const char *dir, const char *controller, bool wanted)
{
	if (cgroup_offers(dir, controller)) {
		doctor_say(d, DOCTOR_OK, "limits of %s can be kept", controller);
		return;
	}
	doctor_say(d, wanted ? DOCTOR_WARNING : DOCTOR_OK,
			"limits of %s cannot be kept (no such controller%s)", controller,
			wanted ? ", but an agent has one" : "");
	if (wanted)
		doctor_next(d,
				"run the daemon in a group to which the controller \"%s\" is "
				"delegated",
				controller);
}

void doctor_containment(struct doctor *d)
{
	const struct config *c = d->cx->config;
	bool memory = false, pids = false;
	struct ov_err err = { 0 };
	const char *dir = NULL;

	for (size_t i = 0; i < c->agents_n; i++) {
		memory |= c->agents[i].memory_max_bytes > 0;
		pids |= c->agents[i].pids_max > 0;
	}
	if (!c->cgroups)
		ov_fail(&err, OV_ESTATE, "supervisor.cgroups is false");
	else if (cgroup_find(d->a, &dir, &err) == 0)
		cgroup_probe(dir, &err);
	if (!err.code) {
		doctor_say(d, DOCTOR_OK, "each run gets a control group below %s", dir);
		say_limit(d, dir, "memory", memory);
		say_limit(d, dir, "pids", pids);
		return;
	}
	doctor_say(d, memory || pids ? DOCTOR_WARNING : DOCTOR_OK,
			"no control groups (%s): runs are held together by their shim, and what a "
			"killed shim leaves is found by its environment%s",
			err.msg, memory || pids ? "; limits of agents cannot be kept" : "");
	if (memory || pids)
		doctor_next(d,
				"run the daemon in a delegated group, such as a service with "
				"Delegate=yes");
}

void doctor_sandbox(struct doctor *d)
{
	const struct config *c = d->cx->config;
	struct contain *k = contain_new(c);
	struct ov_err err = { 0 };
	const char *bwrap;
	size_t wanted = 0;

	for (size_t i = 0; i < c->agents_n; i++)
		wanted += c->agents[i].sandbox != SANDBOX_NONE;
	if (contain_sandbox(k, &bwrap, &err) == 0) {
		doctor_say(d, DOCTOR_OK, "%s works; %zu of %zu agents are put into a sandbox",
				bwrap, wanted, c->agents_n);
	} else if (wanted) {
		doctor_say(d, DOCTOR_PROBLEM, "%s: %zu of %zu agents cannot be run", err.msg,
				wanted, c->agents_n);
		doctor_next(d, "install the package bubblewrap, or set sandbox = \"none\"");
	} else {
		doctor_say(d, DOCTOR_OK, "not available, and no agent is to be put into one");
	}
	contain_free(k);
}
