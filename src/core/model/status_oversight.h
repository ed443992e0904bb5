#pragma once
/* The closed sets of names of oversight and of notices; see core/model/status.h. */

/* Patterns in a node's iterations that do not get better by themselves (core/oversight/detect). */
#define DETECTORS(X)                         \
	X(DETECT_STUCK, "stuck")             \
	X(DETECT_OSCILLATION, "oscillation") \
	X(DETECT_DEVIATION, "deviation")     \
	X(DETECT_SCOPE_CREEP, "scope_creep") \
	X(DETECT_BURN, "resource_burn")      \
	X(DETECT_REGRESSION, "regression")

#define SEVERITIES(X)                \
	X(SEVERITY_NONE, "none")     \
	X(SEVERITY_LOW, "low")       \
	X(SEVERITY_MEDIUM, "medium") \
	X(SEVERITY_HIGH, "high")     \
	X(SEVERITY_CRITICAL, "critical")

/* The graded answers to a detection. */
#define LEVELS(X)                     \
	X(LEVEL_NONE, "none")         \
	X(LEVEL_LOG, "log")           \
	X(LEVEL_WARN, "warn")         \
	X(LEVEL_REDIRECT, "redirect") \
	X(LEVEL_PAUSE, "pause")       \
	X(LEVEL_ABORT, "abort")

/* What became of the work after a detection was answered. */
#define EFFECTIVENESS(X)                 \
	X(EFFECT_OPEN, "open")           \
	X(EFFECT_HELPFUL, "helpful")     \
	X(EFFECT_UNHELPFUL, "unhelpful") \
	X(EFFECT_UNKNOWN, "unknown")

/* How loudly a person is told. */
#define URGENCIES(X)                    \
	X(URGENCY_INFO, "info")         \
	X(URGENCY_WARNING, "warning")   \
	X(URGENCY_CRITICAL, "critical") \
	X(URGENCY_EMERGENCY, "emergency")

#define NOTICE_STATUSES(X)           \
	X(NOTICE_WAITING, "waiting") \
	X(NOTICE_SENT, "sent")       \
	X(NOTICE_FAILED, "failed")   \
	X(NOTICE_WITHDRAWN, "withdrawn")

/* What a channel of the configuration is made of. */
#define CHANNEL_TYPES(X)              \
	X(CHANNEL_DESKTOP, "desktop") \
	X(CHANNEL_GITEA, "gitea")     \
	X(CHANNEL_GITHUB, "github")   \
	X(CHANNEL_WEBHOOK, "webhook") \
	X(CHANNEL_SLACK, "slack")     \
	X(CHANNEL_DISCORD, "discord") \
	X(CHANNEL_HOOK, "hook")

#define TESTS(X)                    \
	X(TESTS_UNKNOWN, "unknown") \
	X(TESTS_PASSING, "passing") \
	X(TESTS_FAILING, "failing")

/*
 * What finally became of a task, for reports: its status, or more exactly. The first are
 * NODE_STATUSES.
 */
#define TASK_ENDS(X)                      \
	X(END_TODO, "todo")               \
	X(END_QUEUED, "queued")           \
	X(END_IN_PROGRESS, "in_progress") \
	X(END_BLOCKED, "blocked")         \
	X(END_DONE, "done")               \
	X(END_CANCELLED, "cancelled")     \
	X(END_ACCEPTED, "accepted")       \
	X(END_OVERRIDDEN, "overridden")   \
	X(END_SPLIT, "split")             \
	X(END_REMOVED, "removed")

/* Who says how far the work has come. */
#define COMPLETION_SOURCES(X)              \
	X(COMPLETION_UNKNOWN, "unknown")   \
	X(COMPLETION_ACCEPTED, "accepted") \
	X(COMPLETION_REPORTED, "reported")

#define STATUS_ENUM(sym, name) sym,
enum detector { DETECTORS(STATUS_ENUM) DETECTOR_COUNT };
enum severity { SEVERITIES(STATUS_ENUM) SEVERITY_COUNT };
enum level { LEVELS(STATUS_ENUM) LEVEL_COUNT };
enum effectiveness { EFFECTIVENESS(STATUS_ENUM) EFFECTIVENESS_COUNT };
enum urgency { URGENCIES(STATUS_ENUM) URGENCY_COUNT };
enum notice_status { NOTICE_STATUSES(STATUS_ENUM) NOTICE_STATUS_COUNT };
enum channel_type { CHANNEL_TYPES(STATUS_ENUM) CHANNEL_TYPE_COUNT };
enum tests_state { TESTS(STATUS_ENUM) TESTS_STATE_COUNT };
enum task_end { TASK_ENDS(STATUS_ENUM) TASK_END_COUNT };
enum completion_source { COMPLETION_SOURCES(STATUS_ENUM) COMPLETION_SOURCE_COUNT };
#undef STATUS_ENUM
