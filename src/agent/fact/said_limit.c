#include "agent/fact/said_limit.h"

#include "base/str.h"

/*
 * Whole phrases of messages to people: a word such as "quota" or "unauthorized" alone stands in the
 * output of many a failing test. The first one that fits a line counts.
 */
static const struct {
	const char *pattern;
	enum trouble trouble;
} table[] = {
	{ "usage limit reached", TROUBLE_RATE_LIMITED },
	{ "usage limit exceeded", TROUBLE_RATE_LIMITED },
	{ "hit your*limit", TROUBLE_RATE_LIMITED },
	{ "reached your*limit", TROUBLE_RATE_LIMITED },
	{ "rate limit exceeded", TROUBLE_RATE_LIMITED },
	{ "rate limit reached", TROUBLE_RATE_LIMITED },
	{ "rate_limit_exceeded", TROUBLE_RATE_LIMITED },
	{ "rate_limit_error", TROUBLE_RATE_LIMITED },
	{ "rate limited*try again in ", TROUBLE_RATE_LIMITED },
	{ "limit reached*resets ", TROUBLE_RATE_LIMITED },
	{ "429*too many requests", TROUBLE_RATE_LIMITED },
	{ "quota exceeded", TROUBLE_RATE_LIMITED },
	{ "exceeded your*quota", TROUBLE_RATE_LIMITED },
	{ "insufficient_quota", TROUBLE_RATE_LIMITED },
	{ "resource_exhausted", TROUBLE_RATE_LIMITED },
	{ "credit balance is too low", TROUBLE_RATE_LIMITED },
	{ "you are not logged in", TROUBLE_LOGIN },
	{ "please log in", TROUBLE_LOGIN },
	{ "please login", TROUBLE_LOGIN },
	{ "please run*login", TROUBLE_LOGIN },
	{ "please sign in", TROUBLE_LOGIN },
	{ "login*has expired", TROUBLE_LOGIN },
	{ "token*has expired", TROUBLE_LOGIN },
	{ "invalid api key", TROUBLE_LOGIN },
	{ "incorrect api key", TROUBLE_LOGIN },
	{ "api key not valid", TROUBLE_LOGIN },
	{ "api_key_invalid", TROUBLE_LOGIN },
	{ "invalid_api_key", TROUBLE_LOGIN },
	{ "invalid x-api-key", TROUBLE_LOGIN },
	{ "authentication_error", TROUBLE_LOGIN },
	{ "api key not found*set *api_key", TROUBLE_LOGIN },
};

/*
 * What a test of the work may print as well: it counts only where the last line of all begins with
 * it, since after its failures a test tool prints a summary. Words that only introduce an error may
 * stand before it.
 */
static const struct {
	const char *start;
	enum trouble trouble;
} last_word[] = {
	{ "401 unauthorized", TROUBLE_LOGIN },
	{ "api key not found", TROUBLE_LOGIN },
	{ "no api key ", TROUBLE_LOGIN },
	{ "missing api key", TROUBLE_LOGIN },
	{ "rate limited", TROUBLE_RATE_LIMITED },
};

static const char *const introductions[] = { "error", "fatal", "api", "http", "http/1.1", "http/2",
	"unexpected", "status", "code" };

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Where the part stands first in the text, in whatever case; past its end: nowhere. */
static size_t find_part(str text, str part)
{
	for (size_t at = 0; at + part.n <= text.n; at++) {
		size_t i = 0;

		while (i < part.n && lower(text.p[at + i]) == lower(part.p[i]))
			i++;
		if (i == part.n)
			return at;
	}
	return text.n + 1;
}

/* The parts between the stars, each behind the one before: nothing is tried twice. */
bool said_matches(str line, str pattern)
{
	str part;

	while (str_split(&pattern, '*', &part)) {
		size_t at = find_part(line, part);

		if (at > line.n)
			return false;
		line = str_sub(line, at + part.n, line.n);
	}
	return true;
}

const char *said_pattern_problem(str pattern)
{
	size_t stars = 0;

	for (size_t i = 0; i < pattern.n; i++) {
		stars += pattern.p[i] == '*';
		if ((unsigned char)pattern.p[i] < ' ')
			return "a pattern is one line of text";
	}
	if (pattern.n > SAID_PATTERN_BYTES)
		return "a pattern has at most 200 bytes";
	if (stars > SAID_PATTERN_STARS)
		return "a pattern has at most 8 stars";
	if (pattern.n - stars < 6)
		return "a pattern has at least 6 characters that are no star: a shorter one would "
		       "fit too much";
	return NULL;
}

static bool any_matches(str line, const str *patterns, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (said_matches(line, patterns[i]))
			return true;
	return false;
}

static enum trouble line_trouble(str line, const struct said_patterns *own, bool built_in)
{
	if (any_matches(line, own->limit, own->limit_n))
		return TROUBLE_RATE_LIMITED;
	if (any_matches(line, own->login, own->login_n))
		return TROUBLE_LOGIN;
	for (size_t i = 0; built_in && i < ARRAY_LEN(table); i++)
		if (said_matches(line, str_from(table[i].pattern)))
			return table[i].trouble;
	return TROUBLE_NONE;
}

/* "Error: HTTP 401 ..." without what stands before the number. */
static str without_introduction(str line)
{
	for (;;) {
		size_t n = 0;
		bool known = false;

		line = str_trim(line);
		while (n < line.n && line.p[n] != ' ' && line.p[n] != ':')
			n++;
		for (size_t i = 0; i < ARRAY_LEN(introductions); i++) {
			str word = str_from(introductions[i]);

			known |= word.n == n && find_part(str_sub(line, 0, n), word) == 0;
		}
		/* "API key ..." is what is looked for, not an introduction of it. */
		if (!known || find_part(line, STR("api key")) == 0)
			return line;
		while (n < line.n && (line.p[n] == ' ' || line.p[n] == ':'))
			n++;
		line = str_sub(line, n, line.n);
	}
}

static enum trouble last_word_trouble(str line)
{
	line = without_introduction(line);
	for (size_t i = 0; i < ARRAY_LEN(last_word); i++)
		if (find_part(line, str_from(last_word[i].start)) == 0)
			return last_word[i].trouble;
	return TROUBLE_NONE;
}

enum trouble said_trouble(str lines, const struct said_patterns *own, bool built_in, str *ret_line)
{
	enum trouble found = TROUBLE_NONE;
	str line;

	*ret_line = (str){ 0 };
	lines = str_trim(lines);
	while (str_split(&lines, '\n', &line)) {
		enum trouble t = line_trouble(line, own, built_in);

		if (t == TROUBLE_NONE && built_in && lines.n == 0)
			t = last_word_trouble(line);
		if (t == TROUBLE_NONE)
			continue;
		found = t;
		*ret_line = line;
	}
	return found;
}
