/* Secrets that are known by where they stand: URLs, PEM blocks, .netrc; and phone numbers. */
#include "base/str.h"
#include "core/text/redact_impl.h"

/* ---- scheme://user:password@host ---- */

static bool ends_authority(char c)
{
	return (unsigned char)c <= ' ' || strchr("/?#\"'`<>|\\{}[]", c);
}

/* A variable or a format, to be filled in by whoever uses the text. */
static bool is_placeholder(str s)
{
	return s.p[0] == '$' || s.p[0] == '*' || str_is(s, "%s");
}

bool secret_in_url(const struct redact_scan *r, size_t at, struct secret_span *ret)
{
	str s = r->s;
	size_t from = at + 3, colon = 0, end = from, host = 0;

	if (!text_at(s, at, "://") || at == 0 || !byte_in(s.p[at - 1], C_ALNUM))
		return false;
	for (; end < s.n && end - from < REDACT_REACH && !ends_authority(s.p[end]); end++) {
		if (s.p[end] == ':' && !colon)
			colon = end;
		else if (s.p[end] == '@')
			host = end;
	}
	if (!colon || host <= colon + 1 || is_placeholder(str_sub(s, colon + 1, host - colon - 1)))
		return false;
	*ret = (struct secret_span){ colon + 1, host, SECRET_URL };
	return true;
}

/* ---- -----BEGIN ... PRIVATE KEY----- ---- */

static const char pem_begin[] = "-----begin ", pem_end[] = "-----end ";
enum { LABEL_MAX = 64, TOKEN_MIN = 16 };

/* "RSA PRIVATE KEY-----" and its like from at on: where it ends, or 0. */
static size_t label_end(str s, size_t at)
{
	str label = str_sub(s, at, LABEL_MAX);
	size_t n = str_find(label, STR("-----"));

	if (n == label.n || str_find(str_sub(label, 0, n), STR("PRIVATE KEY")) == n)
		return 0;
	return at + n + 5;
}

/* Where the next end of a private key is over, from at on; 0 when there is none. */
static size_t find_end(struct redact_scan *r, size_t at)
{
	if (r->pem_known && (r->pem_end == 0 || r->pem_end > at))
		return r->pem_end;
	r->pem_known = true;
	r->pem_end = 0;
	while (at < r->s.n) {
		size_t end, rest = str_find(str_sub(r->s, at, r->s.n - at), STR("-----END "));

		at += rest + strlen(pem_end);
		end = at < r->s.n ? label_end(r->s, at) : 0;
		if (end) {
			r->pem_end = end;
			break;
		}
	}
	return r->pem_end;
}

/* What separates the lines of a key: white space, or \n and \r as JSON writes them. */
static size_t gap_length(str s, size_t at)
{
	size_t n = 0;

	while (at + n < s.n) {
		char c = s.p[at + n];

		if (c == ' ' || c == '\n' || c == '\r' || c == '\t')
			n++;
		else if (c == '\\' && at + n + 1 < s.n &&
				(s.p[at + n + 1] == 'n' || s.p[at + n + 1] == 'r'))
			n += 2;
		else
			break;
	}
	return n;
}

/* A key whose end is missing: as long as its lines go on; the last of them may be short. */
static size_t body_end(str s, size_t at)
{
	size_t start = at, end = at;

	for (;;) {
		size_t from = at + gap_length(s, at), n = run_length(s, from, C_BASE64, SIZE_MAX);

		if (text_at(s, from, "proc-type:") || text_at(s, from, "dek-info:")) {
			at = from + str_find_byte(str_sub(s, from, REDACT_REACH), '\n');
			continue;
		}
		at = from + n;
		while (n && at < s.n && s.p[at] == '=')
			at++;
		if (n < TOKEN_MIN)
			return n && end > start && at == s.n ? at : end;
		end = at;
	}
}

/* A key whose beginning is missing: back to where its lines began. at: of its END. */
static size_t body_begin(const struct redact_scan *r, size_t at)
{
	size_t begin = at, from = at;
	bool key = false;

	for (;;) {
		size_t n = 0;

		while (from > r->begin && strchr(" \t\r\n", r->s.p[from - 1]) && r->s.p[from - 1])
			from--;
		while (from - n > r->begin &&
				(byte_in(r->s.p[from - n - 1], C_BASE64) ||
						r->s.p[from - n - 1] == '='))
			n++;
		/* the last line may be short, and so may what is left of the first */
		if (n == 0 || (n < TOKEN_MIN && begin != at && from - n > r->begin))
			return key ? begin : at;
		key |= n >= TOKEN_MIN;
		begin = from -= n;
	}
}

