#pragma once
/*
 * Who outside is told of what, by which channel: the configuration's table of urgencies and channels,
 * applied to interventions and to entries of the inbox. A notice is opened as an event; each attempt is
 * an effect; what failed is tried again with a backoff, and recorded as failed, never as sent. Pure.
 */
#include "core/decide_impl.h"

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
/* Opens a notice for each channel that the policy names for it; none in quiet hours before their end. */
void alarm_raise(struct decide_ctx *cx, const struct alarm *x);
/* As `escalation.levels` says: log and warn nobody, redirect warning, pause critical, abort emergency. */
enum urgency urgency_of(enum level level, enum severity severity);
bool alarm_wanted(const struct policy *p, enum level level); /* escalation.auto */
/* DEC_NOTIFY: the next attempt of a notice. And its end. */
void tick_notify(struct decide_ctx *cx, const struct decision *d);
void notify_ended(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o);
