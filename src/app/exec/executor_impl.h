#pragma once
/* What the executor's files share: tasks, and reporting their outcomes. Private to app. */
#include "agent/fact/account.h"
#include "agent/fact/repeats.h"
#include "app/agents/driver.h"
#include "app/engine/run_output.h"
#include "app/exec/executor.h"
#include "app/watch/observe.h"
#include "base/arena.h"
#include "base/list.h"
#include "base/map.h"
#include "core/outcome/outcome.h"
#include "data/value/value.h"

struct git;
struct git_result;
struct agent_homes;
struct job;
struct journal;
struct loop_source;
struct notifier;
struct notify_job;
struct contain;
struct tmux;
struct planning;
struct planning_job;
struct pool_question;
struct folder_audit;
struct conflict_scan;
struct setup;

/* A configured command under way; its texts live in the task's arena. */
struct task_command {
	const char *name; /* "check command" */
	const char *text;
	str cwd;
	/* Whose work it runs, and the assignment's folder; empty: a command of the user's own. */
	str agent, home;
	str fenced; /* as agent_command says */
	/* what it changes in the worktree goes there; empty: nothing is restored */
	str restore_ref;
	str moved_out; /* what was not there for it, since no commit has it; mostly empty */
	ov_time timeout;
	const char *timeout_option;
	const char *journal; /* log for its output; NULL: none */
	str worker, subject; /* of an entry there */
	const char **env;    /* "NAME=VALUE" besides our own */
	size_t env_n;
	const char *points[3]; /* injection points: before, during and after it */
	bool tests;            /* it tells of tests: what it says of them is evidence */
	ov_time started_at;    /* by clock_file() */
};

/* One effect under way. */
struct task {
	struct executor *x;
	struct list link;
	str effect_id; /* owned */
	enum effect_kind kind;
	struct loop_source *later; /* an outcome known at once is reported from the loop */
	struct job *job;
	struct planning_job *planning;
	struct pool_question *pool;
	struct notify_job *notify;
	struct task_command command; /* of a check, or of the accept queue */
	str kept_ref;                /* of an accept: what keeps the agent's own commits */
	str target_known;            /* where the target was, while git is asked who moved it */
	struct arena arena;          /* of the outcome, and what it takes to get there */
	value *outcome;              /* as effect.end takes it */
};

/* One run that lives, or whose end is being read. */
struct live_run {
	struct executor *x;
	str id; /* owned */
	struct arena strings;
	const char *dir;
	str worktree;
	uint64_t offset;    /* its output is read from here on */
	uint64_t old_bytes; /* of its output: from before we knew it */
	const struct driver *driver;
	struct driver_run *run;
	struct run_output run_output;
	struct loop_source *run_output_due; /* it holds updates back until then */
	struct repeats *repeats; /* of its output, where that is text; NULL: it wrote nothing yet */
	uint64_t heard_up_to;
	bool freezing;     /* it is asked to freeze or thaw */
	int sessions_told; /* with its model: so often it said another one */
	bool unfreezable;  /* and said that it cannot */

	/* Of one that speaks a format. */
	struct account *account; /* NULL: its output is text */
	bool waits;              /* as the tick was told last */
	int64_t same_calls;      /* the same */
	ov_time life_at;
	int64_t tokens_asked,
			cost_asked; /* used when the tick was last asked to judge the budget */
};

struct executor {
	struct executor_options o;
	struct engine *engine;
	struct git *git;
	struct planning *planning;
	struct observe *observe;
	struct contain *contain;
	struct tmux *tmux;
	struct agent_homes *agent_homes;
	struct journal *journal;
	struct setup *setup;
	struct conflict_scan *conflict_scan;
	struct checkout *checkout;
	struct folder_audit *folder_audit;
	struct leftovers *leftovers;
	struct notifier *notifier;
	struct list tasks;
	struct map runs;     /* id -> struct live_run */
	struct map accounts; /* id -> struct account, of those that have one */
	struct loop_source *adopt_again;
	uint64_t ended_us; /* when the last place of executor_places ended; 0: never */
	bool closing;
};

/* Per kind of effect: who performs it, and the injection points around all of that. */
struct effect_row {
	void (*perform)(struct task *t, const struct assignment *as);
	const char *begin; /* the intent is durable, nothing was done */
	const char *end;   /* it was done, and nobody knows yet */
	bool bare;         /* it need not be about an assignment */
};

void task_free(struct task *t);
/* What came of it, as it will be reported; copied. The second: nothing more is to be told. */
void outcome_set(struct task *t, const struct outcome *o);
void outcome_plain(struct task *t, enum effect_outcome is, str detail);
/* Names that tools told, as text: they are bytes, and the log holds only text. */
struct texts clean_texts(struct task *t, const str *list, size_t n);
/* Reports the outcome and ends the task: now, or from the loop. */
void task_report(struct task *t);
/*
 * As task_report, once it is known who moved the target branch, if it is not where it was;
 * executor_target.c.
 */
void target_look(struct task *t, str seen);
void report_later(struct task *t);
void ok_later(struct task *t);
void fail_later(struct task *t, const struct ov_err *err);
/* Of a call of git that is all there is to an effect: reports what came of it. */
void task_git_done(void *user, int r, const struct git_result *res, const struct ov_err *err);
/* The worktree of an assignment. */
str worktree(struct task *t, const struct assignment *as);
/* Where what an effect finds there is kept; id tells it from others'. */
str rescue_ref(struct task *t, const struct assignment *as, str id);

/* executor_workspace.c */
void perform_workspace(struct task *t, const struct assignment *as);

/* executor_run.c */
void perform_run_start(struct task *t, const struct assignment *as);
void perform_send(struct task *t, const struct assignment *as);
void live_runs_done(struct executor *x);

/* executor_stop.c */
void perform_run_stop(struct task *t, const struct assignment *as);

/* executor_fact.c: events of the driver, and what they amount to */
void live_account_init(struct live_run *lr, const struct run *r);
void live_account_done(struct live_run *lr);
void live_account_told(struct live_run *lr);
void live_fact(void *user, const struct fact *f, ov_time at);
void live_taken(void *user, str dispatch_id);
/* Adds how it ended, by its own account, and what it used. */
void live_account_end(struct arena *a, const struct live_run *lr, const struct run_end *end,
		struct msg_run_end *m);

/* executor_scope.c: lets the hooks of live runs know what they may use; node empty: of all */
void executor_scopes(struct executor *x, str goal, str node);

/* executor_plan.c: about a goal, so there is no assignment */
void perform_plan(struct task *t, const struct assignment *none);

/* executor_worker.c: about a worker, so there may be no assignment */
void perform_worker(struct task *t, const struct assignment *as);
/* executor_programs.c: of the executor `user`; as git_sandbox_fn (drive/git/git.h). */
struct git_programs_ask;
int executor_programs(void *user, struct arena *a, const struct git_programs_ask *ask,
		const char *const **ret, struct ov_err *err);

/* executor_notify.c: about a notice, so there is no assignment */
void perform_notify(struct task *t, const struct assignment *none);

/* executor_pool.c: about nobody in particular, so there is no assignment */
void perform_pool(struct task *t, const struct assignment *none);
void executor_auto_published(struct executor *x, const struct event *e);
/* executor_plan.c: ends planner commands of goals that are over. */
void executor_plan_published(struct executor *x, const struct event *e);
