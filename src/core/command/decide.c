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

/*
 * What operations ask for: each row that writes is a command of its name, which takes the struct
 * of the row.
 */
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

/* What the daemon itself says. */
#define MESSAGE(sym, name)                                                                   \
	static int run_##sym(struct decide_ctx *cx, const value *params, value **ret_result, \
			struct ov_err *err)                                                  \
	{                                                                                    \
		struct shape s = message_shape(MESSAGE_##sym);                               \
		return decide_##sym(cx, shape_fill(cx->arena, &s, params), ret_result, err); \
	}
#include "core/message/names.def"

static const struct command commands[] = {
#undef COMMAND_WRITE
#define COMMAND_WRITE(sym, name) { name, run_##sym },
#include "core/op/rows.def"
#define MESSAGE(sym, name) { name, run_##sym },
#include "core/message/names.def"
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
