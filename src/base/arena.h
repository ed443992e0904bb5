#pragma once
/*
 * A bump allocator: everything computed for one request, one tick or one test is allocated from
 * one arena and freed together. Functions that produce data take the arena to put it in; the
 * caller owns the arena and so the data. Memory is aligned for any type and not cleared unless
 * the name says so.
 */
#include "base/ov.h"

struct arena_chunk;

struct arena {
	struct arena_chunk *head;
	size_t used;  /* bytes handed out, for bounds and statistics */
	size_t first; /* bytes of the first chunk; 0: 4 KiB */
};

#define ARENA_INIT ((struct arena){ 0 })
/* For a few texts of an object that lives long and of which there are many. */
#define ARENA_SMALL ((struct arena){ .first = 256 })

/* Frees everything; it can be used again. */
void arena_done(struct arena *a);
/* Forgets everything but keeps one chunk, of 64 KiB at most, for reuse. */
void arena_reset(struct arena *a);

void *arena_alloc(struct arena *a, size_t size) __attribute__((returns_nonnull));
void *arena_zalloc(struct arena *a, size_t size) __attribute__((returns_nonnull));
#define arena_new(a, type) ((type *)arena_zalloc((a), sizeof(type)))
#define arena_array(a, type, n) ((type *)arena_zalloc((a), arena_size_mul(sizeof(type), (n))))
/* Aborts on overflow: sizes that big are programming errors. */
size_t arena_size_mul(size_t a, size_t b);

/* Copies are NUL-terminated, so that .p can be given to system calls. */
str arena_str(struct arena *a, str s);
char *arena_cstr(struct arena *a, str s) __attribute__((returns_nonnull));
str arena_printf(struct arena *a, const char *fmt, ...) _printf_(2, 3);
str arena_vprintf(struct arena *a, const char *fmt, va_list ap) _printf_(2, 0);
