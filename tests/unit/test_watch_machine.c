/* The watchdog's table: every pair is written, and leads somewhere sensible. */
#include "tests/test.h"

#include "base/str.h"
#include "watch/guard/machine.h"

TEST_MAIN

/* States that lie between two actions: nothing from outside is waited for in them. */
static bool is_passing(enum watch_state s)
{
	return s == WS_LOOKING || s == WS_JUDGING;
}

TEST(every_pair_is_written)
{
	for (int s = 0; s < WS_COUNT; s++)
		for (int e = 0; e < WE_COUNT; e++) {
			const struct watch_step *x = machine_step((enum watch_state)s,
					(enum watch_event)e);

			if (!x->written)
				fail_msg("%s x event %d is not written", watch_state_name(s), e);
			if (x->action == WA_NEVER)
				assert_int_equal(x->next, s);
		}
}

TEST(every_state_and_action_is_used)
{
	bool states[WS_COUNT] = { [WS_LOOKING] = true }, actions[WA_COUNT] = { false };

	for (int s = 0; s < WS_COUNT; s++)
		for (int e = 0; e < WE_COUNT; e++) {
			const struct watch_step *x = machine_step((enum watch_state)s,
					(enum watch_event)e);

			actions[x->action] = true;
			if ((int)x->next != s)
				states[x->next] = true;
		}
	for (int s = 0; s < WS_COUNT; s++)
		assert_true(states[s]);
	for (int a = 0; a < WA_COUNT; a++)
		assert_true(actions[a]);
}

/* However it stands: the first request leads to an end by itself, and the second is at once. */
TEST(it_can_be_asked_to_end_in_every_state)
{
	for (int i = 0; i < WS_OVER; i++) {
		enum watch_state s = (enum watch_state)i;

		assert_int_equal(machine_step(s, WE_AGAIN)->next, WS_OVER);
		if (s != WS_LEAVING && s != WS_FORCING && s != WS_DROPPING)
			s = machine_step(s, WE_INTERRUPT)->next;
		for (int n = 0; s != WS_OVER && n < 3; n++) {
			const struct watch_step *x = machine_step(s, WE_DEADLINE);

			s = x->action == WA_KILL_REMEDY ? machine_step(s, WE_MENDED)->next
							: x->next;
		}
		assert_int_equal(s, WS_OVER);
	}
	for (int e = 0; e < WE_COUNT; e++)
		assert_int_equal(machine_step(WS_OVER, (enum watch_event)e)->next, WS_OVER);
}

/* Only a daemon that was stopped by request is waited for without end. */
TEST(every_state_that_waits_has_a_deadline)
{
	for (int i = 0; i < WS_OVER; i++) {
		enum watch_state s = (enum watch_state)i;

		assert_int_equal(machine_step(s, WE_DEADLINE)->action == WA_NEVER,
				is_passing(s) || s == WS_WAITING);
	}
}

/* A daemon is started in one place only, where it was looked for another one just before. */
TEST(it_starts_only_after_it_looked)
{
	for (int i = 0; i < WS_COUNT; i++)
		for (int e = 0; e < WE_COUNT; e++)
			if (machine_step((enum watch_state)i, (enum watch_event)e)->action ==
					WA_START)
				assert_true(i == WS_LOOKING && e == WE_ABSENT);
}

TEST(verdicts_are_of_judging_only)
{
	for (int i = 0; i < WS_COUNT; i++) {
		enum watch_state s = (enum watch_state)i;

		assert_int_equal(machine_step(s, WE_START)->action != WA_NEVER, s == WS_JUDGING);
		assert_int_equal(machine_step(s, WE_MEND)->action != WA_NEVER, s == WS_JUDGING);
	}
}

TEST(it_is_drawn_whole)
{
	struct buf b = BUF_INIT;

	machine_markdown(&b);
	for (int s = 0; s < WS_COUNT; s++)
		assert_true(str_contains(buf_str(&b), str_from(watch_state_name(s))));
	buf_clear(&b);
	machine_dot(&b);
	assert_true(str_contains(buf_str(&b), STR("running -> terminating [label=\"failed / ")));
	assert_false(str_contains(buf_str(&b), STR("nothing\"];\n\trunning -> running")));
	buf_done(&b);
}
