/*
 * Any bytes: refused with a reason inside the text, or read so that every writer's text is read
 * back as the same value. jansson, where there is one, must agree.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/utf8.h"
#include "data/value/json.h"
#ifdef HAVE_JANSSON
#include "tests/json_oracle.h"
#endif

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_round_trip(const value *v, void (*write)(struct buf *, const value *))
{
	struct arena a = ARENA_INIT;
	struct buf once = BUF_INIT, twice = BUF_INIT;
	value *again = NULL;

	write(&once, v);
	check(json_parse(&a, buf_str(&once), NULL, &again, NULL) == 0);
	check(value_equal(v, again));
	write(&twice, again);
	check(str_eq(buf_str(&once), buf_str(&twice)));
	buf_done(&once);
	buf_done(&twice);
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct json_limits tight = { .max_bytes = 1 << 20, .max_depth = 16 };
	str text = { (const char *)data, size };
	struct arena a = ARENA_INIT;
	struct ov_err e = { 0 };
	value *v = NULL, *same = NULL;

	if (json_parse(&a, text, &tight, &v, &e) == 0) {
		check_round_trip(v, json_write);
		check_round_trip(v, json_write_pretty);
		check_round_trip(v, json_write_canonical);
		same = value_copy(&a, v);
		check(value_equal(v, same));
	} else {
		check(e.code < 0 && e.msg[0] && utf8_valid(str_from(e.msg)) && !v);
	}
#ifdef HAVE_JANSSON
	bool accepted;

	check(oracle_compare(&a, text, &accepted) == NULL);
#endif
	arena_done(&a);
	return 0;
}
