#pragma once
/*
 * The heartbeat (data/message/vital.h): one beat of the main loop after the other, in place, while
 * somebody wants it: the watchdog that watch.json names, as long as it lives, or a service manager.
 * With nobody there the daemon sleeps as if this did not exist.
 *
 * It is a timer of the loop, so a loop that hangs has no heartbeat; and it is written into space
 * that the file has already, so a full disk does not stop it.
 */
#include "base/ov.h"
#include "data/message/vital.h"
#include "sys/loop/notify.h"

struct beat;
struct loop;

struct beat_options {
	struct loop *loop;
	const char *dir, *instance;
	const struct notify *manager;
	/* Of a watchdog, unless its own is shorter: a third of it lies between beats at most. */
	ov_time timeout;
	/* What there is to say beside the loop's counter; called for each beat, from the loop. */
	void (*sign)(void *user, struct heartbeat *ret);
	void *user;
};

/* Beats at once if it is wanted; what does not work is told in the log. */
struct beat *beat_new(const struct beat_options *o);
struct beat *beat_free(struct beat *b); /* NULL allowed; returns NULL */
/* The configuration was read again. */
void beat_set_timeout(struct beat *b, ov_time timeout);
