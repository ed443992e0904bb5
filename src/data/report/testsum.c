#include "data/report/testsum.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"
#include "base/utf8.h"
#include "data/report/testsum_impl.h"

enum { LINE_MAX_BYTES = 4096 }; /* what is longer is no line of a summary */

/* The most specific first. */
static const struct testsum_reader *const readers[] = { &junit_reader, &go_json_reader,
	&node_reader, &pytest_reader, &cargo_reader, &ctest_reader, &go_reader, &tap_reader };

/* ---- for the readers ---- */

static bool has_name(const struct testsum *s, str name)
{
	for (size_t i = 0; i < s->names_n; i++)
		if (str_eq(s->names[i], name))
			return true;
	return false;
}

void reading_name(struct testsum_reading *r, str name)
{
	struct testsum *s = &r->sum;

	name = str_trim(utf8_truncate(str_trim(name), TESTSUM_NAME_BYTES));
	if (!name.n || s->names_n == TESTSUM_NAMES)
		return;
	name = utf8_clean(r->a, name);
	if (!has_name(s, name))
		s->names[s->names_n++] = name;
}

void reading_add(int64_t *sum, int64_t n)
{
	const int64_t most = INT64_C(1000000000);

	*sum = MIN(*sum + MIN(n, most), most);
}

bool take_number(str *s, int64_t *ret)
{
	size_t n = 0;

	while (n < s->n && s->p[n] >= '0' && s->p[n] <= '9')
		n++;
	if (!n || !str_to_i64(str_sub(*s, 0, n), ret))
		return false;
	*s = str_sub(*s, n, s->n);
	return true;
}

bool take_word(str *s, const char *word)
{
	str w = str_from(word);

	if (!str_starts(*s, w))
		return false;
	*s = str_sub(*s, w.n, s->n);
	return true;
}

void take_spaces(str *s)
{
	while (s->n && (s->p[0] == ' ' || s->p[0] == '\t'))
		*s = str_sub(*s, 1, s->n);
}

/* ---- lines ---- */

/* The length of the escape sequence at i, or 0: ESC [ parameters, and a letter. */
static size_t escape_at(str s, size_t i)
{
	size_t n = 2;

	if (s.p[i] != '\x1b' || i + 1 >= s.n || s.p[i + 1] != '[')
		return 0;
	while (i + n < s.n && (unsigned char)s.p[i + n] < 0x40)
		n++;
	return i + n < s.n ? n + 1 : 0;
}

/* Without colours. *b is reused from line to line. */
static str plain(struct buf *b, str line)
{
	if (str_find_byte(line, '\x1b') == line.n)
		return line;
	buf_clear(b);
	for (size_t i = 0; i < line.n;) {
		size_t n = escape_at(line, i);

		if (!n)
			buf_addc(b, line.p[i]);
		i += n ? n : 1;
	}
	return buf_str(b);
}

/* CR ends a line as well: what is written over was there, and CR LF gives an empty one. */
static bool next_line(str *rest, str *ret)
{
	size_t n = 0;

	if (!rest->n)
		return false;
	while (n < rest->n && rest->p[n] != '\n' && rest->p[n] != '\r')
		n++;
	*ret = str_sub(*rest, 0, n);
	*rest = str_sub(*rest, n + 1, rest->n);
	return true;
}

static void read_lines(struct testsum_reading *readings, str output)
{
	_cleanup_(buf_done) struct buf b = BUF_INIT;
	str line;

	while (next_line(&output, &line)) {
		if (!line.n || line.n > LINE_MAX_BYTES)
			continue;
		line = plain(&b, line);
		if (!line.n)
			continue;
		for (size_t i = 0; i < ARRAY_LEN(readers); i++)
			if (readers[i]->line)
				readers[i]->line(&readings[i], line);
		arena_reset(readings[0].scratch);
	}
}

bool testsum_parse(struct arena *a, str output, struct testsum *ret)
{
	_cleanup_(arena_done) struct arena scratch = ARENA_INIT;
	struct testsum_reading *readings = arena_array(&scratch, struct testsum_reading,
			ARRAY_LEN(readers));
	_cleanup_(arena_done) struct arena lines = ARENA_INIT;
	const struct testsum_reading *best = NULL;

	for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
		readings[i].a = a;
		readings[i].scratch = &lines;
		if (readers[i]->text)
			readers[i]->text(&readings[i], output);
	}
	read_lines(readings, output);
	for (size_t i = 0; i < ARRAY_LEN(readers); i++) {
		struct testsum_reading *r = &readings[i];

		if (readers[i]->end)
			readers[i]->end(r);
		r->sum.format = readers[i]->format;
		if (r->found && (!best || (r->full && !best->full)))
			best = r;
	}
	if (!best)
		return false;
	*ret = best->sum;
	return true;
}

void testsum_add(struct testsum *sum, const struct testsum *more)
{
	if (!sum->format)
		sum->format = more->format;
	if (!more->format || !str_is(str_from(more->format), sum->format))
		return;
	reading_add(&sum->passed, more->passed);
	reading_add(&sum->failed, more->failed);
	reading_add(&sum->skipped, more->skipped);
	sum->broken |= more->broken;
	for (size_t i = 0; i < more->names_n && sum->names_n < TESTSUM_NAMES; i++)
		if (!has_name(sum, more->names[i]))
			sum->names[sum->names_n++] = more->names[i];
}

bool testsum_is_bad(const struct testsum *s)
{
	return s->failed > 0 || s->broken;
}
