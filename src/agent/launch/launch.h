#pragma once
/*
 * How one process of an agent is started: its command line, further variables, and the files that
 * it reads from the run's folder (settings that install our hooks and narrow its tools). Text in,
 * text out; the caller writes the files and starts the process. No secret is ever put on a
 * command line.
 */
#include "agent/format/format.h"
#include "agent/format/tools.h"

enum prompt_by { PROMPT_STDIN, PROMPT_ARG, PROMPT_FILE };

struct launch_ask {
	const struct agent_format *format;
	/* as configured, the format's program otherwise; our options follow it */
	const str *command;
	size_t command_n;
	str model, permission_mode; /* empty: the agent's own */
	enum prompt_by prompt_by;
	str prompt;
	const char *prompt_file;
	str session; /* native id: to be resumed, or to be given to a new session if that can be */
	bool resume;
	const struct tool_scope *scope; /* NULL: as the agent comes */
	int64_t max_turns;              /* 0: no limit */
	const char *hook;               /* program `overseer`; NULL: without hooks */
	const char *run_dir, *worktree; /* absolute */
	/*
	 * Of the worktree, and the one that all worktrees share; absolute. NULL: it is in
	 * no repository.
	 */
	const char *git_dir, *git_common_dir;
	/* It gets a terminal, and the prompt is typed there. */
	bool terminal;
	bool keep_input; /* standard input stays open for what is sent later */
	bool sandboxed;  /* by us: a sandbox of its own would fail inside of that */
	bool trusted;    /* the user has told the agent to trust the repository */
};

struct launch_pair {
	const char *name, *value;
};

struct launch_file {
	const char *path; /* below the run's folder */
	str text;
};

struct launch {
	const char *const *argv; /* ends with NULL */
	const struct launch_pair *env;
	size_t env_n;
	const struct launch_file *files;
	size_t files_n;
	str input; /* of standard input; absent: it stays open for what is sent later */
	/* Its own sandbox would keep it from changing files; ours has to. */
	bool read_only;
};

/* OV_ELIMIT: the prompt is too long for a word of a command line. */
int launch_build(struct arena *a, const struct launch_ask *ask, struct launch *ret,
		struct ov_err *err);
/*
 * How to let it work unattended unless the configuration says otherwise; NULL: there is no choice.
 */
const char *launch_mode(const struct launch_ask *ask);

/* How each format does it: for the table of formats. */
typedef int launch_fn(struct arena *a, const struct launch_ask *ask, struct launch *ret,
		struct ov_err *err);
launch_fn launch_raw, launch_claude, launch_codex, launch_gemini, launch_opencode;
