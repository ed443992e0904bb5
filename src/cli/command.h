#pragma once
/*
 * The commands as one table: what is parsed, what --help says and what docs/commands.md holds come
 * from the same rows. A struct cli is one call of the program; everything in it lives in its arena.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/ov.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "cli/out.h"
#include "data/value/value.h"

/* FLAG_TIME: a point in time in the past, as base/moment.h; the command gets it as RFC 3339. */
enum flag_kind { FLAG_BOOL, FLAG_TEXT, FLAG_LIST, FLAG_INT, FLAG_TIME };

struct flag {
	const char *name, *arg; /* without dashes; what stands for its value, NULL: it has none */
	const char *help;
	enum flag_kind kind;
	bool required;
};

struct cli;

struct command {
	const char *noun, *verb; /* verb NULL: the noun alone is the command */
	const char *summary;
	const char *args; /* "ID", "[FILE]", or "" */
	int args_min, args_max;
	const struct flag *flags;
	size_t flags_n;
	/* 0 or an exit status, or a negative enum ov_code with err filled. */
	int (*run)(struct cli *c, struct ov_err *err);
	const char *more; /* further text of the command's help, or NULL */
};

enum { ARGS_MAX = 256 };

/* One flag as given: an option may be there many times. */
struct given {
	const char *name;
	str value;
};

struct cli {
	struct arena *arena;
	const struct command *command;
	struct out out;
	struct client client;
	const char *dir; /* --dir, or NULL */
	int64_t timeout_ms;
	bool json, help;
	struct given given[ARGS_MAX];
	size_t given_n;
	str args[ARGS_MAX];
	size_t args_n;
};

/* The commands in the order in which help shows them; NULL after the last. */
const struct command *command_at(size_t i);
/* Options that every command has. */
extern const struct flag global_flags[];
extern const size_t global_flags_n;

/* Takes the command line apart into c; a usage error is OV_EINVALID with the nearest names. */
int args_parse(struct cli *c, int argc, char **argv, struct ov_err *err);
/* The value of an option, absent when it was not given. */
str cli_flag(const struct cli *c, const char *name);
bool cli_has(const struct cli *c, const char *name);
int64_t cli_int(const struct cli *c, const char *name, int64_t otherwise);
/* The values of an option that may be repeated. */
value *cli_list(struct cli *c, const char *name);
/* Copies options into parameters of the same or of another name, if they were given. */
void cli_param(struct cli *c, value *params, const char *key, const char *flag);
void cli_param_list(struct cli *c, value *params, const char *key, const char *flag);

bool noun_exists(str noun);
/* Points to the command's help; returns the error's code. */
int usage_next(struct cli *c, const struct command *cmd, struct ov_err *err);
/* "goal create" */
str command_name(struct arena *a, const struct command *cmd);
void help_all(struct out *o);
void help_noun(struct out *o, str noun);
void help_command(struct cli *c, const struct command *cmd);
void help_markdown(struct cli *c);
/* The command or noun that these words name; 0 and NULL for a noun alone. */
int command_find(struct cli *c, const str *words, size_t n, const struct command **ret,
		size_t *ret_used, struct ov_err *err);

/*
 * Asks the daemon (or the store as it lies there, for what only reads) and, with --json, prints the
 * answer. *ret_done tells that nothing is left to print.
 */
int cli_call(struct cli *c, enum call_kind kind, const char *method, const value *params,
		const value **ret, bool *ret_done, struct ov_err *err);
/* Finds the store's folder unless that was done. */
int cli_store(struct cli *c, struct ov_err *err);

/* cmd_daemon.c: what of the command line is the daemon's: --auto, and --set for each option. */
int daemon_options(struct cli *c, const char *const **ret, size_t *ret_n, struct ov_err *err);
/* cmd_run_log.c: the last lines of what a run wrote. */
int run_log_last(struct cli *c, str run, int64_t lines, struct ov_err *err);
/*
 * planwait.c: tells how the planner gets on with a goal, until it is through; at once when nobody
 * plans it. 130 when the person would not wait.
 */
int planner_await(struct cli *c, str goal, bool *ret_planned, struct ov_err *err);
/* cmd_notice.c: "desktop: waiting (quiet hours, in 4h)" */
str notice_standing(struct out *o, const value *x);
/* cmd_config.c: that finished work will wait for you */
void tell_unchecked(struct out *o, const value *v);
