#pragma once
/*
 * Who outside is told of what, by which channel: the configuration's table of urgencies and
 * channels, applied to interventions and to entries of the inbox. A notice is opened as an event;
 * each attempt is an effect; what failed is tried again with a backoff, and recorded as failed,
 * never as sent. Pure.
 *
 * Quiet hours and the limit of notices per hour make a notice wait; an emergency waits for neither.
 */
#include "core/policy/policy.h"
#include "core/state/state.h"

enum {
	NOTICES_OPEN = 4,     /* attempts under way at a time, per channel */
	NOTICES_WAITING = 100 /* per channel, of one urgency or a higher one: no more are opened */
};

/*
 * log and warn: info; redirect: warning, or critical as its detection; pause: critical;
 * abort: emergency.
 */
enum urgency urgency_of(enum level level, enum severity severity);
bool alarm_wanted(const struct policy *p, enum level level); /* escalation.auto */

/* The channel, or NULL: it is not configured any more. */
const struct policy_channel *notice_channel(const struct policy *p, const struct notice *x);
/* Nobody needs to hear of it now: what it is about is settled, or a person put it off. */
bool notice_is_needless(const struct state *s, const struct notice *x);
/* When the next attempt may be made, quiet hours considered; in the past: now. */
ov_time notice_due(const struct policy *p, const struct notice *x, ov_time now);
/* Before the next attempt, after so many that failed. */
ov_time notice_backoff(const struct policy *p, int64_t attempts);
