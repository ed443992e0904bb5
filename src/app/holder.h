#pragma once
/*
 * Who holds a store: a process is named for good by its pid, start time and boot id, in the lease's
 * text and in daemon.json. The lock may outlive it for a moment: a child that a daemon was about to
 * start has a copy of every descriptor until it runs its own program. So a start right after a
 * crash waits for what is left of the dead daemon, and a live one refuses it at once.
 */
#include "app/daemon_impl.h"
#include "data/value/value.h"

/* The process that v names (pid, start_time, boot_id) runs on this machine. */
bool holder_lives(const value *v);
/*
 * Takes the lease of s for d. When a process holds it that lives, as far as can be told, the answer
 * is OV_ECONFLICT at once, and names it; otherwise after 2 s.
 */
int holder_take_lease(struct daemon *d, struct store *s, struct ov_err *err);
