#include "core/text/signature.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/utf8.h"

enum {
	READ_MAX = 4096, /* of an error, for its signature */
	ID_MIN = 7,      /* characters of what may be a hash */
	TOKEN_MIN = 16,  /* and of any other id */
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (unsigned char)c >= 0x80;
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

static bool is_word(char c)
{
	return is_letter(c) || is_digit(c) || c == '_';
}

static char at(str s, size_t i)
{
	return i < s.n ? s.p[i] : '\0';
}

/* The length of a terminal's escape sequence at the front, or 0. */
static size_t escape_len(str s)
{
	size_t n = 2;

	if (at(s, 0) != '\x1b' || at(s, 1) != '[')
		return at(s, 0) == '\x1b';
	while (n < s.n && !(s.p[n] >= '@' && s.p[n] <= '~'))
		n++;
	return n < s.n ? n + 1 : n;
}

static size_t word_len(str s)
{
	size_t n = 0;

	while (n < s.n && is_word(s.p[n]))
		n++;
	return n;
}

/* 8-4-4-4-12 */
static bool is_uuid(str s)
{
	for (size_t i = 0; i < 36; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? at(s, i) != '-' : !is_hex(at(s, i)))
			return false;
	}
	return !is_word(at(s, 36));
}

static bool is_unit(str s)
{
	static const char *const units[] = { "s", "ms", "us", "ns", "m", "h", "B", "b", "kB", "KB",
		"MB", "GB", "KiB", "MiB", "GiB", "Z", "x", "st", "nd", "rd", "th", "L" };

	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (str_is(s, units[i]))
			return true;
	return false;
}

/* A number, time, date, duration or version at the front: "12", "10:32:07.120Z", "3.5s". */
static size_t number_len(str s)
{
	size_t n = 0, unit;

	if (at(s, 0) == '0' && (at(s, 1) == 'x' || at(s, 1) == 'X') && is_hex(at(s, 2))) {
		for (n = 3; is_hex(at(s, n)); n++)
			;
		return n;
	}
	while (is_digit(at(s, n)) ||
			(n && at(s, n) && strchr(".:,-+T/_", at(s, n)) && is_digit(at(s, n + 1))))
		n++;
	unit = word_len(str_sub(s, n, s.n));
	return n && is_unit(str_sub(s, n, unit)) ? n + unit : n;
}

/* A word that names nothing but this one occurrence: a hash, an id, a temporary name. */
static bool is_id(str word)
{
	size_t digits = 0, hex = 0, under = 0;

	for (size_t i = 0; i < word.n; i++) {
		digits += is_digit(word.p[i]);
		hex += is_hex(word.p[i]);
		under += word.p[i] == '_';
	}
	if (str_starts(word, STR("tmp")) && word.n >= ID_MIN)
		return true;
	return (hex == word.n && digits && word.n >= ID_MIN) ||
			(word.n >= TOKEN_MIN && digits >= 3 && !under);
}

static bool is_path_byte(char c)
{
	return is_word(c) || (c && strchr("/.-+@~%", c));
}

/* The length of a path at the front, which has a slash in it; else 0. */
static size_t path_len(str s)
{
	size_t n = 0;
	bool slash = false;

	while (is_path_byte(at(s, n)))
		slash |= s.p[n++] == '/';
	while (n && at(s, n - 1) == '.')
		n--;
	return slash && n > 1 ? n : 0;
}

static void fold_words(struct buf *out, str s);

/* Where a file is differs from worktree to worktree; which it is does not. */
static void fold_path(struct buf *out, str path)
{
	static const char *const tmps[] = { "/tmp/", "/var/tmp/", "/dev/shm/" };
	size_t from = path.n;

	while (from && path.p[from - 1] != '/')
		from--;
	for (size_t i = 0; i < ARRAY_LEN(tmps); i++)
		if (str_starts(path, str_from(tmps[i])) && from == strlen(tmps[i]))
			from = path.n;
	buf_addc(out, '/');
	fold_words(out, str_sub(path, from, path.n));
}

/* One piece off the front of s, folded; returns its length. */
static size_t fold_piece(struct buf *out, str s, bool paths)
{
	size_t n = paths ? path_len(s) : 0, number = number_len(s);

	if (at(s, 0) == '-' && is_digit(at(s, 1)) && (!out->n || out->p[out->n - 1] == ' '))
		return 1;
	if (is_uuid(s)) {
		buf_addc(out, '#');
		return 36;
	}
	if (number && !is_word(at(s, number)) && number >= n) {
		buf_addc(out, '#');
		return number;
	}
	if (n) {
		fold_path(out, str_sub(s, 0, n));
		return n;
	}
	n = word_len(s);
	if (n && is_id(str_sub(s, 0, n)))
		buf_addc(out, '#');
	else
		buf_add(out, s.p, n ? n : 1);
	return n ? n : 1;
}

