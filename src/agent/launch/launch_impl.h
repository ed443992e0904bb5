#pragma once
/*
 * What the rows of the table of formats share to build a launch: words, variables and files that
 * grow in the caller's arena. Private to agent.
 */
#include "agent/launch/launch.h"
#include "base/arena.h"

enum {
	LAUNCH_WORDS = 96, /* more than any format adds to the command */
	LAUNCH_PAIRS = 8,
	LAUNCH_FILES = 4,
	LAUNCH_WORD_MAX = 128 * 1024 - 1, /* of one word, by the kernel */
	HOOK_TIMEOUT_S = 10,
};

struct launcher {
	struct arena *a;
	const struct launch_ask *ask;
	const char **argv;
	size_t argv_n, argv_cap;
	struct launch_pair *env;
	size_t env_n;
	struct launch_file *files;
	size_t files_n;
	str input;
	bool read_only;
};

/* Begins with the command as configured, or the format's own program. */
void launcher_init(struct launcher *l, struct arena *a, const struct launch_ask *ask);
void launch_word(struct launcher *l, str word);
void launch_wordf(struct launcher *l, const char *fmt, ...) _printf_(2, 3);
void launch_env(struct launcher *l, const char *name, const char *val);
void launch_file(struct launcher *l, const char *path, str text);
/* The hooks' scope and the variable by which they find the run's folder. */
void launch_hooks(struct launcher *l);
/* "'/usr/bin/overseer' hook Stop": for a shell. */
str launch_hook_command(struct launcher *l, const char *event);
/* What is put before the agent: the prompt, or where to read it. Absent: on standard input. */
str launch_prompt(struct launcher *l);
/* Is something of this class permitted, and nothing of it denied? */
bool launch_permits(const struct launch_ask *ask, enum tool_class class);
int launcher_done(struct launcher *l, struct launch *ret, struct ov_err *err);

extern const char *const hook_events[]; /* ends with NULL */
