#include "core/text/last_lines.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/model/limits.h"
#include "data/report/terminal.h"

/* A line that was written over shows its last version, as on a terminal. */
static str written_over(str line)
{
	size_t from;

	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	from = line.n;
	while (from && line.p[from - 1] != '\r')
		from--;
	return str_sub(line, from, line.n);
}

static str shown(struct arena *a, str line)
{
	str text = str_trim(utf8_clean(a, terminal_text(a, written_over(line)))), cut;

	cut = utf8_truncate(text, LAST_LINE_BYTES);
	if (cut.n == text.n)
		return text;
	return arena_printf(a, STR_FMT "...", STR_ARG(utf8_truncate(text, LAST_LINE_BYTES - 3)));
}

str last_lines(struct arena *a, str text)
{
	str out = STR("");
	size_t lines = 0;

	while (text.n && lines < LAST_LINES) {
		size_t from = text.n;
		str line;

		while (from && text.p[from - 1] != '\n')
			from--;
		line = shown(a, str_sub(text, from, text.n));
		text = str_sub(text, 0, from ? from - 1 : 0);
		if (!line.n)
			continue;
		if (out.n + line.n + 1 > LIMIT_LAST_LINES)
			break;
		out = arena_printf(a, STR_FMT "%s" STR_FMT, STR_ARG(line), out.n ? "\n" : "",
				STR_ARG(out));
		lines++;
	}
	return out;
}

str last_line(str lines)
{
	size_t from = lines.n;

	while (from && lines.p[from - 1] != '\n')
		from--;
	return str_sub(lines, from, lines.n);
}
