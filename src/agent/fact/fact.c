#include "agent/fact/fact.h"

#include "base/str.h"

#define NAME(sym, name) [sym] = name,
static const char *const trouble_names[] = { TROUBLES(NAME) };
#undef NAME

bool fact_is_life(enum fact_kind kind)
{
	return kind != FACT_RETRYING && kind != FACT_TROUBLE && kind != FACT_NOTICE &&
			kind != FACT_MODEL;
}

const char *trouble_name(enum trouble t)
{
	return trouble_names[t];
}

static int64_t fact_held(int64_t n, bool *untrue)
{
	const int64_t most = INT64_C(1000000000000000);

	*untrue |= n > most;
	return MIN(MAX(n, -most), most);
}

struct usage usage_plus(struct usage a, struct usage b)
{
	struct usage sum = { .untrue = a.untrue || b.untrue };

	sum.input = fact_held(a.input + b.input, &sum.untrue);
	sum.output = fact_held(a.output + b.output, &sum.untrue);
	sum.cache_read = fact_held(a.cache_read + b.cache_read, &sum.untrue);
	sum.cache_write = fact_held(a.cache_write + b.cache_write, &sum.untrue);
	return sum;
}

struct usage usage_minus(struct usage a, struct usage b)
{
	return usage_plus(a,
			(struct usage){ .input = -b.input,
					.output = -b.output,
					.cache_read = -b.cache_read,
					.cache_write = -b.cache_write,
					.untrue = b.untrue });
}

enum trouble trouble_of_status(int status)
{
	switch (status) {
	case 401:
	case 403:
	case 407: return TROUBLE_LOGIN;
	case 402: /* nothing left to pay with: as good as a limit */
	case 429: return TROUBLE_RATE_LIMITED;
	case 408: return TROUBLE_NETWORK;
	case 413: return TROUBLE_CONTEXT;
	default:
		return status >= 500            ? TROUBLE_OVERLOADED
				: status >= 400 ? TROUBLE_REFUSED
						: TROUBLE_NONE;
	}
}

/*
 * What agents write, in lower case. Those above the line are surer than a status in the same text:
 * a server answers 400 to a conversation that is too long, and to an account without money.
 */
struct phrase {
	const char *text;
	enum trouble trouble;
};

static const struct phrase sure[] = {
	{ "prompt is too long", TROUBLE_CONTEXT }, { "context_length_exceeded", TROUBLE_CONTEXT },
	{ "context length", TROUBLE_CONTEXT }, { "context window", TROUBLE_CONTEXT },
	{ "input is too long", TROUBLE_CONTEXT }, { "maximum number of tokens", TROUBLE_CONTEXT },
	{ "no conversation found", TROUBLE_SESSION_LOST },
	{ "no rollout found", TROUBLE_SESSION_LOST }, { "session not found", TROUBLE_SESSION_LOST },
	{ "invalid session identifier", TROUBLE_SESSION_LOST },
	{ "no previous sessions found", TROUBLE_SESSION_LOST },
	{ "error resuming session", TROUBLE_SESSION_LOST },
	{ "maximum number of turns", TROUBLE_MAX_TURNS },
	{ "max session turns", TROUBLE_MAX_TURNS }, { "maximum session turns", TROUBLE_MAX_TURNS },
	{ "loop detected, stopping",
			/* of Gemini: it stops by itself, and calls that a success */
			TROUBLE_LOOP },
	{ "maximum budget", TROUBLE_BUDGET }, { "usage limit", TROUBLE_RATE_LIMITED },
	{ "credit balance", TROUBLE_RATE_LIMITED }, { "insufficient_quota", TROUBLE_RATE_LIMITED },
	{ "api_key_invalid", TROUBLE_LOGIN }, /* of Gemini, with status 400 */
	{ "api key not valid", TROUBLE_LOGIN },
	{ "api error: terminated", TROUBLE_NETWORK },   /* of Gemini: the connection was reset */
	{ "without a finish reason", TROUBLE_NETWORK }, /* of Gemini: and that it ended too soon */
	{ "exhausted your capacity", TROUBLE_RATE_LIMITED }, /* of Gemini, which tells no status */
};

