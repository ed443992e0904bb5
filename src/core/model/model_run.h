#pragma once
/* Runs: one bounded execution of an agent, from its start to its judged end. See core/model/model.h. */
#include "agent/fact/fact.h"
#include "base/list.h"
#include "base/ov.h"
#include "core/model/record.h"
#include "core/model/transition.h"

struct run {
	str goal_id, node_id, assignment_id, dispatch_id, agent, worker;
	int64_t attempt, epoch;
	str instruction_hash;
	str tools;             /* JSON: its tool scope; empty: all */
	str dispatch_result;   /* accepted, ok, timeout, error */
	str update_identity;   /* of the last report that was taken from its output */
	int64_t update_offset; /* output beyond this has not been read for reports */
	str report_error;      /* why its last report was not taken; empty: it was */
	str session;           /* the agent's own id: heard from it, or chosen for it */
	str model;
	bool resumed;            /* it goes on with a session of a run before it */
	bool ready;              /* it said so, and which session it is */
	str verdict;             /* ok or failed, by what it said; empty: its exit status tells */
	enum trouble trouble;    /* why it could not do its work, as far as it said */
	enum fact_sign known_by; /* which of its signs told of that */
	int64_t turns, tool_calls;
	int64_t tokens, tokens_input, tokens_output, tokens_cache_read, tokens_cache_write;
	int64_t cost_microusd;
	str cost_source;   /* agent or prices */
	ov_time resets_at; /* when the limit is over, where the agent says so */
	int64_t exit_code, signal;
	str message;
	str denied; /* tools that it wanted and was denied, for people; mostly empty */
	str last_lines; /* of one that failed or changed nothing: what it wrote last, LIMIT_LAST_LINES at most */
	str ended_by; /* who had it ended, and why: "ACTOR: reason"; empty: it ended by itself */
	int64_t output_bytes, dropped_bytes, swept;
	str containment; /* cgroup or sweep; empty until it has ended */
	str sandbox; /* fence, bwrap or none; empty until it has ended, or where it is not known */
	enum verification verification;
	str verification_detail;
	bool leftovers;
	struct strs leftover_files; /* also those of runs before it that are in its work */
	str rescue_ref;
	str left_out; /* what was found and is no part of its work, with where it is; mostly empty */
	int64_t commits, files_changed, lines_added, lines_removed;
	struct strs files, commit_ids; /* what git saw; LIMIT_KEPT of each at most */
	struct strs touched;           /* of the files: those that this run changed */
	/* What our check said of tests and coverage, as in struct iteration. */
	enum tests_state tests;
	str tests_format;
	int64_t tests_passed, tests_failed, tests_skipped;
	struct strs failing_tests;
	str coverage_format;
	int64_t coverage_centi;
	str tool, tool_digest; /* the call that it repeated most */
	int64_t tool_repeats;
	enum cause cause; /* what its work failed by, as far as it is judged */
	str failure;
	int64_t judged_seq;   /* the event that judged it last; 0: none did */
	int64_t reviewed_seq; /* the event that made an iteration of it */
	int64_t iteration;    /* its number */
	str id;
	enum run_status status;
	enum block_kind limit; /* what kept the agent from working, as it says itself */
	bool overdue;          /* it takes longer than a run may, and a person is asked */
	bool lost;
	bool frozen;           /* its processes are held, because its goal is paused */
	ov_time frozen_at;     /* since then */
	ov_time frozen_ms;     /* and so long before that */
	ov_time slept_ms;      /* while it was not frozen: the machine slept */
	ov_time awake_at;      /* the machine woke up; 0: it did not sleep meanwhile */
	ov_time patience_from; /* a person said that it may go on; 0: nobody was asked yet */
	ov_time created_at, started_at, ended_at;
	ov_time mute_at;  /* a person was told that it is busy but shows nothing of it; 0: never */
	ov_time asked_at; /* a person was told that it waits for one, or answered; 0: never */

	/* derived */
	struct list link;   /* in state->runs or state->retired_runs */
	struct list judged; /* in state->judged, until an iteration is made of it */
};

extern const struct record_type run_record;
