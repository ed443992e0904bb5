#pragma once
/*
 * What the configuration says that the core must know to decide. Plain data; texts are borrowed
 * from the configuration, which outlives every decision made with it.
 */
#include "base/ov.h"
#include "core/plan.h"

struct policy_agent {
	str name;
	int64_t concurrency; /* assignments at work at most */
};

struct policy_role {
	str name, agent;
};

struct policy {
	str default_agent;
	const struct policy_agent *agents;
	size_t agents_n;
	const struct policy_role *roles;
	size_t roles_n;

	int64_t workers_max;
	str target_branch;
	str check_command; /* for nodes without one of their own; empty: none */

	int64_t retry_max_attempts;  /* runs per node and cause */
	ov_time retry_delay[3];      /* before the second, third, every further attempt */
	int64_t no_changes_attempts; /* runs that changed nothing, before a person is asked */
	int64_t conflict_rounds;
	int64_t moved_tries; /* the target branch keeps moving under us */
	int64_t dirty_tries;
	ov_time dirty_wait, dirty_wait_max;

	struct plan_limits plan;
};
