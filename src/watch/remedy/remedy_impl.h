#pragma once
/*
 * The parts of a remediation's process. Private to watch/remedy: what they share is one struct that
 * lives as long as the process.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "watch/remedy/prompt.h"
#include "watch/remedy/remedy.h"

struct remedy {
	const struct remedy_ask *ask;
	struct arena arena;
	int log;     /* -1: it cannot be written */
	int stop_fd; /* a signalfd: readable when it is to end */
	bool stopping;
	struct buf prompt;
};

/* Appends to the log, if there is one. */
void remedy_write(struct remedy *r, str bytes);
void remedy_say(struct remedy *r, const char *fmt, ...) _printf_(2, 3);

/* remedy_look.c: what logs and commands say; *ret is in the arena. */
size_t remedy_look(struct remedy *r, const struct prompt_part **ret);
/* remedy_agent.c: runs the agent, a second time if it dies. */
enum remedy_status remedy_agent(struct remedy *r);
