#pragma once
/* Runs: one bounded execution of an agent, from its start to its judged end. See core/model/model.h. */
#include "agent/fact/fact.h"
#include "base/list.h"
#include "base/ov.h"
#include "core/model/record.h"
#include "core/model/transition.h"
#include "core/model/work.def"

struct run {
	RUN_ROWS(MEMBER, NO_MEMBER);
	RUN_ROWS(NO_MEMBER, MEMBER);

	/* derived */
	struct list link;   /* in state->runs or state->retired_runs */
	struct list judged; /* in state->judged, until an iteration is made of it */
};

extern const struct record_type run_record;
