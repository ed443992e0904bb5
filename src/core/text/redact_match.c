/* Secrets that are known by how they begin, and by the name that they are given to. */
#include "base/str.h"
#include "core/text/redact_impl.h"

const unsigned char byte_classes[256] = {
	['A' ... 'Z'] = C_UPPER,
	['a' ... 'z'] = C_LOWER,
	['0' ... '9'] = C_DIGIT,
	['_'] = C_UNDER,
	['-'] = C_DASH,
	['.'] = C_DOT,
	['/'] = C_SLASH,
	['+'] = C_SLASH,
	['~'] = C_TILDE,
};

size_t run_length(str s, size_t at, unsigned set, size_t max)
{
	size_t n = 0;

	while (n < max && at + n < s.n && byte_in(s.p[at + n], set))
		n++;
	return n;
}

/* Is there a run of n letters and digits with one of each: not what words look like? */
static bool looks_random(str s, size_t n)
{
	unsigned seen = 0;
	size_t run = 0;

	for (size_t i = 0; i < s.n; i++) {
		unsigned c = byte_classes[(unsigned char)s.p[i]];

		if (!(c & C_ALNUM)) {
			seen = 0;
			run = 0;
			continue;
		}
		seen |= c;
		if (++run >= n && (seen & C_DIGIT) && (seen & C_ALPHA))
			return true;
	}
	return false;
}

static char lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
}

bool text_at(str s, size_t at, const char *text)
{
	for (; *text; text++, at++)
		if (at >= s.n || lower(s.p[at]) != *text)
			return false;
	return true;
}

/* ---- by prefix ---- */

enum {
	NEEDS_RANDOM = 1, /* words may follow the prefix: only what no word looks like counts */
	NEEDS_DIGIT = 2,
	NEEDS_DOTS = 4,     /* three parts */
	EXACT = 8,          /* just that long, then a boundary */
	NOT_IN_BASE64 = 16, /* letters alone, as stand in any encoded file: not after / or + */
	ANY_CASE = 32,
};

struct prefix_rule {
	enum secret kind;
	const char *prefix;
	unsigned set; /* of the bytes after it */
	size_t min;   /* number of them */
	unsigned flags;
};

