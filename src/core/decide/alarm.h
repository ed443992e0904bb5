#pragma once
/*
 * People outside are told, as events: alarms of interventions and of entries of the inbox become
 * notices, each attempt is an effect, and what failed is tried again. What may be told, and when:
 * core/inbox/notices.
 */
#include "core/decide/ask.h"
#include "core/inbox/notices.h"
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
 * Opens a notice for each channel that the policy names for its urgency. None is opened where one
 * of the same fingerprint and no lower urgency still waits, and without escalation.auto only those
 * of emergencies are.
 */
void alarm_raise(struct decide_ctx *cx, const struct alarm *x);
/*
 * Of an entry of the inbox that this batch opens; those of interventions have an alarm of
 * their own.
 */
void alarm_opened(struct decide_ctx *cx, struct subject s, int64_t number,
		const struct escalation_spec *x);
/* The entry is still open: people are told again, where they were told before. */
void alarm_again(struct decide_ctx *cx, const struct escalation *x);
/* DEC_NOTIFY: the next attempt of a notice, or its end without one. And the end of an attempt. */
void tick_notify(struct decide_ctx *cx, const struct decision *d);
void notify_ended(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o);
/* A person wants it tried again now. */
DECIDES(notice_retry);
