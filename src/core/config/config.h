#pragma once
/*
 * The configuration: one table of options (name, type, range, default, help, and the member that it
 * lands in) from which come the reading of config.toml, its checking, `config show`,
 * docs/configuration.md and the file that `init` writes. A new option is one row and one member: of
 * struct policy where the core decides by it, otherwise of struct config. Pure: text in, struct
 * out, so that the command line checks a file without a daemon. An unknown key is an error that
 * names the nearest one. A struct config owns everything in it through its arena and is never
 * changed after config_parse; a reload makes a new one.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/ov.h"
#include "core/config/config_agent.h"
#include "core/config/config_channel.h"
#include "core/policy/policy.h"
#include "core/policy/price.h"
#include "data/value/value.h"

/* [watch]: how the watchdog starts the daemon, and has it repaired. */
struct config_watch {
	str start_command;
	str remediation_agent, remediation_command; /* not both; both empty: nobody mends */
	str remediation_prompt, remediation_dir;
	ov_time remediation_timeout, registration_timeout, heartbeat_timeout, stall_timeout, grace,
			restart_cooldown;
	int64_t max_restarts;
};

enum planner_provider { PROVIDER_NONE, PROVIDER_ANTHROPIC, PROVIDER_OPENAI, PROVIDER_COMMAND };

struct config {
	struct arena arena;
	const value *doc;    /* the file as it was read */
	const str *obsolete; /* options in it that mean nothing any more, a sentence about each */
	size_t obsolete_n;

	struct policy policy; /* what the core decides by: most options land in it as they are */

	enum sandbox default_sandbox;
	ov_time tick_every;
	enum planner_provider planner_provider;
	str planner_model, planner_base_url, planner_api_key_env, planner_command; /* as written */
	ov_time planner_timeout;
	int64_t planner_max_tokens, planner_max_repairs;
	int64_t limits_min_free_memory_bytes, limits_min_free_disk_bytes; /* 0: not looked at */
	int64_t limits_max_load_pct; /* of the number of processors; 0: not looked at */
	int64_t limits_run_output_bytes;
	str workspace_setup_command;
	ov_time workspace_check_timeout, workspace_setup_timeout;
	const str *workspace_test_report, *workspace_coverage_report, *commands_env_pass;
	size_t workspace_test_report_n, workspace_coverage_report_n, commands_env_pass_n;
	bool workspace_serena;
	enum check_sandbox check_sandbox;
	int64_t rescue_ignored; /* [rescue]: of files that git ignores, bytes; INT64_MAX: all */
	int64_t rescue_keep_count;
	ov_time rescue_keep;
	str accept_target; /* empty: the branch that the checkout is on when the daemon starts */
	str accept_remote;
	bool accept_push;
	str auto_agent, task_pool_command; /* auto_agent: as written */
	ov_time task_pool_timeout;
	bool radar;                   /* supervisor.radar */
	const str *allow_cross_agent; /* [policy]: as written */
	size_t allow_cross_agent_n;
	enum preset oversight_preset;        /* from which policy.oversight began */
	bool cgroups;                        /* supervisor.cgroups */
	ov_time interrupt_grace, stop_grace; /* [supervisor]: before SIGTERM, and before SIGKILL */
	ov_time drain_timeout;               /* [supervisor] */
	bool http_enabled;
	int64_t http_port;
	str store_url;                /* empty: sqlite in the store's folder */
	bool store_trace;             /* every call of the store goes to the log */
	int64_t store_snapshot_every; /* events between snapshots */
	bool store_verify_at_start;   /* all of it, beside the start */
	bool store_archive; /* events up to those of archived goals go to a file of their own */
	int64_t store_backups_kept; /* of those in the folder backups */
	struct config_watch watch;

	struct config_agent *agents;
	size_t agents_n;

	bool escalation_desktop;
	str escalation_hook;
	struct config_channel *channels; /* [escalation.channels.NAME], and those without a table */
	size_t channels_n;
};

/*
 * Everything wrong is reported at once in err's message, one problem per line, each with its key.
 */
int config_parse(str toml, struct config **ret, struct ov_err *err);
/* The same, with options that stand in place of the file's: "KEY=VALUE", texts without quotes. */
int config_parse_with(str toml, const char *const *sets, size_t sets_n, struct config **ret,
		struct ov_err *err);
struct config *config_free(struct config *c); /* returns NULL */
/*
 * 0, or what auto mode lacks; `command` is what starts it, for the next step: "overseer up --auto".
 */
int config_check_auto(const struct config *c, const char *command, struct ov_err *err);
/* [agents.NAME], or NULL. */
const struct config_agent *config_agent(const struct config *c, str name);
/*
 * Where a run of it looks for programs: its own PATH, or ours if that is handed on to it,
 * else none.
 */
str config_agent_path(const struct config_agent *agent, str ours);
/* What people are told of an agent whose program is not there, and what to do about it. */
str config_program_missing(struct arena *a, const struct config_agent *agent);
str config_program_next(struct arena *a, const struct config_agent *agent);
/* Where the planner's model is asked, without a slash at its end; empty for a command. */
str config_planner_url(const struct config *c);
/* The model as its provider calls it: without "PROVIDER/" before it. */
str config_planner_model(const struct config *c);
/* "anthropic/claude-...", "command". For people and for provenance. */
str config_planner_ref(struct arena *a, const struct config *c);
/*
 * The environment variable that holds the key; empty for a command. It is not needed for a server
 * on this machine unless the file names one.
 */
str config_planner_key_env(const struct config *c, bool *ret_needed);
/*
 * The effective value of every option: {"workers.max": {"value", "default", "set": bool, "help"}},
 * "agents.NAME.command" and "roles.NAME" included. Values of agents' variables are hidden.
 */
value *config_view(struct arena *a, const struct config *c);
/* docs/configuration.md */
void config_docs(struct buf *out);
/* The value of an option that `init` found out, as TOML. */
struct config_found {
	const char *key;
	str toml;
};
/*
 * The file that `init` writes: every section with its options, commented out with their defaults,
 * and what was found as it is. Tables may follow. It is TOML, and stays good whichever line a
 * person uncomments and wherever between two sections tables are pasted.
 */
void config_template(struct buf *out, const struct config_found *found, size_t found_n);
/* The options of an agent that are changed most, below its header: commented out, as the others. */
void config_template_agent(struct buf *out);
