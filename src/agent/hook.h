#pragma once
/*
 * Hooks of Claude Code and Codex, which speak the same JSON: what a call says as a fact, and what is
 * answered. `overseer hook` runs inside the agent's process tree and needs no daemon: it appends one
 * line to runs/<run>/hooks/events (bounded; the daemon follows the file, as it follows the output),
 * judges PreToolUse by runs/<run>/hooks/scope.json, and hands over what the daemon has laid into
 * runs/<run>/hooks/next when the agent wants to stop. So an agent is never held up by a daemon that is
 * away, nothing is delivered twice, and a scope holds without us.
 */
#include "agent/fact.h"
#include "agent/tools.h"

#define HOOK_DIR "hooks" /* in the run's folder; the only part of it that agents write to */
#define HOOK_EVENTS HOOK_DIR "/events"
#define HOOK_SCOPE HOOK_DIR "/scope.json" /* {"format", "allow", "deny"} */
#define HOOK_NEXT HOOK_DIR "/next" /* {"dispatch", "text"}: taken by renaming it to next.DISPATCH */

enum {
	HOOK_INPUT_MAX = 16 << 20, /* of what an agent writes to a hook */
	HOOK_LINE_MAX = 16 << 10,  /* of one line of the events */
	HOOK_EVENTS_MAX = 8
			<< 20, /* of the file: what comes later is dropped and counted by a last line */
};

/* One call, as the agent made it. */
struct hook_call {
	str event; /* "PreToolUse" */
	str session, tool, tool_id, message, notification, reason, source, model;
	const value *input; /* of the tool; may be NULL */
	bool stop_hook_active;
};

/* Unknown members are ignored; an unknown event is fine and becomes a notice. */
int hook_read(struct arena *a, str json, struct hook_call *ret, struct ov_err *err);
/* The line of the events file for a call, without its newline; taken: the dispatch that Stop handed over. */
str hook_line(struct arena *a, const struct hook_call *c, ov_time now, str taken);
/* A line of the events file as a fact; false when there is none in it. ret_taken: a dispatch that was handed over. */
bool hook_fact(struct arena *a, str line, struct fact *ret, str *ret_taken);
/* What is answered on standard output; empty: nothing. next: an instruction to go on with, or empty. */
str hook_answer(struct arena *a, const struct hook_call *c, const struct agent_format *f,
		const struct tool_scope *s, str next);
