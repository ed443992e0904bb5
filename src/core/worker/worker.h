#pragma once
/* Commands about workers, and what others need to know of them. Private to core. */
#include "core/decide/emit.h"

/*
 * The worker of that name, if this can be asked of it now, for that reason: verb as in `overseer
 * worker VERB`. Otherwise says what can.
 */
int worker_read(struct decide_ctx *cx, str name, str reason, const char *verb, struct worker **ret,
		struct ov_err *err);
/* OV_ENOTFOUND names the nearest. */
int worker_find(struct decide_ctx *cx, str name, struct worker **ret, struct ov_err *err);
value *worker_result(struct decide_ctx *cx, const struct worker *w, enum worker_status status);
/* The intent to do this to a worker; the event is returned for further members. */
struct ev_effect_intended *worker_intend(struct decide_ctx *cx, const struct worker *w, str purpose,
		struct subject about);
/* The rebase that a person wanted has ended. */
void worker_rebased(struct decide_ctx *cx, const struct worker *w, const struct effect *fx,
		const struct outcome *o);
/* An effect of kind worker has ended. */
void worker_ended(struct decide_ctx *cx, const struct effect *fx, const struct outcome *o);
/* The decisions of a tick about workers that are to be reset or removed. */
void tick_worker(struct decide_ctx *cx, const struct decision *d);

DECIDES(worker_add);
DECIDES(worker_start);
DECIDES(worker_message);
DECIDES(worker_review);
DECIDES(worker_accept);
DECIDES(worker_reject);
DECIDES(worker_rebase);
DECIDES(worker_pick);
DECIDES(worker_reset);
DECIDES(worker_nuke);
DECIDES_MESSAGE(conflict_report);
