#pragma once
/*
 * What a run's own words amount to: the fold of its facts, from its output and its hooks alike.
 * From it come the observation that the tick judges by, what `status` and `run show` say that an
 * agent is doing, and the verdict at the end. It is rebuilt from the run's files after a restart,
 * so nothing of it is stored. It owns its texts, and is bounded.
 *
 * The output and the hooks tell of the same things, and are read in any order. Once the output has
 * spoken it counts for turns and tools, and hooks are signs of life beside it; where there is no
 * output to be read, hooks count alone, and the file of the session for what they do not tell.
 */
#include "agent/fact/calls.h"
#include "agent/fact/fact.h"
#include "agent/fact/shell_program.h"
#include "base/ov.h"
#include "data/value/value.h"

enum { ACCOUNT_DENIED = 8 };
enum { ACCOUNT_TOOLS = 32, ACCOUNT_TEXT = 2048, ACCOUNT_NAME = 128, ACCOUNT_ID = 96 };

struct account_tool {
	char id[ACCOUNT_ID], name[ACCOUNT_NAME];
	char program[SHELL_PROGRAM_MAX]; /* that a shell was called for; or empty */
	ov_time since;
	uint64_t call, thread; /* in calls */
	bool child;            /* of a sub-agent */
};

struct account {
	char session[ACCOUNT_NAME], model[ACCOUNT_NAME];
	bool ready, in_turn, compacting;
	bool streamed; /* the output has spoken */
	/* of tools only when they are over: by its format, until it tells of one sooner */
	bool tells_late;
	ov_time life_at;  /* the last fact that is a sign of life: a retry is none */
	ov_time alone_at; /* the last one that it told while no tool of its ran; 0: none */
	struct account_tool tools[ACCOUNT_TOOLS]; /* in flight, oldest first; the newest are kept */
	size_t tools_n;
	struct account_tool last_tool; /* since: when it was called */
	char last_tool_input[ACCOUNT_TEXT];
	char waiting_for[ACCOUNT_NAME]; /* a person's permission; empty: nobody's */
	ov_time waiting_since;
	bool retrying;
	int64_t attempts;
	ov_time retrying_since;
	enum trouble trouble; /* the newest, of what it retries, too; work that goes on ends it */
	enum fact_sign trouble_sign; /* that told it */
	ov_time trouble_at;
	int status;
	ov_time resets_at;
	char trouble_text[ACCOUNT_TEXT];
	char message[ACCOUNT_TEXT]; /* the last one, cut */
	int64_t turns, tool_calls, denials;
	struct {
		char name[ACCOUNT_NAME];
		int64_t times;
	} denied[ACCOUNT_DENIED]; /* the first tools that it wanted and was denied */
	size_t denied_n;
	/*
	 * Why the sandbox that it makes for its tools cannot start, and which call told; empty:
	 * it can.
	 */
	char sandbox_error[ACCOUNT_TEXT], sandbox_tool[ACCOUNT_NAME], sandbox_call[ACCOUNT_NAME];
	struct calls calls;    /* which of them were the same again */
	struct usage usage;    /* of this run; never less than it was */
	struct usage children; /* the part of it that sub-agents told by themselves */
	struct usage baseline; /* of the session before this run, where totals are told */
	int64_t cost_microusd; /* of this run, or COST_UNKNOWN: it was never told */
	/* Some of what it told cannot be true: what is here of it is the least that it was. */
	bool cost_untrue, advance_untrue;
	int64_t cost_baseline;
	/* of the zone that the agent speaks of times in; 0 after account_init */
	ov_time utc_offset;
	int64_t context_used, context_window;
	bool has_result, result_failed; /* of the newest turn that ended */
	bool session_empty;             /* the same: its session cannot be resumed */
};

/* before: what the session had used before this run; NULL: nothing. */
void account_init(struct account *c, const struct usage *before, int64_t cost_before);
/* at: when it was heard, unless the fact says. */
void account_fact(struct account *c, const struct fact *f, ov_time at);

/* The clock was set by that much: what was heard is as long ago as before. */
void account_clock_moved(struct account *c, ov_time by);

/* What the run cost as it says; COST_UNKNOWN: it does not, or some of it cannot be true. */
int64_t account_cost(const struct account *c);
/* Some of the tokens that it told cannot be true. */
bool account_usage_untrue(const struct account *c);

/* The tools that it was denied, for people: "Bash (2 times), Write"; empty: none. */
str account_denied(struct arena *a, const struct account *c);

/* How the run of a structured format ended, by what it said and how its process ended. */
struct account_verdict {
	bool ok;
	enum trouble trouble; /* NONE when ok */
	str text;             /* why, for people; borrowed from the account or a literal */
};
/* exit_code: or -1. signal: that ended it, or 0. lost: nobody saw how it ended. */
struct account_verdict account_judge(const struct account *c, int exit_code, int signal, bool lost);

/*
 * In one word what it is doing now: starting, working, tool, compacting, waiting (for a person),
 * retrying, idle (between turns).
 */
const char *account_state(const struct account *c);
/*
 * The same with particulars, as JSON: {"state", "tool", "tool_input", "tool_for_ms", "retrying",
 * "trouble", "turns", "tool_calls", "usage", "cost_microusd", ...}; what is not known is left out.
 */
value *account_view(struct arena *a, const struct account *c, ov_time now);
