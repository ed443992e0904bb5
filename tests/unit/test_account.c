#include <signal.h>

#include "agent/fact/account.h"
#include "base/arena.h"
#include "base/str.h"
#include "data/value/json.h"
#include "tests/rng.h"
#include "tests/test.h"

enum { T0 = 1000000 };

static struct account fresh(void)
{
	struct account c;

	account_init(&c, NULL, 0);
	return c;
}

/* A fact of the output. */
static struct fact of(enum fact_kind kind)
{
	return (struct fact){ .kind = kind, .offset = 1, .cost_microusd = COST_UNKNOWN };
}

static struct fact hook(enum fact_kind kind)
{
	return (struct fact){ .kind = kind, .at = T0, .cost_microusd = COST_UNKNOWN };
}

static void tell(struct account *c, struct fact f, ov_time at)
{
	account_fact(c, &f, at);
}

static struct fact tool(enum fact_kind kind, const char *id)
{
	struct fact f = of(kind);

	f.id = str_from(id);
	f.name = STR("Bash");
	f.text = STR("make test");
	return f;
}

static struct fact ended(bool failed, enum trouble trouble)
{
	struct fact f = of(FACT_TURN_ENDED);

	f.failed = failed;
	f.trouble = trouble;
	return f;
}

static struct fact retry(enum trouble t, int status, int64_t attempt)
{
	struct fact f = of(FACT_RETRYING);

	f.trouble = t;
	f.status = status;
	f.attempt = attempt;
	f.wait_ms = 500;
	return f;
}

TEST(begins_empty)
{
	struct account c = fresh();

	assert_string_equal(account_state(&c), "starting");
	assert_int_equal(c.cost_microusd, COST_UNKNOWN);
	assert_int_equal(c.life_at, 0);
	assert_false(c.ready);
}

TEST(knows_session_and_model)
{
	struct account c = fresh();
	struct fact f = of(FACT_READY);

	f.session = STR("s-1");
	f.model = STR("m-1");
	tell(&c, f, T0);
	f.session = f.model = (str){ 0 };
	tell(&c, f, T0 + 1);
	assert_string_equal(c.session, "s-1");
	assert_string_equal(c.model, "m-1");
	assert_true(c.ready);
	assert_int_equal(c.life_at, T0 + 1);
}

TEST(tools_are_in_flight_until_they_end)
{
	struct account c = fresh();

	tell(&c, of(FACT_TURN_STARTED), T0);
	tell(&c, tool(FACT_TOOL_STARTED, "a"), T0 + 1);
	tell(&c, tool(FACT_TOOL_STARTED, "a"), T0 + 2); /* told twice */
	tell(&c, tool(FACT_TOOL_STARTED, "b"), T0 + 3);
	assert_int_equal(c.tools_n, 2);
	assert_int_equal(c.tool_calls, 2);
	assert_int_equal(c.tools[0].since, T0 + 1);
	assert_string_equal(c.last_tool.id, "b");
	assert_string_equal(c.last_tool_input, "make test");
	assert_string_equal(account_state(&c), "tool");
	tell(&c, tool(FACT_TOOL_ENDED, "a"), T0 + 4);
	assert_int_equal(c.tools_n, 1);
	assert_string_equal(c.tools[0].id, "b");
	tell(&c, tool(FACT_TOOL_ENDED, "nobody"), T0 + 5);
	assert_int_equal(c.tools_n, 1);
	tell(&c, tool(FACT_TOOL_ENDED, "b"), T0 + 6);
	assert_string_equal(account_state(&c), "working");
	assert_int_equal(c.life_at, T0 + 6);
}

TEST(tools_are_bounded)
{
	struct account c = fresh();
	struct arena a = ARENA_INIT;

	for (int i = 0; i < ACCOUNT_TOOLS + 5; i++)
		tell(&c, tool(FACT_TOOL_STARTED, arena_printf(&a, "t%d", i).p), T0 + i);
	assert_int_equal(c.tools_n, ACCOUNT_TOOLS);
	assert_string_equal(c.tools[0].id, "t5");
	assert_int_equal(c.tool_calls, ACCOUNT_TOOLS + 5);
	arena_done(&a);
}

static struct fact call(enum fact_kind kind, const char *id, str digest, const char *text)
{
	struct fact f = tool(kind, id);

	f.digest = digest;
	f.text = str_from(text);
	return f;
}

/* A call that is answered at once. */
static void call_and_answer(struct account *c, str digest, const char *answer)
{
	tell(c, call(FACT_TOOL_STARTED, "x", digest, "make test"), T0);
	tell(c, call(FACT_TOOL_ENDED, "x", (str){ 0 }, answer), T0);
}

