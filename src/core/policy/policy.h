#pragma once
/*
 * What the configuration says that the core must know to decide. Plain data; texts are borrowed
 * from the configuration, which outlives every decision made with it.
 */
#include "agent/fact/said_limit.h"
#include "agent/format/tools.h"
#include "base/ov.h"
#include "core/model/transition.h"
#include "core/policy/oversight_policy.h"
#include "core/policy/plan_limits.h"
#include "core/policy/price.h"

struct policy_agent {
	str name;
	const struct agent_format *format;   /* NULL: raw */
	int64_t concurrency;                 /* assignments at work at most */
	bool input;                          /* it reads further instructions while it runs */
	bool terminal;                       /* it runs in a session of tmux */
	int64_t rate_limit_exit, login_exit; /* exit codes that say so; 0: none */
	struct said_patterns said;           /* texts that say so, beside the usual ones */
	enum rung recovery;                  /* the first rung after the nudges */
	struct tool_scope scope;             /* of its tools, as configured */
};

/* Work may go from one agent to another one. */
struct policy_cross {
	str from, to; /* "*": any */
};

struct policy_role {
	str name, agent;
};

/* A way to tell people outside; how it is done is none of the core's business. */
struct policy_channel {
	str name;
	enum channel_type type;
};

/* Names of channels, of types of them, or "*". */
struct policy_route {
	const str *to;
	size_t n;
};

/*
 * What happens when a command fails. fail: nothing more is accepted, or asked for, until a person
 * says so, and auto mode ends; pause: the same, but auto mode only waits; warn: a person is told,
 * and it continues; retry: the work goes back to its agent; revert: the change is taken back from
 * the target branch first. as_accept: what [accept] says, where fail means pause for auto mode.
 */
enum pool_failure { POOL_PAUSE, POOL_WARN, POOL_FAIL };
enum pre_failure { PRE_RETRY, PRE_FAIL, PRE_AS_ACCEPT, PRE_PAUSE };
enum post_failure { POST_FAIL, POST_WARN, POST_REVERT, POST_AS_ACCEPT, POST_PAUSE };

/* Run by sh -c; empty: there is none. */
struct accept_commands {
	str pre, post;
	ov_time pre_timeout, post_timeout; /* 0: as in [accept] */
	enum pre_failure pre_on_failure;
	enum post_failure post_on_failure;
};

enum accept_review { REVIEW_NEVER, REVIEW_HIGH_RISK, REVIEW_ALWAYS };
enum accept_leftovers { LEFTOVERS_KEEP, LEFTOVERS_ASK, LEFTOVERS_REFUSE };
enum accept_unchecked { UNCHECKED_REVIEW, UNCHECKED_ACCEPT };

struct policy;
struct goal;
struct node;
/* What its work has to pass. */
struct accept_commands policy_accept(const struct policy *p, const struct goal *g);
/* Is there a command that judges work on the node? */
bool policy_checks(const struct policy *p, const struct node *n);
/*
 * Will finished work wait for a person only because nothing checks it? Asked about the
 * configuration as a whole: tasks of the pool (automatic) or others, with no check command of
 * their own.
 */
bool policy_waits_unchecked(const struct policy *p, bool automatic);
/* What people are told when it is so, and what to do about it. */
#define UNCHECKED_NOTE "no check is configured: finished work will wait for your review"
#define UNCHECKED_NEXT                                                                            \
	"set workspace.check_command in config.toml (for example \"make test\"), then: overseer " \
	"config reload"
/* The configured agent with this name, or NULL. */
const struct policy_agent *policy_agent(const struct policy *p, str name);
/* May this agent be given work at all? */
bool agent_allowed(const struct policy *p, str name);
/* May work of one agent be given to the other one? To the same one always. */
bool cross_allowed(const struct policy *p, str from, str to);
/*
 * Why there is nobody of this name to give work to, with the agents that are configured; empty when
 * there is. An empty name means the default agent. NO_AGENT_NEXT is what to do about it.
 */
str policy_no_agent(struct arena *a, const struct policy *p, str want);
/* The same of the default agent, where agents are configured and none of them is it. */
str policy_no_default(struct arena *a, const struct policy *p);
#define NO_AGENT_NEXT "set defaults.agent in config.toml, then: overseer config reload"
/* The configured roles, as texts; borrowed from the policy. */
value *policy_role_names(struct arena *a, const struct policy *p);

