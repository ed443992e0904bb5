#pragma once
/*
 * The texts that agents are given, built from the state alone, so that a retry can build
 * them again.
 */
#include "base/ov.h"
#include "core/model/model.h"

/* The instruction for an assignment's next run, at most LIMIT_INSTRUCTION bytes. */
str prompt_build(struct arena *a, const struct assignment *as);
/*
 * The same for a run that goes on with a session in which the whole instruction was given before:
 * what happened since, and the essentials.
 */
str prompt_resume(struct arena *a, const struct assignment *as);
/*
 * Asks a run that fell silent for a status update; advice may be empty. The same for the same node,
 * but for its nonce.
 */
str prompt_nudge(struct arena *a, const struct assignment *as, str advice);
/* What a session is told that goes on because its run was ended for it to be told something. */
str prompt_interrupted(struct arena *a, const char *why, str text);
/* A text that is sent to a run, with the nonce that an answer shall repeat. */
str prompt_with_nonce(struct arena *a, str text, str nonce);
/* What an agent is told whose work conflicts with the target branch. */
str prompt_conflict(struct arena *a, str target, str files);
/* The same, of work that others have made superfluous: it changes nothing on the target branch. */
str prompt_no_effect(struct arena *a, str target);
/* What an agent is told whose work a command of the accept queue, or a person, did not let pass. */
str prompt_gate(struct arena *a, str target, str output);
/*
 * Of work that was refused for what it consists of; `why` says what to do about it. No check
 * has run.
 */
str prompt_refused(struct arena *a, str why);
str prompt_post(struct arena *a, str target, str output);
str prompt_rejected(struct arena *a, str reason);
/* The message of the accepted commit: a subject line from the node's name, then why. */
str prompt_commit_message(struct arena *a, const struct node *n);
/* The message of the commit that takes the accepted one back. */
str prompt_revert_message(struct arena *a, const struct node *n);
