#include "tests/test.h"

#include "base/arena.h"
#include "base/str.h"
#include "base/utf8.h"
#include "tests/rng.h"

TEST(every_character_round_trips)
{
	for (uint32_t c = 0; c <= 0x110010; c++) {
		char bytes[4];
		size_t n = utf8_encode(c, bytes);
		str s = { bytes, n };

		if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
			assert_int_equal(n, 0);
			continue;
		}
		assert_int_equal(utf8_len(s), n);
		assert_true(utf8_valid(s));
		assert_int_equal(utf8_next(&s), (int32_t)c);
		assert_int_equal(s.n, 0);
		for (size_t cut = 1; cut < n; cut++)
			assert_int_equal(utf8_len((str){ bytes, cut }), 0);
	}
}

/*
 * All sequences of three bytes and those of four that differ in a way that matters, by the
 * definition: valid is what encoding the decoded value gives back.
 */
TEST(exactly_the_encodings_are_valid)
{
	size_t valid = 0;

	for (uint32_t w = 0x800000; w <= 0xffffff; w++) {
		char b[4] = { (char)(w >> 16), (char)(w >> 8), (char)w, (char)0x80 }, again[4];
		unsigned char lead = (unsigned char)b[0];
		size_t n = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
		uint32_t c = lead & (0xffu >> (n + 1));
		bool ok = true;

		for (size_t i = 1; i < n; i++) {
			ok = ok && ((unsigned char)b[i] & 0xc0) == 0x80;
			c = c << 6 | ((unsigned char)b[i] & 0x3f);
		}
		ok = ok && utf8_encode(c, again) == n && memcmp(b, again, n) == 0;
		if (utf8_len((str){ b, 4 }) != (ok ? n : 0))
			fail_msg("%02x %02x %02x", lead, (unsigned char)b[1], (unsigned char)b[2]);
		valid += ok;
	}
	assert_true(valid > 0);
}

TEST(validity_anywhere_in_a_text)
{
	char text[40];

	for (size_t at = 0; at < sizeof(text); at++) {
		memset(text, 'a', sizeof(text));
		assert_true(utf8_valid((str){ text, sizeof(text) }));
		text[at] = (char)0xff;
		assert_false(utf8_valid((str){ text, sizeof(text) }));
		assert_true(utf8_valid((str){ text, at }));
	}
	assert_true(utf8_valid((str){ 0 }));
}

TEST(truncating_never_cuts_a_character)
{
	str s = STR("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"); /* lengths 1 2 3 4 1 */
	static const size_t expected[] = { 0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11, 11 };

	for (size_t max = 0; max < ARRAY_LEN(expected); max++)
		assert_int_equal(utf8_truncate(s, max).n, expected[max]);
	/* Invalid text is cut somewhere, within the bound. */
	for (size_t max = 0; max < 8; max++)
		assert_int_equal(utf8_truncate(STR("\x80\x80\x80\x80\x80\x80\x80\x80"), max).n,
				max);
}

TEST(truncating_random_text_keeps_it_valid)
{
	struct rng r = { 5 };

	for (int round = 0; round < 2000; round++) {
		char text[64];
		size_t n = 0, max, kept;

		while (n < 60)
			n += utf8_encode((uint32_t)rng_below(&r, 0xd800) >> rng_below(&r, 16),
					text + n);
		max = rng_below(&r, n + 4);
		kept = utf8_truncate((str){ text, n }, max).n;
		assert_true(kept <= max && utf8_valid((str){ text, kept }));
		assert_true(kept == n || kept + 4 > max);
	}
}

TEST(columns)
{
	static const struct {
		str text;
		size_t width;
	} cases[] = {
		{ STR(""), 0 }, { STR("hello"), 5 },
		{ STR("e\xcc\x81"), 1 },                /* e, combining acute */
		{ STR("\xe6\x97\xa5\xe6\x9c\xac"), 4 }, /* CJK */
		{ STR("\xf0\x9f\x98\x80"), 2 },         /* emoji */
		{ STR("\xea\xb0\x80"), 2 },             /* Hangul syllable */
		{ STR("\xe1\x84\x80\xe1\x85\xa1"), 2 }, /* the same as two jamo */
		{ STR("\xef\xbc\xa1"), 2 },             /* fullwidth A */
		{ STR("\xef\xbd\xb1"), 1 },             /* halfwidth katakana */
		{ STR("\xc3\xa9\xc3\xbc"), 2 },         /* Latin */
		{ STR("\xe2\x94\x80\xe2\x9c\x93"), 2 }, /* box drawing, check mark */
		{ STR("a\xe2\x80\x8b\x62"), 2 },        /* zero width space */
		{ STR("\xff\xfe"), 2 },                 /* invalid bytes */
		{ STR("\x1b\n\x7f"), 0 },               /* control characters */
		{ STR("\xf3\xa0\x84\x80"), 0 },         /* variation selector 17 */
		{ STR("\xf0\xa0\x80\x80"), 2 },         /* CJK extension B */
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		assert_int_equal(utf8_width(cases[i].text), cases[i].width);
}

TEST(cleaning)
{
	struct arena a = ARENA_INIT;

	assert_true(str_is(utf8_clean(&a, STR("ok\n\t\xc3\xa9")), "ok\n\t\xc3\xa9"));
	assert_true(str_is(utf8_clean(&a, STR("\x1b[31m")), "\xef\xbf\xbd[31m"));
	assert_true(str_is(utf8_clean(&a, STR("\xff\x7f\xc2\x9b")),
			"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"));
	assert_int_equal(utf8_clean(&a, (str){ 0 }).n, 0);
	arena_done(&a);
}

/* Nobody can make a line read as another one; joiners, which words and pictures need, stay. */
TEST(hidden_characters)
{
	static const int32_t hidden[] = { 0x61c, 0x200b, 0x200e, 0x200f, 0x202a, 0x202e, 0x2066,
		0x2069, 0xfeff, 0xe0041 },
			     seen[] = { 'a', 0x200c, 0x200d, 0x5d0, 0x627, 0x2014, 0xfffd,
				     0x1f600 };

	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		assert_true(utf8_is_hidden(hidden[i]));
	for (size_t i = 0; i < ARRAY_LEN(seen); i++)
		assert_false(utf8_is_hidden(seen[i]));
	assert_false(utf8_is_hidden(-1));
}

TEST_MAIN
