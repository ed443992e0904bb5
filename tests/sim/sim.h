#pragma once
/*
 * The simulator: the real engine, operations, core and store in a simulated world under one seed.
 * Time is virtual; agents, git, the disk, people and the channels between them are models that
 * misbehave as the seed says. Everything that happens is an entry of one queue, so that the same
 * seed gives the same history, byte for byte, on every compiler. docs/simulation.md is the manual.
 *
 * main.c     the program; shrink.c makes failing histories smaller, sum.c sums up
 * sim.c      the kernel: random numbers, faults, trace, channels, the main loop; queue.c its queue
 * setup.c    what the world of a seed is like: fleet, configuration, goals, faults that are on;
 *            setup_night.c of the rehearsal of a night
 * daemon.c   the lives of daemons: start, crash, two at once
 * exec.c     stands in for app/exec/executor: carries out effects on the models
 * machine.c  runs and their agents: what outlives daemons
 * person.c   people: operations, answers, the user at work in the checkout
 * simgit.c   the model of git; disk.c the SQLite VFS with a disk that fails
 * check.c    the invariants (inv_*.c), looked at after every step
 * tape.c     what crosses the border of an engine, recorded and replayed
 *
 * struct sim owns everything. An entry of the queue belongs to the world (owner 0) or to the life
 * of a daemon, with which it vanishes.
 */
#include "base/arena.h"
#include "base/buf.h"
#include "base/ov.h"
#include "base/vec.h"
#include "core/config/config.h"
#include "core/event/event.h"
#include "data/id/sha256.h"
#include "tests/rng.h"

struct checker;
struct disk;
struct machine;
struct people;
struct sim;
struct sim_daemon;
struct simgit;

/* The user's checkout, and the folder with the worktrees, as the models name them. */
#define SIM_REPO "/repo"
#define SIM_STORE_DIR "/repo/.overseer"

enum { SIM_EPOCH_S = 1800000000, SIM_DAEMONS = 2, SIM_NAME_MAX = 48, SIM_SCRIPTS_MAX = 64 };

/*
 * ---- random numbers: a stream per subject, so that a change of one does not shift the others ----
 */
enum sim_stream {
	RNG_SETUP,
	RNG_FAULT,
	RNG_AGENT,
	RNG_PERSON,
	RNG_EXEC,
	RNG_DAEMON,
	RNG_ENTROPY,
	RNG_DISK,
	RNG_SESSION,
	RNG_POOL,
	RNG_QUEUE,
	RNG_LOOP,
	RNG_NOTICE,
	RNG_STREAMS
};

/* ---- faults ---- */
/* symbol, name, chance per 100,000 opportunities while it is on, what happens */
#define SIM_FAULTS(X)                                                                           \
	X(FAULT_LOST, "lost", 2000, "a message is lost")                                        \
	X(FAULT_TWICE, "twice", 3000, "a message comes twice")                                  \
	X(FAULT_LATE, "late", 5000, "a message comes late, after younger ones")                 \
	X(FAULT_KILL, "kill", 80, "the daemon is killed between two steps")                     \
	X(FAULT_KILL_INTENT, "kill_intent", 300, "it dies between intent and action")           \
	X(FAULT_KILL_ACTION, "kill_action", 300, "it dies in the middle of an action")          \
	X(FAULT_KILL_OUTCOME, "kill_outcome", 300, "it dies between action and outcome")        \
	X(FAULT_KILL_WRITE, "kill_write", 30, "it dies at a write of the store")                \
	X(FAULT_TORN_WRITE, "torn_write", 30, "it dies in the middle of a write of the store")  \
	X(FAULT_POWER_CUT, "power_cut", 15, "the power fails: what was not synced may be lost") \
	X(FAULT_DISK_FULL, "disk_full", 150, "a write finds the disk full")                     \
	X(FAULT_DISK_ERROR, "disk_error", 60, "a call of the disk fails")                       \
	X(FAULT_STOP, "stop", 500, "the daemon is stopped in peace")                            \
	X(FAULT_RIVAL, "rival", 500, "a second daemon is started on the same store")            \
	X(FAULT_LOCK_REMOVED, "lock_removed", 300, "the lock file of the store is removed")     \
	X(FAULT_CLOCK_FORWARD, "clock_forward", 500, "the clock jumps forwards")                \
	X(FAULT_CLOCK_BACK, "clock_back", 500, "the clock jumps backwards")                     \
	X(FAULT_GIT, "git", 2000, "a git command fails")                                        \
	X(FAULT_START, "start", 2000, "a run cannot be started")                                \
	X(FAULT_LOOK, "look", 10000, "a look at a run cannot tell")                             \
	X(FAULT_ADOPT, "adopt", 5000, "a run cannot be found again at first")                   \
	X(FAULT_CAPACITY, "capacity", 500, "the machine has no room for more")                  \
	X(FAULT_MACHINE, "machine", 200, "the machine restarts: all runs die")                  \
	X(FAULT_SILENCE, "silence", 1500, "nothing of any run is seen for a while")             \
	X(FAULT_SLEEP, "sleep", 300, "the machine sleeps: the clock goes on, and nothing else")
