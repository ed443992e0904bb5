/* The words in which rows_*.def are written, the parameters that several rows share, and the table. */
#include "base/moment.h"
#include "core/model/limits.h"
#include "core/op/op.h"
#include "core/policy/caller.h"
#include "core/policy/scope.h"

/* clang-format off */
#define COUNT(...) (sizeof((const struct op_param[]){ __VA_ARGS__ }) / sizeof(struct op_param))
#define PARAMS(...) .params = (const struct op_param[]){ __VA_ARGS__ }, .params_n = COUNT(__VA_ARGS__)
#define COMMAND(n, v, text) .noun = n, .verb = v, .summary = text
#define MORE(text) .more = text
#define EXAMPLE(text) .example = text
#define PATIENCE(ms) .wait_ms = ms
#define VARIANT(of, key, text) .variant = OP_##of, .fixed = key, .fixed_value = text
#define ARGS(text, min) .args = text, .args_min = min, .args_max = OP_ARGS_MAX
#define ARGS_UP_TO(text, n) .args = text, .args_min = 0, .args_max = n

/* A parameter of the operation; then what is of the command line alone. */
#define P(n, t, text, ...) { .name = n, .type = PARAM_##t, .help = text, ##__VA_ARGS__ }
#define NEED .required = true
#define FLAG(name, arg) .flag = name, .word = arg
#define OPTION(f, arg, t, text, ...) { .flag = f, .word = arg, .type = PARAM_##t, .help = text, ##__VA_ARGS__ }
#define SWITCH(f, text) { .flag = f, .type = PARAM_BOOL, .help = text }
#define ARG(at, arg, t, text, ...) { .place = at, .word = arg, .type = PARAM_##t, .help = text, ##__VA_ARGS__ }

#define GOAL_HELP "goal id, or a unique prefix of one"
#define GOAL(at) P("goal", TEXT, GOAL_HELP, NEED, .place = at, .word = "GOAL")
#define GOAL_ARG P("goal", TEXT, GOAL_HELP, NEED, .place = 1, .word = "ID")
#define ONLY_GOAL P("goal", TEXT, "only this goal (an id, or a unique prefix of one)", FLAG("goal", "ID"))
#define OF_GOAL P("goal", TEXT, "the goal that the node belongs to, when several have such a node", FLAG("goal", "ID"))
#define NODE_ARG P("node", TEXT, "node id, or GOAL/NODE", NEED, .place = 1, .word = "ID")
#define RUN_ARG P("run", TEXT, "run id, or a unique prefix of one", NEED, .place = 1, .word = "ID")
#define NOTICE_ARG P("notice", TEXT, "notice id, or a unique prefix of one", NEED, .place = 1, .word = "ID")
#define RESCUED P("id", TEXT, "a ref, an id of one, or a unique prefix of it", NEED, .place = 1, .word = "ID")
#define WORKER_ARG P("worker", TEXT, "name of a worker", .max = LIMIT_ID, NEED, .place = 1, .word = "NAME")
#define WORKERS P("worker", TEXT, "name of a worker", .max = LIMIT_ID, .place = 1, .word = "NAME"), \
	P("all", BOOL, "all workers, instead of one", FLAG("all", NULL))
#define AGENT(text) P("agent", TEXT, text, .max = LIMIT_ID, FLAG("agent", "NAME"))
#define WHY P("reason", TEXT, "why; recorded with your name", .max = LIMIT_NOTE, FLAG("reason", "TEXT"))
#define REASON P("reason", TEXT, "why; recorded with your name", .max = LIMIT_NOTE, NEED, FLAG("reason", "TEXT"))
#define SINCE(text) P("since", TEXT, text, FLAG("since", "TIME"), .form = FORM_TIME)
#define AFTER(...) P("after", INT, "only events with a greater sequence number", __VA_ARGS__)
#define LIMIT(text) P("limit", INT, text, .max = 1000, FLAG("limit", "N"))
#define PLAN_DOCUMENT(...) P("plan", OBJECT, "a plan document", NEED, __VA_ARGS__)
#define STORE_FILE(...) P("file", TEXT, "the file; its absolute path", .place = 1, .word = "FILE", .form = FORM_PATH, __VA_ARGS__)
#define INBOX ONLY_GOAL, P("all", BOOL, "also what was put off, and what is over", FLAG("all", NULL))
#define ENTRY P("number", INT, "its number: #12 is 12", .max = INT64_MAX, NEED, .form = FORM_OWN)
#define SEVERAL SWITCH("all", "all open entries of --kind"), OPTION("kind", "K", TEXT, "with --all: their kind")
#define BLOCK P("unblock_when", TEXT, "what would unblock it", .max = LIMIT_NOTE, FLAG("unblock-when", "TEXT")), \
	P("kind", TEXT, "of a block: person (the default), paused or credential", FLAG("kind", "WORD")), \
	P("needs", TEXT, "kind credential: which one; never the credential itself", .max = LIMIT_NAME, FLAG("needs", "WHAT")), \
	P("configure", TEXT, "kind credential: where to put it", .max = LIMIT_NAME, FLAG("configure", "WHERE"))
