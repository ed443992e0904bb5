#pragma once
/* A run whose shim died without an exit record: what is left of it is ended and measured. */
#include "drive/run/run.h"

/*
 * Nobody owns it any more, so nothing of it may go on unseen: its control group is killed if it had
 * one, and whoever carries its id in the environment. ret->ended_at is kept; the message, which
 * begins with `why`, lives in the arena.
 */
void run_lost(struct arena *a, const char *dir, const char *id, const char *why,
		struct run_end *ret);
/* Another sweep for who carries its id; sure as of proc_sweep_known. */
int run_sweep(str id, size_t *ret_killed, bool *ret_sure, struct ov_err *err);
