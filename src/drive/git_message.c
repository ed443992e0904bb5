/* The message of an accepted commit: without attribution lines, with the trailer that names it. */
#include <strings.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "drive/git_call.h"
#include "drive/git_steps.h"

static bool starts_fold(str s, str prefix)
{
	return s.n >= prefix.n && strncasecmp(s.p, prefix.p, prefix.n) == 0;
}

/* Lines in which tools credit themselves, and trailers that only we may write. */
static bool line_dropped(str line)
{
	static const str dropped[] = {
		STR_INIT("co-authored-by:"),
		STR_INIT("assisted-by:"),
		STR_INIT("generated-by:"),
		STR_INIT("generated with "),
		STR_INIT("overseer-accept:"),
		STR_INIT("overseer-revert:"),
	};
	str s = str_trim(line);

	/* A symbol or bracket before the words does not hide them. */
	while (s.n && ((unsigned char)s.p[0] >= 128 || strchr(" \t[(*_-", s.p[0])))
		s = str_sub(s, 1, s.n);
	for (size_t i = 0; i < ARRAY_LEN(dropped); i++)
		if (starts_fold(s, dropped[i]))
			return true;
	return false;
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

str git_message_squash(struct arena *a, str message, str fallback, const char *trailer, str key)
{
	_cleanup_(buf_done)
	struct buf b = BUF_INIT;
	str rest = utf8_clean(a, message), line, text;
	size_t blank = 0;

	while (str_split(&rest, '\n', &line)) {
		line = str_sub(line, 0, line.n);
		while (line.n && (line.p[line.n - 1] == ' ' || line.p[line.n - 1] == '\t'))
			line.n--;
		if (line_dropped(line))
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