TEST(the_same_call_again_is_counted)
{
	struct account c = fresh();
	struct arena a = ARENA_INIT;
	str one = sha256_hex(&a, STR("1")), two = sha256_hex(&a, STR("2"));

	call_and_answer(&c, one, "red");
	assert_int_equal(c.calls.same, 1);
	call_and_answer(&c, one, "red");
	call_and_answer(&c, one, "red");
	assert_int_equal(c.calls.most, 3);
	assert_int_equal(c.calls.same, 3);
	assert_string_equal(c.calls.text, "Bash: make test");
	assert_string_equal(c.calls.digest, one.p);
	assert_string_equal(c.calls.same_text, "Bash: make test");
	assert_int_equal(c.calls.same_since, T0);
	/* Another answer, another call, one of which nothing is known: each ends the row. */
	call_and_answer(&c, one, "green");
	assert_int_equal(c.calls.same, 1);
	call_and_answer(&c, two, "green");
	assert_int_equal(c.calls.same, 1);
	call_and_answer(&c, STR(""), "green");
	assert_int_equal(c.calls.same, 0);
	call_and_answer(&c, two, "green");
	assert_int_equal(c.calls.same, 1);
	assert_int_equal(c.calls.most, 4);
	arena_done(&a);
}

static void call_of_child(struct account *c, const char *thread, str digest, const char *answer)
{
	struct fact f = call(FACT_TOOL_STARTED, "c", digest, "ls");

	f.child = true;
	f.thread = str_from(thread);
	tell(c, f, T0 + 1);
	f.kind = FACT_TOOL_ENDED;
	f.digest = (str){ 0 };
	f.text = str_from(answer);
	tell(c, f, T0 + 1);
}

TEST(each_thread_is_looked_at_by_itself)
{
	struct account c = fresh();
	struct arena a = ARENA_INIT;
	str one = sha256_hex(&a, STR("1")), two = sha256_hex(&a, STR("2"));
	struct fact over = of(FACT_TURN_ENDED);

	tell(&c, of(FACT_TURN_STARTED), T0);
	/* Two of them at once, beside the session: each has its own row, which no other ends. */
	for (int i = 0; i < 9; i++) {
		call_of_child(&c, "s1", two, "red");
		call_of_child(&c, "s2", i % 2 ? one : two, "red");
		call_of_child(&c, "", i % 2 ? one : two, "red");
		call_and_answer(&c, one, i % 2 ? "red" : "green");
	}
	assert_int_equal(c.calls.same, 9);
	assert_int_equal(c.calls.same_since, T0 + 1);
	assert_string_equal(c.calls.same_text, "Bash: ls");
	/* Most often: of the session alone. */
	assert_int_equal(c.calls.most, 9);
	assert_string_equal(c.calls.digest, one.p);
	/* One that is over has nothing more in a row; the session goes on. */
	over.child = true;
	over.thread = STR("s1");
	tell(&c, over, T0);
	assert_int_equal(c.calls.same, 1);
	assert_true(c.in_turn);
	/* It may also be the call that is answered. */
	tell(&c, call(FACT_TOOL_STARTED, "task", two, ""), T0);
	for (int i = 0; i < 5; i++)
		call_of_child(&c, "task", one, "red");
	assert_int_equal(c.calls.same, 5);
	tell(&c, call(FACT_TOOL_ENDED, "task", (str){ 0 }, "done"), T0);
	assert_int_equal(c.calls.same, 1);
	arena_done(&a);
}

TEST(threads_are_bounded)
{
	struct account c = fresh();
	struct arena a = ARENA_INIT;
	str one = sha256_hex(&a, STR("1"));

	call_and_answer(&c, one, "red");
	call_and_answer(&c, one, "red");
	for (int i = 0; i < 10 * CALLS_THREADS; i++) {
		call_of_child(&c, arena_printf(&a, "quiet %d", i).p, one, "red");
		call_of_child(&c, "busy", one, "red");
	}
	/* Neither the one that is heard nor the session went. */
	assert_int_equal(c.calls.threads_n, CALLS_THREADS);
	assert_int_equal(c.calls.same, 10 * CALLS_THREADS);
	call_and_answer(&c, one, "red");
	assert_int_equal(c.calls.threads[0].same, 3);
	assert_int_equal(c.calls.most, 3);
	arena_done(&a);
}

TEST(a_sub_agent_begins_and_ends_no_turn)
{
	struct account c = fresh();
	struct fact f = hook(FACT_TURN_ENDED), t = hook(FACT_TOOL_STARTED);

	tell(&c, hook(FACT_TURN_STARTED), T0);
	t.id = STR("mine");
	tell(&c, t, T0);
	t.id = STR("its");
	t.child = f.child = true;
	t.thread = f.thread = STR("s1");
	tell(&c, t, T0);
	assert_int_equal(c.tools_n, 2);
	tell(&c, f, T0);
	assert_true(c.in_turn);
	assert_false(c.has_result);
	assert_int_equal(c.tools_n, 1);
	assert_string_equal(c.tools[0].id, "mine");
	f.kind = FACT_TURN_STARTED;
	tell(&c, f, T0);
	assert_int_equal(c.turns, 1);
	f.kind = FACT_READY;
	f.session = STR("another");
	tell(&c, f, T0);
	assert_string_equal(c.session, "");
}

