#pragma once
/* [watch]: how the watchdog starts the daemon, and has it repaired. Its texts belong to the struct config. */
#include "base/ov.h"
#include "base/str.h"

struct config_watch {
	str start_command;
	str remediation_agent, remediation_command; /* not both; both empty: nobody mends */
	str remediation_prompt, remediation_dir;
	ov_time remediation_timeout, registration_timeout, heartbeat_timeout, stall_timeout, grace,
			restart_cooldown;
	int64_t max_restarts;
};
