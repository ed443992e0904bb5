#pragma once
/* What people say about good work: in review, or when a command of the accept queue failed. */
#include "core/decide/context.h"

struct outcome;

/* What the check command said of the work. It cannot be run: it is not there, or not executable. */
enum check_said { CHECK_SAID_NOTHING, CHECK_SAID_GOOD, CHECK_SAID_BAD, CHECK_CANNOT_RUN };

/*
 * Finished work waits for a person before it is accepted if nothing checked it, the check command
 * cannot be run, the check that a person asked for failed, its agent left files uncommitted, or
 * accept.review wants it, as the configuration says. False: it needs no review. An entry that is
 * open from before is brought up to date. output: of a check that did not pass.
 */
bool review_begin(struct decide_ctx *cx, const struct assignment *as, enum check_said said,
		str output);
/*
 * A check that did not pass, and is for a person to judge: its command cannot be run, which is not
 * the agent's fault, or a person asked for it. False: it is the agent's failure.
 */
bool review_takes_check(struct decide_ctx *cx, const struct outcome *o);
/* Just before the target moves: nothing checked it after all, since a command was taken away. */
bool review_overlooked(struct decide_ctx *cx, const struct assignment *as);
/*
 * As `worker accept` and `worker reject`, and as answers. The stage must be review, or
 * (reject) rebase.
 */
void review_accept(struct decide_ctx *cx, const struct assignment *as, str reason);
void review_reject(struct decide_ctx *cx, const struct assignment *as, str reason);
/* 0, or why not: OV_ESTATE with what the work does instead. */
int review_check(const struct assignment *as, bool reject, struct ov_err *err);
/* Answers of people to what accept.h says they are asked; the caller has closed the escalation. */
int accept_answer_check(struct decide_ctx *cx, const struct escalation *x, enum say say, str text,
		struct ov_err *err);
void accept_answered(struct decide_ctx *cx, const struct escalation *x, enum say say, str why);
/*
 * Tasks of auto mode that could not be accepted are tried again: what was asked about a command is
 * answered by running it, once. If that did not help it is asked again, and left to a person.
 */
void accept_again(struct decide_ctx *cx, str why);
