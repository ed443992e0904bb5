#include "base/buf.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

void buf_done(struct buf *b)
{
	mem_free(b->p);
	*b = BUF_INIT;
}

void buf_clear(struct buf *b)
{
	b->n = 0;
	if (b->p)
		b->p[0] = '\0';
}

void buf_reserve(struct buf *b, size_t more)
{
	size_t need, cap;

	if (__builtin_add_overflow(b->n, more, &need) || need >= SIZE_MAX / 2)
		abort();
	if (need + 1 <= b->cap)
		return;
	cap = MAX(MAX(b->cap * 2, need + 1), (size_t)64);
	b->p = mem_realloc(b->p, cap);
	b->cap = cap;
}

void buf_add(struct buf *b, const void *p, size_t n)
{
	buf_reserve(b, n);
	if (n)
		memcpy(b->p + b->n, p, n);
	b->n += n;
	b->p[b->n] = '\0';
}

void buf_adds(struct buf *b, str s)
{
	buf_add(b, s.p, s.n);
}

void buf_addc(struct buf *b, char c)
{
	buf_add(b, &c, 1);
}

void buf_vaddf(struct buf *b, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	assert(n >= 0);
	buf_reserve(b, (size_t)n);
	vsnprintf(b->p + b->n, (size_t)n + 1, fmt, ap);
	b->n += (size_t)n;
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	buf_vaddf(b, fmt, ap);
	va_end(ap);
}

void buf_add_word(struct buf *b, str s)
{
	buf_addc(b, '\'');
	for (size_t i = 0; i < s.n; i++)
		if (s.p[i] == '\'')
			buf_adds(b, STR("'\\''"));
		else
			buf_addc(b, s.p[i]);
	buf_addc(b, '\'');
}

void buf_consume(struct buf *b, size_t n)
{
	assert(n <= b->n);
	if (n == 0)
		return;
	memmove(b->p, b->p + n, b->n - n);
	b->n -= n;
	b->p[b->n] = '\0';
}

str buf_str(const struct buf *b)
{
	return (str){ b->p ? b->p : "", b->n };
}

const char *buf_cstr(const struct buf *b)
{
	return b->p ? b->p : "";
}