/* Longer prefixes before shorter ones that they begin with. */
static const struct prefix_rule prefix_rules[] = {
	{ SECRET_ANTHROPIC, "sk-ant-", C_URL64, 20, NEEDS_RANDOM },
	{ SECRET_OPENROUTER, "sk-or-", C_URL64, 20, NEEDS_RANDOM },
	{ SECRET_OPENAI, "sk-proj-", C_URL64, 20, NEEDS_RANDOM },
	{ SECRET_OPENAI, "sk-svcacct-", C_URL64, 20, NEEDS_RANDOM },
	{ SECRET_OPENAI, "sk-admin-", C_URL64, 20, NEEDS_RANDOM },
	{ SECRET_OPENAI, "sess-", C_ALNUM, 32, NEEDS_RANDOM },
	{ SECRET_OPENAI, "sk-", C_ALNUM, 20, NEEDS_RANDOM },
	{ SECRET_GOOGLE, "AIza", C_URL64, 30, NOT_IN_BASE64 },
	{ SECRET_XAI, "xai-", C_ALNUM, 20, NEEDS_RANDOM },
	{ SECRET_GROQ, "gsk_", C_ALNUM, 20, NEEDS_RANDOM },
	{ SECRET_HUGGINGFACE, "hf_", C_ALNUM, 20, 0 },
	{ SECRET_PROVIDER, "pplx-", C_ALNUM, 20, NEEDS_RANDOM },
	{ SECRET_PROVIDER, "r8_", C_ALNUM, 20, NEEDS_RANDOM },
	{ SECRET_PROVIDER, "fw_", C_ALNUM, 20, NEEDS_RANDOM },
	{ SECRET_GITHUB, "ghp_", C_ALNUM, 20, 0 },
	{ SECRET_GITHUB, "gho_", C_ALNUM, 20, 0 },
	{ SECRET_GITHUB, "ghu_", C_ALNUM, 20, 0 },
	{ SECRET_GITHUB, "ghs_", C_ALNUM, 20, 0 },
	{ SECRET_GITHUB, "ghr_", C_ALNUM, 20, 0 },
	{ SECRET_GITHUB, "github_pat_", C_WORD, 20, NEEDS_RANDOM },
	{ SECRET_GITLAB, "glpat-", C_URL64, 16, NEEDS_DIGIT },
	{ SECRET_GITLAB, "gldt-", C_URL64, 16, NEEDS_DIGIT },
	{ SECRET_GITLAB, "glrt-", C_URL64, 16, NEEDS_DIGIT },
	{ SECRET_GITLAB, "glcbt-", C_URL64, 16, NEEDS_DIGIT },
	{ SECRET_GITLAB, "glptt-", C_URL64, 16, NEEDS_DIGIT },
	{ SECRET_GITLAB, "glsoat-", C_URL64, 16, NEEDS_DIGIT },
	{ SECRET_GITLAB, "glagent-", C_URL64, 16, NEEDS_DIGIT },
	{ SECRET_SLACK, "xoxa-", C_URL64, 10, NEEDS_DIGIT },
	{ SECRET_SLACK, "xoxb-", C_URL64, 10, NEEDS_DIGIT },
	{ SECRET_SLACK, "xoxc-", C_URL64, 10, NEEDS_DIGIT },
	{ SECRET_SLACK, "xoxd-", C_URL64, 10, NEEDS_DIGIT },
	{ SECRET_SLACK, "xoxe-", C_URL64, 10, NEEDS_DIGIT },
	{ SECRET_SLACK, "xoxp-", C_URL64, 10, NEEDS_DIGIT },
	{ SECRET_SLACK, "xoxr-", C_URL64, 10, NEEDS_DIGIT },
	{ SECRET_SLACK, "xoxs-", C_URL64, 10, NEEDS_DIGIT },
	{ SECRET_SLACK, "xapp-", C_URL64, 10, NEEDS_DIGIT },
	{ SECRET_SLACK_HOOK, "hooks.slack.com/services/", C_ALNUM | C_SLASH, 20, NEEDS_DIGIT },
	{ SECRET_SLACK_HOOK, "hooks.slack.com/workflows/", C_ALNUM | C_SLASH, 20, NEEDS_DIGIT },
	{ SECRET_AWS_ID, "AKIA", C_UPPER | C_DIGIT, 16, EXACT | NOT_IN_BASE64 },
	{ SECRET_AWS_ID, "ASIA", C_UPPER | C_DIGIT, 16, EXACT | NOT_IN_BASE64 | NEEDS_DIGIT },
	{ SECRET_STRIPE, "sk_live_", C_ALNUM, 16, 0 },
	{ SECRET_STRIPE, "sk_test_", C_ALNUM, 16, NEEDS_DIGIT },
	{ SECRET_STRIPE, "rk_live_", C_ALNUM, 16, 0 },
	{ SECRET_OTHER, "SG.", C_URL64 | C_DOT, 40, NEEDS_RANDOM },
	{ SECRET_OTHER, "dop_v1_", C_ALNUM, 32, NEEDS_DIGIT },
	{ SECRET_PACKAGES, "pypi-", C_URL64, 40, NEEDS_RANDOM },
	{ SECRET_NPM, "npm_", C_ALNUM, 30, NEEDS_DIGIT },
	{ SECRET_JWT, "eyJ", C_URL64 | C_DOT, 30, NEEDS_DOTS },
	{ SECRET_BEARER, "bearer ", C_VALUE, 16, NEEDS_DIGIT | ANY_CASE },
};

static bool has_digit(str s)
{
	for (size_t i = 0; i < s.n; i++)
		if (byte_in(s.p[i], C_DIGIT))
			return true;
	return false;
}

/* header.payload.signature, none of them short */
static bool has_three_parts(str s)
{
	size_t parts = 0;
	str part;

	while (str_split(&s, '.', &part) && part.n >= 8)
		parts++;
	return parts == 3;
}

static bool prefix_fits(const struct prefix_rule *rule, str body)
{
	if (body.n < rule->min)
		return false;
	if ((rule->flags & NEEDS_RANDOM) && !looks_random(body, 16))
		return false;
	if ((rule->flags & NEEDS_DIGIT) && !has_digit(body))
		return false;
	return !(rule->flags & NEEDS_DOTS) || has_three_parts(body);
}

static bool goes_on(str s, size_t at)
{
	return at < s.n && byte_in(s.p[at], C_WORD | C_SLASH);
}

static bool prefix_matches(const struct redact_scan *r, const struct prefix_rule *rule, size_t at,
		struct secret_span *ret)
{
	str s = r->s;
	size_t n = strlen(rule->prefix), body = at + n, len;

	if (at + n > s.n)
		return false;
	if (rule->flags & ANY_CASE ? !text_at(s, at, rule->prefix)
				   : memcmp(s.p + at, rule->prefix, n) != 0)
		return false;
	if ((rule->flags & NOT_IN_BASE64) && at > 0 && byte_in(s.p[at - 1], C_SLASH))
		return false;
	len = run_length(s, body, rule->set, REDACT_REACH);
	if ((rule->flags & EXACT) && (len != rule->min || goes_on(s, body + len)))
		return false;
	if (!prefix_fits(rule, str_sub(s, body, len)))
		return false;
	*ret = (struct secret_span){ rule->kind == SECRET_BEARER ? body : at,
		body + run_length(s, body, rule->set, SIZE_MAX), rule->kind };
	/* padding */
	while (rule->kind == SECRET_BEARER && ret->to < s.n && s.p[ret->to] == '=')
		ret->to++;
	return true;
}

