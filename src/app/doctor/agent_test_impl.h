#pragma once
/* Shared by the runs of an agent's test and what is concluded from them. */
#include "agent/fact/account.h"
#include "app/agents/driver.h"
#include "app/doctor/agent_test.h"

/* Of one run. */
struct agent_test_seen {
	uint64_t begun_us, first_us, interrupted_us, ended_us; /* 0: it did not happen */
	uint64_t bytes, facts, hooks;
	bool interrupted, killed; /* by us, in the agent's own way, or because it took too long */
	struct run_end end;
};

struct agent_test {
	struct arena *a;
	const struct agent_test_options *o;
	struct contain *contain;
	const struct config *config;
	const struct config_agent *agent;
	const struct agent_format *format;
	const struct driver *driver;
	struct loop *loop;
	struct loop_source *timer, *quiet;
	struct driver_run *run;
	str session;
	const char *run_dir; /* of the newest run */
	int runs;
	bool interrupts; /* the run is to be interrupted in the middle of something */
	bool cancelled;  /* by a signal to us */
	bool failed;
	struct account account;
	struct agent_test_seen seen;
};

/* One run to its end; goes on with the session of the one before it where that can be. */
int test_run(struct agent_test *t, const char *prompt, const struct tool_scope *scope,
		struct ov_err *err);
void test_say(struct agent_test *t, const value *v);
int test_all(struct agent_test *t, struct ov_err *err);