static const struct phrase likely[] = {
	{ "rate limit", TROUBLE_RATE_LIMITED },
	{ "rate_limit", TROUBLE_RATE_LIMITED },
	{ "too many requests", TROUBLE_RATE_LIMITED },
	{ "quota", TROUBLE_RATE_LIMITED },
	{ "resource_exhausted", TROUBLE_RATE_LIMITED },
	{ "resource has been exhausted", TROUBLE_RATE_LIMITED },
	{ "hit your limit", TROUBLE_RATE_LIMITED },
	{ "session limit", TROUBLE_RATE_LIMITED },
	{ "weekly limit", TROUBLE_RATE_LIMITED },
	{ "unauthorized", TROUBLE_LOGIN },
	{ "unauthenticated", TROUBLE_LOGIN },
	{ "authentication", TROUBLE_LOGIN },
	{ "api key", TROUBLE_LOGIN },
	{ "/login", TROUBLE_LOGIN },
	{ "not logged in", TROUBLE_LOGIN },
	{ "log in again", TROUBLE_LOGIN },
	{ "sign in again", TROUBLE_LOGIN },
	{ "auth method", TROUBLE_LOGIN },
	{ "oauth token", TROUBLE_LOGIN },
	{ "overloaded", TROUBLE_OVERLOADED },
	{ "high demand", TROUBLE_OVERLOADED },
	{ "at capacity", TROUBLE_OVERLOADED },
	{ "service unavailable", TROUBLE_OVERLOADED },
	{ "internal server error", TROUBLE_OVERLOADED },
	{ "bad gateway", TROUBLE_OVERLOADED },
	{ "econnrefused", TROUBLE_NETWORK },
	{ "econnreset", TROUBLE_NETWORK },
	{ "enotfound", TROUBLE_NETWORK },
	{ "etimedout", TROUBLE_NETWORK },
	{ "eai_again", TROUBLE_NETWORK },
	{ "fetch failed", TROUBLE_NETWORK },
	{ "socket hang up", TROUBLE_NETWORK },
	{ "connection error", TROUBLE_NETWORK },
	{ "connection refused", TROUBLE_NETWORK },
	{ "cannot connect", TROUBLE_NETWORK },
	{ "unable to connect", TROUBLE_NETWORK },
	{ "stream disconnected", TROUBLE_NETWORK },
	{ "error sending request", TROUBLE_NETWORK },
	{ "timed out", TROUBLE_NETWORK },
	{ "interrupted", TROUBLE_INTERRUPTED },
	{ "aborted", TROUBLE_INTERRUPTED },
	{ "bad request", TROUBLE_REFUSED },
	{ "invalid_request", TROUBLE_REFUSED },
	{ "model_not_found", TROUBLE_REFUSED },
};

/* A message says what is wrong at its start; further down it may quote anything. */
enum { TEXT_LOOK = 4096 };

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* The beginning of a text in lower case, so that looking for many phrases is cheap. */
static str lowered(str text, char room[static TEXT_LOOK])
{
	text = str_sub(text, 0, TEXT_LOOK);
	for (size_t i = 0; i < text.n; i++)
		room[i] = lower(text.p[i]);
	return (str){ room, text.n };
}

static enum trouble by_phrase(str text, const struct phrase *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (str_contains(text, str_from(p[i].text)))
			return p[i].trouble;
	return TROUBLE_NONE;
}

/*
 * A number from 400 to 599 shortly after a word that announces it: "status: 429", "API Error: 400".
 */
