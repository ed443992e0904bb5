#pragma once
/*
 * Answers of people on their way: what the files about the inbox share. An entry is read and its
 * answer checked before anything is emitted; what it does is the rule's of its kind. Private
 * to core.
 */
#include "core/decide/emit.h"

struct answer {
	const struct escalation *x;
	const struct goal *g; /* NULL: it is about none */
	const struct node *n; /* NULL: it is about the goal, or about none */
	str text;
	enum say say; /* what the text stands for; SAY_TEXT where it is one for the agent */
	str why;      /* of an answer that needs a reason: "reject: WHY" */
	str reason;   /* why, where the answer itself does not say so; may be empty */
	bool option;  /* it is one of those that were offered */
	bool free;    /* it was said to be a text for the agent, and is no command */
};

/* The open entry of that number. */
int inbox_read(struct decide_ctx *cx, int64_t number, const struct escalation **ret,
		struct ov_err *err);
/* The answer with what else p says: reason, budget, estimate. Refused before anything is done. */
int inbox_answer(struct decide_ctx *cx, const struct escalation *x, str text,
		const struct pr_inbox_answer *p, struct ov_err *err);
/* 0, or why it cannot be closed without an answer. */
int inbox_check_dismiss(struct decide_ctx *cx, const struct escalation *x, struct ov_err *err);
/* Closed without one: who is blocked waits for the caller. */
void inbox_dismiss(struct decide_ctx *cx, const struct escalation *x, str reason);
/* What came of it, for the one who asked: read from the events of the batch. */
value *inbox_result(struct decide_ctx *cx, const struct escalation *x, size_t before);

/* Kinds of oversight: paused and aborted goals. */
int answer_check_paused(struct decide_ctx *cx, const struct answer *a, struct ov_err *err);
void answer_paused(struct decide_ctx *cx, const struct answer *a);
int answer_check_aborted(struct decide_ctx *cx, const struct answer *a, struct ov_err *err);
void answer_aborted(struct decide_ctx *cx, const struct answer *a);
/* What led to the entry was nothing: judged so, for good. */
void detections_denied(struct decide_ctx *cx, const struct escalation *x, str reason);

/* 0, or why the goal cannot be given up now. */
int answer_check_cancel(const struct goal *g, struct ov_err *err);
/* The goal is cancelled by that answer. */
void answer_cancel(struct decide_ctx *cx, const struct answer *a);
/* The reason of what it does to its goal. */
str answer_reason(struct decide_ctx *cx, const struct answer *a);

/*
 * Closes an open escalation with an answer, and does what the answer says; `as` is ESC_ANSWERED, or
 * ESC_EXPIRED when it is the default answer that nobody contradicted in time.
 */
void escalation_answer(struct decide_ctx *cx, const struct escalation *x, str answer,
		enum esc_status as);
DECIDES(inbox_answer);
DECIDES(inbox_approve);
DECIDES(inbox_deny);
DECIDES(inbox_snooze);
DECIDES(inbox_dismiss);
/* DEC_EXPIRE: nobody contradicted the default answer in time. */
void tick_expire(struct decide_ctx *cx, const struct decision *d);
