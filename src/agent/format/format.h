#pragma once
/*
 * What is to be known of an agent: how it is started, what its output is, what it can do, and what
 * its tools are called. The table of those that we know is agent/table/formats.h. Everything here
 * is pure; the daemon starts processes, this says which.
 */
#include "agent/fact/fact.h"
#include "base/ov.h"
#include "data/value/value.h"

struct launch;
struct launch_ask;
struct agent_stream;

/* Groups of tools by what they do, so that a scope can be written for any agent. */
#define TOOL_CLASSES(X)           \
	X(TOOLS_READ, "read")     \
	X(TOOLS_EDIT, "edit")     \
	X(TOOLS_SHELL, "shell")   \
	X(TOOLS_WEB, "web")       \
	X(TOOLS_AGENTS, "agents") \
	X(TOOLS_MCP, "mcp")
#define TOOLS_ENUM(sym, name) sym,
enum tool_class { TOOL_CLASSES(TOOLS_ENUM) TOOL_CLASS_COUNT };
#undef TOOLS_ENUM

struct tool_name {
	const char *name; /* as the agent calls it; a prefix when it ends with '*' */
	enum tool_class class;
};

struct agent_format {
	const char *name;    /* "claude" */
	const char *title;   /* "Claude Code" */
	const char *program; /* the command unless the configuration names one; NULL: it must */
	const char *probe;   /* the argument that makes it print its version */
	const char *oldest;  /* version that is known to work (docs/agents.md) */
	/* Variables that it needs, beyond the general ones; ends with NULL. May be NULL. */
	const char *const *env_pass;

	bool structured; /* its output is lines of JSON; else it is text that nobody parses */
	/* of a call of a tool only when it is over, unless a plugin of ours does */
	bool tells_late;
	bool resumes;       /* a session can be continued by its native id in a new process */
	bool names_session; /* we may choose that id */
	bool hooks;         /* it calls `overseer hook` */
	bool scoped;        /* its tools can be narrowed */
	bool costs;         /* it says what it cost */
	bool interrupts;    /* SIGINT ends the turn in order */

	bool terminal;    /* it can be run in a terminal, where its hooks tell what it does */
	bool starts_late; /* its first hook there comes with the first prompt */
	/*
	 * What the line begins with in which it takes input. Where it has no hook to say that it
	 * takes some, dialogs look alike, and Enter would answer them; NULL: it has.
	 */
	const char *input_mark;
	/*
	 * There it asks about a folder that it does not know: how it words that it is trusted;
	 * may be NULL.
	 */
	const char *trust_answer;

	bool limits_turns; /* it can be told to end after so many */
	/* What permission_mode may be, first the one for unattended work; NULL: it has none. */
	const char *const *permission_modes;

	/*
	 * It runs its tools in a sandbox of its own, which needs user namespaces, unless this is
	 * its permission_mode, or it is in one of ours; NULL: it has none.
	 */
	const char *unboxed_mode;

	const struct tool_name *tools; /* ends with a NULL name; may be NULL */
	/* One line of its output, parsed; tells facts by stream_tell. Unknown lines are ignored. */
	void (*line)(struct agent_stream *s, const value *v);
	/* The same of the file that it keeps of a session, told by its hooks; may be NULL. */
	void (*transcript)(struct agent_stream *s, const value *v);
	/*
	 * The same of the file of a sub-agent, or of the session itself beside its output; may
	 * be NULL.
	 */
	void (*thread)(struct agent_stream *s, const value *v);
	/* One line of its errors, which is text; may be NULL. */
	void (*error_line)(struct agent_stream *s, str line);
	/* Nothing more comes; may be NULL. */
	void (*end)(struct agent_stream *s);
	/* argv, environment and files of one process. */
	int (*launch)(struct arena *a, const struct launch_ask *ask, struct launch *ret,
			struct ov_err *err);
};

/*
 * Is this version, as the program prints it, before the oldest that is known to work? One without
 * numbers is not.
 */
bool format_is_too_old(const struct agent_format *f, str version);