static int status_in(str text)
{
	static const char *const words[] = { "status", "error", "code", "http" };

	for (size_t w = 0; w < ARRAY_LEN(words); w++) {
		str rest = text;
		size_t at;

		while ((at = str_find(rest, str_from(words[w]))) < rest.n) {
			rest = str_sub(rest, at + strlen(words[w]), rest.n);
			for (size_t i = 0; i < 8 && i + 3 <= rest.n; i++) {
				int64_t n;

				if (!digit(rest.p[i]))
					continue;
				if ((i + 3 == rest.n || !digit(rest.p[i + 3])) &&
						str_to_i64(str_sub(rest, i, 3), &n) && n >= 400 &&
						n <= 599)
					return (int)n;
				break;
			}
		}
	}
	return 0;
}

enum trouble trouble_of_text(str text, int *ret_status)
{
	char room[TEXT_LOOK];
	enum trouble t;
	int status;

	text = lowered(text, room);
	status = status_in(text);
	if (ret_status)
		*ret_status = status;
	t = by_phrase(text, sure, ARRAY_LEN(sure));
	if (t == TROUBLE_NONE)
		t = trouble_of_status(status);
	if (t == TROUBLE_NONE)
		t = by_phrase(text, likely, ARRAY_LEN(likely));
	return t == TROUBLE_NONE ? TROUBLE_OTHER : t;
}

/*
 * "2 days 3 hours 5 minutes", "18h32m10s", "12.3s" at the start of the text; 0 when there is none.
 */
static int64_t wait_at(str s)
{
	static const struct {
		char letter;
		int64_t ms;
	} units[] = { { 'd', OV_DAY }, { 'h', OV_HOUR }, { 'm', OV_MINUTE }, { 's', OV_SECOND } };
	int64_t total = 0;

	for (;;) {
		int64_t n = 0, unit = 0;
		size_t i = 0;

		while (i < s.n && (s.p[i] == ' ' || s.p[i] == ','))
			i++;
		if (i == s.n || !digit(s.p[i]))
			return total;
		for (; i < s.n && digit(s.p[i]); i++)
			n = MIN(n * 10 + (s.p[i] - '0'), 100000);
		if (i < s.n && s.p[i] == '.')
			for (i++; i < s.n && digit(s.p[i]); i++)
				;
		while (i < s.n && s.p[i] == ' ')
			i++;
		for (size_t k = 0; i < s.n && k < ARRAY_LEN(units); k++)
			if (s.p[i] == units[k].letter)
				unit = units[k].ms;
		if (i + 1 < s.n && s.p[i] == 'm' && s.p[i + 1] == 's')
			unit = 1;
		if (!unit)
			return total;
		total += n * unit;
		while (i < s.n && s.p[i] >= 'a' && s.p[i] <= 'z')
			i++;
		s = str_sub(s, i, s.n);
	}
}

void trouble_when(str text, ov_time *ret_resets_at, int64_t *ret_wait_ms)
{
	static const char *const before[] = { "try again in ", "retry in ", "retry after ",
		"reset after ", "resets in ", "reset in " };
	char room[TEXT_LOOK];
	size_t at;

	text = lowered(text, room);
	*ret_resets_at = 0;
	*ret_wait_ms = 0;
	at = str_find(text, STR("limit reached|"));
	if (at < text.n) {
		str rest = str_sub(text, at + strlen("limit reached|"), text.n);
		size_t n = 0;
		int64_t seconds;

		while (n < rest.n && digit(rest.p[n]))
			n++;
		if (str_to_i64(str_sub(rest, 0, n), &seconds) && seconds < OV_TIME_MAX / 1000)
			*ret_resets_at = seconds * 1000;
	}
	for (size_t i = 0; i < ARRAY_LEN(before) && !*ret_resets_at && !*ret_wait_ms; i++) {
		at = str_find(text, str_from(before[i]));
		if (at < text.n)
			*ret_wait_ms = wait_at(str_sub(text, at + strlen(before[i]), text.n));
	}
}