#define FAULT_ENUM(sym, name, rate, help) sym,
enum sim_fault { SIM_FAULTS(FAULT_ENUM) FAULT_COUNT };
#undef FAULT_ENUM

struct sim_fault_info {
	const char *name, *help;
	uint32_t rate;
};
extern const struct sim_fault_info sim_faults[FAULT_COUNT];

/* ---- the world of a seed ---- */
struct sim_setup {
	int64_t agents, workers, goals, nodes; /* nodes: of all goals together, at most */
	int64_t tasks;                         /* that the pool has to give */
	ov_time quiet_at;                      /* faults stop */
	/* and so long after that every goal must have ended, or be with a person */
	ov_time patience;
	uint32_t faults;    /* bit per enum sim_fault that is on */
	uint32_t intensity; /* of all rates, in percent */
	bool sessions;      /* some agents keep sessions */
	bool loops;         /* some nodes have habits: machine.h */
	bool planner;       /* goals come without a plan, and a model makes one */
};

struct sim_options {
	uint64_t seed;
	uint32_t without;     /* bit per fault that is switched off, whatever the seed says */
	const uint64_t *skip; /* ordinals of faults that do not happen, ascending: shrinking */
	size_t skip_n;
	int64_t goals_max, nodes_max; /* 0: as the seed says */
	bool fleet;                   /* 20 agents, steady work, few faults: for measuring */
	bool night;           /* two nights of auto mode, nobody at the inbox: setup_night.c */
	const char *sabotage; /* the invariant to be broken on purpose, or NULL */
	void (*trace)(void *user, ov_time t, str line); /* or NULL */
	void *user;
};

struct sim_stats {
	uint64_t steps, events, commits, checks, crashes, lives, messages, operations, runs;
	uint64_t agent_ms; /* virtual time that agents were at work, added up */
	uint64_t kinds[EVENT_KIND_COUNT];
	uint64_t scripts[SIM_SCRIPTS_MAX]; /* runs, by what their agents followed: machine_script */
	uint64_t faults[FAULT_COUNT];
	uint64_t chances[FAULT_COUNT];
	uint64_t replays;        /* lives that were lived again from their tape */
	uint64_t fault_ordinals; /* faults so far, those skipped included */
	uint64_t same_moment;    /* steps without a step of time */
};

/* A question to the pool of tasks, and what its file holds. */
struct sim_question {
	bool again; /* it gave out a task that it had given out before */
	char effect[SIM_NAME_MAX];
	int exit_code;
	int64_t task;   /* given out with it, from 1; 0: none */
	bool uncertain; /* it was cut off: there is a text, and no word that it is whole */
};

/* A notice that its channel took; after a crash maybe a second time. */
struct sim_told {
	char notice[SIM_NAME_MAX];
};

