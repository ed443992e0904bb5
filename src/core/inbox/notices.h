#pragma once
/*
 * Who outside is told of what, by which channel: the configuration's table of urgencies and channels,
 * applied to interventions and to entries of the inbox. A notice is opened as an event; each attempt is
 * an effect; what failed is tried again with a backoff, and recorded as failed, never as sent. Pure.
 *
 * Quiet hours and the limit of notices per hour make a notice wait; an emergency waits for neither.
 */
#include "core/decide/emit.h"

enum {
	NOTICES_OPEN = 4,     /* attempts under way at a time, per channel */
	NOTICES_WAITING = 100 /* per channel, of one urgency or a higher one: no more are opened */
};

/* An alarm, before it is known who hears of it. */
struct alarm {
	const struct goal *goal; /* may be NULL */
	const struct node *node; /* may be NULL */
	str detection;           /* its id; empty: none */
	int64_t escalation;      /* 0: none */
	enum urgency urgency;
	str fingerprint; /* of the detection, or of the question: what a second alarm is known by */
	str subject;     /* one line */
};
/*
 * Opens a notice for each channel that the policy names for its urgency. None is opened where one of
 * the same fingerprint and no lower urgency still waits, and without escalation.auto only those of
 * emergencies are.
 */
void alarm_raise(struct decide_ctx *cx, const struct alarm *x);
/* Of an entry of the inbox that this batch opens; those of interventions have an alarm of their own. */
void alarm_opened(struct decide_ctx *cx, struct subject s, int64_t number,
		const struct escalation_spec *x);
/* The entry is still open: people are told again, where they were told before. */
void alarm_again(struct decide_ctx *cx, const struct escalation *x);
/* log and warn: info; redirect: warning, or critical as its detection; pause: critical; abort: emergency. */
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

/* DEC_NOTIFY: the next attempt of a notice, or its end without one. And the end of an attempt. */
void tick_notify(struct decide_ctx *cx, const struct decision *d);
void notify_ended(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o);
/* A person wants it tried again now: {"notice", "reason"}. */
decide_fn decide_notice_retry;
