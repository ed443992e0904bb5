#include "data/message/ndjson.h"

#include "base/err.h"

void ndjson_init(struct ndjson *d, size_t max_line)
{
	*d = (struct ndjson){ .max_line = max_line };
}

void ndjson_done(struct ndjson *d)
{
	buf_done(&d->pending);
}

void ndjson_feed(struct ndjson *d, const void *p, size_t n)
{
	if (d->broken)
		return;
	/* Move what is left only when that is less than what was used up: linear in all. */
	if (d->start > d->pending.n / 2) {
		buf_consume(&d->pending, d->start);
		d->scanned -= d->start;
		d->start = 0;
	}
	if (n)
		buf_add(&d->pending, p, n);
}

int ndjson_next(struct ndjson *d, str *ret_line, struct ov_err *err)
{
	str unseen = { buf_cstr(&d->pending) + d->scanned, d->pending.n - d->scanned };
	const char *newline = memchr(unseen.p, '\n', unseen.n);
	str line = { buf_cstr(&d->pending) + d->start, 0 };
	bool whole = newline != NULL;

	line.n = whole ? (size_t)(newline - line.p) : d->pending.n - d->start;
	d->scanned = d->start + line.n + whole;
	/* The \r of \r\n is not part of the line; at the end of what arrived it may be one such. */
	if (line.n && line.p[line.n - 1] == '\r')
		line.n--;
	if (line.n > d->max_line) {
		ndjson_done(d);
		*d = (struct ndjson){ .max_line = d->max_line, .broken = true };
		return ov_fail(err, OV_ELIMIT, "a line is longer than %zu bytes", d->max_line);
	}
	if (!whole)
		return 0;
	d->start = d->scanned;
	*ret_line = line;
	return 1;
}

str ndjson_rest(const struct ndjson *d)
{
	str s = { buf_cstr(&d->pending) + d->start, d->pending.n - d->start };
	const char *newline = memrchr(s.p, '\n', s.n);

	if (!newline)
		return s;
	return (str){ newline + 1, (size_t)(s.p + s.n - (newline + 1)) };
}
