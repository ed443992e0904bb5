#include "base/arena.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"

/* Most requests fit into one small chunk; what is kept over a reset is bounded. */
enum { CHUNK_BYTES = 4 * 1024, KEEP_BYTES = 64 * 1024, ALIGN = _Alignof(max_align_t) };

struct arena_chunk {
	struct arena_chunk *next;
	size_t cap, used;
	_Alignas(max_align_t) char bytes[];
};

static void chunk_push(struct arena *a, size_t least)
{
	/* Doubling keeps the number of chunks logarithmic for big documents. */
	size_t first = a->first ? a->first : (size_t)CHUNK_BYTES;
	size_t cap = a->head ? MIN(a->head->cap * 2, (size_t)1 << 20) : first;
	struct arena_chunk *c;

	cap = MAX(cap, least);
	c = mem_alloc(sizeof(*c) + cap);
	c->next = a->head;
	c->cap = cap;
	c->used = 0;
	a->head = c;
}

static void chunk_pop(struct arena *a)
{
	struct arena_chunk *c = a->head;

	a->head = c->next;
	mem_free(c);
}

void arena_done(struct arena *a)
{
	while (a->head)
		chunk_pop(a);
	a->used = 0;
}

void arena_reset(struct arena *a)
{
	struct arena_chunk *keep;

	while (a->head && a->head->cap > KEEP_BYTES)
		chunk_pop(a);
	keep = a->head;
	if (keep) {
		a->head = keep->next;
		arena_done(a);
		keep->next = NULL;
		keep->used = 0;
	}
	a->head = keep;
	a->used = 0;
}

void *arena_alloc(struct arena *a, size_t size)
{
	size_t need;
	void *p;

	if (size > SIZE_MAX / 2)
		abort();
	need = (size + ALIGN - 1) / ALIGN * ALIGN;
	if (!a->head || a->head->cap - a->head->used < need)
		chunk_push(a, need);
	p = a->head->bytes + a->head->used;
	a->head->used += need;
	a->used += need;
	return p;
}

void *arena_zalloc(struct arena *a, size_t size)
{
	return memset(arena_alloc(a, size), 0, size);
}

size_t arena_size_mul(size_t a, size_t b)
{
	size_t r;

	if (__builtin_mul_overflow(a, b, &r))
		abort();
	return r;
}

char *arena_cstr(struct arena *a, str s)
{
	char *p = arena_alloc(a, s.n + 1);

	if (s.n)
		memcpy(p, s.p, s.n);
	p[s.n] = '\0';
	return p;
}

str arena_str(struct arena *a, str s)
{
	return (str){ arena_cstr(a, s), s.n };
}

str arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
	va_list again;
	char *p;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	assert(n >= 0);
	p = arena_alloc(a, (size_t)n + 1);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	return (str){ p, (size_t)n };
}

str arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	str s;

	va_start(ap, fmt);
	s = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return s;
}
