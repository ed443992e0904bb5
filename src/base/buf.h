#pragma once
/*
 * Growable bytes on the heap, for output that is built piece by piece and buffers that are
 * reused. The owner calls buf_done. After any add, .p is followed by a NUL that is not counted,
 * so .p can be given to system calls; an empty buf may have .p == NULL (use buf_cstr).
 */
#include "base/ov.h"

struct buf {
	char *p;
	size_t n, cap;
};

#define BUF_INIT ((struct buf){ 0 })

void buf_done(struct buf *b);
void buf_clear(struct buf *b); /* empties, keeps the memory */
void buf_reserve(struct buf *b, size_t more);
void buf_add(struct buf *b, const void *p, size_t n);
void buf_adds(struct buf *b, str s);
void buf_addc(struct buf *b, char c);
void buf_addf(struct buf *b, const char *fmt, ...) _printf_(2, 3);
void buf_vaddf(struct buf *b, const char *fmt, va_list ap) _printf_(2, 0);
/* As one word of a command for a shell, whatever is in it. */
void buf_add_word(struct buf *b, str s);
/* Drops the first n bytes. */
void buf_consume(struct buf *b, size_t n);
str buf_str(const struct buf *b);
const char *buf_cstr(const struct buf *b) __attribute__((returns_nonnull));
