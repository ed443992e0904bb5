#pragma once
/*
 * What was observed of runs, as plain facts, and of the daemon that observes them: the third
 * argument of the tick, beside state and policy. Only the shell fills it; nothing of it is stored.
 */
#include "base/map.h"
#include "base/ov.h"
#include "core/model/silence.h"
/*
 * What is known of one live run, as plain facts. A moment of 0 means: never seen. The process and
 * the tree are looked at only when the tick asks for it (struct decisions: looks); a look that
 * failed is unknown, which is not the same as dead.
 */
struct observation {
	ov_time known_since; /* this daemon has it in its hands; what it did before, nobody saw */
	ov_time output_at;   /* the last output, as far as it is a sign of life */
	ov_time looked_at;   /* the last look that has ended */
	ov_time process_at;  /* the last look that saw CPU time or IO used since the look before */
	ov_time tree_at;     /* the last look that saw another tree than the look before */
	bool process_unknown, tree_unknown; /* the last look could not tell */
	bool tool_in_flight, compacting;    /* the agent says so */
	/* by which its silence is measured; nothing said: unsaid, or starting */
	enum activity doing;
	bool retrying; /* it says that it tries the same again and again: no sign of life */
	int64_t tokens, cost_microusd; /* of this run so far, as far as known; else 0 */
	str waiting_for;               /* a person: a permission or a question; empty: no */
	ov_time waiting_since;
	str tool;         /* the oldest one in flight, where the agent names it */
	str tool_program; /* that it was called for, when it is a shell; or empty */
	ov_time tool_since;
	ov_time retrying_since;
	str trouble; /* what with, for people */
	/* Of its newest calls of tools: so many in a row were the same, with the same answer. */
	int64_t same_calls;
	ov_time same_since;
	str same_call; /* for people */
	/*
	 * Of one that speaks no format: so many blocks of its output, over some time; the last
	 * came then.
	 */
	bool same_output;
	ov_time same_at;
};

/* Fewer equal calls in a row are no reason to look at a run. */
enum { LOOP_CALLS_LEAST = 3 };
/* A daemon that ends: what becomes of the agents at work. Nothing new is begun then. */
enum ending {
	ENDING_NO,
	ENDING_LEAVE, /* they go on without it; those that were asked to stop are stopped first */
	ENDING_STOP,  /* all are stopped, their work is kept, and the next daemon resumes them */
};

struct telemetry {
	enum ending ending;
	str no_capacity;                /* why nothing new may be started now; empty when it may */
	const struct map *observations; /* run id -> const struct observation *; NULL: none */
	/* decision_key -> anything: decisions that are not to be taken now; NULL: none */
	const struct map *held;
};
