/* What events about oversight and notices hold. */
#include "core/event/event_impl.h"

#define RECORD_OF(name, help)                      \
	{                                          \
		name, V_OBJECT, true, help, V_NULL \
	}

static const struct event_field iteration_recorded[] = {
	RECORD_OF("iteration", "all that was seen; the same number again replaces it"),
	TEXT_OPT("alarm", "the worst severity that is seen in it, answered before or not"),
};
static const struct event_field detection_made[] = {
	RECORD_OF("detection", "type, severity, message, evidence, recommendations, fingerprint"),
};
static const struct event_field intervention_applied[] = {
	TEXT("detection", "its id"),
	TEXT("level", "log, warn, redirect, pause or abort"),
	TEXT("reason", "why"),
	TEXT("did", "what was done, for people"),
	TEXT_OPT("text", "that stands in front of the next instruction"),
	FLAG_OPT("goal_wide", "the whole goal is paused or aborted"),
	NUM_OPT("escalation", "the number in the inbox"),
};
static const struct event_field detection_judged[] = {
	TEXT("detection", "its id"),
	TEXT("effectiveness", "helpful, unhelpful or unknown"),
	TEXT("because", "what came after it"),
	FLAG_OPT("false_positive", "a person says that there was nothing to find"),
};
static const struct event_field oversight_renewed[] = {
	TEXT("reason", "why"),
};
static const struct event_field goal_health[] = {
	TEXT("from", "health before"),
	TEXT("to", "health now"),
	TEXT("reason", "why"),
};
static const struct event_field run_frozen[] = {
	FLAG_OPT("frozen", "its processes are held; otherwise they go on"),
	TEXT("reason", "why"),
};
static const struct event_field escalation_snoozed[] = {
	NUM("escalation", "its number"),
	NUM("until_ms", "when it comes back"),
	TEXT("reason", "why"),
};
static const struct event_field escalation_raised[] = {
	NUM("escalation", "its number"),
	TEXT("question", "what is asked now"),
	TEXT("reason", "what is new"),
	TEXT_OPT("detection", "of oversight, that it is about now"),
	TEXT_OPT("fingerprint", "of the new evidence; without one there is none"),
};
static const struct event_field notice_opened[] = {
	RECORD_OF("notice", "whom it goes to, what about, how urgent"),
};
static const struct event_field notice_tried[] = {
	TEXT("notice", "its id"),
	TEXT("channel", "that it goes to"),
	TEXT("status", "sent, waiting for the next attempt, or failed for good"),
	NUM("attempts", "so far"),
	TEXT_OPT("ref", "what the channel made of it"),
	TEXT_OPT("error", "why it was not sent"),
	NUM_OPT("not_before_ms", "the next attempt comes no earlier"),
};
static const struct event_field notice_again[] = {
	TEXT("notice", "its id"),
	TEXT("channel", "that it goes to"),
	TEXT("reason", "why"),
};

const struct event_fields oversight_event_fields[EVENT_KIND_COUNT] = {
	[EV_ITERATION_RECORDED] = FIELDS(iteration_recorded),
	[EV_DETECTION_MADE] = FIELDS(detection_made),
	[EV_INTERVENTION_APPLIED] = FIELDS(intervention_applied),
	[EV_DETECTION_JUDGED] = FIELDS(detection_judged),
	[EV_OVERSIGHT_RENEWED] = FIELDS(oversight_renewed),
	[EV_GOAL_HEALTH] = FIELDS(goal_health),
	[EV_RUN_FROZEN] = FIELDS(run_frozen),
	[EV_ESCALATION_SNOOZED] = FIELDS(escalation_snoozed),
	[EV_ESCALATION_RAISED] = FIELDS(escalation_raised),
	[EV_NOTICE_OPENED] = FIELDS(notice_opened),
	[EV_NOTICE_TRIED] = FIELDS(notice_tried),
	[EV_NOTICE_WITHDRAWN] = FIELDS(notice_again),
	[EV_NOTICE_RETRIED] = FIELDS(notice_again),
};