TEST(what_is_repeated_stays_in_a_full_table)
{
	struct account c = fresh();
	struct arena a = ARENA_INIT;
	str again = sha256_hex(&a, STR("again"));

	for (int i = 0; i < 10 * CALLS_KEPT; i++) {
		call_and_answer(&c, sha256_hex(&a, arena_printf(&a, "%d", i)), "");
		if (i % CALLS_KEPT == 0)
			call_and_answer(&c, again, "");
		/* Twice is enough to outlast all that came once. */
		if (i == 1)
			call_and_answer(&c, again, "");
	}
	assert_int_equal(c.calls.n, CALLS_KEPT);
	assert_int_equal(c.calls.most, 11);
	assert_string_equal(c.calls.digest, again.p);
	arena_done(&a);
}

TEST(a_long_call_is_cut_between_words)
{
	struct account c = fresh();
	struct arena a = ARENA_INIT;
	char long_word[600];
	struct fact f;

	memset(long_word, 'k', sizeof(long_word) - 1);
	long_word[sizeof(long_word) - 1] = '\0';
	f = call(FACT_TOOL_STARTED, "x", sha256_hex(&a, STR("1")),
			arena_printf(&a, "curl -H %s", long_word).p);
	tell(&c, f, T0);
	assert_string_equal(c.calls.text, "Bash: curl -H ");
	arena_done(&a);
}

TEST(the_end_of_a_turn_clears)
{
	struct account c = fresh();
	struct fact f = of(FACT_PERMISSION_WANTED);

	tell(&c, of(FACT_TURN_STARTED), T0);
	tell(&c, tool(FACT_TOOL_STARTED, "a"), T0);
	tell(&c, of(FACT_COMPACTION_STARTED), T0);
	assert_string_equal(account_state(&c), "compacting");
	f.name = STR("Bash");
	tell(&c, f, T0);
	assert_string_equal(c.waiting_for, "Bash");
	assert_string_equal(account_state(&c), "waiting");
	tell(&c, ended(false, TROUBLE_NONE), T0 + 1);
	assert_int_equal(c.tools_n, 0);
	assert_false(c.compacting);
	assert_string_equal(c.waiting_for, "");
	assert_string_equal(account_state(&c), "idle");
	assert_int_equal(c.turns, 1);
}

/* Claude's notice comes after the request, and says less. */
TEST(a_notice_of_a_prompt_does_not_replace_what_it_is_about)
{
	struct account c = fresh();
	struct fact asks = of(FACT_PERMISSION_WANTED), notice = asks;

	notice.name = STR("permission_prompt");
	notice.text = STR("Claude needs your permission");
	tell(&c, notice, T0);
	assert_string_equal(c.waiting_for, "permission_prompt: Claude needs your permission");
	asks.name = STR("Write");
	asks.text = STR("{\"file_path\":\"a\"}");
	tell(&c, asks, T0 + 1);
	tell(&c, notice, T0 + 6000);
	assert_string_equal(c.waiting_for, "Write: {\"file_path\":\"a\"}");
	assert_int_equal(c.waiting_since, T0);
}

TEST(a_retry_is_no_life_and_ends_with_the_next_fact)
{
	struct account c = fresh();

	tell(&c, of(FACT_TURN_STARTED), T0);
	tell(&c, retry(TROUBLE_LOGIN, 401, 1), T0 + 10);
	tell(&c, retry(TROUBLE_LOGIN, 401, 2), T0 + 20);
	assert_true(c.retrying);
	assert_int_equal(c.attempts, 2);
	assert_int_equal(c.retrying_since, T0 + 10);
	assert_int_equal(c.life_at, T0);
	assert_int_equal(c.trouble, TROUBLE_LOGIN);
	assert_int_equal(c.status, 401);
	assert_int_equal(c.resets_at, 0);
	assert_string_equal(account_state(&c), "retrying");
	tell(&c, of(FACT_NOTICE), T0 + 25);
	assert_true(c.retrying);
	tell(&c, of(FACT_MESSAGE), T0 + 30);
	assert_false(c.retrying);
	assert_int_equal(c.life_at, T0 + 30);
	assert_int_equal(c.trouble, TROUBLE_NONE);
	tell(&c, retry(TROUBLE_NETWORK, 0, 0), T0 + 40);
	assert_int_equal(c.retrying_since, T0 + 40);
	assert_int_equal(c.attempts, 1);
}

TEST(trouble_says_when_it_is_over)
{
	struct account c = fresh();
	struct fact f = of(FACT_TROUBLE);

	f.trouble = TROUBLE_RATE_LIMITED;
	f.wait_ms = 5000;
	f.text = STR("try again in 5s");
	tell(&c, f, T0);
	assert_int_equal(c.resets_at, T0 + 5000);
	f.resets_at = T0 + 7;
	tell(&c, f, T0);
	assert_int_equal(c.resets_at, T0 + 7);
	f.trouble = TROUBLE_OTHER; /* says less than what is known */
	f.text = STR("something");
	tell(&c, f, T0);
	assert_int_equal(c.trouble, TROUBLE_RATE_LIMITED);
	assert_string_equal(c.trouble_text, "try again in 5s");
	assert_int_equal(c.life_at, 0);
}

