#pragma once
/*
 * Who holds a store: a process is named for good by its pid, start time and boot id, in the lease's
 * text and in daemon.json. The lock may outlive it for a moment: a child that a daemon was about to
 * start has a copy of every descriptor until it runs its own program. So a start right after a
 * crash waits for what is left of the dead daemon, and a live one refuses it at once.
 */
#include "data/value/value.h"
#include "store/store.h"

/* The process that v names (pid, start_time, boot_id) runs on this machine. */
bool holder_lives(const value *v);
/*
 * Takes the lease of s, the store in the folder dir, as `me`. When a process holds it that lives,
 * as far as can be told, the answer is OV_ECONFLICT at once, and names it; otherwise after 2 s.
 */
int holder_take_lease(const char *dir, str me, struct store *s, struct ov_err *err);
