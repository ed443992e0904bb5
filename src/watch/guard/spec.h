#pragma once
/*
 * What a watchdog is told when it is started: one JSON document, read whole from a file descriptor
 * (overseer-watch --spec-fd N), so that nothing of it stands in a command line or on disk. It is
 * read once; a config.toml that breaks afterwards does not matter. Strict: every key must be there,
 * and no other. Strings live in the arena that it was read into.
 *
 *   {"dir": the store's folder, absolute,
 *    "repo": the repository's, absolute; the daemon is started there,
 *    "overseer": the program, absolute, or null,
 *    "start_command": run by /bin/sh with OVERSEER_DIR in the environment, never empty,
 *    "watch": {each of SPEC_TIMES with "_ms" behind its name, "max_restarts",
 *      "remediation_prompt"},
 *    "remedy": null when nobody is configured, or
 *      {"name": for people,
 *       "argv": [words in which REMEDY_PROMPT stands for the prompt],
 *       "env": ["NAME=VALUE", ...], the whole environment,
 *       "cwd": absolute,
 *       "prompt_on_stdin": bool,
 *       "prompt_file": absolute, or null}}
 */
#include "base/ov.h"
#include "watch/remedy/remedy.h"

/* Names as in [watch] and in struct config_watch; milliseconds. */
#define SPEC_TIMES(X)           \
	X(registration_timeout) \
	X(heartbeat_timeout)    \
	X(stall_timeout)        \
	X(grace)                \
	X(restart_cooldown)     \
	X(remediation_timeout)

enum { SPEC_MAX = 4 << 20 }; /* bytes */

#define SPEC_TIME_FIELD(name) ov_time name;
struct spec {
	const char *dir, *repo, *overseer, *start_command;
	SPEC_TIMES(SPEC_TIME_FIELD)
	size_t max_restarts;
	const char *remediation_prompt;
	const char *remedy_name;     /* NULL: nobody is configured */
	struct remedy_launch remedy; /* its argv is NULL then */
};
#undef SPEC_TIME_FIELD

int spec_read(struct arena *a, str text, struct spec *ret, struct ov_err *err);
