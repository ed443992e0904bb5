/* What a run's account says to people. */
#include "agent/fact/account.h"

#include "base/arena.h"
#include "base/str.h"

str account_denied(struct arena *a, const struct account *c)
{
	str s = STR("");

	for (size_t i = 0; i < c->denied_n; i++)
		s = c->denied[i].times > 1
				? arena_printf(a, STR_FMT "%s%s (%lld times)", STR_ARG(s),
						  i ? ", " : "", c->denied[i].name,
						  (long long)c->denied[i].times)
				: arena_printf(a, STR_FMT "%s%s", STR_ARG(s), i ? ", " : "",
						  c->denied[i].name);
	return s;
}

const char *account_state(const struct account *c)
{
	if (c->waiting_for[0])
		return "waiting";
	if (c->retrying)
		return "retrying";
	if (c->compacting)
		return "compacting";
	if (c->tools_n)
		return "tool";
	if (c->in_turn)
		return "working";
	return c->has_result ? "idle" : "starting";
}

static void account_view_put_text(struct arena *a, value *o, const char *key, const char *text)
{
	if (text[0])
		value_put(a, o, key, value_str(a, arena_str(a, str_from(text))));
}

static void put_count(struct arena *a, value *o, const char *key, int64_t n)
{
	if (n > 0)
		value_put(a, o, key, value_int(a, n));
}

static void put_trouble(struct arena *a, value *o, const struct account *c)
{
	if (c->trouble == TROUBLE_NONE)
		return;
	value_put(a, o, "trouble", value_cstr(a, trouble_name(c->trouble)));
	account_view_put_text(a, o, "trouble_text", c->trouble_text);
	put_count(a, o, "status", c->status);
	if (c->resets_at)
		value_put(a, o, "resets_at", value_time(a, c->resets_at));
}

value *account_view(struct arena *a, const struct account *c, ov_time now)
{
	value *o = value_object(a), *u = value_object(a);

	value_put(a, o, "state", value_cstr(a, account_state(c)));
	account_view_put_text(a, o, "session", c->session);
	account_view_put_text(a, o, "model", c->model);
	if (c->tools_n) {
		const struct account_tool *t = &c->tools[0];

		account_view_put_text(a, o, "tool", t->name);
		value_put(a, o, "tool_for_ms", value_int(a, MAX(now - t->since, 0)));
		put_count(a, o, "tools_in_flight", (int64_t)c->tools_n);
	}
	account_view_put_text(a, o, "last_tool", c->last_tool.name);
	account_view_put_text(a, o, "last_tool_input", c->last_tool_input);
	account_view_put_text(a, o, "waiting_for", c->waiting_for);
	if (c->retrying) {
		value_put(a, o, "retrying_for_ms", value_int(a, MAX(now - c->retrying_since, 0)));
		put_count(a, o, "attempts", c->attempts);
	}
	put_trouble(a, o, c);
	account_view_put_text(a, o, "message", c->message);
	value_put(a, o, "turns", value_int(a, c->turns));
	value_put(a, o, "tool_calls", value_int(a, c->tool_calls));
	put_count(a, o, "denials", c->denials);
	value_put(a, u, "input", value_int(a, c->usage.input));
	value_put(a, u, "output", value_int(a, c->usage.output));
	value_put(a, u, "cache_read", value_int(a, c->usage.cache_read));
	value_put(a, u, "cache_write", value_int(a, c->usage.cache_write));
	value_put(a, o, "usage", u);
	if (account_cost(c) != COST_UNKNOWN)
		value_put(a, o, "cost_microusd", value_int(a, account_cost(c)));
	put_count(a, o, "context_used", c->context_used);
	put_count(a, o, "context_window", c->context_window);
	return o;
}
