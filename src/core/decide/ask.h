#pragma once
/*
 * Asking people: what the decide_*.c files share about entries of the inbox, which are opened,
 * raised again on new evidence, and closed by an answer or by what happened meanwhile. Private
 * to core.
 */
#include "core/decide/emit.h"

/* What a person is asked. */
struct escalation_spec {
	enum ask ask;
	str question;
	struct texts options; /* none: what its kind offers */
	str default_answer;   /* given by itself at expires_at; may be empty */
	ov_time expires_at;
	int64_t episode;
	str detection;   /* of oversight, that it is about; may be empty */
	str fingerprint; /* of the evidence; may be empty */
};
/*
 * About a node, an assignment, a goal, or nothing in particular; the number of the entry. With a
 * fingerprint there is one entry per kind and subject: new evidence raises it again, the same does
 * nothing.
 */
int64_t escalate_about(struct decide_ctx *cx, struct subject s, const struct escalation_spec *x);
void escalate(struct decide_ctx *cx, const struct node *n, enum ask ask, str question);
/*
 * Raises the open entry of that kind and subject on new evidence; its number, or 0: there is none.
 */
int64_t escalation_again(struct decide_ctx *cx, struct subject s, const struct escalation_spec *x);
void tick_raise(struct decide_ctx *cx, const struct decision *d);
/* This batch has closed it. */
bool escalation_is_closing(const struct decide_ctx *cx, int64_t number);
/* Nothing when this batch has closed it already. */
void escalation_close(struct decide_ctx *cx, const struct escalation *x, enum esc_status status,
		str answer);
void close_escalations(struct decide_ctx *cx, const struct node *n, enum esc_status status,
		str answer);
