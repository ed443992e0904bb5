#pragma once
/*
 * How good is the supervision? Labelled traces of agents, healthy and sick, are played against the
 * real core in virtual time and against plain silence timers, and what each policy did to them is
 * compared with the label.
 *
 * A trace is the truth about one run as plain facts: when it writes, what it uses, when its
 * worktree changes, what its agent says of itself, how it ends, and since when it is sick. Nothing
 * here reads a clock; the same seed gives the same traces everywhere.
 *
 * quality_kinds.c  the kinds of traces, with where their durations come from
 * quality_trace.c  what a trace shows at a moment
 * quality_hear.c   what the daemon hears of a run: its silences, and what repeats itself
 * quality_history.c  the runs that an agent had before the case, of which the core learns
 * quality_world.c  the core, with looks and effects answered from traces
 * quality_timer.c  timers that kill after so much silence
 * quality_tally.c  what the policies did, counted
 * quality.c        the program
 */
#include "base/buf.h"
#include "base/ov.h"
#include "core/policy/policy.h"
#include "tests/rng.h"

enum {
	SPANS_MAX = 160,
	FLEET_MAX = 20, /* agents of one case at most */
	HISTORY_HORIZON = 10 * OV_HOUR,
	/* of agents that do the same: cases share them, since playing them takes time */
	PASTS = 10,
	STRANGE_EVERY = 50, /* after so many runs of its own kind an agent had one of any other */
};

#define KINDS(X)                                                \
	X(KIND_LOUD_TOOL, "long tool with output", true)        \
	X(KIND_QUIET_TOOL, "long tool, little CPU", true)       \
	X(KIND_REMOTE_TOOL, "tool that waits elsewhere", true)  \
	X(KIND_COMPACTION, "compaction", true)                  \
	X(KIND_SLOW_MODEL, "slow model", true)                  \
	X(KIND_THINKING, "quiet thinking", true)                \
	X(KIND_BUILD, "big build, CPU only", true)              \
	X(KIND_DOWNLOAD, "download, IO only", true)             \
	X(KIND_LIMIT_RESET, "rate limit with reset", true)      \
	X(KIND_LIMIT_BARE, "rate limit without", true)          \
	X(KIND_API_RETRY, "overloaded API, retried", true)      \
	X(KIND_QUIET_TESTS, "tests that write files", true)     \
	X(KIND_TREE_ONLY, "worktree changes only", true)        \
	X(KIND_BURSTS, "bursts and pauses", true)               \
	X(KIND_PROGRESS, "progress in one line", true)          \
	X(KIND_WATCH, "tests in watch mode", true)              \
	X(KIND_POLL, "polls, the same line", true)              \
	X(KIND_DEAD, "dead, end not told", false)               \
	X(KIND_HUNG, "hung", false)                             \
	X(KIND_HUNG_FLEET, "hung, among others at work", false) \
	X(KIND_HUNG_TOOL, "tool that hangs", false)             \
	X(KIND_LOOP, "loop, same output", false)                \
	X(KIND_LOOP_VARIED, "loop, changing output", false)     \
	X(KIND_SPIN, "loop, CPU in silence", false)             \
	X(KIND_WAITS_TOLD, "waits for a person, told", false)   \
	X(KIND_WAITS, "waits for a person, not told", false)    \
	X(KIND_LOST_PROMPT, "lost prompt", false)               \
	X(KIND_OUTAGE, "network gone for all", false)
#define KIND_ENUM(sym, name, healthy) sym,
enum kind { KINDS(KIND_ENUM) KIND_COUNT };
#undef KIND_ENUM

/* What is written each time there is output. */
enum saying {
	SAYS_WORDS, /* another line each time */
	SAYS_SAME, /* the same lines; by an agent that tells: the same call, with the same answer */
	SAYS_DOTS, /* one more dot on the same line */
	SAYS_BAR,  /* the line is written over */
};

/* A piece of a trace, until the next one begins; the last one lasts for ever. */
struct span {
	ov_time from;
	ov_time out_every;  /* output at its beginning and then so often; 0: none */
	ov_time tree_every; /* a change of the worktree so often; 0: none */
	int64_t cpu_permille, io_per_s;
	bool tool, compacting, waiting, retrying;
	const char *name; /* of the tool */
	enum saying says;
	int lines; /* that are written each time; 0 is one */
};