/* The second letters of the prefixes, by their first: one bit per letter, for a quick no. */
#define BIT(c) (1u << ((c)&31))
static const uint32_t seconds[32] = {
	['A' & 31] = BIT('I') | BIT('K') | BIT('S'),
	['b' & 31] = BIT('e'),
	['d' & 31] = BIT('o'),
	['e' & 31] = BIT('y'),
	['f' & 31] = BIT('w'),
	['g' & 31] = BIT('h') | BIT('i') | BIT('l') | BIT('s'),
	['h' & 31] = BIT('f') | BIT('o'),
	['n' & 31] = BIT('p'),
	['p' & 31] = BIT('p') | BIT('y'),
	['r' & 31] = BIT('8') | BIT('k'),
	['s' & 31] = BIT('e') | BIT('G') | BIT('k'),
	['x' & 31] = BIT('a') | BIT('o'),
};

bool secret_by_prefix(const struct redact_scan *r, size_t at, struct secret_span *ret)
{
	if (at + 1 >= r->s.n || !(seconds[r->s.p[at] & 31] & BIT(r->s.p[at + 1])))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(prefix_rules); i++) {
		const struct prefix_rule *rule = &prefix_rules[i];

		if (lower(r->s.p[at]) == lower(rule->prefix[0]) && prefix_matches(r, rule, at, ret))
			return true;
	}
	return false;
}
#undef BIT

/* ---- by name ---- */

enum value_form { FORM_PLAIN, FORM_RANDOM, FORM_AUTH, FORM_COOKIE };

struct name_rule {
	const char *name; /* lower case, without - and _ */
	bool whole;       /* or the end of a longer name */
	enum secret kind;
	enum value_form form;
	size_t min;
};

static const struct name_rule name_rules[] = {
	{ "cookie", true, SECRET_COOKIE, FORM_COOKIE, 0 },
	{ "setcookie", true, SECRET_COOKIE, FORM_COOKIE, 0 },
	{ "authorization", false, SECRET_AUTH, FORM_AUTH, 0 },
	{ "secretaccesskey", false, SECRET_AWS, FORM_PLAIN, 16 },
	{ "awssecretkey", false, SECRET_AWS, FORM_PLAIN, 16 },
	{ "awssessiontoken", false, SECRET_AWS, FORM_PLAIN, 16 },
	{ "clientkeydata", false, SECRET_KUBE, FORM_PLAIN, 16 },
	{ "authtoken", false, SECRET_NPM, FORM_PLAIN, 8 },
	{ "auth", true, SECRET_NPM, FORM_RANDOM, 16 },
	{ "token", false, SECRET_OTHER, FORM_RANDOM, 16 },
	{ "apikey", false, SECRET_OTHER, FORM_RANDOM, 16 },
	{ "secret", false, SECRET_OTHER, FORM_RANDOM, 16 },
	{ "secretkey", false, SECRET_OTHER, FORM_RANDOM, 16 },
	{ "accesskey", false, SECRET_OTHER, FORM_RANDOM, 16 },
	{ "privatekey", false, SECRET_OTHER, FORM_RANDOM, 16 },
	{ "password", false, SECRET_OTHER, FORM_RANDOM, 16 },
	{ "passwd", false, SECRET_OTHER, FORM_RANDOM, 16 },
	{ "credential", false, SECRET_OTHER, FORM_RANDOM, 16 },
};

enum { NAME_MAX_LEN = 48 };

static bool is_quote(char c)
{
	return c == '"' || c == '\'' || c == '`';
}

/* Where the name before a : or = ends, without quotes and spaces. */
static size_t name_end(const struct redact_scan *r, size_t at)
{
	str s = r->s;
	size_t end = at;

	while (end > r->begin && at - end < 4 && (s.p[end - 1] == ' ' || s.p[end - 1] == ':'))
		end--;
	if (end > r->begin && is_quote(s.p[end - 1]))
		end--;
	if (end > r->begin && s.p[end - 1] == '\\')
		end--;
	return end;
}

/* How the names of the table end: most others are passed by with one look. */
static bool may_be_name(const struct redact_scan *r, size_t end)
{
	static const char ends[][2] = { "ie", "on", "ey", "en", "ta", "th", "et", "rd", "wd",
		"al" };

	for (size_t i = 0; end >= r->begin + 2 && i < ARRAY_LEN(ends); i++)
		if (lower(r->s.p[end - 1]) == ends[i][1] && lower(r->s.p[end - 2]) == ends[i][0])
			return true;
	return false;
}

