#pragma once
/*
 * The inside of overseer-run: one struct that owns everything, and the parts that work on it.
 * main.c reads the options, sets up the folder and turns the loop; agent.c starts the agent and
 * ends what it left behind; group.c holds its processes together; kept.c keeps what it writes;
 * terminal.c gives it a terminal; control.c serves the socket; record.c keeps the files that prove
 * what happened. confine.c and programs.c have nothing to do with runs.
 */
#include <poll.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/ov.h"
#include "base/vec.h"
#include "shim/proto.h"

enum { SHIM_CONNS = 8 };

enum phase {
	PH_RUNNING,
	PH_INTERRUPTED, /* asked to stop: the agent's own signal is out, SIGTERM follows at `due` */
	PH_STOPPING,    /* SIGTERM is out, SIGKILL follows at `due` */
	PH_SWEEP_TERM,  /* the agent has ended, its descendants were asked to */
	PH_SWEEP_KILL,  /* everything below us is killed until nothing is left */
	PH_RECORD,      /* all over; the exit record is being written */
};

struct conn {
	int fd; /* -1: free */
	struct buf in;
	uint64_t used; /* when it was last served, in requests: the longest idle one makes room */
};

/*
 * One stream of the agent, and the file in which it is kept: its beginning and its newest bytes,
 * half of the bound each. What lay between them is a hole in the file, so that every byte stays at
 * its offset and the file keeps growing. Where the file system knows no holes, or the bound is only
 * a few blocks, the beginning alone is kept.
 */
struct kept {
	int pipe;       /* -1: not open, or at its end */
	int file;       /* -1: the stream is not kept apart */
	uint64_t bytes; /* that are there */
	uint64_t dropped;
	uint64_t size;    /* of the file, its hole included */
	uint64_t hole_to; /* where the newest bytes begin; 0: there is no hole */
	uint64_t block;   /* the file system gives back whole ones */
	bool no_holes;
};

/*
 * The control group in which the agent and all that it starts are, where that can be had. It is
 * made and removed by us; RUN_GROUP in the folder says where it is while it is there.
 */
struct group {
	char path[4096];
	int dir, events; /* -1: there is none */
};

/*
 * The one that we were started in, where the agent is to have one; its own is then what we read
 * and feed.
 */
struct terminal {
	bool on;
	int pane;         /* -1: there is none, or it has hung up */
	struct buf shown; /* what waits to be written there */
};

struct shim {
	/* options */
	const char *dir, *id, *cwd;
	char **argv;
	uint64_t max_output; /* of each stream that is kept */
	int64_t grace_ms;
	int interrupt_signal; /* makes the agent leave off in order; 0: there is none */
	int64_t interrupt_grace_ms;
	bool split_errors;
	bool sandboxed;     /* the program is a sandbox, and the agent is inside of it */
	const char *cgroup; /* below which the run's group is made, or NULL */
	const char *memory_max, *pids_max; /* of the group, or NULL */

	int dirfd, lock, listener, signals; /* dirfd is also our working directory */
	struct group group;
	struct terminal terminal;
	struct kept output, errors; /* DIR/output, DIR/errors */
	int to_agent;               /* pipe; -1 with a prompt file */
	int exec_status;            /* says why the agent could not be executed */

	enum phase phase;
	int64_t due;     /* monotonic ms of the phase's next step, or -1 */
	int64_t give_up; /* when descendants that cannot be killed are left behind */
	int64_t backoff_ms;

	pid_t agent; /* 0 once reaped: then its process group must not be signalled any more */
	VEC(pid_t) signalled;
	struct buf descendants;                 /* as they were written down last */
	int64_t looked_at, look_due, look_wait; /* for them, in monotonic ms */
	struct buf input;                       /* queued for to_agent */
	bool input_closing;
	VEC(char *) delivered; /* ids, oldest first */
	struct conn conns[SHIM_CONNS];
	uint64_t requests;

	/* the record */
	bool started;
	int status; /* of waitpid */
	int64_t started_at, ended_at;
	int64_t began, ran_ms; /* by the clock that is never set */
	size_t swept;
	bool grouped; /* the agent was started in its group */
	char message[512];
};

/* confine.c: these return only if they failed. */
int confine_main(int argc, char **argv);
int without_keys_main(char **argv);
/* What is started from here on has a keyring of its own, which is empty; -1 with errno set. */
int leave_keys(void);

/*
 * programs.c. Keeping returns 0 in the process that is to become git, or a status when it failed;
 * sandbox: the file with the words that make one, or empty; lenient: git goes on where none can be
 * made. Asking runs this command in the sandbox and returns its status; -1: there is none to
 * ask for.
 */
int programs_keep(const char *sandbox, bool lenient);
int programs_ask(char **argv);
int programs_host(void);

int64_t mono_ms(void);
int64_t wall_ms(void);

/* agent.c: these change the phase; shim_step is called when `due` has come. */
void agent_start(struct shim *s);
void agent_exec_status(struct shim *s);
void agent_feed(struct shim *s);
int agent_signal(struct shim *s, int signo);
/* -1 when there is no signal for that, or it cannot be sent. */
int agent_interrupt(struct shim *s);
/* The first step of the ladder; the others follow by shim_step until the agent has ended. */
void agent_stop(struct shim *s);
void agent_reap(struct shim *s);
/* Its terminal is gone: SIGHUP instead of the ladder's first steps. */
void agent_hang_up(struct shim *s);
/* One that is asked to end: counted once. False when it is known already. */
bool agent_note(struct shim *s, pid_t pid);
void agent_kill_children(void); /* ours, whoever they are; what they leave becomes ours */
void shim_step(struct shim *s);

/* group.c */
void group_open(struct shim *s);
bool group_is_on(const struct shim *s);
/* As fork; the child is in the group, or, where that cannot be, there is no group any more. */
pid_t group_fork(struct shim *s);
bool group_is_populated(struct shim *s);
void group_kill(struct shim *s);
int group_freeze(struct shim *s, bool frozen); /* -1 when that cannot be done */
void group_close(struct shim *s);

/*
 * descendants.c: once the agent runs; after each turn, and whether anything happened; when the
 * next is due.
 */
void descendants_begin(struct shim *s);
void descendants_turn(struct shim *s, bool happened);
int64_t descendants_due(const struct shim *s);

/* kept.c: each returns 0, or -1 with errno set. */
int kept_open(struct kept *k, const char *file);
/*
 * open(2) for regular files alone: whatever else was put there is neither waited for nor touched.
 */
int open_file(const char *path, int flags);
void kept_read(struct shim *s, struct kept *k);
/* What is there of the stream: "all", "ends" or "beginning". */
const char *kept_what(const struct kept *k);
/* The last words: what is in the pipe now. Then the pipe is closed. */
void kept_end(struct shim *s, struct kept *k);

/* terminal.c: the first two return an exit status as record.c does, and -1 with errno set */
int terminal_hold(struct shim *s);
int terminal_open(struct shim *s, int io[3]);
void terminal_resized(struct shim *s);
void terminal_show(struct shim *s, const char *p, size_t n);
bool terminal_is_full(const struct shim *s);
short terminal_events(const struct shim *s); /* that poll is to wait for */
void terminal_serve(struct shim *s, short events);

/* control.c */
void control_accept(struct shim *s);
void control_serve(struct shim *s, struct conn *c);

/* record.c: each returns 0 or an exit status after having told stderr why. */
int record_lock(struct shim *s);
int record_identity(struct shim *s);
int record_started(struct shim *s);
int record_complain(const char *what);
/* The exit record; 0, or -errno to be tried again. */
int record_exit(struct shim *s);
