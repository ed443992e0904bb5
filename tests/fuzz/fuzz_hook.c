/*
 * The bytes as a call of a hook, a line of the events, a scope and an instruction: whatever is read
 * gives a line within its bound that can be read again and means the same, every answer is JSON, a
 * tool that is denied is told as denied, and what was read as a file is written and read alike.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "agent/read/hook.h"
#include "agent/table/formats.h"
#include "agent/table/hook_scope.h"
#include "base/arena.h"
#include "base/str.h"
#include "data/value/json.h"

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_call(struct arena *a, const struct hook_call *c)
{
	static const str deny[] = { STR("Bash") };
	const struct tool_scope scopes[] = { { 0 }, { .deny = deny, .deny_n = 1 },
		{ .allow = deny, .allow_n = 1 } };

	for (size_t i = 0; i <= ARRAY_LEN(scopes); i++) {
		struct hook_reply r = hook_answer(a, c, format_find(STR("codex")),
				i < ARRAY_LEN(scopes) ? &scopes[i] : NULL, STR("next"));
		str line = hook_line(a, c, 1, r.denied, hook_may_go_on(c) ? STR("D") : STR("")),
		    taken;
		struct fact f;
		value *v;

		check(r.text.n == 0 || json_parse(a, r.text, NULL, &v, NULL) == 0);
		check(!(r.denied && hook_may_go_on(c)));
		check(!hook_may_go_on(c) || r.text.n > 0);
		check(line.n < HOOK_LINE_MAX && str_find_byte(line, '\n') == line.n);
		check(hook_fact(a, line, NULL, &f, &taken));
		check((taken.n > 0) == hook_may_go_on(c));
		check(!r.denied || f.kind == FACT_PERMISSION_DENIED);
		check(hook_fact(a, line, format_find(STR("codex")), &f, &taken));
		check(f.kind != FACT_TURN_ENDED && f.kind != FACT_TOOL_STARTED);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct arena a = ARENA_INIT;
	str bytes = { (const char *)data, size }, dispatch, text, again;
	const struct agent_format *f;
	struct tool_scope s, t;
	struct hook_call c;
	struct fact fact;

	if (hook_read(&a, bytes, STR("Stop"), &c, NULL) == 0)
		check_call(&a, &c);
	if (hook_fact(&a, bytes, NULL, &fact, &text))
		check(fact.kind < FACT_KIND_COUNT && fact.at >= 0);
	if (hook_scope_read(&a, bytes, &f, &s, NULL) == 0) {
		text = hook_scope_text(&a, f, &s);
		check(hook_scope_read(&a, text, &f, &t, NULL) == 0);
		check(t.allow_n == s.allow_n && t.deny_n == s.deny_n && !t.allow == !s.allow);
	}
	if (hook_next_read(&a, bytes, &dispatch, &text, NULL) == 0 &&
			hook_next_text(&a, dispatch, text, &again, NULL) == 0)
		check(hook_next_read(&a, again, &dispatch, &text, NULL) == 0);
	arena_done(&a);
	return 0;
}
