#pragma once
/*
 * The vocabulary that every other file speaks: fixed-width types, attributes, the borrowed
 * string slice, time, and forward declarations of what base offers. It owns nothing.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define _printf_(a, b) __attribute__((format(printf, a, b)))
#define _cleanup_(f) __attribute__((cleanup(f)))
#define _unused_ __attribute__((unused))
#define _pure_ __attribute__((pure))
#define _noreturn_ __attribute__((noreturn))

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Hands a pointer or fd on: the variable is emptied, so that its cleanup does nothing. */
#define TAKE_PTR(p)                     \
	({                              \
		__typeof__(p) _t = (p); \
		(p) = NULL;             \
		_t;                     \
	})
#define TAKE_FD(fd)            \
	({                     \
		int _t = (fd); \
		(fd) = -1;     \
		_t;            \
	})

/* Wall-clock time in milliseconds since 1970, for facts in the log; 0 means "not set". */
typedef int64_t ov_time;

#define OV_SECOND ((ov_time)1000)
#define OV_MINUTE (60 * OV_SECOND)
#define OV_HOUR (60 * OV_MINUTE)
#define OV_DAY (24 * OV_HOUR)
#define OV_TIME_MAX INT64_MAX

/* A borrowed run of bytes; not NUL-terminated. {NULL, 0} is the absent string. */
typedef struct str {
	const char *p;
	size_t n;
} str;

#define STR(literal) ((str){ "" literal, sizeof(literal) - 1 })
#define STR_FMT "%.*s"
#define STR_ARG(s) ((int)(s).n), ((s).p ? (s).p : "")

struct arena;
struct buf;
struct map;
struct ov_err;
struct value;
