#pragma once
/*
 * Gives an interactive agent its instruction by its terminal: waits until it takes input, pastes,
 * submits, and waits for its word that it has it. What is not confirmed in time is looked for on
 * the screen, and submitted or pasted again, so many times; then it has failed. Where readiness is
 * only guessed, nothing is submitted that the screen does not show. It types nothing while the
 * agent has asked a person something, except for one answer: before the agent is ready, the one
 * about a folder whose repository the user trusts. The typist owns its timer; how often was pasted
 * stands in the run's folder, so that another daemon goes on from there.
 */
#include "base/ov.h"

struct loop;
struct tmux;
struct tmux_input;

struct tmux_input_options {
	struct loop *loop;
	struct tmux *tmux;
	str session;     /* of tmux */
	const char *dir; /* the run's folder */
	str text;
	int64_t confirm_ms;       /* a paste that is not confirmed after this is made again */
	int64_t resends;          /* at most */
	const char *trust_answer; /* to the question about its folder; NULL: it does not ask that */
	bool may_trust;           /* it is to be chosen; else that is for a person */
	/*
	 * Begins the line of its input, without which a dialog is open; NULL: it says that it
	 * is ready.
	 */
	const char *input_mark;
	/*
	 * Everything that the agent has said by now is to be told before the next key is pressed.
	 */
	void (*look)(void *user);
	/*
	 * It does not get ready: a dialog is open that only a person can answer, maybe about
	 * its folder.
	 */
	void (*late)(void *user, bool trust);
	void (*failed)(void *user, const char *why);
	void *user;
};

struct tmux_input *tmux_input_new(const struct tmux_input_options *o);
void tmux_input_free(struct tmux_input *t); /* NULL allowed */
/* What the agent says; each may come again, and all of them with NULL. */
void tmux_input_ready(struct tmux_input *t);
void tmux_input_taken(struct tmux_input *t);
void tmux_input_drawn(struct tmux_input *t); /* its screen has changed */
void tmux_input_asks(struct tmux_input *t,
		bool asks); /* it waits for a person, or does so no longer */
/* Has it been taken? True without a typist. */
bool tmux_input_is_done(const struct tmux_input *t);