TEST(usage_adds_up)
{
	struct account c = fresh();
	struct fact f = of(FACT_USAGE);

	f.usage = (struct usage){ 1, 2, 3, 4, false };
	tell(&c, f, T0);
	assert_int_equal(c.cost_microusd, COST_UNKNOWN);
	f.cost_microusd = 100;
	tell(&c, f, T0);
	tell(&c, f, T0);
	assert_int_equal(c.usage.input, 3);
	assert_int_equal(c.usage.output, 6);
	assert_int_equal(c.usage.cache_read, 9);
	assert_int_equal(c.usage.cache_write, 12);
	assert_int_equal(c.cost_microusd, 200);
}

TEST(totals_are_of_the_run)
{
	struct usage before = { 100, 20, 5, 0, false };
	struct fact f = of(FACT_USAGE);
	struct account c;

	account_init(&c, &before, 1000);
	f.usage_total = true;
	f.usage = (struct usage){ 300, 60, 5, 0, false };
	f.cost_microusd = 1500;
	tell(&c, f, T0);
	tell(&c, f, T0);
	assert_int_equal(c.usage.input, 200);
	assert_int_equal(c.usage.output, 40);
	assert_int_equal(c.usage.cache_read, 0);
	assert_int_equal(c.cost_microusd, 500);
	/* What was used stays used. */
	f.usage = (struct usage){ 50, 10, 0, 0, false };
	f.cost_microusd = 10;
	tell(&c, f, T0);
	assert_int_equal(c.usage.input, 200);
	assert_int_equal(c.cost_microusd, 500);
	/* Less than before: another session. */
	account_init(&c, &before, 1000);
	tell(&c, f, T0);
	assert_int_equal(c.usage.input, 50);
	assert_int_equal(c.cost_microusd, 10);
}

TEST(sub_agents_come_on_top_of_a_total)
{
	struct fact f = of(FACT_USAGE), child = of(FACT_USAGE);
	struct account c = fresh();

	f.usage_total = child.child = true;
	child.usage.input = 1000;
	f.usage.input = 100;
	tell(&c, f, T0);
	tell(&c, child, T0);
	tell(&c, child, T0);
	assert_int_equal(c.usage.input, 2100);
	f.usage.input = 300;
	tell(&c, f, T0);
	assert_int_equal(c.usage.input, 2300);
	/* Nothing is taken back. */
	child.usage.input = -5000;
	tell(&c, child, T0);
	f.usage.input = 0;
	tell(&c, f, T0);
	assert_int_equal(c.usage.input, 2300);
}

TEST(numbers_without_end_are_held)
{
	struct account c = fresh();
	struct fact f = of(FACT_USAGE);

	f.usage.input = INT64_C(1000000000000000);
	f.cost_microusd = f.usage.input;
	for (int i = 0; i < 20000; i++)
		tell(&c, f, T0);
	assert_int_equal(c.usage.input, f.usage.input);
	assert_int_equal(c.cost_microusd, f.usage.input);
}

TEST(context_is_the_newest)
{
	struct account c = fresh();
	struct fact f = of(FACT_CONTEXT);

	f.context_used = 500;
	tell(&c, f, T0);
	f.context_used = 0;
	f.context_window = 1000;
	tell(&c, f, T0);
	assert_int_equal(c.context_used, 500);
	assert_int_equal(c.context_window, 1000);
}

TEST(compaction_ends_with_the_next_word)
{
	struct account c = fresh();

	tell(&c, of(FACT_TURN_STARTED), T0);
	tell(&c, of(FACT_COMPACTION_STARTED), T0);
	tell(&c, of(FACT_COMPACTION_ENDED), T0);
	assert_false(c.compacting);
	tell(&c, of(FACT_COMPACTION_STARTED), T0);
	tell(&c, of(FACT_MESSAGE), T0);
	assert_false(c.compacting);
}

TEST(a_denied_tool_is_not_in_flight)
{
	struct account c = fresh();

	tell(&c, tool(FACT_TOOL_STARTED, "a"), T0);
	tell(&c, tool(FACT_PERMISSION_DENIED, "a"), T0);
	assert_int_equal(c.tools_n, 0);
	assert_int_equal(c.denials, 1);
}

