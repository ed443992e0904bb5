#include "tests/test.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "core/text/signature.h"

static struct arena a;

static str sign(const char *s)
{
	return error_signature(&a, str_from(s));
}

/* The same error, seen at another time and place. */
TEST(same_errors_are_equal)
{
	static const char *const pairs[][2] = {
		{ "error at line 12", "error at line 4711" },
		{ "/opt/w1/src/auth.ts:10:5 - error TS2345: no",
				"/srv/w2/src/auth.ts:99:1 - error TS2345: no" },
		{ "src/auth.c:12: error: x", "./src/auth.c:400: error: x" },
		{ "segfault at 0x7ffe12ab", "segfault at 0x1" },
		{ "AddressSanitizer: SEGV on 0x602000000010 (pc 0x55d)",
				"AddressSanitizer: SEGV on 0x0 (pc 0x7f3e)" },
		{ "[2026-11-15T22:01:02.123Z] boom", "[2025-01-02T03:04:05Z] boom" },
		{ "12:01:02 boom after 3.5s", "01:02:03 boom after 120ms" },
		{ "no session 123e4567-e89b-12d3-a456-426614174000",
				"no session 00000000-0000-4000-8000-00000000abcd" },
		{ "cannot open /tmp/tmpab_c1 (2)", "cannot open /tmp/xyzzy (17)" },
		{ "cannot open /tmp/build-77/out/a.o", "cannot open /var/lib/x/a.o" },
		{ "object 3f2a9bc1d not found", "object 77aa001bc not found" },
		{ "run 01JC8ZK3V5Q0YB6R4T2N9M7XWE failed",
				"run 01JD1AB3V5Q0YB6R4T2N9M7777 failed" },
		{ "\x1b[31mError:\x1b[0m boom", "Error:   boom" },
		{ "  boom\n  here  ", "boom here" },
		{ "worker-12 died", "worker-3 died" },
		{ "expected 5 but got 7", "expected 1.5 but got -2" },
	};

	a = ARENA_INIT;
	for (size_t i = 0; i < ARRAY_LEN(pairs); i++)
		assert_string_equal(arena_cstr(&a, sign(pairs[i][0])),
				arena_cstr(&a, sign(pairs[i][1])));
	arena_done(&a);
}

TEST(different_errors_differ)
{
	static const char *const all[] = {
		"error[E0382]: borrow of moved value: `x`",
		"error[E0502]: cannot borrow `x` as mutable",
		"src/auth.ts: error TS2345: no",
		"src/auth.ts: error TS2339: no",
		"src/login.ts: error TS2345: no",
		"TypeError: Cannot read property 'length' of null",
		"TypeError: Cannot read property 'name' of null",
		"Cannot find module './foo'",
		"Cannot find module './bar'",
		"test_parse_utf8 failed",
		"test_parse_utf16 failed",
		"deadlock",
		"a much longer description of what went wrong with 1 thing",
		"",
	};

	a = ARENA_INIT;
	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		for (size_t k = 0; k < i; k++)
			assert_false(str_eq(sign(all[i]), sign(all[k])));
	arena_done(&a);
}

/* Whatever the bytes are: bounded, valid, and folding what was folded changes nothing more. */
TEST(any_bytes)
{
	unsigned seed = 7;
	char bytes[600];

	a = ARENA_INIT;
	for (int round = 0; round < 2000; round++) {
		static const char alphabet[] = "ab1/. x0:-_T#\n\x1b[m\xc3\xa4(\xff'Z9";
		size_t n = (size_t)round % sizeof(bytes);
		str once;

		for (size_t i = 0; i < n; i++) {
			seed = seed * 1103515245 + 12345;
			bytes[i] = alphabet[seed / 65536 % (sizeof(alphabet) - 1)];
		}
		once = error_signature(&a, (str){ bytes, n });
		assert_true(once.n <= SIGNATURE_MAX);
		assert_true(utf8_valid(once));
		assert_true(error_pick(&a, (str){ bytes, n }).n <= ERROR_MAX);
		arena_reset(&a);
	}
	arena_done(&a);
}

TEST(the_telling_lines)
{
	static const struct {
		const char *output, *picked;
	} cases[] = {
		{ "", "" },
		{ "\n  \n", "" },
		{ "building\ncc -c a.c\na.c:3:1: error: expected ';'\nmake: *** [a.o] Error 1\n",
				"a.c:3:1: error: expected ';'" },
		{ "Traceback (most recent call last):\n  File \"x.py\", line 3\nTypeError: bad\n",
				"TypeError: bad" },
		{ "ok 1 - a\nnot ok 2 - b\nok 3\nnot ok 4 - d\n", "not ok 2 - b\nnot ok 4 - d" },
		{ "0 errors\nall good\nbye\n", "0 errors\nall good\nbye" },
		{ "one\ntwo\nthree\nfour", "two\nthree\nfour" },
		{ "something failed here\nmore", "something failed here" },
		{ "progress 10%\rprogress 20%\rError: boom\n", "Error: boom" },
		{ "\x1b[31mError: boom\x1b[0m\nError: boom\n", "Error: boom" },
	};

	a = ARENA_INIT;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_string_equal(arena_cstr(&a, error_pick(&a, str_from(cases[i].output))),
				cases[i].picked);
	arena_done(&a);
}

TEST(similarity_of_words)
{
	static const struct {
		const char *objective, *a, *b;
		int64_t milli; /* -1: not known */
	} cases[] = {
		{ "", "x", "", -1 },
		{ "Fix the tests", "", "", -1 },
		{ "Fix the tests", "the of and", "", -1 },
		{ "Fix authentication tests", "Fixed the AUTHENTICATION test.", "", 1000 },
		{ "Fix authentication tests", "Updated README wording", "Polished API docs", 0 },
		{ "Fix authentication tests", "Login tests now cover expiry", "Renamed helper",
				333 },
		{ "Parse configuration files", "Parsing of config values works now", "", 666 },
		/* a short text about a long objective */
		{ "Add rate limiting to the public API with token buckets per key, configurable "
		  "by file, tested, and documented",
				"token bucket per key", "", 1000 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		str texts[] = { str_from(cases[i].a), str_from(cases[i].b) };
		int64_t milli = -1;

		if (!words_similarity(str_from(cases[i].objective), texts, 2, &milli))
			milli = -1;
		assert_int_equal(milli, cases[i].milli);
	}
}

TEST_MAIN
