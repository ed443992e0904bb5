/* What processes use, and of which of it somebody may say that the agent works. */
#include "tests/test.h"

#include "core/life/process_life.h"

enum { MINUTE_MS = 60 * 1000 };

static const struct {
	const char *what;
	struct process_rule rule;
	struct process_use use;
	bool life;
} cases[] = {
	{ "a program that tells nothing, at a hundredth", { .idle_permille = IDLE_UNKNOWN },
			{ .passed_ms = MINUTE_MS, .own_cpu_ms = 600 }, true },
	{ "the same with less", { .idle_permille = IDLE_UNKNOWN },
			{ .passed_ms = MINUTE_MS, .own_cpu_ms = 599 }, false },
	{ "rounding within a moment", { .idle_permille = IDLE_UNKNOWN },
			{ .passed_ms = 100, .own_cpu_ms = 10 }, false },
	{ "a download of one that tells nothing", { .idle_permille = IDLE_UNKNOWN },
			{ .passed_ms = MINUTE_MS, .own_io_bytes = 1 << 20 }, true },
	{ "one that speaks draws its screen", { .speaks = true, .idle_permille = IDLE_UNKNOWN },
			{ .passed_ms = MINUTE_MS, .own_cpu_ms = 1500 }, false },
	{ "one that speaks turns in circles", { .speaks = true, .idle_permille = 14 },
			{ .passed_ms = MINUTE_MS,
					.own_cpu_ms = MINUTE_MS,
					.own_io_bytes = 1 << 24 },
			false },
	{ "a told tool waits for elsewhere, and its agent idles",
			{ .speaks = true, .tool_in_flight = true, .idle_permille = 14 },
			{ .passed_ms = MINUTE_MS, .own_cpu_ms = 14 * 60 }, false },
	{ "before that level was measured",
			{ .speaks = true, .tool_in_flight = true, .idle_permille = IDLE_UNKNOWN },
			{ .passed_ms = MINUTE_MS, .own_cpu_ms = 30 * 60 }, false },
	{ "a told tool inside of the agent: twice its level, and more",
			{ .speaks = true, .tool_in_flight = true, .idle_permille = 14 },
			{ .passed_ms = MINUTE_MS, .own_cpu_ms = 38 * 60 }, true },
	{ "a told tool, a process of its own",
			{ .speaks = true, .tool_in_flight = true, .idle_permille = 14 },
			{ .passed_ms = MINUTE_MS, .own_cpu_ms = 14 * 60, .tool_cpu_ms = 600 },
			true },
	{ "a told tool that reads", { .speaks = true, .tool_in_flight = true, .idle_permille = 14 },
			{ .passed_ms = MINUTE_MS, .tool_io_bytes = 1 << 20 }, true },
	{ "a build that nobody told of", { .speaks = true, .idle_permille = 14 },
			{ .passed_ms = MINUTE_MS, .tool_cpu_ms = 50 * 60 }, true },
	{ "what an agent starts for itself", { .speaks = true, .idle_permille = 14 },
			{ .passed_ms = MINUTE_MS, .tool_cpu_ms = 20 * 60, .tool_lives = true },
			false },
	{ "one of its own processes has ended, with all that it had used",
			{ .speaks = true, .idle_permille = 14 },
			{ .passed_ms = MINUTE_MS, .tool_cpu_ms = MINUTE_MS, .own_ended = true },
			false },
	{ "a tool that will be told of when it is over",
			{ .speaks = true, .tells_late = true, .idle_permille = 14 },
			{ .passed_ms = MINUTE_MS, .tool_lives = true }, true },
	{ "no tool at all", { .speaks = true, .tells_late = true, .idle_permille = 14 },
			{ .passed_ms = MINUTE_MS, .own_cpu_ms = 14 * 60 }, false },
};

TEST(what_is_life)
{
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		if (process_is_life(&cases[i].rule, &cases[i].use) != cases[i].life)
			fail_msg("%s", cases[i].what);
}

TEST(the_level_is_the_least_that_was_seen)
{
	struct process_use u = { .passed_ms = MINUTE_MS, .own_cpu_ms = 25 * 60 };
	int64_t level = process_idle(IDLE_UNKNOWN, &u);

	assert_int_equal(level, 25);
	u.own_cpu_ms = 14 * 60;
	level = process_idle(level, &u);
	assert_int_equal(level, 14);
	/* It was busy, although it said nothing. */
	u.own_cpu_ms = 500 * 60;
	assert_int_equal(process_idle(level, &u), 14);
	/* Nobody's idling takes half a processor. */
	assert_int_equal(process_idle(IDLE_UNKNOWN, &u), 100);
	/* What cannot be told apart teaches nothing. */
	u.own_ended = true;
	assert_int_equal(process_idle(level, &u), 14);
	u = (struct process_use){ 0 };
	assert_int_equal(process_idle(level, &u), 14);
}

TEST_MAIN