TEST(denied_tools_are_named_with_how_often)
{
	_cleanup_(arena_done) struct arena a = ARENA_INIT;
	struct account c = fresh();
	struct fact denied = of(FACT_PERMISSION_DENIED);

	assert_int_equal(account_denied(&a, &c).n, 0);
	/* By its own name, or that of the call. */
	tell(&c, tool(FACT_TOOL_STARTED, "1"), T0);
	denied.id = STR("1");
	tell(&c, denied, T0);
	denied.id = STR("2");
	denied.name = STR("Bash");
	tell(&c, denied, T0);
	denied.name = STR("Write");
	tell(&c, denied, T0);
	assert_true(str_is(account_denied(&a, &c), "Bash (2 times), Write"));
	for (int i = 0; i < 100; i++) {
		denied.name = arena_printf(&a, "tool%d", i);
		tell(&c, denied, T0);
	}
	assert_int_equal(c.denied_n, ACCOUNT_DENIED);
	assert_int_equal(c.denials, 103);
}

/* Whatever it says of itself, it has done nothing. */
TEST(a_sandbox_that_cannot_start_is_a_failure)
{
	for (int works = 0; works < 2; works++) {
		struct account c = fresh();
		struct fact trouble = of(FACT_TROUBLE);
		struct account_verdict v;

		trouble.trouble = TROUBLE_SANDBOX;
		trouble.name = STR("Bash");
		trouble.text = STR("bwrap: no");
		tell(&c, of(FACT_TURN_STARTED), T0);
		tell(&c, trouble, T0);
		/* One that works after all was never broken. */
		if (works) {
			tell(&c, tool(FACT_TOOL_STARTED, "2"), T0);
			tell(&c, tool(FACT_TOOL_ENDED, "2"), T0);
		}
		tell(&c, of(FACT_MESSAGE), T0);
		tell(&c, ended(false, TROUBLE_NONE), T0);
		v = account_judge(&c, 0, 0, false);
		assert_int_equal(v.ok, works);
		assert_int_equal(v.trouble, works ? TROUBLE_NONE : TROUBLE_SANDBOX);
		assert_true(works || str_is(v.text, "bwrap: no"));
	}
}

TEST(words_of_a_child_are_not_its_own)
{
	struct account c = fresh();
	struct fact f = of(FACT_MESSAGE);

	f.text = STR("mine");
	tell(&c, f, T0);
	f.text = STR("the child's");
	f.child = true;
	tell(&c, f, T0 + 1);
	assert_string_equal(c.message, "mine");
	assert_int_equal(c.life_at, T0 + 1);
}

TEST(long_texts_are_cut_between_words)
{
	static char text[ACCOUNT_TEXT * 2];
	struct account c = fresh();
	struct fact f = of(FACT_MESSAGE);

	memset(text, 'x', sizeof(text));
	memcpy(text, "one two ", 8);
	f.text = (str){ text, sizeof(text) };
	tell(&c, f, T0);
	assert_string_equal(c.message, "one two ");
	f.text = (str){ "\xf0\x9f\x98\x80", 4 };
	tell(&c, f, T0);
	assert_string_equal(c.message, "\xf0\x9f\x98\x80");
}

TEST(the_agents_clock_is_not_ahead_of_ours)
{
	struct account c = fresh();
	struct fact f = of(FACT_MESSAGE);

	f.at = T0 + OV_DAY;
	tell(&c, f, T0);
	assert_int_equal(c.life_at, T0);
	f.at = T0 - 5;
	tell(&c, f, T0);
	assert_int_equal(c.life_at, T0);
}

/* ---- hooks beside the output ---- */

static struct fact hook_tool(enum fact_kind kind, const char *id)
{
	struct fact f = hook(kind);

	f.id = str_from(id);
	f.name = STR("Bash");
	return f;
}

TEST(hooks_alone_are_enough)
{
	struct account c = fresh();
	struct fact f = hook(FACT_PERMISSION_WANTED);

	tell(&c, hook(FACT_READY), T0);
	tell(&c, hook(FACT_TURN_STARTED), T0);
	tell(&c, hook_tool(FACT_TOOL_STARTED, "a"), T0);
	assert_int_equal(c.tools_n, 1);
	f.name = STR("Bash");
	tell(&c, f, T0);
	assert_string_equal(account_state(&c), "waiting");
	tell(&c, hook_tool(FACT_TOOL_ENDED, "a"), T0);
	assert_string_equal(account_state(&c), "working");
	tell(&c, hook(FACT_TURN_ENDED), T0);
	assert_int_equal(c.turns, 1);
	assert_int_equal(c.tool_calls, 1);
	assert_string_equal(account_state(&c), "idle");
}

/* Of the file that an agent keeps of its session, in a terminal. */
static struct fact file(enum fact_kind kind, const char *id, ov_time at)
{
	struct fact f = of(kind);

	f.sign = SIGN_TRANSCRIPT;
	f.id = str_from(id);
	f.at = at;
	return f;
}

