#include "data/message/sse.h"

/* A field of one line; bytes that would end it, or that the standard makes void, are left out. */
static void write_field(struct buf *out, const char *name, str s)
{
	if (s.n == 0)
		return;
	buf_addf(out, "%s: ", name);
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] != '\n' && s.p[i] != '\r' && s.p[i] != '\0')
			buf_addc(out, s.p[i]);
	buf_addc(out, '\n');
}

/* Takes a line off the front, ended by \n, \r or \r\n; false when s is used up. */
static bool sse_take_line(str *s, str *ret_line)
{
	size_t n = 0;

	if (!s->p)
		return false;
	while (n < s->n && s->p[n] != '\n' && s->p[n] != '\r')
		n++;
	*ret_line = (str){ s->p, n };
	if (n == s->n) {
		*s = (str){ 0 };
		return true;
	}
	n += s->p[n] == '\r' && n + 1 < s->n && s->p[n + 1] == '\n';
	*s = (str){ s->p + n + 1, s->n - n - 1 };
	return true;
}

static void write_lines(struct buf *out, const char *prefix, str text)
{
	str line;

	if (!text.p)
		text = STR("");
	while (sse_take_line(&text, &line)) {
		buf_addf(out, "%s", prefix);
		buf_adds(out, line);
		buf_addc(out, '\n');
	}
}

void sse_write(struct buf *out, str id, str event, str data)
{
	write_field(out, "id", id);
	write_field(out, "event", event);
	write_lines(out, "data: ", data);
	buf_addc(out, '\n');
}

void sse_write_comment(struct buf *out, str text)
{
	write_lines(out, ": ", text);
	buf_addc(out, '\n');
}
