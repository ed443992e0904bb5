#pragma once
/*
 * One call of the program. What is parsed, what --help says and what docs/commands.md holds come
 * from the rows of core/op/op.h; what is here runs them. A command calls its row's operation with
 * what was given and shows the answer (show_SYMBOL); one that does more than that is a function of
 * its own (cmd_SYMBOL), which returns 0 or an exit status, or a negative enum ov_code with err
 * filled. Everything in a struct cli lives in its arena.
 */
#include "base/arena.h"
#include "base/err.h"
#include "base/ov.h"
#include "cli/call/client.h"
#include "cli/out/out.h"
#include "core/op/op.h"
#include "data/value/value.h"

/* One flag as given: an option may be there many times. */
struct given {
	const char *name;
	str value;
};

struct cli {
	struct arena *arena;
	const struct op *command;
	struct out out;
	struct client client;
	const char *dir; /* --dir, or NULL */
	int64_t timeout_ms;
	bool json, help;
	struct given given[OP_ARGS_MAX];
	size_t given_n;
	str args[OP_ARGS_MAX];
	size_t args_n;
};

#define COMMAND_OWN(sym) int cmd_##sym(struct cli *c, struct ov_err *err);
#define COMMAND_SHOWN(sym) void show_##sym(struct cli *c, const value *answer);
#define COMMAND_NO_COMMAND(sym)
#define OP(sym, needs, who, shown, ...) COMMAND_##shown(sym)
#include "core/op/rows.def"
#undef OP
#undef COMMAND_OWN
#undef COMMAND_SHOWN

/* Options that every command has. */
extern const struct op_param global_flags[];
extern const size_t global_flags_n;

/* Takes the command line apart into c; a usage error is OV_EINVALID with the nearest names. */
int args_parse(struct cli *c, int argc, char **argv, struct ov_err *err);
/* The value of an option, absent when it was not given. */
str cli_flag(const struct cli *c, const char *name);
bool cli_has(const struct cli *c, const char *name);
int64_t cli_int(const struct cli *c, const char *name, int64_t otherwise);
/* The values of an option that may be repeated. */
value *cli_list(struct cli *c, const char *name);
/* What was given, as the parameters of the command's row; those with FORM_OWN are left out. */
int cli_params(struct cli *c, value **ret, struct ov_err *err);
/* The number of an entry of the inbox: "12" or "#12". */
int inbox_number(str text, int64_t *ret, struct ov_err *err);
/* Calls the command's operation with these parameters. *ret_done: as for cli_call. */
int cli_ask(struct cli *c, const value *params, const value **ret, bool *ret_done,
		struct ov_err *err);
int command_run(struct cli *c, struct ov_err *err);
/* Was any of the command's own options given? */
bool cli_narrowed(const struct cli *c);

/* Points to the command's help; returns the error's code. */
int usage_next(struct cli *c, const struct op *cmd, struct ov_err *err);
/* "goal create" */
str command_name(struct arena *a, const struct op *cmd);
void help_all(struct out *o);
void help_noun(struct out *o, str noun);
void help_command(struct cli *c, const struct op *cmd);
/* The command that these words name; 0 and NULL for a noun alone. */
int command_by_words(struct cli *c, const str *words, size_t n, const struct op **ret,
		size_t *ret_used, struct ov_err *err);

/*
 * Asks the daemon (or the store as it lies there, for what only reads) and, with --json, prints the
 * answer. *ret_done tells that nothing is left to print.
 */
int cli_call(struct cli *c, enum op_id op, const value *params, const value **ret, bool *ret_done,
		struct ov_err *err);
/* Finds the store's folder unless that was done. */
int cli_store(struct cli *c, struct ov_err *err);
