/*
 * What agents are doing at the moment, by their own account: beside what the state says of
 * their runs.
 */
#include "agent/fact/account.h"
#include "app/ops/ops.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/duration.h"
#include "base/map.h"
#include "base/str.h"
#include "base/utf8.h"

enum { INPUT_SHOWN = 80 };

static void add_since(struct arena *a, struct buf *b, ov_time since, ov_time now)
{
	buf_addf(b, " for " STR_FMT,
			STR_ARG(duration_format_short(a, MAX(now - since, (ov_time)0))));
}

static void add_tool(struct arena *a, struct buf *b, const struct account *c, ov_time now)
{
	const struct account_tool *t = &c->tools[0];

	buf_adds(b, str_from(t->name[0] ? t->name : "a tool"));
	add_since(a, b, t->since, now);
	if (c->tools_n > 1)
		buf_addf(b, ", and %zu more", c->tools_n - 1);
	else if (c->last_tool_input[0])
		buf_addf(b, ": " STR_FMT,
				STR_ARG(utf8_truncate(str_from(c->last_tool_input), INPUT_SHOWN)));
}

static void add_retrying(struct arena *a, struct buf *b, const struct account *c, ov_time now)
{
	buf_adds(b, STR("retrying"));
	add_since(a, b, c->retrying_since, now);
	buf_addf(b, ": %s", trouble_name(c->trouble));
	if (c->status)
		buf_addf(b, ", HTTP %d", c->status);
}

/* In one line, for people. */
static str now_text(struct arena *a, const struct account *c, ov_time now)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;

	if (c->waiting_for[0])
		buf_addf(&b, "waiting for permission: %s", c->waiting_for);
	else if (c->retrying)
		add_retrying(a, &b, c, now);
	else if (c->compacting)
		buf_adds(&b, STR("compacting its context"));
	else if (c->tools_n)
		add_tool(a, &b, c, now);
	else
		buf_adds(&b, str_from(account_state(c)));
	if (c->context_window > 0)
		buf_addf(&b, " (context %lld %%)",
				(long long)(c->context_used * 100 / c->context_window));
	return arena_str(a, buf_str(&b));
}

void op_put_now(struct op_ctx *cx, value *v, str run_id)
{
	const struct account *c = cx->accounts ? map_get(cx->accounts, run_id) : NULL;
	value *now;

	if (!c)
		return;
	now = account_view(cx->arena, c, cx->now);
	value_put(cx->arena, now, "text", value_str(cx->arena, now_text(cx->arena, c, cx->now)));
	value_put(cx->arena, v, "now", now);
}
