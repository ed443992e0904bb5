#pragma once
/*
 * The fold: apply(state, event) is the only code that changes state, one function per kind of
 * event. It checks what it relies on (ids exist, transitions are legal), so a log that does not
 * make sense is refused at the first event that does not, with nothing of that event applied.
 */
#include "base/ov.h"
#include "core/event/event.h"
#include "core/state/state.h"

int apply(struct state *s, const struct event *e, struct ov_err *err);
