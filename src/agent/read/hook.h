#pragma once
/*
 * Hooks of Claude Code and Codex, which speak the same JSON: what a call says as a fact, and what
 * is answered. `overseer hook` runs inside the agent's process tree and needs no daemon: it appends
 * one line to runs/<run>/hooks/events (bounded; the daemon follows the file, as it follows the
 * output), judges PreToolUse by runs/<run>/hooks/scope.json, and hands over what the daemon has
 * laid into runs/<run>/hooks/next when the agent wants to stop. So an agent is never held up by a
 * daemon that is away, nothing is delivered twice, and a scope holds without us.
 */
#include "agent/fact/fact.h"
#include "agent/format/tools.h"

#define HOOK_DIR "hooks" /* in the run's folder; the only part of it that agents write to */
#define HOOK_EVENTS HOOK_DIR "/events"
#define HOOK_SCOPE HOOK_DIR "/scope.json" /* {"format", "allow", "deny"} */
/* {"dispatch", "text"}: taken by renaming it to next.DISPATCH, before it is answered. */
#define HOOK_NEXT HOOK_DIR "/next"
#define HOOK_RUN_DIR "OVERSEER_RUN_DIR" /* the run's folder, in the environment of its agent */

enum {
	HOOK_INPUT_MAX = 16 << 20,  /* of what an agent writes to a hook */
	HOOK_LINE_MAX = 16 << 10,   /* of one line of the events, with its newline */
	HOOK_EVENTS_MAX = 8 << 20,  /* of the file; a last line tells that more was dropped */
	HOOK_EVENTS_KEEP = 1 << 20, /* of that, for lines that tell of an instruction handed over */
	HOOK_FILE_MAX = 256 << 10,  /* of scope.json and next */
	HOOK_PATH_MAX = 2000,       /* of the name of a transcript; a longer one is not told */
	HOOK_DISPATCH_MAX = 64,     /* of the name of a dispatch: letters, digits, '_', '-' */
};

/* One call, as the agent made it. */
struct hook_call {
	str event; /* "PreToolUse" */
	str session, tool, tool_id, message, notification, reason, source, model;
	str error;           /* why a tool or a turn failed, in the agent's word */
	str child;           /* the sub-agent that it is about; empty: the session itself */
	const value *input;  /* of the tool; may be NULL */
	const value *answer; /* of the tool, when it ended; may be NULL */
	str transcript;      /* the file that the agent keeps of its session */
	bool stop_hook_active;
};

/* What is answered. */
struct hook_reply {
	bool denied; /* the tool */
	str text;    /* for standard output; empty: nothing */
};

/*
 * Unknown members are ignored; an unknown event is fine and becomes a notice. event: the one that
 * the settings named, for a call that does not say so itself.
 */
int hook_read(struct arena *a, str json, str event, struct hook_call *ret, struct ov_err *err);
/*
 * f and s are what scope.json says; s NULL: it cannot be read, so no tool is permitted. next: an
 * instruction to go on with, or empty.
 */
struct hook_reply hook_answer(struct arena *a, const struct hook_call *c,
		const struct agent_format *f, const struct tool_scope *s, str next);
/* May this call be given the next instruction? Only the session itself, when it wants to stop. */
bool hook_may_go_on(const struct hook_call *c);

/*
 * The line of the events file for a call, without its newline; taken: the dispatch that Stop
 * handed over.
 */
str hook_line(struct arena *a, const struct hook_call *c, ov_time now, bool denied, str taken);
/* The last line of a file that is full. */
str hook_line_dropped(struct arena *a, ov_time now);
/*
 * A line of the events file as a fact; false when there is none in it. f: of the agent; what its
 * output tells better (turns, tools) comes as a notice, a sign of life from which nothing else
 * follows: Codex does not tell its hooks how a tool ended that failed. A tool that ended without an
 * id means all that are in flight. ret_taken: a dispatch that was handed over, or empty.
 */
bool hook_fact(struct arena *a, str line, const struct agent_format *f, struct fact *ret,
		str *ret_taken);

/* The file that the agent keeps of its session, where a line names it. */
str hook_transcript(struct arena *a, str line);

/* scope.json as text, to be in place before the agent starts; and read again. s NULL: all tools. */
str hook_scope_text(struct arena *a, const struct agent_format *f, const struct tool_scope *s);
/* The file `next` as text; and read again. The dispatch's name is checked: it becomes a file's. */
int hook_next_text(struct arena *a, str dispatch, str text, str *ret, struct ov_err *err);
int hook_next_read(struct arena *a, str json, str *ret_dispatch, str *ret_text, struct ov_err *err);
