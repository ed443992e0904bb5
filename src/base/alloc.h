#pragma once
/*
 * Allocation that cannot fail: out of memory aborts the program, which restarts from its log.
 * Only containers of base and the owners of resources call these; computed data lives in arenas.
 */
#include "base/ov.h"

void *mem_alloc(size_t size) __attribute__((malloc, returns_nonnull));
void *mem_zalloc(size_t count, size_t size) __attribute__((malloc, returns_nonnull));
void *mem_realloc(void *p, size_t size) __attribute__((returns_nonnull));
char *mem_dup(const char *p, size_t n)
		__attribute__((malloc, returns_nonnull)); /* NUL-terminated */
void mem_free(void *p);
/* Gives free memory back to the kernel, after work that needed far more than what stays of it. */
void mem_trim(void);

/* For _cleanup_: frees what a pointer variable points to. */
static inline void mem_freep(void *pp)
{
	mem_free(*(void **)pp);
}
