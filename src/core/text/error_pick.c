/* The telling part of a long output. */
#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/text/signature.h"

enum {
	LINES_MAX = 8, /* that are picked */
	LINE_MAX_BYTES = 300,
	LAST_LINES = 3, /* of an output that names no error */
	OUTPUT_MAX = 1024 * 1024,
};

/* How surely a line says what went wrong; folded to lower case, the first that fits counts. */
static const struct {
	const char *text;
	int score;
} signs[] = {
	{ "0 errors", 0 },
	{ "0 error(s)", 0 },
	{ "no errors", 0 },
	{ "0 failed", 0 },
	{ "0 failures", 0 },
	{ "failures: 0", 0 },
	{ "errors: 0", 0 },
	{ "traceback (most", 0 },
	{ "error:", 2 },
	{ "error[", 2 },
	{ "error ts", 2 },
	{ "exception:", 2 },
	{ "assertion", 2 },
	{ "panicked", 2 },
	{ "panic:", 2 },
	{ "fatal", 2 },
	{ "not ok ", 2 },
	{ "undefined reference", 2 },
	{ "undefined symbol", 2 },
	{ "segmentation fault", 2 },
	{ "no such file", 2 },
	{ "not found", 2 },
	{ "permission denied", 2 },
	{ "cannot ", 2 },
	{ "--- fail", 2 },
	{ "failed ", 2 },
	{ "fail:", 2 },
	{ "error", 1 },
	{ "fail", 1 },
	{ "exception", 1 },
	{ "timed out", 1 },
	{ "timeout", 1 },
	{ "expected", 1 },
	{ "abort", 1 },
	{ "killed", 1 },
};

static char fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool has(str line, const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i + n <= line.n; i++) {
		size_t k = 0;

		while (k < n && fold(line.p[i + k]) == text[k])
			k++;
		if (k == n)
			return true;
	}
	return false;
}

static int score_of(str line)
{
	for (size_t i = 0; i < ARRAY_LEN(signs); i++)
		if (has(line, signs[i].text))
			return signs[i].score;
	return 0;
}

/* Without a terminal's colours; cut. */
static str plain(struct arena *a, str line)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;

	for (size_t i = 0; i < line.n && out.n < LINE_MAX_BYTES; i++) {
		if (line.p[i] != '\x1b') {
			buf_addc(&out, line.p[i]);
			continue;
		}
		if (i + 1 < line.n && line.p[i + 1] == '[')
			for (i += 2; i < line.n && !(line.p[i] >= '@' && line.p[i] <= '~'); i++)
				;
	}
	return utf8_truncate(utf8_clean(a, str_trim(buf_str(&out))), LINE_MAX_BYTES);
}

struct picked {
	str lines[LINES_MAX];
	size_t n;
};

static void pick(struct picked *p, str line)
{
	for (size_t i = 0; i < p->n; i++)
		if (str_eq(p->lines[i], line))
			return;
	if (p->n < LINES_MAX)
		p->lines[p->n++] = line;
}

static void pick_last(struct picked *p, str line)
{
	if (p->n == LAST_LINES)
		memmove(p->lines, p->lines + 1, --p->n * sizeof(p->lines[0]));
	p->lines[p->n++] = line;
}

static str join(struct arena *a, const struct picked *p)
{
	_cleanup_(buf_done) struct buf out = BUF_INIT;

	for (size_t i = 0; i < p->n && out.n + 1 + p->lines[i].n <= ERROR_MAX; i++)
		buf_addf(&out, "%s" STR_FMT, out.n ? "\n" : "", STR_ARG(p->lines[i]));
	return arena_str(a, buf_str(&out));
}

str error_pick(struct arena *a, str output)
{
	struct picked sure = { .n = 0 }, likely = { .n = 0 }, last = { .n = 0 };
	str rest = output.n > OUTPUT_MAX ? str_sub(output, output.n - OUTPUT_MAX, OUTPUT_MAX)
					 : output,
	    line;

	while (str_split(&rest, '\n', &line) && sure.n < LINES_MAX) {
		int score;

		/* Of what a terminal wrote over itself, the last counts. */
		line = str_trim(line);
		for (size_t cr = str_find_byte(line, '\r'); cr < line.n;
				cr = str_find_byte(line, '\r'))
			line = str_sub(line, cr + 1, line.n);
		score = score_of(str_sub(line, 0, 2 * LINE_MAX_BYTES));
		line = score || rest.n < 4096 ? plain(a, line) : STR("");
		if (!line.n)
			continue;
		if (score)
			pick(score == 2 ? &sure : &likely, line);
		pick_last(&last, line);
	}
	return join(a, sure.n ? &sure : likely.n ? &likely : &last);
}
