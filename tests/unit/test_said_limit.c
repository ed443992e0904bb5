/*
 * The last words of agents that speak no format: which of them say that it is a limit, or a login.
 */
#include "tests/test.h"

#include "agent/fact/said_limit.h"
#include "base/str.h"

TEST_MAIN

static enum trouble said(const char *lines)
{
	const struct said_patterns none = { 0 };
	str line;

	return said_trouble(str_from(lines), &none, true, &line);
}

TEST(usual_messages)
{
	static const char *const limits[] = { "Claude AI usage limit reached|1749924000",
		"You've hit your usage limit. Try again later.", "error: Rate limit exceeded",
		"HTTP 429: Too Many Requests", "litellm.RateLimitError: rate_limit_exceeded",
		"You exceeded your current quota, please check your plan",
		"Your credit balance is too low to access the API",
		"Rate limited. Please try again in 2 hours.", "Rate limited, wait a moment",
		"Limit reached; resets Nov 19, 9am" };
	static const char *const logins[] = { "Invalid API key \xc2\xb7 Please run /login",
		"You are not logged in.", "Error: Incorrect API key provided",
		"OAuth token has expired", "please log in again", "401 Unauthorized",
		"I begin.\nError: HTTP 401 Unauthorized: no token\n\n",
		"API Error: 401 Unauthorized", "unexpected status 401 Unauthorized",
		"API key not found. Set OPENAI_API_KEY.",
		"API key not found. Set OPENAI_API_KEY.\nbye", "API key not found",
		"error: no API key in the environment", "Missing API key" };

	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		assert_int_equal(said(limits[i]), TROUBLE_RATE_LIMITED);
	for (size_t i = 0; i < ARRAY_LEN(logins); i++)
		assert_int_equal(said(logins[i]), TROUBLE_LOGIN);
}

/* What a failing test, a compiler or a log may say. */
TEST(words_of_the_work_are_none)
{
	static const char *const others[] = { "", "FAILED test_quota",
		"3 tests of rate limits failed", "assert status == 401, 'unauthorized'",
		"login.c:12: error: expected ';'", "src/limit.rs: cannot find value `limit`",
		"AssertionError: 429 != 200", "token expected before '}'",
		"AssertionError: '401 Unauthorized' != '200 OK'",
		"expected 200 OK, got 401 Unauthorized", "401 Unauthorized\n1 test failed",
		"GET /login: 401 Unauthorized", "FAILED test_key: API key not found",
		"    Rate limited\n2 of 30 tests failed",
		"not ok 3 - shows 'Rate limited, try again'", "not ok 4 - limit reached" };

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_int_equal(said(others[i]), TROUBLE_NONE);
}

TEST(the_last_line_that_says_anything_counts)
{
	const str limit = STR("out of*fuel"), login = STR("who are you");
	const struct said_patterns own = { &limit, &login, 1, 1 };
	str line;

	assert_int_equal(said_trouble(STR("Out of rocket FUEL\nbye"), &own, false, &line),
			TROUBLE_RATE_LIMITED);
	assert_true(str_is(line, "Out of rocket FUEL"));
	assert_int_equal(said_trouble(STR("out of fuel\nWho are you?\nbye"), &own, false, &line),
			TROUBLE_LOGIN);
	assert_int_equal(said_trouble(STR("fuel is out of\nreach"), &own, false, &line),
			TROUBLE_NONE);
	/* Of an agent that speaks a format only what is configured counts. */
	assert_int_equal(said_trouble(STR("rate limit exceeded"), &own, false, &line),
			TROUBLE_NONE);
}

TEST(stars)
{
	assert_true(said_matches(STR("abcdef"), STR("abc*def")));
	assert_true(said_matches(STR("xx ABC 1 2 DEF yy"), STR("abc*def")));
	assert_false(said_matches(STR("def abc"), STR("abc*def")));
	assert_false(said_matches(STR("ab"), STR("abc")));
	assert_true(said_matches(STR("abcdef"), STR("*cde*")));
	assert_false(said_matches(STR(""), STR("a")));
}

TEST(patterns_that_fit_too_much_are_none)
{
	char text[SAID_PATTERN_BYTES + 2];

	memset(text, 'a', sizeof(text));
	assert_null(said_pattern_problem(STR("no fuel")));
	assert_non_null(said_pattern_problem(STR("")));
	assert_non_null(said_pattern_problem(STR("*")));
	assert_non_null(said_pattern_problem(STR("a*b*c*d*e")));
	assert_non_null(said_pattern_problem(STR("a*b*c*d*e*f*g*h*i*jjjj")));
	assert_non_null(said_pattern_problem(STR("two\nlines")));
	assert_null(said_pattern_problem((str){ text, SAID_PATTERN_BYTES }));
	assert_non_null(said_pattern_problem((str){ text, SAID_PATTERN_BYTES + 1 }));
}