struct policy {
	str default_agent;
	const struct policy_agent *agents;
	size_t agents_n;
	const struct policy_role *roles;
	size_t roles_n;

	int64_t workers_max;
	int64_t workers_max_waiting; /* then nothing new is begun */
	str target_branch;
	str check_command; /* for nodes without one of their own; empty: none */

	int64_t retry_max_attempts;  /* runs per node and cause */
	ov_time retry_delay[3];      /* before the second, third, every further attempt */
	int64_t no_changes_attempts; /* runs that changed nothing, before a person is asked */
	int64_t conflict_rounds;
	int64_t moved_tries;   /* the target branch keeps moving under us */
	int64_t review_rounds; /* a person rejected the work */
	ov_time dirty_wait;    /* before work that waits for the user's checkout is tried again */
	ov_time dirty_notice;  /* after which a person is told what it waits for */
	enum accept_review review;
	enum accept_leftovers leftovers;
	enum accept_unchecked unchecked;
	ov_time ageing; /* waiting so long for its turn counts as one step of priority */
	struct accept_commands accept, automatic;

	bool auto_mode; /* the daemon was started for it; it has a command to ask for tasks */
	str auto_agent; /* empty: the default one */
	int64_t auto_concurrency;
	enum pool_failure pool_on_failure;
	ov_time pool_wait, pool_wait_max; /* before it is asked again when there was no task */
	int64_t pool_retries;             /* after a failure, before that has consequences */
	ov_time pool_retry_wait; /* before the first of them; each further one twice that */
	int64_t auto_budget[RESOURCE_COUNT]; /* of its tasks in 24 hours; -1: unlimited */
	int64_t task_budget[RESOURCE_COUNT]; /* of each; -1: unlimited */
	int64_t auto_failures;  /* tasks given up in a row before it waits for a person; 0: never */
	int64_t agent_failures; /* runs in a row, in ordinary goals, before an agent is not used */

	int64_t patrol_restarts, patrol_resends; /* per episode */
	ov_time patrol_confirm; /* an instruction that is not confirmed after this is sent again */

	ov_time idle_after;     /* silence after which a run is stalled */
	bool idle_set;          /* by the configuration: nothing may make it longer */
	ov_time effect_longest; /* what all commands of ours together may take */
	ov_time limit_wait_max; /* a limit that lasts longer is tried by one run after this */
	ov_time max_run;        /* a run that takes longer is put before a person */
	ov_time mute_after;     /* so is one that is busy but shows nothing of it for this long */
	bool mute_set;          /* as idle_set */
	ov_time ask_after;      /* so is one that waits for a person's permission */
	ov_time done_grace;     /* a silent run that reported done is ended after this */
	int64_t max_nudges;     /* per episode */
	ov_time min_resend_interval, backoff_base, backoff_max;
	ov_time limit_base, limit_max; /* between tries of an agent with a limit of unknown end */
	ov_time remind_after;          /* between reminders of an escalation */
	int64_t max_reminders;
	/* questions of agents are answered by default after this; 0: never */
	ov_time default_after;

	const struct policy_channel *channels; /* by which people outside can be told */
	size_t channels_n;
	struct policy_route routes[URGENCY_COUNT]; /* who is told how loudly */
	bool notify;                               /* otherwise only an abort is told outside */
	int64_t notice_attempts;                   /* before a notice is given up */
	int64_t notices_per_hour;                  /* of one channel */
	ov_time notice_retry, notice_retry_max;    /* before the second attempt; and at most */

	bool planner;  /* one is configured */
	bool fallback; /* a goal that nobody plans becomes one task */
	bool diagnose; /* and is asked about stalls, once per episode */

	const str *allow_agents; /* "*": all */
	size_t allow_agents_n;
	const struct policy_cross *cross;
	size_t cross_n;

	int64_t estimate[RESOURCE_COUNT]; /* of a goal; iterations: of a node */
	int64_t budget[RESOURCE_COUNT];   /* -1: unlimited; 0: three times the estimate */

	struct oversight oversight; /* see oversight_for */

	struct prices prices; /* of tokens, where the agent tells no cost */

	int64_t quiet_from, quiet_to; /* minutes of the local day; equal: no quiet hours */
	ov_time utc_offset;           /* of local time */

	struct plan_limits plan;
};
