#pragma once
/*
 * Typed growable arrays on the heap. `VEC(struct goal *) goals = { 0 };` The owner calls vec_done;
 * elements are the owner's business.
 */
#include "base/alloc.h"

#define VEC(type)              \
	struct {               \
		type *p;       \
		size_t n, cap; \
	}

/* The capacity to grow to for one element more. */
static inline size_t vec_grown(size_t cap)
{
	return cap ? cap * 2 : 8;
}

#define vec_push(v, x)                                                            \
	do {                                                                      \
		if ((v)->n == (v)->cap) {                                         \
			(v)->cap = vec_grown((v)->cap);                           \
			(v)->p = mem_realloc((v)->p, (v)->cap * sizeof(*(v)->p)); \
		}                                                                 \
		(v)->p[(v)->n++] = (x);                                           \
	} while (0)

/* Removes element i and keeps the order. */
#define vec_remove(v, i)                                                                    \
	do {                                                                                \
		size_t _i = (i);                                                            \
		assert(_i < (v)->n);                                                        \
		memmove((v)->p + _i, (v)->p + _i + 1, ((v)->n - _i - 1) * sizeof(*(v)->p)); \
		(v)->n--;                                                                   \
	} while (0)

/* Removes element i by putting the last one in its place. */
#define vec_remove_swap(v, i)                  \
	do {                                   \
		size_t _i = (i);               \
		assert(_i < (v)->n);           \
		(v)->p[_i] = (v)->p[--(v)->n]; \
	} while (0)

#define vec_clear(v) ((v)->n = 0)
#define vec_done(v)                    \
	do {                           \
		mem_free((v)->p);      \
		(v)->p = NULL;         \
		(v)->n = (v)->cap = 0; \
	} while (0)
#define vec_last(v) ((v)->p[(v)->n - 1])
