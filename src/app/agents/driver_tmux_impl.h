#pragma once
/*
 * What the files of the tmux driver share: a run in a terminal. app/agents/driver_tmux.c owns it,
 * starts and ends it, and types; app/agents/driver_tmux_hear.c hears what its hooks, its session's
 * file and its screen say.
 */
#include "agent/fact/fact.h"
#include "app/agents/driver.h"
#include "app/agents/run_note.h"
#include "base/arena.h"
#include "drive/run/run.h"
#include "drive/tmux/tmux.h"

#define PASTE_ON "\x1b[?2004h" /* asks the terminal to bracket what is pasted: it takes input */

enum {
	END_MS = 700, /* between the end of its turn and the end of the agent */
	NAME_MAX_BYTES = 64,
};

struct driver_run {
	struct loop *loop;
	struct driver_events ev;
	void *user;
	struct arena strings;
	const char *dir;
	struct run_note as;
	struct run_handle *run;
	struct tmux *tmux;
	str session, id;

	/* Until the session is there. */
	struct tmux_session spec;
	int tries;

	struct driver_hooks *hooks; /* NULL: any command, whose output is all there is */
	struct transcript *transcript;
	struct threads *threads;
	struct tmux_input *tmux_input; /* NULL: nothing is typed */
	char tail[sizeof(PASTE_ON) - 1];
	size_t tail_n;
	char asks[NAME_MAX_BYTES]; /* what it asks a person for; empty: nothing */
	bool in_turn;
	ov_time turn_at; /* when its newest turn began */
	struct loop_source
			*timer; /* the session again, or the end of an agent whose turn is over */
	struct run_end end;     /* while its last words are read */
	char failure[256];
	bool undelivered;
};

/* What a hook said: see driver_hook_fn. */
void tmux_hear_hook(void *user, const struct fact *f, str taken, str line);
/* What it wrote into the file of its session, or a sub-agent into its own. */
void tmux_hear_transcript(void *user, const struct fact *f);
/* What it drew. */
void tmux_hear_output(void *user, str bytes, uint64_t at);
/* It has not begun: it asks about its folder (trust), or nobody knows what it waits for. */
void tmux_hear_late(struct driver_run *d, bool trust);
