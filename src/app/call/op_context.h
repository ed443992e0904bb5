#pragma once
/*
 * What an operation is given, and the functions that answer operations: declared from the table, so
 * that each can be defined where its subject is. Everything is borrowed for the call.
 */
#include "base/ov.h"
#include "core/config/config.h"
#include "core/op/params.h"
#include "core/state/state.h"
#include "store/store.h"

struct safe_mode;

/* Who is asked, and what it is: for the answers that speak of the daemon. */
struct op_daemon {
	const char *dir, *repo, *shim, *store_url, *instance, *config_file;
	/* without a daemon: config.toml is bad, the defaults are used */
	const char *config_problem;
	int pid;
	ov_time started_at;
	int64_t http_port;
	bool read_only;
	const struct safe_mode *safe; /* NULL, or why nothing is written */
	const char *degraded;         /* NULL, or why it cannot do all of its work */
	const char *unfenced;         /* NULL, or why sandbox = "auto" is none */
};

struct op_ctx {
	struct arena *arena;
	const struct state *state;
	struct store *store;
	const struct config *config;
	const struct op_daemon *daemon;
	const struct map *observations; /* as in struct telemetry; NULL: nothing is observed */
	const struct map *accounts; /* run id -> const struct account *; NULL: nobody is heard */
	ov_time now;
};

#define HANDLER_READ(sym) \
	int op_##sym(struct op_ctx *cx, const struct pr_##sym *p, value **ret, struct ov_err *err);
#define HANDLER_CHILD HANDLER_READ
#define HANDLER_WRITE(sym)
#define HANDLER_DAEMON(sym)
#define HANDLER_NOTHING(sym)
#define OP(sym, needs, ...) HANDLER_##needs(sym)
#include "core/op/rows.def"
#undef OP
#undef HANDLER_READ
#undef HANDLER_CHILD
