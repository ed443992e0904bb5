/* Oversight, and the daemon itself: the options. */
#include "core/config/config_table.h"
#include "core/model/limits.h"
#include "core/policy/thresholds.h"

#define NAME(sym, name) name,
static const char *const preset_names[] = { PRESETS(NAME) NULL };
static const char *const level_names[] = { LEVELS(NAME) NULL };
#undef NAME
static const char *const pauses[] = { "auto", "goal", "node", NULL }; /* enum pause_scope */

#define THRESHOLD(group, key, type, member, min, max, ...)                               \
	{ "oversight." group "." key, OPT_OF_##type, min, max, NULL, FIFTH(__VA_ARGS__), \
		CHOICES_OF_##type, offsetof(struct config, policy.oversight.member),     \
		.preset = true },
#define FIFTH(...) FIFTH_OF(__VA_ARGS__)
#define FIFTH_OF(a, b, c, d, e) e
#define OPT_OF_COUNT OPT_INT
#define OPT_OF_MILLI OPT_MILLI
#define OPT_OF_CENTI OPT_CENTI
#define OPT_OF_BOOL OPT_BOOL
#define OPT_OF_LEVEL OPT_CHOICE
#define CHOICES_OF_COUNT NULL
#define CHOICES_OF_MILLI NULL
#define CHOICES_OF_CENTI NULL
#define CHOICES_OF_BOOL NULL
#define CHOICES_OF_LEVEL level_names

static const struct option table[] = {
	{ "oversight.preset", OPT_CHOICE, 0, 0, "\"default\"",
			"The values of what is left out below: strict finds more, relaxed less; "
			"ci aborts at any regression.",
			preset_names, AT(oversight_preset) },
	{ "oversight.pause", OPT_CHOICE, 0, 0, "\"auto\"",
			"What level pause holds: the whole goal, or only the node; auto: the node "
			"while other work of its goal can go on without it, otherwise the goal. Of "
			"a task of the pool always the node.",
			pauses, AT(policy.oversight.pause) },
	THRESHOLDS(THRESHOLD){ "http.enabled", OPT_BOOL, 0, 0, "true",
			"Serve HTTP (dashboard, /rpc, /events, /metrics) on the loopback address.",
			AT(http_enabled) },
	{ "http.port", OPT_INT, 0, 65535, "0",
			"The port; 0 takes a free one, which daemon.json tells.", AT(http_port) },
	{ "store.url", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Where the log is kept; empty: SQLite, in the store's folder.",
			AT(store_url) },
	{ "store.trace", OPT_BOOL, 0, 0, "false",
			"write every call of the store to the daemon's log, for debugging",
			AT(store_trace) },
	{ "store.snapshot_every", OPT_INT, 1, 1000 * 1000 * 1000, "10000",
			"Events between two snapshots; a start replays at most about that many.",
			AT(store_snapshot_every) },
	{ "store.verify_at_start", OPT_BOOL, 0, 0, "true",
			"Verify the whole store beside every start, which itself reads only what "
			"came "
			"after the snapshot.",
			AT(store_verify_at_start) },
	{ "store.archive", OPT_BOOL, 0, 0, "true",
			"When a goal is archived, move the events up to then to `archive.db`, "
			"step by "
			"step; they are read as before.",
			AT(store_archive) },
	{ "store.backups_kept", OPT_INT, 1, 10000, "7",
			"Backups that are kept in the folder `backups`; older ones are removed.",
			AT(store_backups_kept) },
	{ "watch.start_command", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Run by sh -c in the repository, with OVERSEER_DIR set, by `overseer "
			"watch` to start the daemon, which it must become (exec); empty: exec "
			"overseer up --foreground \"$@\", as PATH finds it. \"$@\" are the options "
			"that watch was given.",
			AT(watch.start_command) },
	{ "watch.remediation_agent", OPT_STR, 0, LIMIT_NAME, "\"\"",
			"The agent of [agents.NAME] that is asked to mend what made the daemon "
			"fail; empty: nobody, the daemon is only started again.",
			AT(watch.remediation_agent) },
	{ "watch.remediation_command", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Instead of an agent: run by sh -c, with the prompt on standard input and "
			"its file's name in OVERSEER_PROMPT_FILE.",
			AT(watch.remediation_command) },
	{ "watch.remediation_prompt", OPT_STR, 0, LIMIT_INSTRUCTION, "\"\"",
			"What it is told first: the project, what usually goes wrong, how it is "
			"mended. What happened is added.",
			AT(watch.remediation_prompt) },
	{ "watch.remediation_dir", OPT_STR, 0, LIMIT_NOTE, "\"\"",
			"Where it works, absolute or from the repository; empty: the repository.",
			AT(watch.remediation_dir) },
	{ "watch.remediation_timeout", OPT_DURATION, 10, 7 * OV_DAY, "\"30m\"",
			"A remediation that takes longer is ended, and has failed.",
			AT(watch.remediation_timeout) },
	{ "watch.registration_timeout", OPT_DURATION, 10, OV_DAY, "\"1m\"",
			"The time that a daemon has from its start until it is up.",
			AT(watch.registration_timeout) },
	{ "watch.heartbeat_timeout", OPT_DURATION, 10, OV_DAY, "\"30s\"",
			"A daemon whose main loop has not turned for this long has failed. It "
			"beats every 5 seconds, or three times in this time.",
			AT(watch.heartbeat_timeout) },
	{ "watch.stall_timeout", OPT_DURATION, 10, 30 * OV_DAY, "\"1h\"",
			"A daemon under which nothing has moved for this long, though work is due, "
			"is started again.",
			AT(watch.stall_timeout) },
	{ "watch.grace", OPT_DURATION, 10, OV_DAY, "\"30s\"",
			"The time between asking a daemon that failed to end (SIGTERM) and killing "
			"it.",
			AT(watch.grace) },
	{ "watch.restart_cooldown", OPT_DURATION, 0, OV_DAY, "\"1m\"",
			"A daemon that fails again after a remediation without having been healthy "
			"for this long is left to a person.",
			AT(watch.restart_cooldown) },
	{ "watch.max_restarts", OPT_INT, 1, 1000, "20",
			"The most starts after a failure within 24 hours; then it is left to a "
			"person.",
			AT(watch.max_restarts) },
};

const struct options config_options_daemon = { table, ARRAY_LEN(table) };