struct sim {
	struct sim_options o;
	struct sim_setup setup;
	struct config *config;
	ov_time t;     /* since the beginning; never goes back */
	ov_time skew;  /* of the clock that everybody reads */
	ov_time slept; /* of that: the machine slept, in which the world's time stands */
	int boots;     /* of the machine, so far */
	struct rng rng[RNG_STREAMS];
	struct sim_queue *queue;
	struct disk *disk;
	struct simgit *git;
	struct machine *machine;
	struct people *people;
	VEC(struct sim_question) pool;
	VEC(struct sim_told) told; /* people outside */
	int64_t tasks;             /* that the pool has given out */
	int64_t repeated;          /* how often it gave out one again */
	struct checker *checker;
	struct sim_daemon *daemons[SIM_DAEMONS]; /* NULL: not up */
	int lives;                               /* daemons so far: their numbers, from 1 */
	int youngest;                            /* of those that came up */
	uint64_t runs_end_after, runs_end_to; /* events in which a daemon may stop all its agents */
	bool silent;                          /* nothing of any run is seen */
	bool frozen;        /* and looks do not fail: they see everything as it was */
	ov_time silence_by; /* it comes when many run, and then at the latest; 0: none is due */
	bool power_is_out;
	int failed_boots; /* in a row, without a fault */
	bool over;        /* nothing more is to come */
	struct sim_stats stats;
	struct sha256 trace_hash;
	struct buf line;      /* scratch of sim_trace */
	const char *violated; /* the name of the invariant that does not hold, or NULL */
	struct buf violation;
	ov_time violated_at;
};

/* Runs the whole history of a seed, until it is over or something does not hold. */
struct sim *sim_new(const struct sim_options *o);
void sim_run(struct sim *s);
void sim_free(struct sim *s);
/* The hash of everything that happened; after sim_run. */
void sim_trace_hash(struct sim *s, uint8_t ret[static SHA256_LEN]);

/* ---- what the models use ---- */
typedef void sim_fn(struct sim *s, void *arg);

/* What everybody's clock shows. */
ov_time sim_now(const struct sim *s);
/*
 * Calls fn after `delay` with a zeroed block of `size` bytes, which is returned to be filled in and
 * freed after the call. Blocks hold plain data only: names in fixed arrays, no pointers to what may
 * be gone by then.
 */
void *sim_in(struct sim *s, ov_time delay, int owner, sim_fn *fn, size_t size);

/* What may be lost, doubled or delayed on its way. */
enum sim_channel {
	CHANNEL_REQUEST, /* person to daemon */
	CHANNEL_REPLY,   /* daemon to person */
	CHANNEL_OUTCOME, /* end of an effect, to the daemon */
	/* "there is more output of a run", to the daemon: the output itself is a file */
	CHANNEL_OUTPUT,
	CHANNEL_END,  /* end of a run: may come late or twice; the kernel does not lose it */
	CHANNEL_SEND, /* input, to an agent's shim; its answer is part of the effect's outcome */
	CHANNEL_COUNT
};
/*
 * As sim_in, through a channel that the faults have their way with: fn runs never, once or twice.
 */
void *sim_post(struct sim *s, enum sim_channel c, ov_time delay, int owner, sim_fn *fn,
		size_t size);

uint64_t sim_draw(struct sim *s, enum sim_stream r);
size_t sim_below(struct sim *s, enum sim_stream r, size_t n); /* n > 0 */
bool sim_odds(struct sim *s, enum sim_stream r, unsigned per_mille);
ov_time sim_between(struct sim *s, enum sim_stream r, ov_time lo, ov_time hi);
/* An opportunity for a fault: does it happen? Counted, traced, none after quiet_at. */
bool sim_fault(struct sim *s, enum sim_fault f);
bool sim_quiet(const struct sim *s);
/* A line of the trace; part of the hash. */
void sim_trace(struct sim *s, const char *fmt, ...) _printf_(2, 3);
/* More for the reader of a trace, and no part of the hash. */
void sim_note(struct sim *s, str text);
/* Something does not hold. The first one counts; the run ends with this step. */
void sim_violated(struct sim *s, const char *invariant, const char *fmt, ...) _printf_(3, 4);
/* Copies into a fixed array of a block, which must be big enough. */
void sim_name(char ret[static SIM_NAME_MAX], str s);
