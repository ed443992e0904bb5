#pragma once
/*
 * What machine.c and script*.c share: runs, the steps of their agents, what is remembered.
 * Private to them.
 */
#include "base/map.h"
#include "base/vec.h"
#include "tests/sim/machine.h"

/* What an agent does at the end of a step. `arg` is its own business. */
typedef void act_fn(struct sim_run *r, int64_t arg);

struct step {
	ov_time wait; /* before it */
	bool busy;    /* CPU is used meanwhile */
	act_fn *act;
	int64_t arg;
};

/* What an agent may do when it is told something. */
enum reply {
	REPLY_NONE,
	REPLY_ECHO,   /* repeats the number of the request, nothing else */
	REPLY_UPDATE, /* a status, and it goes on as before */
	REPLY_LATE,   /* the same after a long time */
	REPLY_WORK,   /* wakes up: a status, then it works to the end */
	REPLY_END,    /* says that it is done and ends */
	REPLY_COUNT
};

/* What an agent does when it is asked to stop. */
enum obey {
	OBEY_DIES,
	OBEY_TIDIES, /* commits what there is, ends by itself */
	OBEY_NEVER,  /* goes on as if nothing were, until it is killed */
	OBEY_WRITES, /* and all the more: changes files until it is killed */
	OBEY_COUNT
};

struct script {
	const char *name, *help;
	unsigned weight; /* among its kind */
	bool honest;     /* its work is good, whatever its manners are */
	void (*compose)(struct sim_run *r);
	unsigned replies[REPLY_COUNT]; /* weights */
	unsigned obeys[OBEY_COUNT];
};
extern const struct script scripts[];
extern const size_t scripts_n;

struct bad_file {
	str path;
	uint32_t content;
};

/* What is remembered of a node between its runs. */
struct node_memory {
	str key; /* goal/node */
	unsigned runs, flaps;
	bool asked;
	struct buf block; /* the last update that one of its agents wrote */
	VEC(struct bad_file) bad;
	const struct habit *habit; /* script_loop.c; NULL: each run is as it comes */
	unsigned turns, turns_needed;
	uint32_t swap[2]; /* the two contents between which it cannot decide */
};

/* What all agents of a kind share: an account with its limits. */
struct lane_memory {
	str agent;
	ov_time limited_until, logged_out_until;
};

/* A conversation that an agent keeps on its disk. */
struct session_memory {
	str id, worktree;
	bool lost;      /* its files are gone */
	VEC(str) notes; /* words of people that it was told */
};

/* What waits for an agent with hooks until it would stop. */
struct laid {
	str dispatch, text;
};

struct sim_run {
	struct machine *m;
	struct machine_spec spec; /* texts are the machine's; the instruction is in `text` */
	struct buf text;          /* until it ends */
	const struct script *script;
	struct node_memory *node;
	struct rng rng;

	bool alive, stopping;
	bool held, held_step; /* its processes are frozen; a step came meanwhile */
	ov_time held_since;
	unsigned copies; /* sabotage: further agents of the same run */
	VEC(struct step) steps;
	size_t at;
	uint64_t serial; /* of the step under way: older entries of the queue do not count */
	bool busy;
	ov_time busy_since, strong_at, started_at; /* since the beginning */
	uint64_t usage;
	unsigned files, commits; /* so far */
	const struct habit *habit;
	unsigned turn;          /* of its node's habit */
	enum machine_loop loop; /* that it has been a turn of */

	struct buf output;
	uint64_t reported_to; /* where its last good report ends in it */
	ov_time output_at;
	bool said;
	int64_t told_tokens; /* used so far, as its output tells */
	const char *waits;
	ov_time acted_at;                   /* it last did anything */
	uint64_t tool_ms;                   /* of its usage, what its tools used */
	ov_time spoken_at, longest_silence; /* its last word; its own silences so far */
	bool disturbed;      /* it was told something, or held, since its last word */
	unsigned waits_n;    /* its waits so far */
	ov_time waits_since; /* it waits, or has been answered since */
	VEC(str) taken;      /* dispatches that the shim took */
	VEC(struct laid) laid;
	struct session_memory *session; /* NULL: not ready, or keeps none */

	struct machine_end end;
	ov_time ended_at; /* since the beginning */
	size_t orphans;   /* that it leaves, or left */

	int life;
	machine_heard_fn *on_output, *on_end;
};

struct taken {
	str id;
	unsigned times;
};

enum { NONCES = 8, NONCE_MAX = 24 };