#define TEXTS(n, text, f, arg) P(n, TEXTS, text, .max = LIMIT_LIST, FLAG(f, arg))
/* What a goal says, as it is made and as it is changed. */
#define GOAL_DEFINITION \
	P("problem_statement", TEXT, "what is to be solved", .max = LIMIT_TEXT, FLAG("problem", "TEXT|@FILE"), .form = FORM_FILE), \
	TEXTS("success_criteria", "what must be observable at the end", "success", "TEXT"), \
	TEXTS("constraints", "what must be kept", "constraint", "TEXT"), \
	TEXTS("non_goals", "what is not asked for", "non-goal", "TEXT"), \
	TEXTS("assumptions", "what is taken for granted", "assumption", "TEXT"), \
	TEXTS("stakeholders", "who else cares", "stakeholder", "NAME"), \
	P("risks", OBJECTS, "what may go wrong, its impact, and what is done against it: {risk, impact, mitigation}", .max = LIMIT_LIST, \
		FLAG("risk", "RISK[|IMPACT[|MITIGATION]]"), .form = FORM_RISKS), \
	TEXTS("tags", "for finding it again", "tag", "WORD"), \
	P("owner", TEXT, "who answers for it; you, unless you say so", .max = LIMIT_NAME, FLAG("owner", "NAME")), \
	P("repo_context", TEXT, "what is assumed about the repository", .max = LIMIT_TEXT, FLAG("repo-context", "TEXT|@FILE"), .form = FORM_FILE), \
	P("priority", TEXT, "urgent, high, normal (the default), low or background", FLAG("priority", "WORD")), \
	P("estimate", OBJECT, "what it is expected to use: iterations, wall (wall_ms), tokens, cost_usd (cost_microusd); \"default\": as configured", \
		FLAG("estimate", "NAME=AMOUNT"), .form = FORM_AMOUNTS), \
	P("budget", OBJECT, "the most that it may use, as for the estimate, or \"unlimited\"", FLAG("budget", "NAME=AMOUNT"), .form = FORM_AMOUNTS), \
	P("oversight", OBJECT, "thresholds and levels of its own, as in [oversight]: stuck.same_error_count=2; null takes one back", \
		FLAG("oversight", "KEY=VALUE"), .form = FORM_SETTINGS)
#define DAEMON_OPTIONS \
	SWITCH("auto", "get tasks from a pool (see overseer auto)"), \
	OPTION("task-pool-command", "CMD", TEXT, "with --auto: prints the next task, as auto.task_pool_command"), \
	OPTION("concurrency", "N", INT, "with --auto: number of workers (auto.concurrency)"), \
	OPTION("agent", "NAME", TEXT, "with --auto: who does the tasks, as auto.agent"), \
	OPTION("pre-accept-command", "CMD", TEXT, "with --auto: must succeed before a task's change is taken"), \
	OPTION("post-accept-command", "CMD", TEXT, "with --auto: run after a task's change was taken"), \
	OPTION("set", "KEY=VALUE", TEXTS, "an option in place of config.toml's, as long as this daemon runs")

#define OP(sym, needs, who, shown, n, text, ...) \
	[OP_##sym] = { .name = n, .kind = OP_##needs, .callers = who, .help = text, __VA_ARGS__ },
const struct op op_rows[OP_COUNT] = {
#include "core/op/rows.def"
};