struct trace {
	enum kind kind;
	bool tells; /* the agent says when it calls tools, compacts, waits for a person */
	bool input; /* it can be asked something while it runs */
	struct span spans[SPANS_MAX];
	size_t n;
	ov_time length;    /* of the spans so far, while it is made */
	ov_time sick_at;   /* OV_TIME_MAX: healthy */
	ov_time ends_at;   /* the run ends, and its end is told; OV_TIME_MAX: never */
	ov_time dead_at;   /* its process is gone, and nobody is told */
	ov_time over_at;   /* until then, from the start, every run of it ends for want of quota */
	ov_time resets_at; /* what the agent says about that; 0: nothing */
	bool keep;         /* sick, but by no fault of the run: ending it is wrong */
	bool again;        /* the trouble is the task's, not the run's: a new run has it, too */
	bool answers;      /* it writes a line when it is asked, and nothing else */
};

/* What is played together. */
struct test_case {
	struct trace agents[FLEET_MAX];
	size_t n;
	ov_time restart_at; /* the daemon forgets what it has seen; OV_TIME_MAX: never */
	enum kind home;     /* of most of the runs that its agent had before, all of them healthy */
	enum past_tells { PAST_SILENT, PAST_TELLS, PAST_MIXED } past_tells;
	size_t past; /* which of the pasts of such agents */
	uint64_t seed;
	size_t history;     /* so many of its own kind, and a few others */
	struct past *pasts; /* PAST_COUNT of them, made when they are needed; the caller's */
};

/* What the core was told at the end of the runs that an agent had before, as events are stored. */
struct past {
	struct buf *told;
	size_t n;
};

#define PAST_COUNT ((size_t)KIND_COUNT * 3 * PASTS)

/* What a policy did to one agent; moments from the start, OV_TIME_MAX: never. */
struct outcome {
	ov_time detected_at; /* the first time that somebody said that something is wrong */
	ov_time nudged_at, stopped_at, escalated_at;
	ov_time false_alarm_at, false_stop_at; /* while it was healthy */
	size_t restarts, questions;            /* runs that were ended for another; people asked */
};

/* quality_kinds.c */
extern const char *const kind_names[KIND_COUNT];
extern const bool kind_healthy[KIND_COUNT];
/* The index-th case of a kind, from nothing but these numbers. */
void case_make(struct test_case *ret, enum kind kind, uint64_t seed, size_t index);
/* The index-th run that the agent of the case had before it. */
void history_make(struct trace *ret, const struct test_case *c, size_t index);
/* What a run does after one that was ended, when the trouble was that run's alone. */
struct trace trace_recovered(const struct trace *t);

/* quality_trace.c; moments from the start of the run */
struct trace trace_new(enum kind kind);
void trace_add(struct trace *t, ov_time lasts, struct span s);
const struct span *trace_at(const struct trace *t, ov_time at);
/* The last output up to that moment, or -1; the first one after it, or OV_TIME_MAX. */
ov_time trace_output(const struct trace *t, ov_time at);
ov_time trace_next_output(const struct trace *t, ov_time after);
/* The same of output that repeats what was written before. */
ov_time trace_next_same(const struct trace *t, ov_time after);
/* Used since `from`. */
int64_t trace_cpu_ms(const struct trace *t, ov_time from, ov_time to);
int64_t trace_io_bytes(const struct trace *t, ov_time from, ov_time to);
bool trace_tree_changed(const struct trace *t, ov_time from, ov_time to);
/* The longest time without output up to the end of the run or the moment at which it is sick. */
ov_time trace_silence(const struct trace *t);

/* quality_history.c */
void past_done(struct past *p);

/* quality_tally.c: what happened to an agent, judged by its label */
struct outcome outcome_new(void);
void outcome_alarm(struct outcome *o, const struct trace *t, ov_time at);
void outcome_stop(struct outcome *o, const struct trace *t, ov_time at);

/* quality_world.c: has so much been used that it counts as life? */
bool used_enough(const struct trace *t, ov_time from, ov_time to);
/* The core with this policy. One outcome per agent. */
void world_play(const struct policy *p, const struct test_case *c, ov_time horizon,
		struct outcome *ret);
/* quality_timer.c */
void timer_play(ov_time silence, const struct test_case *c, ov_time horizon, struct outcome *ret);

/* quality_tally.c: outcomes of a policy or of one kind of trace under it. */
struct tally {
	size_t agents, healthy, sick;
	size_t false_alarms, false_stops, missed, duplicates;
	size_t nudged, stopped, asked; /* of the sick ones */
	ov_time *delays; /* from sick to detected, of the sick ones; the horizon: missed */
	size_t cap;
};

void tally_add(struct tally *y, const struct trace *t, const struct outcome *o, ov_time horizon);
void tally_done(struct tally *y);
/* Of the delays, once all were added; pct 100 is the longest. */
ov_time tally_delay(struct tally *y, int pct);