static void fold_words(struct buf *out, str s)
{
	while (s.n && out->n < SIGNATURE_MAX)
		s = str_sub(s, fold_piece(out, s, false), s.n);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

str error_signature(struct arena *a, str error)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;
	str s = str_trim(str_sub(error, 0, READ_MAX));

	while (s.n && out.n < SIGNATURE_MAX) {
		size_t skip = escape_len(s);

		if (!skip && is_space(s.p[0])) {
			skip = 1;
			if (out.n && out.p[out.n - 1] != ' ')
				buf_addc(&out, ' ');
		}
		s = str_sub(s, skip ? skip : fold_piece(&out, s, true), s.n);
	}
	return utf8_truncate(utf8_clean(a, str_trim(buf_str(&out))), SIGNATURE_MAX);
}

static char fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same_folded(str a, str b)
{
	for (size_t i = 0; i < a.n; i++)
		if (i >= b.n || fold(a.p[i]) != fold(b.p[i]))
			return false;
	return a.n == b.n;
}

/* Words too common to say what a text is about. */
static bool is_stop_word(str w)
{
	static const char *const stop[] = { "a", "an", "the", "and", "or", "but", "not", "no", "of",
		"in", "on", "at", "to", "for", "from", "by", "with", "as", "is", "are", "was",
		"were", "be", "been", "being", "it", "its", "this", "that", "these", "those", "i",
		"we", "you", "they", "he", "she", "my", "our", "your", "their", "do", "does", "did",
		"done", "has", "have", "had", "will", "would", "can", "could", "should", "must",
		"may", "so", "if", "then", "than", "when", "while", "which", "who", "what", "how",
		"all", "any", "each", "some", "more", "most", "other", "such", "into", "out", "up",
		"down", "over", "under", "again", "only", "own", "same", "too", "very", "now",
		"also", "just", "there", "here", "after", "before", "about", "because", "still",
		"us", "them", "let", "make", "made", "get", "got", "use", "used", "using" };

	for (size_t i = 0; i < ARRAY_LEN(stop); i++)
		if (same_folded(w, str_from(stop[i])))
			return true;
	return false;
}

enum { WORDS_MAX = 256 };

struct words {
	str p[WORDS_MAX];
	size_t n;
};

/* Takes the next run of letters and digits off the front; empty at the end. */
static str next_word(str *s)
{
	size_t from = 0, n = 0;

	while (from < s->n && !is_letter(s->p[from]) && !is_digit(s->p[from]))
		from++;
	while (is_letter(at(*s, from + n)) || is_digit(at(*s, from + n)))
		n++;
	str word = str_sub(*s, from, n);

	*s = str_sub(*s, from + n, s->n);
	return word;
}

static void add_words(struct words *w, str text)
{
	for (str word = next_word(&text); word.n && w->n < WORDS_MAX; word = next_word(&text)) {
		bool known = is_stop_word(word) || word.n < 2;

		for (size_t i = 0; i < w->n && !known; i++)
			known = same_folded(w->p[i], word);
		if (!known)
			w->p[w->n++] = word;
	}
}

/* "test" and "tests", "fix" and "fixed", "parser" and "parsing". */
static bool same_word(str a, str b)
{
	str shorter = a.n <= b.n ? a : b, longer = a.n <= b.n ? b : a;
	size_t common = 0;

	while (common < shorter.n && fold(shorter.p[common]) == fold(longer.p[common]))
		common++;
	if (common == shorter.n && shorter.n >= 3 && longer.n - shorter.n <= 3)
		return true;
	return common == longer.n || (common >= 4 && common * 3 >= shorter.n * 2);
}

static size_t found_in(const struct words *a, const struct words *b)
{
	size_t n = 0;

	for (size_t i = 0; i < a->n; i++)
		for (size_t k = 0; k < b->n; k++)
			if (same_word(a->p[i], b->p[k])) {
				n++;
				break;
			}
	return n;
}

bool words_similarity(str objective, const str *texts, size_t n, int64_t *ret_milli)
{
	struct words a = { .n = 0 }, b = { .n = 0 };

	add_words(&a, objective);
	for (size_t i = 0; i < n; i++)
		add_words(&b, texts[i]);
	if (!a.n || !b.n)
		return false;
	/* A short text about a long objective says only a part of it, and the other way round. */
	*ret_milli = (int64_t)(a.n <= b.n ? found_in(&a, &b) * 1000 / a.n
					  : found_in(&b, &a) * 1000 / b.n);
	return true;
}