/* The name that ends there, folded to lower case without - and _. */
static size_t name_fold(const struct redact_scan *r, size_t end, char ret[static NAME_MAX_LEN])
{
	size_t from, n = 0;

	for (from = end; from > r->begin && end - from < NAME_MAX_LEN; from--)
		if (!byte_in(r->s.p[from - 1], C_URL64))
			break;
	for (; from < end; from++)
		if (r->s.p[from] != '-' && r->s.p[from] != '_')
			ret[n++] = lower(r->s.p[from]);
	return n;
}

static const struct name_rule *name_find(str name)
{
	for (size_t i = 0; i < ARRAY_LEN(name_rules); i++) {
		str known = str_from(name_rules[i].name);

		if (name_rules[i].whole ? str_eq(name, known) : str_ends(name, known))
			return &name_rules[i];
	}
	return NULL;
}

static size_t skip_to_value(str s, size_t at)
{
	size_t start = at;

	while (at < s.n && at - start < 16 && (s.p[at] == ' ' || s.p[at] == '\t'))
		at++;
	if (at + 1 < s.n && s.p[at] == '\\' && is_quote(s.p[at + 1]))
		return at + 2;
	return at < s.n && is_quote(s.p[at]) ? at + 1 : at;
}

static size_t value_end(str s, size_t at)
{
	at += run_length(s, at, C_VALUE, SIZE_MAX);
	while (at < s.n && s.p[at] == '=')
		at++;
	return at;
}

/* A value of one word, which is no flag, no variable and no name. */
static bool value_plain(str s, size_t at, const struct name_rule *rule, struct secret_span *ret)
{
	size_t n = run_length(s, at, C_VALUE, REDACT_REACH);

	if (n < rule->min || !byte_in(s.p[at], C_ALNUM | C_SLASH))
		return false;
	if (rule->form == FORM_RANDOM ? !looks_random(str_sub(s, at, n), 16)
				      : !has_digit(str_sub(s, at, n)))
		return false;
	*ret = (struct secret_span){ at, value_end(s, at), rule->kind };
	return true;
}

/* "Scheme credentials", or the credentials alone. */
static bool value_auth(str s, size_t at, struct secret_span *ret)
{
	static const char *const schemes[] = { "basic ", "bearer ", "token ", "apikey ", "key ",
		"digest ", "negotiate ", "aws4-hmac-sha256 " };
	size_t n;

	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		if (text_at(s, at, schemes[i])) {
			bool odd = false;

			at += strlen(schemes[i]);
			n = run_length(s, at, C_VALUE, REDACT_REACH);
			/*
			 * "Basic authentication": words have no digits, and capitals at the
			 * front only.
			 */
			for (size_t k = at + 1; k < at + n; k++)
				odd |= byte_in(s.p[k], C_DIGIT | C_UPPER);
			if (n < 6 || !odd)
				return false;
			*ret = (struct secret_span){ at, value_end(s, at), SECRET_AUTH };
			return true;
		}
	n = run_length(s, at, C_VALUE, REDACT_REACH);
	if (!looks_random(str_sub(s, at, n), 16))
		return false;
	*ret = (struct secret_span){ at, value_end(s, at), SECRET_AUTH };
	return true;
}

static bool ends_header(char c)
{
	return c == '\n' || c == '\r' || is_quote(c) || c == '\\';
}

/* name=value; name=value: to the end of the line, when one of the values is no mere setting. */
static bool value_cookie(str s, size_t at, struct secret_span *ret)
{
	size_t end = at, start = 0;
	bool found = false;

	while (end < s.n && !ends_header(s.p[end]) && end - at < REDACT_REACH && !found) {
		char c = s.p[end++];

		if (c == '=' && end - 1 > at && byte_in(s.p[end - 2], C_WORD))
			start = end;
		else if (c == ' ' || c == ';' || c == ',')
			start = 0;
		found = start && end - start >= 8;
	}
	if (!found)
		return false;
	while (end < s.n && !ends_header(s.p[end]))
		end++;
	*ret = (struct secret_span){ at, end, SECRET_COOKIE };
	return true;
}

bool secret_by_name(const struct redact_scan *r, size_t at, struct secret_span *ret)
{
	char name[NAME_MAX_LEN];
	size_t end = name_end(r, at), from;
	const struct name_rule *rule;

	if (!may_be_name(r, end))
		return false;
	rule = name_find((str){ name, name_fold(r, end, name) });
	if (!rule)
		return false;
	from = skip_to_value(r->s, at + 1);
	if (from >= r->s.n)
		return false;
	switch (rule->form) {
	case FORM_AUTH: return value_auth(r->s, from, ret);
	case FORM_COOKIE: return value_cookie(r->s, from, ret);
	default: return value_plain(r->s, from, rule, ret);
	}
}
