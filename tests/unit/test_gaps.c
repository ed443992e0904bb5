#include "agent/table/gaps.h"

#include "agent/format/format.h"
#include "agent/table/formats.h"
#include "base/arena.h"
#include "base/str.h"
#include "tests/test.h"

static bool is_there(const value *list, const char *what)
{
	for (size_t i = 0; i < value_count(list); i++)
		if (str_is(value_str_at(value_item(list, i), "what"), what))
			return true;
	return false;
}

/*
 * A row is about a format that there is, in a runtime that it can be run in, and says why; none is
 * there twice.
 */
TEST(rows)
{
	for (size_t i = 0; i < agent_gaps_n; i++) {
		const struct agent_gap *g = &agent_gaps[i];
		const struct agent_format *f = format_find(str_from(g->format));

		assert_non_null(f);
		if (g->runtime && strcmp(g->runtime, "exec") != 0) {
			assert_string_equal(g->runtime, "tmux");
			assert_true(f->terminal);
		}
		assert_in_range(g->kind, 0, GAP_KIND_COUNT - 1);
		assert_true(strlen(g->why) > 0);
		for (size_t k = 0; k < i; k++)
			assert_false(agent_gaps[k].kind == g->kind &&
					strcmp(agent_gaps[k].format, g->format) == 0 &&
					(!agent_gaps[k].runtime || !g->runtime ||
							strcmp(agent_gaps[k].runtime, g->runtime) ==
									0));
	}
}

/* What else the table of formats says of cost agrees with it. */
TEST(a_format_that_tells_no_cost)
{
	struct arena a = ARENA_INIT;

	for (size_t i = 0; i < agent_formats_n; i++) {
		const struct agent_format *f = &agent_formats[i];
		const value *v = gaps_view(&a, str_from(f->name), STR("exec"));

		assert_int_equal(is_there(v, "cost") || is_there(v, "usage"), !f->costs);
	}
	arena_done(&a);
}

TEST(of_a_runtime)
{
	struct arena a = ARENA_INIT;
	const value *exec = gaps_view(&a, STR("claude"), STR("exec")),
		    *tmux = gaps_view(&a, STR("claude"), STR("tmux")),
		    *raw = gaps_view(&a, STR("raw"), STR("exec")), *second = value_item(tmux, 1);

	assert_int_equal(exec->kind, V_ARRAY);
	assert_int_equal(value_count(exec), 0);
	assert_int_equal(value_count(tmux), 3);
	assert_true(str_is(value_str_at(value_item(tmux, 0), "what"), "retry_status"));
	assert_true(str_is(value_str_at(second, "what"), "sub_agent_usage"));
	assert_true(str_is(value_str_at(second, "about"), "tokens of sub-agents"));
	assert_true(str_contains(value_str_at(second, "why"), STR("budgets")));
	assert_true(str_is(value_str_at(value_item(tmux, 2), "what"), "cost"));
	/* By kind, not as the table has them. */
	assert_true(str_is(value_str_at(value_item(raw, 0), "what"), "sub_agent_loop"));
	assert_int_equal(value_count(gaps_view(&a, STR("nobody"), STR("exec"))), 0);
	arena_done(&a);
}

TEST_MAIN