/* By its id, however old it is; what a hook has told the end of is over. */
TEST(a_call_that_no_hook_ends_is_ended_by_the_sessions_file)
{
	struct account c = fresh();
	struct fact asks = hook(FACT_PERMISSION_WANTED),
		    next = hook_tool(FACT_TOOL_STARTED, "next");

	tell(&c, hook(FACT_TURN_STARTED), T0);
	tell(&c, hook_tool(FACT_TOOL_STARTED, "patch"), T0);
	tell(&c, hook_tool(FACT_TOOL_STARTED, "sh"), T0);
	tell(&c, hook_tool(FACT_TOOL_ENDED, "sh"), T0);
	asks.at = next.at = T0 + OV_MINUTE;
	asks.name = STR("Bash");
	tell(&c, asks, T0 + OV_MINUTE);
	tell(&c, file(FACT_TOOL_ENDED, "sh", T0), T0 + OV_MINUTE);
	assert_string_equal(account_state(&c), "waiting");
	assert_int_equal(c.tools_n, 1);
	tell(&c, file(FACT_TOOL_ENDED, "patch", T0), T0 + OV_MINUTE);
	assert_int_equal(c.tools_n, 0);
	/* And hooks count as before. */
	assert_false(c.streamed);
	tell(&c, next, T0 + OV_MINUTE);
	assert_int_equal(c.tool_calls, 3);
}

/* In a terminal hooks tell of a sub-agent's calls, and its file how they end; it is no output. */
TEST(a_call_of_a_sub_agent_that_no_hook_ends)
{
	struct account c = fresh();
	struct fact begun = hook_tool(FACT_TOOL_STARTED, "patch"),
		    over = file(FACT_TOOL_ENDED, "patch", T0);

	begun.child = over.child = true;
	begun.thread = over.thread = STR("sub");
	tell(&c, hook(FACT_TURN_STARTED), T0);
	tell(&c, begun, T0);
	tell(&c, over, T0);
	assert_int_equal(c.tools_n, 0);
	assert_false(c.streamed);
	assert_int_equal(c.tool_calls, 1);
}

TEST(a_turn_that_failed_by_the_sessions_file)
{
	struct account c = fresh();
	struct fact f = file(FACT_TURN_ENDED, "", T0 + 10), late = hook(FACT_TURN_STARTED);

	f.failed = true;
	f.trouble = TROUBLE_RATE_LIMITED;
	tell(&c, hook(FACT_TURN_STARTED), T0);
	tell(&c, f, T0 + 10);
	assert_int_equal(account_judge(&c, -1, SIGTERM, false).trouble, TROUBLE_RATE_LIMITED);
	assert_int_equal(c.trouble_sign, SIGN_TRANSCRIPT);
	/* What was said before, and is read only now, does not mend it. */
	tell(&c, file(FACT_MESSAGE, "", T0 + 5), T0 + 20);
	assert_int_equal(account_judge(&c, -1, SIGTERM, false).trouble, TROUBLE_RATE_LIMITED);
	/* A turn that began since has overtaken it. */
	late.at = T0 + OV_MINUTE;
	tell(&c, late, T0 + OV_MINUTE);
	tell(&c, f, T0 + OV_MINUTE);
	assert_string_equal(account_state(&c), "working");
	tell(&c, file(FACT_MESSAGE, "", T0 + OV_MINUTE), T0 + OV_MINUTE);
	assert_int_equal(c.trouble, TROUBLE_NONE);
}

/* A request that is repeated, and what was answered to it before it was told. */
TEST(retries_by_the_sessions_file)
{
	struct account c = fresh();
	struct fact f = file(FACT_RETRYING, "", T0 + 10), next = hook_tool(FACT_TOOL_STARTED, "a");

	f.trouble = TROUBLE_OTHER;
	tell(&c, hook(FACT_TURN_STARTED), T0);
	tell(&c, f, T0 + 10);
	tell(&c, file(FACT_MESSAGE, "", T0 + 5), T0 + 11);
	assert_string_equal(account_state(&c), "retrying");
	assert_int_equal(c.life_at, T0 + 5);
	next.at = T0 + 20;
	tell(&c, next, T0 + 20);
	assert_string_equal(account_state(&c), "tool");
	tell(&c, f, T0 + 21);
	assert_string_equal(account_state(&c), "tool");
}

/* Its hook says of the call that failed only that it is over; another that ran is what counts. */
TEST(a_sandbox_that_only_the_sessions_file_tells_of)
{
	struct account c = fresh();
	struct fact f = file(FACT_TROUBLE, "a", T0);

	f.failed = true;
	f.trouble = TROUBLE_SANDBOX;
	f.name = STR("Bash");
	f.text = STR("bwrap: no namespace");
	tell(&c, hook(FACT_TURN_STARTED), T0);
	tell(&c, hook_tool(FACT_TOOL_STARTED, "a"), T0);
	tell(&c, f, T0);
	tell(&c, hook_tool(FACT_TOOL_ENDED, "a"), T0);
	assert_string_equal(c.sandbox_error, "bwrap: no namespace");
	tell(&c, hook_tool(FACT_TOOL_STARTED, "b"), T0);
	tell(&c, hook_tool(FACT_TOOL_ENDED, "b"), T0);
	assert_string_equal(c.sandbox_error, "");
}

