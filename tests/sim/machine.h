#pragma once
/*
 * Where runs live: shims and the agents in them, which go on when a daemon dies. An agent follows a
 * script that is drawn when it starts (script.c has the table): what it writes, says, commits, how
 * it ends, what it does when it is told something or asked to stop. Knows nothing of the engine;
 * the stand-in of the executor listens to runs and gives them orders, as app/exec/executor does
 * through drive/run. What really happened is on record here for the invariants.
 */
#include "core/model/silence.h"
#include "tests/sim/sim.h"

struct sim_run;

struct machine_spec {
	str run_id, assignment_id, goal_id, node_id, agent, worktree, dispatch_id;
	int64_t epoch, attempt;
	str text;    /* the instruction */
	bool input;  /* the agent reads further instructions while it runs */
	bool keeps;  /* it keeps sessions, and says when it is ready and how it went */
	bool late;   /* of a tool it tells when it is over */
	bool hooks;  /* what it is sent it takes when it would stop */
	str session; /* its own id: to be gone on with, or for a new one; empty: it chooses one */
	bool resume;
};

/* How it ended, as the exit record tells. */
struct machine_end {
	bool lost;
	int64_t exit_code, signal; /* -1: none; 0: none */
	size_t swept;
	ov_time ended_at; /* as the clock showed */
	str message;
	int64_t tokens, cost_microusd;
	bool speaks;    /* it says itself how it went: the result and the trouble tell */
	bool result;    /* a turn of it ended well: none does before it is ready */
	str trouble;    /* "session_lost" ...; empty: none */
	str limit;      /* "rate_limited", "login", "": as the agent says itself */
	str tool;       /* that it called most with the same words; empty: nothing is known */
	unsigned calls; /* and how often */
	ov_time resets_at;
};

struct machine *machine_new(struct sim *s);
void machine_free(struct machine *m);

/* A folder never starts two agents: OV_ESTATE when this run was started before (adopt it then). */
int machine_start(struct machine *m, const struct machine_spec *spec, struct ov_err *err);
/* A run that was started, alive or over; NULL: its folder shows no start. */
struct sim_run *machine_find(struct machine *m, str run_id);
bool machine_lives(const struct sim_run *r); /* its end is not on record yet */
/*
 * Of one that is over. Whoever reads that the shim died without a record ends what it left, as
 * drive/run does.
 */
const struct machine_end *machine_end_of(struct sim_run *r);
/* Its output so far; when the last of it was written, as the clock showed; 0: never. */
str machine_output(const struct sim_run *r);
/* Where the last report that it made for itself, and rightly, ends there; 0: it made none. */
uint64_t machine_reported_to(const struct sim_run *r);
ov_time machine_output_at(const struct sim_run *r);
/* What it has used so far, as its output tells; 0: nothing was told yet. */
void machine_used(const struct sim_run *r, int64_t *ret_tokens, int64_t *ret_cost_microusd);
/*
 * Who is told of new output and of the end, in the queue of this life; one at a time, the last
 * wins. Told through CHANNEL_OUTPUT and CHANNEL_END. Listening to a run that is over tells its end.
 */
typedef void machine_heard_fn(struct sim *s, int life, str run_id);
void machine_listen(struct machine *m, struct sim_run *r, int life, machine_heard_fn *output,
		machine_heard_fn *ended);
/*
 * Gives it to the agent unless the shim took this dispatch before. 0; OV_ESTATE: refused, it is
 * over or reads nothing.
 */
int machine_deliver(struct machine *m, str run_id, str dispatch_id, str text, struct ov_err *err);
/* Asks it to stop; killed after the grace. Its end follows. */
void machine_stop(struct machine *m, str run_id);
/*
 * Its processes are held, or go on; false: it has no group by which that could be done, or is over.
 */
bool machine_hold(struct machine *m, str run_id, bool held);
/* Since when it is held, on the clock of the world; 0: it is not. */
ov_time machine_held_since(const struct machine *m, str run_id);
/*
 * CPU and IO that its processes have used so far: grows while they do anything. OV_ENOTFOUND:
 * not known.
 */
