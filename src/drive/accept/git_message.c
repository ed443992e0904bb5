/* The message of an accepted commit: without attribution lines, with the trailer that names it. */
#include <strings.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "drive/accept/git_target_steps.h"

static bool starts_fold(str s, str prefix)
{
	return s.n >= prefix.n && strncasecmp(s.p, prefix.p, prefix.n) == 0;
}

/* Trailers that only we may write. */
static bool line_is_ours(str line)
{
	str s = str_trim(line);

	return starts_fold(s, STR("overseer-accept:")) || starts_fold(s, STR("overseer-revert:"));
}

/*
 * Lines in which tools credit themselves. What was "generated with" something may be said in prose,
 * too; a tool's line begins with a symbol, or goes on with its name or a link, and is no sentence.
 */
static bool line_credits(str line)
{
	static const str trailers[] = {
		STR("co-authored-by:"),
		STR("assisted-by:"),
		STR("generated-by:"),
	};
	static const str words = STR("generated with ");
	str s = str_trim(line);
	size_t n = s.n;

	/* A symbol or bracket before the words does not hide them. */
	while (s.n && ((unsigned char)s.p[0] >= 128 || strchr(" \t[(*_-", s.p[0])))
		s = str_sub(s, 1, s.n);
	for (size_t i = 0; i < ARRAY_LEN(trailers); i++)
		if (starts_fold(s, trailers[i]))
			return true;
	if (!starts_fold(s, words) || s.n == words.n)
		return false;
	return s.n < n ||
			((s.p[words.n] == '[' || (s.p[words.n] >= 'A' && s.p[words.n] <= 'Z')) &&
					s.p[s.n - 1] != '.');
}

static bool line_is_trailer(str line)
{
	size_t colon = str_find_byte(line, ':');

	if (!colon || colon + 1 >= line.n || line.p[colon + 1] != ' ')
		return false;
	for (size_t i = 0; i < colon; i++)
		if (!((line.p[i] >= 'a' && line.p[i] <= 'z') ||
				    (line.p[i] >= 'A' && line.p[i] <= 'Z') ||
				    (line.p[i] >= '0' && line.p[i] <= '9') || line.p[i] == '-'))
			return false;
	return true;
}

/* Is the last paragraph, which must not be the subject, made of trailers? */
static bool ends_in_trailers(str message)
{
	str rest, line;
	size_t at = 0;

	for (size_t i = 0; i + 1 < message.n; i++)
		if (message.p[i] == '\n' && message.p[i + 1] == '\n')
			at = i + 2;
	if (!at)
		return false;
	rest = str_sub(message, at, message.n);
	while (str_split(&rest, '\n', &line))
		if (!line_is_trailer(line))
			return false;
	return true;
}

/*
 * Where the paragraphs at the end begin that hold nothing but trailers and credits. Only there a
 * line is a credit; above it is what the author wrote.
 */
static size_t tail_begins(str message)
{
	size_t at = message.n, tail = message.n;

	while (at) {
		size_t end = at - (message.p[at - 1] == '\n'), from = end;
		str line;

		while (from && message.p[from - 1] != '\n')
			from--;
		line = str_trim(str_sub(message, from, end - from));
		if (!line.n)
			tail = from;
		else if (!line_credits(line) && !line_is_ours(line) && !line_is_trailer(line))
			return tail;
		at = from;
	}
	/* All of it: the subject is none, if it is more than a credit itself. */
	return line_credits(message) ? 0 : tail;
}

str git_message_squash(struct arena *a, str message, str fallback, const char *trailer, str key)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	str rest = utf8_clean(a, message), line, text;
	size_t blank = 0;
	const char *tail = rest.p + tail_begins(rest);

	while (str_split(&rest, '\n', &line)) {
		line = str_sub(line, 0, line.n);
		while (line.n && (line.p[line.n - 1] == ' ' || line.p[line.n - 1] == '\t'))
			line.n--;
		if (line_is_ours(line) || (line.n && line.p >= tail && line_credits(line)))
			continue;
		if (!line.n) {
			blank++;
			continue;
		}
		if (b.n && blank)
			buf_addc(&b, '\n');
		blank = 0;
		buf_adds(&b, line);
		buf_addc(&b, '\n');
	}
	text = b.n ? buf_str(&b) : arena_printf(a, STR_FMT "\n", STR_ARG(fallback));
	return arena_printf(a, STR_FMT "%s%s: " STR_FMT "\n", STR_ARG(text),
			ends_in_trailers(str_trim(text)) ? "" : "\n", trailer, STR_ARG(key));
}