/* Both tell of the same two turns; in which order they are read does not matter. */
TEST(a_call_that_both_tell_of_is_one)
{
	const struct fact output[] = {
		of(FACT_TURN_STARTED),
		tool(FACT_TOOL_STARTED, "a"),
		tool(FACT_TOOL_ENDED, "a"),
		tool(FACT_TOOL_STARTED, "denied"),
		tool(FACT_TOOL_ENDED, "denied"),
		ended(false, TROUBLE_NONE),
		of(FACT_TURN_STARTED),
		ended(false, TROUBLE_NONE),
	};
	const struct fact hooks[] = {
		hook(FACT_READY),
		hook(FACT_TURN_STARTED),
		hook_tool(FACT_TOOL_STARTED, "a"),
		hook_tool(FACT_TOOL_ENDED, "a"),
		hook_tool(FACT_TOOL_STARTED, "denied"), /* no hook says that it ended */
		hook(FACT_TURN_ENDED),
		hook(FACT_TURN_STARTED),
		hook(FACT_TURN_ENDED),
	};
	struct rng rng = { 5 };

	for (int round = 0; round < 500; round++) {
		struct account c = fresh();
		size_t o = 0, h = 0;

		while (o < ARRAY_LEN(output) || h < ARRAY_LEN(hooks)) {
			bool first = round == 0      ? o < ARRAY_LEN(output)
					: round == 1 ? h == ARRAY_LEN(hooks)
						     : rng_below(&rng, 2);

			if (o < ARRAY_LEN(output) && (first || h == ARRAY_LEN(hooks)))
				tell(&c, output[o++], T0 + 1);
			else if (h < ARRAY_LEN(hooks))
				tell(&c, hooks[h++], T0 + 1);
		}
		assert_int_equal(c.turns, 2);
		assert_int_equal(c.tool_calls, 2);
		assert_int_equal(c.tools_n, 0);
		assert_false(c.in_turn);
		assert_true(account_judge(&c, 0, 0, false).ok);
	}
}

TEST(a_hook_that_was_overtaken_changes_nothing)
{
	struct account c = fresh();

	tell(&c, of(FACT_TURN_STARTED), T0 + 60000);
	tell(&c, hook(FACT_COMPACTION_STARTED), T0 + 60001);
	tell(&c, hook(FACT_PERMISSION_WANTED), T0 + 60001);
	assert_string_equal(account_state(&c), "working");
	assert_int_equal(c.life_at, T0 + 60000);
}

TEST(a_hook_is_a_sign_of_life)
{
	struct account c = fresh();
	struct fact f = hook_tool(FACT_TOOL_STARTED, "a");

	tell(&c, of(FACT_TURN_STARTED), T0 - 10);
	tell(&c, f, T0);
	assert_int_equal(c.life_at, T0);
	assert_int_equal(c.tools_n, 0);
}

/* ---- the verdict ---- */

static struct account turn_ended(bool failed, enum trouble trouble)
{
	struct account c = fresh();

	tell(&c, of(FACT_TURN_STARTED), T0);
	tell(&c, ended(failed, trouble), T0);
	return c;
}

static void check(const struct account *c, int exit_code, int signal, bool lost, bool ok,
		enum trouble trouble)
{
	struct account_verdict v = account_judge(c, exit_code, signal, lost);

	assert_int_equal(v.ok, ok);
	assert_int_equal(v.trouble, trouble);
	if (!ok)
		assert_true(v.text.n > 0);
}

TEST(judged_by_its_result)
{
	struct account good = turn_ended(false, TROUBLE_NONE);
	struct account bad = turn_ended(true, TROUBLE_LOGIN), odd = turn_ended(true, TROUBLE_NONE);
	struct account none = fresh();

	check(&good, 0, 0, false, true, TROUBLE_NONE);
	check(&good, 3, 0, false, true, TROUBLE_NONE);
	assert_true(account_judge(&good, 3, 0, false).text.n > 0);
	check(&good, -1, SIGKILL, false, true, TROUBLE_NONE);
	check(&good, -1, 0, true, false, TROUBLE_UNFINISHED);
	check(&bad, 0, 0, false, false, TROUBLE_LOGIN);
	check(&bad, 0, 0, true, false, TROUBLE_LOGIN);
	check(&odd, 0, 0, false, false, TROUBLE_OTHER);
	check(&none, 0, 0, false, false, TROUBLE_UNFINISHED);
	check(&none, -1, SIGINT, false, false, TROUBLE_INTERRUPTED);
	check(&none, -1, SIGTERM, false, false, TROUBLE_UNFINISHED);
}

