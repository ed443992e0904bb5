#pragma once
/*
 * What the steps of an assignment share: failing within caps, trying again, letting go. Private
 * to core.
 */
#include "core/decide/emit.h"

/*
 * Counts a failure of the cause; tries again from the stage that its rule names, or gives up and
 * asks a person. `feedback` is for the next run, `detail` for people.
 */
void flow_fail(struct decide_ctx *cx, const struct assignment *as, enum cause cause, str detail,
		str feedback);
/* The same with a cap of its own. */
void flow_fail_within(struct decide_ctx *cx, const struct assignment *as, enum cause cause,
		int64_t most, str detail, str feedback);
/*
 * core/flow/flow_run_end: a run that was harvested had failed, or had ended well without a change.
 */
void run_failed(struct decide_ctx *cx, const struct outcome *o);
void run_changed_nothing(struct decide_ctx *cx, const struct assignment *as);
/* The first half of flow_fail: the event; returns the count, this failure included. */
int64_t flow_count(struct decide_ctx *cx, const struct assignment *as, enum cause cause,
		str detail);
/* How often it may happen before a person is asked, and the wait after the count-th time. */
int64_t flow_max(const struct policy *p, enum cause cause);
ov_time flow_wait(const struct policy *p, enum cause cause, int64_t count);
/* A wait that was doubled so often, up to the longest. */
ov_time flow_doubled(ov_time base, int64_t times, ov_time most);
/* To a stage, after a wait; feedback may be empty, purpose NULL. */
void flow_move(struct decide_ctx *cx, const struct assignment *as, enum stage stage, ov_time wait,
		str reason, str feedback, const char *purpose);
/*
 * Its node waits for a person, who is asked; its worker is idle, or in error for the same reason.
 */
void flow_block(struct decide_ctx *cx, const struct assignment *as, enum worker_status worker,
		enum ask ask, str reason);
/* The assignment was settled while this step ran: keep what there is, free the worker. */
void flow_release(struct decide_ctx *cx, const struct assignment *as);
bool flow_winding_down(const struct assignment *as);

/*
 * What was found out about its work; evidence: of tests and coverage, as the executor gave it,
 * or NULL.
 */
void run_verified(struct decide_ctx *cx, const struct assignment *as, enum verification verdict,
		str detail, const struct out_command *evidence);

/*
 * core/flow/flow_accept: its work is good, by this verdict; it waits for a person, or for its turn.
 */
void accept_begin(struct decide_ctx *cx, const struct assignment *as, enum verification verdict,
		str detail, const struct out_command *evidence);
/* Nobody can accept it as it is, a person neither; its agent can put it right. */
void accept_refuse(struct decide_ctx *cx, const struct assignment *as, str why);
void rebase_ended(struct decide_ctx *cx, const struct outcome *o);
void gate_ended(struct decide_ctx *cx, const struct outcome *o);
void accept_ended(struct decide_ctx *cx, const struct outcome *o);
void post_ended(struct decide_ctx *cx, const struct outcome *o);
void revert_ended(struct decide_ctx *cx, const struct outcome *o);
/*
 * The question about it was answered so: the change stays, and the node is done; or it is
 * taken back.
 */
void accept_go_on(struct decide_ctx *cx, const struct assignment *as);
void accept_take_back(struct decide_ctx *cx, const struct assignment *as, str feedback);
/*
 * A command of the configuration ended as the shell says not executable or not found: no
 * retry helps.
 */
bool flow_cannot_run(int64_t exit_code);
/* Its work was finished before this step, and a person may be looking at it. */
bool flow_in_review(const struct worker *w);
void send_ended(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o);
DECIDES_MESSAGE(run_session);
DECIDES_MESSAGE(run_end);
DECIDES_MESSAGE(run_report);
DECIDES_MESSAGE(dispatch_ack);
/* A step of an assignment has ended; not one of kind send, plan, pool, worker or notify. */
void flow_ended(struct decide_ctx *cx, enum effect_kind kind, const struct outcome *o);
