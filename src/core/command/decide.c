#include "core/command/decide.h"

#include "base/str.h"
#include "core/answer/answer.h"
#include "core/command/command_impl.h"
#include "core/daemon/daemon.h"
#include "core/decide/alarm.h"
#include "core/decide/emit.h"
#include "core/flow/auto.h"
#include "core/flow/checkout.h"
#include "core/flow/flow.h"
#include "core/flow/target.h"
#include "core/flow/upkeep.h"
#include "core/goal/goal.h"
#include "core/intervene/aftermath.h"
#include "core/intervene/oversee.h"
#include "core/work/work.h"
#include "core/worker/worker.h"

/* What operations ask for: each row that writes is a command of its name, which takes the struct of the row. */
#define COMMAND_WRITE(sym, name)                                                                \
	static int run_##sym(struct decide_ctx *cx, const value *params, value **ret_result,    \
			struct ov_err *err)                                                     \
	{                                                                                       \
		return decide_##sym(cx, op_fill(cx->arena, OP_##sym, params), ret_result, err); \
	}
#define COMMAND_READ(sym, name)
#define COMMAND_DAEMON(sym, name)
#define COMMAND_CHILD(sym, name)
#define COMMAND_NOTHING(sym, name)
#define OP(sym, needs, who, shown, name, ...) COMMAND_##needs(sym, name)
#include "core/op/rows.def"

static const struct command commands[] = {
#undef COMMAND_WRITE
#define COMMAND_WRITE(sym, name) { name, run_##sym },
#include "core/op/rows.def"
	{ "planner.health", decide_planner_health },
	{ "effect.end", decide_effect_end },
	{ "run.session", decide_run_session },
	{ "run.frozen", decide_run_frozen },
	{ "run.end", decide_run_end },
	{ "run.report", decide_run_report },
	{ "dispatch.ack", decide_dispatch_ack },
	{ "radar.report", decide_conflict_report },
	{ "checkout.report", decide_checkout_report },
	{ "target.report", decide_target_report },
	{ "patrol.report", decide_upkeep_report },
	{ "daemon.start", decide_daemon_start },
	{ "daemon.stop", decide_daemon_stop },
	{ "daemon.fail", decide_daemon_fail },
	{ "daemon.clock", decide_daemon_clock },
	{ "daemon.contradicted", decide_daemon_contradicted },
	{ "watch.report", decide_watch_report },
	{ "auto.start", decide_auto_start },
	{ "auto.stop", decide_auto_stop },
};

const struct command *command_find(str name)
{
	for (size_t i = 0; i < ARRAY_LEN(commands); i++)
		if (str_is(name, commands[i].name))
			return &commands[i];
	return NULL;
}

int decide(struct decide_ctx *cx, str name, const value *params, value **ret_result,
		struct ov_err *err)
{
	const struct command *c = command_find(name);
	size_t before = cx->out->n;
	value *result = NULL;
	int r;

	assert(c);
	r = c->fn(cx, params, &result, err);
	if (r < 0) {
		cx->out->n = before;
		return r;
	}
	auto_recount(cx, before);
	aftermath_settle(cx, before);
	handoffs_write(cx, before);
	events_seal(cx, before);
	*ret_result = result ? result : value_object(cx->arena);
	return 0;
}
