#pragma once
/*
 * A reader of Server-Sent Events, by which tests hold the writer and /events to the standard. It
 * owns its buffers; what it returns is valid until the next call.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"

struct sse_event {
	str id;    /* the last id seen, as the standard says */
	str event; /* "message" by default */
	str data;
};

struct sse {
	struct buf pending, id, event, data;
	size_t start, scanned, max_bytes; /* max_bytes bounds a line and the data of one event */
	int64_t retry_ms;                 /* -1 until the server sets it */
	bool bom_checked, has_data;
	bool fresh;        /* the next line begins a new event */
	bool skip_newline; /* a \r ended the last line: a \n now belongs to it */
	bool broken;       /* past a bound: what comes is dropped */
};

static inline void sse_init(struct sse *d, size_t max_bytes)
{
	*d = (struct sse){ .max_bytes = max_bytes, .retry_ms = -1 };
}

static inline void sse_done(struct sse *d)
{
	buf_done(&d->pending);
	buf_done(&d->id);
	buf_done(&d->event);
	buf_done(&d->data);
}

static inline void sse_feed(struct sse *d, const void *p, size_t n)
{
	if (d->broken)
		return;
	if (d->start > d->pending.n / 2) {
		buf_consume(&d->pending, d->start);
		d->scanned -= d->start;
		d->start = 0;
	}
	if (n)
		buf_add(&d->pending, p, n);
}

static inline int too_long(struct sse *d, const char *what, struct ov_err *err)
{
	buf_clear(&d->pending);
	d->start = d->scanned = 0;
	d->broken = true;
	return ov_fail(err, OV_ELIMIT, "%s is longer than %zu bytes", what, d->max_bytes);
}

/* Drops a byte order mark at the very beginning; false while it cannot be told yet. */
static inline bool check_bom(struct sse *d)
{
	static const char bom[] = "\xef\xbb\xbf";
	size_t n = MIN(d->pending.n, sizeof(bom) - 1);

	if (d->bom_checked)
		return true;
	if (n == 0 || (n < sizeof(bom) - 1 && memcmp(d->pending.p, bom, n) == 0))
		return false;
	if (n == sizeof(bom) - 1 && memcmp(d->pending.p, bom, n) == 0)
		d->start = d->scanned = n;
	d->bom_checked = true;
	return true;
}

/*
 * 1 and the next line, 0 when it is not complete. A line may end with \r alone, so it is given out
 * at the \r; a \n that follows belongs to it and is passed over when it comes.
 */
static inline int next_line(struct sse *d, str *ret_line, struct ov_err *err)
{
	const char *p = d->pending.p;
	size_t i = d->scanned;

	if (d->skip_newline && i < d->pending.n) {
		i += p[i] == '\n';
		d->start = i;
		d->skip_newline = false;
	}
	while (i < d->pending.n && p[i] != '\n' && p[i] != '\r')
		i++;
	d->scanned = i;
	if (i - d->start > d->max_bytes)
		return too_long(d, "a line", err);
	if (i == d->pending.n)
		return 0;
	*ret_line = (str){ p + d->start, i - d->start };
	d->skip_newline = p[i] == '\r';
	d->start = d->scanned = i + 1;
	return 1;
}

static inline int take_field(struct sse *d, str line, struct ov_err *err)
{
	size_t colon = str_find_byte(line, ':');
	str name = str_sub(line, 0, colon), text = str_sub(line, colon + 1, line.n);
	int64_t ms;

	if (text.n && text.p[0] == ' ')
		text = str_sub(text, 1, text.n);
	if (str_is(name, "data")) {
		if (d->data.n + d->has_data + text.n > d->max_bytes)
			return too_long(d, "the data of an event", err);
		if (d->has_data)
			buf_addc(&d->data, '\n');
		d->has_data = true;
		buf_adds(&d->data, text);
	} else if (str_is(name, "event")) {
		buf_clear(&d->event);
		buf_adds(&d->event, text);
	} else if (str_is(name, "id") && str_find_byte(text, '\0') == text.n) {
		buf_clear(&d->id);
		buf_adds(&d->id, text);
	} else if (str_is(name, "retry") && str_to_i64(text, &ms) && ms >= 0 && text.p[0] != '-') {
		d->retry_ms = ms;
	}
	return 0;
}

/* 1 and the next event, 0 when none is complete, OV_ELIMIT (once) past the bound. */
static inline int sse_next(struct sse *d, struct sse_event *ret, struct ov_err *err)
{
	str line;
	int r;

	if (!check_bom(d))
		return 0;
	while ((r = next_line(d, &line, err)) == 1) {
		bool given = line.n == 0 && d->has_data;

		if (d->fresh) { /* what the last call gave out is void now */
			buf_clear(&d->event);
			buf_clear(&d->data);
			d->fresh = d->has_data = false;
			given = false;
		}
		if (given) {
			*ret = (struct sse_event){ buf_str(&d->id), buf_str(&d->event),
				buf_str(&d->data) };
			if (d->event.n == 0)
				ret->event = STR("message");
		}
		if (line.n == 0) /* the end of an event, even of one without data */
			d->fresh = true;
		if (given)
			return 1;
		if (line.n && line.p[0] != ':' && (r = take_field(d, line, err)) < 0)
			return r;
	}
	return r;
}
