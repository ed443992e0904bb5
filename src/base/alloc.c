#include "base/alloc.h"

#include <malloc.h>
#include <stdlib.h>

void *mem_alloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		abort();
	return p;
}

void *mem_zalloc(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size ? size : 1);

	if (!p)
		abort();
	return p;
}

void *mem_realloc(void *p, size_t size)
{
	void *q = realloc(p, size ? size : 1);

	if (!q)
		abort();
	return q;
}

char *mem_dup(const char *p, size_t n)
{
	char *q = mem_alloc(n + 1);

	if (n)
		memcpy(q, p, n);
	q[n] = '\0';
	return q;
}

void mem_free(void *p)
{
	free(p);
}

void mem_trim(void)
{
	malloc_trim(0);
}