bool secret_in_pem(struct redact_scan *r, size_t at, struct secret_span *ret)
{
	size_t label, end, begin;

	if (at > r->begin && r->s.p[at - 1] == '-')
		return false;
	if (text_at(r->s, at, pem_begin)) {
		label = label_end(r->s, at + strlen(pem_begin));
		if (!label)
			return false;
		end = find_end(r, label);
		if (!end)
			end = body_end(r->s, label);
		if (end == label)
			return false;
		*ret = (struct secret_span){ at, end, SECRET_PEM };
		return true;
	}
	if (!text_at(r->s, at, pem_end))
		return false;
	label = label_end(r->s, at + strlen(pem_end));
	begin = label ? body_begin(r, at) : at;
	if (begin == at)
		return false;
	*ret = (struct secret_span){ begin, label, SECRET_PEM };
	return true;
}

/* ---- machine HOST login USER password SECRET ---- */

/* The next word from *at on, across lines; empty when there is none within reach. */
static str next_word(str s, size_t *at)
{
	size_t from = *at, n = 0;

	while (from < s.n && from - *at < 64 &&
			(s.p[from] == ' ' || s.p[from] == '\t' || s.p[from] == '\n' ||
					s.p[from] == '\r'))
		from++;
	while (from + n < s.n && n < REDACT_REACH && (unsigned char)s.p[from + n] > ' ')
		n++;
	*at = from + n;
	return str_sub(s, from, n);
}

static bool is_host(str word)
{
	return str_find_byte(word, '.') + 1 < word.n || str_is(word, "localhost");
}

bool secret_in_netrc(const struct redact_scan *r, size_t at, struct secret_span *ret)
{
	bool machine = text_at(r->s, at, "machine "), login = false;

	if (!machine && !text_at(r->s, at, "default "))
		return false;
	at += strlen("machine ");
	if (machine && !is_host(next_word(r->s, &at)))
		return false;
	for (int pairs = 0; pairs < 4; pairs++) {
		str key = next_word(r->s, &at), word = next_word(r->s, &at);

		if (str_is(key, "password") && word.n && (machine || login)) {
			if (str_starts(word, STR("[redacted:")) || is_placeholder(word) ||
					word.p[0] == '<')
				return false;
			*ret = (struct secret_span){ at - word.n, at, SECRET_NETRC };
			return true;
		}
		login |= str_is(key, "login");
		if (!str_is(key, "login") && !str_is(key, "account") && !str_is(key, "port"))
			return false;
	}
	return false;
}

/* ---- phone numbers ---- */

/*
 * Digits in groups, with what people write between them: the number of digits, and where it ends.
 */
static size_t number_at(str s, size_t at, size_t *ret_end, bool *ret_grouped)
{
	size_t digits = 0, between = 0;

	*ret_end = at;
	*ret_grouped = false;
	if (at < s.n && s.p[at] == '+')
		at++;
	for (; at < s.n && digits < 24 && between < 3; at++) {
		if (byte_in(s.p[at], C_DIGIT)) {
			*ret_grouped |= digits && between;
			digits++;
			between = 0;
			*ret_end = at + 1;
		} else if (s.p[at] && strchr(" ().-/", s.p[at])) {
			between++;
		} else {
			break;
		}
	}
	if (*ret_end < s.n && byte_in(s.p[*ret_end], C_WORD))
		return 0;
	return digits;
}

bool secret_phone(const struct redact_scan *r, size_t at, struct secret_span *ret)
{
	static const char *const schemes[] = { "tel:", "sms:", "signal:", "whatsapp:" };
	str s = r->s;
	size_t min = 0, max = 15, n, end;
	bool grouped;

	for (size_t i = 0; i < ARRAY_LEN(schemes); i++)
		if (text_at(s, at, schemes[i])) {
			at += strlen(schemes[i]);
			min = 7;
			break;
		}
	n = number_at(s, at, &end, &grouped);
	if (min) {
		;
	} else if (s.p[at] == '+') {
		min = 8;
	} else if (text_at(s, at, "00")) {
		min = 10;
		max = 17;
	} else if (s.p[at] == '(' || s.p[at] == '0') {
		min = grouped ? 9 : SIZE_MAX;
	} else {
		min = text_at(s, end, "@s.whatsapp.net") || text_at(s, end, "@c.us") ? 7 : SIZE_MAX;
	}
	if (n < min || n > max)
		return false;
	*ret = (struct secret_span){ at, end, SECRET_PHONE };
	return true;
}