TEST(a_turn_that_did_not_end_is_unfinished)
{
	struct account c = turn_ended(false, TROUBLE_NONE);
	struct fact f = tool(FACT_TOOL_STARTED, "child");

	f.child = true;
	tell(&c, f, T0); /* a sub-agent's tool is not its own */
	check(&c, 0, 0, false, true, TROUBLE_NONE);
	tell(&c, tool(FACT_TOOL_STARTED, "a"), T0);
	check(&c, 0, 0, false, false, TROUBLE_UNFINISHED);
	check(&c, -1, SIGKILL, false, false, TROUBLE_UNFINISHED);
	tell(&c, tool(FACT_TOOL_ENDED, "a"), T0);
	check(&c, 0, 0, false, true, TROUBLE_NONE);
	tell(&c, of(FACT_TURN_STARTED), T0);
	check(&c, 0, 0, false, false, TROUBLE_UNFINISHED);
	tell(&c, retry(TROUBLE_OVERLOADED, 529, 1), T0);
	check(&c, 0, 0, false, false, TROUBLE_OVERLOADED);
}

TEST(what_comes_after_the_turn_is_too_late)
{
	struct account c = turn_ended(false, TROUBLE_NONE);
	struct fact f = of(FACT_TROUBLE);

	f.trouble = TROUBLE_LOGIN;
	tell(&c, retry(TROUBLE_OVERLOADED, 529, 1), T0);
	tell(&c, f, T0);
	assert_string_equal(account_state(&c), "idle");
	assert_int_equal(c.trouble, TROUBLE_NONE);
	c = turn_ended(true, TROUBLE_OTHER);
	tell(&c, f, T0);
	check(&c, 1, 0, false, false, TROUBLE_LOGIN); /* it says more than the result */
}

TEST(view_says_what_it_does)
{
	struct account c = fresh();
	struct arena a = ARENA_INIT;
	struct fact f = of(FACT_READY), u = of(FACT_USAGE), w = of(FACT_CONTEXT);
	struct fact t = retry(TROUBLE_RATE_LIMITED, 429, 3);

	f.session = STR("s");
	f.model = STR("m");
	u.usage = (struct usage){ 1, 2, 3, 4, false };
	u.cost_microusd = 5;
	w.context_used = 6;
	w.context_window = 7;
	t.resets_at = T0 + 1000;
	tell(&c, f, T0);
	tell(&c, of(FACT_TURN_STARTED), T0);
	tell(&c, u, T0);
	tell(&c, w, T0);
	tell(&c, tool(FACT_TOOL_STARTED, "a"), T0 + 100);
	assert_string_equal(json_text(&a, account_view(&a, &c, T0 + 300)).p,
			"{\"state\":\"tool\",\"session\":\"s\",\"model\":\"m\",\"tool\":\"Bash\","
			"\"tool_for_ms\":200,\"tools_in_flight\":1,\"last_tool\":\"Bash\","
			"\"last_tool_input\":\"make test\",\"turns\":1,\"tool_calls\":1,"
			"\"usage\":{\"input\":1,\"output\":2,\"cache_read\":3,\"cache_write\":4},"
			"\"cost_microusd\":5,\"context_used\":6,\"context_window\":7}");
	tell(&c, tool(FACT_TOOL_ENDED, "a"), T0 + 400);
	tell(&c, t, T0 + 500);
	assert_string_equal(json_text(&a, account_view(&a, &c, T0 + 600)).p,
			"{\"state\":\"retrying\",\"session\":\"s\",\"model\":\"m\",\"last_tool\":"
			"\"Bash\","
			"\"last_tool_input\":\"make test\",\"retrying_for_ms\":100,\"attempts\":3,"
			"\"trouble\":\"rate_limited\",\"status\":429,"
			"\"resets_at\":\"1970-01-01T00:16:41.000Z\",\"turns\":1,\"tool_calls\":1,"
			"\"usage\":{\"input\":1,\"output\":2,\"cache_read\":3,\"cache_write\":4},"
			"\"cost_microusd\":5,\"context_used\":6,\"context_window\":7}");
	arena_done(&a);
}

/* What was heard is as long ago as before; a limit ends when it ends. */
TEST(clock_moved)
{
	struct account c;

	account_init(&c, NULL, 0);
	c.life_at = 1000;
	c.retrying_since = 0;
	c.resets_at = 5000;
	c.tools_n = 1;
	c.tools[0].since = 700;
	c.calls.same_since = 600;
	c.calls.threads_n = 1;
	c.calls.threads[0].same_since = 500;
	account_clock_moved(&c, OV_DAY);
	assert_int_equal(c.life_at, OV_DAY + 1000);
	assert_int_equal(c.retrying_since, 0);
	assert_int_equal(c.resets_at, 5000);
	assert_int_equal(c.tools[0].since, OV_DAY + 700);
	assert_int_equal(c.calls.same_since, OV_DAY + 600);
	assert_int_equal(c.calls.threads[0].same_since, OV_DAY + 500);
	/* Long ago is not never. */
	account_clock_moved(&c, -2 * OV_DAY);
	assert_int_equal(c.life_at, 1);
}

TEST_MAIN