int machine_usage(struct machine *m, str run_id, uint64_t *ret, struct ov_err *err);
/* The session that it has said it is; empty: nothing was said yet. */
str machine_session(const struct sim_run *r);
/* Does the agent wait for a person, as its stream would tell? Empty: no. */
str machine_waits(const struct sim_run *r);
/*
 * Which of its waits that is, or was last (0: it never waited), and since when it waits, or goes
 * on, in the time of the world.
 */
unsigned machine_wait_number(const struct sim_run *r);
ov_time machine_waits_since(const struct sim_run *r);
/* What it says that it does now; the tool is empty unless one is in flight. */
enum activity machine_doing(const struct sim_run *r, str *ret_tool);
/* CPU of the agent itself, which idles at some permille, and of its tools; of a structured one. */
void machine_use(const struct sim_run *r, int64_t *ret_own_ms, int64_t *ret_tool_ms);
/* Since when its tools have been at work, in the time of the world; 0: they are not. */
ov_time machine_busy_since(const struct sim_run *r);
/* Since when nothing of it could be seen by anybody, in the time of the world; 0: it is at work. */
ov_time machine_still_since(const struct sim_run *r);
/* The longest silence between two words of it in which nobody spoke to it or held it. */
ov_time machine_longest_silence(const struct sim_run *r);
/* Everything dies: a restart of the machine. Ends are on record as lost. */
void machine_restart(struct machine *m);

/*
 * What the check command finds in a worktree: false when the newest run's node has files there that
 * an agent made without care. Later attempts mend them.
 */
bool machine_check_passes(struct machine *m, str worktree);
/* What that command prints, and what is in it for who reads test summaries and coverage reports. */
struct machine_check {
	bool passes;
	str text;
	const char *tests; /* "passing" or "failing"; NULL: it says nothing of tests */
	int64_t passed, failed;
	int64_t coverage_centi; /* -1: not known */
};
void machine_check(struct machine *m, str worktree, struct arena *a, struct machine_check *ret);
/* Files that agents of all nodes write to, and so may the user: "shared-0" and so on. */
enum { MACHINE_SHARED_FILES = 6 };
str machine_shared_file(struct arena *a, size_t i);

/*
 * The scripts that agents follow, by number, for listings; false: there is none with this number.
 */
bool machine_script(size_t i, const char **ret_name, const char **ret_help);

/* ---- what really happened, for the invariants ---- */
/* How often an agent got this dispatch: as its first instruction or as input. */
unsigned machine_taken(const struct machine *m, str dispatch_id);
/* Agents (not orphans) that are alive now: at work on this node, in this worktree. */
unsigned machine_agents_at(const struct machine *m, str goal_id, str node_id);
unsigned machine_agents_in(const struct machine *m, str worktree);
unsigned machine_alive(const struct machine *m); /* runs, of whatever node */
/* Was there a strong sign of life (output, CPU or IO) of this run within `within` before now? */
bool machine_strong_life(const struct machine *m, str run_id, ov_time within);
/* Processes that were left behind by runs that are over. */
unsigned machine_orphans(const struct machine *m);
/*
 * Words of people are marked (MACHINE_NOTE and a number). How often agents got the note in a text,
 * by whatever way; and the last that one and the same session got twice (empty: none).
 */
#define MACHINE_NOTE "note-"
str machine_note_in(str text);
unsigned machine_noted(const struct machine *m, str note);
str machine_repeated(const struct machine *m);
/*
 * What a run was a turn of, when it came to its end undisturbed: a loop of some kind, or one that
 * only takes long. The instruction begins with these words when there is a new strategy in it.
 */
#define MACHINE_GUIDANCE "From the overseer of this task"
enum machine_loop {
	LOOP_NONE,
	LOOP_HEALTHY,
	LOOP_STUCK,   /* the same error again and again */
	LOOP_IDLE,    /* nothing is changed, the same is called */
	LOOP_SWAP,    /* what is done is undone, and done */
	LOOP_REGRESS, /* tests break, and coverage drops */
	LOOP_BURN,    /* something else fails each time, without end */
};
enum machine_loop machine_loop_of(const struct machine *m, str run_id);
/*
 * For tests that break an invariant on purpose: a second agent for a run that lives; input twice.
 */
void machine_sabotage_second(struct machine *m, str run_id);
void machine_sabotage_deafness(struct machine *m, bool no_dedupe);
