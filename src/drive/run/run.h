#pragma once
/*
 * The daemon's side of a run: starts the shim overseer-run in the run's folder, follows the
 * output, passes input and signals on, and sees the end. A run outlives the daemon; after a restart
 * run_adopt finds it again. The handle owns its fds and sources; the run itself is the shim's.
 *
 * The run's folder: lock (held by the shim while the run lives), started (made before the agent
 * is started: a folder never starts two agents), output (stdout, and stderr unless that is kept
 * apart; bounded), errors (stderr where asked for; bounded likewise), socket (input and signals),
 * prompt (stdin of the agent), exit.json (how it ended).
 */
#include "base/ov.h"

struct loop;
struct proc_table;
struct proc_usage;
struct run_handle;

struct run_spec {
	const char *shim; /* path of overseer-run */
	const char *dir;  /* the run's folder; made by run_start */
	/* put into the agent's environment as OVERSEER_RUN: what the sweep looks for */
	const char *id;
	const char *const *argv;
	const char *const *env; /* whole environment of the agent, without OVERSEER_RUN */
	const char *cwd;
	/* written to DIR/prompt, which becomes the agent's stdin; absent: run_send feeds it */
	str input;
	/*
	 * Of DIR/output, and of DIR/errors. Beyond it the beginning and the newest bytes are kept,
	 * half of it each; the middle becomes a hole in the file, so offsets stay true.
	 */
	uint64_t max_output_bytes;
	/* argv is a sandbox, and the agent its only child's child: signals go inside. */
	bool sandboxed;
	/*
	 * The agent gets a terminal, and the shim is started by somebody else in another one: argv
	 * of it from run_argv, then run_began. The run waits for that.
	 */
	bool terminal;
	bool split_errors;     /* stderr goes to DIR/errors instead of among the output */
	int64_t stop_grace_ms; /* between SIGTERM and SIGKILL when stopping */
	int interrupt_signal; /* makes this agent leave off in order, as SIGINT; 0: there is none */
	/* the folder of the control group below which the run gets its own; or NULL */
	const char *cgroup;
	int64_t memory_max_bytes, pids_max; /* of that group; 0: no limit */
	int64_t interrupt_grace_ms;         /* between that and SIGTERM when stopping */
};

struct run_end {
	bool lost;     /* the shim died without an exit record: nobody knows how the agent ended */
	bool started;  /* false: the agent could not be executed at all; see message */
	int exit_code; /* or -1 */
	int signal;    /* or 0 */
	ov_time started_at, ended_at;
	int64_t ran_ms;         /* also where the clock was set meanwhile; 0: not known */
	uint64_t output_bytes;  /* that are there */
	uint64_t dropped_bytes; /* that it wrote too, and that are not there any more */
	bool undelivered;       /* it was ended because it never took its instruction */
	bool grouped; /* it was in a control group of its own: no process can have got away */
	size_t swept; /* descendants that outlived the agent and were killed */
	bool unsure;  /* others may be left */
	str message;  /* valid during the callback */
};

struct run_ops {
	/*
	 * New output from offset `at`. Delivered fully before ended(). Where `at` is beyond the end
	 * of the piece before it, what was in between has been given up; it may be in the middle of
	 * a line.
	 */
	void (*output)(void *user, str bytes, uint64_t at);
	/*
	 * The same for DIR/errors, always from its first byte; NULL: they are not followed. Which
	 * of the two streams was written to first is not known.
	 */
	void (*errors)(void *user, str bytes, uint64_t at);
	void (*ended)(void *user, const struct run_end *end);
};

/*
 * Starts the run, or, when the folder shows that it was started before, adopts it: calling this
 * twice with the same folder runs one agent. ended() is called from the loop, also when the run
 * is already over. Output is followed from `offset`.
 */
int run_start(struct loop *l, const struct run_spec *spec, uint64_t offset,
		const struct run_ops *ops, void *user, struct run_handle **ret, struct ov_err *err);
/* What is to be started for a run in a terminal; and whether it still is. */
const char *const *run_argv(struct arena *a, const struct run_spec *spec);
bool run_is_awaited(const struct run_handle *r);
/*
 * It was started as this process; or it was not (why), and will not be any more. ended()
 * follows then.
 */
void run_began(struct run_handle *r, int pid);
void run_never_began(struct run_handle *r, const char *why);
/* Finds a run of a previous daemon by its folder; OV_ENOTFOUND when the folder shows no start. */
int run_adopt(struct loop *l, const char *dir, const char *id, uint64_t offset,
		const struct run_ops *ops, void *user, struct run_handle **ret, struct ov_err *err);
/*
 * Input for the agent (when it has no prompt), and signals to its process group, through the shim.
 * They are queued and not waited for: what went wrong with one is the error of the next.
 */
int run_send(struct run_handle *r, str bytes, struct ov_err *err);
/*
 * As run_send, but the shim says whether it took it, once: r is 0 when the agent's input has it,
 * OV_ESTATE when it was refused, OV_EUNAVAILABLE when nobody knows. What was taken under this id
 * (RUN_ID_MAX bytes, no space) before is not given to the agent again. done comes from the loop or
 * from the end of the handle, and must not close it; after a failure here it does not come at all.
 */
typedef void run_delivered_fn(void *user, int r, const struct ov_err *err);
int run_deliver(struct run_handle *r, str id, str bytes, run_delivered_fn *done, void *user,
		struct ov_err *err);
/* When the run last wrote output, as its file says (0: never), and how many bytes there are. */
ov_time run_written(const struct run_handle *r, uint64_t *ret_bytes);
/*
 * What the run's processes have used so far, the shim's included, and apart from that those that
 * began since then (proc_table_usage); OV_ENOTFOUND when they are not known.
 */
int run_usage(const struct run_handle *r, const struct proc_table *t, uint64_t since_boot_us,
		struct proc_usage *ret, struct ov_err *err);
/* The shim's process, under which all processes of the run are; 0 when it is not known. */
int run_shim(const struct run_handle *r);
/* It was started in a sandbox, as its shim's own command line says. */
bool run_is_sandboxed(const struct run_handle *r);
int run_close_input(struct run_handle *r, struct ov_err *err);
int run_signal(struct run_handle *r, int signo, struct ov_err *err);
/*
 * Pauses all processes of the run, or lets them go on. done as of run_deliver: OV_ESTATE where that
 * cannot be. Without one that is the error of the next request.
 */
int run_freeze(struct run_handle *r, bool frozen, run_delivered_fn *done, void *user,
		struct ov_err *err);
/* The agent's own signal for that; where it has none, the error of the next request says so. */
int run_interrupt(struct run_handle *r, struct ov_err *err);
/*
 * The agent's interrupt if it has one, after its grace SIGTERM, after that one's grace SIGKILL for
 * the whole run, then the sweep. ended() follows.
 */
int run_stop(struct run_handle *r, struct ov_err *err);
/* Lets go of it; the run goes on. NULL allowed; safe inside callbacks. */
void run_close(struct run_handle *r);

/* The first word after overseer-run: it becomes what follows, without the keys of our session. */
extern const char run_without_keys[];