struct machine {
	struct sim *s;
	struct map sessions, notes; /* notes: word of a person -> struct taken */
	VEC(struct session_memory *) session_list;
	VEC(struct taken *) note_list;
	str repeated;
	struct map runs, nodes, lanes, taken, places; /* places: worktree -> its newest run */
	VEC(struct sim_run *) all;
	VEC(struct sim_run *) live;
	VEC(struct sim_run *) over; /* in the order of their ends */
	VEC(struct node_memory *) node_list;
	VEC(struct lane_memory *) lane_list;
	VEC(struct taken *) taken_list;
	struct arena strings;
	size_t compacted; /* of `over` */
	unsigned badness; /* how many of a thousand agents do ill */
	uint64_t on;      /* bit per script that this seed has */
	unsigned orphans;
	bool no_dedupe;
	ov_time frozen_until;           /* nobody answers agents: they sit still */
	const struct script *only;      /* for tests: every agent follows this one */
	const struct habit *habit;      /* for tests: every node has this one */
	char nonces[NONCES][NONCE_MAX]; /* of requests to anybody */
	size_t nonces_n;
};

/* ---- machine.c ---- */
void run_say(struct sim_run *r, str bytes);
void run_sayf(struct sim_run *r, const char *fmt, ...) _printf_(2, 3);
/* Tells the listener, when something was said. */
void run_tell(struct sim_run *r);
void run_end(struct sim_run *r, int64_t exit_code, int64_t signal, bool lost, str message);
/* Its steps from now on are those that `compose` adds. */
void run_recast(struct sim_run *r, void (*compose)(struct sim_run *r));
void run_busy(struct sim_run *r, bool busy);
size_t run_below(struct sim_run *r, size_t n);
bool run_odds(struct sim_run *r, unsigned per_mille);
ov_time run_between(struct sim_run *r, ov_time lo, ov_time hi);
struct lane_memory *run_lane(struct sim_run *r);
struct taken *taken_of(struct machine *m, str dispatch_id);

/* ---- machine_session.c ---- */
void sessions_init(struct machine *m);
void sessions_done(struct machine *m);
/*
 * As its script says, after it has said that it is ready; unless what it shall go on with is
 * not there.
 */
void compose_kept(struct sim_run *r);
/* It has got this text: the words of people in it are noted. */
void run_notes(struct sim_run *r, str text);
void run_lay(struct sim_run *r, str dispatch_id, str text);
/* It would stop: true when it takes what waited for that, and goes on. */
bool run_takes_laid(struct sim_run *r);
str nonce_in(str text);
act_fn act_ready, act_trouble;

/* ---- script.c ---- */
void compose_finish(struct sim_run *r);
void compose_end(struct sim_run *r); /* says that it is done and ends */
void compose_dies(struct sim_run *r);
void compose_tidies(struct sim_run *r);
void compose_writes(struct sim_run *r);
void compose_rate_limited(struct sim_run *r);

/* ---- script_pick.c ---- */
/* Which scripts a seed has, and how often. */
void script_draw(struct machine *m);
const struct script *script_pick(struct sim_run *r);
const struct script *script_named(const char *name);
/* One of the choices, by their weights. */
size_t script_choose(struct sim_run *r, const unsigned *weights, size_t n);
void script_reply(struct sim_run *r, enum reply reply, str nonce);

/* ---- script_loop.c ---- */
const struct habit *habit_named(const char *script);
void habit_draw(struct machine *m, struct node_memory *n);
const struct script *habit_pick(struct sim_run *r); /* NULL: it has none */
void compose_loop(struct sim_run *r);

/* ---- script_act.c ---- */
void step_add(struct sim_run *r, ov_time wait, bool busy, act_fn *act, int64_t arg);
/* Does the instruction speak of a conflict? Then of which branch. */
str text_conflict(const struct sim_run *r);
bool text_has(const struct sim_run *r, const char *what);
/* A file of the node's own; goals have nodes of the same names. */
str own_file(struct sim_run *r, struct arena *a, int64_t k);
bool write_file(struct sim_run *r, str path);
act_fn act_none, act_beat, act_edit, act_write_shared, act_write_bad, act_mend, act_delete,
		act_commit, act_rebase, act_leave_rebase, act_detach, act_branch, act_reset,
		act_nested, act_lock, act_vanish, act_exit, act_signal, act_lost, act_orphans,
		act_unstartable, act_limit, act_login, act_wait, act_granted, act_claim,
		act_progress, act_ask, act_again, act_former, act_foreign, act_garbage, act_babble,
		act_percent;
