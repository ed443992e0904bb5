#pragma once
/* What people say about good work: in review, or when a command of the accept queue failed. */
#include "core/decide.h"

/*
 * Finished work waits for a person before it is accepted if nothing checked it, its agent left files
 * uncommitted, or accept.review wants it, as the configuration says. False: it needs no review.
 * An entry that is open from before is brought up to date. checked: the check command passed.
 */
bool review_begin(struct decide_ctx *cx, const struct assignment *as, bool checked);
/* Just before the target moves: nothing checked it after all, since a command was taken away. */
bool review_overlooked(struct decide_ctx *cx, const struct assignment *as);
/* As `worker accept` and `worker reject`, and as answers. The stage must be review, or (reject) rebase. */
void review_accept(struct decide_ctx *cx, const struct assignment *as, str reason);
void review_reject(struct decide_ctx *cx, const struct assignment *as, str reason);
/* 0, or why not: OV_ESTATE with what the work does instead. */
int review_check(const struct assignment *as, bool reject, struct ov_err *err);
/* Answers of people to what accept.h says they are asked; the caller has closed the escalation. */
int accept_answer_check(struct decide_ctx *cx, const struct escalation *x, str text,
		struct ov_err *err);
void accept_answered(struct decide_ctx *cx, const struct escalation *x, str text);
/*
 * Tasks of auto mode that could not be accepted are tried again: what was asked about a command is
 * answered by running it, once. If that did not help it is asked again, and left to a person.
 */
void accept_again(struct decide_ctx *cx, str why);
