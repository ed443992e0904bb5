#pragma once
/* [agents.NAME]: an agent as it is configured. Everything in it belongs to its struct config. */
#include "agent/launch/environment.h"
#include "base/ov.h"
#include "base/str.h"
#include "core/policy/policy.h"

/* What runs of an agent, and commands on its work, can reach. See docs/security.md. */

/* auto: the fence where it works, else none. default: as defaults.sandbox; never after reading. */
enum sandbox { SANDBOX_AUTO, SANDBOX_FENCE, SANDBOX_BWRAP, SANDBOX_NONE, SANDBOX_DEFAULT };
extern const char *const sandbox_names[];

enum sandbox_home { HOME_PRIVATE, HOME_SHARED };

/* workspace.check_sandbox */
enum check_sandbox { CHECK_AGENT, CHECK_NONE };

enum agent_input { INPUT_NONE, INPUT_STDIN };

struct config_agent {
	str name;
	str runtime; /* "exec", "tmux" */
	str format;  /* of agent_formats */
	/*
	 * Of raw: argv; a word with {prompt} or {prompt_file} is there unless prompt_by is stdin.
	 */
	const str *command;
	size_t command_n;
	str model, permission_mode; /* empty: the agent's own, that for unattended work */
	int64_t max_turns;          /* 0: no limit */
	enum prompt_by prompt_by;
	const struct env_pair *env; /* [agents.NAME.env] */
	size_t env_n;
	const str *env_pass; /* names of variables handed on from the daemon's environment */
	size_t env_pass_n;
	int64_t concurrency;
	enum sandbox sandbox;
	enum sandbox_home home;      /* of bwrap */
	bool network;                /* of bwrap */
	const str *sandbox_writable; /* paths that stay writable in it, absolute */
	size_t sandbox_writable_n;
	int64_t memory_max_bytes, pids_max;  /* of all processes of a run; 0: no limit */
	enum agent_input input;              /* how it gets further instructions while it runs */
	int64_t rate_limit_exit, login_exit; /* 0: none */
	int recovery;                        /* enum rung - RUNG_RESEND */
	str description;                     /* its capability card */
	const str *capabilities, *limit_patterns, *login_patterns; /* the latter: said_limit.h */
	size_t capabilities_n, limit_patterns_n, login_patterns_n;
	str cost_tier;
	const str *tools, *tools_deny; /* NULL: all; none */
	size_t tools_n, tools_deny_n;
};
