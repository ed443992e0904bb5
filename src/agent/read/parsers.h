#pragma once
/*
 * The readers of the formats, for the table in agent/format/format.c, and what they share. Each
 * reads by names of members only, never by their order; what it does not know it passes over.
 */
#include "agent/read/stream.h"

void claude_line(struct agent_stream *s, const value *v);
void claude_transcript_line(struct agent_stream *s, const value *v);
void claude_error_line(struct agent_stream *s, str line);
void codex_line(struct agent_stream *s, const value *v);
void codex_rollout_line(struct agent_stream *s, const value *v);
void codex_thread_line(struct agent_stream *s, const value *v);
void codex_error_line(struct agent_stream *s, str line);
void gemini_line(struct agent_stream *s, const value *v);
void gemini_error_line(struct agent_stream *s, str line);
void gemini_end(struct agent_stream *s);
void opencode_line(struct agent_stream *s, const value *v);
void opencode_error_line(struct agent_stream *s, str line);

/* A name of the agent's vocabulary, and what it means in ours. */
struct word {
	const char *name;
	int is;
};
/* otherwise: when it is none of the words. */
int word_find(const struct word *words, size_t n, str name, int otherwise);

/*
 * What a tool was called with, in short: its command, file or pattern; else its arguments as JSON.
 */
str call_text(struct arena *a, const value *input);
/* What two calls have in common only when they are the same: see struct fact. */
str call_digest(struct arena *a, str name, const value *input);
/* The words of an answer: a text, or the texts of a list of blocks. */
str content_text(struct arena *a, const value *content);
/*
 * An amount in dollars as millionths; COST_UNKNOWN: none is told; COST_UNTRUE: it cannot be true.
 */
int64_t dollars(const value *v);
/*
 * A number of tokens; 0 when none is told, and when it cannot be true, which is noted in the usage.
 */
int64_t tokens_at(struct usage *u, const value *object, const char *key);
/* A count as agents write it: negative and absent ones are 0, fractions are cut. */
int64_t count_at(const value *object, const char *key);
/* A failure described by a text for people, with a status where there is one. */
struct fact trouble_fact(enum fact_kind kind, str text, int status);
/*
 * A line of the errors that begins with "error", or that names a trouble; false: nothing of note.
 */
bool error_trouble(str line, struct fact *ret);
