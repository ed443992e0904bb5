#pragma once
/*
 * Notifications on the desktop of the user who runs us: one call of org.freedesktop.Notifications
 * on the session bus (sd-bus), inside the loop. Each has a connection of its own, which ends with
 * it; a bus that does not answer costs time, and holds up nobody.
 */
#include "base/ov.h"

struct bus_call;
struct loop;

enum bus_urgency { BUS_LOW, BUS_NORMAL, BUS_CRITICAL };

struct bus_notification {
	const char *app, *title;
	const char *body; /* markup: & < > are written as entities */
	enum bus_urgency urgency;
	str replaces; /* what an earlier one was answered with; of another session it is nothing */
	int64_t timeout_ms;
};

/*
 * err->code 0: it is shown, and ref (valid during the call) says as what. OV_ESTATE: there is no
 * session, so asking again is of no use until a person logs in. OV_EUNAVAILABLE: nobody shows
 * notifications, or not in time.
 */
typedef void bus_done_fn(void *user, str ref, const struct ov_err *err);

/* done comes once, from the loop, never from here, unless it is cancelled. All is copied. */
struct bus_call *bus_notify(struct loop *l, const struct bus_notification *n, bus_done_fn *done,
		void *user);
/*
 * The environment names a session bus, or the user's own is there; whether it answers is not asked.
 */
bool bus_has_session(void);
/* done is not called. */
void bus_cancel(struct bus_call *c);
